//! Where everything is kept. [`Store`] is the flow's port: what is heard, claimed and completed is
//! written in one transaction each, and nothing is written in any other way (invariant 5).
//! [`Archive`] is how pages look at it.
//!
//! Every committed change carries a rising *revision*.

pub mod database;
pub mod postgres;
pub mod sqlite;
pub mod volatile;

use std::sync::Arc;

use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};
use tokio::sync::watch;

use crate::chat::{
    Channel, ChannelId, ConversationId, Cursor, Heard, Message, MessageId, Role, User, UserId,
    Visibility, WorkspaceId,
};
use crate::context::{BudgetUsage, Context, ContextWindow};
use crate::decision::gate::Gate;
use crate::decision::{Decision, DecisionId, DecisionResult, ModelExchange};
use crate::event::completion::Completion;
use crate::event::memory_job::{MemoryJob, MemoryJobOutcome};
use crate::event::step::Step;
use crate::event::{Claim, DeadLetter, Disposition, Outcome};
use crate::memo::Memo;
use crate::memory::{Lineage, Memory, MemoryEntry, MemoryId, MemoryKey, MessageRef};
use crate::recall::{RecallQuery, RecalledMessage};
use crate::rules::Mode;

/// Stands where a forgotten person was.
const FORGOTTEN_USER_ID: &str = "forgotten";
/// Among so many lines of a conversation the newest by a person is looked for.
const REPLY_DELAY_LOOKBACK: usize = 10;
/// A reaction waits at least so long for a line that is not known yet: as long as a long history takes to be read.
const EARLY_REACTION_RETENTION: SignedDuration = SignedDuration::from_hours(24);

#[async_trait]
pub trait Store: Send + Sync {
    /// Keeps what a platform delivered together with what follows from it. When this returns, both
    /// are safe. Hearing the same again changes nothing.
    async fn hear(&self, hearing: InboxEntry) -> Result<HearReceipt, StoreError>;

    /// Takes up to `most` steps that are ready at `now`, oldest first, and hides each until its
    /// lease ends. A claimed piece is committed as being sent before this returns (invariant 6).
    async fn claim(
        &self,
        now: Timestamp,
        lease: SignedDuration,
        most: usize,
    ) -> Result<Vec<Claim>, StoreError>;

    /// Applies what a claim came to, and removes or replaces its step. If people have moved on
    /// meanwhile, only what has really happened is kept: words said, tokens used.
    async fn complete(
        &self,
        claim: &Claim,
        outcome: Outcome,
        now: Timestamp,
    ) -> Result<CompletionReceipt, StoreError>;

    /// Drops every prompt, answer and unsaid word that is older than `before`: what the operator's
    /// retention orders. With them go reactions that are a day older than that and never found their line.
    async fn drop_exchanges(&self, before: Timestamp) -> Result<(), StoreError>;

    /// Whether a line that words for a conversation were made from has been edited by a person or deleted
    /// since `revision`, is of another channel that has been public no more since then, or is behind a memory
    /// that they were made from; or a memo of theirs has changed or is gone.
    async fn has_changed_since(
        &self,
        home: &ConversationId,
        revision: u64,
        made_from: &Lineage,
    ) -> Result<bool, StoreError>;

    /// When the next step will be ready.
    async fn next_ready(&self) -> Result<Option<Timestamp>, StoreError>;

    /// The newest committed revision, as it moves on: whoever waits for something looks again.
    fn revisions(&self) -> watch::Receiver<u64>;

    /// The lines that have most of what a query looks for, best first. What may not be seen from
    /// where it comes is not looked at. A line that has changed is found by what it says now.
    async fn recall(&self, query: &RecallQuery) -> Result<Vec<RecalledMessage>, StoreError>;

    /// A conversation, the talk around it and what is remembered and may be known there, as of one
    /// moment.
    async fn context(
        &self,
        conversation: &ConversationId,
        window: &ContextWindow,
    ) -> Result<Context, StoreError>;

    /// What a workspace remembers: each memory as it is now, with what is behind it.
    async fn memories(&self, workspace: &WorkspaceId) -> Result<Vec<Memory>, StoreError>;

    /// The memos that may be seen from a channel, what matters most first.
    async fn memos(
        &self,
        workspace: &WorkspaceId,
        channel: &ChannelId,
    ) -> Result<Vec<(MemoryId, Memo)>, StoreError>;

    /// Those of these lines that are still there, oldest first, with who could read them when they were said.
    async fn source_messages(
        &self,
        workspace: &WorkspaceId,
        lines: &[MessageRef],
    ) -> Result<Vec<(Arc<Message>, Visibility)>, StoreError>;

