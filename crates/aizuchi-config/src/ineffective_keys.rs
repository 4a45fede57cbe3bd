//! Warnings about keys that are accepted without effect: keys of myao2 that are obsolete, and keys that other settings make
//! ineffective.

use aizuchi_agent::agent::StateCall;
use aizuchi_llm::model_id::ModelId;

use crate::Config;
use crate::agents::{AGENTS, CLIENT_ARGS, PARAMS};
use crate::deserialize::deserialize;
use crate::models::foreign_names::{name_provider, take_unknown_model};
use crate::problem::{ConfigLocation, ConfigProblem};
use crate::secret::displayable;
use crate::suggestions::{join_list, misspelled_word, similar_word};
use crate::syntax_tree::{ConfigEntry, ConfigNode, ConfigValue};
use crate::tools::ToolsConfig;

/// A key of myao2 that is obsolete. It is removed before the config is deserialized.
struct Notice {
    path: &'static [&'static str],
    /// The notice applies to values that contain one of these, or to all values if there are none.
    values: &'static [&'static str],
    /// Continues “is no longer used:”.
    why: &'static str,
}

const NOTICES: &[Notice] = &[
    obsolete(
        &["response", "check_interval_seconds"],
        "channels are no longer checked at intervals: each message sets the time of its own judgment; response.min_wait_seconds says how long a conversation rests before it, and \
         response.channel_sync_interval_seconds how often the list of channels is read",
    ),
    obsolete(
        &["response", "message_limit"],
        "judging, answering and remembering see the same messages; \
         response.channel_messages_limit says how many",
    ),
    obsolete(
        &["response", "response_interval"],
        "channels no longer wait for each other, so there is no pause between them",
    ),
    obsolete(
        &["response", "judgment_skip"],
        "a judge is asked once for each state of a conversation and says itself when to speak; \
         response.max_delay_seconds is the longest delay it may ask for",
    ),
    obsolete(
        &["response", "dynamic_wait"],
        "response.wait: adaptive follows the pace of the channel",
    ),
    obsolete(
        &["memory", "short_term_history"],
        "a short-term memory is one text about a period; memory.short_term_window_hours \
         says how long that is",
    ),
    obsolete(
        &["logging", "debug_llm_messages"],
        "prompts and answers do not belong in a log; retention.prompts_days says how long they \
         are kept with their decision",
    ),
    Notice {
        path: &["logging", "format"],
        values: &["%(", "{asctime}", "{message}"],
        why: "a Python format has no meaning here; it can be auto, text or json, and auto is used",
    },
];

const fn obsolete(path: &'static [&'static str], why: &'static str) -> Notice {
    Notice { path, values: &[], why }
}

/// Whether the config has a key that is obsolete, as only configs of myao2 do.
pub fn has_obsolete_key(tree: &ConfigNode) -> bool {
    NOTICES
        .iter()
        .any(|notice| tree.find(notice.path).is_some_and(|entry| notice.is_about(&entry.node)))
}

