//! Persistence. [`Store`] is the port that the message flow writes through: hearing, claiming and completing are one
//! transaction each, and nothing is written any other way (invariant 5: handlers do not write). [`archive::Archive`] is
//! the read side, for pages and exports.
//!
//! Every committed change carries an increasing *revision*.

pub mod figures;
pub mod open_questions;
pub mod order_journal;
pub mod expiry;
pub mod refusal_reason;
pub mod people;
pub mod uploads;
pub mod database;
pub mod sqlite;
pub mod postgres;
mod open;
pub mod read_only;
pub mod transfer;
pub mod volatile;
pub mod private_reads;
pub mod pending_memories;
pub mod lost_span;
pub mod order;
mod order_record;
pub mod channels_order;
pub mod stored_message;
pub mod query;
pub mod archive;
pub mod pages;
pub mod spoken_language;

use std::sync::Arc;

use aizuchi_model::chat::{
    ChannelId, ConversationId, Cursor, Heard, Message, MessageId, Visibility, WorkspaceId,
};
use aizuchi_model::context::links::MessageLinks;
use aizuchi_model::context::{BudgetUsage, Context, ContextWindow};
use aizuchi_model::decision::gate::Gate;
use aizuchi_model::decision::{AttemptResult, DecisionId, DecisionResult};
use aizuchi_model::flow::completion::Completion;
use aizuchi_model::flow::memory_job::{MemoryJob, MemoryJobOutcome};
use aizuchi_model::flow::planned_call::{PlannedCall, ReservationResult, UnclaimedCall};
use aizuchi_model::flow::web_call::{WebCall, WebLimit};
use aizuchi_model::flow::{Claim, Disposition, Outcome};
use aizuchi_model::memo::Memo;
use aizuchi_model::memory::{Lineage, Memory, MemoryId, MessageRef};
use aizuchi_model::recall::{RecallQuery, RecalledMessage};
use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};
use tokio::sync::watch;

use crate::expiry::{Expiry, ExpiryProgress};
use crate::order::{Order, OrdersInForce};
use crate::refusal_reason::RefusalReason;

/// Replaces a forgotten user's id, as the author of their messages and in the journals.
pub const FORGOTTEN_USER_ID: &str = "forgotten";
/// The minimum time between two requests of a user to be forgotten.
pub const FORGETTING_INTERVAL: SignedDuration = SignedDuration::from_hours(1);
/// Repeated reads by the same reader within this time count as one.
const LOOK: SignedDuration = SignedDuration::from_mins(5);
/// How long the log of private channel reads is kept.
const PRIVATE_READ_RETENTION: SignedDuration = SignedDuration::from_hours(400 * 24);
/// How long a reaction to an unknown message is kept at least: as long as a long backfill takes.
const EARLY_REACTION_RETENTION: SignedDuration = SignedDuration::from_hours(24);

/// What is not part of the message flow has a default: a store that keeps no memories and erases nothing old.
#[async_trait]
pub trait Store: Send + Sync {
    /// Stores what a platform delivered, together with its effects. Both are durable when this returns. Hearing is
    /// idempotent.
    async fn hear(&self, hearing: InboxEntry) -> Result<HearReceipt, StoreError>;

    /// Claims up to `most` steps that are ready at `now`, oldest first, and hides each until its lease ends. A
    /// claimed outbox item is committed as *sending* before this returns (invariant 6: better silent than twice).
    async fn claim(
        &self,
        now: Timestamp,
        lease: SignedDuration,
        most: usize,
    ) -> Result<Vec<Claim>, StoreError>;

    /// Reserves the maximum cost of a model call, or returns the limit that forbids it. The reservation counts against
    /// all other calls until the claim is completed, which records the actual cost, or until the reservation expires.
    async fn reserve(
        &self,
        call: &PlannedCall,
        now: Timestamp,
    ) -> Result<ReservationResult, StoreError>;

    /// Records the cost of a call that belongs to no claim.
    async fn book(&self, call: &UnclaimedCall) -> Result<(), StoreError>;

    /// Counts a web lookup before it is made, or returns the limit that forbids it. Durable when this returns.
    async fn count_web_call(
        &self,
        _call: &WebCall,
        _now: Timestamp,
    ) -> Result<Option<WebLimit>, StoreError> {
        Err(StoreError::unkept())
    }

    /// Applies the outcome of a claim, and removes or replaces its step. If the claim has been superseded, only what
    /// really happened is stored: what was posted, and the tokens used.
    async fn complete(
        &self,
        claim: &Claim,
        outcome: Outcome,
        now: Timestamp,
    ) -> Result<CompletionReceipt, StoreError>;

    /// Drops every prompt, answer and unsent text older than `before`, as the operator's retention demands, and early
    /// reactions that are a day older than that and whose message never arrived. Of the remaining prompts and answers,
    /// only the newest are kept, up to `max_bytes` of stored size.
    async fn drop_exchanges(&self, _before: Timestamp, _max_bytes: u64) -> Result<(), StoreError> {
        Err(StoreError::unkept())
    }

