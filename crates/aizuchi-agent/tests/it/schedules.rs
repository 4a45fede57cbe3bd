//! Random schedules: users post, edit, delete, react and give orders, models take their time and answer at random,
//! platforms fail and the process crashes. Whatever happens, the invariants of ARCHITECTURE.md hold.
//! `AIZUCHI_SCHEDULES` sets the number of schedules.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::Mutex;

use aizuchi_harness::effort::cases;
use aizuchi_harness::fixtures::{thread, top_level, window, workspace};
use aizuchi_harness::harness::{Harness, HarnessOptions, build_parts_with};
use aizuchi_harness::test_platform::{Fault, TestPlatform};
use aizuchi_harness::test_store::TestStore;
use aizuchi_llm::prompt::{Prompt, PromptVerb};
use aizuchi_llm::{Llm, LlmError, LlmResponse};
use aizuchi_model::chat::owed::Owed;
use aizuchi_model::chat::{
    AuthorKind, ConversationId, Heard, MessageId, Reaction, ReactionChange, Role, UserId,
};
use aizuchi_model::clock::Clock;
use aizuchi_model::context::Context;
use aizuchi_model::context::conversation_analysis::{ConversationAnalysis, OpenState};
use aizuchi_model::decision::gate::Gate;
use aizuchi_model::decision::{AttemptResult, DecisionResult, Usage};
use aizuchi_model::flow::Work;
use aizuchi_model::flow::outbox::{OutboxItem, PostedMessage};
use aizuchi_model::platform::{Platform, PlatformError};
use aizuchi_model::rhythm::WaitStrategy;
use aizuchi_model::rules::{ChannelRules, FacilitationRules, Mode};
use aizuchi_store::order::Order;
use async_trait::async_trait;
use futures_util::future::BoxFuture;
use jiff::{SignedDuration, Timestamp};
use proptest::prelude::*;

use crate::deciding::every_message_is_accounted_for;

/// The maximum number of steps of a schedule until nothing is pending.
const MOST_STEPS: usize = 500;
/// What an asker writes this long before or after a mention may belong to it.
const BESIDE_A_MENTION: SignedDuration = SignedDuration::from_mins(2);

/// A random event.
#[derive(Clone, Debug)]
enum Action {
    Say {
        who: u8,
        what: What,
        in_thread: bool,
    },
    Edit {
        back: u8,
        asks: bool,
    },
    Delete {
        back: u8,
    },
    React {
        back: u8,
    },
    Order(u8),
    Wait {
        seconds: u16,
    },
    Fail(u8),
    /// The process crashes with its steps in flight, and restarts.
    Crash,
}

/// What a user writes.
#[derive(Clone, Copy, Debug)]
enum What {
    Line,
    Question,
    Mention,
    Command,
}

/// A random schedule.
#[derive(Clone, Debug)]
struct Schedule {
    actions: Vec<Action>,
    /// For each model call in turn: its duration, its answer, and what happens in the meantime.
    model_calls: Vec<(u8, u8, Option<Action>)>,
    /// What happens during each post, in turn.
    meanwhile: Vec<Option<Action>>,
    mode: Mode,
    wait: WaitStrategy,
}

fn heard() -> impl Strategy<Value = Action> {
    prop_oneof![
        6 => (0..4_u8, what(), prop::bool::weighted(0.2))
            .prop_map(|(who, what, in_thread)| Action::Say { who, what, in_thread }),
        2 => (0..8_u8, prop::bool::weighted(0.4)).prop_map(|(back, asks)| Action::Edit { back, asks }),
        1 => (0..8_u8).prop_map(|back| Action::Delete { back }),
        1 => (0..8_u8).prop_map(|back| Action::React { back }),
        2 => (0..8_u8).prop_map(Action::Order),
    ]
}

fn what() -> impl Strategy<Value = What> {
    prop_oneof![
        3 => Just(What::Line),
        3 => Just(What::Question),
        3 => Just(What::Mention),
        1 => Just(What::Command),
    ]
}

fn action() -> impl Strategy<Value = Action> {
    prop_oneof![
        6 => heard(),
        5 => prop_oneof![Just(1_u16), Just(4), Just(6), Just(31), Just(61), Just(130), Just(700)]
            .prop_map(|seconds| Action::Wait { seconds }),
        1 => (0..4_u8).prop_map(Action::Fail),
        1 => Just(Action::Crash),
    ]
}

