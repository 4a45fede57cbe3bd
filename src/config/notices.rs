//! Keys that are accepted and do nothing, and why: those of myao2 that nothing needs any more,
//! those whose feature this version does not have yet, and those that other settings make idle. Each
//! new feature takes its line away.

use std::collections::BTreeSet;

use crate::config::Config;
use crate::config::agents::{CLIENT_ARGS, PARAMS};
use crate::config::nearest::{listed, nearest};
use crate::config::problem::{Place, Problem};
use crate::config::secret::shown;
use crate::config::tree::{Entry, Node, Value};
use aizuchi_core::agent::StateCall;
use aizuchi_core::llm::model::ModelId;

struct Notice {
    path: &'static [&'static str],
    /// Values that the notice is about; all, if it names none.
    values: &'static [&'static str],
    why: Why,
}

enum Why {
    /// Taken away before anything else reads it. The sentence goes on after “is no longer used:”.
    Obsolete(&'static str),
    /// Read and checked. The sentence goes on after “has no effect in this version yet”.
    NotYet(&'static str),
}

const NOTICES: &[Notice] = &[
    // Of myao2.
    obsolete(
        &["response", "check_interval_seconds"],
        "channels are not looked through in intervals any more, each message sets the time of its \
         own judgment; response.min_wait_seconds says how long the talk rests before it, and \
         response.channel_sync_interval_seconds how often the list of channels is read",
    ),
    obsolete(
        &["response", "message_limit"],
        "judging, answering and remembering see the same messages; \
         response.channel_messages_limit says how many",
    ),
    obsolete(
        &["response", "response_interval"],
        "channels do not wait for each other any more, so there is no pause between them; \
         response.jitter_ratio spreads their judgments",
    ),
    obsolete(
        &["response", "judgment_skip"],
        "a judge is asked once for each state of a conversation and says itself when to speak; \
         response.max_delay_seconds is the longest delay it may ask for",
    ),
    obsolete(
        &["response", "dynamic_wait"],
        "response.wait: adaptive is the wait that follows the tempo of the room",
    ),
    obsolete(
        &["memory", "short_term_history"],
        "a short-term memory is one text about a span of time; memory.short_term_window_hours \
         says how long that is",
    ),
    obsolete(
        &["logging", "debug_llm_messages"],
        "prompts and answers do not belong in a log; retention.prompts_days says how long they \
         are kept beside their decision",
    ),
    Notice {
        path: &["logging", "format"],
        values: &["%(", "{asctime}", "{message}"],
        why: Why::Obsolete(
            "a format of Python says nothing here; it is auto, text or json, and auto is used",
        ),
    },
    // Not here yet.
    not_yet(&["tools"]),
];

const fn obsolete(path: &'static [&'static str], why: &'static str) -> Notice {
    Notice { path, values: &[], why: Why::Obsolete(why) }
}

const fn not_yet(path: &'static [&'static str]) -> Notice {
    Notice { path, values: &[], why: Why::NotYet("") }
}

/// Says what has no effect, in the order of the file, and takes away what nothing reads.
pub fn take(tree: &mut Node) -> Vec<Problem> {
    let mut said = Vec::new();
    if tree.value == Value::Empty {
        said.push(Problem::of_file(None, "the file sets nothing, so everything has its default"));
    }
    for notice in NOTICES {
        let Some(entry) = tree.find(notice.path).filter(|entry| notice.is_about(&entry.node))
        else {
            continue;
        };
        let path = notice.path.join(".");
        let sentence = match notice.why {
            Why::Obsolete(why) => format!("{path} is no longer used: {why}"),
            Why::NotYet(why) => format!("{path} has no effect in this version yet{why}"),
        };
        said.push(Problem::of_file(Some(entry.key_place), sentence));
        if let Why::Obsolete(_) = notice.why {
            remove(tree, notice.path);
        }
    }
    let loggers = tree.find(&["logging", "loggers"]);
    for logger in loggers.map_or(&[][..], |loggers| loggers.node.entries()) {
        // The parts of this program are named like aizuchi::agent.
        if logger.key.contains('.') || logger.key == "LiteLLM" {
            let key = shown(&logger.key).unwrap_or("a key".to_owned());
            let sentence = format!(
                "logging.loggers.{key} has no effect: it is a part of another program; the parts \
                 of this one are named like aizuchi::agent"
            );
            said.push(Problem::of_file(Some(logger.key_place), sentence));
        }
    }
    for agent in agents(tree) {
        let path = format!("agents.{}", agent.key);
        take_client_args(&mut agent.node, &path, &mut said);
        look_at_params(&agent.node, &path, &mut said);
        if let Some(fallback) = entry(&mut agent.node, "fallback") {
            let path = format!("{path}.fallback");
            take_client_args(&mut fallback.node, &path, &mut said);
            look_at_params(&fallback.node, &path, &mut said);
        }
    }
    said
}

/// Says what other settings make idle. The tree is only asked for places.
pub fn of(config: &Config, tree: &Node) -> Vec<Problem> {
    let notices =
        [unasked_state(config, tree), uncounted_money(config, tree), builtin_judge(config, tree)];
    notices.into_iter().flatten().collect()
}

/// A few rules are no judge in a real workspace.
fn builtin_judge(config: &Config, tree: &Node) -> Option<Problem> {
    let is_builtin = config.minds.judgment.model.id == ModelId::Builtin;
    let is_real = config.slack.is_some() || config.discord.is_some();
    let is_left_out = is_real && is_builtin && config.response.mode.is_none();
    let place = tree.find(&["slack"]).or_else(|| tree.find(&["discord"]));
    let place = place.map(|entry| entry.key_place);
    let sentence = "no model is named in agents, so the built-in mind judges and nothing is said \
                    unasked; response.mode: companion lets it";
    is_left_out.then(|| Problem::of_file(place, sentence))
}

