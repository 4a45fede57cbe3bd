//! The source of the settings: a config file that was named, one that was found, or none.

use std::path::{Path, PathBuf};

use aizuchi_model::persona::Language;
use aizuchi_model::texts;
use anyhow::Context as _;

use crate::{Config, LoadedConfig, ModelSelection};

/// The variable that names the config where `--config` does not.
pub const CONFIG_VARIABLE: &str = "AIZUCHI_CONFIG";
/// The file that is used if nothing names another one.
const FOUND_FILE: &str = "config.yaml";

/// The config of a program that is installed as a service.
const SYSTEM_FILE: &str = "/etc/aizuchi/config.yaml";

/// The source of the settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConfigSource {
    /// `--config` names the file.
    Argument(PathBuf),
    /// `AIZUCHI_CONFIG` names the file.
    Variable(PathBuf),
    /// The current folder has a `config.yaml`.
    Found,
    /// The current folder has no config, but the service has one.
    System,
    /// There is no file, so every setting has its default.
    Defaults,
}

impl ConfigSource {
    /// The source for this process.
    pub fn find(argument: Option<PathBuf>) -> Self {
        let variable = std::env::var_os(CONFIG_VARIABLE).filter(|file| !file.is_empty());
        // A dangling link counts as a file: ignoring it would run the program with other settings than intended.
        let is_there =
            |file: &str| std::fs::symlink_metadata(file).is_ok_and(|found| !found.is_dir());
        Self::choose(argument, variable.map(PathBuf::from), is_there)
    }

    fn choose(
        argument: Option<PathBuf>,
        variable: Option<PathBuf>,
        is_there: impl Fn(&str) -> bool,
    ) -> Self {
        match (argument, variable) {
            (Some(file), _) => ConfigSource::Argument(file),
            (None, Some(file)) => ConfigSource::Variable(file),
            (None, None) if is_there(FOUND_FILE) => ConfigSource::Found,
            (None, None) if is_there(SYSTEM_FILE) => ConfigSource::System,
            (None, None) => ConfigSource::Defaults,
        }
    }

    /// The file, if there is one.
    pub fn file(&self) -> Option<&Path> {
        match self {
            ConfigSource::Argument(file) | ConfigSource::Variable(file) => Some(file),
            ConfigSource::Found => Some(Path::new(FOUND_FILE)),
            ConfigSource::System => Some(Path::new(SYSTEM_FILE)),
            ConfigSource::Defaults => None,
        }
    }

    /// The file's absolute path.
    pub fn place(&self) -> Option<PathBuf> {
        self.file().map(|file| std::path::absolute(file).unwrap_or_else(|_| file.to_owned()))
    }

    /// Describes to the operator which file is used and why.
    pub fn describe(&self, language: Language) -> String {
        let place = || self.place().unwrap_or_default().display().to_string();
        match self {
            ConfigSource::Argument(_) | ConfigSource::System => place(),
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
            ConfigSource::System => loaded.map_err(|error| {
                anyhow::anyhow!(
                    "{error:#} (this is the config of the service, which its user can read: `sudo -u aizuchi aizuchi …`; \
                     --config names another file)"
                )
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_services_config_counts_last() {
        let file = || Some(PathBuf::from("a.yaml"));
        let everywhere = |_: &str| true;
        assert_eq!(
            ConfigSource::choose(file(), file(), everywhere),
            ConfigSource::Argument("a.yaml".into())
        );
        assert_eq!(
            ConfigSource::choose(None, file(), everywhere),
            ConfigSource::Variable("a.yaml".into())
        );
        assert_eq!(ConfigSource::choose(None, None, everywhere), ConfigSource::Found);
        let system = ConfigSource::choose(None, None, |file| file == SYSTEM_FILE);
        assert_eq!(system.file(), Some(Path::new("/etc/aizuchi/config.yaml")));
        assert_eq!(ConfigSource::choose(None, None, |_| false), ConfigSource::Defaults);
    }
}
