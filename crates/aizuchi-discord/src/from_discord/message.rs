//! A message as Discord writes it, in an event or in a history.

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::Value;
use twilight_model::channel::message::MessageFlags;
use twilight_model::id::Id;
use twilight_model::id::marker::GuildMarker;

use crate::from_discord::user::{DiscordUser, parse_user};
use crate::json::{array_at, non_empty_str, parse_id};
use crate::snowflake::id_timestamp;
use aizuchi_core::chat::{ChannelId, MessageId, UserId};
use aizuchi_core::clock::truncate_to_millisecond;

/// What people say: alone, or below what somebody else has said.
const DEFAULT: u64 = 0;
const REPLY: u64 = 19;
/// What apps say when they are given a command.
const COMMAND_TYPES: [u64; 2] = [20, 23];
/// What Discord tells in a line of its own that others may talk about: a stage begins, ends, is about something
/// else; how a poll has ended.
pub const STAGE_START: u64 = 27;
pub const STAGE_END: u64 = 28;
pub const STAGE_TOPIC: u64 = 31;
pub const POLL_RESULT: u64 = 46;
const SYSTEM_TYPES: [u64; 4] = [STAGE_START, STAGE_END, STAGE_TOPIC, POLL_RESULT];
/// Who tells it. Discord names whoever began the stage or the poll, who has not said it.
const SYSTEM_AUTHOR: &str = "Discord";
/// What points to a message: somebody passes it on.
const FORWARD: u64 = 1;

/// A channel or a thread, as events name it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChannelRef {
    /// `None`: a direct message.
    pub guild: Option<Id<GuildMarker>>,
    pub channel: ChannelId,
}

#[derive(Clone, Debug, PartialEq)]
pub struct DiscordMessage {
    pub channel_ref: ChannelRef,
    pub id: MessageId,
    pub at: Timestamp,
    pub author: DiscordUser,
    /// When its author changed it last.
    pub edited_at: Option<Timestamp>,
    /// The key that one of our posts carries.
    pub key: Option<Arc<str>>,
    /// Who said what it answers.
    pub replied_user: Option<UserId>,
    /// Discord tells that it was said, and not what.
    pub is_content_missing: bool,
    /// All of it, for what is to be read.
    pub raw: Value,
}

/// A line out of a history, which does not say where it is.
pub fn parse_history_message(at: &ChannelRef, mut whole: Value) -> Option<DiscordMessage> {
    if !whole.is_object() {
        return None;
    }
    whole["channel_id"] = at.channel.as_str().into();
    if let Some(guild) = at.guild {
        whole["guild_id"] = guild.to_string().into();
    }
    parse_message(&whole)
}

/// What somebody has said. What only tells that something has happened is mostly no line.
pub fn parse_message(whole: &Value) -> Option<DiscordMessage> {
    // Without a kind, it is said.
    let kind = whole["type"].as_u64().unwrap_or(DEFAULT);
    let is_told = SYSTEM_TYPES.contains(&kind);
    if kind != DEFAULT && kind != REPLY && !COMMAND_TYPES.contains(&kind) && !is_told {
        return None;
    }
    // What only one person sees is told as if it were a direct message, wherever it is.
    let flags = MessageFlags::from_bits_truncate(whole["flags"].as_u64().unwrap_or(0));
    if flags.contains(MessageFlags::EPHEMERAL) {
        return None;
    }
    let place = parse_channel_ref(whole)?;
    let id = non_empty_str(&whole["id"])?;
    let mut author = match is_told {
        true => system_author(),
        false => parse_user(&whole["author"], &whole["member"])?,
    };
    if let Some(hook) = non_empty_str(&whole["webhook_id"]) {
        // Each post of a web hook may have another name.
        author.id = UserId::new(format!("{hook}:{}", author.name));
        author.is_bot = true;
    }
    let is_forward = whole["message_reference"]["type"].as_u64() == Some(FORWARD);
    let answered = &whole["referenced_message"]["author"]["id"];
    Some(DiscordMessage {
        at: id_timestamp(id)?,
        id: MessageId::new(id),
        edited_at: parse_timestamp(&whole["edited_timestamp"]),
        key: parse_key(&whole["nonce"]),
        replied_user: non_empty_str(answered).filter(|_| !is_forward && !is_told).map(UserId::new),
        is_content_missing: !author.is_bot && is_content_missing(whole),
        author,
        channel_ref: place,
        raw: whole.clone(),
    })
}

