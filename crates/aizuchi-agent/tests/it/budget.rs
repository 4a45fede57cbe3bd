//! Budgets under a burst: concurrently planned calls count, on every store, so at most one call exceeds a limit.

use std::collections::BTreeMap;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use aizuchi_agent::agent::tools::ToolSettings;
use aizuchi_agent::runner::Runner;
use aizuchi_harness::effort::cases;
use aizuchi_harness::fixtures::{JOIN, SILENCE, thread, workspace};
use aizuchi_harness::harness::{Harness, HarnessOptions, build_parts_with};
use aizuchi_harness::test_store::{StoreKind, TestStore, on_every_store};
use aizuchi_llm::price::{ModelPrice, Prices};
use aizuchi_llm::prompt::tool::ToolCall;
use aizuchi_llm::prompt::{Prompt, PromptVerb};
use aizuchi_llm::scripted::ScriptedMind;
use aizuchi_llm::{Llm, LlmError, LlmResponse};
use aizuchi_model::chat::{ChannelId, ConversationId};
use aizuchi_model::clock::seeded_random;
use aizuchi_model::context::BudgetUsage;
use aizuchi_model::decision::gate::Gate;
use aizuchi_model::decision::{Decision, DecisionResult, Usage};
use aizuchi_model::rules::setting_override::{
    Amount, PlaceSetting, SettingChange, SettingRole, SettingScope,
};
use aizuchi_model::rules::{BudgetLimits, ChannelRules, Rulebook};
use aizuchi_store::order::Order;
use async_trait::async_trait;
use futures_util::future::join_all;
use jiff::SignedDuration;
use jiff::tz::TimeZone;
use serde_json::json;
use tokio::sync::Semaphore;

const CALL_TOKENS: u64 = 1000;
const CAP: u64 = 5 * CALL_TOKENS;

/// The number of users who write at once.
fn burst_size() -> usize {
    cases(40, 200)
}

/// Runs a test with seeds on every store. An ordinary run uses a different seed for each store.
async fn on_every_store_with_seeds(test: impl AsyncFn(TestStore, u64)) {
    for (kind, seed) in StoreKind::ALL.into_iter().zip(1..) {
        for seed in cases(seed..=seed, 1..=3) {
            eprintln!("on the {kind:?} store with seed {seed}:");
            test(kind.open().await, seed).await;
        }
    }
}

/// A model that answers when the test lets it, and uses the same number of tokens for each call. If tools are
/// offered, it first calls one.
struct SlowMind {
    script: ScriptedMind,
    /// Whether it calls tools forever, offered or not.
    is_endless: bool,
    calls: AtomicUsize,
    waiting: AtomicUsize,
    permits: Semaphore,
}

impl SlowMind {
    fn new() -> Arc<Self> {
        Arc::new(Self::answering())
    }

    fn endless() -> Arc<Self> {
        Arc::new(Self { is_endless: true, ..Self::answering() })
    }

    fn answering() -> Self {
        let script = ScriptedMind::default();
        script.set_default(PromptVerb::Judge, SILENCE);
        script.set_default(PromptVerb::Reply, "Here I am.");
        let (calls, waiting) = Default::default();
        Self { script, is_endless: false, calls, waiting, permits: Semaphore::new(0) }
    }

    fn tokens(&self) -> u64 {
        self.calls.load(Ordering::SeqCst) as u64 * CALL_TOKENS
    }

    /// Ends a random share of the calls in flight. Returns whether there were any.
    fn let_some_end(&self, share: f64) -> bool {
        let waiting = self.waiting.load(Ordering::SeqCst);
        let let_go = 1 + (share * waiting as f64) as usize;
        self.permits.add_permits(let_go.min(waiting));
        waiting > 0
    }
}

#[async_trait]
impl Llm for SlowMind {
    fn model(&self) -> &str {
        "scripted"
    }

