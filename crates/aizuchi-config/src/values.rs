//! Types of single settings. Deserializing validates them; the error continues the message after “but”.

use std::path::PathBuf;

use aizuchi_model::chat::UserId;
use aizuchi_model::rules::{PostTiming, QuietHours};
use jiff::civil::Time;
use schemars::JsonSchema;
use serde::Deserialize;

/// A number of seconds, from none to a year.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(try_from = "f64")]
#[schemars(inline, extend("minimum" = 0, "maximum" = 31_622_400))]
pub struct Seconds(pub f64);

/// How long it is from one time to the next, in seconds.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(try_from = "f64")]
#[schemars(inline, extend("minimum" = 1, "maximum" = 31_622_400))]
pub struct IntervalSeconds(pub f64);

/// How long a call may take, in seconds.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(try_from = "f64")]
#[schemars(inline, extend("minimum" = 1, "maximum" = 600))]
pub struct CallSeconds(pub f64);

/// A number from 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(try_from = "f64")]
#[schemars(inline, extend("minimum" = 0, "maximum" = 1))]
pub struct Ratio(pub f64);

/// How freely a model chooses its words.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(try_from = "f64")]
#[schemars(inline, extend("minimum" = 0, "maximum" = 2))]
pub struct Temperature(pub f64);

/// An amount of money.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(try_from = "f64")]
#[schemars(inline, extend("minimum" = 0))]
pub struct Money(pub f64);

/// A whole number between two others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(try_from = "u64")]
#[schemars(inline, extend("minimum" = LEAST, "maximum" = MOST))]
pub struct BoundedInteger<const LEAST: u64, const MOST: u64>(pub u64);

/// A port that can be listened on.
pub type Port = BoundedInteger<1, 65_535>;

/// A name on one line.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(try_from = "String")]
#[schemars(inline, extend("minLength" = 1))]
pub struct DisplayName(pub String);

/// An emoji, as itself or by its name.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(try_from = "String")]
#[schemars(inline, extend("minLength" = 1, "maxLength" = 32))]
pub struct EmojiName(pub String);

/// The id of a person.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(try_from = "String")]
#[schemars(inline, extend("minLength" = 1))]
pub struct ConfiguredUserId(pub String);

/// From one time of the day to another, or never.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(try_from = "String")]
#[schemars(with = "String", inline, extend("pattern" = "^(none|[0-2][0-9]:[0-5][0-9]-[0-2][0-9]:[0-5][0-9])$"))]
pub struct QuietHoursSetting(pub Option<QuietHours>);

/// When Aizuchi posts unasked, if the judge names no moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum TimingSetting {
    /// As soon as a person would answer who has read along: within about a minute, typing included.
    Human,
    /// Immediately.
    Plain,
}

/// A folder or a file.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(try_from = "String")]
#[schemars(inline, extend("minLength" = 1))]
pub struct FilePath(pub PathBuf);

/// An address that begins with `http://` or `https://`. It ends as it is written.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(try_from = "String")]
#[schemars(inline, extend("format" = "uri"))]
pub struct WebUrl(pub String);

/// An address that begins with `ws://` or `wss://`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(try_from = "String")]
#[schemars(inline, extend("format" = "uri"))]
pub struct WebSocketUrl(pub String);

/// The name of a host, in lower case.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(try_from = "String")]
#[schemars(inline, extend("minLength" = 1))]
pub struct HostName(pub String);

impl TimingSetting {
    pub fn rule(self) -> PostTiming {
        match self {
            TimingSetting::Human => PostTiming::HumanLike,
            TimingSetting::Plain => PostTiming::Immediate,
        }
    }
}

impl WebUrl {
    /// The address with a trailing slash, so that a path can follow.
    pub fn as_base(&self) -> String {
        format!("{}/", self.0.trim_end_matches('/'))
    }
}

impl TryFrom<f64> for CallSeconds {
    type Error = &'static str;

    fn try_from(value: f64) -> Result<Self, &'static str> {
        let is_valid = (1.0..=600.0).contains(&value);
        is_valid.then_some(Self(value)).ok_or("it must be a number of seconds from 1 to 600")
    }
}

/// The longest span of time that a setting may name.
const MAX_SECONDS: f64 = 366.0 * 86_400.0;

impl TryFrom<f64> for IntervalSeconds {
    type Error = &'static str;

    fn try_from(value: f64) -> Result<Self, &'static str> {
        let is_valid = (1.0..=MAX_SECONDS).contains(&value);
        is_valid.then_some(Self(value)).ok_or("it must be a number of seconds from 1 to a year")
    }
}

impl TryFrom<f64> for Seconds {
    type Error = &'static str;

    fn try_from(value: f64) -> Result<Self, &'static str> {
        let is_valid = (0.0..=MAX_SECONDS).contains(&value);
        is_valid.then_some(Self(value)).ok_or("it must be a number of seconds from 0 to a year")
    }
}

impl TryFrom<f64> for Ratio {
    type Error = &'static str;

    fn try_from(value: f64) -> Result<Self, &'static str> {
        let is_valid = (0.0..=1.0).contains(&value);
        is_valid.then_some(Self(value)).ok_or("it must be from 0 to 1")
    }
}

impl TryFrom<f64> for Temperature {
    type Error = &'static str;

    fn try_from(value: f64) -> Result<Self, &'static str> {
        let is_valid = (0.0..=2.0).contains(&value);
        is_valid.then_some(Self(value)).ok_or("it must be from 0 to 2")
    }
}

