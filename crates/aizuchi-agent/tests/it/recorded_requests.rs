//! What is sent to each provider, word by word, and what is read from its answers. The requests are recorded by a server
//! of the test; their keys are sorted, because their order means nothing.

use std::fmt::Write as _;

use aizuchi_harness::fixtures::at;
use aizuchi_harness::providers::{ProviderRequest, ProviderResponse, Server, ServerLimits};
use aizuchi_llm::prompt::picture::Picture;
use aizuchi_llm::prompt::tool::{ToolResult, ToolRound, ToolSpec};
use aizuchi_llm::prompt::{Prompt, PromptVerb};
use aizuchi_llm::provider::{ModelParams, ProviderMind, ProviderSettings};
use aizuchi_llm::provider_list::{PROVIDERS, Provider};
use aizuchi_llm::{Llm, LlmError, LlmResponse};
use aizuchi_model::clock::Clock;
use aizuchi_model::decision::Usage;
use aizuchi_model::memory::Lineage;
use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::models::{advance_while, prompt, settings};

/// One provider of each format, and the two that differ from theirs.
const FORMATS: [Provider; 5] = [
    Provider::OpenAi,
    Provider::Mistral,
    Provider::DeepSeek,
    Provider::Anthropic,
    Provider::Gemini,
];
/// The headers that the HTTP client adds.
const CLIENT_HEADERS: [&str; 5] =
    ["accept", "accept-encoding", "content-length", "host", "user-agent"];

fn short(verb: PromptVerb) -> Prompt {
    Prompt { text: "You are kind.".to_owned(), tokens: 3, ..prompt(verb) }
}

fn offering() -> Prompt {
    let parameters = json!({
        "type": "object",
        "properties": { "name": { "type": "string" } },
        "required": ["name"],
    });
    short(PromptVerb::Reply).with_tools(vec![
        ToolSpec { name: "get_memo".into(), description: "Reads a memo.".into(), parameters },
        ToolSpec {
            name: "list_memo".into(),
            description: "Lists memos.".into(),
            parameters: json!({ "type": "object", "properties": {} }),
        },
    ])
}

/// A model, and what has been recorded of it.
struct Recorder {
    server: Server,
    clock: Clock,
    text: String,
}

impl Recorder {
    async fn new() -> Self {
        let server = Server::start(ServerLimits::default()).await;
        Self { server, clock: Clock::manual(at(0)), text: String::new() }
    }

    fn settings(&self, provider: Provider, model_name: &str) -> ProviderSettings {
        let settings = settings(provider, &self.server.base);
        ProviderSettings { model_name: model_name.to_owned(), max_attempts: 1, ..settings }
    }

    fn mind(&self, settings: &ProviderSettings) -> ProviderMind {
        ProviderMind::new(settings, self.clock.clone()).unwrap()
    }

    async fn ask(&self, mind: &ProviderMind, prompt: &Prompt) -> Result<LlmResponse, LlmError> {
        let limit = self.clock.now() + jiff::SignedDuration::from_secs(59);
        advance_while(&self.clock, limit, mind.ask(prompt)).await
    }

    /// Records what is sent for a prompt, and what is read from the answer.
    async fn record(&mut self, what: &str, mind: &ProviderMind, prompt: &Prompt) -> LlmResponse {
        let before = self.server.requests().len();
        let _ = writeln!(self.text, "# {what}");
        let answer = self.ask(mind, prompt).await;
        for request in &self.server.requests()[before..] {
            self.text.push_str(&written(request));
        }
        let _ = writeln!(self.text, "→ {}\n", answer_line(&answer));
        answer.unwrap_or_else(|_| LlmResponse::new(String::new(), Usage::default()))
    }
}

