//! The process crashes at every single point: before and after each call of a port. After a restart, whatever the
//! point, no message is lost, every owed answer is given, and nothing is posted twice (invariants 1, 3 and 6).

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use aizuchi_agent::inbox::Inbox;
use aizuchi_harness::effort::cases;
use aizuchi_harness::fixtures::{JOIN, SILENCE, at, message, top_level, window, workspace};
use aizuchi_harness::harness::{Harness, HarnessOptions, build_parts, build_parts_with};
use aizuchi_harness::test_mind::{Interruption, TestMind};
use aizuchi_harness::test_platform::{Fault, TestPlatform};
use aizuchi_harness::test_store::{StoreKind, on_every_store};
use aizuchi_llm::prompt::{Prompt, PromptVerb};
use aizuchi_llm::{Llm, LlmError, LlmResponse};
use aizuchi_model::chat::owed::Owed;
use aizuchi_model::chat::{
    Arrival, ChannelId, ConversationId, Heard, Message, MessageId, Visibility, WorkspaceId,
};
use aizuchi_model::clock::Clock;
use aizuchi_model::context::{Context, ContextWindow};
use aizuchi_model::decision::DecisionResult;
use aizuchi_model::decision::proposal::{ProposalChoice, ProposalState};
use aizuchi_model::flow::memory_job::{MemoryJob, MemoryJobOutcome};
use aizuchi_model::flow::outbox::{OutboxItem, PostedMessage};
use aizuchi_model::flow::planned_call::{PlannedCall, ReservationResult, UnclaimedCall};
use aizuchi_model::flow::web_call::{WebCall, WebLimit};
use aizuchi_model::flow::{Claim, Outcome, Work};
use aizuchi_model::memo::Memo;
use aizuchi_model::memory::{Lineage, Memory, MemoryId, MessageRef};
use aizuchi_model::platform::{Platform, PlatformError};
use aizuchi_model::recall::{RecallQuery, RecalledMessage};
use aizuchi_model::rules::{ChannelRules, FollowUpRule, Mode};
use aizuchi_store::expiry::{Expiry, ExpiryProgress};
use aizuchi_store::order::{Order, OrdersInForce};
use aizuchi_store::query::ProposalQuery;
use aizuchi_store::{CompletionReceipt, HearReceipt, InboxEntry, Store, StoreError};
use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};
use tokio::sync::{Notify, watch};

const FAULTS: [&[Fault]; 4] =
    [&[], &[Fault::LostAnswer], &[Fault::LostAnswer, Fault::Busy], &[Fault::LostRequest]];

// One test per store, since each runs for some seconds.

#[tokio::test]
async fn a_crash_anywhere_is_survived_on_the_volatile_store() {
    for faults in FAULTS {
        crash_at_points(faults, StoreKind::Volatile, 1).await;
    }
}

// Only the volatile store is tested with all faults, since a store does not see them. Opening a new database and
// restarting for every point takes long, so an ordinary run skips points where another test crashes at all of them.

#[tokio::test]
async fn a_crash_anywhere_is_survived_on_sqlite() {
    crash_at_points(&[], StoreKind::Sqlite, 1).await;
}

#[tokio::test]
async fn a_crash_anywhere_is_survived_on_sqlite_while_the_platform_fails() {
    let every = cases(3, 1);
    crash_at_points(&[Fault::LostAnswer, Fault::Busy], StoreKind::Sqlite, every).await;
}

#[tokio::test]
async fn a_crash_anywhere_is_survived_on_postgres() {
    crash_at_points(&[], StoreKind::Postgres, cases(6, 1)).await;
}

#[tokio::test]
async fn a_post_in_flight_during_a_suspend_is_looked_up_first() {
    on_every_store(async |store| {
        let mind = Arc::new(TestMind::default());
        mind.script.set_default(PromptVerb::Reply, "Here I am.");
        let harness = Harness::from_parts(store, Clock::manual(at(0)), mind, Arc::default());
        let fuse = Fuse::new(usize::MAX);
        let store =
            Arc::new(CrashingPort { inner: harness.store.store.clone(), fuse: fuse.clone() });
        let (inbox, runner) = build_parts(
            store,
            harness.clock.clone(),
            harness.mind.clone(),
            harness.platform.clone(),
        );
        *fuse.sleeper.lock().unwrap() = Some(harness.clone());
        let asks =
            message(top_level("garden"), "m1", at(0), "alice", "@Aizuchi what do roses need?");
        inbox.hear(Heard::Message(asks, Arrival::Live)).await.unwrap();
        while runner.step().await.unwrap() {}
        harness.pass(2000).await;
        assert!(fuse.sleeper.lock().unwrap().is_none(), "it has slept");
        assert_eq!(harness.platform.posted_texts(), ["Here I am."]);
    })
    .await;
}

