//! The APIs of real models, in each provider's format: what is sent, what is made of the answer, and what happens if
//! there is none.

use std::pin::pin;
use std::sync::Arc;

use aizuchi_core::agent::judge;
use aizuchi_core::clock::Clock;
use aizuchi_core::context::Context;
use aizuchi_core::context::channel_messages::ChannelMessages;
use aizuchi_core::decision::Usage;
use aizuchi_core::llm::fallback::Models;
use aizuchi_core::llm::model::{PROVIDERS, Provider, WireFormat};
use aizuchi_core::llm::provider::{ModelParams, ProviderMind, ProviderSettings};
use aizuchi_core::llm::scripted::ScriptedMind;
use aizuchi_core::llm::{ContextLength, Llm, LlmError, LlmResponse};
use aizuchi_core::persona::{Language, Persona};
use aizuchi_core::prompt::builder::PromptOptions;
use aizuchi_core::prompt::picture::Picture;
use aizuchi_core::prompt::{Prompt, PromptVerb};
use futures_util::future::{Either, select};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use aizuchi_harness::endless::{ENDLESS_BODIES, EndlessServer};
use aizuchi_harness::fixtures::{at, message, top_level};
use aizuchi_harness::providers::{
    CACHED_TOKENS, INPUT_TOKENS, OUTPUT_TOKENS, ProviderApi, ProviderRequest, ProviderResponse,
    Server, ServerLimits,
};

/// A secret that must appear in no error.
const KEY: &str = "sk-test-0123456789abcdef";
const CHAT: &str = "the treasure is under the old oak";

pub const EVERYONE: [Provider; 5] = [
    Provider::OpenAi,
    Provider::Anthropic,
    Provider::Gemini,
    Provider::Ollama,
    Provider::OpenRouter,
];

pub fn provider_api(provider: Provider) -> ProviderApi {
    match provider.wire_format() {
        WireFormat::OpenAi => ProviderApi::OpenAi,
        WireFormat::Anthropic => ProviderApi::Anthropic,
        WireFormat::Gemini => ProviderApi::Gemini,
    }
}

pub fn settings(provider: Provider, base: &str) -> ProviderSettings {
    let is_gemini = provider_api(provider) == ProviderApi::Gemini;
    let version = if is_gemini { "v1beta" } else { "v1" };
    ProviderSettings {
        provider,
        model_name: "large-1".to_owned(),
        api_key: Some(KEY.to_owned().into()),
        api_base: format!("{base}/{version}"),
        headers: Default::default(),
        params: ModelParams {
            temperature: Some(0.5),
            max_tokens: Some(99),
            ..ModelParams::default()
        },
        connect_timeout: SignedDuration::from_secs(10),
        timeout: SignedDuration::from_secs(60),
        cold_timeout: SignedDuration::from_secs(60),
        max_attempts: 3,
    }
}

pub fn mind(provider: Provider, server: &Server, clock: &Clock) -> ProviderMind {
    ProviderMind::new(&settings(provider, &server.base), clock.clone()).unwrap()
}

pub fn prompt(verb: PromptVerb) -> Prompt {
    let persona = Persona {
        name: "Aizuchi".to_owned(),
        system_prompt: "You are kind.".to_owned(),
        language: Language::En,
    };
    let (persona, context) = (Arc::new(persona), Arc::new(context()));
    let (prompts, scene) =
        (aizuchi_harness::harness::prompts(Language::En), PromptOptions::new(at(60)));
    match verb {
        PromptVerb::Judge => prompts.judge(&persona, &context, &scene),
        PromptVerb::Reply => prompts.reply(&persona, &context, &scene),
        PromptVerb::State => prompts.state(&persona, &context, &scene),
        PromptVerb::Remember | PromptVerb::Describe | PromptVerb::Transcribe => {
            panic!("there is no material")
        }
    }
}

pub fn context() -> Context {
    let lines = vec![Arc::new(message(top_level("garden"), "1", at(0), "alice", CHAT))];
    let history =
        ChannelMessages::from_messages(top_level("garden").channel, "garden".into(), lines);
    Context {
        newest_message_revision: 1,
        revision: 1,
        ..Context::new(top_level("garden"), history)
    }
}

/// Longer than any model takes here.
pub const LIMIT: SignedDuration = SignedDuration::from_mins(10);

