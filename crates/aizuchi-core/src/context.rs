//! What a prompt is made from (seed 003): the talk of a channel with one conversation of it as the
//! target, what is remembered and may be known there, and who is in it. Built in one go, for judging,
//! replying and remembering alike.

pub mod channel_messages;
pub mod state;
pub mod phrases;
pub mod name_index;
pub mod conversation_analysis;

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
use crate::memory::{Lineage, MemoryId, MessageRef};
use crate::recall::RecalledMessage;
use crate::rhythm::reply_delays::ReplyDelays;
use crate::rules::Mode;

/// Stands for "what there is to judge": two equal hashes need only one verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StateHash(pub i64);

/// What the judge's verdict leaves for the reply.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Intent {
    pub reason: String,
    /// The line that would be answered.
    pub about: Option<MessageId>,
    /// What state the conversation was in.
    pub conversation_state: Option<ConversationState>,
    /// When it is to be said, where that is not as soon as it can be.
    pub post_at: Option<Timestamp>,
    /// The revision that was judged.
    pub seen_revision: u64,
}

/// How things stand around a conversation: what people ordered, what was done, what was used up.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ChannelStatus {
    /// It is silenced until then, here or everywhere.
    pub muted_until: Option<Timestamp>,
    /// The mode that people gave the channel, if they have.
    pub ordered_mode: Option<Mode>,
    /// When it spoke in the channel unasked, in whatever thread.
    pub last_unsolicited_post: Option<Timestamp>,
    /// The last time that it did so in this conversation.
    pub last_intervention: Option<Intervention>,
    /// So often it has within the last half hour.
    pub recent_interventions: u64,
    /// What it said unasked within the last hour, or is about to: in the channel, and anywhere.
    pub posts_in_hour: u64,
    pub workspace_posts_in_hour: u64,
    /// How often those who wait for an answer here were answered within the last hour, anywhere.
    pub answers_in_hour: BTreeMap<UserId, u64>,
    /// Within the last hour it has said here that it may not think.
    pub has_announced_over_budget: bool,
    /// What models used up for the channel, and for the whole workspace.
    pub channel_usage: BudgetUsage,
    pub workspace_usage: BudgetUsage,
    /// How long people of the channel take to answer.
    pub reply_delays: ReplyDelays,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Intervention {
    pub at: Timestamp,
    /// The lines before it, oldest first, and what it said then.
    pub messages_before: Vec<Arc<Message>>,
}

/// Within the last 24 hours and the last 30 days, by whole hours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct BudgetUsage {
    pub tokens_in_day: u64,
    /// In millionths of the price table's currency.
    pub micros_in_day: u64,
    pub micros_in_month: u64,
}

/// How much of the past a context holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ContextWindow {
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
    pub intervention_messages: usize,
}

/// Settings of a [`Window`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ContextLimits {
    /// `response.channel_messages_limit`.
    pub channel_messages: usize,
    /// `response.active_channel_days`.
    pub active_channel_age: SignedDuration,
    /// `response.thread_memory_days`.
    pub thread_memory_age: SignedDuration,
    /// `memory.short_term_window_hours`.
    pub short_term_age: SignedDuration,
}

/// So many memos of the highest priorities are in a prompt.
pub const MAX_IMPORTANT_MEMOS: usize = 20;
/// From this priority on a memo is important.
pub const IMPORTANT_PRIORITY: u8 = 4;
/// So many of the newest other memos are in a prompt.
pub const MAX_RECENT_MEMOS: usize = 5;
/// The whole of a thread, for all that people have patience for.
const MAX_THREAD_MESSAGES: usize = 500;

impl ContextLimits {
    /// What is seen at `now` by whoever judges or replies.
    pub fn window(&self, now: Timestamp) -> ContextWindow {
        let ago = |span: SignedDuration| now.checked_sub(span).unwrap_or(Timestamp::MIN);
        ContextWindow {
            messages: self.channel_messages,
            thread_messages: MAX_THREAD_MESSAGES.max(self.channel_messages),
            since: Timestamp::MIN,
            active_since: ago(self.active_channel_age),
            threads_since: ago(self.thread_memory_age),
            recent_since: ago(self.short_term_age),
            now,
            intervention_messages: 5,
        }
    }
}

