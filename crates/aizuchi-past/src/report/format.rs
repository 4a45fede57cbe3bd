//! Formats numbers, times and money.

use aizuchi_model::persona::Language;
use aizuchi_model::texts::counted::{self, Counted};
use aizuchi_model::texts::ledger as units;
use aizuchi_model::texts::policies as policy_texts;
use aizuchi_model::texts::report as texts;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

use crate::ledger;
use crate::report::figures::PlacePosts;
use crate::report::interruptions::per_100;

/// The placeholder for an unknown value.
pub const UNKNOWN: &str = "–";

/// Formats a number with thousands separators.
pub fn count(number: usize) -> String {
    let digits = number.to_string();
    let mut shown = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            shown.push(',');
        }
        shown.push(digit);
    }
    shown
}

pub fn times(number: usize, language: Language) -> String {
    number_of(counted::times, number, language)
}

/// Formats a number of things.
pub fn number_of(things: Counted, number: usize, language: Language) -> String {
    things(language, number, &count(number))
}

pub fn percent(share: f64) -> String {
    let percent = share * 100.0;
    let is_small = 0.0 < percent && percent < 1.0;
    if is_small { "< 1 %".to_owned() } else { format!("{percent:.0} %") }
}

/// Formats a share in percent, if it is known.
pub fn percent_of_100(rate: Option<f64>) -> String {
    rate.map_or(UNKNOWN.to_owned(), |rate| percent(rate / 100.0))
}

/// Formats a part of a whole, with its share if the whole is large enough for a rate.
pub fn part(part: usize, whole: usize, language: Language) -> String {
    match per_100(part, whole) {
        Some(rate) => texts::with_share(language, &count(part), &percent(rate / 100.0)),
        None => count(part),
    }
}

/// Formats a number of posts, with the probable interruptions in brackets.
pub fn posts(posts: PlacePosts, language: Language) -> String {
    with_wrong(posts.spoke, posts.wrong, language)
}

/// Formats any two numbers like [`posts`].
pub fn with_wrong(spoke: usize, wrong: usize, language: Language) -> String {
    policy_texts::with_wrong(language, &count(spoke), &count(wrong))
}

/// Formats a number with one decimal place, or with none from 1000 on.
pub fn one_decimal(number: f64) -> String {
    match number {
        ..999.95 => format!("{number:.1}"),
        _ => count(number.round() as usize),
    }
}

/// Formats the length of a period in days.
pub fn period(days: f64, language: Language) -> String {
    match days {
        ..0.0625 => texts::in_one_hour(language).to_owned(),
        ..1.0 => texts::in_hours(language, &format!("{:.0}", (days * 24.0).max(1.0).round())),
        1.0..1.5 => texts::in_one_day(language).to_owned(),
        _ => texts::in_days(language, &count(days.round() as usize)),
    }
}

/// Formats the length of a period in days, for a sentence about "the last" one.
pub fn past_period(days: f64, language: Language) -> String {
    match days {
        ..0.0625 => texts::last_hour(language).to_owned(),
        1.0..1.5 => texts::last_day(language).to_owned(),
        _ => period(days, language),
    }
}

/// Formats a daily rate with the unit that suits it: per day, per week or per month.
pub fn rate(per_day: f64, language: Language) -> String {
    let (per_week, per_month) = (per_day * 7.0, per_day * 30.4);
    let whole = |rate: f64| count(rate.round() as usize);
    match () {
        () if per_day >= 2.5 => texts::times_a_day(language, &whole(per_day)),
        () if per_day >= 1.5 => texts::twice_a_day(language).to_owned(),
        () if per_day >= 0.75 => texts::once_a_day(language).to_owned(),
        () if per_week >= 2.5 => texts::times_a_week(language, &whole(per_week)),
        () if per_week >= 1.5 => texts::twice_a_week(language).to_owned(),
        () if per_week >= 0.75 => texts::once_a_week(language).to_owned(),
        () if per_month >= 2.5 => texts::times_a_month(language, &whole(per_month)),
        () if per_month >= 1.5 => texts::twice_a_month(language).to_owned(),
        () if per_month >= 0.75 => texts::once_a_month(language).to_owned(),
        () => texts::rarely(language).to_owned(),
    }
}

/// Formats a monthly rate.
pub fn monthly(per_month: f64, language: Language) -> String {
    match per_month {
        ..0.5 => texts::rarely(language).to_owned(),
        ..1.5 => texts::once_a_month(language).to_owned(),
        ..2.5 => texts::twice_a_month(language).to_owned(),
        _ => texts::times_a_month(language, &count(per_month.round() as usize)),
    }
}

