//! The setup by the owner of a guild: members, channels, roles and permissions.

use serde::Deserialize;
use twilight_model::gateway::Intents;
use twilight_model::guild::Permissions;

use crate::discord::FakeDiscord;
use crate::discord::api_error::{ApiError, ErrorCode};
use crate::discord::channel::NewChannel;
use crate::discord::guild::NewUser;
use crate::discord::id::{ChannelId, GuildId, RoleId, UserId};
use crate::discord::permission::OverwriteTarget;

/// Whether to grant or to revoke permissions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PermissionEffect {
    Allow,
    Deny,
}

impl FakeDiscord {
    /// Adds a user with this name and returns its id.
    pub fn add_user(&self, name: &str) -> UserId {
        self.add_user_with(NewUser { name: name.to_owned(), ..NewUser::default() })
    }

    pub fn add_user_with(&self, new: NewUser) -> UserId {
        self.with_world(|world| world.add_user(new))
    }

    /// Adds a guild that belongs to `owner` and that the app is in.
    pub fn add_guild(&self, name: &str, owner: UserId) -> GuildId {
        let permissions = self.settings.permissions;
        self.with_world(|world| world.add_guild(name, owner, permissions))
    }

    pub fn rename_guild(&self, guild: GuildId, name: &str) -> Result<(), ApiError> {
        self.with_world(|world| world.rename_guild(guild, name))
    }

    /// Starts or ends an outage of a guild.
    pub fn set_unavailable(&self, guild: GuildId, is_unavailable: bool) -> Result<(), ApiError> {
        self.with_world(|world| world.set_unavailable(guild, is_unavailable))
    }

    pub fn add_member(&self, guild: GuildId, user: UserId) -> Result<(), ApiError> {
        self.with_world(|world| world.add_member(guild, user))
    }

    /// Removes a user from a guild. The user may be the app's own.
    pub fn remove_member(&self, guild: GuildId, user: UserId) -> Result<(), ApiError> {
        self.with_world(|world| world.remove_member(guild, user))
    }

    pub fn set_nick(&self, guild: GuildId, user: UserId, nick: &str) -> Result<(), ApiError> {
        self.with_world(|world| {
            world.update_member(guild, user, |member| member.nick = Some(nick.to_owned()))
        })
    }

    pub fn add_role(&self, guild: GuildId, name: &str) -> Result<RoleId, ApiError> {
        self.with_world(|world| world.add_role(guild, name, Permissions::empty()))
    }

    pub fn give_role(&self, guild: GuildId, user: UserId, role: RoleId) -> Result<(), ApiError> {
        self.with_world(|world| world.update_member(guild, user, |member| member.roles.push(role)))
    }

    pub fn add_channel(&self, new: NewChannel) -> Result<ChannelId, ApiError> {
        self.with_world(|world| world.add_channel(new))
    }

    pub fn rename_channel(&self, channel: ChannelId, name: &str) -> Result<(), ApiError> {
        self.with_world(|world| {
            world.update_channel(channel, |channel| name.clone_into(&mut channel.name))
        })
    }

    pub fn set_topic(&self, channel: ChannelId, topic: &str) -> Result<(), ApiError> {
        self.with_world(|world| {
            world.update_channel(channel, |channel| channel.topic = Some(topic.to_owned()))
        })
    }

    /// Deletes a channel or a thread with its messages.
    pub fn delete_channel(&self, channel: ChannelId) -> Result<(), ApiError> {
        self.with_world(|world| world.delete_channel(channel))
    }

    /// Opens the direct message between the app and a user, or returns the existing one.
    pub fn open_direct_message(&self, user: UserId) -> Result<ChannelId, ApiError> {
        self.with_world(|world| world.open_direct_message(user))
    }

    /// Makes a user reject direct messages.
    pub fn close_direct_messages(&self, user: UserId) -> Result<(), ApiError> {
        self.with_world(|world| {
            let user = world.users.get_mut(&user).ok_or(ErrorCode::UnknownUser)?;
            user.has_closed_direct_messages = true;
            Ok(())
        })
    }

    /// Grants or revokes permissions of the app in a channel.
    pub fn set_permissions(
        &self,
        channel: ChannelId,
        effect: PermissionEffect,
        permissions: Permissions,
    ) -> Result<(), ApiError> {
        let bot_user = self.bot_user();
        self.set_permissions_for(channel, OverwriteTarget::Member(bot_user), effect, permissions)
    }

    /// Like [`Self::set_permissions`], for any role or user. `@everyone` is the role with the guild's id.
    pub fn set_permissions_for(
        &self,
        channel: ChannelId,
        target: OverwriteTarget,
        effect: PermissionEffect,
        permissions: Permissions,
    ) -> Result<(), ApiError> {
        self.with_world(|world| {
            let (allow, deny) = world.overwrite_for(channel, target);
            let (allow, deny) = match effect {
                PermissionEffect::Allow => (allow | permissions, deny.difference(permissions)),
                PermissionEffect::Deny => (allow.difference(permissions), deny | permissions),
            };
            world.set_overwrite(channel, target, allow, deny)
        })
    }

    /// Enables or disables privileged intents for the app.
    pub fn set_privileged_intents(&self, effect: PermissionEffect, intents: Intents) {
        self.with_world(|world| match effect {
            PermissionEffect::Allow => world.enabled_privileged_intents |= intents,
            PermissionEffect::Deny => {
                world.enabled_privileged_intents =
                    world.enabled_privileged_intents.difference(intents)
            }
        });
    }
}
