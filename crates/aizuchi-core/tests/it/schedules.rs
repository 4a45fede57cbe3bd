//! Random schedules: users post, edit, delete, react and give orders, models take their time and answer at random,
//! platforms fail and the process crashes. Whatever happens, the invariants of ARCHITECTURE.md hold.
//! `AIZUCHI_SCHEDULES` sets the number of schedules.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use aizuchi_core::chat::{
    AuthorKind, ConversationId, Heard, MessageId, Reaction, ReactionChange, Role, UserId,
};
use aizuchi_core::clock::Clock;
use aizuchi_core::context::Context;
use aizuchi_core::decision::DecisionResult;
use aizuchi_core::event::{Event, OutboxItem, PostedMessage};
use aizuchi_core::llm::{Llm, LlmError, LlmResponse};
use aizuchi_core::platform::{Platform, PlatformError};
use aizuchi_core::prompt::{Prompt, PromptVerb};
use aizuchi_core::rhythm::WaitStrategy;
use aizuchi_core::rules::{ChannelRules, FacilitationRules, Mode};
use aizuchi_core::store::Order;
use async_trait::async_trait;
use futures_util::future::BoxFuture;
use jiff::{SignedDuration, Timestamp};
use proptest::prelude::*;
use std::sync::Mutex;

use crate::deciding::every_line_is_accounted_for;
use aizuchi_harness::harness::{
    Fault, Harness, HarnessOptions, TestPlatform, TestStore, build_parts_with, thread, top_level,
    window, workspace,
};

/// How many steps a schedule may take until nothing is pending.
const MOST_STEPS: usize = 500;

/// A random event.
#[derive(Clone, Debug)]
enum Act {
    Say {
        who: u8,
        asks: bool,
        in_thread: bool,
    },
    Edit {
        line: u8,
        asks: bool,
    },
    Delete {
        line: u8,
    },
    React {
        line: u8,
    },
    Order(u8),
    Wait {
        seconds: u16,
    },
    Fail(u8),
    /// The process crashes with its steps in flight, and restarts.
    Die,
}

/// A random schedule.
#[derive(Clone, Debug)]
struct Life {
    acts: Vec<Act>,
    /// For each model call in turn: how long it takes, what it answers, and what happens meanwhile.
    thoughts: Vec<(u8, u8, Option<Act>)>,
    /// What happens during each post, in turn.
    meanwhile: Vec<Option<Act>>,
    mode: Mode,
    wait: WaitStrategy,
}

fn heard() -> impl Strategy<Value = Act> {
    prop_oneof![
        6 => (0..4_u8, prop::bool::weighted(0.3), prop::bool::weighted(0.2))
            .prop_map(|(who, asks, in_thread)| Act::Say { who, asks, in_thread }),
        2 => (0..8_u8, prop::bool::weighted(0.4)).prop_map(|(line, asks)| Act::Edit { line, asks }),
        1 => (0..8_u8).prop_map(|line| Act::Delete { line }),
        1 => (0..8_u8).prop_map(|line| Act::React { line }),
        2 => (0..7_u8).prop_map(Act::Order),
    ]
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        6 => heard(),
        5 => prop_oneof![Just(1_u16), Just(4), Just(6), Just(31), Just(61), Just(130), Just(700)]
            .prop_map(|seconds| Act::Wait { seconds }),
        1 => (0..4_u8).prop_map(Act::Fail),
        1 => Just(Act::Die),
    ]
}

fn life() -> impl Strategy<Value = Life> {
    let modes = [Mode::Companion, Mode::Facilitator, Mode::MentionOnly, Mode::Observe];
    (
        prop::collection::vec(act(), 1..40),
        prop::collection::vec((0..20_u8, 0..7_u8, prop::option::weighted(0.3, heard())), 30),
        prop::collection::vec(prop::option::weighted(0.2, heard()), 10),
        prop::sample::select(modes.to_vec()),
        prop::sample::select(vec![WaitStrategy::Adaptive, WaitStrategy::Fixed]),
    )
        .prop_map(|(acts, thoughts, meanwhile, mode, wait)| Life {
            acts,
            thoughts,
            meanwhile,
            mode,
            wait,
        })
}

