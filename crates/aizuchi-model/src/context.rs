//! The context that prompts are made from: the messages of a channel with one of its conversations as the target, the
//! memories that may be known there, and the users in it. Judging, replying and remembering share it.

pub mod channel_messages;
pub mod message_window;
pub mod links;
pub mod readings;
pub mod state;
pub mod seen_revision;
pub mod message_structure;
pub mod conversation_analysis;
pub mod quarrel;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use serde::Deserialize;
use sha2::{Digest, Sha256};

use crate::chat::attachment::ReadAttachment;
use crate::chat::owed::Owed;
use crate::chat::{
    AuthorKind, ChannelId, ConversationId, Mention, Message, MessageId, Role, UserId, Visibility,
};
use crate::context::channel_messages::ChannelMessages;
use crate::context::links::{LinkSource, MessageLinks};
use crate::context::message_structure::SharedStructure;
use crate::context::message_window::MessageWindow;
use crate::context::seen_revision::SeenRevision;
use crate::context::state::ConversationState;
use crate::memo::Memo;
use crate::memory::{Lineage, MemoryId, MessageRef};
use crate::recall::RecalledMessage;
use crate::rules::Mode;
use crate::standing_order::StandingOrder;

/// Identifies a state to judge: equal hashes need only one verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StateHash(pub i64);

/// What the judge's verdict passes on to the reply.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Intent {
    pub reason: String,
    /// The message to answer.
    pub about: Option<MessageId>,
    /// The state of the conversation when it was judged.
    pub conversation_state: Option<ConversationState>,
    /// When to post it; `None` means as soon as possible.
    pub post_at: Option<Timestamp>,
    /// The revision that was judged.
    pub seen_revision: SeenRevision,
    /// What made it look, if that is no new message.
    pub occasion: Option<Occasion>,
}

named_enum! {
    /// Why the persona looks at a conversation in which nobody has written anything new.
    pub enum Occasion {
        /// Nobody has answered the message that it is about.
        Unanswered,
        /// It may begin a conversation.
        FirstWord,
    }
}

/// The circumstances of a conversation: orders in force, recent posts, and spending.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Circumstances {
    /// When the persona's mute ends, in this channel or everywhere.
    pub muted_until: Option<Timestamp>,
    /// The mode that a user ordered for the channel, if any.
    pub ordered_mode: Option<Mode>,
    /// When the persona last made an unsolicited post in the channel, in any thread.
    pub last_unsolicited_post: Option<Timestamp>,
    /// The current texts of its unsolicited posts in the channel within the last 24 hours, in any thread, in the order
    /// of the texts. Deleted and forgotten posts are left out.
    pub said_unasked: Vec<Arc<str>>,
    /// The latest unsolicited post in this conversation.
    pub last_intervention: Option<Intervention>,
    /// The number of its unsolicited posts here within the last half hour.
    pub recent_interventions: u64,
    /// The number of unsolicited posts within the last hour, and of those in progress in other conversations that come
    /// first: drafts before replies, older ones before newer ones. In the channel, and in the workspace.
    pub posts_in_hour: u64,
    pub workspace_posts_in_hour: u64,
    /// For each user who is owed an answer here, how often they were answered within the last hour, in the whole
    /// workspace, plus the number of their questions in other conversations that come first.
    pub answers_in_hour: BTreeMap<UserId, u64>,
    /// Whether it has announced here within the last hour that its budget is used up.
    pub has_announced_over_budget: bool,
    /// What models have spent for the channel, and for the whole workspace.
    pub channel_usage: BudgetUsage,
    pub workspace_usage: BudgetUsage,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Intervention {
    pub at: Timestamp,
    /// The state of the conversation when it was judged, if the judge named it.
    pub state: Option<ConversationState>,
    /// The messages before it, oldest first, and the post itself.
    pub messages_before: Vec<Arc<Message>>,
}

/// Spending within the last 24 hours and the last 30 days, by whole hours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct BudgetUsage {
    pub tokens_in_day: u64,
    /// The part of them that no user waited for: for judgments, unsolicited replies and memories.
    pub unsolicited_tokens_in_day: u64,
    /// In millionths of the price table's currency.
    pub micros_in_day: u64,
    pub micros_in_month: u64,
}

