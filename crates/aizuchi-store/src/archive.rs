//! The port through which search, pages and export read. They use the two databases, not the volatile store.

use std::collections::BTreeSet;
use std::sync::Arc;

use aizuchi_model::chat::{
    Channel, ChannelId, ConversationId, Deletion, MessageId, User, UserId, Visibility, WorkspaceId,
};
use aizuchi_model::context::links::MessageLinks;
use aizuchi_model::decision::consent::{Consent, ConsentId};
use aizuchi_model::decision::mark::{DecisionMark, Mark};
use aizuchi_model::decision::proposal::{Proposal, ProposalLabel};
use aizuchi_model::decision::trust::TrustOffer;
use aizuchi_model::decision::{Decision, DecisionId, ModelExchange};
use aizuchi_model::flow::DeadLetter;
use aizuchi_model::flow::step::Step;
use aizuchi_model::memo::Memo;
use aizuchi_model::memory::change::JournalEntry;
use aizuchi_model::memory::{Memory, MemoryId, MemoryKey};
use aizuchi_model::plan::Plan;
use aizuchi_model::standing_order::StandingOrder;
use async_trait::async_trait;
use jiff::Timestamp;

use crate::figures::{
    AnswerDelay, CallSum, ChoiceAftermath, Day, MessageCount, OutcomeCount, ReactionCount,
    UnansweredQuestion, WorkspacePeriod,
};
use crate::lost_span::LostSpan;
use crate::order_journal::{GivenOrder, OrderJournalQuery};
use crate::pending_memories::PendingMemory;
use crate::people::{PersonTraces, RunningForgetting};
use crate::private_reads::{PrivateReadQuery, PrivateReads};
use crate::query::{
    ConsentQuery, DeadLetterQuery, DecisionQuery, FilteredMessages, MessageQuery, ProposalQuery,
};
use crate::stored_message::StoredMessage;
use crate::{
    Backlog, ChannelActivity, DecisionCount, FailedCalls, RecentCall, Spending, StoreError,
};

/// The read side of the store, for pages and exports.
#[async_trait]
pub trait Archive: Send + Sync {
    /// The workspaces in which anything was heard.
    async fn workspaces(&self) -> Result<Vec<WorkspaceId>, StoreError>;

    async fn channels(&self, workspace: &WorkspaceId) -> Result<Vec<Channel>, StoreError>;

    /// Identifies this store. A new store at the same path or URL has a different id.
    fn installation(&self) -> Arc<str>;

    /// The time span lost by a restore, if this store was restored from a backup.
    fn lost_span(&self) -> Option<LostSpan> {
        None
    }

    /// Whether a user was forgotten after what they wrote at this time. If a platform's history holds it and it is not
    /// stored, nothing else here tells that it must stay forgotten. What they have written since they asked is theirs
    /// again, even if the order was carried out later.
    async fn was_forgotten_after(
        &self,
        workspace: &WorkspaceId,
        user: &UserId,
        at: Timestamp,
    ) -> Result<bool, StoreError>;

    /// Which of these messages of a conversation are answered by posts or reactions of the persona that this store
    /// knows only from the platform's history.
    async fn answered_in_history(
        &self,
        conversation: &ConversationId,
        messages: &[MessageId],
    ) -> Result<BTreeSet<MessageId>, StoreError>;

    async fn users(&self, workspace: &WorkspaceId) -> Result<Vec<User>, StoreError>;

    /// The known users among the listed ones, ordered by id.
    async fn some_users(
        &self,
        workspace: &WorkspaceId,
        ids: &BTreeSet<UserId>,
    ) -> Result<Vec<User>, StoreError>;

    /// All users with this id or name, in all workspaces.
    async fn find_users(&self, _id_or_name: &str) -> Result<Vec<User>, StoreError> {
        Err(StoreError::unkept())
    }

    /// The users who are being forgotten.
    async fn forgettings(&self) -> Result<Vec<RunningForgetting>, StoreError> {
        Err(StoreError::unkept())
    }

    /// Where the newest of a user's messages are, and which memories were made from the user's messages.
    async fn person(
        &self,
        _workspace: &WorkspaceId,
        _user: &UserId,
        _newest: usize,
    ) -> Result<PersonTraces, StoreError> {
        Err(StoreError::unkept())
    }

    /// When each of these users last wrote, by the visibility of what they wrote, among their last fifty messages.
    async fn last_written(
        &self,
        _workspace: &WorkspaceId,
        _users: &BTreeSet<UserId>,
    ) -> Result<Vec<(UserId, Visibility, Timestamp)>, StoreError> {
        Err(StoreError::unkept())
    }

