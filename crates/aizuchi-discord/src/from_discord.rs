//! Parses Discord's events leniently: a value of an unexpected type counts as absent. An event that lacks a required
//! value is malformed; nothing here returns an error. One odd sticker must not stop a server's events.

pub mod user;
pub mod guild;
pub mod message;

use std::sync::Arc;

use aizuchi_model::chat::{ChannelId, MessageId, ReactionChange, UserId};
use jiff::Timestamp;
use serde_json::Value;
use twilight_model::id::Id;
use twilight_model::id::marker::GuildMarker;

use crate::from_discord::guild::{Guild, GuildChannel, GuildRole, GuildThread};
use crate::from_discord::message::{ChannelRef, DiscordMessage, parse_channel_ref};
use crate::from_discord::user::{GuildMember, parse_member};
use crate::json::{array_at, id_str, non_empty_str, parse_id};

/// A parsed event.
#[derive(Clone, Debug, PartialEq)]
pub enum DiscordEvent {
    Message(Box<DiscordMessage>),
    /// The author edited a message.
    MessageChanged {
        message: Box<DiscordMessage>,
        edited_at: Timestamp,
    },
    /// Messages of one channel or thread were deleted.
    MessagesDeleted {
        channel_ref: ChannelRef,
        messages: Vec<MessageId>,
    },
    Reaction(DiscordReaction),
    /// All reactions to a message were removed, or all reactions with one emoji.
    ReactionsRemoved {
        channel_ref: ChannelRef,
        message: MessageId,
        emoji: Option<Arc<str>>,
    },
    /// A whole server: the bot joined it, or it became available.
    Guild(Box<Guild>),
    /// A server's own settings changed. Its channels and members are not part of the event.
    GuildSettingsChanged(Box<Guild>),
    /// The bot is no longer on this server.
    GuildRemoved(Id<GuildMarker>),
    ChannelChanged(GuildChannel),
    ChannelDeleted(Option<Id<GuildMarker>>, ChannelId),
    Thread(GuildThread),
    /// Active threads that the bot can now see.
    Threads(Vec<GuildThread>),
    ThreadDeleted(GuildThread),
    /// Users left a thread or were removed from it.
    ThreadMembersRemoved {
        guild: Id<GuildMarker>,
        thread: ChannelId,
        users: Vec<UserId>,
    },
    Role(Id<GuildMarker>, GuildRole),
    RoleDeleted(Id<GuildMarker>, Arc<str>),
    Member(GuildMember),
    /// A slash command, its autocompletion, or a button.
    Interaction(Value),
    /// An event that the bot does not need.
    Ignored,
    /// An event that lacks a required value for its name.
    Malformed,
}

#[derive(Clone, Debug, PartialEq)]
pub struct DiscordReaction {
    pub channel_ref: ChannelRef,
    pub message: MessageId,
    pub user: UserId,
    /// Whether a bot reacted, if Discord says so.
    pub is_bot: Option<bool>,
    /// The character, or the name of a custom emoji between colons.
    pub emoji: Arc<str>,
    pub change: ReactionChange,
}

