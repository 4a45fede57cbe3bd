//! Changes to channels, members, roles and guilds, and the resulting events.

use serde_json::json;
use twilight_model::channel::ChannelType;
use twilight_model::gateway::Intents;
use twilight_model::guild::Permissions;

use crate::discord::api_error::{ApiResult, ErrorCode};
use crate::discord::channel::{FakeChannel, NewChannel};
use crate::discord::guild::{FakeMember, FakeRole};
use crate::discord::id::{ChannelId, GuildId, RoleId, UserId};
use crate::discord::permission::OverwriteTarget;
use crate::discord::world::{EventTopic, World};

impl World {
    pub fn add_channel(&mut self, new: NewChannel) -> ApiResult<ChannelId> {
        let first = self.guilds.keys().next().copied();
        let guild = new.guild.or(first).ok_or(ErrorCode::UnknownGuild)?;
        self.guild(guild)?;
        let id = self.new_id();
        let mut channel = FakeChannel::new(id, new.kind.channel_type(), &new.name);
        channel.guild = Some(guild);
        channel.topic = new.topic;
        self.channels.insert(id, channel);
        if !new.members.is_empty() {
            let none = Permissions::empty();
            let view = Permissions::VIEW_CHANNEL;
            self.set_overwrite_without_event(id, OverwriteTarget::Role(guild.cast()), none, view)?;
            for member in new.members {
                self.set_overwrite_without_event(id, OverwriteTarget::Member(member), view, none)?;
            }
        }
        self.emit_channel("CHANNEL_CREATE", id)?;
        Ok(id)
    }

    /// Sets an overwrite of a channel before its `CHANNEL_CREATE` is emitted.
    fn set_overwrite_without_event(
        &mut self,
        channel: ChannelId,
        target: OverwriteTarget,
        allow: Permissions,
        deny: Permissions,
    ) -> ApiResult {
        let event_count = self.pending_events.len();
        self.set_overwrite(channel, target, allow, deny)?;
        self.pending_events.truncate(event_count);
        Ok(())
    }

    /// Emits an event about a guild's channel. Apps get it even for channels that they cannot see.
    pub fn emit_channel(&mut self, name: &'static str, id: ChannelId) -> ApiResult {
        let object = self.channel_json(self.channel(id)?);
        self.emit(name, Intents::GUILDS, object);
        Ok(())
    }

    pub fn update_channel(
        &mut self,
        id: ChannelId,
        change: impl FnOnce(&mut FakeChannel),
    ) -> ApiResult {
        if self.channel(id)?.thread.is_some() {
            return self.update_thread(id, change);
        }
        change(self.channel_mut(id)?);
        self.emit_channel("CHANNEL_UPDATE", id)
    }

    /// Deletes a channel or a thread with its messages.
    pub fn delete_channel(&mut self, id: ChannelId) -> ApiResult {
        let channel = self.channel(id)?;
        if channel.thread.is_some() {
            let data = json!({
                "id": id,
                "guild_id": channel.guild,
                "parent_id": channel.parent,
                "type": u8::from(channel.kind),
            });
            self.emit_in_channel(id, EventTopic::Channels, "THREAD_DELETE", data);
            self.channels.remove(&id);
            return Ok(());
        }
        self.emit_channel("CHANNEL_DELETE", id)?;
        self.channels.remove(&id);
        // The channel's threads are deleted with it, without events of their own.
        self.channels.retain(|_, thread| thread.parent != Some(id) || thread.thread.is_none());
        Ok(())
    }

    /// Opens the direct message between the app and a user, or returns the existing one.
    pub fn open_direct_message(&mut self, user: UserId) -> ApiResult<ChannelId> {
        self.user(user)?;
        let existing = self.channels.values().find(|channel| channel.recipient == Some(user));
        if let Some(existing) = existing {
            return Ok(existing.id);
        }
        let id = self.new_id();
        let mut channel = FakeChannel::new(id, ChannelType::Private, "");
        channel.recipient = Some(user);
        self.channels.insert(id, channel);
        Ok(id)
    }

    /// Adds a user to a guild.
    pub fn add_member(&mut self, guild: GuildId, user: UserId) -> ApiResult {
        self.user(user)?;
        let now = self.now();
        let member = FakeMember { nick: None, roles: Vec::new(), joined_at: now };
        self.guild_mut(guild)?.members.insert(user, member);
        let mut object = self.member_json(guild, user)?;
        object["guild_id"] = json!(guild);
        self.emit("GUILD_MEMBER_ADD", Intents::GUILD_MEMBERS, object);
        Ok(())
    }

    pub fn remove_member(&mut self, guild: GuildId, user: UserId) -> ApiResult {
        self.guild_mut(guild)?.members.remove(&user).ok_or(ErrorCode::UnknownMember)?;
        if user == self.bot_user {
            // The app was removed: to the app the guild is gone, and this is the only event.
            self.emit("GUILD_DELETE", Intents::GUILDS, json!({ "id": guild }));
            return Ok(());
        }
        let data = json!({ "guild_id": guild, "user": self.user(user)?.to_json() });
        self.emit("GUILD_MEMBER_REMOVE", Intents::GUILD_MEMBERS, data);
        Ok(())
    }

    pub fn update_member(
        &mut self,
        guild: GuildId,
        user: UserId,
        change: impl FnOnce(&mut FakeMember),
    ) -> ApiResult {
        let members = &mut self.guild_mut(guild)?.members;
        change(members.get_mut(&user).ok_or(ErrorCode::UnknownMember)?);
        let mut object = self.member_json(guild, user)?;
        object["guild_id"] = json!(guild);
        let intents = if user == self.bot_user { Intents::GUILDS } else { Intents::GUILD_MEMBERS };
        self.emit("GUILD_MEMBER_UPDATE", intents, object);
        Ok(())
    }

    pub fn add_role(
        &mut self,
        guild: GuildId,
        name: &str,
        permissions: Permissions,
    ) -> ApiResult<RoleId> {
        let id: RoleId = self.new_id();
        let roles = &mut self.guild_mut(guild)?.roles;
        let position = i64::try_from(roles.len()).unwrap_or(1);
        let name = name.to_owned();
        let role = FakeRole { id, name, permissions, position, is_mentionable: true, bot: None };
        let data = json!({ "guild_id": guild, "role": role.to_json() });
        roles.insert(id, role);
        self.emit("GUILD_ROLE_CREATE", Intents::GUILDS, data);
        Ok(id)
    }

    pub fn rename_guild(&mut self, guild: GuildId, name: &str) -> ApiResult {
        name.clone_into(&mut self.guild_mut(guild)?.name);
        let object = self.guild(guild)?.to_json();
        self.emit("GUILD_UPDATE", Intents::GUILDS, object);
        Ok(())
    }

    /// Starts or ends an outage of a guild.
    pub fn set_unavailable(&mut self, guild: GuildId, is_unavailable: bool) -> ApiResult {
        self.guild_mut(guild)?.is_unavailable = is_unavailable;
        let (name, data) = match is_unavailable {
            true => ("GUILD_DELETE", json!({ "id": guild, "unavailable": true })),
            false => ("GUILD_CREATE", self.guild_create_json(guild)),
        };
        self.emit(name, Intents::GUILDS, data);
        Ok(())
    }
}
