//! A hostile model that calls tools forever: one mention takes a limited number of calls and look-ups, over all of
//! its drafts, and ends with one apology. Look-ups are counted in the store.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use aizuchi_agent::agent::tools::ToolSettings;
use aizuchi_agent::web_access::{SearchAnswer, WebError, WebSearch, WebTools};
use aizuchi_harness::fixtures::{at, workspace};
use aizuchi_harness::harness::{Harness, HarnessOptions};
use aizuchi_harness::test_store::{StoreKind, TestStore, on_every_database, on_every_store};
use aizuchi_llm::prompt::tool::ToolCall;
use aizuchi_llm::prompt::{Prompt, PromptVerb};
use aizuchi_llm::{Llm, LlmError, LlmResponse};
use aizuchi_model::chat::UserId;
use aizuchi_model::decision::{DecisionId, DecisionResult, Usage};
use aizuchi_model::flow::web_call::{WebCall, WebLimit, WebLimits};
use aizuchi_model::persona::Language;
use aizuchi_model::rules::{BudgetLimits, Rulebook};
use aizuchi_model::texts;
use aizuchi_store::order::Order;
use async_trait::async_trait;
use jiff::tz::TimeZone;
use serde_json::json;

const CALL_TOKENS: u64 = 1_000;
const CAP: u64 = 30 * CALL_TOKENS;
const DAY: i64 = 24 * 3_600;

/// Answers every request with one more search, whether or not it is offered any tool.
#[derive(Default)]
struct EndlessMind {
    calls: AtomicUsize,
}

impl EndlessMind {
    fn calls(&self) -> u64 {
        self.calls.load(Ordering::SeqCst) as u64
    }
}

#[async_trait]
impl Llm for EndlessMind {
    fn model(&self) -> &str {
        "endless"
    }

    async fn ask(&self, _prompt: &Prompt) -> Result<LlmResponse, LlmError> {
        self.calls.fetch_add(1, Ordering::SeqCst);
        let usage = Usage { input_tokens: CALL_TOKENS, ..Usage::default() };
        let (id, name) = ("call-1".to_owned(), "web_search".to_owned());
        let call = ToolCall { id, name, arguments: json!({ "query": "roses" }) };
        Ok(LlmResponse { tool_calls: vec![call], ..LlmResponse::new(String::new(), usage) })
    }
}

/// A search engine that counts the queries, and finds nothing.
#[derive(Default)]
struct CountingEngine {
    searches: AtomicUsize,
}

impl CountingEngine {
    fn searches(&self) -> usize {
        self.searches.load(Ordering::SeqCst)
    }
}

#[async_trait]
impl WebSearch for CountingEngine {
    async fn search(&self, _query: &str) -> Result<SearchAnswer, WebError> {
        self.searches.fetch_add(1, Ordering::SeqCst);
        Ok(SearchAnswer::default())
    }

    async fn check(&self) -> Result<(), WebError> {
        Ok(())
    }
}

/// A harness whose persona may search the web with this engine.
async fn harness(
    store: TestStore,
    engine: &Arc<CountingEngine>,
    limits: WebLimits,
    options: HarnessOptions,
) -> Harness {
    let web = WebTools { search: Some(engine.clone()), limits, ..WebTools::default() };
    let tools = Some(ToolSettings { web, ..ToolSettings::new(TimeZone::UTC) });
    Harness::new(store).await.with_options(HarnessOptions { tools, ..options })
}

#[tokio::test]
async fn one_mention_takes_a_limited_number_of_calls_and_ends_with_one_apology() {
    on_every_store(async |store| {
        let (mind, engine) = (Arc::new(EndlessMind::default()), Arc::default());
        let options = HarnessOptions { llm: Some(mind.clone()), ..HarnessOptions::default() };
        let harness = harness(store, &engine, WebLimits::default(), options).await;
        harness.says("alice", "@Aizuchi what color are roses?").await;
        harness.pass(3_600).await;
        assert_eq!(Some(mind.calls()), Rulebook::default().calls_per_decision);
        assert_eq!(harness.platform.posted_texts(), [texts::replies::apology(Language::En)]);
        let decision = harness.decisions("garden").await.pop().unwrap();
        assert_eq!(decision.ended, Some(DecisionResult::Failed));
        assert_eq!(decision.attempts.len() as u64, mind.calls());
    })
    .await;
}