    /// When a user last wrote and reacted before a time, newest first: at most fifty of each.
    async fn acts(
        &self,
        _workspace: &WorkspaceId,
        _user: &UserId,
        _before: Timestamp,
    ) -> Result<Vec<Timestamp>, StoreError> {
        Err(StoreError::unkept())
    }

    /// The messages of a channel, oldest first, with tombstones for deleted ones. If more than `limit` match, the
    /// oldest ones after the given message or time are returned, or else the newest ones.
    async fn messages(&self, query: MessageQuery) -> Result<Vec<StoredMessage>, StoreError>;

    /// These messages of a workspace in the given order, deleted or not. Unknown ones are left out.
    async fn messages_by_id(
        &self,
        workspace: &WorkspaceId,
        ids: &[(ChannelId, MessageId)],
    ) -> Result<Vec<StoredMessage>, StoreError>;

    /// One of them.
    async fn message(
        &self,
        workspace: &WorkspaceId,
        channel: &ChannelId,
        id: &MessageId,
    ) -> Result<Option<StoredMessage>, StoreError> {
        Ok(self.messages_by_id(workspace, &[(channel.clone(), id.clone())]).await?.pop())
    }

    /// The messages that carry the words of a deleted one.
    async fn carriers(&self, of: &Deletion) -> Result<Vec<StoredMessage>, StoreError>;

    /// The newest messages of a channel that match a filter, oldest first.
    async fn filtered_messages(
        &self,
        _query: &FilteredMessages,
    ) -> Result<Vec<StoredMessage>, StoreError> {
        Err(StoreError::unkept())
    }

    /// Messages that arrived or changed after a revision, ordered by revision.
    async fn messages_since(
        &self,
        workspace: &WorkspaceId,
        revision: u64,
        limit: usize,
    ) -> Result<Vec<StoredMessage>, StoreError>;

    /// Decisions of the ledger, oldest first.
    async fn decisions(&self, query: DecisionQuery) -> Result<Vec<Decision>, StoreError>;

    /// Decisions that changed after a revision, ordered by revision.
    async fn decisions_since(
        &self,
        workspace: &WorkspaceId,
        revision: u64,
        limit: usize,
    ) -> Result<Vec<Decision>, StoreError>;

    /// The model exchanges of a decision, one for each attempt; `None` where retention has dropped it.
    async fn exchanges(
        &self,
        decision: DecisionId,
    ) -> Result<Vec<Option<ModelExchange>>, StoreError>;

    /// The most probable parents of the listed messages of a channel, where they are known, ordered by message id.
    async fn links(
        &self,
        workspace: &WorkspaceId,
        channel: &ChannelId,
        messages: &[MessageId],
    ) -> Result<Vec<(MessageId, MessageLinks)>, StoreError>;

    /// The marks on the listed decisions, ordered by decision.
    async fn marks(
        &self,
        _workspace: &WorkspaceId,
        _decisions: &[DecisionId],
    ) -> Result<Vec<DecisionMark>, StoreError> {
        Err(StoreError::unkept())
    }

    /// The decisions marked since a time, ordered by the time of the mark.
    async fn marks_since(
        &self,
        _workspace: &WorkspaceId,
        _since: Timestamp,
    ) -> Result<Vec<DecisionMark>, StoreError> {
        Err(StoreError::unkept())
    }

    /// The number of marked decisions in all workspaces, for each mark in use.
    async fn mark_counts(&self) -> Result<Vec<(Mark, u64)>, StoreError> {
        Err(StoreError::unkept())
    }

    /// The proposals for unsolicited posts with their states at `now`, newest first.
    async fn proposals(
        &self,
        _query: &ProposalQuery,
        _now: Timestamp,
    ) -> Result<Vec<Proposal>, StoreError> {
        Err(StoreError::unkept())
    }

    /// The proposals of all workspaces that may still be decided at `now`, newest first.
    async fn open_proposals(&self, _now: Timestamp) -> Result<Vec<Proposal>, StoreError> {
        Err(StoreError::unkept())
    }

    /// The newest `limit` proposals of a workspace that a user has decided, newest first, with their channels.
    async fn proposal_labels(
        &self,
        _workspace: &WorkspaceId,
        _limit: usize,
    ) -> Result<Vec<(ChannelId, ProposalLabel)>, StoreError> {
        Err(StoreError::unkept())
    }

