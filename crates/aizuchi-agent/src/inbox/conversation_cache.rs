//! What the inbox knows about conversations: their newest messages, what these reply to, and when each is judged. All
//! of it is read from the store if it is missing, so that a restart changes no decision.

use std::collections::HashMap;
use std::sync::Arc;

use aizuchi_model::chat::{ChannelId, ConversationId, Message, MessageId, UserId, WorkspaceId};
use aizuchi_model::context::links::MessageLinks;
use aizuchi_model::context::message_structure::{MAX_MESSAGES, MessageStructure};
use aizuchi_model::context::message_window::MessageWindow;
use aizuchi_model::context::readings::Readings;
use aizuchi_model::context::{Context, ContextWindow};
use aizuchi_model::rhythm::tempo::Tempo;
use aizuchi_model::rhythm::{JudgeTimer, NewMessage, WaitBounds};
use aizuchi_structure::cues::Cues;
use jiff::Timestamp;
use parking_lot::Mutex;
use tokio::sync::{Mutex as AsyncMutex, OwnedMutexGuard};

use crate::inbox::addressed::in_thread::follows_up;

/// The number of conversations from which judged ones are evicted.
const MAX_CONVERSATIONS: usize = 2000;
/// The probability from which a message certainly answers a question of the persona's.
const SURELY_ANSWERS: f32 = 0.8;

#[derive(Debug, Default)]
pub struct ConversationCache {
    state: Mutex<CachedConversations>,
    readings: Readings,
}

#[derive(Debug, Default)]
struct CachedConversations {
    conversations: HashMap<ConversationId, Arc<Mutex<CachedConversation>>>,
    tempos: HashMap<(WorkspaceId, ChannelId), Tempo>,
    /// How often conversations were evicted.
    evictions: u64,
}

#[derive(Debug, Default)]
struct CachedConversation {
    /// `None` if it has to be read from the store.
    talk: Option<MessageStructure>,
    timer: Option<JudgeTimer>,
    /// How often `talk` was dropped from the cache, counted from a number that no evicted conversation has reached, so
    /// that a message pushed to an evicted one does not count as part of its successor.
    drops: u64,
    /// Held while `talk` is read from the store.
    reading: Arc<AsyncMutex<()>>,
    /// How often such a read failed.
    failed_reads: u64,
}

/// A conversation whose messages have to be read from the store. Invalid if they change in the meantime.
#[derive(Clone, Copy, Debug)]
pub struct Missing {
    drops: u64,
    since: Timestamp,
}

/// What was found out about a message when it was heard.
#[derive(Debug)]
pub struct HeardLinks {
    /// The links to be stored with it: its own, and those of other messages that have none yet.
    pub links: Vec<(MessageId, MessageLinks)>,
    /// Whether it had not been heard before.
    is_new: bool,
    /// Whether no known message was written after it.
    is_newest: bool,
    drops: u64,
    /// Whether it certainly answers a question of the persona's.
    pub answers_persona: bool,
    /// Whether it follows up on what the persona said in its thread, or in the channel about what opened the thread.
    pub follows_up: bool,
}

/// Returns the window in which a conversation is read from the store at `now`.
pub fn window(now: Timestamp) -> ContextWindow {
    ContextWindow {
        messages: MessageWindow::exact(MAX_MESSAGES),
        thread_messages: MessageWindow::exact(MAX_MESSAGES),
        since: Timestamp::MIN,
        // No memories are needed.
        active_since: Timestamp::MAX,
        threads_since: Timestamp::MAX,
        recent_since: Timestamp::MAX,
        now,
        intervention_messages: 0,
    }
}

impl ConversationCache {
    pub fn reading_with(readings: Readings) -> Self {
        Self { readings, ..Self::default() }
    }

    /// Locks while a conversation is read from the store. If many wait for it at once, as when a moderator deletes a
    /// hundred messages, it is read only once.
    pub async fn lock_for_reading(&self, conversation: &ConversationId) -> OwnedMutexGuard<()> {
        let reading = self.conversation(conversation).lock().reading.clone();
        reading.lock_owned().await
    }

