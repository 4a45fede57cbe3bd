//! Failing calls: each error is one sentence, retries honor the server's instructions, and a fallback answers.

use std::pin::pin;
use std::sync::Arc;

use aizuchi_harness::endless::{ENDLESS_BODIES, EndlessServer};
use aizuchi_harness::fixtures::at;
use aizuchi_harness::providers::{
    ProviderApi, ProviderRequest, ProviderResponse, Server, ServerLimits,
};
use aizuchi_llm::fallback::Models;
use aizuchi_llm::prompt::PromptVerb;
use aizuchi_llm::provider::{ProviderMind, ProviderSettings};
use aizuchi_llm::provider_list::Provider;
use aizuchi_llm::scripted::ScriptedMind;
use aizuchi_llm::{Llm, LlmError};
use aizuchi_model::clock::Clock;
use aizuchi_model::decision::Usage;
use futures_util::future::{Either, select};
use jiff::SignedDuration;
use serde_json::json;

use crate::models::{
    CHAT, EVERYONE, KEY, LIMIT, advance_while, ask, mind, prompt, provider_api, settings,
};

/// JSON that is malformed to a varying degree.
const NO_ANSWER: &str = "busy: its answer is empty|its answer has an unknown shape";

/// What a provider does, the resulting error, and the number of requests.
fn troubles() -> Vec<(ProviderResponse, &'static str, usize)> {
    use ProviderResponse::{BreaksOff, Raw, Says, Status, Stops};
    let status = |status: u16, code: &str| {
        let error = json!({ "code": code, "type": code, "message": format!("{CHAT} {KEY}") });
        Status(status, vec![], json!({ "error": error }).to_string())
    };
    let leak = format!("{CHAT} {KEY}");
    vec![
        (
            status(401, "invalid_api_key"),
            "refuses: it does not accept the API key (401 invalid_api_key)",
            1,
        ),
        (status(403, "denied"), "refuses: it does not accept the API key (403 denied)", 1),
        (
            status(404, "model_not_found"),
            "refuses: it knows no such model or address (404 model_not_found)",
            1,
        ),
        (
            status(400, "context_length_exceeded"),
            "refuses: it does not take the request (400 context_length_exceeded)",
            1,
        ),
        (status(413, "too_large"), "refuses: it does not take the request (413 too_large)", 1),
        (
            status(429, "insufficient_quota"),
            "refuses: its account has no credit left (429 insufficient_quota)",
            1,
        ),
        (status(402, "no_credit"), "refuses: its account has no credit left (402 no_credit)", 1),
        (
            Status(
                302,
                vec![("location", "http://127.0.0.1:1/elsewhere".to_owned())],
                String::new(),
            ),
            "refuses: it sends us elsewhere (302), which we do not follow; set api_base to the final address",
            1,
        ),
        (status(429, "rate_limit"), "busy: it asks to be called less often (429 rate_limit)", 3),
        (status(500, "api_error"), "busy: it is in trouble itself (500 api_error)", 3),
        (status(503, "unavailable"), "busy: it is in trouble itself (503 unavailable)", 3),
        (
            status(529, "overloaded_error"),
            "busy: it is in trouble itself (529 overloaded_error)",
            3,
        ),
        (
            Status(502, vec![], "<html>bad gateway</html>".to_owned()),
            "busy: it is in trouble itself (502)",
            3,
        ),
        // Errors with a status of success.
        (
            Raw(
                "application/json",
                json!({ "error": { "message": CHAT, "code": 429 } }).to_string(),
            ),
            "busy: it asks to be called less often (429)",
            3,
        ),
        (
            Raw("application/json", json!({ "error": leak }).to_string()),
            "busy: it is in trouble itself (500)",
            3,
        ),
        (
            Raw("application/json", json!({ "detail": "Unauthorized" }).to_string()),
            "refuses: it does not accept the API key (401)",
            1,
        ),
        (
            Raw("text/event-stream", "data: {\"error\": {\"code\": 402}}\n\n".to_owned()),
            "refuses: its account has no credit left (402)",
            1,
        ),
        (BreaksOff, "busy: the connection broke off", 3),
        // These may be charged, so they are retried only if the budget allows it.
        (Raw("text/html", format!("<p>{leak}</p>")), "busy: its answer is not JSON", 1),
        (
            Raw("application/json", format!("{{\"x\": \"{leak}")),
            "busy: its answer is broken JSON",
            1,
        ),
        (Raw("application/json", "[]".to_owned()), NO_ANSWER, 1),
        (Raw("application/json", "{}".to_owned()), NO_ANSWER, 1),
        (Says(" \n ".to_owned()), "busy: its answer is empty", 1),
        (Says(format!("{leak} ").repeat(8_000)), "useless: it is larger than 256 KB", 1),
        (
            Raw("application/json", format!("{{\"x\": \"{}\"}}", "y".repeat(3_000_000))),
            "useless: it is larger than 1024 KB",
            1,
        ),
        (
            Stops("length", String::new()),
            "busy: its answer was cut off by the limit of 99 tokens; it seems to think, and is allowed 16000 more from now on",
            1,
        ),
        (Stops("content_filter", leak.clone()), "useless: it declined to answer this", 1),
        (Stops("refusal", leak.clone()), "useless: it declined to answer this", 1),
        (Stops("SAFETY", leak), "useless: it declined to answer this", 1),
    ]
}