pub fn money(amount: f64, currency: &str, language: Language) -> String {
    let in_currency = |number: String| match currency {
        "USD" => format!("${number}"),
        currency => format!("{number} {currency}"),
    };
    match amount {
        ..=0.0 => in_currency("0".to_owned()),
        ..0.005 => texts::cost_less(language, &in_currency("0.01".to_owned())),
        ..100.0 => in_currency(format!("{amount:.2}")),
        _ => in_currency(count(amount.round() as usize)),
    }
}

/// Formats an estimated amount: "about $0.12", or "less than $0.01".
pub fn estimated_money(amount: f64, currency: &str, language: Language) -> String {
    let shown = money(amount, currency, language);
    match amount {
        ..0.005 => shown,
        _ => texts::cost_estimate(language, &shown),
    }
}

/// Formats a length of time of at least a second.
pub fn duration(seconds: f64, language: Language) -> String {
    let length =
        SignedDuration::try_from_secs_f64(seconds.abs().max(1.0)).unwrap_or(SignedDuration::MAX);
    ledger::format_duration(length, language)
}

/// Formats a length of time that is known to 5 %, rounded accordingly: to whole minutes from two minutes on, and to
/// whole hours from two hours on.
pub fn rough_duration(seconds: f64, language: Language) -> String {
    let step = match seconds {
        ..30.0 => 1.0,
        ..120.0 => 5.0,
        ..1800.0 => 60.0,
        ..7200.0 => 300.0,
        _ => 3600.0,
    };
    duration((seconds / step).round() * step, language)
}

/// Formats several such lengths that are shown together. Two different lengths of more than two minutes that would read
/// the same are formatted more exactly.
pub fn rough_durations(lengths: &[Option<f64>], language: Language) -> Vec<String> {
    let rough = |length: &Option<f64>| {
        length.map_or(UNKNOWN.to_owned(), |seconds| rough_duration(seconds, language))
    };
    let shown: Vec<String> = lengths.iter().map(rough).collect();
    let all = || lengths.iter().zip(&shown);
    let told = all().map(|(length, text)| match length {
        Some(seconds) if *seconds >= IN_MINUTES => {
            let is_other =
                |other: &Option<f64>| other.is_some_and(|other| other.round() != seconds.round());
            let is_unclear = all().any(|(other, same)| same == text && is_other(other));
            if is_unclear { exact_duration(*seconds, language) } else { text.clone() }
        }
        Some(_) | None => text.clone(),
    });
    told.collect()
}

/// The length from which on lengths are formatted in minutes, in seconds.
const IN_MINUTES: f64 = 117.5;

/// Formats a length of several minutes or hours in two units.
fn exact_duration(seconds: f64, language: Language) -> String {
    let seconds = seconds.round() as u64;
    let (minutes, hours) = (units::minutes(language), units::hours(language));
    match seconds {
        ..7200 => {
            let unit = units::seconds(language);
            format!("{} {minutes} {} {unit}", seconds / 60, seconds % 60)
        }
        7200.. => format!("{} {hours} {} {minutes}", seconds / 3600, seconds % 3600 / 60),
    }
}

pub fn date(at: Option<Timestamp>, zone: &TimeZone, language: Language) -> String {
    let Some(at) = at else { return UNKNOWN.to_owned() };
    at.to_zoned(zone.clone()).strftime(texts::date_format(language)).to_string()
}

pub fn date_and_time(at: Timestamp, zone: &TimeZone, language: Language) -> String {
    at.to_zoned(zone.clone()).strftime(texts::moment_format(language)).to_string()
}

pub fn time(at: Timestamp, zone: &TimeZone) -> String {
    at.to_zoned(zone.clone()).strftime("%H:%M").to_string()
}

/// Formats a channel with its `#`. An id has none, because the config would take it for a name.
pub fn channel(name: &str) -> String {
    match is_channel_id(name) {
        true => name.to_owned(),
        false => format!("#{}", name.trim_start_matches('#')),
    }
}

