//! The cost of calls to servers that do not report it plainly: budgets count every call.

use aizuchi_harness::endless::{EndlessBody, EndlessServer};
use aizuchi_harness::fixtures::at;
use aizuchi_harness::providers::{ProviderResponse, Server, ServerLimits};
use aizuchi_llm::prompt::PromptVerb;
use aizuchi_llm::provider::ProviderMind;
use aizuchi_llm::provider_list::Provider;
use aizuchi_llm::{LlmError, LlmResponse};
use aizuchi_model::clock::Clock;
use aizuchi_model::decision::Usage;
use serde_json::{Value, json};

use crate::models::{ask, prompt, settings};

fn raw(body: Value) -> ProviderResponse {
    ProviderResponse::Raw("application/json", body.to_string())
}

/// An answer of an OpenAI-compatible server.
fn completion(message: Value, stopped: &str, usage: Value) -> ProviderResponse {
    let choice = json!({ "index": 0, "message": message, "finish_reason": stopped });
    raw(json!({ "id": "1", "object": "chat.completion", "created": 1, "model": "large-1",
        "choices": [choice], "usage": usage }))
}

fn says(text: &str) -> Value {
    json!({ "role": "assistant", "content": text })
}

async fn answer(
    provider: Provider,
    responses: Vec<ProviderResponse>,
) -> Result<LlmResponse, LlmError> {
    let server = Server::start(ServerLimits::default()).await;
    server.then(responses);
    let clock = Clock::manual(at(0));
    let mind = ProviderMind::new(&settings(provider, &server.base), clock.clone()).unwrap();
    ask(&mind, &clock, PromptVerb::Reply).await
}

fn reported(input_tokens: u64, cached_tokens: u64, output_tokens: u64) -> Usage {
    Usage { input_tokens, cached_tokens, output_tokens, ..Usage::default() }
}

fn estimated(output_tokens: u64) -> Usage {
    let input_tokens = prompt(PromptVerb::Reply).total_tokens();
    assert!(input_tokens > 100);
    Usage { input_tokens, output_tokens, is_estimated: true, ..Usage::default() }
}

