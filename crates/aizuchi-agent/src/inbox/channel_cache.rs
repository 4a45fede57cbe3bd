//! What the inbox needs to know about channels without asking the store: names, visibility, modes and opted-out users.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use aizuchi_model::chat::{
    Arrival, AuthorKind, Channel, ChannelId, ConversationId, Message, Role, User, UserId,
    Visibility, WorkspaceId,
};
use aizuchi_model::context::readings::Readings;
use aizuchi_model::memory::asker::signer;
use aizuchi_model::reloadable::Reloadable;
use aizuchi_model::rules::place::Place;
use aizuchi_model::rules::setting_override::{self, SettingOverride};
use aizuchi_model::rules::{ChannelRules, Mode, Rulebook};
use aizuchi_store::FORGOTTEN_USER_ID;
use aizuchi_store::order::{InForceChange, Order, OrdersInForce};
use aizuchi_structure::names::leading_name;
use jiff::{SignedDuration, Timestamp};
use parking_lot::RwLock;
use tokio::sync::{
    Mutex as AsyncMutex, MutexGuard, RwLock as AsyncRwLock, RwLockReadGuard, RwLockWriteGuard,
};

use crate::inbox::conversation_cache::ConversationCache;

/// A cache of channels and users, filled from heard events and orders.
#[derive(Debug, Default)]
pub struct ChannelCache {
    rulebook: Reloadable<Rulebook>,
    state: RwLock<ChannelCacheState>,
    pub conversations: ConversationCache,
    order_lock: AsyncRwLock<()>,
    command_lock: AsyncMutex<()>,
}

#[derive(Debug, Default)]
struct ChannelCacheState {
    channels: HashMap<(WorkspaceId, ChannelId), Channel>,
    modes: HashMap<(WorkspaceId, ChannelId), Mode>,
    opted_out: BTreeSet<(WorkspaceId, UserId)>,
    admins: BTreeSet<(WorkspaceId, UserId)>,
    user_names: HashMap<WorkspaceId, KnownNames>,
    /// The names that platforms show for the persona: its account's, and its nickname there.
    persona_names: HashMap<WorkspaceId, Vec<Arc<str>>>,
    /// When the newest live message was written.
    newest_live: HashMap<WorkspaceId, Timestamp>,
}

/// The names of a workspace's users, in lower case.
#[derive(Debug, Default)]
struct KnownNames {
    names: HashMap<UserId, Arc<str>>,
    users: HashMap<Arc<str>, UserId>,
    humans: BTreeSet<UserId>,
}

impl ChannelCacheState {
    /// Returns the name of a channel, or an empty string if it is unknown.
    fn name(&self, channel: &(WorkspaceId, ChannelId)) -> &str {
        self.channels.get(channel).map_or("", |channel| &*channel.name)
    }

    fn visibility(&self, channel: &(WorkspaceId, ChannelId)) -> Visibility {
        // Until its platform has described it, a channel is private (invariant 9).
        self.channels.get(channel).map_or(Visibility::Private, |channel| channel.visibility)
    }
}

impl ChannelCache {
    pub fn new(rulebook: Reloadable<Rulebook>) -> Self {
        Self { rulebook, ..Self::default() }
    }

    /// Returns a cache for a replay, which reads the same texts repeatedly.
    pub fn reading_with(readings: Readings, rulebook: Reloadable<Rulebook>) -> Self {
        let conversations = ConversationCache::reading_with(readings);
        Self { rulebook, conversations, ..Self::default() }
    }