    /// Returns how often a conversation could not be read.
    pub fn failed_reads(&self, conversation: &ConversationId) -> u64 {
        self.conversation(conversation).lock().failed_reads
    }

    pub fn record_failed_read(&self, conversation: &ConversationId) {
        self.conversation(conversation).lock().failed_reads += 1;
    }

    /// Returns what to read from the store first, if anything.
    pub fn missing(&self, conversation: &ConversationId, now: Timestamp) -> Option<Missing> {
        self.state.lock().evict_judged(now);
        let cached = self.conversation(conversation);
        let cached = cached.lock();
        cached.talk.is_none().then_some(Missing { drops: cached.drops, since: now })
    }

    /// Caches a conversation as read from the store, unless it has changed since it was found missing. `names` are
    /// those of the users that its messages may address; `is_named` tells whether a text names the persona.
    pub fn restore(
        &self,
        missing: Missing,
        context: &Context,
        names: &[(UserId, Arc<str>)],
        is_named: &dyn Fn(&str) -> bool,
        bounds: &WaitBounds,
    ) {
        let mut tempo = Tempo::default();
        let mut talk = MessageStructure::reading_with(self.readings.clone());
        for (user, name) in names {
            talk.add_user(user, name);
        }
        let timer = restore_into(&mut talk, context, is_named, &mut tempo, bounds, missing.since);
        let key = channel_key(&context.conversation);
        self.state.lock().tempos.entry(key).or_insert(tempo);
        let cached = self.conversation(&context.conversation);
        let mut cached = cached.lock();
        if cached.drops == missing.drops && cached.talk.is_none() {
            (cached.talk, cached.timer) = (Some(talk), Some(timer));
        }
    }

    /// Whether it is known when a conversation is judged.
    pub fn has_timer(&self, conversation: &ConversationId) -> bool {
        self.conversation(conversation).lock().timer.is_some()
    }

    /// Adds a message and finds what it replies to, unless `reply_to` is given. `names` are those of the users that it
    /// may address. Returns `None` if its conversation is missing.
    pub fn push(
        &self,
        message: &Message,
        names: &[(UserId, Arc<str>)],
        reply_to: Option<&MessageId>,
    ) -> Option<HeardLinks> {
        let is_in_thread = message.conversation.thread.is_some() && message.is_human();
        let answered = is_in_thread.then(|| self.answered_opening(&message.conversation)).flatten();
        let cached = self.conversation(&message.conversation);
        let mut cached = cached.lock();
        let talk = cached.talk.as_mut()?;
        for (user, name) in names {
            talk.add_user(user, name);
        }
        let is_new = talk.index_of(&message.id).is_none();
        // A message that arrives out of order would be in the wrong place here, so the conversation is read again.
        let is_newest = !is_new || talk.newest_at().is_none_or(|newest| newest <= message.at);
        if is_new {
            let links = reply_to.map(|parent| MessageLinks::reply_to(parent.clone()));
            talk.push(message, links.as_ref());
        }
        let index = talk.index_of(&message.id)?;
        let answers_persona = answers_persona(talk, index);
        let own = (0..index).rfind(|other| talk.is_own(*other)).filter(|_| is_in_thread);
        let below = || answered.map(|opening| talk.index_of(&opening).map_or(0, |at| at + 1));
        let since = own.map(|own| own + 1).or_else(below);
        let follows_up = since.is_some_and(|since| follows_up(talk, since..index, message));
        let links = talk.take_unstored_links();
        let drops = cached.drops;
        Some(HeardLinks { links, is_new, is_newest, drops, answers_persona, follows_up })
    }

    /// Returns the message that opened a thread if the persona has answered it in the channel.
    fn answered_opening(&self, thread: &ConversationId) -> Option<MessageId> {
        let opening = thread.thread.clone()?;
        let top_level = ConversationId { thread: None, ..thread.clone() };
        let cached = self.state.lock().conversations.get(&top_level).cloned()?;
        let cached = cached.lock();
        cached.talk.as_ref()?.is_answered_by_persona(&opening).then_some(opening)
    }

