//! Persistence. [`Store`] is the port that the message flow writes through: hearing, claiming and completing are one
//! transaction each, and nothing is written any other way (invariant 5: handlers do not write). [`Archive`] is the
//! read side, for pages and exports.
//!
//! Every committed change carries an increasing *revision*.

pub mod figures;
pub mod open_questions;
pub mod order_journal;
pub mod expiry;
pub mod refusal_reason;
pub mod weekly_notes;
pub mod uploads;
pub mod database;
pub mod sqlite;
pub mod postgres;
mod open;
pub mod transfer;
pub mod volatile;

use std::collections::BTreeSet;
use std::sync::Arc;

use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};
use serde::Deserialize;
use strum::IntoStaticStr;
use tokio::sync::watch;

use crate::chat::{
    Channel, ChannelId, ConversationId, Cursor, Heard, Message, MessageId, Role, User, UserId,
    Visibility, WorkspaceId,
};
use crate::context::links::MessageLinks;
use crate::context::{BudgetUsage, Context, ContextWindow};
use crate::decision::consent::{Consent, ConsentId, ConsentStep};
use crate::decision::gate::Gate;
use crate::decision::learned::JudgedMoment;
use crate::decision::mark::{DecisionMark, Mark};
use crate::decision::proposal::{Proposal, ProposalChoice, ProposalId, ProposalLabel};
use crate::decision::{AttemptResult, Decision, DecisionId, DecisionResult, ModelExchange};
use crate::event::completion::Completion;
use crate::event::memory_job::{MemoryJob, MemoryJobOutcome};
use crate::event::planned_call::{Admission, PlannedCall, UnclaimedCall};
use crate::event::step::Step;
use crate::event::{Claim, DeadLetter, DeadLetterId, Disposition, Outcome};
use crate::memo::Memo;
use crate::memory::change::{JournalEntry, MemoEdit, MemoryChange};
use crate::memory::{Lineage, Memory, MemoryEntry, MemoryId, MemoryKey, MessageRef};
use crate::recall::{RecallQuery, RecalledMessage};
use crate::rhythm::reply_delays::ReplyDelays;
use crate::rules::Mode;
use crate::standing_order::{DraftTarget, OrderScope, OrderText, StandingOrder};
use crate::store::expiry::{Expiry, ExpiryProgress};
use crate::store::figures::{
    AnswerDelay, CallSum, ChoiceAftermath, Day, MessageCount, OpenQuestion, OutcomeCount, Period,
    ReactionCount,
};
use crate::store::order_journal::{GivenOrder, OrderJournalQuery};
use crate::store::refusal_reason::RefusalReason;
use crate::store::weekly_notes::WeeklyNotes;

/// Replaces the author of a forgotten user's messages, and a forgotten user in the journals.
pub const FORGOTTEN_USER_ID: &str = "forgotten";
/// Nobody is forgotten twice within this time by asking for it.
pub const FORGETTING_INTERVAL: SignedDuration = SignedDuration::from_hours(1);
/// How many of a conversation's newest messages are searched for the last one by a human.
const REPLY_DELAY_LOOKBACK: usize = 10;
/// What somebody reads again and again within this time is one look.
const LOOK: SignedDuration = SignedDuration::from_mins(5);
/// The reads of a private channel are kept for this long.
const PRIVATE_READ_RETENTION: SignedDuration = SignedDuration::from_hours(400 * 24);
/// A reaction waits at least this long for a message that is not known yet: as long as a long backfill takes.
const EARLY_REACTION_RETENTION: SignedDuration = SignedDuration::from_hours(24);

/// What happened in this time is not in the store: it was restored from a backup that is older.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LostSpan {
    /// When the backup was made.
    pub from: Timestamp,
    /// When it was restored.
    pub until: Timestamp,
}

/// How far the clocks of a platform and of this machine may be apart.
const CLOCK_SKEW: SignedDuration = SignedDuration::from_mins(15);
/// How far they are apart as a rule.
const SMALL_SKEW: SignedDuration = SignedDuration::from_mins(1);
/// For this long after a restore, mentions of the lost time may be owed an answer.
const RESTORE_AFTERMATH: SignedDuration = SignedDuration::from_hours(1);

impl LostSpan {
    /// Whether a post of the persona was made by the process whose database was lost.
    pub fn includes(&self, posted: Timestamp) -> bool {
        self.from < posted && posted <= self.until + SMALL_SKEW
    }

    /// The same, give or take what the clocks are apart.
    pub fn widened(&self) -> Self {
        Self { from: self.from - CLOCK_SKEW, until: self.until + CLOCK_SKEW }
    }

    /// Whether what was answered in the lost time still matters.
    pub fn is_recent(&self, now: Timestamp) -> bool {
        now < self.until + RESTORE_AFTERMATH
    }
}

#[async_trait]
pub trait Store: Send + Sync {
    /// Stores what a platform delivered together with what follows from it. Both are durable when this returns.
    /// Hearing is idempotent.
    async fn hear(&self, hearing: InboxEntry) -> Result<HearReceipt, StoreError>;