impl Default for ContextLimits {
    fn default() -> Self {
        let days = |days: i32| SignedDuration::from_hours(24) * days;
        Self {
            channel_messages: 50,
            active_channel_age: days(7),
            thread_memory_age: days(7),
            short_term_age: days(1),
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
pub enum ThreadStatus {
    /// Nobody else has said anything there.
    Unanswered = 0,
    Answered = 1,
    /// Its author has asked again behind the last answer.
    Reopened = 2,
}

/// A line that is a command and is owed an answer. It is no part of the talk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PendingCommand {
    pub message: MessageId,
    pub user: UserId,
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
    pub restricted_messages: BTreeSet<MessageId>,
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
    pub recalled_messages: Vec<RecalledMessage>,
    /// The memories and memos that the texts above are of.
    pub memory_ids: Vec<MemoryId>,
    /// The names of everyone who wrote or is mentioned, as far as they are known.
    pub names: BTreeMap<UserId, Arc<str>>,
    /// Lines of the target that the open decision covers.
    pub new_messages: BTreeSet<MessageId>,
    pub channel_status: ChannelStatus,
    /// Lines by people who are still owed an answer, oldest first.
    pub owed: Vec<MessageId>,
    /// Those of them that are commands.
    pub pending_commands: Vec<PendingCommand>,
    /// The state that was judged last in this conversation, if the verdict was silence.
    pub last_silent_state: Option<StateHash>,
    /// Why the judge wants to join in, if it has said so for the open decision.
    pub intent: Option<Intent>,
    /// The revision that the newest human line came with that the open decision covers.
    pub newest_message_revision: u64,
    /// The store's revision when this was read: whatever is newer has not been seen.
    pub revision: u64,
}

impl Context {
    /// A context that knows nothing but its talk.
    pub fn new(conversation: ConversationId, conversation_history: ChannelMessages) -> Self {
        Self {
            conversation,
            visibility: Visibility::Private,
            restricted_messages: BTreeSet::new(),
            conversation_history,
            workspace_long_term_memory: None,
            workspace_short_term_memory: None,
            channel_memories: Vec::new(),
            thread_memories: Vec::new(),
            important_memos: Vec::new(),
            recent_memos: Vec::new(),
            recalled_messages: Vec::new(),
            memory_ids: Vec::new(),
            names: BTreeMap::new(),
            new_messages: BTreeSet::new(),
            channel_status: ChannelStatus::default(),
            owed: Vec::new(),
            pending_commands: Vec::new(),
            last_silent_state: None,
            intent: None,
            newest_message_revision: 0,
            revision: 0,
        }
    }

    /// The lines of the target, oldest first; a thread begins with its parent.
    pub fn target_messages(&self) -> &[Arc<Message>] {
        match &self.conversation.thread {
            Some(thread) => self.conversation_history.thread(thread),
            None => &self.conversation_history.top_level_messages,
        }
    }

    /// Hashes ids and edit versions of the target's lines, the persona's own included, and at the top
    /// level how they were answered in a thread; not time.
    pub fn state_hash(&self) -> StateHash {
        let mut hash = Sha256::new();
        for message in self.target_messages() {
            hash.update(message.id.as_str());
            hash.update([self.thread_status(message) as u8]);
            hash.update(message.edits.to_le_bytes());
        }
        let digest: [u8; 32] = hash.finalize().into();
        let mut first = [0; 8];
        first.copy_from_slice(&digest[..8]);
        StateHash(i64::from_le_bytes(first))
    }

    /// What the thread that this line of the top level opened has come to.
    pub fn thread_status(&self, parent: &Message) -> ThreadStatus {
        if self.conversation.thread.is_some() {
            return ThreadStatus::Unanswered;
        }
        let thread = self.conversation_history.thread(&parent.id);
        let is_other = |line: &&Arc<Message>| {
            line.author != parent.author && line.author.kind != AuthorKind::Bot
        };
        let Some(answer) = thread.iter().rposition(|line| is_other(&line)) else {
            return ThreadStatus::Unanswered;
        };
        let asks_again = |line: &Arc<Message>| line.text.trim_end().ends_with(['?', '？']);
        if thread[answer + 1..].iter().any(asks_again) {
            ThreadStatus::Reopened
        } else {
            ThreadStatus::Answered
        }
    }

    /// Nobody else has taken up a line of the target: not in its thread, and not by naming its author.
    pub fn is_open(&self, id: &MessageId) -> bool {
        let target = self.target_messages();
        let Some(place) = target.iter().position(|line| line.id == *id) else { return false };
        let line = &target[place];
        let takes_up = |other: &Arc<Message>| {
            other.is_human()
                && other.author.id != line.author.id
                && self.is_calling(other, &line.author.id)
        };
        self.thread_status(line) != ThreadStatus::Answered
            && !target[place + 1..].iter().any(takes_up)
    }

    /// A line mentions somebody, or begins with the name, as people write where nothing notifies.
    fn is_calling(&self, line: &Message, user: &UserId) -> bool {
        let is_mentioned = || line.referenced_users().skip(1).any(|named| named == user);
        is_mentioned() || starts_with_name(&line.text, self.display_name(user))
    }

    /// Somebody else has the last word in the thread that this line of the top level opened, but for
    /// its author, who asks nothing any more.
    pub fn is_answered_in_thread(&self, parent: &Message) -> bool {
        self.thread_status(parent) == ThreadStatus::Answered
    }

    /// What words are made from that are made from this.
    pub fn lineage(&self) -> Lineage {
        let line =
            |line: &Arc<Message>| MessageRef(line.conversation.channel.clone(), line.id.clone());
        Lineage { messages: self.messages().map(line).collect(), memories: self.memory_ids.clone() }
    }

    /// Whether a line is in its talk.
    pub fn has_message(&self, line: &Message) -> bool {
        let is_here = line.conversation.channel == self.conversation.channel;
        is_here && self.conversation_history.iter().any(|other| other.id == line.id)
    }

    /// Every line of it once.
    pub fn messages(&self) -> impl Iterator<Item = &Arc<Message>> {
        let recalled = self.recalled_messages.iter().map(|recalled| &recalled.message);
        let intervention = self.channel_status.last_intervention.iter();
        let earlier = intervention.flat_map(|intervention| &intervention.messages_before);
        let earlier = earlier.filter(|line| !self.has_message(line));
        self.conversation_history.iter().chain(recalled).chain(earlier)
    }

    /// The same with so many of the target's newest lines.
    pub fn with_newest_messages(mut self, most: usize) -> Self {
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

    pub fn newest_human_message(&self) -> Option<&Arc<Message>> {
        self.target_messages().iter().rev().find(|message| message.author.kind == AuthorKind::Human)
    }

    /// A line of the target.
    pub fn target_message(&self, id: &MessageId) -> Option<&Arc<Message>> {
        self.target_messages().iter().find(|message| message.id == *id)
    }

    /// The name people see, or the id where none is known.
    pub fn display_name<'a>(&'a self, user: &'a UserId) -> &'a str {
        self.names.get(user).map_or(user.as_str(), |name| name)
    }
}

impl fmt::Display for StateHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}
