//! Stand-ins for Slack and Discord with faults on demand, for development and tests. A bot that runs on a real
//! platform never uses them.

mod tcp;
pub mod wire;
pub mod alteration;
pub mod fault;
#[macro_use]
mod fake;
mod timers;
mod control;
pub mod file;
mod page;
pub mod slack;
pub mod discord;
