//! What a text says of a time, part by part: a day, a clock time, a part of the day, how long from now, how often.

use jiff::Zoned;
use jiff::civil::Weekday;
use jiff::tz::TimeZone;

use crate::plan::time_expression::Unclear;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SaidTime {
    pub day: Option<SaidDay>,
    /// The day of the week that a date has, or those of a recurrence.
    pub weekdays: Vec<Weekday>,
    pub clock: Option<SaidClock>,
    pub part: Option<DayPart>,
    pub after: Option<SaidLength>,
    pub every: Option<SaidEvery>,
    /// From when on it recurs.
    pub start: Option<SaidDay>,
    pub zone: Option<SaidZone>,
    /// In Japanese, hours are those of the whole day, and months stand before days.
    pub is_japanese: bool,
    /// "later", "some time": it is clear only with a clock time.
    pub is_vague: bool,
    pub trouble: Option<Unclear>,
}

/// A number of weeks or months is that of calendar weeks and months from the current one. Without it, the next such day
/// is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SaidDay {
    /// Days from today.
    Plus(i64),
    Weekday(Weekday, Option<i64>),
    /// The beginning of a week.
    Week(i64),
    /// Saturday.
    Weekend(i64),
    /// Friday at the end of work.
    EndOfWeek(i64),
    Month(i64),
    Year(i64),
    Date {
        year: Option<i64>,
        month: i64,
        day: i64,
    },
    /// A date of a year from the current one on.
    YearsDate {
        years: i64,
        month: i64,
        day: i64,
    },
    /// A date with its month before or after its day.
    Slashed {
        year: Option<i64>,
        one: i64,
        other: i64,
    },
    DayOfMonth(i64, Option<i64>),
    LastDay(i64),
    NthWeekday(i8, Weekday, Option<i64>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SaidClock {
    At {
        hour: i64,
        minute: i64,
        half: DayHalf,
    },
    /// "at the same time".
    Unchanged,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::EnumString)]
#[strum(serialize_all = "snake_case")]
pub enum DayHalf {
    Am,
    Pm,
    /// "at 9": the half in which people are awake.
    Likely,
    /// 24 hours, and after them those of the night.
    Whole,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::EnumString)]
#[strum(serialize_all = "snake_case")]
pub enum DayPart {
    Morning,
    Noon,
    Afternoon,
    EndOfWork,
    Evening,
    Night,
    Midnight,
}

