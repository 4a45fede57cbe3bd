//! The part of Discord that one app can reach: users, guilds, channels, and the events about their changes.

use std::collections::BTreeMap;

use aizuchi_model::clock::Clock;
use jiff::Timestamp;
use serde_json::{Value, json};
use twilight_model::channel::ChannelType;
use twilight_model::gateway::Intents;
use twilight_model::guild::Permissions;
use twilight_model::id::Id;

use crate::discord::api_error::{ApiResult, ErrorCode};
use crate::discord::channel::FakeChannel;
use crate::discord::command::CommandRegistry;
use crate::discord::guild::{FakeGuild, FakeMember, FakeRole, FakeUser, NewUser};
use crate::discord::id::{
    ApplicationId, ChannelId, GuildId, MessageId, RoleId, SnowflakeGenerator, UserId,
    format_timestamp,
};
use crate::discord::message::FakeMessage;
use crate::discord::nonce::NonceCache;
use crate::file::FakeFile;

pub struct World {
    /// The app's user. The app itself has the same id.
    pub bot_user: UserId,
    pub users: BTreeMap<UserId, FakeUser>,
    pub guilds: BTreeMap<GuildId, FakeGuild>,
    pub channels: BTreeMap<ChannelId, FakeChannel>,
    /// The files that were uploaded, by id.
    pub files: BTreeMap<String, FakeFile>,
    /// Increases when the links to files expire.
    pub link_age: u32,
    pub commands: CommandRegistry,
    pub nonces: NonceCache,
    /// The privileged intents that are enabled for the app.
    pub enabled_privileged_intents: Intents,
    /// The events that have not been sent to the app yet, oldest first.
    pub pending_events: Vec<FakeEvent>,
    clock: Clock,
    id_generator: SnowflakeGenerator,
}

/// An event for the sessions with any of `required_intents`, or for all sessions if those are empty.
#[derive(Clone, Debug)]
pub struct FakeEvent {
    pub name: &'static str,
    pub data: Value,
    pub required_intents: Intents,
}

impl FakeEvent {
    /// Returns the shard that gets the event: each guild belongs to one, and everything else goes to the first.
    pub fn shard(&self, shards: u64) -> u64 {
        let guild = match self.name {
            "GUILD_CREATE" | "GUILD_UPDATE" | "GUILD_DELETE" => &self.data["id"],
            _ => &self.data["guild_id"],
        };
        let guild = guild.as_str().and_then(|digits| digits.parse().ok());
        guild.map_or(0, |guild| shard_for_guild(guild, shards))
    }
}

pub fn shard_for_guild(guild: GuildId, shards: u64) -> u64 {
    (guild.get() >> 22) % shards.max(1)
}

/// The topic of an event, which decides the intents that it requires.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventTopic {
    Channels,
    Members,
    Messages,
    Reactions,
    Typing,
}

impl EventTopic {
    fn intents(self, is_direct: bool) -> Intents {
        match (self, is_direct) {
            (Self::Channels, false) => Intents::GUILDS,
            (Self::Members, _) => Intents::GUILD_MEMBERS,
            (Self::Messages, false) => Intents::GUILD_MESSAGES,
            (Self::Reactions, false) => Intents::GUILD_MESSAGE_REACTIONS,
            (Self::Typing, false) => Intents::GUILD_MESSAGE_TYPING,
            (Self::Channels | Self::Messages, true) => Intents::DIRECT_MESSAGES,
            (Self::Reactions, true) => Intents::DIRECT_MESSAGE_REACTIONS,
            (Self::Typing, true) => Intents::DIRECT_MESSAGE_TYPING,
        }
    }
}

/// Returns the privileged intents, which an app may use only if they are enabled for it.
pub fn privileged_intents() -> Intents {
    Intents::GUILD_MEMBERS | Intents::GUILD_PRESENCES | Intents::MESSAGE_CONTENT
}

