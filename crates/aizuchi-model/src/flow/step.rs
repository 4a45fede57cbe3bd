//! The one pending step of a conversation (invariant 2), and how messages, edits and deletions change it. Every store
//! applies these rules inside its own transaction.
//!
//! While a user is owed an answer, the step is an owed one, or a post is in flight.

use jiff::{SignedDuration, Timestamp};

use crate::chat::owed::Owed;
use crate::chat::{Arrival, ConversationId, Message, MessageId, UserId};
use crate::decision::DecisionId;
use crate::flow::{Claim, Debounce, Disposition, OnNewMessage, Work};

/// Messages that address the persona in quick succession are answered together, but the first of them waits no
/// longer than this.
const MAX_GATHERING: SignedDuration = SignedDuration::from_secs(10);
/// How long a message that is owed an answer must not have been edited, so that its last form is answered.
const CALM: SignedDuration = SignedDuration::from_secs(2);
/// Edits postpone an answer no longer than this.
const MAX_CALM_WAIT: SignedDuration = SignedDuration::from_mins(2);

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    pub work: Work,
    pub due: Timestamp,
    pub decision: DecisionId,
    /// Whether it answers a user who addressed the persona.
    pub is_owed: bool,
    /// How often an owed answer was started again: at most once to include more messages, and whenever one of its
    /// source messages has changed.
    pub redrafts: u32,
    /// How often its decision was looked at again, because a verdict was unsure or asked for it, or because it became
    /// unclear whether a user still waits. Reset by each message that replaces the work. While an answer is owed, this
    /// counts the second looks at the messages that wait to be judged after it.
    pub second_looks: u32,
    /// Set if messages waited to be judged when an answer became owed, or arrived while work was in progress. If nobody
    /// has judged them, they are judged at this time, once this step is done.
    pub follow_up_due: Option<Timestamp>,
    /// When the first message that this step waits for was written. It limits how long later messages can postpone the
    /// step.
    pub waiting_since: Timestamp,
    /// Increases whenever the work is replaced. Work of an older generation is discarded.
    pub generation: u64,
    /// How often this step was claimed.
    pub attempts: u32,
    pub lease: Option<Lease>,
}

/// A runner's hold on a step, so that a conversation is never handled twice at the same time (invariant 4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lease {
    pub token: i64,
    pub until: Timestamp,
}

impl Step {
    /// Returns when the step may be claimed: when it is due, or when its lease has ended, if that is later.
    pub fn ready_at(&self) -> Timestamp {
        self.lease.map_or(self.due, |lease| self.due.max(lease.until))
    }

    /// Returns the claim for a runner that claims this step.
    pub fn claim(&self, token: i64) -> Claim {
        Claim {
            work: self.work.clone(),
            due: self.due,
            decision: self.decision,
            is_owed: self.is_owed,
            generation: self.generation,
            token,
            attempt: self.attempts + 1,
            redrafts: self.redrafts,
            second_looks: self.second_looks,
            plan: None,
        }
    }

    /// Whether a model is being called or has answered, so that a new message is not included.
    fn has_started(&self) -> bool {
        self.lease.is_some() || matches!(self.work, Work::Post(_))
    }

    /// Whether there is anything to discard: work in progress, a verdict or a draft. A mere wait does not count.
    pub(super) fn has_work(&self) -> bool {
        self.lease.is_some() || !matches!(self.work, Work::Judge(_))
    }

    /// Queues a message behind the current work. The wait starts with the first queued message. If it is over and only
    /// an owed answer comes first, a later message prolongs it no more, unless every message restarts it.
    fn queue_behind(&mut self, at: Timestamp, debounce: Debounce) {
        if self.is_owed {
            self.second_looks = 0;
        }
        let goes_on = self.is_owed && debounce.on_new_message == OnNewMessage::Continue;
        match self.follow_up_due {
            Some(due) if due <= at && goes_on => return,
            Some(_) => {}
            None => self.waiting_since = at,
        }
        self.follow_up_due = Some(judge_due(debounce, self.waiting_since));
    }

    /// Whether it is a proposal that a keeper has approved. It comes before later mentions, or its text would be lost.
    fn is_approved(&self) -> bool {
        matches!(&self.work, Work::Post(item) if item.metadata.is_approved)
    }

