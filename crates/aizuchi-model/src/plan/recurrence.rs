//! When something is said again and again: every Friday at 17:00, every second Tuesday, on the last day of the month. It
//! is stored as a short text, such as `weekly fri 17:00`, and has the wall time of whichever time zone it is asked in.

use std::fmt;
use std::str::FromStr;

use jiff::Zoned;
use jiff::civil::{Date, Time, Weekday};

/// How long a plan may wait from one time to the next, in days, weeks, months or years.
pub const MAX_INTERVAL: i64 = 99;

/// The days of the week, from Monday on.
pub const WEEKDAYS: [&str; 7] = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];

/// Which one of a month's Mondays. The last one may be the fourth or the fifth.
const ORDINALS: [(i8, &str); 5] = [(1, "1st"), (2, "2nd"), (3, "3rd"), (4, "4th"), (LAST, "last")];

/// The last weekday of its name in a month.
pub const LAST: i8 = -1;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recurrence {
    pub cycle: Cycle,
    /// `None` if no day, week, month or year is left out.
    pub interval: Option<Interval>,
    /// The wall time, in minutes.
    pub time: Time,
}

/// The days of a recurrence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cycle {
    Daily,
    /// In the order of the week, each once, at least one.
    Weekly(Vec<Weekday>),
    /// A month that is shorter has its last day instead.
    Monthly(i8),
    LastDay,
    /// The first to fourth, or the [`LAST`], weekday of a month.
    NthWeekday(i8, Weekday),
    /// Month and day. The 29th of February is the 28th in most years.
    Yearly(i8, i8),
}

/// Only each so many-th day, week, month or year, counted from the one that has this date.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interval {
    /// From 2 to [`MAX_INTERVAL`].
    pub every: i64,
    pub from: Date,
}

impl Cycle {
    /// Returns the cycle of these days of the week, or `None` if there are none.
    pub fn of_weekdays(mut days: Vec<Weekday>) -> Option<Self> {
        days.sort_unstable_by_key(|day| day.to_monday_zero_offset());
        days.dedup();
        (!days.is_empty()).then_some(Cycle::Weekly(days))
    }

    /// From Monday to Friday.
    pub fn workdays() -> Self {
        Cycle::Weekly(WEEKDAYS[..5].iter().copied().filter_map(weekday_of).collect())
    }

    fn has(&self, date: Date) -> bool {
        let last = date.days_in_month();
        match self {
            Cycle::Daily => true,
            Cycle::Weekly(days) => days.contains(&date.weekday()),
            Cycle::Monthly(day) => date.day() == (*day).min(last),
            Cycle::LastDay => date.day() == last,
            Cycle::NthWeekday(nth, weekday) => {
                date.nth_weekday_of_month(*nth, *weekday).is_ok_and(|it| it == date)
            }
            Cycle::Yearly(month, day) => date.month() == *month && date.day() == (*day).min(last),
        }
    }

    /// The number of its day, week, month or year.
    fn turn(&self, date: Date) -> i64 {
        let days = || (date - Date::constant(1970, 1, 5)).get_days().into();
        match self {
            Cycle::Daily => days(),
            Cycle::Weekly(_) => i64::div_euclid(days(), 7),
            Cycle::Monthly(_) | Cycle::LastDay | Cycle::NthWeekday(..) => {
                i64::from(date.year()) * 12 + i64::from(date.month())
            }
            Cycle::Yearly(..) => date.year().into(),
        }
    }
}

impl Recurrence {
    /// Returns the next time after this one, in its time zone. A wall time that the clocks skip is as much later.
    pub fn next_after(&self, after: &Zoned) -> Option<Zoned> {
        let zone = after.time_zone();
        // The date before has not passed if the clocks have skipped its end.
        let mut date = after.date().yesterday().ok()?;
        for _ in 0..=366 * MAX_INTERVAL {
            if self.is_on(date) {
                let at = date.to_datetime(self.time).to_zoned(zone.clone()).ok()?;
                if at > *after {
                    return Some(at);
                }
            }
            date = date.tomorrow().ok()?;
        }
        None
    }

    fn is_on(&self, date: Date) -> bool {
        let is_turn = self.interval.is_none_or(|interval| {
            let turns = self.cycle.turn(date) - self.cycle.turn(interval.from);
            turns.rem_euclid(interval.every.max(1)) == 0
        });
        is_turn && self.cycle.has(date)
    }
}