#[tokio::test]
async fn what_somebody_approves_is_said_once_whenever_it_crashes() {
    approve_at_points(StoreKind::Sqlite, &ProposalChoice::SayIt, 1).await;
}

#[tokio::test]
async fn what_somebody_says_in_other_words_is_said_once_whenever_it_crashes() {
    let words = ["Ren baked it.", "On Sunday."].map(str::to_owned).to_vec();
    let choice = ProposalChoice::Edit(words);
    approve_at_points(StoreKind::Sqlite, &choice, 1).await;
    approve_at_points(StoreKind::Postgres, &choice, cases(9, 1)).await;
}

/// The persona proposes an answer to a question, and a keeper approves it. If it is still open after the crash, the
/// keeper clicks again.
async fn approve_at_points(kind: StoreKind, choice: &ProposalChoice, every: usize) {
    let expected = match choice {
        ProposalChoice::Edit(words) => words.clone(),
        ProposalChoice::SayIt | ProposalChoice::NotNow | ProposalChoice::NeverLikeThis => {
            vec!["I baked it.".to_owned()]
        }
    };
    let mut points = 0;
    for point in (1..).step_by(every) {
        let fuse = Fuse::new(point);
        let mind = Arc::new(TestMind::default());
        mind.script.set_default(PromptVerb::Judge, JOIN);
        mind.script.set_default(PromptVerb::Reply, "I baked it.");
        let rules = ChannelRules { mode: Mode::Propose, ..ChannelRules::default() };
        let platform = Arc::new(TestPlatform::default());
        let harness = Harness::from_parts(kind.open().await, Clock::manual(at(0)), mind, platform)
            .with_options(HarnessOptions::from_rules(rules));
        let has_crashed = approve_until_crash(&harness, choice, &fuse).await;
        let harness = harness.restart().await;
        ask(&harness.inbox).await;
        harness.pass(1000).await;
        approve(&harness, &*harness.store.store, choice).await;
        harness.pass(1000).await;
        let transcript = harness.transcript().await;
        assert_eq!(harness.platform.posted_texts(), expected, "point {point}: {transcript}");
        let rows = harness.decisions("kitchen").await;
        let ended: Vec<_> = rows.iter().map(|row| row.ended).collect();
        assert_eq!(ended, [Some(DecisionResult::Spoke)], "point {point}");
        assert_eq!(harness.store.store.next_ready().await.unwrap(), None, "point {point}");
        if !has_crashed {
            break;
        }
        points = point;
    }
    assert!(points > 15, "only {points} points to die at");
}

#[tokio::test]
async fn a_reminder_is_made_and_said_once_whenever_it_crashes() {
    for faults in FAULTS {
        remind_at_points(StoreKind::Sqlite, faults, cases(3, 1)).await;
    }
    remind_at_points(StoreKind::Postgres, &[], cases(9, 1)).await;
}

