//! A store in memory that keeps the same promises while the process lives, for replay and tests. It keeps no
//! memories and no memos, since replay makes none: it returns none, and refuses to write one or to read a memory's
//! sources.

mod figures;
mod aftermaths;
mod archive;
mod circumstances;
mod forget;
mod expiry;
mod context;
mod prune;
mod reservations;
mod dead_letters;
mod proposals;
mod consents;
mod order_journal;
mod standing_orders;
mod standing_order_drafts;
mod weekly_notes;
mod uploads;
mod steps;
mod hear;
mod recall;

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::watch;

use crate::chat::{
    AuthorKind, Channel, ChannelId, ConversationId, Cursor, Heard, Message, MessageId, User,
    UserId, Visibility, WorkspaceId,
};
use crate::context::links::{LinkSource, MessageLinks};
use crate::context::{Context, ContextWindow, StateHash};
use crate::decision::consent::ConsentId;
use crate::decision::gate::Gate;
use crate::decision::mark::DecisionMark;
use crate::decision::proposal::ProposalId;
use crate::decision::{
    AttemptResult, Decision, DecisionFollowUp, DecisionId, DecisionResult, ModelExchange,
};
use crate::event::memory_job::{MemoryJob, MemoryJobOutcome};
use crate::event::planned_call::{Admission, PlannedCall, UnclaimedCall};
use crate::event::step::{OwedAnswer, PendingState, Step};
use crate::event::{Claim, DeadLetter, OutboxItem, OutboxItemId, Outcome};
use crate::memo::Memo;
use crate::memory::{Lineage, Memory, MemoryId, MessageRef};
use crate::recall::terms::TermHashes;
use crate::recall::{RecallQuery, RecalledMessage};
use crate::rhythm::reply_delays::ReplyDelays;
use crate::standing_order::StandingOrder;
use crate::store::expiry::{Expiry, ExpiryProgress};
use crate::store::figures::CallKind;
use crate::store::order::{Order, OrdersInForce};
use crate::store::order_journal::GivenOrder;
use crate::store::private_reads::PrivateReads;
use crate::store::refusal_reason::RefusalReason;
use crate::store::volatile::circumstances::{SpendingBucket, SpendingSum};
use crate::store::volatile::consents::ConsentRecord;
use crate::store::volatile::proposals::ProposalRecord;
use crate::store::volatile::uploads::UploadRecord;
use crate::store::weekly_notes::{NoteKey, StoredNote};
use crate::store::{
    CompletionReceipt, Cursors, EARLY_REACTION_RETENTION, HearReceipt, InboxEntry, Store,
    StoreError,
};
use aizuchi_structure::links::WINDOW;

pub struct VolatileStore {
    state: Mutex<VolatileState>,
    revisions: watch::Sender<u64>,
}

impl VolatileStore {
    pub fn new() -> Self {
        Self::with_installation("volatile")
    }

    /// A store that keeps at least this many of a channel's newest messages, and forgets those far above them.
    pub fn keeping_newest(messages: usize) -> Self {
        let store = Self::new();
        store.lock().kept_messages = Some(messages);
        store
    }

