//! Calendar days in a time zone, and the periods in which they are queried. A period has a single UTC offset, so it
//! ends where the clocks change.

use std::collections::BTreeSet;

use aizuchi_model::chat::WorkspaceId;
use aizuchi_store::figures::{Day, WorkspacePeriod};
use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

const DAY_SECONDS: i64 = 24 * 3600;

#[derive(Clone, Copy)]
pub struct Calendar<'a> {
    pub zone: &'a TimeZone,
}

impl<'a> Calendar<'a> {
    pub fn day_of(self, at: Timestamp) -> Day {
        let seconds = at.as_millisecond().div_euclid(1000);
        let offset = i64::from(self.zone.to_offset(at).seconds());
        Day((seconds + offset).div_euclid(DAY_SECONDS))
    }

    /// Returns the first moment of a day.
    pub fn begin_of(self, day: Day) -> Timestamp {
        let begin = date(day).and_then(|date| date.to_zoned(self.zone.clone()).ok());
        begin.map_or(Timestamp::MAX, |begin| begin.timestamp())
    }

    /// Returns the last `count` days, ending with today.
    pub fn last_days(self, now: Timestamp, count: i64) -> Vec<Day> {
        let Day(today) = self.day_of(now);
        (today - count + 1..=today).map(Day).collect()
    }

    /// Splits the time from the first to the last of these days into periods.
    pub fn periods(
        self,
        workspace: &WorkspaceId,
        (first, last): (Day, Day),
    ) -> Vec<WorkspacePeriod> {
        let end = self.begin_of(Day(last.0 + 1));
        let mut since = self.begin_of(first);
        let mut periods = Vec::new();
        while since < end {
            let change = self.zone.following(since).next().map(|change| change.timestamp());
            let until = change.map_or(end, |change| change.min(end));
            let offset = self.zone.to_offset(since).seconds();
            periods.push(WorkspacePeriod {
                workspace: workspace.clone(),
                since,
                until,
                offset: SignedDuration::from_secs(offset.into()),
            });
            since = until;
        }
        periods
    }

    /// The name of the zone, or else its UTC offset.
    pub fn zone_name(self, now: Timestamp) -> String {
        match self.zone.iana_name() {
            Some(name) => name.to_owned(),
            None => now.to_zoned(self.zone.clone()).strftime("%:z").to_string(),
        }
    }
}

/// Converts a day to a date.
pub fn date(Day(day): Day) -> Option<Date> {
    let midnight = Timestamp::from_second(day.checked_mul(DAY_SECONDS)?).ok()?;
    Some(midnight.to_zoned(TimeZone::UTC).date())
}

/// Groups the days into spans without a gap, each with its first and its last day.
pub fn spans(days: &BTreeSet<Day>) -> Vec<(Day, Day)> {
    let mut spans: Vec<(Day, Day)> = Vec::new();
    for day in days {
        match spans.last_mut() {
            Some((_, last)) if last.0 + 1 == day.0 => *last = *day,
            Some(_) | None => spans.push((*day, *day)),
        }
    }
    spans
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_in_which_the_clocks_change_is_one_day_of_two_periods() {
        let zone = TimeZone::posix("CET-1CEST,M3.5.0,M10.5.0/3").unwrap();
        let calendar = Calendar { zone: &zone };
        let at = |text: &str| text.parse::<Timestamp>().unwrap();
        // 2027-03-28 has 23 hours.
        let day = calendar.day_of(at("2027-03-27T23:00:00Z"));
        assert_eq!(date(day).unwrap().to_string(), "2027-03-28");
        assert_eq!(calendar.day_of(at("2027-03-28T21:59:59Z")), day);
        assert_eq!(calendar.day_of(at("2027-03-28T22:00:00Z")), Day(day.0 + 1));
        let workspace = WorkspaceId::new("w");
        let periods = calendar.periods(&workspace, (Day(day.0 - 1), Day(day.0 + 1)));
        let found: Vec<_> = periods
            .iter()
            .map(|it| (it.since.to_string(), it.until.to_string(), it.offset.as_hours()))
            .collect();
        let expected = [
            ("2027-03-26T23:00:00Z", "2027-03-28T01:00:00Z", 1),
            ("2027-03-28T01:00:00Z", "2027-03-29T22:00:00Z", 2),
        ];
        assert_eq!(
            found,
            expected.map(|(since, until, hours)| { (since.to_owned(), until.to_owned(), hours) })
        );
        // Both periods count their part of the day as that day's.
        let ends = [("2027-03-28T00:59:59Z", 0), ("2027-03-28T01:00:00Z", 1)];
        for (time, period) in ends {
            assert_eq!(periods[period].day_of(at(time)), day, "{time}");
        }
        let last = calendar.last_days(at("2027-03-28T12:00:00Z"), 3);
        assert_eq!(last, [Day(day.0 - 2), Day(day.0 - 1), day]);
        assert_eq!(calendar.zone_name(at("2027-07-01T00:00:00Z")), "+02:00");
        let utc = Calendar { zone: &TimeZone::UTC };
        assert_eq!(utc.zone_name(Timestamp::UNIX_EPOCH), "UTC");
    }

    #[test]
    fn days_without_a_gap_are_one_span() {
        let days = |days: &[i64]| days.iter().copied().map(Day).collect::<BTreeSet<_>>();
        assert_eq!(spans(&days(&[])), []);
        let found = spans(&days(&[3, 4, 5, 7, 9, 10]));
        assert_eq!(found, [(Day(3), Day(5)), (Day(7), Day(7)), (Day(9), Day(10))]);
    }
}
