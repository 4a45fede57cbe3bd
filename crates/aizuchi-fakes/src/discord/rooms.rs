//! What happens to channels, members and roles.

use serde_json::json;
use twilight_model::channel::ChannelType;
use twilight_model::gateway::Intents;
use twilight_model::guild::Permissions;

use crate::discord::channel::{Channel, NewChannel};
use crate::discord::guild::{Member, Role};
use crate::discord::id::{ChannelId, GuildId, RoleId, UserId};
use crate::discord::permission::Whom;
use crate::discord::refusal::{Reason, Refusal};
use crate::discord::world::{Topic, World};

impl World {
    pub fn add_channel(&mut self, new: NewChannel) -> Result<ChannelId, Refusal> {
        let first = self.guilds.keys().next().copied();
        let guild = new.guild.or(first).ok_or(Reason::UnknownGuild)?;
        self.guild(guild)?;
        let id = self.new_id();
        let mut channel = Channel::new(id, new.kind.channel_type(), &new.name);
        channel.guild = Some(guild);
        channel.topic = new.topic;
        self.channels.insert(id, channel);
        if !new.members.is_empty() {
            let nobody = Permissions::empty();
            let view = Permissions::VIEW_CHANNEL;
            self.overwrite_silently(id, Whom::Role(guild.cast()), nobody, view)?;
            for member in new.members {
                self.overwrite_silently(id, Whom::Member(member), view, nobody)?;
            }
        }
        self.tell_of_channel("CHANNEL_CREATE", id)?;
        Ok(id)
    }

    /// While a channel is not told of yet.
    fn overwrite_silently(
        &mut self,
        channel: ChannelId,
        whom: Whom,
        allow: Permissions,
        deny: Permissions,
    ) -> Result<(), Refusal> {
        let told = self.outbox.len();
        self.overwrite(channel, whom, allow, deny)?;
        self.outbox.truncate(told);
        Ok(())
    }

    /// Tells of a channel of a guild, hidden or not: apps know of all of them.
    pub fn tell_of_channel(&mut self, name: &'static str, id: ChannelId) -> Result<(), Refusal> {
        let shape = self.channel_shape(self.channel(id)?);
        self.tell(name, Intents::GUILDS, shape);
        Ok(())
    }

    pub fn change_channel(
        &mut self,
        id: ChannelId,
        change: impl FnOnce(&mut Channel),
    ) -> Result<(), Refusal> {
        if self.channel(id)?.thread.is_some() {
            return self.change_thread(id, change);
        }
        change(self.channel_mut(id)?);
        self.tell_of_channel("CHANNEL_UPDATE", id)
    }

    /// A channel or a thread goes, with all that was said in it.
    pub fn delete_channel(&mut self, id: ChannelId) -> Result<(), Refusal> {
        let channel = self.channel(id)?;
        if channel.thread.is_some() {
            let data = json!({
                "id": id,
                "guild_id": channel.guild,
                "parent_id": channel.parent,
                "type": u8::from(channel.kind),
            });
            self.tell_in(id, Topic::Rooms, "THREAD_DELETE", data);
            self.channels.remove(&id);
            return Ok(());
        }
        self.tell_of_channel("CHANNEL_DELETE", id)?;
        self.channels.remove(&id);
        // Its threads go with it, and nobody is told of each.
        self.channels.retain(|_, thread| thread.parent != Some(id) || thread.thread.is_none());
        Ok(())
    }

    /// The direct message of the app and somebody; it is always the same one.
    pub fn open_direct(&mut self, user: UserId) -> Result<ChannelId, Refusal> {
        self.user(user)?;
        let known = self.channels.values().find(|channel| channel.recipient == Some(user));
        if let Some(known) = known {
            return Ok(known.id);
        }
        let id = self.new_id();
        let mut channel = Channel::new(id, ChannelType::Private, "");
        channel.recipient = Some(user);
        self.channels.insert(id, channel);
        Ok(id)
    }

