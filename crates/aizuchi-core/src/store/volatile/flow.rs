//! Taking due steps and applying what they came to, in memory.

use std::collections::HashSet;

use jiff::{SignedDuration, Timestamp};

use crate::chat::{ConversationId, MessageId};
use crate::decision::gate::Gate;
use crate::decision::{Attempt, AttemptEnd, Ended};
use crate::event::completion::{Completion, Known, Unsaid};
use crate::event::step::Lease;
use crate::event::{Claim, End, Event, Outcome, Piece, PieceId, Posted};
use crate::store::Settled;
use crate::store::volatile::{KeptExchange, Outgoing, State, StoredLine, UnaskedPost, supersede};

impl State {
    pub(super) fn claim(
        &mut self,
        conversation: &ConversationId,
        now: Timestamp,
        lease: SignedDuration,
    ) -> Option<Claim> {
        self.last_number += 1;
        let token = self.last_number;
        let claim = self.change_standing(conversation, now, |standing| {
            let step = standing.step.as_mut()?;
            let claim = step.claim(token);
            step.attempts += 1;
            step.lease = Some(Lease { token, until: now + lease });
            if let Event::Post(piece) = &mut step.event {
                piece.dispatched.get_or_insert(now);
            }
            Some(claim)
        })?;
        if let Event::Post(piece) = &claim.event
            && let Some(out) = self.outbox.get_mut(&piece.id)
        {
            let is_new = out.piece.dispatched.replace(piece.dispatched.unwrap_or(now)).is_none();
            if is_new && out.is_unasked && piece.id == piece.first {
                // It may have been on its way before, and have come back.
                if claim.attempt > 1 {
                    self.unasked.retain(|post| post.piece != piece.id);
                }
                let (at, piece, place) = (now, piece.id, piece.conversation.clone());
                self.unasked.push(UnaskedPost { at, piece, place, is_said: false });
            }
        }
        Some(claim)
    }

    pub(super) fn complete(&mut self, claim: &Claim, outcome: Outcome, now: Timestamp) -> Settled {
        self.revision += 1;
        let conversation = claim.event.conversation();
        let is_current =
            self.talks.get(conversation).is_some_and(|talk| talk.standing.is_current(claim));
        let made_from = outcome.made_from(claim);
        let is_stale = made_from.is_some_and(|(revision, made_from)| {
            let (workspace, channel) = (&conversation.workspace, Some(&conversation.channel));
            self.has_changed_since(workspace, channel, revision, made_from)
        });
        let mut outcome = if is_stale { outcome.without_words() } else { outcome };
        self.note_attempts(claim, std::mem::take(&mut outcome.attempts), is_current);
        if is_current {
            self.write_memos(conversation, &mut outcome);
            if let Some(decision) = self.decisions.get_mut(&claim.decision)
                && let Some(weighed) = outcome.weighed.take()
            {
                decision.weighed = Some(weighed);
            }
        }
        let considered = outcome.considered.or(claim.event.considered());
        if let (End::Said(posted), Event::Post(piece)) = (&outcome.end, &claim.event) {
            self.note_said(claim, piece, posted);
        }
        let (mut seen, mut unseen) = (None, None);
        if let (End::Said(posted), Event::Post(_)) = (&outcome.end, &claim.event) {
            let considered = claim.event.considered();
            let later = self.unseen(claim, considered);
            let heard = later.filter(|line| considered.is_some_and(|seen| line.heard > seen));
            let before = heard.map(|line| line.message.at);
            unseen = before.filter(|at| *at <= posted.at).max();
            seen = self.seen(claim).map(|line| line.message.at).max();
        }
        let known = self.known(claim, considered);
        let completion = self.change_standing(conversation, now, |standing| {
            standing.complete(claim, outcome.end, &known, now)
        });
        let completion = if is_stale { completion.without_words(claim) } else { completion };
        let settled = Settled::by(&completion, seen, unseen);
        self.write_completion(claim, completion, considered, now);
        let revision = self.revision;
        self.decisions.entry(claim.decision).and_modify(|decision| decision.revision = revision);
        settled
    }

    fn note_attempts(&mut self, claim: &Claim, attempts: Vec<Attempt>, is_current: bool) {
        let ConversationId { workspace, channel, .. } = claim.event.conversation();
        for attempt in &attempts {
            self.spend(workspace, Some(channel), attempt);
        }
        let Some(decision) = self.decisions.get_mut(&claim.decision) else { return };
        for attempt in attempts {
            let mut attempt = attempt.kept_if(is_current);
            let exchange = attempt.exchange.take();
            let kept = exchange.map(|exchange| KeptExchange { at: attempt.at, exchange });
            decision.attempts.push(attempt);
            self.exchanges.entry(claim.decision).or_default().push(kept);
        }
    }

    fn note_said(&mut self, claim: &Claim, piece: &Piece, posted: &Posted) {
        let conversation = &piece.conversation;
        let place =
            (conversation.workspace.clone(), conversation.channel.clone(), posted.id.clone());
        match self.outbox.get_mut(&piece.id) {
            Some(out) if out.is_said => return,
            Some(out) => out.is_said = true,
            None if self.heard.contains_key(&place) => return,
            None => {}
        }
        if let Some(post) = self.unasked.iter_mut().rev().find(|post| post.piece == piece.id) {
            post.is_said = true;
        }
        if let Some(decision) = self.decisions.get_mut(&claim.decision) {
            match &piece.on {
                None => decision.said.push(posted.id.clone()),
                Some(on) => decision.reacted = Some((on.clone(), piece.text.clone())),
            }
        }
        if let Some(reaction) = piece.reaction(posted) {
            self.hear_reaction(&reaction);
            return;
        }
        // The platform may have delivered it as our own line before.
        if self.heard.insert(place, conversation.clone()).is_none() {
            self.insert_line(piece.said(posted), Some(piece.own_gate()), None);
        }
    }