    /// Whether a cached message certainly answers a question of the persona's.
    pub fn answers_persona(&self, conversation: &ConversationId, message: &MessageId) -> bool {
        let cached = self.conversation(conversation);
        let cached = cached.lock();
        cached.talk.as_ref().is_some_and(|talk| {
            talk.index_of(message).is_some_and(|index| answers_persona(talk, index))
        })
    }

    /// Whether the cached conversation, with a message that was pushed to it, matches the store. `is_stored` means that
    /// the message was stored for the first time.
    pub fn is_current(
        &self,
        conversation: &ConversationId,
        heard: &HeardLinks,
        is_stored: bool,
    ) -> bool {
        let drops = self.conversation(conversation).lock().drops;
        heard.is_newest && heard.drops == drops && (is_stored || !heard.is_new)
    }

    /// Returns a guard that drops these conversations from the cache, even if its owner is cancelled, unless they are
    /// kept.
    pub fn drop_unless_kept(&self, conversations: Vec<ConversationId>) -> DropUnlessKept<'_> {
        DropUnlessKept { cache: self, conversations }
    }

    /// Drops a conversation's messages, because they have changed. They are read from the store when they are next
    /// needed.
    pub fn drop_messages(&self, conversation: &ConversationId) {
        let cached = self.state.lock().conversations.get(conversation).cloned();
        if let Some(cached) = cached {
            cached.lock().drop_messages();
        }
    }

    /// Drops the messages of all conversations of a workspace.
    pub fn drop_all_messages(&self, workspace: &WorkspaceId) {
        let state = self.state.lock();
        let conversations = state.conversations.iter();
        conversations
            .filter(|(conversation, _)| conversation.workspace == *workspace)
            .for_each(|(_, cached)| cached.lock().drop_messages());
    }

    /// Records a human message, whatever its disposition.
    pub fn record_message(&self, message: &Message) {
        let conversation = &message.conversation;
        let mut state = self.state.lock();
        // If it is missing, it will be read from the store with this message.
        if let Some(tempo) = state.tempos.get_mut(&channel_key(conversation)) {
            tempo.record_message(message.at);
        }
        if let Some(parent) = &conversation.thread {
            let top_level = ConversationId { thread: None, ..conversation.clone() };
            let cached = state.conversations.get(&top_level).cloned();
            drop(state);
            if let Some(cached) = cached {
                cached.lock().record_thread_reply(parent);
            }
        }
    }

    /// Records that a message was heard and returns when to judge its conversation, if no message follows. Hearing a
    /// message twice can only make that earlier.
    pub fn judge_due_after_message(
        &self,
        message: &Message,
        names_persona: bool,
        now: Timestamp,
        bounds: &WaitBounds,
    ) -> Timestamp {
        // Before the conversation is locked: elsewhere the state is locked first, and the other order would deadlock.
        let tempo = self.tempo(&message.conversation);
        let cached = self.conversation(&message.conversation);
        let mut cached = cached.lock();
        let CachedConversation { talk, timer, .. } = &mut *cached;
        let timer = timer.get_or_insert_default();
        let message = (&message.id, names_persona);
        record_message(timer, talk.as_ref(), message, now, &tempo, bounds)
    }

    /// Records an edit or deletion and returns when to judge the conversation, if no message follows.
    pub fn judge_due_after_change(
        &self,
        conversation: &ConversationId,
        message: &MessageId,
        now: Timestamp,
        bounds: &WaitBounds,
    ) -> Timestamp {
        let tempo = self.tempo(conversation);
        let cached = self.conversation(conversation);
        let mut cached = cached.lock();
        cached.timer.get_or_insert_default().record_change(message, now, &tempo, bounds)
    }

    fn tempo(&self, conversation: &ConversationId) -> Tempo {
        self.state.lock().tempos.get(&channel_key(conversation)).copied().unwrap_or_default()
    }

    fn conversation(&self, conversation: &ConversationId) -> Arc<Mutex<CachedConversation>> {
        let mut state = self.state.lock();
        if let Some(cached) = state.conversations.get(conversation) {
            return cached.clone();
        }
        let drops = state.evictions << 32;
        let cached = CachedConversation { drops, ..CachedConversation::default() };
        let cached = Arc::new(Mutex::new(cached));
        state.conversations.insert(conversation.clone(), cached.clone());
        cached
    }
}

