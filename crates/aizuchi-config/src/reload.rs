//! Which parts of a changed config take effect without a restart, and which keys need one.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use crate::Config;
use crate::logging::LoggingConfig;
use crate::models::sources::ModelSources;
use crate::overrides::ChannelConfig;
use crate::response::ResponseConfig;
use crate::secret::displayable;
use crate::syntax_tree::{ConfigNode, ConfigValue};

/// Declares the keys of `response` that [`Config::reloaded_from`] takes over.
macro_rules! reloadable_response {
    ($($key:ident)*) => {
        const RELOADABLE_RESPONSE: &[&str] = &[$(concat!("response.", stringify!($key))),*];

        impl ResponseConfig {
            fn reloaded_from(&self, newer: &Self) -> Self {
                let newer = newer.clone();
                Self { $($key: newer.$key,)* ..self.clone() }
            }
        }
    };
}

reloadable_response! {
    mode quiet_hours min_confidence tolerance order_trial_cost max_share cooldown_seconds reactions keeper companions
    companion_window_seconds follow_up follow_up_after_seconds
}

/// The other keys that it takes over, including every key below them.
const RELOADABLE: &[&str] =
    &["prompts_dir", "logging.level", "logging.loggers", "facilitator", "budget", "channels"];
/// Secrets that [`Config::reloaded_from`] takes over, unless they would change more than a secret.
const HTTP_SECRETS: &[&str] = &["http.token", "http.tokens"];
const SLACK_SECRETS: &[&str] = &["slack.bot_token", "slack.app_token", "slack.signing_secret"];
const DISCORD_SECRETS: &[&str] = &["discord.token"];
/// The keys of a model in `agents` that can be replaced: those that authenticate its calls.
const RELOADABLE_OF_MODELS: &[&str] = &["client_args.api_key", "client_args.extra_headers"];
/// The keys of a channel that need a restart nevertheless.
const OF_CHANNELS_ONLY_AT_START: &[&str] = &["threads", "language", "model"];

/// A hash of each value of a file, by its key; keys that may not be shown have one in common. It shows which values
/// have changed without containing them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fingerprints(BTreeMap<String, u64>);

/// The keys whose values differ between two versions of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChangedKeys {
    /// The keys whose new values are in effect.
    pub reloaded: Vec<String>,
    pub need_restart: Vec<String>,
}

impl ChangedKeys {
    /// Marks the keys at or below these prefixes as needing a restart.
    pub fn with_restart_for(self, prefixes: &[&str]) -> Self {
        let is_kept = |key: &String| prefixes.iter().any(|prefix| is_at_or_below(key, prefix));
        let (kept, reloaded): (Vec<_>, Vec<_>) = self.reloaded.into_iter().partition(is_kept);
        let mut need_restart = [self.need_restart, kept].concat();
        need_restart.sort();
        Self { reloaded, need_restart }
    }
}

impl Fingerprints {
    pub fn new(tree: &ConfigNode) -> Self {
        let mut fingerprints = Self::default();
        fingerprints.add("", &DefaultHasher::new(), tree);
        fingerprints
    }

    /// Restores what an older version has for these keys.
    pub fn with_keys_of(mut self, older: &Self, is_kept: &dyn Fn(&str) -> bool) -> Self {
        self.0.retain(|key, _| !is_kept(key));
        let kept = older.0.iter().filter(|(key, _)| is_kept(key));
        self.0.extend(kept.map(|(key, hash)| (key.clone(), *hash)));
        self
    }

    /// The keys that were added, removed or changed since `older`.
    pub fn changed_since(&self, older: &Self) -> ChangedKeys {
        let keys = self.0.keys().chain(older.0.keys().filter(|key| !self.0.contains_key(*key)));
        let changed = keys.filter(|key| self.0.get(*key) != older.0.get(*key)).cloned();
        let (mut reloaded, mut need_restart): (Vec<_>, Vec<_>) =
            changed.partition(|key| is_reloadable(key));
        reloaded.sort();
        need_restart.sort();
        ChangedKeys { reloaded, need_restart }
    }

