//! The APIs of real models, in each provider's format: the request, the parsed answer, and the behavior if there is
//! none.

use std::pin::pin;
use std::sync::Arc;

use aizuchi_agent::agent::judge;
use aizuchi_harness::fixtures::{at, message, top_level};
use aizuchi_harness::providers::{
    CACHED_TOKENS, INPUT_TOKENS, OUTPUT_TOKENS, ProviderApi, ProviderResponse, Server, ServerLimits,
};
use aizuchi_llm::prompt::builder::PromptOptions;
use aizuchi_llm::prompt::picture::Picture;
use aizuchi_llm::prompt::{Prompt, PromptVerb};
use aizuchi_llm::provider::{ModelParams, ProviderMind, ProviderSettings};
use aizuchi_llm::provider_list::{PROVIDERS, Provider, WireFormat};
use aizuchi_llm::{ContextLength, Llm, LlmError, LlmResponse};
use aizuchi_model::clock::Clock;
use aizuchi_model::context::Context;
use aizuchi_model::context::channel_messages::ChannelMessages;
use aizuchi_model::decision::Usage;
use aizuchi_model::persona::{Language, Persona};
use futures_util::future::{Either, select};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use crate::model_failures::server_tries;

/// A secret that no error may contain.
pub const KEY: &str = "sk-test-0123456789abcdef";
pub const CHAT: &str = "the treasure is under the old oak";

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

/// Longer than any model takes in these tests.
pub const LIMIT: SignedDuration = SignedDuration::from_mins(10);

/// Advances the clock past every wait that ends before `limit`, so that no test actually waits.
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

/// A prompt that is long enough to be cached.
fn long_prompt() -> Prompt {
    let prompt = prompt(PromptVerb::Judge);
    Prompt { text: "Be kind to the roses. ".repeat(300) + &prompt.text, ..prompt }
}

/// Only what was sent shortly before is marked: caching it costs a quarter more.
#[tokio::test]
async fn anthropic_is_told_what_to_keep_in_its_cache() {
    let server = Server::start(ServerLimits::default()).await;
    let clock = Clock::manual(at(0));
    let mind = mind(Provider::Anthropic, &server, &clock);
    for second in [0, 60, 600] {
        clock.advance_to(at(second));
        let prompt = long_prompt();
        let asked = advance_while(&clock, at(second + 59), mind.ask(&prompt));
        asked.await.unwrap();
    }
    let text = long_prompt().text;
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
        let judgment =
            judge::parse::parse_judgment(&answer.text, &prompt(PromptVerb::Judge)).unwrap();
        assert_eq!((judgment.should_respond, judgment.confidence), (true, 0.75), "{provider:?}");
        let body = server.requests().remove(0).body;
        let schema = match provider_api(provider) {
            ProviderApi::OpenAi => body["response_format"]["json_schema"]["schema"].clone(),
            ProviderApi::Anthropic => body["output_config"]["format"]["schema"].clone(),
            ProviderApi::Gemini => body["generationConfig"]["responseJsonSchema"].clone(),
        };
        let fields: Vec<&String> = schema["properties"].as_object().unwrap().keys().collect();
        let expected = [
            "should_respond", "reason", "confidence", "delay_seconds", "about",
            "look_again_seconds", "conversation_state",
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
        // As in llama.cpp. Such a failure must occur twice.
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
            // The shape that the server accepted is remembered.
            assert_eq!(server.requests().len(), expected, "{limits:?}");
        }
    }
}

#[tokio::test]
async fn a_check_costs_one_token() {
    for provider in EVERYONE {
        let server = Server::start(ServerLimits::default()).await;
        let clock = Clock::manual(at(0));
        let mind = mind(provider, &server, &clock);
        server.then([ProviderResponse::Stops("length", String::new())]);
        mind.check().await.unwrap();
        // A reasoning model refuses a limit of one token, and then gets a higher one.
        let refusal = || ProviderResponse::Status(400, vec![], String::new());
        server.then((0..server_tries(provider)).map(|_| refusal()));
        mind.check().await.unwrap();
        let limits = server.requests().into_iter().map(|seen| match provider_api(provider) {
            ProviderApi::OpenAi | ProviderApi::Anthropic => seen.body["max_tokens"].clone(),
            ProviderApi::Gemini => seen.body["generationConfig"]["maxOutputTokens"].clone(),
        });
        let limits: Vec<Value> = limits.collect();
        assert_eq!((&limits[0], limits.last()), (&json!(1), Some(&json!(99))), "{provider:?}");
        // There are no retries, since a user is waiting.
        server.then([ProviderResponse::Status(503, vec![], String::new())]);
        let error = mind.check().await.unwrap_err().to_string();
        assert!(error.ends_with("it is in trouble itself (503)"), "{error}");
    }
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

/// Loading takes longer than answering, and Ollama unloads idle models.
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
