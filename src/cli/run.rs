//! The options of `aizuchi run`, which override the config.

use aizuchi_config::Config;
use aizuchi_config::language::LanguageSetting;
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
