//! Discord's way to write text, both ways: what it delivers becomes what people read, and what a model
//! writes becomes what Discord shows.

pub mod alike;
pub mod emoji;
pub mod harmless;
pub mod read;
pub mod write;

use std::sync::Arc;

use jiff::tz::TimeZone;

use aizuchi_core::chat::{ChannelId, UserId};

/// Who and what an id stands for.
pub struct Names<'a> {
    pub persona: &'a UserId,
    pub persona_name: &'a str,
    pub user: &'a dyn Fn(&UserId) -> Option<Arc<str>>,
    pub channel: &'a dyn Fn(&ChannelId) -> Option<Arc<str>>,
    pub role: &'a dyn Fn(&str) -> Option<Role>,
    /// Discord shows times by each reader's clock; the persona has one, too.
    pub zone: &'a TimeZone,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Role {
    /// Discord gave it to the bot, by the bot's name; people take it for the bot.
    Persona,
    Of(Arc<str>),
}

/// Snowflakes.
pub fn is_id(id: &str) -> bool {
    (1..=20).contains(&id.len()) && id.bytes().all(|byte| byte.is_ascii_digit())
}
