//! A store in memory that keeps the same promises as long as the process lives: for replay and
//! for tests.

mod archive;
mod circumstances;
mod context;
mod flow;
mod hear;
mod memory;
mod memos;
mod recall;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};
use tokio::sync::watch;

use crate::chat::{
    AuthorKind, Channel, ChannelId, ConversationId, Heard, Message, MessageId, User, UserId,
    Visibility, WorkspaceId,
};
use crate::context::{Context, StateHash, Window};
use crate::decision::gate::Gate;
use crate::decision::{AttemptEnd, Decision, DecisionId, Exchange, Next};
use crate::event::chore::{Chore, ChoreOutcome};
use crate::event::step::{Owed, Standing, Step};
use crate::event::{Claim, DeadLetter, Outcome, Piece, PieceId};
use crate::memo::Memo;
use crate::memory::{LineId, Lineage, Memory, MemoryId, MemoryKey};
use crate::recall::{RecallQuery, Recalled};
use crate::rhythm::delays::Delays;
use crate::store::volatile::circumstances::Bucket;
use crate::store::volatile::memory::{Version, Waiting};
use crate::store::volatile::memos::KeptMemo;
use crate::store::{Hearing, LINE_MAY_COME, Order, Orders, Receipt, Settled, Store, StoreError};

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
        let now = hearing.now;
        Ok(self.write(|state| {
            if let Some(so_far) = hearing.so_far {
                state.hear_bookmark(so_far);
            }
            match hearing.heard {
                Heard::Message(message, _) => {
                    state.hear_message(message, hearing.sent_as, hearing.follows, hearing.remember)
                }
                Heard::Edit(edit) => state.hear_edit(&edit, hearing.follows),
                Heard::Deletion(deletion) => state.hear_deletion(&deletion, hearing.follows),
                Heard::Channel(channel) => state.hear_channel(channel, now),
                Heard::User(user) => state.hear_user(user),
                Heard::Reaction(reaction) => state.hear_reaction(&reaction),
                Heard::Bookmark(bookmark) => state.hear_bookmark(bookmark),
            }
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
    ) -> Result<Settled, StoreError> {
        Ok(self.write(|state| state.complete(claim, outcome, now)))
    }

    async fn drop_exchanges(&self, before: Timestamp) -> Result<(), StoreError> {
        let mut state = self.lock();
        for kept in state.exchanges.values_mut().flatten().flatten() {
            // What it was made from is known for longer.
            if kept.at < before {
                kept.forget_words();
            }
        }
        for letter in state.dead_letters.iter_mut().filter(|letter| letter.at < before) {
            letter.text = None;
        }
        let before = before.checked_sub(LINE_MAY_COME).unwrap_or(Timestamp::MIN);
        state.early.retain(|_, reactions| reactions.iter().any(|kept| kept.at >= before));
        Ok(())
    }

    async fn has_changed_since(
        &self,
        home: &ConversationId,
        revision: u64,
        made_from: &Lineage,
    ) -> Result<bool, StoreError> {
        let (workspace, channel) = (&home.workspace, Some(&home.channel));
        Ok(self.lock().has_changed_since(workspace, channel, revision, made_from))
    }

    async fn next_ready(&self) -> Result<Option<Timestamp>, StoreError> {
        Ok(self.lock().ready.first().map(|(ready, _)| *ready))
    }

    fn revisions(&self) -> watch::Receiver<u64> {
        self.revisions.subscribe()
    }

    async fn recall(&self, query: &RecallQuery) -> Result<Vec<Recalled>, StoreError> {
        Ok(self.lock().recall(query))
    }

    async fn context(
        &self,
        conversation: &ConversationId,
        window: &Window,
    ) -> Result<Context, StoreError> {
        Ok(self.lock().context(conversation, window))
    }

    async fn memories(&self, workspace: &WorkspaceId) -> Result<Vec<Memory>, StoreError> {
        Ok(self.lock().current_memories(workspace))
    }

    async fn memos(
        &self,
        workspace: &WorkspaceId,
        channel: &ChannelId,
    ) -> Result<Vec<(MemoryId, Memo)>, StoreError> {
        Ok(self.lock().memos_from(workspace, channel))
    }

    async fn lines_behind(
        &self,
        workspace: &WorkspaceId,
        lines: &[LineId],
    ) -> Result<Vec<(Arc<Message>, Visibility)>, StoreError> {
        let state = self.lock();
        let here = lines.iter().filter_map(|line| {
            let place = (workspace.clone(), line.0.clone(), line.1.clone());
            let talk = state.talks.get(state.heard.get(&place)?)?;
            let mut lines = talk.lines.iter().filter(|line| line.is_told());
            let line = lines.find(|other| other.message.id == line.1)?;
            Some((line.message.clone(), line.visibility))
        });
        let mut here: Vec<(Arc<Message>, Visibility)> = here.collect();
        here.sort_by(|(one, _), (other, _)| (one.at, &one.id).cmp(&(other.at, &other.id)));
        Ok(here)
    }

    async fn order(&self, order: Order, now: Timestamp) -> Result<(), StoreError> {
        self.write(|state| state.order(order, now));
        Ok(())
    }

    async fn knows(
        &self,
        workspace: &WorkspaceId,
        channel: &ChannelId,
        line: &MessageId,
    ) -> Result<bool, StoreError> {
        let place = (workspace.clone(), channel.clone(), line.clone());
        Ok(self.lock().heard.contains_key(&place))
    }

    async fn orders(&self, workspace: &WorkspaceId) -> Result<Orders, StoreError> {
        Ok(self.lock().orders.get(workspace).cloned().unwrap_or_default())
    }

    async fn claim_chores(
        &self,
        now: Timestamp,
        lease: SignedDuration,
        most: usize,
    ) -> Result<Vec<Chore>, StoreError> {
        Ok(self.write(|state| state.claim_chores(now, lease, most)))
    }

    async fn next_chore(&self) -> Result<Option<Timestamp>, StoreError> {
        Ok(self.lock().next_chore())
    }

    async fn complete_chore(
        &self,
        chore: &Chore,
        outcome: ChoreOutcome,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        self.write(|state| state.complete_chore(chore, outcome, now));
        Ok(())
    }
}

/// Since when an owed line is owed nothing, and in which thread it stands.
type Settlement = (Timestamp, Option<MessageId>);

#[derive(Default)]
struct State {
    installation: Arc<str>,
    revision: u64,
    /// Numbers decisions, pieces and claims.
    last_number: i64,
    users: HashMap<(WorkspaceId, UserId), User>,
    channels: BTreeMap<(WorkspaceId, ChannelId), Channel>,
    /// The revision at which a channel was last public no more.
    withdrawn: HashMap<(WorkspaceId, ChannelId), u64>,
    talks: HashMap<ConversationId, Talk>,
    heard: HashMap<(WorkspaceId, ChannelId, MessageId), ConversationId>,
    /// What writers' apps call the lines of a channel.
    sent: HashMap<(WorkspaceId, ChannelId, Arc<str>), MessageId>,
    /// By workspace and place.
    bookmarks: BTreeMap<(WorkspaceId, Arc<str>), Arc<str>>,
    /// Each channel's lines, by time, then id.
    order: HashMap<(WorkspaceId, ChannelId), Vec<Place>>,
    /// Every thread that has a line. Other threads of the same id may have none.
    threads: BTreeSet<MessageId>,
    /// The newest revision at which a line was edited or deleted, or a channel was public no more.
    changed: u64,
    /// All versions that are kept, oldest first.
    memories: BTreeMap<MemoryKey, Vec<Version>>,
    chores: BTreeMap<MemoryKey, Waiting>,
    memos: Vec<KeptMemo>,
    ready: BTreeSet<(Timestamp, ConversationId)>,
    decisions: BTreeMap<DecisionId, Decision>,
    /// The revision that a decision's verdict was made from.
    considered: HashMap<DecisionId, u64>,
    /// One for each attempt of a decision.
    exchanges: BTreeMap<DecisionId, Vec<Option<KeptExchange>>>,
    outbox: BTreeMap<PieceId, Outgoing>,
    /// What was said unasked, or is on its way; oldest first.
    unasked: Vec<UnaskedPost>,
    /// Owed lines that are owed nothing any more: since when, and in which thread they stand.
    settled: HashMap<(WorkspaceId, UserId), BTreeMap<(ChannelId, MessageId), Settlement>>,
    /// When it spoke in a channel unasked.
    spoke_unasked: HashMap<(WorkspaceId, ChannelId), Timestamp>,
    /// Tokens and money by hours and days; the empty channel is the whole workspace.
    spending: HashMap<(WorkspaceId, ChannelId), BTreeMap<Bucket, (u64, u64)>>,
    /// How long people of a channel take to answer.
    delays: HashMap<(WorkspaceId, ChannelId), Delays>,
    orders: HashMap<WorkspaceId, Orders>,
    /// Reactions to lines that are not known yet.
    early: HashMap<(WorkspaceId, ChannelId, MessageId), Vec<KeptReaction>>,
    /// Until when conversations were begun anew.
    resets: HashMap<ConversationId, Timestamp>,
    dead_letters: Vec<DeadLetter>,
}

#[derive(Default)]
struct Talk {
    /// By time, then id.
    lines: Vec<StoredLine>,
    standing: Standing,
    silent_state: Option<StateHash>,
    /// When it spoke unasked.
    unasked: Vec<Timestamp>,
    /// When it said last that it may not think.
    said_so: Option<Timestamp>,
}

/// Where a line stands in its channel.
struct Place {
    at: Timestamp,
    id: MessageId,
    thread: Option<MessageId>,
}

struct StoredLine {
    message: Arc<Message>,
    /// Who could read it when it was said.
    visibility: Visibility,
    is_deleted: bool,
    /// It is not to be listened to.
    is_withheld: bool,
    gate: Option<Gate>,
    decision: Option<DecisionId>,
    /// The revision that it came with.
    heard: u64,
    /// The revision that it came or changed with.
    revision: u64,
    edited: Option<Timestamp>,
    reactions: Vec<KeptReaction>,
    /// The revision at which its reactions changed last.
    reacted: u64,
}

/// One that was taken away stays, so that an older report of it does not bring it back.
struct KeptReaction {
    emoji: Arc<str>,
    user: UserId,
    kind: AuthorKind,
    at: Timestamp,
    removed: Option<Timestamp>,
}

impl StoredLine {
    /// It may be in prompts and memories.
    fn is_told(&self) -> bool {
        !self.is_deleted && !self.is_withheld
    }
}

/// Its row of the outbox goes when its decision closes; that it was said stays known.
struct UnaskedPost {
    /// When it was dispatched.
    at: Timestamp,
    piece: PieceId,
    place: ConversationId,
    is_said: bool,
}

struct KeptExchange {
    at: Timestamp,
    exchange: Arc<Exchange>,
}

impl KeptExchange {
    fn forget_words(&mut self) {
        let exchange = (*self.exchange).clone();
        self.exchange = Arc::new(Exchange { prompt: "".into(), answer: None, ..exchange });
    }
}

/// A piece on its way.
struct Outgoing {
    piece: Piece,
    is_said: bool,
    /// Words that nobody asked for; a reaction is none.
    is_unasked: bool,
}

impl State {
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
            weighed: None,
            gate: None,
            judgment: None,
            state: None,
            ended: None,
            why: None,
            said: Vec::new(),
            reacted: None,
            next: Next::default(),
            attempts: Vec::new(),
            revision: self.revision,
        };
        self.decisions.insert(id, decision);
    }

    /// Changes a conversation's standing and keeps the index of ready steps true.
    fn change_standing<T>(
        &mut self,
        conversation: &ConversationId,
        now: Timestamp,
        change: impl FnOnce(&mut Standing) -> T,
    ) -> T {
        if !self.talks.contains_key(conversation) {
            self.talks.insert(conversation.clone(), Talk::default());
        }
        let talk = self.talks.get_mut(conversation).expect("it was put there just now");
        let before = talk.standing.step.as_ref().map(Step::ready);
        let owed = talk.standing.owed.clone();
        let result = change(&mut talk.standing);
        if owed != talk.standing.owed {
            for (line, is_owed) in changed(&owed, &talk.standing.owed) {
                let asker = (conversation.workspace.clone(), line.asker.clone());
                let id = (conversation.channel.clone(), line.message.clone());
                let settled = self.settled.entry(asker).or_default();
                if is_owed {
                    settled.remove(&id);
                } else {
                    settled.insert(id, (now, conversation.thread.clone()));
                }
            }
        }
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
        let place = (message.conversation.workspace.clone(), message.conversation.channel.clone());
        let channel = self.channels.get(&place);
        let visibility = channel.map_or(Visibility::Private, |channel| channel.visibility);
        if let Some(thread) = message.conversation.thread.as_ref() {
            self.threads.insert(thread.clone());
        }
        let reset = self.resets.get(&message.conversation);
        let is_reset =
            reset.is_some_and(|until| message.at.as_millisecond() < until.as_millisecond());
        let (workspace, channel) = place.clone();
        let early = self.early.remove(&(workspace, channel, message.id.clone()));
        let order = self.order.entry(place).or_default();
        let stands_before = |other: &Place| (other.at, &other.id) <= (message.at, &message.id);
        let behind = order.iter().rposition(stands_before).map_or(0, |place| place + 1);
        let thread = message.conversation.thread.clone();
        order.insert(behind, Place { at: message.at, id: message.id.clone(), thread });
        let line = StoredLine {
            visibility,
            is_deleted: false,
            is_withheld: gate.is_some_and(Gate::withholds) || is_reset,
            gate,
            decision,
            heard: self.revision,
            revision: self.revision,
            edited: None,
            reacted: early.as_ref().map_or(0, |_| self.revision),
            reactions: early.unwrap_or_default(),
            message: Arc::new(message),
        };
        let lines = &mut self.talks.entry(line.message.conversation.clone()).or_default().lines;
        let stands_before = |other: &StoredLine| {
            (other.message.at, &other.message.id) <= (line.message.at, &line.message.id)
        };
        let place = lines.iter().rposition(stands_before).map_or(0, |place| place + 1);
        lines.insert(place, line);
    }

    /// What was edited or deleted must not live on in prompts, nor in what models wrote about it.
    fn forget(&mut self, conversation: &ConversationId, message: &MessageId) {
        let line = LineId(conversation.channel.clone(), message.clone());
        // Words may have been made from lines of other channels.
        let here = |other: &ConversationId| other.workspace == conversation.workspace;
        let covering = self.line(conversation, message).and_then(|line| line.decision);
        let revision = self.revision;
        for (id, decision) in &mut self.decisions {
            let kept = self.exchanges.get_mut(id).map_or(&mut [][..], Vec::as_mut_slice);
            let is_held = |kept: &Option<KeptExchange>| {
                kept.as_ref().is_some_and(|kept| kept.exchange.made_from.lines.contains(&line))
            };
            let has_seen = here(&decision.conversation) && kept.iter().any(is_held);
            if has_seen || covering == Some(*id) {
                forget_reasons(decision, revision);
            }
            if has_seen {
                let held = kept.iter_mut().filter(|kept| is_held(kept)).flatten();
                held.for_each(KeptExchange::forget_words);
            }
        }
    }

    fn has_changed_since(
        &self,
        workspace: &WorkspaceId,
        channel: Option<&ChannelId>,
        revision: u64,
        made_from: &Lineage,
    ) -> bool {
        // Bots that edit their lines all the time do not count.
        let has_changed = |line: &StoredLine| {
            line.heard <= revision
                && line.revision > revision
                && (line.is_deleted || line.message.is_human())
        };
        if revision >= self.changed {
            return self.have_changed_since(&made_from.memories, revision);
        }
        let is_withdrawn = |line: &LineId| {
            let withdrawn = self.withdrawn.get(&(workspace.clone(), line.0.clone()));
            channel != Some(&line.0) && withdrawn.is_some_and(|withdrawn| *withdrawn > revision)
        };
        if made_from.lines.iter().any(is_withdrawn) {
            return true;
        }
        let lines = made_from.lines.iter().filter_map(|line| {
            let place = (workspace.clone(), line.0.clone(), line.1.clone());
            let talk = self.talks.get(self.heard.get(&place)?)?;
            talk.lines.iter().rev().find(|other| other.message.id == line.1)
        });
        lines.into_iter().any(has_changed) || self.have_changed_since(&made_from.memories, revision)
    }

    fn line(
        &mut self,
        conversation: &ConversationId,
        message: &MessageId,
    ) -> Option<&mut StoredLine> {
        let lines = &mut self.talks.get_mut(conversation)?.lines;
        lines.iter_mut().rev().find(|line| line.message.id == *message)
    }
}

/// The lines that are owed an answer anew, and those that are not any more.
fn changed<'a>(before: &'a [Owed], after: &'a [Owed]) -> impl Iterator<Item = (&'a Owed, bool)> {
    let fresh = after.iter().filter(|owed| !before.contains(owed)).map(|owed| (owed, true));
    let settled = before.iter().filter(|owed| !after.contains(owed)).map(|owed| (owed, false));
    settled.chain(fresh)
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

/// A model's reasons may repeat what people said.
fn forget_reasons(decision: &mut Decision, revision: u64) {
    let attempts = decision.attempts.iter_mut().filter_map(|attempt| attempt.judgment.as_mut());
    attempts.for_each(|judgment| judgment.reason.clear());
    if let Some(judgment) = &mut decision.judgment {
        judgment.reason.clear();
        decision.why = None;
        decision.revision = revision;
    }
}
