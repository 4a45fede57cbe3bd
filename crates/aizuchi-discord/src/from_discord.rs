//! What Discord's events and histories tell, read leniently: a shape that is not known tells nothing, and
//! nothing here fails. One odd sticker must not make it deaf on a server.

pub mod guild;
pub mod line;

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::Value;
use twilight_model::id::Id;
use twilight_model::id::marker::GuildMarker;

use crate::from_discord::guild::{Guild, Role, Room, Thread};
use crate::from_discord::line::Line;
use aizuchi_core::chat::{ChannelId, MessageId, ReactionChange, UserId};

/// The first millisecond that Discord counts.
const EPOCH_MS: i64 = 1_420_070_400_000;

/// What an event is about.
#[derive(Clone, Debug, PartialEq)]
pub enum Told {
    Line(Box<Line>),
    /// A line that was there has another text now.
    Changed {
        line: Box<Line>,
        at: Timestamp,
    },
    /// Lines of one place are gone.
    Deleted {
        place: Place,
        lines: Vec<MessageId>,
    },
    Reaction(Reaction),
    /// All reactions to a line are gone, or all with one emoji.
    ReactionsGone {
        place: Place,
        message: MessageId,
        emoji: Option<Arc<str>>,
    },
    /// All of a server: we are on it, or it can be reached again.
    Guild(Box<Guild>),
    /// Something about a server itself has changed; what is in it is not told.
    GuildChanged(Box<Guild>),
    /// We are on this server no more.
    GuildGone(Id<GuildMarker>),
    Room(Room),
    RoomGone(ChannelId),
    Thread(Thread),
    /// The active threads of some channels, all of them where none is named.
    Threads(Vec<Thread>),
    ThreadGone(ChannelId),
    Role(Id<GuildMarker>, Role),
    RoleGone(Id<GuildMarker>, Arc<str>),
    Member(Member),
    /// Somebody gives a command, presses a button or types one.
    Interaction(Value),
    Nothing,
}

/// A channel or a thread, as events name it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// `None`: a direct message.
    pub guild: Option<Id<GuildMarker>>,
    pub channel: ChannelId,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Reaction {
    pub place: Place,
    pub message: MessageId,
    pub user: UserId,
    /// Whether a bot did it, where that is told.
    pub is_bot: Option<bool>,
    /// The character, or the name of one of the server's own between colons.
    pub emoji: Arc<str>,
    pub change: ReactionChange,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Person {
    pub id: UserId,
    pub name: Arc<str>,
    pub is_bot: bool,
    /// The roles on the server, where they are told.
    pub roles: Option<Vec<Arc<str>>>,
}

/// Somebody on a server, with their roles.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    pub guild: Id<GuildMarker>,
    pub person: Person,
    pub roles: Vec<Arc<str>>,
}

/// The event with this name and content.
pub fn told(name: &str, data: &Value) -> Told {
    let tell = |told: Option<Told>| told.unwrap_or(Told::Nothing);
    match name {
        "MESSAGE_CREATE" => tell(line::line(data).map(|line| Told::Line(Box::new(line)))),
        "MESSAGE_UPDATE" => tell(changed(data)),
        "MESSAGE_DELETE" => tell(deleted(data, std::slice::from_ref(&data["id"]))),
        "MESSAGE_DELETE_BULK" => {
            tell(deleted(data, data["ids"].as_array().map_or(&[][..], Vec::as_slice)))
        }
        "MESSAGE_REACTION_ADD" => tell(reaction(data, ReactionChange::Added)),
        "MESSAGE_REACTION_REMOVE" => tell(reaction(data, ReactionChange::Removed)),
        "MESSAGE_REACTION_REMOVE_ALL" | "MESSAGE_REACTION_REMOVE_EMOJI" => {
            tell(reactions_gone(data))
        }
        // One that cannot be reached now is still ours.
        "GUILD_CREATE" if data["unavailable"] != true => {
            tell(guild::guild(data).map(|guild| Told::Guild(Box::new(guild))))
        }
        "GUILD_UPDATE" => tell(guild::guild(data).map(|guild| Told::GuildChanged(Box::new(guild)))),
        "GUILD_DELETE" if data["unavailable"] != true => {
            tell(id_of(&data["id"]).map(Told::GuildGone))
        }
        "CHANNEL_CREATE" | "CHANNEL_UPDATE" => tell(guild::room(data, None).map(Told::Room)),
        "CHANNEL_DELETE" => tell(text(&data["id"]).map(|id| Told::RoomGone(ChannelId::new(id)))),
        "THREAD_CREATE" | "THREAD_UPDATE" => tell(guild::thread(data, None).map(Told::Thread)),
        "THREAD_LIST_SYNC" => {
            let guild = id_of(&data["guild_id"]);
            let threads = list(data, "threads");
            Told::Threads(threads.filter_map(|it| guild::thread(it, guild)).collect())
        }
        "THREAD_DELETE" => tell(text(&data["id"]).map(|id| Told::ThreadGone(ChannelId::new(id)))),
        "GUILD_ROLE_CREATE" | "GUILD_ROLE_UPDATE" => tell(role(data)),
        "GUILD_ROLE_DELETE" => tell(role_gone(data)),
        "GUILD_MEMBER_ADD" | "GUILD_MEMBER_UPDATE" => {
            tell(id_of(&data["guild_id"]).and_then(|guild| member(data, guild)).map(Told::Member))
        }
        "INTERACTION_CREATE" => Told::Interaction(data.clone()),
        _ => Told::Nothing,
    }
}

