//! Which model each agent thinks with and how it is reached, once everything is taken into account
//! that the agents leave out.

use std::collections::BTreeMap;

use crate::config::Config;
use crate::config::agents::{AgentConfig, AgentsConfig, ClientArgs, Params};
use crate::config::environment::Environment;
use crate::config::problem::Problem;
use crate::config::secret::Secret;
use crate::config::tree::Node;
use aizuchi_core::agent::StateCall;
use aizuchi_core::llm::model::{ModelId, Provider};
use aizuchi_import::kotonoha::with_provider;

/// Who thinks, for each agent.
#[derive(Clone, Debug, PartialEq)]
pub struct Minds {
    pub response: Mind,
    pub judgment: Mind,
    pub memory: Mind,
    pub state: Mind,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Mind {
    /// The agent's own part of the prompt.
    pub system_prompt: Option<String>,
    pub model: Model,
    /// Asked when the first one cannot be.
    pub fallback: Option<Model>,
}

/// A model that can be asked.
#[derive(Clone, Debug, PartialEq)]
pub struct Model {
    pub id: ModelId,
    pub params: Params,
    /// None for the built-in mind.
    pub server: Option<Server>,
}

/// How a model is reached.
#[derive(Clone, Debug, PartialEq)]
pub struct Server {
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
const JUDGE_MODEL: &str = "EAVESDROP_JUDGE_MODEL";
/// The model of `state`, where nothing names another and there is a key for it.
const STATE_MODEL: &str = "claude-haiku-4-5";

/// No model at all.
impl Default for Minds {
    fn default() -> Self {
        let model = Model { id: ModelId::Builtin, params: Params::default(), server: None };
        let mind = Mind { system_prompt: None, model, fallback: None };
        Self { response: mind.clone(), judgment: mind.clone(), memory: mind.clone(), state: mind }
    }
}

impl Minds {
    /// No model at all.
    pub fn builtin() -> Self {
        let model = Model { id: ModelId::Builtin, params: Params::default(), server: None };
        let mind = Mind { system_prompt: None, model, fallback: None };
        Self { response: mind.clone(), judgment: mind.clone(), memory: mind.clone(), state: mind }
    }

