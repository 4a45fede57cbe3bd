//! What stands in for the outside world while one develops or tests, and is never part of a running Aizuchi.

mod wire;
mod page;
pub mod slack;
pub mod discord;
