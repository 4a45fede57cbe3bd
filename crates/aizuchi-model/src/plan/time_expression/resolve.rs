//! Which moment is meant by what a text says of a time. What is not sure is asked, not guessed.

use std::cmp::Ordering;
use std::ops::Range;

use jiff::civil::{Date, Time, time};
use jiff::{Span, Zoned};

use crate::plan::recurrence::{Cycle, Interval, MAX_INTERVAL, Recurrence};
use crate::plan::time_expression::said::{
    CycleUnit, DayHalf, DayPart, SaidClock, SaidDay, SaidEvery, SaidLength, SaidTime,
};
use crate::plan::time_expression::{Unclear, When};

/// When a day begins that is named without a time.
const DAY_BEGINS: Time = Time::constant(9, 0, 0, 0);
const WORK_ENDS: Time = Time::constant(17, 0, 0, 0);
/// A leap day may be as far away.
const MAX_YEARS: i64 = 8;

/// A time of the day, in the hours that people count on from it.
#[derive(Clone, Copy)]
struct DayMoment {
    time: Time,
    /// Whether it is after the midnight that ends the day.
    is_after_midnight: bool,
    /// An hour of the night: whether the day before it or after it is named is not sure.
    is_small_hour: bool,
}

impl DayPart {
    /// The hours at which people are in it, unless it is over at once, and those that are called so.
    fn hours(self) -> (Range<i8>, Range<i8>) {
        match self {
            DayPart::Morning => (9..9, 0..12),
            DayPart::Noon => (12..13, 10..17),
            DayPart::Afternoon => (14..18, 12..19),
            DayPart::EndOfWork => (17..24, 0..0),
            DayPart::Evening => (18..24, 16..24),
            DayPart::Night => (20..24, 17..30),
            DayPart::Midnight => (0..0, 22..30),
        }
    }

    fn time(self) -> Time {
        time(self.hours().0.start, 0, 0, 0)
    }

    /// Returns the hour that one of the 12-hour clock is in this part of the day.
    fn hour(self, hour: i8) -> Option<i8> {
        [hour, hour + 12, hour + 24].into_iter().find(|hour| self.hours().1.contains(hour))
    }
}

impl From<jiff::Error> for Unclear {
    fn from(_: jiff::Error) -> Self {
        Self::Impossible
    }
}

impl SaidTime {
    /// Returns the moment that is meant, for somebody who says it at this time and place.
    pub fn resolve(&self, now: &Zoned) -> When {
        let local = match &self.zone {
            Some(said) => now.with_time_zone(said.zone.clone()),
            None => now.clone(),
        };
        let day = match (self.day, self.clock) {
            (Some(SaidDay::Slashed(year, one, other)), _) => {
                self.date_of(year, one, other, now).map(Some)
            }
            (Some(SaidDay::Week(weeks)), Some(SaidClock::Unchanged)) => {
                Ok(Some(SaidDay::Plus(weeks.saturating_mul(7))))
            }
            (day, _) => Ok(day),
        };
        let moment = day.and_then(|day| Self { day, ..self.clone() }.moment(&local, now));
        moment.unwrap_or_else(When::Unclear)
    }

    /// Returns the date of "12/24". Where both orders are possible, it depends on where somebody lives.
    fn date_of(
        &self,
        year: Option<i64>,
        one: i8,
        other: i8,
        now: &Zoned,
    ) -> Result<SaidDay, Unclear> {
        let zone = now.time_zone().iana_name().unwrap_or_default();
        let is_month_first = self.is_japanese || zone.starts_with("America/");
        match (one, other) {
            (1..=12, 1..=31) if is_month_first || one == other || other > 12 => {
                Ok(SaidDay::Date(year, one, other))
            }
            (13..=31, 1..=12) if !self.is_japanese => Ok(SaidDay::Date(year, other, one)),
            (1..=12, 1..=12) => Err(Unclear::DayOrMonth),
            _ => Err(Unclear::Impossible),
        }
    }

