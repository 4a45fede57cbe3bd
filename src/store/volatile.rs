//! A store in memory that keeps the same promises as long as the process lives: for replay and
//! for tests.

mod archive;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};
use tokio::sync::watch;

use crate::chat::{
    Channel, ChannelId, ConversationId, Deletion, Edit, Heard, Message, MessageId, User, UserId,
    WorkspaceId,
};
use crate::context::{Context, Motive, StateHash};
use crate::decision::{Attempt, AttemptEnd, Decision, DecisionId, Ended, Gate};
use crate::event::completion::{Completion, Known, Unsaid};
use crate::event::step::{Arrived, Edited, Lease, Standing, Step};
use crate::event::{Claim, DeadLetter, End, Event, Follows, Outcome, Piece, PieceId, Posted};
use crate::store::{Hearing, Receipt, Store, StoreError};

pub struct VolatileStore {
    state: Mutex<State>,
    revisions: watch::Sender<u64>,
}

impl VolatileStore {
    pub fn new() -> Self {
        Self::of("volatile")
    }

    /// A store whose posts have keys of this installation.
    pub fn of(installation: &str) -> Self {
        let state = State { installation: installation.into(), ..State::default() };
        Self { state: Mutex::new(state), revisions: watch::Sender::new(0) }
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

    fn revisions(&self) -> watch::Receiver<u64> {
        self.revisions.subscribe()
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
    installation: Arc<str>,
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
    /// The revision that it came with.
    heard: u64,
    /// The revision that it came or changed with.
    revision: u64,
    edited: Option<Timestamp>,
}

/// A piece on its way.
struct Outgoing {
    piece: Piece,
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
            let is_owed = self.is_owed(conversation, &edit.message);
            if let Some(line) = self.line(conversation, &edit.message).filter(|_| is_owed) {
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
        let before = line.message.clone();
        let bare = Message { text: "".into(), mentions: Vec::new(), ..(*line.message).clone() };
        line.message = Arc::new(bare);
        let arrived =
            self.change_standing(conversation, |standing| standing.hear_deletion(&before, due));
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
        let is_current =
            self.talks.get(conversation).is_some_and(|talk| talk.standing.is_current(claim));
        self.note_attempts(claim, outcome.attempts, is_current);
        if let (End::Said(posted), Event::Post(piece)) = (&outcome.end, &claim.event) {
            self.note_said(claim, piece, posted);
        }
        let known = self.known(claim);
        let completion = self.change_standing(conversation, |standing| {
            standing.complete(claim, outcome.end, &known, now)
        });
        self.write_completion(claim, completion, now);
        let revision = self.revision;
        self.decisions.entry(claim.decision).and_modify(|decision| decision.revision = revision);
    }

    fn note_attempts(&mut self, claim: &Claim, attempts: Vec<Attempt>, is_current: bool) {
        let Some(decision) = self.decisions.get_mut(&claim.decision) else { return };
        decision.attempts.extend(attempts.into_iter().map(|attempt| attempt.kept_if(is_current)));
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

    fn known(&self, claim: &Claim) -> Known {
        let mut known = Known {
            is_said: false,
            next_piece: None,
            has_unseen: true,
            last_number: self.last_number,
            installation: self.installation.clone(),
        };
        if let Event::Post(piece) = &claim.event {
            let mut later = self.outbox.range(PieceId(piece.id.0 + 1)..).map(|(_, out)| &out.piece);
            known.is_said = self.outbox.get(&piece.id).is_some_and(|out| out.is_said);
            known.next_piece = later.find(|later| later.first == piece.first).cloned();
            known.has_unseen = self.unseen(claim).next().is_some();
        }
        known
    }

    /// The decision's lines that were heard after the claim's draft was made.
    fn unseen(&self, claim: &Claim) -> impl Iterator<Item = &StoredLine> {
        let lines = self.talks.get(claim.event.conversation()).map_or(&[][..], |talk| &talk.lines);
        let considered = claim.event.considered().unwrap_or(u64::MAX);
        let decision = Some(claim.decision);
        lines.iter().filter(move |line| line.decision == decision && line.heard > considered)
    }

    fn write_completion(&mut self, claim: &Claim, completion: Completion, now: Timestamp) {
        let conversation = claim.event.conversation().clone();
        for piece in completion.pieces {
            self.last_number = piece.id.0;
            self.outbox.insert(piece.id, Outgoing { piece, is_said: false });
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
            }
            if let Some(closing) = completion.closed {
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
        }
        if let Some((fresh, is_owed)) = completion.opened {
            let unseen: HashSet<MessageId> =
                self.unseen(claim).map(|line| line.message.id.clone()).collect();
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

    fn context(&self, conversation: &ConversationId, limit: usize) -> Context {
        let talk = self.talks.get(conversation);
        let lines = talk.map_or(&[][..], |talk| &talk.lines);
        let owed: Vec<MessageId> = talk.map_or(Vec::new(), |talk| {
            talk.standing.owed.iter().map(|owed| owed.message.clone()).collect()
        });
        let newest = lines.iter().rev().filter(|line| !line.is_deleted).take(limit);
        let mut wanted: Vec<&StoredLine> = newest.collect();
        wanted.reverse();
        // Whoever is owed an answer is in the picture, however long ago they asked.
        let is_wanted = |id: &MessageId| wanted.iter().any(|line| line.message.id == *id);
        if !owed.iter().all(is_wanted) {
            let is_owed = |line: &&StoredLine| {
                owed.contains(&line.message.id) && !is_wanted(&line.message.id)
            };
            let older: Vec<&StoredLine> = lines.iter().filter(is_owed).collect();
            wanted.splice(..0, older);
        }
        let humans = wanted.iter().filter(|line| line.message.is_human());
        let newest_heard = humans.map(|line| line.heard).max().unwrap_or(0);
        let parent =
            conversation.thread.as_ref().and_then(|thread| self.parent(conversation, thread));
        let newest: Vec<Arc<Message>> =
            parent.into_iter().chain(wanted.iter().map(|line| line.message.clone())).collect();
        let names = newest.iter().flat_map(|message| message.named()).filter_map(|user| {
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
            owed,
            newest_heard,
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
            heard: self.revision,
            revision: self.revision,
            edited: None,
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

    fn is_owed(&self, conversation: &ConversationId, message: &MessageId) -> bool {
        let owed = self.talks.get(conversation).map(|talk| &talk.standing.owed);
        owed.is_some_and(|owed| owed.iter().any(|owed| owed.message == *message))
    }

    fn edit_line(&mut self, edit: &Edit) -> Option<(Arc<Message>, Arc<Message>)> {
        let revision = self.revision + 1;
        let line = self.line(&edit.conversation, &edit.message).filter(|line| !line.is_deleted)?;
        let before = line.message.clone();
        if before.text == edit.text || line.edited.is_some_and(|edited| edited >= edit.at) {
            return None;
        }
        line.edited = Some(edit.at);
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