/// How long from now, or from a named day.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SaidLength {
    pub months: i64,
    pub days: i64,
    pub seconds: i64,
    pub is_from_day: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SaidEvery {
    pub interval: i64,
    pub unit: CycleUnit,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CycleUnit {
    Day,
    Week,
    Month,
    Year,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SaidZone {
    pub zone: TimeZone,
    /// "EST": what the zone is called in a part of the year.
    pub abbreviation: Option<&'static str>,
}

impl SaidLength {
    pub fn seconds(seconds: i64) -> Self {
        Self { seconds, ..Self::default() }
    }

    pub fn plus(self, other: Self) -> Self {
        Self {
            months: self.months.saturating_add(other.months),
            days: self.days.saturating_add(other.days),
            seconds: self.seconds.saturating_add(other.seconds),
            is_from_day: self.is_from_day,
        }
    }

    pub fn times(self, count: i64) -> Self {
        Self {
            months: self.months.saturating_mul(count),
            days: self.days.saturating_mul(count),
            seconds: self.seconds.saturating_mul(count),
            is_from_day: self.is_from_day,
        }
    }
}

impl SaidTime {
    /// Whether nothing is said.
    pub fn is_empty(&self) -> bool {
        let Self { day, clock, part, after, every, is_vague, trouble, .. } = self;
        day.is_none()
            && clock.is_none()
            && part.is_none()
            && after.is_none()
            && every.is_none()
            && trouble.is_none()
            && !is_vague
    }

    /// Whether a day is said and no time of it.
    pub fn is_day_alone(&self) -> bool {
        let has_time = self.clock.is_some() || self.part.is_some();
        self.day.is_some() && !has_time && self.after.is_none() && self.every.is_none()
    }

    /// Whether a clock time is said and no day.
    pub fn is_clock_alone(&self) -> bool {
        let has_day = self.day.is_some() || self.after.is_some() || self.every.is_some();
        self.clock.is_some() && !has_day
    }

    pub fn fail(&mut self, trouble: Unclear) {
        self.trouble.get_or_insert(trouble);
    }

    /// Fails if something is so, and returns that.
    pub fn fail_if(&mut self, is_so: bool, trouble: Unclear) -> bool {
        if is_so {
            self.fail(trouble);
        }
        is_so
    }

    pub fn add_day(&mut self, day: SaidDay) {
        match self.day {
            None => self.day = Some(day),
            Some(said) => match joined(said, day).or_else(|| joined(day, said)) {
                Some((day, weekday)) => {
                    self.day = Some(day);
                    self.weekdays.extend(weekday);
                }
                None if said == day => {}
                None => self.fail(Unclear::Several),
            },
        }
    }

    pub fn add_clock(&mut self, clock: SaidClock) {
        match self.clock.replace(clock) {
            Some(said) if said != clock => self.fail(Unclear::Several),
            _ => {}
        }
    }

    pub fn add_part(&mut self, part: DayPart) {
        match self.part.replace(part) {
            Some(said) if said != part => self.fail(Unclear::Several),
            _ => {}
        }
    }

    pub fn add_after(&mut self, after: SaidLength) {
        if self.after.replace(after).is_some() {
            self.fail(Unclear::Several);
        }
    }

    pub fn add_every(&mut self, interval: i64, unit: CycleUnit) {
        let Some(said) = self.every else {
            self.every = Some(SaidEvery { interval, unit });
            return;
        };
        let interval = said.interval.max(interval);
        match (said.unit, unit) {
            // 「平日の毎朝」
            (CycleUnit::Day, CycleUnit::Week) | (CycleUnit::Week, CycleUnit::Day)
                if interval == 1 =>
            {
                self.every = Some(SaidEvery { interval, unit: CycleUnit::Week });
            }
            (said, unit) if said == unit => self.every = Some(SaidEvery { interval, unit }),
            _ => self.fail(Unclear::Several),
        }
    }

    /// Adds what another place of the text says.
    pub fn add(&mut self, other: Self) {
        other.day.into_iter().for_each(|day| self.add_day(day));
        other.clock.into_iter().for_each(|clock| self.add_clock(clock));
        other.part.into_iter().for_each(|part| self.add_part(part));
        other.after.into_iter().for_each(|after| self.add_after(after));
        if let Some(every) = other.every {
            self.add_every(every.interval, every.unit);
        }
        self.weekdays.extend(other.weekdays);
        self.start = self.start.or(other.start);
        self.zone = self.zone.take().or(other.zone);
        self.is_vague |= other.is_vague;
        self.is_japanese |= other.is_japanese;
        other.trouble.into_iter().for_each(|trouble| self.fail(trouble));
    }

    /// The time zone in which it is said, and this moment there.
    pub fn local(&self, now: &Zoned) -> Zoned {
        match &self.zone {
            Some(said) => now.with_time_zone(said.zone.clone()),
            None => now.clone(),
        }
    }
}

/// Returns the day that two are together, and the day of the week that it has to be: "next week" and "Friday",
/// "Friday" and "4 December".
fn joined(one: SaidDay, other: SaidDay) -> Option<(SaidDay, Option<Weekday>)> {
    use SaidDay::*;
    let day = match (one, other) {
        (Week(week), Weekday(weekday, None)) => Weekday(weekday, Some(week)),
        (Weekend(week), Weekday(weekday, None)) if weekday.to_monday_zero_offset() >= 5 => {
            Weekday(weekday, Some(week))
        }
        (Month(month), DayOfMonth(day, None)) => DayOfMonth(day, Some(month)),
        (Month(month), NthWeekday(nth, weekday, None)) => NthWeekday(nth, weekday, Some(month)),
        (Month(month), LastDay(0)) => LastDay(month),
        (Year(years), Date { year: None, month, day }) => YearsDate { years, month, day },
        (Weekday(weekday, _), Date { .. } | Slashed { .. } | DayOfMonth(..) | Plus(_)) => {
            return Some((other, Some(weekday)));
        }
        _ => return None,
    };
    Some((day, None))
}