/// A preview that appears below a line, a pin or a thread changes nothing that anybody said.
fn changed(data: &Value) -> Option<Told> {
    let line = line::line(data)?;
    let at = line.edited?;
    Some(Told::Changed { line: Box::new(line), at })
}

fn deleted(data: &Value, ids: &[Value]) -> Option<Told> {
    let lines = ids.iter().filter_map(text).map(MessageId::new).collect();
    Some(Told::Deleted { place: place(data)?, lines })
}

fn reaction(data: &Value, change: ReactionChange) -> Option<Told> {
    Some(Told::Reaction(Reaction {
        place: place(data)?,
        message: MessageId::new(text(&data["message_id"])?),
        user: UserId::new(text(&data["user_id"])?),
        is_bot: data["member"]["user"].is_object().then(|| data["member"]["user"]["bot"] == true),
        emoji: emoji(&data["emoji"])?,
        change,
    }))
}

fn reactions_gone(data: &Value) -> Option<Told> {
    let message = MessageId::new(text(&data["message_id"])?);
    Some(Told::ReactionsGone { place: place(data)?, message, emoji: emoji(&data["emoji"]) })
}

/// One of a server's own has an id, and a name that only its server knows.
pub fn emoji(emoji: &Value) -> Option<Arc<str>> {
    let name = text(&emoji["name"])?;
    let is_own = text(&emoji["id"]).is_some();
    Some(if is_own { format!(":{name}:").into() } else { name.into() })
}

fn role(data: &Value) -> Option<Told> {
    Some(Told::Role(id_of(&data["guild_id"])?, guild::role(&data["role"])?))
}

fn role_gone(data: &Value) -> Option<Told> {
    Some(Told::RoleGone(id_of(&data["guild_id"])?, text(&data["role_id"])?.into()))
}

fn place(data: &Value) -> Option<Place> {
    let channel = ChannelId::new(text(&data["channel_id"])?);
    Some(Place { guild: id_of(&data["guild_id"]), channel })
}

/// A member of a server, by the name that others see there.
pub fn member(member: &Value, guild: Id<GuildMarker>) -> Option<Member> {
    let person = person(&member["user"], member)?;
    let roles = list(member, "roles").filter_map(text).map(Arc::from).collect();
    Some(Member { guild, person, roles })
}

/// Somebody by the name that others see: the server's, the one shown everywhere, or the one to log in with.
pub fn person(user: &Value, member: &Value) -> Option<Person> {
    let id = text(&user["id"])?;
    let names = [&member["nick"], &user["global_name"], &user["username"]];
    let name = names.into_iter().find_map(text).unwrap_or(id);
    let is_bot = user["bot"] == true || user["system"] == true;
    let roles = member["roles"].is_array();
    let roles = roles.then(|| list(member, "roles").filter_map(text).map(Arc::from).collect());
    Some(Person {
        id: UserId::new(id),
        name: aizuchi_core::chat::one_line(name).into(),
        is_bot,
        roles,
    })
}

/// Text that is there.
pub fn text(value: &Value) -> Option<&str> {
    value.as_str().filter(|text| !text.is_empty())
}

pub fn list<'a>(holder: &'a Value, key: &str) -> impl Iterator<Item = &'a Value> {
    holder[key].as_array().into_iter().flatten()
}

pub fn id_of<T>(value: &Value) -> Option<Id<T>> {
    text(value)?.parse().ok()
}

/// When something with this id was made.
pub fn time(id: &str) -> Option<Timestamp> {
    let id: u64 = id.parse().ok()?;
    let since = i64::try_from(id >> 22).ok()?;
    Timestamp::from_millisecond(since + EPOCH_MS).ok()
}

