//! A fake model server that implements the APIs of three providers as strictly as they do, misbehaves on demand, and
//! also transcribes recordings.

pub mod audio;
pub mod tools;

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, Method, StatusCode};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use serde_json::{Value, json};
use tokio::sync::watch;

use crate::providers::tools::Written;

/// The token counts of every answer.
pub const INPUT_TOKENS: u64 = 120;
pub const CACHED_TOKENS: u64 = 64;
pub const OUTPUT_TOKENS: u64 = 7;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProviderApi {
    OpenAi,
    Anthropic,
    Gemini,
}

/// How the server treats a request.
#[derive(Clone, Debug)]
pub enum ProviderResponse {
    Says(String),
    /// Calls tools, with or without text.
    Calls(&'static str, Vec<Written>),
    /// Truncates or withholds the answer, with the provider's own name for the reason.
    Stops(&'static str, String),
    Status(u16, Vec<(&'static str, String)>, String),
    /// Responds with this content type and body, and a status of success, in violation of the API.
    Raw(&'static str, String),
    /// Closes the connection after the head and a part of the body.
    BreaksOff,
    /// Accepts the request and never responds.
    Never,
    /// Responds with this text once the test calls `release`.
    Held(String),
}

#[derive(Clone, Debug)]
pub struct ProviderRequest {
    pub path: String,
    pub headers: HeaderMap,
    pub body: Value,
}

/// The limitations of a self-hosted server.
#[derive(Clone, Copy, Debug, Default)]
pub struct ServerLimits {
    pub wants_user_turn: bool,
    pub knows_no_schema: bool,
    pub knows_no_tools: bool,
    /// Reports a limitation as an internal error.
    pub fails_instead: bool,
}

pub struct Server {
    pub base: String,
    state: Arc<Inner>,
    task: tokio::task::JoinHandle<()>,
}

struct Inner {
    limits: ServerLimits,
    requests: Mutex<Vec<ProviderRequest>>,
    next: Mutex<VecDeque<ProviderResponse>>,
    /// The models to list.
    models: Mutex<Vec<String>>,
    /// The context length that Ollama reports for these models.
    context_length: Mutex<Option<u64>>,
    /// The only key that is accepted. `None` accepts any key.
    key: Mutex<Option<String>>,
    /// The number of requests received, and of those that the client aborted.
    came: watch::Sender<usize>,
    abandoned: watch::Sender<usize>,
    is_released: watch::Sender<bool>,
}

impl Server {
    pub async fn start(limits: ServerLimits) -> Self {
        let state = Arc::new(Inner {
            limits,
            requests: Mutex::default(),
            next: Mutex::default(),
            models: Mutex::default(),
            context_length: Mutex::default(),
            key: Mutex::default(),
            came: watch::Sender::new(0),
            abandoned: watch::Sender::new(0),
            is_released: watch::Sender::new(false),
        });
        let app = axum::Router::new().fallback(serve).with_state(state.clone());
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        let task = tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
        Self { base, state, task }
    }

    /// Treats the next requests like this. Later ones are answered with "fine".
    pub fn then(&self, responses: impl IntoIterator<Item = ProviderResponse>) {
        self.state.next.lock().unwrap().extend(responses);
    }

    /// Answers the next requests with these texts.
    pub fn will_say(&self, texts: &[&str]) {
        self.then(texts.iter().map(|text| ProviderResponse::Says((*text).to_owned())));
    }

    /// Lists these models, as Ollama and as servers that are compatible with OpenAI do.
    pub fn has_models(&self, names: &[&str]) {
        *self.state.models.lock().unwrap() = names.iter().map(|name| (*name).to_owned()).collect();
    }

    /// Reports, as Ollama does, that these models are loaded with a context of this many tokens.
    pub fn has_context(&self, tokens: u64) {
        *self.state.context_length.lock().unwrap() = Some(tokens);
    }

    /// Rejects requests with any other bearer key from now on.
    pub fn accepts_only(&self, key: &str) {
        *self.state.key.lock().unwrap() = Some(key.to_owned());
    }

    /// The prompt of the last request.
    pub fn prompt(&self) -> String {
        let requests = self.requests();
        requests.last().unwrap().body["messages"][0]["content"].as_str().unwrap().to_owned()
    }

    /// Drops all prepared responses.
    pub fn forget(&self) {
        self.state.next.lock().unwrap().clear();
    }

    pub fn requests(&self) -> Vec<ProviderRequest> {
        self.state.requests.lock().unwrap().clone()
    }

    /// Answers all held requests.
    pub fn release(&self) {
        self.state.is_released.send_replace(true);
    }

    /// Waits until this many requests were received.
    pub async fn came(&self, count: usize) {
        self.state.came.subscribe().wait_for(|came| *came >= count).await.unwrap();
    }

    /// Waits until this many requests were aborted.
    pub async fn abandoned(&self, count: usize) {
        self.state.abandoned.subscribe().wait_for(|gone| *gone >= count).await.unwrap();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Counts a request as aborted when it is dropped, unless it was answered.
struct Watched<'a>(Option<&'a watch::Sender<usize>>);

impl Drop for Watched<'_> {
    fn drop(&mut self) {
        if let Some(abandoned) = self.0 {
            abandoned.send_modify(|count| *count += 1);
        }
    }
}

async fn serve(State(state): State<Arc<Inner>>, request: Request) -> Response {
    let (head, body) = request.into_parts();
    let path = head.uri.path().to_owned();
    let key = state.key.lock().unwrap().clone().map(|key| format!("Bearer {key}"));
    let offered = head.headers.get("authorization").and_then(|value| value.to_str().ok());
    let is_refused = key.is_some() && offered != key.as_deref();
    if head.method == Method::GET {
        let length = *state.context_length.lock().unwrap();
        let list = list(&path, &state.models.lock().unwrap(), length);
        return if is_refused { refused() } else { list };
    }
    let body = axum::body::to_bytes(body, 1 << 22).await.unwrap();
    let is_audio = path == audio::PATH;
    let body = match is_audio {
        true => audio::form(&head.headers, &body),
        false => serde_json::from_slice(&body).unwrap_or(Value::Null),
    };
    let request = ProviderRequest { path: path.clone(), headers: head.headers, body };
    // Ollama's own API reports the parameters that a model sets for itself: here none. This is not recorded, because it
    // does not use a model.
    if path == "/api/show" {
        return axum::Json(json!({})).into_response();
    }
    // Ollama loads a model when it receives an empty prompt.
    if path == "/api/generate" && request.body["prompt"].is_null() {
        state.requests.lock().unwrap().push(request);
        return axum::Json(json!({ "response": "", "done": true })).into_response();
    }
    let complaint = match is_audio {
        true => audio::complaint(&request),
        false => complaint(&request, state.limits),
    };
    state.requests.lock().unwrap().push(request.clone());
    state.came.send_modify(|count| *count += 1);
    let mut watched = Watched(Some(&state.abandoned));
    if is_refused {
        watched.0 = None;
        return refused();
    }
    if let Some((status, complaint)) = complaint {
        watched.0 = None;
        let status = match status {
            StatusCode::BAD_REQUEST if state.limits.fails_instead => {
                StatusCode::INTERNAL_SERVER_ERROR
            }
            status => status,
        };
        let body = json!({ "error": { "code": "invalid_request_error", "message": complaint } });
        return (status, axum::Json(body)).into_response();
    }
    let next = state.next.lock().unwrap().pop_front();
    let api = provider_api(&path).or(is_audio.then_some(ProviderApi::OpenAi));
    let Some(api) = api else { return StatusCode::NOT_FOUND.into_response() };
    let response = match next.unwrap_or_else(|| ProviderResponse::Says("fine".to_owned())) {
        ProviderResponse::Says(text) if is_audio => {
            axum::Json(audio::answer(&text)).into_response()
        }
        ProviderResponse::Says(text) => {
            axum::Json(answer(api, &request, &text, None)).into_response()
        }
        ProviderResponse::Calls(text, calls) => {
            axum::Json(calling(api, &request, text, &calls)).into_response()
        }
        ProviderResponse::Stops(why, text) => {
            axum::Json(answer(api, &request, &text, Some(why))).into_response()
        }
        ProviderResponse::Status(status, headers, body) => {
            let mut response = (StatusCode::from_u16(status).unwrap(), body).into_response();
            for (name, value) in headers {
                response.headers_mut().insert(name, value.parse().unwrap());
            }
            response
        }
        ProviderResponse::Raw(kind, body) => ([("content-type", kind)], body).into_response(),
        ProviderResponse::BreaksOff => {
            let parts =
                [Ok(Bytes::from_static(b"{\"choices\": [")), Err(std::io::Error::other("x"))];
            let body = Body::from_stream(stream::iter(parts));
            ([("content-type", "application/json")], body).into_response()
        }
        ProviderResponse::Never => std::future::pending().await,
        ProviderResponse::Held(text) => {
            let _ = state.is_released.subscribe().wait_for(|is_released| *is_released).await;
            axum::Json(answer(api, &request, &text, None)).into_response()
        }
    };
    watched.0 = None;
    response
}

fn refused() -> Response {
    let body = json!({ "error": { "code": "invalid_api_key", "message": "wrong key" } });
    (StatusCode::UNAUTHORIZED, axum::Json(body)).into_response()
}

/// The response to a request for the list of models. It is not recorded, because it does not use a model.
fn list(path: &str, names: &[String], context_length: Option<u64>) -> Response {
    let list = |key: &str| names.iter().map(|name| json!({ key: name })).collect::<Vec<_>>();
    match path {
        "/api/ps" => {
            let model = |name: &String| json!({ "name": name, "context_length": context_length });
            let loaded: Vec<Value> = names.iter().map(model).collect();
            axum::Json(json!({ "models": loaded })).into_response()
        }
        "/api/tags" => axum::Json(json!({ "models": list("name") })).into_response(),
        "/v1/models" => axum::Json(json!({ "object": "list", "data": list("id") })).into_response(),
        _ => StatusCode::NOT_FOUND.into_response(),
    }
}

fn provider_api(path: &str) -> Option<ProviderApi> {
    match path {
        "/v1/chat/completions" => Some(ProviderApi::OpenAi),
        "/v1/messages" => Some(ProviderApi::Anthropic),
        path if path.starts_with("/v1beta/models/") && path.ends_with(":generateContent") => {
            Some(ProviderApi::Gemini)
        }
        _ => None,
    }
}

/// Why the provider would reject the request, if it would.
fn complaint(
    request: &ProviderRequest,
    limits: ServerLimits,
) -> Option<(StatusCode, &'static str)> {
    let bad = |why| Some((StatusCode::BAD_REQUEST, why));
    let body = &request.body;
    let header = |name: &str| request.headers.get(name).and_then(|value| value.to_str().ok());
    if header("content-type") != Some("application/json") || !body.is_object() {
        return bad("send JSON");
    }
    let has_tools = !body["tools"].is_null();
    let tools = provider_api(&request.path).and_then(|api| tools::complaint(api, body));
    match provider_api(&request.path) {
        _ if limits.knows_no_tools && has_tools => bad("does not support tools"),
        Some(_) if tools.is_some() => bad(tools.unwrap_or_default()),
        None => Some((StatusCode::NOT_FOUND, "no such address")),
        Some(ProviderApi::OpenAi) => {
            let messages = body["messages"].as_array().map_or(&[][..], Vec::as_slice);
            let has_user = messages.iter().any(|message| message["role"] == "user");
            let format = &body["response_format"];
            let schema = &format["json_schema"]["schema"];
            if !header("authorization").is_some_and(|key| key.starts_with("Bearer ")) {
                return Some((StatusCode::UNAUTHORIZED, "no key"));
            }
            match () {
                () if !body["model"].is_string() => bad("no model"),
                () if messages.is_empty() => bad("no messages"),
                () if body["max_tokens"].is_null() && body["max_completion_tokens"].is_null() => {
                    bad("this test wants max_tokens always")
                }
                () if limits.wants_user_turn && !has_user => bad("No user query found"),
                () if limits.knows_no_schema && !format.is_null() => bad("response_format?"),
                () if !format.is_null() && !is_strict(schema) => bad("not a strict schema"),
                () => None,
            }
        }
        Some(ProviderApi::Anthropic) => {
            let first = &body["messages"][0];
            let format = &body["output_config"]["format"];
            if header("x-api-key").is_none() {
                return Some((StatusCode::UNAUTHORIZED, "no key"));
            }
            match () {
                () if header("anthropic-version").is_none() => bad("no version"),
                () if !body["max_tokens"].is_u64() => bad("max_tokens: Field required"),
                () if first["role"] != "user" => bad("at least one message is required"),
                () if !has_text(&first["content"]) => bad("text content must be non-empty"),
                () if !has_text(&body["system"]) => bad("no system"),
                () if !format.is_null() && !is_strict(&format["schema"]) => bad("schema"),
                () => None,
            }
        }
        Some(ProviderApi::Gemini) => {
            let first = &body["contents"][0];
            if header("x-goog-api-key").is_none() {
                return Some((StatusCode::FORBIDDEN, "no key"));
            }
            match () {
                () if !has_text(&first["parts"]) => bad("contents is not specified"),
                () if first["role"] != "user" => bad("use a valid role: user, model"),
                () if !has_text(&body["systemInstruction"]["parts"]) => bad("no system"),
                () if !body["generationConfig"]["maxOutputTokens"].is_u64() => bad("no limit"),
                () => None,
            }
        }
    }
}

/// OpenAI's strict mode requires every property and allows no others.
fn is_strict(schema: &Value) -> bool {
    let properties = schema["properties"].as_object().map_or(0, serde_json::Map::len);
    let required = schema["required"].as_array().map_or(0, Vec::len);
    schema["type"] == "object"
        && properties > 0
        && properties == required
        && schema["additionalProperties"] == false
}

/// Whether a content field, a string or a list of parts, has any text.
fn has_text(value: &Value) -> bool {
    let is_text = |value: &Value| value.as_str().is_some_and(|text| !text.trim().is_empty());
    is_text(value)
        || value.as_array().is_some_and(|parts| parts.iter().any(|part| is_text(&part["text"])))
}

/// A response with tool calls.
fn calling(api: ProviderApi, request: &ProviderRequest, text: &str, calls: &[Written]) -> Value {
    let message = tools::message(api, text, calls);
    let why = if api == ProviderApi::Anthropic { "tool_use" } else { "tool_calls" };
    let mut answer = answer(api, request, text, (api != ProviderApi::Gemini).then_some(why));
    match api {
        ProviderApi::OpenAi => answer["choices"][0]["message"] = message,
        ProviderApi::Anthropic => answer["content"] = message,
        ProviderApi::Gemini => answer["candidates"][0]["content"]["parts"] = message,
    }
    answer
}

fn answer(api: ProviderApi, request: &ProviderRequest, text: &str, stopped: Option<&str>) -> Value {
    let model = &request.body["model"];
    match api {
        ProviderApi::OpenAi => json!({
            "id": "chatcmpl-1", "object": "chat.completion", "created": 1_800_000_000, "model": model,
            "choices": [{
                "index": 0,
                "message": { "role": "assistant", "content": text, "refusal": null },
                "finish_reason": stopped.unwrap_or("stop"),
            }],
            "usage": {
                "prompt_tokens": INPUT_TOKENS, "completion_tokens": OUTPUT_TOKENS,
                "total_tokens": INPUT_TOKENS + OUTPUT_TOKENS,
                "prompt_tokens_details": { "cached_tokens": CACHED_TOKENS },
            },
        }),
        ProviderApi::Anthropic => json!({
            "id": "msg_1", "type": "message", "role": "assistant", "model": model,
            "content": [{ "type": "text", "text": text }],
            "stop_reason": stopped.unwrap_or("end_turn"),
            "usage": {
                "input_tokens": INPUT_TOKENS - CACHED_TOKENS, "cache_read_input_tokens": CACHED_TOKENS,
                "cache_creation_input_tokens": 0, "output_tokens": OUTPUT_TOKENS,
            },
        }),
        ProviderApi::Gemini => json!({
            "candidates": [{
                "content": { "role": "model", "parts": [{ "text": text }] },
                "finishReason": stopped.unwrap_or("STOP"),
            }],
            "usageMetadata": {
                "promptTokenCount": INPUT_TOKENS, "cachedContentTokenCount": CACHED_TOKENS,
                "candidatesTokenCount": OUTPUT_TOKENS, "totalTokenCount": INPUT_TOKENS + OUTPUT_TOKENS,
            },
        }),
    }
}