/// Returns the permissions of `@everyone` in a new guild.
fn default_everyone_permissions() -> Permissions {
    Permissions::VIEW_CHANNEL
        | Permissions::SEND_MESSAGES
        | Permissions::SEND_MESSAGES_IN_THREADS
        | Permissions::CREATE_PUBLIC_THREADS
        | Permissions::CREATE_PRIVATE_THREADS
        | Permissions::READ_MESSAGE_HISTORY
        | Permissions::ADD_REACTIONS
        | Permissions::EMBED_LINKS
        | Permissions::ATTACH_FILES
        | Permissions::USE_EXTERNAL_EMOJIS
        | Permissions::CHANGE_NICKNAME
        | Permissions::USE_SLASH_COMMANDS
        | Permissions::CONNECT
}

impl World {
    /// Creates a Discord whose only user is the app.
    pub fn new(bot_name: &str, clock: Clock) -> Self {
        let mut id_generator = SnowflakeGenerator::default();
        let bot_user: UserId = id_generator.new_id(clock.now());
        let user = FakeUser {
            id: bot_user,
            name: bot_name.to_owned(),
            global_name: None,
            is_bot: true,
            has_closed_direct_messages: false,
        };
        Self {
            bot_user,
            users: BTreeMap::from([(bot_user, user)]),
            guilds: BTreeMap::new(),
            channels: BTreeMap::new(),
            files: BTreeMap::new(),
            link_age: 0,
            commands: CommandRegistry::default(),
            nonces: NonceCache::default(),
            enabled_privileged_intents: privileged_intents(),
            pending_events: Vec::new(),
            clock,
            id_generator,
        }
    }

    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    pub fn application(&self) -> ApplicationId {
        self.bot_user.cast()
    }

    pub fn new_id<T>(&mut self) -> Id<T> {
        let now = self.clock.now();
        self.id_generator.new_id(now)
    }

    /// Generates an id of this time, by default now.
    pub fn id_at<T>(&mut self, at: Option<Timestamp>) -> Id<T> {
        match at {
            Some(at) => self.id_generator.id_at(at),
            None => self.new_id(),
        }
    }

    pub fn add_user_with(&mut self, new: NewUser) -> UserId {
        let id = self.new_id();
        let user = FakeUser {
            id,
            name: new.name.to_lowercase().replace(' ', "."),
            global_name: Some(new.name),
            is_bot: new.is_bot,
            has_closed_direct_messages: false,
        };
        self.users.insert(id, user);
        id
    }

    /// Adds a guild that belongs to `owner` and that the app is in, with a role of its own.
    pub fn add_guild(
        &mut self,
        name: &str,
        owner: UserId,
        app_permissions: Permissions,
    ) -> GuildId {
        let id: GuildId = self.new_id();
        let (bot_user, now) = (self.bot_user, self.now());
        let app_role: RoleId = self.new_id();
        let role = |id, name: &str, permissions, bot: Option<UserId>| FakeRole {
            id,
            name: name.to_owned(),
            permissions,
            position: i64::from(bot.is_some()),
            is_mentionable: false,
            bot,
        };
        let app_name = self.users.get(&bot_user).map_or("", FakeUser::visible_name).to_owned();
        let roles = BTreeMap::from([
            (id.cast(), role(id.cast(), "@everyone", default_everyone_permissions(), None)),
            (app_role, role(app_role, &app_name, app_permissions, Some(bot_user))),
        ]);
        let member = |roles| FakeMember { nick: None, roles, joined_at: now };
        let members =
            BTreeMap::from([(owner, member(Vec::new())), (bot_user, member(vec![app_role]))]);
        let guild = FakeGuild {
            id,
            name: name.to_owned(),
            owner,
            roles,
            members,
            emojis: Vec::new(),
            system_channel: None,
            is_unavailable: false,
        };
        self.guilds.insert(id, guild);
        let object = self.guild_create_json(id);
        self.emit("GUILD_CREATE", Intents::GUILDS, object);
        id
    }

    pub fn user(&self, id: UserId) -> ApiResult<&FakeUser> {
        self.users.get(&id).ok_or(ErrorCode::UnknownUser.into())
    }

    pub fn guild(&self, id: GuildId) -> ApiResult<&FakeGuild> {
        self.guilds.get(&id).ok_or(ErrorCode::UnknownGuild.into())
    }

