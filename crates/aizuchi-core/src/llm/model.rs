//! Model ids: `provider/model`, as settings, prices and the ledger spell them.

use std::fmt;
use std::str::FromStr;

use serde::Deserialize;

/// The provider of a model. Any other server with an OpenAI-compatible API is `OpenAi` with its own
/// base URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, strum::IntoStaticStr)]
#[strum(serialize_all = "lowercase")]
pub enum Provider {
    OpenAi,
    Anthropic,
    Gemini,
    Ollama,
    OpenRouter,
}

/// Every provider, in the order in which an error lists them.
pub const PROVIDERS: [Provider; 5] = [
    Provider::OpenAi,
    Provider::Anthropic,
    Provider::Gemini,
    Provider::Ollama,
    Provider::OpenRouter,
];

/// The model that an agent uses.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(try_from = "String")]
pub enum ModelId {
    /// Rules instead of a model.
    Builtin,
    Hosted {
        provider: Provider,
        /// The provider's name for the model. It may contain slashes.
        name: String,
    },
}

/// Why a model id is invalid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ModelIdError {
    #[error("it must be PROVIDER/MODEL, like openai/gpt-4o-mini, or the word builtin")]
    Malformed,
    #[error(
        "its provider must be openai, anthropic, gemini, ollama or openrouter; any other \
         OpenAI-compatible server is openai/NAME with client_args.api_base"
    )]
    UnknownProvider,
}

impl Provider {
    /// The part before the slash.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// The environment variable with the API key, if the provider needs one.
    pub fn key_variable(self) -> Option<&'static str> {
        match self {
            Provider::OpenAi => Some("OPENAI_API_KEY"),
            Provider::Anthropic => Some("ANTHROPIC_API_KEY"),
            Provider::Gemini => Some("GEMINI_API_KEY"),
            Provider::Ollama => None,
            Provider::OpenRouter => Some("OPENROUTER_API_KEY"),
        }
    }

    /// The base URL of the API, unless `client_args.api_base` overrides it. Ends with a slash.
    pub fn default_api_base(self) -> &'static str {
        match self {
            Provider::OpenAi => "https://api.openai.com/v1/",
            Provider::Anthropic => "https://api.anthropic.com/v1/",
            Provider::Gemini => "https://generativelanguage.googleapis.com/v1beta/",
            Provider::Ollama => "http://localhost:11434/v1/",
            Provider::OpenRouter => "https://openrouter.ai/api/v1/",
        }
    }
}

impl ModelId {
    /// `None` for the built-in mind.
    pub fn provider(&self) -> Option<Provider> {
        match self {
            ModelId::Builtin => None,
            ModelId::Hosted { provider, .. } => Some(*provider),
        }
    }
}

impl FromStr for ModelId {
    type Err = ModelIdError;

    fn from_str(text: &str) -> Result<Self, ModelIdError> {
        if text == "builtin" {
            return Ok(ModelId::Builtin);
        }
        let (provider, name) = text.split_once('/').ok_or(ModelIdError::Malformed)?;
        let is_name = !name.is_empty() && !name.contains(|letter: char| letter.is_whitespace());
        if !is_name {
            return Err(ModelIdError::Malformed);
        }
        let provider = PROVIDERS.into_iter().find(|known| known.name() == provider);
        let provider = provider.ok_or(ModelIdError::UnknownProvider)?;
        Ok(ModelId::Hosted { provider, name: name.to_owned() })
    }
}

impl TryFrom<String> for ModelId {
    type Error = ModelIdError;

    fn try_from(text: String) -> Result<Self, ModelIdError> {
        text.parse()
    }
}

impl fmt::Display for ModelId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ModelId::Builtin => f.write_str("builtin"),
            ModelId::Hosted { provider, name } => write!(f, "{}/{name}", provider.name()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parsing_and_display_are_inverse() {
        for text in [
            "builtin",
            "openai/gpt-4o",
            "anthropic/claude-haiku-4-5",
            "gemini/gemini-2.5-flash",
            "ollama/qwen3:8b",
            "openrouter/meta-llama/llama-3.3-70b:free",
        ] {
            assert_eq!(text.parse::<ModelId>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn invalid_ids_are_rejected_with_a_reason() {
        for (text, expected) in [
            ("", ModelIdError::Malformed),
            ("gpt-4o", ModelIdError::Malformed),
            ("openai/", ModelIdError::Malformed),
            ("openai/gpt 4", ModelIdError::Malformed),
            ("/gpt-4o", ModelIdError::UnknownProvider),
            ("azure/gpt-4o", ModelIdError::UnknownProvider),
            ("OpenAI/gpt-4o", ModelIdError::UnknownProvider),
        ] {
            assert_eq!(text.parse::<ModelId>(), Err(expected), "{text:?}");
        }
    }

    #[test]
    fn the_error_lists_every_provider() {
        let sentence = ModelIdError::UnknownProvider.to_string();
        for provider in PROVIDERS {
            assert!(sentence.contains(provider.name()));
            assert!(provider.default_api_base().ends_with('/'));
        }
    }
}
