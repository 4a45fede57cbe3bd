//! The day that a text names, in English and Japanese.

use jiff::civil::{Date, Weekday};
use jiff::{Span, ToSpan};

use crate::builtin::matching::{holds_any, normalize};

const WEEKDAYS: [(Weekday, &str, &str); 7] = [
    (Weekday::Monday, "monday", "月曜"),
    (Weekday::Tuesday, "tuesday", "火曜"),
    (Weekday::Wednesday, "wednesday", "水曜"),
    (Weekday::Thursday, "thursday", "木曜"),
    (Weekday::Friday, "friday", "金曜"),
    (Weekday::Saturday, "saturday", "土曜"),
    (Weekday::Sunday, "sunday", "日曜"),
];
const MONTHS: [&str; 12] = [
    "january", "february", "march", "april", "may", "june", "july", "august", "september",
    "october", "november", "december",
];

/// The day that a text names, which was written on the day `written`: a date, a weekday, or a day relative to
/// `written`. A weekday means the next one.
pub fn named_day(text: &str, written: Date) -> Option<Date> {
    let lower = normalize(text);
    let days: [(&[&str], i64); 4] = [
        (&["day after tomorrow", "明後日", "あさって"], 2),
        (&["tomorrow", "明日", "あした"], 1),
        (&["yesterday", "昨日", "きのう"], -1),
        (&["today", "tonight", "今日", "今夜"], 0),
    ];
    let counted = || {
        let (_, days) = days.iter().find(|(words, _)| holds_any(&lower, words))?;
        written.checked_add(days.days()).ok()
    };
    date(&lower, written)
        .or_else(|| weekday(&lower, written))
        .or_else(counted)
        .or_else(|| counted_days(&lower, written))
        .or_else(|| holiday(&lower, written))
}

/// The next Christmas, New Year's Eve or New Year, if a text names nothing else: a Christmas party may be on another
/// day.
fn holiday(lower: &str, written: Date) -> Option<Date> {
    const HOLIDAYS: [(&[&str], i8, i8); 4] = [
        (&["christmas eve", "クリスマスイブ", "クリスマス・イブ"], 12, 24),
        (&["christmas", "クリスマス"], 12, 25),
        (&["new year's eve", "大晦日", "大みそか"], 12, 31),
        (
            &[
                "new year", "new year's", "new year's day", "the new year", "お正月", "正月",
                "元日", "元旦",
            ],
            1,
            1,
        ),
    ];
    let name = lower.trim_matches(|character: char| !character.is_alphanumeric());
    let (_, month, day) = HOLIDAYS.iter().find(|(names, ..)| names.contains(&name))?;
    next(written, *month, *day)
}

/// The day at a distance in digits: "in 10 days", 「10日後」.
fn counted_days(lower: &str, written: Date) -> Option<Date> {
    let number = |text: &str| {
        let digits: String = text.chars().take_while(char::is_ascii_digit).collect();
        let rest = text[digits.len()..].trim_start();
        Some((digits.parse::<i64>().ok()?, rest.to_owned()))
    };
    let english = || {
        let (days, rest) = number(format!(" {lower}").split_once(" in ")?.1)?;
        (rest.starts_with("day")).then_some(days)
    };
    let japanese = || {
        let before = lower.split_once("日後")?.0;
        let start = before.trim_end_matches(|character: char| character.is_ascii_digit()).len();
        before[start..].parse::<i64>().ok()
    };
    let days = english().or_else(japanese)?;
    written.checked_add(Span::new().try_days(days).ok()?).ok()
}

/// The next occurrence of this date.
fn next(written: Date, month: i8, day: i8) -> Option<Date> {
    let this_year = Date::new(written.year(), month, day).ok()?;
    match this_year >= written {
        true => Some(this_year),
        false => this_year.checked_add(Span::new().years(1)).ok(),
    }
}