impl fmt::Display for Recurrence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (alone, many, on) = match &self.cycle {
            Cycle::Daily => ("daily", "days", String::new()),
            cycle if *cycle == Cycle::workdays() => ("weekdays", "weeks weekdays", String::new()),
            Cycle::Weekly(days) => {
                let names = days.iter().map(|day| name_of(*day)).collect::<Vec<_>>();
                ("weekly ", "weeks ", names.join(","))
            }
            Cycle::Monthly(day) => ("monthly ", "months ", day.to_string()),
            Cycle::LastDay => ("monthly ", "months ", "last-day".to_owned()),
            Cycle::NthWeekday(nth, day) => {
                let nth = ORDINALS.iter().find(|(number, _)| number == nth).map_or("", |it| it.1);
                ("monthly ", "months ", format!("{nth}-{}", name_of(*day)))
            }
            Cycle::Yearly(month, day) => ("yearly ", "years ", format!("{month}-{day}")),
        };
        let time = self.time.strftime("%H:%M");
        match self.interval {
            None => write!(f, "{alone}{on} {time}"),
            Some(Interval { every, from }) => {
                write!(f, "every {every} {many}{on} {time} from {from}")
            }
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("this is no stored recurrence")]
pub struct InvalidRecurrence;

impl FromStr for Recurrence {
    type Err = InvalidRecurrence;

    fn from_str(text: &str) -> Result<Self, InvalidRecurrence> {
        parse(text).ok_or(InvalidRecurrence)
    }
}

fn parse(text: &str) -> Option<Recurrence> {
    let (text, interval) = match text.strip_prefix("every ") {
        Some(text) => {
            let (text, from) = text.split_once(" from ")?;
            let (every, text) = text.split_once(' ')?;
            let every = every.parse().ok().filter(|it| (2..=MAX_INTERVAL).contains(it))?;
            (text, Some(Interval { every, from: from.parse().ok()? }))
        }
        None => (text, None),
    };
    let (days, time) = text.rsplit_once(' ')?;
    let time = Time::strptime("%H:%M", time).ok()?;
    let cycle = match days.split_once(' ').unwrap_or((days, "")) {
        ("daily" | "days", "") => Cycle::Daily,
        ("weekdays", "") | ("weeks", "weekdays") => Cycle::workdays(),
        ("weekly" | "weeks", days) => {
            Cycle::of_weekdays(days.split(',').map(weekday_of).collect::<Option<_>>()?)?
        }
        ("monthly" | "months", "last-day") => Cycle::LastDay,
        ("monthly" | "months", day) => match day.split_once('-') {
            Some((nth, day)) => {
                let (nth, _) = ORDINALS.iter().find(|(_, name)| *name == nth)?;
                Cycle::NthWeekday(*nth, weekday_of(day)?)
            }
            None => Cycle::Monthly(day.parse().ok().filter(|day| (1..=31).contains(day))?),
        },
        ("yearly" | "years", date) => {
            let (month, day) = date.split_once('-')?;
            let (month, day) = (month.parse().ok()?, day.parse().ok()?);
            // A leap year has every date.
            Date::new(2000, month, day).ok()?;
            Cycle::Yearly(month, day)
        }
        _ => return None,
    };
    Some(Recurrence { cycle, interval, time })
}

fn name_of(day: Weekday) -> &'static str {
    WEEKDAYS[usize::from(day.to_monday_zero_offset().unsigned_abs())]
}

