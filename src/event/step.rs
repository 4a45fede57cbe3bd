//! The one pending step of a conversation (invariant 2) and what moves it: a line that is heard,
//! a line that changes, a step that is done. Both stores apply these rules inside their own
//! transaction.

use jiff::{SignedDuration, Timestamp};

use crate::chat::{Message, MessageId, UserId};
use crate::decision::DecisionId;
use crate::event::{Claim, Event, Follows};

/// A mention that is edited in later than this is not owed an answer (DESIGN §3, *addressed*).
const EDIT_OWES_WITHIN: SignedDuration = SignedDuration::from_mins(10);

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    pub event: Event,
    pub due: Timestamp,
    pub decision: DecisionId,
    /// It will answer somebody who addressed the persona.
    pub is_owed: bool,
    /// An owed answer was begun anew once to hold more lines; it is not a second time.
    pub is_redrafted: bool,
    /// Lines came that this step will not consider: judge them then, once it is done.
    pub follow: Option<Timestamp>,
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
    pub fn ready(&self) -> Timestamp {
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
        }
    }

    fn is_begun(&self) -> bool {
        self.lease.is_some() || matches!(self.event, Event::Post(_))
    }

    fn is_sending(&self) -> bool {
        matches!(&self.event, Event::Post(piece) if piece.is_sending())
    }
}

/// An owed answer that is still open.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Owed {
    /// When the line was said.
    pub at: Timestamp,
    pub message: MessageId,
    pub asker: UserId,
}

/// Where a conversation stands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Standing {
    pub step: Option<Step>,
    /// Oldest first.
    pub owed: Vec<Owed>,
}

/// A line before and after its author changed it.
#[derive(Clone, Copy, Debug)]
pub struct Edited<'a> {
    pub before: &'a Message,
    pub after: &'a Message,
}

/// What a line did to its conversation's standing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrived {
    /// The decision that covers the line.
    pub decision: DecisionId,
    pub has_opened: bool,
    /// Running work, drafts and verdicts of this conversation no longer count.
    pub has_overtaken: bool,
}

impl Standing {
    /// A human line was heard. `fresh` numbers the decision, should one be opened.
    pub fn hear(
        &mut self,
        message: &Message,
        follows: Follows,
        fresh: DecisionId,
    ) -> Option<Arrived> {
        match follows {
            Follows::Nothing(_) => None,
            Follows::Judge { due } => Some(self.hear_unaddressed(message, due, fresh)),
            Follows::Owe { due } => Some(self.hear_addressed(message, due, fresh)),
        }
    }

    /// A line of this conversation was edited at `at`; `rested` is when unsolicited work may go on.
    pub fn hear_edit(
        &mut self,
        edited: Edited<'_>,
        at: Timestamp,
        rested: Timestamp,
        fresh: DecisionId,
    ) -> Option<Arrived> {
        let Edited { before, after } = edited;
        let was_owed = self.withdraw(&before.id);
        let adds_mention = after.is_addressed() && !before.is_addressed();
        if was_owed && after.is_addressed() {
            self.owe(after);
            let decision = self.step.as_ref().map_or(fresh, |step| step.decision);
            return Some(self.redraft(at, decision));
        }
        if adds_mention && at.duration_since(before.at) <= EDIT_OWES_WITHIN {
            return Some(self.hear_addressed(after, at, fresh));
        }
        self.restart(rested)
    }

    /// A line of this conversation was taken back.
    pub fn hear_deletion(&mut self, message: &MessageId, rested: Timestamp) -> Option<Arrived> {
        self.withdraw(message);
        self.restart(rested)
    }

    /// The step is done and another takes its place, for the same decision.
    pub fn go_on(&mut self, event: Event, due: Timestamp) {
        if let Some(step) = &mut self.step {
            step.event = event;
            step.due = due;
            step.attempts = 0;
            step.lease = None;
        }
    }

    /// The same step again, at `due`.
    pub fn again(&mut self, due: Timestamp) {
        if let Some(step) = &mut self.step {
            step.due = due;
            step.lease = None;
        }
    }

    /// The work was overtaken; what took its place may be claimed when it is due.
    pub fn release(&mut self) {
        if let Some(step) = &mut self.step {
            step.lease = None;
        }
    }

    /// Nobody is owed an answer any more. Lines that waited behind it are judged instead, for the
    /// same decision; without such lines the step stays, to be closed, and this returns false.
    pub fn fall_back_to_judging(&mut self, now: Timestamp) -> bool {
        let Some(step) = &mut self.step else {
            return false;
        };
        let Some(due) = step.follow else { return false };
        let event = Event::Judge(step.event.conversation().clone());
        *step = armed(event, due.max(now), step.decision, step.generation + 1);
        true
    }

