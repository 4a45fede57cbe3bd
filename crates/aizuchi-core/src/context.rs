//! What a prompt is made from (seed 003): the talk of a channel with one conversation of it as the
//! target, what is remembered and may be known there, and who is in it. Built in one go, for judging,
//! replying and remembering alike.

pub mod channel_messages;
pub mod state;
pub mod words;
pub mod names;
pub mod floor;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use serde::Deserialize;
use sha2::{Digest, Sha256};

use crate::chat::{
    AuthorKind, ChannelId, ConversationId, Message, MessageId, Role, UserId, Visibility,
    starts_with_name,
};
use crate::context::channel_messages::ChannelMessages;
use crate::context::state::ConversationState;
use crate::memo::Memo;
use crate::memory::{LineId, Lineage, MemoryId};
use crate::recall::Recalled;
use crate::rhythm::delays::Delays;
use crate::rules::Mode;

/// Stands for "what there is to judge": two equal hashes need only one verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StateHash(pub i64);

/// What the judge's verdict leaves for the reply.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Motive {
    pub reason: String,
    /// The line that would be answered.
    pub about: Option<MessageId>,
    /// What state the conversation was in.
    pub conversation_state: Option<ConversationState>,
    /// When it is to be said, where that is not as soon as it can be.
    pub moment: Option<Timestamp>,
    /// The revision that was judged.
    pub considered: u64,
}

/// How things stand around a conversation: what people ordered, what was done, what was used up.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Circumstances {
    /// It is silenced until then, here or everywhere.
    pub muted_until: Option<Timestamp>,
    /// The mode that people gave the channel, if they have.
    pub ordered_mode: Option<Mode>,
    /// When it spoke in the channel unasked, in whatever thread.
    pub spoke_unasked: Option<Timestamp>,
    /// The last time that it did so in this conversation.
    pub intervention: Option<Intervention>,
    /// So often it has within the last half hour.
    pub interventions_lately: u64,
    /// What it said unasked within the last hour, or is about to: in the channel, and anywhere.
    pub posts_in_hour: u64,
    pub posts_in_hour_anywhere: u64,
    /// How often those who wait for an answer here were answered within the last hour, anywhere.
    pub answers_in_hour: BTreeMap<UserId, u64>,
    /// Within the last hour it has said here that it may not think.
    pub has_said_so: bool,
    /// What models used up for the channel, and for the whole workspace.
    pub spent: Spent,
    pub spent_anywhere: Spent,
    /// How long people of the channel take to answer.
    pub delays: Delays,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Intervention {
    pub at: Timestamp,
    /// The lines before it, oldest first, and what it said then.
    pub lines: Vec<Arc<Message>>,
}

/// Within the last 24 hours and the last 30 days, by whole hours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct Spent {
    pub tokens_in_day: u64,
    /// In millionths of the price table's currency.
    pub micros_in_day: u64,
    pub micros_in_month: u64,
}

/// How much of the past a context holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// The newest lines of the channel, whatever conversation they belong to, and as many of the
    /// target's own.
    pub messages: usize,
    /// Of a thread that is the target, so many of the newest lines.
    pub thread_messages: usize,
    /// Only the target's lines may be older than this.
    pub since: Timestamp,
    /// Only channels with talk since then are known.
    pub active_since: Timestamp,
    /// Only memories of threads with talk since then.
    pub threads_since: Timestamp,
    /// Short-term memories of older talk are no longer of the present.
    pub recent_since: Timestamp,
    /// What is the present.
    pub now: Timestamp,
    /// So many lines before the last intervention are there, whatever their age.
    pub compared: usize,
}

/// Settings of a [`Window`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// `response.channel_messages_limit`.
    pub channel_messages: usize,
    /// `response.active_channel_days`.
    pub active_channels: SignedDuration,
    /// `response.thread_memory_days`.
    pub thread_memories: SignedDuration,
    /// `memory.short_term_window_hours`.
    pub short_term: SignedDuration,
}

/// So many memos of the highest priorities are in a prompt.
pub const IMPORTANT_MEMOS: usize = 20;
/// From this priority on a memo is important.
pub const IMPORTANT: u8 = 4;
/// So many of the newest other memos are in a prompt.
pub const RECENT_MEMOS: usize = 5;
/// The whole of a thread, for all that people have patience for.
const LONGEST_THREAD: usize = 500;

impl Limits {
    /// What is seen at `now` by whoever judges or replies.
    pub fn window(&self, now: Timestamp) -> Window {
        let ago = |span: SignedDuration| now.checked_sub(span).unwrap_or(Timestamp::MIN);
        Window {
            messages: self.channel_messages,
            thread_messages: LONGEST_THREAD.max(self.channel_messages),
            since: Timestamp::MIN,
            active_since: ago(self.active_channels),
            threads_since: ago(self.thread_memories),
            recent_since: ago(self.short_term),
            now,
            compared: 5,
        }
    }
}

