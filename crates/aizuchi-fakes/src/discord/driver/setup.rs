//! People and rooms, and who may do what: what a guild's owner sets up.

use serde::Deserialize;
use twilight_model::gateway::Intents;
use twilight_model::guild::Permissions;

use crate::discord::FakeDiscord;
use crate::discord::api_error::{ApiError, ErrorCode};
use crate::discord::channel::NewChannel;
use crate::discord::guild::NewUser;
use crate::discord::id::{ChannelId, GuildId, RoleId, UserId};
use crate::discord::permission::OverwriteTarget;

/// Whether Discord allows something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PermissionEffect {
    Allow,
    Deny,
}

impl FakeDiscord {
    /// Adds somebody with this name, and says who it is.
    pub fn add_user(&self, name: &str) -> UserId {
        self.add_user_with(NewUser { name: name.to_owned(), ..NewUser::default() })
    }

    pub fn add_user_with(&self, new: NewUser) -> UserId {
        self.with_world(|world| world.add_user(new))
    }

    /// A guild of `owner`'s, to which the app was invited.
    pub fn add_guild(&self, name: &str, owner: UserId) -> GuildId {
        let permissions = self.settings.permissions;
        self.with_world(|world| world.add_guild(name, owner, permissions))
    }

    pub fn rename_guild(&self, guild: GuildId, name: &str) -> Result<(), ApiError> {
        self.with_world(|world| world.rename_guild(guild, name))
    }

    /// Begins or ends an outage.
    pub fn set_unavailable(&self, guild: GuildId, is_unavailable: bool) -> Result<(), ApiError> {
        self.with_world(|world| world.set_unavailable(guild, is_unavailable))
    }

    pub fn add_member(&self, guild: GuildId, user: UserId) -> Result<(), ApiError> {
        self.with_world(|world| world.add_member(guild, user))
    }

    /// Somebody leaves or is thrown out; the app, too, if it is named.
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

    /// A channel or a thread goes, with all that was said in it.
    pub fn delete_channel(&self, channel: ChannelId) -> Result<(), ApiError> {
        self.with_world(|world| world.delete_channel(channel))
    }

    /// The direct message of the app and somebody.
    pub fn open_direct_message(&self, user: UserId) -> Result<ChannelId, ApiError> {
        self.with_world(|world| world.open_direct_message(user))
    }

    /// Somebody takes no direct messages any more.
    pub fn close_direct_messages(&self, user: UserId) -> Result<(), ApiError> {
        self.with_world(|world| {
            let user = world.users.get_mut(&user).ok_or(ErrorCode::UnknownUser)?;
            user.has_closed_direct_messages = true;
            Ok(())
        })
    }

    /// Gives the app permissions in a channel, or takes them.
    pub fn set_permissions(
        &self,
        channel: ChannelId,
        rule: PermissionEffect,
        permissions: Permissions,
    ) -> Result<(), ApiError> {
        let me = self.bot_user();
        self.set_permissions_for(channel, OverwriteTarget::Member(me), rule, permissions)
    }

    /// The same for anybody; for @everyone, it is the role with the guild's number.
    pub fn set_permissions_for(
        &self,
        channel: ChannelId,
        whom: OverwriteTarget,
        rule: PermissionEffect,
        permissions: Permissions,
    ) -> Result<(), ApiError> {
        self.with_world(|world| {
            let (allow, deny) = world.overwrite_for(channel, whom);
            let (allow, deny) = match rule {
                PermissionEffect::Allow => (allow | permissions, deny.difference(permissions)),
                PermissionEffect::Deny => (allow.difference(permissions), deny | permissions),
            };
            world.set_overwrite(channel, whom, allow, deny)
        })
    }

    /// Switches a privileged intent on or off for the app, as its owner does.
    pub fn set_privileged_intents(&self, rule: PermissionEffect, intents: Intents) {
        self.with_world(|world| match rule {
            PermissionEffect::Allow => world.enabled_privileged_intents |= intents,
            PermissionEffect::Deny => {
                world.enabled_privileged_intents =
                    world.enabled_privileged_intents.difference(intents)
            }
        });
    }
}
