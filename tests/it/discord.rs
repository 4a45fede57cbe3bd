//! The real program on Discord: what people there see of it, and what Discord does. The Discord is our fake
//! one, which Discord's own clients have been run against (`scripts/peers`).

mod faults;
mod gaps;
mod stage;
mod talk;
