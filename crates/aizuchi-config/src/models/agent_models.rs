//! Resolves which model each agent uses and how it is reached, with everything that the agents leave out.

use std::collections::{BTreeMap, BTreeSet};

use aizuchi_agent::agent::StateCall;
use aizuchi_import::kotonoha::to_model_id;
use aizuchi_llm::model_id::ModelId;
use aizuchi_llm::provider_list::{Provider, WireFormat};
use aizuchi_model::persona::Language;
use aizuchi_model::texts;

use crate::agents::{AgentConfig, AgentsConfig, ClientArgs, ModelParamsConfig};
use crate::environment::Environment;
use crate::models::cold_start::cold_timeout_seconds;
use crate::models::saved_choice::{MODEL_VARIABLE, chosen_agents};
use crate::problem::ConfigProblem;
use crate::secret::Secret;
use crate::suggestions::join_list;
use crate::syntax_tree::ConfigNode;
use crate::values::WebUrl;
use crate::{Config, ModelSelection};

/// The mind of each agent.
#[derive(Clone, Debug, PartialEq)]
pub struct ResolvedMinds {
    pub response: ResolvedMind,
    pub judgment: ResolvedMind,
    pub memory: ResolvedMind,
    pub state: ResolvedMind,
    /// The mind that describes pictures, if there is one.
    pub vision: Option<ResolvedMind>,
    /// The minds of `models.named`. Empty if one model is used for all agents.
    pub named: BTreeMap<String, ResolvedMind>,
    /// The mind that transcribes recordings, if there is one.
    pub transcription: Option<ResolvedMind>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct ResolvedMind {
    /// The agent's addition to the system prompt.
    pub system_prompt: Option<String>,
    pub model: ResolvedModel,
    /// Asked when the first model is unavailable.
    pub fallback: Option<ResolvedModel>,
}

/// A model with everything that is needed to call it.
#[derive(Clone, Debug, PartialEq)]
pub struct ResolvedModel {
    pub id: ModelId,
    pub params: ModelParamsConfig,
    /// `None` for the built-in mind.
    pub endpoint: Option<ModelEndpoint>,
}

/// How a model is reached.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelEndpoint {
    /// The base URL of the API, with a trailing slash.
    pub base: String,
    pub key: Option<Secret>,
    pub connect_timeout_seconds: f64,
    pub timeout_seconds: f64,
    /// The timeout of a call after a pause in which the server may have unloaded the model.
    pub cold_timeout_seconds: f64,
    /// The maximum number of attempts for one call.
    pub attempts: u64,
    pub headers: BTreeMap<String, Secret>,
}

/// Names the model of `state` if the config does not.
const STATE_MODEL_VARIABLE: &str = "EAVESDROP_JUDGE_MODEL";
/// The model of `state` if nothing names another and there is an API key for it.
const DEFAULT_STATE_MODEL: &str = "claude-haiku-4-5";

/// The required form of the variables that locate an account's API.
const AZURE_ADDRESS_FORM: &str = "an address like https://NAME.openai.azure.com";
const REGION_FORM: &str = "the name of a region, like us-east-1";

/// The built-in mind for all agents.
impl Default for ResolvedMinds {
    fn default() -> Self {
        let model = ResolvedModel {
            id: ModelId::Builtin,
            params: ModelParamsConfig::default(),
            endpoint: None,
        };
        let mind = ResolvedMind { system_prompt: None, model, fallback: None };
        Self {
            response: mind.clone(),
            judgment: mind.clone(),
            memory: mind.clone(),
            state: mind,
            vision: None,
            named: BTreeMap::new(),
            transcription: None,
        }
    }
}

impl ResolvedModel {
    /// The model's base URL, if it is not its provider's own.
    pub fn address_elsewhere(&self) -> Option<&str> {
        let base = self.endpoint.as_ref().map(|endpoint| &*endpoint.base);
        let provider = self.id.provider();
        base.filter(|base| provider.is_none_or(|provider| !provider.owns(base)))
    }