    /// Whether a line has been heard, deleted or not.
    async fn has_heard(
        &self,
        workspace: &WorkspaceId,
        channel: &ChannelId,
        line: &MessageId,
    ) -> Result<bool, StoreError>;

    /// Keeps what a person orders (invariant 5).
    async fn order(&self, order: Order, now: Timestamp) -> Result<(), StoreError>;

    /// What people have ordered in a workspace.
    async fn orders(&self, workspace: &WorkspaceId) -> Result<StandingOrders, StoreError>;

    /// Takes up to `most` chores that are ready at `now`, as [`Store::claim`] does steps.
    async fn claim_memory_jobs(
        &self,
        now: Timestamp,
        lease: SignedDuration,
        most: usize,
    ) -> Result<Vec<MemoryJob>, StoreError>;

    /// When the next chore will be ready.
    async fn next_memory_job(&self) -> Result<Option<Timestamp>, StoreError>;

    /// Applies what a chore came to. What is remembered is kept only if nothing that it was made from
    /// has been taken back meanwhile.
    async fn complete_memory_job(
        &self,
        chore: &MemoryJob,
        outcome: MemoryJobOutcome,
        now: Timestamp,
    ) -> Result<(), StoreError>;
}

/// What pages and exports read.
#[async_trait]
pub trait Archive: Send + Sync {
    async fn channels(&self, workspace: &WorkspaceId) -> Result<Vec<Channel>, StoreError>;

    /// Names this store and no other, also not a new one in the same place.
    fn installation(&self) -> Arc<str>;

    async fn users(&self, workspace: &WorkspaceId) -> Result<Vec<User>, StoreError>;

    /// Lines of a channel, oldest first, deleted ones as tombstones. Where more than `limit` match:
    /// the oldest behind `after`, else the newest.
    async fn messages(&self, query: MessageQuery) -> Result<Vec<StoredMessage>, StoreError>;

    /// One line, deleted or not.
    async fn message(
        &self,
        workspace: &WorkspaceId,
        channel: &ChannelId,
        id: &MessageId,
    ) -> Result<Option<StoredMessage>, StoreError>;

    /// Lines that came or changed after a revision, in the order of their revisions.
    async fn messages_since(
        &self,
        workspace: &WorkspaceId,
        revision: u64,
        limit: usize,
    ) -> Result<Vec<StoredMessage>, StoreError>;

    /// Ledger rows, oldest first.
    async fn decisions(&self, query: DecisionQuery) -> Result<Vec<Decision>, StoreError>;

    /// Ledger rows that changed after a revision, in the order of their revisions.
    async fn decisions_since(
        &self,
        workspace: &WorkspaceId,
        revision: u64,
        limit: usize,
    ) -> Result<Vec<Decision>, StoreError>;

    /// What was asked and answered for a decision: one for each of its attempts, as far as it is kept.
    async fn exchanges(
        &self,
        decision: DecisionId,
    ) -> Result<Vec<Option<ModelExchange>>, StoreError>;

    /// The threads of a channel that something was said in since then, and when that was last.
    async fn threads_since(
        &self,
        workspace: &WorkspaceId,
        channel: &ChannelId,
        since: Timestamp,
    ) -> Result<Vec<(MessageId, Timestamp)>, StoreError>;

    /// How far the workspace's history has been heard.
    async fn cursors(&self, workspace: &WorkspaceId) -> Result<Vec<Cursor>, StoreError>;

    async fn dead_letters(&self) -> Result<Vec<DeadLetter>, StoreError>;

    /// Whether it can be read, and what was written last could be written.
    async fn health(&self) -> Result<(), StoreError>;

    /// How much is pending everywhere.
    async fn backlog(&self) -> Result<Backlog, StoreError>;

    /// The pending steps of a workspace.
    async fn pending_steps(&self, workspace: &WorkspaceId) -> Result<Vec<Step>, StoreError>;

    /// What models used up: for the whole workspace, then for each channel where it was anything, in the
    /// order of their ids.
    async fn spending(
        &self,
        workspace: &WorkspaceId,
        now: Timestamp,
    ) -> Result<Vec<Spending>, StoreError>;
}

/// Something heard, and what follows from it.
#[derive(Clone, Debug)]
pub struct InboxEntry {
    pub heard: Heard,
    /// What the writer's own app calls a line. A line that comes again under this name is the same line,
    /// whatever its id.
    pub client_message_id: Option<Arc<str>>,
    /// How far a platform's stream has been heard with it: kept in the same transaction, also if the rest
    /// is known already.
    pub cursor: Option<Cursor>,
    pub disposition: Disposition,
    /// When what was said is to be remembered, if it is.
    pub remember_at: Option<Timestamp>,
    pub now: Timestamp,
}