/// A guard; see [`ConversationCache::drop_unless_kept`].
#[must_use]
pub struct DropUnlessKept<'c> {
    cache: &'c ConversationCache,
    conversations: Vec<ConversationId>,
}

impl DropUnlessKept<'_> {
    pub fn keep(mut self) {
        self.conversations.clear();
    }
}

impl Drop for DropUnlessKept<'_> {
    fn drop(&mut self) {
        self.conversations.iter().for_each(|conversation| self.cache.drop_messages(conversation));
    }
}

impl CachedConversations {
    fn evict_judged(&mut self, now: Timestamp) {
        if self.conversations.len() < MAX_CONVERSATIONS {
            return;
        }
        self.evictions += 1;
        self.conversations.retain(|_, cached| {
            let is_judged = |cached: &CachedConversation| {
                cached.timer.as_ref().is_none_or(|timer| timer.is_judged(now))
            };
            // Conversations that are in use are kept.
            cached.try_lock().is_none_or(|cached| !is_judged(&cached))
        });
    }
}

impl CachedConversation {
    fn record_thread_reply(&mut self, parent: &MessageId) {
        if let Some(timer) = &mut self.timer {
            timer.record_thread_reply(parent);
        }
    }

    fn drop_messages(&mut self) {
        self.talk = None;
        // The timer depends on the messages, and is read back with them.
        self.timer = None;
        self.drops += 1;
    }
}

/// Adds the messages of a context's target, and returns its timer as it was when the newest of them was heard. `tempo`
/// is set to that of its channel.
fn restore_into(
    talk: &mut MessageStructure,
    context: &Context,
    is_named: &dyn Fn(&str) -> bool,
    tempo: &mut Tempo,
    bounds: &WaitBounds,
    now: Timestamp,
) -> JudgeTimer {
    let mut timer = JudgeTimer::default();
    let mut messages: Vec<&Arc<Message>> = context.conversation_history.iter().collect();
    // In a fixed order, so that a restart finds the same links and the same timer (invariant 12).
    messages.sort_by(|one, other| (one.at, &one.id).cmp(&(other.at, &other.id)));
    for message in messages {
        if message.is_human() {
            tempo.record_message(message.at);
        }
        // A thread without messages is not in the history yet, and the message that opens it is at the top level.
        let opens_thread = Some(&message.id) == context.conversation.thread.as_ref();
        if opens_thread || context.target_message(&message.id).is_some() {
            talk.push_stored(message, context);
            let is_waiting = message.is_human() && !message.is_addressed();
            let reply = context.target_messages().get(1);
            let at = match opens_thread {
                // From the first reply on, it is judged in the thread.
                true => reply.map_or(now, |reply| reply.at),
                false => message.at,
            };
            // Only what is not judged yet: the timer of the others has ended.
            if is_waiting && (opens_thread || context.new_messages.contains(&message.id)) {
                let is_new = context.new_messages.contains(&message.id);
                let names_persona = is_new && is_named(&message.text);
                let message = (&message.id, names_persona);
                record_message(&mut timer, Some(&*talk), message, at, tempo, bounds);
            }
        } else if let Some(parent) =
            message.conversation.thread.as_ref().filter(|_| message.is_human())
        {
            timer.record_thread_reply(parent);
        }
    }
    timer
}

fn record_message(
    timer: &mut JudgeTimer,
    talk: Option<&MessageStructure>,
    (message, names_persona): (&MessageId, bool),
    now: Timestamp,
    tempo: &Tempo,
    bounds: &WaitBounds,
) -> Timestamp {
    let is_open = |id: &MessageId| {
        let known = talk.and_then(|talk| Some((talk, talk.index_of(id)?)));
        known.is_none_or(|(talk, index)| talk.may_call_for_a_word(index))
    };
    let new_message =
        NewMessage { message, is_open: talk.is_some() && is_open(message), names_persona };
    timer.record_message(new_message, is_open, now, tempo, bounds)
}

