//! The ledger, in memory: how its decisions are opened, retired and read, what followed them, and how their texts are
//! forgotten.

use std::collections::{BTreeSet, HashMap};

use aizuchi_model::chat::{AuthorKind, ConversationId, MessageId};
use aizuchi_model::decision::{AttemptResult, Decision, DecisionFollowUp, DecisionId, FirstReply};
use aizuchi_model::flow::DeadLetter;
use aizuchi_model::memory::MessageRef;
use jiff::Timestamp;

use crate::query::{DecisionQuery, MessageFilter, MessageQuery, MessageRange};
use crate::volatile::VolatileState;
use crate::volatile::records::{ExchangeRecord, MessageRecord};

impl VolatileState {
    pub(super) fn open_decision(
        &mut self,
        id: DecisionId,
        conversation: &ConversationId,
        addressed: bool,
        at: Timestamp,
    ) {
        self.last_number = self.last_number.max(id.0);
        let decision = Decision {
            id,
            conversation: conversation.clone(),
            opened: at,
            closed: None,
            messages: Vec::new(),
            is_addressed: addressed,
            evaluation: None,
            gate: None,
            judgment: None,
            state_hash: None,
            ended: None,
            why: None,
            is_expired: false,
            posted_messages: Vec::new(),
            reaction: None,
            follow_up: DecisionFollowUp::default(),
            attempts: Vec::new(),
            revision: self.revision,
        };
        self.decisions.insert(id, decision);
    }

    pub(super) fn query_decisions(&self, query: DecisionQuery) -> Vec<Decision> {
        let ledger = self.ledger();
        match query {
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
            DecisionQuery::Filtered {
                workspace,
                channel,
                ended,
                gate,
                messages,
                before,
                limit,
            } => {
                let all = MessageQuery {
                    workspace: workspace.clone(),
                    channel: channel.clone(),
                    thread: None,
                    range: MessageRange::Newest,
                    limit: usize::MAX,
                };
                let wanted = self.query_messages(&all).into_iter();
                let wanted = wanted.filter(|stored| messages.has(stored));
                let wanted: BTreeSet<MessageId> =
                    wanted.map(|stored| stored.message.id.clone()).collect();
                let has_filter = messages != MessageFilter::default();
                let is_it = |row: &Decision| {
                    row.conversation.workspace == workspace
                        && row.conversation.channel == channel
                        && ended.is_none_or(|wanted| wanted.has(row))
                        && gate.is_none_or(|wanted| row.gate == Some(wanted))
                        && before.is_none_or(|before| row.id < before)
                        && (!has_filter
                            || row
                                .messages
                                .iter()
                                .chain(&row.posted_messages)
                                .any(|message| wanted.contains(message)))
                };
                let mut rows: Vec<Decision> = ledger.into_iter().filter(is_it).collect();
                rows.drain(..rows.len().saturating_sub(limit));
                rows
            }
            DecisionQuery::Feed { workspace, channel, ended, gate, since, before, limit } => {
                let is_it = |row: &Decision| {
                    row.conversation.workspace == workspace
                        && channel.as_ref().is_none_or(|only| row.conversation.channel == *only)
                        && ended.iter().any(|wanted| wanted.has(row))
                        && gate.is_none_or(|wanted| row.gate == Some(wanted))
                        && row.opened >= since
                        && before.is_none_or(|before| (row.opened, row.id) < before)
                };
                let mut rows: Vec<Decision> = ledger.into_iter().filter(is_it).collect();
                rows.sort_by_key(|row| (row.opened, row.id));
                rows.drain(..rows.len().saturating_sub(limit));
                rows
            }
            DecisionQuery::Since { workspace, channel, since } => {
                let is_it = |row: &Decision| {
                    row.conversation.workspace == workspace
                        && row.conversation.channel == channel
                        && row.opened >= since
                };
                ledger.into_iter().filter(is_it).collect()
            }
            DecisionQuery::Message { workspace, message } => {
                let concerns = |row: &Decision| {
                    row.messages.contains(&message) || row.posted_messages.contains(&message)
                };
                let rows = ledger.into_iter().filter(|row| row.conversation.workspace == workspace);
                rows.filter(concerns).collect()
            }
        }
    }

    pub(super) fn ledger(&self) -> Vec<Decision> {
        let mut covered: HashMap<DecisionId, Vec<MessageId>> = HashMap::new();
        for message in self.conversations.values().flat_map(|record| &record.messages) {
            if let Some(decision) = message.decision {
                covered.entry(decision).or_default().push(message.message.id.clone());
            }
        }
        let rows = self.decisions.values().cloned().map(|row| {
            let messages = covered.remove(&row.id).unwrap_or_default();
            let follow_up = self.outcome_of(&row, &messages);
            Decision { messages, follow_up, ..row }
        });
        rows.collect()
    }

