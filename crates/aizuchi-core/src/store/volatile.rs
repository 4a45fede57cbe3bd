//! A store in memory that keeps the same promises as long as the process lives: for replay and
//! for tests.

mod archive;
mod channel_status;
mod context;
mod steps;
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
use crate::context::{Context, ContextWindow, StateHash};
use crate::decision::gate::Gate;
use crate::decision::{AttemptResult, Decision, DecisionFollowUp, DecisionId, ModelExchange};
use crate::event::memory_job::{MemoryJob, MemoryJobOutcome};
use crate::event::step::{OwedAnswer, PendingState, Step};
use crate::event::{Claim, DeadLetter, OutboxItem, OutboxItemId, Outcome};
use crate::memo::Memo;
use crate::memory::{Lineage, Memory, MemoryId, MemoryKey, MessageRef};
use crate::recall::{RecallQuery, RecalledMessage};
use crate::rhythm::reply_delays::ReplyDelays;
use crate::store::volatile::channel_status::SpendingBucket;
use crate::store::volatile::memory::{MemoryJobRecord, MemoryVersion};
use crate::store::volatile::memos::MemoRecord;
use crate::store::{
    CompletionReceipt, EARLY_REACTION_RETENTION, HearReceipt, InboxEntry, Order, StandingOrders,
    Store, StoreError,
};

pub struct VolatileStore {
    state: Mutex<VolatileState>,
    revisions: watch::Sender<u64>,
}

impl VolatileStore {
    pub fn new() -> Self {
        Self::with_installation("volatile")
    }

    /// A store whose posts have keys of this installation.
    pub fn with_installation(installation: &str) -> Self {
        let state = VolatileState { installation: installation.into(), ..VolatileState::default() };
        Self { state: Mutex::new(state), revisions: watch::Sender::new(0) }
    }

    fn write<T>(&self, change: impl FnOnce(&mut VolatileState) -> T) -> T {
        let mut state = self.lock();
        let before = state.revision;
        let result = change(&mut state);
        if state.revision != before {
            self.revisions.send_replace(state.revision);
        }
        result
    }

