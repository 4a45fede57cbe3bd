//! Slack's markup (mrkdwn) in both directions: messages from Slack become plain text, and a model's Markdown becomes
//! mrkdwn.

pub mod blocks;
pub mod message;
pub mod read;
pub mod write;

use std::sync::Arc;

use aizuchi_model::chat::{ChannelId, UserId};

/// Resolves ids to names.
pub struct NameLookup<'a> {
    pub persona: &'a UserId,
    pub persona_name: &'a str,
    pub user: &'a dyn Fn(&UserId) -> Option<Arc<str>>,
    pub channel: &'a dyn Fn(&ChannelId) -> Option<Arc<str>>,
    pub group: &'a dyn Fn(&str) -> Option<Arc<str>>,
}

/// Escapes `&`, `<` and `>`, which have a meaning in mrkdwn, as entities.
pub fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// Whether this is a Slack id. A mention with any other target is plain text.
pub fn is_id(id: &str) -> bool {
    !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit())
}
