//! What Discord's events and histories tell, read leniently: a shape that is not known tells nothing, and
//! nothing here fails. One odd sticker must not make it deaf on a server.

pub mod user;
pub mod guild;
pub mod message;

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::Value;
use twilight_model::id::Id;
use twilight_model::id::marker::GuildMarker;

use crate::from_discord::guild::{Guild, GuildChannel, GuildRole, GuildThread};
use crate::from_discord::message::{ChannelRef, DiscordMessage, parse_channel_ref};
use crate::from_discord::user::{GuildMember, parse_member};
use crate::json::{array_at, non_empty_str, parse_id};
use aizuchi_core::chat::{ChannelId, MessageId, ReactionChange, UserId};

/// What an event is about.
#[derive(Clone, Debug, PartialEq)]
pub enum DiscordEvent {
    Message(Box<DiscordMessage>),
    /// A line that was there has another text now.
    MessageChanged {
        message: Box<DiscordMessage>,
        edited_at: Timestamp,
    },
    /// Lines of one place are gone.
    MessagesDeleted {
        channel_ref: ChannelRef,
        messages: Vec<MessageId>,
    },
    Reaction(DiscordReaction),
    /// All reactions to a line are gone, or all with one emoji.
    ReactionsRemoved {
        channel_ref: ChannelRef,
        message: MessageId,
        emoji: Option<Arc<str>>,
    },
    /// All of a server: we are on it, or it can be reached again.
    Guild(Box<Guild>),
    /// Something about a server itself has changed; what is in it is not told.
    GuildSettingsChanged(Box<Guild>),
    /// We are on this server no more.
    GuildRemoved(Id<GuildMarker>),
    ChannelChanged(GuildChannel),
    ChannelDeleted(ChannelId),
    Thread(GuildThread),
    /// The active threads of some channels, all of them where none is named.
    Threads(Vec<GuildThread>),
    ThreadDeleted(ChannelId),
    Role(Id<GuildMarker>, GuildRole),
    RoleDeleted(Id<GuildMarker>, Arc<str>),
    Member(GuildMember),
    /// Somebody gives a command, presses a button or types one.
    Interaction(Value),
    Ignored,
}

#[derive(Clone, Debug, PartialEq)]
pub struct DiscordReaction {
    pub channel_ref: ChannelRef,
    pub message: MessageId,
    pub user: UserId,
    /// Whether a bot did it, where that is told.
    pub is_bot: Option<bool>,
    /// The character, or the name of one of the server's own between colons.
    pub emoji: Arc<str>,
    pub change: ReactionChange,
}

/// The event with this name and content.
pub fn parse_event(name: &str, data: &Value) -> DiscordEvent {
    let tell = |told: Option<DiscordEvent>| told.unwrap_or(DiscordEvent::Ignored);
    match name {
        "MESSAGE_CREATE" => {
            tell(message::parse_message(data).map(|line| DiscordEvent::Message(Box::new(line))))
        }
        "MESSAGE_UPDATE" => tell(parse_edit(data)),
        "MESSAGE_DELETE" => tell(parse_deletion(data, std::slice::from_ref(&data["id"]))),
        "MESSAGE_DELETE_BULK" => {
            tell(parse_deletion(data, data["ids"].as_array().map_or(&[][..], Vec::as_slice)))
        }
        "MESSAGE_REACTION_ADD" => tell(parse_reaction(data, ReactionChange::Added)),
        "MESSAGE_REACTION_REMOVE" => tell(parse_reaction(data, ReactionChange::Removed)),
        "MESSAGE_REACTION_REMOVE_ALL" | "MESSAGE_REACTION_REMOVE_EMOJI" => {
            tell(parse_reactions_removed(data))
        }
        // One that cannot be reached now is still ours.
        "GUILD_CREATE" if data["unavailable"] != true => {
            tell(guild::parse_guild(data).map(|guild| DiscordEvent::Guild(Box::new(guild))))
        }
        "GUILD_UPDATE" => tell(
            guild::parse_guild(data)
                .map(|guild| DiscordEvent::GuildSettingsChanged(Box::new(guild))),
        ),
        "GUILD_DELETE" if data["unavailable"] != true => {
            tell(parse_id(&data["id"]).map(DiscordEvent::GuildRemoved))
        }
        "CHANNEL_CREATE" | "CHANNEL_UPDATE" => {
            tell(guild::parse_channel(data, None).map(DiscordEvent::ChannelChanged))
        }
        "CHANNEL_DELETE" => tell(
            non_empty_str(&data["id"]).map(|id| DiscordEvent::ChannelDeleted(ChannelId::new(id))),
        ),
        "THREAD_CREATE" | "THREAD_UPDATE" => {
            tell(guild::parse_thread(data, None).map(DiscordEvent::Thread))
        }
        "THREAD_LIST_SYNC" => {
            let guild = parse_id(&data["guild_id"]);
            let threads = array_at(data, "threads");
            DiscordEvent::Threads(threads.filter_map(|it| guild::parse_thread(it, guild)).collect())
        }
        "THREAD_DELETE" => tell(
            non_empty_str(&data["id"]).map(|id| DiscordEvent::ThreadDeleted(ChannelId::new(id))),
        ),
        "GUILD_ROLE_CREATE" | "GUILD_ROLE_UPDATE" => tell(parse_role_event(data)),
        "GUILD_ROLE_DELETE" => tell(parse_role_deletion(data)),
        "GUILD_MEMBER_ADD" | "GUILD_MEMBER_UPDATE" => tell(
            parse_id(&data["guild_id"])
                .and_then(|guild| parse_member(data, guild))
                .map(DiscordEvent::Member),
        ),
        "INTERACTION_CREATE" => DiscordEvent::Interaction(data.clone()),
        _ => DiscordEvent::Ignored,
    }
}

