//! Checks that involve more than one setting.

use std::collections::BTreeSet;

use aizuchi_agent::agent;
use aizuchi_llm::model_id::ModelId;
use aizuchi_model::chat::local;
use aizuchi_model::rules::{ChannelRules, FacilitationRules};
use jiff::SignedDuration;

use crate::Config;
use crate::channel_overrides::{ChannelTools, ToolName};
use crate::models::place_models::OwnModels;
use crate::overrides::OverridingSection;
use crate::problem::ConfigProblem;
use crate::secret::displayable;
use crate::suggestions::{join_list, misspelled_word};
use crate::syntax_tree::{ConfigNode, ConfigValue};

/// Checks a config. The tree provides the keys that are set and their locations.
pub fn check(config: &Config, tree: &ConfigNode) -> Result<(), ConfigProblem> {
    let response = &config.response;
    let is_shorter =
        response.min_wait_seconds.is_some_and(|min| response.max_wait_seconds.0 < min.0);
    if is_shorter && let Some(location) = tree.location_of(&["response", "max_wait_seconds"]) {
        let sentence = "response.max_wait_seconds must be at least response.min_wait_seconds, which is how long a \
                        conversation rests before it is judged";
        return Err(ConfigProblem::for_file(Some(location), sentence));
    }
    let sections = config.overriding_sections();
    for OverridingSection { kind, path, overrides } in &sections {
        let (min, max) = (overrides.min_wait_seconds, overrides.max_wait_seconds);
        if min.zip(max).is_some_and(|(min, max)| max.0 < min.0) {
            let sentence = format!(
                "max_wait_seconds of a {} must be at least its min_wait_seconds, which is how long a conversation \
                 rests before it is judged",
                kind.name()
            );
            let path = [&path[..], &["max_wait_seconds"]].concat();
            return Err(ConfigProblem::for_file(tree.location_of(&path), sentence));
        }
    }
    check_own_models(config, &sections, tree)?;
    check_builtin_judges(config, tree)?;
    check_http(config, tree)?;
    check_mcp(config, &sections, tree)?;
    let slack = config.slack.iter().map(|slack| slack.settings(config));
    let slack = slack.map(|settings| ("slack", settings.map(|it| it.in_flight_timeout)));
    let discord = config.discord.iter().map(|discord| discord.settings(config));
    let discord = discord.map(|settings| ("discord", settings.map(|it| it.in_flight_timeout)));
    for (section, settle) in slack.chain(discord) {
        check_platform(section, settle, tree)?;
    }
    let book = config.rulebook();
    check_facilitation(&book.default_rules, tree, &["facilitator"])?;
    for (key, rules) in &book.channels {
        check_facilitation(rules, tree, &["channels", key, "facilitator"])?;
    }
    Ok(())
}

