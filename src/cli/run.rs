//! The options of `aizuchi run`, which override the config.

use std::net::SocketAddr;

use aizuchi_config::language::LanguageSetting;
use aizuchi_config::shown_settings::{ConfigSetting, ValueSource};
use aizuchi_config::{Config, LoadedConfig};
use clap::{Args, ValueEnum};

#[derive(Clone, Debug, Default, PartialEq, Eq, Args)]
pub struct RunArgs {
    /// For run: serve the page on this port instead of the config's; 0 takes any free port.
    #[arg(long, value_name = "N")]
    pub port: Option<u16>,
    /// For run and why: use this language instead of the config's.
    #[arg(long, value_enum, value_name = "LANGUAGE")]
    pub language: Option<LanguageArg>,
    /// For run: open the page in a browser.
    #[arg(long)]
    pub open: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LanguageArg {
    En,
    Ja,
    /// The language that people write in the chat.
    Auto,
}

impl RunArgs {
    /// Merges the options of `aizuchi OPTIONS run OPTIONS`.
    pub fn merge(self, before_verb: Self) -> Self {
        Self {
            port: self.port.or(before_verb.port),
            language: self.language.or(before_verb.language),
            open: self.open || before_verb.open,
        }
    }

    /// Overrides the config with these options.
    pub fn apply(&self, config: &mut Config) -> anyhow::Result<()> {
        if let Some(port) = self.port {
            let health = config.health_check.port.map(|port| port.0);
            anyhow::ensure!(
                port == 0 || health != Some(u64::from(port)),
                "--port {port} is the port of health_check.port; choose another one"
            );
            config.http.listen.0.set_port(port);
        }
        if let Some(language) = self.language {
            config.language = language.setting();
        }
        Ok(())
    }

    /// All settings, with what these options and `RUST_LOG` put in their place.
    pub fn settings(&self, loaded: &LoadedConfig) -> Vec<ConfigSetting> {
        let mut settings = loaded.settings.clone();
        let mut put = |key: &str, value: Option<String>, by| {
            let setting = settings.iter_mut().find(|setting| setting.key == key);
            if let (Some(setting), Some(_)) = (setting, &value) {
                (setting.value, setting.source) = (value, ValueSource::Override(by));
            }
        };
        let ip = loaded.config.http.listen.0.ip();
        put("http.listen", self.port.map(|port| SocketAddr::new(ip, port).to_string()), "--port");
        let language = self.language.and_then(|language| language.to_possible_value());
        put("language", language.map(|it| it.get_name().to_owned()), "--language");
        let levels = std::env::var("RUST_LOG").ok().filter(|levels| !levels.is_empty());
        put("logging.level", levels, "RUST_LOG");
        settings
    }
}

impl LanguageArg {
    pub fn setting(self) -> LanguageSetting {
        match self {
            LanguageArg::En => LanguageSetting::En,
            LanguageArg::Ja => LanguageSetting::Ja,
            LanguageArg::Auto => LanguageSetting::Auto,
        }
    }
}