impl BudgetUsage {
    /// Returns the usage of one call.
    pub fn from_call(tokens: u64, micros: u64, is_unsolicited: bool) -> Self {
        Self {
            tokens_in_day: tokens,
            unsolicited_tokens_in_day: if is_unsolicited { tokens } else { 0 },
            micros_in_day: micros,
            micros_in_month: micros,
        }
    }

    pub fn plus(&self, other: &Self) -> Self {
        Self {
            tokens_in_day: self.tokens_in_day + other.tokens_in_day,
            unsolicited_tokens_in_day: self.unsolicited_tokens_in_day
                + other.unsolicited_tokens_in_day,
            micros_in_day: self.micros_in_day + other.micros_in_day,
            micros_in_month: self.micros_in_month + other.micros_in_month,
        }
    }
}

/// How much of the past a context contains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ContextWindow {
    /// The channel's newest messages, across all conversations, and the target's own.
    pub messages: MessageWindow,
    /// The target's own messages, if it is a thread.
    pub thread_messages: MessageWindow,
    /// Only the target's messages may be older than this.
    pub since: Timestamp,
    /// Only channels with messages since then are included.
    pub active_since: Timestamp,
    /// Only memories of threads with messages since then are included.
    pub threads_since: Timestamp,
    /// Short-term memories of older messages are left out as outdated.
    pub recent_since: Timestamp,
    /// The current time.
    pub now: Timestamp,
    /// This many messages before the last intervention are included, whatever their age.
    pub intervention_messages: usize,
}

/// Settings of a [`ContextWindow`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ContextLimits {
    /// `response.channel_messages_limit`: the minimum number of messages in a prompt.
    pub channel_messages: usize,
    /// `response.channel_messages_step`: how many of them drop out at once. `None` means half as many, plus one.
    pub channel_messages_step: Option<usize>,
    /// `response.active_channel_days`.
    pub active_channel_age: SignedDuration,
    /// `response.thread_memory_days`.
    pub thread_memory_age: SignedDuration,
    /// `memory.short_term_window_hours`.
    pub short_term_age: SignedDuration,
}

/// The maximum number of memos of high priority in a prompt.
pub const MAX_IMPORTANT_MEMOS: usize = 20;
/// The priority from which a memo is important.
pub const IMPORTANT_PRIORITY: u8 = 4;
/// The maximum number of the newest other memos in a prompt.
pub const MAX_RECENT_MEMOS: usize = 5;
/// Long enough for whole threads, except for extremely long ones.
const MIN_THREAD_MESSAGES: usize = 500;

impl ContextLimits {
    /// Returns the window of a judge or reply at `now`.
    pub fn window(&self, now: Timestamp) -> ContextWindow {
        let ago = |span: SignedDuration| now.checked_sub(span).unwrap_or(Timestamp::MIN);
        ContextWindow {
            messages: match self.channel_messages_step {
                Some(step) => MessageWindow::with_step(self.channel_messages, step),
                None => MessageWindow::stepped(self.channel_messages),
            },
            thread_messages: MessageWindow::stepped(MIN_THREAD_MESSAGES.max(self.channel_messages)),
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
            channel_messages_step: None,
            active_channel_age: days(7),
            thread_memory_age: days(7),
            short_term_age: days(1),
        }
    }
}

/// A channel that may be known from the target, and its memories.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChannelMemory {
    pub channel_id: ChannelId,
    pub channel_name: Arc<str>,
    pub long_term_memory: Option<Arc<str>>,
    pub short_term_memory: Option<Arc<str>>,
}

/// The memory of a thread of the channel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThreadMemory {
    pub thread: MessageId,
    pub memory: Arc<str>,
}

/// The state of the thread under a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ThreadStatus {
    /// No other user has replied there, except with a question.
    Unanswered = 0,
    Answered = 1,
    /// The author asked again after the last answer.
    Reopened = 2,
}

