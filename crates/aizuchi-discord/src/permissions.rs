//! A user's permissions in a server's channel, and those that the bot needs there.

use twilight_model::channel::ChannelType;
use twilight_model::channel::permission_overwrite::PermissionOverwrite;
use twilight_model::guild::Permissions;
use twilight_model::id::Id;
use twilight_model::id::marker::{GuildMarker, RoleMarker, UserMarker};
use twilight_util::permission_calculator::PermissionCalculator;

/// A permission that the bot asks for.
pub struct RequiredPermission {
    pub permission: Permissions,
    /// Discord's name for it.
    pub name: &'static str,
    /// Why the bot needs it; completes “to …”.
    pub reason: &'static str,
}

const fn required(
    permission: Permissions,
    name: &'static str,
    reason: &'static str,
) -> RequiredPermission {
    RequiredPermission { permission, name, reason }
}

pub const REQUIRED_PERMISSIONS: [RequiredPermission; 6] = [
    required(Permissions::VIEW_CHANNEL, "View Channels", "hear what is said"),
    required(
        Permissions::READ_MESSAGE_HISTORY,
        "Read Message History",
        "catch up on what was said while it was away",
    ),
    required(Permissions::SEND_MESSAGES, "Send Messages", "speak"),
    required(Permissions::SEND_MESSAGES_IN_THREADS, "Send Messages in Threads", "speak in threads"),
    required(Permissions::ADD_REACTIONS, "Add Reactions", "nod with an emoji"),
    required(
        Permissions::CREATE_PUBLIC_THREADS,
        "Create Public Threads",
        "open a thread where it is mentioned",
    ),
];

/// Needed only if `discord.threads` is `auto`.
pub const THREAD_PERMISSIONS: Permissions = Permissions::CREATE_PUBLIC_THREADS;

/// Needed to post in a channel.
pub const POST_PERMISSIONS: Permissions =
    Permissions::VIEW_CHANNEL.union(Permissions::SEND_MESSAGES);

/// The permissions of an admin: any of these suffices.
pub const ADMIN_PERMISSIONS: Permissions =
    Permissions::ADMINISTRATOR.union(Permissions::MANAGE_GUILD);

/// Returns all permissions that the invite link requests.
pub fn invite_permissions() -> Permissions {
    REQUIRED_PERMISSIONS.iter().fold(Permissions::empty(), |all, need| all | need.permission)
}

/// The parts of a server that decide permissions.
pub struct GuildPermissions<'a> {
    pub guild: Id<GuildMarker>,
    pub owner: Option<Id<UserMarker>>,
    /// All roles of the server. The role with the server's own id is @everyone.
    pub roles: &'a [(Id<RoleMarker>, Permissions)],
}

impl GuildPermissions<'_> {
    /// Returns the permissions of a member with these roles in a channel.
    pub fn in_channel(
        &self,
        user: Id<UserMarker>,
        held: &[Id<RoleMarker>],
        kind: ChannelType,
        overwrites: &[PermissionOverwrite],
    ) -> Permissions {
        let roles = self.roles.iter().filter(|(role, _)| held.contains(role));
        let roles: Vec<_> = roles.copied().collect();
        let calculator =
            PermissionCalculator::new(self.guild, user, self.everyone_permissions(), &roles);
        let calculator = match self.owner {
            Some(owner) => calculator.owner_id(owner),
            None => calculator,
        };
        permissions_in_channel(calculator, kind, overwrites)
    }

    /// Whether everyone on the server may read the channel and its history.
    pub fn is_public(&self, kind: ChannelType, overwrites: &[PermissionOverwrite]) -> bool {
        // No overwrite names this user, so only those of @everyone apply.
        let no_user = Id::new(u64::MAX);
        let calculator =
            PermissionCalculator::new(self.guild, no_user, self.everyone_permissions(), &[]);
        let reading = Permissions::VIEW_CHANNEL | Permissions::READ_MESSAGE_HISTORY;
        permissions_in_channel(calculator, kind, overwrites).contains(reading)
    }

    fn everyone_permissions(&self) -> Permissions {
        let everyone = self.roles.iter().find(|(role, _)| role.get() == self.guild.get());
        everyone.map_or(Permissions::empty(), |(_, permissions)| *permissions)
    }
}

/// Returns the permissions in a channel. A voice channel has a chat: the calculator leaves out the permissions for it,
/// and only users who may connect have access to it.
fn permissions_in_channel(
    calculator: PermissionCalculator<'_>,
    kind: ChannelType,
    overwrites: &[PermissionOverwrite],
) -> Permissions {
    if !matches!(kind, ChannelType::GuildVoice | ChannelType::GuildStageVoice) {
        return calculator.in_channel(kind, overwrites);
    }
    // The calculator leaves out nothing for a category.
    let permissions = calculator.in_channel(ChannelType::GuildCategory, overwrites);
    if permissions.contains(Permissions::CONNECT) { permissions } else { Permissions::empty() }
}