/// Advances the clock past every wait that ends before `limit`, so that no test really waits.
pub async fn advance_while<T>(clock: &Clock, limit: Timestamp, work: impl Future<Output = T>) -> T {
    let advance = async {
        loop {
            if let Some(next) = clock.next_wake_at().filter(|next| *next <= limit) {
                clock.advance_to(next);
            }
            tokio::task::yield_now().await;
        }
    };
    match select(pin!(work), pin!(advance)).await {
        Either::Left((done, _)) => done,
        Either::Right((never, _)) => never,
    }
}

pub async fn ask(
    mind: &ProviderMind,
    clock: &Clock,
    verb: PromptVerb,
) -> Result<LlmResponse, LlmError> {
    advance_while(clock, at(59), mind.ask(&prompt(verb))).await
}

#[tokio::test]
async fn every_provider_is_asked_in_its_own_format() {
    for provider in EVERYONE {
        let server = Server::start(ServerLimits::default()).await;
        let clock = Clock::manual(at(0));
        let mind = mind(provider, &server, &clock);
        assert_eq!(mind.model(), format!("{}/large-1", provider.name()));
        server.then([ProviderResponse::Says(" Hello! ".to_owned())]);
        let answer = ask(&mind, &clock, PromptVerb::Reply).await.unwrap();
        let usage = Usage {
            input_tokens: INPUT_TOKENS,
            cached_tokens: CACHED_TOKENS,
            output_tokens: OUTPUT_TOKENS,
            ..Usage::default()
        };
        assert_eq!((answer.text.trim(), answer.usage), ("Hello!", usage), "{provider:?}");
        let seen = server.requests().remove(0);
        let header = |name: &str| seen.headers.get(name).map(|value| value.to_str().unwrap());
        let (body, text) = (&seen.body, prompt(PromptVerb::Reply).text);
        match provider_api(provider) {
            ProviderApi::OpenAi => {
                assert_eq!(header("authorization"), Some(&*format!("Bearer {KEY}")));
                // One system message and nothing else.
                assert_eq!(body["messages"], json!([{ "role": "system", "content": text }]));
                assert_eq!(body["max_tokens"], 99);
                assert_eq!(body["model"], "large-1");
                assert_eq!(body["temperature"], 0.5);
                assert_eq!(body["response_format"], Value::Null);
            }
            ProviderApi::Anthropic => {
                assert_eq!(header("x-api-key"), Some(KEY));
                assert_eq!(body["system"], text);
                assert_eq!(body["messages"], json!([{ "role": "user", "content": "." }]));
                assert_eq!(body["max_tokens"], 99);
                assert_eq!(body["model"], "large-1");
            }
            ProviderApi::Gemini => {
                assert_eq!(header("x-goog-api-key"), Some(KEY));
                assert_eq!(seen.path, "/v1beta/models/large-1:generateContent");
                assert_eq!(body["systemInstruction"]["parts"][0]["text"], text);
                assert_eq!(
                    body["contents"],
                    json!([{ "role": "user", "parts": [{ "text": "." }] }])
                );
                assert_eq!(body["generationConfig"]["maxOutputTokens"], 99);
            }
        }
    }
}

/// Only what was sent shortly before: it costs a quarter more to keep it.
#[tokio::test]
async fn anthropic_is_told_what_to_keep_in_its_cache() {
    let server = Server::start(ServerLimits::default()).await;
    let clock = Clock::manual(at(0));
    let mind = mind(Provider::Anthropic, &server, &clock);
    for second in [0, 60, 600] {
        clock.advance_to(at(second));
        let prompt = prompt(PromptVerb::Judge);
        let asked = advance_while(&clock, at(second + 59), mind.ask(&prompt));
        asked.await.unwrap();
    }
    let text = prompt(PromptVerb::Judge).text;
    let kept = json!([{ "type": "text", "text": text, "cache_control": { "type": "ephemeral" } }]);
    let requests = server.requests().into_iter();
    let systems: Vec<Value> = requests.map(|request| request.body["system"].clone()).collect();
    assert_eq!(systems, [json!(text), kept, json!(text)]);
}