fn lives() -> u32 {
    std::env::var("AIZUCHI_SCHEDULES").ok().and_then(|lives| lives.parse().ok()).unwrap_or(40)
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: lives(), failure_persistence: None, max_shrink_iters: 400, ..ProptestConfig::default()
    })]

    #[test]
    fn the_promises_hold_in_random_schedules_on_the_volatile_store(life in life()) {
        run(&life, TestStore::volatile);
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: lives() / 4, failure_persistence: None, max_shrink_iters: 100, ..ProptestConfig::default()
    })]

    #[test]
    fn the_promises_hold_in_random_schedules_on_sqlite(life in life()) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async { live(&life, TestStore::sqlite().await).await });
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: lives() / 16, failure_persistence: None, max_shrink_iters: 100, ..ProptestConfig::default()
    })]

    #[test]
    fn the_promises_hold_in_random_schedules_on_postgres(life in life()) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async { live(&life, TestStore::postgres().await).await });
    }
}

fn run(life: &Life, store: fn() -> TestStore) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(live(life, store()));
}

/// What the test records of a schedule, to check it.
#[derive(Default)]
struct Log {
    /// Every message that asked for an answer, by its conversation.
    asked: BTreeMap<MessageId, ConversationId>,
    /// How often a message became a mention by an edit, after it had been answered or had asked nothing.
    anew: BTreeMap<MessageId, usize>,
    /// The mode that was ordered last, if any.
    ordered: Option<Mode>,
    muted: bool,
    lines: Vec<(MessageId, ConversationId)>,
    /// What was posted, and the state of things then.
    posts: Vec<Post>,
    number: usize,
}

struct Post {
    piece: OutboxItem,
    muted: bool,
    mode: Mode,
    context: Context,
    redrafts: u32,
}

/// The model, the platform and the users of a schedule, which share its state.
#[derive(Clone)]
struct Stage {
    harness: Arc<Mutex<Option<Harness>>>,
    life: Arc<Life>,
    log: Arc<Mutex<Log>>,
    thoughts: Arc<Mutex<usize>>,
    dispatches: Arc<Mutex<usize>>,
    platform: Arc<TestPlatform>,
}

impl Stage {
    fn harness(&self) -> Harness {
        self.harness.lock().unwrap().clone().unwrap()
    }

    fn options(&self) -> HarnessOptions {
        let facilitation = FacilitationRules { min_messages: 2, ..FacilitationRules::default() };
        let rules = ChannelRules {
            mode: self.life.mode,
            facilitation,
            max_share: 1.0,
            ..ChannelRules::default()
        };
        let options = HarnessOptions::from_rules(rules);
        let mut options = match self.life.wait {
            WaitStrategy::Adaptive => options,
            WaitStrategy::Fixed => options.with_fixed_wait(),
        };
        options.wait_settings.max_wait_seconds = 300.0;
        options
    }

    /// A process around a store that may have been used before.
    async fn start(&self, store: TestStore, clock: Clock) {
        let harness = Harness::from_parts(store, clock, Arc::default(), self.platform.clone());
        let (llm, platform) = (Arc::new(self.clone()), Arc::new(self.clone()));
        let store = harness.store.store.clone();
        let (inbox, runner) =
            build_parts_with(store, harness.clock.clone(), llm, platform, self.options());
        let orders = harness.store.store.orders(&workspace()).await.unwrap();
        inbox.channel_cache.replace_orders(&workspace(), &orders);
        let harness = Harness { inbox, runner: Arc::new(runner), ..harness };
        *self.harness.lock().unwrap() = Some(harness);
    }

    fn mode(&self) -> Mode {
        self.log.lock().unwrap().ordered.unwrap_or(self.life.mode)
    }