    /// The newest trust offer of each channel of a workspace, ordered by channel.
    async fn trust_offers(&self, _workspace: &WorkspaceId) -> Result<Vec<TrustOffer>, StoreError> {
        Err(StoreError::unkept())
    }

    /// The calls that need a user's consent, with their states at `now`, newest first. Calls that the persona has not
    /// announced yet are left out.
    async fn consents(
        &self,
        _query: &ConsentQuery,
        _now: Timestamp,
    ) -> Result<Vec<Consent>, StoreError> {
        Err(StoreError::unkept())
    }

    /// The announced call with this id, in one workspace or in any.
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

    /// The unsettled consents, oldest first, in their stored states.
    async fn unsettled_consents(&self) -> Result<Vec<Consent>, StoreError>;

    /// The threads of a channel with a message since then, and the time of their newest message.
    async fn threads_since(
        &self,
        _workspace: &WorkspaceId,
        _channel: &ChannelId,
        _since: Timestamp,
    ) -> Result<Vec<(MessageId, Timestamp)>, StoreError> {
        Err(StoreError::unkept())
    }

    /// The newest matching dead letters, oldest first.
    async fn dead_letters(&self, query: &DeadLetterQuery) -> Result<Vec<DeadLetter>, StoreError>;

    /// Checks that the store can be read and that the newest write succeeded.
    async fn health(&self) -> Result<(), StoreError>;

    /// The amount of pending work in all workspaces.
    async fn backlog(&self) -> Result<Backlog, StoreError>;

    /// The workspaces that are muted as a whole.
    async fn muted_workspaces(&self, _now: Timestamp) -> Result<Vec<WorkspaceId>, StoreError> {
        Err(StoreError::unkept())
    }

    /// When each channel of a workspace last had a message by others and by the persona, ordered by channel id.
    async fn channel_activity(
        &self,
        workspace: &WorkspaceId,
    ) -> Result<Vec<ChannelActivity>, StoreError>;

    /// How the decisions of a workspace opened since a time ended, by channel and result.
    async fn decision_counts(
        &self,
        _workspace: &WorkspaceId,
        _since: Timestamp,
    ) -> Result<Vec<DecisionCount>, StoreError> {
        Err(StoreError::unkept())
    }

    /// The number of messages of each channel on each day of a period, by others and by the persona.
    async fn messages_by_day(
        &self,
        _period: &WorkspacePeriod,
    ) -> Result<Vec<MessageCount>, StoreError> {
        Err(StoreError::unkept())
    }

    /// How the decisions of a period ended, by day and channel.
    async fn outcomes_by_day(
        &self,
        _period: &WorkspacePeriod,
    ) -> Result<Vec<OutcomeCount>, StoreError> {
        Err(StoreError::unkept())
    }

    /// The model calls of a period, by day, channel, kind and model.
    async fn calls_by_day(&self, _period: &WorkspacePeriod) -> Result<Vec<CallSum>, StoreError> {
        Err(StoreError::unkept())
    }

    /// The time until the persona spoke, for each decision of a period that led to a post.
    async fn answer_delays(
        &self,
        _period: &WorkspacePeriod,
    ) -> Result<Vec<AnswerDelay>, StoreError> {
        Err(StoreError::unkept())
    }

    /// Users' reactions to the persona's posts in a period, by the day of the post.
    async fn reactions_by_day(
        &self,
        _period: &WorkspacePeriod,
    ) -> Result<Vec<ReactionCount>, StoreError> {
        Err(StoreError::unkept())
    }

    /// Likely questions at the top level of channels in a period that no other user followed up, neither within
    /// [`figures::ANSWER_WINDOW`] nor in their threads, ordered by channel and time.
    async fn open_questions(
        &self,
        _period: &WorkspacePeriod,
    ) -> Result<Vec<UnansweredQuestion>, StoreError> {
        Err(StoreError::unkept())
    }

    /// What happened after the persona's unsolicited posts in a period and after the silences that its judge chose, and
    /// which proposals a user declined, ordered by decision.
    async fn aftermaths(
        &self,
        _period: &WorkspacePeriod,
    ) -> Result<Vec<ChoiceAftermath>, StoreError> {
        Err(StoreError::unkept())
    }

    /// The days of a period whose figures include anything that arrived or changed after a revision. Model calls are
    /// left out: they belong to the time at which they are stored.
    async fn changed_days(
        &self,
        _period: &WorkspacePeriod,
        _revision: u64,
    ) -> Result<Vec<Day>, StoreError> {
        Err(StoreError::unkept())
    }

