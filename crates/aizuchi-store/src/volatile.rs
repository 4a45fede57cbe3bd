//! A store in memory that keeps the same promises while the process lives, for replay and tests of the message flow. It
//! keeps only what these need. Memories, memos and memory jobs are empty, a proposal is dropped once it is made, and
//! what else has no place here is refused ([`StoreError::unkept`]). It neither forgets users nor erases old data.

mod records;
mod pending_states;
mod decisions;
mod messages;
mod stored_messages;
mod archive;
mod circumstances;
mod spending;
mod orders;
mod redaction;
mod context;
mod prune;
mod reservations;
mod search_index;
mod steps;
mod hear;
mod found_posts;
mod recall;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use aizuchi_model::chat::{
    Channel, ChannelId, ConversationId, Cursor, Heard, MessageId, User, UserId, WorkspaceId,
};
use aizuchi_model::context::seen_revision::SeenRevision;
use aizuchi_model::context::{Context, ContextWindow};
use aizuchi_model::decision::{Decision, DecisionId};
use aizuchi_model::flow::memory_job::MemoryJob;
use aizuchi_model::flow::outbox::OutboxItemId;
use aizuchi_model::flow::planned_call::{PlannedCall, ReservationResult, UnclaimedCall};
use aizuchi_model::flow::{Claim, DeadLetter, Outcome};
use aizuchi_model::memo::Memo;
use aizuchi_model::memory::{Lineage, Memory, MemoryId};
use aizuchi_model::recall::{RecallQuery, RecalledMessage};
use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::watch;

use crate::order::{Order, OrdersInForce};
use crate::order_journal::GivenOrder;
use crate::volatile::pending_states::OnceOwed;
use crate::volatile::records::{
    ConversationRecord, ExchangeRecord, MessagePosition, OutboxRecord, ReactionRecord,
    UnsolicitedPostRecord,
};
use crate::volatile::search_index::SearchIndex;
use crate::volatile::spending::{SpendingBucket, SpendingSum};
use crate::{CompletionReceipt, Cursors, HearReceipt, InboxEntry, Store, StoreError};

/// What is told when a step is claimed, read for and completed.
pub type Observer = Box<dyn Fn(Observed<'_>) + Send + Sync>;

pub struct VolatileStore {
    state: Mutex<VolatileState>,
    revisions: watch::Sender<u64>,
    erasures: watch::Sender<u64>,
    /// Sees the steps of conversations pass, e.g. to record a replay.
    pub observer: Option<Observer>,
}

/// What passes between a store and its agent.
pub enum Observed<'a> {
    Claimed(&'a [Claim]),
    /// What a step is decided on.
    Read(&'a ConversationId, &'a mut Context),
    /// Before it is stored.
    Completing(&'a Claim, &'a Outcome),
}

impl VolatileStore {
    pub fn new() -> Self {
        Self::with_installation("volatile")
    }

    /// Creates a store that keeps at least this many of a channel's newest messages, and drops much older ones.
    pub fn keeping_newest(messages: usize) -> Self {
        let store = Self::new();
        store.lock().kept_messages = Some(messages);
        store
    }

    /// Creates a store with this installation's post keys.
    pub fn with_installation(installation: &str) -> Self {
        let state = VolatileState { installation: installation.into(), ..VolatileState::default() };
        let (revisions, erasures) = (watch::Sender::new(0), watch::Sender::new(0));
        Self { state: Mutex::new(state), revisions, erasures, observer: None }
    }

    fn write<T>(&self, change: impl FnOnce(&mut VolatileState) -> T) -> T {
        let mut state = self.lock();
        let (revision, erasures) = (state.revision, state.erasures);
        let result = change(&mut state);
        // While the state is locked, so that revisions are announced in order.
        if state.erasures != erasures {
            self.erasures.send_replace(state.erasures);
        }
        if state.revision != revision {
            self.revisions.send_replace(state.revision);
        }
        result
    }

    /// Applies a write that may take back or hide what was readable, and counts an erasure if it changes anything.
    fn erase<T>(&self, change: impl FnOnce(&mut VolatileState) -> T) -> T {
        self.write(|state| {
            let before = state.revision;
            let result = change(state);
            state.erasures += u64::from(state.revision != before);
            result
        })
    }

    fn lock(&self) -> MutexGuard<'_, VolatileState> {
        self.state.lock()
    }

    fn observe(&self, observed: Observed<'_>) {
        if let Some(observer) = &self.observer {
            observer(observed);
        }
    }
}

impl Default for VolatileStore {
    fn default() -> Self {
        Self::new()
    }
}