    /// Adds the values at and below a key. `hasher` has read the key as it is written.
    fn add(&mut self, key: &str, hasher: &DefaultHasher, node: &ConfigNode) {
        match &node.value {
            ConfigValue::Empty => {}
            ConfigValue::Section(entries) => {
                for entry in entries {
                    // The log names the changed keys, and a secret may have been written in the place of a key.
                    let name = displayable(&entry.key).unwrap_or("…".to_owned());
                    let separator = if key.is_empty() { "" } else { "." };
                    let mut hasher = hasher.clone();
                    entry.key.hash(&mut hasher);
                    self.add(&format!("{key}{separator}{name}"), &hasher, &entry.node);
                }
            }
            ConfigValue::Text(_) | ConfigValue::List(_) => {
                // The hash is compared within one process only, so it may differ between versions of Rust.
                let mut hasher = hasher.clone();
                hash_value(node, &mut hasher);
                // Keys that may not be shown share a name. Their order has no meaning.
                let hash = self.0.entry(key.to_owned()).or_default();
                *hash = hash.wrapping_add(hasher.finish());
            }
        }
    }
}

fn hash_value(node: &ConfigNode, hasher: &mut DefaultHasher) {
    match &node.value {
        ConfigValue::Empty => 0.hash(hasher),
        ConfigValue::Text(text) => (1, &text.text).hash(hasher),
        ConfigValue::List(items) => {
            (2, items.len()).hash(hasher);
            items.iter().for_each(|item| hash_value(item, hasher));
        }
        ConfigValue::Section(entries) => {
            (3, entries.len()).hash(hasher);
            for entry in entries {
                entry.key.hash(hasher);
                hash_value(&entry.node, hasher);
            }
        }
    }
}

