//! What the phrases of a text say of a time: their meanings, put together.

use jiff::civil::Weekday::{self, Friday, Monday, Thursday, Tuesday, Wednesday};
use jiff::tz::{Offset, TimeZone};

use crate::plan::grammar::{Capture, Reader, Value};
use crate::plan::recurrence::weekday_of;
use crate::plan::time_expression::said::{
    CycleUnit, DayHalf, SaidClock, SaidDay, SaidLength, SaidTime, SaidZone,
};
use crate::plan::time_expression::{Lead, Unclear};
use crate::plan::token::Token;

/// The rules of a time's parts, in the order in which they are tried.
const PARTS: [&str; 8] = ["every", "length", "vague", "day", "clock", "part", "said_zone", "limit"];

const WORKDAYS: [Weekday; 5] = [Monday, Tuesday, Wednesday, Thursday, Friday];

const CYCLES: [(&str, CycleUnit); 4] = [
    ("day", CycleUnit::Day),
    ("week", CycleUnit::Week),
    ("month", CycleUnit::Month),
    ("year", CycleUnit::Year),
];

/// Reads one part of a time, and adds it to what is said.
pub fn read_part(reader: &mut Reader<'_>, said: &mut SaidTime, lead: Lead) -> bool {
    let (before, start) = (reader.before(), reader.at);
    let context = |name: &str, _: &Reader<'_>| holds(name, said, lead, before).then_some(start);
    let mut ahead = Reader { context: &context, ..*reader };
    let Some(found) = PARTS.iter().find_map(|rule| ahead.read(rule)) else { return false };
    reader.at = ahead.at;
    let mut reading = Reading::new(said, reader.tokens);
    found.into_iter().for_each(|capture| reading.add(capture));
    reading.add_day();
    true
}

/// Whether something holds of what is said before a part, of the word that leads to it, or of the one before it.
fn holds(condition: &str, said: &SaidTime, lead: Lead, before: &str) -> bool {
    let SaidTime { day, clock, part, after, every, zone, .. } = said;
    let is_timed = clock.is_some() || part.is_some();
    let is_bound = every.is_some() && lead == Lead::Bound;
    match condition {
        "led" => lead != Lead::None,
        "alone" => ["", "、", "。", ",", "\n"].contains(&before),
        "day" => day.is_some(),
        "other_day" => day.is_some_and(|day| day != SaidDay::Plus(0)),
        "no_clock" => clock.is_none(),
        "every" => every.is_some(),
        "every_until" => is_bound && before != "from",
        "every_from" => is_bound && before == "from",
        "weekly" => every.is_some_and(|every| every.unit == CycleUnit::Week),
        "more" => day.is_some() || clock.is_some() || every.is_some() || after.is_some(),
        "timed" => is_timed && zone.is_none(),
        "untimed" => !is_timed && zone.is_none(),
        name => name == <&str>::from(lead),
    }
}

/// The meanings of a phrase, from left to right: numbers, and what is made of those before it.
struct Reading<'r> {
    said: &'r mut SaidTime,
    tokens: &'r [Token],
    numbers: Vec<(&'static str, i64)>,
    half: Option<DayHalf>,
    unit: SaidLength,
    length: SaidLength,
    day: Option<SaidDay>,
    /// The token at which the name of a city begins.
    city: usize,
}

impl<'r> Reading<'r> {
    fn new(said: &'r mut SaidTime, tokens: &'r [Token]) -> Self {
        let (unit, length) = (SaidLength::default(), SaidLength::default());
        Self { said, tokens, numbers: Vec::new(), half: None, unit, length, day: None, city: 0 }
    }

    fn add(&mut self, Capture { slot, value }: Capture) {
        match value {
            Value::Number(number) => self.numbers.push((slot, number)),
            Value::Tokens(start, _) if slot == "city" => self.city = start,
            Value::Tokens(..) => {}
            Value::Meaning(meaning) => match constant(meaning) {
                Some(number) => self.numbers.push((slot, number)),
                None => meaning.split(", ").for_each(|meaning| self.apply(meaning)),
            },
        }
    }

