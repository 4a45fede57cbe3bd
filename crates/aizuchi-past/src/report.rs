//! Reports what the persona did or would have done in the channels of a team, for readers who do not know it yet: a
//! page, a summary for the terminal, and JSON, made from a replay or from the ledger.
//!
//! The figures come from messages and [moments](crate::replay::moments). Nothing here reads a clock, so the same
//! input gives the same bytes. An unknown value is `None`, never 0.

pub mod significance;
pub mod interruptions;
pub mod comparison;
pub mod settings;
pub mod delays;
pub mod months;
pub mod story;
pub mod posts;
pub mod replay_command;
pub mod called;
pub mod figures;
pub mod channel_index;
pub mod channel;
pub mod story_selection;
pub mod differences;
pub mod cost;
pub mod builder;
pub mod anonymous;
pub mod format;
pub mod code;
pub mod markup;
pub mod config_block;
pub mod quieter;
pub mod next_steps;
pub mod what_leaves;
pub mod notes;
pub mod reasons;
pub mod months_view;
pub mod sentences;
pub mod headline;
pub mod setting_labels;
pub mod default_limits;
pub mod cautions;
pub mod policy_sentences;
pub mod summary;
pub mod charts;
pub mod hours_view;
pub mod story_view;
pub mod beside_view;
pub mod posts_view;
pub mod places_view;
pub mod policies_view;
pub mod cost_view;
pub mod tiles;
pub mod ways_view;
pub mod channels_view;
pub mod first_view;
pub mod page;
pub mod from_ledger;
