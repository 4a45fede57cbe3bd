//! What hearing has to know of the rooms without looking it up: their names, who may read them, how it
//! takes part there, who does not want to be listened to, and how people talk there.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, PoisonError, RwLock};

use tokio::sync::{RwLock as Turns, RwLockReadGuard, RwLockWriteGuard};

use jiff::Timestamp;

use crate::chat::{
    Channel, ChannelId, ConversationId, Mention, Message, MessageId, Role, User, UserId,
    Visibility, WorkspaceId,
};
use crate::overlap::has_name;
use crate::rhythm::question::{addressed_name, is_question};
use crate::rhythm::tempo::Tempo;
use crate::rhythm::{JudgeTimer, NewMessage, WaitBounds};
use crate::rules::{FacilitationRules, Mode, Rulebook};
use crate::store::{Order, StandingOrders};

/// Learned from what is heard and ordered.
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
    user_names: HashMap<WorkspaceId, UserNameIndex>,
    tempos: HashMap<(WorkspaceId, ChannelId), Tempo>,
    /// What waits to be judged, and some that was: see [`MOST_TALKS`].
    judge_timers: HashMap<ConversationId, JudgeTimer>,
}

/// Names in lower case, to tell a question to the room from one to somebody.
#[derive(Debug, Default)]
struct UserNameIndex {
    names: HashMap<UserId, String>,
    /// How many bear a name.
    name_counts: HashMap<String, usize>,
}

/// When there are so many, those that were judged are forgotten.
const MAX_TIMERS: usize = 2000;

impl ChannelCache {
    pub fn new(rulebook: Arc<Rulebook>) -> Self {
        Self { rulebook, state: RwLock::default(), order_lock: Turns::default() }
    }

