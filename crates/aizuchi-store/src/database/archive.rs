//! The queries behind pages and exports.

use std::collections::BTreeSet;
use std::sync::Arc;

use aizuchi_model::chat::{
    Channel, ChannelId, ConversationId, Deletion, MessageId, User, UserId, Visibility, WorkspaceId,
};
use aizuchi_model::context::links::{LinkSource, MessageLinks};
use aizuchi_model::decision::consent::Consent;
use aizuchi_model::decision::mark::{DecisionMark, Mark};
use aizuchi_model::decision::proposal::{Proposal, ProposalLabel, ProposalState};
use aizuchi_model::decision::trust::TrustOffer;
use aizuchi_model::decision::{Decision, DecisionId, ModelExchange};
use aizuchi_model::flow::step::Step;
use aizuchi_model::flow::{DeadLetter, found_posts};
use aizuchi_model::memo::Memo;
use aizuchi_model::memory::change::JournalEntry;
use aizuchi_model::memory::{Memory, MemoryId, MemoryKey};
use aizuchi_model::plan::Plan;
use aizuchi_model::standing_order::StandingOrder;
use async_trait::async_trait;
use jiff::Timestamp;
use serde_json::json;

use crate::archive::Archive;
use crate::database::connection::{Readers, Row, query};
use crate::database::forget::{self, user_hash};
use crate::database::{
    DatabaseStore, aftermaths, archive_rows, consents, figures, journal, marks, memory,
    memory_rows, memos, order_journal, pending_memories, plans, proposals, rows, sql,
    standing_orders, trust,
};
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

/// The workspaces in which anything was heard.
pub async fn workspaces(readers: &Readers) -> Result<Vec<WorkspaceId>, StoreError> {
    ids(&query(sql::recall::WORKSPACES).fetch_all(readers).await?)
}

fn ids(rows: &[Row]) -> Result<Vec<WorkspaceId>, StoreError> {
    rows.iter().map(|row| rows::column::<String>(row, "workspace").map(WorkspaceId::new)).collect()
}

#[async_trait]
impl Archive for DatabaseStore {
    async fn workspaces(&self) -> Result<Vec<WorkspaceId>, StoreError> {
        workspaces(&self.readers).await
    }

    async fn muted_workspaces(&self, now: Timestamp) -> Result<Vec<WorkspaceId>, StoreError> {
        let query = query(sql::orders::MUTED_WORKSPACES).bind(now.as_millisecond());
        ids(&query.fetch_all(&self.readers).await?)
    }

    async fn channels(&self, workspace: &WorkspaceId) -> Result<Vec<Channel>, StoreError> {
        let rows =
            query(sql::messages::CHANNELS).bind(workspace.as_str()).fetch_all(&self.readers).await;
        rows?.iter().map(rows::channel_from_row).collect()
    }

    async fn messages(&self, query: MessageQuery) -> Result<Vec<StoredMessage>, StoreError> {
        self.message_page(query).await
    }

    async fn messages_by_id(
        &self,
        workspace: &WorkspaceId,
        ids: &[(ChannelId, MessageId)],
    ) -> Result<Vec<StoredMessage>, StoreError> {
        let found = query(sql::messages::MESSAGES_BY_ID)
            .bind(workspace.as_str())
            .bind(json!(ids).to_string())
            .fetch_all(&self.readers)
            .await;
        found?.iter().map(rows::stored_message_from_row).collect()
    }

    async fn carriers(&self, of: &Deletion) -> Result<Vec<StoredMessage>, StoreError> {
        let ConversationId { workspace, channel, .. } = &of.conversation;
        let quoted = format!("\"message\":{}", json!((channel, &of.message)));
        let carriers = query(sql::messages::CARRIERS).bind(workspace.as_str()).bind(quoted);
        let carriers = carriers.fetch_all(&self.readers).await?;
        carriers.iter().map(rows::stored_message_from_row).collect()
    }

    async fn filtered_messages(
        &self,
        wanted: &FilteredMessages,
    ) -> Result<Vec<StoredMessage>, StoreError> {
        self.filtered_message_page(wanted).await
    }

