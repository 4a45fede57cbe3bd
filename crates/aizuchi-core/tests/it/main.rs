//! The core from outside, in one binary: stories on every store, the contract of each port, and the seeds'
//! requirements.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod adaptive;
mod backfill;
mod budget;
mod reservations;
mod charges;
mod outages;
mod canary;
mod commands;
mod context_windows;
mod cost;
mod crash;
mod deciding;
mod defects;
mod fence;
mod links;
mod flow;
mod forgetting;
mod memory;
mod memos;
mod models;
mod orders;
mod outgoing;
mod postgres;
mod promises;
mod prompts;
mod reactions;
mod recall;
mod redaction;
mod reset;
mod schedules;
mod schema;
mod seed_002;
mod second_look;
mod seed_004;
mod simulation;
mod store_faults;
mod stories;
mod timing;
mod tool_calls;
mod tools;
mod uptake;
mod usage;
mod differential;