impl InboxEntry {
    /// Something heard that is kept and not remembered.
    pub fn new(heard: Heard, follows: Disposition, now: Timestamp) -> Self {
        Self {
            heard,
            client_message_id: None,
            cursor: None,
            disposition: follows,
            remember_at: None,
            now,
        }
    }
}

/// What a person orders.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Order {
    /// Say nothing until then: in one channel, or in all of them. `Timestamp::MAX` is until somebody says
    /// otherwise.
    Mute {
        workspace: WorkspaceId,
        channel: Option<ChannelId>,
        until: Timestamp,
        by: Role,
    },
    /// What an admin has ordered, only an admin takes back.
    Unmute {
        workspace: WorkspaceId,
        channel: Option<ChannelId>,
        by: Role,
    },
    /// Take part in a channel like this; `None`: as the settings say.
    Mode {
        workspace: WorkspaceId,
        channel: ChannelId,
        mode: Option<Mode>,
    },
    /// Do not listen to somebody, nor to what they have said so far.
    OptOut {
        workspace: WorkspaceId,
        user: UserId,
    },
    OptIn {
        workspace: WorkspaceId,
        user: UserId,
    },
    /// What somebody has said so far is in no prompt and no memory any more, and owed no answer.
    Redact {
        workspace: WorkspaceId,
        user: UserId,
    },
    /// What was said in a conversation so far is in no prompt and no memory any more, and owed no answer.
    /// With a thread goes the line that opened it.
    Reset {
        conversation: ConversationId,
        until: Timestamp,
    },
    /// What somebody has said so far is gone, and so is what is remembered of it. They stay known by name.
    Forget {
        workspace: WorkspaceId,
        user: UserId,
    },
    /// Know what was remembered elsewhere, unless there is a memory of this already. What no line is
    /// behind stays where it belongs.
    ImportMemory {
        key: MemoryKey,
        /// The visibility is for the store to say.
        entries: Vec<MemoryEntry>,
        newest: Timestamp,
    },
    /// Keep a memo that was made elsewhere, unless there is one of its name where it is seen.
    ImportMemo {
        workspace: WorkspaceId,
        memo: Box<Memo>,
    },
}

impl Order {
    pub fn workspace(&self) -> &WorkspaceId {
        match self {
            Order::Mute { workspace, .. }
            | Order::Unmute { workspace, .. }
            | Order::Mode { workspace, .. }
            | Order::OptOut { workspace, .. }
            | Order::OptIn { workspace, .. }
            | Order::Redact { workspace, .. }
            | Order::Forget { workspace, .. }
            | Order::ImportMemo { workspace, .. } => workspace,
            Order::Reset { conversation, .. } => &conversation.workspace,
            Order::ImportMemory { key, .. } => &key.workspace,
        }
    }
}

/// What holds because people ordered it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StandingOrders {
    /// It says nothing in a channel, or anywhere: one for each who may order it.
    pub mutes: Vec<(Option<ChannelId>, Mute)>,
    pub modes: Vec<(ChannelId, Mode)>,
    pub opted_out: Vec<UserId>,
}

/// Silence that somebody ordered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Mute {
    pub until: Timestamp,
    pub by: Role,
}

impl StandingOrders {
    /// The silence that holds longest everywhere at `now`, if any does.
    pub fn workspace_mute(&self, now: Timestamp) -> Option<Mute> {
        self.active_mutes(now).filter(|(channel, _)| channel.is_none()).map(|(_, mute)| mute).max()
    }

    /// The silence that holds longest in this channel alone.
    pub fn channel_mute(&self, channel: &ChannelId, now: Timestamp) -> Option<Mute> {
        let here = self.active_mutes(now).filter(|(muted, _)| muted.as_ref() == Some(channel));
        here.map(|(_, mute)| mute).max()
    }

    /// Of what silences it in a channel, what only somebody of a higher role may take back.
    pub fn mute_above_role(&self, role: Role, channel: &ChannelId, now: Timestamp) -> Option<Mute> {
        let is_here = |muted: &Option<ChannelId>| muted.as_ref().is_none_or(|it| it == channel);
        let above = self.active_mutes(now).filter(|(muted, mute)| is_here(muted) && mute.by > role);
        above.map(|(_, mute)| mute).max()
    }

    fn active_mutes(&self, now: Timestamp) -> impl Iterator<Item = (Option<ChannelId>, Mute)> {
        self.mutes.iter().filter(move |(_, mute)| now < mute.until).cloned()
    }
}

/// What hearing did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HearReceipt {
    /// False when it had been heard before, or changes a line that is not known (yet).
    pub is_new: bool,
    /// Work under way in this conversation no longer counts.
    pub has_superseded: bool,
    pub revision: u64,
}

