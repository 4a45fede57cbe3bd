//! The `agents` section: their models, and how these are reached.

use std::collections::BTreeMap;
use std::fmt;

use aizuchi_llm::model_id::ModelId;
use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::{self, Deserializer, MapAccess};

use crate::secret::Secret;
use crate::values::{BoundedInteger, CallSeconds, Ratio, Temperature, WebUrl};

/// The models, by task. An omitted agent uses the settings of `response`, except for `vision` and `transcription`,
/// which stay off. Without any agent, the built-in rules judge and answer, without a model.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct AgentsConfig {
    /// Writes the answers.
    pub response: Option<AgentConfig>,
    /// Decides whether to join in.
    pub judgment: Option<AgentConfig>,
    /// Makes memories from conversations.
    pub memory: Option<AgentConfig>,
    /// Names the state of a conversation if `decision.state` is `separate`. If omitted: the model that the variable
    /// `EAVESDROP_JUDGE_MODEL` names, else `anthropic/claude-haiku-4-5` if there is a key for it, else that of
    /// `judgment`.
    pub state: Option<AgentConfig>,
    /// Describes the pictures that people send, when Aizuchi is about to answer. If omitted: Aizuchi cannot see
    /// pictures, and says so.
    pub vision: Option<AgentConfig>,
    /// Transcribes voice messages and other recordings, when Aizuchi is about to answer: a model with OpenAI's
    /// transcription API, such as `openai/whisper-1`, `groq/whisper-large-v3-turbo` or `mistral/voxtral-mini-latest`.
    /// It inherits nothing from `response`. If omitted: Aizuchi cannot hear recordings, and says so.
    pub transcription: Option<AgentConfig>,
}

/// One agent.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct AgentConfig {
    /// `PROVIDER/MODEL`, where the provider is openai, anthropic, gemini, ollama, openrouter, deepseek, groq, mistral,
    /// xai, vertex, azure or bedrock; or `builtin`, the built-in rules without a model. For any OpenAI-compatible
    /// server, use `openai/NAME` with `client_args.api_base`. If omitted: that of `response`.
    #[schemars(with = "Option<String>")]
    pub model_id: Option<ModelId>,
    /// Added to this agent's prompts, after the persona's.
    pub system_prompt: Option<String>,
    /// Parameters that are passed to the model.
    pub params: Option<ModelParamsConfig>,
    /// How to reach the model.
    pub client_args: ClientArgs,
    /// Another model, which is asked when this one cannot be reached.
    pub fallback: Option<FallbackConfig>,
}

/// A model that is asked when the first one cannot be.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FallbackConfig {
    /// `PROVIDER/MODEL`, or `builtin`.
    #[schemars(with = "String")]
    pub model_id: ModelId,
    /// Parameters that are passed to the model. If omitted: those of the agent that every server knows.
    pub params: Option<ModelParamsConfig>,
    /// How to reach the model.
    #[serde(default)]
    pub client_args: ClientArgs,
}

/// What is passed to a model. Keys that are not listed here are passed on as they are.
#[derive(Clone, Debug, Default, PartialEq, JsonSchema)]
#[schemars(rename = "Params")]
pub struct ModelParamsConfig {
    /// The sampling temperature: how freely the model chooses its words.
    pub temperature: Option<Temperature>,
    /// The longest answer, in tokens.
    pub max_tokens: Option<BoundedInteger<1, 1_000_000>>,
    /// How many tokens a reasoning model may use for thinking, in addition to its answer. If omitted: 16000 for a model
    /// that is known or seems to think, and up to 32000 including the answer if `reasoning_effort` is set.
    pub thinking_tokens: Option<BoundedInteger<0, 1_000_000>>,
    /// The model chooses among the likeliest words that together have this probability.
    pub top_p: Option<Ratio>,
    /// Stop sequences: the model ends its answer before any of these texts. One text, or a list.
    pub stop: Option<StopSequences>,
    /// Makes answers more repeatable, if the provider supports it.
    pub seed: Option<u64>,
    /// How much the model thinks before it answers, if it supports that.
    pub reasoning_effort: Option<ReasoningEffort>,
    /// Whatever else is set.
    #[schemars(flatten)]
    pub others: BTreeMap<String, serde_json::Value>,
}

/// Where an answer ends.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema)]
#[schemars(inline, untagged)]
pub enum StopSequences {
    One(String),
    Any(Vec<String>),
}

/// How long a model thinks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema, strum::IntoStaticStr)]
#[strum(serialize_all = "lowercase")]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum ReasoningEffort {
    None,
    Minimal,
    Low,
    Medium,
    High,
}