/// Whether the name of a channel is unknown, so that its id replaces it: as in Slack (`C0123ABCD`) or in Discord (a
/// long number).
fn is_channel_id(name: &str) -> bool {
    let is_slack = name.len() >= 9
        && name.starts_with(['C', 'D', 'G'])
        && name.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit())
        && name.bytes().any(|byte| byte.is_ascii_digit());
    let is_discord = name.len() >= 17 && name.bytes().all(|byte| byte.is_ascii_digit());
    is_slack || is_discord
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_and_periods_are_said_in_words() {
        for (per_day, english, japanese) in [
            (18.0, "about 18 times a day", "1 日に約 18 回"),
            (2.0, "about twice a day", "1 日に約 2 回"),
            (1.0, "about once a day", "1 日に約 1 回"),
            (0.45, "about 3 times a week", "週に約 3 回"),
            (0.3, "about twice a week", "週に約 2 回"),
            (0.1, "about 3 times a month", "月に約 3 回"),
            (0.07, "about twice a month", "月に約 2 回"),
            (0.001, "less than once a month", "月に 1 回未満"),
        ] {
            assert_eq!(rate(per_day, Language::En), english);
            assert_eq!(rate(per_day, Language::Ja), japanese);
        }
        assert_eq!(period(9.2, Language::En), "9 days");
        assert_eq!(period(1.2, Language::En), "one day");
        assert_eq!(period(0.2, Language::Ja), "5 時間");
        let past = [0.01, 0.2, 1.2, 9.2].map(|days| past_period(days, Language::En));
        assert_eq!(past, ["hour", "5 hours", "day", "9 days"]);
        assert_eq!((&*count(1_234_567), &*count(999)), ("1,234,567", "999"));
    }

    #[test]
    fn thousands_are_apart_in_every_number() {
        for (number, shown) in [(0.0, "0.0"), (24.24, "24.2"), (999.96, "1,000"), (1667.4, "1,667")]
        {
            assert_eq!(one_decimal(number), shown);
        }
        let rates = [None, Some(0.0), Some(0.4), Some(13.9)].map(percent_of_100);
        assert_eq!(rates, ["–", "0 %", "< 1 %", "14 %"]);
        for (count, english, japanese) in [(1667, "1,667 times", "1,667 回"), (1, "once", "1 回")]
        {
            assert_eq!(times(count, Language::En), english);
            assert_eq!(times(count, Language::Ja), japanese);
        }
    }

    #[test]
    fn a_median_is_no_more_precise_than_it_is_known() {
        for (seconds, shown) in [
            (0.0, "1 s"),
            (13.0, "13 s"),
            (81.0, "80 s"),
            (118.0, "2 min"),
            (170.0, "3 min"),
            (1960.0, "35 min"),
            (13_000.0, "4 h"),
        ] {
            assert_eq!(rough_duration(seconds, Language::En), shown);
        }
    }

    #[test]
    fn lengths_that_would_read_the_same_are_told_apart() {
        for (lengths, shown) in [
            ([Some(170.0), Some(200.0)], ["2 min 50 s", "3 min 20 s"]),
            ([Some(170.0), Some(170.0)], ["3 min", "3 min"]),
            ([Some(118.0), Some(125.0)], ["1 min 58 s", "2 min 5 s"]),
            ([Some(97.0), Some(95.0)], ["95 s", "95 s"]),
            ([Some(170.0), Some(260.0)], ["3 min", "4 min"]),
            ([Some(13_000.0), Some(14_000.0)], ["3 h 36 min", "3 h 53 min"]),
            ([Some(170.0), None], ["3 min", "–"]),
        ] {
            assert_eq!(rough_durations(&lengths, Language::En), shown);
        }
        let japanese = rough_durations(&[Some(170.0), Some(200.0)], Language::Ja);
        assert_eq!(japanese, ["2 分 50 秒", "3 分 20 秒"]);
    }

    #[test]
    fn a_channel_without_a_name_is_called_by_its_id() {
        for (name, shown) in [
            ("porch", "#porch"),
            ("#porch", "#porch"),
            ("C0PORCH42", "C0PORCH42"),
            ("CHANGELOG", "#CHANGELOG"),
            ("1100110011001100110", "1100110011001100110"),
            ("2026", "#2026"),
        ] {
            assert_eq!(channel(name), shown);
        }
    }

    #[test]
    fn money_is_never_more_precise_than_it_is() {
        for (amount, shown) in [(0.4, "$0.40"), (0.001, "less than $0.01"), (1234.4, "$1,234")] {
            assert_eq!(money(amount, "USD", Language::En), shown);
        }
        assert_eq!(money(0.4, "EUR", Language::En), "0.40 EUR");
    }
}
