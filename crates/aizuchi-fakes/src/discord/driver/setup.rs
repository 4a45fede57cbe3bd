//! The setup by the owner of a guild: members, channels, roles and permissions.

use serde::Deserialize;
use twilight_model::gateway::Intents;
use twilight_model::guild::Permissions;

use crate::discord::FakeDiscord;
use crate::discord::api_error::{ApiResult, ErrorCode};
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
    delegate! { world:
        fn add_user_with(new: NewUser) -> UserId;
        fn rename_guild(guild: GuildId, name: &str) -> ApiResult;
        /// Starts or ends an outage of a guild.
        fn set_unavailable(guild: GuildId, is_unavailable: bool) -> ApiResult;
        fn add_member(guild: GuildId, user: UserId) -> ApiResult;
        /// Removes a user from a guild. The user may be the app's own.
        fn remove_member(guild: GuildId, user: UserId) -> ApiResult;
        fn add_channel(new: NewChannel) -> ApiResult<ChannelId>;
        /// Deletes a channel or a thread with its messages.
        fn delete_channel(channel: ChannelId) -> ApiResult;
        /// Opens the direct message between the app and a user, or returns the existing one.
        fn open_direct_message(user: UserId) -> ApiResult<ChannelId>;
    }

    /// Adds a user with this name and returns its id.
    pub fn add_user(&self, name: &str) -> UserId {
        self.add_user_with(NewUser { name: name.to_owned(), ..NewUser::default() })
    }

    /// Adds a guild that belongs to `owner` and that the app is in.
    pub fn add_guild(&self, name: &str, owner: UserId) -> GuildId {
        let permissions = self.settings.permissions;
        self.with_world(|world| world.add_guild(name, owner, permissions))
    }

    pub fn set_nick(&self, guild: GuildId, user: UserId, nick: &str) -> ApiResult {
        self.with_world(|world| {
            world.update_member(guild, user, |member| member.nick = Some(nick.to_owned()))
        })
    }

    pub fn add_role(&self, guild: GuildId, name: &str) -> ApiResult<RoleId> {
        self.with_world(|world| world.add_role(guild, name, Permissions::empty()))
    }

    pub fn give_role(&self, guild: GuildId, user: UserId, role: RoleId) -> ApiResult {
        self.with_world(|world| world.update_member(guild, user, |member| member.roles.push(role)))
    }

    pub fn rename_channel(&self, channel: ChannelId, name: &str) -> ApiResult {
        self.with_world(|world| {
            world.update_channel(channel, |channel| name.clone_into(&mut channel.name))
        })
    }

    pub fn set_topic(&self, channel: ChannelId, topic: &str) -> ApiResult {
        self.with_world(|world| {
            world.update_channel(channel, |channel| channel.topic = Some(topic.to_owned()))
        })
    }

    /// Makes a user reject direct messages.
    pub fn close_direct_messages(&self, user: UserId) -> ApiResult {
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
    ) -> ApiResult {
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
    ) -> ApiResult {
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