    fn apply(&mut self, meaning: &'static str) {
        use SaidDay::*;
        let mut words = meaning.split(' ');
        let name = words.next().unwrap_or_default();
        let (first, second) = (words.next(), words.next());
        let number = first.map(|word| constant(word).or_else(|| self.take(word)).unwrap_or(1));
        let count = number.unwrap_or(1);
        match name {
            "plus" => self.set_day(Plus(count)),
            "week" => self.set_day(Week(count)),
            "weekend" => self.set_day(Weekend(count)),
            "end_of_week" => self.set_day(EndOfWeek(count)),
            "month" => self.set_day(Month(count)),
            "year" => self.set_day(Year(count)),
            "last_day" => self.set_day(LastDay(count)),
            "first_day" => self.set_day(DayOfMonth(1, Some(count))),
            "day_of_month" => {
                let day = self.take("day").unwrap_or(0);
                self.set_day(DayOfMonth(day, None));
            }
            "date" => {
                let year = self.year();
                let (month, day) = (self.take("month").unwrap_or(0), self.take("day").unwrap_or(0));
                self.set_day(Date { year, month, day });
            }
            "slashed" => {
                let year = self.year();
                let (one, other) = (self.take("one").unwrap_or(0), self.take("other").unwrap_or(0));
                self.set_day(Slashed { year, one, other });
            }
            "nth" => {
                let nth = number.or_else(|| self.take("nth")).and_then(|nth| nth.try_into().ok());
                let weekday = self.weekday("weekday").unwrap_or(Monday);
                self.set_day(NthWeekday(nth.unwrap_or(1), weekday, None));
            }
            "on_weekday" => {
                let weekday = self.weekday("weekday").unwrap_or(Monday);
                let week = self.take("in_week");
                self.set_day(Weekday(weekday, week));
            }
            "coming" => {}
            "in_week" => self.numbers.push(("in_week", count)),
            "start" => self.said.start = self.day.take().or_else(|| self.said.day.take()),
            "weekdays" => {
                let first = first.and_then(weekday_of).or_else(|| self.weekday("weekday"));
                let first = first.unwrap_or(Monday);
                let last = self.weekday("until").unwrap_or(first);
                let days = (0..=first.until(last)).map(|more| first.wrapping_add(more));
                self.said.weekdays.extend(days);
            }
            "workdays" => {
                self.said.add_every(1, CycleUnit::Week);
                self.said.weekdays.extend(WORKDAYS);
            }
            "every" => {
                let unit = second.map(|word| constant(word).or_else(|| self.take(word)));
                let unit = unit.flatten().and_then(|at| usize::try_from(at).ok());
                let unit = unit.and_then(|at| CYCLES.get(at)).map_or(CycleUnit::Day, |it| it.1);
                self.said.add_every(count, unit);
            }
            "part" => match first.map(str::parse) {
                Some(Ok(part)) => self.said.add_part(part),
                _ => debug_assert!(false, "{meaning}"),
            },
            "clock" => self.add_clock(first.is_some()),
            "unchanged" => self.said.add_clock(SaidClock::Unchanged),
            "seconds" => self.unit = SaidLength::seconds(count),
            "minutes" => self.unit = SaidLength::seconds(60),
            "hours" => self.unit = SaidLength::seconds(3600),
            "days" => self.unit = SaidLength { days: count, ..SaidLength::default() },
            "months" => self.unit = SaidLength { months: count, ..SaidLength::default() },
            "amount" => self.add_amount(),
            "amount_of" => self.length = self.length.plus(SaidLength::seconds(count * 60)),
            "after" => self.said.add_after(self.length),
            "ago" => self.said.add_after(self.length.times(-1)),
            "after_day" => self.said.add_after(SaidLength { is_from_day: true, ..self.length }),
            "zone" => {
                let zone = TimeZone::get(first.unwrap_or_default());
                self.add_zone(zone.ok(), second);
            }
            "offset" => {
                let hours = count * self.take("hours").unwrap_or(0) * 3600;
                let seconds = hours + count * self.take("minutes").unwrap_or(0).min(59) * 60;
                let offset =
                    i32::try_from(seconds).ok().and_then(|it| Offset::from_seconds(it).ok());
                self.add_zone(offset.map(TimeZone::fixed), None);
            }
            "city" => self.add_zone(self.zone_of_city(), None),
            "unsure" => self.said.is_vague = true,
            "impossible" => self.said.fail(Unclear::Impossible),
            "several" => self.said.fail(Unclear::Several),
            "too_often" => self.said.fail(Unclear::TooOften),
            "vague" => self.said.fail(Unclear::Vague),
            half => match half.parse() {
                Ok(half) => self.half = Some(half),
                Err(_) => debug_assert!(false, "{meaning}"),
            },
        }
    }

