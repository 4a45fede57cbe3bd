//! Parses until when to be silent, as users write it: "until 4pm", "today", 「明日の朝まで」.

use std::sync::LazyLock;

use jiff::civil::{Date, Time, Weekday};
use jiff::tz::TimeZone;
use jiff::{Span, Timestamp};
use regex::{Captures, Regex};

/// A time of a coming day, in the users' time zone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DayTime {
    pub day: NamedDay,
    pub time: Time,
    /// Whether the other half of the day may be meant as well: "until 4".
    pub is_either_half: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NamedDay {
    /// The day on which that time comes next.
    Next,
    Tomorrow,
    On(Weekday),
}

/// Phrases, and the time that they mean.
const PHRASES: [(&str, NamedDay, i8); 20] = [
    (r"\buntil (?:\w+ )?after lunch", NamedDay::Next, 13),
    (r"\buntil (?:about |around )?(?:noon|midday|lunch)", NamedDay::Next, 12),
    (r"\bthis morning\b|午前中|(?:正午|昼)まで", NamedDay::Next, 12),
    (r"昼休み[^。]*まで", NamedDay::Next, 13),
    (r"\buntil (?:the |this |to)?(?:evening|night)|夕方まで", NamedDay::Next, 18),
    (
        r"\buntil (?:the )?end of (?:the |my )?(?:day|work)|\bthis afternoon\b|午後は|午後いっぱい",
        NamedDay::Next,
        18,
    ),
    (r"夜まで", NamedDay::Next, 20),
    (r"\btomorrow evening|明日の(?:夕方|夜)まで", NamedDay::Tomorrow, 18),
    (r"\btomorrow (?:after)?noon|明日の昼まで", NamedDay::Tomorrow, 13),
    (r"\buntil tomorrow|明日の?朝?まで", NamedDay::Tomorrow, 9),
    (r"\buntil next week|来週まで", NamedDay::On(Weekday::Monday), 9),
    (r"\bthis week\b|今週", NamedDay::On(Weekday::Monday), 0),
    (
        r"\btoday\b|\btonight\b|\bfor the (?:rest of the )?(?:day|night)\b|\brest of the day|今日|今夜|今晩|本日",
        NamedDay::Next,
        0,
    ),
    (r"\buntil monday|月曜日?まで", NamedDay::On(Weekday::Monday), 9),
    (r"\buntil tuesday|火曜日?まで", NamedDay::On(Weekday::Tuesday), 9),
    (r"\buntil wednesday|水曜日?まで", NamedDay::On(Weekday::Wednesday), 9),
    (r"\buntil thursday|木曜日?まで", NamedDay::On(Weekday::Thursday), 9),
    (r"\buntil friday|金曜日?まで", NamedDay::On(Weekday::Friday), 9),
    (r"\buntil saturday|土曜日?まで", NamedDay::On(Weekday::Saturday), 9),
    (r"\buntil sunday|日曜日?まで", NamedDay::On(Weekday::Sunday), 9),
];

/// The days that may stand beside a time of the clock.
const DAYS: [(&[&str], NamedDay); 8] = [
    (&["tomorrow", "明日"], NamedDay::Tomorrow),
    (&["monday", "月曜"], NamedDay::On(Weekday::Monday)),
    (&["tuesday", "火曜"], NamedDay::On(Weekday::Tuesday)),
    (&["wednesday", "水曜"], NamedDay::On(Weekday::Wednesday)),
    (&["thursday", "木曜"], NamedDay::On(Weekday::Thursday)),
    (&["friday", "金曜"], NamedDay::On(Weekday::Friday)),
    (&["saturday", "土曜"], NamedDay::On(Weekday::Saturday)),
    (&["sunday", "日曜"], NamedDay::On(Weekday::Sunday)),
];

static PATTERNS: LazyLock<Vec<(Regex, NamedDay, Time)>> = LazyLock::new(|| {
    let pattern = |(words, day, hour): &(&str, NamedDay, i8)| {
        (regex(words), *day, Time::constant(*hour, 0, 0, 0))
    };
    PHRASES.iter().map(pattern).collect()
});
/// A time of the clock.
static CLOCK: LazyLock<[Regex; 2]> = LazyLock::new(|| {
    [
        regex(
            r"\buntil (?:about |around )?(?P<hour>\d{1,2})(?:[:.h](?P<minute>\d\d))? ?(?P<half>am|pm|a\.m|p\.m)?(?:\W|$)",
        ),
        regex(
            r"(?P<half>午前|午後|朝|夜|夕方|昼)?の?(?P<hour>\d{1,2})時(?:(?P<past>半)|(?P<minute>\d{1,2})分)?(?:ごろ|頃|くらい|ぐらい)?まで",
        ),
    ]
});