    /// Claims up to `most` steps that are ready at `now`, oldest first, and hides each until its lease ends. A
    /// claimed outbox item is committed as *sending* before this returns (invariant 6: better silent than twice).
    async fn claim(
        &self,
        now: Timestamp,
        lease: SignedDuration,
        most: usize,
    ) -> Result<Vec<Claim>, StoreError>;

    /// Reserves what a model call may cost, or says which limit forbids it. The reservation counts against all other
    /// calls until the claim is completed, which books what was really used, or until it ends by itself.
    async fn reserve(&self, call: &PlannedCall, now: Timestamp) -> Result<Admission, StoreError>;

    /// Books what a call cost that no claim will account for.
    async fn book(&self, call: &UnclaimedCall) -> Result<(), StoreError>;

    /// Applies the outcome of a claim, and removes or replaces its step. If the claim has been superseded, only what
    /// really happened is stored: what was posted, and the tokens used.
    async fn complete(
        &self,
        claim: &Claim,
        outcome: Outcome,
        now: Timestamp,
    ) -> Result<CompletionReceipt, StoreError>;

    /// Drops every prompt, answer and unsent text older than `before`, as the operator's retention demands. Reactions
    /// a day older than that whose message never came are dropped too. Of the prompts and answers that remain, the
    /// newest are kept that take at most `max_bytes` as they are stored.
    async fn drop_exchanges(&self, before: Timestamp, max_bytes: u64) -> Result<(), StoreError>;

    /// Drops what is older than journals are kept: of changes to memories and memos with what memos were, of orders, and of
    /// reads of private channels.
    async fn drop_journals(&self, now: Timestamp) -> Result<(), StoreError>;

    /// Erases a page of what was written before a time, as the operator's retention demands: messages with their
    /// reactions and links, the prompts, drafts and reasons made from them, and whatever else repeats them, but for
    /// memories and memos. What was decided stays, without its reason.
    async fn expire_next(&self, expiry: Expiry) -> Result<ExpiryProgress, StoreError>;

    /// Whether a text for a conversation is stale: since `revision`, a message in its lineage was edited by a human
    /// or deleted, or belongs to another channel that turned private, or is a source of one of its memories; or one
    /// of its memos has changed or is gone.
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

    /// The messages that match a query best, best first. Messages that are not visible from the query's channel are
    /// not searched. An edited message is found by its current text.
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

    /// Those of these messages that still exist, oldest first, with the visibility that they were heard with.
    async fn source_messages(
        &self,
        workspace: &WorkspaceId,
        messages: &[MessageRef],
    ) -> Result<Vec<(Arc<Message>, Visibility)>, StoreError>;

    /// Whether a message has been heard, deleted or not, under this id or as the same message of its author's client.
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
    /// deleted or made private meanwhile.
    async fn complete_memory_job(
        &self,
        job: &MemoryJob,
        outcome: MemoryJobOutcome,
        now: Timestamp,
    ) -> Result<(), StoreError>;
}

/// What pages and exports read.
#[async_trait]
pub trait Archive: Send + Sync {
    /// The workspaces in which something was heard.
    async fn workspaces(&self) -> Result<Vec<WorkspaceId>, StoreError>;

    async fn channels(&self, workspace: &WorkspaceId) -> Result<Vec<Channel>, StoreError>;

    /// Identifies this store. A new store at the same path or URL has another one.
    fn installation(&self) -> Arc<str>;

    /// If this store was restored from a backup.
    fn lost_span(&self) -> Option<LostSpan> {
        None
    }

    /// Which of a conversation's messages were probably answered by the process whose database was lost: in the lost
    /// time the persona posted after them, beside them or in their thread, or reacted to them, and no draft of this store
    /// led to that.
    async fn answered_before_restore(
        &self,
        _conversation: &ConversationId,
        _messages: &[MessageId],
    ) -> Result<Vec<MessageId>, StoreError> {
        Ok(Vec::new())
    }

    async fn users(&self, workspace: &WorkspaceId) -> Result<Vec<User>, StoreError>;

    /// Those of these users that are known, in the order of their ids.
    async fn some_users(
        &self,
        workspace: &WorkspaceId,
        ids: &BTreeSet<UserId>,
    ) -> Result<Vec<User>, StoreError>;

    /// The messages of a channel, oldest first, deleted ones as tombstones. Where more than `limit` match: the oldest
    /// after the given message or time, else the newest.
    async fn messages(&self, query: MessageQuery) -> Result<Vec<StoredMessage>, StoreError>;

    /// One message, deleted or not.
    async fn message(
        &self,
        workspace: &WorkspaceId,
        channel: &ChannelId,
        id: &MessageId,
    ) -> Result<Option<StoredMessage>, StoreError>;

    /// The newest messages of a channel that pass a filter, oldest first.
    async fn filtered_messages(
        &self,
        query: &FilteredMessages,
    ) -> Result<Vec<StoredMessage>, StoreError>;

    /// Messages that arrived or changed after a revision, in the order of their revisions.
    async fn messages_since(
        &self,
        workspace: &WorkspaceId,
        revision: u64,
        limit: usize,
    ) -> Result<Vec<StoredMessage>, StoreError>;