/// A request with its keys sorted, one of the outermost on each line.
fn written(request: &ProviderRequest) -> String {
    let mut text = format!("POST {}\n", request.path);
    let headers = request.headers.iter();
    let headers = headers.filter(|(name, _)| !CLIENT_HEADERS.contains(&name.as_str()));
    let headers = headers.map(|(name, value)| format!("{name}: {}\n", value.to_str().unwrap()));
    let mut headers: Vec<String> = headers.collect();
    headers.sort();
    text.extend(headers);
    let Value::Object(body) = sorted(&request.body) else { panic!("{}", request.body) };
    for (key, value) in body {
        let _ = writeln!(text, "  {key} {value}");
    }
    text
}

fn sorted(value: &Value) -> Value {
    match value {
        Value::Object(object) => {
            let mut pairs: Vec<(&String, &Value)> = object.iter().collect();
            pairs.sort_by_key(|(key, _)| *key);
            pairs.into_iter().map(|(key, value)| (key.clone(), sorted(value))).collect()
        }
        Value::Array(list) => list.iter().map(sorted).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.clone(),
    }
}

fn answer_line(answer: &Result<LlmResponse, LlmError>) -> String {
    match answer {
        Ok(answer) => {
            let calls = answer.tool_calls.iter();
            let calls =
                calls.map(|call| format!(" {:?}:{}({})", call.id, call.name, call.arguments));
            let calls: String = calls.collect();
            let Usage {
                input_tokens,
                cached_tokens,
                cache_write_tokens,
                output_tokens,
                is_estimated,
            } = answer.usage;
            let tokens = [input_tokens, cached_tokens, cache_write_tokens, output_tokens];
            let mark = if is_estimated { "≈" } else { "" };
            format!("{:?}{calls} {mark}{tokens:?}", answer.text)
        }
        Err(LlmError::Busy { why, usage, .. }) => {
            format!("busy: {why} {:?}", [usage.input_tokens, usage.output_tokens])
        }
        Err(LlmError::Unusable { why, usage }) => {
            format!("useless: {why} {:?}", [usage.input_tokens, usage.output_tokens])
        }
        Err(error @ (LlmError::TimedOut(_) | LlmError::Refused(_))) => error.to_string(),
    }
}

fn raw(body: &Value) -> ProviderResponse {
    ProviderResponse::Raw("application/json", body.to_string())
}

fn refuses(message: &str) -> ProviderResponse {
    let body = json!({ "error": { "message": message, "type": "invalid_request_error" } });
    ProviderResponse::Status(400, vec![], body.to_string())
}

/// A round in which each call is answered with its name.
fn round(answer: LlmResponse) -> ToolRound {
    let results = answer.tool_calls.into_iter().map(|call| {
        let text = format!("about {}", call.name);
        ToolResult { call, text, lineage: Lineage::default() }
    });
    ToolRound {
        text: answer.text,
        results: results.collect(),
        assistant_message: answer.assistant_message,
    }
}

#[tokio::test]
async fn a_reply_of_each_provider() {
    let mut recorder = Recorder::new().await;
    for provider in PROVIDERS {
        let mut settings = recorder.settings(provider, "large-1");
        settings.headers.insert("x-title".to_owned(), "Aizuchi".to_owned().into());
        let mind = recorder.mind(&settings);
        recorder.record(provider.name(), &mind, &short(PromptVerb::Reply)).await;
    }
    let mut settings = recorder.settings(Provider::OpenAi, "large-1");
    settings.api_key = None;
    recorder.record("without a key", &recorder.mind(&settings), &short(PromptVerb::Reply)).await;
    for provider in [Provider::OpenAi, Provider::Anthropic] {
        let mut settings = recorder.settings(provider, "large-1");
        settings.api_base = settings.api_base.replace("http://", "http://alice:secret@");
        let what = format!("{} behind a password", provider.name());
        recorder.record(&what, &recorder.mind(&settings), &short(PromptVerb::Reply)).await;
    }
    assert_snapshot!(recorder.text);
}

