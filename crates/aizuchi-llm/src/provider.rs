//! Models behind their providers' APIs. Every call has a timeout, retryable errors are retried a few times, and no error
//! contains text from a request or a response.

mod refusal;
mod remedy;
mod output_limit;
mod prefix_cache;
mod usage;
mod tools;
mod chat;
mod openai;
mod anthropic;
mod gemini;
mod wire;
mod error;
mod transport;
mod response;
mod request;
mod probe;
mod ollama;
pub mod transcription;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicUsize, Ordering};

use aizuchi_model::clock::{Clock, seeded_random};
use aizuchi_model::decision::Usage;
use aizuchi_model::decision::model_problem::ModelProblem;
use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};
use parking_lot::Mutex;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use secrecy::{ExposeSecret, SecretString};
use serde_json::{Map, Value};

use crate::fallback::backoff;
use crate::prompt::Prompt;
use crate::prompt::tool::AssistantMessage;
use crate::provider::chat::ChatRequest;
use crate::provider::error::{CallError, UNSENDABLE};
use crate::provider::output_limit::Allowance;
use crate::provider::prefix_cache::{SentPrefixes, cache_key, takes_cache_key};
use crate::provider::remedy::{Parameters, Remedy};
use crate::provider::response::parse_response;
use crate::provider_list::{Provider, WireFormat};
use crate::{ContextLength, Llm, LlmError, LlmResponse};

/// The default of `max_tokens`. Some providers default to the model's maximum.
pub const DEFAULT_MAX_TOKENS: u32 = 2048;
/// How long no tools are offered to a server that seems to reject them. The error may have had another cause.
const TOOLS_RETRY_INTERVAL: SignedDuration = SignedDuration::from_hours(1);
/// The shortest time for which Ollama and LM Studio keep an idle model loaded.
const UNLOAD_AFTER_MS: i64 = 5 * 60 * 1000;
/// The prompt for a connection check.
const CHECK_PROMPT: &str = "Answer with the word ok.";

/// How to reach one model, and its request parameters.
#[derive(Clone, Debug)]
pub struct ProviderSettings {
    pub provider: Provider,
    /// The provider's name for the model.
    pub model_name: String,
    pub api_key: Option<SecretString>,
    /// The base URL of the API.
    pub api_base: String,
    pub headers: BTreeMap<String, SecretString>,
    pub params: ModelParams,
    pub connect_timeout: SignedDuration,
    /// The timeout of one prompt as a whole, including connecting, waiting and retrying.
    pub timeout: SignedDuration,
    /// The timeout after a pause in which the server may have unloaded the model.
    pub cold_timeout: SignedDuration,
    /// The maximum number of attempts per call.
    pub max_attempts: u32,
}

/// The parameters of a request.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ModelParams {
    pub temperature: Option<f64>,
    /// The maximum length of an answer.
    pub max_tokens: Option<u32>,
    /// The additional tokens for thinking. `None` derives them from the model's name and its answers.
    pub thinking_tokens: Option<u32>,
    pub top_p: Option<f64>,
    pub stop: Vec<String>,
    pub seed: Option<u64>,
    pub reasoning_effort: Option<String>,
    /// Merged into the request unchanged.
    pub extra: Map<String, Value>,
}

impl ProviderSettings {
    /// Fails if a header in the settings cannot be sent.
    fn extra_headers(&self) -> Result<HeaderMap, CallError> {
        let headers = self.headers.iter().map(|(name, value)| {
            let name = name.parse::<HeaderName>().ok()?;
            Some((name, value.expose_secret().parse::<HeaderValue>().ok()?))
        });
        let unsendable = || CallError::permanent(ModelProblem::RequestRejected, UNSENDABLE);
        headers.collect::<Option<HeaderMap>>().ok_or_else(unsendable)
    }
}

pub struct ProviderMind {
    http: reqwest::Client,
    settings: ProviderSettings,
    parameters: Parameters,
    /// The changes that this model is known to require.
    remedies: Mutex<BTreeSet<Remedy>>,
    allowance: Allowance,
    takes_cache_key: bool,
    sent_beginnings: SentPrefixes,
    model: String,
    clock: Clock,
    /// How long Ollama is asked to keep the model loaded, if it is set.
    keep_alive: Option<Value>,
    last_answer_ms: AtomicI64,
    /// The index of the first request shape that this server is known to accept.
    request_shape: AtomicUsize,
    /// The number of calls that succeeded in a later shape after a failure that may have been unrelated to the
    /// shape.
    shape_failures: AtomicUsize,
    /// No tools are offered before this time, since the server rejected a prompt with tools and answered it without
    /// them.
    without_tools_until_ms: AtomicI64,
    /// Whether the missing usage reports have been logged.
    has_warned_of_usage: AtomicBool,
    /// Whether reports of more tokens than possible have been logged.
    has_warned_of_excess: AtomicBool,
    /// Why the last call failed, if it failed.
    problem: Mutex<Option<ModelProblem>>,
    failed_at: Mutex<Option<Timestamp>>,
}

