//! Servers with their channels, threads and roles.

use std::sync::Arc;

use aizuchi_model::chat::{ChannelId, UserId, to_single_line};
use serde_json::Value;
use twilight_model::channel::ChannelType;
use twilight_model::channel::permission_overwrite::{PermissionOverwrite, PermissionOverwriteType};
use twilight_model::guild::Permissions;
use twilight_model::id::Id;
use twilight_model::id::marker::GuildMarker;

use crate::from_discord::user::{GuildMember, parse_member};
use crate::json::{array_at, id_str, non_empty_str, parse_id};
use crate::text::emoji::GuildEmoji;

#[derive(Clone, Debug, PartialEq)]
pub struct Guild {
    pub id: Id<GuildMarker>,
    pub name: Arc<str>,
    pub owner: Option<UserId>,
    pub roles: Vec<GuildRole>,
    pub emojis: Vec<GuildEmoji>,
    /// The channel in which Discord announces new members.
    pub system_channel: Option<ChannelId>,
    pub channels: Vec<GuildChannel>,
    pub threads: Vec<GuildThread>,
    /// The members that Discord sent, including the bot.
    pub members: Vec<GuildMember>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GuildRole {
    pub id: Arc<str>,
    pub name: Arc<str>,
    pub permissions: Permissions,
    /// The bot that this role was created for.
    pub bot: Option<UserId>,
}

/// A channel of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GuildChannel {
    pub guild: Id<GuildMarker>,
    pub id: ChannelId,
    pub name: Arc<str>,
    pub kind: ChannelType,
    /// In Discord's markup. Empty if it has none.
    pub topic: Arc<str>,
    pub overwrites: Vec<PermissionOverwrite>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GuildThread {
    pub guild: Id<GuildMarker>,
    pub id: ChannelId,
    /// The channel or forum that the thread is in.
    pub parent: ChannelId,
    pub name: Arc<str>,
    /// The user who opened the thread.
    pub owner: Option<UserId>,
    /// Whether only invited users may read the thread.
    pub is_private: bool,
    pub is_archived: bool,
}

pub fn parse_guild(json: &Value) -> Option<Guild> {
    let id = parse_id(&json["id"])?;
    Some(Guild {
        id,
        name: to_single_line(non_empty_str(&json["name"])?).into(),
        owner: id_str(&json["owner_id"]).map(UserId::new),
        roles: array_at(json, "roles").filter_map(parse_role).collect(),
        emojis: array_at(json, "emojis").filter_map(GuildEmoji::from_json).collect(),
        system_channel: id_str(&json["system_channel_id"]).map(ChannelId::new),
        channels: array_at(json, "channels").filter_map(|it| parse_channel(it, Some(id))).collect(),
        threads: array_at(json, "threads").filter_map(|it| parse_thread(it, Some(id))).collect(),
        members: array_at(json, "members").filter_map(|it| parse_member(it, id)).collect(),
    })
}

pub fn parse_role(json: &Value) -> Option<GuildRole> {
    let permissions = non_empty_str(&json["permissions"]).and_then(|bits| bits.parse().ok());
    Some(GuildRole {
        id: id_str(&json["id"])?.into(),
        name: to_single_line(non_empty_str(&json["name"]).unwrap_or_default()).into(),
        permissions: Permissions::from_bits_truncate(permissions.unwrap_or(0)),
        bot: id_str(&json["tags"]["bot_id"]).map(UserId::new),
    })
}

/// Parses a channel. In a server's description, channels do not name their server.
pub fn parse_channel(json: &Value, guild: Option<Id<GuildMarker>>) -> Option<GuildChannel> {
    let kind = channel_type(json)?;
    if kind.is_thread() {
        return None;
    }
    let id = id_str(&json["id"])?;
    let guild = parse_id(&json["guild_id"]).or(guild)?;
    Some(GuildChannel {
        guild,
        id: ChannelId::new(id),
        name: to_single_line(non_empty_str(&json["name"]).unwrap_or(id)).into(),
        kind,
        topic: non_empty_str(&json["topic"]).unwrap_or_default().into(),
        overwrites: parse_overwrites(&json["permission_overwrites"], guild),
    })
}

/// Parses the permission overwrites. An unreadable overwrite may be the one that hides the channel from others, so the
/// channel then counts as hidden.
fn parse_overwrites(json: &Value, guild: Id<GuildMarker>) -> Vec<PermissionOverwrite> {
    let listed = match json {
        Value::Null => Some(&[][..]),
        json => json.as_array().map(Vec::as_slice),
    };
    let parse = |json: &Value| serde_json::from_value(json.clone()).ok();
    let mut overwrites: Vec<_> = listed.unwrap_or_default().iter().filter_map(parse).collect();
    if listed.is_none_or(|listed| listed.len() != overwrites.len()) {
        overwrites.retain(|known: &PermissionOverwrite| known.id != guild.cast());
        overwrites.push(PermissionOverwrite {
            allow: Permissions::empty(),
            deny: Permissions::VIEW_CHANNEL,
            id: guild.cast(),
            kind: PermissionOverwriteType::Role,
        });
    }
    overwrites
}

pub fn parse_thread(json: &Value, guild: Option<Id<GuildMarker>>) -> Option<GuildThread> {
    let kind = channel_type(json).filter(|kind| kind.is_thread())?;
    let id = id_str(&json["id"])?;
    Some(GuildThread {
        guild: parse_id(&json["guild_id"]).or(guild)?,
        id: ChannelId::new(id),
        parent: ChannelId::new(id_str(&json["parent_id"])?),
        name: to_single_line(non_empty_str(&json["name"]).unwrap_or(id)).into(),
        owner: id_str(&json["owner_id"]).map(UserId::new),
        is_private: kind == ChannelType::PrivateThread,
        is_archived: json["thread_metadata"]["archived"] == true,
    })
}

fn channel_type(json: &Value) -> Option<ChannelType> {
    json["type"].as_u64().and_then(|kind| u8::try_from(kind).ok()).map(ChannelType::from)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_server_is_parsed_with_its_channels_threads_and_roles() {
        let json = json!({
            "id": "1", "name": "Garden", "owner_id": "3",
            "roles": [
                {"id": "1", "name": "@everyone", "permissions": "1024"},
                {"id": "8", "name": "Aizuchi", "permissions": "0", "tags": {"bot_id": "7"}},
                {"name": "odd"},
            ],
            "channels": [
                {"id": "2", "type": 0, "name": "tea", "permission_overwrites": [
                    {"id": "1", "type": 0, "allow": "0", "deny": "1024"}]},
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
        let guild = parse_guild(&json).unwrap();
        assert_eq!((guild.id.get(), &*guild.name), (1, "Garden"));
        assert_eq!(guild.roles.len(), 2);
        assert_eq!(guild.roles[0].permissions, Permissions::VIEW_CHANNEL);
        assert_eq!(guild.roles[1].bot, Some(UserId::new("7")));
        let [channel] = &guild.channels[..] else { panic!() };
        assert_eq!((&*channel.name, channel.kind), ("tea", ChannelType::GuildText));
        assert_eq!(channel.overwrites[0].deny, Permissions::VIEW_CHANNEL);
        assert_eq!(channel.overwrites.len(), 1);
        let [open, private] = &guild.threads[..] else { panic!() };
        assert_eq!((open.is_private, open.is_archived), (false, false));
        assert_eq!((open.owner.clone(), open.parent.as_str()), (Some(UserId::new("7")), "2"));
        assert_eq!((private.is_private, private.is_archived), (true, true));
        assert_eq!(guild.members[0].roles, ["8".into()]);
    }

    #[test]
    fn a_channel_whose_overwrites_cannot_be_read_is_hidden() {
        let open = json!({"id": "1", "type": 0, "allow": "1024", "deny": "0"});
        for overwrites in [json!("odd"), json!({}), json!([open, {"id": "8"}]), json!([open, 7])] {
            let json = json!({"id": "2", "type": 0, "permission_overwrites": overwrites});
            let channel = parse_channel(&json, Some(Id::new(1))).unwrap();
            let everyone = channel.overwrites.iter().filter(|known| known.id.get() == 1);
            let denied: Vec<_> = everyone.map(|known| (known.allow, known.deny)).collect();
            let expected = (Permissions::empty(), Permissions::VIEW_CHANNEL);
            assert_eq!(denied, [expected], "{overwrites}");
        }
    }
}