    fn lock(&self) -> MutexGuard<'_, VolatileState> {
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
    async fn hear(&self, hearing: InboxEntry) -> Result<HearReceipt, StoreError> {
        let now = hearing.now;
        Ok(self.write(|state| {
            if let Some(so_far) = hearing.cursor {
                state.hear_cursor(so_far);
            }
            match hearing.heard {
                Heard::Message(message, _) => state.hear_message(
                    message,
                    hearing.client_message_id,
                    hearing.disposition,
                    hearing.remember_at,
                ),
                Heard::Edit(edit) => state.hear_edit(&edit, hearing.disposition),
                Heard::Deletion(deletion) => state.hear_deletion(&deletion, hearing.disposition),
                Heard::Channel(channel) => state.hear_channel(channel, now),
                Heard::User(user) => state.hear_user(user),
                Heard::Reaction(reaction) => state.hear_reaction(&reaction),
                Heard::Cursor(bookmark) => state.hear_cursor(bookmark),
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
            .filter_map(|(_, conversation)| state.claim_step(conversation, now, lease))
            .collect();
        self.revisions.send_replace(state.revision);
        Ok(claims)
    }

    async fn complete(
        &self,
        claim: &Claim,
        outcome: Outcome,
        now: Timestamp,
    ) -> Result<CompletionReceipt, StoreError> {
        Ok(self.write(|state| state.complete_step(claim, outcome, now)))
    }

    async fn drop_exchanges(&self, before: Timestamp) -> Result<(), StoreError> {
        let mut state = self.lock();
        for kept in state.exchanges.values_mut().flatten().flatten() {
            // What it was made from is known for longer.
            if kept.at < before {
                kept.clear_text();
            }
        }
        for letter in state.dead_letters.iter_mut().filter(|letter| letter.at < before) {
            letter.text = None;
        }
        let before = before.checked_sub(EARLY_REACTION_RETENTION).unwrap_or(Timestamp::MIN);
        state.early_reactions.retain(|_, reactions| reactions.iter().any(|kept| kept.at >= before));
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

    async fn recall(&self, query: &RecallQuery) -> Result<Vec<RecalledMessage>, StoreError> {
        Ok(self.lock().recall(query))
    }

    async fn context(
        &self,
        conversation: &ConversationId,
        window: &ContextWindow,
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
        Ok(self.lock().visible_memos(workspace, channel))
    }

    async fn source_messages(
        &self,
        workspace: &WorkspaceId,
        lines: &[MessageRef],
    ) -> Result<Vec<(Arc<Message>, Visibility)>, StoreError> {
        let state = self.lock();
        let here = lines.iter().filter_map(|line| {
            let place = (workspace.clone(), line.0.clone(), line.1.clone());
            let talk = state.conversations.get(state.conversation_of.get(&place)?)?;
            let mut lines = talk.messages.iter().filter(|line| line.is_visible());
            let line = lines.find(|other| other.message.id == line.1)?;
            Some((line.message.clone(), line.visibility))
        });
        let mut here: Vec<(Arc<Message>, Visibility)> = here.collect();
        here.sort_by(|(one, _), (other, _)| (one.at, &one.id).cmp(&(other.at, &other.id)));
        Ok(here)
    }

    async fn order(&self, order: Order, now: Timestamp) -> Result<(), StoreError> {
        self.write(|state| state.apply_order(order, now));
        Ok(())
    }

    async fn has_heard(
        &self,
        workspace: &WorkspaceId,
        channel: &ChannelId,
        line: &MessageId,
    ) -> Result<bool, StoreError> {
        let place = (workspace.clone(), channel.clone(), line.clone());
        Ok(self.lock().conversation_of.contains_key(&place))
    }

    async fn orders(&self, workspace: &WorkspaceId) -> Result<StandingOrders, StoreError> {
        Ok(self.lock().orders.get(workspace).cloned().unwrap_or_default())
    }

    async fn claim_memory_jobs(
        &self,
        now: Timestamp,
        lease: SignedDuration,
        most: usize,
    ) -> Result<Vec<MemoryJob>, StoreError> {
        Ok(self.write(|state| state.claim_memory_jobs(now, lease, most)))
    }

    async fn next_memory_job(&self) -> Result<Option<Timestamp>, StoreError> {
        Ok(self.lock().next_memory_job())
    }

    async fn complete_memory_job(
        &self,
        chore: &MemoryJob,
        outcome: MemoryJobOutcome,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        self.write(|state| state.complete_memory_job(chore, outcome, now));
        Ok(())
    }
}

/// Since when an owed line is owed nothing, and in which thread it stands.
type ClosedOwed = (Timestamp, Option<MessageId>);

#[derive(Default)]
struct VolatileState {
    installation: Arc<str>,
    revision: u64,
    /// Numbers decisions, pieces and claims.
    last_number: i64,
    users: HashMap<(WorkspaceId, UserId), User>,
    channels: BTreeMap<(WorkspaceId, ChannelId), Channel>,
    /// The revision at which a channel was last public no more.
    made_private_at: HashMap<(WorkspaceId, ChannelId), u64>,
    conversations: HashMap<ConversationId, ConversationRecord>,
    conversation_of: HashMap<(WorkspaceId, ChannelId, MessageId), ConversationId>,
    /// What writers' apps call the lines of a channel.
    client_message_ids: HashMap<(WorkspaceId, ChannelId, Arc<str>), MessageId>,
    /// By workspace and place.
    cursors: BTreeMap<(WorkspaceId, Arc<str>), Arc<str>>,
    /// Each channel's lines, by time, then id.
    channel_order: HashMap<(WorkspaceId, ChannelId), Vec<MessagePosition>>,
    /// Every thread that has a line. Other threads of the same id may have none.
    threads: BTreeSet<MessageId>,
    /// The newest revision at which a line was edited or deleted, or a channel was public no more.
    last_change: u64,
    /// All versions that are kept, oldest first.
    memories: BTreeMap<MemoryKey, Vec<MemoryVersion>>,
    memory_jobs: BTreeMap<MemoryKey, MemoryJobRecord>,
    memos: Vec<MemoRecord>,
    ready: BTreeSet<(Timestamp, ConversationId)>,
    decisions: BTreeMap<DecisionId, Decision>,
    /// The revision that a decision's verdict was made from.
    considered: HashMap<DecisionId, u64>,
    /// One for each attempt of a decision.
    exchanges: BTreeMap<DecisionId, Vec<Option<ExchangeRecord>>>,
    outbox: BTreeMap<OutboxItemId, OutboxRecord>,
    /// What was said unasked, or is on its way; oldest first.
    unsolicited_posts: Vec<UnsolicitedPostRecord>,
    /// Owed lines that are owed nothing any more: since when, and in which thread they stand.
    closed_owed: HashMap<(WorkspaceId, UserId), BTreeMap<(ChannelId, MessageId), ClosedOwed>>,
    /// When it spoke in a channel unasked.
    last_unsolicited_post: HashMap<(WorkspaceId, ChannelId), Timestamp>,
    /// Tokens and money by hours and days; the empty channel is the whole workspace.
    spending: HashMap<(WorkspaceId, ChannelId), BTreeMap<SpendingBucket, (u64, u64)>>,
    /// How long people of a channel take to answer.
    delays: HashMap<(WorkspaceId, ChannelId), ReplyDelays>,
    orders: HashMap<WorkspaceId, StandingOrders>,
    /// Reactions to lines that are not known yet.
    early_reactions: HashMap<(WorkspaceId, ChannelId, MessageId), Vec<ReactionRecord>>,
    /// Until when conversations were begun anew.
    resets: HashMap<ConversationId, Timestamp>,
    dead_letters: Vec<DeadLetter>,
}

#[derive(Default)]
struct ConversationRecord {
    /// By time, then id.
    messages: Vec<MessageRecord>,
    pending: PendingState,
    silent_state: Option<StateHash>,
    /// When it spoke unasked.
    unsolicited_posts: Vec<Timestamp>,
    /// When it said last that it may not think.
    budget_notice_at: Option<Timestamp>,
}

/// Where a line stands in its channel.
struct MessagePosition {
    at: Timestamp,
    id: MessageId,
    thread: Option<MessageId>,
}

struct MessageRecord {
    message: Arc<Message>,
    /// Who could read it when it was said.
    visibility: Visibility,
    is_deleted: bool,
    /// It is not to be listened to.
    is_redacted: bool,
    gate: Option<Gate>,
    decision: Option<DecisionId>,
    /// The revision that it came with.
    heard_revision: u64,
    /// The revision that it came or changed with.
    revision: u64,
    edited: Option<Timestamp>,
    reactions: Vec<ReactionRecord>,
    /// The revision at which its reactions changed last.
    reactions_revision: u64,
}

/// One that was taken away stays, so that an older report of it does not bring it back.
struct ReactionRecord {
    emoji: Arc<str>,
    user: UserId,
    kind: AuthorKind,
    at: Timestamp,
    removed: Option<Timestamp>,
}

impl MessageRecord {
    /// It may be in prompts and memories.
    fn is_visible(&self) -> bool {
        !self.is_deleted && !self.is_redacted
    }
}

/// Its row of the outbox goes when its decision closes; that it was said stays known.
struct UnsolicitedPostRecord {
    /// When it was dispatched.
    at: Timestamp,
    item: OutboxItemId,
    conversation: ConversationId,
    is_posted: bool,
}

struct ExchangeRecord {
    at: Timestamp,
    exchange: Arc<ModelExchange>,
}

impl ExchangeRecord {
    fn clear_text(&mut self) {
        let exchange = (*self.exchange).clone();
        self.exchange = Arc::new(ModelExchange { prompt: "".into(), answer: None, ..exchange });
    }
}

/// A piece on its way.
struct OutboxRecord {
    item: OutboxItem,
    is_posted: bool,
    /// Words that nobody asked for; a reaction is none.
    is_unsolicited: bool,
}

impl VolatileState {
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
            is_addressed: addressed,
            evaluation: None,
            gate: None,
            judgment: None,
            state_hash: None,
            ended: None,
            why: None,
            posted_messages: Vec::new(),
            reaction: None,
            follow_up: DecisionFollowUp::default(),
            attempts: Vec::new(),
            revision: self.revision,
        };
        self.decisions.insert(id, decision);
    }

    /// Changes a conversation's standing and keeps the index of ready steps true.
    fn change_pending_state<T>(
        &mut self,
        conversation: &ConversationId,
        now: Timestamp,
        change: impl FnOnce(&mut PendingState) -> T,
    ) -> T {
        if !self.conversations.contains_key(conversation) {
            self.conversations.insert(conversation.clone(), ConversationRecord::default());
        }
        let talk = self.conversations.get_mut(conversation).expect("it was put there just now");
        let before = talk.pending.step.as_ref().map(Step::ready_at);
        let owed = talk.pending.owed.clone();
        let result = change(&mut talk.pending);
        if owed != talk.pending.owed {
            for (line, is_owed) in owed_changes(&owed, &talk.pending.owed) {
                let asker = (conversation.workspace.clone(), line.asker.clone());
                let id = (conversation.channel.clone(), line.message.clone());
                let settled = self.closed_owed.entry(asker).or_default();
                if is_owed {
                    settled.remove(&id);
                } else {
                    settled.insert(id, (now, conversation.thread.clone()));
                }
            }
        }
        let after = talk.pending.step.as_ref().map(Step::ready_at);
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

    fn insert_message(
        &mut self,
        message: Message,
        gate: Option<Gate>,
        decision: Option<DecisionId>,
    ) {
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
        let early = self.early_reactions.remove(&(workspace, channel, message.id.clone()));
        let order = self.channel_order.entry(place).or_default();
        let stands_before =
            |other: &MessagePosition| (other.at, &other.id) <= (message.at, &message.id);
        let behind = order.iter().rposition(stands_before).map_or(0, |place| place + 1);
        let thread = message.conversation.thread.clone();
        order.insert(behind, MessagePosition { at: message.at, id: message.id.clone(), thread });
        let line = MessageRecord {
            visibility,
            is_deleted: false,
            is_redacted: gate.is_some_and(Gate::is_redacting) || is_reset,
            gate,
            decision,
            heard_revision: self.revision,
            revision: self.revision,
            edited: None,
            reactions_revision: early.as_ref().map_or(0, |_| self.revision),
            reactions: early.unwrap_or_default(),
            message: Arc::new(message),
        };
        let lines =
            &mut self.conversations.entry(line.message.conversation.clone()).or_default().messages;
        let stands_before = |other: &MessageRecord| {
            (other.message.at, &other.message.id) <= (line.message.at, &line.message.id)
        };
        let place = lines.iter().rposition(stands_before).map_or(0, |place| place + 1);
        lines.insert(place, line);
    }

    /// What was edited or deleted must not live on in prompts, nor in what models wrote about it.
    fn forget_exchanges(&mut self, conversation: &ConversationId, message: &MessageId) {
        let line = MessageRef(conversation.channel.clone(), message.clone());
        // Words may have been made from lines of other channels.
        let here = |other: &ConversationId| other.workspace == conversation.workspace;
        let covering = self.message_mut(conversation, message).and_then(|line| line.decision);
        let revision = self.revision;
        for (id, decision) in &mut self.decisions {
            let kept = self.exchanges.get_mut(id).map_or(&mut [][..], Vec::as_mut_slice);
            let is_held = |kept: &Option<ExchangeRecord>| {
                kept.as_ref().is_some_and(|kept| kept.exchange.lineage.messages.contains(&line))
            };
            let has_seen = here(&decision.conversation) && kept.iter().any(is_held);
            if has_seen || covering == Some(*id) {
                forget_reasons(decision, revision);
            }
            if has_seen {
                let held = kept.iter_mut().filter(|kept| is_held(kept)).flatten();
                held.for_each(ExchangeRecord::clear_text);
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
        let has_changed = |line: &MessageRecord| {
            line.heard_revision <= revision
                && line.revision > revision
                && (line.is_deleted || line.message.is_human())
        };
        if revision >= self.last_change {
            return self.has_memory_changed_since(&made_from.memories, revision);
        }
        let is_withdrawn = |line: &MessageRef| {
            let withdrawn = self.made_private_at.get(&(workspace.clone(), line.0.clone()));
            channel != Some(&line.0) && withdrawn.is_some_and(|withdrawn| *withdrawn > revision)
        };
        if made_from.messages.iter().any(is_withdrawn) {
            return true;
        }
        let lines = made_from.messages.iter().filter_map(|line| {
            let place = (workspace.clone(), line.0.clone(), line.1.clone());
            let talk = self.conversations.get(self.conversation_of.get(&place)?)?;
            talk.messages.iter().rev().find(|other| other.message.id == line.1)
        });
        lines.into_iter().any(has_changed)
            || self.has_memory_changed_since(&made_from.memories, revision)
    }

    fn message_mut(
        &mut self,
        conversation: &ConversationId,
        message: &MessageId,
    ) -> Option<&mut MessageRecord> {
        let lines = &mut self.conversations.get_mut(conversation)?.messages;
        lines.iter_mut().rev().find(|line| line.message.id == *message)
    }
}

/// The lines that are owed an answer anew, and those that are not any more.
fn owed_changes<'a>(
    before: &'a [OwedAnswer],
    after: &'a [OwedAnswer],
) -> impl Iterator<Item = (&'a OwedAnswer, bool)> {
    let fresh = after.iter().filter(|owed| !before.contains(owed)).map(|owed| (owed, true));
    let settled = before.iter().filter(|owed| !after.contains(owed)).map(|owed| (owed, false));
    settled.chain(fresh)
}

/// Verdicts and drafts that people have overtaken stay in the ledger, marked as such.
fn supersede(decision: &mut Decision) {
    decision.judgment = None;
    for attempt in &mut decision.attempts {
        if attempt.result == AttemptResult::Kept {
            attempt.result = AttemptResult::Superseded;
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