    /// Locks while a message is stored, so that no order comes between. Messages do not block each other.
    pub async fn lock_for_hearing(&self) -> RwLockReadGuard<'_, ()> {
        self.order_lock.read().await
    }

    /// Locks while an order is stored, so that no message comes between, and orders apply in the order in which they
    /// are stored.
    pub async fn lock_for_order(&self) -> RwLockWriteGuard<'_, ()> {
        self.order_lock.write().await
    }

    /// Locks while a command is carried out and its message is stored, so that each command is carried out once, and
    /// none after a later one. It is acquired before the order lock.
    pub async fn lock_for_command(&self) -> MutexGuard<'_, ()> {
        self.command_lock.lock().await
    }

    /// Returns the rules in force.
    pub fn rulebook(&self) -> Arc<Rulebook> {
        self.rulebook.read()
    }

    pub fn update_channel(&self, channel: &Channel) {
        let key = (channel.workspace.clone(), channel.id.clone());
        self.write(|state| state.channels.insert(key, channel.clone()));
    }

    /// Returns the age of a message at `now`. A live message is never older than the newest live one so far: if it
    /// seems to be, the clock is wrong.
    pub fn age(&self, message: &Message, arrival: Arrival, now: Timestamp) -> SignedDuration {
        let now = match arrival {
            Arrival::Backfilled | Arrival::BackfilledAnswered => now,
            Arrival::Live => self.write(|state| {
                let workspace = message.conversation.workspace.clone();
                let newest = state.newest_live.entry(workspace).or_insert(message.at);
                *newest = message.at.max(*newest);
                now.min(*newest)
            }),
        };
        now.duration_since(message.at)
    }

    /// Replaces all orders in force in a workspace.
    pub fn replace_orders(&self, workspace: &WorkspaceId, orders: &OrdersInForce) {
        self.write(|state| {
            state.modes.retain(|(other, _), _| other != workspace);
            state.opted_out.retain(|(other, _)| other != workspace);
            let modes = orders.modes.iter();
            state.modes.extend(modes.map(|(id, mode)| ((workspace.clone(), id.clone()), *mode)));
            let users = orders.opted_out.iter();
            state.opted_out.extend(users.map(|user| (workspace.clone(), user.clone())));
            self.put_settings(workspace, &orders.settings);
        });
    }

    /// Applies one more order, given at `now`.
    pub fn apply_order(&self, order: &Order, now: Timestamp) {
        let workspace = order.workspace();
        for change in order.changes_in_force(now) {
            // Under the state's lock, so that two changes of the settings do not overwrite each other.
            self.write(|state| match change {
                InForceChange::Setting(change) => {
                    let settings = setting_override::changed(self.settings_of(workspace), change);
                    self.put_settings(workspace, &settings);
                }
                InForceChange::Mode { channel, mode } => {
                    let key = (workspace.clone(), channel);
                    state.modes.remove(&key);
                    state.modes.extend(mode.map(|mode| (key, mode)));
                }
                InForceChange::OptOut(user) => {
                    state.opted_out.insert((workspace.clone(), user));
                }
                InForceChange::OptIn(user) => {
                    state.opted_out.remove(&(workspace.clone(), user));
                }
                InForceChange::Forget(user) => {
                    let mut settings = self.settings_of(workspace);
                    for setting in &mut settings {
                        if signer(&setting.by) == Some(user.as_str()) {
                            setting.by = FORGOTTEN_USER_ID.into();
                        }
                    }
                    self.put_settings(workspace, &settings);
                }
            });
        }
    }

    /// The settings that users ordered in a workspace.
    fn settings_of(&self, workspace: &WorkspaceId) -> Vec<SettingOverride> {
        self.rulebook.read().ordered.get(workspace).cloned().unwrap_or_default()
    }

    /// Replaces the settings that users ordered in a workspace.
    fn put_settings(&self, workspace: &WorkspaceId, settings: &[SettingOverride]) {
        let is_known = |book: &Rulebook| {
            book.ordered.get(workspace).map(Vec::as_slice).unwrap_or_default() == settings
        };
        if !is_known(&self.rulebook.read()) {
            self.rulebook.update(|book| book.clone().with_orders(workspace, settings));
        }
    }

    /// Learns a user's name and role, and returns whether the user had another name.
    pub fn update_user(&self, user: &User) -> bool {
        self.write(|state| {
            let users = state.user_names.entry(user.workspace.clone()).or_default();
            if user.kind == AuthorKind::Human {
                users.humans.insert(user.id.clone());
            }
            let is_renamed = users.insert(user.id.clone(), user.name.to_lowercase().into());
            let key = (user.workspace.clone(), user.id.clone());
            match user.role {
                Role::Admin => state.admins.insert(key),
                Role::Guest | Role::Member => state.admins.remove(&key),
            };
            is_renamed
        })
    }

    /// Drops what is known about a forgotten user, including their name.
    pub fn forget_user(&self, workspace: &WorkspaceId, user: &UserId) {
        self.write(|state| {
            state.admins.remove(&(workspace.clone(), user.clone()));
            if let Some(users) = state.user_names.get_mut(workspace) {
                users.remove(user);
            }
        });
        // The cached conversations contain the name, too.
        self.conversations.drop_all_messages(workspace);
    }

    /// Returns the names of the users that a message may address: those that it mentions, and one whom it calls by
    /// name.
    pub fn names_in(&self, message: &Message) -> Vec<(UserId, Arc<str>)> {
        self.read(|state| {
            let names = state.user_names.get(&message.conversation.workspace);
            let called = names.and_then(|names| names.user_called_by(&message.text));
            let name = |user: &UserId| {
                let known = names.and_then(|names| names.names.get(user));
                known.unwrap_or(&user.0).clone()
            };
            let users = message.referenced_users().chain(called);
            users.map(|user| (user.clone(), name(user))).collect()
        })
    }

    /// Whether the messages of a conversation are remembered.
    pub fn remembers(&self, conversation: &ConversationId) -> bool {
        let key = (conversation.workspace.clone(), conversation.channel.clone());
        self.read(|state| {
            let (name, visibility) = (state.name(&key), state.visibility(&key));
            let place = Place::of_conversation(conversation, name, visibility);
            self.rulebook.read().remembers(&place)
        })
    }

    /// Calls a function with the rules of a channel.
    pub fn with_rules<T>(
        &self,
        workspace: &WorkspaceId,
        channel: &ChannelId,
        look: impl FnOnce(&ChannelRules) -> T,
    ) -> T {
        let key = (workspace.clone(), channel.clone());
        self.read(|state| {
            let (name, visibility) = (state.name(&key), state.visibility(&key));
            look(self.rulebook.read().rules_in(&Place::new(workspace, channel, name, visibility)))
        })
    }

    /// Returns the user who is asked in a channel before the persona posts unasked there.
    pub fn keeper(&self, workspace: &WorkspaceId, channel: &ChannelId) -> Option<UserId> {
        let visibility = self.visibility(workspace, channel);
        let name = self.channel_name(workspace, channel).unwrap_or_default();
        let place = Place::new(workspace, channel, &name, visibility);
        self.rulebook.read().keeper(&place).cloned()
    }

    /// Returns the name of a channel, if it has a known one.
    pub fn channel_name(&self, workspace: &WorkspaceId, channel: &ChannelId) -> Option<String> {
        let key = (workspace.clone(), channel.clone());
        let name = self.read(|state| Some(state.channels.get(&key)?.name.to_string()));
        name.filter(|name| !name.is_empty())
    }

    /// Returns the public channel with this name, ignoring case; if several have it, the first of them, as the reply to
    /// a command does.
    pub fn public_channel_named(&self, workspace: &WorkspaceId, name: &str) -> Option<Channel> {
        let name = name.to_lowercase();
        let is_meant = |channel: &&Channel| {
            channel.workspace == *workspace
                && channel.visibility == Visibility::Public
                && channel.name.to_lowercase() == name
        };
        self.read(|state| {
            let meant = state.channels.values().filter(is_meant);
            meant.min_by(|one, other| one.id.cmp(&other.id)).cloned()
        })
    }

    /// Returns the mode that a user ordered for a channel, if any.
    pub fn ordered_mode(&self, workspace: &WorkspaceId, channel: &ChannelId) -> Option<Mode> {
        let key = (workspace.clone(), channel.clone());
        self.read(|state| state.modes.get(&key).copied())
    }

    pub fn mode(&self, workspace: &WorkspaceId, channel: &ChannelId) -> Mode {
        let key = (workspace.clone(), channel.clone());
        self.read(|state| {
            let (name, visibility) = (state.name(&key), state.visibility(&key));
            let ordered = state.modes.get(&key).copied();
            let place = Place::new(workspace, channel, name, visibility);
            ordered.unwrap_or_else(|| self.rulebook.read().rules_in(&place).mode)
        })
    }

    /// Whether every message there is addressed to the persona.
    pub fn is_direct(&self, workspace: &WorkspaceId, channel: &ChannelId) -> bool {
        self.visibility(workspace, channel) == Visibility::Direct
    }

    /// Returns who can read the channel.
    pub fn visibility(&self, workspace: &WorkspaceId, channel: &ChannelId) -> Visibility {
        let key = (workspace.clone(), channel.clone());
        self.read(|state| state.visibility(&key))
    }

    pub fn has_opted_out(&self, workspace: &WorkspaceId, user: &UserId) -> bool {
        let key = (workspace.clone(), user.clone());
        self.rulebook.read().opted_out.contains(user)
            || self.read(|state| state.opted_out.contains(&key))
    }

    /// Replaces the names that a platform shows for the persona.
    pub fn name_persona(&self, workspace: &WorkspaceId, names: Vec<Arc<str>>) {
        self.write(|state| state.persona_names.insert(workspace.clone(), names));
    }

    /// Returns the names that a platform shows for the persona.
    pub fn persona_names(&self, workspace: &WorkspaceId) -> Vec<Arc<str>> {
        self.read(|state| state.persona_names.get(workspace).cloned().unwrap_or_default())
    }

    /// Whether a human of the workspace has this name.
    pub fn has_human_named(&self, workspace: &WorkspaceId, name: &str) -> bool {
        self.read(|state| {
            let names = state.user_names.get(workspace);
            names.is_some_and(|names| {
                let user = names.users.get(name.to_lowercase().as_str());
                user.is_some_and(|user| names.humans.contains(user))
            })
        })
    }

    /// Whether a text mentions a human whose name begins with one of these and goes on. They are in lower case.
    pub fn mentions_namesake(&self, workspace: &WorkspaceId, text: &str, names: &[String]) -> bool {
        let text = text.to_lowercase();
        self.read(|state| {
            let known = state.user_names.get(workspace).map(|names| &names.users);
            let mut known = known.into_iter().flatten().map(|(known, _)| known);
            known.any(|known| {
                let goes_on =
                    |name: &String| known.len() > name.len() && known.starts_with(&**name);
                names.iter().any(goes_on) && text.contains(&format!("@{known}"))
            })
        })
    }

    pub fn role(&self, workspace: &WorkspaceId, user: &UserId) -> Role {
        let key = (workspace.clone(), user.clone());
        let is_admin = self.read(|state| state.admins.contains(&key));
        if is_admin { Role::Admin } else { Role::Member }
    }

    fn read<T>(&self, look: impl FnOnce(&ChannelCacheState) -> T) -> T {
        look(&self.state.read())
    }

    fn write<T>(&self, change: impl FnOnce(&mut ChannelCacheState) -> T) -> T {
        change(&mut self.state.write())
    }
}

