//! A weekly time, and the week that ends at it.

use jiff::civil::{Date, Time, Weekday};
use jiff::tz::TimeZone;
use jiff::{Span, Timestamp};

/// A time of the week, in the users' time zone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WeeklyTime {
    pub day: Weekday,
    pub time: Time,
}

/// The week up to a weekly time. It is an hour shorter or longer when clocks change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Week {
    pub since: Timestamp,
    pub until: Timestamp,
    /// The date of its end as a number, e.g. 20261123: if the day of the notes changes, the next week has another
    /// number.
    pub number: i64,
}

impl WeeklyTime {
    /// Returns the newest week that is over. Missed earlier weeks are not returned later. A time that clocks skip is
    /// moved to after the gap; of one that they repeat, the first counts.
    pub fn last_week(self, now: Timestamp, zone: &TimeZone) -> Option<Week> {
        let today = now.to_zoned(zone.clone()).date();
        let this_week = days_before(today, i64::from(today.weekday().since(self.day)))?;
        let is_over = self.at(this_week, zone)? <= now;
        let end = if is_over { this_week } else { days_before(this_week, 7)? };
        Some(Week {
            since: self.at(days_before(end, 7)?, zone)?,
            until: self.at(end, zone)?,
            number: date_number(end),
        })
    }

    fn at(self, date: Date, zone: &TimeZone) -> Option<Timestamp> {
        let zoned = date.to_datetime(self.time).to_zoned(zone.clone());
        zoned.ok().map(|zoned| zoned.timestamp())
    }
}

fn date_number(date: Date) -> i64 {
    let (month, day) = (i64::from(date.month()), i64::from(date.day()));
    i64::from(date.year()) * 10_000 + month * 100 + day
}

fn days_before(date: Date, days: i64) -> Option<Date> {
    date.checked_sub(Span::new().days(days)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MONDAY: WeeklyTime =
        WeeklyTime { day: Weekday::Monday, time: jiff::civil::time(9, 0, 0, 0) };

    fn at(time: &str) -> Timestamp {
        time.parse().unwrap()
    }

    fn found(weekly: WeeklyTime, now: &str, zone: &str) -> (String, String, i64) {
        let zone = TimeZone::get(zone).unwrap();
        let week = weekly.last_week(at(now), &zone).unwrap();
        (week.since.to_string(), week.until.to_string(), week.number)
    }

    #[test]
    fn a_week_is_over_at_its_time() {
        for (now, since, until, number) in [
            ("2026-11-23T08:59:59Z", "2026-11-09T09:00:00Z", "2026-11-16T09:00:00Z", 20_261_116),
            ("2026-11-23T09:00:00Z", "2026-11-16T09:00:00Z", "2026-11-23T09:00:00Z", 20_261_123),
            ("2026-11-29T23:00:00Z", "2026-11-16T09:00:00Z", "2026-11-23T09:00:00Z", 20_261_123),
            ("2027-01-04T10:00:00Z", "2026-12-28T09:00:00Z", "2027-01-04T09:00:00Z", 20_270_104),
        ] {
            let expected = (since.to_owned(), until.to_owned(), number);
            assert_eq!(found(MONDAY, now, "UTC"), expected, "{now}");
        }
        // It is already Monday in Tokyo.
        let (_, until, _) = found(MONDAY, "2026-11-23T00:00:00Z", "Asia/Tokyo");
        assert_eq!(until, "2026-11-23T00:00:00Z");
    }

    #[test]
    fn another_day_is_another_week() {
        let friday = WeeklyTime { day: Weekday::Friday, ..MONDAY };
        let now = "2026-11-27T10:00:00Z";
        let (monday, friday) = (found(MONDAY, now, "UTC"), found(friday, now, "UTC"));
        assert_eq!((monday.2, friday.2), (20_261_123, 20_261_127));
        assert!(friday.0 < monday.1, "no day is left out between the two");
    }

    #[test]
    fn clocks_change_within_a_week() {
        // In Berlin, clocks go back on 25 October 2026, and forward on 29 March.
        let week = |now: &str| found(MONDAY, now, "Europe/Berlin");
        let (since, until, _) = week("2026-10-26T12:00:00Z");
        assert_eq!((&*since, &*until), ("2026-10-19T07:00:00Z", "2026-10-26T08:00:00Z"));
        let (since, until, _) = week("2026-03-30T12:00:00Z");
        assert_eq!((&*since, &*until), ("2026-03-23T08:00:00Z", "2026-03-30T07:00:00Z"));
        // Weeks follow each other without a gap, even if their own time is skipped or repeated.
        let sunday = WeeklyTime { day: Weekday::Sunday, time: jiff::civil::time(2, 30, 0, 0) };
        let zone = TimeZone::get("Europe/Berlin").unwrap();
        let mut now = at("2026-01-05T00:00:00Z");
        let mut weeks = Vec::new();
        while now < at("2026-12-31T00:00:00Z") {
            let week = sunday.last_week(now, &zone).unwrap();
            if weeks.last() != Some(&week) {
                weeks.push(week);
            }
            now += jiff::SignedDuration::from_mins(30);
        }
        assert!(weeks.windows(2).all(|pair| pair[0].until == pair[1].since), "{weeks:?}");
        let mut numbers: Vec<i64> = weeks.iter().map(|week| week.number).collect();
        numbers.dedup();
        assert_eq!(numbers.len(), weeks.len());
        assert!(weeks.len() > 50);
    }
}