    async fn ask(&self, prompt: &Prompt) -> Result<LlmResponse, LlmError> {
        self.calls.fetch_add(1, Ordering::SeqCst);
        self.waiting.fetch_add(1, Ordering::SeqCst);
        self.permits.acquire().await.unwrap().forget();
        self.waiting.fetch_sub(1, Ordering::SeqCst);
        let usage = Usage { input_tokens: CALL_TOKENS, ..Usage::default() };
        let is_first_round = !prompt.tools.is_empty() && prompt.tool_rounds.is_empty();
        if self.is_endless || is_first_round {
            let (id, name) = ("call-1".to_owned(), "get_memo".to_owned());
            let call = ToolCall { id, name, arguments: json!({ "name": "the key" }) };
            return Ok(LlmResponse {
                tool_calls: vec![call],
                ..LlmResponse::new(String::new(), usage)
            });
        }
        Ok(LlmResponse { usage, ..self.script.ask(prompt).await? })
    }
}

/// A model that is down and would be free.
struct DownMind;

#[async_trait]
impl Llm for DownMind {
    fn model(&self) -> &str {
        "down"
    }

    async fn ask(&self, _prompt: &Prompt) -> Result<LlmResponse, LlmError> {
        let why = "out of order".to_owned();
        Err(LlmError::Busy { why, retry_after: None, usage: Usage::default() })
    }
}

/// Several runners on one store, whose model calls overlap as much as possible.
struct Burst {
    harness: Harness,
    runners: Vec<Runner>,
    mind: Arc<SlowMind>,
    seed: u64,
}

impl Burst {
    async fn new(store: TestStore, runners: usize, seed: u64, book: Rulebook) -> Self {
        let options = HarnessOptions::from_rulebook(book);
        let mind = SlowMind::new();
        Self::with_options(store, runners, seed, options, mind.clone(), mind).await
    }

    /// Creates a burst with `llm` as the primary model, and `mind` among its models.
    async fn with_options(
        store: TestStore,
        runners: usize,
        seed: u64,
        options: HarnessOptions,
        llm: Arc<dyn Llm>,
        mind: Arc<SlowMind>,
    ) -> Self {
        let harness = Harness::new(store).await.with_options(options.clone());
        let runner = |_| {
            let (store, clock) = (harness.store.store.clone(), harness.clock.clone());
            let platform = harness.platform.clone();
            build_parts_with(store, clock, llm.clone(), platform, options.clone()).1
        };
        let runners = (0..runners).map(runner).collect();
        Self { harness, runners, mind, seed }
    }

    /// Handles everything until nothing is pending. The calls in flight end in groups of random size.
    async fn run(&self) {
        let clock = &self.harness.clock;
        for round in 0.. {
            let mut steps = pin!(join_all(self.runners.iter().map(Runner::step)));
            let worked = loop {
                tokio::select! {
                    worked = &mut steps => break worked,
                    () = self.until_all_sleep() => {
                        let share = seeded_random(self.seed, &[&round.to_string()]);
                        if !self.mind.let_some_end(share) {
                            // All calls wait for budget.
                            clock.advance_to(clock.next_wake_at().unwrap());
                        }
                    }
                }
            };
            if worked.into_iter().any(|worked| worked.unwrap()) {
                continue;
            }
            match self.harness.store.store.next_ready().await.unwrap() {
                // All calls that wait for budget resume together.
                Some(next) => clock.advance_to(next + SignedDuration::from_secs(5)),
                None => return,
            }
        }
    }

    /// Waits until every claimed step sleeps, waiting for an answer or for budget.
    async fn until_all_sleep(&self) {
        let store = &self.harness.store;
        let mut sleepers = self.harness.clock.sleepers();
        let mut revisions = store.store.revisions();
        loop {
            let sleeping = *sleepers.borrow_and_update();
            revisions.borrow_and_update();
            // On a busy machine, the steps may hold every reader.
            let Ok(steps) = store.archive.pending_steps(&workspace()).await else { continue };
            let leased = steps.iter().filter(|step| step.lease.is_some()).count();
            // What was read is stale if a step was claimed or completed in the meantime.
            let is_old = sleepers.has_changed().unwrap() || revisions.has_changed().unwrap();
            if sleeping > 0 && leased == sleeping && !is_old {
                return;
            }
            tokio::select! {
                changed = sleepers.changed() => changed.unwrap(),
                changed = revisions.changed() => changed.unwrap(),
                // A lease can end without a new revision.
                () = tokio::time::sleep(Duration::from_millis(5)) => {}
            }
        }
    }