    /// Decisions of the ledger, oldest first.
    async fn decisions(&self, query: DecisionQuery) -> Result<Vec<Decision>, StoreError>;

    /// Decisions that changed after a revision, in the order of their revisions.
    async fn decisions_since(
        &self,
        workspace: &WorkspaceId,
        revision: u64,
        limit: usize,
    ) -> Result<Vec<Decision>, StoreError>;

    /// The moments of a workspace that were judged, the newest `limit`, oldest first.
    async fn judged_moments(
        &self,
        workspace: &WorkspaceId,
        limit: usize,
    ) -> Result<Vec<JudgedMoment>, StoreError>;

    /// How many there are in all.
    async fn count_judged_moments(&self, workspace: &WorkspaceId) -> Result<usize, StoreError>;

    /// The model exchanges of a decision, one for each attempt; `None` where retention has dropped it.
    async fn exchanges(
        &self,
        decision: DecisionId,
    ) -> Result<Vec<Option<ModelExchange>>, StoreError>;

    /// What each of these messages of a channel most probably replies to, where that was found, in the order of their
    /// ids.
    async fn links(
        &self,
        workspace: &WorkspaceId,
        channel: &ChannelId,
        messages: &[MessageId],
    ) -> Result<Vec<(MessageId, MessageLinks)>, StoreError>;

    /// What these decisions were marked as, in the order of their numbers.
    async fn marks(
        &self,
        workspace: &WorkspaceId,
        decisions: &[DecisionId],
    ) -> Result<Vec<DecisionMark>, StoreError>;

    /// The decisions that were marked then or later, in the order of that.
    async fn marks_since(
        &self,
        workspace: &WorkspaceId,
        since: Timestamp,
    ) -> Result<Vec<DecisionMark>, StoreError>;

    /// How many decisions of all workspaces are marked so, for each mark that any has.
    async fn mark_counts(&self) -> Result<Vec<(Mark, u64)>, StoreError>;

    /// What the persona would say unasked, and what became of it, newest first, as it stands at `now`.
    async fn proposals(
        &self,
        query: &ProposalQuery,
        now: Timestamp,
    ) -> Result<Vec<Proposal>, StoreError>;

    /// The newest `limit` proposals of a workspace that somebody has decided, newest first, with their channels.
    async fn proposal_labels(
        &self,
        workspace: &WorkspaceId,
        limit: usize,
    ) -> Result<Vec<(ChannelId, ProposalLabel)>, StoreError>;

    /// The calls that somebody has to allow, and what became of them, newest first, as they stand at `now`. Those of which
    /// the persona has not said that they wait are left out.
    async fn consents(
        &self,
        query: &ConsentQuery,
        now: Timestamp,
    ) -> Result<Vec<Consent>, StoreError>;

    /// The call with this id, of one workspace or of any, if the persona has said that it waits.
    async fn consent(
        &self,
        workspace: Option<&WorkspaceId>,
        id: ConsentId,
        now: Timestamp,
    ) -> Result<Option<Consent>, StoreError> {
        let before = Some(ConsentId(id.0.saturating_add(1)));
        let query =
            ConsentQuery { workspace: workspace.cloned(), decision: None, before, limit: 1 };
        let newest = self.consents(&query, now).await?.pop();
        Ok(newest.filter(|consent| consent.id == id))
    }

    /// Those of which something is still to come, oldest first, as they are stored.
    async fn unsettled_consents(&self) -> Result<Vec<Consent>, StoreError>;

    /// The threads of a channel with a message since then, and the time of their newest message.
    async fn threads_since(
        &self,
        workspace: &WorkspaceId,
        channel: &ChannelId,
        since: Timestamp,
    ) -> Result<Vec<(MessageId, Timestamp)>, StoreError>;

    /// What was given up: the newest that are wanted, oldest first.
    async fn dead_letters(&self, query: &DeadLetterQuery) -> Result<Vec<DeadLetter>, StoreError>;

    /// Whether the store can be read, and whether the newest write succeeded.
    async fn health(&self) -> Result<(), StoreError>;

    /// How much is pending in all workspaces.
    async fn backlog(&self) -> Result<Backlog, StoreError>;

    /// When each channel of a workspace last had a message of others and of the persona, in the order of their ids.
    async fn channel_activity(
        &self,
        workspace: &WorkspaceId,
    ) -> Result<Vec<ChannelActivity>, StoreError>;

    /// How the decisions of a workspace ended that were opened then or later, by channel and result.
    async fn decision_counts(
        &self,
        workspace: &WorkspaceId,
        since: Timestamp,
    ) -> Result<Vec<DecisionCount>, StoreError>;

    /// How many messages each channel had on each day of a period, others' and the persona's own.
    async fn messages_by_day(&self, period: &Period) -> Result<Vec<MessageCount>, StoreError>;

    /// How the decisions of a period ended, by day and channel.
    async fn outcomes_by_day(&self, period: &Period) -> Result<Vec<OutcomeCount>, StoreError>;

