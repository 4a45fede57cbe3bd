//! A Slack workspace.

pub mod manifest;
