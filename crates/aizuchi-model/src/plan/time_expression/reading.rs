//! What the phrases of a text say of a time: their meanings, put together.

use std::ops::Range;

use jiff::civil::Weekday;
use jiff::tz::{Offset, TimeZone};

use crate::plan::grammar::{Capture, PhraseReader};
use crate::plan::recurrence::{WEEKDAYS, weekday_of};
use crate::plan::time_expression::said::{
    CycleUnit, DayHalf, SaidClock, SaidDay, SaidLength, SaidTime,
};
use crate::plan::time_expression::{Lead, Unclear};
use crate::plan::token::{Token, read_number};

/// The rules of a time's parts, in the order in which they are tried.
const PARTS: [&str; 8] = ["every", "length", "vague", "day", "clock", "part", "said_zone", "limit"];

const CYCLES: [CycleUnit; 4] = [CycleUnit::Day, CycleUnit::Week, CycleUnit::Month, CycleUnit::Year];

/// Reads one part of a time, and adds it to what is said.
pub fn read_part(reader: &mut PhraseReader<'_>, said: &mut SaidTime, lead: Lead) -> bool {
    let before = reader.before();
    let context =
        |name: &str, it: &PhraseReader<'_>| holds(name, said, lead, before).then_some(it.at);
    let mut ahead = PhraseReader { context: &context, ..*reader };
    let Some(found) = PARTS.iter().find_map(|rule| ahead.read(rule)) else { return false };
    reader.at = ahead.at;
    let mut reading =
        PartReading { tokens: reader.tokens, before: said.day, ..PartReading::default() };
    found.into_iter().for_each(|capture| reading.read(capture));
    if reading.is_start {
        said.day = None;
    }
    said.add(reading.said);
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
        "weekly" => every.is_some_and(|(_, unit)| unit == CycleUnit::Week),
        "more" => day.is_some() || clock.is_some() || every.is_some() || after.is_some(),
        "timed" => is_timed && zone.is_none(),
        "untimed" => !is_timed && zone.is_none(),
        name => name == <&str>::from(lead),
    }
}

/// What the meanings of a phrase say, from left to right: numbers, and what is made of those before it.
#[derive(Default)]
struct PartReading<'r> {
    said: SaidTime,
    tokens: &'r [Token],
    /// The day that is said before.
    before: Option<SaidDay>,
    /// Whether it is that from which on something recurs.
    is_start: bool,
    numbers: Vec<(&'static str, i64)>,
    half: Option<DayHalf>,
    unit: SaidLength,
    length: SaidLength,
    /// The name of a city.
    city: Range<usize>,
}