/// Checks that every model that a section names is in `models.named`.
fn check_own_models(
    config: &Config,
    sections: &[OverridingSection<'_>],
    tree: &ConfigNode,
) -> Result<(), ConfigProblem> {
    let places = sections.iter().filter_map(|section| {
        let path = [&section.path[..], &["model"]].concat();
        Some((path, section.overrides.model.as_ref()?))
    });
    let workspaces = config.models.workspaces.iter();
    let workspaces = workspaces.map(|(id, own)| (vec!["models", "workspaces", &**id], own));
    for (path, own) in places.chain(workspaces) {
        for (agent, name) in own.names() {
            if !config.models.named.contains_key(name) {
                let path: Vec<&str> = path.iter().copied().chain(agent).collect();
                return Err(unknown_name(config, tree, &path, name));
            }
        }
    }
    Ok(())
}

/// Checks that the built-in rules speak unasked in a workspace only if the config says so. Without a mode, the mode of
/// the model in `agents` applies everywhere, but the built-in rules are too simple to decide when to interrupt users.
fn check_builtin_judges(config: &Config, tree: &ConfigNode) -> Result<(), ConfigProblem> {
    let is_builtin = |own: &OwnModels| {
        let judge = own.rules().judgment.and_then(|name| config.models.named.get(&*name));
        judge.is_some_and(|named| named.model_id == ModelId::Builtin)
    };
    let is_room = |id: &str| id == local::workspace_id().as_str();
    let of_models = config.models.workspaces.iter().map(|(id, own)| (id, own, true));
    let places = config.workspaces.iter().filter(|(_, workspace)| workspace.mode.is_none());
    let places = places.filter_map(|(id, workspace)| Some((id, workspace.model.as_ref()?, false)));
    let found = of_models.chain(places).find(|(id, own, _)| !is_room(id) && is_builtin(own));
    let Some((id, _, is_of_models)) = found.filter(|_| config.response.mode.is_none()) else {
        return Ok(());
    };
    let shown = displayable(id).unwrap_or("…".to_owned());
    let (section, path) = match is_of_models {
        true => ("models.workspaces", ["models", "workspaces", id.as_str()]),
        false => ("workspaces", ["workspaces", id.as_str(), "model"]),
    };
    let sentence = format!(
        "{section}.{shown} has the built-in rules judge, which are too simple to say when to speak unasked; \
         response.mode must say what happens in channels without a mode of their own, like mention_only"
    );
    Err(ConfigProblem::for_file(tree.location_of(&path), sentence))
}

fn unknown_name(config: &Config, tree: &ConfigNode, path: &[&str], name: &str) -> ConfigProblem {
    let place: Vec<String> =
        path.iter().map(|key| displayable(key).unwrap_or("…".to_owned())).collect();
    let place = place.join(".");
    // A value that was expanded from a variable may be a secret.
    let is_written = tree.find(path).is_some_and(
        |entry| matches!(&entry.node.value, ConfigValue::Text(text) if !text.is_expanded),
    );
    let shown = displayable(name).filter(|_| is_written);
    let name = shown.unwrap_or("…".to_owned());
    let known: Vec<&str> = config.models.named.keys().map(String::as_str).collect();
    let end = match (misspelled_word(&name, &known), known.is_empty()) {
        (Some(meant), _) => format!("did you mean \"{meant}\"?"),
        (None, true) => {
            "there are none: write the model there, under a name of your choice".to_owned()
        }
        (None, false) => format!("there are {}", join_list(&known, "and")),
    };
    let sentence = format!("{place} is \"{name}\", which is not a model in models.named; {end}");
    ConfigProblem::for_file(tree.location_of(path), sentence)
}

fn check_http(config: &Config, tree: &ConfigNode) -> Result<(), ConfigProblem> {
    let http = &config.http;
    let mut names = BTreeSet::new();
    let mut secrets: BTreeSet<&str> =
        http.token.iter().map(|token| token.0.expose().trim()).collect();
    let is_repeated = http.tokens.iter().any(|named| {
        let is_new_secret = secrets.insert(named.token.0.expose().trim());
        !names.insert(named.name.0.as_str()) || !is_new_secret
    });
    if is_repeated {
        let sentence = "http.tokens must have names and tokens that differ from each other, and from http.token";
        return Err(ConfigProblem::for_file(tree.location_of(&["http", "tokens"]), sentence));
    }
    if http.proxy_sign_in.is_some() && http.trusted_proxies.is_empty() {
        let sentence = "http.proxy_sign_in needs http.trusted_proxies, because it trusts only the proxies that are \
                        named there";
        return Err(ConfigProblem::for_file(
            tree.location_of(&["http", "proxy_sign_in"]),
            sentence,
        ));
    }
    Ok(())
}

fn check_mcp(
    config: &Config,
    sections: &[OverridingSection<'_>],
    tree: &ConfigNode,
) -> Result<(), ConfigProblem> {
    for (name, server) in &config.tools.mcp.servers {
        let Some((key, problem)) = server.problem() else { continue };
        let path = ["tools", "mcp", "servers", &name.0, key];
        let path = if key.is_empty() { &path[..4] } else { &path[..] };
        let location = tree.find(path).map(|entry| entry.key_location);
        let sentence = format!("tools.mcp.servers.{}{problem}", name.0);
        return Err(ConfigProblem::for_file(location, sentence));
    }
    for OverridingSection { kind, path, overrides } in sections {
        let names = overrides.tools.iter().flat_map(ChannelTools::names);
        let mut servers = names.filter_map(ToolName::server);
        let is_there = |name: &str| config.tools.mcp.servers.keys().any(|known| known.0 == name);
        if servers.any(|name| !is_there(name)) {
            let sentence = format!(
                "tools of a {} names a tool of an MCP server that is not in tools.mcp.servers",
                kind.name()
            );
            let path = [&path[..], &["tools"]].concat();
            return Err(ConfigProblem::for_file(tree.location_of(&path), sentence));
        }
    }
    Ok(())
}

/// Checks the settings of a platform. The settle time must exceed the timeout of a post, because an unconfirmed post may
/// still arrive until then.
fn check_platform(
    section: &str,
    settle: Result<SignedDuration, &'static str>,
    tree: &ConfigNode,
) -> Result<(), ConfigProblem> {
    let settle = settle.map_err(|sentence| {
        let location = tree.find(&[section]).map(|entry| entry.key_location);
        ConfigProblem::for_file(location, sentence)
    })?;
    let post_timeout = agent::AgentSettings::default().post_timeout;
    if settle > post_timeout {
        return Ok(());
    }
    let sentence = format!(
        "{section}.settle_seconds must be more than {}: a post may take that long, and one that is still on its way would be posted twice",
        post_timeout.as_secs()
    );
    Err(ConfigProblem::for_file(tree.location_of(&[section, "settle_seconds"]), sentence))
}

fn check_facilitation(
    rules: &ChannelRules,
    tree: &ConfigNode,
    section: &[&str],
) -> Result<(), ConfigProblem> {
    let FacilitationRules { rest_seconds, max_rest_seconds, min_messages, buffer_size, .. } =
        rules.facilitation;
    let defaults = FacilitationRules::default();
    if max_rest_seconds < rest_seconds {
        let min = Bound { key: "rest_seconds", default: defaults.rest_seconds.to_string() };
        let max = Bound { key: "max_rest_seconds", default: defaults.max_rest_seconds.to_string() };
        return Err(bounds_problem(min, max, tree, section));
    }
    if buffer_size < min_messages {
        let min = Bound { key: "min_messages", default: defaults.min_messages.to_string() };
        let max = Bound { key: "buffer_size", default: defaults.buffer_size.to_string() };
        return Err(bounds_problem(min, max, tree, section));
    }
    Ok(())
}

struct Bound {
    key: &'static str,
    /// The value if the key is not set.
    default: String,
}

/// The problem that `max` is below `min`, located at whichever of them is set.
fn bounds_problem(min: Bound, max: Bound, tree: &ConfigNode, section: &[&str]) -> ConfigProblem {
    let at = |key| tree.location_of(&[section, &[key]].concat());
    let path: Vec<String> =
        section.iter().map(|key| displayable(key).unwrap_or("…".to_owned())).collect();
    let path = path.join(".");
    let (location, key, bound, other) = match at(max.key) {
        Some(location) => (Some(location), max.key, "at least", min),
        None => (at(min.key), min.key, "at most", max),
    };
    let Bound { key: other, default: defaults } = other;
    let sentence =
        format!("{path}.{key} must be {bound} {other}, which is {defaults} unless it is set");
    ConfigProblem::for_file(location, sentence)
}