/// Parses an event by its name.
pub fn parse_event(name: &str, data: &Value) -> DiscordEvent {
    match name {
        "MESSAGE_CREATE" if !message::is_for_users(data) => DiscordEvent::Ignored,
        "MESSAGE_CREATE" => or_malformed(
            message::parse_message(data).map(|message| DiscordEvent::Message(Box::new(message))),
        ),
        "MESSAGE_UPDATE" => parse_edit(data),
        "MESSAGE_DELETE" => or_malformed(parse_deletion(data, std::slice::from_ref(&data["id"]))),
        "MESSAGE_DELETE_BULK" => or_malformed(
            data["ids"].as_array().and_then(|ids| parse_deletion(data, ids.as_slice())),
        ),
        "MESSAGE_REACTION_ADD" => or_malformed(parse_reaction(data, ReactionChange::Added)),
        "MESSAGE_REACTION_REMOVE" => or_malformed(parse_reaction(data, ReactionChange::Removed)),
        "MESSAGE_REACTION_REMOVE_ALL" => or_malformed(parse_reactions_removed(data, None)),
        "MESSAGE_REACTION_REMOVE_EMOJI" => or_malformed(
            emoji_name(&data["emoji"]).and_then(|emoji| parse_reactions_removed(data, Some(emoji))),
        ),
        // The bot is still on a server that is unavailable.
        "GUILD_CREATE" | "GUILD_DELETE" if data["unavailable"] == true => DiscordEvent::Ignored,
        "GUILD_CREATE" => {
            or_malformed(guild::parse_guild(data).map(|guild| DiscordEvent::Guild(Box::new(guild))))
        }
        "GUILD_UPDATE" => or_malformed(
            guild::parse_guild(data)
                .map(|guild| DiscordEvent::GuildSettingsChanged(Box::new(guild))),
        ),
        "GUILD_DELETE" => or_malformed(parse_id(&data["id"]).map(DiscordEvent::GuildRemoved)),
        "CHANNEL_CREATE" | "CHANNEL_UPDATE" => {
            or_malformed(guild::parse_channel(data, None).map(DiscordEvent::ChannelChanged))
        }
        "CHANNEL_DELETE" => or_malformed(id_str(&data["id"]).map(|id| {
            DiscordEvent::ChannelDeleted(parse_id(&data["guild_id"]), ChannelId::new(id))
        })),
        "THREAD_CREATE" | "THREAD_UPDATE" => {
            or_malformed(guild::parse_thread(data, None).map(DiscordEvent::Thread))
        }
        "THREAD_LIST_SYNC" => or_malformed(parse_thread_list(data)),
        "THREAD_DELETE" => {
            or_malformed(guild::parse_thread(data, None).map(DiscordEvent::ThreadDeleted))
        }
        "THREAD_MEMBERS_UPDATE" => or_malformed(parse_thread_members_removed(data)),
        "GUILD_ROLE_CREATE" | "GUILD_ROLE_UPDATE" => or_malformed(parse_role_event(data)),
        "GUILD_ROLE_DELETE" => or_malformed(parse_role_deletion(data)),
        "GUILD_MEMBER_ADD" | "GUILD_MEMBER_UPDATE" => or_malformed(
            parse_id(&data["guild_id"])
                .and_then(|guild| parse_member(data, guild))
                .map(DiscordEvent::Member),
        ),
        "INTERACTION_CREATE" => DiscordEvent::Interaction(data.clone()),
        _ => DiscordEvent::Ignored,
    }
}

fn or_malformed(event: Option<DiscordEvent>) -> DiscordEvent {
    event.unwrap_or(DiscordEvent::Malformed)
}

/// Parses an edit. Only a change by the author is an edit; a link preview, a pin or a thread also updates the message.
/// Some updates contain only the changed fields.
fn parse_edit(data: &Value) -> DiscordEvent {
    if !message::is_for_users(data) {
        return DiscordEvent::Ignored;
    }
    if data["edited_timestamp"].is_null() {
        // An app fills in its deferred response, which Discord does not count as an edit. If the response is known,
        // hearing it again changes nothing.
        let response = Some(data).filter(|data| message::is_command_response(data));
        return response
            .and_then(message::parse_message)
            .map_or(DiscordEvent::Ignored, |message| DiscordEvent::Message(Box::new(message)));
    }
    let edit = message::parse_message(data).and_then(|message| {
        let edited_at = message.edited_at?;
        Some(DiscordEvent::MessageChanged { message: Box::new(message), edited_at })
    });
    or_malformed(edit)
}

fn parse_thread_list(data: &Value) -> Option<DiscordEvent> {
    let guild = parse_id(&data["guild_id"])?;
    let threads = data["threads"].as_array()?.iter();
    let threads = threads.filter_map(|thread| guild::parse_thread(thread, Some(guild)));
    Some(DiscordEvent::Threads(threads.collect()))
}

fn parse_thread_members_removed(data: &Value) -> Option<DiscordEvent> {
    let (guild, thread) = (parse_id(&data["guild_id"])?, ChannelId::new(id_str(&data["id"])?));
    let users = array_at(data, "removed_member_ids").filter_map(id_str).map(UserId::new).collect();
    Some(DiscordEvent::ThreadMembersRemoved { guild, thread, users })
}

fn parse_deletion(data: &Value, ids: &[Value]) -> Option<DiscordEvent> {
    let messages: Vec<_> = ids.iter().filter_map(id_str).map(MessageId::new).collect();
    let channel_ref = parse_channel_ref(data).filter(|_| !messages.is_empty())?;
    Some(DiscordEvent::MessagesDeleted { channel_ref, messages })
}

