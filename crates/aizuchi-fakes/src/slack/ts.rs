//! Slack's timestamps, which are also the ids of messages.

use std::fmt;
use std::str::FromStr;

use jiff::Timestamp;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Microseconds since 1970, unique within a channel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ts(pub u64);

/// The error for a text that is not seconds, a point and up to six digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a timestamp of Slack's")]
pub struct InvalidTs;

impl Ts {
    pub fn from_timestamp(at: Timestamp) -> Self {
        Self(u64::try_from(at.as_microsecond()).unwrap_or(0))
    }

    pub fn next(self) -> Self {
        Self(self.0 + 1)
    }

    /// Returns the start of its second.
    pub fn whole_second(self) -> Self {
        Self(self.0 - self.0 % 1_000_000)
    }

    pub fn unix_seconds(self) -> u64 {
        self.0 / 1_000_000
    }
}

impl fmt::Display for Ts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:06}", self.0 / 1_000_000, self.0 % 1_000_000)
    }
}

impl FromStr for Ts {
    type Err = InvalidTs;

    fn from_str(text: &str) -> Result<Self, InvalidTs> {
        let (seconds, fraction) = text.split_once('.').unwrap_or((text, ""));
        let is_number = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
        if seconds.is_empty() || fraction.len() > 6 || !is_number(seconds) || !is_number(fraction) {
            return Err(InvalidTs);
        }
        let seconds: u64 = seconds.parse().map_err(|_| InvalidTs)?;
        let micros: u64 = format!("{fraction:0<6}").parse().map_err(|_| InvalidTs)?;
        seconds
            .checked_mul(1_000_000)
            .and_then(|all| all.checked_add(micros))
            .map(Self)
            .ok_or(InvalidTs)
    }
}

impl Serialize for Ts {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Ts {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timestamps_are_parsed_and_formatted() {
        for (text, micros, formatted) in [
            ("1700000000.000100", Some(1_700_000_000_000_100), "1700000000.000100"),
            ("1700000000", Some(1_700_000_000_000_000), "1700000000.000000"),
            ("1.5", Some(1_500_000), "1.500000"),
            ("0", Some(0), "0.000000"),
            ("", None, ""),
            (".1", None, ""),
            ("1.0000001", None, ""),
            ("-1", None, ""),
            ("99999999999999999999", None, ""),
        ] {
            let parsed: Option<Ts> = text.parse().ok();
            assert_eq!(parsed, micros.map(Ts), "{text:?}");
            assert_eq!(parsed.map(|ts| ts.to_string()).unwrap_or_default(), formatted);
        }
    }
}