    /// Whether users may have seen a part of it, so that nothing may replace it (invariant 6).
    fn is_published(&self) -> bool {
        matches!(&self.work, Work::Post(item) if item.is_published())
    }
}

/// An owed answer that is still open.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct OwedAnswer {
    /// When the message was written, or the channel joined.
    pub at: Timestamp,
    pub to: Owed,
    pub asker: UserId,
}

/// The pending work of a conversation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PendingState {
    pub step: Option<Step>,
    /// Oldest first.
    pub owed: Vec<OwedAnswer>,
}

/// A message before and after its author changed it.
#[derive(Clone, Copy, Debug)]
pub struct EditedMessage<'a> {
    pub before: &'a Message,
    pub after: &'a Message,
}

/// The effect of a message on its conversation's pending state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HearEffect {
    /// The decision that covers the message.
    pub decision: DecisionId,
    pub has_opened_decision: bool,
    /// Whether work in progress, drafts and verdicts of this conversation no longer count.
    pub has_superseded: bool,
}

impl PendingState {
    /// Applies a new message. `new_decision` is the id of the decision, if one is opened.
    pub fn hear(
        &mut self,
        message: &Message,
        disposition: Disposition,
        new_decision: DecisionId,
    ) -> Option<HearEffect> {
        match disposition {
            Disposition::NotAMessage | Disposition::Settled(_) => None,
            Disposition::Judge(debounce) => {
                Some(self.hear_unaddressed(message, debounce, new_decision))
            }
            Disposition::Owe { due } | Disposition::Command { due } => {
                Some(self.hear_addressed(message, due, new_decision))
            }
        }
    }

    /// Applies an edit of a human's message at `at`. `debounce` says how unsolicited work continues.
    pub fn hear_edit(
        &mut self,
        edited: EditedMessage<'_>,
        at: Timestamp,
        debounce: Debounce,
        new_decision: DecisionId,
    ) -> Option<HearEffect> {
        let EditedMessage { before, after } = edited;
        if !before.is_human() {
            return None;
        }
        let was_owed = self.remove_owed(&before.id);
        // A mention may be removed and added again repeatedly. Each answer counts toward the author's limit.
        let adds_mention = after.is_addressed() && !before.is_addressed();
        // The draft may answer what the message no longer says.
        if was_owed && after.is_addressed() {
            self.add_owed(after);
            return self.redraft_when_calm(after, at);
        }
        if adds_mention && Arrival::of_edited(before.at, at) == Arrival::Live {
            return Some(self.hear_addressed(after, at, new_decision));
        }
        if was_owed {
            // It addresses no user now, so it is treated like any other message.
            return self.judge_instead(at, debounce);
        }
        self.restart_or_continue(at, debounce)
    }

    /// Applies a deletion at `at`.
    pub fn hear_deletion(
        &mut self,
        message: &Message,
        at: Timestamp,
        debounce: Debounce,
    ) -> Option<HearEffect> {
        if !message.is_human() {
            return None;
        }
        // If nothing is owed any more, the reply withdraws itself when it is due.
        self.remove_owed(&message.id);
        self.restart_or_continue(at, debounce)
    }

    fn hear_unaddressed(
        &mut self,
        message: &Message,
        debounce: Debounce,
        new_decision: DecisionId,
    ) -> HearEffect {
        let Some(step) = &mut self.step else {
            let work = Work::Judge(message.conversation.clone());
            let since = message.at;
            return self.open_decision(Step {
                waiting_since: since,
                ..new_step(work, judge_due(debounce, since), new_decision, 1)
            });
        };
        let unchanged = HearEffect {
            decision: step.decision,
            has_opened_decision: false,
            has_superseded: false,
        };
        if !step.is_owed && !step.is_published() {
            return self.restart_or_continue(message.at, debounce).unwrap_or(unchanged);
        }
        // An owed answer or a post that has begun goes on; the message is judged afterwards.
        step.queue_behind(message.at, debounce);
        // A redraft keeps the time, so an asker who adds a message does not delay the answer.
        let is_due = step.due;
        let is_asker = self.owed.iter().any(|owed| owed.asker == message.author.id);
        if is_asker { self.redraft(is_due).unwrap_or(unchanged) } else { unchanged }
    }

    fn hear_addressed(
        &mut self,
        message: &Message,
        due: Timestamp,
        new_decision: DecisionId,
    ) -> HearEffect {
        self.add_owed(message);
        self.reply_to_owed(&message.conversation, message.at, due, new_decision)
    }