/// An id behind everything that was made before this moment, and before everything else.
pub fn id_before(at: Timestamp) -> u64 {
    let since = u64::try_from(at.as_millisecond() - EPOCH_MS).unwrap_or(0);
    (since << 22).saturating_sub(1)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    #[test]
    fn ids_tell_the_time() {
        assert_eq!(time("175928847299117063").unwrap().as_millisecond(), 1_462_015_105_796);
        assert_eq!(time("nonsense"), None);
        let id = id_before(at(1_700_000_000));
        assert!(time(&id.to_string()).unwrap() < at(1_700_000_000));
        assert_eq!(time(&(id + 1).to_string()).unwrap(), at(1_700_000_000));
        assert_eq!(id_before(at(0)), 0);
    }

    #[test]
    fn a_preview_or_a_pin_is_no_edit() {
        let message = |edited: Value| {
            json!({"id": "175928847299117063", "channel_id": "2", "guild_id": "1", "content": "hi",
                "author": {"id": "3", "username": "mio"}, "edited_timestamp": edited, "embeds": [{}]})
        };
        assert_eq!(told("MESSAGE_UPDATE", &message(Value::Null)), Told::Nothing);
        let edited = message(json!("2026-03-01T12:00:00.250000+00:00"));
        let Told::Changed { line, at } = told("MESSAGE_UPDATE", &edited) else { panic!() };
        assert_eq!(at, "2026-03-01T12:00:00.25Z".parse().unwrap());
        assert_eq!(line.id.as_str(), "175928847299117063");
        // Older parts of Discord tell only what has changed.
        let part = json!({"id": "5", "channel_id": "2", "embeds": [{}]});
        assert_eq!(told("MESSAGE_UPDATE", &part), Told::Nothing);
    }

    #[test]
    fn deletions_name_their_lines_and_where_they_stood() {
        let place = Place { guild: Some(Id::new(1)), channel: ChannelId::new("2") };
        let one = json!({"id": "5", "channel_id": "2", "guild_id": "1"});
        let many = json!({"ids": ["5", "6"], "channel_id": "2", "guild_id": "1"});
        let lines = |ids: &[&str]| ids.iter().map(|id| MessageId::new(*id)).collect();
        let deleted = |ids| Told::Deleted { place: place.clone(), lines: lines(ids) };
        assert_eq!(told("MESSAGE_DELETE", &one), deleted(&["5"]));
        assert_eq!(told("MESSAGE_DELETE_BULK", &many), deleted(&["5", "6"]));
    }

    #[test]
    fn reactions_are_characters_or_names() {
        let data = |emoji: Value, more: Value| {
            json!({"channel_id": "2", "guild_id": "1", "message_id": "5", "user_id": "3",
                "emoji": emoji, "member": more})
        };
        let read = |data: &Value| match told("MESSAGE_REACTION_ADD", data) {
            Told::Reaction(reaction) => (reaction.emoji.to_string(), reaction.is_bot),
            told => panic!("{told:?}"),
        };
        let bot = json!({"user": {"id": "3", "bot": true}});
        let own = json!({"id": "9", "name": "parrot"});
        assert_eq!(read(&data(own, bot)), (":parrot:".to_owned(), Some(true)));
        let plain = json!({"id": null, "name": "👍"});
        assert_eq!(read(&data(plain.clone(), Value::Null)), ("👍".to_owned(), None));
        let gone = |emoji| Told::ReactionsGone {
            place: Place { guild: Some(Id::new(1)), channel: ChannelId::new("2") },
            message: MessageId::new("5"),
            emoji,
        };
        let all = data(Value::Null, Value::Null);
        assert_eq!(told("MESSAGE_REACTION_REMOVE_ALL", &all), gone(None));
        let one = data(plain, Value::Null);
        assert_eq!(told("MESSAGE_REACTION_REMOVE_EMOJI", &one), gone(Some("👍".into())));
    }

    #[test]
    fn a_server_that_is_down_is_not_lost() {
        let down = json!({"id": "1", "unavailable": true});
        assert_eq!(told("GUILD_DELETE", &down), Told::Nothing);
        assert_eq!(told("GUILD_CREATE", &down), Told::Nothing);
        assert_eq!(told("GUILD_DELETE", &json!({"id": "1"})), Told::GuildGone(Id::new(1)));
    }

    #[test]
    fn people_have_the_name_that_others_see() {
        let user = json!({"id": "3", "username": "mio_77", "global_name": "Mio"});
        let name = |user: &Value, member: &Value| person(user, member).unwrap().name.to_string();
        assert_eq!(name(&user, &json!({"nick": "Mi\no"})), "Mi o");
        assert_eq!(name(&user, &json!({"nick": null})), "Mio");
        assert_eq!(name(&json!({"id": "3", "username": "mio_77"}), &Value::Null), "mio_77");
        assert_eq!(person(&json!({}), &Value::Null), None);
    }

    #[test]
    fn whatever_comes_nothing_fails() {
        let names = ["MESSAGE_CREATE", "MESSAGE_UPDATE", "MESSAGE_DELETE", "MESSAGE_DELETE_BULK"];
        let more = ["MESSAGE_REACTION_ADD", "MESSAGE_REACTION_REMOVE_ALL", "GUILD_UPDATE"];
        let rest = ["GUILD_CREATE", "CHANNEL_CREATE", "THREAD_CREATE", "GUILD_ROLE_UPDATE"];
        for name in names.into_iter().chain(more).chain(rest).chain(["PRESENCE_UPDATE", ""]) {
            for odd in [json!(null), json!([]), json!({}), json!({"id": 7}), json!({"id": "x"})] {
                assert_eq!(told(name, &odd), Told::Nothing, "{name} {odd}");
            }
        }
    }
}
