//! Messages, from events or from a history.

use std::ops::Range;
use std::sync::Arc;

use aizuchi_model::chat::{ChannelId, MessageId, QuotedMessage, UserId};
use aizuchi_model::clock::truncate_to_millisecond;
use jiff::Timestamp;
use serde_json::Value;
use twilight_model::channel::message::MessageFlags;
use twilight_model::id::Id;
use twilight_model::id::marker::GuildMarker;

use crate::from_discord::user::{DiscordUser, parse_user};
use crate::json::{array_at, id_str, non_empty_str, parse_id};
use crate::snowflake::id_timestamp;

/// Messages written by users: plain messages and replies.
const DEFAULT: u64 = 0;
const REPLY: u64 = 19;
/// Responses of apps to slash and context menu commands.
const COMMAND_TYPES: [u64; 2] = [20, 23];
/// System messages that users may talk about: a stage starts, ends, or changes its topic; a poll ends.
pub const STAGE_START: u64 = 27;
pub const STAGE_END: u64 = 28;
pub const STAGE_TOPIC: u64 = 31;
pub const POLL_RESULT: u64 = 46;
const SYSTEM_TYPES: [u64; 4] = [STAGE_START, STAGE_END, STAGE_TOPIC, POLL_RESULT];
/// The author of system messages. Discord names the user who started the stage or poll, but that user did not write
/// them.
const SYSTEM_AUTHOR: &str = "Discord";
/// Discord's limit for the name of a webhook.
pub const MAX_WEBHOOK_NAME_CHARS: usize = 80;
/// Until the year 3000, so that computations with such a time do not overflow.
const TIMES: Range<Timestamp> = Timestamp::UNIX_EPOCH..Timestamp::constant(32_503_680_000, 0);
/// The prefix of the `custom_id` of each button below the bot's question to a keeper.
pub const QUESTION_PREFIX: &str = "aizuchi/";
/// The type of a message reference that is a forward, not a reply.
const FORWARD: u64 = 1;

/// The channel or thread that an event names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChannelRef {
    /// `None` for a direct message.
    pub guild: Option<Id<GuildMarker>>,
    pub channel: ChannelId,
}

#[derive(Clone, Debug, PartialEq)]
pub struct DiscordMessage {
    pub channel_ref: ChannelRef,
    pub id: MessageId,
    pub at: Timestamp,
    pub author: DiscordUser,
    /// When the author last edited the message.
    pub edited_at: Option<Timestamp>,
    /// The nonce, which the bot's own posts carry.
    pub key: Option<Arc<str>>,
    /// The author of the message that this one replies to.
    pub replied_user: Option<UserId>,
    /// The message that it replies to, if it still exists.
    pub reply_to: Option<MessageId>,
    /// Whether Discord withholds the content, because the bot lacks the Message Content Intent.
    pub is_content_missing: bool,
    /// The whole JSON, from which the text is read.
    pub raw: Value,
}

impl DiscordMessage {
    /// Returns what a post of the bot is marked to answer: the message that it visibly replies to. A response to a slash
    /// command answers no message.
    pub fn marked_answers(&self) -> Option<Vec<MessageId>> {
        let replied = self.raw["message_reference"]["message_id"].as_str().map(MessageId::new);
        let is_marked = replied.is_some() || is_command_response(&self.raw);
        is_marked.then(|| replied.into_iter().collect())
    }
}

/// Parses a message from a history, where messages do not name their channel.
pub fn parse_history_message(channel_ref: &ChannelRef, mut json: Value) -> Option<DiscordMessage> {
    if !json.is_object() {
        return None;
    }
    json["channel_id"] = channel_ref.channel.as_str().into();
    if let Some(guild) = channel_ref.guild {
        json["guild_id"] = guild.to_string().into();
    }
    parse_message(&json)
}

/// Whether a message is one that users can talk about. Most system messages are not.
pub fn is_for_users(json: &Value) -> bool {
    let kind = message_type(json);
    let is_written = kind == DEFAULT || kind == REPLY || is_command_response(json);
    // An ephemeral message arrives without its server, like a direct message. A deferred response has no content yet.
    let flags = MessageFlags::from_bits_truncate(json["flags"].as_u64().unwrap_or(0));
    let is_shown = !flags.intersects(MessageFlags::EPHEMERAL | MessageFlags::LOADING);
    (is_written || is_system_type(kind)) && is_shown && !is_question(json)
}