    async fn messages_since(
        &self,
        workspace: &WorkspaceId,
        revision: u64,
        limit: usize,
    ) -> Result<Vec<StoredMessage>, StoreError> {
        let since =
            query(sql::messages::MESSAGES_SINCE).bind(workspace.as_str()).bind(revision as i64);
        let rows = since.bind(limit as i64).fetch_all(&self.readers).await?;
        rows.iter().map(rows::stored_message_from_row).collect()
    }

    async fn links(
        &self,
        workspace: &WorkspaceId,
        channel: &ChannelId,
        messages: &[MessageId],
    ) -> Result<Vec<(MessageId, MessageLinks)>, StoreError> {
        let messages = json!(messages).to_string();
        let query = query(sql::messages::LINKS_OF_MESSAGES)
            .bind(workspace.as_str())
            .bind(channel.as_str())
            .bind(&messages)
            .bind(i64::from(LinkSource::SHIPPED.version()));
        archive_rows::links(&query.fetch_all(&self.readers).await?)
    }

    async fn marks(
        &self,
        workspace: &WorkspaceId,
        decisions: &[DecisionId],
    ) -> Result<Vec<DecisionMark>, StoreError> {
        let decisions = json!(decisions).to_string();
        let query = query(sql::orders::MARKS).bind(workspace.as_str()).bind(&decisions);
        query.fetch_all(&self.readers).await?.iter().map(marks::from_row).collect()
    }

    async fn marks_since(
        &self,
        workspace: &WorkspaceId,
        since: Timestamp,
    ) -> Result<Vec<DecisionMark>, StoreError> {
        let query =
            query(sql::orders::MARKS_SINCE).bind(workspace.as_str()).bind(since.as_millisecond());
        query.fetch_all(&self.readers).await?.iter().map(marks::from_row).collect()
    }

    async fn mark_counts(&self) -> Result<Vec<(Mark, u64)>, StoreError> {
        let rows = query(sql::orders::MARK_COUNTS).fetch_all(&self.readers).await?;
        let count = |row: &Row| {
            let mark = rows::parse_name(&rows::column::<String>(row, "mark")?)?;
            Ok((mark, rows::to_unsigned(rows::column(row, "n")?)?))
        };
        rows.iter().map(count).collect()
    }

    async fn proposals(
        &self,
        wanted: &ProposalQuery,
        now: Timestamp,
    ) -> Result<Vec<Proposal>, StoreError> {
        let query = query(sql::proposals::PROPOSALS)
            .bind(wanted.workspace.as_ref().map(WorkspaceId::as_str))
            .bind(wanted.before.map_or(i64::MAX, |before| before.0))
            .bind(wanted.limit as i64)
            .bind(wanted.decision.map(|decision| decision.0));
        let rows = query.fetch_all(&self.readers).await?;
        rows.iter().map(|row| proposals::from_row(row, now)).collect()
    }

    async fn open_proposals(&self, now: Timestamp) -> Result<Vec<Proposal>, StoreError> {
        let open = query(sql::proposals::OPEN_PROPOSALS).bind(now.as_millisecond());
        let rows = open.fetch_all(&self.readers).await?;
        let mut proposals: Vec<Proposal> =
            rows.iter().map(|row| proposals::from_row(row, now)).collect::<Result<_, _>>()?;
        // One whose text was erased has lapsed.
        proposals.retain(|proposal| proposal.state == ProposalState::Open);
        Ok(proposals)
    }

    async fn consents(
        &self,
        wanted: &ConsentQuery,
        now: Timestamp,
    ) -> Result<Vec<Consent>, StoreError> {
        let query = query(sql::consents::CONSENTS)
            .bind(wanted.workspace.as_ref().map(WorkspaceId::as_str))
            .bind(wanted.before.map_or(i64::MAX, |before| before.0))
            .bind(wanted.limit as i64)
            .bind(wanted.decision.map(|decision| decision.0));
        consents::from_rows(&query.fetch_all(&self.readers).await?, now)
    }

    async fn unsettled_consents(&self) -> Result<Vec<Consent>, StoreError> {
        let rows = query(sql::consents::UNSETTLED_CONSENTS).fetch_all(&self.readers).await?;
        rows.iter().map(consents::from_row).collect()
    }

