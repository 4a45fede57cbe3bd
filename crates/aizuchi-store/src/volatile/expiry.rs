//! Erases messages past their retention, in the same steps as the databases, whose results are compared with these.

use std::cmp::Ordering;
use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

use aizuchi_model::chat::{ConversationId, Message, MessageId};
use aizuchi_model::decision::{Decision, DecisionId};
use aizuchi_model::event::{Event, OutboxItem, OutboxItemId};
use aizuchi_model::memory::MessageRef;
use jiff::Timestamp;

use crate::expiry::{self, ExpiredMessages, Expiry, ExpiryProgress};
use crate::volatile::VolatileState;
use crate::volatile::records::ExchangeRecord;

/// A message that has expired.
type Expired = (ConversationId, MessageId);

impl VolatileState {
    pub(super) fn expire_next(&mut self, expiry: Expiry) -> ExpiryProgress {
        let page = self.expired_page(expiry.before);
        if page.is_empty() {
            return self.expire_old_decisions(expiry.before);
        }
        self.empty_prompts(&page);
        let (closed, open): (Vec<_>, Vec<_>) =
            self.decisions_on(&page).into_iter().partition(|id| self.is_closed(*id));
        let closed = closed.into_iter().filter(|id| !self.decisions[id].is_expired);
        let closed: Vec<DecisionId> = closed.take(expiry::DECISIONS).collect();
        if !closed.is_empty() {
            self.expire_decisions(&closed);
            return ExpiryProgress::Working(ExpiredMessages::default());
        }
        for (conversation, message) in &page {
            self.expire_message(conversation, message, expiry.now);
        }
        self.expire_reasons(&open);
        self.expire_drafts(&open);
        let workspaces: BTreeSet<_> =
            page.iter().map(|(conversation, _)| conversation.workspace.clone()).collect();
        let workspaces = workspaces.into_iter().collect();
        ExpiryProgress::Working(ExpiredMessages { count: page.len(), workspaces })
    }

    /// The next page of the oldest messages.
    fn expired_page(&self, before: Timestamp) -> Vec<Expired> {
        let records = self.conversations.values().flat_map(|record| &record.messages);
        let mut expired: Vec<&Arc<Message>> = records
            .filter(|record| !record.is_deleted && is_before(record.message.at, before))
            .map(|record| &record.message)
            .collect();
        expired.sort_by(|one, other| in_order(one, other));
        let Some(_) = expired.first() else { return Vec::new() };
        let lengths = expired
            .iter()
            .map(|message| expiry::length(&message.text, self.upload_bytes_of(message)));
        let count = expiry::count_at_once(lengths);
        expired.truncate(count);
        let key = |message: &Arc<Message>| (message.conversation.clone(), message.id.clone());
        expired.into_iter().map(key).collect()
    }

    fn is_closed(&self, id: DecisionId) -> bool {
        self.decisions.get(&id).is_some_and(|decision| decision.closed.is_some())
    }

    /// The decisions that cover one of these messages, or whose prompts held one.
    fn decisions_on(&mut self, page: &[Expired]) -> BTreeSet<DecisionId> {
        let mut found = BTreeSet::new();
        for (conversation, message) in page {
            let covering =
                self.message_mut(conversation, message).and_then(|record| record.decision);
            found.extend(covering.filter(|id| self.decisions.contains_key(id)));
        }
        let has_held = |(id, records): (&DecisionId, &Vec<Option<ExchangeRecord>>)| {
            let workspace = &self.decisions.get(id)?.conversation.workspace;
            let held: HashSet<MessageRef> = page
                .iter()
                .filter(|(conversation, _)| conversation.workspace == *workspace)
                .map(message_ref)
                .collect();
            records.iter().flatten().any(|record| record.holds(&held)).then_some(*id)
        };
        found.extend(self.exchanges.iter().filter_map(has_held));
        found
    }

    fn empty_prompts(&mut self, page: &[Expired]) {
        for (id, records) in &mut self.exchanges {
            let Some(decision) = self.decisions.get(id) else { continue };
            let workspace = &decision.conversation.workspace;
            let held: HashSet<MessageRef> = page
                .iter()
                .filter(|(conversation, _)| conversation.workspace == *workspace)
                .map(message_ref)
                .collect();
            let holding = records.iter_mut().flatten().filter(|record| record.holds(&held));
            holding.for_each(ExchangeRecord::clear_text);
        }
    }

