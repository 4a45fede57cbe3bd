//! The weekly note for keepers: when it is sent.

use aizuchi_model::rules::weekly_time::WeeklyTime;
use jiff::civil::Weekday;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::values::parse_time;

text_settings! {
    /// A day of the week and a time of the day, or never.
    #[derive(Copy)]
    #[schemars(extend("pattern" = "^(off|(mon|tues|wednes|thurs|fri|satur|sun)day [0-2][0-9]:[0-5][0-9])$"))]
    WeeklyNoteSetting(Option<WeeklyTime>) = |text| parse_note(text.trim()),
        "it must be a day of the week and a time, like monday 09:00, or off";
}

fn parse_note(text: &str) -> Option<Option<WeeklyTime>> {
    if text == "off" {
        return Some(None);
    }
    let (day, time) = text.split_once(' ')?;
    Some(Some(WeeklyTime { day: parse_day(day)?, time: parse_time(time)? }))
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