    async fn proposal_labels(
        &self,
        workspace: &WorkspaceId,
        limit: usize,
    ) -> Result<Vec<(ChannelId, ProposalLabel)>, StoreError> {
        let query = query(sql::proposals::PROPOSAL_LABELS).bind(workspace.as_str());
        let rows = query.bind(limit as i64).fetch_all(&self.readers).await?;
        rows.iter().map(trust::label_from_row).collect()
    }

    async fn trust_offers(&self, workspace: &WorkspaceId) -> Result<Vec<TrustOffer>, StoreError> {
        trust::read(&self.readers, workspace).await
    }

    async fn threads_since(
        &self,
        workspace: &WorkspaceId,
        channel: &ChannelId,
        since: Timestamp,
    ) -> Result<Vec<(MessageId, Timestamp)>, StoreError> {
        let threads =
            query(sql::messages::THREADS_SINCE).bind(workspace.as_str()).bind(channel.as_str());
        let threads = threads.bind(since.as_millisecond()).fetch_all(&self.readers).await;
        threads?.iter().map(rows::thread_activity_from_row).collect()
    }

    async fn decisions(&self, filter: DecisionQuery) -> Result<Vec<Decision>, StoreError> {
        self.find_decisions(filter).await
    }

    async fn decisions_since(
        &self,
        workspace: &WorkspaceId,
        revision: u64,
        limit: usize,
    ) -> Result<Vec<Decision>, StoreError> {
        let since =
            query(sql::decisions::DECISIONS_SINCE).bind(workspace.as_str()).bind(revision as i64);
        let rows = since.bind(limit as i64).fetch_all(&self.readers).await?;
        rows.iter().map(rows::decision_from_row).collect()
    }

    fn installation(&self) -> Arc<str> {
        self.installation.clone()
    }

    fn lost_span(&self) -> Option<LostSpan> {
        self.lost_span
    }

    async fn was_forgotten_after(
        &self,
        workspace: &WorkspaceId,
        user: &UserId,
        at: Timestamp,
    ) -> Result<bool, StoreError> {
        let noted = query(sql::forget::FORGOTTEN_SINCE)
            .bind(workspace.as_str())
            .bind(at.as_millisecond())
            .fetch_all(&self.readers)
            .await?;
        // A backfill asks this of many messages at once. Hashing is slow, so none of the few readers waits for it.
        if !user_hash::is_among(&noted, |salt| self.user_hashes.hash(salt, workspace, user))? {
            return Ok(false);
        }
        let asked = query(sql::forget::FORGETTING_ASKED_AT)
            .bind(workspace.as_str())
            .bind(user.as_str())
            .fetch_optional(&self.readers)
            .await?;
        let asked = asked.map(|row| rows::column::<i64>(&row, "asked_ms")).transpose()?;
        Ok(asked.is_none_or(|asked| at.as_millisecond() < asked))
    }

    async fn answered_in_history(
        &self,
        conversation: &ConversationId,
        messages: &[MessageId],
    ) -> Result<BTreeSet<MessageId>, StoreError> {
        let listed: Vec<[&MessageId; 1]> = messages.iter().map(|id| [id]).collect();
        let listed = json!(listed).to_string();
        let read = |statement| {
            query(statement)
                .bind(conversation.workspace.as_str())
                .bind(conversation.channel.as_str())
                .bind(listed.as_str())
                .fetch_all(&self.readers)
        };
        let found = read(sql::steps::FOUND_POSTS).await?;
        if found.is_empty() {
            return Ok(BTreeSet::new());
        }
        let open = read(sql::steps::OPEN_MESSAGES).await?;
        let open = open.iter().map(rows::asked_message_from_row).collect::<Result<_, _>>()?;
        let mut answered = found_posts::answered(&rows::found_posts_from_rows(&found)?, open);
        answered.retain(|id| messages.contains(id));
        Ok(answered)
    }

    async fn users(&self, workspace: &WorkspaceId) -> Result<Vec<User>, StoreError> {
        let rows =
            query(sql::messages::USERS).bind(workspace.as_str()).fetch_all(&self.readers).await;
        rows?.iter().map(rows::user_from_row).collect()
    }