    /// The model's name, with its address if that is not its provider's own: `openai/qwen` alone would suggest that
    /// OpenAI receives the messages.
    pub fn shown_name(&self, language: Language) -> String {
        match self.address_elsewhere() {
            Some(address) => texts::models::at(language, &self.id.to_string(), address),
            None => self.id.to_string(),
        }
    }

    /// Takes over the key and the headers of `newer` if it is the same model at the same address.
    fn with_key_of(&self, newer: &Self) -> Self {
        let mut renewed = self.clone();
        // The running model keeps its address until a restart, so it must not get the key of another one.
        if let (Some(endpoint), Some(newer_endpoint)) = (&mut renewed.endpoint, &newer.endpoint)
            && self.id == newer.id
            && endpoint.base == newer_endpoint.base
        {
            endpoint.key = newer_endpoint.key.clone();
            endpoint.headers = newer_endpoint.headers.clone();
        }
        renewed
    }
}

impl ResolvedMind {
    fn with_keys_of(&self, newer: &Self) -> Self {
        let fallback = self.fallback.as_ref();
        let fallback = fallback
            .map(|fallback| fallback.with_key_of(newer.fallback.as_ref().unwrap_or(fallback)));
        Self { model: self.model.with_key_of(&newer.model), fallback, ..self.clone() }
    }
}

impl ResolvedMinds {
    /// Takes over the keys and headers that a newer config has for these models.
    pub fn with_keys_of(&self, newer: &Self) -> Self {
        let renewed = |mind: &ResolvedMind, newer: Option<&ResolvedMind>| {
            mind.with_keys_of(newer.unwrap_or(mind))
        };
        Self {
            response: self.response.with_keys_of(&newer.response),
            judgment: self.judgment.with_keys_of(&newer.judgment),
            memory: self.memory.with_keys_of(&newer.memory),
            state: self.state.with_keys_of(&newer.state),
            vision: self.vision.as_ref().map(|mind| renewed(mind, newer.vision.as_ref())),
            named: {
                let named = self.named.iter();
                named
                    .map(|(name, mind)| (name.clone(), renewed(mind, newer.named.get(name))))
                    .collect()
            },
            transcription: {
                let mind = self.transcription.as_ref();
                mind.map(|mind| renewed(mind, newer.transcription.as_ref()))
            },
        }
    }

