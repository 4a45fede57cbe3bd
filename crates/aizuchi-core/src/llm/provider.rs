//! Models behind their providers' APIs, through `genai`: it knows the wire formats, and here is what
//! it leaves to its caller. Every call has an end in time, what passes is tried again a few times,
//! and no word of a request or an answer gets into an error.

mod answer;
mod tools;
mod trouble;

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

use crate::clock::{Clock, chance, seconds};
use crate::llm::model::Provider;
use crate::llm::provider::answer::answer;
use crate::llm::provider::trouble::{Trouble, is_unknown_there, trouble};
use crate::llm::{Answer, Llm, LlmError};
use crate::prompt::Prompt;

/// Where no `max_tokens` is set: some providers' own default is their model's whole capacity.
pub const DEFAULT_MAX_TOKENS: u32 = 2048;
/// The same for a model that is to think: Anthropic's highest effort is given 24 000 tokens.
const MAX_TOKENS_WITH_THOUGHT: u32 = 32_000;
/// The user turn for those that refuse a request which is a system message alone.
const SMALLEST_TURN: &str = ".";
/// How long a server that seems to know no tools is offered none. It may have refused something else.
const REST_FROM_TOOLS: SignedDuration = SignedDuration::from_hours(1);
/// What a model is asked only to see whether it answers.
const SMALLEST_QUESTION: &str = "Answer with the word ok.";

/// One model, and how it is to be asked.
#[derive(Clone, Debug)]
pub struct ProviderSettings {
    pub provider: Provider,
    /// As the provider calls it.
    pub name: String,
    pub api_key: Option<SecretString>,
    /// Where the API is.
    pub api_base: String,
    pub headers: BTreeMap<String, SecretString>,
    pub params: Params,
    pub connect_timeout: SignedDuration,
    /// For one question with everything that it takes: connecting, waiting, trying again.
    pub timeout: SignedDuration,
    /// How often a call is made at most.
    pub tries: u32,
}

/// What a request says besides the words.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Params {
    pub temperature: Option<f64>,
    pub max_tokens: Option<u32>,
    pub top_p: Option<f64>,
    pub stop: Vec<String>,
    pub seed: Option<u64>,
    pub reasoning_effort: Option<String>,
    /// Passed on as they are.
    pub others: Map<String, Value>,
}

pub struct ProviderMind {
    client: Client,
    target: ServiceTarget,
    options: ChatOptions,
    thinks: bool,
    model: String,
    clock: Clock,
    timeout: SignedDuration,
    tries: u32,
    /// The first of [`MANNERS`] that this server is known to take.
    manner: AtomicUsize,
    /// Until then it is offered no tools: it has answered what it had refused with them.
    without_tools_until_ms: AtomicI64,
}

/// What is asked, before it takes the shape that a server wants.
#[derive(Default)]
struct Question {
    system: String,
    schema: Option<JsonSpec>,
    tools: Vec<Tool>,
    /// Calls and their results.
    turns: Vec<ChatMessage>,
}

/// The shape of a request. Servers that speak OpenAI's language differ in what they take: some
/// models' chat templates want a user turn, some servers know no schemas.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Manner {
    has_user_turn: bool,
    has_schema: bool,
}

