//! What Aizuchi is without any chat platform, in the order a message travels it.
//!
//! A module may name only modules above it; `tests/it/tidy.rs` enforces that, and `ARCHITECTURE.md` tells the
//! story.

// What there is: plain data and the rules on it, no I/O.
pub mod chat;
pub mod persona;
pub mod rules;
pub mod rhythm;
pub mod overlap;
pub mod memory;
pub mod memo;
pub mod recall;
pub mod context;
pub mod decision;
pub mod event;

// Time and chance; figures; where everything is kept.
pub mod clock;
pub mod metrics;
pub mod store;

// A message comes in; some are commands. The port that chat platforms fit.
pub mod command;
pub mod inbox;
pub mod platform;

// The words for models, and models.
pub mod prompt;
pub mod llm;

// Judge, reply, post; and what keeps them moving.
pub mod agent;
pub mod runner;
pub mod retention;