    /// The model calls of a period, by day, channel, kind and model.
    async fn calls_by_day(&self, period: &Period) -> Result<Vec<CallSum>, StoreError>;

    /// How long it took to speak, in each decision of a period that led to that.
    async fn answer_delays(&self, period: &Period) -> Result<Vec<AnswerDelay>, StoreError>;

    /// How people reacted to what the persona posted on each day of a period, by the day of the post.
    async fn reactions_by_day(&self, period: &Period) -> Result<Vec<ReactionCount>, StoreError>;

    /// What people may have asked at the top level of channels in a period, and no other person followed: within
    /// [`figures::ANSWER_WINDOW`], or in its thread. By channel and time.
    async fn open_questions(&self, period: &Period) -> Result<Vec<OpenQuestion>, StoreError>;

    /// What happened after the words that the persona said unasked in decisions of a period, and after the silences that
    /// its judge chose, in the order of the decisions.
    async fn aftermaths(&self, period: &Period) -> Result<Vec<ChoiceAftermath>, StoreError>;

    /// The days of a period on which something is counted that arrived or changed after a revision. Model calls are
    /// left out: they belong to the time at which they are stored.
    async fn changed_days(&self, period: &Period, revision: u64) -> Result<Vec<Day>, StoreError>;

    /// How long people take to answer each other, as it was learned in each channel.
    async fn user_delays(
        &self,
        workspace: &WorkspaceId,
    ) -> Result<Vec<(ChannelId, ReplyDelays)>, StoreError>;

    /// The newest model calls, newest first.
    async fn recent_calls(&self, limit: usize) -> Result<Vec<RecentCall>, StoreError>;

    /// How many bytes the database takes.
    async fn size_bytes(&self) -> Result<u64, StoreError>;

    /// Who read the text of private channels, newest first.
    async fn private_reads(
        &self,
        query: &PrivateReadQuery,
    ) -> Result<Vec<PrivateReads>, StoreError>;

    /// Who ordered what: the newest that are wanted, newest first.
    async fn order_journal(&self, query: &OrderJournalQuery)
    -> Result<Vec<GivenOrder>, StoreError>;

    /// The standing orders of a workspace in all versions that are kept, by number and version.
    async fn standing_orders(
        &self,
        workspace: &WorkspaceId,
    ) -> Result<Vec<StandingOrder>, StoreError>;

    /// The versions that are kept of a memory, oldest first. The last one is current.
    async fn memory_versions(&self, key: &MemoryKey) -> Result<Vec<Memory>, StoreError>;

    /// What is remembered of a channel's threads, the most recently active first.
    async fn thread_memories(
        &self,
        workspace: &WorkspaceId,
        channel: &ChannelId,
        limit: usize,
    ) -> Result<Vec<Memory>, StoreError>;

    /// The memos of a workspace, highest priority first.
    async fn all_memos(&self, workspace: &WorkspaceId)
    -> Result<Vec<(MemoryId, Memo)>, StoreError>;

    /// These versions of memos, which the journal names, as far as they are kept, in the order of their ids.
    async fn memo_versions(
        &self,
        workspace: &WorkspaceId,
        versions: &[MemoryId],
    ) -> Result<Vec<(MemoryId, Memo)>, StoreError>;

    /// What changed the memories and memos of a workspace, or of one of its channels: the newest before a change, newest
    /// first.
    async fn memory_journal(
        &self,
        workspace: &WorkspaceId,
        channel: Option<&ChannelId>,
        before: Option<i64>,
        limit: usize,
    ) -> Result<Vec<JournalEntry>, StoreError>;

    /// The pending steps of a workspace.
    async fn pending_steps(&self, workspace: &WorkspaceId) -> Result<Vec<Step>, StoreError>;

    /// The models' usage: first of the whole workspace, then of each channel with any, in the order of their ids.
    async fn spending(
        &self,
        workspace: &WorkspaceId,
        now: Timestamp,
    ) -> Result<Vec<Spending>, StoreError>;
}

/// Where a platform's adapter keeps what it has to know at its next start: how far it has read, and who it is. It has no
/// part in the message flow; a cursor that has to move with a message travels in [`InboxEntry::cursor`].
#[async_trait]
pub trait Cursors: WeeklyNotes {
    async fn cursors(&self, workspace: &WorkspaceId) -> Result<Vec<Cursor>, StoreError>;

    /// Puts a cursor where it is now. Durable when this returns; wakes no task.
    async fn put_cursor(&self, cursor: Cursor) -> Result<(), StoreError>;
}

/// Something heard, and what follows from it.
#[derive(Clone, Debug)]
pub struct InboxEntry {
    pub heard: Heard,
    /// The id that the author's client gave the message. A message with an id that is already known is the same
    /// message, whatever its own id.
    pub client_message_id: Option<Arc<str>>,
    /// How far the platform's stream has been heard with this entry. It is stored in the same transaction, even if
    /// the rest is a duplicate.
    pub cursor: Option<Cursor>,
    pub disposition: Disposition,
    /// What messages of its conversation reply to, where that was found since the last message.
    pub links: Vec<(MessageId, MessageLinks)>,
    /// When the message is due to be remembered, if it is.
    pub remember_at: Option<Timestamp>,
    pub now: Timestamp,
}

