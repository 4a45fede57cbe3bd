//! Claims due steps and applies their outcomes, in memory.

use std::sync::Arc;

use aizuchi_model::chat::ConversationId;
use aizuchi_model::chat::attachment::ReadAttachment;
use aizuchi_model::context::seen_revision::SeenRevision;
use aizuchi_model::decision::gate::Gate;
use aizuchi_model::decision::{Attempt, AttemptResult, DecisionResult};
use aizuchi_model::flow::completion::{
    Completion, CompletionContext, CoveredMessage, UnsentOutcome,
};
use aizuchi_model::flow::outbox::{OutboxItem, OutboxItemId, PostedMessage};
use aizuchi_model::flow::step::Lease;
use aizuchi_model::flow::{
    Claim, DeadLetter, DeadLetterId, DecisionClosing, Outcome, StepResult, Work,
};
use jiff::{SignedDuration, Timestamp};
use tracing::warn;

use crate::CompletionReceipt;
use crate::order::Order;
use crate::volatile::VolatileState;
use crate::volatile::decisions::retire;
use crate::volatile::records::{
    ExchangeRecord, MessageRecord, OutboxRecord, UnsolicitedPostRecord,
};
use crate::volatile::spending::SpendingSum;

impl VolatileState {
    pub(super) fn claim_step(
        &mut self,
        conversation: &ConversationId,
        now: Timestamp,
        lease: SignedDuration,
    ) -> Option<Claim> {
        self.last_number += 1;
        let token = self.last_number;
        let claim = self.change_pending_state(conversation, now, |pending_state| {
            let step = pending_state.step.as_mut()?;
            let claim = step.claim(token);
            step.attempts += 1;
            step.lease = Some(Lease { token, until: now + lease });
            if let Work::Post(item) = &mut step.work {
                item.dispatched_at.get_or_insert(now);
            }
            Some(claim)
        })?;
        if let Work::Post(item) = &claim.work
            && let Some(record) = self.outbox.get_mut(&item.id)
        {
            let is_new =
                record.item.dispatched_at.replace(item.dispatched_at.unwrap_or(now)).is_none();
            if is_new && record.is_unsolicited && item.id == item.first_in_draft {
                // An earlier claim may have dispatched it and returned it.
                if claim.attempt > 1 {
                    self.unsolicited_posts.retain(|post| post.item != item.id);
                }
                let (item, conversation) = (item.id, item.conversation.clone());
                self.unsolicited_posts.push(UnsolicitedPostRecord {
                    at: now,
                    item,
                    conversation,
                    message: None,
                });
            }
        }
        Some(claim)
    }

    pub(super) fn complete_step(
        &mut self,
        claim: &Claim,
        outcome: Outcome,
        now: Timestamp,
    ) -> CompletionReceipt {
        self.revision += 1;
        let conversation = claim.work.conversation();
        let is_current = self
            .conversations
            .get(conversation)
            .is_some_and(|record| record.pending.is_current(claim));
        let lineage = outcome.lineage(claim);
        let is_stale = lineage.is_some_and(|(seen_revision, lineage)| {
            self.has_changed_since(conversation, seen_revision.number(), lineage)
        });
        let mut outcome = if is_stale { outcome.without_text() } else { outcome };
        self.record_attempts(claim, std::mem::take(&mut outcome.attempts), is_current);
        for file in std::mem::take(&mut outcome.read_attachments) {
            self.keep_read_attachment(conversation, &file);
        }
        if is_current
            && let Some(decision) = self.decisions.get_mut(&claim.decision)
            && let Some(evaluation) = outcome.evaluation.take()
        {
            decision.evaluation = Some(evaluation);
        }
        if is_current
            && let Some(quiet) = &outcome.quiet_order
            && let Err(error) = self.apply_order(Order::of_quiet(quiet, conversation), now)
        {
            warn!(%error, "quiet that a user asked for could not be ordered");
        }
        let seen_revision = outcome.seen_revision.or(claim.work.seen_revision());
        if let (StepResult::Posted(posted), Work::Post(item)) = (&outcome.result, &claim.work) {
            self.record_posted(claim, item, posted);
        }
        let (mut newest_seen, mut newest_unseen) = (None, None);
        if let (StepResult::Posted(posted), Work::Post(_)) = (&outcome.result, &claim.work) {
            let seen_revision = claim.work.seen_revision().unwrap_or(u64::MAX);
            let is_seen = |message: &&MessageRecord| message.heard_revision <= seen_revision;
            let (seen, unseen): (Vec<_>, Vec<_>) = self.decision_messages(claim).partition(is_seen);
            newest_seen = seen.iter().map(|message| message.message.at).max();
            let unseen = unseen.iter().map(|message| message.message.at);
            newest_unseen = unseen.filter(|at| *at <= posted.at).max();
        }
        let completion_context = self.completion_context(claim, seen_revision);
        let completion = self.change_pending_state(conversation, now, |pending_state| {
            pending_state.complete(claim, outcome.result, &completion_context, now)
        });
        let completion = if is_stale { completion.without_text(claim) } else { completion };
        let receipt = CompletionReceipt::from_completion(&completion, newest_seen, newest_unseen);
        let is_letter_stale = is_stale && completion.dead_letter.is_some();
        self.write_completion(claim, completion, seen_revision, now);
        if is_letter_stale {
            self.erase_dead_letters(|letter| letter.decision == Some(claim.decision));
        }
        let revision = self.revision;
        self.decisions.entry(claim.decision).and_modify(|decision| decision.revision = revision);
        receipt
    }