    /// Drops journal entries past their retention: changes to memories and memos (with the old versions of memos),
    /// orders, and reads of private channels.
    async fn drop_journals(&self, _now: Timestamp) -> Result<(), StoreError> {
        Err(StoreError::unkept())
    }

    /// Erases one page of what was written before a time, as the operator's retention demands: messages with their
    /// reactions and links, the prompts, drafts and reasons made from them, and any other copies of their text except
    /// memories and memos. Decisions are kept without their reasons.
    async fn expire_next(&self, _expiry: Expiry) -> Result<ExpiryProgress, StoreError> {
        Err(StoreError::unkept())
    }

    /// Whether a text for a conversation is stale: since `revision`, a message in its lineage was edited by a human,
    /// deleted or withheld, belongs to another channel that turned private, or is a source of one of its memories; or
    /// one of its memos has changed or is gone.
    async fn has_changed_since(
        &self,
        conversation: &ConversationId,
        revision: u64,
        lineage: &Lineage,
    ) -> Result<bool, StoreError>;

    /// When the next step becomes ready.
    async fn next_ready(&self) -> Result<Option<Timestamp>, StoreError>;

    /// The newest committed revision. A waiter subscribes before it looks.
    fn revisions(&self) -> watch::Receiver<u64>;

    /// How many erasures there were since this process started: changes that take back or hide part of what messages,
    /// decisions, channels or users showed, i.e. an edit, a deletion, an order, a page of withheld, forgotten or
    /// expired messages, or a change of a known channel or user. It is incremented before the revision is. A cache
    /// reads this number before it reads the data, and is invalid once the number changes; changes that only add data
    /// do not increment it.
    fn erasures(&self) -> watch::Receiver<u64>;

    /// The best matches of a query, best first. Messages that are not visible from the query's channel are not
    /// searched. An edited message is found by its current text.
    async fn recall(&self, query: &RecallQuery) -> Result<Vec<RecalledMessage>, StoreError>;

    /// A conversation, the messages around it and the memories visible there, as one snapshot.
    async fn context(
        &self,
        conversation: &ConversationId,
        window: &ContextWindow,
    ) -> Result<Context, StoreError>;

    /// The current memories of a workspace, with their sources.
    async fn memories(&self, workspace: &WorkspaceId) -> Result<Vec<Memory>, StoreError>;

    /// The memos visible from a channel, highest priority first.
    async fn memos(
        &self,
        workspace: &WorkspaceId,
        channel: &ChannelId,
    ) -> Result<Vec<(MemoryId, Memo)>, StoreError>;

    /// The listed messages that still exist, oldest first, with the visibility that they were heard with.
    async fn source_messages(
        &self,
        _workspace: &WorkspaceId,
        _messages: &[MessageRef],
    ) -> Result<Vec<(Arc<Message>, Visibility)>, StoreError> {
        Err(StoreError::unkept())
    }

    /// Whether a message has been heard, deleted or not, under this id or under its author's client message id.
    async fn has_heard(
        &self,
        workspace: &WorkspaceId,
        channel: &ChannelId,
        message: &MessageId,
        client_message_id: Option<&str>,
    ) -> Result<bool, StoreError>;

    /// Stores a user's order (invariant 5: one of the few ways in which anything is written).
    async fn order(&self, order: Order, now: Timestamp) -> Result<(), StoreError>;

    /// The orders in force in a workspace.
    async fn orders(&self, workspace: &WorkspaceId) -> Result<OrdersInForce, StoreError>;

    /// Claims up to `most` memory jobs that are ready at `now`, as [`Store::claim`] does steps.
    async fn claim_memory_jobs(
        &self,
        now: Timestamp,
        lease: SignedDuration,
        most: usize,
    ) -> Result<Vec<MemoryJob>, StoreError>;

    /// When the next memory job becomes ready.
    async fn next_memory_job(&self) -> Result<Option<Timestamp>, StoreError>;

    /// Applies the outcome of a memory job. A new version is stored only if none of its sources has been edited,
    /// deleted or made private in the meantime.
    async fn complete_memory_job(
        &self,
        _job: &MemoryJob,
        _outcome: MemoryJobOutcome,
        _now: Timestamp,
    ) -> Result<(), StoreError> {
        Err(StoreError::unkept())
    }
}

/// Stores what a platform's adapter needs at its next start: how far it has read, and its own identity. It is not part
/// of the message flow; a cursor that has to move together with a message is in [`InboxEntry::cursor`].
#[async_trait]
pub trait Cursors: Send + Sync {
    async fn cursors(&self, workspace: &WorkspaceId) -> Result<Vec<Cursor>, StoreError>;

    /// Sets a cursor. Durable when this returns; wakes no task.
    async fn put_cursor(&self, cursor: Cursor) -> Result<(), StoreError>;
}