/// A message that is a command and is owed an answer, or the persona's own join. It is not part of the conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PendingCommand {
    pub owed: Owed,
    pub user: UserId,
    pub role: Role,
    pub at: Timestamp,
    pub text: Arc<str>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Context {
    /// The target, which is judged, answered or remembered.
    pub conversation: ConversationId,
    /// Who may read the channel.
    pub visibility: Visibility,
    /// What its members say the channel is for; empty if they say nothing.
    pub channel_topic: Arc<str>,
    /// Messages that were not public when they were written.
    pub restricted_messages: BTreeSet<MessageId>,
    /// The messages, without deleted ones. In the target they include messages that are owed an answer, whatever their
    /// age, and a thread's parent.
    pub conversation_history: ChannelMessages,
    /// The orders that apply here, in the order of their numbers.
    pub standing_orders: Vec<StandingOrder>,
    pub workspace_long_term_memory: Option<Arc<str>>,
    pub workspace_short_term_memory: Option<Arc<str>>,
    /// Active channels that may be known from here, including this one, by name.
    pub channel_memories: Vec<ChannelMemory>,
    /// Memories of this channel's threads, ordered by the newest message of each, oldest first.
    pub thread_memories: Vec<ThreadMemory>,
    /// Memos of priority 4 and 5 that are visible from here, highest priority first.
    pub important_memos: Vec<Memo>,
    /// The newest other memos.
    pub recent_memos: Vec<Memo>,
    /// Messages outside the history that the newest ones of the target reply to, according to the platform, or link to.
    /// Set by the agent.
    pub replied_to: Vec<Arc<Message>>,
    /// What messages of the target that reply to nothing link to. Set by the agent.
    pub linked: BTreeMap<MessageId, MessageRef>,
    /// Search results for the current messages, best first, if a search was made.
    pub recalled_messages: Vec<RecalledMessage>,
    /// The memories and memos behind the texts above.
    pub memory_ids: Vec<MemoryId>,
    /// The known names of everyone who wrote or is mentioned.
    pub names: BTreeMap<UserId, Arc<str>>,
    /// What messages of the target reply to, as determined when they were heard. Missing links are determined again
    /// from the messages here.
    pub links: BTreeMap<MessageId, Arc<MessageLinks>>,
    /// Messages that no decision covers, since they were only backfilled or start nothing.
    pub undecided: BTreeSet<MessageId>,
    /// Messages of the target that the open decision covers.
    pub new_messages: BTreeSet<MessageId>,
    /// The revision at which each human message of the target was heard.
    pub heard: BTreeMap<MessageId, u64>,
    pub circumstances: Circumstances,
    /// The other bots that speak unasked in the channel, like the persona. Set by the agent.
    pub companions: BTreeSet<UserId>,
    /// What is still owed an answer, oldest first.
    pub owed: Vec<Owed>,
    /// The owed messages that are commands, and the persona's own join.
    pub pending_commands: Vec<PendingCommand>,
    /// The state of this conversation at its last judgment, if the verdict was silence.
    pub last_silent_state: Option<StateHash>,
    /// When the decision with the last verdict here was closed.
    pub last_judged: Option<Timestamp>,
    /// Why the judge wants to join in, if it has said so for the open decision.
    pub intent: Option<Intent>,
    /// The structure of the target, shared by gates, prompts and judges.
    pub talk: SharedStructure,
    /// The revision of the newest human message that the open decision covers, or that a backfill has added since.
    pub newest_message_revision: u64,
    /// The store's revision when this was read. Anything newer was not seen.
    pub revision: u64,
}

impl Context {
    /// Returns a context with only messages.
    pub fn new(conversation: ConversationId, conversation_history: ChannelMessages) -> Self {
        Self {
            conversation,
            visibility: Visibility::Private,
            channel_topic: "".into(),
            restricted_messages: BTreeSet::new(),
            conversation_history,
            standing_orders: Vec::new(),
            workspace_long_term_memory: None,
            workspace_short_term_memory: None,
            channel_memories: Vec::new(),
            thread_memories: Vec::new(),
            important_memos: Vec::new(),
            recent_memos: Vec::new(),
            replied_to: Vec::new(),
            linked: BTreeMap::new(),
            recalled_messages: Vec::new(),
            memory_ids: Vec::new(),
            names: BTreeMap::new(),
            links: BTreeMap::new(),
            undecided: BTreeSet::new(),
            new_messages: BTreeSet::new(),
            heard: BTreeMap::new(),
            circumstances: Circumstances::default(),
            companions: BTreeSet::new(),
            owed: Vec::new(),
            pending_commands: Vec::new(),
            last_silent_state: None,
            last_judged: None,
            intent: None,
            talk: SharedStructure::default(),
            newest_message_revision: 0,
            revision: 0,
        }
    }

