//! Types of single settings. Deserializing validates them; the error continues the message after “but”.

use std::path::PathBuf;

use aizuchi_model::chat::UserId;
use aizuchi_model::plan::recurrence::Recurrence;
use aizuchi_model::plan::time_expression::{self, When};
use aizuchi_model::rules::{PostTiming, QuietHours};
use jiff::SignedDuration;
use jiff::civil::{DateTime, Time};
use jiff::tz::TimeZone;
use schemars::JsonSchema;
use serde::Deserialize;

/// Declares a section of the config: each setting with its type and, unless it is that of the type, its default.
macro_rules! section {
    ($(#[$meta:meta])* pub struct $name:ident {
        $($(#[$of_key:meta])* pub $key:ident: $type:ty $(= $default:expr)?,)*
    }) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
        #[serde(default, deny_unknown_fields)]
        pub struct $name {
            $($(#[$of_key])* pub $key: $type,)*
        }

        impl Default for $name {
            fn default() -> Self {
                Self { $($key: section!(@ $($default)?),)* }
            }
        }
    };
    (@) => { Default::default() };
    (@ $default:expr) => { $default };
}

/// Declares types of settings that are numbers of a range.
macro_rules! numbers {
    ($($(#[$meta:meta])* $name:ident: $least:literal to $most:literal, $must:literal;)*) => {$(
        #[derive(Clone, Copy, Debug, PartialEq, Deserialize, JsonSchema)]
        #[serde(try_from = "f64")]
        #[schemars(inline, extend("minimum" = $least, "maximum" = $most))]
        $(#[$meta])*
        pub struct $name(pub f64);

        impl TryFrom<f64> for $name {
            type Error = &'static str;

            fn try_from(value: f64) -> Result<Self, &'static str> {
                let is_valid = (f64::from($least)..=f64::from($most)).contains(&value);
                is_valid.then_some(Self(value)).ok_or($must)
            }
        }
    )*};
}

/// Declares types of settings that are written as text: what a text stands for, if it is valid, and what an error says
/// otherwise.
macro_rules! text_settings {
    ($($(#[$meta:meta])* $name:ident($inner:ty) = |$text:ident| $value:expr, $must:literal;)*) => {$(
        #[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
        #[serde(try_from = "String")]
        #[schemars(with = "String", inline)]
        $(#[$meta])*
        pub struct $name(pub $inner);

        impl TryFrom<String> for $name {
            type Error = &'static str;

            fn try_from($text: String) -> Result<Self, &'static str> {
                let value: Option<$inner> = $value;
                value.map(Self).ok_or($must)
            }
        }
    )*};
}

/// Declares types of settings that are one of several words, and what each word stands for in the rules.
macro_rules! choices {
    ($($(#[$meta:meta])* $name:ident for $rule:ident {
        $($(#[$of_choice:meta])* $choice:ident = $value:ident,)*
    })*) => {$(
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
        #[serde(rename_all = "snake_case")]
        #[schemars(inline)]
        pub enum $name {
            $($(#[$of_choice])* $choice,)*
        }

        impl $name {
            pub const ALL: &'static [Self] = &[$(Self::$choice),*];

            /// What the setting stands for.
            pub fn rule(self) -> $rule {
                match self {
                    $($name::$choice => $rule::$value,)*
                }
            }
        }
    )*};
}

/// Deserializes a setting that is a text or a section. serde's `untagged` has no useful error message.
macro_rules! text_or_section {
    ($name:ident: $text:ident or $section:ident($type:ty), $expected:literal) => {
        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct Visitor;

                impl<'de> serde::de::Visitor<'de> for Visitor {
                    type Value = $name;

                    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                        f.write_str($expected)
                    }

                    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<$name, E> {
                        Ok($name::$text(text.to_owned()))
                    }

                    fn visit_map<A: serde::de::MapAccess<'de>>(
                        self,
                        section: A,
                    ) -> Result<$name, A::Error> {
                        let section = serde::de::value::MapAccessDeserializer::new(section);
                        <$type>::deserialize(section).map($name::$section)
                    }
                }

                deserializer.deserialize_any(Visitor)
            }
        }
    };
}

numbers! {
    /// A number of seconds, from none to a year.
    Seconds: 0 to 31_622_400, "it must be a number of seconds from 0 to a year";
    /// How long it is from one time to the next, in seconds.
    IntervalSeconds: 1 to 31_622_400, "it must be a number of seconds from 1 to a year";
    /// How long a call may take, in seconds.
    CallSeconds: 1 to 600, "it must be a number of seconds from 1 to 600";
    /// A number from 0 to 1.
    Ratio: 0 to 1, "it must be from 0 to 1";
    /// How freely a model chooses its words.
    Temperature: 0 to 2, "it must be from 0 to 2";
}

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

text_settings! {
    /// A name on one line.
    #[schemars(extend("minLength" = 1))]
    DisplayName(String) = |text| one_line(&text, 40), "it must be a name of 1 to 40 characters on one line";
    /// An emoji, as itself or by its name.
    #[schemars(extend("minLength" = 1, "maxLength" = 32))]
    EmojiName(String) = |text| one_line(&text, 32),
        "it must be an emoji, or its name, of 1 to 32 characters on one line";
    /// The id of a person.
    #[schemars(extend("minLength" = 1))]
    ConfiguredUserId(String) = |text| one_line(&text, 128), "it must be the id of a person";
    /// From one time of the day to another, or never.
    #[derive(Copy)]
    #[schemars(extend("pattern" = "^(none|[0-2][0-9]:[0-5][0-9]-[0-2][0-9]:[0-5][0-9])$"))]
    QuietHoursSetting(Option<QuietHours>) = |text| parse_quiet_hours(&text),
        "it must be two times of day, like 22:00-07:00, or none";
    /// A folder or a file.
    #[schemars(extend("minLength" = 1))]
    FilePath(PathBuf) = |text| {
        let is_valid = !text.trim().is_empty() && !text.contains(char::is_control);
        is_valid.then(|| text.into())
    }, "it must be the path of a file or folder";
    /// An address that begins with `http://` or `https://`. It ends as it is written.
    #[schemars(extend("format" = "uri"))]
    WebUrl(String) = |text| has_host(&text, &["http://", "https://"]).then_some(text),
        "it must be an address with http:// or https://, like https://example.com/v1";
    /// An address that begins with `ws://` or `wss://`.
    #[schemars(extend("format" = "uri"))]
    WebSocketUrl(String) = |text| has_host(&text, &["ws://", "wss://"]).then_some(text),
        "it must be an address like wss://example.com/";
    /// A time of day.
    #[derive(Copy)]
    #[schemars(extend("pattern" = "^[0-2][0-9]:[0-5][0-9]$"))]
    ClockTime(Time) = |text| parse_time(&text), "it must be a time of day, like 10:00";
    /// When something is done again and again, as people write it.
    #[schemars(extend("minLength" = 1))]
    RecurringTime(Recurrence) = |text| parse_recurrence(&text),
        "it must say when again and again, like every Monday at 9:00";
    /// The name of a host, in lower case.
    #[schemars(extend("minLength" = 1))]
    HostName(String) = |text| {
        let host = text.trim().to_ascii_lowercase();
        let is_letter = |letter: char| letter.is_ascii_alphanumeric() || "-_".contains(letter);
        let is_part = |part: &str| !part.is_empty() && part.chars().all(is_letter);
        (host.len() <= 253 && host.split('.').all(is_part)).then_some(host)
    }, "it must be the name of a host, like docs.example.com";
}

choices! {
    /// When Aizuchi posts unasked, if the judge names no moment.
    TimingSetting for PostTiming {
        /// As soon as a person would answer who has read along: within about a minute, typing included.
        Human = HumanLike,
        /// Immediately.
        Plain = Immediate,
    }
}

impl WebUrl {
    /// The address with a trailing slash, so that a path can follow.
    pub fn as_base(&self) -> String {
        format!("{}/", self.0.trim_end_matches('/'))
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

impl<const LEAST: u64, const MOST: u64> BoundedInteger<LEAST, MOST> {
    /// The number as a size. The maxima of settings are far below `usize::MAX`.
    pub fn size(self) -> usize {
        usize::try_from(self.0).unwrap_or(usize::MAX)
    }

    /// The number as one that is signed. The maxima of settings are far below `i64::MAX`.
    fn count(self) -> i64 {
        i64::try_from(self.0).unwrap_or(i64::MAX)
    }

    pub fn seconds(self) -> SignedDuration {
        SignedDuration::from_secs(self.count())
    }

    pub fn minutes(self) -> SignedDuration {
        SignedDuration::from_mins(self.count())
    }

    pub fn hours(self) -> SignedDuration {
        SignedDuration::from_hours(self.count())
    }

    pub fn days(self) -> SignedDuration {
        SignedDuration::from_hours(24 * self.count())
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

/// The text without spaces around it, if it is not empty, on one line and not too long.
fn one_line(text: &str, max_characters: usize) -> Option<String> {
    let text = text.trim();
    let is_valid = (1..=max_characters).contains(&text.chars().count());
    (is_valid && !text.contains(char::is_control)).then(|| text.to_owned())
}

fn parse_quiet_hours(text: &str) -> Option<Option<QuietHours>> {
    if text.trim() == "none" {
        return Some(None);
    }
    let (from, to) = text.split_once('-')?;
    let (from, to) = (parse_time(from)?, parse_time(to)?);
    (from != to).then_some(Some(QuietHours { from, to }))
}

impl Default for ClockTime {
    /// In the morning of a working day.
    fn default() -> Self {
        Self(Time::constant(10, 0, 0, 0))
    }
}

/// The date from which every so many-th day, week, month or year is counted: a Monday.
const FIRST_TURN: DateTime = DateTime::constant(2026, 1, 5, 0, 0, 0, 0);

fn parse_recurrence(text: &str) -> Option<Recurrence> {
    let first = FIRST_TURN.to_zoned(TimeZone::UTC).ok()?;
    match time_expression::parse_time(text, &first)?.0 {
        When::Every(recurrence, _) => Some(recurrence),
        When::Once(_) | When::Past(_) | When::Unclear(_) => None,
    }
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
