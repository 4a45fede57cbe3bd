//! The read side of the store in memory. In a replay the inbox, commands and the agent read through it, and so do the
//! tests that run on all stores.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use aizuchi_model::chat::{
    Channel, ChannelId, ConversationId, Deletion, MessageId, User, UserId, WorkspaceId,
};
use aizuchi_model::context::links::MessageLinks;
use aizuchi_model::decision::consent::Consent;
use aizuchi_model::decision::{Decision, DecisionId, ModelExchange};
use aizuchi_model::flow::DeadLetter;
use aizuchi_model::flow::step::Step;
use async_trait::async_trait;
use jiff::Timestamp;

use crate::archive::Archive;
use crate::order_journal::{GivenOrder, OrderJournalQuery};
use crate::query::{DeadLetterQuery, DecisionQuery, MessageQuery};
use crate::stored_message::StoredMessage;
use crate::volatile::VolatileStore;
use crate::volatile::records::{ExchangeRecord, MessageRecord};
use crate::{Backlog, ChannelActivity, Spending, StoreError};

#[async_trait]
impl Archive for VolatileStore {
    async fn workspaces(&self) -> Result<Vec<WorkspaceId>, StoreError> {
        let state = self.lock();
        let mut workspaces: Vec<_> =
            state.conversations.keys().map(|conversation| conversation.workspace.clone()).collect();
        workspaces.sort();
        workspaces.dedup();
        Ok(workspaces)
    }

    async fn channels(&self, workspace: &WorkspaceId) -> Result<Vec<Channel>, StoreError> {
        let state = self.lock();
        Ok(state
            .channels
            .values()
            .filter(|channel| channel.workspace == *workspace)
            .cloned()
            .collect())
    }

    async fn was_forgotten_after(
        &self,
        _workspace: &WorkspaceId,
        _user: &UserId,
        _at: Timestamp,
    ) -> Result<bool, StoreError> {
        Ok(false)
    }

    async fn answered_in_history(
        &self,
        conversation: &ConversationId,
        messages: &[MessageId],
    ) -> Result<BTreeSet<MessageId>, StoreError> {
        Ok(self.lock().answered_in_history(conversation, messages))
    }

    async fn messages(&self, query: MessageQuery) -> Result<Vec<StoredMessage>, StoreError> {
        Ok(self.lock().query_messages(&query))
    }

    async fn messages_by_id(
        &self,
        workspace: &WorkspaceId,
        ids: &[(ChannelId, MessageId)],
    ) -> Result<Vec<StoredMessage>, StoreError> {
        let state = self.lock();
        let stored = |(channel, id): &(ChannelId, MessageId)| {
            let place = (workspace.clone(), channel.clone(), id.clone());
            let record = state.conversations.get(state.conversation_of.get(&place)?)?;
            let message = record.messages.iter().find(|message| message.message.id == *id)?;
            Some(state.to_stored_message(message))
        };
        Ok(ids.iter().filter_map(stored).collect())
    }

    async fn carriers(&self, of: &Deletion) -> Result<Vec<StoredMessage>, StoreError> {
        let ConversationId { workspace, channel, .. } = &of.conversation;
        let (state, carried) = (self.lock(), Some((channel.clone(), of.message.clone())));
        let carries = |it: &&MessageRecord| it.message.quoted().any(|it| it.message == carried);
        let here = state.conversations.iter().filter(|(at, _)| at.workspace == *workspace);
        let carriers = here.flat_map(|(_, record)| record.messages.iter().filter(carries));
        Ok(carriers.map(|record| state.to_stored_message(record)).collect())
    }

    async fn unsettled_consents(&self) -> Result<Vec<Consent>, StoreError> {
        Ok(Vec::new())
    }

    async fn messages_since(
        &self,
        workspace: &WorkspaceId,
        revision: u64,
        limit: usize,
    ) -> Result<Vec<StoredMessage>, StoreError> {
        let state = self.lock();
        let conversations = state
            .conversations
            .iter()
            .filter(|(conversation, _)| conversation.workspace == *workspace);
        let messages = conversations.flat_map(|(_, record)| &record.messages);
        let mut messages: Vec<&MessageRecord> =
            messages.filter(|message| message.shown_revision() > revision).collect();
        messages.sort_by_key(|message| message.shown_revision());
        Ok(messages
            .into_iter()
            .take(limit)
            .map(|message| state.to_stored_message(message))
            .collect())
    }

    async fn decisions(&self, query: DecisionQuery) -> Result<Vec<Decision>, StoreError> {
        Ok(self.lock().query_decisions(query))
    }

