//! Converts text in both directions: Discord's markup to plain text, and a model's Markdown to Discord's.

pub mod fuzzy_match;
pub mod emoji;
pub mod code;
pub mod escape;
pub mod read;
pub mod write;

use std::sync::Arc;

use aizuchi_model::chat::{ChannelId, UserId};
use jiff::tz::TimeZone;

/// The names of the users, channels and roles that a text mentions by id.
pub struct NameLookup<'a> {
    pub persona: &'a UserId,
    pub persona_name: &'a str,
    pub user: &'a dyn Fn(&UserId) -> Option<Arc<str>>,
    pub channel: &'a dyn Fn(&ChannelId) -> Option<Arc<str>>,
    pub role: &'a dyn Fn(&str) -> Option<RoleName>,
    /// The persona's time zone. Discord shows timestamps in each reader's own.
    pub time_zone: &'a TimeZone,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RoleName {
    /// The role that Discord created for the bot, under the bot's name. Users mention it to mean the bot.
    Persona,
    Named(Arc<str>),
}

/// Whether a text is a snowflake.
pub fn is_id(id: &str) -> bool {
    (1..=20).contains(&id.len()) && id.bytes().all(|byte| byte.is_ascii_digit())
}