    fn expire_message(
        &mut self,
        conversation: &ConversationId,
        message: &MessageId,
        now: Timestamp,
    ) {
        self.revision += 1;
        let revision = self.revision;
        let Some(record) = self.message_mut(conversation, message) else { return };
        (record.is_deleted, record.is_expired) = (true, true);
        record.reactions.clear();
        record.revision = revision;
        let erased = record.message.erased();
        record.message = Arc::new(erased);
        self.last_change = revision;
        self.drop_search_index(&conversation.workspace, &conversation.channel);
        self.drop_outdated_links(conversation, message);
        self.change_pending_state(conversation, now, |pending_state| {
            pending_state.owed.retain(|owed| owed.to != *message);
        });
    }

    fn expire_old_decisions(&mut self, before: Timestamp) -> ExpiryProgress {
        let old = self.decisions.values().filter(|decision| !decision.is_expired);
        let mut old: Vec<(i64, DecisionId)> = old
            .filter_map(|decision| Some((decision.closed?, decision.id)))
            .filter(|(closed, _)| is_before(*closed, before))
            .map(|(closed, id)| (closed.as_millisecond(), id))
            .collect();
        old.sort();
        old.truncate(expiry::DECISIONS);
        let old: Vec<DecisionId> = old.into_iter().map(|(_, id)| id).collect();
        if old.is_empty() {
            return ExpiryProgress::Idle;
        }
        self.expire_decisions(&old);
        ExpiryProgress::Working(ExpiredMessages::default())
    }

    /// Erases the reasons of closed decisions, and their drafts.
    fn expire_decisions(&mut self, ids: &[DecisionId]) {
        self.revision += 1;
        self.expire_reasons(ids);
        self.erase_dead_letters(|letter| {
            letter.decision.is_some_and(|decision| ids.contains(&decision))
        });
        self.erase_proposals(|decision| ids.contains(&decision));
        self.erase_consents(|decision| ids.contains(&decision));
    }

    fn expire_reasons(&mut self, ids: &[DecisionId]) {
        let revision = self.revision;
        for id in ids {
            let Some(decision) = self.decisions.get_mut(id) else { continue };
            erase_reasons(decision);
            decision.revision = revision;
        }
    }

    /// Only drafts of which nothing was posted: the claim finds an empty text, and a new draft is made.
    fn expire_drafts(&mut self, open: &[DecisionId]) {
        for record in self.conversations.values_mut() {
            let Some(step) = record.pending.step.as_mut() else { continue };
            let Event::Post(item) = &mut step.event else { continue };
            if !open.contains(&step.decision) {
                continue;
            }
            let draft = item.first_in_draft;
            let mut parts: Vec<_> = self
                .outbox
                .range_mut(OutboxItemId(draft.0)..)
                .map(|(_, part)| &mut part.item)
                .filter(|part| part.first_in_draft == draft)
                .collect();
            if parts.iter().any(|part| part.is_sending()) {
                continue;
            }
            parts.iter_mut().for_each(|part| erase_draft(part));
            erase_draft(item);
        }
    }
}

impl ExchangeRecord {
    fn holds(&self, messages: &HashSet<MessageRef>) -> bool {
        self.exchange.lineage.messages.iter().any(|message| messages.contains(message))
    }
}

/// A gate's reason is a fixed text. An open decision may get a new reason.
fn erase_reasons(decision: &mut Decision) {
    let attempts = decision.attempts.iter_mut().filter_map(|attempt| attempt.judgment.as_mut());
    attempts.chain(&mut decision.judgment).for_each(|judgment| judgment.reason.clear());
    decision.why.take_if(|_| decision.gate.is_none());
    decision.is_expired = decision.closed.is_some();
}

fn message_ref((conversation, message): &Expired) -> MessageRef {
    MessageRef(conversation.channel.clone(), message.clone())
}

fn erase_draft(item: &mut OutboxItem) {
    if item.reaction_to.is_none() {
        item.text = "".into();
    }
    Arc::make_mut(&mut item.metadata).why.clear();
}

/// Compares times with the precision of the databases, which is milliseconds.
fn is_before(at: Timestamp, before: Timestamp) -> bool {
    at.as_millisecond() < before.as_millisecond()
}

fn in_order(one: &Message, other: &Message) -> Ordering {
    let key = |message: &Message| message.at.as_millisecond();
    let place = |message: &Message| {
        let ConversationId { workspace, channel, .. } = &message.conversation;
        (workspace.clone(), channel.clone(), message.id.clone())
    };
    key(one).cmp(&key(other)).then_with(|| place(one).cmp(&place(other)))
}
