//! Who and what is on our servers, as far as Discord has told: names, roles, channels, threads, and what of
//! it we may read.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

use twilight_model::channel::ChannelType;
use twilight_model::id::Id;
use twilight_model::id::marker::GuildMarker;

use crate::from_discord::guild::{Guild, GuildRole, GuildThread};
use crate::from_discord::user::GuildMember;
use crate::permissions::ADMIN_PERMISSIONS;
use crate::text::emoji::{GuildEmoji, find_unique};
use aizuchi_core::chat::{self, AuthorKind, Channel, ChannelId, User, UserId, WorkspaceId};

#[derive(Default)]
pub struct DiscordCache(RwLock<CacheState>);

#[derive(Default)]
struct CacheState {
    users: HashMap<(WorkspaceId, UserId), (Arc<str>, AuthorKind, chat::Role)>,
    guilds: HashMap<Id<GuildMarker>, Guild>,
    channels: HashMap<ChannelId, CachedChannel>,
    threads: HashMap<ChannelId, GuildThread>,
}

/// A channel, a direct message, or a thread that only some may read.
#[derive(Clone, Debug, PartialEq)]
pub struct CachedChannel {
    pub channel: Channel,
    pub membership: Membership,
    /// `None`: a direct message, or one that was known before Discord was asked.
    pub kind: Option<ChannelType>,
    /// We may read what was said there before.
    pub can_read_history: bool,
}

/// Whether we can hear what is said in a room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Membership {
    /// We could, before Discord was asked.
    Unknown,
    Member,
    /// We may not, or it is gone.
    NotMember,
}

impl DiscordCache {
    /// Takes up what was known of a workspace before Discord was asked.
    pub fn load(&self, people: Vec<User>, channels: Vec<Channel>) {
        self.write(|known| {
            for user in people {
                let person = (user.name, user.kind, user.role);
                known.users.insert((user.workspace, user.id), person);
            }
            for channel in channels {
                let (id, standing) = (channel.id.clone(), Membership::Unknown);
                known.channels.insert(
                    id,
                    CachedChannel {
                        channel,
                        membership: standing,
                        kind: None,
                        can_read_history: true,
                    },
                );
            }
        });
    }

    pub fn user_name(&self, workspace: &WorkspaceId, user: &UserId) -> Option<Arc<str>> {
        let key = (workspace.clone(), user.clone());
        self.read(|known| known.users.get(&key).map(|(name, ..)| name.clone()))
    }

    pub fn author_kind(&self, workspace: &WorkspaceId, user: &UserId) -> Option<AuthorKind> {
        let key = (workspace.clone(), user.clone());
        self.read(|known| known.users.get(&key).map(|(_, kind, _)| *kind))
    }

    /// Whether somebody looks after the place.
    pub fn user_role(&self, workspace: &WorkspaceId, user: &UserId) -> chat::Role {
        let key = (workspace.clone(), user.clone());
        self.read(|known| known.users.get(&key).map(|(.., role)| *role).unwrap_or_default())
    }

    /// All of that is known.
    pub fn is_current(&self, user: &User) -> bool {
        let key = (user.workspace.clone(), user.id.clone());
        let now = (user.name.clone(), user.kind, user.role);
        self.read(|known| known.users.get(&key) == Some(&now))
    }

    pub fn put_user(&self, user: User) {
        let person = (user.name, user.kind, user.role);
        self.write(|known| known.users.insert((user.workspace, user.id), person));
    }

    /// A role of any of our servers.
    pub fn guild_role(&self, guild: Id<GuildMarker>, id: &str) -> Option<GuildRole> {
        self.read(|known| {
            known.guilds.get(&guild)?.roles.iter().find(|role| *role.id == *id).cloned()
        })
    }

    /// The only one of a server's own that is called so.
    pub fn guild_emoji(&self, guild: Id<GuildMarker>, name: &str) -> Option<GuildEmoji> {
        self.read(|known| find_unique(&known.guilds.get(&guild)?.emojis, name))
    }

    pub fn channel(&self, channel: &ChannelId) -> Option<CachedChannel> {
        self.read(|known| known.channels.get(channel).cloned())
    }