fn schedule() -> impl Strategy<Value = Schedule> {
    let modes = [Mode::Companion, Mode::Facilitator, Mode::MentionOnly, Mode::Observe];
    (
        prop::collection::vec(action(), 1..40),
        prop::collection::vec((0..20_u8, 0..7_u8, prop::option::weighted(0.3, heard())), 30),
        prop::collection::vec(prop::option::weighted(0.2, heard()), 10),
        prop::sample::select(modes.to_vec()),
        prop::sample::select(vec![WaitStrategy::Adaptive, WaitStrategy::Fixed]),
    )
        .prop_map(|(actions, model_calls, meanwhile, mode, wait)| Schedule {
            actions,
            model_calls,
            meanwhile,
            mode,
            wait,
        })
}

fn schedule_count() -> u32 {
    std::env::var("AIZUCHI_SCHEDULES")
        .ok()
        .and_then(|schedule_count| schedule_count.parse().ok())
        .unwrap_or(cases(32, 64))
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: schedule_count(), failure_persistence: None, max_shrink_iters: 400, ..ProptestConfig::default()
    })]

    #[test]
    fn the_promises_hold_in_random_schedules_on_the_volatile_store(schedule in schedule()) {
        run(&schedule, TestStore::volatile);
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: schedule_count() / 4, failure_persistence: None, max_shrink_iters: 100, ..ProptestConfig::default()
    })]

    #[test]
    fn the_promises_hold_in_random_schedules_on_sqlite(schedule in schedule()) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async { run_schedule(&schedule, TestStore::sqlite().await).await });
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: schedule_count() / 16, failure_persistence: None, max_shrink_iters: 100, ..ProptestConfig::default()
    })]

    #[test]
    fn the_promises_hold_in_random_schedules_on_postgres(schedule in schedule()) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async { run_schedule(&schedule, TestStore::postgres().await).await });
    }
}

fn run(schedule: &Schedule, store: fn() -> TestStore) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(run_schedule(schedule, store()));
}

/// What the test records about a schedule, to check it.
#[derive(Default)]
struct Log {
    /// Every message that was owed an answer, with its conversation.
    asked: BTreeMap<MessageId, ConversationId>,
    /// How often an edit turned a message into a mention after it had been answered or was not one.
    anew: BTreeMap<MessageId, usize>,
    /// Every message that ever mentioned the persona.
    mentions: BTreeSet<MessageId>,
    /// The last mode that was ordered, if any.
    ordered: Option<Mode>,
    muted_until: Timestamp,
    messages: Vec<(MessageId, ConversationId)>,
    /// The posts, with the state at the time.
    posts: Vec<Post>,
    number: usize,
}

struct Post {
    item: OutboxItem,
    muted: bool,
    mode: Mode,
    context: Context,
    redrafts: u32,
    second_looks: u32,
}

/// The model, the platform and the users of a schedule, which share its state.
#[derive(Clone)]
struct Simulation {
    harness: Arc<Mutex<Option<Harness>>>,
    schedule: Arc<Schedule>,
    log: Arc<Mutex<Log>>,
    model_calls: Arc<Mutex<usize>>,
    dispatches: Arc<Mutex<usize>>,
    platform: Arc<TestPlatform>,
}

impl Simulation {
    fn harness(&self) -> Harness {
        self.harness.lock().unwrap().clone().unwrap()
    }

    fn options(&self) -> HarnessOptions {
        let facilitation = FacilitationRules { min_messages: 2, ..FacilitationRules::default() };
        let rules = ChannelRules {
            mode: self.schedule.mode,
            facilitation,
            max_share: 1.0,
            ..ChannelRules::default()
        };
        let options = HarnessOptions::from_rules(rules);
        let mut options = match self.schedule.wait {
            WaitStrategy::Adaptive => options,
            WaitStrategy::Fixed => options.with_fixed_wait(),
        };
        options.wait_settings.max_wait_seconds = 300.0;
        options
    }

