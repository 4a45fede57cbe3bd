//! What a text says of a time, part by part: a day, a clock time, a part of the day, how long from now, how often.

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
    /// Each so many-th day, week, month or year.
    pub every: Option<(i64, CycleUnit)>,
    /// From when on it recurs.
    pub start: Option<SaidDay>,
    /// With what it is called, if that is so in a part of the year only: "EST".
    pub zone: Option<(TimeZone, Option<&'static str>)>,
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
    /// Year, month and day.
    Date(Option<i64>, i8, i8),
    /// A date of a year from the current one on.
    YearsDate(i64, i8, i8),
    /// A date with its month before or after its day.
    Slashed(Option<i64>, i8, i8),
    DayOfMonth(i8, Option<i64>),
    LastDay(i64),
    NthWeekday(i8, Weekday, Option<i64>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SaidClock {
    /// Hour and minute.
    At(i8, i8, DayHalf),
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
pub enum CycleUnit {
    Day,
    Week,
    Month,
    Year,
}

impl SaidLength {
    /// Returns this length with so many times another one.
    pub fn plus(self, other: Self, count: i64) -> Self {
        let plus = |one: i64, other: i64| one.saturating_add(other.saturating_mul(count));
        Self {
            months: plus(self.months, other.months),
            days: plus(self.days, other.days),
            seconds: plus(self.seconds, other.seconds),
            ..self
        }
    }
}

impl SaidTime {
    pub fn unclear(trouble: Unclear) -> Self {
        Self { trouble: Some(trouble), ..Self::default() }
    }

    /// Whether nothing is said, unless where.
    pub fn is_empty(&self) -> bool {
        Self { zone: None, ..self.clone() } == Self::default()
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

    /// Adds what another part or place of the text says.
    pub fn add(&mut self, other: Self) {
        other.day.into_iter().for_each(|day| self.add_day(day));
        other.every.into_iter().for_each(|(interval, unit)| self.add_every(interval, unit));
        let is_twice = is_other(self.clock, other.clock) || is_other(self.part, other.part);
        if is_twice || self.after.is_some() && other.after.is_some() {
            self.fail(Unclear::Several);
        }
        self.clock = other.clock.or(self.clock);
        self.part = other.part.or(self.part);
        self.after = other.after.or(self.after);
        self.weekdays.extend(other.weekdays);
        self.start = self.start.or(other.start);
        self.zone = self.zone.take().or(other.zone);
        self.is_vague |= other.is_vague;
        self.is_japanese |= other.is_japanese;
        other.trouble.into_iter().for_each(|trouble| self.fail(trouble));
    }

    fn add_day(&mut self, day: SaidDay) {
        let Some(said) = self.day.replace(day) else { return };
        match joined(said, day).or_else(|| joined(day, said)) {
            Some((day, weekday)) => {
                self.day = Some(day);
                self.weekdays.extend(weekday);
            }
            None if said == day => {}
            None => self.fail(Unclear::Several),
        }
    }

    fn add_every(&mut self, interval: i64, unit: CycleUnit) {
        let (interval_before, unit_before) = self.every.unwrap_or((interval, unit));
        let interval = interval.max(interval_before);
        self.every = match (unit_before, unit) {
            (before, unit) if before == unit => Some((interval, unit)),
            // 「平日の毎朝」
            (CycleUnit::Day, CycleUnit::Week) | (CycleUnit::Week, CycleUnit::Day)
                if interval == 1 =>
            {
                Some((interval, CycleUnit::Week))
            }
            _ => return self.fail(Unclear::Several),
        };
    }
}

fn is_other<T: PartialEq>(one: Option<T>, other: Option<T>) -> bool {
    one.zip(other).is_some_and(|(one, other)| one != other)
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
        (Year(years), Date(None, month, day)) => YearsDate(years, month, day),
        (Weekday(weekday, _), Date(..) | Slashed(..) | DayOfMonth(..) | Plus(_)) => {
            return Some((other, Some(weekday)));
        }
        _ => return None,
    };
    Some((day, None))
}
