//! A server as Discord describes it: its channels, threads and roles, and who we are in it.

use std::sync::Arc;

use serde_json::Value;
use twilight_model::channel::ChannelType;
use twilight_model::channel::permission_overwrite::PermissionOverwrite;
use twilight_model::guild::Permissions;
use twilight_model::id::Id;
use twilight_model::id::marker::GuildMarker;

use crate::from_discord::user::{GuildMember, parse_member};
use crate::json::{array_at, non_empty_str, parse_id};
use crate::text::emoji::GuildEmoji;
use aizuchi_core::chat::{ChannelId, UserId, to_single_line};

#[derive(Clone, Debug, PartialEq)]
pub struct Guild {
    pub id: Id<GuildMarker>,
    pub name: Arc<str>,
    pub owner: Option<UserId>,
    pub roles: Vec<GuildRole>,
    pub emojis: Vec<GuildEmoji>,
    /// Where Discord itself tells who has joined.
    pub system_channel: Option<ChannelId>,
    pub channels: Vec<GuildChannel>,
    pub threads: Vec<GuildThread>,
    /// Those of its members that are told of, ourselves among them.
    pub members: Vec<GuildMember>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GuildRole {
    pub id: Arc<str>,
    pub name: Arc<str>,
    pub permissions: Permissions,
    /// The bot that came with it.
    pub bot: Option<UserId>,
}

/// A channel of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GuildChannel {
    pub guild: Id<GuildMarker>,
    pub id: ChannelId,
    pub name: Arc<str>,
    pub kind: ChannelType,
    pub overwrites: Vec<PermissionOverwrite>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GuildThread {
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

pub fn parse_guild(whole: &Value) -> Option<Guild> {
    let id = parse_id(&whole["id"])?;
    Some(Guild {
        id,
        name: to_single_line(non_empty_str(&whole["name"])?).into(),
        owner: non_empty_str(&whole["owner_id"]).map(UserId::new),
        roles: array_at(whole, "roles").filter_map(parse_role).collect(),
        emojis: array_at(whole, "emojis").filter_map(GuildEmoji::from_json).collect(),
        system_channel: non_empty_str(&whole["system_channel_id"]).map(ChannelId::new),
        channels: array_at(whole, "channels")
            .filter_map(|it| parse_channel(it, Some(id)))
            .collect(),
        threads: array_at(whole, "threads").filter_map(|it| parse_thread(it, Some(id))).collect(),
        members: array_at(whole, "members").filter_map(|it| parse_member(it, id)).collect(),
    })
}

pub fn parse_role(whole: &Value) -> Option<GuildRole> {
    let permissions = non_empty_str(&whole["permissions"]).and_then(|bits| bits.parse().ok());
    Some(GuildRole {
        id: non_empty_str(&whole["id"])?.into(),
        name: to_single_line(non_empty_str(&whole["name"]).unwrap_or_default()).into(),
        permissions: Permissions::from_bits_truncate(permissions.unwrap_or(0)),
        bot: non_empty_str(&whole["tags"]["bot_id"]).map(UserId::new),
    })
}

/// A channel; what is in a server's description does not name the server.
pub fn parse_channel(whole: &Value, guild: Option<Id<GuildMarker>>) -> Option<GuildChannel> {
    let kind = channel_type(whole)?;
    if kind.is_thread() {
        return None;
    }
    let id = non_empty_str(&whole["id"])?;
    let overwrites = array_at(whole, "permission_overwrites");
    Some(GuildChannel {
        guild: parse_id(&whole["guild_id"]).or(guild)?,
        id: ChannelId::new(id),
        name: to_single_line(non_empty_str(&whole["name"]).unwrap_or(id)).into(),
        kind,
        overwrites: overwrites.filter_map(parse_overwrite).collect(),
    })
}

fn parse_overwrite(whole: &Value) -> Option<PermissionOverwrite> {
    serde_json::from_value(whole.clone()).ok()
}

pub fn parse_thread(whole: &Value, guild: Option<Id<GuildMarker>>) -> Option<GuildThread> {
    let kind = channel_type(whole).filter(|kind| kind.is_thread())?;
    let id = non_empty_str(&whole["id"])?;
    Some(GuildThread {
        guild: parse_id(&whole["guild_id"]).or(guild)?,
        id: ChannelId::new(id),
        parent: ChannelId::new(non_empty_str(&whole["parent_id"])?),
        name: to_single_line(non_empty_str(&whole["name"]).unwrap_or(id)).into(),
        owner: non_empty_str(&whole["owner_id"]).map(UserId::new),
        is_private: kind == ChannelType::PrivateThread,
        is_archived: whole["thread_metadata"]["archived"] == true,
    })
}

fn channel_type(whole: &Value) -> Option<ChannelType> {
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
        let guild = parse_guild(&whole).unwrap();
        assert_eq!((guild.id.get(), &*guild.name), (1, "Garden"));
        assert_eq!(guild.roles.len(), 2);
        assert_eq!(guild.roles[0].permissions, Permissions::VIEW_CHANNEL);
        assert_eq!(guild.roles[1].bot, Some(UserId::new("7")));
        let [room] = &guild.channels[..] else { panic!() };
        assert_eq!((&*room.name, room.kind), ("tea", ChannelType::GuildText));
        assert_eq!(room.overwrites[0].deny, Permissions::VIEW_CHANNEL);
        let [open, hidden] = &guild.threads[..] else { panic!() };
        assert_eq!((open.is_private, open.is_archived), (false, false));
        assert_eq!((open.owner.clone(), open.parent.as_str()), (Some(UserId::new("7")), "2"));
        assert_eq!((hidden.is_private, hidden.is_archived), (true, true));
        assert_eq!(guild.members[0].roles, ["8".into()]);
    }
}
