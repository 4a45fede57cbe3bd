//! What holds for single channels.

use jiff::civil::Time;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::config::values::Money;

/// What holds for one channel.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ChannelConfig {
    /// What it does there.
    pub mode: Mode,
    /// `22:00-07:00`: within these hours it says nothing unasked.
    pub quiet_hours: Option<QuietHours>,
    /// The most that its models may cost in a month, in `models.currency`.
    pub budget: Option<Money>,
}

/// What it does in a channel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum Mode {
    /// Takes part as a member.
    #[default]
    Companion,
    /// Helps a discussion along.
    Facilitator,
    /// Answers when it is mentioned, and only then.
    MentionOnly,
    /// Remembers, and says nothing.
    Observe,
    /// Does nothing there.
    Off,
}

/// A channel's id, or `#` and its name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(try_from = "String")]
pub struct ChannelKey(pub String);

/// From one time of the day to another, over midnight if the second is earlier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(try_from = "String")]
#[schemars(with = "String", inline, extend("pattern" = "^[0-2][0-9]:[0-5][0-9]-[0-2][0-9]:[0-5][0-9]$"))]
pub struct QuietHours {
    pub from: Time,
    pub to: Time,
}

impl TryFrom<String> for ChannelKey {
    type Error = &'static str;

    fn try_from(value: String) -> Result<Self, &'static str> {
        let name = value.strip_prefix('#').unwrap_or(&value);
        let is_fine = !name.is_empty() && !name.contains(char::is_whitespace);
        is_fine.then_some(Self(value)).ok_or("it must be \"#\" and a channel's name, or its id")
    }
}

impl TryFrom<String> for QuietHours {
    type Error = &'static str;

    fn try_from(value: String) -> Result<Self, &'static str> {
        let hours = value.split_once('-');
        let hours = hours.and_then(|(from, to)| Some((time(from)?, time(to)?)));
        let hours = hours.filter(|(from, to)| from != to);
        let (from, to) = hours.ok_or("it must be two times of the day, like 22:00-07:00")?;
        Ok(Self { from, to })
    }
}

fn time(text: &str) -> Option<Time> {
    let (hour, minute) = text.trim().split_once(':')?;
    let is_fine = hour.len() == 2 && minute.len() == 2;
    let (hour, minute) = (hour.parse().ok()?, minute.parse().ok()?);
    is_fine.then(|| Time::new(hour, minute, 0, 0).ok())?
}