#[tokio::test]
async fn a_judgment_with_every_parameter() {
    let mut recorder = Recorder::new().await;
    for provider in FORMATS {
        for extra in [json!({}), json!({ "seed": 8, "generationConfig": { "topK": 3 } })] {
            let mut settings = recorder.settings(provider, "large-1");
            settings.params = ModelParams {
                temperature: Some(0.5),
                max_tokens: Some(300),
                thinking_tokens: Some(1000),
                top_p: Some(0.25),
                stop: vec!["END".to_owned(), "STOP".to_owned()],
                seed: Some(7),
                reasoning_effort: Some("low".to_owned()),
                extra: extra.as_object().unwrap().clone(),
            };
            let mind = recorder.mind(&settings);
            let what = format!("{} {extra}", provider.name());
            recorder.record(&what, &mind, &short(PromptVerb::Judge)).await;
        }
    }
    assert_snapshot!(recorder.text);
}

/// What a request says of thinking and of its limit, for each effort of each kind of model.
#[tokio::test]
async fn the_effort_of_each_model() {
    let models = [
        (
            Provider::OpenAi,
            &["gpt-4o", "gpt-5-mini", "gpt-5.6", "gpt-6", "o3-mini", "o1", "gpt-oss"][..],
        ),
        (Provider::OpenRouter, &["openai/gpt-5-mini"]),
        (Provider::Mistral, &["magistral-small", "mistral-medium"]),
        (Provider::DeepSeek, &["deepseek-chat", "deepseek-r1-zero"]),
        (
            Provider::Anthropic,
            &[
                "large-1",
                "large-high",
                "claude-3-5-sonnet-latest",
                "claude-3-opus-20240229",
                "claude-sonnet-4-20250514",
                "claude-sonnet-4-5",
                "claude-sonnet-4-6",
                "claude-sonnet-5",
                "claude-sonnet-5-20270110",
                "claude-sonnet-6",
                "claude-opus-4-1",
                "claude-opus-4-20250514",
                "claude-opus-4-5",
                "claude-opus-4-6",
                "claude-opus-4-7",
                "claude-opus-5",
                "claude-opus-6",
                "claude-haiku-4-5",
                "claude-haiku-5",
                "claude-haiku-5-1-20270110",
                "claude-fable-5",
                "claude-mythos-preview",
                "us.anthropic.claude-opus-4-6-v1:0",
                "us.anthropic.claude-opus-5-v1:0",
                "vendor/claude-sonnet-5",
                "vendor/claude-haiku-5",
                "vendor/claude-opus-4-5",
            ],
        ),
        (
            Provider::Gemini,
            &[
                "gemini-2.0-flash", "gemini-2.5-flash", "gemini-2.5-pro", "gemini-3-pro-preview",
                "gemini-3-flash", "gemma-4-9b", "gemini-2.5-flash-high",
            ],
        ),
    ];
    let efforts = ["unset", "none", "minimal", "low", "medium", "high"];
    let mut recorder = Recorder::new().await;
    for (provider, names) in models {
        for name in names {
            let _ = writeln!(recorder.text, "# {}/{name}", provider.name());
            // The efforts for which the request is the same, with that request.
            let mut sent: Vec<(String, String)> = Vec::new();
            for effort in efforts {
                let mut settings = recorder.settings(provider, name);
                settings.params = ModelParams {
                    reasoning_effort: Some(effort.to_owned()).filter(|effort| effort != "unset"),
                    ..ModelParams::default()
                };
                let mind = recorder.mind(&settings);
                recorder.ask(&mind, &short(PromptVerb::Reply)).await.unwrap();
                let request = recorder.server.requests().pop().unwrap();
                let mut body = sorted(&request.body);
                let is_elsewhere = |key: &str, value: &Value| {
                    ["messages", "contents", "system", "systemInstruction", "stream"].contains(&key)
                        || (key == "model" && value == name)
                };
                body.as_object_mut().unwrap().retain(|key, value| !is_elsewhere(key, value));
                let line = format!("{} {body}", request.path.replace(name, "…"));
                match sent.last_mut() {
                    Some((efforts, known)) if *known == line => *efforts += &format!(" {effort}"),
                    _ => sent.push((effort.to_owned(), line)),
                }
            }
            recorder.text.extend(sent.iter().map(|(efforts, line)| format!("{efforts}: {line}\n")));
        }
    }
    assert_snapshot!(recorder.text);
}