/// Whether this is the bot's question to a keeper. It concerns another channel, so it is not stored.
fn is_question(json: &Value) -> bool {
    let button = &json["components"][0]["components"][0];
    let id = non_empty_str(&button["custom_id"]).unwrap_or_default();
    json["author"]["bot"] == true && id.starts_with(QUESTION_PREFIX)
}

/// Whether this is an app's response to a command.
pub fn is_command_response(json: &Value) -> bool {
    COMMAND_TYPES.contains(&message_type(json))
}

fn message_type(json: &Value) -> u64 {
    // Without a type, it is a user's message.
    json["type"].as_u64().unwrap_or(DEFAULT)
}

fn is_system_type(kind: u64) -> bool {
    SYSTEM_TYPES.contains(&kind)
}

/// Parses a message that users can talk about.
pub fn parse_message(json: &Value) -> Option<DiscordMessage> {
    if !is_for_users(json) {
        return None;
    }
    let is_system = is_system_type(message_type(json));
    let channel_ref = parse_channel_ref(json)?;
    let id = id_str(&json["id"])?;
    let mut author = match is_system {
        true => system_author(),
        false => parse_user(&json["author"], &json["member"])?,
    };
    if let Some(webhook) = id_str(&json["webhook_id"]) {
        // Each post of a webhook may have a different name.
        let name: String = author.name.chars().take(MAX_WEBHOOK_NAME_CHARS).collect();
        author.id = UserId::new(format!("{webhook}:{name}"));
        author.is_bot = true;
    }
    let is_forward = json["message_reference"]["type"].as_u64() == Some(FORWARD);
    let replied = Some(&json["referenced_message"]).filter(|_| !is_forward && !is_system);
    Some(DiscordMessage {
        at: id_timestamp(id)?,
        id: MessageId::new(id),
        edited_at: parse_timestamp(&json["edited_timestamp"]),
        key: parse_key(&json["nonce"]),
        replied_user: replied.and_then(|it| id_str(&it["author"]["id"])).map(UserId::new),
        reply_to: replied.and_then(|it| id_str(&it["id"])).map(MessageId::new),
        is_content_missing: !author.is_bot && is_content_missing(json),
        author,
        channel_ref,
        raw: json.clone(),
    })
}

/// Returns the message that this one forwards, in the channel or thread that Discord names. It does not name the author.
pub fn forwarded_message(json: &Value) -> Option<QuotedMessage> {
    array_at(json, "message_snapshots").next()?;
    let reference = &json["message_reference"];
    let id = id_str(&reference["message_id"]);
    let channel = id_str(&reference["channel_id"]).map(ChannelId::new);
    let message = channel.zip(id.map(MessageId::new));
    Some(QuotedMessage { author: None, message, at: id.and_then(id_timestamp) })
}

pub fn parse_channel_ref(data: &Value) -> Option<ChannelRef> {
    let channel = ChannelId::new(id_str(&data["channel_id"])?);
    // Only a direct message lacks a server. An unparsable server id does not make a message direct.
    let guild = match &data["guild_id"] {
        Value::Null => None,
        guild => Some(parse_id(guild)?),
    };
    Some(ChannelRef { guild, channel })
}

fn system_author() -> DiscordUser {
    DiscordUser {
        id: UserId::new(SYSTEM_AUTHOR),
        name: SYSTEM_AUTHOR.into(),
        is_bot: true,
        roles: None,
    }
}

/// Parses the key. Users' clients also send numeric nonces, which are not keys.
fn parse_key(nonce: &Value) -> Option<Arc<str>> {
    non_empty_str(nonce).map(Arc::from)
}

/// Whether the content is missing: no user can send a message without any content.
fn is_content_missing(json: &Value) -> bool {
    let parts = ["attachments", "embeds", "components", "sticker_items", "message_snapshots"];
    non_empty_str(&json["content"]).is_none()
        && parts.into_iter().all(|part| array_at(json, part).next().is_none())
        && !json["poll"].is_object()
}

fn parse_timestamp(value: &Value) -> Option<Timestamp> {
    let at = non_empty_str(value)?.parse().ok().filter(|at| TIMES.contains(at))?;
    Some(truncate_to_millisecond(at))
}