    /// Returns the messages of the target, oldest first; a thread begins with its parent.
    pub fn target_messages(&self) -> &[Arc<Message>] {
        match &self.conversation.thread {
            Some(thread) => self.conversation_history.thread(thread),
            None => &self.conversation_history.top_level_messages,
        }
    }

    /// Hashes the ids and edit versions of the target's messages, the persona's own included, and at the top
    /// level the status of their threads. Time is left out.
    pub fn state_hash(&self) -> StateHash {
        // A judgment takes several of these hashes. Hashing one long text is faster than hashing many short ones.
        let mut state = Vec::new();
        for message in self.target_messages() {
            state.extend_from_slice(message.id.as_str().as_bytes());
            state.push(self.thread_status(message) as u8);
            state.extend_from_slice(&message.edits.to_le_bytes());
        }
        let digest: [u8; 32] = Sha256::digest(&state).into();
        let mut first = [0; 8];
        first.copy_from_slice(&digest[..8]);
        StateHash(i64::from_le_bytes(first))
    }

    /// Returns the status of the thread under this message, if it is another conversation than the target.
    pub fn thread_status(&self, parent: &Message) -> ThreadStatus {
        match &self.conversation.thread {
            Some(_) => ThreadStatus::Unanswered,
            None => self.replies_status(parent),
        }
    }

    /// Whether the target is the thread under this message, and another user has not answered it yet.
    pub fn opens_unanswered_thread(&self, parent: &Message) -> bool {
        self.conversation.thread.as_ref() == Some(&parent.id)
            && !parent.is_addressed()
            && self.replies_status(parent) != ThreadStatus::Answered
    }

    fn replies_status(&self, parent: &Message) -> ThreadStatus {
        let thread = self.conversation_history.thread(&parent.id);
        let asks = |message: &Arc<Message>| message.text.trim_end().ends_with(['?', '？']);
        let answers = |message: &Arc<Message>| {
            let author = &message.author;
            *author != parent.author && author.kind != AuthorKind::Bot && !asks(message)
        };
        let Some(answer) = thread.iter().rposition(answers) else {
            return ThreadStatus::Unanswered;
        };
        if thread[answer + 1..].iter().any(asks) {
            ThreadStatus::Reopened
        } else {
            ThreadStatus::Answered
        }
    }

    /// Whether another user answered this top-level message in its thread, and its author has asked nothing
    /// since.
    pub fn is_answered_in_thread(&self, parent: &Message) -> bool {
        self.thread_status(parent) == ThreadStatus::Answered
    }

    /// Whether users continue this top-level message in its thread, which is a separate conversation and is judged.
    pub fn is_left_to_thread(&self, parent: &Message) -> bool {
        let thread = self.conversation_history.thread(&parent.id);
        let is_decided = |message: &Arc<Message>| {
            message.is_human() && message.id != parent.id && !self.undecided.contains(&message.id)
        };
        self.conversation.thread.is_none() && thread.iter().any(is_decided)
    }

    /// Returns the visibility of a channel that is known here: only public things are known of other channels.
    pub fn visibility_of(&self, channel: &ChannelId) -> Visibility {
        match *channel == self.conversation.channel {
            true => self.visibility,
            false => Visibility::Public,
        }
    }

    /// Removes all memories. The channels stay known by name.
    pub fn leave_out_memories(&mut self) {
        self.workspace_long_term_memory = None;
        self.workspace_short_term_memory = None;
        for channel in &mut self.channel_memories {
            (channel.long_term_memory, channel.short_term_memory) = (None, None);
        }
        self.thread_memories.clear();
        self.important_memos.clear();
        self.recent_memos.clear();
        self.memory_ids.clear();
    }

