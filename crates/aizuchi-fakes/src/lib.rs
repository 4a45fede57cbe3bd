//! What stands in for the outside world while one develops or tests, and is never part of a running Aizuchi.

mod tcp;
pub mod fault;
mod shared_state;
mod timers;
mod control;
mod page;
pub mod slack;
pub mod discord;