pub fn parse_channel_ref(data: &Value) -> Option<ChannelRef> {
    let channel = ChannelId::new(non_empty_str(&data["channel_id"])?);
    Some(ChannelRef { guild: parse_id(&data["guild_id"]), channel })
}

fn system_author() -> DiscordUser {
    DiscordUser {
        id: UserId::new(SYSTEM_AUTHOR),
        name: SYSTEM_AUTHOR.into(),
        is_bot: true,
        roles: None,
    }
}

/// People's apps send numbers, too.
fn parse_key(nonce: &Value) -> Option<Arc<str>> {
    non_empty_str(nonce).map(Arc::from)
}

/// Nobody can say nothing at all.
fn is_content_missing(whole: &Value) -> bool {
    let parts = ["attachments", "embeds", "components", "sticker_items", "message_snapshots"];
    non_empty_str(&whole["content"]).is_none()
        && parts.into_iter().all(|part| array_at(whole, part).next().is_none())
        && !whole["poll"].is_object()
}

/// A moment as Discord writes it.
fn parse_timestamp(value: &Value) -> Option<Timestamp> {
    non_empty_str(value)?.parse().ok().map(truncate_to_millisecond)
}

/// A thread's first line, which is the line below which it was opened, or the post in a forum.
pub fn is_thread_starter(line: &DiscordMessage, thread: &ChannelId) -> bool {
    line.id.as_str() == thread.as_str()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn message(more: Value) -> Option<DiscordMessage> {
        let mut whole = json!({"id": "175928847299117063", "channel_id": "2", "guild_id": "1",
            "type": 0, "content": "hi", "author": {"id": "3", "username": "mio"},
            "member": {"nick": "Mio"}, "edited_timestamp": null, "nonce": "abc"});
        for (key, value) in more.as_object().unwrap() {
            whole[key] = value.clone();
        }
        parse_message(&whole)
    }

    #[test]
    fn lines_are_what_people_and_bots_say() {
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
            let line = message(more.clone()).unwrap();
            assert_eq!((line.author.id.as_str(), line.author.is_bot), (author, is_bot), "{more}");
        }
        // Somebody came, a line was pinned, a thread was opened, a thread begins, the bot was boosted, somebody
        // speaks on a stage.
        for kind in [1, 6, 7, 8, 18, 21, 24, 29, 255] {
            assert_eq!(message(json!({"type": kind})), None, "{kind}");
        }
        // A stage begins, and a poll has ended: Mio has not said that.
        for kind in SYSTEM_TYPES {
            let poll = json!({"id": "4", "author": {"id": "3", "username": "mio"}});
            let told = message(json!({"type": kind, "referenced_message": poll})).unwrap();
            assert_eq!((told.author, told.replied_user), (system_author(), None), "{kind}");
        }
        // Only one person sees it.
        assert_eq!(message(json!({"type": 20, "flags": 64})), None);
        assert!(message(json!({"flags": 4})).is_some());
    }

    #[test]
    fn whom_a_line_answers_is_known() {
        let answered = json!({"id": "4", "author": {"id": "7"}});
        let reply = message(json!({"type": 19, "referenced_message": answered})).unwrap();
        assert_eq!(reply.replied_user, Some(UserId::new("7")));
        let gone = message(json!({"type": 19, "referenced_message": null})).unwrap();
        assert_eq!(gone.replied_user, None);
    }

    #[test]
    fn a_line_without_anything_in_it_is_hollow() {
        let hollow = |more| message(more).unwrap().is_content_missing;
        assert!(hollow(json!({"content": ""})));
        assert!(!hollow(json!({})));
        assert!(!hollow(json!({"content": "", "attachments": [{}]})));
        assert!(!hollow(json!({"content": "", "sticker_items": [{}]})));
        assert!(!hollow(json!({"content": "", "poll": {"question": {}}})));
        assert!(!hollow(json!({"content": "", "author": {"id": "4", "bot": true}})));
    }

    #[test]
    fn a_history_is_told_where_it_is() {
        let place = ChannelRef { guild: Some(Id::new(1)), channel: ChannelId::new("2") };
        let whole = json!({"id": "175928847299117063", "author": {"id": "3"}, "content": "hi"});
        assert_eq!(parse_history_message(&place, whole).unwrap().channel_ref, place);
        assert_eq!(parse_history_message(&place, json!("odd")), None);
    }
}
