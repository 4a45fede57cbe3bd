//! The program from outside, in one binary.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod admission;
mod status;
mod subprocess;
mod api;
mod browser;
mod check;
mod command;
mod config;
mod connections;
mod defects;
mod demo;
mod demo_command;
mod deploy;
mod discord;
mod docs;
mod eval;
mod fakes;
mod forget;
mod found_config;
mod import;
mod language;
mod log;
mod metrics;
mod persistence;
mod model_settings;
mod models;
mod orders;
mod program;
mod prompt_command;
mod reload;
mod replay;
mod replay_adaptive;
mod replay_inputs;
mod replay_judge;
mod report;
mod run_options;
mod search;
mod slack;
mod slack_command;
mod tidy;
mod transfer;
mod tune;
mod two_processes;
mod why;
