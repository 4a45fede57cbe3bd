//! A model's possible charges are recorded, however the work that made the call ends.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use aizuchi_agent::agent::AgentSettings;
use aizuchi_harness::fixtures::{at, workspace};
use aizuchi_harness::harness::{Harness, HarnessOptions, build_parts_with};
use aizuchi_harness::test_store::{TestStore, on_every_database, on_every_store};
use aizuchi_llm::prompt::Prompt;
use aizuchi_llm::{Llm, LlmError, LlmResponse};
use aizuchi_model::chat::WorkspaceId;
use aizuchi_model::decision::{AttemptResult, Usage};
use async_trait::async_trait;
use futures_util::future::{Either, select};
use jiff::SignedDuration;

use crate::models::advance_while;

const CALL_TOKENS: u64 = 1000;

/// What a model does after a few charged but unusable answers.
#[derive(Clone, Copy, Debug)]
enum End {
    Hangs,
    Panics,
}

struct BadMind {
    charged: usize,
    end: End,
    calls: AtomicUsize,
}

impl BadMind {
    fn new(charged: usize, end: End) -> Arc<Self> {
        Arc::new(Self { charged, end, calls: AtomicUsize::default() })
    }
}

#[async_trait]
impl Llm for BadMind {
    fn model(&self) -> &str {
        "bad"
    }

    fn max_attempts(&self) -> u32 {
        3
    }

    async fn ask(&self, _prompt: &Prompt) -> Result<LlmResponse, LlmError> {
        if self.calls.fetch_add(1, Ordering::SeqCst) < self.charged {
            let usage = Usage { input_tokens: CALL_TOKENS, ..Usage::default() };
            let why = "its answer is empty".to_owned();
            return Err(LlmError::Busy { why, retry_after: None, usage });
        }
        match self.end {
            End::Hangs => std::future::pending().await,
            End::Panics => panic!("a defect"),
        }
    }
}

/// The recorded tokens of the channel and of the workspace.
async fn booked(store: &TestStore, workspace: &WorkspaceId) -> Vec<u64> {
    let spending = store.archive.spending(workspace, at(9000)).await.unwrap();
    spending.iter().map(|row| row.spent.tokens_in_day).collect()
}

#[tokio::test]
async fn charged_answers_and_the_call_in_flight_are_booked_after_a_timeout_and_a_defect() {
    for end in [End::Hangs, End::Panics] {
        on_every_store(async |store| {
            let harness = Harness::new(store).await;
            let (store, clock) = (harness.store.store.clone(), harness.clock.clone());
            let platform = harness.platform.clone();
            let options = HarnessOptions::default();
            let mind = BadMind::new(2, end);
            let runner = build_parts_with(store, clock, mind, platform, options).1;
            harness.says("alice", "@Aizuchi and this?").await;
            assert!(advance_while(&harness.clock, at(600), runner.step()).await.unwrap());
            let row = harness.decisions("garden").await.pop().unwrap();
            let attempts = row.attempts.iter();
            let attempts: Vec<_> =
                attempts.map(|attempt| (attempt.result, attempt.usage.is_estimated)).collect();
            let failed = AttemptResult::Failed;
            assert_eq!(attempts, [(failed, false), (failed, false), (failed, true)], "{end:?}");
            let tokens: Vec<u64> =
                row.attempts.iter().map(|attempt| attempt.usage.input_tokens).collect();
            assert_eq!(tokens[..2], [CALL_TOKENS; 2]);
            assert!(tokens[2] > 100, "{tokens:?}");
            let total: u64 = tokens.iter().sum();
            assert_eq!(booked(&harness.store, &workspace()).await, [total, total], "{end:?}");
        })
        .await;
    }
}

/// The timeout of the job is shorter than that of its call.
#[tokio::test]
async fn the_call_in_flight_of_a_memory_job_that_takes_too_long_is_booked() {
    on_every_database(async |store| {
        let harness = Harness::new(store).await;
        let mind = BadMind::new(0, End::Hangs);
        let model_timeout = SignedDuration::from_hours(1);
        let settings = AgentSettings { model_timeout, ..AgentSettings::default() };
        let memory: Option<Arc<dyn Llm>> = Some(mind.clone());
        let options = HarnessOptions { settings, memory, ..HarnessOptions::default() };
        let harness = harness.with_options(options);
        harness.says("bob", "the key is under the stone").await;
        harness.pass(120).await;
        assert!(booked(&harness.store, &workspace()).await.is_empty());
        let due = harness.store.store.next_memory_job().await.unwrap().unwrap();
        harness.clock.advance_to(due);
        let until_asked = async {
            while mind.calls.load(Ordering::SeqCst) == 0 {
                tokio::task::yield_now().await;
            }
        };
        let step = pin!(harness.runner.step());
        let Either::Right(((), step)) = select(step, pin!(until_asked)).await else {
            panic!("the job ended before its call");
        };
        assert!(advance_while(&harness.clock, at(9000), step).await.unwrap());
        // The estimated usage of the call.
        let booked = booked(&harness.store, &workspace()).await;
        assert!(booked.len() == 2 && booked.iter().all(|tokens| *tokens > 100), "{booked:?}");
    })
    .await;
}
