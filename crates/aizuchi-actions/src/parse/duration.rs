//! Parses how long to be silent, as users write it.

use std::sync::LazyLock;

use jiff::SignedDuration;
use regex::Regex;

use crate::command::MAX_MUTE;

/// Words that may come between a duration and the action.
pub const DURATION_PARTICLES: [&str; 8] =
    ["for", "の間", "だけ", "ほど", "間", "くらい", "ぐらい", "、"];

/// Durations in words, and the same in digits.
pub const NUMBER_WORDS: [(&str, &str); 6] = [
    ("for an hour", "for 1 hour"),
    ("for a day", "for 1 day"),
    ("一時間", "1時間"),
    ("二時間", "2時間"),
    ("三時間", "3時間"),
    ("時間半", "時間30分"),
];

/// Units of time in seconds, the longest names first.
pub const UNITS: [(&str, i64); 20] = [
    ("minutes", 60),
    ("minute", 60),
    ("hours", 3600),
    ("hour", 3600),
    ("weeks", 604_800),
    ("week", 604_800),
    ("days", 86_400),
    ("day", 86_400),
    ("hrs", 3600),
    ("hr", 3600),
    ("mins", 60),
    ("min", 60),
    ("時間", 3600),
    ("週間", 604_800),
    ("分", 60),
    ("日", 86_400),
    ("m", 60),
    ("h", 3600),
    ("d", 86_400),
    ("w", 604_800),
];

/// Finds how long something is to last: "for the next two hours", 「1時間半」. 「2時間前」 and 「10日まで」 are none.
pub fn find_duration(text: &str) -> Option<SignedDuration> {
    static LASTING: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(
            r"\b(?:for|the next|another)(?: the next| about| around| like)? (?P<count>\d+|an?|one|two|three|half an|a couple of|a few)? ?(?P<unit>minute|min|hour|hr|h|m|day|d|week|w)s?\b|(?P<whole>(?:\d+(?:分|時間|日|週間))+)(?P<half>半)?(?P<not>前|後に|まで)?",
        )
        .expect("a test reads it")
    });
    LASTING.captures_iter(text).find_map(|found| {
        if let Some(whole) = found.name("whole") {
            let half = found.name("half").filter(|_| whole.as_str().ends_with("時間"));
            let duration = parse_duration(whole.as_str())?;
            let half = SignedDuration::from_mins(if half.is_some() { 30 } else { 0 });
            return found.name("not").is_none().then(|| (duration + half).min(MAX_MUTE));
        }
        let unit = found.name("unit")?.as_str();
        let (_, seconds) = UNITS.iter().find(|(name, _)| *name == unit)?;
        let count = found.name("count").map_or("a", |it| it.as_str());
        let seconds = match count {
            "half an" => seconds / 2,
            "two" | "a couple of" => 2 * seconds,
            "three" | "a few" => 3 * seconds,
            count => count.parse::<i64>().unwrap_or(1).checked_mul(*seconds)?,
        };
        let duration = SignedDuration::from_secs(seconds).min(MAX_MUTE);
        duration.is_positive().then_some(duration)
    })
}

/// Parses a duration: `2h`, `1h30m`, `90 minutes`, `2時間30分`.
pub fn parse_duration(text: &str) -> Option<SignedDuration> {
    let mut rest = text.trim();
    let mut seconds: i64 = 0;
    while !rest.is_empty() {
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let count: i64 = rest[..digits].parse().ok()?;
        rest = rest[digits..].trim_start();
        let (unit, unit_seconds) = UNITS.iter().find(|(unit, _)| rest.starts_with(unit))?;
        rest = rest[unit.len()..].trim_start_matches([' ', 'と', ',']);
        seconds = seconds.checked_add(count.checked_mul(*unit_seconds)?)?;
    }
    let duration = SignedDuration::from_secs(seconds);
    duration.is_positive().then_some(duration.min(MAX_MUTE))
}
