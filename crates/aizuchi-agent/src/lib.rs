//! What happens with a message: the inbox hears it, the runner claims the step that follows, and the agent judges,
//! replies and posts. Jobs beside it learn, forget and expire.
//!
//! Models, platforms, readers of documents and tools of operators come through ports. A module may name only modules
//! above it; `tests/it/tidy.rs` of the program enforces that.
//!
//! Functions that other crates run for a long time, or call for each message, return a `BoxFuture`: the code of a plain
//! `async fn` is generated in the crate that awaits it, together with everything that it awaits, and with that crate's
//! optimization level.

pub mod metrics;

// A message comes in.
pub mod inbox;

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
pub mod first_words;
pub mod learner;
pub mod forgetter;