#[tokio::test]
async fn a_picture_goes_along_in_each_providers_format() {
    let picture = Picture { media_type: "image/png", bytes: (&b"PNG"[..]).into() };
    let asked =
        Prompt { verb: PromptVerb::Describe, picture: Some(picture), ..prompt(PromptVerb::Reply) };
    for provider in EVERYONE {
        let server = Server::start(ServerLimits::default()).await;
        let clock = Clock::manual(at(0));
        let mind = mind(provider, &server, &clock);
        server.then([ProviderResponse::Says("A boat.".to_owned())]);
        let answer = advance_while(&clock, at(59), mind.ask(&asked)).await.unwrap();
        assert_eq!(answer.text, "A boat.", "{provider:?}");
        let [seen] = &server.requests()[..] else { panic!("{provider:?}") };
        let body = &seen.body;
        let (turn, image) = match provider_api(provider) {
            ProviderApi::OpenAi => (
                &body["messages"][1]["content"],
                json!({ "type": "image_url", "image_url": { "url": "data:image/png;base64,UE5H" } }),
            ),
            ProviderApi::Anthropic => (
                &body["messages"][0]["content"],
                json!({
                    "type": "image",
                    "source": { "type": "base64", "media_type": "image/png", "data": "UE5H" },
                }),
            ),
            ProviderApi::Gemini => (
                &body["contents"][0]["parts"],
                json!({ "inline_data": { "mime_type": "image/png", "data": "UE5H" } }),
            ),
        };
        assert_eq!(turn[0], image, "{provider:?}");
        assert_eq!((&turn[1]["text"], &turn[2]), (&json!("."), &Value::Null), "{provider:?}");
    }
}

#[tokio::test]
async fn a_judgment_is_asked_for_by_its_schema() {
    let verdict = r#"{"should_respond": true, "reason": "nobody answers", "confidence": 0.75,
        "delay_seconds": null, "about": null}"#;
    for provider in EVERYONE {
        let server = Server::start(ServerLimits::default()).await;
        let clock = Clock::manual(at(0));
        let mind = mind(provider, &server, &clock);
        server.then([ProviderResponse::Says(verdict.to_owned())]);
        let answer = ask(&mind, &clock, PromptVerb::Judge).await.unwrap();
        let judgment = judge::parse_judgment(&answer.text, &prompt(PromptVerb::Judge)).unwrap();
        assert_eq!((judgment.should_respond, judgment.confidence), (true, 0.75), "{provider:?}");
        let body = server.requests().remove(0).body;
        let schema = match provider_api(provider) {
            ProviderApi::OpenAi => body["response_format"]["json_schema"]["schema"].clone(),
            ProviderApi::Anthropic => body["output_config"]["format"]["schema"].clone(),
            ProviderApi::Gemini => body["generationConfig"]["responseJsonSchema"].clone(),
        };
        let fields: Vec<&String> = schema["properties"].as_object().unwrap().keys().collect();
        let expected = [
            "should_respond",
            "reason",
            "confidence",
            "delay_seconds",
            "about",
            "look_again_seconds",
            "conversation_state",
        ];
        assert_eq!(fields, expected, "{provider:?}");
    }
}

#[tokio::test]
async fn max_tokens_are_always_set() {
    for provider in EVERYONE {
        let server = Server::start(ServerLimits::default()).await;
        let clock = Clock::manual(at(0));
        let settings = settings(provider, &server.base);
        let settings = ProviderSettings { params: ModelParams::default(), ..settings };
        let mind = ProviderMind::new(&settings, clock.clone()).unwrap();
        ask(&mind, &clock, PromptVerb::Reply).await.unwrap();
        let body = server.requests().remove(0).body;
        let limit = match provider_api(provider) {
            ProviderApi::OpenAi | ProviderApi::Anthropic => &body["max_tokens"],
            ProviderApi::Gemini => &body["generationConfig"]["maxOutputTokens"],
        };
        assert_eq!(limit, 2048, "{provider:?}");
    }
}

