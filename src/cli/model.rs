//! `--model`: a model by its name, or the first one that is found on this machine. Also prints at the start which
//! models could be used.

use std::str::FromStr;
use std::sync::Arc;

use aizuchi_config::models::in_use::ModelsInUse;
use aizuchi_config::models::in_use::offers::find_servers;
use aizuchi_config::{Config, ModelSelection};
use aizuchi_llm::discover::FoundServer;
use aizuchi_llm::model_id::{ModelId, ModelIdError};
use aizuchi_model::persona::Language;

use crate::cli::{block_on, print, tell};

/// The value of the flag that looks for a model.
const AUTO: &str = "auto";

#[derive(Clone, Debug)]
pub enum ModelFlag {
    Auto,
    Named(ModelId),
}

/// The model that the flag selects.
#[derive(Debug)]
pub struct FlaggedModel {
    id: ModelId,
    /// The base URL, if it is not the provider's own.
    api_base: Option<String>,
}

impl FromStr for ModelFlag {
    type Err = ModelIdError;

    fn from_str(text: &str) -> Result<Self, ModelIdError> {
        if text == AUTO { Ok(Self::Auto) } else { text.parse().map(Self::Named) }
    }
}

impl ModelFlag {
    /// Looks for a model if none is named, and says which one was found.
    pub fn find(&self) -> anyhow::Result<FlaggedModel> {
        match self {
            Self::Named(id) => Ok(FlaggedModel { id: id.clone(), api_base: None }),
            Self::Auto => find_model(),
        }
    }
}

impl FlaggedModel {
    pub fn selection(&self) -> ModelSelection<'_> {
        match &self.api_base {
            None => ModelSelection::Override(&self.id),
            Some(base) => ModelSelection::Found { model: &self.id, api_base: Some(base) },
        }
    }
}

fn find_model() -> anyhow::Result<FlaggedModel> {
    // The config only provides the environment, so its models do not matter.
    let config = Config::load(None, ModelSelection::NoModel)?.config;
    let found = block_on(async { anyhow::Ok(find_servers(&config, &[]).await) })?;
    let Some((server, model)) = first_model(&found) else {
        anyhow::bail!("{}", nothing_found(&found));
    };
    let name = server.endpoint.server.name();
    tell(&format!("aizuchi: --model auto: {name} at {} has {model}", server.endpoint.address));
    Ok(FlaggedModel { id: model.clone(), api_base: server.endpoint.api_base() })
}

fn first_model(found: &[FoundServer]) -> Option<(&FoundServer, &ModelId)> {
    found.iter().find_map(|server| Some((server, server.models.first()?)))
}

fn nothing_found(found: &[FoundServer]) -> String {
    match found.first() {
        Some(server) => format!(
            "--model auto: {} answers on this machine, but has no model that writes text; load one, or name a model \
             with --model PROVIDER/MODEL",
            server.endpoint.server.name()
        ),
        None => "--model auto: no model server answers on this machine (Ollama, LM Studio, llama.cpp and vLLM were \
                 looked for at their usual ports); start one, or name a model with --model PROVIDER/MODEL"
            .to_owned(),
    }
}

/// Prints which models could be used in place of the built-in mind, once that is known. Never returns.
pub async fn print_offers(models: Arc<ModelsInUse>, language: Language) {
    if let Some(offers) = models.offers(language).await {
        // A failure is ignored, because the page shows the offers, too.
        let _ = print(&format!("\n{offers}"));
    }
    std::future::pending().await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_flag_names_a_model_or_leaves_it_open() {
        assert!(matches!("auto".parse(), Ok(ModelFlag::Auto)));
        assert!(matches!("ollama/qwen3:8b".parse(), Ok(ModelFlag::Named(ModelId::Hosted { .. }))));
        assert!("automatic".parse::<ModelFlag>().is_err());
    }

    #[test]
    fn a_failure_says_what_was_looked_for() {
        assert!(nothing_found(&[]).contains("Ollama, LM Studio, llama.cpp and vLLM"));
    }
}