    /// Held by what is heard until it is kept: no order comes between. Lines do not wait for each other.
    pub async fn lock_for_hearing(&self) -> RwLockReadGuard<'_, ()> {
        self.order_lock.read().await
    }

    /// Held by an order until it is kept: nothing is heard meanwhile, and orders are obeyed in the order
    /// that they are kept in.
    pub async fn lock_for_order(&self) -> RwLockWriteGuard<'_, ()> {
        self.order_lock.write().await
    }

    pub fn rulebook(&self) -> &Arc<Rulebook> {
        &self.rulebook
    }

    pub fn update_channel(&self, channel: &Channel) {
        let key = (channel.workspace.clone(), channel.id.clone());
        self.write(|known| known.channels.insert(key, channel.clone()));
    }

    /// What people have ordered in a workspace, all of it.
    pub fn replace_orders(&self, workspace: &WorkspaceId, orders: &StandingOrders) {
        self.write(|known| {
            known.modes.retain(|(other, _), _| other != workspace);
            known.opted_out.retain(|(other, _)| other != workspace);
            let modes = orders.modes.iter();
            known.modes.extend(modes.map(|(id, mode)| ((workspace.clone(), id.clone()), *mode)));
            let users = orders.opted_out.iter();
            known.opted_out.extend(users.map(|user| (workspace.clone(), user.clone())));
        });
    }

    /// One order more.
    pub fn apply_order(&self, order: &Order) {
        let workspace = order.workspace().clone();
        self.write(|known| match order {
            Order::Mode { channel, mode: Some(mode), .. } => {
                known.modes.insert((workspace, channel.clone()), *mode);
            }
            Order::Mode { channel, mode: None, .. } => {
                known.modes.remove(&(workspace, channel.clone()));
            }
            Order::OptOut { user, .. } => {
                known.opted_out.insert((workspace, user.clone()));
            }
            Order::OptIn { user, .. } => {
                known.opted_out.remove(&(workspace, user.clone()));
            }
            // These are looked up where they matter.
            Order::Mute { .. }
            | Order::Unmute { .. }
            | Order::Redact { .. }
            | Order::Reset { .. }
            | Order::Forget { .. }
            | Order::ImportMemory { .. }
            | Order::ImportMemo { .. } => {}
        });
    }

    /// Somebody has a name.
    pub fn update_user(&self, user: &User) {
        self.write(|known| {
            let people = known.user_names.entry(user.workspace.clone()).or_default();
            people.insert(user.id.clone(), user.name.to_lowercase());
            let key = (user.workspace.clone(), user.id.clone());
            match user.role {
                Role::Admin => known.admins.insert(key),
                Role::Member => known.admins.remove(&key),
            };
        });
    }

    /// A human said something, whatever follows from it.
    pub fn record_message(&self, line: &Message) {
        let place = &line.conversation;
        let key = (place.workspace.clone(), place.channel.clone());
        self.write(|known| {
            known.tempos.entry(key).or_default().record_message(line.at);
            if let Some(parent) = &place.thread {
                let top = ConversationId { thread: None, ..place.clone() };
                let talk = known.judge_timers.get_mut(&top);
                talk.into_iter().for_each(|talk| talk.record_thread_reply(parent, &line.author.id));
            }
        });
    }

    /// The talk goes on with a line; returns when it is judged, if nobody says more. A line that is heard
    /// twice only brings that nearer.
    pub fn judge_due_after_message(
        &self,
        line: &Message,
        now: Timestamp,
        bounds: &WaitBounds,
    ) -> Timestamp {
        self.write(|known| {
            known.evict_judged(now);
            let people = known.user_names.entry(line.conversation.workspace.clone()).or_default();
            let lower = line.text.to_lowercase();
            let names = |user: &UserId| {
                line.mentions.contains(&Mention::User(user.clone()))
                    || people.names.get(user).is_some_and(|name| has_name(&lower, name))
            };
            let names_somebody = line.mentions.iter().any(|mention| match mention {
                Mention::User(user) => *user != line.author.id,
                Mention::Persona => true,
            }) || addressed_name(&lower)
                .is_some_and(|name| people.name_counts.contains_key(name));
            let asks_the_room = is_question(&line.text) && !names_somebody;
            let heard = NewMessage {
                message: &line.id,
                author: &line.author.id,
                is_open_question: asks_the_room,
            };
            let tempo =
                known.tempos.get(&channel_key(&line.conversation)).copied().unwrap_or_default();
            let talk = known.judge_timers.entry(line.conversation.clone()).or_default();
            talk.record_message(heard, names, now, &tempo, bounds)
        })
    }

    /// A line was edited or deleted; returns when the talk is judged, if nobody says more.
    pub fn judge_due_after_change(
        &self,
        place: &ConversationId,
        line: &MessageId,
        now: Timestamp,
        bounds: &WaitBounds,
    ) -> Timestamp {
        self.write(|known| {
            known.evict_judged(now);
            let tempo = known.tempos.get(&channel_key(place)).copied().unwrap_or_default();
            let talk = known.judge_timers.entry(place.clone()).or_default();
            talk.record_change(line, now, &tempo, bounds)
        })
    }

    pub fn facilitation(&self, workspace: &WorkspaceId, channel: &ChannelId) -> FacilitationRules {
        let key = (workspace.clone(), channel.clone());
        self.read(|known| {
            let name = known.channels.get(&key).map_or("", |channel| &*channel.name);
            self.rulebook.channel_rules(channel, name).facilitation
        })
    }

    /// The mode that people gave a channel, if they have.
    pub fn ordered_mode(&self, workspace: &WorkspaceId, channel: &ChannelId) -> Option<Mode> {
        let key = (workspace.clone(), channel.clone());
        self.read(|known| known.modes.get(&key).copied())
    }

    pub fn mode(&self, workspace: &WorkspaceId, channel: &ChannelId) -> Mode {
        let key = (workspace.clone(), channel.clone());
        self.read(|known| {
            let name = known.channels.get(&key).map_or("", |channel| &*channel.name);
            let ordered = known.modes.get(&key).copied();
            ordered.unwrap_or_else(|| self.rulebook.channel_rules(channel, name).mode)
        })
    }

    /// Whoever writes there writes to the persona.
    pub fn is_direct(&self, workspace: &WorkspaceId, channel: &ChannelId) -> bool {
        self.visibility(workspace, channel) == Visibility::Direct
    }

    /// Who reads along.
    pub fn visibility(&self, workspace: &WorkspaceId, channel: &ChannelId) -> Visibility {
        let key = (workspace.clone(), channel.clone());
        let known = self.read(|known| known.channels.get(&key).map(|known| known.visibility));
        known.unwrap_or(Visibility::Private)
    }

    pub fn has_opted_out(&self, workspace: &WorkspaceId, user: &UserId) -> bool {
        let key = (workspace.clone(), user.clone());
        self.rulebook.opted_out.contains(user) || self.read(|known| known.opted_out.contains(&key))
    }

    pub fn role(&self, workspace: &WorkspaceId, user: &UserId) -> Role {
        let key = (workspace.clone(), user.clone());
        let is_admin = self.read(|known| known.admins.contains(&key));
        if is_admin { Role::Admin } else { Role::Member }
    }

    fn read<T>(&self, look: impl FnOnce(&ChannelCacheState) -> T) -> T {
        look(&self.state.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn write<T>(&self, change: impl FnOnce(&mut ChannelCacheState) -> T) -> T {
        change(&mut self.state.write().unwrap_or_else(PoisonError::into_inner))
    }
}

impl ChannelCacheState {
    fn evict_judged(&mut self, now: Timestamp) {
        if self.judge_timers.len() >= MAX_TIMERS {
            self.judge_timers.retain(|_, talk| !talk.is_judged(now));
        }
    }
}

impl UserNameIndex {
    fn insert(&mut self, user: UserId, name: String) {
        if let Some(before) = self.names.insert(user, name.clone())
            && let Some(bearers) = self.name_counts.get_mut(&before)
        {
            *bearers -= 1;
            if *bearers == 0 {
                self.name_counts.remove(&before);
            }
        }
        *self.name_counts.entry(name).or_default() += 1;
    }
}

fn channel_key(place: &ConversationId) -> (WorkspaceId, ChannelId) {
    (place.workspace.clone(), place.channel.clone())
}

#[cfg(test)]
mod tests {
    use jiff::SignedDuration;

    use super::*;
    use crate::chat::{Author, AuthorKind, Role};

    fn place(thread: Option<&str>) -> ConversationId {
        let (workspace, channel) = (WorkspaceId::new("w"), ChannelId::new("c"));
        ConversationId { workspace, channel, thread: thread.map(MessageId::new) }
    }

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn rooms() -> ChannelCache {
        let rooms = ChannelCache::default();
        for name in ["Ann", "Bob"] {
            let (workspace, id) = (WorkspaceId::new("w"), UserId::new(format!("u-{name}")));
            rooms.update_user(&User {
                workspace,
                id,
                name: name.into(),
                kind: AuthorKind::Human,
                role: Role::Member,
            });
        }
        rooms
    }

    /// How many seconds are waited after the last of these lines.
    fn waits(rooms: &ChannelCache, lines: &[(&str, Option<&str>, &str)]) -> i64 {
        let bounds = WaitBounds {
            min_rest: SignedDuration::from_secs(15),
            max_rest: SignedDuration::from_secs(300),
            max_wait: SignedDuration::from_secs(3600),
        };
        let heard = lines.iter().zip(0..).map(|((who, thread, text), number)| {
            let line = Message {
                conversation: place(*thread),
                id: MessageId::new(format!("{number}")),
                at: at(30 * number),
                author: Author { id: UserId::new(*who), kind: AuthorKind::Human },
                text: (*text).into(),
                mentions: Vec::new(),
                edits: 0,
            };
            rooms.record_message(&line);
            let due = rooms.judge_due_after_message(&line, line.at, &bounds);
            due.duration_since(line.at).as_secs()
        });
        heard.last().unwrap()
    }

    #[test]
    fn who_is_known_by_name_can_be_asked_and_can_be_answered() {
        let ask = ("u-Ann", None, "who has a ladder?");
        for (lines, expected) in [
            (vec![("u-Ann", None, "who has a ladder?")], 90),
            (vec![("u-Ann", None, "ok, who has a ladder?")], 90),
            (vec![("u-Ann", None, "Bob: who has a ladder?")], 300),
            (vec![ask, ("u-Bob", None, "I do not")], 90),
            (vec![ask, ("u-Bob", None, "I do, ann")], 300),
            (vec![ask, ("u-Bob", None, "hannah does")], 90),
            (vec![ask, ("u-Ann", None, "(ann here)")], 90),
            // In the question's thread, somebody else's line settles it.
            (vec![ask, ("u-Bob", Some("0"), "I do"), ("u-Bob", None, "well")], 300),
            (vec![ask, ("u-Ann", Some("0"), "a long one"), ("u-Bob", None, "well")], 90),
        ] {
            assert_eq!(waits(&rooms(), &lines), expected, "{lines:?}");
        }
    }

    #[test]
    fn a_name_that_was_given_up_names_nobody() {
        for (text, expected) in [("bob: who has a ladder?", 90), ("robert: who has a ladder?", 300)]
        {
            let rooms = rooms();
            let (workspace, id) = (WorkspaceId::new("w"), UserId::new("u-Bob"));
            rooms.update_user(&User {
                workspace,
                id,
                name: "Robert".into(),
                kind: AuthorKind::Human,
                role: Role::Member,
            });
            assert_eq!(waits(&rooms, &[("u-Ann", None, text)]), expected, "{text}");
        }
    }
}