    /// What happened after a decision was closed.
    fn outcome_of(&self, row: &Decision, covered: &[MessageId]) -> DecisionFollowUp {
        let first_reply = || {
            row.closed?;
            let record = self.conversations.get(&row.conversation)?;
            let is_covered = |message: &&MessageRecord| covered.contains(&message.message.id);
            let newest = &record.messages.iter().rfind(is_covered)?.message;
            let thread = Some(newest.id.clone());
            let thread_record =
                self.conversations.get(&ConversationId { thread, ..row.conversation.clone() });
            let messages = record
                .messages
                .iter()
                .chain(thread_record.into_iter().flat_map(|record| &record.messages));
            let replies = messages.filter(|message| {
                message.message.is_human()
                    && message.message.author.id != newest.author.id
                    && message.message.at >= newest.at
                    && !message.is_deleted
                    && message.decision != Some(row.id)
            });
            let first =
                replies.min_by_key(|message| (message.message.at, message.message.id.clone()))?;
            let delay = first.message.at.duration_since(newest.at);
            Some(FirstReply { message: first.message.id.clone(), delay })
        };
        let posts =
            self.conversations.values().flat_map(|record| &record.messages).filter(|message| {
                let conversation = &message.message.conversation;
                row.posted_messages.contains(&message.message.id)
                    && conversation.workspace == row.conversation.workspace
                    && conversation.channel == row.conversation.channel
            });
        let reactions = posts.flat_map(|message| &message.reactions);
        let reactions = reactions
            .filter(|reaction| reaction.removed.is_none() && reaction.kind == AuthorKind::Human)
            .count();
        DecisionFollowUp { first_reply: first_reply(), reactions: reactions as u64 }
    }

    /// Removes an edited or deleted message from prompts, from what models wrote about it, and from dead letters.
    pub(super) fn forget_exchanges(&mut self, conversation: &ConversationId, message: &MessageId) {
        let message_ref = MessageRef(conversation.channel.clone(), message.clone());
        // A prompt may hold messages of other channels.
        let is_same_workspace = |other: &ConversationId| other.workspace == conversation.workspace;
        let covering_decision =
            self.message_mut(conversation, message).and_then(|record| record.decision);
        let mut forgotten = Vec::new();
        let revision = self.revision;
        for (id, decision) in &mut self.decisions {
            let exchanges = self.exchanges.get_mut(id).map_or(&mut [][..], Vec::as_mut_slice);
            let is_held = |record: &Option<ExchangeRecord>| {
                record
                    .as_ref()
                    .is_some_and(|record| record.exchange.lineage.messages.contains(&message_ref))
            };
            let has_held =
                is_same_workspace(&decision.conversation) && exchanges.iter().any(is_held);
            if has_held || covering_decision == Some(*id) {
                forget_reasons(decision, revision);
                forgotten.push(*id);
            }
            if has_held {
                let held = exchanges.iter_mut().filter(|record| is_held(record)).flatten();
                held.for_each(ExchangeRecord::clear_text);
            }
        }
        self.erase_dead_letters(|letter| {
            letter.decision.is_some_and(|decision| forgotten.contains(&decision))
        });
    }

    /// Erases the texts of dead letters.
    pub(super) fn erase_dead_letters(&mut self, is_erased: impl Fn(&DeadLetter) -> bool) {
        let erased = self.dead_letters.iter_mut().filter(|letter| is_erased(letter));
        erased.for_each(|letter| letter.text = None);
    }
}

/// Keeps a decision's judgments and drafts in the ledger with this result, since they no longer count.
pub(super) fn retire(decision: &mut Decision, result: AttemptResult) {
    (decision.judgment, decision.state_hash) = (None, None);
    for attempt in &mut decision.attempts {
        if attempt.result == AttemptResult::Kept {
            attempt.result = result;
        }
    }
}

/// Erases the reasons of models, which may quote messages.
pub(super) fn forget_reasons(decision: &mut Decision, revision: u64) {
    let attempts = decision.attempts.iter_mut().filter_map(|attempt| attempt.judgment.as_mut());
    attempts.for_each(|judgment| judgment.reason.clear());
    if let Some(judgment) = &mut decision.judgment {
        judgment.reason.clear();
        decision.why = None;
        decision.revision = revision;
    }
}
