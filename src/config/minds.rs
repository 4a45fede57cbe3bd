//! Which model each agent thinks with and how it is reached, once everything is taken into account
//! that the agents leave out.

use std::collections::BTreeMap;

use crate::config::Config;
use crate::config::agents::{AgentConfig, AgentsConfig, ClientArgs, ModelParamsConfig};
use crate::config::environment::Environment;
use crate::config::problem::ConfigProblem;
use crate::config::secret::Secret;
use crate::config::tree::ConfigNode;
use aizuchi_core::agent::StateCall;
use aizuchi_core::llm::model::{ModelId, Provider};
use aizuchi_import::kotonoha::to_model_id;

/// Who thinks, for each agent.
#[derive(Clone, Debug, PartialEq)]
pub struct ResolvedMinds {
    pub response: ResolvedMind,
    pub judgment: ResolvedMind,
    pub memory: ResolvedMind,
    pub state: ResolvedMind,
}

#[derive(Clone, Debug, PartialEq)]
pub struct ResolvedMind {
    /// The agent's own part of the prompt.
    pub system_prompt: Option<String>,
    pub model: ResolvedModel,
    /// Asked when the first one cannot be.
    pub fallback: Option<ResolvedModel>,
}

/// A model that can be asked.
#[derive(Clone, Debug, PartialEq)]
pub struct ResolvedModel {
    pub id: ModelId,
    pub params: ModelParamsConfig,
    /// None for the built-in mind.
    pub endpoint: Option<ModelEndpoint>,
}

/// How a model is reached.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelEndpoint {
    /// Where its API is. It ends with a slash.
    pub base: String,
    pub key: Option<Secret>,
    pub connect_timeout_seconds: f64,
    pub timeout_seconds: f64,
    /// How often a call is tried at all.
    pub attempts: u64,
    pub headers: BTreeMap<String, Secret>,
}

/// What names the model of `state`, where the config does not.
const STATE_MODEL_VARIABLE: &str = "EAVESDROP_JUDGE_MODEL";
/// The model of `state`, where nothing names another and there is a key for it.
const DEFAULT_STATE_MODEL: &str = "claude-haiku-4-5";

/// No model at all.
impl Default for ResolvedMinds {
    fn default() -> Self {
        let model = ResolvedModel {
            id: ModelId::Builtin,
            params: ModelParamsConfig::default(),
            endpoint: None,
        };
        let mind = ResolvedMind { system_prompt: None, model, fallback: None };
        Self { response: mind.clone(), judgment: mind.clone(), memory: mind.clone(), state: mind }
    }
}

impl ResolvedMinds {
    /// No model at all.
    pub fn builtin() -> Self {
        let model = ResolvedModel {
            id: ModelId::Builtin,
            params: ModelParamsConfig::default(),
            endpoint: None,
        };
        let mind = ResolvedMind { system_prompt: None, model, fallback: None };
        Self { response: mind.clone(), judgment: mind.clone(), memory: mind.clone(), state: mind }
    }

    /// If `all` is given, every agent thinks with it. Fails if a model needs a key and there is none.
    /// The tree is only asked for places.
    pub fn resolve(
        config: &Config,
        tree: &ConfigNode,
        environment: &Environment,
        all: Option<&ModelId>,
    ) -> Result<Self, ConfigProblem> {
        let agents = &config.agents;
        if *agents == AgentsConfig::default() && all.is_none() {
            return Ok(Self::builtin());
        }
        let search = MindResolver { config, tree, environment };
        let response = agents.response.clone().unwrap_or_default();
        let judgment = inherit_settings(agents.judgment.as_ref(), &response);
        let memory = inherit_settings(agents.memory.as_ref(), &response);
        if let Some(model) = all {
            let state = inherit_settings(agents.state.as_ref(), &judgment);
            let mind = |agent: &AgentConfig, name: &str| {
                search.resolve_mind(&search.with_model(agent, model), name, ModelSource::Flag)
            };
            return Ok(Self {
                response: mind(&response, "response")?,
                judgment: mind(&judgment, "judgment")?,
                memory: mind(&memory, "memory")?,
                state: mind(&state, "state")?,
            });
        }
        let (state, named_by) = search.state_agent(&judgment)?;
        Ok(Self {
            response: search.resolve_mind(&response, "response", ModelSource::Config)?,
            judgment: search.resolve_mind(&judgment, "judgment", ModelSource::Config)?,
            memory: search.resolve_mind(&memory, "memory", ModelSource::Config)?,
            state: search.resolve_mind(&state, "state", named_by)?,
        })
    }
}