#[tokio::test]
async fn every_error_is_one_sentence_without_secrets() {
    for provider in EVERYONE {
        for (response, expected, calls) in troubles() {
            let server = Server::start(ServerLimits::default()).await;
            let clock = Clock::manual(at(0));
            let mind = mind(provider, &server, &clock);
            server.then(vec![response.clone(); 4]);
            let error = ask(&mind, &clock, PromptVerb::Reply).await.unwrap_err();
            let (kind, why) = expected.split_once(": ").unwrap();
            let verb = match kind {
                "busy" => "the model does not answer now",
                "useless" => "the model's answer is of no use",
                _ => "the model refuses",
            };
            let sentence = |why: &str| format!("{verb}: {}/large-1: {why}", provider.name());
            let what: String = format!("{response:?}").chars().take(80).collect();
            let is_said = why.split('|').any(|why| error.to_string() == sentence(why));
            assert!(is_said, "{provider:?} {what}: {error}");
            assert_eq!(server.requests().len(), calls, "{provider:?} {what}");
            let told =
                format!("{error} {error:?} {mind:?}", mind = settings(provider, &server.base));
            assert!(!told.contains(CHAT) && !told.contains(KEY), "{provider:?} {told}");
        }
    }
}

#[tokio::test]
async fn an_unreachable_server_is_reported() {
    for provider in EVERYONE {
        let port = aizuchi_harness::net::free_port();
        let clock = Clock::manual(at(0));
        let settings = settings(provider, &format!("http://127.0.0.1:{port}"));
        let mind = ProviderMind::new(&settings, clock.clone()).unwrap();
        let error = ask(&mind, &clock, PromptVerb::Reply).await.unwrap_err();
        let sentence = format!(
            "the model does not answer now: {}/large-1: it cannot be reached",
            provider.name()
        );
        assert_eq!(error.to_string(), sentence);
    }
}

#[tokio::test]
async fn retries_honor_retry_after() {
    for provider in EVERYONE {
        let server = Server::start(ServerLimits::default()).await;
        let clock = Clock::manual(at(0));
        let mind = mind(provider, &server, &clock);
        let slow = |value: &str| {
            ProviderResponse::Status(429, vec![("retry-after", value.to_owned())], String::new())
        };
        server.then([slow("7"), slow("11"), ProviderResponse::Says("at last".to_owned())]);
        let answer = ask(&mind, &clock, PromptVerb::Reply).await.unwrap();
        assert_eq!(answer.text, "at last", "{provider:?}");
        assert_eq!(clock.now(), at(18), "{provider:?}");
        // A `Retry-After` beyond the timeout is left to the flow.
        server.then([slow("300")]);
        let error = ask(&mind, &clock, PromptVerb::Reply).await.unwrap_err();
        let LlmError::Busy { retry_after, .. } = error else { panic!("{error}") };
        assert_eq!(retry_after, Some(SignedDuration::from_secs(300)));
        assert_eq!(server.requests().len(), 4);
    }
}

