//! Determines who can read a server's channel: everyone on the server, and the bot.

use aizuchi_model::chat::{UserId, Visibility};
use twilight_model::channel::ChannelType;
use twilight_model::guild::Permissions;
use twilight_model::id::Id;

use crate::from_discord::guild::{Guild, GuildChannel};
use crate::permissions::GuildPermissions;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChannelVisibility {
    pub visibility: Visibility,
    /// Whether the bot receives the channel's messages.
    pub is_visible: bool,
    /// Whether the bot may read the channel's history.
    pub can_read_history: bool,
}

pub fn channel_visibility(
    guild: &Guild,
    channel: &GuildChannel,
    bot: &UserId,
) -> ChannelVisibility {
    let own = own_permissions(guild, channel, bot);
    let is_public = with_guild_permissions(guild, |permissions| {
        permissions.is_public(channel.kind, &channel.overwrites)
    });
    let is_visible = has_conversations(channel.kind) && own.contains(Permissions::VIEW_CHANNEL);
    ChannelVisibility {
        visibility: match is_public {
            true => Visibility::Public,
            false => Visibility::Private,
        },
        is_visible,
        can_read_history: is_visible && own.contains(Permissions::READ_MESSAGE_HISTORY),
    }
}

/// Returns the bot's permissions in a channel.
pub fn own_permissions(guild: &Guild, channel: &GuildChannel, bot: &UserId) -> Permissions {
    let roles: Vec<_> = roles_of(guild, bot).into_iter().filter_map(|id| id.parse().ok()).collect();
    let bot = bot.as_str().parse().unwrap_or(Id::new(u64::MAX));
    with_guild_permissions(guild, |permissions| {
        permissions.in_channel(bot, &roles, channel.kind, &channel.overwrites)
    })
}

fn with_guild_permissions<T>(guild: &Guild, check: impl FnOnce(&GuildPermissions<'_>) -> T) -> T {
    let roles = guild.roles.iter();
    let roles = roles.filter_map(|role| Some((role.id.parse().ok()?, role.permissions)));
    let roles: Vec<_> = roles.collect();
    let owner = guild.owner.as_ref().and_then(|owner| owner.as_str().parse().ok());
    check(&GuildPermissions { guild: guild.id, owner, roles: &roles })
}

fn roles_of<'a>(guild: &'a Guild, user: &UserId) -> Vec<&'a str> {
    let member = guild.members.iter().find(|member| member.user.id == *user);
    member.into_iter().flat_map(|member| member.roles.iter().map(|role| &**role)).collect()
}

/// Whether the channel or its threads contain messages.
fn has_conversations(kind: ChannelType) -> bool {
    has_messages(kind) || matches!(kind, ChannelType::GuildForum | ChannelType::GuildMedia)
}

/// Whether the channel itself contains messages, not only its threads.
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
    /// View Channel and Read Message History.
    const READ: &str = "66560";
    /// These, and Connect.
    const READ_AND_CONNECT: &str = "1115136";

    fn seen(everyone: &str, own: &str, kind: u8, overwrites: &Value) -> (Visibility, bool, bool) {
        let guild = parse_guild(&json!({"id": "1", "name": "Garden", "owner_id": "3",
            "roles": [{"id": "1", "permissions": everyone}, {"id": "8", "permissions": own}],
            "members": [{"user": {"id": "7"}, "roles": ["8"]}]}))
        .unwrap();
        let channel = json!({"id": "2", "type": kind, "name": "tea", "guild_id": "1",
            "permission_overwrites": overwrites});
        let visibility = channel_visibility(&guild, &channel_from(&channel), &UserId::new("7"));
        (visibility.visibility, visibility.is_visible, visibility.can_read_history)
    }

    fn channel_from(json: &Value) -> GuildChannel {
        parse_channel(json, None).unwrap()
    }

    #[test]
    fn a_channel_is_public_if_everyone_may_read_it() {
        use Visibility::{Private, Public};
        let none = json!([]);
        let hidden = json!([{"id": "1", "type": 0, "allow": "0", "deny": VIEW}]);
        let for_us = json!([{"id": "1", "type": 0, "allow": "0", "deny": VIEW},
            {"id": "7", "type": 1, "allow": READ, "deny": "0"}]);
        let for_our_role = json!([{"id": "1", "type": 0, "allow": "0", "deny": VIEW},
            {"id": "8", "type": 0, "allow": VIEW, "deny": "0"}]);
        let opened = json!([{"id": "1", "type": 0, "allow": READ, "deny": "0"}]);
        for (everyone, own, overwrites, expected) in [
            (READ, "0", &none, (Public, true, true)),
            (VIEW, "0", &none, (Private, true, false)),
            (READ, "0", &hidden, (Private, false, false)),
            (READ, "0", &for_us, (Private, true, true)),
            (VIEW, "0", &for_our_role, (Private, true, false)),
            ("0", "0", &none, (Private, false, false)),
            ("0", READ, &none, (Private, true, true)),
            ("0", "0", &opened, (Public, true, true)),
            // The bot is an administrator, which does not make the channel public.
            ("0", "8", &hidden, (Private, true, true)),
        ] {
            assert_eq!(seen(everyone, own, 0, overwrites), expected, "{everyone} {overwrites}");
        }
    }

    #[test]
    fn channels_without_messages_are_not_visible() {
        for (kind, is_visible) in
            [(0, true), (2, true), (4, false), (5, true), (14, false), (15, true)]
        {
            assert_eq!(seen(READ_AND_CONNECT, "0", kind, &json!([])).1, is_visible, "{kind}");
        }
    }
}