/// A preview that appears below a line, a pin or a thread changes nothing that anybody said.
fn parse_edit(data: &Value) -> Option<DiscordEvent> {
    let line = message::parse_message(data)?;
    let at = line.edited_at?;
    Some(DiscordEvent::MessageChanged { message: Box::new(line), edited_at: at })
}

fn parse_deletion(data: &Value, ids: &[Value]) -> Option<DiscordEvent> {
    let lines = ids.iter().filter_map(non_empty_str).map(MessageId::new).collect();
    Some(DiscordEvent::MessagesDeleted { channel_ref: parse_channel_ref(data)?, messages: lines })
}

fn parse_reaction(data: &Value, change: ReactionChange) -> Option<DiscordEvent> {
    Some(DiscordEvent::Reaction(DiscordReaction {
        channel_ref: parse_channel_ref(data)?,
        message: MessageId::new(non_empty_str(&data["message_id"])?),
        user: UserId::new(non_empty_str(&data["user_id"])?),
        is_bot: data["member"]["user"].is_object().then(|| data["member"]["user"]["bot"] == true),
        emoji: emoji_name(&data["emoji"])?,
        change,
    }))
}

fn parse_reactions_removed(data: &Value) -> Option<DiscordEvent> {
    let message = MessageId::new(non_empty_str(&data["message_id"])?);
    Some(DiscordEvent::ReactionsRemoved {
        channel_ref: parse_channel_ref(data)?,
        message,
        emoji: emoji_name(&data["emoji"]),
    })
}

/// One of a server's own has an id, and a name that only its server knows.
pub fn emoji_name(emoji: &Value) -> Option<Arc<str>> {
    let name = non_empty_str(&emoji["name"])?;
    let is_own = non_empty_str(&emoji["id"]).is_some();
    Some(if is_own { format!(":{name}:").into() } else { name.into() })
}

fn parse_role_event(data: &Value) -> Option<DiscordEvent> {
    Some(DiscordEvent::Role(parse_id(&data["guild_id"])?, guild::parse_role(&data["role"])?))
}

