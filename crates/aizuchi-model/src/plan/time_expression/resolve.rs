//! Which moment is meant by what a text says of a time. What is not sure is asked, not guessed.

use jiff::civil::{Date, Time};
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
    fn time(self) -> Time {
        match self {
            DayPart::Morning => DAY_BEGINS,
            DayPart::Noon => Time::constant(12, 0, 0, 0),
            DayPart::Afternoon => Time::constant(14, 0, 0, 0),
            DayPart::EndOfWork => WORK_ENDS,
            DayPart::Evening => Time::constant(18, 0, 0, 0),
            DayPart::Night => Time::constant(20, 0, 0, 0),
            DayPart::Midnight => Time::midnight(),
        }
    }

    /// Until when people are in it, if it is not over at once.
    fn end(self) -> Time {
        match self {
            DayPart::Morning | DayPart::Midnight => self.time(),
            DayPart::Noon => Time::constant(13, 0, 0, 0),
            DayPart::Afternoon => Time::constant(18, 0, 0, 0),
            DayPart::EndOfWork | DayPart::Evening | DayPart::Night => Time::MAX,
        }
    }

    /// Returns the hour that one of the 12-hour clock is in this part of the day.
    fn hour(self, hour: i64) -> Option<i64> {
        let (first, last) = match self {
            DayPart::Morning => (0, 11),
            DayPart::Noon => (10, 16),
            DayPart::Afternoon => (12, 18),
            DayPart::EndOfWork => return None,
            DayPart::Evening => (16, 23),
            DayPart::Night => (17, 29),
            DayPart::Midnight => (22, 29),
        };
        [hour, hour + 12, hour + 24].into_iter().find(|hour| (first..=last).contains(hour))
    }
}

impl SaidTime {
    /// Returns the moment that is meant, for somebody who says it at this time and place.
    pub fn resolve(&self, now: &Zoned) -> When {
        let mut said = self.clone();
        if let Some(SaidDay::Slashed { year, one, other }) = self.day {
            match self.date_of(year, one, other, now) {
                Ok(date) => said.day = Some(date),
                Err(unclear) => return When::Unclear(unclear),
            }
        }
        if let (Some(SaidDay::Week(weeks)), Some(SaidClock::Unchanged)) = (self.day, self.clock) {
            said.day = Some(SaidDay::Plus(weeks.saturating_mul(7)));
        }
        said.moment(&self.local(now), now).unwrap_or_else(When::Unclear)
    }

    /// Returns the date of "12/24". Where both orders are possible, it depends on where somebody lives.
    fn date_of(
        &self,
        year: Option<i64>,
        one: i64,
        other: i64,
        now: &Zoned,
    ) -> Result<SaidDay, Unclear> {
        let zone = now.time_zone().iana_name().unwrap_or_default();
        let is_month_first = self.is_japanese || zone.starts_with("America/");
        match (one, other) {
            (1..=12, 1..=31) if is_month_first || one == other || other > 12 => {
                Ok(SaidDay::Date { year, month: one, day: other })
            }
            (13..=31, 1..=12) if !self.is_japanese => {
                Ok(SaidDay::Date { year, month: other, day: one })
            }
            (1..=12, 1..=12) => Err(Unclear::DayOrMonth),
            _ => Err(Unclear::Impossible),
        }
    }

    fn moment(&self, local: &Zoned, now: &Zoned) -> Result<When, Unclear> {
        if let Some(trouble) = self.trouble {
            return Err(trouble);
        }
        // Whose tomorrow is it?
        let is_dated = matches!(self.day, None | Some(SaidDay::Date { .. }));
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
        Ok(match when {
            // "EST" in summer is an hour off.
            When::Once(at) if said.is_some_and(|said| at.strftime("%Z").to_string() != said) => {
                return Err(Unclear::Impossible);
            }
            When::Once(at) => When::Once(at.with_time_zone(now.time_zone().clone())),
            When::Past(at) => When::Past(at.with_time_zone(now.time_zone().clone())),
            when => when,
        })
    }

