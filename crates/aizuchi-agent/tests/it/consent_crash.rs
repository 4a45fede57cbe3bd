//! The process crashes at every single point while a call is requested, allowed, made and reported: the call is made
//! at most once, and its asker is told the outcome.

use std::sync::Arc;

use aizuchi_agent::allowed_calls::AllowedCalls;
use aizuchi_agent::external_tools::{
    ExternalAnswer, ExternalTool, ExternalToolError, ExternalTools, ReplyPlace,
};
use aizuchi_agent::inbox::Inbox;
use aizuchi_harness::effort::cases;
use aizuchi_harness::fixtures::{SILENCE, at, message, top_level, workspace};
use aizuchi_harness::harness::{Harness, HarnessOptions, build_parts_with};
use aizuchi_harness::test_store::StoreKind;
use aizuchi_llm::prompt::tool::ToolCall;
use aizuchi_llm::prompt::{Prompt, PromptVerb};
use aizuchi_llm::{Llm, LlmError, LlmResponse};
use aizuchi_model::chat::{Arrival, Heard};
use aizuchi_model::decision::consent::{ConsentChoice, ConsentState, ConsentStep};
use aizuchi_model::persona::Language;
use aizuchi_model::texts;
use aizuchi_store::Store;
use aizuchi_store::order::Order;
use async_trait::async_trait;
use serde_json::{Map, Value, json};

use crate::consents::{PLANT, Shed, caller, consents, options};
use crate::crash::{CrashingPort, Fuse};

#[async_trait]
impl ExternalTools for CrashingPort<Shed> {
    fn offered(&self, place: ReplyPlace<'_>) -> Vec<ExternalTool> {
        self.inner.offered(place)
    }

    fn is_lent(&self, name: &str, place: ReplyPlace<'_>) -> bool {
        self.inner.is_lent(name, place)
    }

    async fn call(
        &self,
        name: &str,
        arguments: Map<String, Value>,
    ) -> Result<ExternalAnswer, ExternalToolError> {
        self.fuse.pass().await;
        let answer = self.inner.call(name, arguments).await;
        self.fuse.pass().await;
        answer
    }
}

/// A mind that wants to plant, and says what it knows about the planting.
struct Gardener;

#[async_trait]
impl Llm for Gardener {
    fn model(&self) -> &str {
        "gardener"
    }

    async fn ask(&self, prompt: &Prompt) -> Result<LlmResponse, LlmError> {
        let answer = |text: &str| LlmResponse::new(text.to_owned(), Default::default());
        if prompt.verb != PromptVerb::Reply {
            return Ok(answer(SILENCE));
        }
        let told = prompt.tool_rounds.first().map(|round| &round.results[0].text);
        Ok(match told {
            None => {
                let (id, name) = ("call-0".to_owned(), PLANT.to_owned());
                let call = ToolCall { id, name, arguments: json!({ "roses": 3 }) };
                LlmResponse { tool_calls: vec![call], ..answer("") }
            }
            Some(told) if told.starts_with(texts::consents::was_called(Language::En)) => {
                answer("It is planted.")
            }
            Some(_) => answer("I asked for it."),
        })
    }
}

#[tokio::test]
async fn an_allowed_call_is_made_at_most_once_whenever_it_crashes_on_sqlite() {
    crash_at_points(StoreKind::Sqlite, 1).await;
}

#[tokio::test]
async fn an_allowed_call_is_made_at_most_once_whenever_it_crashes_on_postgres() {
    crash_at_points(StoreKind::Postgres, cases(6, 1)).await;
}

async fn crash_at_points(kind: StoreKind, every: usize) {
    let (mut points, mut unknown) = (0, 0);
    for point in (1..).step_by(every) {
        let fuse = Fuse::new(point);
        let shed = Arc::new(Shed::default());
        let options = HarnessOptions { llm: Some(Arc::new(Gardener)), ..options(shed.clone()) };
        let harness = Harness::new(kind.open().await).await.with_options(options);
        let has_crashed = live_until_crash(&harness, &shed, &fuse).await;
        let harness = harness.restart().await;
        ask(&harness.inbox).await;
        // Until all leases have expired, but no consent has lapsed.
        harness.pass(1_000).await;
        let calls = caller(&harness, &shed);
        for _ in 0..3 {
            allow(&harness, &*harness.store.store).await;
            go_on(&calls).await;
            harness.pass(100).await;
        }
        let transcript = harness.transcript().await;
        let all = consents(&harness).await;
        let states: Vec<ConsentState> = all.iter().map(|consent| consent.state).collect();
        let called = shed.called.lock().len();
        let told = match states[..] {
            [ConsentState::Answered] => {
                assert_eq!(called, 1, "point {point}: {transcript}");
                "It is planted.".to_owned()
            }
            [ConsentState::Unknown] => {
                assert!(called <= 1, "point {point}: {transcript}");
                unknown += 1;
                texts::consents::unknown(Language::En, PLANT)
            }
            _ => panic!("point {point}: {states:?} {transcript}"),
        };
        let posted = harness.platform.posted_texts();
        assert_eq!(posted, ["I asked for it.".to_owned(), told], "point {point}: {transcript}");
        assert!(harness.store.archive.unsettled_consents().await.unwrap().is_empty(), "{point}");
        assert_eq!(harness.store.store.next_ready().await.unwrap(), None, "point {point}");
        if !has_crashed {
            break;
        }
        points = point;
    }
    assert!(points > 20, "only {points} points to die at");
    assert!(unknown > 0 || every > 1, "no crash came between the claim and the answer");
}

async fn ask(inbox: &Inbox) {
    let asks = message(top_level("garden"), "m1", at(0), "alice", "@Aizuchi plant three roses");
    inbox.hear(Heard::Message(asks, Arrival::Live)).await.unwrap();
}

/// Allows the open consents.
async fn allow(harness: &Harness, store: &dyn Store) {
    for consent in consents(harness).await {
        if consent.state == ConsentState::Open {
            let step = ConsentStep::Decide(ConsentChoice::AllowOnce, "olga".into());
            let order = Order::TakeConsentStep { workspace: workspace(), id: consent.id, step };
            store.order(order.signed("olga"), harness.clock.now()).await.unwrap();
        }
    }
}

/// Makes the allowed calls, and queues the answers to their askers.
async fn go_on(calls: &AllowedCalls) {
    for call in calls.look().await {
        calls.make(call).await;
    }
    calls.look().await;
}

/// Runs the story. Returns whether the process crashed.
async fn live_until_crash(harness: &Harness, shed: &Arc<Shed>, fuse: &Arc<Fuse>) -> bool {
    let store = Arc::new(CrashingPort { inner: harness.store.store.clone(), fuse: fuse.clone() });
    let platform = Arc::new(CrashingPort { inner: harness.platform.clone(), fuse: fuse.clone() });
    let tools = Arc::new(CrashingPort { inner: shed.clone(), fuse: fuse.clone() });
    let archive = harness.store.archive.clone();
    let options = HarnessOptions { archive: Some(archive.clone()), ..harness.options.clone() };
    let llm = harness.mind.clone();
    let (inbox, runner) =
        build_parts_with(store.clone(), harness.clock.clone(), llm, platform, options);
    let calls = AllowedCalls { inbox: inbox.clone(), archive, tools: Some(tools) };
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
        allow(harness, &*store).await;
        go_on(&calls).await;
        work().await;
    };
    tokio::select! {
        biased;
        () = fuse.blown.notified() => true,
        () = life => false,
    }
}