    /// If `all` is given, every agent thinks with it. Fails if a model needs a key and there is none.
    /// The tree is only asked for places.
    pub fn of(
        config: &Config,
        tree: &Node,
        environment: &Environment,
        all: Option<&ModelId>,
    ) -> Result<Self, Problem> {
        let agents = &config.agents;
        if *agents == AgentsConfig::default() && all.is_none() {
            return Ok(Self::builtin());
        }
        let search = Search { config, tree, environment };
        let response = agents.response.clone().unwrap_or_default();
        let judgment = completed(agents.judgment.as_ref(), &response);
        let memory = completed(agents.memory.as_ref(), &response);
        if let Some(model) = all {
            let state = completed(agents.state.as_ref(), &judgment);
            let mind = |agent: &AgentConfig, name: &str| {
                search.mind(&search.with_model(agent, model), name, NamedBy::Flag)
            };
            return Ok(Self {
                response: mind(&response, "response")?,
                judgment: mind(&judgment, "judgment")?,
                memory: mind(&memory, "memory")?,
                state: mind(&state, "state")?,
            });
        }
        let (state, named_by) = search.state(&judgment)?;
        Ok(Self {
            response: search.mind(&response, "response", NamedBy::Config)?,
            judgment: search.mind(&judgment, "judgment", NamedBy::Config)?,
            memory: search.mind(&memory, "memory", NamedBy::Config)?,
            state: search.mind(&state, "state", named_by)?,
        })
    }
}

impl Minds {
    /// Every model that may be asked, those to fall back on as well.
    pub fn asked(&self, state: StateCall) -> impl Iterator<Item = &ModelId> {
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
enum NamedBy {
    Config,
    Variable(&'static str),
    Flag,
}

/// What an agent leaves out is what another has.
fn completed(own: Option<&AgentConfig>, other: &AgentConfig) -> AgentConfig {
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

struct Search<'a> {
    config: &'a Config,
    tree: &'a Node,
    environment: &'a Environment,
}

impl Search<'_> {
    /// The same agent with another model, and none to fall back on. How it is reached is as some
    /// agent reaches this provider, and what only its provider knows is kept where that stays.
    fn with_model(&self, agent: &AgentConfig, model: &ModelId) -> AgentConfig {
        let is_same = agent.model_id.as_ref().and_then(ModelId::provider) == model.provider();
        let params = agent.params.as_ref();
        let of_another =
            || model.provider().map(|provider| self.client_args_of(provider)).unwrap_or_default();
        AgentConfig {
            model_id: Some(model.clone()),
            system_prompt: agent.system_prompt.clone(),
            params: if is_same { params.cloned() } else { params.map(Params::known) },
            client_args: if is_same { agent.client_args.clone() } else { of_another() },
            fallback: None,
        }
    }

    /// The agent for states, and the variable that names its model, if one does.
    fn state(&self, judgment: &AgentConfig) -> Result<(AgentConfig, NamedBy), Problem> {
        let own = self.config.agents.state.as_ref();
        if own.is_some_and(|own| own.model_id.is_some()) {
            return Ok((completed(own, judgment), NamedBy::Config));
        }
        let of = |model_id: ModelId| {
            let client_args = match &model_id {
                ModelId::Builtin => ClientArgs::default(),
                ModelId::Of { provider, .. } => self.client_args_of(*provider),
            };
            let other = AgentConfig { model_id: Some(model_id), client_args, ..Default::default() };
            completed(own, &other)
        };
        if let Some(name) = self.environment.filled(JUDGE_MODEL) {
            let model_id = with_provider(name).parse().map_err(|wrong| {
                Problem::of_file(
                    None,
                    format!("the variable {JUDGE_MODEL} cannot be used: {wrong}"),
                )
            })?;
            return Ok((of(model_id), NamedBy::Variable(JUDGE_MODEL)));
        }
        let anthropic = Provider::Anthropic;
        let has_key = self.client_args_of(anthropic).api_key.is_some()
            || self.key_variable(anthropic).is_some();
        if has_key {
            let model_id = ModelId::Of { provider: anthropic, name: STATE_MODEL.to_owned() };
            return Ok((of(model_id), NamedBy::Config));
        }
        Ok((completed(own, judgment), NamedBy::Config))
    }

    /// How another agent reaches this provider.
    fn client_args_of(&self, provider: Provider) -> ClientArgs {
        let AgentsConfig { response, judgment, memory, state } = &self.config.agents;
        let agents = [state, judgment, response, memory].into_iter().flatten();
        let is_of = |agent: &&AgentConfig| match &agent.model_id {
            Some(ModelId::Of { provider: other, .. }) => *other == provider,
            Some(ModelId::Builtin) | None => false,
        };
        let mut agents = agents.filter(is_of).filter(|agent| agent.client_args.api_key.is_some());
        agents.next().map(|agent| agent.client_args.clone()).unwrap_or_default()
    }

    fn mind(&self, agent: &AgentConfig, name: &str, named_by: NamedBy) -> Result<Mind, Problem> {
        let params = agent.params.clone().unwrap_or_default();
        let id = agent.model_id.clone().unwrap_or(ModelId::Builtin);
        let path = [name];
        let model = self.model(id.clone(), params.clone(), &agent.client_args, &path, named_by)?;
        let fallback = agent.fallback.as_ref().map(|fallback| {
            let is_same = fallback.model_id.provider() == id.provider();
            let taken_over = if is_same { params.clone() } else { params.known() };
            let params = fallback.params.clone().unwrap_or(taken_over);
            let path = [name, "fallback"];
            self.model(
                fallback.model_id.clone(),
                params,
                &fallback.client_args,
                &path,
                NamedBy::Config,
            )
        });
        let system_prompt = agent.system_prompt.clone();
        Ok(Mind { system_prompt, model, fallback: fallback.transpose()? })
    }

    fn model(
        &self,
        id: ModelId,
        params: Params,
        client_args: &ClientArgs,
        path: &[&str],
        named_by: NamedBy,
    ) -> Result<Model, Problem> {
        let provider = match &id {
            ModelId::Builtin => return Ok(Model { id, params, server: None }),
            ModelId::Of { provider, .. } => *provider,
        };
        // A key that was given for the provider must not travel to other servers.
        let is_elsewhere = client_args
            .api_base
            .as_ref()
            .is_some_and(|base| base.as_base() != provider.default_base());
        let of_provider = || self.key_variable(provider).filter(|_| !is_elsewhere);
        let key = client_args.api_key.clone().or_else(of_provider);
        if let (None, None, Some(variable)) = (&key, &client_args.api_base, provider.key_variable())
        {
            return Err(self.no_key(provider, variable, path, named_by));
        }
        let models = &self.config.models;
        let base = client_args.api_base.as_ref();
        let server = Server {
            base: base.map_or(provider.default_base().to_owned(), |base| base.as_base()),
            key,
            connect_timeout_seconds: models.connect_timeout_seconds.0 as f64,
            timeout_seconds: client_args
                .timeout
                .map_or(models.timeout_seconds.0 as f64, |timeout| timeout.0),
            attempts: client_args.max_retries.map_or(models.attempts.0, |retries| retries.0 + 1),
            headers: client_args.extra_headers.clone(),
        };
        Ok(Model { id, params, server: Some(server) })
    }

    fn key_variable(&self, provider: Provider) -> Option<Secret> {
        self.environment.filled(provider.key_variable()?).map(Secret::new)
    }

    fn no_key(
        &self,
        provider: Provider,
        variable: &str,
        path: &[&str],
        named_by: NamedBy,
    ) -> Problem {
        let agent = path.join(".");
        let remedy = format!(
            "set agents.{agent}.client_args.api_key, or the variable {variable} in the \
             environment or in a .env file"
        );
        let named_by = match named_by {
            NamedBy::Config => None,
            NamedBy::Variable(variable) => Some(format!("the variable {variable}")),
            NamedBy::Flag => Some("--model".to_owned()),
        };
        if let Some(named_by) = named_by {
            return Problem::of_file(
                None,
                format!(
                    "{named_by} names a model of {}, which needs a key: {remedy}",
                    provider.name()
                ),
            );
        }
        let path: Vec<&str> = ["agents"].iter().chain(path).chain(&["model_id"]).copied().collect();
        let place = self.tree.find(&path).map(|entry| entry.node.place);
        let sentence = format!(
            "{} is a model of {}, which needs a key: {remedy}",
            path.join("."),
            provider.name()
        );
        Problem::of_file(place, sentence)
    }
}