/// How a model is reached.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ClientArgs {
    /// The provider's API key. If omitted: the value of the provider's variable, such as `OPENAI_API_KEY`, which is
    /// sent only to the provider's own address, or to the one in `OPENAI_BASE_URL` and the like.
    pub api_key: Option<Secret>,
    /// The address of the API. If omitted: the one in the variable that the provider's other clients read, such as
    /// `OPENAI_BASE_URL`; else the provider's own; for azure, the value of `AZURE_OPENAI_ENDPOINT`; for bedrock, the
    /// address of the region in `AWS_REGION`.
    pub api_base: Option<WebUrl>,
    /// The timeout of one call, in seconds. If omitted: `models.timeout_seconds`.
    pub timeout: Option<CallSeconds>,
    /// How many times a failed call is retried. If omitted: one less than `models.attempts`.
    #[serde(alias = "num_retries")]
    pub max_retries: Option<BoundedInteger<0, 10>>,
    /// Headers that are sent with every call.
    pub extra_headers: BTreeMap<String, Secret>,
}

/// The keys of [`AgentsConfig`].
pub const AGENTS: [&str; 6] =
    ["response", "judgment", "memory", "state", "vision", "transcription"];

/// The keys of [`ClientArgs`].
pub const CLIENT_ARGS: [&str; 6] =
    ["api_key", "api_base", "timeout", "max_retries", "num_retries", "extra_headers"];

/// The known keys of [`ModelParamsConfig`].
pub const PARAMS: [&str; 7] =
    ["temperature", "max_tokens", "thinking_tokens", "top_p", "stop", "seed", "reasoning_effort"];

impl ClientArgs {
    /// Fills in missing values from `other`. The API key and headers are taken over only for the same server, since they
    /// must not be sent to another one.
    pub fn or(self, other: &Self) -> Self {
        let timeout = self.timeout.or(other.timeout);
        let max_retries = self.max_retries.or(other.max_retries);
        let is_elsewhere = self.api_base.is_some() && self.api_base != other.api_base;
        if is_elsewhere {
            return Self { timeout, max_retries, ..self };
        }
        let has_headers = !self.extra_headers.is_empty();
        let headers = if has_headers { self.extra_headers } else { other.extra_headers.clone() };
        Self {
            api_key: self.api_key.or_else(|| other.api_key.clone()),
            api_base: self.api_base.or_else(|| other.api_base.clone()),
            timeout,
            max_retries,
            extra_headers: headers,
        }
    }
}

impl ModelParamsConfig {
    /// Drops the parameters that may be specific to one server.
    pub fn for_another_server(&self) -> Self {
        let (thinking_tokens, reasoning_effort) = (None, None);
        Self { thinking_tokens, reasoning_effort, others: BTreeMap::new(), ..self.clone() }
    }
}

impl ReasoningEffort {
    pub fn name(self) -> &'static str {
        self.into()
    }
}

impl StopSequences {
    pub fn texts(&self) -> &[String] {
        match self {
            StopSequences::One(text) => std::slice::from_ref(text),
            StopSequences::Any(texts) => texts,
        }
    }
}

// Implemented by hand, because serde's `flatten` loses the locations of values.
impl<'de> Deserialize<'de> for ModelParamsConfig {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;

        impl<'de> de::Visitor<'de> for Visitor {
            type Value = ModelParamsConfig;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a section with keys of its own")
            }

            fn visit_map<A: MapAccess<'de>>(
                self,
                mut section: A,
            ) -> Result<ModelParamsConfig, A::Error> {
                let mut params = ModelParamsConfig::default();
                while let Some(key) = section.next_key::<String>()? {
                    match key.as_str() {
                        "temperature" => params.temperature = section.next_value()?,
                        "max_tokens" => params.max_tokens = section.next_value()?,
                        "thinking_tokens" => params.thinking_tokens = section.next_value()?,
                        "top_p" => params.top_p = section.next_value()?,
                        "stop" => params.stop = section.next_value()?,
                        "seed" => params.seed = section.next_value()?,
                        "reasoning_effort" => params.reasoning_effort = section.next_value()?,
                        key if CLIENT_ARGS.contains(&key) => {
                            let sentence =
                                format!("the key \"{key}\" belongs in client_args, not here");
                            return Err(de::Error::custom(sentence));
                        }
                        _ => {
                            params.others.insert(key, section.next_value()?);
                        }
                    }
                }
                Ok(params)
            }
        }

        deserializer.deserialize_map(Visitor)
    }
}

// Implemented by hand, because serde's `untagged` has no useful error message.
impl<'de> Deserialize<'de> for StopSequences {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = serde_json::Value::deserialize(deserializer)?;
        let text = |value: &serde_json::Value| match value {
            serde_json::Value::String(text) => Some(text.clone()),
            serde_json::Value::Number(number) => Some(number.to_string()),
            _ => None,
        };
        let texts: Option<Option<Vec<String>>> =
            value.as_array().map(|texts| texts.iter().map(text).collect());
        let stop = text(&value).map(StopSequences::One).or_else(|| texts?.map(StopSequences::Any));
        stop.ok_or_else(|| de::Error::custom("it must be text, or a list of texts"))
    }
}