impl KnownNames {
    /// Returns whether the user had another name.
    fn insert(&mut self, user: UserId, name: Arc<str>) -> bool {
        let before = self.names.insert(user.clone(), name.clone()).filter(|before| *before != name);
        if let Some(before) = &before {
            self.release(before, &user);
        }
        // A bot does not take the name from a human: users who call it mean the human.
        let is_humans = self.users.get(&name).is_some_and(|holder| self.humans.contains(holder));
        if self.humans.contains(&user) || !is_humans {
            self.users.insert(name, user);
        }
        before.is_some()
    }

    fn remove(&mut self, user: &UserId) {
        let name = self.names.remove(user);
        self.humans.remove(user);
        if let Some(name) = name {
            self.release(&name, user);
        }
    }

    /// Gives a user's former name to another user who has it, if there is one; to a human rather than a bot.
    fn release(&mut self, name: &Arc<str>, user: &UserId) {
        if self.users.get(name) != Some(user) {
            return;
        }
        self.users.remove(name);
        let named = self.names.iter().filter(|(_, other)| *other == name);
        let namesake = named.map(|(id, _)| id).min_by_key(|id| (!self.humans.contains(*id), *id));
        if let Some(namesake) = namesake.cloned() {
            self.users.insert(name.clone(), namesake);
        }
    }

