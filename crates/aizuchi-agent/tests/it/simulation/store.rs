//! The store as the process sees it: any store behind a port that may refuse, that may be the last thing the process
//! calls, and that records what was read and written.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use aizuchi_harness::random::Random;
use aizuchi_model::chat::{
    ChannelId, ConversationId, Heard, Message, MessageId, UserId, Visibility, WorkspaceId,
};
use aizuchi_model::context::{Context, ContextWindow};
use aizuchi_model::decision::Attempt;
use aizuchi_model::flow::memory_job::{MemoryJob, MemoryJobOutcome};
use aizuchi_model::flow::planned_call::{PlannedCall, ReservationResult, UnclaimedCall};
use aizuchi_model::flow::web_call::{WebCall, WebLimit};
use aizuchi_model::flow::{Claim, Outcome};
use aizuchi_model::memo::Memo;
use aizuchi_model::memory::{Lineage, Memory, MemoryId, MessageRef};
use aizuchi_model::recall::{RecallQuery, RecalledMessage};
use aizuchi_store::expiry::{Expiry, ExpiryProgress};
use aizuchi_store::order::{Order, OrdersInForce};
use aizuchi_store::{CompletionReceipt, HearReceipt, InboxEntry, Store, StoreError};
use async_trait::async_trait;
use futures_util::FutureExt as _;
use jiff::{SignedDuration, Timestamp};
use tokio::runtime::Runtime;
use tokio::sync::watch;

use crate::simulation::promises::Inspector;
use crate::simulation::texts::words_in;
use crate::simulation::world::{BookedCall, World};

/// Counts down at every port call. At zero the process is dead: no port call returns any more.
#[derive(Default)]
pub struct Fuse {
    left: AtomicUsize,
}

const UNLIT: usize = usize::MAX;

impl Fuse {
    pub fn unlit() -> Arc<Self> {
        Arc::new(Self { left: AtomicUsize::new(UNLIT) })
    }

    pub fn light(&self, calls: usize) {
        self.left.store(calls, Ordering::SeqCst);
    }

    pub fn is_blown(&self) -> bool {
        self.left.load(Ordering::SeqCst) == 0
    }

    pub async fn pass(&self) {
        let left = self.left.load(Ordering::SeqCst);
        if left != UNLIT && left > 0 {
            self.left.store(left - 1, Ordering::SeqCst);
        }
        if self.is_blown() {
            std::future::pending::<()>().await;
        }
    }
}

/// Runs a database operation to completion, so that its threads do not affect the order of events.
pub fn run_now<T>(runtime: Option<&Runtime>, work: impl Future<Output = T>) -> T {
    match runtime {
        Some(runtime) => runtime.block_on(work),
        None => work.now_or_never().expect("a store in memory never waits"),
    }
}

pub struct SimulatedStore {
    pub inner: Arc<dyn Store>,
    pub runtime: Option<Arc<Runtime>>,
    pub world: Arc<World>,
    pub fuse: Arc<Fuse>,
    pub trouble: f64,
    pub is_down: Arc<AtomicBool>,
    pub random: Mutex<Random>,
    pub inspector: Inspector,
}

impl SimulatedStore {
    /// Makes one call, which may be the process's last, before or after it has taken effect.
    async fn call<T>(
        &self,
        work: impl Future<Output = Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        self.fuse.pass().await;
        let is_down = self.is_down.load(Ordering::SeqCst);
        let is_over = self.world.lock().is_over;
        let has_trouble = !is_over && self.random.lock().unwrap().chance(self.trouble);
        if is_down || has_trouble {
            return Err(StoreError::Busy("simulated".to_owned()));
        }
        let result = run_now(self.runtime.as_deref(), work);
        self.fuse.pass().await;
        result
    }

    fn note_heard(&self, heard: &Heard) {
        let text = match heard {
            Heard::Message(message, _) => &message.text,
            Heard::Edit(edit) => &edit.text,
            Heard::Deletion(_) | Heard::Channel(_) | Heard::User(_) | Heard::Reaction(_) => return,
        };
        let mut state = self.world.lock();
        for word in words_in(text) {
            if let Some(word) = state.words.get_mut(word) {
                word.is_heard = true;
            }
        }
    }

    fn book(&self, attempts: &[Attempt]) {
        let now = self.world.clock.now();
        let mut state = self.world.lock();
        for attempt in attempts {
            let tokens = attempt.usage.input_tokens + attempt.usage.output_tokens;
            state.booked.push(BookedCall { at: now, tokens });
            state.most_tokens = state.most_tokens.max(tokens);
        }
    }

    fn note_forgotten(&self, user: &UserId, asked: Timestamp) {
        let mut state = self.world.lock();
        state.forgotten.insert(user.clone(), asked);
        let theirs = state.words.values_mut().filter(|word| word.is_heard && word.author == *user);
        theirs.for_each(|word| word.is_forgotten = true);
    }
}

#[async_trait]
impl Store for SimulatedStore {
    async fn hear(&self, entry: InboxEntry) -> Result<HearReceipt, StoreError> {
        let heard = entry.heard.clone();
        let work = async {
            let receipt = self.inner.hear(entry).await?;
            // It is committed, even if the process dies before it learns that.
            self.note_heard(&heard);
            Ok(receipt)
        };
        self.call(work).await
    }

