//! What becomes of a step that was worked at: the standing moves on, and the store is told what to
//! write besides. Every store applies these rules inside its own transaction.

use std::sync::Arc;

use jiff::Timestamp;

use crate::chat::MessageId;
use crate::context::StateHash;
use crate::decision::gate::Gate;
use crate::decision::{DecisionId, DecisionResult, Judgment};
use crate::event::step::{OwedAnswer, PendingState, Step, new_step};
use crate::event::{
    Claim, DeadLetter, DecisionClosing, Draft, DraftContent, Event, OutboxItem, OutboxItemId,
    StepResult,
};

/// What a store knows when a claim is completed. What was said is written before.
#[derive(Clone, Debug)]
pub struct CompletionContext {
    /// The claim's piece has been said, by this claim or by another that had lost its lease.
    pub is_posted: bool,
    /// The next piece of the same draft.
    pub next_item: Option<OutboxItem>,
    /// The decision's lines that were heard after what the outcome was decided from, if that is known.
    pub unseen_messages: Option<Vec<MessageId>>,
    /// Higher numbers are free.
    pub last_id: i64,
    /// Makes keys of pieces this installation's own.
    pub installation: Arc<str>,
}

/// What the store writes besides the standing.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Completion {
    pub judgment: Option<(Judgment, StateHash)>,
    /// New rows of the outbox.
    pub outbox_items: Vec<OutboxItem>,
    /// What becomes of the pieces of the claim's draft that are not said.
    pub unsent: Option<UnsentFate>,
    /// The verdict and the words so far no longer count.
    pub has_superseded: bool,
    /// The words so far no longer count; the verdict does.
    pub has_redrafted: bool,
    pub dead_letter: Option<DeadLetter>,
    pub closed: Option<DecisionClosing>,
    /// When those had spoken who are owed nothing any more, since they were answered.
    pub answered_at: Vec<Timestamp>,
    /// The next decision, and whether somebody is owed an answer. It takes over the unseen lines.
    pub next_decision: Option<(DecisionId, bool)>,
}