impl ProviderMind {
    pub fn new(settings: &ProviderSettings, clock: Clock) -> anyhow::Result<Self> {
        // The other APIs reject a conversation without a user turn.
        let shape = usize::from(settings.provider.wire_format() != WireFormat::OpenAi);
        Ok(Self {
            http: http_client(settings.connect_timeout)?,
            settings: ProviderSettings { api_base: api_base(settings), ..settings.clone() },
            parameters: Parameters::new(&settings.params),
            remedies: Mutex::default(),
            allowance: Allowance::new(&settings.model_name, &settings.params),
            takes_cache_key: takes_cache_key(settings.provider, &settings.api_base),
            sent_beginnings: SentPrefixes::default(),
            model: format!("{}/{}", settings.provider.name(), settings.model_name),
            clock,
            keep_alive: settings.params.extra.get("keep_alive").cloned(),
            last_answer_ms: AtomicI64::new(i64::MIN),
            request_shape: AtomicUsize::new(shape),
            shape_failures: AtomicUsize::new(0),
            without_tools_until_ms: AtomicI64::new(i64::MIN),
            has_warned_of_usage: AtomicBool::new(false),
            has_warned_of_excess: AtomicBool::new(false),
            problem: Mutex::default(),
            failed_at: Mutex::default(),
        })
    }

    /// Checks that the model answers, at the cost of one token, and returns the usage.
    pub async fn check(&self) -> Result<Usage, LlmError> {
        let check =
            |max_tokens| ChatRequest { is_check: true, ..self.request(CHECK_PROMPT, max_tokens) };
        let checked = async {
            let checked = match self.call_in_accepted_shape(&check(1)).await {
                // Reasoning models reject such a short limit.
                Err(CallError::RequestRejected { .. }) => {
                    self.call_in_accepted_shape(&check(self.allowance.total(None))).await
                }
                result => result,
            };
            checked.map_err(CallError::settled)
        };
        let timeout = self.current_timeout();
        let Ok(checked) = self.clock.timeout(timeout, checked).await else {
            return Err(self.timeout_error(timeout));
        };
        self.record(&checked);
        match checked {
            Ok(answer) => Ok(answer.reported),
            Err(CallError::Retryable { why, retry_after, usage, .. }) => {
                Err(LlmError::Busy { why: format!("{}: {why}", self.model), retry_after, usage })
            }
            Err(
                CallError::Permanent { why, .. }
                | CallError::RequestRejected { why, .. }
                | CallError::Unusable { why, .. },
            ) => Err(LlmError::Refused(format!("{}: {why}", self.model))),
        }
    }

    /// Records how a call ended, for operators who monitor the models.
    fn record<T>(&self, ended: &Result<T, CallError>) {
        if ended.is_ok() {
            self.last_answer_ms.store(self.clock.now().as_millisecond(), Ordering::Relaxed);
        }
        *self.failed_at.lock() = ended.is_err().then(|| self.clock.now());
        *self.problem.lock() = ended.as_ref().err().and_then(CallError::problem);
    }

    fn timeout_error(&self, timeout: SignedDuration) -> LlmError {
        *self.problem.lock() = Some(ModelProblem::TimedOut);
        *self.failed_at.lock() = Some(self.clock.now());
        LlmError::TimedOut(format!("{}: no answer within {timeout:#}", self.model))
    }

    /// Whether the server may have unloaded the model since its last answer.
    fn is_cold(&self) -> bool {
        let last = self.last_answer_ms.load(Ordering::Relaxed);
        let idle_ms = self.clock.now().as_millisecond().saturating_sub(last);
        idle_ms >= UNLOAD_AFTER_MS
    }

    fn current_timeout(&self) -> SignedDuration {
        if self.is_cold() { self.settings.cold_timeout } else { self.settings.timeout }
    }