    /// Users do something, or order it.
    async fn happens(&self, act: &Act) {
        let harness = self.harness();
        match act {
            Act::Say { who, asks, in_thread } => {
                let number = {
                    let mut log = self.log.lock().unwrap();
                    log.number += 1;
                    log.number
                };
                let place = if *in_thread { thread("garden", "m001") } else { top_level("garden") };
                let who = ["alice", "bob", "carol", "buildbot"][usize::from(*who)];
                let text =
                    if *asks { format!("@Aizuchi {number}?") } else { format!("line {number}") };
                let id = format!("m{number:03}");
                let at = harness.clock.now();
                let line = aizuchi_harness::harness::message(place.clone(), &id, at, who, &text);
                {
                    let mut log = self.log.lock().unwrap();
                    log.lines.push((line.id.clone(), place.clone()));
                    if line.is_addressed() {
                        log.asked.insert(line.id.clone(), place);
                    }
                }
                harness.hear(line).await;
            }
            Act::Edit { line, asks } => {
                let Some((id, place)) = self.line(*line) else { return };
                let number = harness.clock.now().as_millisecond();
                let text =
                    if *asks { format!("@Aizuchi {number}!") } else { format!("edit {number}") };
                let was_owed = self.owed(&place).await.contains(&id);
                harness.edits_in(place.clone(), &id, &text).await;
                let owed = self.owed(&place).await;
                let mut log = self.log.lock().unwrap();
                if owed.contains(&id) {
                    *log.anew.entry(id.clone()).or_default() += usize::from(!was_owed);
                    log.asked.insert(id, place);
                } else {
                    // It is a mention no longer, or too late.
                    log.asked.remove(&id);
                }
            }
            Act::Delete { line } => {
                let Some((message, conversation)) = self.line(*line) else { return };
                let at = harness.clock.now();
                let deletion = aizuchi_core::chat::Deletion { conversation, message, at };
                harness.inbox.hear(Heard::Deletion(deletion)).await.unwrap();
            }
            Act::React { line } => {
                let Some((message, _)) = self.line(*line) else { return };
                let reaction = Reaction {
                    workspace: workspace(),
                    channel: top_level("garden").channel,
                    message,
                    user: UserId::new("u-alice"),
                    kind: AuthorKind::Human,
                    emoji: "👍".into(),
                    at: harness.clock.now(),
                    change: ReactionChange::Added,
                };
                harness.inbox.hear(Heard::Reaction(reaction)).await.unwrap();
            }
            Act::Order(order) => self.order(*order).await,
            Act::Wait { .. } | Act::Die => {}
            Act::Fail(fault) => {
                let faults = [Fault::Busy, Fault::Refused, Fault::LostAnswer, Fault::LostRequest];
                self.platform.fails(&[faults[usize::from(*fault)]]);
            }
        }
    }

