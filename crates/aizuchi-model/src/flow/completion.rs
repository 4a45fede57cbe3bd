//! The consequences of a completed step: the next pending state, and what else the store must write. Every store
//! applies these rules inside its own transaction.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use sha2::{Digest, Sha256};

use crate::chat::owed::Owed;
use crate::chat::{ConversationId, MessageId};
use crate::context::StateHash;
use crate::decision::gate::Gate;
use crate::decision::{AttemptResult, DecisionId, DecisionResult, Judgment};
use crate::flow::outbox::{
    Draft, DraftContent, DraftMetadata, OutboxItem, OutboxItemId, ProposedDraft,
};
use crate::flow::step::{OwedAnswer, PendingState, Step, new_step};
use crate::flow::{Claim, DeadLetter, DeadLetterId, DecisionClosing, StepResult, Work};

/// The store's state when a claim is completed. Posted messages are written before this.
#[derive(Clone, Debug)]
pub struct CompletionContext {
    /// Whether the claim's item was posted, by this claim or by another one that had lost its lease.
    pub is_posted: bool,
    /// The next item of the same draft.
    pub next_item: Option<OutboxItem>,
    /// The decision's messages, other than commands.
    pub messages: Vec<CoveredMessage>,
    /// The highest number in use.
    pub last_id: i64,
    /// Makes outbox keys unique to this installation.
    pub installation: Arc<str>,
}

/// A message that a decision covers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CoveredMessage {
    pub id: MessageId,
    /// Whether the outcome has considered it as it is now.
    pub is_seen: bool,
}

/// What the store writes in addition to the pending state.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Completion {
    pub judgment: Option<(Judgment, StateHash)>,
    /// New rows of the outbox.
    pub outbox_items: Vec<OutboxItem>,
    /// Set if the new rows are a proposal rather than drafts.
    pub proposal: Option<NewProposal>,
    /// What happens to the items of the claim's draft that were not posted.
    pub unsent: Option<UnsentOutcome>,
    /// The new result of the verdict and the text, if they no longer count.
    pub retired: Option<AttemptResult>,
    /// Whether only the text no longer counts; the verdict does.
    pub has_redrafted: bool,
    pub dead_letter: Option<DeadLetter>,
    pub closed: Option<DecisionClosing>,
    /// When the messages that are now answered were written.
    pub answered_at: Vec<Timestamp>,
    pub next_decision: Option<NextDecision>,
}

/// A proposal whose text is stored in rows of the outbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NewProposal {
    pub made: Timestamp,
    pub expires: Timestamp,
}

/// The decision that follows a closed one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NextDecision {
    pub id: DecisionId,
    pub is_owed: bool,
    /// The messages of the closed decision that this one takes over: those that it had not judged, or has left open.
    pub messages: Vec<MessageId>,
}

impl Completion {
    /// Returns the first part of a draft to be posted.
    pub fn new_draft(&self) -> Option<&OutboxItem> {
        self.outbox_items.first().filter(|_| self.proposal.is_none())
    }

    /// Returns the completion without a model's reason for speaking, and without the text that could not be posted. Used
    /// when a source message has changed, since both may repeat it. A reason that only says that a user asked is kept.
    pub fn without_text(mut self, claim: &Claim) -> Self {
        let is_model_reason = |closing: &&mut DecisionClosing| {
            !claim.is_owed
                && matches!(
                    closing.ended,
                    DecisionResult::Spoke | DecisionResult::Reacted | DecisionResult::Proposed
                )
        };
        if let Some(closing) = self.closed.as_mut().filter(is_model_reason) {
            closing.why.clear();
        }
        if let Some(letter) = &mut self.dead_letter {
            letter.text = None;
        }
        self
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnsentOutcome {
    /// The claim's item is a draft again.
    Draft,
    /// Newer messages superseded it before it was posted.
    Superseded,
    /// It was no longer wanted.
    Dropped,
    /// It could not be posted.
    DeadLettered,
}

/// What a finished step has answered.
#[derive(Clone, Copy, Debug, Default)]
struct Answered<'a> {
    owed: &'a [Owed],
    /// The other messages that the answer covers.
    others: &'a [MessageId],
    /// The messages that were judged and still call for a word.
    left_open: &'a [MessageId],
}

/// What an unsolicited post leaves open is judged after this.
const LEFT_OPEN_REST: SignedDuration = SignedDuration::from_secs(30);

impl CompletionContext {
    fn unseen(&self) -> impl Iterator<Item = &MessageId> {
        self.messages.iter().filter(|message| !message.is_seen).map(|message| &message.id)
    }