    async fn acts(
        &self,
        workspace: &WorkspaceId,
        user: &UserId,
        before: Timestamp,
    ) -> Result<Vec<Timestamp>, StoreError> {
        let acts = query(sql::messages::ACTS).bind(workspace.as_str()).bind(user.as_str());
        let acts = acts.bind(before.as_millisecond()).fetch_all(&self.readers).await?;
        acts.iter().map(|row| rows::to_timestamp(rows::column(row, "at_ms")?)).collect()
    }

    async fn some_users(
        &self,
        workspace: &WorkspaceId,
        ids: &BTreeSet<UserId>,
    ) -> Result<Vec<User>, StoreError> {
        let users = query(sql::messages::SOME_USERS).bind(workspace.as_str()).bind(id_list(ids));
        users.fetch_all(&self.readers).await?.iter().map(rows::user_from_row).collect()
    }

    async fn last_written(
        &self,
        workspace: &WorkspaceId,
        users: &BTreeSet<UserId>,
    ) -> Result<Vec<(UserId, Visibility, Timestamp)>, StoreError> {
        let last = query(sql::messages::LAST_WRITTEN).bind(workspace.as_str()).bind(id_list(users));
        last.fetch_all(&self.readers).await?.iter().map(archive_rows::last_written).collect()
    }

    async fn find_users(&self, id_or_name: &str) -> Result<Vec<User>, StoreError> {
        forget::find_users(&mut self.readers.acquire().await?, id_or_name).await
    }

    async fn forgettings(&self) -> Result<Vec<RunningForgetting>, StoreError> {
        forget::running(&mut self.readers.acquire().await?).await
    }

    async fn person(
        &self,
        workspace: &WorkspaceId,
        user: &UserId,
        newest: usize,
    ) -> Result<PersonTraces, StoreError> {
        let of_user = |statement| query(statement).bind(workspace.as_str()).bind(user.as_str());
        let skipped = i64::try_from(newest).unwrap_or(i64::MAX).saturating_sub(1);
        let written = of_user(sql::messages::WRITTEN_BY).bind(skipped);
        let written = written.fetch_all(&self.readers).await?;
        let older = of_user(sql::messages::OLDER_MESSAGE_BY).bind(skipped.saturating_add(1));
        let older = older.fetch_all(&self.readers).await?;
        let memories = of_user(sql::memory::MEMORIES_FROM).fetch_all(&self.readers).await?;
        Ok(PersonTraces {
            written: written
                .iter()
                .map(archive_rows::written_in)
                .collect::<Result<_, StoreError>>()?,
            memories: memories
                .iter()
                .map(memory_rows::key_from_row)
                .collect::<Result<_, StoreError>>()?,
            has_older: !older.is_empty(),
        })
    }

    async fn health(&self) -> Result<(), StoreError> {
        query(sql::COUNTERS).fetch_one(&self.readers).await?;
        query(sql::READ_NEWEST).fetch_one(&self.readers).await?;
        self.check_writable().await
    }

    async fn exchanges(
        &self,
        decision: DecisionId,
    ) -> Result<Vec<Option<ModelExchange>>, StoreError> {
        let rows = query(sql::decisions::EXCHANGES).bind(decision.0).fetch_all(&self.readers).await;
        rows?.iter().map(rows::exchange_from_row).collect()
    }

    async fn dead_letters(&self, wanted: &DeadLetterQuery) -> Result<Vec<DeadLetter>, StoreError> {
        let query = query(sql::steps::DEAD_LETTERS)
            .bind(wanted.before.map_or(i64::MAX, |before| before.0))
            .bind(wanted.workspace.as_ref().map(WorkspaceId::as_str))
            .bind(wanted.limit as i64);
        let rows = query.fetch_all(&self.readers).await?;
        rows.iter().rev().map(rows::dead_letter_from_row).collect()
    }

    async fn backlog(&self) -> Result<Backlog, StoreError> {
        let rows = query(sql::steps::PENDING_COUNTS).fetch_all(&self.readers).await?;
        let count = |row: &Row| {
            Ok((rows::column(row, "verb")?, rows::to_unsigned(rows::column(row, "n")?)?))
        };
        let dead_letters = query(sql::steps::COUNT_DEAD_LETTERS).fetch_one(&self.readers).await;
        let oldest_owed = query(sql::steps::OLDEST_OWED).fetch_one(&self.readers).await?;
        Ok(Backlog {
            oldest_owed: rows::optional_time(&oldest_owed, "at_ms")?,
            pending: rows.iter().map(count).collect::<Result<_, StoreError>>()?,
            dead_letters: rows::to_unsigned(rows::column(&dead_letters?, "n")?)?,
        })
    }