/// Bob asks for a reminder, which the process is to say twenty minutes later.
async fn remind_at_points(kind: StoreKind, faults: &[Fault], every: usize) {
    let mut points = 0;
    for point in (1..).step_by(every) {
        let fuse = Fuse::new(point);
        let (mind, platform) = (Arc::new(TestMind::default()), Arc::new(TestPlatform::default()));
        platform.fails(faults);
        let harness = Harness::from_parts(kind.open().await, Clock::manual(at(0)), mind, platform);
        let asks = async |inbox: &Inbox| {
            let text = "@Aizuchi remind me in 20 minutes to bake";
            let asks = message(top_level("kitchen"), "m1", at(0), "bob", text);
            inbox.hear(Heard::Message(asks, Arrival::Live)).await.unwrap();
        };
        let has_crashed = lives_until(&harness, &fuse, harness.options.clone(), &asks).await;
        let harness = harness.restart().await;
        asks(&harness.inbox).await;
        harness.pass(3000).await;
        let said = harness.platform.posted_texts();
        // The first process answers from an archive that knows no plans, the second in two posts.
        let (last, answer) = said.split_last().unwrap();
        assert!(last.ends_with("remind you: bake"), "point {point}: {said:?}");
        assert!((1..=2).contains(&answer.len()), "point {point}: {said:?}");
        assert!(answer.iter().all(|text| !text.contains("bake")), "point {point}: {said:?}");
        assert!(harness.store.archive.plans(&workspace()).await.unwrap().is_empty());
        let rows = harness.decisions("kitchen").await;
        assert!(rows.iter().all(|row| row.ended == Some(DecisionResult::Spoke)), "point {point}");
        assert_eq!(rows.len(), 2, "point {point}");
        assert_eq!(harness.store.store.next_ready().await.unwrap(), None, "point {point}");
        if !has_crashed {
            break;
        }
        points = point;
    }
    assert!(points > 15, "only {points} points to die at");
}

