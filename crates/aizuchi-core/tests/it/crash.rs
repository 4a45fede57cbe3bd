//! The process dies at every single point: before and after each call of a port. Whatever the
//! point, after a restart nothing is lost, everyone who is owed an answer gets it, and nothing is
//! said twice.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use aizuchi_core::chat::{
    Arrival, ChannelId, ConversationId, Heard, Message, MessageId, Visibility, WorkspaceId,
};
use aizuchi_core::clock::Clock;
use aizuchi_core::context::{Context, Window};
use aizuchi_core::event::chore::{Chore, ChoreOutcome};
use aizuchi_core::event::{Claim, Event, Outcome, Piece, Posted};
use aizuchi_core::hear::Ears;
use aizuchi_core::llm::{Answer, Llm, LlmError};
use aizuchi_core::memo::Memo;
use aizuchi_core::memory::{LineId, Lineage, Memory, MemoryId};
use aizuchi_core::platform::{Platform, PlatformError};
use aizuchi_core::prompt::{Prompt, Verb};
use aizuchi_core::recall::{RecallQuery, Recalled};
use aizuchi_core::store::{Hearing, Order, Orders, Receipt, Settled, Store, StoreError};
use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};
use tokio::sync::{Notify, watch};

use aizuchi_harness::world::{
    Fault, JOIN, Kept, Mind, Room, World, at, line, parts, top, window, workspace,
};

#[tokio::test]
async fn a_volatile_life_survives_death_at_every_point() {
    die_everywhere(&[], || async { Kept::volatile() }).await;
}

#[tokio::test]
async fn a_durable_life_survives_death_at_every_point() {
    die_everywhere(&[], Kept::sqlite).await;
}

#[tokio::test]
async fn a_life_on_a_server_survives_death_at_every_point() {
    die_everywhere(&[], Kept::postgres).await;
}

#[tokio::test]
async fn death_and_a_lost_answer_together_are_survived() {
    die_everywhere(&[Fault::LostAnswer], || async { Kept::volatile() }).await;
}

#[tokio::test]
async fn a_durable_life_survives_death_and_a_lost_answer() {
    die_everywhere(&[Fault::LostAnswer, Fault::Busy], Kept::sqlite).await;
}

#[tokio::test]
async fn death_and_a_lost_request_together_are_survived() {
    die_everywhere(&[Fault::LostRequest], || async { Kept::volatile() }).await;
}

#[tokio::test]
async fn who_has_slept_over_a_post_looks_for_it_first() {
    let mind = Arc::new(Mind::default());
    mind.script.always(Verb::Reply, "Here I am.");
    let world = World::with(Kept::volatile(), Clock::manual(at(0)), mind, Arc::default());
    let fuse = Fuse::of(usize::MAX);
    let store = Arc::new(Mortal { inner: world.kept.store.clone(), fuse: fuse.clone() });
    let (ears, runner) = parts(store, world.clock.clone(), world.mind.clone(), world.room.clone());
    *fuse.sleeper.lock().unwrap() = Some(world.clone());
    let asks = line(top("garden"), "m1", at(0), "alice", "@Aizuchi what do roses need?");
    ears.hear(Heard::Message(asks, Arrival::Live)).await.unwrap();
    while runner.step().await.unwrap() {}
    world.pass(2000).await;
    assert!(fuse.sleeper.lock().unwrap().is_none(), "it has slept");
    assert_eq!(world.room.texts(), ["Here I am."]);
}

/// Lives one life for every point at which it can end, until a life has no such point any more.
async fn die_everywhere<F: Future<Output = Kept>>(faults: &[Fault], kept: impl Fn() -> F) {
    let mut deaths = 0;
    for point in 1.. {
        let fuse = Fuse::of(point);
        let mind = Arc::new(Mind::default());
        mind.script.always(Verb::Judge, JOIN);
        mind.script.always(Verb::Reply, "The first thing that roses need is good soil, and deep.\n\nThe second is water, in the morning, at the root.");
        let room = Arc::new(Room::default());
        room.fails(faults);
        let world = World::with(kept().await, Clock::manual(at(0)), mind, room);
        let has_died = live_until_death(&world, &fuse).await;
        let world = world.restart().await;
        deliver(&world.ears).await;
        world.pass(2000).await;
        check(&world, point).await;
        if !has_died {
            break;
        }
        deaths += 1;
    }
    assert!(deaths > 40, "only {deaths} points to die at");
}

/// What people say; the platform delivers it again and again until it is acknowledged.
fn talk() -> Vec<Message> {
    vec![
        line(top("garden"), "m1", at(0), "alice", "@Aizuchi what do roses need?"),
        line(top("kitchen"), "m2", at(0), "bob", "who baked this?"),
        line(top("garden"), "m3", at(0), "carol", "@Aizuchi and tulips?"),
    ]
}