    fn moment(&self, local: &Zoned, now: &Zoned) -> Result<When, Unclear> {
        self.trouble.map_or(Ok(()), Err)?;
        // Whose tomorrow is it?
        let is_dated = matches!(self.day, None | Some(SaidDay::Date(..)));
        if !is_dated && local.date() != now.date() {
            return Err(Unclear::Vague);
        }
        let clock = self.clock_moment(local)?;
        let when = match (self.every, self.after) {
            (Some(every), None) => return self.repeated(every, clock, local, now),
            (Some(_), Some(_)) => return Err(Unclear::Several),
            (None, _) if self.start.is_some() => return Err(Unclear::Vague),
            (None, Some(after)) => self.later(after, clock, local)?,
            (None, None) if self.is_vague && clock.is_none() => return Err(Unclear::Vague),
            (None, None) => self.once(clock, local)?,
        };
        let said = self.zone.as_ref().and_then(|said| said.abbreviation);
        let here = |at: Zoned| at.with_time_zone(now.time_zone().clone());
        Ok(match when {
            // "EST" in summer is an hour off.
            When::Once(at) if said.is_some_and(|said| at.strftime("%Z").to_string() != said) => {
                return Err(Unclear::Impossible);
            }
            When::Once(at) => When::Once(here(at)),
            When::Past(at) => When::Past(here(at)),
            when => when,
        })
    }

    /// Returns the clock time that is said, if any.
    fn clock_moment(&self, now: &Zoned) -> Result<Option<DayMoment>, Unclear> {
        let (hour, minute, half) = match self.clock {
            None if self.part == Some(DayPart::Midnight) => (0, 0, DayHalf::Whole),
            None => return Ok(None),
            Some(SaidClock::Unchanged) => {
                let time = Time::new(now.hour(), now.minute(), 0, 0)?;
                let moment = DayMoment { time, is_after_midnight: false, is_small_hour: false };
                return Ok(Some(moment));
            }
            Some(SaidClock::At(hour, minute, DayHalf::Likely)) if self.is_japanese => {
                (hour, minute, DayHalf::Whole)
            }
            Some(SaidClock::At(hour, minute, half)) => (hour, minute, half),
        };
        let whole = match (half, hour, self.part) {
            (DayHalf::Am, 0..=12, _) => hour % 12,
            (DayHalf::Pm, 0..=12, _) => hour % 12 + 12,
            (DayHalf::Pm, 13..=23, _) | (_, 13..=29, _) => hour,
            (DayHalf::Likely | DayHalf::Whole, 0..=12, Some(part)) => {
                part.hour(hour).ok_or(Unclear::Impossible)?
            }
            (DayHalf::Likely, 1..=6, None) => hour + 12,
            (DayHalf::Likely | DayHalf::Whole, 0..=12, None) => hour,
            _ => return Err(Unclear::Impossible),
        };
        // "tomorrow evening at 9am"
        let is_in = |part: DayPart| part.hour(whole % 24).is_some_and(|it| it % 24 == whole % 24);
        if self.part.is_some_and(|part| !is_in(part)) {
            return Err(Unclear::Impossible);
        }
        let is_night = matches!(self.part, Some(DayPart::Night | DayPart::Midnight));
        Ok(Some(DayMoment {
            time: Time::new(whole % 24, minute, 0, 0)?,
            is_after_midnight: whole >= 24 && !(is_night && hour < 24),
            is_small_hour: is_night && whole % 24 < 6 && hour < 24,
        }))
    }

    fn time_or_default(&self, clock: Option<DayMoment>) -> Time {
        let default = match self.day {
            Some(SaidDay::EndOfWeek(_)) => WORK_ENDS,
            _ => DAY_BEGINS,
        };
        clock.map_or(self.part.map_or(default, DayPart::time), |clock| clock.time)
    }

    /// Returns the moment of a day and a time.
    fn once(&self, clock: Option<DayMoment>, now: &Zoned) -> Result<When, Unclear> {
        let (today, time) = (now.date(), self.time_or_default(clock));
        let mut dates = match self.day {
            Some(day) => day.dates(today)?,
            None => vec![today, plus(today, 1)?],
        };
        let is_small_hour = clock.is_some_and(|clock| clock.is_small_hour);
        let is_twelve = matches!(self.clock, Some(SaidClock::At(12, ..)));
        match self.day {
            None | Some(SaidDay::Plus(0)) if is_small_hour => dates = vec![today, plus(today, 1)?],
            // "tomorrow night at 12" is its end.
            Some(_) if is_small_hour && !(is_twelve && self.part == Some(DayPart::Night)) => {
                return Err(Unclear::Vague);
            }
            _ if is_small_hour || clock.is_some_and(|clock| clock.is_after_midnight) => {
                dates = dates.into_iter().map(|date| plus(date, 1)).collect::<Result<_, _>>()?;
            }
            _ => {}
        }
        // A date has the day of the week that is said with it.
        if self.weekdays.iter().any(|weekday| *weekday != dates[0].weekday()) {
            return Err(Unclear::Impossible);
        }
        let moments = dates.iter().map(|date| at(*date, time, now));
        let moments = moments.collect::<Result<Vec<_>, _>>()?;
        let is_going = self.part.is_some_and(|part| part.hours().0.contains(&now.hour()));
        if let Some(moment) = moments.iter().find(|moment| *moment > now) {
            let is_going = self.day.is_none() && clock.is_none() && is_going;
            return if is_going { Err(Unclear::Vague) } else { Ok(When::Once(moment.clone())) };
        }
        let last = moments.last().ok_or(Unclear::Impossible)?.clone();
        let is_going = match self.day {
            Some(SaidDay::Weekend(_) | SaidDay::EndOfWeek(_)) => {
                plus(last.date(), 2)? >= today && last.date() <= today
            }
            _ => last.date() == today && (self.part.is_none() || is_going),
        };
        if is_going && clock.is_none() { Err(Unclear::Vague) } else { Ok(When::Past(last)) }
    }

