//! A target for tool calls: a model may call any tool with any arguments.

use std::sync::{Arc, Mutex};

use aizuchi_agent::agent::tools::ToolSettings;
use aizuchi_harness::fixtures::{at, message, top_level};
use aizuchi_harness::harness::{HarnessOptions, build_parts_with};
use aizuchi_harness::test_platform::TestPlatform;
use aizuchi_llm::prompt::Prompt;
use aizuchi_llm::prompt::tool::ToolCall;
use aizuchi_llm::{Llm, LlmError, LlmResponse};
use aizuchi_model::chat::{Arrival, Heard};
use aizuchi_model::clock::Clock;
use aizuchi_model::decision::Usage;
use aizuchi_store::volatile::VolatileStore;
use async_trait::async_trait;
use futures_util::FutureExt as _;
use jiff::tz::TimeZone;
use serde_json::Value;

/// A model that makes these calls once, and then answers.
struct Caller {
    calls: Vec<ToolCall>,
    results: Mutex<Vec<String>>,
}

#[async_trait]
impl Llm for Caller {
    fn model(&self) -> &str {
        "caller"
    }

    async fn ask(&self, prompt: &Prompt) -> Result<LlmResponse, LlmError> {
        let results = prompt.tool_rounds.iter().flat_map(|round| &round.results);
        *self.results.lock().expect("nobody panicked") =
            results.map(|result| result.text.clone()).collect();
        let usage = Usage::default();
        if prompt.tool_rounds.is_empty() && !self.calls.is_empty() {
            let tool_calls = self.calls.clone();
            return Ok(LlmResponse { tool_calls, ..LlmResponse::new(String::new(), usage) });
        }
        Ok(LlmResponse::new("Done.".to_owned(), usage))
    }
}

/// Handles the calls of one response: `[{"name": …, "arguments": …}]`. At least the first call must get a result.
pub fn tool_calls(bytes: &[u8]) {
    let Ok(value) = serde_json::from_slice::<Value>(bytes) else { return };
    let calls = value.as_array().into_iter().flatten().enumerate();
    let calls = calls.map(|(number, call)| ToolCall {
        id: number.to_string(),
        name: call["name"].as_str().unwrap_or_default().to_owned(),
        arguments: call["arguments"].clone(),
    });
    let caller = Arc::new(Caller { calls: calls.collect(), results: Mutex::default() });
    reply_with(caller.clone()).now_or_never().expect("nothing waits");
    let expected = caller.calls.len();
    let results = caller.results.lock().expect("nobody panicked");
    assert!(results.len() >= expected.min(1), "{expected} calls have {} results", results.len());
}

/// Hears one mention and replies to it.
async fn reply_with(caller: Arc<Caller>) {
    let store = Arc::new(VolatileStore::new());
    let options = HarnessOptions {
        tools: Some(ToolSettings::new(TimeZone::UTC)),
        ..HarnessOptions::default()
    };
    let clock = Clock::manual(at(0));
    let platform = Arc::new(TestPlatform::default());
    let (inbox, runner) = build_parts_with(store, clock, caller, platform, options);
    let asks = message(top_level("garden"), "m1", at(0), "alice", "@Aizuchi the roses look ill?");
    inbox.hear(Heard::Message(asks, Arrival::Live)).await.expect("a store in memory hears");
    runner.step().await.expect("a store in memory is never busy");
}
