//! The models that a channel or a workspace has of its own: names of `models.named`.

use std::sync::Arc;

use aizuchi_model::rules::ModelRules;
use schemars::JsonSchema;
use serde::Deserialize;

/// One model for everything there, or a model for each agent.
#[derive(Clone, Debug, PartialEq, JsonSchema)]
#[schemars(inline, untagged)]
pub enum OwnModels {
    All(String),
    ByAgent(OwnModelsByAgent),
}

text_or_section! {
    OwnModels: All or ByAgent(OwnModelsByAgent),
    "the name of a model in models.named, or a section with one for response, judgment, memory or state"
}

/// The model of each agent, by its name in `models.named`. An omitted agent uses its usual model.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct OwnModelsByAgent {
    /// Writes the answers there.
    pub response: Option<String>,
    /// Decides there whether to join in.
    pub judgment: Option<String>,
    /// Makes memories of what is said there.
    pub memory: Option<String>,
    /// Names the state of conversations there if `decision.state` is `separate`.
    pub state: Option<String>,
}

impl OwnModels {
    pub fn rules(&self) -> ModelRules {
        let by_agent = match self {
            OwnModels::All(name) => {
                let name: Arc<str> = name.as_str().into();
                let [response, judgment, memory, state] = [0; 4].map(|_| Some(name.clone()));
                return ModelRules { response, judgment, memory, state };
            }
            OwnModels::ByAgent(by_agent) => by_agent,
        };
        let name = |name: &Option<String>| name.as_deref().map(Arc::from);
        ModelRules {
            response: name(&by_agent.response),
            judgment: name(&by_agent.judgment),
            memory: name(&by_agent.memory),
            state: name(&by_agent.state),
        }
    }

    /// Each name, with the agent that it is for unless it is for all of them.
    pub fn names(&self) -> Vec<(Option<&'static str>, &str)> {
        match self {
            OwnModels::All(name) => vec![(None, name.as_str())],
            OwnModels::ByAgent(OwnModelsByAgent { response, judgment, memory, state }) => {
                let agents = ["response", "judgment", "memory", "state"];
                let names = agents.into_iter().zip([response, judgment, memory, state]);
                names.filter_map(|(agent, name)| Some((Some(agent), name.as_deref()?))).collect()
            }
        }
    }
}