    /// Returns the messages that this step leaves to be judged. An owed answer judges nothing: its author reads all
    /// messages, but decides nothing about those that it does not answer. An unsolicited post answers one message.
    fn unjudged(
        &self,
        step: &Step,
        left_open: &[MessageId],
        is_answered: impl Fn(&MessageId) -> bool,
    ) -> Vec<MessageId> {
        let left = self
            .messages
            .iter()
            .filter(|message| step.is_owed || !message.is_seen || left_open.contains(&message.id));
        left.map(|message| message.id.clone()).filter(|id| !is_answered(id)).collect()
    }

    fn is_unseen(&self, owed: &Owed) -> bool {
        self.unseen().any(|message| *owed == *message)
    }
}

impl PendingState {
    /// Whether no newer message superseded the claim's work, and the claim still has its lease.
    pub fn is_current(&self, claim: &Claim) -> bool {
        self.has_lease(claim)
            && self.step.as_ref().is_some_and(|step| step.generation == claim.generation)
    }

    /// Applies the result of a claim. If the work was superseded, only the lease is released; if the lease was lost,
    /// nothing happens.
    pub fn complete(
        &mut self,
        claim: &Claim,
        result: StepResult,
        context: &CompletionContext,
        now: Timestamp,
    ) -> Completion {
        if !self.is_current(claim) {
            if self.has_lease(claim) {
                self.release_lease();
            }
            return Completion::default();
        }
        if context.is_posted {
            // Whatever the result, a posted item is never posted again.
            return self.advance_after_post(claim, context, now);
        }
        match result {
            StepResult::Silent(closing) => self.close(closing, Answered::default(), context, now),
            StepResult::Join { judgment, state, due } => {
                self.advance(Work::Reply(claim.work.conversation().clone()), due);
                Completion { judgment: Some((judgment, state)), ..Completion::default() }
            }
            StepResult::React { judgment, state, draft } => {
                let judged = Some((judgment, state));
                Completion { judgment: judged, ..self.queue_draft(claim, draft, context, now) }
            }
            StepResult::Drafted { draft, due } => self.queue_draft(claim, draft, context, due),
            StepResult::Proposed(proposed) => self.propose(claim, proposed, context, now),
            // Handled above: `is_posted` is set.
            StepResult::Posted(_) => Completion::default(),
            StepResult::Withdrawn { why } => self.withdraw(why, context, now),
            StepResult::LookAgain { due } => self.look_again(claim, due, context, now),
            StepResult::Redraft { due } => self.restart_draft(due, now),
            StepResult::Retry { due } => {
                self.retry(due);
                Completion::default()
            }
            StepResult::Deferred { due } => self.defer(claim, due, now),
            StepResult::RetryUnsent { due } => self.return_to_draft(due, now),
            StepResult::Failed { error, why } => self.give_up(claim, error, why, context, now),
            // A late cancellation may hit a newer claim. Its step was not replaced, so it is claimed again.
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
        context: &CompletionContext,
        due: Timestamp,
    ) -> Completion {
        let items = draft_items(claim, draft, context);
        // The other parts follow one by one, each after the one before it was posted.
        if let Some(item) = items.first() {
            self.advance(Work::Post(item.clone()), due);
        }
        // A draft that replaces another one drops it.
        let unsent = matches!(claim.work, Work::Post(_)).then_some(UnsentOutcome::Dropped);
        Completion { outbox_items: items, unsent, ..Completion::default() }
    }

    /// Closes the decision until a user approves the proposal. Messages that it had not seen are judged in the
    /// meantime.
    fn propose(
        &mut self,
        claim: &Claim,
        proposed: ProposedDraft,
        context: &CompletionContext,
        now: Timestamp,
    ) -> Completion {
        let ProposedDraft { draft, expires } = proposed;
        let closing = DecisionClosing::new(DecisionResult::Proposed, draft.metadata.why.clone());
        let items = draft_items(claim, draft, context);
        // The next decision is numbered after the new rows, from the same sequence.
        let last_id = items.last().map_or(context.last_id, |item| item.id.0);
        let context = CompletionContext { last_id, ..context.clone() };
        Completion {
            outbox_items: items,
            proposal: Some(NewProposal { made: now, expires }),
            ..self.close(closing, Answered::default(), &context, now)
        }
    }

    /// Continues after a posted item with the next one of its draft, or closes the decision.
    fn advance_after_post(
        &mut self,
        claim: &Claim,
        context: &CompletionContext,
        now: Timestamp,
    ) -> Completion {
        let Work::Post(item) = &claim.work else { return Completion::default() };
        if let Some(next) = &context.next_item {
            self.advance(Work::Post(next.clone()), now);
            return Completion::default();
        }
        let gate = match (&item.metadata.only_for, item.metadata.ends) {
            (Some(_), DecisionResult::Muted) => Some(Gate::Muted),
            (Some(_), _) => Some(Gate::Command),
            (None, DecisionResult::OverBudget) => Some(Gate::Budget),
            (None, _) => None,
        };
        let closing = DecisionClosing::new(item.metadata.ends, item.metadata.why.clone());
        let closing = DecisionClosing { gate, ..closing };
        // Only those that the draft had seen; later mentions get an answer of their own.
        let is_answered = |owed: &&OwedAnswer| item.metadata.owed.contains(&owed.to);
        let answered = self.owed.iter().filter(is_answered).map(|owed| owed.at).collect();
        let redrafts = self.step.as_ref().map_or(0, |step| step.redrafts);
        let DraftMetadata { owed, also_answers: others, leaves_open: left_open, .. } =
            &*item.metadata;
        let closed = self.close(closing, Answered { owed, others, left_open }, context, now);
        if item.metadata.only_for.is_some() {
            self.keep_redraft(redrafts);
        }
        Completion { answered_at: answered, ..closed }
    }

    /// Marks the next owed answer as started again, if a command has just made it start again. Otherwise one command
    /// after another would keep it from ever being finished.
    fn keep_redraft(&mut self, redrafts: u32) {
        if let Some(step) = self.step.as_mut().filter(|step| step.is_owed) {
            step.redrafts = redrafts.min(1);
        }
    }

    /// Defers the step. Nothing was tried, so the claim does not count as an attempt. Whether an item was posted is as
    /// unknown as before.
    fn defer(&mut self, claim: &Claim, due: Timestamp, now: Timestamp) -> Completion {
        if let Some(step) = &mut self.step {
            step.attempts = step.attempts.saturating_sub(1);
        }
        match &claim.work {
            Work::Post(item) if !item.is_sending() && item.metadata.is_approved => {
                self.keep_draft(due)
            }
            Work::Post(item) if !item.is_sending() => self.return_to_draft(due, now),
            Work::Post(_) | Work::Judge(_) | Work::Reply(_) => {
                self.retry(due);
                Completion::default()
            }
        }
    }

    /// Turns the claim's item back into a draft. Messages that arrived while it was in flight count now.
    fn return_to_draft(&mut self, due: Timestamp, now: Timestamp) -> Completion {
        let Some(step) = &mut self.step else { return Completion::default() };
        if let Work::Post(item) = &mut step.work {
            item.dispatched_at = None;
        }
        let is_replaceable = matches!(&step.work, Work::Post(item) if !item.is_published());
        // A user who mentioned the persona in the meantime comes first.
        if is_replaceable && !step.is_owed && !self.owed.is_empty() {
            self.resume_waiting(now);
            return Completion {
                unsent: Some(UnsentOutcome::Superseded),
                retired: Some(AttemptResult::Superseded),
                ..Completion::default()
            };
        }
        self.keep_draft(due)
    }

    /// Turns the claim's item back into a draft, whoever mentioned the persona in the meantime.
    fn keep_draft(&mut self, due: Timestamp) -> Completion {
        if let Some(Step { work: Work::Post(item), .. }) = &mut self.step {
            item.dispatched_at = None;
        }
        self.retry(due);
        Completion { unsent: Some(UnsentOutcome::Draft), ..Completion::default() }
    }

    /// Withdraws the work. The users whom it would have answered no longer wait; others may.
    fn withdraw(&mut self, why: String, context: &CompletionContext, now: Timestamp) -> Completion {
        // Messages that waited beside an owed answer have not been judged. Behind an unsolicited post, those
        // that the verdict had not seen go to a decision of their own.
        let has_unjudged = |step: &Step| step.is_owed && step.follow_up_due.is_some();
        if self.owed.is_empty() && !self.step.as_ref().is_some_and(has_unjudged) {
            let closing = DecisionClosing::new(DecisionResult::Dropped, why);
            return self.close(closing, Answered::default(), context, now);
        }
        self.resume_waiting(now);
        Completion {
            unsent: Some(UnsentOutcome::Dropped),
            retired: Some(AttemptResult::Superseded),
            ..Completion::default()
        }
    }

    /// Judges the same decision once more at `due`. If messages arrived during the judgment, that is when the
    /// conversation has rested; if they made a reply doubtful, it is at once, since they are what has to be judged. A
    /// user who mentioned the persona comes first.
    fn look_again(
        &mut self,
        claim: &Claim,
        due: Timestamp,
        context: &CompletionContext,
        now: Timestamp,
    ) -> Completion {
        let is_owed = !self.owed.is_empty();
        if is_owed {
            self.resume_waiting(now);
        } else if let Some(step) = &mut self.step {
            let is_judged_now = matches!(claim.work, Work::Judge(_));
            let rested =
                step.follow_up_due.filter(|_| is_judged_now && context.unseen().next().is_some());
            let waiting_since = rested.map_or(now, |_| step.waiting_since);
            let (redrafts, second_looks) = (step.redrafts, step.second_looks + 1);
            let judge = Work::Judge(step.work.conversation().clone());
            let due = rested.unwrap_or(due).max(now);
            let next = new_step(judge, due, step.decision, step.generation + 1);
            *step = Step { waiting_since, redrafts, second_looks, ..next };
        }
        Completion {
            unsent: Some(UnsentOutcome::Dropped),
            retired: Some(match is_owed {
                true => AttemptResult::Superseded,
                false => AttemptResult::LookedAgain,
            }),
            ..Completion::default()
        }
    }

    /// Drafts again, with the messages that arrived in the meantime.
    fn restart_draft(&mut self, due: Timestamp, now: Timestamp) -> Completion {
        let Some(step) = &mut self.step else { return Completion::default() };
        // A user who mentioned the persona while the item was in flight is answered first.
        if !step.is_owed && !self.owed.is_empty() {
            self.resume_waiting(now);
            return Completion {
                unsent: Some(UnsentOutcome::Superseded),
                retired: Some(AttemptResult::Superseded),
                ..Completion::default()
            };
        }
        let reply = Work::Reply(step.work.conversation().clone());
        let redrafts = step.redrafts + 1;
        let next = new_step(reply, due, step.decision, step.generation + 1);
        let (is_owed, since) = (step.is_owed, step.waiting_since);
        *step = Step {
            is_owed,
            follow_up_due: step.follow_up_due,
            waiting_since: since,
            redrafts,
            second_looks: step.second_looks,
            ..next
        };
        Completion {
            unsent: Some(UnsentOutcome::Superseded),
            has_redrafted: true,
            ..Completion::default()
        }
    }

    /// Continues the same decision: with an owed answer if there is one, otherwise with the messages to judge.
    fn resume_waiting(&mut self, now: Timestamp) {
        let Some(step) = &mut self.step else { return };
        let conversation = step.work.conversation().clone();
        let generation = step.generation + 1;
        let (follow_up_due, second_looks) = match step.is_owed {
            true => (step.follow_up_due, step.second_looks),
            // The verdict no longer counts, and what it was about has waited long enough.
            false => (Some(now), 0),
        };
        let waiting_since = step.waiting_since;
        if !self.owed.is_empty() {
            let reply = new_step(Work::Reply(conversation), now, step.decision, generation);
            // Counted, so that a message that is edited before every post cannot repeat this for ever.
            let redrafts = step.redrafts + u32::from(step.is_owed);
            *step = Step {
                is_owed: true,
                follow_up_due,
                waiting_since,
                redrafts,
                second_looks,
                ..reply
            };
        } else if let Some(due) = follow_up_due {
            let judge =
                new_step(Work::Judge(conversation), due.max(now), step.decision, generation);
            *step = Step { waiting_since, second_looks, ..judge };
        }
    }

    fn give_up(
        &mut self,
        claim: &Claim,
        error: String,
        why: String,
        context: &CompletionContext,
        now: Timestamp,
    ) -> Completion {
        let (answered, text): (Vec<Owed>, _) = match &claim.work {
            Work::Post(item) => (item.metadata.owed.clone(), Some(item.text.clone())),
            Work::Judge(_) | Work::Reply(_) => {
                let owed = self.owed.iter().map(|owed| owed.to.clone());
                // A user who asked later gets a separate answer.
                (owed.filter(|owed| !context.is_unseen(owed)).collect(), None)
            }
        };
        let dead_letter = DeadLetter {
            id: DeadLetterId::default(),
            decision: Some(claim.decision),
            conversation: claim.work.conversation().clone(),
            verb: claim.work.verb().into(),
            at: now,
            attempts: claim.attempt,
            error,
            text,
        };
        let closing = DecisionClosing::new(DecisionResult::Failed, why);
        let answered = Answered { owed: &answered, ..Answered::default() };
        let closed = self.close(closing, answered, context, now);
        Completion {
            dead_letter: Some(dead_letter),
            unsent: Some(UnsentOutcome::DeadLettered),
            ..closed
        }
    }

    /// Closes the decision. The messages that it answered stay with it, even if they were edited too late to be seen by
    /// it, and so do those that were judged, unless they are left open. All others go to the next decision.
    fn close(
        &mut self,
        closing: DecisionClosing,
        answered: Answered<'_>,
        context: &CompletionContext,
        now: Timestamp,
    ) -> Completion {
        let is_settled =
            |owed: &Owed| answered.owed.contains(owed) || closing.settled.contains(owed);
        let settled = self.owed.extract_if(.., |owed| is_settled(&owed.to)).collect::<Vec<_>>();
        let is_answered = |id: &MessageId| {
            settled.iter().any(|owed| owed.to == *id) || answered.others.contains(id)
        };
        // Taken only if work is left for another decision.
        let next_id = DecisionId(context.last_id + 1);
        let mut messages = Vec::new();
        if let Some(step) = self.step.take() {
            let conversation = step.work.conversation().clone();
            // What was judged is judged again only where a post has left it open: one verdict per unchanged state.
            messages = context.unjudged(&step, answered.left_open, is_answered);
            let is_owed = |id: &MessageId| self.owed.iter().any(|owed| owed.to == *id);
            let has_unjudged = !messages.iter().all(is_owed);
            let left_open = (!answered.left_open.is_empty()).then(|| now + LEFT_OPEN_REST);
            let follow_up_due = step.follow_up_due.or(left_open).filter(|_| has_unjudged);
            let generation = step.generation + 1;
            let second_looks = if step.is_owed { step.second_looks } else { 0 };
            if !self.owed.is_empty() {
                let reply = new_step(Work::Reply(conversation), now, next_id, generation);
                let waiting_since = follow_up_due.map_or(now, |_| step.waiting_since);
                let reply = Step { is_owed: true, follow_up_due, second_looks, ..reply };
                self.step = Some(Step { waiting_since, ..reply });
            } else if let Some(due) = follow_up_due {
                let judge = new_step(Work::Judge(conversation), due.max(now), next_id, generation);
                let waiting_since = step.waiting_since;
                self.step = Some(Step { waiting_since, second_looks, ..judge });
            }
        }
        let next_decision = self.step.as_ref().map(|step| NextDecision {
            id: next_id,
            is_owed: step.is_owed,
            messages,
        });
        Completion {
            closed: Some(closing),
            next_decision,
            unsent: Some(UnsentOutcome::Dropped),
            ..Completion::default()
        }
    }

    /// Returns the messages that were owed an answer and no longer are.
    pub fn closed_since(&self, owed: &[OwedAnswer]) -> Vec<MessageId> {
        let closed = owed.iter().filter(|owed| !self.owed.contains(owed));
        closed.filter_map(|owed| owed.to.message().cloned()).collect()
    }

    fn has_lease(&self, claim: &Claim) -> bool {
        let lease = self.step.as_ref().and_then(|step| step.lease);
        lease.is_some_and(|lease| lease.token == claim.token)
    }

    /// Replaces the step with the next one for the same decision.
    fn advance(&mut self, work: Work, due: Timestamp) {
        if let Some(step) = &mut self.step {
            // The generation stays: it is the same work, one step further.
            step.work = work;
            step.due = due;
            step.attempts = 0;
            step.lease = None;
        }
    }

    /// Schedules the same step again, at `due`.
    fn retry(&mut self, due: Timestamp) {
        if let Some(step) = &mut self.step {
            step.due = due;
            step.lease = None;
        }
    }

    /// Releases the lease, so that the step that replaced the work can be claimed when it is due.
    fn release_lease(&mut self) {
        if let Some(step) = &mut self.step {
            step.lease = None;
        }
    }
}

/// Returns the outbox rows of a new draft.
fn draft_items(claim: &Claim, draft: Draft, context: &CompletionContext) -> Vec<OutboxItem> {
    let (texts, on) = match draft.content {
        DraftContent::Text(items) => (items, None),
        DraftContent::Reaction { emoji, on } => (vec![emoji], Some(on)),
    };
    let numbers = NewNumbers { last_id: context.last_id, installation: &context.installation };
    let conversation = claim.work.conversation();
    let items = numbers.items(conversation, texts, &Arc::new(draft.metadata)).into_iter();
    items.map(|item| OutboxItem { reaction_to: on.clone(), ..item }).collect()
}

/// The numbering of new rows.
#[derive(Clone, Copy, Debug)]
pub struct NewNumbers<'a> {
    /// The highest number in use.
    pub last_id: i64,
    /// Makes outbox keys unique to this installation.
    pub installation: &'a str,
}

impl NewNumbers<'_> {
    /// Returns an idempotency key. A store that has lost its last seconds assigns the same numbers again, so the key also
    /// depends on what is posted: the platform may still know the earlier post.
    fn key(
        self,
        number: i64,
        conversation: &ConversationId,
        text: &str,
        metadata: &DraftMetadata,
    ) -> Arc<str> {
        let mut content = Sha256::new();
        let answered = metadata.owed.iter().map(Owed::as_str);
        let answered = answered.chain(metadata.about.iter().map(MessageId::as_str));
        for part in [&*conversation.to_string(), text].into_iter().chain(answered) {
            content.update(part);
            content.update([0]);
        }
        let [a, b, c, d, ..]: [u8; 32] = content.finalize().into();
        format!("{}-{number}-{:08x}", self.installation, u32::from_be_bytes([a, b, c, d])).into()
    }

    /// Returns the items of one draft with these texts.
    pub fn items(
        self,
        conversation: &ConversationId,
        texts: Vec<String>,
        metadata: &Arc<DraftMetadata>,
    ) -> Vec<OutboxItem> {
        // Rising numbers are the order in which the parts are posted.
        let first = OutboxItemId(self.last_id + 1);
        (first.0..)
            .zip(texts)
            .map(|(number, text)| OutboxItem {
                id: OutboxItemId(number),
                first_in_draft: first,
                conversation: conversation.clone(),
                key: self.key(number, conversation, &text, metadata),
                text: text.into(),
                reaction_to: None,
                metadata: metadata.clone(),
                dispatched_at: None,
            })
            .collect()
    }
}
