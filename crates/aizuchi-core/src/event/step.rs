//! The one pending step of a conversation (invariant 2) and how people move it: by a line that is
//! heard, edited or deleted. Every store applies these rules inside its own transaction.
//!
//! While somebody is owed an answer, the step is an owed one, or words are on their way.

use jiff::{SignedDuration, Timestamp};

use crate::chat::{Message, MessageId, UserId};
use crate::decision::DecisionId;
use crate::event::{Claim, Debounce, Disposition, Event, OnNewMessage};

/// Lines that address the persona one after the other are answered together, but the first of them
/// waits no longer than this.
const MAX_GATHERING: SignedDuration = SignedDuration::from_secs(10);
/// A mention that is edited in later than this is not owed an answer (DESIGN §3, *addressed*).
const EDITED_MENTION_WINDOW: SignedDuration = SignedDuration::from_mins(10);

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    pub event: Event,
    pub due: Timestamp,
    pub decision: DecisionId,
    /// It will answer somebody who addressed the persona.
    pub is_owed: bool,
    /// How often an owed answer was begun anew: once at most to hold more lines, and whenever a line
    /// that it was made from has changed.
    pub redrafts: u32,
    /// Lines wait behind an owed answer, or came while work went on: if they turn out not to have been
    /// considered, they are judged then, once this step is done.
    pub follow_up_due: Option<Timestamp>,
    /// When the first line was said that this waits for. Nobody can put it off for ever.
    pub waiting_since: Timestamp,
    /// Rises whenever people replace the work. Work of an older generation is discarded.
    pub generation: u64,
    /// How often this step was claimed.
    pub attempts: u32,
    pub lease: Option<Lease>,
}

/// A runner's hold on a step. One conversation is never worked at twice at a time (invariant 4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lease {
    pub token: i64,
    pub until: Timestamp,
}

impl Step {
    /// When it may be claimed: when it is due, or when a lease on it has ended, if that is later.
    pub fn ready_at(&self) -> Timestamp {
        self.lease.map_or(self.due, |lease| self.due.max(lease.until))
    }

    /// What a runner that takes this step is handed.
    pub fn claim(&self, token: i64) -> Claim {
        Claim {
            event: self.event.clone(),
            due: self.due,
            decision: self.decision,
            is_owed: self.is_owed,
            generation: self.generation,
            token,
            attempt: self.attempts + 1,
            redrafts: self.redrafts,
        }
    }

    /// A model is being asked, or has answered: a new line is not part of it.
    fn has_started(&self) -> bool {
        self.lease.is_some() || matches!(self.event, Event::Post(_))
    }

    /// There is something to throw away: work, a verdict or a draft. A wait alone is nothing.
    fn has_work(&self) -> bool {
        self.lease.is_some() || !matches!(self.event, Event::Judge(_))
    }

    /// A line came behind what this is at work at. What has begun has waited long enough for its own.
    fn queue_behind(&mut self, at: Timestamp, rest: Debounce) {
        if self.follow_up_due.is_none() {
            self.waiting_since = at;
        }
        self.follow_up_due = Some(judge_due(rest, self.waiting_since));
    }

    /// People may have seen a part of it, so nothing takes its place any more (invariant 6).
    fn is_published(&self) -> bool {
        matches!(&self.event, Event::Post(piece) if piece.is_published())
    }
}

/// An owed answer that is still open.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct OwedAnswer {
    /// When the line was said.
    pub at: Timestamp,
    pub message: MessageId,
    pub asker: UserId,
}

/// Where a conversation stands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PendingState {
    pub step: Option<Step>,
    /// Oldest first.
    pub owed: Vec<OwedAnswer>,
}

/// A line before and after its author changed it.
#[derive(Clone, Copy, Debug)]
pub struct EditedMessage<'a> {
    pub before: &'a Message,
    pub after: &'a Message,
}

/// What a line did to its conversation's standing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HearEffect {
    /// The decision that covers the line.
    pub decision: DecisionId,
    pub has_opened_decision: bool,
    /// Running work, drafts and verdicts of this conversation no longer count.
    pub has_superseded: bool,
}

