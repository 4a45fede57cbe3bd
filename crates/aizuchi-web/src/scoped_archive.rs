//! The archive as a visitor reads it who is limited to places: what is elsewhere does not exist, and what is about a
//! whole workspace is there only for those who reach the whole workspace. Every method has a line here that says where
//! what it returns belongs.

use std::collections::BTreeSet;
use std::sync::Arc;

use aizuchi_model::access_scope::AccessScope;
use aizuchi_model::chat::{
    Channel, ChannelId, ConversationId, Deletion, MessageId, User, UserId, Visibility, WorkspaceId,
};
use aizuchi_model::context::BudgetUsage;
use aizuchi_model::context::links::MessageLinks;
use aizuchi_model::decision::consent::Consent;
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
use aizuchi_store::archive::Archive;
use aizuchi_store::figures::{
    AnswerDelay, CallSum, ChoiceAftermath, Day, MessageCount, OutcomeCount, ReactionCount,
    UnansweredQuestion, WorkspacePeriod,
};
use aizuchi_store::lost_span::LostSpan;
use aizuchi_store::order_journal::{ChannelsRecord, GivenOrder, OrderJournalQuery, OrderKind};
use aizuchi_store::pending_memories::PendingMemory;
use aizuchi_store::people::{PersonTraces, RunningForgetting};
use aizuchi_store::private_reads::{PrivateReadQuery, PrivateReads};
use aizuchi_store::query::{
    ConsentQuery, DeadLetterQuery, DecisionQuery, FilteredMessages, MessageQuery, ProposalQuery,
};
use aizuchi_store::stored_message::StoredMessage;
use aizuchi_store::{
    Backlog, ChannelActivity, DecisionCount, FailedCalls, RecentCall, Spending, StoreError,
};
use async_trait::async_trait;
use jiff::Timestamp;

pub struct ScopedArchive {
    pub inner: Arc<dyn Archive>,
    pub scope: AccessScope,
}

/// The number of rows of all places among which the newest ones in the scope are looked for.
const ALL: usize = 100_000;

impl ScopedArchive {
    /// Keeps the rows of a workspace that are in the scope. A row without a channel is about the whole workspace.
    fn within<T>(
        &self,
        workspace: &WorkspaceId,
        mut rows: Vec<T>,
        channel: impl Fn(&T) -> Option<&ChannelId>,
    ) -> Vec<T> {
        rows.retain(|row| self.scope.includes(workspace, channel(row)));
        rows
    }

    /// The same for rows of any workspace.
    fn anywhere<T>(
        &self,
        mut rows: Vec<T>,
        place: impl Fn(&T) -> (&WorkspaceId, Option<&ChannelId>),
    ) -> Vec<T> {
        rows.retain(|row| {
            let (workspace, channel) = place(row);
            self.scope.includes(workspace, channel)
        });
        rows
    }
}

fn of_conversation(conversation: &ConversationId) -> (&WorkspaceId, Option<&ChannelId>) {
    (&conversation.workspace, Some(&conversation.channel))
}

/// Declares an archive: first the methods that are written out, then what limits each other one. `all`: nothing. `none`: it is empty. `at`: it
/// is empty unless the scope includes a channel, or without one, the whole workspace. `part`: it is empty unless the
/// scope has any part of the workspace. `rows`: each row of a workspace is of a channel, or of none. `own`: each row has a
/// place of its own. `pages`: so it has, and those in the scope are looked for among all.
macro_rules! limited {
    (
        { $($written:tt)* }
        $($limit:ident($($of:tt)*) $name:ident($($argument:ident: $type:ty),*) -> $answer:ty;)*
    ) => {
        #[async_trait]
        impl Archive for ScopedArchive {
            $($written)*
            $(async fn $name(&self, $($argument: $type),*) -> Result<$answer, StoreError> {
                limited!(@$limit self $name($($argument),*) $($of)*)
            })*
        }
    };
    (@all $this:ident $name:ident($($argument:ident),*)) => { $this.inner.$name($($argument),*).await };
    (@none $this:ident $name:ident($($argument:ident),*)) => { Ok(Default::default()) };
    (@at $this:ident $name:ident($($argument:ident),*) $workspace:expr, $channel:expr) => {
        match $this.scope.includes($workspace, $channel) {
            true => $this.inner.$name($($argument),*).await,
            false => Ok(Default::default()),
        }
    };
    (@part $this:ident $name:ident($($argument:ident),*) $workspace:expr) => {
        match $this.scope.touches($workspace) {
            true => $this.inner.$name($($argument),*).await,
            false => Ok(Default::default()),
        }
    };
    (@rows $this:ident $name:ident($($argument:ident),*) $workspace:expr, $channel:expr) => {
        Ok($this.within($workspace, $this.inner.$name($($argument),*).await?, $channel))
    };
    (@own $this:ident $name:ident($($argument:ident),*) $place:expr) => {
        Ok($this.anywhere($this.inner.$name($($argument),*).await?, $place))
    };
    (@pages $this:ident $name:ident($query:ident $(, $argument:ident)*) $place:expr) => {{
        let (limit, mut all) = ($query.limit, $query.clone());
        all.limit = ALL;
        let mut rows = $this.anywhere($this.inner.$name(&all $(, $argument)*).await?, $place);
        rows.truncate(limit);
        Ok(rows)
    }};
}