/// Lives until nothing is pending or the fuse blows, and returns whether it has crashed.
async fn lives_until(
    harness: &Harness,
    fuse: &Arc<Fuse>,
    options: HarnessOptions,
    begins: &impl AsyncFn(&Inbox),
) -> bool {
    let (store, mind) = (harness.store.store.clone(), harness.mind.clone());
    let store = Arc::new(CrashingPort { inner: store, fuse: fuse.clone() });
    let llm = Arc::new(CrashingPort { inner: mind, fuse: fuse.clone() });
    let platform = Arc::new(CrashingPort { inner: harness.platform.clone(), fuse: fuse.clone() });
    let clock = harness.clock.clone();
    let (inbox, runner) = build_parts_with(store.clone(), clock, llm, platform, options);
    let life = async {
        begins(&inbox).await;
        loop {
            while runner.step().await.unwrap() {}
            match store.next_ready().await.unwrap() {
                Some(next) => harness.clock.advance_to(next),
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

#[tokio::test]
async fn a_question_is_come_back_to_once_whenever_it_crashes() {
    for faults in FAULTS {
        follow_up_at_points(StoreKind::Sqlite, faults, cases(3, 1)).await;
    }
    follow_up_at_points(StoreKind::Postgres, &[], cases(9, 1)).await;
}

/// Nobody has answered Bob, and the process comes back to it after four hours.
async fn follow_up_at_points(kind: StoreKind, faults: &[Fault], every: usize) {
    let mut points = 0;
    for point in (1..).step_by(every) {
        let fuse = Fuse::new(point);
        let (mind, platform) = (Arc::new(TestMind::default()), Arc::new(TestPlatform::default()));
        mind.script.set_default(PromptVerb::Reply, "Here I am.");
        let harness = Harness::from_parts(kind.open().await, Clock::manual(at(0)), mind, platform);
        let rules = ChannelRules { follow_up: FollowUpRule::All, ..ChannelRules::default() };
        let options = HarnessOptions::from_rules(rules);
        let harness = harness.with_options(options.clone());
        harness.mind.script.push(PromptVerb::Judge, Ok(SILENCE));
        harness.says("bob", "does anyone have a ladder?").await;
        harness.pass(3600).await;
        assert_eq!(harness.store.archive.plans(&workspace()).await.unwrap().len(), 1);
        for _ in 0..20 {
            harness.mind.script.push(PromptVerb::Judge, Ok(JOIN));
        }
        harness.platform.fails(faults);
        let options = HarnessOptions { archive: Some(harness.store.archive.clone()), ..options };
        let has_crashed = lives_until(&harness, &fuse, options, &async |_: &Inbox| {}).await;
        let harness = harness.restart().await;
        harness.pass(20_000).await;
        let said = harness.platform.posted_texts();
        assert_eq!(said, ["Here I am."], "point {point}");
        assert!(harness.store.archive.plans(&workspace()).await.unwrap().is_empty());
        let rows = harness.decisions("garden").await;
        let ended: Vec<_> = rows.iter().map(|row| row.ended).collect();
        let expected = [DecisionResult::ChoseSilence, DecisionResult::Spoke].map(Some);
        assert_eq!(ended, expected, "point {point}");
        assert_eq!(harness.store.store.next_ready().await.unwrap(), None, "point {point}");
        if !has_crashed {
            break;
        }
        points = point;
    }
    assert!(points > 10, "only {points} points to die at");
}

async fn ask(inbox: &Inbox) {
    let asks = message(top_level("kitchen"), "m1", at(0), "bob", "who baked this?");
    inbox.hear(Heard::Message(asks, Arrival::Live)).await.unwrap();
}

/// Approves the open proposals.
async fn approve(harness: &Harness, store: &dyn Store, choice: &ProposalChoice) {
    let now = harness.clock.now();
    let query =
        ProposalQuery { workspace: Some(workspace()), decision: None, before: None, limit: 10 };
    let proposals = harness.store.archive.proposals(&query, now).await.unwrap();
    for proposal in proposals.into_iter().filter(|it| it.state == ProposalState::Open) {
        let (workspace, choice) = (workspace(), choice.clone());
        let (id, by) = (proposal.id, "olga".into());
        store.order(Order::DecideProposal { workspace, id, choice, by }, now).await.unwrap();
    }
}

/// Runs the story. Returns whether the process crashed.
async fn approve_until_crash(harness: &Harness, choice: &ProposalChoice, fuse: &Arc<Fuse>) -> bool {
    let store = Arc::new(CrashingPort { inner: harness.store.store.clone(), fuse: fuse.clone() });
    let llm = Arc::new(CrashingPort { inner: harness.mind.clone(), fuse: fuse.clone() });
    let platform = Arc::new(CrashingPort { inner: harness.platform.clone(), fuse: fuse.clone() });
    let options = harness.options.clone();
    let (inbox, runner) =
        build_parts_with(store.clone(), harness.clock.clone(), llm, platform, options);
    let work = async || {
        loop {
            while runner.step().await.unwrap() {}
            match store.next_ready().await.unwrap() {
                Some(next) => harness.clock.advance_to(next),
                None => break,
            }
        }
    };
    let life = async {
        ask(&inbox).await;
        work().await;
        approve(harness, &*store, choice).await;
        work().await;
    };
    tokio::select! {
        biased;
        () = fuse.blown.notified() => true,
        () = life => false,
    }
}

/// Runs the same story for each point at which it can crash, or for every `every`-th, until a run has no such point
/// left.
async fn crash_at_points(faults: &[Fault], kind: StoreKind, every: usize) {
    let mut points = 0;
    for point in (1..).step_by(every) {
        let fuse = Fuse::new(point);
        let mind = Arc::new(TestMind::default());
        mind.script.set_default(PromptVerb::Judge, JOIN);
        mind.script.set_default(PromptVerb::Reply, "The first thing that roses need is good soil, and deep.\n\nThe second is water, in the morning, at the root.");
        let platform = Arc::new(TestPlatform::default());
        platform.fails(faults);
        let harness = Harness::from_parts(kind.open().await, Clock::manual(at(0)), mind, platform);
        let has_crashed = run_until_crash(&harness, &fuse).await;
        let harness = harness.restart().await;
        deliver(&harness.inbox).await;
        harness.pass(2000).await;
        check(&harness, point).await;
        if !has_crashed {
            break;
        }
        points = point;
    }
    assert!(points > 40, "only {points} points to die at");
}

/// What users post. The platform delivers each message again until it is acknowledged.
fn talk() -> Vec<Message> {
    vec![
        message(top_level("garden"), "m1", at(0), "alice", "@Aizuchi what do roses need?"),
        message(top_level("kitchen"), "m2", at(0), "bob", "who baked this?"),
        message(top_level("garden"), "m3", at(0), "carol", "@Aizuchi and tulips?"),
    ]
}

async fn deliver(inbox: &Inbox) {
    for message in talk() {
        inbox.hear(Heard::Message(message, Arrival::Live)).await.unwrap();
    }
}

/// Runs the story. Returns whether the process crashed.
async fn run_until_crash(harness: &Harness, fuse: &Arc<Fuse>) -> bool {
    lives_until(harness, fuse, HarnessOptions::default(), &deliver).await
}

async fn check(harness: &Harness, point: usize) {
    let texts = harness.platform.posted_texts();
    let keys: Vec<_> =
        harness.platform.posted.lock().unwrap().iter().map(|(item, _)| item.key.clone()).collect();
    let mut distinct = keys.clone();
    distinct.sort();
    distinct.dedup();
    assert_eq!(distinct.len(), keys.len(), "point {point}: a piece was said twice");
    // Each draft is posted in full and in order, and each question is answered by one.
    let first = texts.iter().filter(|text| text.starts_with("The first")).count();
    let letters = harness.store.archive.dead_letters(&Default::default()).await.unwrap();
    let ledger = format!("{}{letters:#?}", harness.transcript().await);
    assert_eq!(first * 2, texts.len(), "point {point}: {texts:?}\n{ledger}");
    for question in ["m1", "m2", "m3"] {
        let said = harness.platform.posted.lock().unwrap();
        let answers = said.iter().filter(|(item, _)| {
            let notes = &item.metadata;
            let owed = notes.owed.iter().map(Owed::as_str);
            owed.chain(notes.about.as_ref().map(MessageId::as_str)).any(|id| id == question)
        });
        assert_eq!(answers.count(), 2, "point {point}: {question} has one answer of two halves");
    }
    for (channel, people) in [("garden", 2), ("kitchen", 1)] {
        let messages = harness.messages(channel).await;
        let heard = messages.iter().filter(|stored| stored.message.is_human()).count();
        assert_eq!(heard, people, "point {point}: a message of {channel} was lost or doubled");
        let own = messages.len() - heard;
        let here = harness.platform.posts_in(&top_level(channel));
        assert_eq!(own, here, "point {point}: what was said in {channel} is not what is stored");
        let rows = harness.decisions(channel).await;
        assert!(rows.iter().all(|row| row.ended.is_some()), "point {point}: {rows:#?}");
        let context = harness.store.store.context(&top_level(channel), &window(50)).await.unwrap();
        assert!(context.owed.is_empty(), "point {point}: an answer is still owed in {channel}");
    }
    assert_eq!(harness.store.store.next_ready().await.unwrap(), None, "point {point}");
    assert!(
        harness.store.archive.dead_letters(&Default::default()).await.unwrap().is_empty(),
        "point {point}"
    );
}

/// Counts down at every passed point, and crashes the process at zero.
pub struct Fuse {
    left: AtomicUsize,
    pub blown: Notify,
    /// If set, this process is suspended before its next post, and the other one posts instead.
    sleeper: Mutex<Option<Harness>>,
    interruption: Mutex<Option<Interruption>>,
}

impl Fuse {
    pub fn new(left: usize) -> Arc<Self> {
        let (blown, sleeper) = (Notify::new(), Mutex::new(None));
        let interruption = Mutex::new(None);
        Arc::new(Self { left: AtomicUsize::new(left), blown, sleeper, interruption })
    }

    /// Runs `interruption` before the next read of a context.
    pub fn before_next_context(&self, interruption: Interruption) {
        *self.interruption.lock().unwrap() = Some(interruption);
    }

    pub fn is_interruption_pending(&self) -> bool {
        self.interruption.lock().unwrap().is_some()
    }

    async fn sleep(&self) {
        let Some(harness) = self.sleeper.lock().unwrap().take() else { return };
        harness.clock.advance_to(harness.clock.now() + SignedDuration::from_secs(60));
        for step in harness.store.archive.pending_steps(&workspace()).await.unwrap() {
            if let Work::Post(item) = &step.work {
                harness.platform.post(item).await.unwrap();
            }
        }
    }

    pub async fn pass(&self) {
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

/// A port that can crash before and after each call.
pub struct CrashingPort<T: ?Sized> {
    pub fuse: Arc<Fuse>,
    pub inner: Arc<T>,
}

#[async_trait]
impl Store for CrashingPort<dyn Store> {
    async fn hear(&self, hearing: InboxEntry) -> Result<HearReceipt, StoreError> {
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

    async fn reserve(
        &self,
        call: &PlannedCall,
        now: Timestamp,
    ) -> Result<ReservationResult, StoreError> {
        self.fuse.pass().await;
        let admission = self.inner.reserve(call, now).await;
        self.fuse.pass().await;
        admission
    }

    async fn book(&self, call: &UnclaimedCall) -> Result<(), StoreError> {
        self.fuse.pass().await;
        let booked = self.inner.book(call).await;
        self.fuse.pass().await;
        booked
    }

    async fn count_web_call(
        &self,
        call: &WebCall,
        now: Timestamp,
    ) -> Result<Option<WebLimit>, StoreError> {
        self.fuse.pass().await;
        let limit = self.inner.count_web_call(call, now).await;
        self.fuse.pass().await;
        limit
    }

    async fn complete(
        &self,
        claim: &Claim,
        outcome: Outcome,
        now: Timestamp,
    ) -> Result<CompletionReceipt, StoreError> {
        self.fuse.pass().await;
        let completed = self.inner.complete(claim, outcome, now).await;
        self.fuse.pass().await;
        completed
    }

    async fn drop_exchanges(&self, before: Timestamp, max_bytes: u64) -> Result<(), StoreError> {
        self.inner.drop_exchanges(before, max_bytes).await
    }

    async fn drop_journals(&self, now: Timestamp) -> Result<(), StoreError> {
        self.inner.drop_journals(now).await
    }

    async fn expire_next(&self, expiry: Expiry) -> Result<ExpiryProgress, StoreError> {
        self.inner.expire_next(expiry).await
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

    fn erasures(&self) -> watch::Receiver<u64> {
        self.inner.erasures()
    }

    async fn recall(&self, query: &RecallQuery) -> Result<Vec<RecalledMessage>, StoreError> {
        self.fuse.pass().await;
        self.inner.recall(query).await
    }

    async fn context(
        &self,
        conversation: &ConversationId,
        window: &ContextWindow,
    ) -> Result<Context, StoreError> {
        self.fuse.pass().await;
        let interruption = self.fuse.interruption.lock().unwrap().take();
        if let Some(interruption) = interruption {
            interruption().await;
        }
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
        self.fuse.pass().await;
        let ordered = self.inner.order(order, now).await;
        self.fuse.pass().await;
        ordered
    }

    async fn has_heard(
        &self,
        workspace: &WorkspaceId,
        channel: &ChannelId,
        message: &MessageId,
        client_message_id: Option<&str>,
    ) -> Result<bool, StoreError> {
        self.inner.has_heard(workspace, channel, message, client_message_id).await
    }

    async fn orders(&self, workspace: &WorkspaceId) -> Result<OrdersInForce, StoreError> {
        self.inner.orders(workspace).await
    }

    async fn source_messages(
        &self,
        workspace: &WorkspaceId,
        messages: &[MessageRef],
    ) -> Result<Vec<(Arc<Message>, Visibility)>, StoreError> {
        self.fuse.pass().await;
        self.inner.source_messages(workspace, messages).await
    }

    async fn claim_memory_jobs(
        &self,
        now: Timestamp,
        lease: SignedDuration,
        most: usize,
    ) -> Result<Vec<MemoryJob>, StoreError> {
        self.fuse.pass().await;
        let jobs = self.inner.claim_memory_jobs(now, lease, most).await;
        self.fuse.pass().await;
        jobs
    }

    async fn next_memory_job(&self) -> Result<Option<Timestamp>, StoreError> {
        self.inner.next_memory_job().await
    }

    async fn complete_memory_job(
        &self,
        job: &MemoryJob,
        outcome: MemoryJobOutcome,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        self.fuse.pass().await;
        let completed = self.inner.complete_memory_job(job, outcome, now).await;
        self.fuse.pass().await;
        completed
    }
}

#[async_trait]
impl Llm for CrashingPort<TestMind> {
    fn model(&self) -> &str {
        "mortal"
    }

    async fn ask(&self, prompt: &Prompt) -> Result<LlmResponse, LlmError> {
        self.fuse.pass().await;
        let answer = self.inner.ask(prompt).await;
        self.fuse.pass().await;
        answer
    }
}

#[async_trait]
impl Platform for CrashingPort<TestPlatform> {
    async fn post(&self, item: &OutboxItem) -> Result<PostedMessage, PlatformError> {
        self.fuse.pass().await;
        let posted = self.inner.post(item).await;
        self.fuse.pass().await;
        posted
    }

    async fn find_posted(&self, item: &OutboxItem) -> Result<Option<PostedMessage>, PlatformError> {
        self.fuse.pass().await;
        let found = self.inner.find_posted(item).await;
        self.fuse.pass().await;
        found
    }

    fn in_flight_timeout(&self) -> SignedDuration {
        self.inner.in_flight_timeout()
    }

    fn max_post_length(&self) -> usize {
        self.inner.max_post_length()
    }
}
