//! Discord: what people there see of it, and what Discord does. The Discord is our fake one, which others'
//! clients have been run against (`scripts/peers`).

mod answers;
mod bodies;
mod check;
mod commands;
mod faults;
mod gaps;
mod timeouts;
mod post;
mod harness;
mod talk;
mod together;
