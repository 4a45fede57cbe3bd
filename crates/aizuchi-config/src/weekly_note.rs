//! The weekly note for keepers: when it is sent.

use aizuchi_model::rules::weekly_time::WeeklyTime;
use jiff::civil::Weekday;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::values::parse_time;

/// A day of the week and a time of the day, or never.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(try_from = "String")]
#[schemars(
    with = "String",
    inline,
    extend("pattern" = "^(off|(mon|tues|wednes|thurs|fri|satur|sun)day [0-2][0-9]:[0-5][0-9])$")
)]
pub struct WeeklyNoteSetting(pub Option<WeeklyTime>);

impl TryFrom<String> for WeeklyNoteSetting {
    type Error = &'static str;

    fn try_from(value: String) -> Result<Self, &'static str> {
        if value.trim() == "off" {
            return Ok(Self(None));
        }
        let parts = value.trim().split_once(' ');
        let parts = parts.and_then(|(day, time)| Some((parse_day(day)?, parse_time(time)?)));
        let (day, time) =
            parts.ok_or("it must be a day of the week and a time, like monday 09:00, or off")?;
        Ok(Self(Some(WeeklyTime { day, time })))
    }
}

fn parse_day(name: &str) -> Option<Weekday> {
    Some(match name.to_ascii_lowercase().as_str() {
        "monday" => Weekday::Monday,
        "tuesday" => Weekday::Tuesday,
        "wednesday" => Weekday::Wednesday,
        "thursday" => Weekday::Thursday,
        "friday" => Weekday::Friday,
        "saturday" => Weekday::Saturday,
        "sunday" => Weekday::Sunday,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use jiff::civil::time;

    use super::*;

    #[test]
    fn a_day_and_a_time() {
        let parsed = |text: &str| WeeklyNoteSetting::try_from(text.to_owned());
        let at = |day, hour, minute| {
            Ok(WeeklyNoteSetting(Some(WeeklyTime { day, time: time(hour, minute, 0, 0) })))
        };
        assert_eq!(parsed("monday 09:00"), at(Weekday::Monday, 9, 0));
        assert_eq!(parsed(" Sunday 23:30 "), at(Weekday::Sunday, 23, 30));
        assert_eq!(parsed("off"), Ok(WeeklyNoteSetting(None)));
        for wrong in ["", "monday", "09:00", "moonday 09:00", "monday 9:00", "monday 24:00"] {
            assert!(parsed(wrong).is_err(), "{wrong}");
        }
    }
}
