//! The length of answers: models that think, parameters that a model refuses, and limits that it names.

use std::sync::Arc;

use aizuchi_harness::fixtures::at;
use aizuchi_harness::providers::{
    ProviderApi, ProviderRequest, ProviderResponse, Server, ServerLimits,
};
use aizuchi_llm::Llm;
use aizuchi_llm::fallback::Models;
use aizuchi_llm::prompt::PromptVerb;
use aizuchi_llm::provider::{ModelParams, ProviderMind, ProviderSettings};
use aizuchi_llm::provider_list::Provider;
use aizuchi_model::clock::Clock;
use serde_json::{Value, json};

use crate::models::{EVERYONE, LIMIT, advance_while, ask, mind, prompt, provider_api, settings};

#[tokio::test]
async fn a_truncated_reply_is_marked() {
    let server = Server::start(ServerLimits::default()).await;
    let clock = Clock::manual(at(0));
    let mind = mind(Provider::OpenAi, &server, &clock);
    server.then([ProviderResponse::Stops("length", "Once upon a".to_owned())]);
    assert_eq!(ask(&mind, &clock, PromptVerb::Reply).await.unwrap().text, "Once upon a…");
}

/// The output limit in a request.
pub fn limit(provider: Provider, request: &ProviderRequest) -> u64 {
    let body = &request.body;
    let limit = match provider_api(provider) {
        ProviderApi::OpenAi => [&body["max_tokens"], &body["max_completion_tokens"]],
        ProviderApi::Anthropic => [&body["max_tokens"], &Value::Null],
        ProviderApi::Gemini => [&body["generationConfig"]["maxOutputTokens"], &Value::Null],
    };
    limit.into_iter().find_map(Value::as_u64).unwrap()
}

/// The prompt for a state asks for one word, and for 20 tokens.
#[tokio::test]
async fn a_model_that_thinks_is_allowed_more_than_its_answer() {
    for (provider, name, effort, expected) in [
        (Provider::OpenAi, "gpt-5-mini", None, 16_020),
        (Provider::Gemini, "gemini-2.5-flash", None, 16_020),
        (Provider::Anthropic, "claude-sonnet-5", None, 16_020),
        (Provider::OpenRouter, "openai/o3-mini", None, 16_020),
        (Provider::Anthropic, "claude-sonnet-5", Some("none"), 20),
        (Provider::OpenAi, "gpt-4o", None, 20),
        (Provider::OpenAi, "gpt-4o", Some("low"), 29_972),
    ] {
        let server = Server::start(ServerLimits::default()).await;
        let clock = Clock::manual(at(0));
        let reasoning_effort = effort.map(str::to_owned);
        let params = ModelParams { reasoning_effort, ..ModelParams::default() };
        let settings = settings(provider, &server.base);
        let settings = ProviderSettings { model_name: name.to_owned(), params, ..settings };
        let mind = ProviderMind::new(&settings, clock.clone()).unwrap();
        let answer = ask(&mind, &clock, PromptVerb::State).await.unwrap();
        assert_eq!(answer.text, "fine");
        assert_eq!(limit(provider, &server.requests()[0]), expected, "{name} {effort:?}");
        let promised = mind.max_output_tokens(&prompt(PromptVerb::State));
        assert_eq!(promised, expected, "{name} {effort:?}");
    }
}