#[tokio::test]
async fn usage_is_read_or_estimated_but_never_nothing() {
    // LiteLLM in front of Anthropic reports cache writes under two names.
    let litellm = json!({
        "prompt_tokens": 120, "completion_tokens": 7, "total_tokens": 127,
        "prompt_tokens_details": {
            "cached_tokens": 64, "cache_creation_tokens": 6, "cache_write_tokens": 6,
            "audio_tokens": null, "text_tokens": null, "image_tokens": null,
        },
        "cache_read_input_tokens": 64, "cache_creation_input_tokens": 6,
    });
    let thinking = json!({ "role": "assistant", "content": "hello there",
        "reasoning_content": "they greet me" });
    let zeros = json!({ "prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0 });
    for (response, expected) in [
        (
            completion(says("hello there"), "stop", litellm),
            Usage { cache_write_tokens: 6, ..reported(120, 64, 7) },
        ),
        (completion(says("hello there"), "stop", Value::Null), estimated(2)),
        (completion(says("hello there"), "stop", zeros), estimated(2)),
        (completion(thinking, "stop", Value::Null), estimated(6)),
        (
            completion(says("hello there"), "stop", json!({ "prompt_tokens": 120 })),
            Usage { is_estimated: true, ..reported(120, 0, 2) },
        ),
    ] {
        let what = format!("{response:?}");
        let answer = answer(Provider::OpenAi, vec![response]).await.unwrap();
        assert_eq!((&*answer.text, answer.usage), ("hello there", expected), "{what}");
    }
}

/// One absurd figure would use up everybody's budget for the day.
#[tokio::test]
async fn a_report_of_more_than_a_request_can_use_is_bounded() {
    let prompt_tokens = prompt(PromptVerb::Reply).total_tokens();
    let most = |expected: u64| 4 * expected + 16_000;
    for usage in [
        json!({ "prompt_tokens": 1_u64 << 31, "completion_tokens": 1_u64 << 31 }),
        json!({ "prompt_tokens": 1e300, "completion_tokens": u64::MAX,
            "prompt_tokens_details": { "cached_tokens": 1e12 } }),
        json!({ "input_tokens": 120, "cache_read_input_tokens": 1_u64 << 31,
            "output_tokens": 1_u64 << 31 }),
    ] {
        let response = completion(says("hello there"), "stop", usage.clone());
        let used = answer(Provider::OpenAi, vec![response]).await.unwrap().usage;
        assert_eq!(used.input_tokens, most(prompt_tokens), "{usage}");
        assert_eq!(used.output_tokens, most(99), "{usage}");
        assert!(used.cached_tokens <= used.input_tokens && used.is_estimated, "{usage}");
        // An empty answer is charged, too.
        let response = completion(says(""), "stop", usage.clone());
        let error = answer(Provider::OpenAi, vec![response]).await.unwrap_err();
        let LlmError::Busy { usage: charged, .. } = error else { panic!("{error}") };
        assert_eq!(charged, used, "{usage}");
    }
    let negative = json!({ "prompt_tokens": -5, "completion_tokens": -(1_i64 << 31) });
    let response = completion(says("hello there"), "stop", negative);
    assert_eq!(answer(Provider::OpenAi, vec![response]).await.unwrap().usage, estimated(2));
}

/// The caller decides whether a charged request is followed by another.
#[tokio::test]
async fn an_empty_answer_is_charged_and_not_asked_for_again() {
    let usage = json!({ "prompt_tokens": 120, "completion_tokens": 9, "total_tokens": 129 });
    for (usage, charged) in [(usage, reported(120, 0, 9)), (Value::Null, estimated(0))] {
        let empty = completion(says(""), "stop", usage);
        let error = answer(Provider::OpenAi, vec![empty]).await.unwrap_err();
        let why = "openai/large-1: its answer is empty".to_owned();
        assert_eq!(error, LlmError::Busy { why, retry_after: None, usage: charged });
    }
}

#[tokio::test]
async fn a_response_of_no_use_is_charged() {
    let metadata = |thoughts: u64| {
        json!({ "promptTokenCount": 120, "thoughtsTokenCount": thoughts,
            "totalTokenCount": 120 + thoughts })
    };
    let thought = json!({ "candidates": [{ "content": { "role": "model" }, "index": 0,
        "finishReason": "MAX_TOKENS" }], "usageMetadata": metadata(99) });
    let silent = json!({ "candidates": [{ "content": { "role": "model" },
        "finishReason": "MAX_TOKENS" }] });
    let blocked = json!({ "promptFeedback": { "blockReason": "SAFETY" },
        "usageMetadata": metadata(0) });
    for (provider, response, expected) in [
        (Provider::Gemini, raw(thought), reported(120, 0, 99)),
        (Provider::Gemini, raw(silent), estimated(0)),
        (Provider::Gemini, raw(blocked), reported(120, 0, 0)),
        (Provider::OpenAi, completion(says(""), "length", Value::Null), estimated(0)),
        (
            Provider::OpenAi,
            completion(
                says(""),
                "length",
                json!({ "prompt_tokens": 120, "completion_tokens": 99 }),
            ),
            reported(120, 0, 99),
        ),
    ] {
        let what = format!("{response:?}");
        let error = answer(provider, vec![response]).await.unwrap_err();
        // The limit is raised for a model that seems to think, and it is asked again later.
        let (LlmError::Unusable { usage, .. } | LlmError::Busy { usage, .. }) = error else {
            panic!("{what}: {error}")
        };
        assert_eq!(usage, expected, "{what}");
    }
    let server = EndlessServer::start(200, EndlessBody::Chunked).await;
    let clock = Clock::manual(at(0));
    let settings = settings(Provider::OpenAi, &server.base);
    let mind = ProviderMind::new(&settings, clock.clone()).unwrap();
    let error = ask(&mind, &clock, PromptVerb::Reply).await.unwrap_err();
    let LlmError::Unusable { usage, .. } = error else { panic!("{error}") };
    assert_eq!(usage, estimated(0));
}

#[tokio::test]
async fn a_request_that_was_not_accepted_costs_nothing() {
    for status in [429, 500] {
        let refused = ProviderResponse::Status(status, vec![], "{}".to_owned());
        let error = answer(Provider::OpenAi, vec![refused; 3]).await.unwrap_err();
        let LlmError::Busy { usage, .. } = error else { panic!("{error}") };
        assert_eq!(usage, Usage::default(), "{status}");
    }
}
