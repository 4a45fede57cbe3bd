//! How pages and tests look into a volatile store.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use async_trait::async_trait;
use jiff::Timestamp;

use crate::chat::{
    AuthorKind, Channel, ChannelId, ConversationId, Cursor, MessageId, Role, User, UserId,
    WorkspaceId,
};
use crate::decision::{Decision, DecisionFollowUp, DecisionId, FirstReply, ModelExchange};
use crate::event::DeadLetter;
use crate::event::step::Step;
use crate::store::volatile::{
    ExchangeRecord, MessageRecord, ReactionRecord, VolatileState, VolatileStore,
};
use crate::store::{
    Archive, Backlog, DecisionQuery, MessageQuery, MessageRange, ReactionGroup, Spending,
    StoreError, StoredMessage,
};

#[async_trait]
impl Archive for VolatileStore {
    async fn channels(&self, workspace: &WorkspaceId) -> Result<Vec<Channel>, StoreError> {
        let state = self.lock();
        Ok(state
            .channels
            .values()
            .filter(|channel| channel.workspace == *workspace)
            .cloned()
            .collect())
    }

    async fn messages(&self, query: MessageQuery) -> Result<Vec<StoredMessage>, StoreError> {
        Ok(self.lock().query_messages(&query))
    }

    async fn message(
        &self,
        workspace: &WorkspaceId,
        channel: &ChannelId,
        id: &MessageId,
    ) -> Result<Option<StoredMessage>, StoreError> {
        let state = self.lock();
        let conversation =
            state.conversation_of.get(&(workspace.clone(), channel.clone(), id.clone()));
        let talk = conversation.and_then(|conversation| state.conversations.get(conversation));
        let line = talk.and_then(|talk| talk.messages.iter().find(|line| line.message.id == *id));
        Ok(line.map(|line| state.to_stored_message(line)))
    }

    async fn threads_since(
        &self,
        workspace: &WorkspaceId,
        channel: &ChannelId,
        since: Timestamp,
    ) -> Result<Vec<(MessageId, Timestamp)>, StoreError> {
        let state = self.lock();
        let here = state.conversations.iter().filter(|(conversation, _)| {
            conversation.workspace == *workspace && conversation.channel == *channel
        });
        let threads = here.filter_map(|(conversation, talk)| {
            let newest = talk.messages.last().filter(|line| line.message.at >= since)?;
            Some((conversation.thread.clone()?, newest.message.at))
        });
        let mut threads: Vec<_> = threads.collect();
        threads.sort_by(|(one, at), (other, then)| (at, one).cmp(&(then, other)));
        Ok(threads)
    }

    async fn cursors(&self, workspace: &WorkspaceId) -> Result<Vec<Cursor>, StoreError> {
        let state = self.lock();
        let here = state.cursors.iter().filter(|((home, _), _)| home == workspace);
        let bookmark = |((home, place), value): (&(WorkspaceId, Arc<str>), &Arc<str>)| Cursor {
            workspace: home.clone(),
            stream: place.clone(),
            value: value.clone(),
        };
        Ok(here.map(bookmark).collect())
    }

    async fn messages_since(
        &self,
        workspace: &WorkspaceId,
        revision: u64,
        limit: usize,
    ) -> Result<Vec<StoredMessage>, StoreError> {
        let state = self.lock();
        let talks = state
            .conversations
            .iter()
            .filter(|(conversation, _)| conversation.workspace == *workspace);
        let lines = talks.flat_map(|(_, talk)| &talk.messages);
        let mut lines: Vec<&MessageRecord> =
            lines.filter(|line| line.shown_revision() > revision).collect();
        lines.sort_by_key(|line| line.shown_revision());
        Ok(lines.into_iter().take(limit).map(|line| state.to_stored_message(line)).collect())
    }