limited! {
    {
        fn installation(&self) -> Arc<str> {
            self.inner.installation()
        }

        fn lost_span(&self) -> Option<LostSpan> {
            self.inner.lost_span()
        }

        async fn workspaces(&self) -> Result<Vec<WorkspaceId>, StoreError> {
            let mut known = self.inner.workspaces().await?;
            known.retain(|workspace| self.scope.touches(workspace));
            Ok(known)
        }

        async fn muted_workspaces(&self, now: Timestamp) -> Result<Vec<WorkspaceId>, StoreError> {
            let mut muted = self.inner.muted_workspaces(now).await?;
            muted.retain(|workspace| self.scope.touches(workspace));
            Ok(muted)
        }

        /// A prompt quotes memories and messages of other channels.
        async fn exchanges(&self, id: DecisionId) -> Result<Vec<Option<ModelExchange>>, StoreError> {
            for place in self.scope.places() {
                let query = DecisionQuery::One { workspace: place.workspace.clone(), id };
                if self.decisions(query).await?.is_empty() {
                    continue;
                }
                let found = self.inner.exchanges(id).await?;
                return Ok(match self.scope.includes(&place.workspace, None) {
                    true => found,
                    false => vec![None; found.len()],
                });
            }
            Ok(Vec::new())
        }

        async fn dead_letters(&self, query: &DeadLetterQuery) -> Result<Vec<DeadLetter>, StoreError> {
            let all = DeadLetterQuery { limit: ALL, ..query.clone() };
            let found = self.inner.dead_letters(&all).await?;
            let mut found = self.anywhere(found, |it| of_conversation(&it.conversation));
            found.drain(..found.len().saturating_sub(query.limit));
            Ok(found)
        }

        async fn backlog(&self) -> Result<Backlog, StoreError> {
            let query = DeadLetterQuery { limit: ALL, ..DeadLetterQuery::default() };
            let dead_letters = self.dead_letters(&query).await?.len() as u64;
            Ok(Backlog { dead_letters, ..Backlog::default() })
        }

        /// What is about the installation stands in the local room's journal.
        async fn order_journal(
            &self,
            query: &OrderJournalQuery,
        ) -> Result<Vec<GivenOrder>, StoreError> {
            let all = OrderJournalQuery { limit: ALL, ..query.clone() };
            let mut found = self.inner.order_journal(&all).await?;
            found.retain(|given| {
                let is_here = |id: &ChannelId| self.scope.includes(&given.workspace, Some(id));
                match (given.record.kind, given.channels()) {
                    (OrderKind::SignIn | OrderKind::Reload | OrderKind::ChooseModel, _) => false,
                    (_, Ok(Some(ChannelsRecord { changed, unchanged, .. }))) => {
                        changed.iter().map(|it| &it.channel).chain(&unchanged).all(is_here)
                    }
                    _ => self.scope.includes(&given.workspace, given.record.channel.as_ref()),
                }
            });
            found.truncate(query.limit);
            Ok(found)
        }

        /// The whole of what is in the scope comes in place of the whole workspace.
        async fn spending(
            &self,
            workspace: &WorkspaceId,
            now: Timestamp,
        ) -> Result<Vec<Spending>, StoreError> {
            let found = self.inner.spending(workspace, now).await?;
            if self.scope.includes(workspace, None) {
                return Ok(found);
            }
            let mut found = self.within(workspace, found, |it| it.channel.as_ref());
            let sum = |of: fn(&Spending) -> u64| found.iter().map(of).sum::<u64>();
            let zero = BudgetUsage::default();
            let whole = Spending {
                channel: None,
                spent: found.iter().fold(zero, |sum, it| sum.plus(&it.spent)),
                tokens_in_month: sum(|it| it.tokens_in_month),
                unpriced_tokens_in_day: sum(|it| it.unpriced_tokens_in_day),
                unpriced_tokens_in_month: sum(|it| it.unpriced_tokens_in_month),
            };
            found.insert(0, whole);
            Ok(found)
        }
    }
    all() health() -> ();
    all() size_bytes() -> u64;
    all() last_backup() -> Option<Timestamp>;
    // They are of all places, and do not tell of which.
    none() recent_calls(_limit: usize) -> Vec<RecentCall>;
    none() mark_counts() -> Vec<(Mark, u64)>;
    rows(workspace, |it| Some(&it.id)) channels(workspace: &WorkspaceId) -> Vec<Channel>;
    at(workspace, None) was_forgotten_after(workspace: &WorkspaceId, user: &UserId, at: Timestamp) -> bool;
    at(&conversation.workspace, Some(&conversation.channel))
        answered_in_history(conversation: &ConversationId, messages: &[MessageId]) -> BTreeSet<MessageId>;
    // The users of one channel are not known.
    at(workspace, None) users(workspace: &WorkspaceId) -> Vec<User>;
    // The names of those whom messages show.
    part(workspace) some_users(workspace: &WorkspaceId, ids: &BTreeSet<UserId>) -> Vec<User>;
    own(|it| (&it.workspace, None)) find_users(id_or_name: &str) -> Vec<User>;
    own(|it| (&it.workspace, None)) forgettings() -> Vec<RunningForgetting>;
    at(workspace, None) last_written(
        workspace: &WorkspaceId, users: &BTreeSet<UserId>
    ) -> Vec<(UserId, Visibility, Timestamp)>;
    at(workspace, None) acts(
        workspace: &WorkspaceId, user: &UserId, before: Timestamp
    ) -> Vec<Timestamp>;
    at(workspace, None) person(workspace: &WorkspaceId, user: &UserId, newest: usize) -> PersonTraces;
    at(&query.workspace, Some(&query.channel)) messages(query: MessageQuery) -> Vec<StoredMessage>;
    own(|it| of_conversation(&it.message.conversation))
        messages_by_id(workspace: &WorkspaceId, ids: &[(ChannelId, MessageId)]) -> Vec<StoredMessage>;
    at(&of.conversation.workspace, Some(&of.conversation.channel)) carriers(of: &Deletion) -> Vec<StoredMessage>;
    at(&query.workspace, Some(&query.channel))
        filtered_messages(query: &FilteredMessages) -> Vec<StoredMessage>;
    own(|it| of_conversation(&it.message.conversation))
        messages_since(workspace: &WorkspaceId, revision: u64, limit: usize) -> Vec<StoredMessage>;
    own(|it| of_conversation(&it.conversation)) decisions(query: DecisionQuery) -> Vec<Decision>;
    own(|it| of_conversation(&it.conversation))
        decisions_since(workspace: &WorkspaceId, revision: u64, limit: usize) -> Vec<Decision>;
    at(workspace, Some(channel))
        links(workspace: &WorkspaceId, channel: &ChannelId, messages: &[MessageId]) -> Vec<(MessageId, MessageLinks)>;
    // Of decisions that were found before.
    part(workspace) marks(workspace: &WorkspaceId, decisions: &[DecisionId]) -> Vec<DecisionMark>;
    at(workspace, None) marks_since(workspace: &WorkspaceId, since: Timestamp) -> Vec<DecisionMark>;
    pages(|it| of_conversation(&it.conversation)) proposals(query: &ProposalQuery, now: Timestamp) -> Vec<Proposal>;
    own(|it| of_conversation(&it.conversation)) open_proposals(now: Timestamp) -> Vec<Proposal>;
    rows(workspace, |(channel, _)| Some(channel))
        proposal_labels(workspace: &WorkspaceId, limit: usize) -> Vec<(ChannelId, ProposalLabel)>;
    rows(workspace, |it| Some(&it.channel)) trust_offers(workspace: &WorkspaceId) -> Vec<TrustOffer>;
    pages(|it| of_conversation(&it.conversation)) consents(query: &ConsentQuery, now: Timestamp) -> Vec<Consent>;
    own(|it| of_conversation(&it.conversation)) unsettled_consents() -> Vec<Consent>;
    at(workspace, Some(channel))
        threads_since(workspace: &WorkspaceId, channel: &ChannelId, since: Timestamp) -> Vec<(MessageId, Timestamp)>;
    rows(workspace, |it| Some(&it.channel)) channel_activity(workspace: &WorkspaceId) -> Vec<ChannelActivity>;
    rows(workspace, |it| Some(&it.channel))
        decision_counts(workspace: &WorkspaceId, since: Timestamp) -> Vec<DecisionCount>;
    rows(&period.workspace, |it| Some(&it.channel)) messages_by_day(period: &WorkspacePeriod) -> Vec<MessageCount>;
    rows(&period.workspace, |it| Some(&it.channel)) outcomes_by_day(period: &WorkspacePeriod) -> Vec<OutcomeCount>;
    rows(&period.workspace, |it| it.channel.as_ref()) calls_by_day(period: &WorkspacePeriod) -> Vec<CallSum>;
    rows(&period.workspace, |it| Some(&it.channel)) answer_delays(period: &WorkspacePeriod) -> Vec<AnswerDelay>;
    rows(&period.workspace, |it| Some(&it.channel)) reactions_by_day(period: &WorkspacePeriod) -> Vec<ReactionCount>;
    rows(&period.workspace, |it| Some(&it.channel)) open_questions(period: &WorkspacePeriod) -> Vec<UnansweredQuestion>;
    rows(&period.workspace, |it| Some(&it.channel)) aftermaths(period: &WorkspacePeriod) -> Vec<ChoiceAftermath>;
    part(&period.workspace) changed_days(period: &WorkspacePeriod, revision: u64) -> Vec<Day>;
    rows(workspace, |it| it.channel.as_ref())
        failed_calls(workspace: &WorkspaceId, since: Timestamp) -> Vec<FailedCalls>;
    rows(workspace, |it| it.key.channel())
        pending_memories(workspace: &WorkspaceId, limit: usize) -> Vec<PendingMemory>;
    pages(|it| (&it.read.workspace, Some(&it.read.channel)))
        private_reads(query: &PrivateReadQuery) -> Vec<PrivateReads>;
    rows(workspace, |it| Some(&it.conversation.channel)) plans(workspace: &WorkspaceId) -> Vec<Plan>;
    at(workspace, Some(channel))
        plans_of_message(workspace: &WorkspaceId, channel: &ChannelId, message: &MessageId) -> Vec<Plan>;
    rows(workspace, |it| it.scope.channel()) standing_orders(workspace: &WorkspaceId) -> Vec<StandingOrder>;
    rows(workspace, |(it, _)| Some(&it.channel)) resets(workspace: &WorkspaceId) -> Vec<(ConversationId, Timestamp)>;
    at(&key.workspace, key.channel()) memory_versions(key: &MemoryKey) -> Vec<Memory>;
    at(workspace, Some(channel))
        thread_memories(workspace: &WorkspaceId, channel: &ChannelId, limit: usize) -> Vec<Memory>;
    rows(workspace, |(_, memo)| Some(&memo.channel)) all_memos(workspace: &WorkspaceId) -> Vec<(MemoryId, Memo)>;
    rows(workspace, |(_, memo)| Some(&memo.channel))
        memo_versions(workspace: &WorkspaceId, versions: &[MemoryId]) -> Vec<(MemoryId, Memo)>;
    at(workspace, channel) memory_journal(
        workspace: &WorkspaceId, channel: Option<&ChannelId>, before: Option<i64>, limit: usize
    ) -> Vec<JournalEntry>;
    own(|it| of_conversation(it.work.conversation())) pending_steps(workspace: &WorkspaceId) -> Vec<Step>;
}

#[cfg(test)]
mod tests {
    /// The default of a method of the archive is a failure.
    #[test]
    fn every_method_says_where_what_it_returns_belongs() {
        let archive = include_str!("../../aizuchi-store/src/archive.rs");
        let own = include_str!("scoped_archive.rs");
        let names = archive.split("fn ").skip(1).filter_map(|rest| rest.split(['(', '<']).next());
        let names: Vec<&str> = names.collect();
        assert!(names.len() > 50, "{names:?}");
        // These call other methods of the archive.
        let missing = names.into_iter().filter(|name| !["consent", "message"].contains(name));
        let missing: Vec<_> = missing.filter(|name| !own.contains(&format!(" {name}("))).collect();
        assert_eq!(missing, Vec::<&str>::new());
    }
}