    /// Removes the messages that were edited at least `edits` times. Their authors go on waiting for an answer, unless
    /// nobody else waits for one.
    pub fn leave_out_edited(&mut self, edits: u32) {
        let is_edited = |message: &Arc<Message>| message.edits >= edits;
        let is_edited_owed = |owed: &Owed| {
            owed.message().and_then(|id| self.target_message(id)).is_some_and(is_edited)
        };
        let (edited, others): (Vec<Owed>, Vec<Owed>) =
            self.owed.iter().cloned().partition(is_edited_owed);
        self.owed = if others.is_empty() { edited } else { others };
        let owed = &self.owed;
        let is_kept = |it: &Arc<Message>| !is_edited(it) || owed.iter().any(|owed| *owed == it.id);
        self.conversation_history.top_level_messages.retain(is_kept);
        for thread in &mut self.conversation_history.thread_messages {
            thread.messages.retain(is_kept);
        }
        self.replied_to.retain(is_kept);
        self.recalled_messages.retain(|recalled| is_kept(&recalled.message));
        if let Some(intervention) = &mut self.circumstances.last_intervention {
            intervention.messages_before.retain(is_kept);
        }
    }

    /// Returns the lineage of a text that is made from this context.
    pub fn lineage(&self) -> Lineage {
        let to_ref = |message: &Arc<Message>| {
            MessageRef(message.conversation.channel.clone(), message.id.clone())
        };
        let messages = self.messages().map(to_ref).collect();
        let orders = self.standing_orders.iter().map(|order| (order.number, order.version));
        Lineage { messages, memories: self.memory_ids.clone(), orders: orders.collect() }
    }

    /// Whether a message is part of the channel's history here.
    pub fn has_message(&self, message: &Message) -> bool {
        let is_here = message.conversation.channel == self.conversation.channel;
        is_here && self.conversation_history.iter().any(|other| other.id == message.id)
    }

    /// Returns every message in the context once.
    pub fn messages(&self) -> impl Iterator<Item = &Arc<Message>> {
        let recalled = self.recalled_messages.iter().map(|recalled| &recalled.message);
        let intervention = self.circumstances.last_intervention.iter();
        let earlier = intervention.flat_map(|intervention| &intervention.messages_before);
        let earlier = earlier.filter(|message| !self.has_message(message));
        let is_new =
            |message: &&Arc<Message>| self.replied_to.iter().all(|other| other.id != message.id);
        let others = recalled.chain(earlier).filter(is_new);
        self.conversation_history.iter().chain(&self.replied_to).chain(others)
    }

    /// Returns the message that another user's of the target replies to, according to the platform.
    pub fn parent_given(&self, message: &Message) -> Option<&MessageId> {
        let links = self.links.get(&message.id).filter(|it| it.source == LinkSource::Platform)?;
        if message.author.kind == AuthorKind::Persona {
            return None;
        }
        links.parents.keys().next().filter(|_| links.parents.len() == 1)
    }

    /// Returns the message that is shown beside one of the target: what it replies to, or else links to.
    pub fn parent_shown(&self, message: &Message) -> Option<MessageRef> {
        let given = self.parent_given(message).cloned();
        let given = given.map(|id| MessageRef(self.conversation.channel.clone(), id));
        given.or_else(|| self.linked.get(&message.id).cloned())
    }

    /// Adds the content that was read from a file to its message, wherever the message occurs.
    pub fn add_read(&mut self, file: &ReadAttachment) {
        let history = &mut self.conversation_history;
        let threads = history.thread_messages.iter_mut().flat_map(|thread| &mut thread.messages);
        let messages = history.top_level_messages.iter_mut().chain(threads);
        for message in messages.filter(|message| message.id == file.message) {
            file.add_to(&mut Arc::make_mut(message).attachments);
        }
    }

