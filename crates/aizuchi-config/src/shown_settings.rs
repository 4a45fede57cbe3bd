//! Every setting, for an operator to look at: its value and where it comes from, its range and its meaning. Secrets are
//! left out.

use aizuchi_model::chat::{WorkspaceId, to_single_line};
use aizuchi_model::persona::Language;
use schemars::JsonSchema;
use serde::Serialize;

use crate::known_keys::{SECTION, known_keys};
use crate::reload::{is_at_or_below, is_reloadable};
use crate::secret::{displayable, is_secret_key};
use crate::syntax_tree::{ConfigNode, ConfigValue};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ConfigSetting {
    pub key: String,
    /// Null if it is not set, and for a secret, what could be one, and a long text.
    pub value: Option<String>,
    pub source: ValueSource,
    /// Whether a new value in the file takes effect at the next start only.
    pub needs_restart: bool,
    /// The range of a number, or the words to choose from.
    pub range: &'static str,
    /// In English and Japanese.
    #[serde(skip)]
    pub meanings: [&'static str; 2],
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(tag = "from", content = "at", rename_all = "snake_case")]
pub enum ValueSource {
    Default,
    /// The line of the file.
    File(u64),
    /// Variables that this line of the file names.
    Environment(u64),
    /// An option or a variable that overrides the file.
    Override(&'static str),
    /// An order for all channels of a workspace.
    Order(WorkspaceId),
}

/// The sections whose values are shown. Of the others, only the keys are: commands, addresses and parameters may hold a
/// secret under any name.
const SHOWN_SECTIONS: [&str; 20] = [
    "budget", "channels", "context", "decision", "discord", "discover", "facilitator",
    "health_check", "http", "language", "logging", "memory", "opted_out", "persona", "prompts_dir",
    "response", "retention", "slack", "timezone", "workspaces",
];

/// Lists the settings of a file in their order, and then the others with their defaults.
pub fn all_settings(file: &ConfigNode) -> Vec<ConfigSetting> {
    let mut settings = Vec::new();
    add(&mut settings, &[], file);
    let known: Vec<_> = known_keys().filter(|[_, range, ..]| *range != SECTION).collect();
    let is_written = |key: &str| settings.iter().any(|it| is_at_or_below(&it.key, key));
    // A section that is omitted is one setting.
    let is_omitted = |key: &str| {
        let mut sections = known.iter().filter(|[other, ..]| is_at_or_below(key, other));
        sections.all(|[section, ..]| is_written(section) == (section != &key))
    };
    let omitted = known.iter().filter(|[key, ..]| !key.contains('*') && is_omitted(key));
    let omitted = omitted.map(|[key, ..]| key.split('.').collect::<Vec<_>>());
    let omitted: Vec<_> = omitted.map(|path| ConfigSetting::new(&path)).collect();
    [settings, omitted].concat()
}

fn add(settings: &mut Vec<ConfigSetting>, path: &[&str], node: &ConfigNode) {
    if let ConfigValue::Section(entries) = &node.value {
        for entry in entries {
            add(settings, &[path, &[&*entry.key]].concat(), &entry.node);
        }
        return;
    }
    let (setting, line) = (ConfigSetting::new(path), node.location.line);
    let Some(value) = told(node, setting.range) else { return };
    // A number or a word to choose from is no secret.
    let is_shown = !setting.range.is_empty()
        || path.first().is_some_and(|section| SHOWN_SECTIONS.contains(section))
            && !path.iter().any(|key| is_secret_key(key));
    let source = match is_expanded(node) {
        true => ValueSource::Environment(line),
        false => ValueSource::File(line),
    };
    settings.push(ConfigSetting { value: value.filter(|_| is_shown), source, ..setting });
}

impl ConfigSetting {
    /// The setting at this path, with its default.
    pub fn new(path: &[&str]) -> Self {
        let is_this = |key: &str| {
            let parts = key.split('.');
            parts.clone().count() == path.len()
                && parts.zip(path).all(|(part, name)| part == "*" || part == *name)
        };
        let known = known_keys().find(|[key, ..]| is_this(key)).unwrap_or_default();
        let [_, range, default, english, japanese] = known;
        let names = path.iter().map(|name| shown(name).unwrap_or("…".to_owned()));
        let key = names.collect::<Vec<_>>().join(".");
        Self {
            needs_restart: !is_reloadable(&key),
            key,
            value: Some(default.to_owned()).filter(|default| !default.is_empty()),
            source: ValueSource::Default,
            range,
            meanings: [english, japanese],
        }
    }

    pub fn meaning(&self, language: Language) -> &'static str {
        let [english, japanese] = self.meanings;
        match language {
            Language::En => english,
            Language::Ja => japanese,
        }
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
fn told(node: &ConfigNode, range: &str) -> Option<Option<String>> {
    match &node.value {
        ConfigValue::Empty => None,
        ConfigValue::Text(text) => {
            Some(shown(&text.text).filter(|_| !text.is_expanded || !range.is_empty()))
        }
        ConfigValue::List(items) => {
            let items: Option<Vec<String>> =
                items.iter().filter_map(|item| told(item, range)).collect();
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
        let settings = all_settings(&tree.unwrap());
        let told: Vec<_> = settings
            .iter()
            .filter_map(|it| match it.source {
                ValueSource::File(line) => Some((&*it.key, it.value.as_deref(), line)),
                _ => None,
            })
            .collect();
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

    #[test]
    fn what_is_omitted_has_its_default_and_an_omitted_section_is_one_setting() {
        let settings = |text: &str| all_settings(&ConfigNode::parse(text).unwrap());
        let found = |settings: &[ConfigSetting], key: &str| {
            let found = settings.iter().find(|it| it.key == key)?;
            Some((found.value.clone(), found.source.clone(), found.needs_restart))
        };
        let value = |text: &str| Some(text.to_owned());
        let omitted = settings("");
        let default = |text, needs_restart| Some((text, ValueSource::Default, needs_restart));
        assert_eq!(found(&omitted, "response.max_share"), default(value("0.5"), false));
        assert_eq!(found(&omitted, "http.mcp"), default(value("true"), true));
        assert_eq!(found(&omitted, "slack"), default(None, true));
        assert_eq!(found(&omitted, "slack.connections"), None);
        let written = settings("slack: {reply_in: thread}\nvision: {max_pictures: 7}\n");
        assert_eq!(found(&written, "slack.connections"), default(value("2"), true));
        assert_eq!(found(&written, "slack"), None);
        let of_line = |text, line| Some((value(text), ValueSource::File(line), true));
        assert_eq!(found(&written, "slack.reply_in"), of_line("thread", 1));
        assert_eq!(found(&written, "vision.max_pictures"), of_line("7", 2));
    }
}
