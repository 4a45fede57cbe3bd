//! Models behind their providers' APIs. `genai` implements the wire formats; this module adds what `genai` leaves to
//! its caller. Every call has a timeout, retryable errors are retried a few times, and no error contains text from a
//! request or a response.

mod refusal;
mod amend;
mod genai_options;
mod request;
mod relay;
mod caching;
mod usage;
mod allowance;
mod response;
mod tools;
mod error;
mod probe;
mod local;
pub mod transcription;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicUsize, Ordering};

use aizuchi_model::clock::{Clock, seeded_random};
use aizuchi_model::decision::Usage;
use aizuchi_model::decision::model_problem::ModelProblem;
use async_trait::async_trait;
use genai::adapter::AdapterKind;
use genai::chat::{CacheControl, ChatOptions, JsonSpec};
use genai::resolver::{AuthData, Endpoint};
use genai::{Client, ModelIden, ServiceTarget};
use jiff::{SignedDuration, Timestamp};
use parking_lot::Mutex;
use secrecy::{ExposeSecret, SecretString};
use serde_json::{Map, Value};

use crate::fallback::backoff;
use crate::model::{Provider, WireFormat};
use crate::prompt::Prompt;
use crate::provider::allowance::Allowance;
use crate::provider::amend::{Parameters, Remedy};
use crate::provider::caching::{SentPrefixes, cache_key, takes_cache_key};
use crate::provider::error::CallError;
use crate::provider::genai_options::{adapter, chat_options};
use crate::provider::request::ModelRequest;
use crate::provider::response::{ReportedResponse, parse_response};
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

