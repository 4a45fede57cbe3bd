//! Who may do what where.

use twilight_model::channel::ChannelType;
use twilight_model::channel::permission_overwrite::{PermissionOverwrite, PermissionOverwriteType};
use twilight_model::guild::Permissions;
use twilight_model::id::Id;
use twilight_util::permission_calculator::PermissionCalculator;

use crate::discord::channel::Channel;
use crate::discord::id::{ChannelId, GuildId, RoleId, UserId};
use crate::discord::refusal::{Reason, Refusal};
use crate::discord::world::World;

/// For whom a channel's rule is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whom {
    Role(RoleId),
    Member(UserId),
}

impl World {
    /// What somebody may do in a whole guild.
    pub fn guild_permissions(&self, user: UserId, guild: GuildId) -> Permissions {
        self.calculated(user, guild, |calculator| calculator.root())
    }

    /// What somebody may do in a channel, or in the channel of a thread.
    pub fn permissions(&self, user: UserId, channel: &Channel) -> Permissions {
        let Some(guild) = channel.guild else {
            let is_there = user == self.me || channel.recipient == Some(user);
            return if is_there { direct() } else { Permissions::empty() };
        };
        let parent = channel.thread.as_ref().and(channel.parent);
        let place = parent.and_then(|parent| self.channels.get(&parent)).unwrap_or(channel);
        self.calculated(user, guild, |calculator| {
            calculator.in_channel(place.kind, &place.overwrites)
        })
    }

    /// What an interaction tells that somebody may do: in the channel, and what only holds in a whole guild.
    pub fn told_permissions(&self, user: UserId, guild: GuildId, channel: &Channel) -> Permissions {
        let guild = self.guild_permissions(user, guild).intersection(guild_wide());
        self.permissions(user, channel).union(guild)
    }

    fn calculated(
        &self,
        user: UserId,
        guild: GuildId,
        calculate: impl FnOnce(PermissionCalculator<'_>) -> Permissions,
    ) -> Permissions {
        let Some(guild) = self.guilds.get(&guild) else {
            return Permissions::empty();
        };
        let Some(member) = guild.members.get(&user) else {
            return Permissions::empty();
        };
        let of = |role: &RoleId| guild.roles.get(role).map(|role| role.permissions);
        let everyone = of(&guild.id.cast()).unwrap_or(Permissions::empty());
        let roles: Vec<(RoleId, Permissions)> =
            member.roles.iter().filter_map(|role| Some((*role, of(role)?))).collect();
        let calculator = PermissionCalculator::new(guild.id, user, everyone, &roles);
        calculate(calculator.owner_id(guild.owner))
    }

    pub fn sees(&self, user: UserId, channel: &Channel) -> bool {
        let permissions = self.permissions(user, channel);
        let is_let_in = channel.kind != ChannelType::PrivateThread
            || channel.thread.as_ref().is_some_and(|thread| thread.members.contains_key(&user))
            || permissions.contains(Permissions::MANAGE_THREADS);
        permissions.contains(Permissions::VIEW_CHANNEL) && is_let_in
    }

    pub fn may(&self, user: UserId, channel: &Channel, permissions: Permissions) -> bool {
        self.permissions(user, channel).contains(permissions)
    }

    /// Refuses what somebody may not do here, in Discord's way: who cannot see a channel has no access.
    pub fn require(
        &self,
        user: UserId,
        channel: ChannelId,
        permissions: Permissions,
    ) -> Result<&Channel, Refusal> {
        let channel = self.channel(channel)?;
        if !self.sees(user, channel) {
            return Err(Reason::MissingAccess.into());
        }
        if !self.may(user, channel, permissions) {
            return Err(Reason::MissingPermissions.into());
        }
        Ok(channel)
    }

    /// Rules anew what somebody is allowed and denied in a channel.
    pub fn overwrite(
        &mut self,
        channel: ChannelId,
        whom: Whom,
        allow: Permissions,
        deny: Permissions,
    ) -> Result<(), Refusal> {
        let (id, kind) = match whom {
            Whom::Role(role) => (role.cast(), PermissionOverwriteType::Role),
            Whom::Member(user) => (user.cast(), PermissionOverwriteType::Member),
        };
        let saw_it = self.sees(self.me, self.channel(channel)?);
        let overwrites = &mut self.channel_mut(channel)?.overwrites;
        overwrites.retain(|one| one.id != id);
        if !(allow | deny).is_empty() {
            overwrites.push(PermissionOverwrite { allow, deny, id, kind });
        }
        self.tell_of_channel("CHANNEL_UPDATE", channel)?;
        if !saw_it && self.sees(self.me, self.channel(channel)?) {
            self.tell_of_threads(channel)?;
        }
        Ok(())
    }

    pub fn overwrite_of(&self, channel: ChannelId, whom: Whom) -> (Permissions, Permissions) {
        let id: Id<_> = match whom {
            Whom::Role(role) => role.cast(),
            Whom::Member(user) => user.cast(),
        };
        let overwrites = self.channels.get(&channel).map(|channel| &channel.overwrites);
        let found = overwrites.and_then(|overwrites| overwrites.iter().find(|one| one.id == id));
        found.map_or((Permissions::empty(), Permissions::empty()), |one| (one.allow, one.deny))
    }
}

/// What no rule of a channel gives or takes.
fn guild_wide() -> Permissions {
    Permissions::ADMINISTRATOR
        | Permissions::MANAGE_GUILD
        | Permissions::KICK_MEMBERS
        | Permissions::BAN_MEMBERS
        | Permissions::VIEW_AUDIT_LOG
        | Permissions::VIEW_GUILD_INSIGHTS
        | Permissions::CHANGE_NICKNAME
        | Permissions::MANAGE_NICKNAMES
        | Permissions::MANAGE_GUILD_EXPRESSIONS
}

/// What both can do in a direct message.
fn direct() -> Permissions {
    Permissions::VIEW_CHANNEL
        | Permissions::SEND_MESSAGES
        | Permissions::READ_MESSAGE_HISTORY
        | Permissions::ADD_REACTIONS
        | Permissions::EMBED_LINKS
        | Permissions::ATTACH_FILES
        | Permissions::USE_EXTERNAL_EMOJIS
}
