//! The one pending step of a conversation (invariant 2) and how people move it: by a line that is
//! heard, edited or deleted. Every store applies these rules inside its own transaction.
//!
//! While somebody is owed an answer, the step is an owed one, or words are on their way.

use jiff::{SignedDuration, Timestamp};

use crate::chat::{Message, MessageId, UserId};
use crate::decision::DecisionId;
use crate::event::{Claim, Course, Event, Follows, Rest};

/// Lines that address the persona one after the other are answered together, but the first of them
/// waits no longer than this.
const LONGEST_GATHERING: SignedDuration = SignedDuration::from_secs(10);
/// A mention that is edited in later than this is not owed an answer (DESIGN §3, *addressed*).
const EDIT_OWES_WITHIN: SignedDuration = SignedDuration::from_mins(10);

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
    pub follow: Option<Timestamp>,
    /// When the first line was said that this waits for. Nobody can put it off for ever.
    pub since: Timestamp,
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
            redrafts: self.redrafts,
        }
    }

    /// A model is being asked, or has answered: a new line is not part of it.
    fn is_begun(&self) -> bool {
        self.lease.is_some() || matches!(self.event, Event::Post(_))
    }

    /// There is something to throw away: work, a verdict or a draft. A wait alone is nothing.
    fn holds_work(&self) -> bool {
        self.lease.is_some() || !matches!(self.event, Event::Judge(_))
    }

    /// A line came behind what this is at work at. What has begun has waited long enough for its own.
    fn wait_behind(&mut self, at: Timestamp, rest: Rest) {
        if self.follow.is_none() {
            self.since = at;
        }
        self.follow = Some(due(rest, self.since));
    }

    /// People may have seen a part of it, so nothing takes its place any more (invariant 6).
    fn is_out(&self) -> bool {
        matches!(&self.event, Event::Post(piece) if piece.is_out())
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
    /// A line was heard. `fresh` numbers the decision, should one be opened.
    pub fn hear(
        &mut self,
        message: &Message,
        follows: Follows,
        fresh: DecisionId,
    ) -> Option<Arrived> {
        match follows {
            Follows::NoLine | Follows::Nothing(_) => None,
            Follows::Judge(rest) => Some(self.hear_unaddressed(message, rest, fresh)),
            Follows::Owe { due } | Follows::Obey { due } => {
                Some(self.hear_addressed(message, due, fresh))
            }
        }
    }

    /// A human's line was edited at `at`; `rest` is how unsolicited work goes on.
    pub fn hear_edit(
        &mut self,
        edited: Edited<'_>,
        at: Timestamp,
        rest: Rest,
        fresh: DecisionId,
    ) -> Option<Arrived> {
        let Edited { before, after } = edited;
        if !before.is_human() {
            return None;
        }
        let was_owed = self.withdraw(&before.id);
        let adds_mention = after.is_addressed() && !before.is_addressed();
        if was_owed && after.is_addressed() {
            self.owe(after);
            return self.redraft(at);
        }
        if adds_mention && at.duration_since(before.at) <= EDIT_OWES_WITHIN {
            return Some(self.hear_addressed(after, at, fresh));
        }
        if was_owed {
            // It addresses nobody now, and is a line like others.
            return self.ask_nobody(at, rest);
        }
        self.move_on(at, rest)
    }

    /// A line was deleted at `at`.
    pub fn hear_deletion(
        &mut self,
        message: &Message,
        at: Timestamp,
        rest: Rest,
    ) -> Option<Arrived> {
        if !message.is_human() {
            return None;
        }
        self.withdraw(&message.id);
        self.move_on(at, rest)
    }

    fn hear_unaddressed(&mut self, message: &Message, rest: Rest, fresh: DecisionId) -> Arrived {
        let Some(step) = &mut self.step else {
            let event = Event::Judge(message.conversation.clone());
            let since = message.at;
            return self.open(Step { since, ..armed(event, due(rest, since), fresh, 1) });
        };
        let stays = Arrived { decision: step.decision, has_opened: false, has_overtaken: false };
        if !step.is_owed && !step.is_out() {
            return self.move_on(message.at, rest).unwrap_or(stays);
        }
        step.wait_behind(message.at, rest);
        let is_due = step.due;
        let is_asker = self.owed.iter().any(|owed| owed.asker == message.author.id);
        if is_asker { self.redraft(is_due).unwrap_or(stays) } else { stays }
    }

    fn hear_addressed(&mut self, message: &Message, due: Timestamp, fresh: DecisionId) -> Arrived {
        self.owe(message);
        let Some(step) = &mut self.step else {
            let event = Event::Reply(message.conversation.clone());
            let since = message.at;
            return self.open(Step { is_owed: true, since, ..armed(event, due, fresh, 1) });
        };
        let stays = Arrived { decision: step.decision, has_opened: false, has_overtaken: false };
        if step.is_out() {
            // The post closes the owed lines that its context held; the rest arm Reply again.
            return stays;
        }
        if step.is_owed {
            if !step.is_begun() && step.attempts == 0 {
                let latest = step.since + LONGEST_GATHERING;
                step.due = step.due.max(due.min(latest));
            }
            return self.redraft(due).unwrap_or(stays);
        }
        // Should the mention be withdrawn, what waited before goes on.
        let follow = step.follow.unwrap_or(step.due);
        let has_overtaken = step.holds_work();
        self.replace(Event::Reply(message.conversation.clone()), due);
        if let Some(step) = &mut self.step {
            step.is_owed = true;
            step.follow = Some(follow);
        }
        Arrived { has_overtaken, ..stays }
    }

    /// The last line that was owed an answer is none any more: what is left of it is judged.
    fn ask_nobody(&mut self, at: Timestamp, rest: Rest) -> Option<Arrived> {
        let nobody_else = self.owed.is_empty();
        let step = self.step.as_mut()?;
        let (decision, holds_work) = (step.decision, step.holds_work());
        if !step.is_owed || !nobody_else || step.is_out() {
            step.wait_behind(at, rest);
            return Some(Arrived { decision, has_opened: false, has_overtaken: false });
        }
        let conversation = step.event.conversation().clone();
        self.replace(Event::Judge(conversation), due(rest, at));
        if let Some(step) = &mut self.step {
            step.since = at;
        }
        Some(Arrived { decision, has_opened: false, has_overtaken: holds_work })
    }

    fn open(&mut self, step: Step) -> Arrived {
        let decision = step.decision;
        self.step = Some(step);
        Arrived { decision, has_opened: true, has_overtaken: false }
    }

    /// Begins an owed answer anew, once, if it has begun without the newest lines.
    fn redraft(&mut self, due: Timestamp) -> Option<Arrived> {
        let step = self.step.as_ref()?;
        let (decision, follow) = (step.decision, step.follow);
        let has_overtaken = step.is_begun() && !step.is_out() && step.redrafts == 0;
        if has_overtaken {
            self.replace(Event::Reply(step.event.conversation().clone()), due);
            if let Some(step) = &mut self.step {
                step.is_owed = true;
                step.redrafts = 1;
                step.follow = follow;
            }
        }
        Some(Arrived { decision, has_opened: false, has_overtaken })
    }

    /// People moved on at `at`: what that does to unsolicited work, if there is any.
    fn move_on(&mut self, at: Timestamp, rest: Rest) -> Option<Arrived> {
        let step = self.step.as_mut().filter(|step| !step.is_owed && !step.is_out())?;
        let (decision, holds_work) = (step.decision, step.holds_work());
        let (tried, patient_until) = (step.attempts, step.due);
        let conversation = step.event.conversation().clone();
        if holds_work && rest.course == Course::GoesOn {
            step.wait_behind(at, rest);
            return Some(Arrived { decision, has_opened: false, has_overtaken: false });
        }
        // What was begun has waited long enough for its lines; the wait is for what is new.
        let since = if holds_work { at } else { step.since };
        self.replace(Event::Judge(conversation), due(rest, since));
        if let Some(step) = &mut self.step {
            step.since = since;
            if !holds_work && tried > 0 {
                // It failed before, and is to be tried no sooner and no more often for what is said.
                step.attempts = tried;
                step.due = step.due.max(patient_until);
            }
        }
        Some(Arrived { decision, has_opened: false, has_overtaken: holds_work })
    }

    /// Puts another event in the step's place. A running lease stays, so that the conversation is
    /// not worked at twice at a time; its work is now of an older generation.
    fn replace(&mut self, event: Event, due: Timestamp) {
        if let Some(step) = &mut self.step {
            let generation = step.generation + 1;
            let fresh = armed(event, due, step.decision, generation);
            *step = Step { lease: step.lease, since: step.since, ..fresh };
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

/// When a conversation is judged whose first line was said at `since`.
fn due(rest: Rest, since: Timestamp) -> Timestamp {
    since.checked_add(rest.longest).map_or(rest.due, |latest| rest.due.min(latest))
}

/// A step that nobody has taken yet, for lines that are as old as it is.
pub(super) fn armed(event: Event, due: Timestamp, decision: DecisionId, generation: u64) -> Step {
    Step {
        event,
        due,
        decision,
        is_owed: false,
        redrafts: 0,
        follow: None,
        since: due,
        generation,
        attempts: 0,
        lease: None,
    }
}