fn unasked_state(config: &Config, tree: &Node) -> Option<Problem> {
    let entry = tree.find(&["agents", "state"]).filter(|entry| is_set(entry))?;
    match config.decision.state {
        StateCall::Separate => None,
        StateCall::Fused => Some(Problem::of_file(
            Some(entry.key_place),
            "agents.state is asked only with decision.state: separate; now the judge names the \
             state in its own call",
        )),
    }
}

/// Money is counted by prices, so a model without one may cost whatever it costs.
fn uncounted_money(config: &Config, tree: &Node) -> Option<Problem> {
    let (limit, place) = first_money_limit(tree)?;
    let models: Vec<String> = config
        .minds
        .asked(config.decision.state)
        .filter(|id| **id != ModelId::Builtin && !config.models.prices.contains_key(id))
        .map(ToString::to_string)
        .collect::<BTreeSet<_>>()
        .into_iter()
        .collect();
    if models.is_empty() {
        return None;
    }
    let models: Vec<&str> = models.iter().map(String::as_str).collect();
    let sentence = format!(
        "{limit} cannot count what {} costs: there is no price in models.prices",
        listed(&models, "or")
    );
    Some(Problem::of_file(Some(place), sentence))
}

/// The path of the first limit in the file that is an amount of money.
fn first_money_limit(tree: &Node) -> Option<(String, Place)> {
    let mut limits = Vec::new();
    if let Some(budget) = tree.find(&["budget"]) {
        money_limits(budget, "budget", &mut limits);
    }
    let channels = tree.find(&["channels"]).map_or(&[][..], |channels| channels.node.entries());
    for channel in channels {
        let key = shown(&channel.key).unwrap_or("…".to_owned());
        if let Some(budget) = channel.node.find(&["budget"]) {
            money_limits(budget, &format!("channels.{key}.budget"), &mut limits);
        }
    }
    limits.into_iter().min_by_key(|(_, place)| (place.line, place.column))
}

fn money_limits(budget: &Entry, path: &str, limits: &mut Vec<(String, Place)>) {
    match &budget.node.value {
        Value::Text(text) if !text.text.is_empty() => {
            limits.push((path.to_owned(), budget.key_place));
        }
        Value::Section(entries) => {
            let is_money = |entry: &&Entry| entry.key.starts_with("money_per_");
            let entries = entries.iter().filter(is_money).filter(|entry| is_set(entry));
            limits.extend(entries.map(|entry| (format!("{path}.{}", entry.key), entry.key_place)));
        }
        Value::Empty | Value::Text(_) | Value::List(_) => {}
    }
}

fn is_set(entry: &Entry) -> bool {
    match &entry.node.value {
        Value::Empty => false,
        Value::Text(text) => !text.text.is_empty(),
        Value::List(_) | Value::Section(_) => true,
    }
}

/// What LiteLLM knows and nothing here reads.
fn take_client_args(agent: &mut Node, path: &str, said: &mut Vec<Problem>) {
    let Some(client_args) = entry(agent, "client_args") else { return };
    let Value::Section(entries) = &mut client_args.node.value else { return };
    for unread in entries.extract_if(.., |entry| !CLIENT_ARGS.contains(&entry.key.as_str())) {
        let meant = nearest(&unread.key, &CLIENT_ARGS)
            .map_or(String::new(), |meant| format!("; did you mean \"{meant}\"?"));
        let key = shown(&unread.key).unwrap_or("a key".to_owned());
        let sentence = format!("{path}.client_args.{key} has no effect{meant}");
        said.push(Problem::of_file(Some(unread.key_place), sentence));
    }
}

/// Params that are not known here are passed on, so a slip would go unnoticed.
fn look_at_params(agent: &Node, path: &str, said: &mut Vec<Problem>) {
    let params = agent.find(&["params"]).map_or(&[][..], |params| params.node.entries());
    for param in params.iter().filter(|param| !PARAMS.contains(&param.key.as_str())) {
        if let Some(meant) = nearest(&param.key, &PARAMS) {
            let key = shown(&param.key).unwrap_or("a key".to_owned());
            let sentence = format!(
                "{path}.params.{key} is passed to the model as it stands; did you mean \"{meant}\"?"
            );
            said.push(Problem::of_file(Some(param.key_place), sentence));
        }
    }
}

impl Notice {
    fn is_about(&self, node: &Node) -> bool {
        match (&node.value, &self.why) {
            (Value::Empty, Why::NotYet(_)) => false,
            (Value::Text(text), _) => {
                self.values.is_empty() || self.values.iter().any(|value| text.text.contains(value))
            }
            (Value::Empty | Value::List(_) | Value::Section(_), _) => self.values.is_empty(),
        }
    }
}

fn agents(tree: &mut Node) -> &mut [Entry] {
    match entry(tree, "agents") {
        Some(Entry { node: Node { value: Value::Section(agents), .. }, .. }) => agents,
        _ => &mut [],
    }
}

fn entry<'a>(node: &'a mut Node, key: &str) -> Option<&'a mut Entry> {
    match &mut node.value {
        Value::Section(entries) => entries.iter_mut().find(|entry| entry.key == key),
        Value::Empty | Value::Text(_) | Value::List(_) => None,
    }
}

fn remove(node: &mut Node, path: &[&str]) {
    let Some((first, rest)) = path.split_first() else { return };
    if rest.is_empty() {
        if let Value::Section(entries) = &mut node.value {
            entries.retain(|entry| entry.key != *first);
        }
    } else if let Some(entry) = entry(node, first) {
        remove(&mut entry.node, rest);
    }
}