/// Whether a message certainly answers a question of the persona's, and addresses no other user.
fn answers_persona(talk: &MessageStructure, index: usize) -> bool {
    let is_to_another = talk.structure().utterances()[index].addressee.is_some();
    !is_to_another && talk.replied_to_persona(index, Cues::ASKS) >= SURELY_ANSWERS
}

fn channel_key(conversation: &ConversationId) -> (WorkspaceId, ChannelId) {
    (conversation.workspace.clone(), conversation.channel.clone())
}

#[cfg(test)]
mod tests {
    use aizuchi_model::chat::{Author, AuthorKind, Mention, Role, User};
    use aizuchi_model::context::channel_messages::ChannelMessages;
    use jiff::SignedDuration;

    use super::*;
    use crate::inbox::channel_cache::ChannelCache;

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
                zone: None,
            });
        }
        cache
    }

    #[tokio::test]
    async fn a_conversation_is_read_by_one_at_a_time() {
        let cache = ConversationCache::default();
        let (here, there) = (conversation(None), conversation(Some("1")));
        let turn = cache.lock_for_reading(&here).await;
        let mut next = std::pin::pin!(cache.lock_for_reading(&here));
        assert!(futures_util::poll!(&mut next).is_pending());
        drop(cache.lock_for_reading(&there).await);
        drop(turn);
        drop(next.await);
    }

    #[test]
    fn a_conversation_that_was_evicted_while_a_message_was_stored_is_read_again() {
        let cache = ConversationCache::default();
        let here = conversation(None);
        let wait = SignedDuration::from_secs(60);
        let bounds = WaitBounds { min_rest: wait, max_rest: wait, max_wait: wait };
        let read = |missing| {
            let empty = ChannelMessages::new(ChannelId::new("c"), "c".into());
            cache.restore(missing, &Context::new(here.clone(), empty), &[], &|_| false, &bounds);
        };
        read(cache.missing(&here, at(0)).unwrap());
        let message = Message {
            conversation: here.clone(),
            id: MessageId::new("1"),
            at: at(0),
            author: Author { id: UserId::new("u-Ann"), kind: AuthorKind::Human },
            text: "are you there?".into(),
            mentions: vec![Mention::Persona],
            attachments: Vec::new(),
            edits: 0,
        };
        let heard = cache.push(&message, &[], None).unwrap();
        assert!(cache.is_current(&here, &heard, true));
        for number in 0..MAX_CONVERSATIONS {
            let _ = cache.missing(&conversation(Some(&number.to_string())), at(0));
        }
        // Another message causes a read before the first one is stored.
        read(cache.missing(&here, at(1)).unwrap());
        assert!(!cache.is_current(&here, &heard, true));
    }

    /// Returns the wait in seconds after the last of these messages, which are 30 seconds apart.
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
                attachments: Vec::new(),
                edits: 0,
            };
            let conversations = &cache.conversations;
            if let Some(missing) = conversations.missing(&message.conversation, message.at) {
                let empty = ChannelMessages::new(ChannelId::new("c"), "c".into());
                let empty = Context::new(message.conversation.clone(), empty);
                conversations.restore(missing, &empty, &[], &|_| false, &bounds);
            }
            conversations.push(&message, &cache.names_in(&message), None).unwrap();
            conversations.record_message(&message);
            let due = conversations.judge_due_after_message(&message, false, message.at, &bounds);
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
            // It may go on about something else, and is said to nobody.
            (vec![ask, ("u-Bob", None, "yes, there is one in the shed")], 90),
            (vec![ask, ("u-Bob", None, "I do, ann. call 4711")], 90),
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
                zone: None,
            });
            assert_eq!(waits(&cache, &[("u-Ann", None, text)]), expected, "{text}");
        }
    }
}