    pub fn guild_mut(&mut self, id: GuildId) -> ApiResult<&mut FakeGuild> {
        self.guilds.get_mut(&id).ok_or(ErrorCode::UnknownGuild.into())
    }

    pub fn channel(&self, id: ChannelId) -> ApiResult<&FakeChannel> {
        self.channels.get(&id).ok_or(ErrorCode::UnknownChannel.into())
    }

    pub fn channel_mut(&mut self, id: ChannelId) -> ApiResult<&mut FakeChannel> {
        self.channels.get_mut(&id).ok_or(ErrorCode::UnknownChannel.into())
    }

    pub fn message(&self, channel: ChannelId, id: MessageId) -> ApiResult<&FakeMessage> {
        self.channel(channel)?.messages.get(&id).ok_or(ErrorCode::UnknownMessage.into())
    }

    pub fn message_mut(
        &mut self,
        channel: ChannelId,
        id: MessageId,
    ) -> ApiResult<&mut FakeMessage> {
        self.channel_mut(channel)?.messages.get_mut(&id).ok_or(ErrorCode::UnknownMessage.into())
    }

    pub fn member(&self, guild: GuildId, user: UserId) -> ApiResult<&FakeMember> {
        self.guild(guild)?.members.get(&user).ok_or(ErrorCode::UnknownMember.into())
    }

    /// Returns a member with its user.
    pub fn member_json(&self, guild: GuildId, user: UserId) -> ApiResult<Value> {
        let mut object = self.member(guild, user)?.partial_json();
        object["user"] = self.user(user)?.to_json();
        Ok(object)
    }

    /// Returns a channel as the app sees it.
    pub fn channel_json(&self, channel: &FakeChannel) -> Value {
        let mut object = channel.to_json(self.bot_user);
        if let Some(user) = channel.recipient {
            object["recipients"] =
                self.users.get(&user).map(FakeUser::to_json).into_iter().collect();
        }
        object
    }

    /// Returns the data of `GUILD_CREATE`, with the guild's channels, threads and the app's own membership.
    pub fn guild_create_json(&self, id: GuildId) -> Value {
        let Some(guild) = self.guilds.get(&id) else {
            return json!({ "id": id, "unavailable": true });
        };
        if guild.is_unavailable {
            return json!({ "id": id, "unavailable": true });
        }
        let channels = self.channels.values().filter(|channel| channel.guild == Some(id));
        let (threads, channels): (Vec<_>, Vec<_>) =
            channels.partition(|channel| channel.thread.is_some());
        let is_listed = |channel: &&&FakeChannel| {
            !channel.is_archived() && self.can_see(self.bot_user, channel)
        };
        let threads = threads.iter().filter(is_listed).map(|thread| self.channel_json(thread));
        let member = guild.members.get(&self.bot_user);
        let mut object = guild.to_json();
        object["unavailable"] = json!(false);
        object["joined_at"] = json!(member.map(|member| format_timestamp(member.joined_at)));
        object["member_count"] = json!(guild.members.len());
        // The app learns about other members by requesting them, or from their messages.
        object["members"] = self.member_json(id, self.bot_user).into_iter().collect();
        object["threads"] = threads.collect();
        object["channels"] = channels.iter().map(|channel| self.channel_json(channel)).collect();
        for empty_list in [
            "voice_states", "presences", "stage_instances", "guild_scheduled_events",
            "soundboard_sounds",
        ] {
            object[empty_list] = json!([]);
        }
        object
    }

    pub fn emit(&mut self, name: &'static str, required_intents: Intents, data: Value) {
        self.pending_events.push(FakeEvent { name, data, required_intents });
    }

    /// Emits an event about a channel, if the app can see it.
    pub fn emit_in_channel(
        &mut self,
        channel: ChannelId,
        topic: EventTopic,
        name: &'static str,
        data: Value,
    ) {
        let Some(target) = self.channels.get(&channel) else {
            return;
        };
        if !self.can_see(self.bot_user, target) {
            return;
        }
        let mut data = data;
        if let Some(guild) = target.guild {
            data["guild_id"] = json!(guild);
        }
        let is_direct = target.kind == ChannelType::Private;
        self.emit(name, topic.intents(is_direct), data);
    }
}