impl PendingState {
    /// A line was heard. `fresh` numbers the decision, should one be opened.
    pub fn hear(
        &mut self,
        message: &Message,
        follows: Disposition,
        fresh: DecisionId,
    ) -> Option<HearEffect> {
        match follows {
            Disposition::NotAMessage | Disposition::Settled(_) => None,
            Disposition::Judge(rest) => Some(self.hear_unaddressed(message, rest, fresh)),
            Disposition::Owe { due } | Disposition::Command { due } => {
                Some(self.hear_addressed(message, due, fresh))
            }
        }
    }

    /// A human's line was edited at `at`; `rest` is how unsolicited work goes on.
    pub fn hear_edit(
        &mut self,
        edited: EditedMessage<'_>,
        at: Timestamp,
        rest: Debounce,
        fresh: DecisionId,
    ) -> Option<HearEffect> {
        let EditedMessage { before, after } = edited;
        if !before.is_human() {
            return None;
        }
        let was_owed = self.remove_owed(&before.id);
        let adds_mention = after.is_addressed() && !before.is_addressed();
        if was_owed && after.is_addressed() {
            self.add_owed(after);
            return self.redraft(at);
        }
        if adds_mention && at.duration_since(before.at) <= EDITED_MENTION_WINDOW {
            return Some(self.hear_addressed(after, at, fresh));
        }
        if was_owed {
            // It addresses nobody now, and is a line like others.
            return self.judge_instead(at, rest);
        }
        self.restart_or_continue(at, rest)
    }

    /// A line was deleted at `at`.
    pub fn hear_deletion(
        &mut self,
        message: &Message,
        at: Timestamp,
        rest: Debounce,
    ) -> Option<HearEffect> {
        if !message.is_human() {
            return None;
        }
        self.remove_owed(&message.id);
        self.restart_or_continue(at, rest)
    }

    fn hear_unaddressed(
        &mut self,
        message: &Message,
        rest: Debounce,
        fresh: DecisionId,
    ) -> HearEffect {
        let Some(step) = &mut self.step else {
            let event = Event::Judge(message.conversation.clone());
            let since = message.at;
            return self.open_decision(Step {
                waiting_since: since,
                ..new_step(event, judge_due(rest, since), fresh, 1)
            });
        };
        let stays = HearEffect {
            decision: step.decision,
            has_opened_decision: false,
            has_superseded: false,
        };
        if !step.is_owed && !step.is_published() {
            return self.restart_or_continue(message.at, rest).unwrap_or(stays);
        }
        step.queue_behind(message.at, rest);
        let is_due = step.due;
        let is_asker = self.owed.iter().any(|owed| owed.asker == message.author.id);
        if is_asker { self.redraft(is_due).unwrap_or(stays) } else { stays }
    }

    fn hear_addressed(
        &mut self,
        message: &Message,
        due: Timestamp,
        fresh: DecisionId,
    ) -> HearEffect {
        self.add_owed(message);
        let Some(step) = &mut self.step else {
            let event = Event::Reply(message.conversation.clone());
            let since = message.at;
            return self.open_decision(Step {
                is_owed: true,
                waiting_since: since,
                ..new_step(event, due, fresh, 1)
            });
        };
        let stays = HearEffect {
            decision: step.decision,
            has_opened_decision: false,
            has_superseded: false,
        };
        if step.is_published() {
            // The post closes the owed lines that its context held; the rest arm Reply again.
            return stays;
        }
        if step.is_owed {
            if !step.has_started() && step.attempts == 0 {
                let latest = step.waiting_since + MAX_GATHERING;
                step.due = step.due.max(due.min(latest));
            }
            return self.redraft(due).unwrap_or(stays);
        }
        // Should the mention be withdrawn, what waited before goes on.
        let follow = step.follow_up_due.unwrap_or(step.due);
        let has_overtaken = step.has_work();
        self.replace_step(Event::Reply(message.conversation.clone()), due);
        if let Some(step) = &mut self.step {
            step.is_owed = true;
            step.follow_up_due = Some(follow);
        }
        HearEffect { has_superseded: has_overtaken, ..stays }
    }

