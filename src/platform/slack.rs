//! A Slack workspace.

pub mod emoji;
pub mod manifest;
pub mod mrkdwn;
