//! A store in memory that keeps the same promises as long as the process lives: for replay and
//! for tests.

mod archive;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};
use tokio::sync::watch;

use crate::chat::{
    Channel, ChannelId, ConversationId, Deletion, Edit, Heard, Mention, Message, MessageId, User,
    UserId, WorkspaceId,
};
use crate::context::{Context, Motive, StateHash};
use crate::decision::{Attempt, AttemptEnd, Decision, DecisionId, Ended, Gate};
use crate::event::step::{Arrived, Edited, Lease, Standing, Step};
use crate::event::{
    Claim, Closing, DeadLetter, Draft, End, Event, Follows, Outcome, Piece, PieceId, Posted,
};
use crate::store::{Hearing, Receipt, Store, StoreError};

pub struct VolatileStore {
    state: Mutex<State>,
    revisions: watch::Sender<u64>,
}

impl VolatileStore {
    pub fn new() -> Self {
        Self { state: Mutex::new(State::default()), revisions: watch::Sender::new(0) }
    }

    fn write<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        let mut state = self.lock();
        let before = state.revision;
        let result = change(&mut state);
        if state.revision != before {
            self.revisions.send_replace(state.revision);
        }
        result
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for VolatileStore {
    fn default() -> Self {
        Self::new()
    }
}

#[async_trait]
impl Store for VolatileStore {
    async fn hear(&self, hearing: Hearing) -> Result<Receipt, StoreError> {
        Ok(self.write(|state| match hearing.heard {
            Heard::Message(message, _) => state.hear_message(message, hearing.follows),
            Heard::Edit(edit) => state.hear_edit(&edit, hearing.follows),
            Heard::Deletion(deletion) => state.hear_deletion(&deletion, hearing.follows),
            Heard::Channel(channel) => state.hear_channel(channel),
            Heard::User(user) => state.hear_user(user),
        }))
    }

    async fn claim(
        &self,
        now: Timestamp,
        lease: SignedDuration,
        most: usize,
    ) -> Result<Vec<Claim>, StoreError> {
        let mut state = self.lock();
        let is_ready = |(ready, _): &&(Timestamp, ConversationId)| *ready <= now;
        let ready: Vec<_> = state.ready.iter().take_while(is_ready).take(most).cloned().collect();
        if ready.is_empty() {
            return Ok(Vec::new());
        }
        state.revision += 1;
        let claims = ready
            .iter()
            .filter_map(|(_, conversation)| state.claim(conversation, now, lease))
            .collect();
        self.revisions.send_replace(state.revision);
        Ok(claims)
    }

    async fn complete(
        &self,
        claim: &Claim,
        outcome: Outcome,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        self.write(|state| state.complete(claim, outcome, now));
        Ok(())
    }

    async fn next_ready(&self) -> Result<Option<Timestamp>, StoreError> {
        Ok(self.lock().ready.first().map(|(ready, _)| *ready))
    }

