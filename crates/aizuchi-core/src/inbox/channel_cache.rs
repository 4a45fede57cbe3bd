//! What the inbox needs to know about channels without asking the store: names, visibility, modes, opted-out
//! users, and how users talk there.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use parking_lot::RwLock;
use tokio::sync::{RwLock as Turns, RwLockReadGuard, RwLockWriteGuard};

use jiff::Timestamp;

use crate::chat::{
    AuthorKind, Channel, ChannelId, ConversationId, Message, MessageId, Role, User, UserId,
    Visibility, WorkspaceId,
};
use crate::context::talk::Talk;
use crate::rhythm::tempo::Tempo;
use crate::rhythm::{JudgeTimer, NewMessage, WaitBounds};
use crate::rules::{FacilitationRules, Mode, Rulebook};
use crate::store::{Order, StandingOrders};
use aizuchi_structure::names::leading_name;

/// Filled from what is heard and ordered.
#[derive(Debug, Default)]
pub struct ChannelCache {
    rulebook: Arc<Rulebook>,
    state: RwLock<ChannelCacheState>,
    order_lock: Turns<()>,
}

#[derive(Debug, Default)]
struct ChannelCacheState {
    channels: HashMap<(WorkspaceId, ChannelId), Channel>,
    modes: HashMap<(WorkspaceId, ChannelId), Mode>,
    opted_out: BTreeSet<(WorkspaceId, UserId)>,
    admins: BTreeSet<(WorkspaceId, UserId)>,
    user_names: HashMap<WorkspaceId, UserNames>,
    /// The newest messages of the conversations that have a timer.
    talks: HashMap<ConversationId, Talk>,
    tempos: HashMap<(WorkspaceId, ChannelId), Tempo>,
    /// The timers of conversations that wait to be judged, and of some that were judged: see [`MAX_TIMERS`].
    judge_timers: HashMap<ConversationId, JudgeTimer>,
}

/// The names of a workspace's users, in lower case.
#[derive(Debug, Default)]
struct UserNames {
    names: HashMap<UserId, String>,
    users: HashMap<String, UserId>,
    humans: BTreeSet<UserId>,
}

/// From this number on, timers of judged conversations are evicted.
const MAX_TIMERS: usize = 2000;
/// From this probability on a question has a timer. A timer too many costs a judgment, one too few a silence.
const OPEN_QUESTION: f32 = 0.25;

impl ChannelCache {
    pub fn new(rulebook: Arc<Rulebook>) -> Self {
        Self { rulebook, state: RwLock::default(), order_lock: Turns::default() }
    }