    pub fn thread(&self, id: &ChannelId) -> Option<GuildThread> {
        self.read(|known| known.threads.get(id).cloned())
    }

    /// The threads of a room that are not put away.
    pub fn active_threads(&self, room: &ChannelId) -> Vec<GuildThread> {
        let mut threads: Vec<GuildThread> = self.read(|known| {
            let threads = known.threads.values();
            let is_it = |thread: &&GuildThread| thread.parent == *room && !thread.is_archived;
            threads.filter(is_it).filter(|thread| !thread.is_private).cloned().collect()
        });
        threads.sort_by(|one, other| one.id.cmp(&other.id));
        threads
    }

    pub fn guild(&self, id: Id<GuildMarker>) -> Option<Guild> {
        self.read(|known| known.guilds.get(&id).cloned())
    }

    pub fn guilds(&self) -> Vec<Id<GuildMarker>> {
        let mut guilds: Vec<_> = self.read(|known| known.guilds.keys().copied().collect());
        guilds.sort();
        guilds
    }

    /// The rooms that we hear, in the order of their ids.
    pub fn joined(&self) -> Vec<ChannelId> {
        self.channels_where(|room| room.membership == Membership::Member)
    }

    /// Those of a workspace that we may hear.
    pub fn possibly_joined(&self, workspace: &WorkspaceId) -> Vec<ChannelId> {
        self.channels_where(|room| {
            room.channel.workspace == *workspace && room.membership != Membership::NotMember
        })
    }

    fn channels_where(&self, is_it: impl Fn(&CachedChannel) -> bool) -> Vec<ChannelId> {
        let mut rooms: Vec<ChannelId> = self.read(|known| {
            let rooms = known.channels.iter().filter(|(_, room)| is_it(room));
            rooms.map(|(id, _)| id.clone()).collect()
        });
        rooms.sort();
        rooms
    }

    pub fn put_channel(&self, room: CachedChannel) {
        self.write(|known| known.channels.insert(room.channel.id.clone(), room));
    }

    pub fn put_thread(&self, thread: GuildThread) {
        self.write(|known| known.threads.insert(thread.id.clone(), thread));
    }

    pub fn remove_thread(&self, id: &ChannelId) -> Option<GuildThread> {
        self.write(|known| known.threads.remove(id))
    }

    /// A server with its roles, channels and ourselves. People and threads are kept elsewhere.
    pub fn put_guild(&self, guild: Guild) {
        self.write(|known| known.guilds.insert(guild.id, guild));
    }

    pub fn remove_guild(&self, id: Id<GuildMarker>) {
        self.write(|known| known.guilds.remove(&id));
    }

    /// Something about a server changes, if it is known; returns how it is then.
    pub fn update_guild(
        &self,
        id: Id<GuildMarker>,
        change: impl FnOnce(&mut Guild),
    ) -> Option<Guild> {
        self.write(|known| {
            let guild = known.guilds.get_mut(&id)?;
            change(guild);
            Some(guild.clone())
        })
    }

    /// We can hear nothing there any more.
    pub fn leave_channel(&self, channel: &ChannelId) {
        self.write(|known| {
            if let Some(room) = known.channels.get_mut(channel) {
                room.membership = Membership::NotMember;
            }
        });
    }

    fn read<T>(&self, look: impl FnOnce(&CacheState) -> T) -> T {
        look(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn write<T>(&self, change: impl FnOnce(&mut CacheState) -> T) -> T {
        change(&mut self.0.write().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Guild {
    /// Whether somebody with these roles owns it, or may change it.
    pub fn is_managed_by(&self, user: &UserId, held: &[Arc<str>]) -> bool {
        let mut roles = self.roles.iter().filter(|role| held.contains(&role.id));
        self.owner.as_ref() == Some(user)
            || roles.any(|role| role.permissions.intersects(ADMIN_PERMISSIONS))
    }

    pub fn put_role(&mut self, role: GuildRole) {
        self.roles.retain(|known| known.id != role.id);
        self.roles.push(role);
    }

    pub fn put_member(&mut self, member: GuildMember) {
        self.members.retain(|known| known.user.id != member.user.id);
        self.members.push(member);
    }
}