/// Returns the warnings about keys without effect, and removes obsolete keys from the tree.
pub fn take_ignored_keys(tree: &mut ConfigNode) -> Vec<ConfigProblem> {
    let mut problems = Vec::new();
    if tree.value == ConfigValue::Empty {
        problems.push(ConfigProblem::for_file(
            None,
            "the file sets nothing, so all settings are at their defaults",
        ));
    }
    for notice in NOTICES {
        let Some(entry) = tree.find(notice.path).filter(|entry| notice.is_about(&entry.node))
        else {
            continue;
        };
        let sentence = format!("{} is no longer used: {}", notice.path.join("."), notice.why);
        problems.push(ConfigProblem::for_file(Some(entry.key_location), sentence));
        tree.remove(notice.path);
    }
    let loggers = tree.find(&["logging", "loggers"]);
    for logger in loggers.map_or(&[][..], |loggers| loggers.node.entries()) {
        // Loggers of this program have names like aizuchi::agent, without dots.
        if logger.key.contains('.') || logger.key == "LiteLLM" {
            let key = displayable(&logger.key).unwrap_or("a key".to_owned());
            let sentence = format!(
                "logging.loggers.{key} has no effect: it is a part of another program; the parts \
                 of this one are named like aizuchi::agent"
            );
            problems.push(ConfigProblem::for_file(Some(logger.key_location), sentence));
        }
    }
    take_former_settings(tree, &mut problems);
    take_foreign_agents(tree, &mut problems);
    for agent in agents(tree) {
        let path = format!("agents.{}", agent.key);
        name_provider(&mut agent.node, &path, &mut problems);
        if agent.key != "response" {
            take_unknown_model(agent, &path, &mut problems);
        }
        take_unknown_client_args(&mut agent.node, &path, &mut problems);
        check_param_spelling(&agent.node, &path, &mut problems);
        if let Some(fallback) = agent.node.find_mut("fallback") {
            let path = format!("{path}.fallback");
            name_provider(&mut fallback.node, &path, &mut problems);
            take_unknown_client_args(&mut fallback.node, &path, &mut problems);
            check_param_spelling(&fallback.node, &path, &mut problems);
        }
    }
    problems
}

/// Returns the warnings about keys that other settings make ineffective. The tree provides the locations.
pub fn find_idle_settings(config: &Config, tree: &ConfigNode) -> Vec<ConfigProblem> {
    let notices = [
        idle_state_agent_notice(config, tree),
        missing_prices_notice(config, tree),
        builtin_judge_notice(config, tree),
        idle_web_search_notice(config, tree),
    ];
    notices.into_iter().flatten().collect()
}

/// The warning that on a chat platform the built-in mind judges and therefore only answers mentions.
fn builtin_judge_notice(config: &Config, tree: &ConfigNode) -> Option<ConfigProblem> {
    let is_builtin = *config.judge() == ModelId::Builtin;
    let has_platform = config.slack.is_some() || config.discord.is_some();
    let has_no_mode = has_platform && is_builtin && config.response.mode.is_none();
    let location = tree.find(&["slack"]).or_else(|| tree.find(&["discord"]));
    let location = location.map(|entry| entry.key_location);
    let is_judged = config.models.workspaces.values().any(|own| {
        let judge = own.rules().judgment.and_then(|name| config.named_model(&name));
        judge.is_some_and(|model| *model != ModelId::Builtin)
    });
    let sentence = match is_judged {
        true => {
            "no model is named in agents, so nothing is said unasked, even in workspaces that have a model in \
             models.workspaces; response.mode: companion allows it"
        }
        false => {
            "no model is named in agents, so the built-in rules judge and nothing is said \
             unasked; response.mode: companion allows it"
        }
    };
    has_no_mode.then(|| ConfigProblem::for_file(location, sentence))
}

/// The warning that there is no search engine, so models are not offered the tool.
fn idle_web_search_notice(config: &Config, tree: &ConfigNode) -> Option<ConfigProblem> {
    let search = config.tools.web_search.as_ref()?;
    let entry = tree.find(&["tools", "web_search"])?;
    let is_idle = search.enabled && !search.has_engine();
    let sentence =
        "tools.web_search has neither api_key nor searxng_url, so the web is not searched";
    is_idle.then(|| ConfigProblem::for_file(Some(entry.key_location), sentence))
}

fn idle_state_agent_notice(config: &Config, tree: &ConfigNode) -> Option<ConfigProblem> {
    let entry = tree.find(&["agents", "state"]).filter(|entry| is_set(entry))?;
    match config.decision.state {
        StateCall::Separate => None,
        StateCall::Fused => Some(ConfigProblem::for_file(
            Some(entry.key_location),
            "agents.state is asked only with decision.state: separate; now the judge names the \
             state in its own call",
        )),
    }
}

