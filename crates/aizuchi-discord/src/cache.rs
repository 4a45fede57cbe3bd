//! A cache of the bot's servers: users, roles, emoji, channels and threads, and which channels the bot can read.

use std::collections::HashMap;
use std::sync::Arc;

use aizuchi_model::chat::{self, AuthorKind, Channel, ChannelId, User, UserId, WorkspaceId};
use parking_lot::RwLock;
use twilight_model::channel::ChannelType;
use twilight_model::id::Id;
use twilight_model::id::marker::GuildMarker;

use crate::from_discord::guild::{Guild, GuildRole, GuildThread};
use crate::from_discord::user::GuildMember;
use crate::permissions::ADMIN_PERMISSIONS;
use crate::text::emoji::{GuildEmoji, find_unique};

#[derive(Default)]
pub struct DiscordCache(RwLock<CacheState>);

#[derive(Default)]
struct CacheState {
    users: HashMap<(WorkspaceId, UserId), (Arc<str>, AuthorKind, chat::Role)>,
    guilds: HashMap<Id<GuildMarker>, Guild>,
    channels: HashMap<ChannelId, CachedChannel>,
    threads: HashMap<ChannelId, GuildThread>,
}

/// A channel, a direct message, or a private thread.
#[derive(Clone, Debug, PartialEq)]
pub struct CachedChannel {
    pub channel: Channel,
    pub membership: Membership,
    /// `None` for a direct message, or a channel loaded from the store and not yet confirmed by Discord.
    pub kind: Option<ChannelType>,
    /// Whether the bot may read the channel's history.
    pub can_read_history: bool,
}

/// Whether the bot receives a channel's messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Membership {
    /// The bot did before the restart; Discord has not confirmed it yet.
    Unknown,
    Member,
    /// The bot may not see the channel, or the channel was deleted.
    NotMember,
}

impl DiscordCache {
    /// Loads the users and channels that are stored for a workspace.
    pub fn load(&self, users: Vec<User>, channels: Vec<Channel>) {
        self.write(|state| {
            for user in users {
                let entry = (user.name, user.kind, user.role);
                state.users.insert((user.workspace, user.id), entry);
            }
            for channel in channels {
                let (id, membership) = (channel.id.clone(), Membership::Unknown);
                state.channels.insert(
                    id,
                    CachedChannel { channel, membership, kind: None, can_read_history: true },
                );
            }
        });
    }

    pub fn user_name(&self, workspace: &WorkspaceId, user: &UserId) -> Option<Arc<str>> {
        let key = (workspace.clone(), user.clone());
        self.read(|state| state.users.get(&key).map(|(name, ..)| name.clone()))
    }

    pub fn author_kind(&self, workspace: &WorkspaceId, user: &UserId) -> Option<AuthorKind> {
        let key = (workspace.clone(), user.clone());
        self.read(|state| state.users.get(&key).map(|(_, kind, _)| *kind))
    }

    /// Returns a user's role in a workspace.
    pub fn user_role(&self, workspace: &WorkspaceId, user: &UserId) -> chat::Role {
        let key = (workspace.clone(), user.clone());
        self.read(|state| state.users.get(&key).map(|(.., role)| *role).unwrap_or_default())
    }

    /// Whether the cached user has the same name, kind and role.
    pub fn is_current(&self, user: &User) -> bool {
        let key = (user.workspace.clone(), user.id.clone());
        let now = (user.name.clone(), user.kind, user.role);
        self.read(|state| state.users.get(&key) == Some(&now))
    }

    pub fn put_user(&self, user: User) {
        let entry = (user.name, user.kind, user.role);
        self.write(|state| state.users.insert((user.workspace, user.id), entry));
    }

    /// Returns a role of a server.
    pub fn guild_role(&self, guild: Id<GuildMarker>, id: &str) -> Option<GuildRole> {
        self.read(|state| {
            state.guilds.get(&guild)?.roles.iter().find(|role| *role.id == *id).cloned()
        })
    }

    /// Returns a server's custom emoji of this name, if there is exactly one.
    pub fn guild_emoji(&self, guild: Id<GuildMarker>, name: &str) -> Option<GuildEmoji> {
        self.read(|state| find_unique(&state.guilds.get(&guild)?.emojis, name))
    }

    pub fn channel(&self, channel: &ChannelId) -> Option<CachedChannel> {
        self.read(|state| state.channels.get(channel).cloned())
    }