    /// Returns the moment that is so much later.
    fn later(
        &self,
        after: SaidLength,
        clock: Option<DayMoment>,
        now: &Zoned,
    ) -> Result<When, Unclear> {
        let SaidLength { months, days, seconds, is_from_day } = after;
        let span = Span::new().try_months(months)?.try_days(days)?.try_seconds(seconds)?;
        let has_time = clock.is_some() || self.part.is_some();
        if seconds != 0 || (self.day.is_none() && !has_time) {
            if has_time || !matches!(self.day, None | Some(SaidDay::Plus(0))) {
                return Err(Unclear::Several);
            }
            let at = now.checked_add(span)?;
            return match at.cmp(now) {
                Ordering::Less => Ok(When::Past(at)),
                Ordering::Equal => Err(Unclear::Impossible),
                Ordering::Greater => Ok(When::Once(at)),
            };
        }
        let today = now.date();
        let date = match self.day {
            None => today.checked_add(span)?,
            Some(day) if is_from_day => day.dates(today)?[0].checked_add(span)?,
            // "in two weeks on Monday"
            Some(SaidDay::Weekday(weekday, None)) if months == 0 && days % 7 == 0 => {
                SaidDay::Weekday(weekday, Some(0)).dates(today.checked_add(span)?)?[0]
            }
            Some(_) => return Err(Unclear::Several),
        };
        if clock.is_some_and(|clock| clock.is_small_hour || clock.is_after_midnight) {
            return Err(Unclear::Vague);
        }
        let at = at(date, self.time_or_default(clock), now)?;
        Ok(if at > *now { When::Once(at) } else { When::Past(at) })
    }

    /// Returns the recurrence, and when it is first.
    fn repeated(
        &self,
        every: SaidEvery,
        clock: Option<DayMoment>,
        local: &Zoned,
        now: &Zoned,
    ) -> Result<When, Unclear> {
        let is_elsewhere = self.zone.as_ref().is_some_and(|it| it.zone != *now.time_zone());
        // The wall time of another zone would not stay.
        if self.is_vague || is_elsewhere {
            return Err(Unclear::Vague);
        }
        if !(1..=MAX_INTERVAL).contains(&every.interval) {
            return Err(Unclear::Impossible);
        }
        let cycle = self.cycle(every.unit)?;
        let is_shifted = clock.is_some_and(|it| it.is_small_hour || it.is_after_midnight);
        if is_shifted && cycle != Cycle::Daily {
            return Err(Unclear::Vague);
        }
        let mut recurrence =
            Recurrence { cycle, interval: None, time: self.time_or_default(clock) };
        let begin = match self.start {
            Some(day) => {
                let before = day.dates(now.date())?[0].yesterday()?;
                at(before, Time::MAX, local)?.max(local.clone())
            }
            None => local.clone(),
        };
        let first = recurrence.next_after(&begin).ok_or(Unclear::Impossible)?;
        if every.interval > 1 {
            recurrence.interval = Some(Interval { every: every.interval, from: first.date() });
        }
        Ok(When::Every(recurrence, first))
    }