    /// Runs the next event that is due during a model call or a post.
    fn happens_meanwhile(&self, act: Act) -> BoxFuture<'static, ()> {
        let stage = self.clone();
        Box::pin(async move { stage.happens(&act).await })
    }

    async fn order(&self, order: u8) {
        let (workspace, channel) = (workspace(), top_level("garden").channel);
        let mode =
            |mode| Order::Mode { workspace: workspace.clone(), channel: channel.clone(), mode };
        let order = match order {
            0 => Order::Mute {
                workspace: workspace.clone(),
                channel: Some(channel.clone()),
                until: Timestamp::MAX,
                by: Role::Admin,
            },
            1 | 2 => Order::Unmute {
                workspace: workspace.clone(),
                channel: Some(channel.clone()),
                by: Role::Admin,
            },
            3 => mode(Some(Mode::Observe)),
            4 => mode(Some(Mode::Companion)),
            5 => mode(Some(Mode::Facilitator)),
            _ => mode(None),
        };
        self.harness().order(order.clone()).await;
        let mut log = self.log.lock().unwrap();
        match order {
            Order::Mute { .. } => log.muted = true,
            Order::Unmute { .. } => log.muted = false,
            Order::Mode { mode, .. } => log.ordered = mode,
            Order::OptOut { .. }
            | Order::OptIn { .. }
            | Order::Redact { .. }
            | Order::Reset { .. }
            | Order::Forget { .. }
            | Order::ImportMemory { .. }
            | Order::ImportMemo { .. } => {}
        }
    }

    /// One of the newest messages.
    fn line(&self, back: u8) -> Option<(MessageId, ConversationId)> {
        self.log.lock().unwrap().lines.iter().rev().nth(usize::from(back)).cloned()
    }

    async fn owed(&self, place: &ConversationId) -> Vec<MessageId> {
        let store = self.harness().store.store;
        store.context(place, &window(500)).await.unwrap().owed
    }

    /// Advances the clock and handles what falls due. Model calls take time of their own.
    async fn pass(&self, seconds: i64) {
        let until = self.harness().clock.now() + SignedDuration::from_secs(seconds);
        for _ in 0..MOST_STEPS {
            let harness = self.harness();
            if harness.runner.step().await.unwrap() {
                self.check().await;
                continue;
            }
            match harness.store.store.next_ready().await.unwrap() {
                Some(next) if next <= until => harness.clock.advance_to(next),
                Some(_) | None => {
                    harness.clock.advance_to(until);
                    return;
                }
            }
        }
        panic!("it never comes to rest: {}", self.harness().transcript().await);
    }

    /// What is claimed now is never completed.
    async fn die(&self) {
        let Harness { store, clock, inbox, runner, .. } = self.harness();
        let lease = SignedDuration::from_secs(100);
        store.store.claim(clock.now(), lease, 9).await.unwrap();
        *self.harness.lock().unwrap() = None;
        drop((inbox, runner));
        let store = store.restart().await;
        self.start(store, clock).await;
    }

    /// The invariants that can be checked at any moment.
    async fn check(&self) {
        let harness = self.harness();
        let steps = harness.store.archive.pending_steps(&workspace()).await.unwrap();
        let places: BTreeSet<_> = steps.iter().map(|step| step.event.conversation()).collect();
        assert_eq!(places.len(), steps.len(), "one pending step per conversation: {steps:#?}");
        for place in [top_level("garden"), thread("garden", "m001")] {
            let owed = self.owed(&place).await;
            let step = steps.iter().find(|step| *step.event.conversation() == place);
            let waits = step.is_some_and(|step| {
                step.is_owed || matches!(&step.event, Event::Post(piece) if piece.is_published())
            });
            assert!(owed.is_empty() || waits, "owed and waits for nothing: {owed:?} {step:#?}");
        }
        let rows = harness.decisions("garden").await;
        let mut covered = BTreeSet::new();
        for line in rows.iter().flat_map(|row| &row.messages) {
            assert!(covered.insert(line), "{line} is covered twice: {rows:#?}");
        }
        let open = rows.iter().filter(|row| row.ended.is_none());
        assert_eq!(open.count(), steps.len(), "each open decision waits for a step: {rows:#?}");
    }

    /// What must hold for every post.
    fn check_posts(&self) {
        let log = self.log.lock().unwrap();
        let mut drafts: BTreeSet<_> = BTreeSet::new();
        let mut answered: BTreeMap<&MessageId, usize> = BTreeMap::new();
        for post in &log.posts {
            let notes = &post.piece.metadata;
            assert!(!post.muted, "it speaks though it is muted: {:?}", post.piece);
            assert!(!post.mode.is_silent(), "it speaks in {:?}: {:?}", post.mode, post.piece);
            assert!(drafts.insert(post.piece.first_in_draft), "posted twice: {:?}", post.piece);
            for line in &notes.owed {
                let answers = answered.entry(line).or_default();
                *answers += 1;
                let anew = log.anew.get(line).copied().unwrap_or(0);
                assert!(*answers <= 1 + anew, "{line} was answered twice");
            }
            if !notes.owed.is_empty() {
                continue;
            }
            assert!(post.mode != Mode::MentionOnly, "unasked: {:?}", post.piece);
            // A draft that has not seen the newest message was redrafted for the one before it, where work in flight
            // goes on; elsewhere it is dropped.
            let is_blind = post.context.newest_message_revision > notes.seen_revision;
            let may_be_blind = post.mode == Mode::Facilitator && post.redrafts > 0;
            // A reaction stays right when others answer the message.
            let is_nod = post.piece.reaction_to.is_some();
            let may_be_blind = may_be_blind || (is_nod && post.mode == Mode::Facilitator);
            assert!(!is_blind || may_be_blind, "it has not seen all: {:?}", post.piece);
            let about = notes.about.as_ref().unwrap();
            assert!(is_nod || post.context.is_open(about), "not open any more: {:?}", post.piece);
        }
    }

    async fn check_owed(&self) {
        let harness = self.harness();
        let (asked, said) = {
            let log = self.log.lock().unwrap();
            let said = harness.platform.posted.lock().unwrap();
            let said: BTreeSet<MessageId> =
                said.iter().flat_map(|(piece, _)| piece.metadata.owed.clone()).collect();
            (log.asked.clone(), said)
        };
        let rows = harness.decisions("garden").await;
        let lines = harness.messages("garden").await;
        for (id, place) in asked {
            assert!(!self.owed(&place).await.contains(&id), "{id} is still owed an answer");
            let line = lines.iter().find(|line| line.message.id == id).unwrap();
            let is_withdrawn = line.is_deleted || !line.message.is_addressed();
            let row = rows.iter().find(|row| row.messages.contains(&id));
            let ended = row.and_then(|row| row.ended);
            let is_settled = matches!(
                ended,
                Some(
                    DecisionResult::Muted
                        | DecisionResult::OverBudget
                        | DecisionResult::Failed
                        | DecisionResult::Spoke
                )
            );
            assert!(
                said.contains(&id) || is_withdrawn || is_settled,
                "{id} came to no end: {row:#?}\n{}",
                harness.transcript().await
            );
        }
    }
}

