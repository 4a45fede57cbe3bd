//! Models behind their providers' APIs, through `genai`: it knows the wire formats, and here is what
//! it leaves to its caller. Every call has an end in time, what passes is tried again a few times,
//! and no word of a request or an answer gets into an error.

mod response;
mod tools;
mod error;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};

use async_trait::async_trait;
use genai::adapter::AdapterKind;
use genai::chat::{
    ChatMessage, ChatOptions, ChatRequest, ChatResponse, JsonSpec, ReasoningEffort, Tool,
};
use genai::resolver::{AuthData, Endpoint};
use genai::{Client, ModelIden, ServiceTarget};
use jiff::SignedDuration;
use secrecy::{ExposeSecret, SecretString};
use serde_json::{Map, Value};

use crate::clock::{Clock, duration_from_seconds, seeded_random};
use crate::llm::model::Provider;
use crate::llm::provider::error::{CallError, from_genai, is_not_found};
use crate::llm::provider::response::parse_response;
use crate::llm::{Llm, LlmError, LlmResponse};
use crate::prompt::Prompt;

/// Where no `max_tokens` is set: some providers' own default is their model's whole capacity.
pub const DEFAULT_MAX_TOKENS: u32 = 2048;
/// The same for a model that is to think: Anthropic's highest effort is given 24 000 tokens.
const REASONING_MAX_TOKENS: u32 = 32_000;
/// The user turn for those that refuse a request which is a system message alone.
const MINIMAL_USER_TURN: &str = ".";
/// How long a server that seems to know no tools is offered none. It may have refused something else.
const TOOLS_RETRY_INTERVAL: SignedDuration = SignedDuration::from_hours(1);
/// What a model is asked only to see whether it answers.
const CHECK_PROMPT: &str = "Answer with the word ok.";

/// One model, and how it is to be asked.
#[derive(Clone, Debug)]
pub struct ProviderSettings {
    pub provider: Provider,
    /// As the provider calls it.
    pub model_name: String,
    pub api_key: Option<SecretString>,
    /// Where the API is.
    pub api_base: String,
    pub headers: BTreeMap<String, SecretString>,
    pub params: ModelParams,
    pub connect_timeout: SignedDuration,
    /// For one question with everything that it takes: connecting, waiting, trying again.
    pub timeout: SignedDuration,
    /// How often a call is made at most.
    pub max_attempts: u32,
}

/// What a request says besides the words.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ModelParams {
    pub temperature: Option<f64>,
    pub max_tokens: Option<u32>,
    pub top_p: Option<f64>,
    pub stop: Vec<String>,
    pub seed: Option<u64>,
    pub reasoning_effort: Option<String>,
    /// Passed on as they are.
    pub extra: Map<String, Value>,
}

pub struct ProviderMind {
    client: Client,
    target: ServiceTarget,
    options: ChatOptions,
    is_reasoning: bool,
    model: String,
    clock: Clock,
    timeout: SignedDuration,
    max_attempts: u32,
    /// The first of [`MANNERS`] that this server is known to take.
    request_shape: AtomicUsize,
    /// Until then it is offered no tools: it has answered what it had refused with them.
    without_tools_until_ms: AtomicI64,
}

/// What is asked, before it takes the shape that a server wants.
#[derive(Default)]
struct ModelRequest {
    system: String,
    schema: Option<JsonSpec>,
    tools: Vec<Tool>,
    /// Calls and their results.
    turns: Vec<ChatMessage>,
}

/// The shape of a request. Servers that speak OpenAI's language differ in what they take: some
/// models' chat templates want a user turn, some servers know no schemas.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct RequestShape {
    has_user_turn: bool,
    has_schema: bool,
}

/// From the one that is wanted to the one that everybody takes.
const REQUEST_SHAPES: [RequestShape; 3] = [
    RequestShape { has_user_turn: false, has_schema: true },
    RequestShape { has_user_turn: true, has_schema: true },
    RequestShape { has_user_turn: true, has_schema: false },
];

