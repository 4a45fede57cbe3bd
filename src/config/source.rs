//! Where the settings come from: a file that was named, one that was found, or none.

use std::path::{Path, PathBuf};

use anyhow::Context as _;

use crate::config::{Config, LoadedConfig, ModelSelection};
use aizuchi_core::persona::Language;
use aizuchi_core::texts;

/// The variable that names the config where `--config` does not.
pub const CONFIG_VARIABLE: &str = "AIZUCHI_CONFIG";
/// The file that is used if nothing names another one.
const FOUND_FILE: &str = "config.yaml";

/// The source of the settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConfigSource {
    /// `--config` names the file.
    Argument(PathBuf),
    /// `AIZUCHI_CONFIG` names the file.
    Variable(PathBuf),
    /// The current folder has a `config.yaml`.
    Found,
    /// There is no file, so every setting has its default.
    Defaults,
}

impl ConfigSource {
    /// The source for this process.
    pub fn find(argument: Option<PathBuf>) -> Self {
        let variable = std::env::var_os(CONFIG_VARIABLE).filter(|file| !file.is_empty());
        // A link that leads nowhere counts: to ignore it would be to run with other settings than were meant.
        let is_found = || std::fs::symlink_metadata(FOUND_FILE).is_ok_and(|found| !found.is_dir());
        match (argument, variable) {
            (Some(file), _) => ConfigSource::Argument(file),
            (None, Some(file)) => ConfigSource::Variable(file.into()),
            (None, None) if is_found() => ConfigSource::Found,
            (None, None) => ConfigSource::Defaults,
        }
    }

    /// The file, if there is one.
    pub fn file(&self) -> Option<&Path> {
        match self {
            ConfigSource::Argument(file) | ConfigSource::Variable(file) => Some(file),
            ConfigSource::Found => Some(Path::new(FOUND_FILE)),
            ConfigSource::Defaults => None,
        }
    }

    /// The file's absolute path.
    pub fn place(&self) -> Option<PathBuf> {
        self.file().map(|file| std::path::absolute(file).unwrap_or_else(|_| file.to_owned()))
    }

    /// Tells the operator which file it is, and why this one.
    pub fn describe(&self, language: Language) -> String {
        let place = || self.place().unwrap_or_default().display().to_string();
        match self {
            ConfigSource::Argument(_) => place(),
            ConfigSource::Variable(_) => {
                texts::command_line::config_of_variable(language, &place(), CONFIG_VARIABLE)
            }
            ConfigSource::Found => texts::command_line::config_found(language, &place()),
            ConfigSource::Defaults => texts::command_line::no_config(language).to_owned(),
        }
    }

    /// Loads the settings of a command that uses the database.
    pub fn load(&self, selection: ModelSelection<'_>) -> anyhow::Result<LoadedConfig> {
        let loaded = self.load_without_database(selection)?;
        let Some(former) = loaded.config.former_database() else { return Ok(loaded) };
        let database = loaded.config.database_address();
        anyhow::bail!(
            "a relative path in a config belongs to the config's folder, and {database} does not exist, but {} \
             does; move it there, or name its full path in storage.url",
            former.display()
        )
    }

    /// Loads the settings of a command that does not use the database.
    pub fn load_without_database(
        &self,
        selection: ModelSelection<'_>,
    ) -> anyhow::Result<LoadedConfig> {
        let loaded = Config::load(self.file(), selection);
        match self {
            ConfigSource::Argument(_) | ConfigSource::Defaults => loaded,
            ConfigSource::Variable(_) => {
                loaded.with_context(|| format!("the config that {CONFIG_VARIABLE} names"))
            }
            ConfigSource::Found => loaded.map_err(|error| {
                anyhow::anyhow!(
                    "{error:#} ({FOUND_FILE} was found in the current folder; --config names another file)"
                )
            }),
        }
    }
}