    /// Retries while a retry may help, costs nothing and fits into the timeout.
    async fn ask_with_retries(
        &self,
        prompt: &Prompt,
        timeout: SignedDuration,
    ) -> Result<LlmResponse, LlmError> {
        let deadline = self.clock.now() + timeout;
        if let Some(keep_alive) = self.keep_alive.as_ref().filter(|_| self.is_cold()) {
            self.load_for(keep_alive).await;
        }
        let mut attempt = 1;
        loop {
            let called = self.call(prompt).await.map_err(CallError::settled);
            self.record(&called);
            let (why, retry_after, usage) = match called {
                Ok(answer) => return Ok(answer),
                Err(CallError::Permanent { why, .. } | CallError::RequestRejected { why, .. }) => {
                    return Err(LlmError::Refused(format!("{}: {why}", self.model)));
                }
                Err(CallError::Unusable { why, usage }) => {
                    return Err(LlmError::Unusable {
                        why: format!("{}: {why}", self.model),
                        usage,
                    });
                }
                Err(CallError::Retryable { why, retry_after, usage, .. }) => {
                    (why, retry_after, usage)
                }
            };
            let draw = seeded_random(0, &[&prompt.hash(), &self.model, &attempt.to_string()]);
            let wait = retry_after.unwrap_or_default().max(backoff(attempt, draw));
            // A retry after a charged answer costs again, so it is left to the caller, who reserves the budget.
            let is_charged = usage != Usage::default();
            if is_charged
                || attempt >= self.settings.max_attempts
                || self.clock.now() + wait >= deadline
            {
                let why = format!("{}: {why}", self.model);
                return Err(LlmError::Busy { why, retry_after, usage });
            }
            self.clock.sleep_until(self.clock.now() + wait).await;
            attempt += 1;
        }
    }

    /// One attempt. Returns a usable text or, if tools are offered, tool calls.
    async fn call(&self, prompt: &Prompt) -> Result<LlmResponse, CallError> {
        let max_tokens = self.allowance.total(prompt.max_tokens);
        let request = |system| ChatRequest {
            cache_key: self.takes_cache_key.then(|| cache_key(prompt)),
            picture: prompt.picture.as_ref(),
            tokens: prompt.total_tokens(),
            ..self.request(system, max_tokens)
        };
        let offers_tools = !prompt.tools.is_empty() && self.accepts_tools();
        if offers_tools {
            let with_tools = ChatRequest {
                cache_marks: self.cache_marks("tools", &prompt.text),
                tools: &prompt.tools,
                turns: tools::to_turns(&prompt.tool_rounds, &self.model),
                ..request((&*prompt.text).into())
            };
            match self.call_in_accepted_shape(&with_tools).await {
                // The server may reject only the tools, so try without them.
                Err(CallError::RequestRejected { .. }) => {}
                result => {
                    let answer = result?;
                    let (model, message) = (self.model.clone(), answer.response.message.clone());
                    let response = parse_response(answer, prompt, &self.allowance)?;
                    let calls_tools = !response.tool_calls.is_empty();
                    let message =
                        calls_tools.then(|| Arc::new(AssistantMessage { model, message }));
                    return Ok(LlmResponse { assistant_message: message, ..response });
                }
            }
        }
        let system = prompt.text_with_tool_results();
        let in_words = ChatRequest {
            cache_marks: self.cache_marks(prompt.verb.name(), &system),
            schema: prompt.schema().map(|schema| (prompt.verb.name(), schema)),
            ..request(system)
        };
        let mut answer = self.call_in_accepted_shape(&in_words).await?;
        answer.response.calls.clear();
        // In a later round the server has already accepted tools, so it rejected the prompt for another reason.
        if offers_tools && prompt.tool_rounds.is_empty() {
            let until = self.clock.now() + TOOLS_RETRY_INTERVAL;
            self.without_tools_until_ms.store(until.as_millisecond(), Ordering::Relaxed);
        }
        parse_response(answer, prompt, &self.allowance)
    }

    fn accepts_tools(&self) -> bool {
        self.clock.now().as_millisecond() >= self.without_tools_until_ms.load(Ordering::Relaxed)
    }

    /// A request with nothing but a system message.
    fn request<'p>(&'p self, system: impl Into<Cow<'p, str>>, max_tokens: u32) -> ChatRequest<'p> {
        ChatRequest {
            provider: self.settings.provider,
            model_name: &self.settings.model_name,
            system: system.into(),
            cache_marks: Vec::new(),
            cache_key: None,
            has_user_turn: false,
            picture: None,
            schema: None,
            tools: &[],
            turns: Vec::new(),
            params: ModelParams::default(),
            max_tokens,
            is_limit_renamed: false,
            tokens: 0,
            is_check: false,
        }
    }