    async fn says(&self, number: usize, text: &str) {
        self.harness.says_in(thread_follow_up(number), &format!("user{number}"), text).await;
    }

    /// The number of decisions per result and gate.
    async fn ends(&self) -> BTreeMap<(&'static str, &'static str), usize> {
        let mut ends = BTreeMap::new();
        for row in self.harness.decisions("garden").await {
            let gate = row.gate.map_or("", |gate| gate.name());
            *ends.entry((row.ended.map_or("open", |ended| ended.name()), gate)).or_default() += 1;
        }
        ends
    }

    /// The usage that is recorded for the whole workspace.
    async fn booked(&self) -> BudgetUsage {
        let (archive, now) = (&self.harness.store.archive, self.harness.clock.now());
        archive.spending(&workspace(), now).await.unwrap()[0].spent
    }
}

fn capped() -> Rulebook {
    Rulebook {
        workspace_limits: BudgetLimits { tokens_per_day: Some(CAP), ..BudgetLimits::default() },
        ..Rulebook::default()
    }
}

fn thread_follow_up(number: usize) -> ConversationId {
    thread("garden", &format!("t{number:03}"))
}

#[tokio::test]
async fn mentions_at_once_spend_no_more_than_the_cap_and_one_call() {
    on_every_store_with_seeds(async |store, seed| {
        let runners = 1 + (seed as usize) % 2;
        let burst = Burst::new(store, runners, seed, capped()).await;
        for number in 0..burst_size() {
            burst.says(number, "@Aizuchi and this?").await;
        }
        burst.run().await;
        let spent = burst.mind.tokens();
        assert!((CAP..=CAP + CALL_TOKENS).contains(&spent), "{spent} tokens, seed {seed}");
        let answered = (spent / CALL_TOKENS) as usize;
        let ends = burst.ends().await;
        assert_eq!(
            ends,
            BTreeMap::from([
                (("spoke", ""), answered),
                (("over_budget", "budget"), burst_size() - answered)
            ])
        );
        assert_eq!(burst.booked().await.tokens_in_day, spent);
    })
    .await;
}

/// While a claim waits between two calls, others run too.
#[tokio::test]
async fn mentions_at_once_that_need_tools_spend_no_more_than_the_cap_and_one_call() {
    on_every_store_with_seeds(async |store, seed| {
        let tools = Some(ToolSettings::new(TimeZone::UTC));
        let options = HarnessOptions { tools, ..HarnessOptions::from_rulebook(capped()) };
        let mind = SlowMind::new();
        let burst = Burst::with_options(store, 2, seed, options, mind.clone(), mind).await;
        for number in 0..burst_size() {
            burst.says(number, "@Aizuchi and this?").await;
        }
        burst.run().await;
        let spent = burst.mind.tokens();
        assert!((CAP..=CAP + CALL_TOKENS).contains(&spent), "{spent} tokens, seed {seed}");
        assert_eq!(burst.booked().await.tokens_in_day, spent);
        let rows = burst.harness.decisions("garden").await;
        assert!(rows.iter().any(|row| row.attempts.len() > 1), "no claim made a second call");
    })
    .await;
}

/// Each mention would call tools until its own limit.
#[tokio::test]
async fn mentions_at_once_whose_model_calls_tools_for_ever_spend_no_more_than_the_cap_and_one_call()
{
    on_every_store_with_seeds(async |store, seed| {
        let tools = Some(ToolSettings::new(TimeZone::UTC));
        let options = HarnessOptions { tools, ..HarnessOptions::from_rulebook(capped()) };
        let mind = SlowMind::endless();
        let burst = Burst::with_options(store, 2, seed, options, mind.clone(), mind).await;
        for number in 0..burst_size() {
            burst.says(number, "@Aizuchi and this?").await;
        }
        burst.run().await;
        let spent = burst.mind.tokens();
        assert!((CAP..=CAP + CALL_TOKENS).contains(&spent), "{spent} tokens, seed {seed}");
        assert_eq!(burst.booked().await.tokens_in_day, spent);
        assert!(!burst.ends().await.contains_key(&("spoke", "")), "seed {seed}");
    })
    .await;
}