    async fn decisions_since(
        &self,
        workspace: &WorkspaceId,
        revision: u64,
        limit: usize,
    ) -> Result<Vec<Decision>, StoreError> {
        let mut rows = self.lock().ledger();
        rows.retain(|row| row.conversation.workspace == *workspace && row.revision > revision);
        rows.sort_by_key(|row| row.revision);
        rows.truncate(limit);
        Ok(rows)
    }

    fn installation(&self) -> Arc<str> {
        self.lock().installation.clone()
    }

    async fn users(&self, workspace: &WorkspaceId) -> Result<Vec<User>, StoreError> {
        let state = self.lock();
        let mut users: Vec<User> =
            state.users.values().filter(|user| user.workspace == *workspace).cloned().collect();
        users.sort_by(|a, b| a.id.cmp(&b.id));
        Ok(users)
    }

    async fn some_users(
        &self,
        workspace: &WorkspaceId,
        ids: &BTreeSet<UserId>,
    ) -> Result<Vec<User>, StoreError> {
        let mut users = self.users(workspace).await?;
        users.retain(|user| ids.contains(&user.id));
        Ok(users)
    }

    async fn health(&self) -> Result<(), StoreError> {
        Ok(())
    }

    async fn exchanges(
        &self,
        decision: DecisionId,
    ) -> Result<Vec<Option<ModelExchange>>, StoreError> {
        let state = self.lock();
        let records = state.exchanges.get(&decision).map_or(&[][..], Vec::as_slice);
        let exchange = |record: &Option<ExchangeRecord>| {
            let record = record.as_ref().filter(|record| !record.exchange.prompt.is_empty())?;
            let mut exchange = (*record.exchange).clone();
            exchange.lineage.messages.sort();
            exchange.lineage.messages.dedup();
            Some(ModelExchange { seen_revision: None, ..exchange })
        };
        Ok(records.iter().map(exchange).collect())
    }

    async fn dead_letters(&self, query: &DeadLetterQuery) -> Result<Vec<DeadLetter>, StoreError> {
        let mut letters = self.lock().dead_letters.clone();
        letters.retain(|letter| {
            let workspace = &letter.conversation.workspace;
            query.workspace.as_ref().is_none_or(|wanted| wanted == workspace)
                && query.before.is_none_or(|before| letter.id < before)
        });
        letters.drain(..letters.len().saturating_sub(query.limit));
        Ok(letters)
    }

    async fn backlog(&self) -> Result<Backlog, StoreError> {
        let state = self.lock();
        let mut pending = BTreeMap::new();
        for step in state.conversations.values().filter_map(|record| record.pending.step.as_ref()) {
            *pending.entry(step.work.verb().to_owned()).or_insert(0) += 1;
        }
        let dead_letters = state.dead_letters.len() as u64;
        let owed = state.conversations.values().flat_map(|record| &record.pending.owed);
        let oldest_owed = owed.map(|owed| owed.at).min();
        Ok(Backlog { pending: pending.into_iter().collect(), dead_letters, oldest_owed })
    }

    async fn channel_activity(
        &self,
        workspace: &WorkspaceId,
    ) -> Result<Vec<ChannelActivity>, StoreError> {
        let state = self.lock();
        let channels = state.channels.values().filter(|channel| channel.workspace == *workspace);
        Ok(channels.map(|channel| state.activity_of(channel)).collect())
    }

    async fn links(
        &self,
        workspace: &WorkspaceId,
        channel: &ChannelId,
        messages: &[MessageId],
    ) -> Result<Vec<(MessageId, MessageLinks)>, StoreError> {
        let state = self.lock();
        let wanted: BTreeSet<&MessageId> = messages.iter().collect();
        let links = wanted.into_iter().filter_map(|id| {
            let key = (workspace.clone(), channel.clone(), id.clone());
            let conversation = state.conversations.get(state.conversation_of.get(&key)?)?;
            let record = conversation.messages.iter().find(|record| record.message.id == *id)?;
            let links = record.links.as_ref().filter(|links| links.source.is_current())?;
            Some((id.clone(), (**links).clone()))
        });
        Ok(links.collect())
    }

    async fn order_journal(
        &self,
        query: &OrderJournalQuery,
    ) -> Result<Vec<GivenOrder>, StoreError> {
        Ok(self.lock().order_journal(query))
    }

    async fn pending_steps(&self, workspace: &WorkspaceId) -> Result<Vec<Step>, StoreError> {
        let state = self.lock();
        let pending =
            state.ready.iter().filter(|(_, conversation)| conversation.workspace == *workspace);
        Ok(pending
            .filter_map(|(_, conversation)| {
                state.conversations.get(conversation)?.pending.step.clone()
            })
            .collect())
    }

    async fn spending(
        &self,
        workspace: &WorkspaceId,
        now: Timestamp,
    ) -> Result<Vec<Spending>, StoreError> {
        Ok(self.lock().spending(workspace, now))
    }
}
