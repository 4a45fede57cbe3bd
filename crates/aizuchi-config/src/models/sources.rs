//! What decides which models are used, and how they are replaced while the program runs.

use std::path::PathBuf;
use std::sync::Arc;

use aizuchi_llm::provider_list::{PROVIDERS, Provider};
use anyhow::Context as _;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::agents::AgentsConfig;
use crate::env_file::{self, VariableChange};
use crate::environment::Environment;
use crate::models::agent_models::ResolvedMinds;
use crate::models::saved_choice::{MODEL_VARIABLE, names_model};
use crate::syntax_tree::ConfigNode;
use crate::{Config, ModelSelection};

/// Whether model servers on this machine are looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(transparent)]
#[schemars(inline)]
pub struct Discover(pub bool);

impl Default for Discover {
    fn default() -> Self {
        Self(true)
    }
}

/// What decides which models are used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ModelOrigin {
    /// Nothing, so the built-in mind is used.
    #[default]
    Default,
    /// The `--model` flag.
    Flag,
    /// The config's `agents`.
    Config,
    /// [`MODEL_VARIABLE`] in the environment of the process.
    Variable,
    /// [`MODEL_VARIABLE`] in the `.env` file, where a choice on the page is saved.
    Saved,
}

/// What the config's models depend on besides its text, so that they can be resolved again.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ModelSources {
    pub origin: ModelOrigin,
    pub environment: Arc<Environment>,
    /// The path of the `.env` file, whether or not it exists.
    pub env_file: PathBuf,
}

impl ModelSources {
    pub fn new(selection: ModelSelection<'_>, agents: &AgentsConfig, env: &Environment) -> Self {
        let origin = match selection {
            ModelSelection::Override(_) | ModelSelection::Found { .. } => ModelOrigin::Flag,
            ModelSelection::Configured | ModelSelection::NoModel if names_model(agents) => {
                ModelOrigin::Config
            }
            ModelSelection::Configured | ModelSelection::NoModel => {
                match env.get_non_empty(MODEL_VARIABLE) {
                    Some(_) if env.is_from_process(MODEL_VARIABLE) => ModelOrigin::Variable,
                    Some(_) => ModelOrigin::Saved,
                    None => ModelOrigin::Default,
                }
            }
        };
        Self { origin, environment: Arc::new(env.clone()), env_file: PathBuf::new() }
    }

    /// The providers whose keys are in the environment.
    pub fn providers_with_key(&self) -> Vec<Provider> {
        let has_key = |provider: &Provider| {
            let variable = provider.key_variable();
            variable.is_some_and(|variable| self.environment.get_non_empty(variable).is_some())
        };
        PROVIDERS.into_iter().filter(has_key).collect()
    }

    /// The variable of the process that would override a saved change, if there is one.
    pub fn overriding_variable(&self, changes: &[VariableChange]) -> Option<&'static str> {
        let mut names = changes.iter().map(|(name, _)| *name);
        names.find(|name| self.environment.is_from_process(name))
    }
}

impl Config {
    /// Returns the config as it would be after these changes to the `.env` file, which are not yet written.
    pub fn with_variables(&self, changes: &[VariableChange]) -> anyhow::Result<Self> {
        let sources = &self.model_sources;
        let environment = sources.environment.with(changes);
        let mut config = self.clone();
        config.minds = ResolvedMinds::resolve(
            self,
            &ConfigNode::parse("")?,
            &environment,
            ModelSelection::Configured,
        )
        .map_err(|problem| anyhow::anyhow!("{}", problem.format_in(".env")))?;
        let made = ModelSources::new(ModelSelection::Configured, &self.agents, &environment);
        config.model_sources = ModelSources { env_file: sources.env_file.clone(), ..made };
        Ok(config)
    }

    /// Writes the changes into the `.env` file.
    pub fn save_variables(&self, changes: &[VariableChange]) -> anyhow::Result<()> {
        let file = &self.model_sources.env_file;
        env_file::change(file, changes).with_context(|| format!("cannot change {}", file.display()))
    }
}
