//! The real program against the fake Slack: what users see, and how it handles Slack's faults. Slack's own clients
//! have been tested against the fake (`scripts/peers`).

mod check;
mod companions;
mod faults;
mod history;
mod late_commands;
mod hooks;
mod orders;
mod place_settings;
mod keepers;
mod keeper_answers;
mod trust;
mod allowed_call;
mod edits;
mod standing_orders;
mod order_trial;
mod welcome;
mod responses;
mod roles;
mod restored;
mod links;
mod shares;
mod lost_answers;
pub mod malformed;
mod timeouts;
mod unreadable;
mod deletions;
mod decisions;
pub mod harness;
mod credentials;
mod talk;
mod recordings;
mod edge_cases;