    /// Returns the clock time that is said, if any.
    fn clock_moment(&self, now: &Zoned) -> Result<Option<DayMoment>, Unclear> {
        let (hour, minute, half) = match self.clock {
            None if self.part == Some(DayPart::Midnight) => (0, 0, DayHalf::Whole),
            None => return Ok(None),
            Some(SaidClock::Unchanged) => {
                let time = Time::new(now.hour(), now.minute(), 0, 0);
                let time = time.map_err(|_| Unclear::Impossible)?;
                let moment = DayMoment { time, is_after_midnight: false, is_small_hour: false };
                return Ok(Some(moment));
            }
            Some(SaidClock::At { hour, minute, half: DayHalf::Likely }) if self.is_japanese => {
                (hour, minute, DayHalf::Whole)
            }
            Some(SaidClock::At { hour, minute, half }) => (hour, minute, half),
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
        if self
            .part
            .is_some_and(|part| part.hour(whole % 24).is_none_or(|it| it % 24 != whole % 24))
        {
            return Err(Unclear::Impossible);
        }
        let time = i8::try_from(whole % 24).ok().zip(i8::try_from(minute).ok());
        let time = time.and_then(|(hour, minute)| Time::new(hour, minute, 0, 0).ok());
        let is_night = matches!(self.part, Some(DayPart::Night | DayPart::Midnight));
        Ok(Some(DayMoment {
            time: time.ok_or(Unclear::Impossible)?,
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
        if clock.is_some_and(|clock| clock.is_small_hour) {
            dates = match self.day {
                None | Some(SaidDay::Plus(0)) => vec![today, plus(today, 1)?],
                // "tomorrow night at 12" is its end.
                Some(_) if self.is_end_of_night() => {
                    dates.into_iter().map(|date| plus(date, 1)).collect::<Result<_, _>>()?
                }
                Some(_) => return Err(Unclear::Vague),
            };
        } else if clock.is_some_and(|clock| clock.is_after_midnight) {
            dates = dates.into_iter().map(|date| plus(date, 1)).collect::<Result<_, _>>()?;
        }
        self.check_weekday(&dates)?;
        let at = |date: &Date| local(*date, time, now);
        let moments = dates.iter().map(at).collect::<Result<Vec<_>, _>>()?;
        if let Some(moment) = moments.iter().find(|moment| *moment > now) {
            let is_going = self.day.is_none() && clock.is_none() && self.is_going(now.time());
            return if is_going { Err(Unclear::Vague) } else { Ok(When::Once(moment.clone())) };
        }
        let last = moments.last().ok_or(Unclear::Impossible)?.clone();
        let is_going = match self.day {
            Some(SaidDay::Weekend(_) | SaidDay::EndOfWeek(_)) => {
                plus(last.date(), 2)? >= today && last.date() <= today
            }
            _ => last.date() == today && self.part.is_none_or(|_| self.is_going(now.time())),
        };
        match is_going && clock.is_none() {
            true => Err(Unclear::Vague),
            false => Ok(When::Past(last)),
        }
    }

    /// Whether it is the said part of the day at this time.
    fn is_going(&self, now: Time) -> bool {
        self.part.is_some_and(|part| part.time() <= now && now < part.end())
    }

    fn is_end_of_night(&self) -> bool {
        let is_twelve = matches!(self.clock, Some(SaidClock::At { hour: 12, .. }));
        is_twelve && self.part == Some(DayPart::Night)
    }

    /// A date has the day of the week that is said with it.
    fn check_weekday(&self, dates: &[Date]) -> Result<(), Unclear> {
        let first = dates.first().ok_or(Unclear::Impossible)?;
        match self.weekdays.iter().all(|weekday| *weekday == first.weekday()) {
            true => Ok(()),
            false => Err(Unclear::Impossible),
        }
    }

    /// Returns the moment that is so much later.
    fn later(
        &self,
        after: SaidLength,
        clock: Option<DayMoment>,
        now: &Zoned,
    ) -> Result<When, Unclear> {
        let span = after.span()?;
        let has_time = clock.is_some() || self.part.is_some();
        if after.seconds != 0 || (self.day.is_none() && !has_time) {
            if has_time || !matches!(self.day, None | Some(SaidDay::Plus(0))) {
                return Err(Unclear::Several);
            }
            let at = now.checked_add(span).map_err(|_| Unclear::Impossible)?;
            return match at.cmp(now) {
                std::cmp::Ordering::Less => Ok(When::Past(at)),
                std::cmp::Ordering::Equal => Err(Unclear::Impossible),
                std::cmp::Ordering::Greater => Ok(When::Once(at)),
            };
        }
        let then = |date: Date| date.checked_add(span).map_err(|_| Unclear::Impossible);
        let date = match self.day {
            None => then(now.date())?,
            Some(day) if after.is_from_day => {
                then(*day.dates(now.date())?.first().ok_or(Unclear::Impossible)?)?
            }
            // "in two weeks on Monday"
            Some(SaidDay::Weekday(weekday, None)) if after.months == 0 && after.days % 7 == 0 => {
                SaidDay::Weekday(weekday, Some(0)).dates(then(now.date())?)?[0]
            }
            Some(_) => return Err(Unclear::Several),
        };
        if clock.is_some_and(|clock| clock.is_small_hour || clock.is_after_midnight) {
            return Err(Unclear::Vague);
        }
        let at = local(date, self.time_or_default(clock), now)?;
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
        let time = self.time_or_default(clock);
        let mut recurrence = Recurrence { cycle, interval: None, time };
        let begin = match self.start {
            Some(day) => {
                let date = *day.dates(now.date())?.first().ok_or(Unclear::Impossible)?;
                let before = date.yesterday().map_err(|_| Unclear::Impossible)?;
                self::local(before, Time::MAX, local)?.max(local.clone())
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
        let day_number = |day: i64| i8::try_from(day).ok().filter(|day| (1..=31).contains(day));
        match (unit, self.day) {
            (CycleUnit::Day, None | Some(SaidDay::Plus(0))) => Ok(Cycle::Daily),
            (CycleUnit::Week, day @ (None | Some(SaidDay::Weekday(_, None)))) => {
                let day = day.and_then(|day| match day {
                    SaidDay::Weekday(weekday, _) => Some(weekday),
                    _ => None,
                });
                let days = self.weekdays.iter().copied().chain(day).collect();
                Cycle::of_weekdays(days).ok_or(Unclear::Vague)
            }
            (CycleUnit::Month, Some(SaidDay::DayOfMonth(day, None))) => {
                day_number(day).map(Cycle::Monthly).ok_or(Unclear::Impossible)
            }
            (CycleUnit::Month, Some(SaidDay::LastDay(0))) => Ok(Cycle::LastDay),
            (CycleUnit::Month, Some(SaidDay::NthWeekday(nth, weekday, None))) => {
                Ok(Cycle::NthWeekday(nth, weekday))
            }
            (CycleUnit::Year, Some(SaidDay::Date { year: None, month, day })) => {
                // A leap year has every date.
                let date = civil_date(2000, month, day).ok_or(Unclear::Impossible)?;
                Ok(Cycle::Yearly(date.month(), date.day()))
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
        let month = |months: i64| {
            let months = Span::new().try_months(months).map_err(|_| Unclear::Impossible)?;
            today.first_of_month().checked_add(months).map_err(|_| Unclear::Impossible)
        };
        let coming = |of_month: &dyn Fn(Date) -> Option<Date>| {
            (0..=12).map(month).filter_map(|month| of_month(month.ok()?)).collect::<Vec<_>>()
        };
        let year = |years: i64| i64::from(today.year()).saturating_add(years);
        let dates = match self {
            SaidDay::Plus(days) => vec![plus(today, days)?],
            SaidDay::Weekday(weekday, Some(week)) => {
                vec![plus(monday(week)?, weekday.to_monday_zero_offset().into())?]
            }
            SaidDay::Weekday(weekday, None) => {
                let first = plus(today, today.weekday().until(weekday).into())?;
                vec![first, plus(first, 7)?]
            }
            SaidDay::Week(0) | SaidDay::Month(_) | SaidDay::Year(_) | SaidDay::Slashed { .. } => {
                return Err(Unclear::Vague);
            }
            SaidDay::Week(week) => vec![monday(week)?],
            SaidDay::Weekend(week) => vec![plus(monday(week)?, 5)?],
            SaidDay::EndOfWeek(week) => vec![plus(monday(week)?, 4)?],
            SaidDay::Date { year: Some(year), month, day } => {
                civil_date(year, month, day).into_iter().collect()
            }
            SaidDay::YearsDate { years, month, day } => {
                civil_date(year(years), month, day).into_iter().collect()
            }
            SaidDay::Date { year: None, month, day } => {
                let dates = (0..=MAX_YEARS).filter_map(|years| civil_date(year(years), month, day));
                dates.collect()
            }
            SaidDay::DayOfMonth(day, Some(months)) => {
                let month = month(months)?;
                civil_date(month.year().into(), month.month().into(), day).into_iter().collect()
            }
            SaidDay::DayOfMonth(day, None) => {
                coming(&|month| civil_date(month.year().into(), month.month().into(), day))
            }
            SaidDay::LastDay(months) => vec![month(months)?.last_of_month()],
            SaidDay::NthWeekday(nth, weekday, Some(months)) => {
                month(months)?.nth_weekday_of_month(nth, weekday).into_iter().collect()
            }
            SaidDay::NthWeekday(nth, weekday, None) => {
                coming(&|month| month.nth_weekday_of_month(nth, weekday).ok())
            }
        };
        // Without a year or month, the days before today have passed.
        let is_open = dates.iter().any(|date| *date >= today);
        let dates: Vec<_> = dates.into_iter().filter(|date| !is_open || *date >= today).collect();
        if dates.is_empty() { Err(Unclear::Impossible) } else { Ok(dates) }
    }
}

impl SaidLength {
    fn span(self) -> Result<Span, Unclear> {
        let span = Span::new().try_months(self.months);
        let span = span.and_then(|span| span.try_days(self.days));
        span.and_then(|span| span.try_seconds(self.seconds)).map_err(|_| Unclear::Impossible)
    }
}

fn plus(date: Date, days: i64) -> Result<Date, Unclear> {
    let days = Span::new().try_days(days).map_err(|_| Unclear::Impossible)?;
    date.checked_add(days).map_err(|_| Unclear::Impossible)
}

fn civil_date(year: i64, month: i64, day: i64) -> Option<Date> {
    let (month, day) = (i8::try_from(month).ok()?, i8::try_from(day).ok()?);
    Date::new(i16::try_from(year).ok()?, month, day).ok()
}

/// A wall time that the clocks skip is as much later, and one that they show twice is the first.
fn local(date: Date, time: Time, now: &Zoned) -> Result<Zoned, Unclear> {
    let at = date.to_datetime(time).to_zoned(now.time_zone().clone());
    at.map_err(|_| Unclear::Impossible)
}
