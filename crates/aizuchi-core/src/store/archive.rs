//! The port through which search, pages and export read: the two databases, not the volatile store.

use std::collections::BTreeSet;
use std::sync::Arc;

use async_trait::async_trait;
use jiff::Timestamp;

use crate::chat::{Channel, ChannelId, ConversationId, MessageId, User, UserId, WorkspaceId};
use crate::context::links::MessageLinks;
use crate::decision::consent::{Consent, ConsentId};
use crate::decision::learned::JudgedMoment;
use crate::decision::mark::{DecisionMark, Mark};
use crate::decision::proposal::{Proposal, ProposalLabel};
use crate::decision::trust::TrustOffer;
use crate::decision::{Decision, DecisionId, ModelExchange};
use crate::event::DeadLetter;
use crate::event::step::Step;
use crate::memo::Memo;
use crate::memory::change::JournalEntry;
use crate::memory::{Memory, MemoryId, MemoryKey};
use crate::rhythm::reply_delays::ReplyDelays;
use crate::standing_order::StandingOrder;
use crate::store::figures::{
    AnswerDelay, CallSum, ChoiceAftermath, Day, MessageCount, OutcomeCount, ReactionCount,
    UnansweredQuestion, WorkspacePeriod,
};
use crate::store::lost_span::LostSpan;
use crate::store::order_journal::{GivenOrder, OrderJournalQuery};
use crate::store::pending_memories::PendingMemory;
use crate::store::private_reads::{PrivateReadQuery, PrivateReads};
use crate::store::query::{
    ConsentQuery, DeadLetterQuery, DecisionQuery, FilteredMessages, MessageQuery, ProposalQuery,
};
use crate::store::stored_message::StoredMessage;
use crate::store::{Backlog, ChannelActivity, DecisionCount, RecentCall, Spending, StoreError};

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

    /// The newest offer to speak by itself of each channel of a workspace, in the order of the channels.
    async fn trust_offers(&self, workspace: &WorkspaceId) -> Result<Vec<TrustOffer>, StoreError>;

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
    async fn messages_by_day(
        &self,
        period: &WorkspacePeriod,
    ) -> Result<Vec<MessageCount>, StoreError>;

    /// How the decisions of a period ended, by day and channel.
    async fn outcomes_by_day(
        &self,
        period: &WorkspacePeriod,
    ) -> Result<Vec<OutcomeCount>, StoreError>;

    /// The model calls of a period, by day, channel, kind and model.
    async fn calls_by_day(&self, period: &WorkspacePeriod) -> Result<Vec<CallSum>, StoreError>;

    /// How long it took to speak, in each decision of a period that led to that.
    async fn answer_delays(&self, period: &WorkspacePeriod)
    -> Result<Vec<AnswerDelay>, StoreError>;

    /// How people reacted to what the persona posted on each day of a period, by the day of the post.
    async fn reactions_by_day(
        &self,
        period: &WorkspacePeriod,
    ) -> Result<Vec<ReactionCount>, StoreError>;

    /// What people may have asked at the top level of channels in a period, and no other person followed: within
    /// [`figures::ANSWER_WINDOW`], or in its thread. By channel and time.
    async fn open_questions(
        &self,
        period: &WorkspacePeriod,
    ) -> Result<Vec<UnansweredQuestion>, StoreError>;

    /// What happened after the words that the persona said unasked in decisions of a period, and after the silences that
    /// its judge chose, and which proposals a person declined, in the order of the decisions.
    async fn aftermaths(
        &self,
        period: &WorkspacePeriod,
    ) -> Result<Vec<ChoiceAftermath>, StoreError>;

    /// The days of a period on which something is counted that arrived or changed after a revision. Model calls are
    /// left out: they belong to the time at which they are stored.
    async fn changed_days(
        &self,
        period: &WorkspacePeriod,
        revision: u64,
    ) -> Result<Vec<Day>, StoreError>;

    /// How long people take to answer each other, as it was learned in each channel.
    async fn user_delays(
        &self,
        workspace: &WorkspaceId,
    ) -> Result<Vec<(ChannelId, ReplyDelays)>, StoreError>;

    /// The newest model calls, newest first.
    async fn recent_calls(&self, limit: usize) -> Result<Vec<RecentCall>, StoreError>;

    /// The memories of a workspace that wait to be made, the first due ones.
    async fn pending_memories(
        &self,
        workspace: &WorkspaceId,
        limit: usize,
    ) -> Result<Vec<PendingMemory>, StoreError>;

    /// How many bytes the database takes.
    async fn size_bytes(&self) -> Result<u64, StoreError>;

    /// When the newest backup was made, by whichever process.
    async fn last_backup(&self) -> Result<Option<Timestamp>, StoreError>;

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