fn parse_role_deletion(data: &Value) -> Option<DiscordEvent> {
    Some(DiscordEvent::RoleDeleted(
        parse_id(&data["guild_id"])?,
        non_empty_str(&data["role_id"])?.into(),
    ))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_preview_or_a_pin_is_no_edit() {
        let message = |edited: Value| {
            json!({"id": "175928847299117063", "channel_id": "2", "guild_id": "1", "content": "hi",
                "author": {"id": "3", "username": "mio"}, "edited_timestamp": edited, "embeds": [{}]})
        };
        assert_eq!(parse_event("MESSAGE_UPDATE", &message(Value::Null)), DiscordEvent::Ignored);
        let edited = message(json!("2026-03-01T12:00:00.250000+00:00"));
        let DiscordEvent::MessageChanged { message: line, edited_at: at } =
            parse_event("MESSAGE_UPDATE", &edited)
        else {
            panic!()
        };
        assert_eq!(at, "2026-03-01T12:00:00.25Z".parse().unwrap());
        assert_eq!(line.id.as_str(), "175928847299117063");
        // Older parts of Discord tell only what has changed.
        let part = json!({"id": "5", "channel_id": "2", "embeds": [{}]});
        assert_eq!(parse_event("MESSAGE_UPDATE", &part), DiscordEvent::Ignored);
    }

    #[test]
    fn deletions_name_their_lines_and_where_they_stood() {
        let place = ChannelRef { guild: Some(Id::new(1)), channel: ChannelId::new("2") };
        let one = json!({"id": "5", "channel_id": "2", "guild_id": "1"});
        let many = json!({"ids": ["5", "6"], "channel_id": "2", "guild_id": "1"});
        let lines = |ids: &[&str]| ids.iter().map(|id| MessageId::new(*id)).collect();
        let deleted = |ids| DiscordEvent::MessagesDeleted {
            channel_ref: place.clone(),
            messages: lines(ids),
        };
        assert_eq!(parse_event("MESSAGE_DELETE", &one), deleted(&["5"]));
        assert_eq!(parse_event("MESSAGE_DELETE_BULK", &many), deleted(&["5", "6"]));
    }

    #[test]
    fn reactions_are_characters_or_names() {
        let data = |emoji: Value, more: Value| {
            json!({"channel_id": "2", "guild_id": "1", "message_id": "5", "user_id": "3",
                "emoji": emoji, "member": more})
        };
        let read = |data: &Value| match parse_event("MESSAGE_REACTION_ADD", data) {
            DiscordEvent::Reaction(reaction) => (reaction.emoji.to_string(), reaction.is_bot),
            told => panic!("{told:?}"),
        };
        let bot = json!({"user": {"id": "3", "bot": true}});
        let own = json!({"id": "9", "name": "parrot"});
        assert_eq!(read(&data(own, bot)), (":parrot:".to_owned(), Some(true)));
        let plain = json!({"id": null, "name": "👍"});
        assert_eq!(read(&data(plain.clone(), Value::Null)), ("👍".to_owned(), None));
        let gone = |emoji| DiscordEvent::ReactionsRemoved {
            channel_ref: ChannelRef { guild: Some(Id::new(1)), channel: ChannelId::new("2") },
            message: MessageId::new("5"),
            emoji,
        };
        let all = data(Value::Null, Value::Null);
        assert_eq!(parse_event("MESSAGE_REACTION_REMOVE_ALL", &all), gone(None));
        let one = data(plain, Value::Null);
        assert_eq!(parse_event("MESSAGE_REACTION_REMOVE_EMOJI", &one), gone(Some("👍".into())));
    }

    #[test]
    fn a_server_that_is_down_is_not_lost() {
        let down = json!({"id": "1", "unavailable": true});
        assert_eq!(parse_event("GUILD_DELETE", &down), DiscordEvent::Ignored);
        assert_eq!(parse_event("GUILD_CREATE", &down), DiscordEvent::Ignored);
        assert_eq!(
            parse_event("GUILD_DELETE", &json!({"id": "1"})),
            DiscordEvent::GuildRemoved(Id::new(1))
        );
    }

    #[test]
    fn whatever_comes_nothing_fails() {
        let names = ["MESSAGE_CREATE", "MESSAGE_UPDATE", "MESSAGE_DELETE", "MESSAGE_DELETE_BULK"];
        let more = ["MESSAGE_REACTION_ADD", "MESSAGE_REACTION_REMOVE_ALL", "GUILD_UPDATE"];
        let rest = ["GUILD_CREATE", "CHANNEL_CREATE", "THREAD_CREATE", "GUILD_ROLE_UPDATE"];
        for name in names.into_iter().chain(more).chain(rest).chain(["PRESENCE_UPDATE", ""]) {
            for odd in [json!(null), json!([]), json!({}), json!({"id": 7}), json!({"id": "x"})] {
                assert_eq!(parse_event(name, &odd), DiscordEvent::Ignored, "{name} {odd}");
            }
        }
    }
}