fn parse_reaction(data: &Value, change: ReactionChange) -> Option<DiscordEvent> {
    Some(DiscordEvent::Reaction(DiscordReaction {
        channel_ref: parse_channel_ref(data)?,
        message: MessageId::new(id_str(&data["message_id"])?),
        user: UserId::new(id_str(&data["user_id"])?),
        // Discord describes the user only when a reaction is added, and only on a server.
        is_bot: data["member"]["user"].is_object().then(|| data["member"]["user"]["bot"] == true),
        emoji: emoji_name(&data["emoji"])?,
        change,
    }))
}

fn parse_reactions_removed(data: &Value, emoji: Option<Arc<str>>) -> Option<DiscordEvent> {
    let message = MessageId::new(id_str(&data["message_id"])?);
    let channel_ref = parse_channel_ref(data)?;
    Some(DiscordEvent::ReactionsRemoved { channel_ref, message, emoji })
}

/// Returns an emoji in the stored form: the character, or the name of a custom emoji (one with an id) between colons. A
/// deleted emoji has only its id.
pub fn emoji_name(emoji: &Value) -> Option<Arc<str>> {
    let name = id_str(&emoji["name"]).or_else(|| id_str(&emoji["id"]))?;
    let is_custom = non_empty_str(&emoji["id"]).is_some();
    Some(if is_custom { format!(":{name}:").into() } else { name.into() })
}

fn parse_role_event(data: &Value) -> Option<DiscordEvent> {
    Some(DiscordEvent::Role(parse_id(&data["guild_id"])?, guild::parse_role(&data["role"])?))
}

