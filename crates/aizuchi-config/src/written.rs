//! What a config file sets, for an operator to look at: its keys with their values, except for secrets.

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
}

/// Lists the settings of a file in their order.
pub fn written_settings(tree: &ConfigNode) -> Vec<FileSetting> {
    let mut written = Vec::new();
    add(&mut written, "", tree);
    written
}

fn add(written: &mut Vec<FileSetting>, key: &str, node: &ConfigNode) {
    if let ConfigValue::Section(entries) = &node.value {
        for entry in entries {
            let name = displayable(&entry.key).unwrap_or("…".to_owned());
            let separator = if key.is_empty() { "" } else { "." };
            let key = format!("{key}{separator}{name}");
            match is_secret_key(&entry.key) {
                true => {
                    written.push(FileSetting { key, value: None, line: entry.node.location.line })
                }
                false => add(written, &key, &entry.node),
            }
        }
    } else if let Some(value) = told(node) {
        written.push(FileSetting { key: key.to_owned(), value, line: node.location.line });
    }
}

/// The value on one line. `None` if there is no value, `Some(None)` if it must not be shown.
fn told(node: &ConfigNode) -> Option<Option<String>> {
    match &node.value {
        ConfigValue::Empty => None,
        ConfigValue::Text(text) => Some(displayable(&text.text).filter(|_| !text.is_expanded)),
        ConfigValue::List(items) => {
            let items: Option<Vec<String>> = items.iter().filter_map(told).collect();
            Some(items.map(|items| items.join(", ")))
        }
        // In a list, such as that of tokens.
        ConfigValue::Section(_) => Some(None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_listed_without_secrets() {
        let tree = ConfigNode::parse(
            "slack:\n  bot_token: plain-words\nresponse:\n  mode: observe\n  keeper:\nhttp:\n  trusted_proxies: [10.0.0.1, 10.0.0.2]\n  tokens: [{name: vera, token: t}]\npersona: {name: sk-live}\n",
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
                ("persona.name", None, 9),
            ]
        );
    }
}