/// The warning that a limit on money cannot work, because a model has no price.
fn missing_prices_notice(config: &Config, tree: &ConfigNode) -> Option<ConfigProblem> {
    let (limit, location) = first_money_limit(tree)?;
    let models = config.unpriced_models();
    if models.is_empty() {
        return None;
    }
    let models: Vec<&str> = models.iter().map(String::as_str).collect();
    let sentence = format!(
        "{limit} cannot count what {} costs: there is no price in models.prices",
        join_list(&models, "or")
    );
    Some(ConfigProblem::for_file(Some(location), sentence))
}

/// The path and location of the first limit on money in the file.
fn first_money_limit(tree: &ConfigNode) -> Option<(String, ConfigLocation)> {
    let mut limits = Vec::new();
    if let Some(budget) = tree.find(&["budget"]) {
        money_limits(budget, "budget", &mut limits);
    }
    let channels = tree.find(&["channels"]).map_or(&[][..], |channels| channels.node.entries());
    for channel in channels {
        let key = displayable(&channel.key).unwrap_or("…".to_owned());
        if let Some(budget) = channel.node.find(&["budget"]) {
            money_limits(budget, &format!("channels.{key}.budget"), &mut limits);
        }
    }
    limits.into_iter().min_by_key(|(_, location)| (location.line, location.column))
}

fn money_limits(budget: &ConfigEntry, path: &str, limits: &mut Vec<(String, ConfigLocation)>) {
    match &budget.node.value {
        ConfigValue::Text(text) if !text.text.is_empty() => {
            limits.push((path.to_owned(), budget.key_location));
        }
        ConfigValue::Section(entries) => {
            let is_money = |entry: &&ConfigEntry| entry.key.starts_with("money_per_");
            let entries = entries.iter().filter(is_money).filter(|entry| is_set(entry));
            limits
                .extend(entries.map(|entry| (format!("{path}.{}", entry.key), entry.key_location)));
        }
        ConfigValue::Empty | ConfigValue::Text(_) | ConfigValue::List(_) => {}
    }
}

fn is_set(entry: &ConfigEntry) -> bool {
    match &entry.node.value {
        ConfigValue::Empty => false,
        ConfigValue::Text(text) => !text.text.is_empty(),
        ConfigValue::List(_) | ConfigValue::Section(_) => true,
    }
}

/// Removes a section of tools that cannot be used, for a config of myao2, which starts without them.
pub fn take_unusable_tools(tree: &mut ConfigNode) -> Option<ConfigProblem> {
    let tools = tree.find_mut("tools")?;
    let problem = deserialize::<ToolsConfig>(&tools.node).err()?.within("tools");
    let sentence = format!("{}; the section is ignored", problem.description());
    let problem = ConfigProblem::for_file(problem.location, sentence);
    tree.remove(&["tools"]);
    Some(problem)
}

/// Removes what older versions had: a learned gate, weekly notes, and a gate that they wrote into `response.gates`.
fn take_former_settings(tree: &mut ConfigNode, problems: &mut Vec<ConfigProblem>) {
    if let Some(response) = tree.find_mut("response") {
        take_former_keys(&mut response.node, "response", problems);
    }
    for name in ["channels", "workspaces"] {
        let places = tree.find_mut(name).map(|places| &mut places.node.value);
        let Some(ConfigValue::Section(places)) = places else { continue };
        for place in places {
            take_former_keys(&mut place.node, name, problems);
        }
    }
    let gates = tree.find_mut("response").and_then(|entry| entry.node.find_mut("gates"));
    let Some(ConfigValue::List(gates)) = gates.map(|entry| &mut entry.node.value) else { return };
    let is_former = |gate: &mut ConfigNode| matches!(&gate.value, ConfigValue::Text(text) if text.text == "spoke_last");
    for gate in gates.extract_if(.., is_former) {
        let sentence = "response.gates holds \"spoke_last\", which is no longer a gate; remove it";
        problems.push(ConfigProblem::for_file(Some(gate.location), sentence));
    }
}