fn parse_role_deletion(data: &Value) -> Option<DiscordEvent> {
    Some(DiscordEvent::RoleDeleted(parse_id(&data["guild_id"])?, id_str(&data["role_id"])?.into()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_preview_or_a_pin_is_not_an_edit() {
        let message = |edited: Value| {
            json!({"id": "175928847299117063", "channel_id": "2", "guild_id": "1", "content": "hi",
                "author": {"id": "3", "username": "mio"}, "edited_timestamp": edited, "embeds": [{}]})
        };
        assert_eq!(parse_event("MESSAGE_UPDATE", &message(Value::Null)), DiscordEvent::Ignored);
        let edited = message(json!("2026-03-01T12:00:00.250000+00:00"));
        let DiscordEvent::MessageChanged { message, edited_at: at } =
            parse_event("MESSAGE_UPDATE", &edited)
        else {
            panic!()
        };
        assert_eq!(at, "2026-03-01T12:00:00.25Z".parse().unwrap());
        assert_eq!(message.id.as_str(), "175928847299117063");
        // Some updates contain only the changed fields.
        let part = json!({"id": "5", "channel_id": "2", "embeds": [{}]});
        assert_eq!(parse_event("MESSAGE_UPDATE", &part), DiscordEvent::Ignored);
    }

    /// Discord shows that the app is thinking, and then its response, without counting that as an edit.
    #[test]
    fn a_deferred_response_is_heard_when_it_is_filled_in() {
        let response = |flags: u64, content: &str| {
            json!({"id": "175928847299117063", "channel_id": "2", "guild_id": "1", "type": 20,
                "content": content, "flags": flags, "edited_timestamp": null,
                "author": {"id": "4", "username": "weather", "bot": true}})
        };
        let thinking = response(128, "");
        assert_eq!(parse_event("MESSAGE_CREATE", &thinking), DiscordEvent::Ignored);
        assert_eq!(parse_event("MESSAGE_UPDATE", &thinking), DiscordEvent::Ignored);
        let DiscordEvent::Message(message) = parse_event("MESSAGE_UPDATE", &response(0, "sunny"))
        else {
            panic!()
        };
        assert_eq!(message.raw["content"], "sunny");
        let part = json!({"id": "175928847299117063", "channel_id": "2", "type": 20, "embeds": []});
        assert_eq!(parse_event("MESSAGE_UPDATE", &part), DiscordEvent::Ignored);
    }

    #[test]
    fn deletions_name_the_messages_and_their_channel() {
        let channel_ref = ChannelRef { guild: Some(Id::new(1)), channel: ChannelId::new("2") };
        let one = json!({"id": "5", "channel_id": "2", "guild_id": "1"});
        let many = json!({"ids": ["5", "6"], "channel_id": "2", "guild_id": "1"});
        let messages = |ids: &[&str]| ids.iter().map(|id| MessageId::new(*id)).collect();
        let deleted = |ids| DiscordEvent::MessagesDeleted {
            channel_ref: channel_ref.clone(),
            messages: messages(ids),
        };
        assert_eq!(parse_event("MESSAGE_DELETE", &one), deleted(&["5"]));
        assert_eq!(parse_event("MESSAGE_DELETE_BULK", &many), deleted(&["5", "6"]));
    }

    #[test]
    fn reactions_hold_characters_or_emoji_names() {
        let data = |emoji: Value, member: Value| {
            json!({"channel_id": "2", "guild_id": "1", "message_id": "5", "user_id": "3",
                "emoji": emoji, "member": member})
        };
        let parse = |data: &Value| match parse_event("MESSAGE_REACTION_ADD", data) {
            DiscordEvent::Reaction(reaction) => (reaction.emoji.to_string(), reaction.is_bot),
            event => panic!("{event:?}"),
        };
        let bot = json!({"user": {"id": "3", "bot": true}});
        let custom = json!({"id": "9", "name": "parrot"});
        assert_eq!(parse(&data(custom, bot)), (":parrot:".to_owned(), Some(true)));
        let unicode = json!({"id": null, "name": "👍"});
        assert_eq!(parse(&data(unicode.clone(), Value::Null)), ("👍".to_owned(), None));
        let removed = |emoji| DiscordEvent::ReactionsRemoved {
            channel_ref: ChannelRef { guild: Some(Id::new(1)), channel: ChannelId::new("2") },
            message: MessageId::new("5"),
            emoji,
        };
        let all = data(Value::Null, Value::Null);
        assert_eq!(parse_event("MESSAGE_REACTION_REMOVE_ALL", &all), removed(None));
        let one = data(unicode, Value::Null);
        assert_eq!(parse_event("MESSAGE_REACTION_REMOVE_EMOJI", &one), removed(Some("👍".into())));
    }

    #[test]
    fn an_unavailable_server_is_not_left() {
        let down = json!({"id": "1", "unavailable": true});
        assert_eq!(parse_event("GUILD_DELETE", &down), DiscordEvent::Ignored);
        assert_eq!(parse_event("GUILD_CREATE", &down), DiscordEvent::Ignored);
        assert_eq!(
            parse_event("GUILD_DELETE", &json!({"id": "1"})),
            DiscordEvent::GuildRemoved(Id::new(1))
        );
    }

    #[test]
    fn events_without_what_they_need_are_malformed() {
        let names = ["MESSAGE_CREATE", "MESSAGE_DELETE", "MESSAGE_DELETE_BULK", "THREAD_CREATE"];
        let reactions = ["MESSAGE_REACTION_ADD", "MESSAGE_REACTION_REMOVE_ALL", "GUILD_UPDATE"];
        let rest = ["GUILD_CREATE", "CHANNEL_CREATE", "THREAD_LIST_SYNC", "GUILD_ROLE_UPDATE"];
        let odd = [json!(null), json!([]), json!({}), json!({"id": 7}), json!({"id": "x"})];
        for name in names.into_iter().chain(reactions).chain(rest) {
            for odd in &odd {
                assert_eq!(parse_event(name, odd), DiscordEvent::Malformed, "{name} {odd}");
            }
        }
        for (name, odd) in ["PRESENCE_UPDATE", "MESSAGE_UPDATE", ""].iter().zip(&odd) {
            assert_eq!(parse_event(name, odd), DiscordEvent::Ignored, "{name} {odd}");
        }
        let edited = json!({"id": "5", "channel_id": "2", "edited_timestamp": 7});
        assert_eq!(parse_event("MESSAGE_UPDATE", &edited), DiscordEvent::Malformed);
        // A message whose server id cannot be parsed is not a direct message.
        let message = json!({"id": "175928847299117063", "channel_id": "2", "guild_id": 1,
            "content": "hi", "author": {"id": "3", "username": "mio"}});
        assert_eq!(parse_event("MESSAGE_CREATE", &message), DiscordEvent::Malformed);
    }
}