    async fn context(
        &self,
        conversation: &ConversationId,
        limit: usize,
    ) -> Result<Context, StoreError> {
        Ok(self.lock().context(conversation, limit))
    }
}

#[derive(Default)]
struct State {
    revision: u64,
    /// Numbers decisions, pieces and claims.
    last_number: i64,
    users: HashMap<(WorkspaceId, UserId), User>,
    channels: BTreeMap<(WorkspaceId, ChannelId), Channel>,
    talks: HashMap<ConversationId, Talk>,
    heard: HashMap<(WorkspaceId, ChannelId, MessageId), ConversationId>,
    ready: BTreeSet<(Timestamp, ConversationId)>,
    decisions: BTreeMap<DecisionId, Decision>,
    outbox: BTreeMap<PieceId, Outgoing>,
    dead_letters: Vec<DeadLetter>,
}

#[derive(Default)]
struct Talk {
    /// By time, then id.
    lines: Vec<StoredLine>,
    standing: Standing,
    silent_state: Option<StateHash>,
}

struct StoredLine {
    message: Arc<Message>,
    is_deleted: bool,
    gate: Option<Gate>,
    decision: Option<DecisionId>,
    revision: u64,
}

/// A piece on its way.
struct Outgoing {
    piece: Piece,
    /// The first piece of its draft.
    draft: PieceId,
    /// It was said, but the claim that said it had lost its lease.
    is_said: bool,
}

impl State {
    fn hear_message(&mut self, message: Message, follows: Follows) -> Receipt {
        let conversation = message.conversation.clone();
        let place =
            (conversation.workspace.clone(), conversation.channel.clone(), message.id.clone());
        if self.heard.contains_key(&place) {
            return self.receipt(None);
        }
        self.heard.insert(place, conversation.clone());
        let fresh = DecisionId(self.last_number + 1);
        let arrived =
            self.change_standing(&conversation, |standing| standing.hear(&message, follows, fresh));
        let gate = match follows {
            Follows::Nothing(gate) => Some(gate),
            Follows::Judge { .. } | Follows::Owe { .. } => None,
        };
        let at = message.at;
        self.insert_line(message, gate, arrived.map(|arrived| arrived.decision));
        if let Some(arrived) = arrived {
            self.apply(&conversation, arrived, at);
        }
        self.receipt(Some(arrived))
    }

    fn hear_edit(&mut self, edit: &Edit, follows: Follows) -> Receipt {
        let Follows::Judge { due } = follows else {
            return self.receipt(None);
        };
        let Some((before, after)) = self.edit_line(edit) else {
            return self.receipt(None);
        };
        let fresh = DecisionId(self.last_number + 1);
        let edited = Edited { before: &before, after: &after };
        let conversation = &edit.conversation;
        let arrived = self.change_standing(conversation, |standing| {
            standing.hear_edit(edited, edit.at, due, fresh)
        });
        if let Some(arrived) = arrived {
            self.apply(conversation, arrived, edit.at);
            if let Some(line) = self.line(conversation, &edit.message) {
                line.decision = Some(arrived.decision);
            }
        }
        self.receipt(Some(arrived))
    }

    fn hear_deletion(&mut self, deletion: &Deletion, follows: Follows) -> Receipt {
        let Follows::Judge { due } = follows else {
            return self.receipt(None);
        };
        let conversation = &deletion.conversation;
        self.revision += 1;
        let revision = self.revision;
        let Some(line) = self.line(conversation, &deletion.message).filter(|line| !line.is_deleted)
        else {
            self.revision -= 1;
            return self.receipt(None);
        };
        line.is_deleted = true;
        line.revision = revision;
        let bare = Message { text: "".into(), mentions: Vec::new(), ..(*line.message).clone() };
        line.message = Arc::new(bare);
        let arrived = self.change_standing(conversation, |standing| {
            standing.hear_deletion(&deletion.message, due)
        });
        if let Some(arrived) = arrived {
            self.apply(conversation, arrived, deletion.at);
        }
        self.receipt(Some(arrived))
    }

    fn hear_channel(&mut self, channel: Channel) -> Receipt {
        let key = (channel.workspace.clone(), channel.id.clone());
        let is_new = self.channels.get(&key) != Some(&channel);
        if is_new {
            self.revision += 1;
            self.channels.insert(key, channel);
        }
        Receipt { is_new, has_overtaken: false, revision: self.revision }
    }

    fn hear_user(&mut self, user: User) -> Receipt {
        let key = (user.workspace.clone(), user.id.clone());
        let is_new = self.users.get(&key) != Some(&user);
        if is_new {
            self.revision += 1;
            self.users.insert(key, user);
        }
        Receipt { is_new, has_overtaken: false, revision: self.revision }
    }

    fn receipt(&self, arrived: Option<Option<Arrived>>) -> Receipt {
        Receipt {
            is_new: arrived.is_some(),
            has_overtaken: arrived.flatten().is_some_and(|arrived| arrived.has_overtaken),
            revision: self.revision,
        }
    }