async fn live(life: &Life, store: TestStore) {
    let stage = Stage {
        harness: Arc::default(),
        life: Arc::new(life.clone()),
        log: Arc::default(),
        thoughts: Arc::default(),
        dispatches: Arc::default(),
        platform: Arc::default(),
    };
    stage.start(store, Clock::manual(aizuchi_harness::harness::at(0))).await;
    for act in &life.acts {
        match act {
            Act::Wait { seconds } => stage.pass(i64::from(*seconds)).await,
            Act::Die => stage.die().await,
            Act::Say { .. }
            | Act::Edit { .. }
            | Act::Delete { .. }
            | Act::React { .. }
            | Act::Order(_)
            | Act::Fail(_) => stage.happens(act).await,
        }
        stage.check().await;
    }
    stage.pass(50_000).await;
    let harness = stage.harness();
    assert_eq!(harness.store.store.next_ready().await.unwrap(), None, "something waits for ever");
    stage.check_posts();
    stage.check_owed().await;
    every_line_is_accounted_for(&harness).await;
    *stage.harness.lock().unwrap() = None;
}

#[async_trait]
impl Llm for Stage {
    fn model(&self) -> &str {
        "moody"
    }

    async fn ask(&self, prompt: &Prompt) -> Result<LlmResponse, LlmError> {
        let (seconds, mood, meanwhile) = {
            let mut thoughts = self.thoughts.lock().unwrap();
            *thoughts += 1;
            self.life.thoughts[*thoughts % self.life.thoughts.len()].clone()
        };
        let clock = self.harness().clock;
        clock.advance_to(clock.now() + SignedDuration::from_secs(i64::from(seconds)));
        if let Some(act) = meanwhile {
            self.happens_meanwhile(act).await;
            // Lets the agent notice first whether its work was superseded.
            tokio::task::yield_now().await;
        }
        let verdict = |should_respond: bool, more: &str| {
            format!(
                r#"{{"should_respond": {should_respond}, "reason": "mood", "confidence": 0.9, "delay_seconds": {more}}}"#
            )
        };
        let text = match (prompt.verb, mood) {
            (_, 0) => return Err(LlmError::Busy { why: "down".to_owned(), retry_after: None }),
            (_, 1) => return Err(LlmError::Refused("no".to_owned())),
            (PromptVerb::Judge, 2 | 3) => verdict(true, "0"),
            (PromptVerb::Judge, 4) => verdict(true, "45"),
            (PromptVerb::Judge, 5) => verdict(false, r#"null, "reaction": "👍""#),
            (PromptVerb::Judge, _) => verdict(false, "null"),
            (PromptVerb::Reply | PromptVerb::Remember | PromptVerb::State, _) => {
                "Here I am.".to_owned()
            }
        };
        Ok(LlmResponse::new(text, Default::default()))
    }
}

#[async_trait]
impl Platform for Stage {
    async fn post(&self, piece: &OutboxItem) -> Result<PostedMessage, PlatformError> {
        // The state of things once the last check is over.
        let harness = self.harness();
        let context = harness.store.store.context(&piece.conversation, &window(50)).await.unwrap();
        let step = harness.step_of(&piece.conversation).await;
        let redrafts = step.map_or(0, |step| step.redrafts);
        let mode = self.mode();
        let muted = self.log.lock().unwrap().muted;
        let meanwhile = {
            let mut dispatches = self.dispatches.lock().unwrap();
            *dispatches += 1;
            self.life.meanwhile[*dispatches % self.life.meanwhile.len()].clone()
        };
        if let Some(act) = meanwhile {
            self.happens_meanwhile(act).await;
        }
        let before = self.platform.posted_texts().len();
        let posted = self.platform.post(piece).await;
        if self.platform.posted_texts().len() > before {
            let piece = piece.clone();
            let post = Post { piece, muted, mode, context, redrafts };
            self.log.lock().unwrap().posts.push(post);
        }
        posted
    }

    async fn find_posted(
        &self,
        piece: &OutboxItem,
    ) -> Result<Option<PostedMessage>, PlatformError> {
        self.platform.find_posted(piece).await
    }

    fn settle_time(&self) -> SignedDuration {
        self.platform.settle_time()
    }

    fn max_post_length(&self) -> usize {
        self.platform.max_post_length()
    }
}