    /// Returns the user whose full name a text begins with. A workspace has too many users to search for each.
    fn user_called_by(&self, text: &str) -> Option<&UserId> {
        self.users.get(leading_name(text)?.to_lowercase().as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn meet(cache: &ChannelCache, id: &str, name: &str, kind: AuthorKind) {
        let (workspace, id) = (WorkspaceId::new("w"), UserId::new(id));
        cache.update_user(&User {
            workspace,
            id,
            name: name.into(),
            kind,
            role: Role::Member,
            zone: None,
        });
    }

    fn has_human_named(cache: &ChannelCache, name: &str) -> bool {
        cache.has_human_named(&WorkspaceId::new("w"), name)
    }

    #[test]
    fn of_channels_with_one_name_the_first_is_meant() {
        let (cache, workspace) = (ChannelCache::default(), WorkspaceId::new("w"));
        for number in 0..100 {
            cache.update_channel(&Channel {
                workspace: workspace.clone(),
                id: ChannelId::new(format!("c{number:02}")),
                name: "Tea".into(),
                visibility: Visibility::Public,
                topic: None,
            });
        }
        let found = cache.public_channel_named(&workspace, "tea").unwrap();
        assert_eq!(found.id, ChannelId::new("c00"));
    }

    #[test]
    fn a_namesake_keeps_the_name_when_a_user_is_renamed_or_forgotten() {
        let cache = ChannelCache::default();
        for id in ["mia", "ren", "sora"] {
            meet(&cache, id, "Robin", AuthorKind::Human);
        }
        meet(&cache, "sora", "Sora", AuthorKind::Human);
        assert!(has_human_named(&cache, "robin") && has_human_named(&cache, "sora"));
        cache.forget_user(&WorkspaceId::new("w"), &UserId::new("mia"));
        assert!(has_human_named(&cache, "robin"));
        meet(&cache, "ren", "Ren", AuthorKind::Human);
        assert!(!has_human_named(&cache, "robin") && has_human_named(&cache, "ren"));
    }

    #[test]
    fn a_bot_takes_no_name_from_a_human() {
        let cache = ChannelCache::default();
        meet(&cache, "b1", "Robin", AuthorKind::Bot);
        meet(&cache, "mia", "Robin", AuthorKind::Human);
        meet(&cache, "b2", "Robin", AuthorKind::Bot);
        assert!(has_human_named(&cache, "Robin"));
        // Among those who keep the name, a human comes before a bot.
        meet(&cache, "zoe", "Robin", AuthorKind::Human);
        meet(&cache, "zoe", "Zoe", AuthorKind::Human);
        assert!(has_human_named(&cache, "Robin"));
        meet(&cache, "mia", "Mia", AuthorKind::Human);
        assert!(!has_human_named(&cache, "Robin"));
    }
}