#[tokio::test]
async fn a_picture_a_check_and_what_is_cached() {
    let mut recorder = Recorder::new().await;
    let picture = Picture { media_type: "image/png", bytes: (&b"PNG"[..]).into() };
    let picture = Prompt { picture: Some(picture), ..short(PromptVerb::Reply) };
    for provider in FORMATS {
        let mind = recorder.mind(&recorder.settings(provider, "large-1"));
        recorder.record(&format!("{}: a picture", provider.name()), &mind, &picture).await;
        let checked = mind.check().await.unwrap();
        let check = written(&recorder.server.requests().pop().unwrap());
        let (input, output) = (checked.input_tokens, checked.output_tokens);
        let _ = writeln!(recorder.text, "# a check\n{check}→ {input} {output}\n");
    }
    // Repeated parts are shortened, but long enough to be cached.
    let paragraph = format!("{}\n\n", "Be kind. ".repeat(600));
    let system = |lines: usize| format!("{paragraph}{}---\nNow\n", paragraph.repeat(lines));
    for provider in [Provider::Anthropic, Provider::OpenAi, Provider::Gemini] {
        let mind = recorder.mind(&recorder.settings(provider, "large-1"));
        for (lines, prompt) in [(3, short(PromptVerb::Reply)), (3, offering()), (4, offering())] {
            let prompt = Prompt { text: system(lines), ..prompt };
            let what = format!("{}: {lines} lines", provider.name());
            recorder.record(&what, &mind, &prompt).await;
        }
    }
    let text = recorder.text.replace(&"Be kind. ".repeat(600), "Be kind. × 600");
    assert_snapshot!(text);
}

#[tokio::test]
async fn changes_that_a_server_asks_for() {
    let mut recorder = Recorder::new().await;
    for provider in FORMATS {
        let mut settings = recorder.settings(provider, "large-1");
        settings.params = ModelParams {
            temperature: Some(0.5),
            thinking_tokens: Some(9000),
            top_p: Some(0.25),
            stop: vec!["END".to_owned()],
            seed: Some(7),
            reasoning_effort: Some("low".to_owned()),
            extra: json!({ "top_k": 3 }).as_object().unwrap().clone(),
            ..ModelParams::default()
        };
        let words = [
            "`temperature`",
            "top_p and topP",
            "stop_sequences, stop",
            "seed",
            "reasoning_effort, thinking.type: no",
            "Unknown name \"top_k\"",
            "Use max_completion_tokens instead of max_tokens",
            "max_tokens is too large: 9999",
        ];
        recorder.server.then(words.map(refuses));
        let mind = recorder.mind(&settings);
        recorder.record(provider.name(), &mind, &short(PromptVerb::Reply)).await;
        recorder.server.forget();
        recorder.record("after that", &mind, &short(PromptVerb::Reply)).await;
    }
    let mind = recorder.mind(&recorder.settings(Provider::OpenAi, "large-1"));
    recorder.server.then([refuses("no"), refuses("no")]);
    recorder.record("another shape", &mind, &short(PromptVerb::Judge)).await;
    assert_snapshot!(recorder.text);
}