/// Nothing is reserved for the primary model, which has no price. Its fallback has one.
#[tokio::test]
async fn mentions_at_once_spend_no_more_money_than_the_cap_and_one_call_of_the_fallback() {
    on_every_store_with_seeds(async |store, seed| {
        // The cost of a call in millionths equals its tokens.
        let price = ModelPrice { input: 1.0, cached_input: 1.0, cache_write: 1.0, output: 1.0 };
        let limits = BudgetLimits { micros_per_day: Some(CAP), ..BudgetLimits::default() };
        let book = Rulebook { workspace_limits: limits, ..Rulebook::default() };
        let mind = SlowMind::new();
        let mut options = HarnessOptions::from_rulebook(book);
        options.settings.prices = Prices(BTreeMap::from([("scripted".to_owned(), price)]));
        options.fallback = Some(mind.clone());
        let burst = Burst::with_options(store, 2, seed, options, Arc::new(DownMind), mind).await;
        for number in 0..burst_size() {
            burst.says(number, "@Aizuchi and this?").await;
        }
        burst.run().await;
        let spent = burst.mind.tokens();
        assert!((CAP..=CAP + CALL_TOKENS).contains(&spent), "{spent} micros, seed {seed}");
        assert_eq!(burst.booked().await.micros_in_day, spent);
    })
    .await;
}

/// An order for one channel, within the limit of the config; other channels keep theirs.
#[tokio::test]
async fn mentions_at_once_spend_no_more_money_than_was_ordered_for_their_channel() {
    on_every_store_with_seeds(async |store, seed| {
        let price = ModelPrice { input: 1.0, cached_input: 1.0, cache_write: 1.0, output: 1.0 };
        let budget_limits =
            BudgetLimits { micros_per_day: Some(2 * CAP), ..BudgetLimits::default() };
        let default_rules = ChannelRules { budget_limits, ..ChannelRules::default() };
        let book = Rulebook { default_rules, ..Rulebook::default() };
        let mind = SlowMind::new();
        let mut options = HarnessOptions::from_rulebook(book);
        options.settings.prices = Prices(BTreeMap::from([("scripted".to_owned(), price)]));
        let burst = Burst::with_options(store, 2, seed, options, mind.clone(), mind).await;
        let limit = async |micros: u64| {
            burst
                .harness
                .order(Order::ChangeSetting {
                    workspace: workspace(),
                    scope: SettingScope::Channel(ChannelId::new("garden")),
                    change: SettingChange::Set(PlaceSetting::MoneyPerDay(Amount(micros))),
                    role: SettingRole::Admin,
                    by: "olga".into(),
                    at: burst.harness.clock.now(),
                })
                .await;
        };
        let mut number = 0;
        let mut spends = async || {
            for _ in 0..burst_size() {
                burst.says(number, "@Aizuchi and this?").await;
                number += 1;
            }
            burst.run().await;
            burst.mind.tokens()
        };
        limit(CAP).await;
        let spent = spends().await;
        assert!((CAP..=CAP + CALL_TOKENS).contains(&spent), "{spent} micros, seed {seed}");
        // More than the config allows is not more.
        limit(100 * CAP).await;
        let spent = spends().await;
        assert!((2 * CAP..=2 * CAP + CALL_TOKENS).contains(&spent), "{spent}, seed {seed}");
    })
    .await;
}