    /// Stores what was read from a file, unless its message was deleted or withheld in the meantime.
    fn keep_read_attachment(&mut self, conversation: &ConversationId, file: &ReadAttachment) {
        let ConversationId { workspace, channel, .. } = conversation;
        let key = (workspace.clone(), channel.clone(), file.message.clone());
        let Some(conversation) = self.conversation_of.get(&key).cloned() else { return };
        let record = self.message_mut(&conversation, &file.message);
        let Some(record) = record.filter(|record| !record.is_deleted && !record.is_redacted) else {
            return;
        };
        let mut message = (*record.message).clone();
        if file.add_to(&mut message.attachments) {
            record.message = Arc::new(message);
        }
    }

    fn record_attempts(&mut self, claim: &Claim, attempts: Vec<Attempt>, is_current: bool) {
        if !attempts.is_empty() {
            self.reservations.remove(&claim.token);
        }
        for attempt in &attempts {
            let ConversationId { workspace, channel, .. } = claim.work.conversation();
            let tokens = attempt.usage.input_tokens + attempt.usage.output_tokens;
            let micros = attempt.price.map(|price| price.micros);
            let used = SpendingSum::from_call(tokens, micros, !claim.is_owed);
            self.record_spending(workspace, channel, attempt.at, used);
        }
        let Some(decision) = self.decisions.get_mut(&claim.decision) else { return };
        for attempt in attempts {
            let mut attempt = attempt.superseded_unless(is_current);
            let exchange = attempt.exchange.take();
            let record = exchange.map(|exchange| ExchangeRecord { exchange });
            decision.attempts.push(attempt);
            self.exchanges.entry(claim.decision).or_default().push(record);
        }
    }

    fn record_posted(&mut self, claim: &Claim, item: &OutboxItem, posted: &PostedMessage) {
        let conversation = &item.conversation;
        let key = (conversation.workspace.clone(), conversation.channel.clone(), posted.id.clone());
        match self.outbox.get_mut(&item.id) {
            Some(record) if record.is_posted => return,
            Some(record) => record.is_posted = true,
            None if self.conversation_of.contains_key(&key) => return,
            None => {}
        }
        if let Some(post) =
            self.unsolicited_posts.iter_mut().rev().find(|post| post.item == item.id)
        {
            post.message = Some(posted.id.clone());
        }
        if let Some(decision) = self.decisions.get_mut(&claim.decision) {
            match &item.reaction_to {
                None => decision.posted_messages.push(posted.id.clone()),
                Some(on) => decision.reaction = Some((on.clone(), item.text.clone())),
            }
        }
        if let Some(reaction) = item.to_reaction(posted) {
            self.hear_reaction(&reaction);
            return;
        }
        // The platform may have delivered our own message earlier.
        if self.conversation_of.insert(key, conversation.clone()).is_none() {
            self.insert_message(item.to_message(posted), Some(item.message_gate()), None);
        } else if let Some(record) = self.message_mut(conversation, &posted.id) {
            record.gate = Some(item.message_gate());
        }
    }

    fn completion_context(&self, claim: &Claim, seen_revision: Option<u64>) -> CompletionContext {
        let mut context = CompletionContext {
            is_posted: false,
            next_item: None,
            messages: Vec::new(),
            last_id: self.last_number,
            installation: self.installation.clone(),
        };
        if let Work::Post(item) = &claim.work {
            let mut later =
                self.outbox.range(OutboxItemId(item.id.0 + 1)..).map(|(_, record)| &record.item);
            context.is_posted = self.outbox.get(&item.id).is_some_and(|record| record.is_posted);
            context.next_item =
                later.find(|later| later.first_in_draft == item.first_in_draft).cloned();
        }
        let seen_revision = seen_revision.unwrap_or_default();
        let messages = self.decision_messages(claim);
        let messages =
            messages.filter(|message| message.gate != Some(Gate::Command)).map(|message| {
                let may_change = message.message.is_human() && !message.is_deleted;
                let has_changed = message.revision > seen_revision && may_change;
                let is_seen = message.heard_revision <= seen_revision && !has_changed;
                CoveredMessage { id: message.message.id.clone(), is_seen }
            });
        context.messages = messages.collect();
        context
    }