fn take_former_keys(section: &mut ConfigNode, path: &str, problems: &mut Vec<ConfigProblem>) {
    let ConfigValue::Section(entries) = &mut section.value else { return };
    let is_former = |entry: &mut ConfigEntry| matches!(&*entry.key, "learned_gate" | "weekly_note");
    for entry in entries.extract_if(.., is_former) {
        let sentence = format!("{} in {path} has no effect any more; remove it", entry.key);
        problems.push(ConfigProblem::for_file(Some(entry.key_location), sentence));
    }
}

/// Removes unknown agents, since myao2 accepts any name. A name that resembles a known one is kept, and rejected with a
/// suggestion.
fn take_foreign_agents(tree: &mut ConfigNode, problems: &mut Vec<ConfigProblem>) {
    let Some(agents) = tree.find_mut("agents") else { return };
    let ConfigValue::Section(agents) = &mut agents.node.value else { return };
    let is_foreign = |agent: &mut ConfigEntry| {
        let key = agent.key.as_str();
        let is_near = || misspelled_word(key, &AGENTS).or(similar_word(key, &AGENTS)).is_some();
        !AGENTS.contains(&key) && agent.node.find(&["model_id"]).is_some() && !is_near()
    };
    for agent in agents.extract_if(.., is_foreign) {
        let key = displayable(&agent.key).unwrap_or("a key".to_owned());
        let agents = join_list(&AGENTS, "and");
        let sentence =
            format!("agents.{key} has no effect, since the agents are {agents}; remove it");
        problems.push(ConfigProblem::for_file(Some(agent.key_location), sentence));
    }
}

/// Removes unknown client arguments. Configs of myao2 may have any argument of LiteLLM.
fn take_unknown_client_args(agent: &mut ConfigNode, path: &str, problems: &mut Vec<ConfigProblem>) {
    let Some(client_args) = agent.find_mut("client_args") else { return };
    let ConfigValue::Section(entries) = &mut client_args.node.value else { return };
    for unknown in entries.extract_if(.., |entry| !CLIENT_ARGS.contains(&entry.key.as_str())) {
        let suggestion = misspelled_word(&unknown.key, &CLIENT_ARGS)
            .map_or(String::new(), |suggestion| format!("; did you mean \"{suggestion}\"?"));
        let key = displayable(&unknown.key).unwrap_or("a key".to_owned());
        let sentence = format!("{path}.client_args.{key} has no effect{suggestion}");
        problems.push(ConfigProblem::for_file(Some(unknown.key_location), sentence));
    }
}

/// Warns about parameters that look misspelled. Unknown parameters are passed to the model, so a typo would go
/// unnoticed.
fn check_param_spelling(agent: &ConfigNode, path: &str, problems: &mut Vec<ConfigProblem>) {
    let params = agent.find(&["params"]).map_or(&[][..], |params| params.node.entries());
    for param in params.iter().filter(|param| !PARAMS.contains(&param.key.as_str())) {
        if let Some(suggestion) = misspelled_word(&param.key, &PARAMS) {
            let key = displayable(&param.key).unwrap_or("a key".to_owned());
            let sentence = format!(
                "{path}.params.{key} is passed to the model unchanged; did you mean \"{suggestion}\"?"
            );
            problems.push(ConfigProblem::for_file(Some(param.key_location), sentence));
        }
    }
}

impl Notice {
    fn is_about(&self, node: &ConfigNode) -> bool {
        let holds = |value: &&str| matches!(&node.value, ConfigValue::Text(text) if text.text.contains(value));
        self.values.is_empty() || self.values.iter().any(holds)
    }
}

fn agents(tree: &mut ConfigNode) -> &mut [ConfigEntry] {
    match tree.find_mut("agents").map(|agents| &mut agents.node.value) {
        Some(ConfigValue::Section(agents)) => agents,
        _ => &mut [],
    }
}