impl TryFrom<f64> for Money {
    type Error = &'static str;

    fn try_from(value: f64) -> Result<Self, &'static str> {
        (value >= 0.0).then_some(Self(value)).ok_or("it must not be negative")
    }
}

impl<const LEAST: u64, const MOST: u64> TryFrom<u64> for BoundedInteger<LEAST, MOST> {
    type Error = String;

    fn try_from(value: u64) -> Result<Self, String> {
        let is_valid = (LEAST..=MOST).contains(&value);
        is_valid
            .then_some(Self(value))
            .ok_or_else(|| format!("it must be a whole number from {LEAST} to {MOST}"))
    }
}

impl TryFrom<String> for DisplayName {
    type Error = &'static str;

    fn try_from(value: String) -> Result<Self, &'static str> {
        is_on_one_line(&value, 40)
            .then(|| Self(value.trim().to_owned()))
            .ok_or("it must be a name of 1 to 40 characters on one line")
    }
}

impl TryFrom<String> for EmojiName {
    type Error = &'static str;

    fn try_from(value: String) -> Result<Self, &'static str> {
        is_on_one_line(&value, 32)
            .then(|| Self(value.trim().to_owned()))
            .ok_or("it must be an emoji, or its name, of 1 to 32 characters on one line")
    }
}

impl ConfiguredUserId {
    /// The id, which may be written behind an `@`.
    pub fn user(&self) -> UserId {
        UserId::new(self.0.strip_prefix('@').unwrap_or(&self.0))
    }
}

/// The emoji names as plain strings.
pub fn emoji_names(reactions: &[EmojiName]) -> Vec<String> {
    reactions.iter().map(|reaction| reaction.0.clone()).collect()
}

/// The ids of several users.
pub fn user_ids(configured: &[ConfiguredUserId]) -> Vec<UserId> {
    configured.iter().map(ConfiguredUserId::user).collect()
}

impl TryFrom<String> for ConfiguredUserId {
    type Error = &'static str;

    fn try_from(value: String) -> Result<Self, &'static str> {
        is_on_one_line(&value, 128)
            .then(|| Self(value.trim().to_owned()))
            .ok_or("it must be the id of a person")
    }
}

impl TryFrom<String> for QuietHoursSetting {
    type Error = &'static str;

    fn try_from(value: String) -> Result<Self, &'static str> {
        if value.trim() == "none" {
            return Ok(Self(None));
        }
        let hours = value.split_once('-');
        let hours = hours.and_then(|(from, to)| Some((parse_time(from)?, parse_time(to)?)));
        let hours = hours.filter(|(from, to)| from != to);
        let (from, to) = hours.ok_or("it must be two times of day, like 22:00-07:00, or none")?;
        Ok(Self(Some(QuietHours { from, to })))
    }
}

impl TryFrom<String> for FilePath {
    type Error = &'static str;

    fn try_from(value: String) -> Result<Self, &'static str> {
        let is_valid = !value.trim().is_empty() && !value.contains(char::is_control);
        is_valid
            .then(|| Self(PathBuf::from(value)))
            .ok_or("it must be the path of a file or folder")
    }
}

impl TryFrom<String> for WebUrl {
    type Error = &'static str;

    fn try_from(value: String) -> Result<Self, &'static str> {
        has_host(&value, &["http://", "https://"])
            .then_some(Self(value))
            .ok_or("it must be an address with http:// or https://, like https://example.com/v1")
    }
}

impl TryFrom<String> for HostName {
    type Error = &'static str;

    fn try_from(value: String) -> Result<Self, &'static str> {
        let host = value.trim().to_ascii_lowercase();
        let is_part = |part: &str| {
            let is_letter = |letter: char| letter.is_ascii_alphanumeric() || "-_".contains(letter);
            !part.is_empty() && part.chars().all(is_letter)
        };
        let is_host = host.len() <= 253 && host.split('.').all(is_part);
        is_host.then_some(Self(host)).ok_or("it must be the name of a host, like docs.example.com")
    }
}

impl TryFrom<String> for WebSocketUrl {
    type Error = &'static str;

    fn try_from(value: String) -> Result<Self, &'static str> {
        has_host(&value, &["ws://", "wss://"])
            .then_some(Self(value))
            .ok_or("it must be an address like wss://example.com/")
    }
}

/// Whether a text is not empty, on one line and not too long.
fn is_on_one_line(text: &str, max_characters: usize) -> bool {
    let text = text.trim();
    !text.is_empty() && text.chars().count() <= max_characters && !text.contains(char::is_control)
}

pub fn parse_time(text: &str) -> Option<Time> {
    let (hour, minute) = text.trim().split_once(':')?;
    let is_valid = hour.len() == 2 && minute.len() == 2;
    let (hour, minute) = (hour.parse().ok()?, minute.parse().ok()?);
    is_valid.then(|| Time::new(hour, minute, 0, 0).ok())?
}

fn has_host(url: &str, schemes: &[&str]) -> bool {
    let rest = schemes.iter().find_map(|scheme| url.strip_prefix(scheme));
    let host = rest.and_then(|rest| rest.split(['/', '?', '#']).next()).unwrap_or_default();
    let is_host = !host.is_empty() && !host.starts_with(':');
    is_host && !url.contains(|character: char| character.is_whitespace() || character.is_control())
}