/// Whether a message is the one that a thread was opened from, or a forum post. Both have the thread's id.
pub fn is_thread_starter(message: &DiscordMessage, thread: &ChannelId) -> bool {
    message.id.as_str() == thread.as_str()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn message(more: Value) -> Option<DiscordMessage> {
        let mut json = json!({"id": "175928847299117063", "channel_id": "2", "guild_id": "1",
            "type": 0, "content": "hi", "author": {"id": "3", "username": "mio"},
            "member": {"nick": "Mio"}, "edited_timestamp": null, "nonce": "abc"});
        for (key, value) in more.as_object().unwrap() {
            json[key] = value.clone();
        }
        parse_message(&json)
    }

    #[test]
    fn messages_of_users_and_bots_are_parsed() {
        let plain = message(json!({})).unwrap();
        assert_eq!((plain.author.id.as_str(), &*plain.author.name), ("3", "Mio"));
        assert_eq!(plain.at.as_millisecond(), 1_462_015_105_796);
        assert_eq!(
            (plain.key.as_deref(), plain.edited_at, plain.replied_user),
            (Some("abc"), None, None)
        );
        for (more, author, is_bot) in [
            (json!({"type": 19}), "3", false),
            (json!({"author": {"id": "4", "username": "dice", "bot": true}}), "4", true),
            (json!({"webhook_id": "9", "member": null}), "9:mio", true),
            (json!({"author": {"id": "5", "username": "Discord", "system": true}}), "5", true),
            (json!({"type": 20, "author": {"id": "4", "bot": true}}), "4", true),
        ] {
            let parsed = message(more.clone()).unwrap();
            assert_eq!(
                (parsed.author.id.as_str(), parsed.author.is_bot),
                (author, is_bot),
                "{more}"
            );
        }
        // A user joined, a pin, a boost, a new thread, a thread's starter, a speaker on a stage.
        for kind in [1, 6, 7, 8, 18, 21, 24, 29, 255] {
            assert_eq!(message(json!({"type": kind})), None, "{kind}");
        }
        // A stage starts, or a poll ends: Mio did not write these messages.
        for kind in SYSTEM_TYPES {
            let poll = json!({"id": "4", "author": {"id": "3", "username": "mio"}});
            let parsed = message(json!({"type": kind, "referenced_message": poll})).unwrap();
            assert_eq!((parsed.author, parsed.replied_user), (system_author(), None), "{kind}");
        }
        // Ephemeral, and deferred.
        assert_eq!(message(json!({"type": 20, "flags": 64})), None);
        assert_eq!(message(json!({"type": 20, "flags": 128})), None);
        assert!(message(json!({"flags": 4})).is_some());
    }

    #[test]
    fn a_reply_names_the_user_it_answers() {
        let replied_user = json!({"id": "4", "author": {"id": "7"}});
        let reply = message(json!({"type": 19, "referenced_message": replied_user})).unwrap();
        assert_eq!(reply.replied_user, Some(UserId::new("7")));
        assert_eq!(reply.reply_to, Some(MessageId::new("4")));
        let deleted = message(json!({"type": 19, "referenced_message": null})).unwrap();
        assert_eq!(deleted.replied_user, None);
    }

    #[test]
    fn a_message_without_any_content_is_recognized() {
        let is_missing = |more| message(more).unwrap().is_content_missing;
        assert!(is_missing(json!({"content": ""})));
        assert!(!is_missing(json!({})));
        assert!(!is_missing(json!({"content": "", "attachments": [{}]})));
        assert!(!is_missing(json!({"content": "", "sticker_items": [{}]})));
        assert!(!is_missing(json!({"content": "", "poll": {"question": {}}})));
        assert!(!is_missing(json!({"content": "", "author": {"id": "4", "bot": true}})));
    }

    #[test]
    fn a_history_message_gets_its_channel() {
        let channel_ref = ChannelRef { guild: Some(Id::new(1)), channel: ChannelId::new("2") };
        let json = json!({"id": "175928847299117063", "author": {"id": "3"}, "content": "hi"});
        assert_eq!(parse_history_message(&channel_ref, json).unwrap().channel_ref, channel_ref);
        assert_eq!(parse_history_message(&channel_ref, json!("odd")), None);
    }
}