#[tokio::test]
async fn judgments_at_once_leave_the_share_of_mentions() {
    on_every_store_with_seeds(async |store, seed| {
        let burst = Burst::new(store, 2, seed, capped()).await;
        for number in 0..burst_size() {
            burst.says(number, "who has the key?").await;
        }
        burst.run().await;
        let share = CAP * 7 / 10;
        let spent = burst.mind.tokens();
        assert!((share..=share + CALL_TOKENS).contains(&spent), "{spent} tokens, seed {seed}");
        // Which messages were judged is random, so the last one may be among them.
        let rows = burst.harness.decisions("garden").await;
        let is_over = |row: &&Decision| row.ended == Some(DecisionResult::OverBudget);
        let over: Vec<&Decision> = rows.iter().filter(is_over).collect();
        assert_eq!(over.len() as u64, burst_size() as u64 - spent / CALL_TOKENS, "seed {seed}");
        for row in over {
            assert_eq!(row.gate, Some(Gate::Budget));
            assert_eq!(row.why.as_deref(), Some("my budget was used up (mention_share)"));
        }
        // A share is still left for a mention.
        burst.harness.says_in(thread_follow_up(burst_size()), "zoe", "@Aizuchi and this?").await;
        burst.run().await;
        assert_eq!(burst.mind.tokens(), spent + CALL_TOKENS);
    })
    .await;
}

#[tokio::test]
async fn mentions_by_one_user_at_once_get_as_many_answers_as_one_user_gets() {
    on_every_store(async |store| {
        let burst = Burst::new(store, 2, 1, Rulebook::default()).await;
        for number in 0..burst_size() {
            burst.harness.says_in(thread_follow_up(number), "alice", "@Aizuchi and this?").await;
        }
        burst.run().await;
        let ends = burst.ends().await;
        assert_eq!(
            ends,
            BTreeMap::from([(("spoke", ""), 30), (("over_budget", "budget"), burst_size() - 30)])
        );
        assert_eq!(burst.mind.calls.load(Ordering::SeqCst), 30);
    })
    .await;
}

/// An edit that adds a mention makes an answer owed, and one that removes it cancels that, over and over. Each
/// answer counts, even if all are to one message, and the ledger says so once the limit is reached.
#[tokio::test]
async fn one_users_edits_get_as_many_answers_as_one_user_gets() {
    let book = Rulebook { answers_per_hour: Some(5), ..Rulebook::default() };
    on_every_store(async |store| {
        let options = HarnessOptions::from_rulebook(book.clone());
        let harness = Harness::new(store).await.with_options(options);
        for number in 0..2 {
            let thread = thread_follow_up(number);
            let id = harness.says_in(thread.clone(), "alice", "hello").await;
            for edit in 0..4 {
                harness.pass(2).await;
                harness.edits_in(thread.clone(), &id, &format!("@Aizuchi and {edit}?")).await;
                harness.pass(2).await;
                harness.edits_in(thread.clone(), &id, "hello").await;
            }
        }
        assert_eq!(harness.mind.prompt_texts(PromptVerb::Reply).len(), 5);
        let decisions = harness.decisions("garden").await;
        let held_back = decisions.iter().filter(|row| row.gate == Some(Gate::Budget)).count();
        assert_eq!((decisions.len(), held_back), (8, 3), "{decisions:?}");
    })
    .await;
}

/// A user who edits a message before it mentions the persona is answered, and each such answer counts once.
#[tokio::test]
async fn a_mention_is_answered_however_often_its_message_was_edited() {
    let book = Rulebook { answers_per_hour: Some(2), ..Rulebook::default() };
    on_every_store(async |store| {
        let options = HarnessOptions::from_rulebook(book.clone());
        let harness = Harness::new(store).await.with_options(options);
        for number in 0..3 {
            let thread = thread_follow_up(number);
            let id = harness.says_in(thread.clone(), "alice", "wo has teh key").await;
            for text in ["who has teh key", "who has the key", "who has the key?", "well, who?"] {
                harness.pass(1).await;
                harness.edits_in(thread.clone(), &id, text).await;
            }
            harness.pass(1).await;
            harness.edits_in(thread, &id, "@Aizuchi who has the key?").await;
            harness.pass(2).await;
            let expected = (number + 1).min(2);
            assert_eq!(harness.mind.prompt_texts(PromptVerb::Reply).len(), expected);
        }
    })
    .await;
}

