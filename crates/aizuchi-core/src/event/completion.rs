//! What becomes of a step that was worked at: the standing moves on, and the store is told what to
//! write besides. Every store applies these rules inside its own transaction.

use std::sync::Arc;

use jiff::Timestamp;

use crate::chat::MessageId;
use crate::context::StateHash;
use crate::decision::gate::Gate;
use crate::decision::{DecisionId, Ended, Judgment};
use crate::event::step::{Owed, Standing, Step, armed};
use crate::event::{Claim, Closing, DeadLetter, Draft, End, Event, Piece, PieceId, Words};

/// What a store knows when a claim is completed. What was said is written before.
#[derive(Clone, Debug)]
pub struct Known {
    /// The claim's piece has been said, by this claim or by another that had lost its lease.
    pub is_said: bool,
    /// The next piece of the same draft.
    pub next_piece: Option<Piece>,
    /// The decision's lines that were heard after what the outcome was decided from, if that is known.
    pub unseen: Option<Vec<MessageId>>,
    /// Higher numbers are free.
    pub last_number: i64,
    /// Makes keys of pieces this installation's own.
    pub installation: Arc<str>,
}

/// What the store writes besides the standing.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Completion {
    pub judged: Option<(Judgment, StateHash)>,
    /// New rows of the outbox.
    pub pieces: Vec<Piece>,
    /// What becomes of the pieces of the claim's draft that are not said.
    pub unsaid: Option<Unsaid>,
    /// The verdict and the words so far no longer count.
    pub has_overtaken: bool,
    /// The words so far no longer count; the verdict does.
    pub has_redrafted: bool,
    pub dead_letter: Option<DeadLetter>,
    pub closed: Option<Closing>,
    /// When those had spoken who are owed nothing any more, since they were answered.
    pub answered: Vec<Timestamp>,
    /// The next decision, and whether somebody is owed an answer. It takes over the unseen lines.
    pub opened: Option<(DecisionId, bool)>,
}

