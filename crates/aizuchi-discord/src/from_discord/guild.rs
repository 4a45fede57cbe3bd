//! A server as Discord describes it: its channels, threads and roles, and who we are in it.

use std::sync::Arc;

use serde_json::Value;
use twilight_model::channel::ChannelType;
use twilight_model::channel::permission_overwrite::PermissionOverwrite;
use twilight_model::guild::Permissions;
use twilight_model::id::Id;
use twilight_model::id::marker::GuildMarker;

use crate::from_discord::{Member, id_of, list, member, text};
use crate::text::emoji::Emoji;
use aizuchi_core::chat::{ChannelId, UserId, one_line};

#[derive(Clone, Debug, PartialEq)]
pub struct Guild {
    pub id: Id<GuildMarker>,
    pub name: Arc<str>,
    pub owner: Option<UserId>,
    pub roles: Vec<Role>,
    pub emojis: Vec<Emoji>,
    /// Where Discord itself tells who has joined.
    pub lobby: Option<ChannelId>,
    pub rooms: Vec<Room>,
    pub threads: Vec<Thread>,
    /// Those of its members that are told of, ourselves among them.
    pub members: Vec<Member>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Role {
    pub id: Arc<str>,
    pub name: Arc<str>,
    pub permissions: Permissions,
    /// The bot that came with it.
    pub bot: Option<UserId>,
}

/// A channel of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Room {
    pub guild: Id<GuildMarker>,
    pub id: ChannelId,
    pub name: Arc<str>,
    pub kind: ChannelType,
    pub overwrites: Vec<PermissionOverwrite>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Thread {
    pub guild: Id<GuildMarker>,
    pub id: ChannelId,
    /// The channel or forum that it is in.
    pub parent: ChannelId,
    pub name: Arc<str>,
    /// Who opened it.
    pub owner: Option<UserId>,
    /// Only who was invited may read it.
    pub is_private: bool,
    pub is_archived: bool,
}

pub fn guild(whole: &Value) -> Option<Guild> {
    let id = id_of(&whole["id"])?;
    Some(Guild {
        id,
        name: one_line(text(&whole["name"])?).into(),
        owner: text(&whole["owner_id"]).map(UserId::new),
        roles: list(whole, "roles").filter_map(role).collect(),
        emojis: list(whole, "emojis").filter_map(Emoji::read).collect(),
        lobby: text(&whole["system_channel_id"]).map(ChannelId::new),
        rooms: list(whole, "channels").filter_map(|it| room(it, Some(id))).collect(),
        threads: list(whole, "threads").filter_map(|it| thread(it, Some(id))).collect(),
        members: list(whole, "members").filter_map(|it| member(it, id)).collect(),
    })
}

pub fn role(whole: &Value) -> Option<Role> {
    let permissions = text(&whole["permissions"]).and_then(|bits| bits.parse().ok());
    Some(Role {
        id: text(&whole["id"])?.into(),
        name: one_line(text(&whole["name"]).unwrap_or_default()).into(),
        permissions: Permissions::from_bits_truncate(permissions.unwrap_or(0)),
        bot: text(&whole["tags"]["bot_id"]).map(UserId::new),
    })
}

/// A channel; what is in a server's description does not name the server.
pub fn room(whole: &Value, guild: Option<Id<GuildMarker>>) -> Option<Room> {
    let kind = kind(whole)?;
    if kind.is_thread() {
        return None;
    }
    let id = text(&whole["id"])?;
    let overwrites = list(whole, "permission_overwrites");
    Some(Room {
        guild: id_of(&whole["guild_id"]).or(guild)?,
        id: ChannelId::new(id),
        name: one_line(text(&whole["name"]).unwrap_or(id)).into(),
        kind,
        overwrites: overwrites.filter_map(overwrite).collect(),
    })
}

fn overwrite(whole: &Value) -> Option<PermissionOverwrite> {
    serde_json::from_value(whole.clone()).ok()
}

pub fn thread(whole: &Value, guild: Option<Id<GuildMarker>>) -> Option<Thread> {
    let kind = kind(whole).filter(|kind| kind.is_thread())?;
    let id = text(&whole["id"])?;
    Some(Thread {
        guild: id_of(&whole["guild_id"]).or(guild)?,
        id: ChannelId::new(id),
        parent: ChannelId::new(text(&whole["parent_id"])?),
        name: one_line(text(&whole["name"]).unwrap_or(id)).into(),
        owner: text(&whole["owner_id"]).map(UserId::new),
        is_private: kind == ChannelType::PrivateThread,
        is_archived: whole["thread_metadata"]["archived"] == true,
    })
}

fn kind(whole: &Value) -> Option<ChannelType> {
    whole["type"].as_u64().and_then(|kind| u8::try_from(kind).ok()).map(ChannelType::from)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_server_is_read_with_what_is_in_it() {
        let whole = json!({
            "id": "1", "name": "Garden", "owner_id": "3",
            "roles": [
                {"id": "1", "name": "@everyone", "permissions": "1024"},
                {"id": "8", "name": "Aizuchi", "permissions": "0", "tags": {"bot_id": "7"}},
                {"name": "odd"},
            ],
            "channels": [
                {"id": "2", "type": 0, "name": "tea", "permission_overwrites": [
                    {"id": "1", "type": 0, "allow": "0", "deny": "1024"}, {"id": "odd"}]},
                {"type": 0},
            ],
            "threads": [
                {"id": "5", "type": 11, "parent_id": "2", "name": "roses", "owner_id": "7",
                    "thread_metadata": {"archived": false}},
                {"id": "6", "type": 12, "parent_id": "2", "thread_metadata": {"archived": true}},
            ],
            "members": [{"user": {"id": "7", "username": "Aizuchi", "bot": true}, "roles": ["8"]}],
            "stickers": "odd",
        });
        let guild = guild(&whole).unwrap();
        assert_eq!((guild.id.get(), &*guild.name), (1, "Garden"));
        assert_eq!(guild.roles.len(), 2);
        assert_eq!(guild.roles[0].permissions, Permissions::VIEW_CHANNEL);
        assert_eq!(guild.roles[1].bot, Some(UserId::new("7")));
        let [room] = &guild.rooms[..] else { panic!() };
        assert_eq!((&*room.name, room.kind), ("tea", ChannelType::GuildText));
        assert_eq!(room.overwrites[0].deny, Permissions::VIEW_CHANNEL);
        let [open, hidden] = &guild.threads[..] else { panic!() };
        assert_eq!((open.is_private, open.is_archived), (false, false));
        assert_eq!((open.owner.clone(), open.parent.as_str()), (Some(UserId::new("7")), "2"));
        assert_eq!((hidden.is_private, hidden.is_archived), (true, true));
        assert_eq!(guild.members[0].roles, ["8".into()]);
    }
}
