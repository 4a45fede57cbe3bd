//! Which moment is meant by what a text says of a time. What is not sure is asked, not guessed.

use std::ops::Range;

use jiff::civil::{self, Date, Time, time};
use jiff::{Span, Zoned};

use crate::plan::recurrence::{Cycle, Interval, MAX_INTERVAL, Recurrence};
use crate::plan::time_expression::said::{
    CycleUnit, DayHalf, DayPart, SaidClock, SaidDay, SaidLength, SaidTime,
};
use crate::plan::time_expression::{Unclear, When};

/// When a day begins that is named without a time.
const DAY_BEGINS: Time = Time::constant(9, 0, 0, 0);
const WORK_ENDS: Time = Time::constant(17, 0, 0, 0);
/// A leap day may be as far away.
const MAX_YEARS: i64 = 8;

/// A time that is said, where and when it is.
struct SaidMoment<'s> {
    said: &'s SaidTime,
    now: Zoned,
    /// The clock time, if one is said.
    clock: Option<Time>,
    /// Whether that is after the midnight that ends the day.
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
        let mut said = self.clone();
        if let (Some(SaidDay::Slashed(year, one, other)), None) = (self.day, self.trouble) {
            let zone = now.time_zone().iana_name().unwrap_or_default();
            let is_month_first = self.is_japanese || zone.starts_with("America/");
            said.day = match (one, other) {
                (1..=12, 1..=31) if is_month_first || one == other || other > 12 => {
                    Some(SaidDay::Date(year, one, other))
                }
                (13..=31, 1..=12) if !self.is_japanese => Some(SaidDay::Date(year, other, one)),
                // Which one is the month depends on where somebody lives.
                (1..=12, 1..=12) => return When::Unclear(Unclear::DayOrMonth),
                _ => return When::Unclear(Unclear::Impossible),
            };
        }
        if let (Some(SaidDay::Week(weeks)), Some(SaidClock::Unchanged)) = (self.day, self.clock) {
            said.day = Some(SaidDay::Plus(weeks.saturating_mul(7)));
        }
        said.moment(now).unwrap_or_else(When::Unclear)
    }

    fn moment(&self, now: &Zoned) -> Result<When, Unclear> {
        self.trouble.map_or(Ok(()), Err)?;
        let here = now.time_zone();
        let zone = self.zone.as_ref().map_or(here, |(zone, _)| zone);
        let there = now.with_time_zone(zone.clone());
        // Whose tomorrow is it?
        let is_dated = matches!(self.day, None | Some(SaidDay::Date(..)));
        if !is_dated && there.date() != now.date() {
            return Err(Unclear::Vague);
        }
        let moment = SaidMoment::new(self, there)?;
        let at = match (self.every, self.after) {
            // The wall time of another zone would not stay.
            (Some(_), None) if self.is_vague || zone != here => return Err(Unclear::Vague),
            (Some((interval, unit)), None) => return moment.repeated(interval, unit),
            (Some(_), Some(_)) => return Err(Unclear::Several),
            (None, _) if self.start.is_some() => return Err(Unclear::Vague),
            (None, Some(after)) => moment.later(after)?,
            (None, None) if self.is_vague && moment.clock.is_none() => return Err(Unclear::Vague),
            (None, None) => moment.once()?,
        };
        // "EST" in summer is an hour off.
        let said = self.zone.as_ref().and_then(|(_, said)| *said);
        let is_off = said.is_some_and(|said| at.strftime("%Z").to_string() != said);
        match (at > *now, at.with_time_zone(here.clone())) {
            (true, _) if is_off => Err(Unclear::Impossible),
            (true, at) => Ok(When::Once(at)),
            (false, at) => Ok(When::Past(at)),
        }
    }

    fn cycle(&self, unit: CycleUnit) -> Result<Cycle, Unclear> {
        use SaidDay::*;
        let of_weekdays = |days| Cycle::of_weekdays(days).ok_or(Unclear::Vague);
        match (unit, self.day) {
            (CycleUnit::Day, None | Some(Plus(0))) => Ok(Cycle::Daily),
            (CycleUnit::Week, None) => of_weekdays(self.weekdays.clone()),
            (CycleUnit::Week, Some(Weekday(day, None))) => {
                of_weekdays([&self.weekdays[..], &[day]].concat())
            }
            (CycleUnit::Month, Some(DayOfMonth(day @ 1..=31, None))) => Ok(Cycle::Monthly(day)),
            (CycleUnit::Month, Some(DayOfMonth(_, None))) => Err(Unclear::Impossible),
            (CycleUnit::Month, Some(LastDay(0))) => Ok(Cycle::LastDay),
            (CycleUnit::Month, Some(NthWeekday(nth, day, None))) => Ok(Cycle::NthWeekday(nth, day)),
            (CycleUnit::Year, Some(Date(None, month, day))) => {
                // A leap year has every date.
                civil::Date::new(2000, month, day)?;
                Ok(Cycle::Yearly(month, day))
            }
            _ => Err(Unclear::Vague),
        }
    }
}

