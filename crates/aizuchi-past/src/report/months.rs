//! Figures by month, and their trend, which an average would hide.

use std::collections::BTreeMap;

use jiff::civil::Date;
use serde::Serialize;

use crate::report::significance::differ;

/// The figures of a calendar month.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct MonthFigures {
    /// The first day of the month.
    pub month: Date,
    /// Whether the history covers the whole month.
    pub is_whole: bool,
    /// Messages by people.
    pub messages: usize,
    /// Unasked posts. `None` if unknown.
    pub spoke: Option<usize>,
    /// Those of the posts that are made without a model. `None` for other minds than the built-in one.
    pub posted_without_model: Option<usize>,
}

/// The sums from which the figures by month are computed.
pub struct MonthSums<'a> {
    /// Messages by people, by the first day of their month.
    pub messages: &'a BTreeMap<Date, usize>,
    /// Unasked posts, by day.
    pub spoken: Option<&'a BTreeMap<Date, usize>>,
    /// Those of the posts that are made without a model, by day.
    pub posted: Option<&'a BTreeMap<Date, usize>>,
}

/// A significant change of a number: its values in the first and in the last whole month.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trend {
    pub first: usize,
    pub last: usize,
}

impl MonthSums<'_> {
    /// Returns the months in which anything was written or posted, for a history between these days.
    pub fn figures(&self, from: Date, to: Date) -> Vec<MonthFigures> {
        let [spoken, posted] = [self.spoken, self.posted].map(|days| days.map(sum_by_month));
        let in_month = |months: Option<&BTreeMap<Date, usize>>, month: Date| {
            months.map(|months| months.get(&month).copied().unwrap_or(0))
        };
        let mut months: Vec<Date> = self.messages.keys().copied().collect();
        months.extend(spoken.iter().flat_map(BTreeMap::keys));
        months.sort_unstable();
        months.dedup();
        let figures = months.into_iter().map(|month| MonthFigures {
            month,
            is_whole: from <= month && month.last_of_month() <= to,
            messages: self.messages.get(&month).copied().unwrap_or(0),
            spoke: in_month(spoken.as_ref(), month),
            posted_without_model: in_month(posted.as_ref(), month),
        });
        figures.collect()
    }
}

fn sum_by_month(days: &BTreeMap<Date, usize>) -> BTreeMap<Date, usize> {
    let mut months: BTreeMap<Date, usize> = BTreeMap::new();
    for (day, count) in days {
        *months.entry(day.first_of_month()).or_default() += count;
    }
    months
}

/// Returns the first and the last whole month, if the number changes significantly: the sums of the older and the newer
/// half of the months must differ, and the first and the last month must differ in the same direction. With an odd
/// number of months, the middle one is in neither half. `None` also if a number is unknown.
pub fn trend(
    months: &[MonthFigures],
    value: impl Fn(&MonthFigures) -> Option<usize>,
) -> Option<Trend> {
    let whole = months.iter().filter(|one| one.is_whole).map(value);
    let whole: Vec<usize> = whole.collect::<Option<_>>()?;
    let half = whole.len() / 2;
    let older: usize = whole.iter().take(half).sum();
    let newer: usize = whole.iter().skip(whole.len() - half).sum();
    let (first, last) = (*whole.first()?, *whole.last()?);
    let is_same_direction = newer.cmp(&older) == last.cmp(&first);
    (differ(older, newer) && is_same_direction).then_some(Trend { first, last })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn day(month: i8, day: i8) -> Date {
        Date::new(2026, month, day).unwrap()
    }

    fn figures(counts: &[usize]) -> Vec<MonthFigures> {
        let months = counts.iter().zip(1..).map(|(count, month)| MonthFigures {
            month: day(month, 1),
            is_whole: true,
            messages: 1000,
            spoke: Some(*count),
            posted_without_model: None,
        });
        months.collect()
    }

    #[test]
    fn months_are_whole_or_in_part() {
        let messages = BTreeMap::from([(day(1, 1), 9), (day(2, 1), 400), (day(4, 1), 30)]);
        let spoken = BTreeMap::from([(day(2, 1), 3), (day(2, 28), 4), (day(4, 2), 1)]);
        let sums = MonthSums { messages: &messages, spoken: Some(&spoken), posted: None };
        let told = sums.figures(day(1, 31), day(4, 2));
        let told = told.iter().map(|one| (one.month, one.is_whole, one.messages, one.spoke));
        let expected = [
            (day(1, 1), false, 9, Some(0)),
            (day(2, 1), true, 400, Some(7)),
            (day(4, 1), false, 30, Some(1)),
        ];
        assert_eq!(told.collect::<Vec<_>>(), expected);
        assert!(sums.figures(day(1, 1), day(4, 30)).iter().all(|one| one.is_whole));
        let sums = MonthSums { spoken: None, ..sums };
        assert!(sums.figures(day(1, 31), day(4, 2)).iter().all(|one| one.spoke.is_none()));
    }

    #[test]
    fn a_rise_is_told_only_beyond_chance() {
        let of = |counts: &[usize]| trend(&figures(counts), |one| one.spoke);
        assert_eq!(of(&[9, 15, 23, 24, 26]), Some(Trend { first: 9, last: 26 }));
        assert_eq!(of(&[26, 15]), None);
        assert_eq!(of(&[26, 5]), Some(Trend { first: 26, last: 5 }));
        // More in the second half, and fewer in the last month than in the first.
        assert_eq!(of(&[20, 2, 30, 19]), None);
        assert_eq!(of(&[20, 22, 19, 24]), None);
        assert_eq!(of(&[90]), None);
        assert_eq!(of(&[]), None);
        assert_eq!(trend(&figures(&[9, 90]), |one| one.posted_without_model), None);
        let mut part = figures(&[1, 90, 90]);
        part[0].is_whole = false;
        assert_eq!(trend(&part, |one| one.spoke), None);
    }
}