/// From the one that is wanted to the one that everybody takes.
const MANNERS: [Manner; 3] = [
    Manner { has_user_turn: false, has_schema: true },
    Manner { has_user_turn: true, has_schema: true },
    Manner { has_user_turn: true, has_schema: false },
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
            endpoint: Endpoint::from_owned(base(settings)),
            auth: AuthData::from_single(key),
            // With a namespace, the provider is not guessed from the name.
            model: ModelIden::new(kind, format!("{namespace}::{}", settings.name)),
        };
        Ok(Self {
            client: Client::builder().with_reqwest(http(settings.connect_timeout)?).build()?,
            target,
            options: options(settings),
            thinks: thinks(&settings.params),
            model: format!("{}/{}", settings.provider.name(), settings.name),
            clock,
            timeout: settings.timeout,
            tries: settings.tries,
            manner: AtomicUsize::new(manner),
            without_tools_until_ms: AtomicI64::new(i64::MIN),
        })
    }

    /// Sees whether the model can be asked at all, for the price of one token.
    pub async fn check(&self) -> Result<(), LlmError> {
        let shortest = ChatOptions { max_tokens: Some(1), ..self.options.clone() };
        let question = Question { system: SMALLEST_QUESTION.to_owned(), ..Question::default() };
        let checked = async {
            match self.call_in_some_manner(&question, &shortest).await {
                // Models that think before they speak refuse so short an answer.
                Err(Trouble::Misfit(_)) => self.call_in_some_manner(&question, &self.options).await,
                answered => answered,
            }
        };
        match self.clock.timeout(self.timeout, checked).await {
            Ok(Ok(_)) => Ok(()),
            Ok(Err(Trouble::Passing { why, retry_after })) => {
                Err(LlmError::Busy { why: format!("{}: {why}", self.model), retry_after })
            }
            Ok(Err(
                Trouble::Lasting(why) | Trouble::Misfit(why) | Trouble::Useless { why, .. },
            )) => Err(LlmError::Refused(format!("{}: {why}", self.model))),
            Err(_timed_out) => Err(self.timed_out()),
        }
    }

    fn timed_out(&self) -> LlmError {
        LlmError::Late(format!("{}: no answer within {:#}", self.model, self.timeout))
    }

    /// Tries again while that may help and there is time.
    async fn persist(&self, prompt: &Prompt) -> Result<Answer, LlmError> {
        let deadline = self.clock.now() + self.timeout;
        let mut tried = 1;
        loop {
            let (why, retry_after) = match self.call(prompt).await {
                Ok(answer) => return Ok(answer),
                Err(Trouble::Lasting(why) | Trouble::Misfit(why)) => {
                    return Err(LlmError::Refused(format!("{}: {why}", self.model)));
                }
                Err(Trouble::Useless { why, usage }) => {
                    return Err(LlmError::Useless { why: format!("{}: {why}", self.model), usage });
                }
                Err(Trouble::Passing { why, retry_after }) => (why, retry_after),
            };
            let draw = chance(0, &[&prompt.hash(), &self.model, &tried.to_string()]);
            let wait = retry_after.unwrap_or_default().max(backoff(tried, draw));
            if tried >= self.tries || self.clock.now() + wait >= deadline {
                return Err(LlmError::Busy { why: format!("{}: {why}", self.model), retry_after });
            }
            self.clock.sleep_until(self.clock.now() + wait).await;
            tried += 1;
        }
    }

    /// One call for words that can be used, or for calls of tools where those are offered.
    async fn call(&self, prompt: &Prompt) -> Result<Answer, Trouble> {
        let max_tokens = self.max_tokens(prompt);
        let options = ChatOptions { max_tokens, ..self.options.clone() };
        let offers = !prompt.tools.is_empty() && self.takes_tools();
        if offers {
            let question = self.question_with_tools(prompt);
            match self.call_in_some_manner(&question, &options).await {
                // It may be the tools that it does not take.
                Err(Trouble::Misfit(_)) => {}
                answered => return self.answer_with_calls(answered?, prompt),
            }
        }
        let question = Question {
            system: prompt.told().into_owned(),
            schema: prompt.schema().map(|schema| JsonSpec::new(prompt.verb.name(), schema)),
            ..Question::default()
        };
        let response = self.call_in_some_manner(&question, &options).await?;
        if offers && prompt.rounds.is_empty() {
            let until = self.clock.now() + REST_FROM_TOOLS;
            self.without_tools_until_ms.store(until.as_millisecond(), Ordering::Relaxed);
        }
        answer(response, Vec::new(), prompt)
    }

    fn takes_tools(&self) -> bool {
        self.clock.now().as_millisecond() >= self.without_tools_until_ms.load(Ordering::Relaxed)
    }

    fn question_with_tools(&self, prompt: &Prompt) -> Question {
        Question {
            system: prompt.text.clone(),
            schema: None,
            tools: tools::offered(&prompt.tools),
            turns: tools::turns(&prompt.rounds, &self.model),
        }
    }

    fn answer_with_calls(
        &self,
        response: ChatResponse,
        prompt: &Prompt,
    ) -> Result<Answer, Trouble> {
        let (calls, echo) = (tools::calls(&response), tools::echo(&response, &self.model));
        Ok(Answer { echo, ..answer(response, calls, prompt)? })
    }

    /// No more than a prompt has a use for. What a model thinks counts too and is of use, so one that
    /// thinks keeps its own limit.
    fn max_tokens(&self, prompt: &Prompt) -> Option<u32> {
        match (self.options.max_tokens, prompt.max_tokens) {
            (Some(limit), Some(bound)) if !self.thinks => Some(limit.min(bound)),
            (limit, _) => limit,
        }
    }

    /// One call, in the shape that this server takes.
    async fn call_in_some_manner(
        &self,
        question: &Question,
        options: &ChatOptions,
    ) -> Result<ChatResponse, Trouble> {
        let first = self.manner.load(Ordering::Relaxed);
        let mut refusal = None;
        let mut tried = None;
        for (number, manner) in MANNERS.iter().enumerate().skip(first) {
            let has_schema = manner.has_schema && question.schema.is_some();
            let manner = Manner { has_schema, ..*manner };
            if tried.replace(manner) == Some(manner) {
                continue;
            }
            match self.call_in(manner, question, options.clone()).await {
                Err(Trouble::Misfit(why)) => {
                    refusal.get_or_insert(why);
                }
                Ok(response) => {
                    self.manner.store(number, Ordering::Relaxed);
                    return Ok(response);
                }
                Err(trouble) => return Err(trouble),
            }
        }
        Err(Trouble::Misfit(refusal.unwrap_or_default()))
    }

    async fn call_in(
        &self,
        manner: Manner,
        question: &Question,
        mut options: ChatOptions,
    ) -> Result<ChatResponse, Trouble> {
        let mut request = ChatRequest::default().with_system(&question.system);
        if manner.has_user_turn {
            request = request.append_message(ChatMessage::user(SMALLEST_TURN));
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
        answered.or_else(tools::salvaged).map_err(|error| {
            let may_be_tools = has_tools && is_unknown_there(&error);
            match trouble(error, self.clock.now()) {
                Trouble::Lasting(why) if may_be_tools => Trouble::Misfit(why),
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

    async fn ask(&self, prompt: &Prompt) -> Result<Answer, LlmError> {
        let answered = self.clock.timeout(self.timeout, self.persist(prompt)).await;
        answered.unwrap_or_else(|_timed_out| Err(self.timed_out()))
    }
}

/// Where the API is, with a slash at the end.
fn base(settings: &ProviderSettings) -> String {
    let base = settings.api_base.trim_end_matches('/');
    // Ollama's own API is beside the one that it shares with OpenAI, and has no schemas.
    let is_own_api = settings.provider == Provider::Ollama && !base.ends_with("/v1");
    if is_own_api { format!("{base}/v1/") } else { format!("{base}/") }
}

/// A client that follows no redirects: a key in a header would go along to wherever they lead.
fn http(connect_timeout: SignedDuration) -> anyhow::Result<reqwest::Client> {
    // It fails where a provider of cryptography is installed already, which is as well.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let connect_timeout = std::time::Duration::try_from(connect_timeout)?;
    let client = reqwest::Client::builder()
        .connect_timeout(connect_timeout)
        .redirect(reqwest::redirect::Policy::none())
        .user_agent(concat!("aizuchi/", env!("CARGO_PKG_VERSION")));
    Ok(client.build()?)
}

fn options(settings: &ProviderSettings) -> ChatOptions {
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
        reasoning_effort: effort(settings),
        // Where it declines, the words for it are only there.
        capture_raw_body: Some(true),
        // Models that think aloud do it apart from their answer.
        normalize_reasoning_content: Some(true),
        extra_headers: (!headers.is_empty()).then(|| headers.into()),
        extra_body: (!params.others.is_empty()).then(|| Value::Object(params.others.clone())),
        ..ChatOptions::default()
    }
}

/// What is thought counts, too, and some providers want room for it above what they set aside.
fn max_tokens(params: &Params) -> u32 {
    let usual = if thinks(params) { MAX_TOKENS_WITH_THOUGHT } else { DEFAULT_MAX_TOKENS };
    params.max_tokens.unwrap_or(usual)
}

fn thinks(params: &Params) -> bool {
    !matches!(params.reasoning_effort.as_deref(), None | Some("none" | "minimal"))
}

fn effort(settings: &ProviderSettings) -> Option<ReasoningEffort> {
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
    seconds(0.5 * 2_f64.powi(exponent) * (0.5 + draw))
}