    /// Writes what a line did besides moving the step.
    fn apply(&mut self, conversation: &ConversationId, arrived: Arrived, at: Timestamp) {
        let owed = self.talks.get(conversation).map(|talk| &talk.standing.owed);
        let is_addressed = owed.is_some_and(|owed| !owed.is_empty());
        if arrived.has_opened {
            self.open_decision(arrived.decision, conversation, is_addressed, at);
        }
        let revision = self.revision;
        if let Some(decision) = self.decisions.get_mut(&arrived.decision)
            && (arrived.has_overtaken || (is_addressed && !decision.addressed))
        {
            decision.addressed |= is_addressed;
            decision.revision = revision;
        }
        if arrived.has_overtaken {
            self.decisions.entry(arrived.decision).and_modify(supersede);
            self.drop_drafts(conversation);
        }
    }

    fn open_decision(
        &mut self,
        id: DecisionId,
        conversation: &ConversationId,
        addressed: bool,
        at: Timestamp,
    ) {
        self.last_number = self.last_number.max(id.0);
        let decision = Decision {
            id,
            conversation: conversation.clone(),
            opened: at,
            closed: None,
            messages: Vec::new(),
            addressed,
            gate: None,
            judgment: None,
            state: None,
            ended: None,
            why: None,
            said: Vec::new(),
            attempts: Vec::new(),
            revision: self.revision,
        };
        self.decisions.insert(id, decision);
    }

    fn drop_drafts(&mut self, conversation: &ConversationId) {
        self.outbox
            .retain(|_, out| out.piece.is_sending() || out.piece.conversation != *conversation);
    }

