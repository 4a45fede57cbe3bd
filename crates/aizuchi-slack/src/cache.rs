//! A cache of the workspace's users, groups and channels, and whether the bot is a member of each channel. Missing
//! entries are requested here and fetched by [`crate::sync`].

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use aizuchi_model::chat::{AuthorKind, Channel, ChannelId, User, UserId};
use parking_lot::RwLock;
use tokio::sync::Notify;

#[derive(Default)]
pub struct SlackCache {
    state: RwLock<CacheState>,
    requested: Notify,
}

#[derive(Default)]
struct CacheState {
    users: HashMap<UserId, User>,
    channels: HashMap<ChannelId, CachedChannel>,
    /// User groups' handles by id.
    groups: HashMap<String, Arc<str>>,
    lookups: PendingLookups,
}

/// Lookups to request from Slack.
#[derive(Default, PartialEq, Eq)]
pub struct PendingLookups {
    /// Whether to check that the bot's token is still valid.
    pub token: bool,
    pub users: BTreeSet<UserId>,
    pub channels: BTreeSet<ChannelId>,
}

#[derive(Clone, Debug)]
pub struct CachedChannel {
    pub channel: Channel,
    pub membership: Membership,
}

/// Whether the bot is a member of a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Membership {
    /// Stored by an earlier run; Slack has not been asked yet.
    Unknown,
    Member,
    /// The bot has left, or the channel is archived.
    NotMember,
}

impl SlackCache {
    /// Loads the users and channels that earlier runs stored.
    pub fn load(&self, users: Vec<User>, channels: Vec<Channel>) {
        self.write(|state| {
            for user in users {
                state.users.insert(user.id.clone(), user);
            }
            for channel in channels {
                let id = channel.id.clone();
                let cached = CachedChannel { channel, membership: Membership::Unknown };
                state.channels.insert(id, cached);
            }
        });
    }

    pub fn user_name(&self, user: &UserId) -> Option<Arc<str>> {
        self.read(|state| state.users.get(user).map(|user| user.name.clone()))
    }

    pub fn author_kind(&self, user: &UserId) -> Option<AuthorKind> {
        self.read(|state| state.users.get(user).map(|user| user.kind))
    }

    pub fn group_name(&self, id: &str) -> Option<Arc<str>> {
        self.read(|state| state.groups.get(id).cloned())
    }

    pub fn channel(&self, channel: &ChannelId) -> Option<CachedChannel> {
        self.read(|state| state.channels.get(channel).cloned())
    }

    /// Returns the channels that the bot is a member of, sorted by id.
    pub fn joined(&self) -> Vec<ChannelId> {
        self.channels_where(|membership| membership == Membership::Member)
    }

    /// Returns the channels that the bot is or may be a member of, sorted by id.
    pub fn possibly_joined(&self) -> Vec<ChannelId> {
        self.channels_where(|membership| membership != Membership::NotMember)
    }

    fn channels_where(&self, matches: impl Fn(Membership) -> bool) -> Vec<ChannelId> {
        let mut channels: Vec<ChannelId> = self.read(|state| {
            let channels = state.channels.iter().filter(|(_, cached)| matches(cached.membership));
            channels.map(|(id, _)| id.clone()).collect()
        });
        channels.sort();
        channels
    }

    /// Whether the cached user has the same name, kind and role.
    pub fn is_current(&self, user: &User) -> bool {
        self.read(|state| state.users.get(&user.id) == Some(user))
    }

    pub fn put_user(&self, user: User) {
        self.write(|state| state.users.insert(user.id.clone(), user));
    }

    pub fn put_group(&self, id: &str, handle: &str) {
        self.write(|state| state.groups.insert(id.to_owned(), handle.into()));
    }

    pub fn put_channel(&self, cached: CachedChannel) {
        self.write(|state| state.channels.insert(cached.channel.id.clone(), cached));
    }

    pub fn leave_channel(&self, channel: &ChannelId) {
        self.write(|state| {
            if let Some(cached) = state.channels.get_mut(channel) {
                cached.membership = Membership::NotMember;
            }
        });
    }

    pub fn request_user(&self, user: &UserId) {
        self.write(|state| state.lookups.users.insert(user.clone()));
        self.requested.notify_one();
    }

    pub fn request_channel(&self, channel: &ChannelId) {
        self.write(|state| state.lookups.channels.insert(channel.clone()));
        self.requested.notify_one();
    }

    pub fn request_token_check(&self) {
        self.write(|state| state.lookups.token = true);
        self.requested.notify_one();
    }

    /// Takes all lookups requested since the last call. Waits until there is at least one.
    pub async fn next_lookups(&self) -> PendingLookups {
        loop {
            let requested = self.requested.notified();
            let lookups = self.write(|state| std::mem::take(&mut state.lookups));
            if lookups != PendingLookups::default() {
                return lookups;
            }
            requested.await;
        }
    }

    fn read<T>(&self, look: impl FnOnce(&CacheState) -> T) -> T {
        look(&self.state.read())
    }

    fn write<T>(&self, change: impl FnOnce(&mut CacheState) -> T) -> T {
        change(&mut self.state.write())
    }
}