/// Google's APIs put the retry delay into the body.
#[tokio::test]
async fn retries_honor_the_wait_in_a_body() {
    let server = Server::start(ServerLimits::default()).await;
    let clock = Clock::manual(at(0));
    let mind = mind(Provider::Gemini, &server, &clock);
    let wait = json!({ "@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "21s" });
    let body =
        json!({ "error": { "code": 429, "status": "RESOURCE_EXHAUSTED", "details": [wait] } });
    server.then([ProviderResponse::Status(429, vec![], body.to_string())]);
    assert_eq!(ask(&mind, &clock, PromptVerb::Reply).await.unwrap().text, "fine");
    assert_eq!(clock.now(), at(21));
}

#[tokio::test]
async fn a_timeout_aborts_the_request() {
    for provider in EVERYONE {
        let server = Server::start(ServerLimits::default()).await;
        let clock = Clock::manual(at(0));
        let mind = mind(provider, &server, &clock);
        server.then([ProviderResponse::Never]);
        let question = prompt(PromptVerb::Reply);
        let mut asking = pin!(mind.ask(&question));
        let came = pin!(server.came(1));
        assert!(matches!(select(&mut asking, came).await, Either::Right(_)));
        clock.advance_to(at(60));
        let error = asking.await.unwrap_err().to_string();
        let expected = format!(
            "the model does not answer now: {}/large-1: no answer within 1m",
            provider.name()
        );
        assert_eq!(error, expected);
        server.abandoned(1).await;
    }
}

#[tokio::test]
async fn a_dropped_call_aborts_the_request() {
    let server = Server::start(ServerLimits::default()).await;
    let mind = mind(Provider::OpenAi, &server, &Clock::system());
    server.then([ProviderResponse::Never]);
    {
        let question = prompt(PromptVerb::Reply);
        let asking = pin!(mind.ask(&question));
        let came = pin!(server.came(1));
        assert!(matches!(select(asking, came).await, Either::Right(_)));
    }
    server.abandoned(1).await;
}

/// The maximum that a client may have read of an abandoned response: its limit, and the contents of the system's
/// buffers.
const MAX_TAKEN_BYTES: u64 = 32 * 1024 * 1024;

#[tokio::test]
async fn a_response_without_an_end_is_given_up() {
    for provider in EVERYONE {
        for body in ENDLESS_BODIES {
            let server = EndlessServer::start(200, body).await;
            let clock = Clock::manual(at(0));
            let mind = ProviderMind::new(&settings(provider, &server.base), clock.clone()).unwrap();
            let error = ask(&mind, &clock, PromptVerb::Reply).await.unwrap_err();
            let sentence = format!(
                "the model's answer is of no use: {}/large-1: it is larger than 1024 KB",
                provider.name()
            );
            assert_eq!(error.to_string(), sentence, "{body:?}");
            let taken = server.closed(1).await;
            assert!(
                taken.len() == 1 && taken[0] < MAX_TAKEN_BYTES,
                "{provider:?} {body:?} {taken:?}"
            );
        }
    }
}

#[tokio::test]
async fn an_error_without_an_end_is_known_by_its_status() {
    for body in ENDLESS_BODIES {
        let server = EndlessServer::start(401, body).await;
        let clock = Clock::manual(at(0));
        let mind =
            ProviderMind::new(&settings(Provider::OpenAi, &server.base), clock.clone()).unwrap();
        let error = ask(&mind, &clock, PromptVerb::Reply).await.unwrap_err();
        let sentence = "the model refuses: openai/large-1: it does not accept the API key (401)";
        assert_eq!(error.to_string(), sentence, "{body:?}");
        let taken = server.closed(1).await;
        assert!(taken[0] < MAX_TAKEN_BYTES, "{body:?} {taken:?}");
    }
}

#[tokio::test]
async fn a_failure_in_every_format_may_pass() {
    let server = Server::start(ServerLimits::default()).await;
    let clock = Clock::manual(at(0));
    let mind = mind(Provider::OpenAi, &server, &clock);
    let body = json!({ "error": { "code": 500, "message": "tools param requires --jinja flag" } });
    let failure = ProviderResponse::Status(500, vec![], body.to_string());
    // Two shapes of a reply's request, three times each.
    server.then(vec![failure; 6]);
    let error = ask(&mind, &clock, PromptVerb::Reply).await.unwrap_err();
    assert!(matches!(error, LlmError::Busy { .. }), "{error:?}");
    assert!(error.to_string().ends_with("it is in trouble itself (500)"), "{error}");
    assert_eq!(server.requests().len(), 6);
}

#[tokio::test]
async fn one_failure_does_not_change_the_format_for_ever() {
    let server = Server::start(ServerLimits::default()).await;
    let clock = Clock::manual(at(0));
    let mind = mind(Provider::OpenAi, &server, &clock);
    let body =
        json!({ "error": { "code": 500, "message": "template cache is not supported now" } });
    server.then([ProviderResponse::Status(500, vec![], body.to_string())]);
    ask(&mind, &clock, PromptVerb::Reply).await.unwrap();
    ask(&mind, &clock, PromptVerb::Reply).await.unwrap();
    let messages = |seen: &ProviderRequest| seen.body["messages"].as_array().unwrap().len();
    let sent: Vec<usize> = server.requests().iter().map(messages).collect();
    assert_eq!(sent, [1, 2, 1]);
}

/// The number of request shapes without a schema.
pub fn server_tries(provider: Provider) -> usize {
    if provider_api(provider) == ProviderApi::OpenAi { 2 } else { 1 }
}

#[tokio::test]
async fn the_fallback_model_answers_while_the_first_is_down() {
    let server = Server::start(ServerLimits::default()).await;
    let clock = Clock::manual(at(0));
    let first = ProviderSettings { max_attempts: 1, ..settings(Provider::OpenAi, &server.base) };
    let first = Arc::new(ProviderMind::new(&first, clock.clone()).unwrap());
    let second = Arc::new(ScriptedMind::default());
    second.set_default(PromptVerb::Reply, "from the second");
    let both = Models::new(first, Some(second));
    let down = || ProviderResponse::Status(503, vec![], String::new());
    let question = prompt(PromptVerb::Reply);
    let asks = async || both.ask(&question, LIMIT, &clock).await.unwrap().text;

    server.then([down()]);
    assert_eq!(asks().await, "from the second");
    // It is known to be down, and is not called.
    clock.advance_to(at(30));
    assert_eq!(asks().await, "from the second");
    assert_eq!(server.requests().len(), 1);
    // After a while it is called again, and answers.
    clock.advance_to(at(61));
    assert_eq!(asks().await, "fine");
    // A refused request is sent to the fallback, but the model does not count as down.
    server.then([ProviderResponse::Status(401, vec![], String::new())]);
    assert_eq!(asks().await, "from the second");
    assert_eq!(asks().await, "fine");
    assert_eq!(server.requests().len(), 4);
}

#[tokio::test]
async fn when_all_models_fail_a_retryable_error_wins() {
    let server = Server::start(ServerLimits::default()).await;
    let clock = Clock::manual(at(0));
    let first = ProviderSettings { max_attempts: 1, ..settings(Provider::OpenAi, &server.base) };
    let first = Arc::new(ProviderMind::new(&first, clock.clone()).unwrap());
    let second = Arc::new(ScriptedMind::default());
    let both = Models::new(first, Some(second.clone()));
    let question = prompt(PromptVerb::Reply);
    let fails = async || both.ask(&question, LIMIT, &clock).await.unwrap_err();
    let refuses = || second.push(PromptVerb::Reply, Err(LlmError::Refused("b: no".to_owned())));

    refuses();
    let slow = ProviderResponse::Status(503, vec![("retry-after", "9".to_owned())], String::new());
    server.then([slow]);
    let why = "openai/large-1: it is in trouble itself (503), and b: no";
    let retry_after = Some(SignedDuration::from_secs(9));
    assert_eq!(
        fails().await,
        LlmError::Busy { why: why.to_owned(), retry_after, usage: Usage::default() }
    );

    // While the primary is known to be down, it is called last, but it is called.
    refuses();
    server.then([ProviderResponse::Says("after all".to_owned())]);
    let answer = both.ask(&question, LIMIT, &clock).await.unwrap();
    assert_eq!(answer.text, "after all");

    refuses();
    server.then([ProviderResponse::Status(401, vec![], String::new())]);
    let why = "openai/large-1: it does not accept the API key (401), and b: no";
    assert_eq!(fails().await, LlmError::Refused(why.to_owned()));
}

#[tokio::test]
async fn a_model_whose_answers_are_of_no_use_is_asked_a_few_times_and_then_its_fallback() {
    let server = Server::start(ServerLimits::default()).await;
    let clock = Clock::manual(at(0));
    let settings = ProviderSettings { max_attempts: 3, ..settings(Provider::OpenAi, &server.base) };
    let first = Arc::new(ProviderMind::new(&settings, clock.clone()).unwrap());
    let second = Arc::new(ScriptedMind::default());
    second.set_default(PromptVerb::Reply, "from the second");
    let both = Models::new(first, Some(second));
    let question = prompt(PromptVerb::Reply);
    let asks = async || {
        let asking = both.ask(&question, LIMIT, &clock);
        advance_while(&clock, at(59), asking).await.unwrap().text
    };
    let empty = || ProviderResponse::Says(String::new());
    server.then([empty(), empty()]);
    assert_eq!((asks().await, server.requests().len()), ("fine".to_owned(), 3));
    server.then([empty(), empty(), empty()]);
    assert_eq!((asks().await, server.requests().len()), ("from the second".to_owned(), 6));
}

#[tokio::test]
async fn refusals_of_each_provider_are_recognized() {
    let ok = "application/json";
    let declined = "the model's answer is of no use: it declined to answer this";
    let openai = json!({
        "choices": [{ "message": { "content": null, "refusal": CHAT }, "finish_reason": "stop" }],
        "usage": { "prompt_tokens": 9, "completion_tokens": 1 },
    });
    let blocked = json!({ "promptFeedback": { "blockReason": "SAFETY" }, "usageMetadata": {} });
    let wrong_key = json!({ "error": {
        "code": 400, "status": "INVALID_ARGUMENT", "message": KEY,
        "details": [{ "@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID" }],
    } });
    let overloaded =
        json!({ "type": "error", "error": { "type": "overloaded_error", "message": CHAT } });
    let thought = json!({
        "candidates": [{ "content": { "role": "model" }, "finishReason": "MAX_TOKENS" }],
        "usageMetadata": { "promptTokenCount": 9 },
    });
    for (provider, response, expected, calls) in [
        (Provider::OpenAi, ProviderResponse::Raw(ok, openai.to_string()), declined, 1),
        (Provider::Gemini, ProviderResponse::Raw(ok, blocked.to_string()), declined, 1),
        (
            Provider::Gemini,
            ProviderResponse::Status(400, vec![], wrong_key.to_string()),
            "the model refuses: it does not accept the API key (400 API_KEY_INVALID)",
            1,
        ),
        (
            Provider::Anthropic,
            ProviderResponse::Status(529, vec![], overloaded.to_string()),
            "the model does not answer now: it is in trouble itself (529 overloaded_error)",
            3,
        ),
        (
            Provider::Gemini,
            ProviderResponse::Raw(ok, thought.to_string()),
            "the model does not answer now: its answer was cut off by the limit of 99 tokens; it seems to think, and is allowed 16000 more from now on",
            1,
        ),
    ] {
        let server = Server::start(ServerLimits::default()).await;
        let clock = Clock::manual(at(0));
        let mind = mind(provider, &server, &clock);
        server.then(vec![response; 3]);
        let error = ask(&mind, &clock, PromptVerb::Reply).await.unwrap_err();
        let said = error.to_string().replace(&format!("{}/large-1: ", provider.name()), "");
        assert_eq!((&*said, server.requests().len()), (expected, calls), "{provider:?}");
        assert!(!format!("{error:?}").contains(CHAT), "{error:?}");
    }
}