    /// Held while a message is stored, so that no order comes between. Messages do not block each other.
    pub async fn lock_for_hearing(&self) -> RwLockReadGuard<'_, ()> {
        self.order_lock.read().await
    }

    /// Held while an order is stored, so that no message comes between, and orders apply in the order in which
    /// they are stored.
    pub async fn lock_for_order(&self) -> RwLockWriteGuard<'_, ()> {
        self.order_lock.write().await
    }

    pub fn rulebook(&self) -> &Arc<Rulebook> {
        &self.rulebook
    }

    pub fn update_channel(&self, channel: &Channel) {
        let key = (channel.workspace.clone(), channel.id.clone());
        self.write(|state| state.channels.insert(key, channel.clone()));
    }

    /// Replaces all standing orders of a workspace.
    pub fn replace_orders(&self, workspace: &WorkspaceId, orders: &StandingOrders) {
        self.write(|state| {
            state.modes.retain(|(other, _), _| other != workspace);
            state.opted_out.retain(|(other, _)| other != workspace);
            let modes = orders.modes.iter();
            state.modes.extend(modes.map(|(id, mode)| ((workspace.clone(), id.clone()), *mode)));
            let users = orders.opted_out.iter();
            state.opted_out.extend(users.map(|user| (workspace.clone(), user.clone())));
        });
    }

    /// Applies one more order.
    pub fn apply_order(&self, order: &Order) {
        let workspace = order.workspace().clone();
        self.write(|state| match order {
            Order::Mode { channel, mode: Some(mode), .. } => {
                state.modes.insert((workspace, channel.clone()), *mode);
            }
            Order::Mode { channel, mode: None, .. } => {
                state.modes.remove(&(workspace, channel.clone()));
            }
            Order::OptOut { user, .. } => {
                state.opted_out.insert((workspace, user.clone()));
            }
            Order::OptIn { user, .. } => {
                state.opted_out.remove(&(workspace, user.clone()));
            }
            // These are read from the store where they matter.
            Order::Mute { .. }
            | Order::Unmute { .. }
            | Order::Redact { .. }
            | Order::Reset { .. }
            | Order::Forget { .. }
            | Order::ImportMemory { .. }
            | Order::ImportMemo { .. } => {}
        });
    }

    /// Learns a user's name and role.
    pub fn update_user(&self, user: &User) {
        self.write(|state| {
            let users = state.user_names.entry(user.workspace.clone()).or_default();
            users.insert(user.id.clone(), user.name.to_lowercase());
            if user.kind == AuthorKind::Human {
                users.humans.insert(user.id.clone());
            }
            let key = (user.workspace.clone(), user.id.clone());
            match user.role {
                Role::Admin => state.admins.insert(key),
                Role::Member => state.admins.remove(&key),
            };
        });
    }

    /// Records a human message, whatever its disposition.
    pub fn record_message(&self, message: &Message) {
        let conversation = &message.conversation;
        let key = (conversation.workspace.clone(), conversation.channel.clone());
        self.write(|state| {
            state.tempos.entry(key).or_default().record_message(message.at);
            if let Some(parent) = &conversation.thread {
                let top_level = ConversationId { thread: None, ..conversation.clone() };
                if let Some(timer) = state.judge_timers.get_mut(&top_level) {
                    timer.record_thread_reply(parent, &message.author.id);
                }
            }
        });
    }

    /// Records a message and returns when to judge the conversation, if no message follows. Hearing a message
    /// twice can only make that earlier.
    pub fn judge_due_after_message(
        &self,
        message: &Message,
        now: Timestamp,
        bounds: &WaitBounds,
    ) -> Timestamp {
        self.write(|state| {
            state.evict_judged(now);
            let names = state.user_names.entry(message.conversation.workspace.clone()).or_default();
            let talk = state.talks.entry(message.conversation.clone()).or_default();
            let called = names.user_called_by(&message.text);
            for user in message.referenced_users().chain(called) {
                let name = names.names.get(user);
                talk.add_user(user, name.map_or(user.as_str(), String::as_str));
            }
            if talk.index_of(&message.id).is_none() {
                talk.push(message);
            }
            let (talk, structure) = (&*talk, talk.structure());
            let is_open = |id: &MessageId| {
                talk.index_of(id).is_some_and(|index| structure.open(index) >= OPEN_QUESTION)
            };
            let asks = |index: usize| structure.asking(index) > 0.0;
            let is_open_question =
                talk.index_of(&message.id).is_some_and(asks) && is_open(&message.id);
            let new_message =
                NewMessage { message: &message.id, author: &message.author.id, is_open_question };
            let tempo =
                state.tempos.get(&channel_key(&message.conversation)).copied().unwrap_or_default();
            let timer = state.judge_timers.entry(message.conversation.clone()).or_default();
            timer.record_message(new_message, is_open, now, &tempo, bounds)
        })
    }

    /// Records an edit or deletion and returns when to judge the conversation, if no message follows.
    pub fn judge_due_after_change(
        &self,
        conversation: &ConversationId,
        message: &MessageId,
        now: Timestamp,
        bounds: &WaitBounds,
    ) -> Timestamp {
        self.write(|state| {
            state.evict_judged(now);
            let tempo = state.tempos.get(&channel_key(conversation)).copied().unwrap_or_default();
            let timer = state.judge_timers.entry(conversation.clone()).or_default();
            timer.record_change(message, now, &tempo, bounds)
        })
    }

    pub fn facilitation(&self, workspace: &WorkspaceId, channel: &ChannelId) -> FacilitationRules {
        let key = (workspace.clone(), channel.clone());
        self.read(|state| {
            let name = state.channels.get(&key).map_or("", |channel| &*channel.name);
            self.rulebook.channel_rules(channel, name).facilitation
        })
    }

    /// The mode that a user ordered for a channel, if any.
    pub fn ordered_mode(&self, workspace: &WorkspaceId, channel: &ChannelId) -> Option<Mode> {
        let key = (workspace.clone(), channel.clone());
        self.read(|state| state.modes.get(&key).copied())
    }

    pub fn mode(&self, workspace: &WorkspaceId, channel: &ChannelId) -> Mode {
        let key = (workspace.clone(), channel.clone());
        self.read(|state| {
            let name = state.channels.get(&key).map_or("", |channel| &*channel.name);
            let ordered = state.modes.get(&key).copied();
            ordered.unwrap_or_else(|| self.rulebook.channel_rules(channel, name).mode)
        })
    }

    /// Whether everything written there is addressed to the persona.
    pub fn is_direct(&self, workspace: &WorkspaceId, channel: &ChannelId) -> bool {
        self.visibility(workspace, channel) == Visibility::Direct
    }

    /// Who can read the channel.
    pub fn visibility(&self, workspace: &WorkspaceId, channel: &ChannelId) -> Visibility {
        let key = (workspace.clone(), channel.clone());
        let visibility =
            self.read(|state| state.channels.get(&key).map(|channel| channel.visibility));
        visibility.unwrap_or(Visibility::Private)
    }

    pub fn has_opted_out(&self, workspace: &WorkspaceId, user: &UserId) -> bool {
        let key = (workspace.clone(), user.clone());
        self.rulebook.opted_out.contains(user) || self.read(|state| state.opted_out.contains(&key))
    }

    /// Whether a human of the workspace has this name.
    pub fn has_human_named(&self, workspace: &WorkspaceId, name: &str) -> bool {
        self.read(|state| {
            let names = state.user_names.get(workspace);
            names.is_some_and(|names| {
                let user = names.users.get(&name.to_lowercase());
                user.is_some_and(|user| names.humans.contains(user))
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

impl ChannelCacheState {
    fn evict_judged(&mut self, now: Timestamp) {
        if self.judge_timers.len() >= MAX_TIMERS {
            self.judge_timers.retain(|_, timer| !timer.is_judged(now));
            self.talks.retain(|conversation, _| self.judge_timers.contains_key(conversation));
        }
    }
}

impl UserNames {
    fn insert(&mut self, user: UserId, name: String) {
        if let Some(before) = self.names.insert(user.clone(), name.clone())
            && self.users.get(&before) == Some(&user)
        {
            self.users.remove(&before);
        }
        self.users.insert(name, user);
    }

    /// The user whose full name a text begins with. A workspace has too many users to look for each.
    fn user_called_by(&self, text: &str) -> Option<&UserId> {
        self.users.get(leading_name(text)?.to_lowercase().as_str())
    }
}

fn channel_key(conversation: &ConversationId) -> (WorkspaceId, ChannelId) {
    (conversation.workspace.clone(), conversation.channel.clone())
}

#[cfg(test)]
mod tests {
    use jiff::SignedDuration;

    use super::*;
    use crate::chat::{Author, Role};

    fn conversation(thread: Option<&str>) -> ConversationId {
        let (workspace, channel) = (WorkspaceId::new("w"), ChannelId::new("c"));
        ConversationId { workspace, channel, thread: thread.map(MessageId::new) }
    }

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn cache() -> ChannelCache {
        let cache = ChannelCache::default();
        for name in ["Ann", "Bob"] {
            let (workspace, id) = (WorkspaceId::new("w"), UserId::new(format!("u-{name}")));
            cache.update_user(&User {
                workspace,
                id,
                name: name.into(),
                kind: AuthorKind::Human,
                role: Role::Member,
            });
        }
        cache
    }

    /// The wait in seconds after the last of these messages, which are 30 seconds apart.
    fn waits(cache: &ChannelCache, messages: &[(&str, Option<&str>, &str)]) -> i64 {
        let bounds = WaitBounds {
            min_rest: SignedDuration::from_secs(15),
            max_rest: SignedDuration::from_secs(300),
            max_wait: SignedDuration::from_secs(3600),
        };
        let heard = messages.iter().zip(0..).map(|((who, thread, text), number)| {
            let message = Message {
                conversation: conversation(*thread),
                id: MessageId::new(format!("{number}")),
                at: at(30 * number),
                author: Author { id: UserId::new(*who), kind: AuthorKind::Human },
                text: (*text).into(),
                mentions: Vec::new(),
                edits: 0,
            };
            cache.record_message(&message);
            let due = cache.judge_due_after_message(&message, message.at, &bounds);
            due.duration_since(message.at).as_secs()
        });
        heard.last().unwrap()
    }

    #[test]
    fn users_can_be_asked_and_answered_by_name() {
        let ask = ("u-Ann", None, "who has a ladder?");
        for (messages, expected) in [
            (vec![("u-Ann", None, "who has a ladder?")], 90),
            (vec![("u-Ann", None, "ok, who has a ladder?")], 90),
            (vec![("u-Ann", None, "Bob: who has a ladder?")], 300),
            (vec![ask, ("u-Bob", None, "I do not")], 90),
            (vec![ask, ("u-Bob", None, "I do, ann")], 300),
            (vec![ask, ("u-Bob", None, "hannah does")], 90),
            (vec![ask, ("u-Bob", None, "yes, there is one in the shed")], 300),
            (vec![ask, ("u-Ann", None, "(ann here)")], 90),
            // Another user's reply in the question's thread settles it.
            (vec![ask, ("u-Bob", Some("0"), "I do"), ("u-Bob", None, "well")], 300),
            (vec![ask, ("u-Ann", Some("0"), "a long one"), ("u-Ann", None, "anyone?")], 90),
        ] {
            assert_eq!(waits(&cache(), &messages), expected, "{messages:?}");
        }
    }

    #[test]
    fn a_former_name_matches_no_user() {
        for (text, expected) in [("bob: who has a ladder?", 90), ("robert: who has a ladder?", 300)]
        {
            let cache = cache();
            let (workspace, id) = (WorkspaceId::new("w"), UserId::new("u-Bob"));
            cache.update_user(&User {
                workspace,
                id,
                name: "Robert".into(),
                kind: AuthorKind::Human,
                role: Role::Member,
            });
            assert_eq!(waits(&cache, &[("u-Ann", None, text)]), expected, "{text}");
        }
    }
}