    /// The messages that the claim's decision covers.
    fn decision_messages(&self, claim: &Claim) -> impl Iterator<Item = &MessageRecord> {
        let record = self.conversations.get(claim.work.conversation());
        let messages = record.map_or(&[][..], |record| &record.messages);
        messages.iter().filter(|message| message.decision == Some(claim.decision))
    }

    fn write_completion(
        &mut self,
        claim: &Claim,
        completion: Completion,
        seen_revision: Option<u64>,
        now: Timestamp,
    ) {
        let conversation = claim.work.conversation().clone();
        for item in completion.outbox_items {
            self.last_number = item.id.0;
            let is_unsolicited = !claim.is_owed && item.reaction_to.is_none();
            let record = OutboxRecord { item, is_posted: false, is_unsolicited };
            // What is proposed is never posted.
            if completion.proposal.is_none() {
                self.outbox.insert(record.item.id, record);
            }
        }
        if let (Some(outcome), Work::Post(item)) = (completion.unsent, &claim.work) {
            self.end_outbox_items(item, outcome);
        }
        if let Some(letter) = completion.dead_letter {
            self.last_number += 1;
            self.dead_letters.push(DeadLetter { id: DeadLetterId(self.last_number), ..letter });
        }
        if let Some(decision) = self.decisions.get_mut(&claim.decision) {
            if let Some(result) = completion.retired {
                retire(decision, result);
            }
            if let Some((judgment, state)) = completion.judgment {
                decision.judgment = Some(judgment);
                decision.state_hash = Some(state);
                let judged = seen_revision.map_or(SeenRevision::Nothing, SeenRevision::from);
                self.judged_revision.insert(decision.id, judged);
            }
            if completion.has_redrafted {
                let replies =
                    decision.attempts.iter_mut().filter(|attempt| &*attempt.verb == "reply");
                replies
                    .filter(|attempt| attempt.result == AttemptResult::Kept)
                    .for_each(|attempt| attempt.result = AttemptResult::Superseded);
            }
        }
        if let Some(closed) = completion.closed {
            self.close_decision(claim, closed, now);
        }
        if let Some(next) = completion.next_decision {
            let record = self.conversations.entry(conversation.clone()).or_default();
            let moved = record
                .messages
                .iter_mut()
                .rev()
                .filter(|message| next.messages.contains(&message.message.id))
                .take(next.messages.len());
            moved.for_each(|message| message.decision = Some(next.id));
            self.open_decision(next.id, &conversation, next.is_owed, now);
        }
    }

    fn close_decision(&mut self, claim: &Claim, closed: DecisionClosing, now: Timestamp) {
        let conversation = claim.work.conversation();
        let Some(decision) = self.decisions.get_mut(&claim.decision) else { return };
        // An unsolicited post is no answer, even if the decision was addressed in the meantime.
        decision.is_addressed = claim.is_owed;
        decision.closed = Some(now);
        decision.ended = Some(closed.ended);
        decision.gate = closed.gate;
        decision.judgment = closed.judgment.or(decision.judgment.take());
        decision.state_hash = closed.state_hash.or(decision.state_hash);
        decision.why = Some(closed.why);
        let record = self.conversations.entry(conversation.clone()).or_default();
        if let Some(state) = decision.state_hash {
            let is_silent = matches!(
                closed.ended,
                DecisionResult::ChoseSilence
                    | DecisionResult::Reacted
                    | DecisionResult::Muted
                    | DecisionResult::Proposed
            );
            record.silent_state = is_silent.then_some(state);
            record.last_judged = Some(now);
        }
        if closed.ended == DecisionResult::Spoke && !claim.is_owed {
            record.unsolicited_posts.push(now);
            let evaluation = decision.evaluation.as_ref();
            record.intervention_state =
                evaluation.and_then(|evaluation| evaluation.conversation_state);
            let channel = (conversation.workspace.clone(), conversation.channel.clone());
            self.last_unsolicited_post.insert(channel, now);
        }
        if closed.ended == DecisionResult::OverBudget && !decision.posted_messages.is_empty() {
            record.budget_notice_at = Some(now);
        }
    }

    fn end_outbox_items(&mut self, item: &OutboxItem, outcome: UnsentOutcome) {
        match outcome {
            UnsentOutcome::Draft => {
                self.outbox.entry(item.id).and_modify(|record| record.item.dispatched_at = None);
            }
            UnsentOutcome::Superseded | UnsentOutcome::Dropped | UnsentOutcome::DeadLettered => {
                self.outbox.retain(|_, record| record.item.first_in_draft != item.first_in_draft);
            }
        }
    }
}