/// Parses "2026-12-03", "December 3rd", "3 Dec", "12/3", 「12月3日」. Without a year it is the next occurrence.
fn date(lower: &str, written: Date) -> Option<Date> {
    let words: Vec<&str> = lower
        .split(|character: char| !(character.is_alphanumeric() || "-/".contains(character)))
        .filter(|word| !word.is_empty())
        .collect();
    let complete = words.iter().find_map(|word| word.parse::<Date>().ok());
    let month_and_day = || {
        let pairs = words.windows(2).find_map(|pair| match *pair {
            [one, other] => match (month(one), day(one)) {
                (Some(month), _) => Some((month, day(other)?)),
                (None, Some(day)) => Some((month(other)?, day)),
                (None, None) => None,
            },
            _ => None,
        });
        let with_slash = || {
            words.iter().find_map(|word| {
                let (month, day) = word.split_once('/')?;
                Some((month.parse().ok()?, day.parse().ok()?))
            })
        };
        pairs.or_else(with_slash).or_else(|| japanese_date(lower))
    };
    complete.or_else(|| {
        let (month, day) = month_and_day()?;
        next(written, month, day)
    })
}

fn month(word: &str) -> Option<i8> {
    const SHORTEST: usize = 3;
    let is_named = |name: &&str| word.len() >= SHORTEST && name.starts_with(word);
    let number = MONTHS.iter().position(is_named)?;
    i8::try_from(number + 1).ok()
}

/// Parses "3", "3rd".
fn day(word: &str) -> Option<i8> {
    let digits = word.trim_end_matches(|character: char| character.is_ascii_alphabetic());
    let ending = &word[digits.len()..];
    ["", "st", "nd", "rd", "th"].contains(&ending).then(|| digits.parse().ok())?
}

fn japanese_date(lower: &str) -> Option<(i8, i8)> {
    let (before, behind) = lower.split_once('月')?;
    let start = before.trim_end_matches(|character: char| character.is_ascii_digit()).len();
    let (day, _) = behind.split_once('日')?;
    Some((before[start..].parse().ok()?, day.parse().ok()?))
}

fn weekday(lower: &str, written: Date) -> Option<Date> {
    let is_named = |(_, english, japanese): &&(Weekday, &str, &str)| {
        holds_any(lower, &[english]) || lower.contains(japanese)
    };
    let (weekday, ..) = WEEKDAYS.iter().find(is_named)?;
    let is_next_week = lower.contains("next week") || lower.contains("来週");
    let first = match is_next_week {
        true => {
            let since_monday = i64::from(written.weekday().to_monday_zero_offset());
            written.checked_add((7 - since_monday).days()).ok()?
        }
        false => written,
    };
    let until = first.weekday().until(*weekday);
    first.checked_add(i64::from(until).days()).ok()
}

#[cfg(test)]
mod tests {
    use jiff::civil::date as at;

    use super::*;

    #[test]
    fn days_are_read_from_dates_weekdays_and_counts() {
        // A Tuesday.
        let written = at(2026, 11, 24);
        for (text, expected) in [
            ("the deploy is on Friday", Some(at(2026, 11, 27))),
            ("the demo is on Tuesday", Some(at(2026, 11, 24))),
            ("we ship Monday next week", Some(at(2026, 11, 30))),
            ("it is tomorrow at ten", Some(at(2026, 11, 25))),
            ("the day after tomorrow", Some(at(2026, 11, 26))),
            ("the fair opens on December 3rd", Some(at(2026, 12, 3))),
            ("the fair opens on the 3 dec", Some(at(2026, 12, 3))),
            ("it was on March 5", Some(at(2027, 3, 5))),
            ("until 2027-01-15", Some(at(2027, 1, 15))),
            ("see you 12/3", Some(at(2026, 12, 3))),
            ("リリースは金曜日です", Some(at(2026, 11, 27))),
            ("リリースは来週の水曜", Some(at(2026, 12, 2))),
            ("締め切りは12月3日です", Some(at(2026, 12, 3))),
            ("明後日です", Some(at(2026, 11, 26))),
            ("what day is it in 10 days?", Some(at(2026, 12, 4))),
            ("10日後", Some(at(2026, 12, 4))),
            ("Christmas", Some(at(2026, 12, 25))),
            ("クリスマスイブ", Some(at(2026, 12, 24))),
            ("お正月", Some(at(2027, 1, 1))),
            ("the Christmas party", None),
            ("the Christmas party is on Friday", Some(at(2026, 11, 27))),
            ("クリスマス会", None),
            ("it may be late", None),
            ("room 4 is free", None),
            ("on the 45 december", None),
            ("in 99999999999999999 days", None),
        ] {
            assert_eq!(named_day(text, written), expected, "{text}");
        }
        assert_eq!(named_day("tomorrow", Date::MAX), None);
    }
}