impl Default for Limits {
    fn default() -> Self {
        let days = |days: i32| SignedDuration::from_hours(24) * days;
        Self {
            channel_messages: 50,
            active_channels: days(7),
            thread_memories: days(7),
            short_term: days(1),
        }
    }
}

/// A channel that may be known from where the context is for, and what is remembered of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChannelMemory {
    pub channel_id: ChannelId,
    pub channel_name: Arc<str>,
    pub long_term_memory: Option<Arc<str>>,
    pub short_term_memory: Option<Arc<str>>,
}

/// What is remembered of a thread of the channel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThreadMemory {
    pub thread: MessageId,
    pub memory: Arc<str>,
}

/// What became of a line in the thread that it opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InThread {
    /// Nobody else has said anything there.
    Unanswered = 0,
    Answered = 1,
    /// Its author has asked again behind the last answer.
    Reopened = 2,
}

/// A line that is a command and is owed an answer. It is no part of the talk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandLine {
    pub line: MessageId,
    pub by: UserId,
    pub role: Role,
    pub at: Timestamp,
    pub text: Arc<str>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Context {
    /// The target: what is judged, answered or remembered.
    pub conversation: ConversationId,
    /// Who may read the channel.
    pub visibility: Visibility,
    /// Lines that not everybody could read when they were said.
    pub unshared: BTreeSet<MessageId>,
    /// Without deleted lines. Of the target, lines that are owed an answer are among them, however
    /// old, and a thread's parent.
    pub conversation_history: ChannelMessages,
    pub workspace_long_term_memory: Option<Arc<str>>,
    pub workspace_short_term_memory: Option<Arc<str>>,
    /// Active channels that may be known from here, this one included, by name.
    pub channel_memories: Vec<ChannelMemory>,
    /// Of this channel's threads, by the newest line of each, oldest first.
    pub thread_memories: Vec<ThreadMemory>,
    /// Memos of priority 4 and 5 that may be seen from here, what matters most first.
    pub important_memos: Vec<Memo>,
    /// The newest others.
    pub recent_memos: Vec<Memo>,
    /// Old lines that fit the talk, best first, where somebody has looked for them.
    pub recalled: Vec<Recalled>,
    /// The memories and memos that the texts above are of.
    pub memories: Vec<MemoryId>,
    /// The names of everyone who wrote or is mentioned, as far as they are known.
    pub names: BTreeMap<UserId, Arc<str>>,
    /// Lines of the target that the open decision covers.
    pub fresh: BTreeSet<MessageId>,
    pub circumstances: Circumstances,
    /// Lines by people who are still owed an answer, oldest first.
    pub owed: Vec<MessageId>,
    /// Those of them that are commands.
    pub commands: Vec<CommandLine>,
    /// The state that was judged last in this conversation, if the verdict was silence.
    pub silent_state: Option<StateHash>,
    /// Why the judge wants to join in, if it has said so for the open decision.
    pub motive: Option<Motive>,
    /// The revision that the newest human line came with that the open decision covers.
    pub newest_heard: u64,
    /// The store's revision when this was read: whatever is newer has not been seen.
    pub revision: u64,
}

impl Context {
    /// A context that knows nothing but its talk.
    pub fn of(conversation: ConversationId, conversation_history: ChannelMessages) -> Self {
        Self {
            conversation,
            visibility: Visibility::Private,
            unshared: BTreeSet::new(),
            conversation_history,
            workspace_long_term_memory: None,
            workspace_short_term_memory: None,
            channel_memories: Vec::new(),
            thread_memories: Vec::new(),
            important_memos: Vec::new(),
            recent_memos: Vec::new(),
            recalled: Vec::new(),
            memories: Vec::new(),
            names: BTreeMap::new(),
            fresh: BTreeSet::new(),
            circumstances: Circumstances::default(),
            owed: Vec::new(),
            commands: Vec::new(),
            silent_state: None,
            motive: None,
            newest_heard: 0,
            revision: 0,
        }
    }

    /// The lines of the target, oldest first; a thread begins with its parent.
    pub fn target(&self) -> &[Arc<Message>] {
        match &self.conversation.thread {
            Some(thread) => self.conversation_history.thread(thread),
            None => &self.conversation_history.top_level_messages,
        }
    }