impl InboxEntry {
    /// An entry that is stored and not remembered.
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

/// What a user orders.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Order {
    /// Post nothing until then, in one channel or in all. `Timestamp::MAX` is until further notice.
    Mute {
        workspace: WorkspaceId,
        channel: Option<ChannelId>,
        until: Timestamp,
        by: Role,
    },
    /// Only an admin can lift what an admin has ordered.
    Unmute {
        workspace: WorkspaceId,
        channel: Option<ChannelId>,
        by: Role,
    },
    /// Take part in a channel in this mode; `None`: as configured.
    Mode {
        workspace: WorkspaceId,
        channel: ChannelId,
        mode: Option<Mode>,
    },
    /// Ignore a user, including what they have written so far.
    OptOut {
        workspace: WorkspaceId,
        user: UserId,
    },
    OptIn {
        workspace: WorkspaceId,
        user: UserId,
    },
    /// What a user has written so far is removed from all prompts and memories, and owed no answer.
    Redact {
        workspace: WorkspaceId,
        user: UserId,
    },
    /// What was written in a conversation so far is removed from all prompts and memories, and owed no answer. The
    /// parent message of a thread goes with it.
    Reset {
        conversation: ConversationId,
        until: Timestamp,
    },
    /// A user's messages are deleted, with all that is remembered of them. The user stays known by name. Nothing
    /// happens if they were forgotten within [`FORGETTING_INTERVAL`].
    Forget {
        workspace: WorkspaceId,
        user: UserId,
        /// When the user asked for it.
        asked: Timestamp,
    },
    /// Follow this text from now on. One that a command of the chat gives is given once. Refused if there are as many in
    /// its scope as there may be.
    GiveStandingOrder {
        workspace: WorkspaceId,
        scope: OrderScope,
        text: OrderText,
        /// As in [`GivenOrder::by`].
        by: Arc<str>,
    },
    /// Make a standing order say something else. Refused unless it is in force.
    ChangeStandingOrder {
        workspace: WorkspaceId,
        number: i64,
        text: OrderText,
        by: Arc<str>,
    },
    /// Follow a standing order no more. Refused unless it is in force.
    DropStandingOrder {
        workspace: WorkspaceId,
        number: i64,
    },
    /// Keep a text as a draft that nobody follows until somebody keeps it. It takes the place of an earlier draft of the
    /// same order. One that a command of the chat gives is given once. Refused as the order would be.
    DraftStandingOrder {
        workspace: WorkspaceId,
        target: DraftTarget,
        text: OrderText,
        /// As in [`GivenOrder::by`].
        by: Arc<str>,
    },
    /// Follow a draft from now on. Refused unless it is one.
    KeepStandingOrder {
        workspace: WorkspaceId,
        number: i64,
    },
    /// Discard a draft. What it would have changed stays as it is. Refused unless it is one.
    DropOrderDraft {
        workspace: WorkspaceId,
        number: i64,
    },
    /// Import a memory, unless there is one for this key already. Entries without source messages stay private to
    /// their scope.
    ImportMemory {
        key: MemoryKey,
        /// The visibility is set by the store.
        entries: Vec<MemoryEntry>,
        newest: Timestamp,
    },
    /// Import a memo, unless one of its name is visible in the same scope.
    ImportMemo {
        workspace: WorkspaceId,
        memo: Box<Memo>,
    },
    /// Learn the workspace's gate anew, from later verdicts alone.
    ForgetMoments {
        workspace: WorkspaceId,
    },
    /// Remove a dead letter, with the text that could not be posted.
    DropDeadLetter {
        workspace: WorkspaceId,
        id: DeadLetterId,
    },
    /// Open the decision of a dead letter again, and remove the letter. Refused while something else is pending in the
    /// conversation.
    RetryDeadLetter {
        workspace: WorkspaceId,
        id: DeadLetterId,
    },
    /// Note that somebody reads the text of a private channel on the pages.
    NotePrivateRead(PrivateRead),
    /// Note that somebody chose the model that thinks from now on, for all workspaces.
    NoteModelChoice {
        /// Where that was.
        workspace: WorkspaceId,
        model: Arc<str>,
    },
    /// One of the others, recorded in the journal of orders in the same transaction.
    Signed {
        order: Box<Order>,
        /// As in [`GivenOrder::by`].
        by: Arc<str>,
    },
    /// Say what a decision was, seen afterwards; `None` takes that back. Refused while the decision is open.
    MarkDecision {
        workspace: WorkspaceId,
        id: DecisionId,
        mark: Option<Mark>,
        by: Arc<str>,
    },
    /// Say what becomes of a proposal, which is a mark of its decision, too. Refused if somebody has decided before, if
    /// its moment has passed, and, if it is to be said, while something else is under way in its conversation.
    DecideProposal {
        workspace: WorkspaceId,
        id: ProposalId,
        choice: ProposalChoice,
        by: Arc<str>,
    },
    /// Take a call that somebody has to allow a step further. Refused if that is not possible any more, which makes the
    /// first choice count and each call happen at most once.
    TakeConsentStep {
        workspace: WorkspaceId,
        id: ConsentId,
        step: ConsentStep,
    },
    /// Change a memory. Refused unless this is its current version.
    ChangeMemory {
        key: MemoryKey,
        version: MemoryId,
        change: MemoryChange,
        by: Arc<str>,
    },
    /// Change a memo; `None` removes it.
    ChangeMemo {
        workspace: WorkspaceId,
        id: MemoryId,
        edit: Option<MemoEdit>,
        by: Arc<str>,
    },
    /// Make a memo what it was in one of its versions, also one that was removed. Refused if the version is gone.
    RevertMemo {
        workspace: WorkspaceId,
        id: MemoryId,
        version: MemoryId,
        by: Arc<str>,
    },
}

