//! Slack's way to write text, both ways: what it delivers becomes what people read, and what a model
//! writes becomes what Slack shows.

pub mod message;
pub mod read;
pub mod write;

use std::sync::Arc;

use aizuchi_core::chat::{ChannelId, UserId};

/// Who and what an id stands for.
pub struct NameLookup<'a> {
    pub persona: &'a UserId,
    pub persona_name: &'a str,
    pub user: &'a dyn Fn(&UserId) -> Option<Arc<str>>,
    pub channel: &'a dyn Fn(&ChannelId) -> Option<Arc<str>>,
    pub group: &'a dyn Fn(&str) -> Option<Arc<str>>,
}

/// `&`, `<` and `>` mean something to Slack and have to be written as entities.
pub fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// Ids are all that tells a name from text in brackets.
pub fn is_id(id: &str) -> bool {
    !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit())
}