    pub fn thread(&self, id: &ChannelId) -> Option<GuildThread> {
        self.read(|state| state.threads.get(id).cloned())
    }

    /// Returns a channel's public threads that are not archived.
    pub fn active_threads(&self, channel: &ChannelId) -> Vec<GuildThread> {
        let mut threads: Vec<GuildThread> = self.read(|state| {
            let threads = state.threads.values();
            let is_it = |thread: &&GuildThread| thread.parent == *channel && !thread.is_archived;
            threads.filter(is_it).filter(|thread| !thread.is_private).cloned().collect()
        });
        threads.sort_by(|one, other| one.id.cmp(&other.id));
        threads
    }

    pub fn guild(&self, id: Id<GuildMarker>) -> Option<Guild> {
        self.read(|state| state.guilds.get(&id).cloned())
    }

    pub fn guilds(&self) -> Vec<Id<GuildMarker>> {
        let mut guilds: Vec<_> = self.read(|state| state.guilds.keys().copied().collect());
        guilds.sort();
        guilds
    }

    /// Returns the channels that the bot is a member of, sorted by id.
    pub fn joined(&self) -> Vec<ChannelId> {
        self.channels_where(|cached| cached.membership == Membership::Member)
    }

    /// Returns the channels of a workspace that the bot is, or may still be, a member of.
    pub fn possibly_joined(&self, workspace: &WorkspaceId) -> Vec<ChannelId> {
        self.channels_where(|cached| {
            cached.channel.workspace == *workspace && cached.membership != Membership::NotMember
        })
    }

    fn channels_where(&self, is_it: impl Fn(&CachedChannel) -> bool) -> Vec<ChannelId> {
        let mut channels: Vec<ChannelId> = self.read(|state| {
            let channels = state.channels.iter().filter(|(_, cached)| is_it(cached));
            channels.map(|(id, _)| id.clone()).collect()
        });
        channels.sort();
        channels
    }

    pub fn put_channel(&self, cached: CachedChannel) {
        self.write(|state| state.channels.insert(cached.channel.id.clone(), cached));
    }

    pub fn put_thread(&self, thread: GuildThread) {
        self.write(|state| state.threads.insert(thread.id.clone(), thread));
    }

    pub fn remove_thread(&self, id: &ChannelId) -> Option<GuildThread> {
        self.write(|state| state.threads.remove(id))
    }

    /// Stores a server with its roles, its channels and the bot's membership. Users and threads are stored separately.
    pub fn put_guild(&self, guild: Guild) {
        self.write(|state| state.guilds.insert(guild.id, guild));
    }

    pub fn remove_guild(&self, id: Id<GuildMarker>) {
        self.write(|state| state.guilds.remove(&id));
    }

    /// Changes a server, if it is known, and returns it.
    pub fn update_guild(
        &self,
        id: Id<GuildMarker>,
        change: impl FnOnce(&mut Guild),
    ) -> Option<Guild> {
        self.write(|state| {
            let guild = state.guilds.get_mut(&id)?;
            change(guild);
            Some(guild.clone())
        })
    }

    /// Marks a channel as one that the bot can no longer read.
    pub fn leave_channel(&self, channel: &ChannelId) {
        self.write(|state| {
            if let Some(cached) = state.channels.get_mut(channel) {
                cached.membership = Membership::NotMember;
            }
        });
    }

    fn read<T>(&self, look: impl FnOnce(&CacheState) -> T) -> T {
        look(&self.0.read())
    }

    fn write<T>(&self, change: impl FnOnce(&mut CacheState) -> T) -> T {
        change(&mut self.0.write())
    }
}

impl Guild {
    /// Whether a user with these roles owns or manages the server.
    pub fn is_managed_by(&self, user: &UserId, roles: &[Arc<str>]) -> bool {
        let mut roles = self.roles.iter().filter(|role| roles.contains(&role.id));
        self.owner.as_ref() == Some(user)
            || roles.any(|role| role.permissions.intersects(ADMIN_PERMISSIONS))
    }

    pub fn put_role(&mut self, role: GuildRole) {
        self.roles.retain(|old| old.id != role.id);
        self.roles.push(role);
    }

    pub fn put_member(&mut self, member: GuildMember) {
        self.members.retain(|old| old.user.id != member.user.id);
        self.members.push(member);
    }
}