impl<'s> SaidMoment<'s> {
    fn new(said: &'s SaidTime, now: Zoned) -> Result<Self, Unclear> {
        let mut moment =
            Self { said, now, clock: None, is_after_midnight: false, is_small_hour: false };
        let (hour, minute, half) = match said.clock {
            None if said.part == Some(DayPart::Midnight) => (0, 0, DayHalf::Whole),
            None => return Ok(moment),
            Some(SaidClock::Unchanged) => {
                moment.clock = Some(Time::new(moment.now.hour(), moment.now.minute(), 0, 0)?);
                return Ok(moment);
            }
            Some(SaidClock::At(hour, minute, DayHalf::Likely)) if said.is_japanese => {
                (hour, minute, DayHalf::Whole)
            }
            Some(SaidClock::At(hour, minute, half)) => (hour, minute, half),
        };
        let whole = match (half, hour, said.part) {
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
        if said.part.is_some_and(|part| !is_in(part)) {
            return Err(Unclear::Impossible);
        }
        let is_night = matches!(said.part, Some(DayPart::Night | DayPart::Midnight)) && hour < 24;
        moment.clock = Some(Time::new(whole % 24, minute, 0, 0)?);
        moment.is_after_midnight = whole >= 24 && !is_night;
        moment.is_small_hour = is_night && whole % 24 < 6;
        Ok(moment)
    }

    /// Returns the moment of a date. A wall time that the clocks skip is as much later, and one that they show twice is
    /// the first.
    fn on(&self, date: Date) -> Result<Zoned, jiff::Error> {
        date.to_datetime(self.time()).to_zoned(self.now.time_zone().clone())
    }

    fn time(&self) -> Time {
        let default = match (self.said.part, self.said.day) {
            (Some(part), _) => time(part.hours().0.start, 0, 0, 0),
            (None, Some(SaidDay::EndOfWeek(_))) => WORK_ENDS,
            (None, _) => DAY_BEGINS,
        };
        self.clock.unwrap_or(default)
    }

    /// Returns the moment of a day and a time.
    fn once(&self) -> Result<Zoned, Unclear> {
        let today = self.now.date();
        let SaidTime { day, part, .. } = self.said;
        let mut dates = match day {
            Some(day) => day.dates(today)?,
            None => vec![today, plus(today, 1)?],
        };
        let is_twelve = matches!(self.said.clock, Some(SaidClock::At(12, ..)));
        match day {
            None | Some(SaidDay::Plus(0)) if self.is_small_hour => {
                dates = vec![today, plus(today, 1)?];
            }
            // "tomorrow night at 12" is its end.
            Some(_) if self.is_small_hour && !(is_twelve && *part == Some(DayPart::Night)) => {
                return Err(Unclear::Vague);
            }
            _ if self.is_small_hour || self.is_after_midnight => {
                dates = dates.into_iter().map(|date| plus(date, 1)).collect::<Result<_, _>>()?;
            }
            _ => {}
        }
        // A date has the day of the week that is said with it.
        if self.said.weekdays.iter().any(|weekday| *weekday != dates[0].weekday()) {
            return Err(Unclear::Impossible);
        }
        let moments = dates.into_iter().map(|date| self.on(date)).collect::<Result<Vec<_>, _>>()?;
        let is_going = part.is_some_and(|part| part.hours().0.contains(&self.now.hour()));
        let coming = moments.iter().find(|moment| **moment > self.now);
        let last = moments.last().ok_or(Unclear::Impossible)?;
        let is_going = match (coming, day) {
            (Some(_), day) => day.is_none() && is_going,
            (None, Some(SaidDay::Weekend(_) | SaidDay::EndOfWeek(_))) => {
                plus(last.date(), 2)? >= today && last.date() <= today
            }
            (None, _) => last.date() == today && (part.is_none() || is_going),
        };
        match is_going && self.clock.is_none() {
            true => Err(Unclear::Vague),
            false => Ok(coming.unwrap_or(last).clone()),
        }
    }

    /// Returns the moment that is so much later.
    fn later(&self, after: SaidLength) -> Result<Zoned, Unclear> {
        let SaidLength { months, days, seconds, is_from_day } = after;
        let span = Span::new().try_months(months)?.try_days(days)?.try_seconds(seconds)?;
        let SaidTime { day, part, .. } = self.said;
        let (today, has_time) = (self.now.date(), self.clock.is_some() || part.is_some());
        if seconds != 0 || (day.is_none() && !has_time) {
            let at = self.now.checked_add(span)?;
            return match day {
                None | Some(SaidDay::Plus(0)) if has_time => Err(Unclear::Several),
                None | Some(SaidDay::Plus(0)) if at == self.now => Err(Unclear::Impossible),
                None | Some(SaidDay::Plus(0)) => Ok(at),
                Some(_) => Err(Unclear::Several),
            };
        }
        if self.is_small_hour || self.is_after_midnight {
            return Err(Unclear::Vague);
        }
        let date = match *day {
            None => today.checked_add(span)?,
            Some(day) if is_from_day => day.dates(today)?[0].checked_add(span)?,
            // "in two weeks on Monday"
            Some(SaidDay::Weekday(weekday, None)) if months == 0 && days % 7 == 0 => {
                SaidDay::Weekday(weekday, Some(0)).dates(today.checked_add(span)?)?[0]
            }
            Some(_) => return Err(Unclear::Several),
        };
        Ok(self.on(date)?)
    }

    /// Returns the recurrence, and when it is first.
    fn repeated(&self, interval: i64, unit: CycleUnit) -> Result<When, Unclear> {
        if !(1..=MAX_INTERVAL).contains(&interval) {
            return Err(Unclear::Impossible);
        }
        let cycle = self.said.cycle(unit)?;
        if (self.is_small_hour || self.is_after_midnight) && cycle != Cycle::Daily {
            return Err(Unclear::Vague);
        }
        let mut recurrence = Recurrence { cycle, interval: None, time: self.time() };
        let begin = match self.said.start {
            Some(day) => {
                let begin =
                    day.dates(self.now.date())?[0].to_zoned(self.now.time_zone().clone())?;
                begin.checked_sub(Span::new().nanoseconds(1))?.max(self.now.clone())
            }
            None => self.now.clone(),
        };
        let first = recurrence.next_after(&begin).ok_or(Unclear::Impossible)?;
        if interval > 1 {
            recurrence.interval = Some(Interval { every: interval, from: first.date() });
        }
        Ok(When::Every(recurrence, first))
    }
}

impl SaidDay {
    /// Returns the dates that may be meant, the first of which that has not passed is. There is at least one.
    fn dates(self, today: Date) -> Result<Vec<Date>, Unclear> {
        use SaidDay::*;
        let monday = |weeks: i64| {
            let since_monday = i64::from(today.weekday().to_monday_zero_offset());
            plus(today, weeks.saturating_mul(7).saturating_sub(since_monday))
        };
        let month =
            |months: i64| today.first_of_month().checked_add(Span::new().try_months(months)?);
        let months = || (0..=12).filter_map(|months| month(months).ok());
        let date = |years: i64, month, day| {
            let year = i64::from(today.year()).saturating_add(years);
            civil::Date::new(i16::try_from(year).ok()?, month, day).ok()
        };
        let day_of = |month: civil::Date, day| civil::Date::new(month.year(), month.month(), day);
        let mut dates: Vec<civil::Date> = match self {
            Week(0) | Month(_) | Year(_) | Slashed(..) => return Err(Unclear::Vague),
            Plus(days) => vec![plus(today, days)?],
            Weekday(day, Some(week)) => {
                vec![plus(monday(week)?, day.to_monday_zero_offset().into())?]
            }
            Weekday(day, None) => {
                let first = plus(today, today.weekday().until(day).into())?;
                vec![first, plus(first, 7)?]
            }
            Week(week) => vec![monday(week)?],
            Weekend(week) => vec![plus(monday(week)?, 5)?],
            EndOfWeek(week) => vec![plus(monday(week)?, 4)?],
            Date(Some(year), month, day) => {
                Vec::from_iter(date(year.saturating_sub(today.year().into()), month, day))
            }
            YearsDate(years, month, day) => Vec::from_iter(date(years, month, day)),
            Date(None, month, day) => {
                (0..=MAX_YEARS).filter_map(|it| date(it, month, day)).collect()
            }
            DayOfMonth(day, Some(months)) => vec![day_of(month(months)?, day)?],
            DayOfMonth(day, None) => months().filter_map(|it| day_of(it, day).ok()).collect(),
            LastDay(months) => vec![month(months)?.last_of_month()],
            NthWeekday(nth, day, Some(months)) => {
                vec![month(months)?.nth_weekday_of_month(nth, day)?]
            }
            NthWeekday(nth, day, None) => {
                months().filter_map(|it| it.nth_weekday_of_month(nth, day).ok()).collect()
            }
        };
        // Without a year or month, the days before today have passed.
        let is_open = dates.iter().any(|date| *date >= today);
        dates.retain(|date| !is_open || *date >= today);
        if dates.is_empty() { Err(Unclear::Impossible) } else { Ok(dates) }
    }
}

fn plus(date: Date, days: i64) -> Result<Date, jiff::Error> {
    date.checked_add(Span::new().try_days(days)?)
}