impl ResolvedMinds {
    /// Every model that may be asked, those to fall back on as well.
    pub fn models_in_use(&self, state: StateCall) -> impl Iterator<Item = &ModelId> {
        let of_state = match state {
            StateCall::Fused => None,
            StateCall::Separate => Some(&self.state),
        };
        let minds = [&self.response, &self.judgment, &self.memory].into_iter().chain(of_state);
        minds
            .flat_map(|mind| [&mind.model].into_iter().chain(&mind.fallback))
            .map(|model| &model.id)
    }
}

/// What says which model an agent thinks with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ModelSource {
    Config,
    Variable(&'static str),
    Flag,
}

/// What an agent leaves out is what another has.
fn inherit_settings(own: Option<&AgentConfig>, other: &AgentConfig) -> AgentConfig {
    let own = own.cloned().unwrap_or_default();
    if own.model_id.is_some() {
        return own;
    }
    AgentConfig {
        model_id: other.model_id.clone(),
        system_prompt: own.system_prompt,
        params: own.params.or_else(|| other.params.clone()),
        client_args: own.client_args.or(&other.client_args),
        fallback: own.fallback.or_else(|| other.fallback.clone()),
    }
}

struct MindResolver<'a> {
    config: &'a Config,
    tree: &'a ConfigNode,
    environment: &'a Environment,
}