/// The drafts of an answer share its look-ups: a new draft after a failure does not reset the count.
#[tokio::test]
async fn all_drafts_of_an_answer_share_its_look_ups() {
    on_every_database(async |store| {
        let (mind, engine) = (Arc::new(EndlessMind::default()), Arc::default());
        let options = HarnessOptions { llm: Some(mind.clone()), ..HarnessOptions::default() };
        let limits = WebLimits { per_answer: Some(6), ..WebLimits::default() };
        let harness = harness(store, &engine, limits, options).await;
        harness.says("alice", "@Aizuchi what color are roses?").await;
        harness.pass(3_600).await;
        assert_eq!(engine.searches(), 6);
        assert_eq!(harness.platform.posted_texts().len(), 1);
        // The next answer has its own share.
        harness.says("alice", "@Aizuchi and now?").await;
        harness.pass(3_600).await;
        assert_eq!(engine.searches(), 12);
    })
    .await;
}

#[tokio::test]
async fn mentions_spend_no_more_than_the_cap_and_one_call() {
    on_every_store(async |store| {
        let (mind, engine) = (Arc::new(EndlessMind::default()), Arc::default());
        let limits = BudgetLimits { tokens_per_day: Some(CAP), ..BudgetLimits::default() };
        let book = Rulebook { workspace_limits: limits, ..Rulebook::default() };
        let options =
            HarnessOptions { llm: Some(mind.clone()), ..HarnessOptions::from_rulebook(book) };
        let harness = harness(store, &engine, WebLimits::default(), options).await;
        for user in ["alice", "bob", "carol"] {
            harness.says(user, "@Aizuchi what color are roses?").await;
            harness.pass(3_600).await;
        }
        let spent = mind.calls() * CALL_TOKENS;
        assert!((CAP..=CAP + CALL_TOKENS).contains(&spent), "{spent} tokens");
        let spending = harness.store.archive.spending(&workspace(), harness.clock.now()).await;
        assert_eq!(spending.unwrap()[0].spent.tokens_in_day, spent);
    })
    .await;
}

#[tokio::test]
async fn a_restart_gives_nobody_a_second_share() {
    on_every_database(async |store| {
        let engine = Arc::default();
        let limits = WebLimits { per_answer: None, per_user_per_day: Some(2), per_day: Some(3) };
        let harness = harness(store, &engine, limits, HarnessOptions::default()).await;
        let search = ("web_search", json!({ "query": "roses" }));
        let asks = async |harness: &Harness, user: &str| {
            let searches = [search.clone(), search.clone()];
            harness.mind.script.push_tool_calls(PromptVerb::Reply, "", &searches);
            harness.says(user, "@Aizuchi what color are roses?").await;
            harness.pass(10).await;
            engine.searches()
        };
        assert_eq!(asks(&harness, "alice").await, 2);
        let harness = harness.restart().await;
        assert_eq!(asks(&harness, "alice").await, 2);
        assert_eq!(asks(&harness, "bob").await, 3);
        let harness = harness.restart().await;
        assert_eq!(asks(&harness, "carol").await, 3);
        harness.pass(DAY).await;
        assert_eq!(asks(&harness, "alice").await, 5);
    })
    .await;
}

fn call(decision: i64, user: Option<&str>) -> WebCall {
    WebCall {
        workspace: workspace(),
        decision: Some(DecisionId(decision)),
        user: user.map(UserId::new),
        began: at(0),
        limits: WebLimits { per_answer: Some(2), per_user_per_day: Some(3), per_day: Some(5) },
    }
}