#[tokio::test]
async fn one_users_questions_in_many_threads_are_judged_and_answered_a_few_times() {
    on_every_store(async |store| {
        let burst = Burst::new(store, 1, 1, Rulebook::default()).await;
        burst.mind.script.set_default(PromptVerb::Judge, JOIN);
        let threads = cases(45, 180);
        for number in 0..threads {
            burst.harness.says_in(thread_follow_up(number), "alice", "who has the key?").await;
        }
        burst.run().await;
        let posts = burst.harness.platform.posted_texts().len() as u64;
        assert_eq!(Some(posts), ChannelRules::default().budget_limits.posts_per_hour);
        // 30 judgments, and the replies to some of them.
        let calls = burst.mind.calls.load(Ordering::SeqCst) as u64;
        assert!(calls <= 30 + posts, "{calls} calls");
        let ends = burst.ends().await;
        assert_eq!(ends[&("spoke", "")] as u64, posts, "{ends:?}");
        assert_eq!(ends.values().sum::<usize>(), threads, "{ends:?}");
    })
    .await;
}

#[tokio::test]
async fn one_users_messages_are_judged_a_few_times_an_hour() {
    on_every_store(async |store| {
        let burst = Burst::new(store, 2, 1, Rulebook::default()).await;
        for number in 0..40 {
            burst.harness.says_in(thread_follow_up(number), "alice", "who has the key?").await;
        }
        burst.run().await;
        let judged =
            BTreeMap::from([(("chose_silence", ""), 30), (("over_budget", "judge_calls"), 10)]);
        assert_eq!(burst.ends().await, judged);
        // What another user says in the same conversation is judged.
        burst.harness.says_in(thread_follow_up(0), "alice", "does nobody know?").await;
        burst.harness.says_in(thread_follow_up(0), "bob", "what is it?").await;
        burst.run().await;
        assert_eq!(burst.mind.calls.load(Ordering::SeqCst), 31);
    })
    .await;
}

#[tokio::test]
async fn many_users_questions_get_no_more_posts_than_a_channel_allows() {
    on_every_store_with_seeds(async |store, seed| {
        let rules = ChannelRules {
            budget_limits: BudgetLimits { posts_per_hour: Some(3), ..BudgetLimits::default() },
            ..ChannelRules::default()
        };
        let book = Rulebook { default_rules: rules, ..Rulebook::default() };
        let burst = Burst::new(store, 2, seed, book).await;
        burst.mind.script.set_default(PromptVerb::Judge, JOIN);
        for number in 0..60 {
            burst.says(number, "who has the key?").await;
        }
        burst.run().await;
        assert_eq!(burst.harness.platform.posted_texts().len(), 3, "seed {seed}");
        let rows = burst.harness.decisions("garden").await;
        let whys = rows.iter().filter(|row| row.ended == Some(DecisionResult::OverBudget));
        for row in whys {
            let why = "my budget was used up (posts_per_channel_per_hour)";
            assert_eq!(row.why.as_deref(), Some(why));
        }
    })
    .await;
}

#[tokio::test]
async fn a_decision_takes_a_limited_number_of_calls() {
    let book = Rulebook { calls_per_decision: Some(2), ..Rulebook::default() };
    on_every_store(async |store| {
        let harness =
            Harness::new(store).await.with_options(HarnessOptions::from_rulebook(book.clone()));
        for _ in 0..4 {
            let usage = Usage::default();
            let busy = LlmError::Busy { why: "slow down".to_owned(), retry_after: None, usage };
            harness.mind.script.push(PromptVerb::Reply, Err(busy));
        }
        harness.says("alice", "@Aizuchi and this?").await;
        harness.pass(1000).await;
        assert_eq!(harness.mind.verbs(), "reply reply");
        let row = harness.decisions("garden").await.pop().unwrap();
        assert_eq!(row.ended, Some(DecisionResult::Failed));
        let why = "I had reached my limit for thinking about this (calls_per_decision)";
        assert_eq!(row.why.as_deref(), Some(why));
    })
    .await;
}