    /// A store with this installation's post keys.
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
        self.state.lock()
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
            return Err(refuse_memories());
        }
        Ok(self.write(|state| {
            if let Some(cursor) = entry.cursor {
                state.put_cursor(cursor);
            }
            match entry.heard {
                Heard::Message(message, _) => {
                    let conversation = message.conversation.clone();
                    let client_message_id = entry.client_message_id;
                    let sent = (!message.attachments.is_empty()).then(|| message.clone());
                    let receipt = state.hear_message(message, client_message_id, entry.disposition);
                    if receipt.is_new {
                        sent.iter().for_each(|sent| state.note_sent_uploads(sent));
                        state.put_links(&conversation, entry.links);
                    }
                    receipt
                }
                Heard::Edit(edit) => {
                    let receipt = state.hear_edit(&edit, entry.disposition);
                    state.drop_lost_uploads();
                    receipt
                }
                Heard::Deletion(deletion) => {
                    let receipt = state.hear_deletion(&deletion, entry.disposition);
                    state.drop_lost_uploads();
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
        let claims = ready
            .iter()
            .filter_map(|(_, conversation)| state.claim_step(conversation, now, lease))
            .collect();
        self.revisions.send_replace(state.revision);
        Ok(claims)
    }

    async fn reserve(&self, call: &PlannedCall, now: Timestamp) -> Result<Admission, StoreError> {
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
        if !outcome.memo_changes.is_empty() {
            return Err(refuse_memos());
        }
        Ok(self.write(|state| state.complete_step(claim, outcome, now)))
    }

    async fn drop_exchanges(&self, before: Timestamp, max_bytes: u64) -> Result<(), StoreError> {
        let mut state = self.lock();
        let mut records: Vec<_> = state.exchanges.values_mut().flatten().flatten().collect();
        records.sort_by_key(|record| std::cmp::Reverse(record.at));
        let mut total = 0;
        for record in records {
            total += record.text_bytes();
            if total > max_bytes {
                record.clear_text();
            }
        }
        for record in state.exchanges.values_mut().flatten().flatten() {
            // The lineage is kept longer than the text.
            if record.at < before {
                record.clear_text();
            }
        }
        state.erase_dead_letters(|letter| letter.at < before);
        state.lapse_proposals(before);
        state.drop_consent_texts(before);
        state.erase_originals(before);
        let before = before.checked_sub(EARLY_REACTION_RETENTION).unwrap_or(Timestamp::MIN);
        state
            .early_reactions
            .retain(|_, reactions| reactions.iter().any(|record| record.at >= before));
        Ok(())
    }

    async fn drop_journals(&self, now: Timestamp) -> Result<(), StoreError> {
        let mut state = self.lock();
        state.drop_old_orders(now);
        state.drop_old_consents(now);
        state.drop_old_private_reads(now);
        state.drop_old_standing_orders(now);
        state.drop_old_weekly_notes(now);
        state.drop_lost_uploads();
        state.drop_unsent_uploads(now);
        Ok(())
    }

    async fn expire_next(&self, expiry: Expiry) -> Result<ExpiryProgress, StoreError> {
        Ok(self.write(|state| state.expire_next(expiry)))
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

    /// Only a memory job asks for these, the sources of a memory.
    async fn source_messages(
        &self,
        _workspace: &WorkspaceId,
        _messages: &[MessageRef],
    ) -> Result<Vec<(Arc<Message>, Visibility)>, StoreError> {
        Err(refuse_memories())
    }

    async fn order(&self, order: Order, now: Timestamp) -> Result<(), StoreError> {
        self.write(|state| state.apply_order(order, now))
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
        let state = self.lock();
        let orders = state.orders.get(workspace).cloned().unwrap_or_default();
        let standing = state.shown_standing_orders(workspace);
        let drafts = state.shown_standing_order_drafts(workspace);
        Ok(OrdersInForce { standing, drafts, ..orders })
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

    async fn complete_memory_job(
        &self,
        _job: &MemoryJob,
        _outcome: MemoryJobOutcome,
        _now: Timestamp,
    ) -> Result<(), StoreError> {
        Err(refuse_memories())
    }
}

/// A message that was owed an answer before.
struct OnceOwed {
    thread: Option<MessageId>,
    /// Since when it is owed nothing. `None`: it is owed one once more.
    closed: Option<Timestamp>,
    /// How many answers it had got before an edit asked once more.
    earlier_answers: usize,
}

#[derive(Default)]
struct VolatileState {
    installation: Arc<str>,
    /// How many of a channel's newest messages it keeps at least. `None` keeps all.
    kept_messages: Option<usize>,
    revision: u64,
    /// The sequence of decisions, outbox items and claims.
    last_number: i64,
    users: HashMap<(WorkspaceId, UserId), User>,
    channels: BTreeMap<(WorkspaceId, ChannelId), Channel>,
    /// The revision at which a channel last turned private.
    made_private_at: HashMap<(WorkspaceId, ChannelId), u64>,
    /// When users were last forgotten.
    forgotten_at: HashMap<(WorkspaceId, UserId), Timestamp>,
    conversations: HashMap<ConversationId, ConversationRecord>,
    conversation_of: HashMap<(WorkspaceId, ChannelId, MessageId), ConversationId>,
    /// The message ids that clients chose.
    client_message_ids: HashMap<(WorkspaceId, ChannelId, Arc<str>), MessageId>,
    /// By workspace and stream.
    cursors: BTreeMap<(WorkspaceId, Arc<str>), Arc<str>>,
    /// Each channel's messages, by time, then id.
    channel_order: HashMap<(WorkspaceId, ChannelId), Vec<MessagePosition>>,
    /// The ids of all threads that have a message. Channels are not distinguished, so an id may also name a thread
    /// elsewhere.
    threads: BTreeSet<MessageId>,
    /// The newest revision at which a message was edited or deleted, or a channel turned private.
    last_change: u64,
    ready: BTreeSet<(Timestamp, ConversationId)>,
    decisions: BTreeMap<DecisionId, Decision>,
    /// The revision that a decision's judgment was based on.
    judged_revision: HashMap<DecisionId, u64>,
    /// One for each attempt of a decision.
    exchanges: BTreeMap<DecisionId, Vec<Option<ExchangeRecord>>>,
    outbox: BTreeMap<OutboxItemId, OutboxRecord>,
    /// Unsolicited posts, sent or being sent, oldest first.
    unsolicited_posts: Vec<UnsolicitedPostRecord>,
    /// The messages that were owed an answer before, by their askers.
    once_owed: HashMap<(WorkspaceId, UserId), BTreeMap<(ChannelId, MessageId), OnceOwed>>,
    /// The time of the newest unsolicited post in each channel.
    last_unsolicited_post: HashMap<(WorkspaceId, ChannelId), Timestamp>,
    /// Tokens and money by hours and days. The empty channel id is the whole workspace.
    spending: HashMap<(WorkspaceId, ChannelId), BTreeMap<SpendingBucket, SpendingSum>>,
    /// What model calls may cost that are not booked yet, by the tokens of their claims.
    reservations: BTreeMap<i64, PlannedCall>,
    /// Model calls that belong to no claim.
    unclaimed_calls: Vec<(CallKind, UnclaimedCall)>,
    /// When a judge was called lately about messages of which this user is the only author.
    judge_calls: HashMap<(WorkspaceId, UserId), Vec<Timestamp>>,
    /// How long users of a channel take to answer.
    delays: HashMap<(WorkspaceId, ChannelId), ReplyDelays>,
    /// Without the standing orders.
    orders: HashMap<WorkspaceId, OrdersInForce>,
    /// In all versions, by number and version.
    standing_orders: HashMap<WorkspaceId, Vec<StandingOrder>>,
    /// The last number of a standing order.
    standing_order_numbers: HashMap<WorkspaceId, i64>,
    /// Reactions to messages that are not known yet.
    early_reactions: HashMap<(WorkspaceId, ChannelId, MessageId), Vec<ReactionRecord>>,
    /// Until when conversations were reset.
    resets: HashMap<ConversationId, Timestamp>,
    dead_letters: Vec<DeadLetter>,
    /// The parts of a draft that were given up, by their decision.
    dead_parts: HashMap<DecisionId, Vec<OutboxRecord>>,
    /// Who read the text of private channels, by hours.
    private_reads: Vec<PrivateReads>,
    /// What somebody ordered, oldest first.
    given_orders: Vec<GivenOrder>,
    /// What somebody is to approve, and what became of it.
    proposals: BTreeMap<ProposalId, ProposalRecord>,
    /// The calls that somebody is to allow, and what became of them.
    consents: BTreeMap<ConsentId, ConsentRecord>,
    /// What decisions were marked as.
    marks: BTreeMap<DecisionId, DecisionMark>,
    /// Of which weeks keepers were told.
    weekly_notes: HashMap<NoteKey, StoredNote>,
    /// The files that people send in the local room.
    uploads: HashMap<Arc<str>, UploadRecord>,
}

#[derive(Default)]
struct ConversationRecord {
    /// By time, then id.
    messages: Vec<MessageRecord>,
    pending: PendingState,
    silent_state: Option<StateHash>,
    /// The times of unsolicited posts.
    unsolicited_posts: Vec<Timestamp>,
    /// When the persona last announced that its budget is used up.
    budget_notice_at: Option<Timestamp>,
}

/// A message's position in its channel.
struct MessagePosition {
    at: Timestamp,
    id: MessageId,
    thread: Option<MessageId>,
}

struct MessageRecord {
    message: Arc<Message>,
    /// The channel's visibility when the message was heard.
    visibility: Visibility,
    is_deleted: bool,
    is_expired: bool,
    /// It must not be used.
    is_redacted: bool,
    gate: Option<Gate>,
    decision: Option<DecisionId>,
    /// The revision at which it arrived.
    heard_revision: u64,
    /// The revision at which it arrived or last changed.
    revision: u64,
    edited: Option<Timestamp>,
    /// What it replies to, if that was found and still holds.
    links: Option<Arc<MessageLinks>>,
    reactions: Vec<ReactionRecord>,
    /// The revision at which its reactions last changed.
    reactions_revision: u64,
    /// The terms of its text, once a search has looked at it.
    terms: OnceCell<TermHashes>,
}

/// A removed reaction is kept, so that an older report of it does not bring it back.
struct ReactionRecord {
    emoji: Arc<str>,
    user: UserId,
    kind: AuthorKind,
    at: Timestamp,
    removed: Option<Timestamp>,
}

impl ConversationRecord {
    /// Drops the links of the messages that were compared with one before `first`.
    fn drop_links_from(&mut self, first: usize) {
        let later = self.messages[first..].iter_mut().filter(|record| record.is_visible());
        for record in later.take(WINDOW) {
            record.links.take_if(|links| links.source != LinkSource::Platform);
        }
    }
}

impl MessageRecord {
    /// Whether it may be used in prompts.
    fn is_visible(&self) -> bool {
        !self.is_deleted && !self.is_redacted
    }
}

/// The outbox item is dropped when its decision closes; this record remains.
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
    fn text_bytes(&self) -> u64 {
        let answer = self.exchange.answer.as_ref().map_or(0, |answer| answer.len());
        (self.exchange.prompt.len() + answer) as u64
    }

    fn clear_text(&mut self) {
        let exchange = (*self.exchange).clone();
        self.exchange = Arc::new(ModelExchange { prompt: "".into(), answer: None, ..exchange });
    }
}

/// An outbox item in flight.
struct OutboxRecord {
    item: OutboxItem,
    is_posted: bool,
    /// Whether it is an unsolicited text. A reaction is not.
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
            is_expired: false,
            posted_messages: Vec::new(),
            reaction: None,
            follow_up: DecisionFollowUp::default(),
            attempts: Vec::new(),
            revision: self.revision,
        };
        self.decisions.insert(id, decision);
    }

    /// Changes a conversation's pending state and updates the index of ready steps.
    fn change_pending_state<T>(
        &mut self,
        conversation: &ConversationId,
        now: Timestamp,
        change: impl FnOnce(&mut PendingState) -> T,
    ) -> T {
        if !self.conversations.contains_key(conversation) {
            self.conversations.insert(conversation.clone(), ConversationRecord::default());
        }
        let record = self.conversations.get_mut(conversation).expect("it was put there just now");
        let before = record.pending.step.as_ref().map(Step::ready_at);
        let owed = record.pending.owed.clone();
        let result = change(&mut record.pending);
        if owed != record.pending.owed {
            for (owed_answer, is_owed) in owed_changes(&owed, &record.pending.owed) {
                let asker = (conversation.workspace.clone(), owed_answer.asker.clone());
                let id = (conversation.channel.clone(), owed_answer.message.clone());
                let of_asker = self.once_owed.entry(asker).or_default();
                if !is_owed {
                    let once_owed = of_asker.entry(id).or_insert_with(|| OnceOwed {
                        thread: conversation.thread.clone(),
                        closed: None,
                        earlier_answers: 0,
                    });
                    once_owed.closed = Some(now);
                } else if let Some(once_owed) = of_asker.get_mut(&id) {
                    once_owed.closed = None;
                    let decision = record.question(&owed_answer.message).and_then(|it| it.decision);
                    let decision = decision.and_then(|decision| self.decisions.get(&decision));
                    let is_answered = |it: &Decision| it.ended == Some(DecisionResult::Spoke);
                    once_owed.earlier_answers += usize::from(decision.is_some_and(is_answered));
                }
            }
        }
        let after = record.pending.step.as_ref().map(Step::ready_at);
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
        let channel_key =
            (message.conversation.workspace.clone(), message.conversation.channel.clone());
        let channel = self.channels.get(&channel_key);
        let visibility = channel.map_or(Visibility::Private, |channel| channel.visibility);
        if let Some(thread) = message.conversation.thread.as_ref() {
            self.threads.insert(thread.clone());
        }
        let reset = self.resets.get(&message.conversation);
        let is_reset =
            reset.is_some_and(|until| message.at.as_millisecond() < until.as_millisecond());
        let (workspace, channel) = channel_key.clone();
        let early_reactions =
            self.early_reactions.remove(&(workspace, channel, message.id.clone()));
        let positions = self.channel_order.entry(channel_key).or_default();
        let stands_before =
            |other: &MessagePosition| (other.at, &other.id) <= (message.at, &message.id);
        let position = positions.iter().rposition(stands_before).map_or(0, |before| before + 1);
        let thread = message.conversation.thread.clone();
        positions
            .insert(position, MessagePosition { at: message.at, id: message.id.clone(), thread });
        let record = MessageRecord {
            visibility,
            is_deleted: false,
            is_expired: false,
            is_redacted: gate.is_some_and(Gate::is_redacting) || is_reset,
            gate,
            decision,
            heard_revision: self.revision,
            revision: self.revision,
            edited: None,
            links: None,
            reactions_revision: early_reactions.as_ref().map_or(0, |_| self.revision),
            reactions: early_reactions.unwrap_or_default(),
            terms: OnceCell::new(),
            message: Arc::new(message),
        };
        let records = &mut self
            .conversations
            .entry(record.message.conversation.clone())
            .or_default()
            .messages;
        let stands_before = |other: &MessageRecord| {
            (other.message.at, &other.message.id) <= (record.message.at, &record.message.id)
        };
        let position = records.iter().rposition(stands_before).map_or(0, |before| before + 1);
        records.insert(position, record);
    }

    /// Removes an edited or deleted message from prompts, from what models wrote about it, and from answers that could
    /// not be posted.
    fn forget_exchanges(&mut self, conversation: &ConversationId, message: &MessageId) {
        let message_ref = MessageRef(conversation.channel.clone(), message.clone());
        // A prompt may hold messages of other channels.
        let is_same_workspace = |other: &ConversationId| other.workspace == conversation.workspace;
        let covering_decision =
            self.message_mut(conversation, message).and_then(|record| record.decision);
        let mut forgotten = Vec::new();
        let revision = self.revision;
        for (id, decision) in &mut self.decisions {
            let exchanges = self.exchanges.get_mut(id).map_or(&mut [][..], Vec::as_mut_slice);
            let is_held = |record: &Option<ExchangeRecord>| {
                record
                    .as_ref()
                    .is_some_and(|record| record.exchange.lineage.messages.contains(&message_ref))
            };
            let has_held =
                is_same_workspace(&decision.conversation) && exchanges.iter().any(is_held);
            if has_held || covering_decision == Some(*id) {
                forget_reasons(decision, revision);
                forgotten.push(*id);
            }
            if has_held {
                let held = exchanges.iter_mut().filter(|record| is_held(record)).flatten();
                held.for_each(ExchangeRecord::clear_text);
            }
        }
        self.erase_dead_letters(|letter| {
            letter.decision.is_some_and(|decision| forgotten.contains(&decision))
        });
        self.erase_proposals(|decision| forgotten.contains(&decision));
        self.erase_consents(|decision| forgotten.contains(&decision));
    }

    fn has_changed_since(
        &self,
        conversation: &ConversationId,
        revision: u64,
        lineage: &Lineage,
    ) -> bool {
        // A memory or memo that is not there counts as gone.
        if !lineage.memories.is_empty() {
            return true;
        }
        let mut orders = lineage.orders.iter();
        if orders.any(|order| !self.has_standing_order(&conversation.workspace, *order)) {
            return true;
        }
        if revision >= self.last_change {
            return false;
        }
        // Bots edit their messages all the time; that does not count.
        let has_changed = |record: &MessageRecord| {
            record.heard_revision <= revision
                && record.revision > revision
                && (record.is_deleted || record.message.is_human())
        };
        let ConversationId { workspace, channel, .. } = conversation;
        let has_turned_private = |message: &MessageRef| {
            let turned_private = self.made_private_at.get(&(workspace.clone(), message.0.clone()));
            *channel != message.0
                && turned_private.is_some_and(|turned_private_at| *turned_private_at > revision)
        };
        if lineage.messages.iter().any(has_turned_private) {
            return true;
        }
        let messages = lineage.messages.iter().filter_map(|message| {
            let key = (workspace.clone(), message.0.clone(), message.1.clone());
            let conversation = self.conversations.get(self.conversation_of.get(&key)?)?;
            conversation.messages.iter().rev().find(|other| other.message.id == message.1)
        });
        messages.into_iter().any(has_changed)
    }

    /// Keeps what messages of a conversation reply to.
    fn put_links(&mut self, conversation: &ConversationId, links: Vec<(MessageId, MessageLinks)>) {
        for (message, links) in links {
            if let Some(record) = self.message_mut(conversation, &message) {
                record.links.get_or_insert_with(|| Arc::new(links));
            }
        }
    }

    /// A message has changed or is gone, so its links and those of the messages that were compared with it are found
    /// anew.
    fn drop_outdated_links(&mut self, conversation: &ConversationId, message: &MessageId) {
        let thread = ConversationId { thread: Some(message.clone()), ..conversation.clone() };
        if let Some(record) = self.conversations.get_mut(&thread) {
            record.drop_links_from(0);
        }
        let Some(record) = self.conversations.get_mut(conversation) else { return };
        let Some(index) = record.messages.iter().rposition(|other| other.message.id == *message)
        else {
            return;
        };
        let changed = &mut record.messages[index];
        let is_certain =
            changed.links.as_ref().is_some_and(|links| links.source == LinkSource::Platform);
        if !is_certain || changed.is_deleted {
            changed.links = None;
        }
        record.drop_links_from(index + 1);
    }

    fn message_mut(
        &mut self,
        conversation: &ConversationId,
        message: &MessageId,
    ) -> Option<&mut MessageRecord> {
        let messages = &mut self.conversations.get_mut(conversation)?.messages;
        messages.iter_mut().rev().find(|record| record.message.id == *message)
    }
}

/// The owed answers that were closed, and those that were opened.
fn owed_changes<'a>(
    before: &'a [OwedAnswer],
    after: &'a [OwedAnswer],
) -> impl Iterator<Item = (&'a OwedAnswer, bool)> {
    let opened = after.iter().filter(|owed| !before.contains(owed)).map(|owed| (owed, true));
    let closed = before.iter().filter(|owed| !after.contains(owed)).map(|owed| (owed, false));
    closed.chain(opened)
}

/// Judgments and drafts that no longer count stay in the ledger, marked as such.
fn retire(decision: &mut Decision, result: AttemptResult) {
    decision.judgment = None;
    for attempt in &mut decision.attempts {
        if attempt.result == AttemptResult::Kept {
            attempt.result = result;
        }
    }
}

fn refuse_memories() -> StoreError {
    unstorable("the volatile store keeps no memories")
}

fn refuse_memos() -> StoreError {
    unstorable("the volatile store keeps no memos")
}

fn unstorable(why: &str) -> StoreError {
    StoreError::Refused(RefusalReason::Unstorable(why.to_owned()))
}

/// A model's reasons may quote messages.
fn forget_reasons(decision: &mut Decision, revision: u64) {
    let attempts = decision.attempts.iter_mut().filter_map(|attempt| attempt.judgment.as_mut());
    attempts.for_each(|judgment| judgment.reason.clear());
    if let Some(judgment) = &mut decision.judgment {
        judgment.reason.clear();
        decision.why = None;
        decision.revision = revision;
    }
}