    fn claim(
        &mut self,
        conversation: &ConversationId,
        now: Timestamp,
        lease: SignedDuration,
    ) -> Option<Claim> {
        self.last_number += 1;
        let token = self.last_number;
        let claim = self.change_standing(conversation, |standing| {
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
            out.piece.dispatched.get_or_insert(now);
        }
        Some(claim)
    }

    fn complete(&mut self, claim: &Claim, outcome: Outcome, now: Timestamp) {
        self.revision += 1;
        let conversation = claim.event.conversation();
        let standing = self.talks.get(conversation).map(|talk| &talk.standing);
        let step = standing.and_then(|standing| standing.step.as_ref());
        let is_held =
            step.is_some_and(|step| step.lease.is_some_and(|lease| lease.token == claim.token));
        let is_current = is_held && step.is_some_and(|step| step.generation == claim.generation);
        self.note_attempts(claim, outcome.attempts, is_current);
        if let (End::Said(posted), Event::Post(piece)) = (&outcome.end, &claim.event) {
            self.note_said(claim, piece, posted);
        }
        if is_current {
            self.apply_end(claim, outcome.end, now);
        } else if is_held {
            self.change_standing(conversation, Standing::release);
        }
        let revision = self.revision;
        self.decisions.entry(claim.decision).and_modify(|decision| decision.revision = revision);
    }

    fn note_attempts(&mut self, claim: &Claim, attempts: Vec<Attempt>, is_current: bool) {
        let revision = self.revision;
        let Some(decision) = self.decisions.get_mut(&claim.decision) else {
            return;
        };
        decision.revision = revision;
        decision.attempts.extend(attempts.into_iter().map(|attempt| {
            match (is_current, attempt.end) {
                (false, AttemptEnd::Kept) => Attempt { end: AttemptEnd::Superseded, ..attempt },
                (true, _) | (false, AttemptEnd::Superseded | AttemptEnd::Failed) => attempt,
            }
        }));
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
        if let Some(decision) = self.decisions.get_mut(&claim.decision) {
            decision.said.push(posted.id.clone());
        }
        // The platform may have delivered it as our own line before.
        if self.heard.insert(place, conversation.clone()).is_none() {
            self.insert_line(piece.said(posted), Some(Gate::OwnLine), None);
        }
    }

    fn apply_end(&mut self, claim: &Claim, end: End, now: Timestamp) {
        let conversation = claim.event.conversation().clone();
        if let Event::Post(piece) = &claim.event
            && self.outbox.get(&piece.id).is_some_and(|out| out.is_said)
        {
            // Whatever this claim came to: the piece has been said, and is never said again.
            return self.go_on_after(claim, now);
        }
        match end {
            End::Silent(closing) => {
                self.drop_drafts_of(claim);
                self.close(claim, closing, &[], None, now);
            }
            End::Join { judgment, state, due } => {
                if let Some(decision) = self.decisions.get_mut(&claim.decision) {
                    decision.judgment = Some(judgment);
                    decision.state = Some(state);
                }
                let event = Event::Reply(conversation.clone());
                self.change_standing(&conversation, |standing| standing.go_on(event, due));
            }
            End::Drafted { draft, due } => {
                let Some(piece) = self.keep_draft(&conversation, draft) else {
                    return;
                };
                self.change_standing(&conversation, |standing| {
                    standing.go_on(Event::Post(piece), due)
                });
            }
            // It is said by now; see above.
            End::Said(_) => {}
            End::Withdrawn { why } => {
                self.drop_drafts_of(claim);
                if !self
                    .change_standing(&conversation, |standing| standing.fall_back_to_judging(now))
                {
                    self.close(claim, Closing::new(Ended::Dropped, why), &[], None, now);
                }
            }
            End::Again { due } => {
                self.change_standing(&conversation, |standing| standing.again(due))
            }
            End::NotSaid { due } => {
                let Event::Post(piece) = &claim.event else {
                    return;
                };
                let back = Piece { dispatched: None, ..piece.clone() };
                if let Some(out) = self.outbox.get_mut(&piece.id) {
                    out.piece = back.clone();
                }
                self.change_standing(&conversation, |standing| {
                    standing.again(due);
                    if let Some(step) = &mut standing.step {
                        step.event = Event::Post(back);
                    }
                });
            }
            End::GivenUp { error, why } => self.give_up(claim, error, why, now),
            End::Overtaken => self.change_standing(&conversation, Standing::release),
        }
    }

    fn keep_draft(&mut self, conversation: &ConversationId, draft: Draft) -> Option<Piece> {
        let notes = Arc::new(draft.notes);
        let first = PieceId(self.last_number + 1);
        for text in draft.pieces {
            self.last_number += 1;
            let id = PieceId(self.last_number);
            let piece = Piece {
                id,
                conversation: conversation.clone(),
                key: id.key(),
                text: text.into(),
                draft: notes.clone(),
                dispatched: None,
            };
            self.outbox.insert(id, Outgoing { piece, draft: first, is_said: false });
        }
        self.outbox.get(&first).map(|out| out.piece.clone())
    }

    /// A piece was said: the next one of its draft, or the end of the decision.
    fn go_on_after(&mut self, claim: &Claim, now: Timestamp) {
        let Event::Post(piece) = &claim.event else {
            return;
        };
        let draft = self.outbox.remove(&piece.id).map(|out| out.draft);
        let next = self.outbox.values().find(|out| Some(out.draft) == draft);
        match next.map(|out| out.piece.clone()) {
            Some(next) => self.change_standing(&piece.conversation, |standing| {
                standing.go_on(Event::Post(next), now);
            }),
            None => {
                let notes = &piece.draft;
                let closing = Closing::new(notes.ends, notes.why.clone());
                self.close(claim, closing, &notes.owed, Some(notes.considered), now);
            }
        }
    }

    fn give_up(&mut self, claim: &Claim, error: String, why: String, now: Timestamp) {
        let conversation = claim.event.conversation();
        let standing = &self.talks.entry(conversation.clone()).or_default().standing;
        let (answered, considered, text) = match &claim.event {
            Event::Post(piece) => {
                (piece.draft.owed.clone(), Some(piece.draft.considered), Some(piece.text.clone()))
            }
            Event::Judge(_) | Event::Reply(_) => {
                (standing.owed.iter().map(|owed| owed.message.clone()).collect(), None, None)
            }
        };
        self.dead_letters.push(DeadLetter {
            conversation: conversation.clone(),
            verb: claim.event.verb().into(),
            at: now,
            attempts: claim.attempt,
            error,
            text,
        });
        self.drop_drafts_of(claim);
        self.close(claim, Closing::new(Ended::Failed, why), &answered, considered, now);
    }

    fn drop_drafts_of(&mut self, claim: &Claim) {
        let Event::Post(piece) = &claim.event else {
            return;
        };
        let draft = self.outbox.get(&piece.id).map(|out| out.draft);
        self.outbox.retain(|_, out| Some(out.draft) != draft);
    }

    /// Closes the claim's decision; lines newer than `considered` go to a new one.
    fn close(
        &mut self,
        claim: &Claim,
        closing: Closing,
        answered: &[MessageId],
        considered: Option<u64>,
        now: Timestamp,
    ) {
        let conversation = claim.event.conversation().clone();
        let fresh = DecisionId(self.last_number + 1);
        let unseen = self.unseen(claim, considered);
        let is_owed = self.change_standing(&conversation, |standing| {
            standing.close(answered, !unseen.is_empty(), now, fresh);
            standing.step.as_ref().map(|step| step.is_owed)
        });
        let talk = self.talks.entry(conversation.clone()).or_default();
        if let Some(decision) = self.decisions.get_mut(&claim.decision) {
            decision.closed = Some(now);
            decision.ended = Some(closing.ended);
            decision.gate = closing.gate;
            decision.judgment = closing.judgment.or(decision.judgment.take());
            decision.state = closing.state.or(decision.state);
            decision.why = Some(closing.why);
            if let Some(state) = decision.state {
                talk.silent_state = (closing.ended == Ended::ChoseSilence).then_some(state);
            }
        }
        if is_owed.is_some() {
            let is_unseen = |line: &&mut StoredLine| unseen.contains(&line.message.id);
            talk.lines.iter_mut().filter(is_unseen).for_each(|line| line.decision = Some(fresh));
        }
        if let Some(addressed) = is_owed {
            self.open_decision(fresh, &conversation, addressed, now);
        }
    }

    /// The claim's lines that came or changed after revision `considered`.
    fn unseen(&self, claim: &Claim, considered: Option<u64>) -> HashSet<MessageId> {
        let (Some(considered), Some(talk)) =
            (considered, self.talks.get(claim.event.conversation()))
        else {
            return HashSet::new();
        };
        let is_unseen = |line: &&StoredLine| {
            line.decision == Some(claim.decision) && line.revision > considered
        };
        talk.lines.iter().filter(is_unseen).map(|line| line.message.id.clone()).collect()
    }

    fn context(&self, conversation: &ConversationId, limit: usize) -> Context {
        let parent =
            conversation.thread.as_ref().and_then(|thread| self.parent(conversation, thread));
        let talk = self.talks.get(conversation);
        let lines = talk.map_or(&[][..], |talk| &talk.lines);
        let mut newest: Vec<Arc<Message>> = lines
            .iter()
            .rev()
            .filter(|line| !line.is_deleted)
            .take(limit)
            .map(|line| line.message.clone())
            .collect();
        newest.extend(parent);
        newest.reverse();
        let names = newest.iter().flat_map(|message| named_in(message)).filter_map(|user| {
            let key = (conversation.workspace.clone(), user.clone());
            Some((user.clone(), self.users.get(&key)?.name.clone()))
        });
        let key = (conversation.workspace.clone(), conversation.channel.clone());
        Context {
            names: names.collect(),
            conversation: conversation.clone(),
            channel_name: self
                .channels
                .get(&key)
                .map_or(conversation.channel.0.clone(), |c| c.name.clone()),
            owed: talk.map_or(Vec::new(), |talk| {
                talk.standing.owed.iter().map(|o| o.message.clone()).collect()
            }),
            silent_state: talk.and_then(|talk| talk.silent_state),
            motive: self.motive(talk),
            revision: self.revision,
            messages: newest,
        }
    }

    fn motive(&self, talk: Option<&Talk>) -> Option<Motive> {
        let decision = self.decisions.get(&talk?.standing.step.as_ref()?.decision)?;
        let judgment = decision.judgment.as_ref()?;
        Some(Motive { reason: judgment.reason.clone(), about: judgment.about.clone() })
    }

    fn parent(&self, conversation: &ConversationId, thread: &MessageId) -> Option<Arc<Message>> {
        let place = (conversation.workspace.clone(), conversation.channel.clone(), thread.clone());
        let lines = &self.talks.get(self.heard.get(&place)?)?.lines;
        lines
            .iter()
            .find(|line| line.message.id == *thread && !line.is_deleted)
            .map(|line| line.message.clone())
    }

    /// Changes a conversation's standing and keeps the index of ready steps true.
    fn change_standing<T>(
        &mut self,
        conversation: &ConversationId,
        change: impl FnOnce(&mut Standing) -> T,
    ) -> T {
        if !self.talks.contains_key(conversation) {
            self.talks.insert(conversation.clone(), Talk::default());
        }
        let talk = self.talks.get_mut(conversation).expect("it was put there just now");
        let before = talk.standing.step.as_ref().map(Step::ready);
        let result = change(&mut talk.standing);
        let after = talk.standing.step.as_ref().map(Step::ready);
        if before != after {
            if let Some(before) = before {
                self.ready.remove(&(before, conversation.clone()));
            }
            if let Some(after) = after {
                self.ready.insert((after, conversation.clone()));
            }
        }
        result
    }

    fn insert_line(&mut self, message: Message, gate: Option<Gate>, decision: Option<DecisionId>) {
        self.revision += 1;
        let line = StoredLine {
            is_deleted: false,
            gate,
            decision,
            revision: self.revision,
            message: Arc::new(message),
        };
        let lines = &mut self.talks.entry(line.message.conversation.clone()).or_default().lines;
        let stands_before = |other: &StoredLine| {
            (other.message.at, &other.message.id) <= (line.message.at, &line.message.id)
        };
        let place = lines.iter().rposition(stands_before).map_or(0, |place| place + 1);
        lines.insert(place, line);
    }

    fn line(
        &mut self,
        conversation: &ConversationId,
        message: &MessageId,
    ) -> Option<&mut StoredLine> {
        let lines = &mut self.talks.get_mut(conversation)?.lines;
        lines.iter_mut().rev().find(|line| line.message.id == *message)
    }

    fn edit_line(&mut self, edit: &Edit) -> Option<(Arc<Message>, Arc<Message>)> {
        let revision = self.revision + 1;
        let line = self.line(&edit.conversation, &edit.message).filter(|line| !line.is_deleted)?;
        let before = line.message.clone();
        if before.text == edit.text {
            return None;
        }
        line.message = Arc::new(Message {
            text: edit.text.clone(),
            mentions: edit.mentions.clone(),
            edits: before.edits + 1,
            ..(*before).clone()
        });
        line.revision = revision;
        let after = line.message.clone();
        self.revision = revision;
        Some((before, after))
    }
}

/// Verdicts and drafts that people have overtaken stay in the ledger, marked as such.
fn supersede(decision: &mut Decision) {
    decision.judgment = None;
    for attempt in &mut decision.attempts {
        if attempt.end == AttemptEnd::Kept {
            attempt.end = AttemptEnd::Superseded;
        }
    }
}

fn named_in(message: &Message) -> impl Iterator<Item = &UserId> {
    let mentioned = message.mentions.iter().filter_map(|mention| match mention {
        Mention::User(user) => Some(user),
        Mention::Persona => None,
    });
    std::iter::once(&message.author.id).chain(mentioned)
}