    async fn decisions(&self, query: DecisionQuery) -> Result<Vec<Decision>, StoreError> {
        let ledger = self.lock().ledger();
        Ok(match query {
            DecisionQuery::One { workspace, id } => {
                let is_it =
                    |row: &Decision| row.id == id && row.conversation.workspace == workspace;
                ledger.into_iter().filter(is_it).collect()
            }
            DecisionQuery::Messages { workspace, channel, messages } => {
                let is_it = |row: &Decision| {
                    let mut own = row.messages.iter().chain(&row.posted_messages);
                    row.conversation.workspace == workspace
                        && row.conversation.channel == channel
                        && own.any(|message| messages.contains(message))
                };
                ledger.into_iter().filter(is_it).collect()
            }
            DecisionQuery::Channel { workspace, channel, limit } => {
                let is_here = |row: &Decision| {
                    row.conversation.workspace == workspace && row.conversation.channel == channel
                };
                let mut rows: Vec<Decision> = ledger.into_iter().filter(is_here).collect();
                rows.drain(..rows.len().saturating_sub(limit));
                rows
            }
            DecisionQuery::Message { workspace, message } => {
                let concerns = |row: &Decision| {
                    row.messages.contains(&message) || row.posted_messages.contains(&message)
                };
                let rows = ledger.into_iter().filter(|row| row.conversation.workspace == workspace);
                rows.filter(concerns).collect()
            }
        })
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

    async fn health(&self) -> Result<(), StoreError> {
        Ok(())
    }

    async fn exchanges(
        &self,
        decision: DecisionId,
    ) -> Result<Vec<Option<ModelExchange>>, StoreError> {
        let state = self.lock();
        let kept = state.exchanges.get(&decision).map_or(&[][..], Vec::as_slice);
        let exchange = |kept: &Option<ExchangeRecord>| {
            let kept = kept.as_ref().filter(|kept| !kept.exchange.prompt.is_empty())?;
            let mut exchange = (*kept.exchange).clone();
            exchange.lineage.messages.sort();
            exchange.lineage.messages.dedup();
            exchange.lineage.memories.sort();
            Some(ModelExchange { seen_revision: 0, ..exchange })
        };
        Ok(kept.iter().map(exchange).collect())
    }

    async fn dead_letters(&self) -> Result<Vec<DeadLetter>, StoreError> {
        Ok(self.lock().dead_letters.clone())
    }

    async fn backlog(&self) -> Result<Backlog, StoreError> {
        let state = self.lock();
        let mut pending = BTreeMap::new();
        for step in state.conversations.values().filter_map(|talk| talk.pending.step.as_ref()) {
            *pending.entry(step.event.verb().to_owned()).or_insert(0) += 1;
        }
        let dead_letters = state.dead_letters.len() as u64;
        Ok(Backlog { pending: pending.into_iter().collect(), dead_letters })
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

impl VolatileState {
    fn query_messages(&self, query: &MessageQuery) -> Vec<StoredMessage> {
        let talks = self.conversations.iter().filter(|(conversation, _)| {
            conversation.workspace == query.workspace
                && conversation.channel == query.channel
                && query
                    .thread
                    .as_ref()
                    .is_none_or(|thread| Some(thread) == conversation.thread.as_ref())
        });
        let key = |line: &MessageRecord| (line.message.at, line.message.id.clone());
        let mut lines: Vec<&MessageRecord> = talks.flat_map(|(_, talk)| &talk.messages).collect();
        lines.sort_by_key(|line| key(line));
        let place = |id: &MessageId| {
            lines.iter().position(|line| line.message.id == *id).unwrap_or(lines.len())
        };
        let span = match &query.range {
            MessageRange::Newest => lines.len().saturating_sub(query.limit)..lines.len(),
            MessageRange::Before(id) => place(id).saturating_sub(query.limit)..place(id),
            MessageRange::After(id) => (place(id) + 1).min(lines.len())..lines.len(),
            MessageRange::AfterTime(time) => {
                lines.partition_point(|line| line.message.at <= *time)..lines.len()
            }
        };
        lines[span].iter().take(query.limit).map(|line| self.to_stored_message(line)).collect()
    }

    fn to_stored_message(&self, line: &MessageRecord) -> StoredMessage {
        let workspace = &line.message.conversation.workspace;
        let mut standing: Vec<&ReactionRecord> =
            line.reactions.iter().filter(|kept| kept.removed.is_none()).collect();
        standing.sort_by_key(|kept| (kept.at, &kept.emoji, &kept.user));
        let reactions = standing.into_iter().map(|kept| {
            let (id, name) = (kept.user.clone(), self.user_name(workspace, &kept.user));
            let user = User {
                workspace: workspace.clone(),
                id,
                name,
                kind: kept.kind,
                role: Role::default(),
            };
            (kept.emoji.clone(), user)
        });
        StoredMessage {
            message: line.message.clone(),
            author_name: self.user_name(workspace, &line.message.author.id),
            is_deleted: line.is_deleted,
            gate: line.gate,
            reactions: ReactionGroup::group(reactions),
            revision: line.shown_revision(),
        }
    }

    /// What happened after a decision had closed.
    fn outcome_of(&self, row: &Decision, covered: &[MessageId]) -> DecisionFollowUp {
        let answered = || {
            row.closed?;
            let talk = self.conversations.get(&row.conversation)?;
            let is_covered = |line: &&MessageRecord| covered.contains(&line.message.id);
            let newest = &talk.messages.iter().rfind(is_covered)?.message;
            let thread = Some(newest.id.clone());
            let below =
                self.conversations.get(&ConversationId { thread, ..row.conversation.clone() });
            let lines =
                talk.messages.iter().chain(below.into_iter().flat_map(|talk| &talk.messages));
            let answers = lines.filter(|line| {
                line.message.is_human()
                    && line.message.author.id != newest.author.id
                    && line.message.at >= newest.at
                    && !line.is_deleted
                    && line.decision != Some(row.id)
            });
            let first = answers.min_by_key(|line| (line.message.at, line.message.id.clone()))?;
            let after = first.message.at.duration_since(newest.at);
            Some(FirstReply { message: first.message.id.clone(), delay: after })
        };
        let said = self.conversations.values().flat_map(|talk| &talk.messages).filter(|line| {
            let place = &line.message.conversation;
            row.posted_messages.contains(&line.message.id)
                && place.workspace == row.conversation.workspace
                && place.channel == row.conversation.channel
        });
        let reactions = said.flat_map(|line| &line.reactions);
        let reactions = reactions
            .filter(|kept| kept.removed.is_none() && kept.kind == AuthorKind::Human)
            .count();
        DecisionFollowUp { first_reply: answered(), reactions: reactions as u64 }
    }

    /// The name of a user, or the id where none is known.
    fn user_name(&self, workspace: &WorkspaceId, user: &UserId) -> Arc<str> {
        let known = self.users.get(&(workspace.clone(), user.clone()));
        known.map_or(user.0.clone(), |user| user.name.clone())
    }

    fn ledger(&self) -> Vec<Decision> {
        let mut covered: HashMap<DecisionId, Vec<MessageId>> = HashMap::new();
        for line in self.conversations.values().flat_map(|talk| &talk.messages) {
            if let Some(decision) = line.decision {
                covered.entry(decision).or_default().push(line.message.id.clone());
            }
        }
        let rows = self.decisions.values().cloned().map(|row| {
            let messages = covered.remove(&row.id).unwrap_or_default();
            let next = self.outcome_of(&row, &messages);
            Decision { messages, follow_up: next, ..row }
        });
        rows.collect()
    }
}

impl MessageRecord {
    /// The revision at which what is seen of it changed last.
    fn shown_revision(&self) -> u64 {
        self.revision.max(self.reactions_revision)
    }
}