impl ProviderMind {
    pub fn new(settings: &ProviderSettings, clock: Clock) -> anyhow::Result<Self> {
        let (kind, namespace) = match settings.provider {
            Provider::OpenAi | Provider::Ollama | Provider::OpenRouter => {
                (AdapterKind::OpenAI, "openai")
            }
            Provider::Anthropic => (AdapterKind::Anthropic, "anthropic"),
            Provider::Gemini => (AdapterKind::Gemini, "gemini"),
        };
        // Both refuse a conversation without a user's turn.
        let manner = usize::from(kind != AdapterKind::OpenAI);
        // Servers of one's own want no key, but `genai` wants one for its header.
        let key = settings.api_key.as_ref().map_or("none", |key| key.expose_secret());
        let target = ServiceTarget {
            endpoint: Endpoint::from_owned(api_base(settings)),
            auth: AuthData::from_single(key),
            // With a namespace, the provider is not guessed from the name.
            model: ModelIden::new(kind, format!("{namespace}::{}", settings.model_name)),
        };
        Ok(Self {
            client: Client::builder()
                .with_reqwest(http_client(settings.connect_timeout)?)
                .build()?,
            target,
            options: chat_options(settings),
            is_reasoning: is_reasoning(&settings.params),
            model: format!("{}/{}", settings.provider.name(), settings.model_name),
            clock,
            timeout: settings.timeout,
            max_attempts: settings.max_attempts,
            request_shape: AtomicUsize::new(manner),
            without_tools_until_ms: AtomicI64::new(i64::MIN),
        })
    }

    /// Sees whether the model can be asked at all, for the price of one token.
    pub async fn check(&self) -> Result<(), LlmError> {
        let shortest = ChatOptions { max_tokens: Some(1), ..self.options.clone() };
        let question = ModelRequest { system: CHECK_PROMPT.to_owned(), ..ModelRequest::default() };
        let checked = async {
            match self.call_in_accepted_shape(&question, &shortest).await {
                // Models that think before they speak refuse so short an answer.
                Err(CallError::RequestRejected(_)) => {
                    self.call_in_accepted_shape(&question, &self.options).await
                }
                answered => answered,
            }
        };
        match self.clock.timeout(self.timeout, checked).await {
            Ok(Ok(_)) => Ok(()),
            Ok(Err(CallError::Retryable { why, retry_after })) => {
                Err(LlmError::Busy { why: format!("{}: {why}", self.model), retry_after })
            }
            Ok(Err(
                CallError::Permanent(why)
                | CallError::RequestRejected(why)
                | CallError::Unusable { why, .. },
            )) => Err(LlmError::Refused(format!("{}: {why}", self.model))),
            Err(_timed_out) => Err(self.timeout_error()),
        }
    }

    fn timeout_error(&self) -> LlmError {
        LlmError::TimedOut(format!("{}: no answer within {:#}", self.model, self.timeout))
    }

    /// Tries again while that may help and there is time.
    async fn ask_with_retries(&self, prompt: &Prompt) -> Result<LlmResponse, LlmError> {
        let deadline = self.clock.now() + self.timeout;
        let mut tried = 1;
        loop {
            let (why, retry_after) = match self.call(prompt).await {
                Ok(answer) => return Ok(answer),
                Err(CallError::Permanent(why) | CallError::RequestRejected(why)) => {
                    return Err(LlmError::Refused(format!("{}: {why}", self.model)));
                }
                Err(CallError::Unusable { why, usage }) => {
                    return Err(LlmError::Unusable {
                        why: format!("{}: {why}", self.model),
                        usage,
                    });
                }
                Err(CallError::Retryable { why, retry_after }) => (why, retry_after),
            };
            let draw = seeded_random(0, &[&prompt.hash(), &self.model, &tried.to_string()]);
            let wait = retry_after.unwrap_or_default().max(backoff(tried, draw));
            if tried >= self.max_attempts || self.clock.now() + wait >= deadline {
                return Err(LlmError::Busy { why: format!("{}: {why}", self.model), retry_after });
            }
            self.clock.sleep_until(self.clock.now() + wait).await;
            tried += 1;
        }
    }