/// What completing a claim did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CompletionReceipt {
    /// How its decision ended, if it has.
    pub ended: Option<DecisionResult>,
    /// The gate that ended it.
    pub gate: Option<Gate>,
    /// When those had spoken whom a post answered.
    pub answered_at: Vec<Timestamp>,
    /// The newest line of the decision that a post's words had seen.
    pub newest_seen: Option<Timestamp>,
    /// The newest line before a post that its words had not seen.
    pub newest_unseen: Option<Timestamp>,
}

impl CompletionReceipt {
    pub fn from_completion(
        completion: &Completion,
        seen: Option<Timestamp>,
        unseen: Option<Timestamp>,
    ) -> Self {
        let closing = completion.closed.as_ref();
        Self {
            ended: closing.map(|closing| closing.ended),
            gate: closing.and_then(|closing| closing.gate),
            answered_at: completion.answered_at.clone(),
            newest_seen: seen,
            newest_unseen: unseen,
        }
    }
}

/// What models used up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spending {
    /// `None`: all of the workspace.
    pub channel: Option<ChannelId>,
    pub spent: BudgetUsage,
    /// Within the last 30 days; no limit is set for it.
    pub tokens_in_month: u64,
}

/// What waits.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Backlog {
    /// Pending steps by verb.
    pub pending: Vec<(String, u64)>,
    /// What was given up and waits for a person.
    pub dead_letters: u64,
}

/// A stored line with what the store knows about it.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredMessage {
    pub message: Arc<Message>,
    /// The author's name, or id where none is known.
    pub author_name: Arc<str>,
    pub is_deleted: bool,
    /// The gate that settled it, if no decision covers it.
    pub gate: Option<Gate>,
    /// In the order that they began.
    pub reactions: Vec<ReactionGroup>,
    /// The revision that it, or a reaction to it, came or changed with.
    pub revision: u64,
}

/// Everyone who reacted to a line with one emoji, in the order that they did.
#[derive(Clone, Debug, PartialEq)]
pub struct ReactionGroup {
    pub emoji: Arc<str>,
    pub users: Vec<User>,
}

impl ReactionGroup {
    /// Gathers reactions, oldest first, by their emoji.
    pub fn group(reactions: impl IntoIterator<Item = (Arc<str>, User)>) -> Vec<Self> {
        let mut gathered: Vec<Self> = Vec::new();
        for (emoji, user) in reactions {
            match gathered.iter_mut().find(|reacted| reacted.emoji == emoji) {
                Some(reacted) => reacted.users.push(user),
                None => gathered.push(Self { emoji, users: vec![user] }),
            }
        }
        gathered
    }
}

#[derive(Clone, Debug)]
pub struct MessageQuery {
    pub workspace: WorkspaceId,
    pub channel: ChannelId,
    /// `None`: top level and all threads.
    pub thread: Option<MessageId>,
    pub range: MessageRange,
    pub limit: usize,
}

/// Which part of a channel's lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MessageRange {
    Newest,
    /// The newest of those that stand before this line.
    Before(MessageId),
    /// The oldest of those that stand behind this line.
    After(MessageId),
    AfterTime(Timestamp),
}

#[derive(Clone, Debug)]
pub enum DecisionQuery {
    One {
        workspace: WorkspaceId,
        id: DecisionId,
    },
    /// The newest `limit` of a channel.
    Channel {
        workspace: WorkspaceId,
        channel: ChannelId,
        limit: usize,
    },
    /// Those that cover this line, or of which it came.
    Message {
        workspace: WorkspaceId,
        message: MessageId,
    },
    /// Those that cover one of these lines of a channel, or of which it came.
    Messages {
        workspace: WorkspaceId,
        channel: ChannelId,
        messages: Vec<MessageId>,
    },
}

/// What the caller does next.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Try again in a while; nothing was written.
    #[error("the store is busy: {0}")]
    Busy(String),
    /// Never repeat it; nothing was written.
    #[error("the store refuses this: {0}")]
    Refused(String),
    /// A person must act; nothing was written.
    #[error("the store cannot be used: {0}")]
    Broken(String),
}

impl StoreError {
    /// That something cannot be used at all, which is called `shown`.
    pub fn into_broken(self, shown: &str) -> Self {
        let reason = match self {
            StoreError::Busy(reason) | StoreError::Refused(reason) | StoreError::Broken(reason) => {
                reason
            }
        };
        match reason.starts_with(shown) {
            true => StoreError::Broken(reason),
            false => StoreError::Broken(format!("{shown}: {reason}")),
        }
    }
}