    async fn channel_activity(
        &self,
        workspace: &WorkspaceId,
    ) -> Result<Vec<ChannelActivity>, StoreError> {
        let query = query(sql::figures::CHANNEL_ACTIVITY).bind(workspace.as_str());
        let rows = query.fetch_all(&self.readers).await?;
        rows.iter().map(archive_rows::channel_activity).collect()
    }

    async fn decision_counts(
        &self,
        workspace: &WorkspaceId,
        since: Timestamp,
    ) -> Result<Vec<DecisionCount>, StoreError> {
        let query = query(sql::figures::DECISION_COUNTS).bind(workspace.as_str());
        let rows = query.bind(since.as_millisecond()).fetch_all(&self.readers).await?;
        rows.iter().map(archive_rows::decision_count).collect()
    }

    async fn messages_by_day(
        &self,
        period: &WorkspacePeriod,
    ) -> Result<Vec<MessageCount>, StoreError> {
        figures::messages(&self.readers, period).await
    }

    async fn outcomes_by_day(
        &self,
        period: &WorkspacePeriod,
    ) -> Result<Vec<OutcomeCount>, StoreError> {
        figures::outcomes(&self.readers, period).await
    }

    async fn calls_by_day(&self, period: &WorkspacePeriod) -> Result<Vec<CallSum>, StoreError> {
        figures::calls(&self.readers, period).await
    }

    async fn answer_delays(
        &self,
        period: &WorkspacePeriod,
    ) -> Result<Vec<AnswerDelay>, StoreError> {
        figures::answer_delays(&self.readers, period).await
    }

    async fn reactions_by_day(
        &self,
        period: &WorkspacePeriod,
    ) -> Result<Vec<ReactionCount>, StoreError> {
        figures::reactions(&self.readers, period).await
    }

    async fn open_questions(
        &self,
        period: &WorkspacePeriod,
    ) -> Result<Vec<UnansweredQuestion>, StoreError> {
        figures::open_questions(&self.readers, period).await
    }

    async fn aftermaths(
        &self,
        period: &WorkspacePeriod,
    ) -> Result<Vec<ChoiceAftermath>, StoreError> {
        aftermaths::read(&self.readers, period).await
    }

    async fn changed_days(
        &self,
        period: &WorkspacePeriod,
        revision: u64,
    ) -> Result<Vec<Day>, StoreError> {
        figures::changed_days(&self.readers, period, revision).await
    }

    async fn recent_calls(&self, limit: usize) -> Result<Vec<RecentCall>, StoreError> {
        let rows =
            query(sql::decisions::RECENT_CALLS).bind(limit as i64).fetch_all(&self.readers).await?;
        rows.iter().map(archive_rows::recent_call).collect()
    }

    async fn failed_calls(
        &self,
        workspace: &WorkspaceId,
        since: Timestamp,
    ) -> Result<Vec<FailedCalls>, StoreError> {
        let failed = query(sql::decisions::FAILED_CALLS).bind(workspace.as_str());
        let rows = failed.bind(since.as_millisecond()).fetch_all(&self.readers).await?;
        rows.iter().map(archive_rows::failed_calls).collect()
    }

    async fn pending_memories(
        &self,
        workspace: &WorkspaceId,
        limit: usize,
    ) -> Result<Vec<PendingMemory>, StoreError> {
        pending_memories::read(&self.readers, workspace, limit).await
    }

    async fn size_bytes(&self) -> Result<u64, StoreError> {
        let row = query(sql::DATABASE_SIZE).fetch_one(&self.readers).await?;
        rows::to_unsigned(rows::column(&row, "n")?)
    }

    async fn last_backup(&self) -> Result<Option<Timestamp>, StoreError> {
        let row = query(sql::LAST_BACKUP).fetch_one(&self.readers).await?;
        rows::optional_time(&row, "backed_up_ms")
    }