/// The calls of a model, with all that it wants back, and what it is sent after it: as its own and as another model's.
#[tokio::test]
async fn tools_and_their_results() {
    let openai_call = |id: &str, name: &str, arguments: Value| json!({ "id": id, "type": "function", "function": { "name": name, "arguments": arguments } });
    let openai = |message: Value| {
        json!({
            "choices": [{ "index": 0, "message": message, "finish_reason": "tool_calls" }],
            "usage": { "prompt_tokens": 120, "completion_tokens": 7 },
        })
    };
    let anthropic = |content: Value| {
        json!({
            "type": "message", "role": "assistant", "content": content, "stop_reason": "tool_use",
            "usage": { "input_tokens": 50, "cache_read_input_tokens": 64, "cache_creation_input_tokens": 6,
                "output_tokens": 7 },
        })
    };
    let gemini = |parts: Value| {
        json!({
            "candidates": [{ "content": { "role": "model", "parts": parts }, "finishReason": "STOP" }],
            "usageMetadata": { "promptTokenCount": 120, "candidatesTokenCount": 7, "thoughtsTokenCount": 3 },
        })
    };
    let tea = json!(r#"{"name": "tea"}"#);
    let plain = json!([openai_call("call_1", "get_memo", tea.clone())]);
    let mut signed = plain.clone();
    signed[0]["extra_content"] = json!({ "google": { "thought_signature": "sign" } });
    signed[0]["provider_specific_fields"] = json!({ "thought_signature": "sign" });
    let broken = json!([
        openai_call("call_1", "get_memo", json!(r#"{"name": "tea"#)),
        openai_call("call_1", "no such tool\n", json!(r#""tea""#)),
        { "id": "call_3", "function": { "name": "list_memo" } },
        openai_call("", "list_memo", json!("")),
    ]);
    let use_of = |id: &str| json!({ "type": "tool_use", "id": id, "name": "get_memo", "input": { "name": "tea" } });
    let cases = [
        (
            Provider::OpenAi,
            "large-1",
            "one call",
            openai(json!({ "content": null, "tool_calls": plain })),
        ),
        (
            Provider::OpenAi,
            "large-1",
            "arguments that are an object, and a text",
            openai(json!({
                "content": "I look. ",
                "tool_calls": [openai_call("a", "get_memo", json!({ "name": "tea" })), openai_call("b", "list_memo", json!("{}"))],
            })),
        ),
        (
            Provider::OpenAi,
            "large-1",
            "malformed calls",
            openai(json!({ "content": "Hm.", "tool_calls": broken, "reasoning_content": "think" })),
        ),
        (
            Provider::OpenAi,
            "large-1",
            "what LiteLLM adds",
            openai(json!({
                "content": "", "tool_calls": signed, "reasoning_content": "think",
                "thinking_blocks": [{ "type": "thinking", "thinking": "think", "signature": "sign" }],
            })),
        ),
        (
            Provider::OpenRouter,
            "a/large-1",
            "details of thinking",
            openai(json!({
                "content": "", "tool_calls": plain, "reasoning": "think",
                "reasoning_details": [
                    { "type": "reasoning.text", "text": "think", "signature": "sign", "index": 0 },
                    { "type": "reasoning.encrypted", "data": "hidden", "index": 1 },
                ],
            })),
        ),
        (
            Provider::Mistral,
            "magistral",
            "chunks of thinking",
            openai(json!({
                "content": [
                    { "type": "thinking", "thinking": [{ "type": "text", "text": "think" }] },
                    { "type": "text", "text": "I look." },
                ],
                "tool_calls": plain,
            })),
        ),
        (
            Provider::Mistral,
            "magistral",
            "chunks of thinking alone",
            openai(json!({
                "content": [{ "type": "thinking", "thinking": [{ "type": "text", "text": "think" }] }],
                "tool_calls": plain,
            })),
        ),
        (
            Provider::DeepSeek,
            "reasoner",
            "thinking beside the text",
            openai(json!({ "content": "", "tool_calls": plain, "reasoning_content": " think " })),
        ),
        (
            Provider::Anthropic,
            "large-1",
            "signed and hidden thinking",
            anthropic(json!([
                { "type": "thinking", "thinking": "one", "signature": "sign 1" },
                { "type": "redacted_thinking", "data": "hidden" },
                { "type": "thinking", "thinking": "two", "signature": "sign 2" },
                { "type": "text", "text": "I look." },
                use_of("toolu_1"),
                { "type": "tool_use", "id": "toolu_2", "name": "list_memo", "input": {} },
            ])),
        ),
        (
            Provider::Anthropic,
            "large-1",
            "equal ids",
            anthropic(json!([
                { "type": "thinking", "thinking": "one", "signature": "sign 1" }, use_of("toolu_1"), use_of("toolu_1"),
            ])),
        ),
        (
            Provider::Anthropic,
            "large-1",
            "malformed calls",
            anthropic(json!([
                { "type": "tool_use", "id": "toolu_1", "name": "no such tool\n", "input": "tea" },
                { "type": "tool_use", "id": "toolu_2", "name": "list_memo" },
            ])),
        ),
        (
            Provider::Gemini,
            "gemini-2.5-flash",
            "ids, a thought and signatures",
            gemini(json!([
                { "text": "think", "thought": true },
                { "text": "I look.", "thoughtSignature": "sign 0" },
                { "functionCall": { "id": "x1", "name": "get_memo", "args": { "name": "tea" } }, "thoughtSignature": "sign 1" },
                { "functionCall": { "id": "x2", "name": "list_memo", "args": {} } },
            ])),
        ),
        (
            Provider::Gemini,
            "gemini-2.5-flash",
            "no ids",
            gemini(json!([
                { "text": "", "thoughtSignature": "sign 0" },
                { "functionCall": { "name": "get_memo", "args": { "name": "tea" } } },
                { "functionCall": { "name": "get_memo" } },
            ])),
        ),
        (
            Provider::Gemini,
            "gemini-3-pro",
            "no signature",
            gemini(
                json!([{ "functionCall": { "name": "get_memo", "args": { "name": "tea" } } }, { "functionCall": { "name": "list_memo" } }]),
            ),
        ),
    ];
    let mut recorder = Recorder::new().await;
    for (provider, name, what, answer) in cases {
        let mind = recorder.mind(&recorder.settings(provider, name));
        let mut prompt = offering();
        recorder.server.then([raw(&answer), raw(&answer)]);
        let what = format!("{} {name}: {what}", provider.name());
        let first = recorder.record(&what, &mind, &prompt).await;
        prompt.tool_rounds.push(round(first));
        let second = recorder.record("and once more", &mind, &prompt).await;
        recorder.server.forget();
        prompt.tool_rounds.push(round(second));
        prompt.tool_rounds[1].results.truncate(1);
        recorder.record("after two rounds", &mind, &prompt).await;
    }
    let mut prompt = offering();
    let answer = openai(
        json!({ "content": "I look.", "tool_calls": [plain[0], openai_call("", "", json!("[1]"))] }),
    );
    recorder.server.then([raw(&answer)]);
    let mind = recorder.mind(&recorder.settings(Provider::OpenAi, "large-1"));
    prompt.tool_rounds.push(round(recorder.ask(&mind, &prompt).await.unwrap()));
    for (provider, name) in [
        (Provider::OpenAi, "large-2"),
        (Provider::Anthropic, "large-1"),
        (Provider::Gemini, "gemini-2.5-flash"),
        (Provider::Gemini, "gemini-3-flash"),
    ] {
        let mind = recorder.mind(&recorder.settings(provider, name));
        let what = format!("{} {name}: another model's calls", provider.name());
        recorder.record(&what, &mind, &prompt).await;
    }
    recorder.server.then([refuses("no tools"), refuses("no tools")]);
    let mind = recorder.mind(&recorder.settings(Provider::Ollama, "large-1"));
    recorder.record("without tools", &mind, &prompt).await;
    assert_snapshot!(recorder.text);
}

/// What is read from answers, well formed or not.
#[tokio::test]
async fn answers_of_each_format() {
    let openai = |choice: Value| json!({ "choices": [choice] });
    let message = |message: Value| openai(json!({ "message": message, "finish_reason": "stop" }));
    let anthropic = |content: Value| json!({ "content": content, "stop_reason": "end_turn" });
    let gemini = |parts: Value| json!({ "candidates": [{ "content": { "parts": parts }, "finishReason": "STOP" }] });
    let mut cases = vec![
        (Provider::OpenAi, message(json!({ "content": " padded \n" }))),
        (
            Provider::OpenAi,
            message(json!({ "content": "fine", "tool_calls": null, "refusal": null })),
        ),
        (Provider::OpenAi, message(json!({ "content": null, "refusal": "I will not." }))),
        (
            Provider::OpenAi,
            message(
                json!({ "content": [{ "type": "text", "text": "one " }, { "type": "text", "text": "two" }] }),
            ),
        ),
        (
            Provider::OpenAi,
            message(
                json!({ "content": [{ "type": "thinking", "thinking": "hm" }, { "type": "text", "text": "one" }] }),
            ),
        ),
        (Provider::OpenAi, message(json!({ "content": ["one"] }))),
        (Provider::OpenAi, message(json!({ "content": 7 }))),
        (Provider::OpenAi, message(json!({ "content": "", "reasoning": "hm" }))),
        (
            Provider::OpenAi,
            message(
                json!({ "content": "fine", "reasoning": "a long thought, not counted", "reasoning_content": "b" }),
            ),
        ),
        (
            Provider::OpenAi,
            message(json!({ "content": "fine", "reasoning": {}, "reasoning_content": "b" })),
        ),
        (Provider::OpenAi, message(json!({ "content": "fine", "tool_calls": {} }))),
        (Provider::OpenAi, message(json!({ "content": "fine", "tool_calls": [] }))),
        (Provider::OpenAi, message(json!({ "content": "fine", "tool_calls": ["x"] }))),
        (Provider::OpenAi, message(json!({}))),
        (Provider::OpenAi, openai(json!({ "finish_reason": "stop" }))),
        (Provider::OpenAi, openai(json!({ "message": "fine" }))),
        (Provider::OpenAi, openai(json!({ "text": "fine" }))),
        (Provider::OpenAi, openai(json!({ "message": { "content": "fine" }, "finish_reason": 7 }))),
        (Provider::OpenAi, json!({ "choices": [] })),
        (Provider::OpenAi, json!({ "choices": null })),
        (Provider::OpenAi, json!({ "choices": "x" })),
        (Provider::OpenAi, json!({ "choices": {} })),
        (Provider::OpenAi, json!({ "text": "fine" })),
        (Provider::OpenAi, json!("fine")),
        (Provider::OpenAi, json!(null)),
        (Provider::OpenAi, json!([{ "choices": [] }])),
        (
            Provider::Anthropic,
            anthropic(
                json!([{ "type": "text", "text": " one \n" }, { "type": "text", "text": "two " }]),
            ),
        ),
        (
            Provider::Anthropic,
            anthropic(
                json!([{ "type": "thinking", "thinking": "hm", "signature": "s" }, { "type": "text", "text": "fine" }]),
            ),
        ),
        (
            Provider::Anthropic,
            anthropic(
                json!([{ "type": "thinking", "thinking": "hm" }, { "type": "text", "text": "fine" }]),
            ),
        ),
        (
            Provider::Anthropic,
            anthropic(json!([{ "type": "mystery", "x": 1 }, { "type": "text", "text": "fine" }])),
        ),
        (Provider::Anthropic, anthropic(json!([{ "text": "fine" }]))),
        (Provider::Anthropic, anthropic(json!([{ "type": "text" }]))),
        (Provider::Anthropic, anthropic(json!([{ "type": "text", "text": null }]))),
        (Provider::Anthropic, anthropic(json!([{ "type": "tool_use", "name": "x" }]))),
        (Provider::Anthropic, anthropic(json!(["fine"]))),
        (Provider::Anthropic, anthropic(json!([]))),
        (Provider::Anthropic, anthropic(json!("fine"))),
        (Provider::Anthropic, anthropic(json!(null))),
        (Provider::Anthropic, json!({ "type": "message" })),
        (Provider::Gemini, gemini(json!([{ "text": "one " }, { "text": "two\n" }]))),
        (Provider::Gemini, gemini(json!([{ "text": "hm", "thought": true }, { "text": "fine" }]))),
        (
            Provider::Gemini,
            gemini(
                json!([{ "text": "one" }, { "inlineData": { "mimeType": "image/png", "data": "UE5H" } }, { "text": "two" }]),
            ),
        ),
        (
            Provider::Gemini,
            gemini(json!([{ "text": "one" }, { "text": "two", "thoughtSignature": "s" }])),
        ),
        (Provider::Gemini, gemini(json!([{ "executableCode": {} }, { "text": "fine" }]))),
        (Provider::Gemini, gemini(json!([{ "text": 7 }]))),
        (Provider::Gemini, gemini(json!(["fine"]))),
        (Provider::Gemini, gemini(json!([]))),
        (Provider::Gemini, gemini(json!(null))),
        (Provider::Gemini, gemini(json!("fine"))),
        (Provider::Gemini, json!({ "candidates": [{ "finishReason": "SAFETY" }] })),
        (
            Provider::Gemini,
            json!({ "candidates": [{ "finishReason": "MALFORMED_FUNCTION_CALL" }] }),
        ),
        (Provider::Gemini, json!({ "candidates": [] })),
        (Provider::Gemini, json!({ "candidates": null })),
        (Provider::Gemini, json!({ "usageMetadata": { "promptTokenCount": 5 } })),
        (Provider::Gemini, json!({ "promptFeedback": { "blockReason": "SAFETY" } })),
        (
            Provider::Gemini,
            json!({ "promptFeedback": { "blockReason": "SAFETY" }, "candidates": [] }),
        ),
        (
            Provider::Gemini,
            json!({ "promptFeedback": {}, "usageMetadata": { "promptTokenCount": 5 } }),
        ),
    ];
    let reasons = [
        "stop",
        "length",
        "model_length",
        "incomplete",
        "model_context_window_exceeded",
        "max_tokens",
        "MAX_TOKENS",
        "content_filter",
        "refusal",
        "SAFETY",
        "RECITATION",
        "BLOCKLIST",
        "PROHIBITED_CONTENT",
        "SPII",
        "LANGUAGE",
        "IMAGE_SAFETY",
        "ERROR_TOXIC",
        "OTHER",
        "error",
        "pause_turn",
    ];
    for reason in reasons {
        cases.push((
            Provider::OpenAi,
            openai(json!({ "message": { "content": "fine" }, "finish_reason": reason })),
        ));
        cases.push((
            Provider::Anthropic,
            json!({ "content": [{ "type": "text", "text": "fine" }], "stop_reason": reason }),
        ));
        cases.push((Provider::Gemini, json!({ "candidates": [{ "content": { "parts": [{ "text": "fine" }] }, "finishReason": reason }] })));
    }
    let mut recorder = Recorder::new().await;
    for (provider, answer) in cases {
        // Another model for each answer, because one learns from answers that were cut off.
        let mind = recorder.mind(&recorder.settings(provider, "large-1"));
        recorder.server.then([raw(&answer)]);
        let said = recorder.ask(&mind, &short(PromptVerb::Reply)).await;
        let _ = writeln!(recorder.text, "{answer}\n    {}", answer_line(&said));
    }
    for kind in ["application/json; charset=utf-8", "text/plain", "application/problem+json", ""] {
        let mind = recorder.mind(&recorder.settings(Provider::OpenAi, "large-1"));
        let body = message(json!({ "content": "fine" })).to_string();
        recorder.server.then([ProviderResponse::Raw(kind, body)]);
        let said = recorder.ask(&mind, &short(PromptVerb::Reply)).await;
        let _ = writeln!(recorder.text, "as {kind:?}\n    {}", answer_line(&said));
    }
    assert_snapshot!(recorder.text);
}