    fn cycle(&self, unit: CycleUnit) -> Result<Cycle, Unclear> {
        match (unit, self.day) {
            (CycleUnit::Day, None | Some(SaidDay::Plus(0))) => Ok(Cycle::Daily),
            (CycleUnit::Week, None) => {
                Cycle::of_weekdays(self.weekdays.clone()).ok_or(Unclear::Vague)
            }
            (CycleUnit::Week, Some(SaidDay::Weekday(weekday, None))) => {
                let days = self.weekdays.iter().copied().chain([weekday]).collect();
                Cycle::of_weekdays(days).ok_or(Unclear::Vague)
            }
            (CycleUnit::Month, Some(SaidDay::DayOfMonth(day @ 1..=31, None))) => {
                Ok(Cycle::Monthly(day))
            }
            (CycleUnit::Month, Some(SaidDay::DayOfMonth(_, None))) => Err(Unclear::Impossible),
            (CycleUnit::Month, Some(SaidDay::LastDay(0))) => Ok(Cycle::LastDay),
            (CycleUnit::Month, Some(SaidDay::NthWeekday(nth, weekday, None))) => {
                Ok(Cycle::NthWeekday(nth, weekday))
            }
            (CycleUnit::Year, Some(SaidDay::Date(None, month, day))) => {
                // A leap year has every date.
                Date::new(2000, month, day)?;
                Ok(Cycle::Yearly(month, day))
            }
            _ => Err(Unclear::Vague),
        }
    }
}

impl SaidDay {
    /// Returns the dates that may be meant, the first of which that has not passed is. There is at least one.
    fn dates(self, today: Date) -> Result<Vec<Date>, Unclear> {
        let monday = |weeks: i64| {
            let since_monday = i64::from(today.weekday().to_monday_zero_offset());
            plus(today, weeks.saturating_mul(7).saturating_sub(since_monday))
        };
        let month =
            |months: i64| today.first_of_month().checked_add(Span::new().try_months(months)?);
        let months = || (0..=12).filter_map(|months| month(months).ok());
        let date = |years: i64, month: i8, day: i8| {
            let year = i16::try_from(i64::from(today.year()).saturating_add(years)).ok()?;
            Date::new(year, month, day).ok()
        };
        let day_of = |month: Date, day| Date::new(month.year(), month.month(), day);
        let dates: Vec<Date> = match self {
            SaidDay::Plus(days) => vec![plus(today, days)?],
            SaidDay::Weekday(weekday, Some(week)) => {
                vec![plus(monday(week)?, weekday.to_monday_zero_offset().into())?]
            }
            SaidDay::Weekday(weekday, None) => {
                let first = plus(today, today.weekday().until(weekday).into())?;
                vec![first, plus(first, 7)?]
            }
            SaidDay::Week(0) | SaidDay::Month(_) | SaidDay::Year(_) | SaidDay::Slashed(..) => {
                return Err(Unclear::Vague);
            }
            SaidDay::Week(week) => vec![monday(week)?],
            SaidDay::Weekend(week) => vec![plus(monday(week)?, 5)?],
            SaidDay::EndOfWeek(week) => vec![plus(monday(week)?, 4)?],
            SaidDay::Date(Some(year), month, day) => {
                date(year.saturating_sub(today.year().into()), month, day).into_iter().collect()
            }
            SaidDay::YearsDate(years, month, day) => date(years, month, day).into_iter().collect(),
            SaidDay::Date(None, month, day) => {
                (0..=MAX_YEARS).filter_map(|years| date(years, month, day)).collect()
            }
            SaidDay::DayOfMonth(day, Some(months)) => vec![day_of(month(months)?, day)?],
            SaidDay::DayOfMonth(day, None) => {
                months().filter_map(|month| day_of(month, day).ok()).collect()
            }
            SaidDay::LastDay(months) => vec![month(months)?.last_of_month()],
            SaidDay::NthWeekday(nth, weekday, Some(months)) => {
                vec![month(months)?.nth_weekday_of_month(nth, weekday)?]
            }
            SaidDay::NthWeekday(nth, weekday, None) => {
                months().filter_map(|it| it.nth_weekday_of_month(nth, weekday).ok()).collect()
            }
        };
        // Without a year or month, the days before today have passed.
        let is_open = dates.iter().any(|date| *date >= today);
        let dates: Vec<_> = dates.into_iter().filter(|date| !is_open || *date >= today).collect();
        if dates.is_empty() { Err(Unclear::Impossible) } else { Ok(dates) }
    }
}

fn plus(date: Date, days: i64) -> Result<Date, jiff::Error> {
    date.checked_add(Span::new().try_days(days)?)
}

/// A wall time that the clocks skip is as much later, and one that they show twice is the first.
fn at(date: Date, time: Time, now: &Zoned) -> Result<Zoned, jiff::Error> {
    date.to_datetime(time).to_zoned(now.time_zone().clone())
}