#[tokio::test]
async fn model_parameters_are_sent() {
    let server = Server::start(ServerLimits::default()).await;
    let clock = Clock::manual(at(0));
    let mut settings = settings(Provider::OpenAi, &server.base);
    settings.headers.insert("x-title".to_owned(), "Aizuchi".to_owned().into());
    settings.params = ModelParams {
        top_p: Some(0.25),
        stop: vec!["END".to_owned()],
        seed: Some(7),
        reasoning_effort: Some("low".to_owned()),
        extra: json!({ "presence_penalty": 0.5 }).as_object().unwrap().clone(),
        ..ModelParams::default()
    };
    let mind = ProviderMind::new(&settings, clock.clone()).unwrap();
    ask(&mind, &clock, PromptVerb::Reply).await.unwrap();
    let seen = server.requests().remove(0);
    assert_eq!(seen.headers["x-title"], "Aizuchi");
    for (key, expected) in [
        ("top_p", json!(0.25)),
        ("stop", json!(["END"])),
        ("seed", json!(7)),
        ("reasoning_effort", json!("low")),
        ("presence_penalty", json!(0.5)),
    ] {
        assert_eq!(seen.body[key], expected, "{key}");
    }
}

/// JSON that is malformed to a varying degree.
const NO_ANSWER: &str = "busy: its answer is empty|its answer has an unknown shape";

/// What a provider does, what is made of it, and how many requests that takes.
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
        (BreaksOff, "busy: the connection broke off", 3),
        // These may be charged, so it is asked again only if the budget allows it.
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

/// Google's APIs say in the body how long to wait.
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

/// What a client may have taken of a response that it gave up: its limit, and what waits in the buffers of the system.
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
async fn self_hosted_servers_are_asked_in_a_format_they_accept() {
    let verdict = r#"{"should_respond": false, "reason": "no", "confidence": 1}"#;
    for (limits, calls) in [
        (ServerLimits { wants_user_turn: true, ..ServerLimits::default() }, [2, 3, 4]),
        (ServerLimits { knows_no_schema: true, ..ServerLimits::default() }, [3, 4, 5]),
        (
            ServerLimits {
                wants_user_turn: true,
                knows_no_schema: true,
                ..ServerLimits::default()
            },
            [3, 4, 5],
        ),
        // As llama.cpp does. Such a failure has to come twice.
        (
            ServerLimits {
                wants_user_turn: true,
                knows_no_schema: true,
                fails_instead: true,
                ..ServerLimits::default()
            },
            [3, 6, 7],
        ),
    ] {
        let server = Server::start(limits).await;
        let clock = Clock::manual(at(0));
        let mut own = settings(Provider::Ollama, &server.base);
        // As users write it for Ollama: without the `/v1` of its OpenAI-compatible API.
        own.api_base = server.base.clone();
        own.api_key = None;
        let mind = ProviderMind::new(&own, clock.clone()).unwrap();
        for expected in calls {
            server.then([ProviderResponse::Says(verdict.to_owned())]);
            assert_eq!(ask(&mind, &clock, PromptVerb::Judge).await.unwrap().text, verdict);
            // The format that the server accepted is remembered.
            assert_eq!(server.requests().len(), expected, "{limits:?}");
        }
    }
}