    async fn private_reads(
        &self,
        wanted: &PrivateReadQuery,
    ) -> Result<Vec<PrivateReads>, StoreError> {
        let query = query(sql::orders::PRIVATE_READS)
            .bind(wanted.before.map_or(i64::MAX, Timestamp::as_millisecond))
            .bind(wanted.workspace.as_ref().map(WorkspaceId::as_str))
            .bind(wanted.limit as i64);
        let rows = query.fetch_all(&self.readers).await?;
        rows.iter().map(archive_rows::private_reads).collect()
    }

    async fn order_journal(
        &self,
        query: &OrderJournalQuery,
    ) -> Result<Vec<GivenOrder>, StoreError> {
        order_journal::read(&self.readers, query).await
    }

    async fn plans(&self, workspace: &WorkspaceId) -> Result<Vec<Plan>, StoreError> {
        plans::read(&self.readers, workspace).await
    }

    async fn plans_of_message(
        &self,
        workspace: &WorkspaceId,
        channel: &ChannelId,
        message: &MessageId,
    ) -> Result<Vec<Plan>, StoreError> {
        plans::of_message(&self.readers, workspace, channel, message).await
    }

    async fn standing_orders(
        &self,
        workspace: &WorkspaceId,
    ) -> Result<Vec<StandingOrder>, StoreError> {
        standing_orders::read(&self.readers, sql::orders::STANDING_ORDER_VERSIONS, workspace).await
    }

    async fn resets(
        &self,
        workspace: &WorkspaceId,
    ) -> Result<Vec<(ConversationId, Timestamp)>, StoreError> {
        let resets = query(sql::orders::RESETS).bind(workspace.as_str());
        let resets = resets.fetch_all(&self.readers).await?;
        let reset = |row| {
            let until = rows::to_timestamp(rows::column(row, "until_ms")?)?;
            Ok((rows::conversation_from_row(row)?, until))
        };
        resets.iter().map(reset).collect()
    }

    async fn pending_steps(&self, workspace: &WorkspaceId) -> Result<Vec<Step>, StoreError> {
        let row = query(sql::steps::STEPS).bind(workspace.as_str()).fetch_one(&self.readers).await;
        rows::parse_steps(&rows::column::<String>(&row?, "steps")?)
    }

    async fn memory_versions(&self, key: &MemoryKey) -> Result<Vec<Memory>, StoreError> {
        memory::versions(&self.readers, key).await
    }

    async fn thread_memories(
        &self,
        workspace: &WorkspaceId,
        channel: &ChannelId,
        limit: usize,
    ) -> Result<Vec<Memory>, StoreError> {
        let threads = query(sql::memory::THREAD_MEMORIES)
            .bind(workspace.as_str())
            .bind(channel.as_str())
            .bind(limit as i64);
        threads.fetch_all(&self.readers).await?.iter().map(memory_rows::memory_from_row).collect()
    }

    async fn all_memos(
        &self,
        workspace: &WorkspaceId,
    ) -> Result<Vec<(MemoryId, Memo)>, StoreError> {
        memos::read_all(&self.readers, workspace).await
    }

    async fn memo_versions(
        &self,
        workspace: &WorkspaceId,
        versions: &[MemoryId],
    ) -> Result<Vec<(MemoryId, Memo)>, StoreError> {
        memos::read_versions(&self.readers, workspace, versions).await
    }

    async fn memory_journal(
        &self,
        workspace: &WorkspaceId,
        channel: Option<&ChannelId>,
        before: Option<i64>,
        limit: usize,
    ) -> Result<Vec<JournalEntry>, StoreError> {
        journal::read(&self.readers, workspace, channel, before, limit).await
    }

    async fn spending(
        &self,
        workspace: &WorkspaceId,
        now: Timestamp,
    ) -> Result<Vec<Spending>, StoreError> {
        let query =
            query(sql::spending::SPENDING).bind(workspace.as_str()).bind(now.as_millisecond());
        let rows = query.fetch_all(&self.readers).await?;
        rows.iter().map(archive_rows::spending).collect()
    }
}

/// A JSON list of one-element lists with an id each.
fn id_list(ids: &BTreeSet<UserId>) -> String {
    json!(ids.iter().map(|id| [id.as_str()]).collect::<Vec<_>>()).to_string()
}