/// Somebody reads what was said in a private channel or a direct message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PrivateRead {
    pub workspace: WorkspaceId,
    pub channel: ChannelId,
    /// The name under which they signed in.
    pub reader: Arc<str>,
    pub what: PrivateText,
}

/// What is read of a private channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, IntoStaticStr)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum PrivateText {
    Messages,
    Decisions,
    DeadLetters,
    Proposals,
    Calls,
    Memories,
}

impl PrivateText {
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// The reads of one channel by one reader within an hour.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PrivateReads {
    pub read: PrivateRead,
    /// The newest of them.
    pub at: Timestamp,
    /// A page that brings itself up to date counts once.
    pub count: u64,
}

/// The newest reads of private text, of one workspace or of all.
#[derive(Clone, Debug)]
pub struct PrivateReadQuery {
    pub workspace: Option<WorkspaceId>,
    /// Only those whose newest read was before this millisecond.
    pub before: Option<Timestamp>,
    pub limit: usize,
}

/// When a channel last had a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChannelActivity {
    pub channel: ChannelId,
    /// Of anybody but the persona.
    pub last_heard: Option<Timestamp>,
    /// Of the persona.
    pub last_spoke: Option<Timestamp>,
}

/// A model call, as far as its model's health is concerned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecentCall {
    pub at: Timestamp,
    pub model: Arc<str>,
    pub verb: Arc<str>,
    pub result: AttemptResult,
    pub error: Option<Arc<str>>,
}

/// How many decisions of a channel ended alike. `None`: those that are open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DecisionCount {
    pub channel: ChannelId,
    pub ended: Option<DecisionResult>,
    pub count: u64,
}

impl Order {
    /// Whether it takes messages out of conversations.
    pub fn changes_messages(&self) -> bool {
        match self {
            Order::OptOut { .. }
            | Order::Redact { .. }
            | Order::Reset { .. }
            | Order::Forget { .. }
            | Order::RetryDeadLetter { .. } => true,
            // A decision that is open again makes its messages new.
            Order::DecideProposal { choice, .. } => choice.state().is_approved(),
            Order::Signed { order, .. } => order.changes_messages(),
            Order::Mute { .. }
            | Order::Unmute { .. }
            | Order::Mode { .. }
            | Order::OptIn { .. }
            | Order::GiveStandingOrder { .. }
            | Order::ChangeStandingOrder { .. }
            | Order::DropStandingOrder { .. }
            | Order::DraftStandingOrder { .. }
            | Order::KeepStandingOrder { .. }
            | Order::DropOrderDraft { .. }
            | Order::ImportMemory { .. }
            | Order::ImportMemo { .. }
            | Order::ForgetMoments { .. }
            | Order::DropDeadLetter { .. }
            | Order::MarkDecision { .. }
            | Order::TakeConsentStep { .. }
            | Order::ChangeMemory { .. }
            | Order::ChangeMemo { .. }
            | Order::RevertMemo { .. }
            | Order::NotePrivateRead(_)
            | Order::NoteModelChoice { .. } => false,
        }
    }

    pub fn workspace(&self) -> &WorkspaceId {
        match self {
            Order::Mute { workspace, .. }
            | Order::Unmute { workspace, .. }
            | Order::Mode { workspace, .. }
            | Order::OptOut { workspace, .. }
            | Order::OptIn { workspace, .. }
            | Order::GiveStandingOrder { workspace, .. }
            | Order::ChangeStandingOrder { workspace, .. }
            | Order::DropStandingOrder { workspace, .. }
            | Order::DraftStandingOrder { workspace, .. }
            | Order::KeepStandingOrder { workspace, .. }
            | Order::DropOrderDraft { workspace, .. }
            | Order::Redact { workspace, .. }
            | Order::Forget { workspace, .. }
            | Order::ImportMemo { workspace, .. }
            | Order::DropDeadLetter { workspace, .. }
            | Order::RetryDeadLetter { workspace, .. }
            | Order::MarkDecision { workspace, .. }
            | Order::DecideProposal { workspace, .. }
            | Order::TakeConsentStep { workspace, .. }
            | Order::ChangeMemo { workspace, .. }
            | Order::RevertMemo { workspace, .. }
            | Order::NoteModelChoice { workspace, .. }
            | Order::ForgetMoments { workspace } => workspace,
            Order::Signed { order, .. } => order.workspace(),
            Order::NotePrivateRead(read) => &read.workspace,
            Order::Reset { conversation, .. } => &conversation.workspace,
            Order::ImportMemory { key, .. } | Order::ChangeMemory { key, .. } => &key.workspace,
        }
    }
}

