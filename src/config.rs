//! The one file of settings. It is read once, checked at once, and says which line is wrong.

pub mod environment;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context as _;
use serde::Deserialize;

use crate::agent;
use crate::decision::Gate;
use crate::hear::Waiting;
use crate::persona::{Language, Persona};

/// The local room's wait where none is set: short, so that a newcomer sees a decision soon.
const ROOM_WAIT_SECONDS: f64 = 12.0;

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    pub persona: PersonaConfig,
    pub language: Language,
    pub storage: StorageConfig,
    pub http: HttpConfig,
    pub response: ResponseConfig,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PersonaConfig {
    pub name: Name,
    pub system_prompt: String,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct StorageConfig {
    /// `sqlite://FILE`.
    pub url: StorageUrl,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct HttpConfig {
    pub listen: Listen,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ResponseConfig {
    pub wait: Wait,
    /// Where it is not set: 300, and 12 in the local room.
    pub min_wait_seconds: Option<Seconds>,
    pub jitter_ratio: Ratio,
    pub max_delay_seconds: Seconds,
    pub max_message_age_seconds: Seconds,
    /// The gates before the judge, in their order; an empty list has every rest judged.
    pub gates: Vec<JudgeGate>,
}

/// How the wait before a judgment is found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Wait {
    /// `min_wait_seconds` ± `jitter_ratio` after the newest line (seed 002).
    #[default]
    Fixed,
}

/// A gate that a setting may name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JudgeGate {
    SpokeLast,
    Unchanged,
}

/// A number of seconds, from none to a year.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(try_from = "f64")]
pub struct Seconds(pub f64);

/// A number from 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(try_from = "f64")]
pub struct Ratio(pub f64);

/// A name on one line.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct Name(pub String);

/// Where the database is.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct StorageUrl(pub PathBuf);

/// An address of this machine alone: the room has no login.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct Listen(pub SocketAddr);

impl Config {
    /// The settings of a file, or the defaults.
    pub fn load(file: Option<&Path>) -> anyhow::Result<Self> {
        let Some(file) = file else { return Ok(Self::default()) };
        let text = std::fs::read_to_string(file)
            .with_context(|| format!("the config file {} cannot be read", file.display()))?;
        let shown = file.display().to_string();
        Self::parse(&text)
            .map_err(|error| anyhow::anyhow!("{}", error.to_string().replace("<input>", &shown)))
            .with_context(|| format!("the config file {shown} is not usable"))
    }

    /// Reads settings; what is not set has its default. Errors name line and column.
    pub fn parse(text: &str) -> anyhow::Result<Self> {
        if text.lines().all(|line| line.trim().is_empty() || line.trim_start().starts_with('#')) {
            return Ok(Self::default());
        }
        serde_saphyr::from_str(text).map_err(|error| anyhow::anyhow!("{}", error.render()))
    }

    pub fn persona(&self) -> Arc<Persona> {
        Arc::new(Persona {
            name: self.persona.name.0.clone(),
            system_prompt: self.persona.system_prompt.clone(),
            language: self.language,
        })
    }

    /// How long talk rests in a real workspace.
    pub fn waiting(&self) -> Waiting {
        let Wait::Fixed = self.response.wait;
        let usual = Waiting::default();
        Waiting {
            min_wait_seconds: self
                .response
                .min_wait_seconds
                .map_or(usual.min_wait_seconds, |wait| wait.0),
            jitter_ratio: self.response.jitter_ratio.0,
            max_message_age_seconds: self.response.max_message_age_seconds.0,
        }
    }

    /// How long talk rests in the local room.
    pub fn room_waiting(&self) -> Waiting {
        let min_wait_seconds =
            self.response.min_wait_seconds.map_or(ROOM_WAIT_SECONDS, |wait| wait.0);
        Waiting { min_wait_seconds, ..self.waiting() }
    }

    pub fn agent(&self) -> agent::Settings {
        agent::Settings {
            gates: self.response.gates.iter().map(|gate| gate.gate()).collect(),
            max_delay_seconds: self.response.max_delay_seconds.0,
            ..agent::Settings::default()
        }
    }
}

impl Default for PersonaConfig {
    fn default() -> Self {
        Self { name: Name("Aizuchi".to_owned()), system_prompt: String::new() }
    }
}

impl Default for StorageConfig {
    fn default() -> Self {
        Self { url: StorageUrl(PathBuf::from("data/aizuchi.db")) }
    }
}

impl Default for HttpConfig {
    fn default() -> Self {
        Self { listen: Listen(SocketAddr::from(([127, 0, 0, 1], 8080))) }
    }
}

impl Default for ResponseConfig {
    fn default() -> Self {
        let waiting = Waiting::default();
        Self {
            wait: Wait::Fixed,
            min_wait_seconds: None,
            jitter_ratio: Ratio(waiting.jitter_ratio),
            max_delay_seconds: Seconds(agent::Settings::default().max_delay_seconds),
            max_message_age_seconds: Seconds(waiting.max_message_age_seconds),
            gates: vec![JudgeGate::SpokeLast, JudgeGate::Unchanged],
        }
    }
}

impl JudgeGate {
    fn gate(self) -> Gate {
        match self {
            JudgeGate::SpokeLast => Gate::SpokeLast,
            JudgeGate::Unchanged => Gate::Unchanged,
        }
    }
}

impl TryFrom<f64> for Seconds {
    type Error = String;

    fn try_from(value: f64) -> Result<Self, String> {
        const YEAR: f64 = 366.0 * 86_400.0;
        let is_fine = (0.0..=YEAR).contains(&value);
        if is_fine {
            Ok(Self(value))
        } else {
            Err(format!("{value} is not a number of seconds from 0 to a year"))
        }
    }
}

impl TryFrom<f64> for Ratio {
    type Error = String;

    fn try_from(value: f64) -> Result<Self, String> {
        let is_fine = (0.0..=1.0).contains(&value);
        if is_fine { Ok(Self(value)) } else { Err(format!("{value} is not between 0 and 1")) }
    }
}

impl TryFrom<String> for Name {
    type Error = String;

    fn try_from(value: String) -> Result<Self, String> {
        let name = value.trim();
        let is_fine =
            !name.is_empty() && name.chars().count() <= 40 && !name.contains(char::is_control);
        if is_fine {
            Ok(Self(name.to_owned()))
        } else {
            Err("a name has 1 to 40 characters on one line".to_owned())
        }
    }
}

impl TryFrom<String> for StorageUrl {
    type Error = String;

    fn try_from(value: String) -> Result<Self, String> {
        let file = value.strip_prefix("sqlite://");
        let is_file =
            |file: &&str| !file.is_empty() && !file.starts_with(':') && !file.contains('?');
        let file = file
            .filter(is_file)
            .ok_or("a storage url names a file, like sqlite://data/aizuchi.db")?;
        Ok(Self(PathBuf::from(file)))
    }
}

impl TryFrom<String> for Listen {
    type Error = String;

    fn try_from(value: String) -> Result<Self, String> {
        let address: SocketAddr = value
            .parse()
            .map_err(|_| format!("{value:?} is not an address like 127.0.0.1:8080"))?;
        if !address.ip().is_loopback() {
            return Err(format!(
                "{address} can be reached from other machines, and the room has no login; listen on 127.0.0.1"
            ));
        }
        Ok(Self(address))
    }
}
