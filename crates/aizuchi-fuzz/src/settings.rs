//! Targets for the files that operators write.

use std::collections::BTreeMap;

use aizuchi_config::Config;
use aizuchi_import::kotonoha::{self, VariableSource};

/// Parses a settings file. An accepted config must be usable.
pub fn config(bytes: &[u8]) {
    let Ok(config) = Config::parse(&String::from_utf8_lossy(bytes)) else { return };
    config.rulebook();
    config.persona();
    config.wait_settings();
    config.limits();
    config.agent_settings();
    config.runner_settings();
    config.prompt_retention();
}

/// Converts the environment of kotonoha-bot, given as lines of `NAME=value`.
pub fn kotonoha(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let pairs = text.lines().filter_map(|line| line.split_once('='));
    let variables: BTreeMap<String, String> =
        pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
    let Ok(written) = kotonoha::from_env(&variables, VariableSource::File) else { return };
    drop(Config::parse(&written));
    kotonoha::to_model_id(&text);
}