    async fn claim(
        &self,
        now: Timestamp,
        lease: SignedDuration,
        most: usize,
    ) -> Result<Vec<Claim>, StoreError> {
        self.call(self.inner.claim(now, lease, most)).await
    }

    async fn reserve(
        &self,
        call: &PlannedCall,
        now: Timestamp,
    ) -> Result<ReservationResult, StoreError> {
        self.call(self.inner.reserve(call, now)).await
    }

    async fn book(&self, call: &UnclaimedCall) -> Result<(), StoreError> {
        self.call(self.inner.book(call)).await
    }

    async fn count_web_call(
        &self,
        call: &WebCall,
        now: Timestamp,
    ) -> Result<Option<WebLimit>, StoreError> {
        self.call(self.inner.count_web_call(call, now)).await
    }

    async fn complete(
        &self,
        claim: &Claim,
        outcome: Outcome,
        now: Timestamp,
    ) -> Result<CompletionReceipt, StoreError> {
        let attempts = outcome.attempts.clone();
        let work = async {
            let receipt = self.inner.complete(claim, outcome, now).await?;
            self.book(&attempts);
            Ok(receipt)
        };
        self.call(work).await
    }

    async fn drop_exchanges(&self, before: Timestamp, max_bytes: u64) -> Result<(), StoreError> {
        self.call(self.inner.drop_exchanges(before, max_bytes)).await
    }

    async fn drop_journals(&self, now: Timestamp) -> Result<(), StoreError> {
        self.call(self.inner.drop_journals(now)).await
    }

    async fn expire_next(&self, expiry: Expiry) -> Result<ExpiryProgress, StoreError> {
        self.call(self.inner.expire_next(expiry)).await
    }

    async fn has_changed_since(
        &self,
        home: &ConversationId,
        revision: u64,
        made_from: &Lineage,
    ) -> Result<bool, StoreError> {
        self.call(self.inner.has_changed_since(home, revision, made_from)).await
    }

    async fn next_ready(&self) -> Result<Option<Timestamp>, StoreError> {
        self.call(self.inner.next_ready()).await
    }

    fn revisions(&self) -> watch::Receiver<u64> {
        self.inner.revisions()
    }

    fn erasures(&self) -> watch::Receiver<u64> {
        self.inner.erasures()
    }

    async fn recall(&self, query: &RecallQuery) -> Result<Vec<RecalledMessage>, StoreError> {
        self.call(self.inner.recall(query)).await
    }

    async fn context(
        &self,
        conversation: &ConversationId,
        window: &ContextWindow,
    ) -> Result<Context, StoreError> {
        let context = self.call(self.inner.context(conversation, window)).await?;
        self.world.lock().seen.insert(conversation.clone(), context.revision);
        Ok(context)
    }

    async fn memories(&self, workspace: &WorkspaceId) -> Result<Vec<Memory>, StoreError> {
        self.call(self.inner.memories(workspace)).await
    }

    async fn memos(
        &self,
        workspace: &WorkspaceId,
        channel: &ChannelId,
    ) -> Result<Vec<(MemoryId, Memo)>, StoreError> {
        self.call(self.inner.memos(workspace, channel)).await
    }

    async fn order(&self, order: Order, now: Timestamp) -> Result<(), StoreError> {
        let ordered = order.clone();
        let work = async {
            let owed_before = self.inspector.owed_by_asked().await;
            let forgotten_before = self.inner.orders(ordered.workspace()).await?.forgotten;
            self.inner.order(order, now).await?;
            let forgotten_after = self.inner.orders(ordered.workspace()).await?.forgotten;
            if let Order::Forget { user, asked, .. } = ordered.unsigned().0
                && forgotten_before != forgotten_after
            {
                self.note_forgotten(user, *asked);
            }
            let owed_after = self.inspector.owed_by_asked().await;
            let mut state = self.world.lock();
            for withdrawn in owed_before.difference(&owed_after) {
                state.asked.remove(withdrawn);
            }
            Ok(())
        };
        self.call(work).await
    }

    async fn has_heard(
        &self,
        workspace: &WorkspaceId,
        channel: &ChannelId,
        message: &MessageId,
        client_message_id: Option<&str>,
    ) -> Result<bool, StoreError> {
        self.call(self.inner.has_heard(workspace, channel, message, client_message_id)).await
    }

    async fn orders(&self, workspace: &WorkspaceId) -> Result<OrdersInForce, StoreError> {
        self.call(self.inner.orders(workspace)).await
    }

    async fn source_messages(
        &self,
        workspace: &WorkspaceId,
        messages: &[MessageRef],
    ) -> Result<Vec<(Arc<Message>, Visibility)>, StoreError> {
        self.call(self.inner.source_messages(workspace, messages)).await
    }

    async fn claim_memory_jobs(
        &self,
        now: Timestamp,
        lease: SignedDuration,
        most: usize,
    ) -> Result<Vec<MemoryJob>, StoreError> {
        self.call(self.inner.claim_memory_jobs(now, lease, most)).await
    }

    async fn next_memory_job(&self) -> Result<Option<Timestamp>, StoreError> {
        self.call(self.inner.next_memory_job()).await
    }

    async fn complete_memory_job(
        &self,
        job: &MemoryJob,
        outcome: MemoryJobOutcome,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let attempts = outcome.attempts.clone();
        let work = async {
            self.inner.complete_memory_job(job, outcome, now).await?;
            self.book(&attempts);
            Ok(())
        };
        self.call(work).await
    }
}