impl DayTime {
    /// Finds until which time of the clock a text in lower case asks for silence.
    pub fn find_clock(text: &str) -> Option<Self> {
        let text = with_until(text);
        let clock = CLOCK.iter().find_map(|pattern| Self::of_clock(&pattern.captures(&text)?))?;
        let holds = |names: &[&str]| names.iter().any(|name| text.contains(name));
        let day = DAYS.iter().find(|(names, _)| holds(names)).map(|(_, day)| *day);
        // 「明日の10時」 is in the morning.
        let is_either_half = clock.is_either_half && day.is_none();
        Some(Self { day: day.unwrap_or(clock.day), is_either_half, ..clock })
    }

    /// Finds until when a text in lower case asks for silence in words alone.
    pub fn find_phrase(text: &str) -> Option<Self> {
        let text = with_until(text);
        let (_, day, time) = PATTERNS.iter().find(|(words, ..)| words.is_match(&text))?;
        Some(Self { day: *day, time: *time, is_either_half: false })
    }

    fn of_clock(found: &Captures<'_>) -> Option<Self> {
        let number = |name: &str| found.name(name).and_then(|it| it.as_str().parse::<i8>().ok());
        let minute = number("minute").unwrap_or(if found.name("past").is_some() { 30 } else { 0 });
        let hour = number("hour")?;
        let half = found.name("half").map(|half| half.as_str());
        let hour = match half {
            // One at night is after midnight.
            Some("夜") if hour < 6 || hour == 12 => hour % 12,
            Some("pm" | "p.m" | "午後" | "夜" | "夕方" | "昼") if hour < 12 => hour + 12,
            Some("am" | "a.m" | "午前") if hour == 12 => 0,
            _ => hour,
        };
        let is_either_half = half.is_none() && hour <= 12;
        let time = Time::new(hour % 24, minute, 0, 0).ok()?;
        Some(Self { day: NamedDay::Next, time, is_either_half })
    }

    /// Returns the first such time after `at`.
    pub fn after(self, at: Timestamp, zone: &TimeZone) -> Option<Timestamp> {
        let now = at.to_zoned(zone.clone());
        let today = now.date();
        let on = |date: Date, time: Time| {
            date.to_datetime(time).to_zoned(zone.clone()).ok().map(|zoned| zoned.timestamp())
        };
        let tomorrow = today.tomorrow().ok()?;
        match self.day {
            NamedDay::Tomorrow => on(tomorrow, self.time),
            NamedDay::On(weekday) => on(today.nth_weekday(1, weekday).ok()?, self.time),
            NamedDay::Next => {
                let other =
                    self.is_either_half.then(|| self.time.wrapping_add(Span::new().hours(12)));
                let times = [Some(self.time), other].into_iter().flatten();
                let coming = times.flat_map(|time| [on(today, time), on(tomorrow, time)]).flatten();
                coming.filter(|coming| *coming > at).min()
            }
        }
    }
}

fn with_until(text: &str) -> String {
    text.replace("'til ", "until ").replace(" till ", " until ").replace(" til ", " until ")
}

fn regex(pattern: &str) -> Regex {
    Regex::new(pattern).expect("a test reads every pattern")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_is_the_next_that_is_meant() {
        let zone = TimeZone::get("Asia/Tokyo").unwrap();
        // A Friday.
        let at: Timestamp = "2026-03-06T14:20:00+09:00".parse().unwrap();
        for (text, expected) in [
            ("hold off until 4pm, we have a call", "03-06 16:00"),
            ("be quiet till 4", "03-06 16:00"),
            ("be quiet until 11", "03-06 23:00"),
            ("quiet until 10:30 please", "03-06 22:30"),
            ("be quiet until 4:30", "03-06 16:30"),
            ("hold off until 9am on monday", "03-09 09:00"),
            ("15時30分まで静かにして", "03-06 15:30"),
            ("深夜1時まで静かにして", "03-07 01:00"),
            ("夜12時まで黙ってて", "03-07 00:00"),
            ("明日の10時まで黙ってて", "03-07 10:00"),
            ("could you hold off until after lunch?", "03-07 13:00"),
            ("please don't reply today", "03-07 00:00"),
            ("be quiet until tomorrow", "03-07 09:00"),
            ("no posts until monday", "03-09 09:00"),
            ("stay out of this until friday", "03-13 09:00"),
            ("nothing here this week", "03-09 00:00"),
            ("15時まで投稿を止めて", "03-06 15:00"),
            ("午後5時半まで静かにして", "03-06 17:30"),
            ("明日の朝まで黙ってて", "03-07 09:00"),
            ("今日は黙ってて", "03-07 00:00"),
            ("昼休み終わるまで休んでて", "03-07 13:00"),
            ("月曜まで静かに", "03-09 09:00"),
        ] {
            let found = DayTime::find_clock(text).or_else(|| DayTime::find_phrase(text));
            let found = found.and_then(|found| found.after(at, &zone));
            let found =
                found.map(|found| found.to_zoned(zone.clone()).strftime("%m-%d %H:%M").to_string());
            assert_eq!(found.as_deref(), Some(expected), "{text}");
        }
        for text in ["be quiet for a while", "until the incident is closed", "この話題が片付くまで"]
        {
            assert_eq!(DayTime::find_clock(text), None, "{text}");
            assert_eq!(DayTime::find_phrase(text), None, "{text}");
        }
    }
}