/// Returns the required permissions that the bot lacks.
pub fn missing(has: Permissions) -> impl Iterator<Item = &'static RequiredPermission> {
    REQUIRED_PERMISSIONS.iter().filter(move |need| !has.contains(need.permission))
}

#[cfg(test)]
mod tests {
    use twilight_model::channel::permission_overwrite::PermissionOverwriteType;

    use super::*;

    const GUILD: Id<GuildMarker> = Id::new(1);
    const BOT: Id<UserMarker> = Id::new(9);
    const READING: Permissions = Permissions::VIEW_CHANNEL.union(Permissions::READ_MESSAGE_HISTORY);

    fn overwrite(
        id: u64,
        kind: PermissionOverwriteType,
        allow: Permissions,
        deny: Permissions,
    ) -> PermissionOverwrite {
        PermissionOverwrite { allow, deny, id: Id::new(id), kind }
    }

    #[test]
    fn a_channel_is_public_if_everyone_may_read_it() {
        use PermissionOverwriteType::{Member, Role};
        let none = Permissions::empty();
        for (everyone, overwrites, expected) in [
            (READING, vec![], true),
            (none, vec![], false),
            (Permissions::VIEW_CHANNEL, vec![], false),
            (READING, vec![overwrite(1, Role, none, Permissions::VIEW_CHANNEL)], false),
            (none, vec![overwrite(1, Role, READING, none)], true),
            (READING, vec![overwrite(5, Role, none, READING)], true),
            (none, vec![overwrite(5, Role, READING, none)], false),
            (none, vec![overwrite(9, Member, READING, none)], false),
            (Permissions::ADMINISTRATOR, vec![], true),
        ] {
            let roles = [(Id::new(1), everyone), (Id::new(5), READING)];
            let permissions = GuildPermissions { guild: GUILD, owner: Some(BOT), roles: &roles };
            let is_public = permissions.is_public(ChannelType::GuildText, &overwrites);
            assert_eq!(is_public, expected, "{everyone:?} {overwrites:?}");
        }
    }

    #[test]
    fn the_chat_of_a_voice_channel_is_for_users_who_may_connect() {
        use PermissionOverwriteType::Role;
        let roles =
            [(Id::new(1), READING | Permissions::CONNECT), (Id::new(6), invite_permissions())];
        let permissions = GuildPermissions { guild: GUILD, owner: None, roles: &roles };
        let locked = [overwrite(1, Role, Permissions::empty(), Permissions::CONNECT)];
        for kind in [ChannelType::GuildVoice, ChannelType::GuildStageVoice] {
            let own = |overwrites: &[PermissionOverwrite]| {
                permissions.in_channel(BOT, &[Id::new(6)], kind, overwrites)
            };
            assert!(permissions.is_public(kind, &[]));
            assert_eq!(missing(own(&[])).count(), 0);
            assert!(!permissions.is_public(kind, &locked));
            assert_eq!(own(&locked), Permissions::empty());
        }
    }

    #[test]
    fn missing_permissions_are_named() {
        let roles = [
            (Id::new(1), READING),
            (Id::new(5), Permissions::SEND_MESSAGES),
            (Id::new(6), invite_permissions()),
        ];
        let permissions = GuildPermissions { guild: GUILD, owner: None, roles: &roles };
        let lacks = |held: &[u64], overwrites: &[PermissionOverwrite]| {
            let held: Vec<_> = held.iter().map(|role| Id::new(*role)).collect();
            let has = permissions.in_channel(BOT, &held, ChannelType::GuildText, overwrites);
            missing(has).map(|need| need.name).collect::<Vec<_>>()
        };
        assert_eq!(lacks(&[6], &[]), [""; 0]);
        assert_eq!(
            lacks(&[5], &[]),
            ["Send Messages in Threads", "Add Reactions", "Create Public Threads"]
        );
        let muted = overwrite(
            9,
            PermissionOverwriteType::Member,
            Permissions::empty(),
            Permissions::SEND_MESSAGES,
        );
        assert_eq!(lacks(&[6], &[muted]), ["Send Messages"]);
        let hidden = overwrite(
            1,
            PermissionOverwriteType::Role,
            Permissions::empty(),
            Permissions::VIEW_CHANNEL,
        );
        assert_eq!(lacks(&[5], &[hidden])[0], "View Channels");
    }
}