/// Nothing in the model's name shows that it thinks.
#[tokio::test]
async fn a_model_that_turns_out_to_think_is_asked_again_with_more_tokens() {
    let server = Server::start(ServerLimits::default()).await;
    let clock = Clock::manual(at(0));
    let settings = settings(Provider::OpenAi, &server.base);
    let models = |settings: &ProviderSettings| {
        Models::new(Arc::new(ProviderMind::new(settings, clock.clone()).unwrap()), None)
    };
    let learning = models(&settings);
    let question = prompt(PromptVerb::Judge);
    let asks = async |models: &Models| {
        advance_while(&clock, at(59), models.ask(&question, LIMIT, &clock)).await
    };
    let verdict = r#"{"should_respond": false, "reason": "no", "confidence": 1}"#;
    let cut = |text: &str| ProviderResponse::Stops("length", text.to_owned());
    // Truncated JSON is no answer. It was only too long, so the limit is not raised.
    server.then([cut(&verdict[..20])]);
    let error = asks(&learning).await.unwrap_err().to_string();
    let expected =
        "openai/large-1: its answer was cut off by the limit of 99 tokens before it was complete";
    assert_eq!(error, format!("the model's answer is of no use: {expected}"));
    server.then([cut("<think>Well, "), ProviderResponse::Says(verdict.to_owned())]);
    assert_eq!(asks(&learning).await.unwrap().text, verdict);
    // The raised limit is kept, and not raised again.
    server.then([cut("<think>Well, ")]);
    let error = asks(&learning).await.unwrap_err().to_string();
    let advice = "openai/large-1: its answer was cut off by the limit of 16099 tokens, thinking included; \
                  params.thinking_tokens allows it more, and params.reasoning_effort makes it think less";
    assert_eq!(error, format!("the model's answer is of no use: {advice}"));
    // A limit in the settings is not changed.
    let params = ModelParams { thinking_tokens: Some(7), ..settings.params.clone() };
    let fixed = models(&ProviderSettings { params, ..settings });
    server.then([cut("")]);
    let error = asks(&fixed).await.unwrap_err().to_string();
    assert!(error.contains("cut off by the limit of 106 tokens, thinking included"), "{error}");
    let limits = server.requests();
    let limits: Vec<u64> = limits.iter().map(|seen| limit(Provider::OpenAi, seen)).collect();
    assert_eq!(limits, [99, 99, 16_099, 16_099, 106]);
}

#[tokio::test]
async fn the_length_of_an_answer_is_kept_although_thinking_is_allowed() {
    let server = Server::start(ServerLimits::default()).await;
    let clock = Clock::manual(at(0));
    let mut settings = settings(Provider::OpenAi, &server.base);
    settings.params.thinking_tokens = Some(5000);
    let mind = ProviderMind::new(&settings, clock.clone()).unwrap();
    server.will_say(&["word ".repeat(300).trim(), "word ".repeat(99).trim()]);
    let long = ask(&mind, &clock, PromptVerb::Reply).await.unwrap().text;
    assert_eq!(long, format!("{}…", "word ".repeat(99).trim()));
    let short = ask(&mind, &clock, PromptVerb::Reply).await.unwrap().text;
    assert_eq!(short, "word ".repeat(99).trim());
}

#[tokio::test]
async fn gemini_is_told_not_to_think() {
    for (name, config) in [
        ("gemini-2.5-flash", json!({ "thinkingBudget": 0 })),
        ("gemini-2.5-pro", json!({ "thinkingBudget": 128 })),
        ("gemini-3-flash-preview", json!({ "thinkingLevel": "MINIMAL" })),
        ("gemini-3-pro-preview", json!({ "thinkingLevel": "LOW" })),
        ("gemini-2.0-flash", Value::Null),
    ] {
        let server = Server::start(ServerLimits::default()).await;
        let clock = Clock::manual(at(0));
        let mut settings = settings(Provider::Gemini, &server.base);
        settings.model_name = name.to_owned();
        settings.params.reasoning_effort = Some("none".to_owned());
        let mind = ProviderMind::new(&settings, clock.clone()).unwrap();
        ask(&mind, &clock, PromptVerb::Reply).await.unwrap();
        let body = server.requests().remove(0).body;
        assert_eq!(body["generationConfig"]["thinkingConfig"], config, "{name}");
    }
}

#[tokio::test]
async fn nested_parameters_leave_the_rest_of_the_request() {
    let server = Server::start(ServerLimits::default()).await;
    let clock = Clock::manual(at(0));
    let mut settings = settings(Provider::Gemini, &server.base);
    let extra = json!({ "generationConfig": { "topK": 3 } });
    settings.params.extra = extra.as_object().unwrap().clone();
    let mind = ProviderMind::new(&settings, clock.clone()).unwrap();
    ask(&mind, &clock, PromptVerb::Reply).await.unwrap();
    let body = server.requests().remove(0).body;
    let expected = json!({ "temperature": 0.5, "maxOutputTokens": 99, "topK": 3 });
    assert_eq!(body["generationConfig"], expected);
}