/// The orders in force.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OrdersInForce {
    /// The mutes of a channel, or of all channels (`None`): one for each role that may order it.
    pub mutes: Vec<(Option<ChannelId>, Mute)>,
    pub modes: Vec<(ChannelId, Mode)>,
    pub opted_out: Vec<UserId>,
    /// Who asked to be forgotten lately, and when.
    pub forgotten: Vec<(UserId, Timestamp)>,
    /// What is followed where, in the order of the numbers.
    pub standing: Vec<StandingOrder>,
    /// What somebody may keep, in the order of the numbers. Nobody follows it yet.
    pub drafts: Vec<StandingOrder>,
}

/// A mute, and the role that ordered it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Mute {
    pub until: Timestamp,
    pub by: Role,
}

impl OrdersInForce {
    /// The longest mute of all channels at `now`, if any.
    pub fn workspace_mute(&self, now: Timestamp) -> Option<Mute> {
        self.active_mutes(now).filter(|(channel, _)| channel.is_none()).map(|(_, mute)| mute).max()
    }

    /// The longest mute of this channel alone.
    pub fn channel_mute(&self, channel: &ChannelId, now: Timestamp) -> Option<Mute> {
        let here = self.active_mutes(now).filter(|(muted, _)| muted.as_ref() == Some(channel));
        here.map(|(_, mute)| mute).max()
    }

    /// The standing orders that hold in a conversation.
    pub fn standing_in(
        &self,
        conversation: &ConversationId,
    ) -> impl Iterator<Item = &StandingOrder> {
        self.standing.iter().filter(move |order| order.scope.includes(conversation))
    }

    /// The drafts of standing orders for a conversation.
    pub fn drafts_in(&self, conversation: &ConversationId) -> impl Iterator<Item = &StandingOrder> {
        self.drafts.iter().filter(move |draft| draft.scope.includes(conversation))
    }

    /// The longest mute in force in a channel that only a higher role can lift.
    pub fn mute_above_role(&self, role: Role, channel: &ChannelId, now: Timestamp) -> Option<Mute> {
        let is_here = |muted: &Option<ChannelId>| muted.as_ref().is_none_or(|it| it == channel);
        let above = self.active_mutes(now).filter(|(muted, mute)| is_here(muted) && mute.by > role);
        above.map(|(_, mute)| mute).max()
    }

    fn active_mutes(&self, now: Timestamp) -> impl Iterator<Item = (Option<ChannelId>, Mute)> {
        self.mutes.iter().filter(move |(_, mute)| now < mute.until).cloned()
    }
}

/// What hearing changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HearReceipt {
    /// False for a duplicate, and for a change of a message that is not known (yet).
    pub is_new: bool,
    /// The work in flight in this conversation is superseded.
    pub has_superseded: bool,
    /// The decision that the message belongs to from now on, if it leads to one.
    pub decision: Option<DecisionId>,
    pub revision: u64,
}

/// What completing a claim changed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CompletionReceipt {
    /// The result of its decision, if it is closed.
    pub ended: Option<DecisionResult>,
    /// The gate that closed it.
    pub gate: Option<Gate>,
    /// When the messages that a post answered were written.
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

/// What the models have used up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spending {
    /// `None`: the whole workspace.
    pub channel: Option<ChannelId>,
    pub spent: BudgetUsage,
    /// Within the last 30 days. No limit applies to it.
    pub tokens_in_month: u64,
    /// Those of the tokens whose price is not known.
    pub unpriced_tokens_in_day: u64,
    pub unpriced_tokens_in_month: u64,
}

/// How much is pending.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Backlog {
    /// Pending steps by verb.
    pub pending: Vec<(String, u64)>,
    /// Posts and answers that were given up and wait for the operator.
    pub dead_letters: u64,
    /// When the oldest message was written that is owed an answer.
    pub oldest_owed: Option<Timestamp>,
}

/// A message with what the store knows about it.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredMessage {
    pub message: Arc<Message>,
    /// The author's name, or their id where no name is known.
    pub author_name: Arc<str>,
    /// The channel's visibility when the message was heard, or since a channel turned private.
    pub visibility: Visibility,
    pub is_deleted: bool,
    /// It was not deleted by anybody, but erased because it was too old. Then it is deleted, too.
    pub is_expired: bool,
    /// It is read for nothing any more: its author has opted out, or the conversation was reset.
    pub is_withheld: bool,
    /// The gate that settled it, if no decision covers it.
    pub gate: Option<Gate>,
    /// In the order of their first reaction.
    pub reactions: Vec<ReactionGroup>,
    /// The revision at which the message or its reactions last changed.
    pub revision: u64,
}

