//! Taking due steps and applying what they came to, in memory.

use std::collections::HashSet;

use jiff::{SignedDuration, Timestamp};

use crate::chat::{ConversationId, MessageId};
use crate::decision::gate::Gate;
use crate::decision::{Attempt, AttemptResult, DecisionResult};
use crate::event::completion::{Completion, CompletionContext, UnsentFate};
use crate::event::step::Lease;
use crate::event::{Claim, Event, OutboxItem, OutboxItemId, Outcome, PostedMessage, StepResult};
use crate::store::CompletionReceipt;
use crate::store::volatile::{
    ExchangeRecord, MessageRecord, OutboxRecord, UnsolicitedPostRecord, VolatileState, supersede,
};

impl VolatileState {
    pub(super) fn claim_step(
        &mut self,
        conversation: &ConversationId,
        now: Timestamp,
        lease: SignedDuration,
    ) -> Option<Claim> {
        self.last_number += 1;
        let token = self.last_number;
        let claim = self.change_pending_state(conversation, now, |standing| {
            let step = standing.step.as_mut()?;
            let claim = step.claim(token);
            step.attempts += 1;
            step.lease = Some(Lease { token, until: now + lease });
            if let Event::Post(piece) = &mut step.event {
                piece.dispatched_at.get_or_insert(now);
            }
            Some(claim)
        })?;
        if let Event::Post(piece) = &claim.event
            && let Some(out) = self.outbox.get_mut(&piece.id)
        {
            let is_new =
                out.item.dispatched_at.replace(piece.dispatched_at.unwrap_or(now)).is_none();
            if is_new && out.is_unsolicited && piece.id == piece.first_in_draft {
                // It may have been on its way before, and have come back.
                if claim.attempt > 1 {
                    self.unsolicited_posts.retain(|post| post.item != piece.id);
                }
                let (at, piece, place) = (now, piece.id, piece.conversation.clone());
                self.unsolicited_posts.push(UnsolicitedPostRecord {
                    at,
                    item: piece,
                    conversation: place,
                    is_posted: false,
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
        let conversation = claim.event.conversation();
        let is_current =
            self.conversations.get(conversation).is_some_and(|talk| talk.pending.is_current(claim));
        let made_from = outcome.lineage(claim);
        let is_stale = made_from.is_some_and(|(revision, made_from)| {
            let (workspace, channel) = (&conversation.workspace, Some(&conversation.channel));
            self.has_changed_since(workspace, channel, revision, made_from)
        });
        let mut outcome = if is_stale { outcome.without_text() } else { outcome };
        self.record_attempts(claim, std::mem::take(&mut outcome.attempts), is_current);
        if is_current {
            self.apply_memo_changes(conversation, &mut outcome);
            if let Some(decision) = self.decisions.get_mut(&claim.decision)
                && let Some(weighed) = outcome.evaluation.take()
            {
                decision.evaluation = Some(weighed);
            }
        }
        let considered = outcome.seen_revision.or(claim.event.seen_revision());
        if let (StepResult::Posted(posted), Event::Post(piece)) = (&outcome.result, &claim.event) {
            self.record_posted(claim, piece, posted);
        }
        let (mut seen, mut unseen) = (None, None);
        if let (StepResult::Posted(posted), Event::Post(_)) = (&outcome.result, &claim.event) {
            let considered = claim.event.seen_revision();
            let later = self.unseen_messages(claim, considered);
            let heard =
                later.filter(|line| considered.is_some_and(|seen| line.heard_revision > seen));
            let before = heard.map(|line| line.message.at);
            unseen = before.filter(|at| *at <= posted.at).max();
            seen = self.seen_messages(claim).map(|line| line.message.at).max();
        }
        let known = self.completion_context(claim, considered);
        let completion = self.change_pending_state(conversation, now, |standing| {
            standing.complete(claim, outcome.result, &known, now)
        });
        let completion = if is_stale { completion.without_text(claim) } else { completion };
        let settled = CompletionReceipt::from_completion(&completion, seen, unseen);
        self.write_completion(claim, completion, considered, now);
        let revision = self.revision;
        self.decisions.entry(claim.decision).and_modify(|decision| decision.revision = revision);
        settled
    }

    fn record_attempts(&mut self, claim: &Claim, attempts: Vec<Attempt>, is_current: bool) {
        let ConversationId { workspace, channel, .. } = claim.event.conversation();
        for attempt in &attempts {
            self.record_spending(workspace, Some(channel), attempt);
        }
        let Some(decision) = self.decisions.get_mut(&claim.decision) else { return };
        for attempt in attempts {
            let mut attempt = attempt.superseded_unless(is_current);
            let exchange = attempt.exchange.take();
            let kept = exchange.map(|exchange| ExchangeRecord { at: attempt.at, exchange });
            decision.attempts.push(attempt);
            self.exchanges.entry(claim.decision).or_default().push(kept);
        }
    }

    fn record_posted(&mut self, claim: &Claim, piece: &OutboxItem, posted: &PostedMessage) {
        let conversation = &piece.conversation;
        let place =
            (conversation.workspace.clone(), conversation.channel.clone(), posted.id.clone());
        match self.outbox.get_mut(&piece.id) {
            Some(out) if out.is_posted => return,
            Some(out) => out.is_posted = true,
            None if self.conversation_of.contains_key(&place) => return,
            None => {}
        }
        if let Some(post) =
            self.unsolicited_posts.iter_mut().rev().find(|post| post.item == piece.id)
        {
            post.is_posted = true;
        }
        if let Some(decision) = self.decisions.get_mut(&claim.decision) {
            match &piece.reaction_to {
                None => decision.posted_messages.push(posted.id.clone()),
                Some(on) => decision.reaction = Some((on.clone(), piece.text.clone())),
            }
        }
        if let Some(reaction) = piece.to_reaction(posted) {
            self.hear_reaction(&reaction);
            return;
        }
        // The platform may have delivered it as our own line before.
        if self.conversation_of.insert(place, conversation.clone()).is_none() {
            self.insert_message(piece.to_message(posted), Some(piece.message_gate()), None);
        }
    }

    fn completion_context(&self, claim: &Claim, considered: Option<u64>) -> CompletionContext {
        let mut known = CompletionContext {
            is_posted: false,
            next_item: None,
            unseen_messages: None,
            last_id: self.last_number,
            installation: self.installation.clone(),
        };
        if let Event::Post(piece) = &claim.event {
            let mut later =
                self.outbox.range(OutboxItemId(piece.id.0 + 1)..).map(|(_, out)| &out.item);
            known.is_posted = self.outbox.get(&piece.id).is_some_and(|out| out.is_posted);
            known.next_item =
                later.find(|later| later.first_in_draft == piece.first_in_draft).cloned();
        }
        if considered.is_some() {
            let unseen = self.unseen_messages(claim, considered);
            known.unseen_messages = Some(unseen.map(|line| line.message.id.clone()).collect());
        }
        known
    }

    /// The decision's lines that were heard after what the outcome was decided from.
    fn unseen_messages(
        &self,
        claim: &Claim,
        considered: Option<u64>,
    ) -> impl Iterator<Item = &MessageRecord> {
        let lines = self
            .conversations
            .get(claim.event.conversation())
            .map_or(&[][..], |talk| &talk.messages);
        let considered = considered.unwrap_or(u64::MAX);
        let decision = claim.decision;
        // An edit may have moved an old line here; else older decisions end where this one begins.
        let is_older = |line: &MessageRecord| line.decision.is_some_and(|other| other < decision);
        let begin = match self.last_change > considered {
            true => 0,
            false => lines.iter().rposition(is_older).map_or(0, |place| place + 1),
        };
        let has_changed = move |line: &MessageRecord| {
            line.revision > considered && line.message.is_human() && !line.is_deleted
        };
        lines[begin..].iter().filter(move |line| {
            line.decision == Some(decision)
                && line.gate != Some(Gate::Command)
                && (line.heard_revision > considered || has_changed(line))
        })
    }

    /// The decision's lines that were known when the claim's draft was made.
    fn seen_messages(&self, claim: &Claim) -> impl Iterator<Item = &MessageRecord> {
        let lines = self
            .conversations
            .get(claim.event.conversation())
            .map_or(&[][..], |talk| &talk.messages);
        let considered = claim.event.seen_revision().unwrap_or(u64::MAX);
        let decision = Some(claim.decision);
        lines
            .iter()
            .filter(move |line| line.decision == decision && line.heard_revision <= considered)
    }

    fn write_completion(
        &mut self,
        claim: &Claim,
        completion: Completion,
        considered: Option<u64>,
        now: Timestamp,
    ) {
        let conversation = claim.event.conversation().clone();
        for piece in completion.outbox_items {
            self.last_number = piece.id.0;
            let is_unasked = !claim.is_owed && piece.reaction_to.is_none();
            self.outbox.insert(
                piece.id,
                OutboxRecord { item: piece, is_posted: false, is_unsolicited: is_unasked },
            );
        }
        if let (Some(unsaid), Event::Post(piece)) = (completion.unsent, &claim.event) {
            self.end_outbox_items(piece, unsaid);
        }
        self.dead_letters.extend(completion.dead_letter);
        let talk = self.conversations.entry(conversation.clone()).or_default();
        if let Some(decision) = self.decisions.get_mut(&claim.decision) {
            if completion.has_superseded {
                supersede(decision);
            }
            if let Some((judgment, state)) = completion.judgment {
                decision.judgment = Some(judgment);
                decision.state_hash = Some(state);
                self.considered.insert(decision.id, considered.unwrap_or(0));
            }
            if completion.has_redrafted {
                let replies =
                    decision.attempts.iter_mut().filter(|attempt| &*attempt.verb == "reply");
                replies
                    .filter(|attempt| attempt.result == AttemptResult::Kept)
                    .for_each(|attempt| attempt.result = AttemptResult::Superseded);
            }
            if let Some(closing) = completion.closed {
                // Whoever asks while it speaks unasked makes no answer of what it said.
                decision.is_addressed = claim.is_owed;
                decision.closed = Some(now);
                decision.ended = Some(closing.ended);
                decision.gate = closing.gate;
                decision.judgment = closing.judgment.or(decision.judgment.take());
                decision.state_hash = closing.state_hash.or(decision.state_hash);
                decision.why = Some(closing.why);
                if let Some(state) = decision.state_hash {
                    let is_silent = matches!(
                        closing.ended,
                        DecisionResult::ChoseSilence
                            | DecisionResult::Reacted
                            | DecisionResult::Muted
                    );
                    talk.silent_state = is_silent.then_some(state);
                }
                if closing.ended == DecisionResult::Spoke && !claim.is_owed {
                    talk.unsolicited_posts.push(now);
                    let place = (conversation.workspace.clone(), conversation.channel.clone());
                    self.last_unsolicited_post.insert(place, now);
                }
                if closing.ended == DecisionResult::OverBudget
                    && !decision.posted_messages.is_empty()
                {
                    talk.budget_notice_at = Some(now);
                }
            }
        }
        if let Some((fresh, is_owed)) = completion.next_decision {
            let unseen: HashSet<MessageId> = self
                .unseen_messages(claim, considered)
                .map(|line| line.message.id.clone())
                .collect();
            let talk = self.conversations.entry(conversation.clone()).or_default();
            let moved = talk.messages.iter_mut().filter(|line| unseen.contains(&line.message.id));
            moved.for_each(|line| line.decision = Some(fresh));
            self.open_decision(fresh, &conversation, is_owed, now);
        }
    }

    fn end_outbox_items(&mut self, piece: &OutboxItem, unsaid: UnsentFate) {
        match unsaid {
            UnsentFate::Draft => {
                self.outbox.entry(piece.id).and_modify(|out| out.item.dispatched_at = None);
            }
            UnsentFate::Superseded | UnsentFate::Dropped | UnsentFate::DeadLettered => {
                self.outbox.retain(|_, out| out.item.first_in_draft != piece.first_in_draft);
            }
        }
    }
}