    /// Starts a process on a store that may have been used before.
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
        self.log.lock().unwrap().ordered.unwrap_or(self.schedule.mode)
    }

    /// Applies an action of the users.
    async fn apply(&self, action: &Action) {
        let harness = self.harness();
        match action {
            Action::Say { who, what, in_thread } => {
                let number = {
                    let mut log = self.log.lock().unwrap();
                    log.number += 1;
                    log.number
                };
                let conversation =
                    if *in_thread { thread("garden", "m001") } else { top_level("garden") };
                let who = ["alice", "bob", "carol", "buildbot"][usize::from(*who)];
                let text = match what {
                    What::Line => format!("line {number}"),
                    What::Question => format!("who has number {number}?"),
                    What::Mention => format!("@Aizuchi {number}?"),
                    What::Command => "@Aizuchi status".to_owned(),
                };
                let id = format!("m{number:03}");
                let at = harness.clock.now();
                let message =
                    aizuchi_harness::fixtures::message(conversation.clone(), &id, at, who, &text);
                {
                    let mut log = self.log.lock().unwrap();
                    log.messages.push((message.id.clone(), conversation.clone()));
                    if message.is_addressed() {
                        log.mentions.insert(message.id.clone());
                        log.asked.insert(message.id.clone(), conversation);
                    }
                }
                harness.hear(message).await;
            }
            Action::Edit { back, asks } => {
                let Some((id, conversation)) = self.recent_message(*back) else { return };
                let number = harness.clock.now().as_millisecond();
                let text =
                    if *asks { format!("@Aizuchi {number}!") } else { format!("edit {number}") };
                let was_owed = self.owed(&conversation).await.contains(&id);
                harness.edits_in(conversation.clone(), &id, &text).await;
                let owed = self.owed(&conversation).await;
                let mut log = self.log.lock().unwrap();
                if owed.contains(&id) {
                    log.mentions.insert(id.clone());
                    *log.anew.entry(id.clone()).or_default() += usize::from(!was_owed);
                    log.asked.insert(id, conversation);
                } else {
                    // It is no longer a mention, or too late.
                    log.asked.remove(&id);
                }
            }
            Action::Delete { back } => {
                let Some((message, conversation)) = self.recent_message(*back) else { return };
                let at = harness.clock.now();
                let deletion = aizuchi_model::chat::Deletion { conversation, message, at };
                harness.inbox.hear(Heard::Deletion(deletion)).await.unwrap();
            }
            Action::React { back } => {
                let Some((message, _)) = self.recent_message(*back) else { return };
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
            Action::Order(order) => self.order(*order).await,
            Action::Wait { .. } | Action::Crash => {}
            Action::Fail(fault) => {
                let faults = [Fault::Busy, Fault::Refused, Fault::LostAnswer, Fault::LostRequest];
                self.platform.fails(&[faults[usize::from(*fault)]]);
            }
        }
    }

    /// Applies an action during a model call or a post. In a task of its own: the agent drops a call that the action
    /// supersedes, and would drop the rest of the action with it, such as the note of what an edit asked.
    fn apply_meanwhile(&self, action: Action) -> BoxFuture<'static, ()> {
        let simulation = self.clone();
        let applied = tokio::spawn(async move { simulation.apply(&action).await });
        Box::pin(async move { applied.await.unwrap() })
    }

    async fn order(&self, order: u8) {
        let (workspace, channel) = (workspace(), top_level("garden").channel);
        let mode =
            |mode| Order::Mode { workspace: workspace.clone(), channel: channel.clone(), mode };
        let mute = |until| Order::Mute {
            workspace: workspace.clone(),
            channel: Some(channel.clone()),
            until,
            by: Role::Admin,
        };
        let order = match order {
            0 => mute(Timestamp::MAX),
            7 => mute(self.harness().clock.now() + SignedDuration::from_secs(60)),
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
            Order::Mute { until, .. } => log.muted_until = until,
            Order::Unmute { .. } => log.muted_until = Timestamp::MIN,
            Order::Mode { mode, .. } => log.ordered = mode,
            Order::OptOut { .. }
            | Order::OptIn { .. }
            | Order::Redact { .. }
            | Order::Reset { .. }
            | Order::Forget { .. }
            | Order::ForgetUser { .. }
            | Order::ImportMemory { .. }
            | Order::ImportMemo { .. }
            | Order::ForgetMoments { .. }
            | Order::GiveStandingOrder { .. }
            | Order::ChangeStandingOrder { .. }
            | Order::DropStandingOrder { .. }
            | Order::DraftStandingOrder { .. }
            | Order::KeepStandingOrder { .. }
            | Order::DropOrderDraft { .. }
            | Order::MakePlan(_)
            | Order::ChangePlan { .. }
            | Order::ChangeSetting { .. }
            | Order::DropDeadLetter { .. }
            | Order::RetryDeadLetter { .. }
            | Order::MarkDecision { .. }
            | Order::DecideProposal { .. }
            | Order::AnswerTrust { .. }
            | Order::TakeConsentStep { .. }
            | Order::ChangeMemory { .. }
            | Order::ChangeMemo { .. }
            | Order::RevertMemo { .. }
            | Order::NotePrivateRead(_)
            | Order::NoteStop { .. }
            | Order::InChannels { .. }
            | Order::Note { .. }
            | Order::Signed { .. } => {}
        }
    }

    /// One of the newest messages.
    fn recent_message(&self, back: u8) -> Option<(MessageId, ConversationId)> {
        self.log.lock().unwrap().messages.iter().rev().nth(usize::from(back)).cloned()
    }

    async fn owed(&self, conversation: &ConversationId) -> Vec<MessageId> {
        let store = self.harness().store.store;
        let owed = store.context(conversation, &window(500)).await.unwrap().owed;
        owed.iter().map(Owed::stored_id).collect()
    }

    /// Advances the clock and handles due steps. Model calls take additional time.
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

    /// What is claimed at this point is never completed.
    async fn crash(&self) {
        let Harness { store, clock, inbox, runner, .. } = self.harness();
        let lease = SignedDuration::from_secs(100);
        store.store.claim(clock.now(), lease, 9).await.unwrap();
        *self.harness.lock().unwrap() = None;
        drop((inbox, runner));
        let store = store.restart().await;
        self.start(store, clock).await;
    }

    /// Checks the invariants that hold at any moment.
    async fn check(&self) {
        let harness = self.harness();
        let steps = harness.store.archive.pending_steps(&workspace()).await.unwrap();
        let conversations: BTreeSet<_> =
            steps.iter().map(|step| step.work.conversation()).collect();
        assert_eq!(
            conversations.len(),
            steps.len(),
            "one pending step per conversation: {steps:#?}"
        );
        for conversation in [top_level("garden"), thread("garden", "m001")] {
            let owed = self.owed(&conversation).await;
            let step = steps.iter().find(|step| *step.work.conversation() == conversation);
            let waits = step.is_some_and(|step| {
                step.is_owed || matches!(&step.work, Work::Post(item) if item.is_published())
            });
            assert!(owed.is_empty() || waits, "owed and waits for nothing: {owed:?} {step:#?}");
        }
        let rows = harness.decisions("garden").await;
        let mut covered = BTreeSet::new();
        for message in rows.iter().flat_map(|row| &row.messages) {
            assert!(covered.insert(message), "{message} is covered twice: {rows:#?}");
        }
        let open = rows.iter().filter(|row| row.ended.is_none());
        assert_eq!(open.count(), steps.len(), "each open decision waits for a step: {rows:#?}");
    }

    /// Checks the invariants of every post.
    fn check_posts(&self) {
        let log = self.log.lock().unwrap();
        let mut parts: BTreeSet<_> = BTreeSet::new();
        let mut answered: BTreeMap<&MessageId, usize> = BTreeMap::new();
        for post in &log.posts {
            let notes = &post.item.metadata;
            let is_command = notes.only_for.is_some();
            assert!(!post.muted || is_command, "it speaks though it is muted: {:?}", post.item);
            let is_silent = post.mode.is_silent() && !is_command;
            assert!(!is_silent, "it speaks in {:?}: {:?}", post.mode, post.item);
            assert!(parts.insert(post.item.id), "posted twice: {:?}", post.item);
            for message in notes.owed.iter().filter_map(Owed::message) {
                let answers = answered.entry(message).or_default();
                *answers += usize::from(post.item.id == post.item.first_in_draft);
                let anew = log.anew.get(message).copied().unwrap_or(0);
                assert!(*answers <= 1 + anew, "{message} was answered twice");
            }
            if !notes.owed.is_empty() {
                continue;
            }
            assert!(post.mode != Mode::MentionOnly, "unasked: {:?}", post.item);
            // A draft that has not seen the newest message was redrafted for the previous one, if work in flight
            // continues; otherwise it is dropped.
            let is_blind = !notes.seen_revision.covers(post.context.newest_message_revision);
            let goes_on =
                post.mode == Mode::Facilitator || self.schedule.wait == WaitStrategy::Adaptive;
            // A reaction remains appropriate if others answer the message.
            let is_nod = post.item.reaction_to.is_some();
            let may_be_blind = goes_on && (post.redrafts > 0 || is_nod);
            assert!(!is_blind || may_be_blind, "it has not seen all: {:?}", post.item);
            let about = notes.about.as_ref().unwrap();
            let is_open = || match is_blind {
                // What the model has read settles nothing: it wanted to speak all the same.
                true => match ConversationAnalysis::new(&post.context)
                    .open_state_since(about, |message| {
                        post.context.is_heard_since(message, notes.seen_revision)
                    }) {
                    OpenState::Open => true,
                    // If the judge takes no second look, the more probable status counts.
                    OpenState::ProbablyOpen => {
                        post.second_looks > 0 || post.mode == Mode::Facilitator
                    }
                    OpenState::ProbablyTakenUp | OpenState::TakenUp(_) => false,
                    OpenState::InThread => post.mode == Mode::Facilitator,
                },
                // The model has seen every message of the conversation itself.
                false => post
                    .context
                    .target_message(about)
                    .is_none_or(|message| !post.context.is_answered_in_thread(message)),
            };
            assert!(is_nod || is_open(), "not open any more: {:?}", post.item);
        }
    }

    async fn check_owed(&self) {
        let harness = self.harness();
        let (asked, said) = {
            let log = self.log.lock().unwrap();
            let said = harness.platform.posted.lock().unwrap();
            let owed = said.iter().flat_map(|(item, _)| &item.metadata.owed);
            let said: BTreeSet<MessageId> = owed.map(Owed::stored_id).collect();
            (log.asked.clone(), said)
        };
        let rows = harness.decisions("garden").await;
        let messages = harness.messages("garden").await;
        for (id, conversation) in asked {
            assert!(!self.owed(&conversation).await.contains(&id), "{id} is still owed an answer");
            let stored = messages.iter().find(|stored| stored.message.id == id).unwrap();
            let is_withdrawn = stored.is_deleted || !stored.message.is_addressed();
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

impl Simulation {
    /// Checks that no message is lost: each was answered, judged, or settled by a gate, as the ledger says.
    async fn check_fates(&self) {
        let harness = self.harness();
        let mentions = self.log.lock().unwrap().mentions.clone();
        let rows = harness.decisions("garden").await;
        let transcript = harness.transcript().await;
        let messages = harness.messages("garden").await;
        for stored in &messages {
            let id = &stored.message.id;
            if !stored.message.is_human() || stored.is_deleted || stored.gate.is_some() {
                continue;
            }
            let row = rows.iter().find(|row| row.messages.contains(id)).unwrap();
            let is_judged = || {
                let mut judgments = row.attempts.iter().filter(|call| &*call.verb == "judge");
                judgments.any(|call| call.result != AttemptResult::Superseded)
            };
            // In a thread with an answer of the persona's, what follows is put to it.
            let is_follow_up = stored.message.conversation.thread.is_some();
            // What somebody says right beside their own mention is part of it.
            let is_of_asker = || {
                let mut mentions = messages.iter().filter(|it| mentions.contains(&it.message.id));
                mentions.any(|mention| {
                    let (mention, line) = (&mention.message, &stored.message);
                    row.messages.contains(&mention.id)
                        && mention.author == line.author
                        && mention.at.duration_since(line.at).abs() <= BESIDE_A_MENTION
                })
            };
            let is_accounted_for = match row.gate {
                Some(Gate::Command) => false,
                Some(_) => true,
                None if row.is_addressed => mentions.contains(id) || is_of_asker() || is_follow_up,
                None => is_judged(),
            };
            assert!(is_accounted_for, "{id} is lost: {row:#?}\n{transcript}");
        }
    }
}

async fn run_schedule(schedule: &Schedule, store: TestStore) {
    let simulation = Simulation {
        harness: Arc::default(),
        schedule: Arc::new(schedule.clone()),
        log: Arc::default(),
        model_calls: Arc::default(),
        dispatches: Arc::default(),
        platform: Arc::default(),
    };
    simulation.start(store, Clock::manual(aizuchi_harness::fixtures::at(0))).await;
    for action in &schedule.actions {
        match action {
            Action::Wait { seconds } => simulation.pass(i64::from(*seconds)).await,
            Action::Crash => simulation.crash().await,
            Action::Say { .. }
            | Action::Edit { .. }
            | Action::Delete { .. }
            | Action::React { .. }
            | Action::Order(_)
            | Action::Fail(_) => simulation.apply(action).await,
        }
        simulation.check().await;
    }
    simulation.pass(50_000).await;
    let harness = simulation.harness();
    assert_eq!(harness.store.store.next_ready().await.unwrap(), None, "something waits for ever");
    simulation.check_posts();
    simulation.check_owed().await;
    simulation.check_fates().await;
    every_message_is_accounted_for(&harness).await;
    *simulation.harness.lock().unwrap() = None;
}

#[async_trait]
impl Llm for Simulation {
    fn model(&self) -> &str {
        "moody"
    }

    async fn ask(&self, prompt: &Prompt) -> Result<LlmResponse, LlmError> {
        let (seconds, mood, meanwhile) = {
            let mut model_calls = self.model_calls.lock().unwrap();
            *model_calls += 1;
            self.schedule.model_calls[*model_calls % self.schedule.model_calls.len()].clone()
        };
        let clock = self.harness().clock;
        clock.advance_to(clock.now() + SignedDuration::from_secs(i64::from(seconds)));
        if let Some(action) = meanwhile {
            self.apply_meanwhile(action).await;
            // Lets the agent notice first whether its work was superseded.
            tokio::task::yield_now().await;
        }
        let verdict = |should_respond: bool, more: &str| {
            format!(
                r#"{{"should_respond": {should_respond}, "reason": "mood", "confidence": 0.9, "delay_seconds": {more}}}"#
            )
        };
        let text = match (prompt.verb, mood) {
            (_, 0) => {
                return Err(LlmError::Busy {
                    why: "down".to_owned(),
                    retry_after: None,
                    usage: Usage::default(),
                });
            }
            (_, 1) => return Err(LlmError::Refused("no".to_owned())),
            (PromptVerb::Judge, 2 | 3) => verdict(true, "0"),
            (PromptVerb::Judge, 4) => verdict(true, "45"),
            (PromptVerb::Judge, 5) => verdict(false, r#"null, "reaction": "👍""#),
            (PromptVerb::Judge, _) => verdict(false, "null"),
            (
                PromptVerb::Reply
                | PromptVerb::Remember
                | PromptVerb::State
                | PromptVerb::Describe
                | PromptVerb::Transcribe,
                _,
            ) => "Here I am.".to_owned(),
        };
        Ok(LlmResponse::new(text, Default::default()))
    }
}

#[async_trait]
impl Platform for Simulation {
    async fn post(&self, item: &OutboxItem) -> Result<PostedMessage, PlatformError> {
        // The state after the last check.
        let harness = self.harness();
        let context = harness.store.store.context(&item.conversation, &window(50)).await.unwrap();
        let step = harness.step_of(&item.conversation).await;
        let (redrafts, second_looks) =
            step.map_or((0, 0), |step| (step.redrafts, step.second_looks));
        let mode = self.mode();
        let muted = harness.clock.now() < self.log.lock().unwrap().muted_until;
        let meanwhile = {
            let mut dispatches = self.dispatches.lock().unwrap();
            *dispatches += 1;
            self.schedule.meanwhile[*dispatches % self.schedule.meanwhile.len()].clone()
        };
        if let Some(action) = meanwhile {
            self.apply_meanwhile(action).await;
        }
        let before = self.platform.posted_texts().len();
        let posted = self.platform.post(item).await;
        if self.platform.posted_texts().len() > before {
            let item = item.clone();
            let post = Post { item, muted, mode, context, redrafts, second_looks };
            self.log.lock().unwrap().posts.push(post);
        }
        posted
    }

    async fn find_posted(&self, item: &OutboxItem) -> Result<Option<PostedMessage>, PlatformError> {
        self.platform.find_posted(item).await
    }

    fn in_flight_timeout(&self) -> SignedDuration {
        self.platform.in_flight_timeout()
    }

    fn max_post_length(&self) -> usize {
        self.platform.max_post_length()
    }
}
