//! Everything in Aizuchi that does not depend on a particular chat platform, in the order a message travels.
//!
//! A module may name only modules above it; `tests/it/tidy.rs` enforces that. `ARCHITECTURE.md` gives an overview.
//!
//! Functions that other crates run for a long time, or call for each message, return a `BoxFuture`: the code of a plain
//! `async fn` is generated in the crate that awaits it, together with everything that it awaits, and with that crate's
//! optimization level.

// Plain data and the rules on it, without I/O.

// Time and randomness, metrics, files that an operator names, and the store.
pub mod metrics;
pub mod store;
pub mod spoken_language;

// A message comes in, and some messages are commands. The port that chat platforms implement.
pub mod command;
pub mod inbox;
pub mod platform;

// Prompts, and the models that answer them.
pub mod prompt;
pub mod llm;

// Document readers, web tools for replies, and the operator's external tools.
pub mod documents;
pub mod web_access;
pub mod external_tools;

// Judge, reply and post, and what drives them.
pub mod agent;
pub mod runner;
pub mod allowed_calls;
pub mod retention;
pub mod scheduled_backup;
pub mod learner;
pub mod forgetter;