    /// One call for words that can be used, or for calls of tools where those are offered.
    async fn call(&self, prompt: &Prompt) -> Result<LlmResponse, CallError> {
        let max_tokens = self.max_tokens(prompt);
        let options = ChatOptions { max_tokens, ..self.options.clone() };
        let offers = !prompt.tools.is_empty() && self.accepts_tools();
        if offers {
            let question = self.request_with_tools(prompt);
            match self.call_in_accepted_shape(&question, &options).await {
                // It may be the tools that it does not take.
                Err(CallError::RequestRejected(_)) => {}
                answered => return self.response_with_tool_calls(answered?, prompt),
            }
        }
        let question = ModelRequest {
            system: prompt.text_with_tool_results().into_owned(),
            schema: prompt.schema().map(|schema| JsonSpec::new(prompt.verb.name(), schema)),
            ..ModelRequest::default()
        };
        let response = self.call_in_accepted_shape(&question, &options).await?;
        if offers && prompt.tool_rounds.is_empty() {
            let until = self.clock.now() + TOOLS_RETRY_INTERVAL;
            self.without_tools_until_ms.store(until.as_millisecond(), Ordering::Relaxed);
        }
        parse_response(response, Vec::new(), prompt)
    }

    fn accepts_tools(&self) -> bool {
        self.clock.now().as_millisecond() >= self.without_tools_until_ms.load(Ordering::Relaxed)
    }

    fn request_with_tools(&self, prompt: &Prompt) -> ModelRequest {
        ModelRequest {
            system: prompt.text.clone(),
            schema: None,
            tools: tools::to_genai_tools(&prompt.tools),
            turns: tools::to_chat_messages(&prompt.tool_rounds, &self.model),
        }
    }

    fn response_with_tool_calls(
        &self,
        response: ChatResponse,
        prompt: &Prompt,
    ) -> Result<LlmResponse, CallError> {
        let (calls, echo) =
            (tools::tool_calls(&response), tools::assistant_message(&response, &self.model));
        Ok(LlmResponse { assistant_message: echo, ..parse_response(response, calls, prompt)? })
    }

    /// No more than a prompt has a use for. What a model thinks counts too and is of use, so one that
    /// thinks keeps its own limit.
    fn max_tokens(&self, prompt: &Prompt) -> Option<u32> {
        match (self.options.max_tokens, prompt.max_tokens) {
            (Some(limit), Some(bound)) if !self.is_reasoning => Some(limit.min(bound)),
            (limit, _) => limit,
        }
    }

    /// One call, in the shape that this server takes.
    async fn call_in_accepted_shape(
        &self,
        question: &ModelRequest,
        options: &ChatOptions,
    ) -> Result<ChatResponse, CallError> {
        let first = self.request_shape.load(Ordering::Relaxed);
        let mut refusal = None;
        let mut tried = None;
        for (number, manner) in REQUEST_SHAPES.iter().enumerate().skip(first) {
            let has_schema = manner.has_schema && question.schema.is_some();
            let manner = RequestShape { has_schema, ..*manner };
            if tried.replace(manner) == Some(manner) {
                continue;
            }
            match self.call_with_shape(manner, question, options.clone()).await {
                Err(CallError::RequestRejected(why)) => {
                    refusal.get_or_insert(why);
                }
                Ok(response) => {
                    self.request_shape.store(number, Ordering::Relaxed);
                    return Ok(response);
                }
                Err(trouble) => return Err(trouble),
            }
        }
        Err(CallError::RequestRejected(refusal.unwrap_or_default()))
    }

    async fn call_with_shape(
        &self,
        manner: RequestShape,
        question: &ModelRequest,
        mut options: ChatOptions,
    ) -> Result<ChatResponse, CallError> {
        let mut request = ChatRequest::default().with_system(&question.system);
        if manner.has_user_turn {
            request = request.append_message(ChatMessage::user(MINIMAL_USER_TURN));
        }
        if let Some(schema) = question.schema.clone().filter(|_| manner.has_schema) {
            options = options.with_response_format(schema);
        }
        let has_tools = !question.tools.is_empty();
        if has_tools {
            request = request.with_tools(question.tools.clone());
            request = request.append_messages(question.turns.clone());
        }
        let answered = self.client.exec_chat(self.target.clone(), request, Some(&options)).await;
        answered.or_else(tools::recover_tool_calls).map_err(|error| {
            let may_be_tools = has_tools && is_not_found(&error);
            match from_genai(error, self.clock.now()) {
                CallError::Permanent(why) if may_be_tools => CallError::RequestRejected(why),
                trouble => trouble,
            }
        })
    }
}