    /// Returns the context with only the `most` newest messages of the target.
    pub fn with_newest_messages(mut self, most: usize) -> Self {
        let history = &mut self.conversation_history;
        let messages = match &self.conversation.thread {
            Some(thread) => {
                let mut threads = history.thread_messages.iter_mut();
                threads.find(|other| other.id == *thread).map(|thread| &mut thread.messages)
            }
            None => Some(&mut history.top_level_messages),
        };
        if let Some(messages) = messages {
            // The parent is kept: a thread makes no sense without it.
            let parent = messages
                .first()
                .is_some_and(|message| Some(&message.id) == self.conversation.thread.as_ref());
            let first = usize::from(parent);
            messages.drain(first..messages.len().saturating_sub(most).max(first));
        }
        self
    }

    /// Whether this message is owed an answer.
    pub fn is_owed(&self, message: &MessageId) -> bool {
        self.owed.iter().any(|owed| *owed == *message)
    }

    /// Returns the messages of the target that are owed an answer, oldest first.
    pub fn owed_messages(&self) -> impl DoubleEndedIterator<Item = &Arc<Message>> {
        self.owed.iter().filter_map(move |owed| self.target_message(owed.message()?))
    }

    /// Returns the messages that a reply should answer.
    pub fn messages_to_answer(&self) -> Vec<&Arc<Message>> {
        let owed: Vec<&Arc<Message>> = self.owed_messages().collect();
        if !owed.is_empty() {
            return owed;
        }
        let about =
            self.intent.as_ref().and_then(|intent| self.target_message(intent.about.as_ref()?));
        about.or_else(|| self.newest_human_message()).into_iter().collect()
    }

    pub fn newest_human_message(&self) -> Option<&Arc<Message>> {
        self.target_messages().iter().rev().find(|message| message.author.kind == AuthorKind::Human)
    }

    /// Returns a message of the target by id.
    pub fn target_message(&self, id: &MessageId) -> Option<&Arc<Message>> {
        self.target_messages().iter().find(|message| message.id == *id)
    }

    /// Returns the first post of another companion since this message of the target, there or in the message's thread,
    /// unless a human user asked for it with a mention.
    pub fn companion_since(&self, message: &MessageId) -> Option<&Arc<Message>> {
        if self.companions.is_empty() {
            return None;
        }
        let target = self.target_messages();
        // If the message has scrolled out of sight, all visible messages are later.
        let index = target.iter().position(|other| other.id == *message);
        let since = &target[index.map_or(0, |index| index + 1)..];
        let from_it = &target[index.unwrap_or(0)..];
        let thread = match &self.conversation.thread {
            Some(_) => &[][..],
            None => self.conversation_history.thread(message),
        };
        since.iter().chain(thread).find(|said| {
            said.author.kind == AuthorKind::Bot
                && self.companions.contains(&said.author.id)
                && !was_asked(said, from_it)
        })
    }

    /// Whether a human message of the target was heard after a revision.
    pub fn is_heard_since(&self, message: &Message, revision: SeenRevision) -> bool {
        self.heard.get(&message.id).is_some_and(|heard| !revision.covers(*heard))
    }

    /// Returns the user's visible name, or the id if unknown.
    pub fn display_name<'a>(&'a self, user: &'a UserId) -> &'a str {
        self.names.get(user).map_or(user.as_str(), |name| name)
    }
}

/// Returns the revision of the newest human message that the open decision covers, or that was backfilled and written
/// after the first of these: users may have answered while the platform was disconnected. Both lists have messages of
/// the target, each with its time and the revision at which it was heard.
pub fn newest_message_revision(
    covered: &[(Timestamp, u64)],
    backfilled: &[(Timestamp, u64)],
) -> u64 {
    // What is older belongs to a history that is read late, and says nothing about these messages.
    let Some(since) = covered.iter().map(|(at, _)| *at).min() else { return 0 };
    let later = backfilled.iter().filter(|(at, _)| *at >= since);
    covered.iter().chain(later).map(|(_, revision)| *revision).max().unwrap_or(0)
}

/// Whether a human user mentioned the author of a message before it.
fn was_asked(said: &Message, messages: &[Arc<Message>]) -> bool {
    let asks = |other: &Arc<Message>| {
        other.is_human()
            && other.at <= said.at
            && other.mentions.contains(&Mention::User(said.author.id.clone()))
    };
    messages.iter().any(asks)
}

impl fmt::Display for StateHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}
