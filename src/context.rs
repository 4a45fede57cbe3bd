//! What a prompt is made from (seed 003): the talk of a channel with one conversation of it as the
//! target, what is remembered and may be known there, and who is in it. Built in one go, for judging,
//! replying and remembering alike.

pub mod channel_messages;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use serde::Deserialize;
use sha2::{Digest, Sha256};

use crate::chat::{AuthorKind, ChannelId, ConversationId, Message, MessageId, UserId, Visibility};
use crate::context::channel_messages::ChannelMessages;
use crate::memo::Memo;
use crate::memory::{LineId, Lineage, MemoryId};
use crate::recall::Recalled;

/// Stands for "what there is to judge": two equal hashes need only one verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StateHash(pub i64);

/// What the judge's verdict leaves for the reply.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Motive {
    pub reason: String,
    /// The line that would be answered.
    pub about: Option<MessageId>,
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
    /// Lines by people who are still owed an answer, oldest first.
    pub owed: Vec<MessageId>,
    /// The state that was judged last in this conversation, if the verdict was silence.
    pub silent_state: Option<StateHash>,
    /// Why the judge wants to join in, if it has said so for the open decision.
    pub motive: Option<Motive>,
    /// The revision that the target's newest human line came with.
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
            owed: Vec::new(),
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
    /// level whether they were answered in a thread; not time.
    pub fn state(&self) -> StateHash {
        let mut hash = Sha256::new();
        for message in self.target() {
            hash.update(message.id.as_str());
            hash.update([u8::from(self.is_answered_in_thread(message))]);
            hash.update(message.edits.to_le_bytes());
        }
        let digest: [u8; 32] = hash.finalize().into();
        let mut first = [0; 8];
        first.copy_from_slice(&digest[..8]);
        StateHash(i64::from_le_bytes(first))
    }

    /// Somebody else has said something in the thread that this line of the top level opened.
    pub fn is_answered_in_thread(&self, parent: &Message) -> bool {
        let is_top_level = self.conversation.thread.is_none();
        let thread = self.conversation_history.thread(&parent.id);
        is_top_level && thread.iter().any(|line| line.author != parent.author)
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
        self.conversation_history.each().chain(recalled)
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