pub struct ProviderMind {
    /// The client that calls the relay.
    client: Client,
    /// The client that calls the provider.
    http: reqwest::Client,
    target: ServiceTarget,
    provider: Provider,
    model_name: String,
    api_key: Option<SecretString>,
    api_base: String,
    options: ChatOptions,
    parameters: Parameters,
    /// The changes that this model is known to require.
    remedies: Mutex<BTreeSet<Remedy>>,
    allowance: Allowance,
    takes_cache_key: bool,
    sent_beginnings: SentPrefixes,
    model: String,
    clock: Clock,
    timeout: SignedDuration,
    cold_timeout: SignedDuration,
    /// How long Ollama is asked to keep the model loaded, if it is set.
    keep_alive: Option<Value>,
    last_answer_ms: AtomicI64,
    max_attempts: u32,
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
        let (kind, namespace) = adapter(settings);
        // The other APIs reject a conversation without a user turn.
        let shape = usize::from(settings.provider.wire_format() != WireFormat::OpenAi);
        // Self-hosted servers need no key, but `genai` needs a value for its header.
        let key = settings.api_key.as_ref().map_or("none", |key| key.expose_secret());
        let target = ServiceTarget {
            // Replaced by the address of each call's relay.
            endpoint: Endpoint::from_static(""),
            auth: AuthData::from_single(key),
            // With a namespace, `genai` does not guess the provider from the name.
            model: ModelIden::new(kind, format!("{namespace}::{}", settings.model_name)),
        };
        let options = ChatOptions {
            // Otherwise `genai` turns off the automatic cache of OpenAI's newest models. The option itself is not
            // sent.
            cache_control: (kind == AdapterKind::OpenAI).then_some(CacheControl::Ephemeral5m),
            ..chat_options(settings)
        };
        Ok(Self {
            client: Client::builder().with_reqwest(loopback_client()?).build()?,
            http: http_client(settings.connect_timeout)?,
            target,
            provider: settings.provider,
            model_name: settings.model_name.clone(),
            api_key: settings.api_key.clone(),
            api_base: api_base(settings),
            options,
            parameters: Parameters::new(&settings.params),
            remedies: Mutex::default(),
            allowance: Allowance::new(&settings.model_name, &settings.params),
            takes_cache_key: takes_cache_key(settings.provider, &settings.api_base),
            sent_beginnings: SentPrefixes::default(),
            model: format!("{}/{}", settings.provider.name(), settings.model_name),
            clock,
            timeout: settings.timeout,
            cold_timeout: settings.cold_timeout,
            keep_alive: settings.params.extra.get("keep_alive").cloned(),
            last_answer_ms: AtomicI64::new(i64::MIN),
            max_attempts: settings.max_attempts,
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
        let shortest = ChatOptions { max_tokens: Some(1), ..self.options.clone() };
        let system = CHECK_PROMPT.to_owned();
        let model_request = ModelRequest { system, is_check: true, ..ModelRequest::default() };
        let checked = async {
            let checked = match self.call_in_accepted_shape(&model_request, &shortest).await {
                // Reasoning models reject such a short limit.
                Err(CallError::RequestRejected { .. }) => {
                    let usual = self.options_with_limit(None);
                    self.call_in_accepted_shape(&model_request, &usual).await
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
        if self.is_cold() { self.cold_timeout } else { self.timeout }
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
            if is_charged || attempt >= self.max_attempts || self.clock.now() + wait >= deadline {
                let why = format!("{}: {why}", self.model);
                return Err(LlmError::Busy { why, retry_after, usage });
            }
            self.clock.sleep_until(self.clock.now() + wait).await;
            attempt += 1;
        }
    }

    /// One attempt. Returns a usable text or, if tools are offered, tool calls.
    async fn call(&self, prompt: &Prompt) -> Result<LlmResponse, CallError> {
        let prompt_cache_key = self.takes_cache_key.then(|| cache_key(prompt));
        let limited = self.options_with_limit(prompt.max_tokens);
        let options = ChatOptions { prompt_cache_key, ..limited };
        let offers_tools = !prompt.tools.is_empty() && self.accepts_tools();
        if offers_tools {
            let model_request = self.request_with_tools(prompt);
            match self.call_in_accepted_shape(&model_request, &options).await {
                // The server may reject only the tools, so try without them.
                Err(CallError::RequestRejected { .. }) => {}
                result => return self.response_with_tool_calls(result?, prompt),
            }
        }
        let system = prompt.text_with_tool_results().into_owned();
        let model_request = ModelRequest {
            cache_marks: self.cache_marks(prompt.verb.name(), &system),
            system,
            schema: prompt.schema().map(|schema| JsonSpec::new(prompt.verb.name(), schema)),
            picture: prompt.picture.clone(),
            tokens: prompt.total_tokens(),
            ..ModelRequest::default()
        };
        let response = self.call_in_accepted_shape(&model_request, &options).await?;
        // In a later round the server has already accepted tools, so it rejected the prompt for another reason.
        if offers_tools && prompt.tool_rounds.is_empty() {
            let until = self.clock.now() + TOOLS_RETRY_INTERVAL;
            self.without_tools_until_ms.store(until.as_millisecond(), Ordering::Relaxed);
        }
        parse_response(response, Vec::new(), prompt, &self.allowance)
    }

    fn accepts_tools(&self) -> bool {
        self.clock.now().as_millisecond() >= self.without_tools_until_ms.load(Ordering::Relaxed)
    }

    fn request_with_tools(&self, prompt: &Prompt) -> ModelRequest {
        ModelRequest {
            cache_marks: self.cache_marks("tools", &prompt.text),
            system: prompt.text.clone(),
            tools: tools::to_genai_tools(&prompt.tools),
            turns: tools::to_chat_messages(&prompt.tool_rounds, &self.model),
            call_fields: tools::call_fields(&prompt.tool_rounds, &self.model),
            picture: prompt.picture.clone(),
            tokens: prompt.total_tokens(),
            ..ModelRequest::default()
        }
    }

    /// Where to mark a prompt for the provider's cache, if the provider needs marks.
    fn cache_marks(&self, kind: &str, system: &str) -> Vec<usize> {
        if self.target.model.adapter_kind != AdapterKind::Anthropic {
            return Vec::new();
        }
        self.sent_beginnings.marks(kind, system, self.clock.now())
    }

    fn response_with_tool_calls(
        &self,
        answer: ReportedResponse,
        prompt: &Prompt,
    ) -> Result<LlmResponse, CallError> {
        let response = &answer.response;
        let (calls, assistant_message) =
            (tools::tool_calls(response), tools::assistant_message(response, &self.model));
        let response = parse_response(answer, calls, prompt, &self.allowance)?;
        Ok(LlmResponse { assistant_message, ..response })
    }

    /// The options of a request whose answer is limited to this many tokens.
    fn options_with_limit(&self, prompt_limit: Option<u32>) -> ChatOptions {
        let max_tokens = Some(self.allowance.total(prompt_limit));
        ChatOptions { max_tokens, ..self.options.clone() }
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
        self.max_attempts
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

/// Builds a client for servers on this machine: a relay or a model.
pub fn loopback_client() -> anyhow::Result<reqwest::Client> {
    install_crypto_provider();
    let client = reqwest::Client::builder()
        .no_proxy()
        // The traffic never leaves this machine, and loading the system's certificates takes time.
        .tls_certs_only([])
        .redirect(reqwest::redirect::Policy::none())
        // A relay serves one call.
        .pool_max_idle_per_host(0);
    Ok(client.build()?)
}

fn install_crypto_provider() {
    // Fails if a provider is already installed, which is fine.
    let _ = rustls::crypto::ring::default_provider().install_default();
}
