//! Who and what is in the workspace, as far as Slack has told: names, kinds of members, rooms and whether
//! we are in them. What is not known yet is asked for by [`crate::sync`].

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, PoisonError, RwLock};

use tokio::sync::Notify;

use crate::from_slack::SlackUser;
use aizuchi_core::chat::{AuthorKind, Channel, ChannelId, Role, User, UserId};
use aizuchi_core::platform::revocation::Revocation;

#[derive(Default)]
pub struct SlackCache {
    state: RwLock<CacheState>,
    requested: Notify,
    pub revocation: Revocation,
}

#[derive(Default)]
struct CacheState {
    users: HashMap<UserId, (Arc<str>, AuthorKind, Role)>,
    channels: HashMap<ChannelId, CachedChannel>,
    /// User groups' handles by id.
    groups: HashMap<String, Arc<str>>,
    lookups: PendingLookups,
}

/// What somebody should ask Slack.
#[derive(Default)]
pub struct PendingLookups {
    pub users: BTreeSet<UserId>,
    pub channels: BTreeSet<ChannelId>,
}

#[derive(Clone, Debug)]
pub struct CachedChannel {
    pub channel: Channel,
    pub membership: Membership,
}

/// Whether we are in a room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Membership {
    /// We were, before Slack was asked.
    Unknown,
    Member,
    /// We have left, or the room is closed.
    NotMember,
}

impl SlackCache {
    /// Takes up what was known before Slack was asked.
    pub fn load(&self, people: Vec<User>, channels: Vec<Channel>) {
        self.write(|known| {
            let people = people.into_iter();
            let people = people.map(|user| (user.id, (user.name, user.kind, user.role)));
            known.users.extend(people);
            let rooms = channels.into_iter();
            let standing = Membership::Unknown;
            let rooms = rooms.map(|channel| {
                (channel.id.clone(), CachedChannel { channel, membership: standing })
            });
            known.channels.extend(rooms);
        });
    }

    pub fn user_name(&self, user: &UserId) -> Option<Arc<str>> {
        self.read(|known| known.users.get(user).map(|(name, ..)| name.clone()))
    }

    pub fn author_kind(&self, user: &UserId) -> Option<AuthorKind> {
        self.read(|known| known.users.get(user).map(|(_, kind, _)| *kind))
    }

    pub fn group_name(&self, id: &str) -> Option<Arc<str>> {
        self.read(|known| known.groups.get(id).cloned())
    }

    pub fn channel(&self, channel: &ChannelId) -> Option<CachedChannel> {
        self.read(|known| known.channels.get(channel).cloned())
    }

    /// The rooms that we are in, in the order of their ids.
    pub fn joined(&self) -> Vec<ChannelId> {
        self.channels_where(|standing| standing == Membership::Member)
    }

    /// Those that we may be in.
    pub fn possibly_joined(&self) -> Vec<ChannelId> {
        self.channels_where(|standing| standing != Membership::NotMember)
    }

    fn channels_where(&self, is_it: impl Fn(Membership) -> bool) -> Vec<ChannelId> {
        let mut rooms: Vec<ChannelId> = self.read(|known| {
            let rooms = known.channels.iter().filter(|(_, room)| is_it(room.membership));
            rooms.map(|(id, _)| id.clone()).collect()
        });
        rooms.sort();
        rooms
    }

    /// All of that is known.
    pub fn is_current(&self, person: &SlackUser, kind: AuthorKind) -> bool {
        let now = (person.name.clone(), kind, person.role);
        self.read(|known| known.users.get(&person.id) == Some(&now))
    }

    pub fn put_user(&self, person: &SlackUser, kind: AuthorKind) {
        let now = (person.name.clone(), kind, person.role);
        self.write(|known| known.users.insert(person.id.clone(), now));
    }

    pub fn put_group(&self, id: &str, handle: &str) {
        self.write(|known| known.groups.insert(id.to_owned(), handle.into()));
    }

    pub fn put_channel(&self, room: CachedChannel) {
        self.write(|known| known.channels.insert(room.channel.id.clone(), room));
    }

    /// We are not there any more.
    pub fn leave_channel(&self, channel: &ChannelId) {
        self.write(|known| {
            if let Some(room) = known.channels.get_mut(channel) {
                room.membership = Membership::NotMember;
            }
        });
    }

    pub fn request_user(&self, user: &UserId) {
        self.write(|known| known.lookups.users.insert(user.clone()));
        self.requested.notify_one();
    }

    pub fn request_channel(&self, channel: &ChannelId) {
        self.write(|known| known.lookups.channels.insert(channel.clone()));
        self.requested.notify_one();
    }

    /// What was asked since the last time; waits for something.
    pub async fn next_lookups(&self) -> PendingLookups {
        loop {
            let asked = self.requested.notified();
            let questions = self.write(|known| std::mem::take(&mut known.lookups));
            if !(questions.users.is_empty() && questions.channels.is_empty()) {
                return questions;
            }
            asked.await;
        }
    }

    fn read<T>(&self, look: impl FnOnce(&CacheState) -> T) -> T {
        look(&self.state.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn write<T>(&self, change: impl FnOnce(&mut CacheState) -> T) -> T {
        change(&mut self.state.write().unwrap_or_else(PoisonError::into_inner))
    }
}