    /// Resolves the minds of a config. If the config names no model, that of the variable [`MODEL_VARIABLE`] is used.
    /// Fails if a model needs an API key and there is none. The tree provides the locations for errors.
    pub fn resolve(
        config: &Config,
        tree: &ConfigNode,
        environment: &Environment,
        selection: ModelSelection<'_>,
    ) -> Result<Self, ConfigProblem> {
        let (all, api_base) = match selection {
            ModelSelection::NoModel => return Ok(Self::default()),
            ModelSelection::Configured => (None, None),
            ModelSelection::Override(model) => (Some(model), None),
            ModelSelection::Found { model, api_base } => (Some(model), api_base),
        };
        let chosen = match all {
            Some(_) => None,
            None => chosen_agents(&config.agents, environment)?,
        };
        let source = match &chosen {
            Some(_) => ModelSource::Variable(MODEL_VARIABLE),
            None => ModelSource::Config,
        };
        let config = match chosen {
            Some(agents) => &Config { agents, ..config.clone() },
            None => config,
        };
        let agents = &config.agents;
        let resolver = MindResolver { config, tree, environment };
        if *agents == AgentsConfig::default() && all.is_none() {
            return Ok(Self { named: resolver.named()?, ..Self::default() });
        }
        let transcription = match selection {
            // If one model is selected for everything, no other model may be called.
            ModelSelection::Override(_) | ModelSelection::NoModel => None,
            ModelSelection::Configured | ModelSelection::Found { .. } => {
                resolver.transcription_mind()?
            }
        };
        let response = agents.response.clone().unwrap_or_default();
        let judgment = inherit_settings(agents.judgment.as_ref(), &response);
        let memory = inherit_settings(agents.memory.as_ref(), &response);
        let vision = agents.vision.as_ref().map(|own| inherit_settings(Some(own), &response));
        let (state, state_source) = match all {
            Some(_) => (inherit_settings(agents.state.as_ref(), &judgment), source),
            None => resolver.state_agent(&judgment, source)?,
        };
        let vision_source = match agents.vision.as_ref().and_then(|own| own.model_id.as_ref()) {
            Some(_) => ModelSource::Config,
            None => source,
        };
        let mind = |agent: &AgentConfig, name: &str, source: ModelSource| match all {
            Some(model) => {
                let agent = resolver.with_model(agent, model, api_base);
                resolver.resolve_mind(&agent, &["agents", name], ModelSource::Flag)
            }
            None => resolver.resolve_mind(agent, &["agents", name], source),
        };
        // What is wrong with the model of the responses is said before what is wrong with one that inherits from it.
        let vision = vision.map(|agent| mind(&agent, "vision", vision_source));
        Ok(Self {
            response: mind(&response, "response", source)?,
            judgment: mind(&judgment, "judgment", source)?,
            memory: mind(&memory, "memory", source)?,
            state: mind(&state, "state", state_source)?,
            // The built-in mind cannot see pictures.
            vision: vision.transpose()?.filter(|mind| mind.model.id != ModelId::Builtin),
            named: if all.is_some() { BTreeMap::new() } else { resolver.named()? },
            transcription,
        })
    }

    /// All of them.
    pub fn all(&self) -> impl Iterator<Item = &ResolvedMind> {
        let minds = [&self.response, &self.judgment, &self.memory, &self.state].into_iter();
        minds.chain(&self.vision).chain(&self.transcription).chain(self.named.values())
    }
}

impl ResolvedMinds {
    /// The models that are only called elsewhere than at the provider in their name, such as `openai/qwen` on a
    /// self-hosted server. A model that is also called at its provider keeps its price: overestimating a cost is better
    /// than omitting it.
    pub fn models_elsewhere(&self, state: StateCall) -> BTreeSet<String> {
        let (elsewhere, at_home): (Vec<_>, Vec<_>) =
            self.resolved_models(state).partition(|model| model.address_elsewhere().is_some());
        let mut elsewhere: BTreeSet<String> =
            elsewhere.into_iter().map(|model| model.id.to_string()).collect();
        at_home.into_iter().for_each(|model| _ = elsewhere.remove(&model.id.to_string()));
        elsewhere
    }

    /// Every model that may be called, including fallbacks.
    pub fn models_in_use(&self, state: StateCall) -> impl Iterator<Item = &ModelId> {
        self.resolved_models(state).map(|model| &model.id)
    }

    /// The same, with what is needed to call them.
    pub fn resolved_models(&self, state: StateCall) -> impl Iterator<Item = &ResolvedModel> {
        let state_mind = match state {
            StateCall::Fused => None,
            StateCall::Separate => Some(&self.state),
        };
        let minds = [&self.response, &self.judgment, &self.memory].into_iter().chain(state_mind);
        let minds = minds.chain(&self.vision).chain(&self.transcription).chain(self.named.values());
        minds.flat_map(|mind| [&mind.model].into_iter().chain(&mind.fallback))
    }
}

/// Where the model of an agent is named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ModelSource {
    Config,
    Variable(&'static str),
    Flag,
}

