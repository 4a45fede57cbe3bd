//! What stands in for the outside world while one develops or tests, and is never part of a running Aizuchi.

mod wire;
pub mod fault;
mod watched;
mod chores;
mod order;
mod page;
pub mod slack;
pub mod discord;