impl MindResolver<'_> {
    /// The same agent with another model, and none to fall back on. How it is reached is as some
    /// agent reaches this provider, and what only its provider knows is kept where that stays.
    fn with_model(&self, agent: &AgentConfig, model: &ModelId) -> AgentConfig {
        let is_same = agent.model_id.as_ref().and_then(ModelId::provider) == model.provider();
        let params = agent.params.as_ref();
        let of_another =
            || model.provider().map(|provider| self.client_args_for(provider)).unwrap_or_default();
        AgentConfig {
            model_id: Some(model.clone()),
            system_prompt: agent.system_prompt.clone(),
            params: if is_same {
                params.cloned()
            } else {
                params.map(ModelParamsConfig::without_unknown_keys)
            },
            client_args: if is_same { agent.client_args.clone() } else { of_another() },
            fallback: None,
        }
    }

    /// The agent for states, and the variable that names its model, if one does.
    fn state_agent(
        &self,
        judgment: &AgentConfig,
    ) -> Result<(AgentConfig, ModelSource), ConfigProblem> {
        let own = self.config.agents.state.as_ref();
        if own.is_some_and(|own| own.model_id.is_some()) {
            return Ok((inherit_settings(own, judgment), ModelSource::Config));
        }
        let of = |model_id: ModelId| {
            let client_args = match &model_id {
                ModelId::Builtin => ClientArgs::default(),
                ModelId::Hosted { provider, .. } => self.client_args_for(*provider),
            };
            let other = AgentConfig { model_id: Some(model_id), client_args, ..Default::default() };
            inherit_settings(own, &other)
        };
        if let Some(name) = self.environment.get_non_empty(STATE_MODEL_VARIABLE) {
            let model_id = to_model_id(name).parse().map_err(|wrong| {
                ConfigProblem::for_file(
                    None,
                    format!("the variable {STATE_MODEL_VARIABLE} cannot be used: {wrong}"),
                )
            })?;
            return Ok((of(model_id), ModelSource::Variable(STATE_MODEL_VARIABLE)));
        }
        let anthropic = Provider::Anthropic;
        let has_key = self.client_args_for(anthropic).api_key.is_some()
            || self.key_from_environment(anthropic).is_some();
        if has_key {
            let model_id =
                ModelId::Hosted { provider: anthropic, name: DEFAULT_STATE_MODEL.to_owned() };
            return Ok((of(model_id), ModelSource::Config));
        }
        Ok((inherit_settings(own, judgment), ModelSource::Config))
    }

    /// How another agent reaches this provider.
    fn client_args_for(&self, provider: Provider) -> ClientArgs {
        let AgentsConfig { response, judgment, memory, state } = &self.config.agents;
        let agents = [state, judgment, response, memory].into_iter().flatten();
        let is_of = |agent: &&AgentConfig| match &agent.model_id {
            Some(ModelId::Hosted { provider: other, .. }) => *other == provider,
            Some(ModelId::Builtin) | None => false,
        };
        let mut agents = agents.filter(is_of).filter(|agent| agent.client_args.api_key.is_some());
        agents.next().map(|agent| agent.client_args.clone()).unwrap_or_default()
    }

    fn resolve_mind(
        &self,
        agent: &AgentConfig,
        name: &str,
        named_by: ModelSource,
    ) -> Result<ResolvedMind, ConfigProblem> {
        let params = agent.params.clone().unwrap_or_default();
        let id = agent.model_id.clone().unwrap_or(ModelId::Builtin);
        let path = [name];
        let model =
            self.resolve_model(id.clone(), params.clone(), &agent.client_args, &path, named_by)?;
        let fallback = agent.fallback.as_ref().map(|fallback| {
            let is_same = fallback.model_id.provider() == id.provider();
            let taken_over = if is_same { params.clone() } else { params.without_unknown_keys() };
            let params = fallback.params.clone().unwrap_or(taken_over);
            let path = [name, "fallback"];
            self.resolve_model(
                fallback.model_id.clone(),
                params,
                &fallback.client_args,
                &path,
                ModelSource::Config,
            )
        });
        let system_prompt = agent.system_prompt.clone();
        Ok(ResolvedMind { system_prompt, model, fallback: fallback.transpose()? })
    }

    fn resolve_model(
        &self,
        id: ModelId,
        params: ModelParamsConfig,
        client_args: &ClientArgs,
        path: &[&str],
        named_by: ModelSource,
    ) -> Result<ResolvedModel, ConfigProblem> {
        let provider = match &id {
            ModelId::Builtin => return Ok(ResolvedModel { id, params, endpoint: None }),
            ModelId::Hosted { provider, .. } => *provider,
        };
        // A key that was given for the provider must not travel to other servers.
        let is_elsewhere = client_args
            .api_base
            .as_ref()
            .is_some_and(|base| base.as_base() != provider.default_api_base());
        let of_provider = || self.key_from_environment(provider).filter(|_| !is_elsewhere);
        let key = client_args.api_key.clone().or_else(of_provider);
        if let (None, None, Some(variable)) = (&key, &client_args.api_base, provider.key_variable())
        {
            return Err(self.missing_key_problem(provider, variable, path, named_by));
        }
        let models = &self.config.models;
        let base = client_args.api_base.as_ref();
        let server = ModelEndpoint {
            base: base.map_or(provider.default_api_base().to_owned(), |base| base.as_base()),
            key,
            connect_timeout_seconds: models.connect_timeout_seconds.0 as f64,
            timeout_seconds: client_args
                .timeout
                .map_or(models.timeout_seconds.0 as f64, |timeout| timeout.0),
            attempts: client_args.max_retries.map_or(models.attempts.0, |retries| retries.0 + 1),
            headers: client_args.extra_headers.clone(),
        };
        Ok(ResolvedModel { id, params, endpoint: Some(server) })
    }

    fn key_from_environment(&self, provider: Provider) -> Option<Secret> {
        self.environment.get_non_empty(provider.key_variable()?).map(Secret::new)
    }

    fn missing_key_problem(
        &self,
        provider: Provider,
        variable: &str,
        path: &[&str],
        named_by: ModelSource,
    ) -> ConfigProblem {
        let agent = path.join(".");
        let remedy = format!(
            "set agents.{agent}.client_args.api_key, or the variable {variable} in the \
             environment or in a .env file"
        );
        let named_by = match named_by {
            ModelSource::Config => None,
            ModelSource::Variable(variable) => Some(format!("the variable {variable}")),
            ModelSource::Flag => Some("--model".to_owned()),
        };
        if let Some(named_by) = named_by {
            return ConfigProblem::for_file(
                None,
                format!(
                    "{named_by} names a model of {}, which needs a key: {remedy}",
                    provider.name()
                ),
            );
        }
        let path: Vec<&str> = ["agents"].iter().chain(path).chain(&["model_id"]).copied().collect();
        let place = self.tree.find(&path).map(|entry| entry.node.location);
        let sentence = format!(
            "{} is a model of {}, which needs a key: {remedy}",
            path.join("."),
            provider.name()
        );
        ConfigProblem::for_file(place, sentence)
    }
}
