//! The names of models as other programs write them: without their provider, or with one that is not known here.

use aizuchi_import::kotonoha::to_model_id;
use aizuchi_llm::model_id::ModelId;
use aizuchi_llm::provider_list::{PROVIDERS, Provider};

use crate::agents::AGENTS;
use crate::problem::ConfigProblem;
use crate::suggestions::{join_list, misspelled_word};
use crate::syntax_tree::{ConfigEntry, ConfigNode, ConfigValue};

/// Prefixes a model's name with its provider where myao2 and kotonoha omit it. Treats any other model as one of an
/// OpenAI-compatible server if the config has the server's address.
pub fn name_provider(agent: &mut ConfigNode, path: &str, problems: &mut Vec<ConfigProblem>) {
    let Some(id) = unknown_model(agent) else { return };
    let known = Some(to_model_id(&id)).filter(|full| full.parse::<ModelId>().is_ok());
    let (full, sentence) = match known {
        Some(full) => {
            let fix = "write the provider before the name of the model";
            let sentence = format!("{path}.model_id is read as {full}; {fix}");
            (full, sentence)
        }
        None => {
            if !has_server_address(agent) {
                return;
            }
            let full = format!("openai/{}", id.split_once('/').map_or(&*id, |(_, name)| name));
            if is_misspelled(&id) || full.parse::<ModelId>().is_err() {
                return;
            }
            let sentence = format!(
                "{path}.model_id is read as {full} at client_args.api_base; write it that way"
            );
            (full, sentence)
        }
    };
    let Some(model) = agent.find_mut("model_id") else { return };
    let location = model.node.location;
    if let ConfigValue::Text(text) = &mut model.node.value {
        text.text = full;
    }
    problems.push(ConfigProblem::for_file(Some(location), sentence));
}

/// Removes a model whose provider is unknown, so that the agent inherits the model of `response`. Kept, and thus
/// rejected later, are misspelled agents, misspelled providers, and the model of `response` itself, which has nothing
/// to inherit.
pub fn take_unknown_model(agent: &mut ConfigEntry, path: &str, problems: &mut Vec<ConfigProblem>) {
    let is_agent = AGENTS.contains(&agent.key.as_str());
    let is_model = |id: &String| !is_misspelled(id) && !id.contains(char::is_whitespace);
    let id = unknown_model(&agent.node).filter(|id| is_agent && is_model(id));
    let model = agent.node.find(&["model_id"]).filter(|_| id.is_some());
    let Some(location) = model.map(|model| model.node.location) else { return };
    for key in ["model_id", "params", "client_args"] {
        agent.node.remove(&[key]);
    }
    let providers = PROVIDERS.map(Provider::name);
    let sentence = format!(
        "{path}.model_id has no provider that is known here, so the model of agents.response is used; its provider can be {}, \
         and any other OpenAI-compatible server is openai/NAME with client_args.api_base",
        join_list(&providers, "or")
    );
    problems.push(ConfigProblem::for_file(Some(location), sentence));
}

/// The model that an agent names, if it is not a known one.
fn unknown_model(agent: &ConfigNode) -> Option<String> {
    match &agent.find(&["model_id"])?.node.value {
        ConfigValue::Text(text) if !text.text.is_empty() => {
            Some(text.text.clone()).filter(|id| id.parse::<ModelId>().is_err())
        }
        _ => None,
    }
}

/// Whether the model looks like a misspelled provider.
fn is_misspelled(model: &str) -> bool {
    let known = PROVIDERS.map(Provider::name);
    match model.split_once('/') {
        Some((provider, _)) => misspelled_word(provider, &known).is_some(),
        None => misspelled_word(model, &["builtin"]).is_some(),
    }
}

/// Whether the address of an agent's server is set.
fn has_server_address(agent: &ConfigNode) -> bool {
    let base = agent.find(&["client_args", "api_base"]);
    base.is_some_and(
        |base| matches!(&base.node.value, ConfigValue::Text(text) if !text.text.trim().is_empty()),
    )
}
