//! Model ids: `provider/model`, as settings, prices and the ledger spell them.

use std::fmt;
use std::str::FromStr;

use serde::Deserialize;

use crate::provider_list::{PROVIDERS, Provider};

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
        "its provider must be openai, anthropic, gemini, ollama, openrouter, deepseek, groq, mistral, \
         xai, vertex, azure or bedrock; any other OpenAI-compatible server is openai/NAME with \
         client_args.api_base"
    )]
    UnknownProvider,
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
        let is_name =
            !name.is_empty() && !name.contains(|character: char| character.is_whitespace());
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
            "azure/our-gpt",
            "bedrock/openai.gpt-oss-120b-1:0",
            "xai/grok-4",
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
            ("cohere/command-r", ModelIdError::UnknownProvider),
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
            let base = provider.default_api_base();
            assert!(base.is_none_or(|base| base.ends_with('/') && provider.owns(base)));
            assert_eq!(base.is_none(), !provider.place_variables().is_empty());
        }
    }
}