impl PartReading<'_> {
    fn read(&mut self, Capture { slot, tokens, meaning }: Capture) {
        let said = || Some(read_number(&self.tokens[tokens.clone()])?.0);
        match (meaning.map_or_else(said, constant), meaning) {
            (Some(number), _) => self.numbers.push((slot, number)),
            (None, Some(meaning)) => meaning.split(", ").for_each(|meaning| self.apply(meaning)),
            (None, None) if slot == "city" => self.city = tokens,
            (None, None) => {}
        }
    }

    fn apply(&mut self, meaning: &'static str) {
        use SaidDay::*;
        let mut words = meaning.split(' ');
        let name = words.next().unwrap_or_default();
        let (first, second) = (words.next(), words.next());
        // A word names a slot, or is a number.
        let mut number = |word| constant(word).unwrap_or_else(|| self.take(word).unwrap_or(1));
        let count = first.map_or(1, &mut number);
        let unit = second.map_or(0, number);
        let said = &mut self.said;
        match name {
            "plus" => said.day = Some(Plus(count)),
            "week" => said.day = Some(Week(count)),
            "weekend" => said.day = Some(Weekend(count)),
            "end_of_week" => said.day = Some(EndOfWeek(count)),
            "month" => said.day = Some(Month(count)),
            "year" => said.day = Some(Year(count)),
            "last_day" => said.day = Some(LastDay(count)),
            "first_day" => said.day = Some(DayOfMonth(1, Some(count))),
            "day_of_month" => self.said.day = Some(DayOfMonth(self.small("day"), None)),
            "date" => {
                self.said.day = Some(Date(self.year(), self.small("month"), self.small("day")));
            }
            "slashed" => {
                self.said.day = Some(Slashed(self.year(), self.small("one"), self.small("other")));
            }
            "nth" => {
                let nth = if first.is_some() { -1 } else { self.small("nth") };
                self.said.day = self.weekday("weekday").map(|day| NthWeekday(nth, day, None));
            }
            "on_weekday" => {
                let week = self.take("in_week");
                self.said.day = self.weekday("weekday").map(|day| Weekday(day, week));
            }
            "in_week" => self.numbers.push(("in_week", count)),
            "start" => said.start = said.day.take(),
            "start_before" => (said.start, self.is_start) = (self.before, true),
            "weekdays" => {
                let first = first.map_or_else(|| self.weekday("weekday"), weekday_of);
                let last = second.map_or_else(|| self.weekday("until"), weekday_of).or(first);
                let days = first.zip(last).into_iter().flat_map(|(first, last)| {
                    (0..=first.until(last)).map(move |more| first.wrapping_add(more))
                });
                self.said.weekdays.extend(days);
            }
            "every" => {
                let unit = usize::try_from(unit).ok().and_then(|unit| CYCLES.get(unit));
                said.every = unit.map(|unit| (count, *unit));
            }
            "part" => said.part = first.and_then(|part| part.parse().ok()),
            "clock" => self.add_clock(first.is_some()),
            "unchanged" => said.clock = Some(SaidClock::Unchanged),
            "seconds" => self.unit = SaidLength { seconds: count, ..SaidLength::default() },
            "days" => self.unit = SaidLength { days: count, ..SaidLength::default() },
            "months" => self.unit = SaidLength { months: count, ..SaidLength::default() },
            "amount" => self.add_amount(),
            "after" => said.after = Some(self.length),
            "ago" => said.after = Some(SaidLength::default().plus(self.length, -1)),
            "after_day" => said.after = Some(SaidLength { is_from_day: true, ..self.length }),
            "zone" => self.add_zone(TimeZone::get(first.unwrap_or_default()).ok(), second),
            "offset" => {
                let minutes = self.take("minutes").unwrap_or(0).min(59);
                let seconds = count * (self.take("hours").unwrap_or(0) * 60 + minutes) * 60;
                let seconds = i32::try_from(seconds).ok();
                let offset = seconds.and_then(|seconds| Offset::from_seconds(seconds).ok());
                self.add_zone(offset.map(TimeZone::fixed), None);
            }
            "city" => self.add_zone(self.zone_of_city(), None),
            "unsure" => said.is_vague = true,
            "impossible" => said.fail(Unclear::Impossible),
            "several" => said.fail(Unclear::Several),
            "too_often" => said.fail(Unclear::TooOften),
            "vague" => said.fail(Unclear::Vague),
            half => {
                self.half = half.parse().ok();
                debug_assert!(self.half.is_some(), "no meaning {half}");
            }
        }
    }

    /// Returns the last number of a slot.
    fn take(&mut self, slot: &str) -> Option<i64> {
        let at = self.numbers.iter().rposition(|(name, _)| *name == slot)?;
        Some(self.numbers.remove(at).1)
    }

    /// Returns a number of a slot that is one of a date or a clock, or a larger one if it is none.
    fn small(&mut self, slot: &str) -> i8 {
        self.take(slot).map_or(0, |number| i8::try_from(number).unwrap_or(99))
    }

    fn weekday(&mut self, slot: &str) -> Option<Weekday> {
        Weekday::from_monday_zero_offset(self.take(slot)?.try_into().ok()?).ok()
    }

    fn year(&mut self) -> Option<i64> {
        self.take("year").map(|year| if year < 100 { 2000 + year } else { year })
    }

    fn add_amount(&mut self) {
        let count = self.take("count").unwrap_or(1);
        self.length = self.length.plus(self.unit, count);
        let parts = [("tenths", 100), ("hundredths", 10), ("thousandths", 1)];
        let parts = parts.into_iter().find_map(|(slot, parts)| Some(self.take(slot)? * parts));
        // Half a day or a month is no number of days.
        if parts.is_some() && self.unit.seconds == 0 && self.unit.days != 7 {
            self.said.fail(Unclear::Vague);
        }
        let seconds = (self.unit.seconds + self.unit.days * 86_400) * parts.unwrap_or(0) / 1000;
        // "1h30"
        let seconds = seconds + self.take("more").unwrap_or(0) * 60;
        self.length = self.length.plus(SaidLength { seconds, ..SaidLength::default() }, 1);
    }

    /// Adds a clock time, which may be one of the whole day.
    fn add_clock(&mut self, is_whole: bool) {
        let hhmm = self.take("hhmm");
        self.numbers.extend(hhmm.map(|it| ("hour", it / 100)));
        self.numbers.extend(hhmm.map(|it| ("minute", it % 100)));
        let (mut hour, mut minute, before) =
            (self.small("hour"), self.small("minute"), self.small("before"));
        // "quarter to seven" is in the morning, like seven.
        let is_early = before > 0 && hour == 7;
        let is_likely = (1..=12).contains(&hour) && !is_whole && hhmm.is_none() && !is_early;
        let half = self.half.unwrap_or(if is_likely { DayHalf::Likely } else { DayHalf::Whole });
        let is_impossible = match is_whole {
            // Whether twelve o'clock is noon or midnight depends on who says it.
            true => hour == 12 && matches!(half, DayHalf::Am | DayHalf::Pm),
            false => hour > 24 || hour == 24 && minute > 0,
        };
        if is_impossible {
            hour = i8::MAX;
        } else if before > minute {
            hour = match (hour, half) {
                (0, DayHalf::Whole) => 23,
                (1, half) if half != DayHalf::Whole => 12,
                (hour, _) => hour - 1,
            };
            minute += 60 - before;
        } else {
            minute -= before;
        }
        self.said.clock = Some(SaidClock::At(hour, minute, half));
    }

    fn add_zone(&mut self, zone: Option<TimeZone>, abbreviation: Option<&'static str>) {
        match zone {
            Some(zone) => self.said.zone = Some((zone, abbreviation)),
            None => self.said.fail(Unclear::Impossible),
        }
    }

    /// Returns the zone of "Berlin time".
    fn zone_of_city(&self) -> Option<TimeZone> {
        let words = self.tokens[self.city.clone()].iter().map(|token| &*token.text);
        let city = words.collect::<Vec<_>>().join("_");
        let mut names = jiff::tz::db().available();
        let name = names.find(|name| {
            let place = name.as_str().rsplit('/').next().unwrap_or_default();
            place.eq_ignore_ascii_case(&city)
        })?;
        TimeZone::get(name.as_str()).ok()
    }
}

/// Returns the number that a word stands for: itself, a day of the week, or the unit of a recurrence.
fn constant(word: &str) -> Option<i64> {
    let place = |words: &[&str]| words.iter().position(|it| *it == word)?.try_into().ok();
    let number = word.parse().ok().or_else(|| place(&WEEKDAYS));
    number.or_else(|| place(&["day", "week", "month", "year"]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::token::entries;

    #[test]
    fn each_meaning_is_known() {
        let others = [
            "typos", "numbers", "lead", "whom", "japanese_whom", "english_order", "japanese_order",
            "japanese_title",
        ];
        for (rule, meaning, _) in entries() {
            if let Some(meaning) = meaning.filter(|_| !others.contains(&rule)) {
                let meaning = Some(meaning);
                PartReading::default().read(Capture { slot: rule, tokens: 0..0, meaning });
            }
        }
    }
}