    /// The last line that was owed an answer is none any more: what is left of it is judged.
    fn judge_instead(&mut self, at: Timestamp, rest: Debounce) -> Option<HearEffect> {
        let nobody_else = self.owed.is_empty();
        let step = self.step.as_mut()?;
        let (decision, holds_work) = (step.decision, step.has_work());
        if !step.is_owed || !nobody_else || step.is_published() {
            step.queue_behind(at, rest);
            return Some(HearEffect {
                decision,
                has_opened_decision: false,
                has_superseded: false,
            });
        }
        let conversation = step.event.conversation().clone();
        self.replace_step(Event::Judge(conversation), judge_due(rest, at));
        if let Some(step) = &mut self.step {
            step.waiting_since = at;
        }
        Some(HearEffect { decision, has_opened_decision: false, has_superseded: holds_work })
    }

    fn open_decision(&mut self, step: Step) -> HearEffect {
        let decision = step.decision;
        self.step = Some(step);
        HearEffect { decision, has_opened_decision: true, has_superseded: false }
    }

    /// Begins an owed answer anew, once, if it has begun without the newest lines.
    fn redraft(&mut self, due: Timestamp) -> Option<HearEffect> {
        let step = self.step.as_ref()?;
        let (decision, follow) = (step.decision, step.follow_up_due);
        let has_overtaken = step.has_started() && !step.is_published() && step.redrafts == 0;
        if has_overtaken {
            self.replace_step(Event::Reply(step.event.conversation().clone()), due);
            if let Some(step) = &mut self.step {
                step.is_owed = true;
                step.redrafts = 1;
                step.follow_up_due = follow;
            }
        }
        Some(HearEffect { decision, has_opened_decision: false, has_superseded: has_overtaken })
    }

    /// People moved on at `at`: what that does to unsolicited work, if there is any.
    fn restart_or_continue(&mut self, at: Timestamp, rest: Debounce) -> Option<HearEffect> {
        let step = self.step.as_mut().filter(|step| !step.is_owed && !step.is_published())?;
        let (decision, holds_work) = (step.decision, step.has_work());
        let (tried, patient_until) = (step.attempts, step.due);
        let conversation = step.event.conversation().clone();
        if holds_work && rest.on_new_message == OnNewMessage::Continue {
            step.queue_behind(at, rest);
            return Some(HearEffect {
                decision,
                has_opened_decision: false,
                has_superseded: false,
            });
        }
        // What was begun has waited long enough for its lines; the wait is for what is new.
        let since = if holds_work { at } else { step.waiting_since };
        self.replace_step(Event::Judge(conversation), judge_due(rest, since));
        if let Some(step) = &mut self.step {
            step.waiting_since = since;
            if !holds_work && tried > 0 {
                // It failed before, and is to be tried no sooner and no more often for what is said.
                step.attempts = tried;
                step.due = step.due.max(patient_until);
            }
        }
        Some(HearEffect { decision, has_opened_decision: false, has_superseded: holds_work })
    }

    /// Puts another event in the step's place. A running lease stays, so that the conversation is
    /// not worked at twice at a time; its work is now of an older generation.
    fn replace_step(&mut self, event: Event, due: Timestamp) {
        if let Some(step) = &mut self.step {
            let generation = step.generation + 1;
            let fresh = new_step(event, due, step.decision, generation);
            *step = Step { lease: step.lease, waiting_since: step.waiting_since, ..fresh };
        }
    }

    fn add_owed(&mut self, message: &Message) {
        let (at, message, asker) = (message.at, message.id.clone(), message.author.id.clone());
        self.owed.push(OwedAnswer { at, message, asker });
        self.owed.sort();
    }

    fn remove_owed(&mut self, message: &MessageId) -> bool {
        let before = self.owed.len();
        self.owed.retain(|owed| owed.message != *message);
        self.owed.len() < before
    }
}

/// When a conversation is judged whose first line was said at `since`.
fn judge_due(rest: Debounce, since: Timestamp) -> Timestamp {
    since.checked_add(rest.max_wait).map_or(rest.due, |latest| rest.due.min(latest))
}

/// A step that nobody has taken yet, for lines that are as old as it is.
pub(super) fn new_step(
    event: Event,
    due: Timestamp,
    decision: DecisionId,
    generation: u64,
) -> Step {
    Step {
        event,
        due,
        decision,
        is_owed: false,
        redrafts: 0,
        follow_up_due: None,
        waiting_since: due,
        generation,
        attempts: 0,
        lease: None,
    }
}
