//! SIGHUP: reads the config again, and puts in force what holds without a restart.

use tracing::{error, info, warn};

use crate::app::LiveSettings;
use crate::cli::log::LogLevels;
use crate::cli::run::RunArgs;
use crate::config::reload::Fingerprints;
use crate::config::source::ConfigSource;
use crate::config::{LoadedConfig, ModelSelection};
use crate::models::prompts::load_prompts_in;

/// The settings that the program runs with.
pub struct Reload<'a> {
    pub source: &'a ConfigSource,
    pub selection: ModelSelection<'a>,
    pub run: &'a RunArgs,
    /// Of the file that the program started with. Keys that need a restart are compared with it.
    pub started: Fingerprints,
    /// Of the file that was read last.
    pub newest: Fingerprints,
    pub levels: LogLevels,
    pub live: LiveSettings,
}

impl Reload<'_> {
    /// Reads the config again. A config that cannot be used changes nothing.
    pub fn reload(&mut self) {
        match self.try_reload() {
            Ok(warnings) => warnings.iter().for_each(|warning| warn!("{warning}")),
            Err(error) => {
                let error = format!("{error:#}");
                error!(
                    error,
                    "the config cannot be used, so the settings stay as they are: {error}"
                );
            }
        }
    }

    fn try_reload(&mut self) -> anyhow::Result<Vec<String>> {
        let LoadedConfig { config: mut newer, warnings, fingerprints } =
            self.source.load(self.selection)?;
        self.run.apply(&mut newer)?;
        let config = self.live.config.read().reloaded_from(&newer);
        // Everything that can fail comes before the first change.
        let prompts: Vec<_> = self
            .live
            .prompts
            .iter()
            .map(|(language, prompts)| anyhow::Ok((prompts, load_prompts_in(&config, *language)?)))
            .collect::<anyhow::Result<_>>()?;
        self.levels.replace(&config.logging)?;
        self.live.models.renew_keys(&config)?;
        self.live.rulebook.replace(config.with_room_for_models().app_rulebook());
        for (current, prompts) in prompts {
            current.replace(prompts);
        }
        let reloaded = fingerprints.changed_since(&self.newest).reloaded.join(", ");
        match reloaded.is_empty() {
            true => info!(
                "reloaded the config and the prompts; nothing that can be reloaded has changed"
            ),
            false => {
                info!(keys = reloaded, "reloaded the config and the prompts; changed: {reloaded}")
            }
        }
        let need_restart = fingerprints.changed_since(&self.started).need_restart.join(", ");
        if !need_restart.is_empty() {
            warn!(keys = need_restart, "needs a restart: {need_restart}");
        }
        self.live.config.replace(config);
        self.newest = fingerprints;
        Ok(warnings)
    }
}
