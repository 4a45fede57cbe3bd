//! The real program in a Slack workspace: what people there see of it, and what Slack does. The workspace is
//! our fake one, which Slack's own clients have been run against (`scripts/peers`).

mod check;
mod faults;
mod history;
mod hooks;
mod orders;
mod timeouts;
pub mod harness;
mod talk;
mod edge_cases;
