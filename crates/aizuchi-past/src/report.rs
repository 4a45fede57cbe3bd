//! The report for a team: what the persona did, or would have done, in its channels. One page to read in two minutes,
//! the same in a few lines for the terminal, and as JSON; made from a replay or from the ledger.
//!
//! The figures come from messages and the [decisions](crate::replay::moments) about them. Nothing here reads a clock, so
//! the same input gives the same bytes. An unknown value is `None`, never 0.

// The figures.
pub mod moment;
pub mod figures;
pub mod cited;
pub mod channel;
pub mod cost;
pub mod builder;
pub mod anonymous;
pub mod from_ledger;

// How they are shown.
pub mod format;
pub mod code;
pub mod markup;
pub mod sentences;
pub mod config_lines;
pub mod summary;
pub mod charts;
pub mod page;
