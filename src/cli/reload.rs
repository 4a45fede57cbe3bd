//! Reads the config again and applies the settings that need no restart: at SIGHUP, and when the pages, the API or
//! `aizuchi reload` ask for it.

use aizuchi_config::models::in_use::prompts::load_prompts_in;
use aizuchi_config::reload::Fingerprints;
use aizuchi_config::source::ConfigSource;
use aizuchi_config::{Config, LoadedConfig, ModelSelection};
use aizuchi_platform::remote::Renewal;
use aizuchi_web::configuration::{ConfigInForce, ReloadAnswer};
use clap::Args;
use reqwest::Method;
use tracing::{error, info, warn};

use crate::app::LiveSettings;
use crate::cli::log::LogLevels;
use crate::cli::run::RunArgs;
use crate::cli::running::ProgramClient;
use crate::cli::{block_on, print, tell};

/// The settings that the program runs with.
pub struct Reload<'a> {
    pub source: &'a ConfigSource,
    pub selection: ModelSelection<'a>,
    pub run: &'a RunArgs,
    /// The fingerprints of the file that the program started with, for detecting changes that need a restart.
    pub started: Fingerprints,
    /// The fingerprints of the file that was read last.
    pub newest: Fingerprints,
    pub levels: LogLevels,
    pub live: LiveSettings,
}

impl Reload<'_> {
    /// Reads the config again. An invalid config changes nothing.
    pub async fn reload(&mut self) -> Result<ReloadAnswer, String> {
        let reloaded = self.try_reload().await.map_err(|error| format!("{error:#}"));
        match &reloaded {
            Ok(reloaded) => reloaded.warnings.iter().for_each(|warning| warn!("{warning}")),
            Err(error) => {
                error!(error, "the config cannot be used, so the settings stay as they are");
            }
        }
        reloaded
    }

    async fn try_reload(&mut self) -> anyhow::Result<ReloadAnswer> {
        let loaded = self.source.load(self.selection)?;
        let settings = self.run.settings(&loaded);
        let LoadedConfig { config: mut newer, warnings, fingerprints, .. } = loaded;
        self.run.apply(&mut newer)?;
        let config = self.live.config.read().reloaded_from(&newer);
        // Read all files before making the first change.
        let prompts: Vec<_> = self
            .live
            .prompts
            .iter()
            .map(|(language, prompts)| anyhow::Ok((prompts, load_prompts_in(&config, *language)?)))
            .collect::<anyhow::Result<_>>()?;
        self.levels.replace(&config.logging)?;
        self.live.models.renew_keys(&config)?;
        config.secrets().for_each(|secret| self.live.secrets.learn(secret));
        self.live.authenticator.renew_tokens(&config.http);
        let rules = config.with_room_for_models().app_rulebook();
        self.live.rulebook.update(|old| rules.with_orders_of(old));
        for (current, prompts) in prompts {
            current.replace(prompts);
        }
        // Replace the config first, so that a choice made on the page while the platforms are asked is kept.
        self.live.config.replace(config.clone());
        let failed_platforms = self.renew_credentials(&config).await;
        let kept = config.secrets_not_taken_from(&newer);
        let changed = fingerprints.changed_since(&self.newest).with_restart_for(&kept).reloaded;
        let is_failed = |key: &str| {
            failed_platforms.iter().any(|platform| key.split('.').next() == Some(platform))
        };
        let changed: Vec<String> = changed.into_iter().filter(|key| !is_failed(key)).collect();
        match changed.join(", ") {
            reloaded if reloaded.is_empty() && !failed_platforms.is_empty() => {}
            reloaded if reloaded.is_empty() => info!(
                "reloaded the config and the prompts; nothing that can be reloaded has changed"
            ),
            reloaded => {
                info!(changed = reloaded, "reloaded the config and the prompts")
            }
        }
        let since_start = fingerprints.changed_since(&self.started).with_restart_for(&kept);
        let need_restart = since_start.need_restart;
        if !need_restart.is_empty() {
            warn!(keys = need_restart.join(", "), "some changed settings need a restart");
        }
        // Secrets that a platform refused are tried again at the next reload.
        self.newest = fingerprints.with_keys_of(&self.newest, &is_failed);
        *self.live.configuration.in_force.write() = ConfigInForce {
            file: config_file(self.source),
            settings,
            need_restart: need_restart.clone(),
        };
        let refused = failed_platforms.into_iter().map(str::to_owned).collect();
        Ok(ReloadAnswer { changed, need_restart, refused, warnings })
    }

    /// Renews the secrets of the platforms. Returns the platforms that keep the old ones.
    async fn renew_credentials(&self, config: &Config) -> Vec<&'static str> {
        let mut failed = Vec::new();
        for connector in config.connectors() {
            let platform = connector.platform();
            let remotes = self.live.remotes.read();
            let Some(remote) = remotes.get(platform) else { continue };
            match remote.renew_credentials(&connector.credentials()).await {
                Ok(Renewal::Unchanged) => {}
                Ok(Renewal::Renewed) => info!(platform, "the new credentials are in use"),
                Err(error) => {
                    error!(platform, %error, "the old credentials stay in use");
                    failed.push(platform);
                }
            }
        }
        failed
    }
}

/// The path of the config file, as the pages show it.
pub fn config_file(source: &ConfigSource) -> Option<String> {
    source.place().map(|file| file.display().to_string())
}

/// Have the running Aizuchi read its config again.
///
/// What needs no restart takes effect at once; what needs one is named. A config that cannot be used changes nothing.
#[derive(Debug, Args)]
pub struct ReloadArgs {}

impl ReloadArgs {
    pub fn run(self, source: &ConfigSource) -> anyhow::Result<()> {
        let config = source.load(ModelSelection::NoModel)?.config;
        let ReloadAnswer { changed, need_restart, refused, warnings } = block_on(async {
            let client = ProgramClient::of_running(&config).await?;
            client.request(Method::POST, "/api/reload", None).await
        })?;
        warnings.iter().for_each(|warning| tell(warning));
        for (keys, what) in [
            (need_restart, "takes effect after a restart"),
            (refused, "new secrets were refused, and the old ones stay in use"),
        ] {
            if !keys.is_empty() {
                tell(&format!("{what}: {}", keys.join(", ")));
            }
        }
        match changed.is_empty() {
            true => print("nothing has changed that takes effect without a restart"),
            false => print(&format!("in force now: {}", changed.join(", "))),
        }
    }
}