async fn deliver(ears: &Ears) {
    for message in talk() {
        ears.hear(Heard::Message(message, Arrival::Live)).await.unwrap();
    }
}

/// True if the fuse blew before the life was over.
async fn live_until_death(world: &World, fuse: &Arc<Fuse>) -> bool {
    let store = Arc::new(Mortal { inner: world.kept.store.clone(), fuse: fuse.clone() });
    let llm = Arc::new(Mortal { inner: world.mind.clone(), fuse: fuse.clone() });
    let platform = Arc::new(Mortal { inner: world.room.clone(), fuse: fuse.clone() });
    let (ears, runner) = parts(store.clone(), world.clock.clone(), llm, platform);
    let life = async {
        deliver(&ears).await;
        loop {
            while runner.step().await.unwrap() {}
            match store.next_ready().await.unwrap() {
                Some(next) => world.clock.advance_to(next),
                None => break,
            }
        }
    };
    tokio::select! {
        biased;
        () = fuse.blown.notified() => true,
        () = life => false,
    }
}

async fn check(world: &World, point: usize) {
    let texts = world.room.texts();
    let keys: Vec<_> =
        world.room.said.lock().unwrap().iter().map(|(piece, _)| piece.key.clone()).collect();
    let mut distinct = keys.clone();
    distinct.sort();
    distinct.dedup();
    assert_eq!(distinct.len(), keys.len(), "point {point}: a piece was said twice");
    // Each draft is said whole, its halves in their order, and each question is answered by one.
    let first = texts.iter().filter(|text| text.starts_with("The first")).count();
    let letters = world.kept.archive.dead_letters().await.unwrap();
    let ledger = format!("{}{letters:#?}", world.transcript().await);
    assert_eq!(first * 2, texts.len(), "point {point}: {texts:?}\n{ledger}");
    for question in ["m1", "m2", "m3"] {
        let said = world.room.said.lock().unwrap();
        let answers = said.iter().filter(|(piece, _)| {
            let notes = &piece.draft;
            let about = notes.owed.iter().chain(&notes.about);
            about.into_iter().any(|id| id.as_str() == question)
        });
        assert_eq!(answers.count(), 2, "point {point}: {question} has one answer of two halves");
    }
    for (channel, people) in [("garden", 2), ("kitchen", 1)] {
        let lines = world.lines(channel).await;
        let heard = lines.iter().filter(|line| line.message.is_human()).count();
        assert_eq!(heard, people, "point {point}: a line of {channel} was lost or doubled");
        let own = lines.len() - heard;
        let here = world.room.said_in(&top(channel));
        assert_eq!(own, here, "point {point}: what was said in {channel} is not what is stored");
        let rows = world.decisions(channel).await;
        assert!(rows.iter().all(|row| row.ended.is_some()), "point {point}: {rows:#?}");
        let context = world.kept.store.context(&top(channel), &window(50)).await.unwrap();
        assert!(context.owed.is_empty(), "point {point}: an answer is still owed in {channel}");
    }
    assert_eq!(world.kept.store.next_ready().await.unwrap(), None, "point {point}");
    assert!(world.kept.archive.dead_letters().await.unwrap().is_empty(), "point {point}");
}

/// Burns by one with every point that is passed, and ends the life when it has burnt down.
struct Fuse {
    left: AtomicUsize,
    blown: Notify,
    /// The process sleeps before its next post, and another one says it.
    sleeper: Mutex<Option<World>>,
}

impl Fuse {
    fn of(left: usize) -> Arc<Self> {
        let (blown, sleeper) = (Notify::new(), Mutex::new(None));
        Arc::new(Self { left: AtomicUsize::new(left), blown, sleeper })
    }

    async fn sleep(&self) {
        let Some(world) = self.sleeper.lock().unwrap().take() else { return };
        world.clock.advance_to(world.clock.now() + SignedDuration::from_secs(60));
        for step in world.kept.archive.steps(&workspace()).await.unwrap() {
            if let Event::Post(piece) = &step.event {
                world.room.post(piece).await.unwrap();
            }
        }
    }

    async fn pass(&self) {
        let left = self.left.load(Ordering::SeqCst);
        if left == 0 {
            return std::future::pending().await;
        }
        self.left.store(left - 1, Ordering::SeqCst);
        if left == 1 {
            self.blown.notify_one();
            std::future::pending::<()>().await;
        }
    }
}

/// A port that can die before and after each call.
struct Mortal<T: ?Sized> {
    fuse: Arc<Fuse>,
    inner: Arc<T>,
}