    /// Returns the last number of a slot.
    fn take(&mut self, slot: &str) -> Option<i64> {
        let at = self.numbers.iter().rposition(|(name, _)| *name == slot)?;
        Some(self.numbers.remove(at).1)
    }

    fn weekday(&mut self, slot: &str) -> Option<Weekday> {
        Weekday::from_monday_zero_offset(self.take(slot)?.try_into().ok()?).ok()
    }

    fn year(&mut self) -> Option<i64> {
        self.take("year").map(|year| if year < 100 { 2000 + year } else { year })
    }

    fn set_day(&mut self, day: SaidDay) {
        self.add_day();
        self.day = Some(day);
    }

    fn add_day(&mut self) {
        self.day.take().into_iter().for_each(|day| self.said.add_day(day));
    }

    fn add_amount(&mut self) {
        let count = self.take("count").unwrap_or(1);
        let mut length = self.unit.times(count);
        let parts = [("tenths", 100), ("hundredths", 10), ("thousandths", 1)];
        let parts = parts.into_iter().find_map(|(slot, parts)| Some(self.take(slot)? * parts));
        if let Some(parts) = parts {
            // Half a day or a month is no number of days.
            let is_divisible = self.unit.seconds > 0 || self.unit.days == 7;
            self.said.fail_if(!is_divisible, Unclear::Vague);
            let seconds = (self.unit.seconds + self.unit.days * 86_400) * parts / 1000;
            length = length.plus(SaidLength::seconds(seconds));
        }
        // "1h30"
        let minutes = self.take("more").unwrap_or(0);
        self.length = self.length.plus(length).plus(SaidLength::seconds(minutes * 60));
    }

    /// Adds a clock time, which may be one of the whole day.
    fn add_clock(&mut self, is_whole: bool) {
        let hhmm = self.take("hhmm");
        let hour = hhmm.map(|it| it / 100).or_else(|| self.take("hour")).unwrap_or(0);
        let mut minute = hhmm.map(|it| it % 100).or_else(|| self.take("minute")).unwrap_or(0);
        let before = self.take("before");
        // "quarter to seven" is in the morning, like seven.
        let is_likely = (1..=12).contains(&hour) && !is_whole && hhmm.is_none();
        let likely = if is_likely && !(before.is_some() && hour == 7) {
            DayHalf::Likely
        } else {
            DayHalf::Whole
        };
        let half = self.half.take();
        let mut hour = match half {
            // Whether twelve o'clock is noon or midnight depends on who says it.
            Some(DayHalf::Am | DayHalf::Pm) if is_whole && hour == 12 => 99,
            _ if !is_whole && (hour > 24 || hour == 24 && minute > 0) => 99,
            _ => hour,
        };
        let half = half.unwrap_or(likely);
        if let Some(before) = before {
            let noon = if half != DayHalf::Whole && hour < 2 { 12 } else { 0 };
            let total = (hour.min(99) + noon) * 60 + minute.min(99) - before;
            (hour, minute) = (total.div_euclid(60).rem_euclid(24), total.rem_euclid(60));
        }
        self.said.add_clock(SaidClock::At { hour, minute, half });
    }

    fn add_zone(&mut self, zone: Option<TimeZone>, abbreviation: Option<&'static str>) {
        match zone {
            Some(zone) => self.said.zone = Some(SaidZone { zone, abbreviation }),
            None => self.said.fail(Unclear::Impossible),
        }
    }

    /// Returns the zone of "Berlin time".
    fn zone_of_city(&self) -> Option<TimeZone> {
        let words = self.tokens.iter().skip(self.city).map(|token| &*token.text);
        let city = words.take_while(|word| *word != "time").collect::<Vec<_>>().join("_");
        let mut names = jiff::tz::db().available();
        let name = names.find(|name| {
            let place = name.as_str().rsplit('/').next().unwrap_or_default();
            place.eq_ignore_ascii_case(&city)
        })?;
        TimeZone::get(name.as_str()).ok()
    }
}

/// Returns the number that a word stands for.
fn constant(word: &str) -> Option<i64> {
    let weekday = || weekday_of(word).map(|day| day.to_monday_zero_offset().into());
    let cycle = || CYCLES.iter().position(|(name, _)| *name == word)?.try_into().ok();
    word.parse().ok().or_else(weekday).or_else(cycle)
}