    /// The newest model calls, newest first.
    async fn recent_calls(&self, _limit: usize) -> Result<Vec<RecentCall>, StoreError> {
        Err(StoreError::unkept())
    }

    /// The calls and look-ups of a workspace that have failed since a time.
    async fn failed_calls(
        &self,
        _workspace: &WorkspaceId,
        _since: Timestamp,
    ) -> Result<Vec<FailedCalls>, StoreError> {
        Err(StoreError::unkept())
    }

    /// The pending memory jobs of a workspace, the first due ones first.
    async fn pending_memories(
        &self,
        _workspace: &WorkspaceId,
        _limit: usize,
    ) -> Result<Vec<PendingMemory>, StoreError> {
        Err(StoreError::unkept())
    }

    /// The size of the database in bytes.
    async fn size_bytes(&self) -> Result<u64, StoreError> {
        Err(StoreError::unkept())
    }

    /// When the newest backup was made, by any process.
    async fn last_backup(&self) -> Result<Option<Timestamp>, StoreError> {
        Err(StoreError::unkept())
    }

    /// The log of private channel reads, newest first.
    async fn private_reads(
        &self,
        _query: &PrivateReadQuery,
    ) -> Result<Vec<PrivateReads>, StoreError> {
        Err(StoreError::unkept())
    }

    /// The newest matching entries of the journal of orders, newest first.
    async fn order_journal(&self, query: &OrderJournalQuery)
    -> Result<Vec<GivenOrder>, StoreError>;

    /// The pending plans of a workspace, next due first.
    async fn plans(&self, _workspace: &WorkspaceId) -> Result<Vec<Plan>, StoreError> {
        Ok(Vec::new())
    }

    /// The plans that a message asked for.
    async fn plans_of_message(
        &self,
        _workspace: &WorkspaceId,
        _channel: &ChannelId,
        _message: &MessageId,
    ) -> Result<Vec<Plan>, StoreError> {
        Ok(Vec::new())
    }

    /// The standing orders of a workspace in all stored versions, by number and version.
    async fn standing_orders(
        &self,
        _workspace: &WorkspaceId,
    ) -> Result<Vec<StandingOrder>, StoreError> {
        Err(StoreError::unkept())
    }

    /// The conversations of a workspace that were reset, each with the time until which it was.
    async fn resets(
        &self,
        _workspace: &WorkspaceId,
    ) -> Result<Vec<(ConversationId, Timestamp)>, StoreError> {
        Err(StoreError::unkept())
    }

    /// The stored versions of a memory, oldest first. The last one is current.
    async fn memory_versions(&self, _key: &MemoryKey) -> Result<Vec<Memory>, StoreError> {
        Err(StoreError::unkept())
    }

    /// The memories of a channel's threads, the most recently active thread first.
    async fn thread_memories(
        &self,
        _workspace: &WorkspaceId,
        _channel: &ChannelId,
        _limit: usize,
    ) -> Result<Vec<Memory>, StoreError> {
        Err(StoreError::unkept())
    }

    /// The memos of a workspace, highest priority first.
    async fn all_memos(
        &self,
        _workspace: &WorkspaceId,
    ) -> Result<Vec<(MemoryId, Memo)>, StoreError> {
        Err(StoreError::unkept())
    }

    /// The stored ones among the versions of memos that the journal names, ordered by id.
    async fn memo_versions(
        &self,
        _workspace: &WorkspaceId,
        _versions: &[MemoryId],
    ) -> Result<Vec<(MemoryId, Memo)>, StoreError> {
        Err(StoreError::unkept())
    }

    /// The newest journaled changes to the memories and memos of a workspace or one of its channels, before a given
    /// change, newest first.
    async fn memory_journal(
        &self,
        _workspace: &WorkspaceId,
        _channel: Option<&ChannelId>,
        _before: Option<i64>,
        _limit: usize,
    ) -> Result<Vec<JournalEntry>, StoreError> {
        Err(StoreError::unkept())
    }

    /// The pending steps of a workspace.
    async fn pending_steps(&self, workspace: &WorkspaceId) -> Result<Vec<Step>, StoreError>;

    /// The models' usage: first that of the whole workspace, then that of each channel with any, ordered by channel id.
    async fn spending(
        &self,
        workspace: &WorkspaceId,
        now: Timestamp,
    ) -> Result<Vec<Spending>, StoreError>;
}
