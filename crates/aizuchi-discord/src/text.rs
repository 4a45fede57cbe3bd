//! Discord's way to write text, both ways: what it delivers becomes what people read, and what a model
//! writes becomes what Discord shows.

pub mod fuzzy_match;
pub mod emoji;
pub mod escape;
pub mod read;
pub mod write;

use std::sync::Arc;

use jiff::tz::TimeZone;

use aizuchi_core::chat::{ChannelId, UserId};

/// Who and what an id stands for.
pub struct NameLookup<'a> {
    pub persona: &'a UserId,
    pub persona_name: &'a str,
    pub user: &'a dyn Fn(&UserId) -> Option<Arc<str>>,
    pub channel: &'a dyn Fn(&ChannelId) -> Option<Arc<str>>,
    pub role: &'a dyn Fn(&str) -> Option<RoleName>,
    /// Discord shows times by each reader's clock; the persona has one, too.
    pub time_zone: &'a TimeZone,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RoleName {
    /// Discord gave it to the bot, by the bot's name; people take it for the bot.
    Persona,
    Named(Arc<str>),
}

/// Snowflakes.
pub fn is_id(id: &str) -> bool {
    (1..=20).contains(&id.len()) && id.bytes().all(|byte| byte.is_ascii_digit())
}