#[tokio::test]
async fn a_parameter_that_a_model_refuses_is_left_out_from_then_on() {
    for provider in EVERYONE {
        let server = Server::start(ServerLimits::default()).await;
        let clock = Clock::manual(at(0));
        let mut settings = settings(provider, &server.base);
        let extra = json!({ "top_k": 3 });
        settings.params.extra = extra.as_object().unwrap().clone();
        let mind = ProviderMind::new(&settings, clock.clone()).unwrap();
        let refuses = |name: &str| {
            let message = format!("`{name}` is not supported with this model.");
            let body = json!({ "error": { "message": message, "type": "invalid_request_error" } });
            ProviderResponse::Status(400, vec![], body.to_string())
        };
        server.then([refuses("temperature"), refuses("top_k")]);
        assert_eq!(ask(&mind, &clock, PromptVerb::Reply).await.unwrap().text, "fine");
        assert_eq!(mind.refused_parameters(), ["temperature", "top_k"], "{provider:?}");
        ask(&mind, &clock, PromptVerb::Reply).await.unwrap();
        let seen = server.requests();
        let has = |index: usize, name: &str| seen[index].body.to_string().contains(name);
        let sent: Vec<[bool; 2]> = (0..seen.len())
            .map(|index| [has(index, r#""temperature""#), has(index, r#""top_k""#)])
            .collect();
        assert_eq!(sent, [[true, true], [false, true], [false, false], [false, false]]);
    }
}

/// If leaving out a parameter does not help, the parameter was not the cause.
#[tokio::test]
async fn a_refusal_that_goes_on_teaches_nothing() {
    let server = Server::start(ServerLimits::default()).await;
    let clock = Clock::manual(at(0));
    let mind = mind(Provider::Anthropic, &server, &clock);
    let refusal = json!({ "error": { "message": "temperature and messages: no" } });
    let refusal = ProviderResponse::Status(400, vec![], refusal.to_string());
    server.then(vec![refusal; 2]);
    let error = ask(&mind, &clock, PromptVerb::Reply).await.unwrap_err().to_string();
    assert!(error.ends_with("it does not take the request (400)"), "{error}");
    assert_eq!((server.requests().len(), mind.refused_parameters().len()), (2, 0));
}

#[tokio::test]
async fn the_limit_is_named_and_lowered_as_a_server_wants_it() {
    let server = Server::start(ServerLimits::default()).await;
    let clock = Clock::manual(at(0));
    let mut settings = settings(Provider::OpenAi, &server.base);
    settings.params.thinking_tokens = Some(16_000);
    let mind = ProviderMind::new(&settings, clock.clone()).unwrap();
    let refuses = |message: &str| {
        let body = json!({ "error": { "message": message, "param": "max_tokens" } });
        ProviderResponse::Status(400, vec![], body.to_string())
    };
    server.then([
        refuses("'max_tokens' is not supported. Use 'max_completion_tokens' instead."),
        refuses("max_completion_tokens is too large: 16099."),
    ]);
    ask(&mind, &clock, PromptVerb::Reply).await.unwrap();
    ask(&mind, &clock, PromptVerb::Reply).await.unwrap();
    let seen = server.requests();
    let limits: Vec<[Option<u64>; 2]> = seen
        .iter()
        .map(|seen| ["max_tokens", "max_completion_tokens"].map(|key| seen.body[key].as_u64()))
        .collect();
    let expected =
        [[Some(16_099), None], [None, Some(16_099)], [None, Some(2048)], [None, Some(2048)]];
    assert_eq!(limits, expected);
}

#[tokio::test]
async fn a_limit_that_one_long_prompt_exceeds_is_lowered_for_that_prompt_only() {
    let server = Server::start(ServerLimits::default()).await;
    let clock = Clock::manual(at(0));
    let mut settings = settings(Provider::OpenAi, &server.base);
    settings.params.thinking_tokens = Some(16_000);
    let mind = ProviderMind::new(&settings, clock.clone()).unwrap();
    let message =
        "This model's maximum context length is 20000 tokens. However, you requested 21099.";
    let body = json!({ "error": { "message": message, "code": "context_length_exceeded" } });
    server.then([ProviderResponse::Status(400, vec![], body.to_string())]);
    ask(&mind, &clock, PromptVerb::Reply).await.unwrap();
    ask(&mind, &clock, PromptVerb::Reply).await.unwrap();
    let seen = server.requests();
    let limits: Vec<u64> = seen.iter().map(|seen| limit(Provider::OpenAi, seen)).collect();
    assert_eq!(limits, [16_099, 2048, 16_099]);
}