impl Completion {
    /// The same without the reason that a model gave for speaking, if it did: a line that it saw has
    /// changed. That somebody had asked stays true.
    pub fn without_words(mut self, claim: &Claim) -> Self {
        let spoke = |closing: &&mut Closing| {
            !claim.is_owed && matches!(closing.ended, Ended::Spoke | Ended::Reacted)
        };
        if let Some(closing) = self.closed.as_mut().filter(spoke) {
            closing.why.clear();
        }
        self
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unsaid {
    /// The claim's piece is a draft again.
    Draft,
    /// People moved on before it was said.
    Replaced,
    /// It was not wanted any more.
    Dropped,
    /// It could not be said.
    Dead,
}

impl Known {
    fn has_unseen(&self) -> bool {
        self.unseen.as_ref().is_none_or(|unseen| !unseen.is_empty())
    }

    fn is_unseen(&self, line: &MessageId) -> bool {
        self.unseen.as_ref().is_some_and(|unseen| unseen.contains(line))
    }
}

impl Standing {
    /// People have not moved on since the claim, and it has not lost its lease.
    pub fn is_current(&self, claim: &Claim) -> bool {
        self.holds(claim)
            && self.step.as_ref().is_some_and(|step| step.generation == claim.generation)
    }

    /// Applies what a claim came to. If people have moved on, only its lease ends; if it lost its
    /// lease, nothing does.
    pub fn complete(
        &mut self,
        claim: &Claim,
        end: End,
        known: &Known,
        now: Timestamp,
    ) -> Completion {
        if !self.is_current(claim) {
            if self.holds(claim) {
                self.release();
            }
            return Completion::default();
        }
        if known.is_said {
            // Whatever this claim came to: a piece that was said is never said again.
            return self.go_on_after_post(claim, known, now);
        }
        match end {
            End::Silent(closing) => self.close(closing, &[], known, now),
            End::Join { judgment, state, due } => {
                self.go_on(Event::Reply(claim.event.conversation().clone()), due);
                Completion { judged: Some((judgment, state)), ..Completion::default() }
            }
            End::React { judgment, state, draft } => {
                let judged = Some((judgment, state));
                Completion { judged, ..self.keep(claim, draft, known, now) }
            }
            End::Drafted { draft, due } => self.keep(claim, draft, known, due),
            // It is said by now; see above.
            End::Said(_) => Completion::default(),
            End::Withdrawn { why } => self.withdrawn(why, known, now),
            End::Redraft { due } => self.redrafted(due, now),
            End::Again { due } => {
                self.again(due);
                Completion::default()
            }
            End::Wait { due } => self.waited(claim, due, now),
            End::NotSaid { due } => self.not_said(due, now),
            End::GivenUp { error, why } => self.give_up(claim, error, why, known, now),
            End::Overtaken => {
                self.release();
                Completion::default()
            }
        }
    }

    fn keep(&mut self, claim: &Claim, draft: Draft, known: &Known, due: Timestamp) -> Completion {
        let notes = Arc::new(draft.notes);
        let first = PieceId(known.last_number + 1);
        let (texts, on) = match draft.words {
            Words::Said(pieces) => (pieces, None),
            Words::Reaction { emoji, on } => (vec![emoji], Some(on)),
        };
        let numbered = (first.0..).zip(texts);
        let pieces: Vec<Piece> = numbered
            .map(|(number, text)| Piece {
                on: on.clone(),
                id: PieceId(number),
                first,
                conversation: claim.event.conversation().clone(),
                key: format!("{}-{number}", known.installation).into(),
                text: text.into(),
                draft: notes.clone(),
                dispatched: None,
            })
            .collect();
        if let Some(piece) = pieces.first() {
            self.go_on(Event::Post(piece.clone()), due);
        }
        Completion { pieces, ..Completion::default() }
    }

    /// A piece was said: the next one of its draft, or the end of the decision.
    fn go_on_after_post(&mut self, claim: &Claim, known: &Known, now: Timestamp) -> Completion {
        let Event::Post(piece) = &claim.event else { return Completion::default() };
        if let Some(next) = &known.next_piece {
            self.go_on(Event::Post(next.clone()), now);
            return Completion::default();
        }
        let gate = match (&piece.draft.only_for, piece.draft.ends) {
            (Some(_), _) => Some(Gate::Command),
            (None, Ended::OverBudget) => Some(Gate::Budget),
            (None, _) => None,
        };
        let closing = Closing::new(piece.draft.ends, piece.draft.why.clone());
        let closing = Closing { gate, ..closing };
        let is_answered = |owed: &&Owed| piece.draft.owed.contains(&owed.message);
        let answered = self.owed.iter().filter(is_answered).map(|owed| owed.at).collect();
        Completion { answered, ..self.close(closing, &piece.draft.owed, known, now) }
    }

    /// Nothing was tried, so the claim does not count. Whether a piece was said is as open as before.
    fn waited(&mut self, claim: &Claim, due: Timestamp, now: Timestamp) -> Completion {
        if let Some(step) = &mut self.step {
            step.attempts = step.attempts.saturating_sub(1);
        }
        match &claim.event {
            Event::Post(piece) if !piece.is_sending() => self.not_said(due, now),
            Event::Post(_) | Event::Judge(_) | Event::Reply(_) => {
                self.again(due);
                Completion::default()
            }
        }
    }

    /// The claim's piece is a draft again, and what came while it was on its way counts now.
    fn not_said(&mut self, due: Timestamp, now: Timestamp) -> Completion {
        let Some(step) = &mut self.step else { return Completion::default() };
        if let Event::Post(piece) = &mut step.event {
            piece.dispatched = None;
        }
        let is_replaceable = matches!(&step.event, Event::Post(piece) if !piece.is_out());
        // Whoever said more meanwhile is looked at when it is offered again.
        if is_replaceable && !step.is_owed && !self.owed.is_empty() {
            self.take_up_what_waits(now);
            return Completion {
                unsaid: Some(Unsaid::Replaced),
                has_overtaken: true,
                ..Completion::default()
            };
        }
        self.again(due);
        Completion { unsaid: Some(Unsaid::Draft), ..Completion::default() }
    }

    /// Those whom this would answer do not wait any more; others may.
    fn withdrawn(&mut self, why: String, known: &Known, now: Timestamp) -> Completion {
        // Lines that waited behind an answer were judged by nobody; behind words of its own, those that the
        // verdict had not seen go to a decision of theirs.
        let waits = |step: &Step| step.is_owed && step.follow.is_some();
        if self.owed.is_empty() && !self.step.as_ref().is_some_and(waits) {
            return self.close(Closing::new(Ended::Dropped, why), &[], known, now);
        }
        self.take_up_what_waits(now);
        Completion { unsaid: Some(Unsaid::Dropped), has_overtaken: true, ..Completion::default() }
    }

    /// The words are looked for once more, with the lines that came meanwhile.
    fn redrafted(&mut self, due: Timestamp, now: Timestamp) -> Completion {
        let Some(step) = &mut self.step else { return Completion::default() };
        // Whoever has asked while the piece was on its way is answered first.
        if !step.is_owed && !self.owed.is_empty() {
            self.take_up_what_waits(now);
            return Completion {
                unsaid: Some(Unsaid::Replaced),
                has_overtaken: true,
                ..Completion::default()
            };
        }
        let reply = Event::Reply(step.event.conversation().clone());
        let redrafts = step.redrafts + 1;
        let fresh = armed(reply, due, step.decision, step.generation + 1);
        let (is_owed, since) = (step.is_owed, step.since);
        *step = Step { is_owed, follow: step.follow, since, redrafts, ..fresh };
        let unsaid = Some(Unsaid::Replaced);
        Completion { unsaid, has_redrafted: true, ..Completion::default() }
    }

    /// For the same decision: whoever is owed an answer first, else the lines to be judged.
    fn take_up_what_waits(&mut self, now: Timestamp) {
        let Some(step) = &mut self.step else { return };
        let conversation = step.event.conversation().clone();
        let generation = step.generation + 1;
        if !self.owed.is_empty() {
            let reply = armed(Event::Reply(conversation), now, step.decision, generation);
            let redrafts = step.redrafts + u32::from(step.is_owed);
            *step = Step { is_owed: true, follow: step.follow, redrafts, ..reply };
        } else if let Some(due) = step.follow {
            let judge = armed(Event::Judge(conversation), due.max(now), step.decision, generation);
            *step = Step { since: step.since, ..judge };
        }
    }

    fn give_up(
        &mut self,
        claim: &Claim,
        error: String,
        why: String,
        known: &Known,
        now: Timestamp,
    ) -> Completion {
        let (answered, text): (Vec<MessageId>, _) = match &claim.event {
            Event::Post(piece) => (piece.draft.owed.clone(), Some(piece.text.clone())),
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
        let closed = self.close(Closing::new(Ended::Failed, why), &answered, known, now);
        Completion { dead_letter: Some(dead_letter), unsaid: Some(Unsaid::Dead), ..closed }
    }

    /// The decision closes. `answered` lists the owed lines that it settled; what came meanwhile,
    /// and was not considered, is taken up by the next decision.
    fn close(
        &mut self,
        closing: Closing,
        answered: &[MessageId],
        known: &Known,
        now: Timestamp,
    ) -> Completion {
        let is_settled = |id: &MessageId| answered.contains(id) || closing.settles.contains(id);
        self.owed.retain(|owed| !is_settled(&owed.message));
        let fresh = DecisionId(known.last_number + 1);
        if let Some(step) = self.step.take() {
            let conversation = step.event.conversation().clone();
            let follow = step.follow.filter(|_| known.has_unseen());
            let generation = step.generation + 1;
            if !self.owed.is_empty() {
                let reply = armed(Event::Reply(conversation), now, fresh, generation);
                self.step = Some(Step { is_owed: true, follow, ..reply });
            } else if let Some(due) = follow {
                let judge = armed(Event::Judge(conversation), due.max(now), fresh, generation);
                self.step = Some(Step { since: step.since, ..judge });
            }
        }
        let opened = self.step.as_ref().map(|step| (fresh, step.is_owed));
        Completion {
            closed: Some(closing),
            opened,
            unsaid: Some(Unsaid::Dropped),
            ..Completion::default()
        }
    }

    fn holds(&self, claim: &Claim) -> bool {
        let lease = self.step.as_ref().and_then(|step| step.lease);
        lease.is_some_and(|lease| lease.token == claim.token)
    }

    /// Another step takes this one's place, for the same decision.
    fn go_on(&mut self, event: Event, due: Timestamp) {
        if let Some(step) = &mut self.step {
            step.event = event;
            step.due = due;
            step.attempts = 0;
            step.lease = None;
        }
    }

    /// The same step again, at `due`.
    fn again(&mut self, due: Timestamp) {
        if let Some(step) = &mut self.step {
            step.due = due;
            step.lease = None;
        }
    }

    /// What took the work's place may be claimed when it is due.
    fn release(&mut self) {
        if let Some(step) = &mut self.step {
            step.lease = None;
        }
    }
}
