//! Who and what is on our servers, as far as Discord has told: names, roles, channels, threads, and what of
//! it we may read.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

use twilight_model::channel::ChannelType;
use twilight_model::id::Id;
use twilight_model::id::marker::GuildMarker;

use crate::from_discord::Member;
use crate::from_discord::guild::{Guild, Role, Thread};
use crate::permissions::MANAGING;
use crate::text::emoji::{Emoji, named};
use aizuchi_core::chat::{self, AuthorKind, Channel, ChannelId, User, UserId, WorkspaceId};

#[derive(Default)]
pub struct Roster(RwLock<Known>);

#[derive(Default)]
struct Known {
    people: HashMap<(WorkspaceId, UserId), (Arc<str>, AuthorKind, chat::Role)>,
    guilds: HashMap<Id<GuildMarker>, Guild>,
    rooms: HashMap<ChannelId, Room>,
    threads: HashMap<ChannelId, Thread>,
}

/// A channel, a direct message, or a thread that only some may read.
#[derive(Clone, Debug, PartialEq)]
pub struct Room {
    pub channel: Channel,
    pub standing: Standing,
    /// `None`: a direct message, or one that was known before Discord was asked.
    pub kind: Option<ChannelType>,
    /// We may read what was said there before.
    pub has_history: bool,
}

/// Whether we can hear what is said in a room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// We could, before Discord was asked.
    Unknown,
    Member,
    /// We may not, or it is gone.
    Out,
}

impl Roster {
    /// Takes up what was known of a workspace before Discord was asked.
    pub fn recall(&self, people: Vec<User>, channels: Vec<Channel>) {
        self.write(|known| {
            for user in people {
                let person = (user.name, user.kind, user.role);
                known.people.insert((user.workspace, user.id), person);
            }
            for channel in channels {
                let (id, standing) = (channel.id.clone(), Standing::Unknown);
                known.rooms.insert(id, Room { channel, standing, kind: None, has_history: true });
            }
        });
    }

    pub fn name(&self, workspace: &WorkspaceId, user: &UserId) -> Option<Arc<str>> {
        let key = (workspace.clone(), user.clone());
        self.read(|known| known.people.get(&key).map(|(name, ..)| name.clone()))
    }

    pub fn kind(&self, workspace: &WorkspaceId, user: &UserId) -> Option<AuthorKind> {
        let key = (workspace.clone(), user.clone());
        self.read(|known| known.people.get(&key).map(|(_, kind, _)| *kind))
    }

    /// Whether somebody looks after the place.
    pub fn duty(&self, workspace: &WorkspaceId, user: &UserId) -> chat::Role {
        let key = (workspace.clone(), user.clone());
        self.read(|known| known.people.get(&key).map(|(.., role)| *role).unwrap_or_default())
    }

    /// All of that is known.
    pub fn knows(&self, user: &User) -> bool {
        let key = (user.workspace.clone(), user.id.clone());
        let now = (user.name.clone(), user.kind, user.role);
        self.read(|known| known.people.get(&key) == Some(&now))
    }

    pub fn learn_person(&self, user: User) {
        let person = (user.name, user.kind, user.role);
        self.write(|known| known.people.insert((user.workspace, user.id), person));
    }

    /// A role of any of our servers.
    pub fn role(&self, guild: Id<GuildMarker>, id: &str) -> Option<Role> {
        self.read(|known| {
            known.guilds.get(&guild)?.roles.iter().find(|role| *role.id == *id).cloned()
        })
    }

    /// The only one of a server's own that is called so.
    pub fn emoji(&self, guild: Id<GuildMarker>, name: &str) -> Option<Emoji> {
        self.read(|known| named(&known.guilds.get(&guild)?.emojis, name))
    }

    pub fn room(&self, channel: &ChannelId) -> Option<Room> {
        self.read(|known| known.rooms.get(channel).cloned())
    }

    pub fn thread(&self, id: &ChannelId) -> Option<Thread> {
        self.read(|known| known.threads.get(id).cloned())
    }

    /// The threads of a room that are not put away.
    pub fn active_threads(&self, room: &ChannelId) -> Vec<Thread> {
        let mut threads: Vec<Thread> = self.read(|known| {
            let threads = known.threads.values();
            let is_it = |thread: &&Thread| thread.parent == *room && !thread.is_archived;
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
        self.rooms(|room| room.standing == Standing::Member)
    }

    /// Those of a workspace that we may hear.
    pub fn not_left(&self, workspace: &WorkspaceId) -> Vec<ChannelId> {
        self.rooms(|room| room.channel.workspace == *workspace && room.standing != Standing::Out)
    }

    fn rooms(&self, is_it: impl Fn(&Room) -> bool) -> Vec<ChannelId> {
        let mut rooms: Vec<ChannelId> = self.read(|known| {
            let rooms = known.rooms.iter().filter(|(_, room)| is_it(room));
            rooms.map(|(id, _)| id.clone()).collect()
        });
        rooms.sort();
        rooms
    }

    pub fn learn_room(&self, room: Room) {
        self.write(|known| known.rooms.insert(room.channel.id.clone(), room));
    }

    pub fn learn_thread(&self, thread: Thread) {
        self.write(|known| known.threads.insert(thread.id.clone(), thread));
    }

    pub fn forget_thread(&self, id: &ChannelId) -> Option<Thread> {
        self.write(|known| known.threads.remove(id))
    }

    /// A server with its roles, channels and ourselves. People and threads are kept elsewhere.
    pub fn learn_guild(&self, guild: Guild) {
        self.write(|known| known.guilds.insert(guild.id, guild));
    }

    pub fn forget_guild(&self, id: Id<GuildMarker>) {
        self.write(|known| known.guilds.remove(&id));
    }

    /// Something about a server changes, if it is known; returns how it is then.
    pub fn change_guild(
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
    pub fn leave(&self, channel: &ChannelId) {
        self.write(|known| {
            if let Some(room) = known.rooms.get_mut(channel) {
                room.standing = Standing::Out;
            }
        });
    }

    fn read<T>(&self, look: impl FnOnce(&Known) -> T) -> T {
        look(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn write<T>(&self, change: impl FnOnce(&mut Known) -> T) -> T {
        change(&mut self.0.write().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Guild {
    /// Whether somebody with these roles owns it, or may change it.
    pub fn is_managed_by(&self, user: &UserId, held: &[Arc<str>]) -> bool {
        let mut roles = self.roles.iter().filter(|role| held.contains(&role.id));
        self.owner.as_ref() == Some(user) || roles.any(|role| role.permissions.intersects(MANAGING))
    }

    pub fn put_role(&mut self, role: Role) {
        self.roles.retain(|known| known.id != role.id);
        self.roles.push(role);
    }

    pub fn put_member(&mut self, member: Member) {
        self.members.retain(|known| known.person.id != member.person.id);
        self.members.push(member);
    }
}
