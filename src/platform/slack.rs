//! Slack, one of the platforms.

pub mod emoji;
pub mod mrkdwn;
