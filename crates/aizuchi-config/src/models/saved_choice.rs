//! The model that was chosen on the page or in the environment, for a config that names none. It is kept in variables,
//! where the keys are, so that it survives a restart.

use aizuchi_llm::model_id::ModelId;

use crate::agents::{AgentConfig, AgentsConfig, ClientArgs};
use crate::environment::Environment;
use crate::problem::ConfigProblem;
use crate::secret::Secret;
use crate::values::WebUrl;

/// Names the model of all agents if the config names none.
pub const MODEL_VARIABLE: &str = "AIZUCHI_MODEL";
/// The base URL of that model, if it is not its provider's own.
pub const API_BASE_VARIABLE: &str = "AIZUCHI_MODEL_API_BASE";
/// The key for that address. A provider's own key is never sent there.
pub const API_KEY_VARIABLE: &str = "AIZUCHI_MODEL_API_KEY";

/// The agents with the model that [`MODEL_VARIABLE`] names, if the config names none.
pub fn chosen_agents(
    agents: &AgentsConfig,
    environment: &Environment,
) -> Result<Option<AgentsConfig>, ConfigProblem> {
    let Some(name) = environment.get_non_empty(MODEL_VARIABLE).filter(|_| !names_model(agents))
    else {
        return Ok(None);
    };
    let unusable = |variable: &str, why: &str| {
        ConfigProblem::for_file(None, format!("the variable {variable} cannot be used: {why}"))
    };
    let model: ModelId =
        name.parse().map_err(|error| unusable(MODEL_VARIABLE, &format!("{error}")))?;
    let base = environment.get_non_empty(API_BASE_VARIABLE).map(|base| {
        WebUrl::try_from(base.to_owned()).map_err(|why| unusable(API_BASE_VARIABLE, why))
    });
    let base = base.transpose()?;
    let key = environment.get_non_empty(API_KEY_VARIABLE).filter(|_| base.is_some());
    let chosen = agents_without_access(agents);
    let response = chosen.response.unwrap_or_default();
    let client_args =
        ClientArgs { api_base: base, api_key: key.map(Secret::new), ..response.client_args };
    let response = AgentConfig { model_id: Some(model), client_args, ..response };
    Ok(Some(AgentsConfig { response: Some(response), ..chosen }))
}

/// The model that judges, without what is needed to call it.
pub fn judge_of(agents: &AgentsConfig, environment: &Environment) -> ModelId {
    // A variable that cannot be used names no model.
    let chosen = chosen_agents(agents, environment).ok().flatten();
    let AgentsConfig { response, judgment, .. } = chosen.as_ref().unwrap_or(agents);
    let mut agents = [judgment, response].into_iter().flatten();
    agents.find_map(|agent| agent.model_id.clone()).unwrap_or(ModelId::Builtin)
}

/// The agents without the addresses, keys and headers that the config has for a model that it does not name: it is
/// unknown which server they belong to.
fn agents_without_access(agents: &AgentsConfig) -> AgentsConfig {
    let without_access = |agent: &AgentConfig| {
        let ClientArgs { timeout, max_retries, .. } = agent.client_args;
        let client_args = ClientArgs { timeout, max_retries, ..ClientArgs::default() };
        AgentConfig { client_args, ..agent.clone() }
    };
    let AgentsConfig { response, judgment, memory, state, vision, transcription } = agents;
    AgentsConfig {
        response: response.as_ref().map(without_access),
        judgment: judgment.as_ref().map(without_access),
        memory: memory.as_ref().map(without_access),
        state: state.as_ref().map(without_access),
        // An agent with its own model keeps its access to it.
        vision: vision.as_ref().map(|agent| match &agent.model_id {
            Some(_) => agent.clone(),
            None => without_access(agent),
        }),
        // The transcription agent always has a model of its own.
        transcription: transcription.clone(),
    }
}

/// Whether any agent names a model, apart from those that only see pictures or hear recordings.
pub fn names_model(agents: &AgentsConfig) -> bool {
    let AgentsConfig { response, judgment, memory, state, vision: _, transcription: _ } = agents;
    let mut agents = [response, judgment, memory, state].into_iter().flatten();
    agents.any(|agent: &AgentConfig| agent.model_id.is_some())
}