impl Completion {
    /// The same without the reason that a model gave for speaking, if it did: a line that it saw has
    /// changed. That somebody had asked stays true.
    pub fn without_text(mut self, claim: &Claim) -> Self {
        let spoke = |closing: &&mut DecisionClosing| {
            !claim.is_owed
                && matches!(closing.ended, DecisionResult::Spoke | DecisionResult::Reacted)
        };
        if let Some(closing) = self.closed.as_mut().filter(spoke) {
            closing.why.clear();
        }
        self
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnsentFate {
    /// The claim's piece is a draft again.
    Draft,
    /// People moved on before it was said.
    Superseded,
    /// It was not wanted any more.
    Dropped,
    /// It could not be said.
    DeadLettered,
}

impl CompletionContext {
    fn has_unseen(&self) -> bool {
        self.unseen_messages.as_ref().is_none_or(|unseen| !unseen.is_empty())
    }

    fn is_unseen(&self, line: &MessageId) -> bool {
        self.unseen_messages.as_ref().is_some_and(|unseen| unseen.contains(line))
    }
}

impl PendingState {
    /// People have not moved on since the claim, and it has not lost its lease.
    pub fn is_current(&self, claim: &Claim) -> bool {
        self.has_lease(claim)
            && self.step.as_ref().is_some_and(|step| step.generation == claim.generation)
    }

    /// Applies what a claim came to. If people have moved on, only its lease ends; if it lost its
    /// lease, nothing does.
    pub fn complete(
        &mut self,
        claim: &Claim,
        end: StepResult,
        known: &CompletionContext,
        now: Timestamp,
    ) -> Completion {
        if !self.is_current(claim) {
            if self.has_lease(claim) {
                self.release_lease();
            }
            return Completion::default();
        }
        if known.is_posted {
            // Whatever this claim came to: a piece that was said is never said again.
            return self.advance_after_post(claim, known, now);
        }
        match end {
            StepResult::Silent(closing) => self.close(closing, &[], known, now),
            StepResult::Join { judgment, state, due } => {
                self.advance(Event::Reply(claim.event.conversation().clone()), due);
                Completion { judgment: Some((judgment, state)), ..Completion::default() }
            }
            StepResult::React { judgment, state, draft } => {
                let judged = Some((judgment, state));
                Completion { judgment: judged, ..self.queue_draft(claim, draft, known, now) }
            }
            StepResult::Drafted { draft, due } => self.queue_draft(claim, draft, known, due),
            // It is said by now; see above.
            StepResult::Posted(_) => Completion::default(),
            StepResult::Withdrawn { why } => self.withdraw(why, known, now),
            StepResult::Redraft { due } => self.restart_draft(due, now),
            StepResult::Retry { due } => {
                self.retry(due);
                Completion::default()
            }
            StepResult::Deferred { due } => self.defer(claim, due, now),
            StepResult::NotSent { due } => self.return_to_draft(due, now),
            StepResult::Failed { error, why } => self.give_up(claim, error, why, known, now),
            StepResult::Superseded => {
                self.release_lease();
                Completion::default()
            }
        }
    }

    fn queue_draft(
        &mut self,
        claim: &Claim,
        draft: Draft,
        known: &CompletionContext,
        due: Timestamp,
    ) -> Completion {
        let notes = Arc::new(draft.metadata);
        let first = OutboxItemId(known.last_id + 1);
        let (texts, on) = match draft.content {
            DraftContent::Text(pieces) => (pieces, None),
            DraftContent::Reaction { emoji, on } => (vec![emoji], Some(on)),
        };
        let numbered = (first.0..).zip(texts);
        let pieces: Vec<OutboxItem> = numbered
            .map(|(number, text)| OutboxItem {
                reaction_to: on.clone(),
                id: OutboxItemId(number),
                first_in_draft: first,
                conversation: claim.event.conversation().clone(),
                key: format!("{}-{number}", known.installation).into(),
                text: text.into(),
                metadata: notes.clone(),
                dispatched_at: None,
            })
            .collect();
        if let Some(piece) = pieces.first() {
            self.advance(Event::Post(piece.clone()), due);
        }
        Completion { outbox_items: pieces, ..Completion::default() }
    }

    /// A piece was said: the next one of its draft, or the end of the decision.
    fn advance_after_post(
        &mut self,
        claim: &Claim,
        known: &CompletionContext,
        now: Timestamp,
    ) -> Completion {
        let Event::Post(piece) = &claim.event else { return Completion::default() };
        if let Some(next) = &known.next_item {
            self.advance(Event::Post(next.clone()), now);
            return Completion::default();
        }
        let gate = match (&piece.metadata.only_for, piece.metadata.ends) {
            (Some(_), _) => Some(Gate::Command),
            (None, DecisionResult::OverBudget) => Some(Gate::Budget),
            (None, _) => None,
        };
        let closing = DecisionClosing::new(piece.metadata.ends, piece.metadata.why.clone());
        let closing = DecisionClosing { gate, ..closing };
        let is_answered = |owed: &&OwedAnswer| piece.metadata.owed.contains(&owed.message);
        let answered = self.owed.iter().filter(is_answered).map(|owed| owed.at).collect();
        Completion {
            answered_at: answered,
            ..self.close(closing, &piece.metadata.owed, known, now)
        }
    }

    /// Nothing was tried, so the claim does not count. Whether a piece was said is as open as before.
    fn defer(&mut self, claim: &Claim, due: Timestamp, now: Timestamp) -> Completion {
        if let Some(step) = &mut self.step {
            step.attempts = step.attempts.saturating_sub(1);
        }
        match &claim.event {
            Event::Post(piece) if !piece.is_sending() => self.return_to_draft(due, now),
            Event::Post(_) | Event::Judge(_) | Event::Reply(_) => {
                self.retry(due);
                Completion::default()
            }
        }
    }

    /// The claim's piece is a draft again, and what came while it was on its way counts now.
    fn return_to_draft(&mut self, due: Timestamp, now: Timestamp) -> Completion {
        let Some(step) = &mut self.step else { return Completion::default() };
        if let Event::Post(piece) = &mut step.event {
            piece.dispatched_at = None;
        }
        let is_replaceable = matches!(&step.event, Event::Post(piece) if !piece.is_published());
        // Whoever said more meanwhile is looked at when it is offered again.
        if is_replaceable && !step.is_owed && !self.owed.is_empty() {
            self.resume_waiting(now);
            return Completion {
                unsent: Some(UnsentFate::Superseded),
                has_superseded: true,
                ..Completion::default()
            };
        }
        self.retry(due);
        Completion { unsent: Some(UnsentFate::Draft), ..Completion::default() }
    }

    /// Those whom this would answer do not wait any more; others may.
    fn withdraw(&mut self, why: String, known: &CompletionContext, now: Timestamp) -> Completion {
        // Lines that waited behind an answer were judged by nobody; behind words of its own, those that the
        // verdict had not seen go to a decision of theirs.
        let waits = |step: &Step| step.is_owed && step.follow_up_due.is_some();
        if self.owed.is_empty() && !self.step.as_ref().is_some_and(waits) {
            return self.close(DecisionClosing::new(DecisionResult::Dropped, why), &[], known, now);
        }
        self.resume_waiting(now);
        Completion {
            unsent: Some(UnsentFate::Dropped),
            has_superseded: true,
            ..Completion::default()
        }
    }

    /// The words are looked for once more, with the lines that came meanwhile.
    fn restart_draft(&mut self, due: Timestamp, now: Timestamp) -> Completion {
        let Some(step) = &mut self.step else { return Completion::default() };
        // Whoever has asked while the piece was on its way is answered first.
        if !step.is_owed && !self.owed.is_empty() {
            self.resume_waiting(now);
            return Completion {
                unsent: Some(UnsentFate::Superseded),
                has_superseded: true,
                ..Completion::default()
            };
        }
        let reply = Event::Reply(step.event.conversation().clone());
        let redrafts = step.redrafts + 1;
        let fresh = new_step(reply, due, step.decision, step.generation + 1);
        let (is_owed, since) = (step.is_owed, step.waiting_since);
        *step = Step {
            is_owed,
            follow_up_due: step.follow_up_due,
            waiting_since: since,
            redrafts,
            ..fresh
        };
        let unsaid = Some(UnsentFate::Superseded);
        Completion { unsent: unsaid, has_redrafted: true, ..Completion::default() }
    }

    /// For the same decision: whoever is owed an answer first, else the lines to be judged.
    fn resume_waiting(&mut self, now: Timestamp) {
        let Some(step) = &mut self.step else { return };
        let conversation = step.event.conversation().clone();
        let generation = step.generation + 1;
        if !self.owed.is_empty() {
            let reply = new_step(Event::Reply(conversation), now, step.decision, generation);
            let redrafts = step.redrafts + u32::from(step.is_owed);
            *step = Step { is_owed: true, follow_up_due: step.follow_up_due, redrafts, ..reply };
        } else if let Some(due) = step.follow_up_due {
            let judge =
                new_step(Event::Judge(conversation), due.max(now), step.decision, generation);
            *step = Step { waiting_since: step.waiting_since, ..judge };
        }
    }

    fn give_up(
        &mut self,
        claim: &Claim,
        error: String,
        why: String,
        known: &CompletionContext,
        now: Timestamp,
    ) -> Completion {
        let (answered, text): (Vec<MessageId>, _) = match &claim.event {
            Event::Post(piece) => (piece.metadata.owed.clone(), Some(piece.text.clone())),
            Event::Judge(_) | Event::Reply(_) => {
                let owed = self.owed.iter().map(|owed| owed.message.clone());
                // Whoever has asked since gets an answer of their own.
                (owed.filter(|line| !known.is_unseen(line)).collect(), None)
            }
        };
        let dead_letter = DeadLetter {
            conversation: claim.event.conversation().clone(),
            verb: claim.event.verb().into(),
            at: now,
            attempts: claim.attempt,
            error,
            text,
        };
        let closed =
            self.close(DecisionClosing::new(DecisionResult::Failed, why), &answered, known, now);
        Completion {
            dead_letter: Some(dead_letter),
            unsent: Some(UnsentFate::DeadLettered),
            ..closed
        }
    }

    /// The decision closes. `answered` lists the owed lines that it settled; what came meanwhile,
    /// and was not considered, is taken up by the next decision.
    fn close(
        &mut self,
        closing: DecisionClosing,
        answered: &[MessageId],
        known: &CompletionContext,
        now: Timestamp,
    ) -> Completion {
        let is_settled =
            |id: &MessageId| answered.contains(id) || closing.settled_messages.contains(id);
        self.owed.retain(|owed| !is_settled(&owed.message));
        let fresh = DecisionId(known.last_id + 1);
        if let Some(step) = self.step.take() {
            let conversation = step.event.conversation().clone();
            let follow = step.follow_up_due.filter(|_| known.has_unseen());
            let generation = step.generation + 1;
            if !self.owed.is_empty() {
                let reply = new_step(Event::Reply(conversation), now, fresh, generation);
                self.step = Some(Step { is_owed: true, follow_up_due: follow, ..reply });
            } else if let Some(due) = follow {
                let judge = new_step(Event::Judge(conversation), due.max(now), fresh, generation);
                self.step = Some(Step { waiting_since: step.waiting_since, ..judge });
            }
        }
        let opened = self.step.as_ref().map(|step| (fresh, step.is_owed));
        Completion {
            closed: Some(closing),
            next_decision: opened,
            unsent: Some(UnsentFate::Dropped),
            ..Completion::default()
        }
    }

    fn has_lease(&self, claim: &Claim) -> bool {
        let lease = self.step.as_ref().and_then(|step| step.lease);
        lease.is_some_and(|lease| lease.token == claim.token)
    }

    /// Another step takes this one's place, for the same decision.
    fn advance(&mut self, event: Event, due: Timestamp) {
        if let Some(step) = &mut self.step {
            step.event = event;
            step.due = due;
            step.attempts = 0;
            step.lease = None;
        }
    }

    /// The same step again, at `due`.
    fn retry(&mut self, due: Timestamp) {
        if let Some(step) = &mut self.step {
            step.due = due;
            step.lease = None;
        }
    }

    /// What took the work's place may be claimed when it is due.
    fn release_lease(&mut self) {
        if let Some(step) = &mut self.step {
            step.lease = None;
        }
    }
}