    /// The step is done and its decision closed. `answered` lists the owed lines that it settled;
    /// what came meanwhile is taken up under `fresh`.
    pub fn close(
        &mut self,
        answered: &[MessageId],
        has_unseen: bool,
        now: Timestamp,
        fresh: DecisionId,
    ) {
        self.owed.retain(|owed| !answered.contains(&owed.message));
        let Some(step) = self.step.take() else { return };
        let follow = step.follow.filter(|_| has_unseen);
        let conversation = step.event.conversation().clone();
        let generation = step.generation + 1;
        if !self.owed.is_empty() {
            self.step = Some(Step {
                is_owed: true,
                follow,
                ..armed(Event::Reply(conversation), now, fresh, generation)
            });
        } else if let Some(due) = follow {
            self.step = Some(armed(Event::Judge(conversation), due.max(now), fresh, generation));
        }
    }

    fn hear_unaddressed(
        &mut self,
        message: &Message,
        due: Timestamp,
        fresh: DecisionId,
    ) -> Arrived {
        let Some(step) = &mut self.step else {
            let event = Event::Judge(message.conversation.clone());
            self.step = Some(armed(event, due, fresh, 1));
            return Arrived { decision: fresh, has_opened: true, has_overtaken: false };
        };
        let decision = step.decision;
        let stays = Arrived { decision, has_opened: false, has_overtaken: false };
        if step.is_sending() {
            step.follow = Some(due);
            return stays;
        }
        if !step.is_owed {
            return self.restart(due).unwrap_or(stays);
        }
        let is_asker = self.owed.iter().any(|owed| owed.asker == message.author.id);
        if is_asker && !step.is_redrafted {
            let due = step.due;
            return self.redraft(due, decision);
        }
        // The work that is under way may not see this line; work that has not begun will.
        if step.is_begun() {
            step.follow = Some(due);
        }
        stays
    }

    fn hear_addressed(&mut self, message: &Message, due: Timestamp, fresh: DecisionId) -> Arrived {
        self.owe(message);
        let Some(step) = &mut self.step else {
            let event = Event::Reply(message.conversation.clone());
            self.step = Some(Step { is_owed: true, ..armed(event, due, fresh, 1) });
            return Arrived { decision: fresh, has_opened: true, has_overtaken: false };
        };
        let decision = step.decision;
        if step.is_sending() || (step.is_owed && step.is_redrafted) {
            // The post closes the owed lines that its context held; the rest arm Reply again.
            return Arrived { decision, has_opened: false, has_overtaken: false };
        }
        if step.is_owed {
            return self.redraft(due, decision);
        }
        self.replace(Event::Reply(message.conversation.clone()), due);
        if let Some(step) = &mut self.step {
            step.is_owed = true;
        }
        Arrived { decision, has_opened: false, has_overtaken: true }
    }

    /// Begins the owed answer anew, once, if it was begun at all.
    fn redraft(&mut self, due: Timestamp, decision: DecisionId) -> Arrived {
        let has_overtaken = match &self.step {
            Some(step) if step.is_begun() && !step.is_sending() && !step.is_redrafted => {
                let event = Event::Reply(step.event.conversation().clone());
                self.replace(event, due);
                if let Some(step) = &mut self.step {
                    step.is_owed = true;
                    step.is_redrafted = true;
                }
                true
            }
            Some(_) | None => false,
        };
        Arrived { decision, has_opened: false, has_overtaken }
    }

    /// Starts the wait again if there is unsolicited work to replace.
    fn restart(&mut self, due: Timestamp) -> Option<Arrived> {
        let step = self.step.as_ref().filter(|step| !step.is_owed && !step.is_sending())?;
        let decision = step.decision;
        self.replace(Event::Judge(step.event.conversation().clone()), due);
        Some(Arrived { decision, has_opened: false, has_overtaken: true })
    }

    /// Puts another event in the step's place. A running lease stays, so that the conversation is
    /// not worked at twice at a time; its work is now of an older generation.
    fn replace(&mut self, event: Event, due: Timestamp) {
        if let Some(step) = &mut self.step {
            let generation = step.generation + 1;
            *step = Step { lease: step.lease, ..armed(event, due, step.decision, generation) };
        }
    }

    fn owe(&mut self, message: &Message) {
        let (at, message, asker) = (message.at, message.id.clone(), message.author.id.clone());
        self.owed.push(Owed { at, message, asker });
        self.owed.sort();
    }

    fn withdraw(&mut self, message: &MessageId) -> bool {
        let before = self.owed.len();
        self.owed.retain(|owed| owed.message != *message);
        self.owed.len() < before
    }
}

fn armed(event: Event, due: Timestamp, decision: DecisionId, generation: u64) -> Step {
    Step {
        event,
        due,
        decision,
        is_owed: false,
        is_redrafted: false,
        follow: None,
        generation,
        attempts: 0,
        lease: None,
    }
}