#[tokio::test]
async fn a_store_counts_look_ups_for_a_day() {
    for kind in StoreKind::DATABASES {
        let store = kind.open().await;
        for (decision, user, second, limit) in [
            (1, Some("alice"), 0, None),
            // At the same time.
            (1, Some("alice"), 0, None),
            (1, Some("alice"), 1, Some(WebLimit::Answer)),
            (2, Some("alice"), 2, None),
            (3, Some("alice"), 3, Some(WebLimit::User)),
            (3, Some("bob"), 4, None),
            (4, None, 5, None),
            (5, None, 6, Some(WebLimit::Day)),
            // The first two no longer count.
            (6, Some("alice"), DAY, None),
            (6, Some("alice"), DAY, None),
            (7, Some("alice"), DAY + 1, Some(WebLimit::Day)),
            (7, Some("alice"), DAY + 2, None),
        ] {
            let counted = store.store.count_web_call(&call(decision, user), at(second)).await;
            assert_eq!(counted.unwrap(), limit, "{kind:?} {decision} at {second}");
        }
        store.store.drop_journals(at(3 * DAY)).await.unwrap();
        let database = store.database.as_ref().unwrap();
        assert_eq!(database.count("SELECT count(*) AS n FROM web_calls").await, 0, "{kind:?}");
    }
}

/// Forgetting a user erases whom the look-up was for. The look-up itself still counts against everyone's day.
#[tokio::test]
async fn who_is_forgotten_leaves_no_name_and_frees_no_share_of_the_day() {
    on_every_database(async |store| {
        let harness = Harness::new(store).await;
        harness.says("alice", "hello").await;
        let count = async |decision, id| {
            let call = call(decision, Some(id));
            harness.store.store.count_web_call(&call, harness.clock.now()).await.unwrap()
        };
        for decision in 1..=3 {
            assert_eq!(count(decision, "u-alice").await, None);
        }
        assert_eq!(count(4, "u-alice").await, Some(WebLimit::User));
        let (user, asked) = (UserId::new("u-alice"), harness.clock.now());
        harness.order(Order::Forget { workspace: workspace(), user, asked }).await;
        harness.pass(10).await;
        if let Some(database) = &harness.store.database {
            let named = "SELECT count(*) AS n FROM web_calls WHERE person <> ''";
            assert_eq!(database.count(named).await, 0);
        }
        assert_eq!(count(4, "u-alice").await, None);
        assert_eq!(count(5, "u-bob").await, None);
        assert_eq!(count(6, "u-bob").await, Some(WebLimit::Day));
    })
    .await;
}

/// A draft that began before a user was forgotten may make a look-up after that.
#[tokio::test]
async fn an_answer_in_the_making_does_not_name_a_forgotten_user() {
    on_every_database(async |store| {
        let harness = Harness::new(store).await;
        harness.says("alice", "hello").await;
        let limits = WebLimits { per_user_per_day: Some(1), ..WebLimits::default() };
        let count = async |began| {
            harness.pass(1).await;
            let call = WebCall { began, limits, ..call(1, Some("u-alice")) };
            harness.store.store.count_web_call(&call, harness.clock.now()).await.unwrap()
        };
        let before = harness.clock.now();
        harness.pass(10).await;
        let (user, asked) = (UserId::new("u-alice"), harness.clock.now());
        harness.order(Order::Forget { workspace: workspace(), user, asked }).await;
        harness.pass(10).await;
        assert_eq!(count(before).await, None);
        if let Some(database) = &harness.store.database {
            let named = "SELECT count(*) AS n FROM web_calls WHERE person <> ''";
            assert_eq!(database.count(named).await, 0);
        }
        // A user who asks again after being forgotten is counted again.
        let since = harness.clock.now();
        assert_eq!(count(since).await, None);
        assert_eq!(count(since).await, Some(WebLimit::User));
    })
    .await;
}