/// A heard event and its effects.
#[derive(Clone, Debug)]
pub struct InboxEntry {
    pub heard: Heard,
    /// The id that the author's client gave the message. A message with a known client message id is a duplicate,
    /// whatever its own id.
    pub client_message_id: Option<Arc<str>>,
    /// The position in the platform's stream after this entry. It is stored in the same transaction, even if the rest
    /// is a duplicate.
    pub cursor: Option<Cursor>,
    pub disposition: Disposition,
    /// What messages of its conversation reply to, as far as it was determined since the last message.
    pub links: Vec<(MessageId, MessageLinks)>,
    /// When the message is due to be remembered, if it is.
    pub remember_at: Option<Timestamp>,
    pub now: Timestamp,
}

impl InboxEntry {
    /// An entry for a message that is not going to be remembered.
    pub fn new(heard: Heard, disposition: Disposition, now: Timestamp) -> Self {
        Self {
            heard,
            client_message_id: None,
            cursor: None,
            disposition,
            links: Vec::new(),
            remember_at: None,
            now,
        }
    }
}

/// When a channel last had a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChannelActivity {
    pub channel: ChannelId,
    /// The newest message by anyone but the persona.
    pub last_heard: Option<Timestamp>,
    /// The persona's newest message.
    pub last_spoke: Option<Timestamp>,
}

/// A model call, reduced to what shows the health of its model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecentCall {
    pub at: Timestamp,
    pub model: Arc<str>,
    pub verb: Arc<str>,
    pub result: AttemptResult,
    pub error: Option<Arc<str>>,
}

/// The calls of a model in a channel that failed for the same reason, or the look-ups of a tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailedCalls {
    /// `None`: for the whole workspace.
    pub channel: Option<ChannelId>,
    pub verb: Arc<str>,
    /// The model, or the tool.
    pub model: Arc<str>,
    pub error: Option<Arc<str>>,
    pub count: u64,
    pub first: Timestamp,
    pub last: Timestamp,
    /// The newest decision that they were made for, if any.
    pub decision: Option<DecisionId>,
}

/// How many decisions of a channel ended with the same result. `None`: open decisions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DecisionCount {
    pub channel: ChannelId,
    pub ended: Option<DecisionResult>,
    pub count: u64,
}

/// What hearing changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HearReceipt {
    /// False for a duplicate, and for a change to an unknown message.
    pub is_new: bool,
    /// Whether the work in flight in this conversation is superseded.
    pub has_superseded: bool,
    /// The decision that now covers the message, if there is one.
    pub decision: Option<DecisionId>,
    pub revision: u64,
}

/// What completing a claim changed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CompletionReceipt {
    /// The result of the claim's decision, if it is closed.
    pub ended: Option<DecisionResult>,
    /// The gate that closed the decision.
    pub gate: Option<Gate>,
    /// When the messages that the post answered were written.
    pub answered_at: Vec<Timestamp>,
    /// The time of the decision's newest message that the draft had considered.
    pub newest_seen: Option<Timestamp>,
    /// The time of the newest message before the post that the draft had not considered.
    pub newest_unseen: Option<Timestamp>,
}

impl CompletionReceipt {
    pub fn from_completion(
        completion: &Completion,
        newest_seen: Option<Timestamp>,
        newest_unseen: Option<Timestamp>,
    ) -> Self {
        let closed = completion.closed.as_ref();
        Self {
            ended: closed.map(|closed| closed.ended),
            gate: closed.and_then(|closed| closed.gate),
            answered_at: completion.answered_at.clone(),
            newest_seen,
            newest_unseen,
        }
    }
}

/// The usage of the models.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spending {
    /// `None` for the whole workspace.
    pub channel: Option<ChannelId>,
    pub spent: BudgetUsage,
    /// Tokens used within the last 30 days. No limit applies to them.
    pub tokens_in_month: u64,
    /// The part of the tokens whose price is unknown.
    pub unpriced_tokens_in_day: u64,
    pub unpriced_tokens_in_month: u64,
}

/// The amount of pending work.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Backlog {
    /// Pending steps by verb.
    pub pending: Vec<(String, u64)>,
    /// Posts and answers that were given up and need the operator.
    pub dead_letters: u64,
    /// When the oldest message that is owed an answer was written.
    pub oldest_owed: Option<Timestamp>,
}

/// A store error; each variant says what the caller does next. Nothing was written.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Retry later.
    #[error("the store is busy: {0}")]
    Busy(String),
    /// Do not retry.
    #[error("the store refuses this: {0}")]
    Refused(RefusalReason),
    /// The operator has to act.
    #[error("the database cannot be used: {0}")]
    Broken(String),
}

impl StoreError {
    /// The volatile store keeps only what replay and tests of the message flow need.
    pub fn unkept() -> Self {
        let why = "the volatile store does not keep this";
        Self::Refused(RefusalReason::Unstorable(why.to_owned()))
    }

    /// Marks the database called `shown` as unusable for this reason.
    pub fn into_broken(self, shown: &str) -> Self {
        let reason = match self {
            StoreError::Busy(reason) | StoreError::Broken(reason) => reason,
            StoreError::Refused(reason) => reason.to_string(),
        };
        match reason.starts_with(shown) {
            true => StoreError::Broken(reason),
            false => StoreError::Broken(format!("{shown}: {reason}")),
        }
    }
}
