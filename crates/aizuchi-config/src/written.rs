//! What a config file sets, for an operator to look at: its keys with their values, except for secrets.

use aizuchi_model::chat::to_single_line;

use crate::secret::{displayable, is_secret_key};
use crate::tree::{ConfigNode, ConfigValue};

/// A key of the file that has a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileSetting {
    /// The keys that lead to it, separated by dots.
    pub key: String,
    /// `None` for a secret, what could be one, and a long text.
    pub value: Option<String>,
    pub line: u64,
    /// Whether it has parts that come from environment variables.
    pub is_expanded: bool,
}

/// The sections whose values are shown. Of the others, only the keys are: commands, addresses and parameters may hold a
/// secret under any name.
const SHOWN_SECTIONS: [&str; 20] = [
    "budget", "channels", "context", "decision", "discord", "discover", "facilitator",
    "health_check", "http", "language", "logging", "memory", "opted_out", "persona", "prompts_dir",
    "response", "retention", "slack", "timezone", "workspaces",
];

/// Lists the settings of a file in their order.
pub fn written_settings(tree: &ConfigNode) -> Vec<FileSetting> {
    let mut written = Vec::new();
    add(&mut written, "", tree);
    written
}

fn add(written: &mut Vec<FileSetting>, key: &str, node: &ConfigNode) {
    if let ConfigValue::Section(entries) = &node.value {
        for entry in entries {
            let name = shown(&entry.key).unwrap_or("…".to_owned());
            let separator = if key.is_empty() { "" } else { "." };
            let key = format!("{key}{separator}{name}");
            let is_hidden = is_secret_key(&entry.key)
                || key == name && !SHOWN_SECTIONS.contains(&entry.key.as_str());
            let first = written.len();
            add(written, &key, &entry.node);
            if is_hidden {
                written[first..].iter_mut().for_each(|setting| setting.value = None);
            }
        }
    } else if let Some(value) = told(node) {
        let (key, line) = (key.to_owned(), node.location.line);
        written.push(FileSetting { key, value, line, is_expanded: is_expanded(node) });
    }
}

fn is_expanded(node: &ConfigNode) -> bool {
    match &node.value {
        ConfigValue::Text(text) => text.is_expanded,
        ConfigValue::List(items) => items.iter().any(is_expanded),
        ConfigValue::Empty | ConfigValue::Section(_) => false,
    }
}

/// The value on one line. `None` if there is no value, `Some(None)` if it must not be shown.
fn told(node: &ConfigNode) -> Option<Option<String>> {
    match &node.value {
        ConfigValue::Empty => None,
        ConfigValue::Text(text) => Some(shown(&text.text).filter(|_| !text.is_expanded)),
        ConfigValue::List(items) => {
            let items: Option<Vec<String>> = items.iter().filter_map(told).collect();
            Some(items.map(|items| items.join(", ")))
        }
        // In a list, such as that of tokens.
        ConfigValue::Section(_) => Some(None),
    }
}

/// The text, if it may be shown. An address may have a secret in its query.
fn shown(text: &str) -> Option<String> {
    let may_be_shown = displayable(text).is_some() && !text.contains("://");
    may_be_shown.then(|| to_single_line(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_listed_without_secrets() {
        let tree = ConfigNode::parse(
            "slack:\n  bot_token: plain-words\nresponse:\n  mode: observe\n  keeper:\nhttp:\n  trusted_proxies: [10.0.0.1, 10.0.0.2]\n  tokens: [{name: vera, token: t}]\npersona: {name: O'Hara, system_prompt: sk-live}\nstorage: {url: 'postgres://db/cats?password=hunter2'}\ntools:\n  mcp:\n    tracker: {command: t, args: [--password=hunter2], env: {KEY: plain}, url: 'https://t.example/mcp?key=hunter2'}\nagents: {response: {params: {any: hunter2}}}\nchannels: {'#tea': {webhook: 'https://h.example/x'}}\n",
        );
        let written = written_settings(&tree.unwrap());
        let told: Vec<_> =
            written.iter().map(|it| (it.key.as_str(), it.value.as_deref(), it.line)).collect();
        assert_eq!(
            told,
            [
                ("slack.bot_token", None, 2),
                ("response.mode", Some("observe"), 4),
                ("http.trusted_proxies", Some("10.0.0.1, 10.0.0.2"), 7),
                ("http.tokens", None, 8),
                ("persona.name", Some("O'Hara"), 9),
                ("persona.system_prompt", None, 9),
                ("storage.url", None, 10),
                ("tools.mcp.tracker.command", None, 13),
                ("tools.mcp.tracker.args", None, 13),
                ("tools.mcp.tracker.env.KEY", None, 13),
                ("tools.mcp.tracker.url", None, 13),
                ("agents.response.params.any", None, 14),
                ("channels.#tea.webhook", None, 15),
            ]
        );
    }
}