#[async_trait]
impl Store for Mortal<dyn Store> {
    async fn hear(&self, hearing: Hearing) -> Result<Receipt, StoreError> {
        self.fuse.pass().await;
        let receipt = self.inner.hear(hearing).await;
        self.fuse.pass().await;
        receipt
    }

    async fn claim(
        &self,
        now: Timestamp,
        lease: SignedDuration,
        most: usize,
    ) -> Result<Vec<Claim>, StoreError> {
        self.fuse.pass().await;
        let claims = self.inner.claim(now, lease, most).await;
        self.fuse.pass().await;
        claims
    }

    async fn complete(
        &self,
        claim: &Claim,
        outcome: Outcome,
        now: Timestamp,
    ) -> Result<Settled, StoreError> {
        self.fuse.pass().await;
        let completed = self.inner.complete(claim, outcome, now).await;
        self.fuse.pass().await;
        completed
    }

    async fn drop_exchanges(&self, before: Timestamp) -> Result<(), StoreError> {
        self.inner.drop_exchanges(before).await
    }

    async fn has_changed_since(
        &self,
        home: &ConversationId,
        revision: u64,
        made_from: &Lineage,
    ) -> Result<bool, StoreError> {
        self.fuse.sleep().await;
        self.inner.has_changed_since(home, revision, made_from).await
    }

    async fn next_ready(&self) -> Result<Option<Timestamp>, StoreError> {
        self.inner.next_ready().await
    }

    fn revisions(&self) -> watch::Receiver<u64> {
        self.inner.revisions()
    }

    async fn recall(&self, query: &RecallQuery) -> Result<Vec<Recalled>, StoreError> {
        self.fuse.pass().await;
        self.inner.recall(query).await
    }

    async fn context(
        &self,
        conversation: &ConversationId,
        window: &Window,
    ) -> Result<Context, StoreError> {
        self.fuse.pass().await;
        self.inner.context(conversation, window).await
    }

    async fn memories(&self, workspace: &WorkspaceId) -> Result<Vec<Memory>, StoreError> {
        self.fuse.pass().await;
        self.inner.memories(workspace).await
    }

    async fn memos(
        &self,
        workspace: &WorkspaceId,
        channel: &ChannelId,
    ) -> Result<Vec<(MemoryId, Memo)>, StoreError> {
        self.inner.memos(workspace, channel).await
    }

    async fn order(&self, order: Order, now: Timestamp) -> Result<(), StoreError> {
        self.inner.order(order, now).await
    }

    async fn knows(
        &self,
        workspace: &WorkspaceId,
        channel: &ChannelId,
        line: &MessageId,
    ) -> Result<bool, StoreError> {
        self.inner.knows(workspace, channel, line).await
    }

    async fn orders(&self, workspace: &WorkspaceId) -> Result<Orders, StoreError> {
        self.inner.orders(workspace).await
    }

    async fn lines_behind(
        &self,
        workspace: &WorkspaceId,
        lines: &[LineId],
    ) -> Result<Vec<(Arc<Message>, Visibility)>, StoreError> {
        self.fuse.pass().await;
        self.inner.lines_behind(workspace, lines).await
    }

    async fn claim_chores(
        &self,
        now: Timestamp,
        lease: SignedDuration,
        most: usize,
    ) -> Result<Vec<Chore>, StoreError> {
        self.fuse.pass().await;
        let chores = self.inner.claim_chores(now, lease, most).await;
        self.fuse.pass().await;
        chores
    }

    async fn next_chore(&self) -> Result<Option<Timestamp>, StoreError> {
        self.inner.next_chore().await
    }

    async fn complete_chore(
        &self,
        chore: &Chore,
        outcome: ChoreOutcome,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        self.fuse.pass().await;
        let completed = self.inner.complete_chore(chore, outcome, now).await;
        self.fuse.pass().await;
        completed
    }
}

#[async_trait]
impl Llm for Mortal<Mind> {
    fn model(&self) -> &str {
        "mortal"
    }

    async fn ask(&self, prompt: &Prompt) -> Result<Answer, LlmError> {
        self.fuse.pass().await;
        let answer = self.inner.ask(prompt).await;
        self.fuse.pass().await;
        answer
    }
}

#[async_trait]
impl Platform for Mortal<Room> {
    async fn post(&self, piece: &Piece) -> Result<Posted, PlatformError> {
        self.fuse.pass().await;
        let posted = self.inner.post(piece).await;
        self.fuse.pass().await;
        posted
    }

    async fn find(&self, piece: &Piece) -> Result<Option<Posted>, PlatformError> {
        self.fuse.pass().await;
        let found = self.inner.find(piece).await;
        self.fuse.pass().await;
        found
    }

    fn settle(&self) -> SignedDuration {
        self.inner.settle()
    }

    fn longest_post(&self) -> usize {
        self.inner.longest_post()
    }
}
