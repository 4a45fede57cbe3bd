//! How far a channel of a server can be read: by everybody there, and by us.

use twilight_model::channel::ChannelType;
use twilight_model::guild::Permissions;
use twilight_model::id::Id;

use crate::from_discord::guild::{Guild, GuildChannel};
use crate::permissions::GuildPermissions;
use aizuchi_core::chat::{UserId, Visibility};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChannelVisibility {
    pub visibility: Visibility,
    /// We see what is said there.
    pub is_visible: bool,
    /// We may read what was said there before.
    pub can_read_history: bool,
}

pub fn channel_visibility(guild: &Guild, room: &GuildChannel, us: &UserId) -> ChannelVisibility {
    let ours = own_permissions(guild, room, us);
    let is_public =
        with_guild_permissions(guild, |rights| rights.is_public(room.kind, &room.overwrites));
    let is_seen = has_conversations(room.kind) && ours.contains(Permissions::VIEW_CHANNEL);
    ChannelVisibility {
        visibility: match is_public {
            true => Visibility::Public,
            false => Visibility::Private,
        },
        is_visible: is_seen,
        can_read_history: is_seen && ours.contains(Permissions::READ_MESSAGE_HISTORY),
    }
}

/// What we may do in a channel.
pub fn own_permissions(guild: &Guild, room: &GuildChannel, us: &UserId) -> Permissions {
    let held: Vec<_> = roles_of(guild, us).into_iter().filter_map(|id| id.parse().ok()).collect();
    let us = us.as_str().parse().unwrap_or(Id::new(u64::MAX));
    with_guild_permissions(guild, |rights| {
        rights.in_channel(us, &held, room.kind, &room.overwrites)
    })
}

fn with_guild_permissions<T>(guild: &Guild, then: impl FnOnce(&GuildPermissions<'_>) -> T) -> T {
    let roles = guild.roles.iter();
    let roles = roles.filter_map(|role| Some((role.id.parse().ok()?, role.permissions)));
    let roles: Vec<_> = roles.collect();
    let owner = guild.owner.as_ref().and_then(|owner| owner.as_str().parse().ok());
    then(&GuildPermissions { guild: guild.id, owner, roles: &roles })
}

fn roles_of<'a>(guild: &'a Guild, user: &UserId) -> Vec<&'a str> {
    let member = guild.members.iter().find(|member| member.user.id == *user);
    member.into_iter().flat_map(|member| member.roles.iter().map(|role| &**role)).collect()
}

/// Something is said there, or in its threads.
fn has_conversations(kind: ChannelType) -> bool {
    has_messages(kind) || matches!(kind, ChannelType::GuildForum | ChannelType::GuildMedia)
}

/// Lines stand in it, and not only in its threads.
pub fn has_messages(kind: ChannelType) -> bool {
    matches!(
        kind,
        ChannelType::GuildText
            | ChannelType::GuildAnnouncement
            | ChannelType::GuildVoice
            | ChannelType::GuildStageVoice
            | ChannelType::PrivateThread
            | ChannelType::PublicThread
            | ChannelType::AnnouncementThread
    )
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::from_discord::guild::{parse_channel, parse_guild};

    const VIEW: &str = "1024";
    /// To see, and to read the history.
    const READ: &str = "66560";

    fn seen(everyone: &str, ours: &str, kind: u8, overwrites: &Value) -> (Visibility, bool, bool) {
        let guild = parse_guild(&json!({"id": "1", "name": "Garden", "owner_id": "3",
            "roles": [{"id": "1", "permissions": everyone}, {"id": "8", "permissions": ours}],
            "members": [{"user": {"id": "7"}, "roles": ["8"]}]}))
        .unwrap();
        let room = json!({"id": "2", "type": kind, "name": "tea", "guild_id": "1",
            "permission_overwrites": overwrites});
        let reach = channel_visibility(&guild, &room_of(&room), &UserId::new("7"));
        (reach.visibility, reach.is_visible, reach.can_read_history)
    }

    fn room_of(whole: &Value) -> GuildChannel {
        parse_channel(whole, None).unwrap()
    }

    #[test]
    fn a_channel_is_public_if_everybody_may_read_it() {
        use Visibility::{Private, Public};
        let none = json!([]);
        let hidden = json!([{"id": "1", "type": 0, "allow": "0", "deny": VIEW}]);
        let for_us = json!([{"id": "1", "type": 0, "allow": "0", "deny": VIEW},
            {"id": "7", "type": 1, "allow": READ, "deny": "0"}]);
        let for_our_role = json!([{"id": "1", "type": 0, "allow": "0", "deny": VIEW},
            {"id": "8", "type": 0, "allow": VIEW, "deny": "0"}]);
        let opened = json!([{"id": "1", "type": 0, "allow": READ, "deny": "0"}]);
        for (everyone, ours, overwrites, expected) in [
            (READ, "0", &none, (Public, true, true)),
            (VIEW, "0", &none, (Private, true, false)),
            (READ, "0", &hidden, (Private, false, false)),
            (READ, "0", &for_us, (Private, true, true)),
            (VIEW, "0", &for_our_role, (Private, true, false)),
            ("0", "0", &none, (Private, false, false)),
            ("0", READ, &none, (Private, true, true)),
            ("0", "0", &opened, (Public, true, true)),
            // An administrator sees everything; that makes nothing public.
            ("0", "8", &hidden, (Private, true, true)),
        ] {
            assert_eq!(seen(everyone, ours, 0, overwrites), expected, "{everyone} {overwrites}");
        }
    }

    #[test]
    fn nothing_is_heard_where_nothing_is_said() {
        for (kind, is_seen) in
            [(0, true), (2, true), (4, false), (5, true), (14, false), (15, true)]
        {
            assert_eq!(seen(READ, "0", kind, &json!([])).1, is_seen, "{kind}");
        }
    }
}