/// Everyone who reacted to a message with one emoji, in the order of their reactions.
#[derive(Clone, Debug, PartialEq)]
pub struct ReactionGroup {
    pub emoji: Arc<str>,
    pub users: Vec<User>,
}

impl ReactionGroup {
    /// Groups reactions, which are given oldest first, by emoji.
    pub fn group(reactions: impl IntoIterator<Item = (Arc<str>, User)>) -> Vec<Self> {
        let mut groups: Vec<Self> = Vec::new();
        for (emoji, user) in reactions {
            match groups.iter_mut().find(|group| group.emoji == emoji) {
                Some(group) => group.users.push(user),
                None => groups.push(Self { emoji, users: vec![user] }),
            }
        }
        groups
    }
}

#[derive(Clone, Debug)]
pub struct MessageQuery {
    pub workspace: WorkspaceId,
    pub channel: ChannelId,
    /// `None`: the top level and all threads.
    pub thread: Option<MessageId>,
    pub range: MessageRange,
    pub limit: usize,
}

/// A range of a channel's messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MessageRange {
    Newest,
    /// The newest messages before this one.
    Before(MessageId),
    BeforeTime(Timestamp),
    /// The oldest messages after this one.
    After(MessageId),
    AfterTime(Timestamp),
}

/// Which messages of a channel are wanted. What is not given is not asked about.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MessageFilter {
    pub author: Option<UserId>,
    pub from: Option<Timestamp>,
    pub until: Option<Timestamp>,
    /// Only what was said with this visibility.
    pub visibility: Option<Visibility>,
}

impl MessageFilter {
    pub fn has(&self, stored: &StoredMessage) -> bool {
        let (at, author) = (stored.message.at, &stored.message.author.id);
        self.author.as_ref().is_none_or(|wanted| wanted == author)
            && self.from.is_none_or(|from| at >= from)
            && self.until.is_none_or(|until| at < until)
            && self.visibility.is_none_or(|wanted| wanted == stored.visibility)
    }
}

/// The newest messages of a channel before one of them that pass a filter.
#[derive(Clone, Debug)]
pub struct FilteredMessages {
    pub workspace: WorkspaceId,
    pub channel: ChannelId,
    pub filter: MessageFilter,
    pub before: Option<MessageId>,
    pub limit: usize,
}

/// The newest proposals before one of them, of one workspace or of all.
#[derive(Clone, Debug)]
pub struct ProposalQuery {
    pub workspace: Option<WorkspaceId>,
    /// Only those of this decision.
    pub decision: Option<DecisionId>,
    pub before: Option<ProposalId>,
    pub limit: usize,
}

/// The newest calls before one of them that somebody has to allow, of one workspace or of all, and of one decision or of all.
#[derive(Clone, Debug)]
pub struct ConsentQuery {
    pub workspace: Option<WorkspaceId>,
    pub decision: Option<DecisionId>,
    pub before: Option<ConsentId>,
    pub limit: usize,
}

/// The newest dead letters before one of them, of one workspace or of all.
#[derive(Clone, Debug)]
pub struct DeadLetterQuery {
    pub workspace: Option<WorkspaceId>,
    pub before: Option<DeadLetterId>,
    pub limit: usize,
}

impl Default for DeadLetterQuery {
    fn default() -> Self {
        Self { workspace: None, before: None, limit: 100 }
    }
}

#[derive(Clone, Debug)]
pub enum DecisionQuery {
    One {
        workspace: WorkspaceId,
        id: DecisionId,
    },
    /// The newest `limit` decisions of a channel.
    Channel {
        workspace: WorkspaceId,
        channel: ChannelId,
        limit: usize,
    },
    /// The newest decisions of a channel before one of them that ended like this and by this gate, where these are
    /// given, and that cover a message which passes a filter, or whose post does.
    Filtered {
        workspace: WorkspaceId,
        channel: ChannelId,
        ended: Option<DecisionFilter>,
        gate: Option<Gate>,
        messages: MessageFilter,
        before: Option<DecisionId>,
        limit: usize,
    },
    /// The decisions of a channel that were opened then or later.
    Since {
        workspace: WorkspaceId,
        channel: ChannelId,
        since: Timestamp,
    },
    /// Those that cover this message, or whose post it is.
    Message {
        workspace: WorkspaceId,
        message: MessageId,
    },
    /// Those that cover one of these messages of a channel, or whose post it is.
    Messages {
        workspace: WorkspaceId,
        channel: ChannelId,
        messages: Vec<MessageId>,
    },
}

/// Which decisions are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DecisionFilter {
    Open,
    Ended(DecisionResult),
}

impl DecisionFilter {
    /// As it is written in addresses.
    pub fn name(self) -> &'static str {
        match self {
            DecisionFilter::Open => "open",
            DecisionFilter::Ended(ended) => ended.name(),
        }
    }
}

/// Each variant says what the caller does next. Nothing was written.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Try again later.
    #[error("the store is busy: {0}")]
    Busy(String),
    /// Never try this again.
    #[error("the store refuses this: {0}")]
    Refused(RefusalReason),
    /// The operator must act.
    #[error("the database cannot be used: {0}")]
    Broken(String),
}

impl StoreError {
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