    /// Somebody comes into a guild.
    pub fn add_member(&mut self, guild: GuildId, user: UserId) -> Result<(), Refusal> {
        self.user(user)?;
        let now = self.now();
        let member = Member { nick: None, roles: Vec::new(), joined_at: now };
        self.guild_mut(guild)?.members.insert(user, member);
        let mut shape = self.member_shape(guild, user)?;
        shape["guild_id"] = json!(guild);
        self.tell("GUILD_MEMBER_ADD", Intents::GUILD_MEMBERS, shape);
        Ok(())
    }

    pub fn remove_member(&mut self, guild: GuildId, user: UserId) -> Result<(), Refusal> {
        self.guild_mut(guild)?.members.remove(&user).ok_or(Reason::UnknownMember)?;
        if user == self.me {
            // Thrown out: the guild is gone, and that is all that is told.
            self.tell("GUILD_DELETE", Intents::GUILDS, json!({ "id": guild }));
            return Ok(());
        }
        let data = json!({ "guild_id": guild, "user": self.user(user)?.shape() });
        self.tell("GUILD_MEMBER_REMOVE", Intents::GUILD_MEMBERS, data);
        Ok(())
    }

    pub fn change_member(
        &mut self,
        guild: GuildId,
        user: UserId,
        change: impl FnOnce(&mut Member),
    ) -> Result<(), Refusal> {
        let members = &mut self.guild_mut(guild)?.members;
        change(members.get_mut(&user).ok_or(Reason::UnknownMember)?);
        let mut shape = self.member_shape(guild, user)?;
        shape["guild_id"] = json!(guild);
        let needs = if user == self.me { Intents::GUILDS } else { Intents::GUILD_MEMBERS };
        self.tell("GUILD_MEMBER_UPDATE", needs, shape);
        Ok(())
    }

    pub fn add_role(
        &mut self,
        guild: GuildId,
        name: &str,
        permissions: Permissions,
    ) -> Result<RoleId, Refusal> {
        let id: RoleId = self.new_id();
        let roles = &mut self.guild_mut(guild)?.roles;
        let position = i64::try_from(roles.len()).unwrap_or(1);
        let name = name.to_owned();
        let role = Role { id, name, permissions, position, is_mentionable: true, bot: None };
        let data = json!({ "guild_id": guild, "role": role.shape() });
        roles.insert(id, role);
        self.tell("GUILD_ROLE_CREATE", Intents::GUILDS, data);
        Ok(id)
    }

    pub fn change_role(
        &mut self,
        guild: GuildId,
        role: RoleId,
        change: impl FnOnce(&mut Role),
    ) -> Result<(), Refusal> {
        let roles = &mut self.guild_mut(guild)?.roles;
        let role = roles.get_mut(&role).ok_or(Reason::UnknownRole)?;
        change(role);
        let data = json!({ "guild_id": guild, "role": role.shape() });
        self.tell("GUILD_ROLE_UPDATE", Intents::GUILDS, data);
        Ok(())
    }

    pub fn rename_guild(&mut self, guild: GuildId, name: &str) -> Result<(), Refusal> {
        name.clone_into(&mut self.guild_mut(guild)?.name);
        let shape = self.guild(guild)?.shape();
        self.tell("GUILD_UPDATE", Intents::GUILDS, shape);
        Ok(())
    }

    /// An outage begins or ends.
    pub fn set_unavailable(&mut self, guild: GuildId, is_unavailable: bool) -> Result<(), Refusal> {
        self.guild_mut(guild)?.is_unavailable = is_unavailable;
        let (name, data) = match is_unavailable {
            true => ("GUILD_DELETE", json!({ "id": guild, "unavailable": true })),
            false => ("GUILD_CREATE", self.whole_guild_shape(guild)),
        };
        self.tell(name, Intents::GUILDS, data);
        Ok(())
    }
}