#[async_trait]
impl Llm for ProviderMind {
    fn model(&self) -> &str {
        &self.model
    }

    async fn ask(&self, prompt: &Prompt) -> Result<LlmResponse, LlmError> {
        let answered = self.clock.timeout(self.timeout, self.ask_with_retries(prompt)).await;
        answered.unwrap_or_else(|_timed_out| Err(self.timeout_error()))
    }
}

/// Where the API is, with a slash at the end.
fn api_base(settings: &ProviderSettings) -> String {
    let base = settings.api_base.trim_end_matches('/');
    // Ollama's own API is beside the one that it shares with OpenAI, and has no schemas.
    let is_own_api = settings.provider == Provider::Ollama && !base.ends_with("/v1");
    if is_own_api { format!("{base}/v1/") } else { format!("{base}/") }
}

/// A client that follows no redirects: a key in a header would go along to wherever they lead.
fn http_client(connect_timeout: SignedDuration) -> anyhow::Result<reqwest::Client> {
    // It fails where a provider of cryptography is installed already, which is as well.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let connect_timeout = std::time::Duration::try_from(connect_timeout)?;
    let client = reqwest::Client::builder()
        .connect_timeout(connect_timeout)
        .redirect(reqwest::redirect::Policy::none())
        .user_agent(concat!("aizuchi/", env!("CARGO_PKG_VERSION")));
    Ok(client.build()?)
}

fn chat_options(settings: &ProviderSettings) -> ChatOptions {
    let params = &settings.params;
    let headers = settings.headers.iter();
    let headers: Vec<(String, String)> =
        headers.map(|(name, value)| (name.clone(), value.expose_secret().to_owned())).collect();
    ChatOptions {
        temperature: params.temperature,
        max_tokens: Some(max_tokens(params)),
        top_p: params.top_p,
        stop_sequences: params.stop.clone(),
        seed: params.seed,
        reasoning_effort: reasoning_effort(settings),
        // Where it declines, the words for it are only there.
        capture_raw_body: Some(true),
        // Models that think aloud do it apart from their answer.
        normalize_reasoning_content: Some(true),
        extra_headers: (!headers.is_empty()).then(|| headers.into()),
        extra_body: (!params.extra.is_empty()).then(|| Value::Object(params.extra.clone())),
        ..ChatOptions::default()
    }
}

/// What is thought counts, too, and some providers want room for it above what they set aside.
fn max_tokens(params: &ModelParams) -> u32 {
    let usual = if is_reasoning(params) { REASONING_MAX_TOKENS } else { DEFAULT_MAX_TOKENS };
    params.max_tokens.unwrap_or(usual)
}

fn is_reasoning(params: &ModelParams) -> bool {
    !matches!(params.reasoning_effort.as_deref(), None | Some("none" | "minimal"))
}

fn reasoning_effort(settings: &ProviderSettings) -> Option<ReasoningEffort> {
    let effort = settings.params.reasoning_effort.as_deref();
    match (effort, settings.provider) {
        (Some(effort), _) => ReasoningEffort::from_keyword(effort),
        // Without any, `genai` takes the end of names like qwen-max for one, and off the name. This
        // one is not sent.
        (None, Provider::OpenAi | Provider::Ollama | Provider::OpenRouter) => {
            Some(ReasoningEffort::Budget(0))
        }
        (None, Provider::Anthropic | Provider::Gemini) => None,
    }
}

/// 0.5, 1, 2 … seconds, spread by a half to both sides so that callers do not return together.
fn backoff(tried: u32, draw: f64) -> SignedDuration {
    let exponent = i32::try_from(tried.saturating_sub(1)).unwrap_or(i32::MAX).min(5);
    duration_from_seconds(0.5 * 2_f64.powi(exponent) * (0.5 + draw))
}
