//! Permissions in guilds and channels.

use twilight_model::channel::ChannelType;
use twilight_model::channel::permission_overwrite::{PermissionOverwrite, PermissionOverwriteType};
use twilight_model::guild::Permissions;
use twilight_model::id::Id;
use twilight_util::permission_calculator::PermissionCalculator;

use crate::discord::api_error::{ApiResult, ErrorCode};
use crate::discord::channel::FakeChannel;
use crate::discord::id::{ChannelId, GuildId, RoleId, UserId};
use crate::discord::world::World;

/// The role or the member that a channel's overwrite is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OverwriteTarget {
    Role(RoleId),
    Member(UserId),
}

impl World {
    /// Returns a user's permissions in a guild as a whole.
    pub fn guild_permissions(&self, user: UserId, guild: GuildId) -> Permissions {
        self.calculate_permissions(user, guild, |calculator| calculator.root())
    }

    /// Returns a user's permissions in a channel. A thread has the permissions of its parent.
    pub fn permissions(&self, user: UserId, channel: &FakeChannel) -> Permissions {
        let Some(guild) = channel.guild else {
            let is_participant = user == self.bot_user || channel.recipient == Some(user);
            return if is_participant {
                direct_message_permissions()
            } else {
                Permissions::empty()
            };
        };
        let parent = channel.thread.as_ref().and(channel.parent);
        let target = parent.and_then(|parent| self.channels.get(&parent)).unwrap_or(channel);
        let is_voice =
            matches!(target.kind, ChannelType::GuildVoice | ChannelType::GuildStageVoice);
        // For a voice channel, the calculator leaves out the permissions for its chat; for a category, nothing.
        let kind = if is_voice { ChannelType::GuildCategory } else { target.kind };
        let permissions = self.calculate_permissions(user, guild, |calculator| {
            calculator.in_channel(kind, &target.overwrites)
        });
        // Only users who may connect have access to the chat.
        let has_access = !is_voice || permissions.contains(Permissions::CONNECT);
        if has_access { permissions } else { Permissions::empty() }
    }

    /// Returns a user's permissions as an interaction reports them: those in the channel, and those that only exist at
    /// the guild level.
    pub fn interaction_permissions(
        &self,
        user: UserId,
        guild: GuildId,
        channel: &FakeChannel,
    ) -> Permissions {
        let guild = self.guild_permissions(user, guild).intersection(guild_only_permissions());
        self.permissions(user, channel).union(guild)
    }

    fn calculate_permissions(
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
        let permissions_of = |role: &RoleId| guild.roles.get(role).map(|role| role.permissions);
        let everyone = permissions_of(&guild.id.cast()).unwrap_or(Permissions::empty());
        let roles: Vec<(RoleId, Permissions)> =
            member.roles.iter().filter_map(|role| Some((*role, permissions_of(role)?))).collect();
        let calculator = PermissionCalculator::new(guild.id, user, everyone, &roles);
        calculate(calculator.owner_id(guild.owner))
    }

    pub fn can_see(&self, user: UserId, channel: &FakeChannel) -> bool {
        let permissions = self.permissions(user, channel);
        let may_enter = channel.kind != ChannelType::PrivateThread
            || channel.thread.as_ref().is_some_and(|thread| thread.members.contains_key(&user))
            || permissions.contains(Permissions::MANAGE_THREADS);
        permissions.contains(Permissions::VIEW_CHANNEL) && may_enter
    }

    pub fn has_permissions(
        &self,
        user: UserId,
        channel: &FakeChannel,
        permissions: Permissions,
    ) -> bool {
        self.permissions(user, channel).contains(permissions)
    }

    /// Like [`Self::require_permissions`], for the app itself.
    pub fn require_own(
        &self,
        channel: ChannelId,
        permissions: Permissions,
    ) -> ApiResult<&FakeChannel> {
        self.require_permissions(self.bot_user, channel, permissions)
    }

    /// Fails with Discord's error if a user lacks permissions in a channel: no access if the user cannot see it.
    pub fn require_permissions(
        &self,
        user: UserId,
        channel: ChannelId,
        permissions: Permissions,
    ) -> ApiResult<&FakeChannel> {
        let channel = self.channel(channel)?;
        if !self.can_see(user, channel) {
            return Err(ErrorCode::MissingAccess.into());
        }
        if !self.has_permissions(user, channel, permissions) {
            return Err(ErrorCode::MissingPermissions.into());
        }
        Ok(channel)
    }

    /// Replaces the overwrite of a role or a member in a channel.
    pub fn set_overwrite(
        &mut self,
        channel: ChannelId,
        target: OverwriteTarget,
        allow: Permissions,
        deny: Permissions,
    ) -> ApiResult {
        let (id, kind) = match target {
            OverwriteTarget::Role(role) => (role.cast(), PermissionOverwriteType::Role),
            OverwriteTarget::Member(user) => (user.cast(), PermissionOverwriteType::Member),
        };
        let was_visible = self.can_see(self.bot_user, self.channel(channel)?);
        let overwrites = &mut self.channel_mut(channel)?.overwrites;
        overwrites.retain(|overwrite| overwrite.id != id);
        if !(allow | deny).is_empty() {
            overwrites.push(PermissionOverwrite { allow, deny, id, kind });
        }
        self.emit_channel("CHANNEL_UPDATE", channel)?;
        if !was_visible && self.can_see(self.bot_user, self.channel(channel)?) {
            self.emit_thread_list(channel)?;
        }
        Ok(())
    }

    pub fn overwrite_for(
        &self,
        channel: ChannelId,
        target: OverwriteTarget,
    ) -> (Permissions, Permissions) {
        let id: Id<_> = match target {
            OverwriteTarget::Role(role) => role.cast(),
            OverwriteTarget::Member(user) => user.cast(),
        };
        let overwrites = self.channels.get(&channel).map(|channel| &channel.overwrites);
        let overwrite = overwrites
            .and_then(|overwrites| overwrites.iter().find(|overwrite| overwrite.id == id));
        overwrite.map_or((Permissions::empty(), Permissions::empty()), |overwrite| {
            (overwrite.allow, overwrite.deny)
        })
    }
}

/// Returns the permissions that channel overwrites cannot grant or revoke.
fn guild_only_permissions() -> Permissions {
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

/// Returns the permissions of both users of a direct message.
fn direct_message_permissions() -> Permissions {
    Permissions::VIEW_CHANNEL
        | Permissions::SEND_MESSAGES
        | Permissions::READ_MESSAGE_HISTORY
        | Permissions::ADD_REACTIONS
        | Permissions::EMBED_LINKS
        | Permissions::ATTACH_FILES
        | Permissions::USE_EXTERNAL_EMOJIS
}