#[tokio::test]
async fn a_failure_in_every_format_may_pass() {
    let server = Server::start(ServerLimits::default()).await;
    let clock = Clock::manual(at(0));
    let mind = mind(Provider::OpenAi, &server, &clock);
    let body = json!({ "error": { "code": 500, "message": "tools param requires --jinja flag" } });
    let failure = ProviderResponse::Status(500, vec![], body.to_string());
    // Two formats of a reply, three times.
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

#[tokio::test]
async fn a_check_costs_one_token() {
    for provider in EVERYONE {
        let server = Server::start(ServerLimits::default()).await;
        let clock = Clock::manual(at(0));
        let mind = mind(provider, &server, &clock);
        server.then([ProviderResponse::Stops("length", String::new())]);
        mind.check().await.unwrap();
        // A reasoning model refuses a limit of one token, and then gets more.
        let refusal = || ProviderResponse::Status(400, vec![], String::new());
        server.then((0..server_tries(provider)).map(|_| refusal()));
        mind.check().await.unwrap();
        let limits = server.requests().into_iter().map(|seen| match provider_api(provider) {
            ProviderApi::OpenAi | ProviderApi::Anthropic => seen.body["max_tokens"].clone(),
            ProviderApi::Gemini => seen.body["generationConfig"]["maxOutputTokens"].clone(),
        });
        let limits: Vec<Value> = limits.collect();
        assert_eq!((&limits[0], limits.last()), (&json!(1), Some(&json!(99))), "{provider:?}");
        // There are no retries, since a user waits.
        server.then([ProviderResponse::Status(503, vec![], String::new())]);
        let error = mind.check().await.unwrap_err().to_string();
        assert!(error.ends_with("it is in trouble itself (503)"), "{error}");
    }
}

/// How many request formats without a schema there are to try.
fn server_tries(provider: Provider) -> usize {
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
    // It is known to be down, and is not asked.
    clock.advance_to(at(30));
    assert_eq!(asks().await, "from the second");
    assert_eq!(server.requests().len(), 1);
    // After a while it is asked again, and answers.
    clock.advance_to(at(61));
    assert_eq!(asks().await, "fine");
    // A request that it refuses is sent to the fallback, but it does not count as down.
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

    // While the first is known to be down it is asked last, but it is asked.
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
async fn the_model_name_is_sent_unchanged() {
    for (provider, name) in [
        (Provider::OpenRouter, "qwen/qwen-max"),
        (Provider::OpenAi, "mistral-medium"),
        (Provider::Ollama, "a::b-high"),
        (Provider::Anthropic, "claude-large-1"),
    ] {
        let server = Server::start(ServerLimits::default()).await;
        let clock = Clock::manual(at(0));
        let settings = settings(provider, &server.base);
        let settings = ProviderSettings { model_name: name.to_owned(), ..settings };
        let mind = ProviderMind::new(&settings, clock.clone()).unwrap();
        ask(&mind, &clock, PromptVerb::Reply).await.unwrap();
        let body = server.requests().remove(0).body;
        assert_eq!((&body["model"], &body["reasoning_effort"]), (&json!(name), &Value::Null));
    }
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

#[tokio::test]
async fn a_truncated_reply_is_marked() {
    let server = Server::start(ServerLimits::default()).await;
    let clock = Clock::manual(at(0));
    let mind = mind(Provider::OpenAi, &server, &clock);
    server.then([ProviderResponse::Stops("length", "Once upon a".to_owned())]);
    assert_eq!(ask(&mind, &clock, PromptVerb::Reply).await.unwrap().text, "Once upon a…");
}

/// The limit of a request's output.
fn limit(provider: Provider, request: &ProviderRequest) -> u64 {
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

/// Nothing in its name tells that it thinks.
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
    // The beginning of JSON is no answer. It was only too long, so nothing more is allowed for it.
    server.then([cut(&verdict[..20])]);
    let error = asks(&learning).await.unwrap_err().to_string();
    let expected =
        "openai/large-1: its answer was cut off by the limit of 99 tokens before it was complete";
    assert_eq!(error, format!("the model's answer is of no use: {expected}"));
    server.then([cut("<think>Well, "), ProviderResponse::Says(verdict.to_owned())]);
    assert_eq!(asks(&learning).await.unwrap().text, verdict);
    // That is remembered, and more than that is not allowed.
    server.then([cut("<think>Well, ")]);
    let error = asks(&learning).await.unwrap_err().to_string();
    let advice = "openai/large-1: its answer was cut off by the limit of 16099 tokens, thinking included; \
                  params.thinking_tokens allows it more, and params.reasoning_effort makes it think less";
    assert_eq!(error, format!("the model's answer is of no use: {advice}"));
    // What the settings say is not changed.
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

/// What does not help was not the reason.
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

#[tokio::test]
async fn each_provider_with_a_name_is_reached_with_its_key() {
    for provider in PROVIDERS {
        let server = Server::start(ServerLimits::default()).await;
        let clock = Clock::manual(at(0));
        let mind = mind(provider, &server, &clock);
        let answer = ask(&mind, &clock, PromptVerb::Reply).await.unwrap();
        assert_eq!((&*answer.text, answer.usage.input_tokens), ("fine", INPUT_TOKENS));
        let seen = server.requests().remove(0);
        let (header, expected) = match provider_api(provider) {
            ProviderApi::OpenAi => ("authorization", format!("Bearer {KEY}")),
            ProviderApi::Anthropic => ("x-api-key", KEY.to_owned()),
            ProviderApi::Gemini => ("x-goog-api-key", KEY.to_owned()),
        };
        assert_eq!(seen.headers[header], expected, "{provider:?}");
        assert_eq!(mind.model(), format!("{}/large-1", provider.name()));
    }
}

#[tokio::test]
async fn parameters_have_the_names_that_a_provider_has_for_them() {
    let off = json!({ "type": "disabled" });
    for (provider, effort, key, expected) in [
        (Provider::Mistral, None, "random_seed", json!(7)),
        (Provider::Groq, None, "seed", json!(7)),
        (Provider::DeepSeek, None, "thinking", Value::Null),
        (Provider::DeepSeek, Some("none"), "thinking", off),
        (Provider::DeepSeek, Some("high"), "thinking", json!({ "type": "enabled" })),
        (Provider::Xai, Some("low"), "reasoning_effort", json!("low")),
    ] {
        let server = Server::start(ServerLimits::default()).await;
        let clock = Clock::manual(at(0));
        let mut settings = settings(provider, &server.base);
        settings.params.seed = Some(7);
        settings.params.reasoning_effort = effort.map(str::to_owned);
        let mind = ProviderMind::new(&settings, clock.clone()).unwrap();
        ask(&mind, &clock, PromptVerb::Reply).await.unwrap();
        let body = server.requests().remove(0).body;
        assert_eq!(body[key], expected, "{provider:?} {effort:?} {body}");
    }
}

/// Loading takes longer than answering, and Ollama unloads what nobody asks.
#[tokio::test]
async fn a_model_that_may_be_unloaded_has_more_time() {
    let server = Server::start(ServerLimits::default()).await;
    let clock = Clock::manual(at(0));
    let settings = settings(Provider::Ollama, &server.base);
    let cold_timeout = SignedDuration::from_secs(300);
    let settings = ProviderSettings { cold_timeout, ..settings };
    let mind = ProviderMind::new(&settings, clock.clone()).unwrap();
    let question = prompt(PromptVerb::Reply);
    for (number, limit) in [(0, "5m"), (2, "1m"), (4, "5m")] {
        if number > 0 {
            assert_eq!(mind.ask(&question).await.unwrap().text, "fine");
        }
        if number == 4 {
            clock.advance_to(clock.now() + SignedDuration::from_mins(5));
        }
        server.then([ProviderResponse::Never]);
        let mut asking = pin!(mind.ask(&question));
        let came = pin!(server.came(number + 1));
        assert!(matches!(select(&mut asking, came).await, Either::Right(_)));
        let seconds = if limit == "5m" { 300 } else { 60 };
        clock.advance_to(clock.now() + SignedDuration::from_secs(seconds));
        let error = asking.await.unwrap_err().to_string();
        assert!(error.ends_with(&format!("no answer within {limit}")), "{number} {error}");
    }
}

#[tokio::test]
async fn ollama_is_told_how_long_a_model_stays_loaded() {
    let server = Server::start(ServerLimits::default()).await;
    let clock = Clock::manual(at(0));
    let mut settings = settings(Provider::Ollama, &server.base);
    let extra = json!({ "keep_alive": "2h" });
    settings.params.extra = extra.as_object().unwrap().clone();
    let mind = ProviderMind::new(&settings, clock.clone()).unwrap();
    ask(&mind, &clock, PromptVerb::Reply).await.unwrap();
    ask(&mind, &clock, PromptVerb::Reply).await.unwrap();
    let seen = server.requests();
    let paths: Vec<&str> = seen.iter().map(|seen| &*seen.path).collect();
    assert_eq!(paths, ["/api/generate", "/v1/chat/completions", "/v1/chat/completions"]);
    assert_eq!(seen[0].body, json!({ "model": "large-1", "keep_alive": "2h" }));
}

#[tokio::test]
async fn the_context_of_a_loaded_model_is_known() {
    let server = Server::start(ServerLimits::default()).await;
    server.has_models(&["large-1:latest"]);
    let clock = Clock::manual(at(0));
    let context = ContextLength { tokens: 4096, output_tokens: 99 };
    for (provider, length) in [(Provider::Ollama, Some(context)), (Provider::OpenAi, None)] {
        assert_eq!(mind(provider, &server, &clock).context_length().await, None);
        server.has_context(4096);
        assert_eq!(mind(provider, &server, &clock).context_length().await, length);
    }
}
