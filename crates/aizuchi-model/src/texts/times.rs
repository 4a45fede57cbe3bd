//! Times to come, and how often something recurs.

use jiff::Zoned;
use jiff::civil::Weekday;

use crate::persona::Language;
use crate::plan::recurrence::{Cycle, Interval, LAST, Recurrence};
use crate::texts::{builtin, pick};

texts! {
    daily: "every day" / "毎日";
    workdays: "every weekday" / "平日";
    weekly(days: &str): "every {days}" / "毎週{days}";
    monthly(day: &str): "on the {day} of every month" / "毎月{day}";
    yearly(day: &str): "every year on {day}" / "毎年{day}";
    every_days(count: i64): "every {count} days" / "{count} 日ごと";
    every_weeks(count: i64, days: &str): "every {count} weeks on {days}" / "{count} 週間ごとの{days}";
    every_months(count: i64, day: &str): "every {count} months on the {day}" / "{count} か月ごとの{day}";
    every_years(count: i64, day: &str): "every {count} years on {day}" / "{count} 年ごとの{day}";
    at(days: &str, time: &str): "{days} at {time}" / "{days} {time}";
    last_day: "last day" / "末日";
    last_weekday(weekday: &str): "last {weekday}" / "最後の{weekday}";
    listed(first: &str, last: &str): "{first} and {last}" / "{first}・{last}";
    moment_format: "%A %-d %B, %H:%M %Z" / "%-m月%-d日（%a）%H:%M %Z";
    moment_of_year_format: "%A %-d %B %Y, %H:%M %Z" / "%Y年%-m月%-d日（%a）%H:%M %Z";
    nth(number: i8, suffix: &str): "{number}{suffix}" / "{number}日";
    nth_weekday(number: i8, suffix: &str, weekday: &str): "{number}{suffix} {weekday}" / "第{number}{weekday}";
}

/// A moment that is certain to be understood, with its time zone: “Friday 4 December, 09:00 JST”,
/// 「12月4日（金）09:00 JST」. The year is told if it is not the current one.
pub fn moment(language: Language, at: &Zoned, now: &Zoned) -> String {
    let format = match at.year() == now.year() {
        true => moment_format(language),
        false => moment_of_year_format(language),
    };
    // The name of the day is English, whatever the language of the format.
    let weekday = builtin::weekday(language, at.weekday());
    at.strftime(&format.replace("%a", weekday.trim_end_matches("曜日"))).to_string()
}

/// “every Friday at 17:00”, 「毎週金曜日 17:00」.
pub fn recurring(language: Language, recurrence: &Recurrence) -> String {
    let interval = recurrence.interval.map(|Interval { every, .. }| every);
    let days = match (&recurrence.cycle, interval) {
        (Cycle::Daily, None) => daily(language).to_owned(),
        (Cycle::Daily, Some(count)) => every_days(language, count),
        (Cycle::Weekly(_), None) if recurrence.cycle == Cycle::workdays() => {
            workdays(language).to_owned()
        }
        (Cycle::Weekly(days), None) => weekly(language, &list(language, days)),
        (Cycle::Weekly(days), Some(count)) => every_weeks(language, count, &list(language, days)),
        (Cycle::Yearly(month, day), interval) => {
            // A leap year has every date.
            let date = jiff::civil::Date::new(2000, *month, *day).unwrap_or_default();
            let date = builtin::day(language, date);
            match interval {
                None => yearly(language, &date),
                Some(count) => every_years(language, count, &date),
            }
        }
        (cycle, None) => monthly(language, &day_of_month(language, cycle)),
        (cycle, Some(count)) => every_months(language, count, &day_of_month(language, cycle)),
    };
    at(language, &days, &builtin::time_of_day(recurrence.time))
}

fn list(language: Language, days: &[Weekday]) -> String {
    let names = days.iter().map(|day| builtin::weekday(language, *day).to_owned());
    let names: Vec<String> = names.collect();
    match &names[..] {
        [before @ .., last] if !before.is_empty() => {
            let comma = pick(language, ", ", "・");
            listed(language, &before.join(comma), last)
        }
        names => names.concat(),
    }
}

fn day_of_month(language: Language, cycle: &Cycle) -> String {
    match cycle {
        Cycle::Daily | Cycle::Weekly(_) | Cycle::Yearly(..) => String::new(),
        Cycle::LastDay => last_day(language).to_owned(),
        Cycle::Monthly(day) => nth(language, *day, suffix(*day)),
        Cycle::NthWeekday(LAST, day) => last_weekday(language, builtin::weekday(language, *day)),
        Cycle::NthWeekday(number, day) => {
            nth_weekday(language, *number, suffix(*number), builtin::weekday(language, *day))
        }
    }
}

fn suffix(number: i8) -> &'static str {
    match number {
        1 | 21 | 31 => "st",
        2 | 22 => "nd",
        3 | 23 => "rd",
        _ => "th",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_has_its_day_its_time_and_its_zone() {
        let now: Zoned = "2026-12-02T10:15[Asia/Tokyo]".parse().unwrap();
        for (at, english, japanese) in [
            (
                "2026-12-04T09:00[Asia/Tokyo]",
                "Friday 4 December, 09:00 JST",
                "12月4日（金）09:00 JST",
            ),
            (
                "2027-07-01T17:05[Europe/Berlin]",
                "Thursday 1 July 2027, 17:05 CEST",
                "2027年7月1日（木）17:05 CEST",
            ),
        ] {
            let at = at.parse().unwrap();
            let told = [Language::En, Language::Ja].map(|language| moment(language, &at, &now));
            assert_eq!(told, [english, japanese]);
        }
    }

    #[test]
    fn a_recurrence_is_said_in_both_languages() {
        for (stored, english, japanese) in [
            ("daily 09:00", "every day at 09:00", "毎日 09:00"),
            ("every 2 days 09:00 from 2026-12-01", "every 2 days at 09:00", "2 日ごと 09:00"),
            ("weekdays 09:00", "every weekday at 09:00", "平日 09:00"),
            ("weekly fri 17:00", "every Friday at 17:00", "毎週金曜日 17:00"),
            (
                "weekly mon,wed,fri 10:00",
                "every Monday, Wednesday and Friday at 10:00",
                "毎週月曜日・水曜日・金曜日 10:00",
            ),
            (
                "every 2 weeks tue 10:00 from 2026-12-01",
                "every 2 weeks on Tuesday at 10:00",
                "2 週間ごとの火曜日 10:00",
            ),
            ("monthly 22 09:00", "on the 22nd of every month at 09:00", "毎月22日 09:00"),
            ("monthly last-day 09:00", "on the last day of every month at 09:00", "毎月末日 09:00"),
            (
                "monthly 2nd-tue 10:00",
                "on the 2nd Tuesday of every month at 10:00",
                "毎月第2火曜日 10:00",
            ),
            (
                "monthly last-fri 17:00",
                "on the last Friday of every month at 17:00",
                "毎月最後の金曜日 17:00",
            ),
            (
                "every 3 months 1 09:00 from 2026-12-01",
                "every 3 months on the 1st at 09:00",
                "3 か月ごとの1日 09:00",
            ),
            ("yearly 12-24 09:00", "every year on 24 December at 09:00", "毎年12月24日 09:00"),
        ] {
            let recurrence = stored.parse().unwrap();
            let told =
                [Language::En, Language::Ja].map(|language| recurring(language, &recurrence));
            assert_eq!(told, [english, japanese]);
        }
    }
}