    /// Where to mark a prompt for the provider's cache, if the provider needs marks.
    fn cache_marks(&self, kind: &str, system: &str) -> Vec<usize> {
        if self.settings.provider.wire_format() != WireFormat::Anthropic {
            return Vec::new();
        }
        self.sent_beginnings.marks(kind, system, self.clock.now())
    }
}

#[async_trait]
impl Llm for ProviderMind {
    fn model(&self) -> &str {
        &self.model
    }

    fn max_output_tokens(&self, prompt: &Prompt) -> u64 {
        self.allowance.total(prompt.max_tokens).into()
    }

    fn max_attempts(&self) -> u32 {
        self.settings.max_attempts
    }

    fn problem(&self) -> Option<ModelProblem> {
        *self.problem.lock()
    }

    fn failed_at(&self) -> Option<Timestamp> {
        *self.failed_at.lock()
    }

    async fn probe(&self) -> Option<ModelProblem> {
        self.look_for_problem().await
    }

    async fn check(&self) -> Result<Usage, LlmError> {
        ProviderMind::check(self).await
    }

    async fn context_length(&self) -> Option<ContextLength> {
        let tokens = self.ollama_context_length().await?;
        Some(ContextLength { tokens, output_tokens: self.allowance.total(None).into() })
    }

    async fn ask(&self, prompt: &Prompt) -> Result<LlmResponse, LlmError> {
        let timeout = self.current_timeout();
        let result = self.clock.timeout(timeout, self.ask_with_retries(prompt, timeout)).await;
        result.unwrap_or_else(|_timed_out| Err(self.timeout_error(timeout)))
    }
}

/// The base URL of the API, with a slash at the end.
fn api_base(settings: &ProviderSettings) -> String {
    let base = settings.api_base.trim_end_matches('/');
    // Ollama's native API has no `/v1`. Its OpenAI-compatible API supports schemas.
    let is_own_api = settings.provider == Provider::Ollama && !base.ends_with("/v1");
    if is_own_api { format!("{base}/v1/") } else { format!("{base}/") }
}

/// Builds a client that does not follow redirects, which would send the API key in the headers to their target.
pub fn http_client(connect_timeout: SignedDuration) -> anyhow::Result<reqwest::Client> {
    install_crypto_provider();
    let connect_timeout = std::time::Duration::try_from(connect_timeout)?;
    let client = reqwest::Client::builder()
        .connect_timeout(connect_timeout)
        .redirect(reqwest::redirect::Policy::none())
        .user_agent(concat!("aizuchi/", env!("CARGO_PKG_VERSION")));
    Ok(client.build()?)
}

/// Builds a client for servers on this machine.
pub fn loopback_client() -> anyhow::Result<reqwest::Client> {
    install_crypto_provider();
    let client = reqwest::Client::builder()
        .no_proxy()
        // The traffic never leaves this machine, and loading the system's certificates takes time.
        .tls_certs_only([])
        .redirect(reqwest::redirect::Policy::none());
    Ok(client.build()?)
}

fn install_crypto_provider() {
    // Fails if a provider is already installed, which is fine.
    let _ = rustls::crypto::ring::default_provider().install_default();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn openai_is_told_which_prompts_share_a_cache() {
        let settings = ProviderSettings {
            provider: Provider::OpenAi,
            model_name: "large-1".to_owned(),
            api_key: None,
            api_base: "https://api.openai.com/v1".to_owned(),
            headers: BTreeMap::new(),
            params: ModelParams::default(),
            connect_timeout: SignedDuration::from_secs(1),
            timeout: SignedDuration::from_secs(1),
            cold_timeout: SignedDuration::from_secs(1),
            max_attempts: 1,
        };
        let mind = ProviderMind::new(&settings, Clock::system()).unwrap();
        assert!(mind.takes_cache_key);
        let request = ChatRequest { cache_key: Some("key".to_owned()), ..mind.request("hello", 9) };
        let request = mind.http_request(&request).unwrap().build().unwrap();
        assert_eq!(request.url().as_str(), "https://api.openai.com/v1/chat/completions");
        let body = request.body().and_then(|body| body.as_bytes()).unwrap();
        let body: Value = serde_json::from_slice(body).unwrap();
        assert_eq!(body["prompt_cache_key"], "key");
    }
}