/// Fills in what an agent leaves out from another one. An agent with a model of its own inherits nothing.
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
    /// The minds of `models.named`. They have no system prompt of their own and no fallback.
    fn named(&self) -> Result<BTreeMap<String, ResolvedMind>, ConfigProblem> {
        let named = self.config.models.named.iter().map(|(name, named)| {
            let agent = AgentConfig {
                model_id: Some(named.model_id.clone()),
                params: Some(named.params.clone()),
                client_args: named.client_args.clone(),
                ..AgentConfig::default()
            };
            let path = ["models", "named", name];
            Ok((name.clone(), self.resolve_mind(&agent, &path, ModelSource::Config)?))
        });
        named.collect()
    }

    /// Returns the agent with another model and no fallback. The client arguments come from an agent of the same
    /// provider. Parameters that may be specific to one server are dropped if the server changes.
    fn with_model(
        &self,
        agent: &AgentConfig,
        model: &ModelId,
        api_base: Option<&str>,
    ) -> AgentConfig {
        let is_same_provider =
            agent.model_id.as_ref().and_then(ModelId::provider) == model.provider();
        let params = agent.params.as_ref();
        let other_client_args =
            || model.provider().map(|provider| self.client_args_for(provider)).unwrap_or_default();
        AgentConfig {
            model_id: Some(model.clone()),
            system_prompt: agent.system_prompt.clone(),
            params: if is_same_provider && api_base.is_none() {
                params.cloned()
            } else {
                params.map(ModelParamsConfig::for_another_server)
            },
            client_args: match api_base {
                Some(base) => {
                    ClientArgs { api_base: Some(WebUrl(base.to_owned())), ..Default::default() }
                }
                None if is_same_provider => agent.client_args.clone(),
                None => other_client_args(),
            },
            fallback: None,
        }
    }

    /// The agent that names conversation states, and where its model is named.
    fn state_agent(
        &self,
        judgment: &AgentConfig,
        source: ModelSource,
    ) -> Result<(AgentConfig, ModelSource), ConfigProblem> {
        let own = self.config.agents.state.as_ref();
        if own.is_some_and(|own| own.model_id.is_some()) {
            return Ok((inherit_settings(own, judgment), ModelSource::Config));
        }
        let agent_for = |model_id: ModelId| {
            let client_args = match &model_id {
                ModelId::Builtin => ClientArgs::default(),
                ModelId::Hosted { provider, .. } => self.client_args_for(*provider),
            };
            let other = AgentConfig { model_id: Some(model_id), client_args, ..Default::default() };
            inherit_settings(own, &other)
        };
        if let Some(name) = self.environment.get_non_empty(STATE_MODEL_VARIABLE) {
            let model_id = to_model_id(name).parse().map_err(|error| {
                ConfigProblem::for_file(
                    None,
                    format!("the variable {STATE_MODEL_VARIABLE} cannot be used: {error}"),
                )
            })?;
            return Ok((agent_for(model_id), ModelSource::Variable(STATE_MODEL_VARIABLE)));
        }
        let anthropic = Provider::Anthropic;
        let has_key = self.client_args_for(anthropic).api_key.is_some()
            || self.key_from_environment(anthropic).is_some();
        if has_key {
            let model_id =
                ModelId::Hosted { provider: anthropic, name: DEFAULT_STATE_MODEL.to_owned() };
            return Ok((agent_for(model_id), ModelSource::Config));
        }
        Ok((inherit_settings(own, judgment), source))
    }

    /// The client arguments of the first agent that has a key for this provider.
    fn client_args_for(&self, provider: Provider) -> ClientArgs {
        let AgentsConfig { response, judgment, memory, state, vision, transcription } =
            &self.config.agents;
        let agents = [state, judgment, response, memory, vision, transcription];
        let agents = agents.into_iter().flatten();
        let is_of_provider = |agent: &&AgentConfig| match &agent.model_id {
            Some(ModelId::Hosted { provider: other, .. }) => *other == provider,
            Some(ModelId::Builtin) | None => false,
        };
        let mut agents =
            agents.filter(is_of_provider).filter(|agent| agent.client_args.api_key.is_some());
        agents.next().map(|agent| agent.client_args.clone()).unwrap_or_default()
    }

    /// The model that transcribes recordings. It must have OpenAI's API, because other providers accept recordings in
    /// other ways.
    fn transcription_mind(&self) -> Result<Option<ResolvedMind>, ConfigProblem> {
        let Some(agent) = &self.config.agents.transcription else { return Ok(None) };
        let models = [agent.model_id.as_ref(), agent.fallback.as_ref().map(|it| &it.model_id)];
        let hears = |model: &ModelId| {
            let format = model.provider().map(Provider::wire_format);
            format == Some(WireFormat::OpenAi)
        };
        let is_one = agent.model_id.is_some() && models.into_iter().flatten().all(hears);
        if !is_one {
            let location = self.tree.find(&["agents", "transcription"]);
            return Err(ConfigProblem::for_file(
                location.map(|entry| entry.node.location),
                "agents.transcription needs a model_id with OpenAI's API for recordings, such as \
                 openai/whisper-1, groq/whisper-large-v3-turbo or mistral/voxtral-mini-latest"
                    .to_owned(),
            ));
        }
        self.resolve_mind(agent, &["agents", "transcription"], ModelSource::Config).map(Some)
    }

    fn resolve_mind(
        &self,
        agent: &AgentConfig,
        path: &[&str],
        source: ModelSource,
    ) -> Result<ResolvedMind, ConfigProblem> {
        let params = agent.params.clone().unwrap_or_default();
        let id = agent.model_id.clone().unwrap_or(ModelId::Builtin);
        let model =
            self.resolve_model(id.clone(), params.clone(), &agent.client_args, path, source)?;
        let fallback = agent.fallback.as_ref().map(|fallback| {
            let is_same_server = fallback.model_id.provider() == id.provider()
                && fallback.client_args.api_base == agent.client_args.api_base;
            let inherited =
                if is_same_server { params.clone() } else { params.for_another_server() };
            let params = fallback.params.clone().unwrap_or(inherited);
            let path = [path, &["fallback"]].concat();
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
        source: ModelSource,
    ) -> Result<ResolvedModel, ConfigProblem> {
        let provider = match &id {
            ModelId::Builtin => return Ok(ResolvedModel { id, params, endpoint: None }),
            ModelId::Hosted { provider, .. } => *provider,
        };
        let named = self.base_from_environment(provider, client_args)?;
        let is_named = named.is_some();
        let base = match named {
            Some(base) => base,
            None => self.api_base(provider, client_args, path, source)?,
        };
        if base.split('/').nth(2).is_some_and(|authority| authority.contains('@')) {
            let agent = path.join(".");
            let sentence = format!(
                "the address of {id} holds a user name or a password, which would be logged: leave it out, and set \
                 {agent}.client_args.api_key or extra_headers"
            );
            return Err(ConfigProblem::for_file(None, sentence));
        }
        // A key of the provider must not be sent to another server, unless the environment names both.
        let is_own = provider.owns(&base) || is_named;
        let provider_key = || self.key_from_environment(provider).filter(|_| is_own);
        let key = client_args.api_key.clone().or_else(provider_key);
        // Headers may authenticate as well, and another server may want no key.
        let has_headers = !client_args.extra_headers.is_empty();
        let is_elsewhere = !provider.owns(&base) && (client_args.api_base.is_some() || is_named);
        let needs_key = key.is_none() && !has_headers && !is_elsewhere;
        if let Some(variable) = provider.key_variable().filter(|_| needs_key) {
            let own = "client_args.api_key";
            return Err(self.missing_problem(provider, "a key", own, &[variable], path, source));
        }
        let models = &self.config.models;
        let usual = models.timeout_seconds.0 as f64;
        let cold = cold_timeout_seconds(provider, &base, usual);
        let timeout = client_args.timeout.map(|timeout| timeout.0);
        let endpoint = ModelEndpoint {
            base,
            key,
            connect_timeout_seconds: models.connect_timeout_seconds.0 as f64,
            timeout_seconds: timeout.unwrap_or(usual),
            cold_timeout_seconds: timeout.unwrap_or(cold),
            attempts: client_args.max_retries.map_or(models.attempts.0, |retries| retries.0 + 1),
            headers: client_args.extra_headers.clone(),
        };
        Ok(ResolvedModel { id, params, endpoint: Some(endpoint) })
    }

    /// The base URL that the environment names for the provider's clients, if the settings name none.
    fn base_from_environment(
        &self,
        provider: Provider,
        client_args: &ClientArgs,
    ) -> Result<Option<String>, ConfigProblem> {
        if client_args.api_base.is_some() {
            return Ok(None);
        }
        let mut named = provider.base_variables().iter().filter_map(|(variable, path)| {
            Some((*variable, *path, self.environment.get_non_empty(variable)?))
        });
        let Some((variable, path, value)) = named.next() else { return Ok(None) };
        provider.base_in_variable(value, path).map(Some).ok_or_else(|| {
            let sentence = format!(
                "the variable {variable} cannot be used: it must be an address with http:// or https://, like \
                 https://example.com/v1"
            );
            ConfigProblem::for_file(None, sentence)
        })
    }

    /// The base URL of the API: from the settings, from the provider, or from the account that the environment names.
    fn api_base(
        &self,
        provider: Provider,
        client_args: &ClientArgs,
        path: &[&str],
        source: ModelSource,
    ) -> Result<String, ConfigProblem> {
        if let Some(base) = &client_args.api_base {
            return Ok(provider.complete_api_base(&base.as_base()));
        }
        if let Some(base) = provider.default_api_base() {
            return Ok(base.to_owned());
        }
        let variables = provider.place_variables();
        let mut named = variables
            .iter()
            .filter_map(|variable| Some((*variable, self.environment.get_non_empty(variable)?)));
        let Some((variable, place)) = named.next() else {
            let (what, own) = ("an address", "client_args.api_base");
            return Err(self.missing_problem(provider, what, own, variables, path, source));
        };
        provider.api_base_at(place).ok_or_else(|| {
            let is_azure = provider == Provider::Azure;
            let form = if is_azure { AZURE_ADDRESS_FORM } else { REGION_FORM };
            ConfigProblem::for_file(
                None,
                format!("the variable {variable} cannot be used: it must be {form}"),
            )
        })
    }

    fn key_from_environment(&self, provider: Provider) -> Option<Secret> {
        self.environment.get_non_empty(provider.key_variable()?).map(Secret::new)
    }

    /// The problem that a model lacks a key or an address, with the setting and the variables that can provide it.
    fn missing_problem(
        &self,
        provider: Provider,
        what: &str,
        setting: &str,
        variables: &[&str],
        path: &[&str],
        source: ModelSource,
    ) -> ConfigProblem {
        let agent = path.join(".");
        let variables = join_list(variables, "or");
        let remedy = format!(
            "set {agent}.{setting}, or the variable {variables} in the environment or in a \
             .env file"
        );
        let name = provider.name();
        let source = match source {
            ModelSource::Config => None,
            ModelSource::Variable(variable) => Some(format!("the variable {variable}")),
            ModelSource::Flag => Some("--model".to_owned()),
        };
        if let Some(source) = source {
            let sentence =
                format!("{source} names a model of {name}, which needs {what}: {remedy}");
            return ConfigProblem::for_file(None, sentence);
        }
        let path: Vec<&str> = path.iter().copied().chain(["model_id"]).collect();
        let location = self.tree.find(&path).map(|entry| entry.node.location);
        let path = path.join(".");
        let sentence = format!("{path} is a model of {name}, which needs {what}: {remedy}");
        ConfigProblem::for_file(location, sentence)
    }
}