#[async_trait]
impl Cursors for VolatileStore {
    async fn cursors(&self, workspace: &WorkspaceId) -> Result<Vec<Cursor>, StoreError> {
        let state = self.lock();
        let in_workspace =
            state.cursors.iter().filter(|((cursor_workspace, _), _)| cursor_workspace == workspace);
        let to_cursor =
            |((cursor_workspace, stream), value): (&(WorkspaceId, Arc<str>), &Arc<str>)| Cursor {
                workspace: cursor_workspace.clone(),
                stream: stream.clone(),
                value: value.clone(),
            };
        Ok(in_workspace.map(to_cursor).collect())
    }

    async fn put_cursor(&self, cursor: Cursor) -> Result<(), StoreError> {
        self.write(|state| state.put_cursor(cursor));
        Ok(())
    }
}

#[async_trait]
impl Store for VolatileStore {
    async fn hear(&self, entry: InboxEntry) -> Result<HearReceipt, StoreError> {
        if entry.remember_at.is_some() {
            return Err(StoreError::unkept());
        }
        Ok(self.write(|state| {
            if let Some(cursor) = entry.cursor {
                state.put_cursor(cursor);
            }
            match entry.heard {
                Heard::Message(message, _) => {
                    let conversation = message.conversation.clone();
                    let client_message_id = entry.client_message_id;
                    let receipt = state.hear_message(message, client_message_id, entry.disposition);
                    if receipt.is_new {
                        state.put_links(&conversation, entry.links);
                    }
                    receipt
                }
                Heard::Edit(edit) => {
                    let receipt = state.hear_edit(&edit, entry.disposition);
                    state.erasures += u64::from(receipt.is_new);
                    receipt
                }
                Heard::Deletion(deletion) => {
                    let receipt = state.hear_deletion(&deletion, entry.disposition);
                    state.erasures += u64::from(receipt.is_new);
                    receipt
                }
                Heard::Channel(channel) => state.hear_channel(channel),
                Heard::User(user) => state.hear_user(user),
                Heard::Reaction(reaction) => state.hear_reaction(&reaction),
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
        let claims: Vec<Claim> = ready
            .iter()
            .filter_map(|(_, conversation)| state.claim_step(conversation, now, lease))
            .collect();
        self.revisions.send_replace(state.revision);
        drop(state);
        self.observe(Observed::Claimed(&claims));
        Ok(claims)
    }

    async fn reserve(
        &self,
        call: &PlannedCall,
        now: Timestamp,
    ) -> Result<ReservationResult, StoreError> {
        Ok(self.lock().reserve(call, now))
    }

    async fn book(&self, call: &UnclaimedCall) -> Result<(), StoreError> {
        self.lock().book(call);
        Ok(())
    }

    async fn complete(
        &self,
        claim: &Claim,
        outcome: Outcome,
        now: Timestamp,
    ) -> Result<CompletionReceipt, StoreError> {
        self.observe(Observed::Completing(claim, &outcome));
        if !outcome.memo_changes.is_empty() || !outcome.wanted_calls.is_empty() {
            return Err(StoreError::unkept());
        }
        Ok(self.write(|state| state.complete_step(claim, outcome, now)))
    }

    async fn has_changed_since(
        &self,
        conversation: &ConversationId,
        revision: u64,
        lineage: &Lineage,
    ) -> Result<bool, StoreError> {
        Ok(self.lock().has_changed_since(conversation, revision, lineage))
    }

    async fn next_ready(&self) -> Result<Option<Timestamp>, StoreError> {
        Ok(self.lock().ready.first().map(|(ready, _)| *ready))
    }

    fn revisions(&self) -> watch::Receiver<u64> {
        self.revisions.subscribe()
    }

    fn erasures(&self) -> watch::Receiver<u64> {
        self.erasures.subscribe()
    }

    async fn recall(&self, query: &RecallQuery) -> Result<Vec<RecalledMessage>, StoreError> {
        Ok(self.lock().recall(query))
    }

    async fn context(
        &self,
        conversation: &ConversationId,
        window: &ContextWindow,
    ) -> Result<Context, StoreError> {
        let mut context = self.lock().context(conversation, window);
        self.observe(Observed::Read(conversation, &mut context));
        Ok(context)
    }

    async fn order(&self, order: Order, now: Timestamp) -> Result<(), StoreError> {
        match order.effects().may_erase {
            true => self.erase(|state| state.apply_order(order, now)),
            false => self.write(|state| state.apply_order(order, now)),
        }
    }

    async fn memories(&self, _workspace: &WorkspaceId) -> Result<Vec<Memory>, StoreError> {
        Ok(Vec::new())
    }

    async fn memos(
        &self,
        _workspace: &WorkspaceId,
        _channel: &ChannelId,
    ) -> Result<Vec<(MemoryId, Memo)>, StoreError> {
        Ok(Vec::new())
    }

    async fn claim_memory_jobs(
        &self,
        _now: Timestamp,
        _lease: SignedDuration,
        _most: usize,
    ) -> Result<Vec<MemoryJob>, StoreError> {
        Ok(Vec::new())
    }

    async fn next_memory_job(&self) -> Result<Option<Timestamp>, StoreError> {
        Ok(None)
    }

    async fn has_heard(
        &self,
        workspace: &WorkspaceId,
        channel: &ChannelId,
        message: &MessageId,
        client_message_id: Option<&str>,
    ) -> Result<bool, StoreError> {
        let key = (workspace.clone(), channel.clone(), message.clone());
        let state = self.lock();
        let is_resent = client_message_id.is_some_and(|id| {
            let client_key = (workspace.clone(), channel.clone(), id.into());
            state.client_message_ids.contains_key(&client_key)
        });
        Ok(is_resent || state.conversation_of.contains_key(&key))
    }

    async fn orders(&self, workspace: &WorkspaceId) -> Result<OrdersInForce, StoreError> {
        Ok(self.lock().orders.get(workspace).cloned().unwrap_or_default())
    }
}

#[derive(Default)]
struct VolatileState {
    installation: Arc<str>,
    /// The minimum number of a channel's newest messages that are kept. `None` keeps all.
    kept_messages: Option<usize>,
    revision: u64,
    /// As in [`Store::erasures`].
    erasures: u64,
    /// The sequence for decisions, outbox items and claims.
    last_number: i64,
    users: HashMap<(WorkspaceId, UserId), User>,
    channels: BTreeMap<(WorkspaceId, ChannelId), Channel>,
    /// The revision at which a channel last turned private.
    made_private_at: HashMap<(WorkspaceId, ChannelId), u64>,
    conversations: HashMap<ConversationId, ConversationRecord>,
    conversation_of: HashMap<(WorkspaceId, ChannelId, MessageId), ConversationId>,
    /// The message that each client message id belongs to.
    client_message_ids: HashMap<(WorkspaceId, ChannelId, Arc<str>), MessageId>,
    /// By workspace and stream.
    cursors: BTreeMap<(WorkspaceId, Arc<str>), Arc<str>>,
    /// Each channel's messages, by time, then id.
    channel_order: HashMap<(WorkspaceId, ChannelId), Vec<MessagePosition>>,
    /// The search index of each channel that was searched. It is dropped on any change other than a new message, and
    /// rebuilt by the next search.
    search_indexes: HashMap<(WorkspaceId, ChannelId), SearchIndex>,
    /// The ids of all threads that have a message. Channels are not distinguished, so an id may also name a thread
    /// elsewhere.
    threads: BTreeSet<MessageId>,
    /// The newest revision at which a message was edited or deleted, or a channel turned private.
    last_change: u64,
    ready: BTreeSet<(Timestamp, ConversationId)>,
    decisions: BTreeMap<DecisionId, Decision>,
    /// The revision that a decision's judgment was based on.
    judged_revision: HashMap<DecisionId, SeenRevision>,
    /// One entry for each attempt of a decision.
    exchanges: BTreeMap<DecisionId, Vec<Option<ExchangeRecord>>>,
    outbox: BTreeMap<OutboxItemId, OutboxRecord>,
    /// Unsolicited posts, sent or being sent, oldest first.
    unsolicited_posts: Vec<UnsolicitedPostRecord>,
    /// The messages that were owed an answer before, by asker.
    once_owed: HashMap<(WorkspaceId, UserId), BTreeMap<(ChannelId, MessageId), OnceOwed>>,
    /// The time of the newest unsolicited post in each channel.
    last_unsolicited_post: HashMap<(WorkspaceId, ChannelId), Timestamp>,
    /// Tokens and money by hour and day. The empty channel id is the whole workspace.
    spending: HashMap<(WorkspaceId, ChannelId), BTreeMap<SpendingBucket, SpendingSum>>,
    /// The maximum costs of model calls that are not recorded yet, by the tokens of their claims.
    reservations: BTreeMap<i64, PlannedCall>,
    /// The times of recent judge calls about messages with this user as the only author.
    judge_calls: HashMap<(WorkspaceId, UserId), Vec<Timestamp>>,
    /// The orders in force.
    orders: HashMap<WorkspaceId, OrdersInForce>,
    /// Reactions to unknown messages.
    early_reactions: HashMap<(WorkspaceId, ChannelId, MessageId), Vec<ReactionRecord>>,
    /// The times up to which conversations were reset.
    resets: HashMap<ConversationId, Timestamp>,
    dead_letters: Vec<DeadLetter>,
    /// The journal of orders, oldest first.
    given_orders: Vec<GivenOrder>,
}