    /// Hashes ids and edit versions of the target's lines, the persona's own included, and at the top
    /// level how they were answered in a thread; not time.
    pub fn state(&self) -> StateHash {
        let mut hash = Sha256::new();
        for message in self.target() {
            hash.update(message.id.as_str());
            hash.update([self.answer_in_thread(message) as u8]);
            hash.update(message.edits.to_le_bytes());
        }
        let digest: [u8; 32] = hash.finalize().into();
        let mut first = [0; 8];
        first.copy_from_slice(&digest[..8]);
        StateHash(i64::from_le_bytes(first))
    }

    /// What the thread that this line of the top level opened has come to.
    pub fn answer_in_thread(&self, parent: &Message) -> InThread {
        if self.conversation.thread.is_some() {
            return InThread::Unanswered;
        }
        let thread = self.conversation_history.thread(&parent.id);
        let is_other = |line: &&Arc<Message>| {
            line.author != parent.author && line.author.kind != AuthorKind::Bot
        };
        let Some(answer) = thread.iter().rposition(|line| is_other(&line)) else {
            return InThread::Unanswered;
        };
        let asks_again = |line: &Arc<Message>| line.text.trim_end().ends_with(['?', '？']);
        if thread[answer + 1..].iter().any(asks_again) {
            InThread::Reopened
        } else {
            InThread::Answered
        }
    }

    /// Nobody else has taken up a line of the target: not in its thread, and not by naming its author.
    pub fn is_open(&self, id: &MessageId) -> bool {
        let target = self.target();
        let Some(place) = target.iter().position(|line| line.id == *id) else { return false };
        let line = &target[place];
        let takes_up = |other: &Arc<Message>| {
            other.is_human()
                && other.author.id != line.author.id
                && self.names(other, &line.author.id)
        };
        self.answer_in_thread(line) != InThread::Answered
            && !target[place + 1..].iter().any(takes_up)
    }

    /// A line mentions somebody, or begins with the name, as people write where nothing notifies.
    fn names(&self, line: &Message, user: &UserId) -> bool {
        let is_mentioned = || line.named().skip(1).any(|named| named == user);
        is_mentioned() || starts_with_name(&line.text, self.name(user))
    }

    /// Somebody else has the last word in the thread that this line of the top level opened, but for
    /// its author, who asks nothing any more.
    pub fn is_answered_in_thread(&self, parent: &Message) -> bool {
        self.answer_in_thread(parent) == InThread::Answered
    }

    /// What words are made from that are made from this.
    pub fn lineage(&self) -> Lineage {
        let line = |line: &Arc<Message>| LineId(line.conversation.channel.clone(), line.id.clone());
        Lineage { lines: self.lines().map(line).collect(), memories: self.memories.clone() }
    }

    /// Whether a line is in its talk.
    pub fn holds(&self, line: &Message) -> bool {
        let is_here = line.conversation.channel == self.conversation.channel;
        is_here && self.conversation_history.each().any(|other| other.id == line.id)
    }

    /// Every line of it once.
    pub fn lines(&self) -> impl Iterator<Item = &Arc<Message>> {
        let recalled = self.recalled.iter().map(|recalled| &recalled.message);
        let intervention = self.circumstances.intervention.iter();
        let earlier = intervention.flat_map(|intervention| &intervention.lines);
        let earlier = earlier.filter(|line| !self.holds(line));
        self.conversation_history.each().chain(recalled).chain(earlier)
    }

    /// The same with so many of the target's newest lines.
    pub fn with_newest(mut self, most: usize) -> Self {
        let history = &mut self.conversation_history;
        let lines = match &self.conversation.thread {
            Some(thread) => {
                let mut threads = history.thread_messages.iter_mut();
                threads.find(|other| other.id == *thread).map(|thread| &mut thread.messages)
            }
            None => Some(&mut history.top_level_messages),
        };
        if let Some(lines) = lines {
            // A thread is nothing without its parent.
            let parent = lines
                .first()
                .is_some_and(|line| Some(&line.id) == self.conversation.thread.as_ref());
            let first = usize::from(parent);
            lines.drain(first..lines.len().saturating_sub(most).max(first));
        }
        self
    }

    pub fn newest_human(&self) -> Option<&Arc<Message>> {
        self.target().iter().rev().find(|message| message.author.kind == AuthorKind::Human)
    }

    /// A line of the target.
    pub fn message(&self, id: &MessageId) -> Option<&Arc<Message>> {
        self.target().iter().find(|message| message.id == *id)
    }

    /// The name people see, or the id where none is known.
    pub fn name<'a>(&'a self, user: &'a UserId) -> &'a str {
        self.names.get(user).map_or(user.as_str(), |name| name)
    }
}

impl fmt::Display for StateHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}