    /// Owes an answer once more about an earlier question, unless one is owed. `new_decision` is the id of the
    /// decision, if one is opened.
    pub fn owe_again(
        &mut self,
        owed: OwedAnswer,
        conversation: &ConversationId,
        now: Timestamp,
        new_decision: DecisionId,
    ) -> Option<HearEffect> {
        if self.owed.iter().any(|other| other.to == owed.to) {
            return None;
        }
        self.owed.push(owed);
        self.owed.sort();
        Some(self.reply_to_owed(conversation, now, now, new_decision))
    }

    /// Schedules a reply to the owed messages at `due`. The user has been waiting since `since`.
    fn reply_to_owed(
        &mut self,
        conversation: &ConversationId,
        since: Timestamp,
        due: Timestamp,
        new_decision: DecisionId,
    ) -> HearEffect {
        let Some(step) = &mut self.step else {
            let work = Work::Reply(conversation.clone());
            return self.open_decision(Step {
                is_owed: true,
                waiting_since: since,
                ..new_step(work, due, new_decision, 1)
            });
        };
        let unchanged = HearEffect {
            decision: step.decision,
            has_opened_decision: false,
            has_superseded: false,
        };
        if step.is_published() || step.is_approved() {
            // The post closes the owed messages that its context contained; the others schedule a reply again.
            return unchanged;
        }
        if step.is_owed {
            // After a failed attempt, the due time is the end of a back-off, not of the gathering.
            if !step.has_started() && step.attempts == 0 {
                let latest = step.waiting_since + MAX_GATHERING;
                step.due = step.due.max(due.min(latest));
            }
            return self.redraft(due).unwrap_or(unchanged);
        }
        // The messages that wait keep their own wait. It is over if their judgment or its result is superseded.
        let has_superseded = step.has_work();
        let (follow_up_due, second_looks) = match has_superseded {
            true => (since, 0),
            false => (step.due, step.second_looks),
        };
        self.replace_step(Work::Reply(conversation.clone()), due);
        if let Some(step) = &mut self.step {
            step.is_owed = true;
            step.follow_up_due = Some(follow_up_due);
            step.second_looks = second_looks;
        }
        HearEffect { has_superseded, ..unchanged }
    }

    /// Judges a conversation whose last owed message no longer addresses the persona.
    fn judge_instead(&mut self, at: Timestamp, debounce: Debounce) -> Option<HearEffect> {
        let is_last = self.owed.is_empty();
        let step = self.step.as_mut()?;
        let (decision, has_work) = (step.decision, step.has_work());
        if !step.is_owed || !is_last || step.is_published() {
            step.queue_behind(at, debounce);
            return Some(HearEffect {
                decision,
                has_opened_decision: false,
                has_superseded: false,
            });
        }
        let conversation = step.work.conversation().clone();
        let rested = judge_due(debounce, at);
        // Messages that waited before it wait no longer because of it.
        let (due, waiting_since) = match step.follow_up_due {
            Some(due) => (due.min(rested), step.waiting_since),
            None => (rested, at),
        };
        self.replace_step(Work::Judge(conversation), due);
        if let Some(step) = &mut self.step {
            step.waiting_since = waiting_since;
        }
        Some(HearEffect { decision, has_opened_decision: false, has_superseded: has_work })
    }

    fn open_decision(&mut self, step: Step) -> HearEffect {
        let decision = step.decision;
        self.step = Some(step);
        HearEffect { decision, has_opened_decision: true, has_superseded: false }
    }

    /// Starts an owed answer again, once, if it was started without the newest messages. An answer to commands waits for
    /// its turn, costs nothing, and is always started again.
    fn redraft(&mut self, due: Timestamp) -> Option<HearEffect> {
        let step = self.step.as_ref()?;
        let Step { decision, redrafts, .. } = *step;
        // After a failed attempt, it waits until the platform may take it.
        let is_to_commands = step.attempts == 0
            && matches!(&step.work, Work::Post(item) if item.metadata.only_for.is_some());
        let has_superseded = is_to_commands && self.start_again(due, redrafts)
            || redrafts == 0 && self.start_again(due, 1);
        Some(HearEffect { decision, has_opened_decision: false, has_superseded })
    }