pub fn is_at_or_below(key: &str, prefix: &str) -> bool {
    key.strip_prefix(prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// Whether a new value of the key takes effect without a restart.
pub fn is_reloadable(key: &str) -> bool {
    let mut parts = key.rsplit('.');
    let (last, section) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    let is_of_own_model = section == "model" && parts.count() > 1;
    let is_of_thread = key.contains(".thread_settings.");
    let is_at_start = key.starts_with("channels.")
        && (OF_CHANNELS_ONLY_AT_START.contains(&last) || is_of_own_model || is_of_thread);
    let is_of_model = (key.starts_with("agents.") || key.starts_with("models.named."))
        && RELOADABLE_OF_MODELS.iter().any(|name| format!("{key}.").contains(&format!(".{name}.")));
    let mut prefixes =
        [RELOADABLE, RELOADABLE_RESPONSE, HTTP_SECRETS, SLACK_SECRETS, DISCORD_SECRETS]
            .into_iter()
            .flatten();
    is_of_model || prefixes.any(|prefix| is_at_or_below(key, prefix)) && !is_at_start
}

impl Config {
    /// Takes over the settings of a newer version of the file that need no restart.
    pub fn reloaded_from(&self, newer: &Self) -> Self {
        let absent = ChannelConfig::default();
        let keys = self.channels.keys().chain(newer.channels.keys());
        let channels = keys.filter_map(|key| {
            let running = self.channels.get(key).unwrap_or(&absent);
            let channel = newer.channels.get(key).unwrap_or(&absent);
            let kept = ChannelConfig {
                threads: running.threads,
                language: running.language,
                // The models that channels name are only prepared at the start.
                model: running.model.clone(),
                // The settings of a thread may name a model, too.
                thread_settings: running.thread_settings.clone(),
                ..channel.clone()
            };
            // A channel that was removed keeps what needs a restart.
            let is_listed = newer.channels.contains_key(key) || kept != absent;
            is_listed.then(|| (key.clone(), kept))
        });
        let slack = self.slack.as_ref();
        let discord = self.discord.as_ref();
        Self {
            http: self.http.with_tokens_of(&newer.http),
            slack: slack.map(|slack| slack.with_secrets_of(newer.slack.as_ref().unwrap_or(slack))),
            discord: discord
                .map(|discord| discord.with_secrets_of(newer.discord.as_ref().unwrap_or(discord))),
            prompts_dir: newer.prompts_dir.clone(),
            logging: LoggingConfig { format: self.logging.format, ..newer.logging.clone() },
            response: self.response.reloaded_from(&newer.response),
            facilitator: newer.facilitator.clone(),
            budget: newer.budget.clone(),
            channels: channels.collect(),
            // The models in use stay, with the keys that the config has now. A model that is chosen later uses the keys
            // of the new environment.
            minds: self.minds.with_keys_of(&newer.minds),
            model_sources: ModelSources {
                environment: newer.model_sources.environment.clone(),
                ..self.model_sources.clone()
            },
            ..self.clone()
        }
    }

    /// The secrets of a newer version of the file that this config, reloaded from it, did not take over: they would have
    /// changed who may reach the pages, which platforms there are, or how their events arrive.
    pub fn secrets_not_taken_from(&self, newer: &Self) -> Vec<&'static str> {
        let http = |config: &Self| (config.http.token.clone(), config.http.tokens.clone());
        let slack = |config: &Self| {
            let slack = config.slack.clone()?;
            Some((slack.bot_token, slack.app_token, slack.signing_secret))
        };
        let discord = |config: &Self| Some(config.discord.as_ref()?.token.clone());
        let sections = [
            (http(self) != http(newer), HTTP_SECRETS),
            (slack(self) != slack(newer), SLACK_SECRETS),
            (discord(self) != discord(newer), DISCORD_SECRETS),
        ];
        sections
            .iter()
            .filter(|(differs, _)| *differs)
            .flat_map(|(_, keys)| *keys)
            .copied()
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compares two versions of a file.
    fn compare(older: &str, newer: &str) -> ChangedKeys {
        let tree = |text: &str| Fingerprints::new(&ConfigNode::parse(text).unwrap());
        tree(newer).changed_since(&tree(older))
    }

    /// A secret is taken over if it replaces one of the same kind. A change that would open the pages or alter how
    /// events arrive waits for the restart.
    #[test]
    fn secrets_are_taken_over_where_nothing_else_changes() {
        let token = |letter: char| format!("{}-Kx83hWqz0TmB", letter.to_string().repeat(3));
        let http = |letter| format!("http: {{token: {}}}\n", token(letter));
        let named = |letter| {
            format!("http: {{tokens: [{{name: mia, role: viewer, token: {}}}]}}\n", token(letter))
        };
        let socket = |bot: &str, app: &str| {
            format!("slack: {{bot_token: xoxb-{bot}, app_token: xapp-{app}}}\n")
        };
        let hooks = "slack: {bot_token: xoxb-1, signing_secret: abc}\n".to_owned();
        let discord = |token: &str| format!("discord: {{token: {token}}}\n");
        let none = String::new();
        for (older, newer, expected) in [
            (http('a'), http('b'), &[][..]),
            (http('a'), named('b'), &[]),
            (http('a'), none.clone(), HTTP_SECRETS),
            (none.clone(), http('a'), HTTP_SECRETS),
            (socket("1", "1"), socket("2", "3"), &[]),
            (socket("1", "1"), hooks.clone(), SLACK_SECRETS),
            (socket("1", "1"), none.clone(), SLACK_SECRETS),
            (none.clone(), hooks, SLACK_SECRETS),
            (discord("a"), discord("b"), &[]),
            (discord("a"), none.clone(), DISCORD_SECRETS),
        ] {
            let [started, newest] = [&older, &newer]
                .map(|text| Config::parse(&format!("language: en\n{text}")).unwrap());
            let reloaded = started.reloaded_from(&newest);
            let kept = reloaded.secrets_not_taken_from(&newest);
            assert_eq!(kept, expected, "{older} -> {newer}");
            let changed = compare(&older, &newer).with_restart_for(&kept);
            assert_eq!(changed.need_restart.is_empty(), kept.is_empty(), "{older} -> {newer}");
            assert_eq!(changed.reloaded.is_empty(), !kept.is_empty(), "{older} -> {newer}");
        }
    }

    /// What the log says needs a restart stays in effect until then.
    #[test]
    fn a_removed_channel_keeps_what_needs_a_restart() {
        let parse = |text: &str| Config::parse(&format!("language: en\n{text}")).unwrap();
        for (older, kept) in [
            ("channels: {\"#x\": {mode: observe, threads: auto, language: ja}}", true),
            (
                "channels: {\"#x\": {thread_settings: {\"1700000000.000100\": {memory: \"off\"}}}}",
                true,
            ),
            ("channels: {\"#x\": {mode: observe}}", false),
        ] {
            let (running, removed) = (parse(older), parse(""));
            let reloaded = running.reloaded_from(&removed);
            let expected: Vec<ChannelConfig> = running
                .channels
                .values()
                .filter(|_| kept)
                .map(|channel| ChannelConfig { mode: None, ..channel.clone() })
                .collect();
            let found: Vec<ChannelConfig> = reloaded.channels.values().cloned().collect();
            assert_eq!(found, expected, "{older}");
            // Once it is listed again, nothing was lost.
            assert!(reloaded.reloaded_from(&running) == running, "{older}");
        }
    }

    #[test]
    fn changed_keys_are_named() {
        let older = "language: en\nresponse: {mode: observe, jitter_ratio: 0.1}\nopted_out: [a]\n";
        let newer = "response: {mode: companion, jitter_ratio: 0.2}\nopted_out: [a, b]\nchannels:\n  \"#x\": {mode: observe, threads: auto}\n";
        let changed = compare(older, newer);
        assert_eq!(changed.reloaded, ["channels.#x.mode", "response.mode"]);
        let restart = ["channels.#x.threads", "language", "opted_out", "response.jitter_ratio"];
        assert_eq!(changed.need_restart, restart);
        assert_eq!(compare(older, older), ChangedKeys::default());
        // Another spelling of the same value.
        assert_eq!(compare("language: en", "# now\nlanguage: \"en\"\n"), ChangedKeys::default());
    }

    /// Keys that may not be shown have the same name in the log.
    #[test]
    fn a_change_below_a_hidden_key_is_reported() {
        let channels = |modes: [(char, &str); 2]| {
            let channels = modes.map(|(letter, mode)| {
                format!("  \"{}\": {{mode: {mode}}}\n", letter.to_string().repeat(41))
            });
            format!("channels:\n{}", channels.concat())
        };
        let older = channels([('a', "observe"), ('b', "companion")]);
        for newer in [
            [('a', "companion"), ('b', "companion")],
            [('a', "observe"), ('b', "observe")],
            // They have changed places, or names.
            [('a', "companion"), ('b', "observe")],
            [('a', "observe"), ('c', "companion")],
        ] {
            let changed = compare(&older, &channels(newer));
            assert_eq!(changed.reloaded, ["channels.….mode"], "{newer:?}");
        }
        let both = ["observe", "companion"].map(|mode| channels([('a', mode), ('b', mode)]));
        assert_eq!(compare(&both[0], &both[1]).reloaded, ["channels.….mode"]);
        let reordered = channels([('b', "companion"), ('a', "observe")]);
        assert_eq!(compare(&older, &reordered), ChangedKeys::default());
    }

    /// Keys that are reported as reloaded are in effect: once they are taken over, none of them needs a restart.
    #[test]
    fn reloadable_keys_are_taken_over() {
        let older = Config::parse("language: en").unwrap();
        for (setting, expected) in [
            ("prompts_dir: prompts", true),
            ("logging: {level: DEBUG}", true),
            ("logging: {loggers: {sqlx: DEBUG}}", true),
            ("logging: {format: json}", false),
            ("response: {mode: observe}", true),
            ("response: {quiet_hours: 22:00-07:00}", true),
            ("response: {min_confidence: 0.9}", true),
            ("response: {tolerance: 0.05}", true),
            ("response: {order_trial_cost: 0.05}", true),
            ("response: {max_share: 0.9}", true),
            ("response: {cooldown_seconds: 9}", true),
            ("response: {reactions: [tada]}", true),
            ("response: {keeper: U1}", true),
            ("response: {min_wait_seconds: 9}", false),
            ("facilitator: {min_messages: 9}", true),
            ("budget: {tokens_per_day: 9}", true),
            ("channels: {\"#x\": {mode: observe}}", true),
            ("channels: {\"#x\": {threads: auto}}", false),
            ("channels: {\"#x\": {language: ja}}", false),
            (
                "models: {named: {own: {model_id: builtin}}}\nchannels: {\"#x\": {model: own}}",
                false,
            ),
            ("http: {listen: 127.0.0.1:9999}", false),
            ("opted_out: [a]", false),
        ] {
            let newer = Config::parse(&format!("language: en\n{setting}")).unwrap();
            let changed = compare("language: en", &format!("language: en\n{setting}"));
            assert_eq!(changed.need_restart.is_empty(), expected, "{setting}");
            let reloaded = older.reloaded_from(&newer);
            let is_taken_over = reloaded == newer;
            assert_eq!(is_taken_over, expected, "{setting}");
        }
    }
}