/// Returns the day of this short name.
pub fn weekday_of(name: &str) -> Option<Weekday> {
    let place = WEEKDAYS.iter().position(|it| *it == name)?;
    Weekday::from_monday_zero_offset(place.try_into().ok()?).ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Returns the next times after one, as far as they are compared.
    fn next(stored: &str, after: &str, count: usize) -> Vec<String> {
        let recurrence: Recurrence = stored.parse().unwrap();
        assert_eq!(recurrence.to_string(), stored);
        let after: Zoned = after.parse().unwrap();
        let times = std::iter::successors(Some(after), |at| recurrence.next_after(at));
        let shown = |at: Zoned| at.strftime("%Y-%m-%d %H:%M %Z").to_string();
        times.skip(1).take(count).map(shown).collect()
    }

    #[test]
    fn the_wall_time_stays_when_the_clocks_change() {
        assert_eq!(
            next("daily 02:30", "2027-03-27T02:30[Europe/Berlin]", 3),
            ["2027-03-28 03:30 CEST", "2027-03-29 02:30 CEST", "2027-03-30 02:30 CEST"]
        );
        // An hour that comes twice counts once.
        assert_eq!(
            next("daily 02:30", "2026-10-24T02:30[Europe/Berlin]", 2),
            ["2026-10-25 02:30 CEST", "2026-10-26 02:30 CET"]
        );
        assert_eq!(
            next("weekly sun 09:00", "2027-03-10T12:00[America/New_York]", 2),
            ["2027-03-14 09:00 EDT", "2027-03-21 09:00 EDT"]
        );
        // A day that the clocks skip is the one after it.
        assert_eq!(
            next("weekly fri 09:00", "2011-12-29T12:00[Pacific/Apia]", 2),
            ["2011-12-31 09:00 +14", "2012-01-06 09:00 +14"]
        );
    }

    #[test]
    fn months_have_their_own_ends() {
        assert_eq!(
            next("monthly 31 09:00", "2028-01-31T09:00[UTC]", 3),
            ["2028-02-29 09:00 UTC", "2028-03-31 09:00 UTC", "2028-04-30 09:00 UTC"]
        );
        assert_eq!(
            next("monthly last-day 09:00", "2027-01-31T08:59[UTC]", 2),
            ["2027-01-31 09:00 UTC", "2027-02-28 09:00 UTC"]
        );
        assert_eq!(
            next("yearly 2-29 09:00", "2027-01-01T00:00[UTC]", 2),
            ["2027-02-28 09:00 UTC", "2028-02-29 09:00 UTC"]
        );
        assert_eq!(
            next("monthly 2nd-tue 10:00", "2026-12-08T10:00[UTC]", 2),
            ["2027-01-12 10:00 UTC", "2027-02-09 10:00 UTC"]
        );
        assert_eq!(
            next("monthly last-fri 17:00", "2026-12-25T17:00[UTC]", 1),
            ["2027-01-29 17:00 UTC"]
        );
    }

    #[test]
    fn an_interval_counts_from_its_beginning() {
        assert_eq!(
            next("every 2 weeks tue 10:00 from 2026-12-01", "2026-12-01T10:00[UTC]", 2),
            ["2026-12-15 10:00 UTC", "2026-12-29 10:00 UTC"]
        );
        // Both days of a week have its turn, whichever of them it began with.
        assert_eq!(
            next("every 2 weeks mon,fri 10:00 from 2026-12-04", "2026-12-04T10:00[UTC]", 2),
            ["2026-12-14 10:00 UTC", "2026-12-18 10:00 UTC"]
        );
        assert_eq!(
            next("every 3 months 31 09:00 from 2026-11-30", "2026-11-30T09:00[UTC]", 2),
            ["2027-02-28 09:00 UTC", "2027-05-31 09:00 UTC"]
        );
        assert_eq!(
            next("every 3 days 09:00 from 2026-12-30", "2026-12-30T09:00[UTC]", 2),
            ["2027-01-02 09:00 UTC", "2027-01-05 09:00 UTC"]
        );
    }

    #[test]
    fn what_was_never_stored_is_no_recurrence() {
        for text in [
            "",
            "daily",
            "09:00",
            "weekly 09:00",
            "weekly fri",
            "weekly xyz 09:00",
            "daily 25:00",
            "monthly 32 09:00",
            "monthly 0 09:00",
            "monthly 5th-fri 09:00",
            "yearly 2-30 09:00",
            "every 1 days 09:00 from 2026-12-01",
            "every 100 days 09:00 from 2026-12-01",
            "every 2 days 09:00",
            "daily 09:00 from 2026-12-01",
            "daily 09:00 from x",
            "daily now 09:00",
        ] {
            assert_eq!(text.parse::<Recurrence>(), Err(InvalidRecurrence), "{text}");
        }
    }

    fn recurrences() -> impl Strategy<Value = Recurrence> {
        let days = WEEKDAYS.map(|day| weekday_of(day).unwrap()).to_vec();
        let days = proptest::sample::subsequence(days, 1..=7);
        let cycle = prop_oneof![
            Just(Cycle::Daily),
            days.prop_map(Cycle::Weekly),
            (1..=31_i8).prop_map(Cycle::Monthly),
            Just(Cycle::LastDay),
            (0..5_usize, 0..7_usize).prop_map(|(nth, day)| Cycle::NthWeekday(
                ORDINALS[nth].0,
                weekday_of(WEEKDAYS[day]).unwrap()
            )),
            (1..=12_i8, 1..=29_i8).prop_map(|(month, day)| Cycle::Yearly(month, day)),
        ];
        let interval =
            proptest::option::of((2..=MAX_INTERVAL, 0..20_000_i64).prop_map(|(every, days)| {
                Interval { every, from: Date::constant(1990, 1, 1) + jiff::Span::new().days(days) }
            }));
        (cycle, interval, 0..24_i8, 0..60_i8).prop_map(|(cycle, interval, hour, minute)| {
            Recurrence { cycle, interval, time: Time::constant(hour, minute, 0, 0) }
        })
    }

    proptest! {
        #[test]
        fn a_stored_recurrence_is_the_same(recurrence in recurrences()) {
            prop_assert_eq!(recurrence.to_string().parse(), Ok(recurrence));
        }

        #[test]
        fn each_time_is_later_than_the_one_before(
            recurrence in recurrences(),
            second in 0..2_000_000_000_i64,
            zone in proptest::sample::select(vec![
                "UTC", "Asia/Tokyo", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe",
                "Pacific/Apia", "Africa/Casablanca",
            ]),
        ) {
            let at = jiff::Timestamp::from_second(second).unwrap();
            let mut at = at.in_tz(zone).unwrap();
            for _ in 0..4 {
                let next = recurrence.next_after(&at).unwrap();
                prop_assert!(next > at);
                at = next;
            }
        }
    }
}