    /// Answers an edited message once its author has ceased to edit it, unless others wait for the answer as well. What
    /// was drafted before is not a failure.
    fn redraft_when_calm(&mut self, edited: &Message, at: Timestamp) -> Option<HearEffect> {
        let due = (at + CALM).min(edited.at + MAX_CALM_WAIT);
        if due <= at || self.owed.iter().any(|owed| owed.asker != edited.author.id) {
            return self.redraft(at);
        }
        let step = self.step.as_mut()?;
        let Step { decision, redrafts, .. } = *step;
        if step.is_owed && !step.has_started() {
            step.due = step.due.max(due);
        }
        let has_superseded = step.is_owed && self.start_again(due, redrafts);
        Some(HearEffect { decision, has_opened_decision: false, has_superseded })
    }

    /// Starts an owed answer again at `due`. Returns whether there was anything to start again.
    fn start_again(&mut self, due: Timestamp, redrafts: u32) -> bool {
        let Some(step) = &self.step else { return false };
        let Step { follow_up_due, second_looks, .. } = *step;
        let is_replaced = step.has_started() && !step.is_published();
        if is_replaced {
            self.replace_step(Work::Reply(step.work.conversation().clone()), due);
            if let Some(step) = &mut self.step {
                step.is_owed = true;
                step.redrafts = redrafts;
                step.follow_up_due = follow_up_due;
                step.second_looks = second_looks;
            }
        }
        is_replaced
    }

    /// Applies a new message, edit or deletion at `at` to unsolicited work, if there is any.
    fn restart_or_continue(&mut self, at: Timestamp, debounce: Debounce) -> Option<HearEffect> {
        // Behind an approved post, which nothing replaces.
        let has_owed = !self.owed.is_empty();
        let step = self.step.as_mut().filter(|step| !step.is_owed && !step.is_published())?;
        let (decision, has_work) = (step.decision, step.has_work());
        let (attempts, retry_at) = (step.attempts, step.due);
        let conversation = step.work.conversation().clone();
        if has_work && (has_owed || debounce.on_new_message == OnNewMessage::Continue) {
            step.queue_behind(at, debounce);
            return Some(HearEffect {
                decision,
                has_opened_decision: false,
                has_superseded: false,
            });
        }
        // The work has waited long enough for its own messages; the new wait is for the new ones.
        let since = if has_work { at } else { step.waiting_since };
        self.replace_step(Work::Judge(conversation), judge_due(debounce, since));
        if let Some(step) = &mut self.step {
            step.waiting_since = since;
            if !has_work && attempts > 0 {
                // It failed before, and a new message must not make it retry sooner or more often.
                step.attempts = attempts;
                step.due = step.due.max(retry_at);
            }
        }
        Some(HearEffect { decision, has_opened_decision: false, has_superseded: has_work })
    }

    /// Replaces the work of the step. A running lease is kept, so that the conversation is not handled twice at the same
    /// time; its work now belongs to an older generation.
    fn replace_step(&mut self, work: Work, due: Timestamp) {
        if let Some(step) = &mut self.step {
            let generation = step.generation + 1;
            // Its attempts start again: the failed ones were those of the old work.
            let next = new_step(work, due, step.decision, generation);
            *step = Step { lease: step.lease, waiting_since: step.waiting_since, ..next };
        }
    }

    fn add_owed(&mut self, message: &Message) {
        let (at, to, asker) = (message.at, message.id.clone().into(), message.author.id.clone());
        self.owed.push(OwedAnswer { at, to, asker });
        self.owed.sort();
    }

    fn remove_owed(&mut self, message: &MessageId) -> bool {
        let before = self.owed.len();
        self.owed.retain(|owed| owed.to != *message);
        self.owed.len() < before
    }
}

/// Returns when to judge a conversation whose first unjudged message was written at `since`.
fn judge_due(debounce: Debounce, since: Timestamp) -> Timestamp {
    // A wait without a limit cannot be added.
    since.checked_add(debounce.max_wait).map_or(debounce.due, |latest| debounce.due.min(latest))
}

/// Returns an unclaimed step whose messages are as old as `due`.
pub fn new_step(work: Work, due: Timestamp, decision: DecisionId, generation: u64) -> Step {
    Step {
        work,
        due,
        decision,
        is_owed: false,
        redrafts: 0,
        second_looks: 0,
        follow_up_due: None,
        waiting_since: due,
        generation,
        attempts: 0,
        lease: None,
    }
}