    fn known(&self, claim: &Claim, considered: Option<u64>) -> Known {
        let mut known = Known {
            is_said: false,
            next_piece: None,
            unseen: None,
            last_number: self.last_number,
            installation: self.installation.clone(),
        };
        if let Event::Post(piece) = &claim.event {
            let mut later = self.outbox.range(PieceId(piece.id.0 + 1)..).map(|(_, out)| &out.piece);
            known.is_said = self.outbox.get(&piece.id).is_some_and(|out| out.is_said);
            known.next_piece = later.find(|later| later.first == piece.first).cloned();
        }
        if considered.is_some() {
            let unseen = self.unseen(claim, considered);
            known.unseen = Some(unseen.map(|line| line.message.id.clone()).collect());
        }
        known
    }

    /// The decision's lines that were heard after what the outcome was decided from.
    fn unseen(&self, claim: &Claim, considered: Option<u64>) -> impl Iterator<Item = &StoredLine> {
        let lines = self.talks.get(claim.event.conversation()).map_or(&[][..], |talk| &talk.lines);
        let considered = considered.unwrap_or(u64::MAX);
        let decision = claim.decision;
        // An edit may have moved an old line here; else older decisions end where this one begins.
        let is_older = |line: &StoredLine| line.decision.is_some_and(|other| other < decision);
        let begin = match self.changed > considered {
            true => 0,
            false => lines.iter().rposition(is_older).map_or(0, |place| place + 1),
        };
        let has_changed = move |line: &StoredLine| {
            line.revision > considered && line.message.is_human() && !line.is_deleted
        };
        lines[begin..].iter().filter(move |line| {
            line.decision == Some(decision)
                && line.gate != Some(Gate::Command)
                && (line.heard > considered || has_changed(line))
        })
    }

    /// The decision's lines that were known when the claim's draft was made.
    fn seen(&self, claim: &Claim) -> impl Iterator<Item = &StoredLine> {
        let lines = self.talks.get(claim.event.conversation()).map_or(&[][..], |talk| &talk.lines);
        let considered = claim.event.considered().unwrap_or(u64::MAX);
        let decision = Some(claim.decision);
        lines.iter().filter(move |line| line.decision == decision && line.heard <= considered)
    }

    fn write_completion(
        &mut self,
        claim: &Claim,
        completion: Completion,
        considered: Option<u64>,
        now: Timestamp,
    ) {
        let conversation = claim.event.conversation().clone();
        for piece in completion.pieces {
            self.last_number = piece.id.0;
            let is_unasked = !claim.is_owed && piece.on.is_none();
            self.outbox.insert(piece.id, Outgoing { piece, is_said: false, is_unasked });
        }
        if let (Some(unsaid), Event::Post(piece)) = (completion.unsaid, &claim.event) {
            self.end_pieces(piece, unsaid);
        }
        self.dead_letters.extend(completion.dead_letter);
        let talk = self.talks.entry(conversation.clone()).or_default();
        if let Some(decision) = self.decisions.get_mut(&claim.decision) {
            if completion.has_overtaken {
                supersede(decision);
            }
            if let Some((judgment, state)) = completion.judged {
                decision.judgment = Some(judgment);
                decision.state = Some(state);
                self.considered.insert(decision.id, considered.unwrap_or(0));
            }
            if completion.has_redrafted {
                let replies =
                    decision.attempts.iter_mut().filter(|attempt| &*attempt.verb == "reply");
                replies
                    .filter(|attempt| attempt.end == AttemptEnd::Kept)
                    .for_each(|attempt| attempt.end = AttemptEnd::Superseded);
            }
            if let Some(closing) = completion.closed {
                // Whoever asks while it speaks unasked makes no answer of what it said.
                decision.addressed = claim.is_owed;
                decision.closed = Some(now);
                decision.ended = Some(closing.ended);
                decision.gate = closing.gate;
                decision.judgment = closing.judgment.or(decision.judgment.take());
                decision.state = closing.state.or(decision.state);
                decision.why = Some(closing.why);
                if let Some(state) = decision.state {
                    let is_silent = matches!(
                        closing.ended,
                        Ended::ChoseSilence | Ended::Reacted | Ended::Muted
                    );
                    talk.silent_state = is_silent.then_some(state);
                }
                if closing.ended == Ended::Spoke && !claim.is_owed {
                    talk.unasked.push(now);
                    let place = (conversation.workspace.clone(), conversation.channel.clone());
                    self.spoke_unasked.insert(place, now);
                }
                if closing.ended == Ended::OverBudget && !decision.said.is_empty() {
                    talk.said_so = Some(now);
                }
            }
        }
        if let Some((fresh, is_owed)) = completion.opened {
            let unseen: HashSet<MessageId> =
                self.unseen(claim, considered).map(|line| line.message.id.clone()).collect();
            let talk = self.talks.entry(conversation.clone()).or_default();
            let moved = talk.lines.iter_mut().filter(|line| unseen.contains(&line.message.id));
            moved.for_each(|line| line.decision = Some(fresh));
            self.open_decision(fresh, &conversation, is_owed, now);
        }
    }

    fn end_pieces(&mut self, piece: &Piece, unsaid: Unsaid) {
        match unsaid {
            Unsaid::Draft => {
                self.outbox.entry(piece.id).and_modify(|out| out.piece.dispatched = None);
            }
            Unsaid::Replaced | Unsaid::Dropped | Unsaid::Dead => {
                self.outbox.retain(|_, out| out.piece.first != piece.first);
            }
        }
    }
}
