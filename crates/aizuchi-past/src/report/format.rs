//! Formats numbers, times and money.

use aizuchi_model::persona::Language;
use aizuchi_model::texts::counted::{self, Counted};
use aizuchi_model::texts::report as texts;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

use crate::ledger;

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

/// Formats a number per week, with a decimal place below ten.
pub fn weekly(number: f64) -> String {
    let shown = format!("{number:.1}");
    match number {
        0.0 => "0".to_owned(),
        ..0.05 => "< 0.1".to_owned(),
        ..9.95 => shown.strip_suffix(".0").unwrap_or(&shown).to_owned(),
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
        ..0.005 => texts::money_less(language, &in_currency("0.01".to_owned())),
        ..100.0 => in_currency(format!("{amount:.2}")),
        _ => in_currency(count(amount.round() as usize)),
    }
}

/// Formats an estimated amount: "about $0.12", or "less than $0.01".
pub fn estimated_money(amount: f64, currency: &str, language: Language) -> String {
    let shown = money(amount, currency, language);
    match amount {
        ..0.005 => shown,
        _ => texts::money_about(language, &shown),
    }
}

/// Formats a length of time of at least a second.
pub fn duration(seconds: f64, language: Language) -> String {
    let length =
        SignedDuration::try_from_secs_f64(seconds.abs().max(1.0)).unwrap_or(SignedDuration::MAX);
    ledger::format_duration(length, language)
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
        for (per_month, english, japanese) in [
            (18.4, "about 18 times a month", "月に約 18 回"),
            (2.1, "about twice a month", "月に約 2 回"),
            (1.0, "about once a month", "月に約 1 回"),
            (0.1, "less than once a month", "月に 1 回未満"),
        ] {
            assert_eq!(monthly(per_month, Language::En), english);
            assert_eq!(monthly(per_month, Language::Ja), japanese);
        }
        assert_eq!(period(9.2, Language::En), "9 days");
        assert_eq!(period(1.2, Language::En), "a day");
        assert_eq!(period(0.2, Language::Ja), "5 時間");
        let past = [0.01, 0.2, 1.2, 9.2].map(|days| past_period(days, Language::En));
        assert_eq!(past, ["hour", "5 hours", "day", "9 days"]);
        assert_eq!((&*count(1_234_567), &*count(999)), ("1,234,567", "999"));
    }

    #[test]
    fn thousands_are_apart_in_every_number() {
        for (number, shown) in
            [(0.0, "0"), (24.24, "24"), (4.0, "4"), (0.04, "< 0.1"), (1667.4, "1,667")]
        {
            assert_eq!(weekly(number), shown);
        }
        for (count, english, japanese) in [(1667, "1,667 times", "1,667 回"), (1, "once", "1 回")]
        {
            assert_eq!(times(count, Language::En), english);
            assert_eq!(times(count, Language::Ja), japanese);
        }
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
