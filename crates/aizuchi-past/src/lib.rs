//! Past moments: a conversation as it could be known then, with what happened next. Replay and eval measure decisions on
//! recorded chat and on labeled cases, tune searches for better settings, what-if and shadow ask how other settings, or
//! another model, would have decided what the ledger holds, and a report tells a team.
//!
//! Nothing here decides: the real inbox, runner and agent do, on a virtual clock. A module may name only modules above it;
//! `tests/it/tidy.rs` of the program enforces that.

// A decision told to people.
pub mod ledger;

// What was known when a decision was made.
pub mod past_moment;

// What people did around a message.
pub mod people_around;

// Figures side by side, of policies and of minds.
mod table;

// Measuring: the pipeline on a virtual clock, a search for better settings, and a model against labeled cases.
pub mod replay;
pub mod answer;
pub mod tune;
pub mod eval;

// What other settings would have changed lately, and how a model would have decided past moments, in shadow.
pub mod what_if;
pub mod shadow;

// What all this tells a team.
pub mod report;
