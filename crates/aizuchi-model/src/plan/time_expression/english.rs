//! The parts of a time in English: "on Friday", "at half past five", "in 20 minutes", "every second Tuesday".

mod length;
mod day;
pub mod clock;

use jiff::civil::Weekday::{self, Saturday};

use crate::plan::time_expression::english::clock::{read_clock, read_said_zone};
use crate::plan::time_expression::english::day::{
    DAY_SUFFIXES, WEEKDAYS, read_day, read_month_day, read_nth_weekday, read_ordinal,
};
use crate::plan::time_expression::english::length::read_length;
use crate::plan::time_expression::lead::Lead;
use crate::plan::time_expression::said::SaidDay::{DayOfMonth, LastDay, NthWeekday};
use crate::plan::time_expression::said::{self, CycleUnit, CycleWord, DayPart, SaidTime};
use crate::plan::time_expression::token::TokenReader;
use crate::plan::time_expression::{Unclear, series};
use crate::plan::words::{ENGLISH, word_lists};

word_lists! { ENGLISH;
    INTERVALS: (&str, i64),
    HOURS: (&str, DayPart),
    PARTS: (&str, DayPart),
    VAGUE: &str,
    VAGUE_BEHIND_LEAD: &str,
    CYCLES: (&str, CycleUnit),
    CYCLE_WORDS: (&str, CycleWord),
    WORKDAYS: &str,
    TOO_OFTEN: &str,
}

const OF_MONTH: [&str; 4] = ["of the month", "of each month", "of every month", "of month"];

/// Reads one part of a time, and adds it to what is said.
pub fn read_part(reader: &mut TokenReader<'_>, said: &mut SaidTime, lead: Lead) -> bool {
    read_every(reader, said)
        || read_length(reader, said, lead)
        || read_vague(reader, said, lead)
        || read_day(reader, said, lead)
        || read_day_part(reader, said)
        || read_clock(reader, said, lead)
        || read_said_zone(reader, said)
        || read_limit(reader, said, lead)
}

/// Reads "every second Tuesday", "daily", "on weekdays".
fn read_every(reader: &mut TokenReader<'_>, said: &mut SaidTime) -> bool {
    if let Some(word) = reader.eat_of(&CYCLE_WORDS) {
        said.add_cycle_word(word);
        return true;
    }
    let is_many = WEEKDAYS.iter().any(|(day, _)| day.ends_with("days") && *day == reader.peek());
    if is_many {
        let days = read_weekdays(reader);
        said.add_weekdays(&days);
        return true;
    }
    let start = reader.at;
    if !reader
        .eat_any(&["every single", "every", "each", "once every", "of every", "of each", "of the"])
    {
        return false;
    }
    if reader.before() == "the" {
        // "the first Monday of the month" is not every month's.
        let is_month = said.day.is_some() && reader.eat("month");
        reader.at = if is_month { reader.at } else { start };
        return is_month;
    }
    let is_cycle = read_cycle(reader, said);
    reader.at = if is_cycle { reader.at } else { start };
    is_cycle
}

/// Reads what comes after "every".
fn read_cycle(reader: &mut TokenReader<'_>, said: &mut SaidTime) -> bool {
    let start = reader.at;
    if let Some(day @ NthWeekday(nth, weekday, _)) = reader.attempt(read_nth_weekday) {
        let is_of_month = reader.eat_any(&OF_MONTH);
        match (nth, is_of_month) {
            (2, false) => {
                said.add_every(2, CycleUnit::Week);
                said.weekdays.push(weekday);
            }
            (3.., false) => said.fail(Unclear::Vague),
            _ => {
                said.add_every(1, CycleUnit::Month);
                said.add_day(day);
            }
        }
        return true;
    }
    if reader.eat_any(&["last day", "month end", "month-end", "end of the month", "end of month"]) {
        reader.eat_any(&OF_MONTH);
        said.add_every(1, CycleUnit::Month);
        said.add_day(LastDay(0));
        return true;
    }
    if let Some(date) = reader.attempt(read_month_day) {
        said.add_every(1, CycleUnit::Year);
        said.add_day(date);
        return true;
    }
    let interval = reader.eat_of(&INTERVALS).or_else(|| {
        reader.attempt(|it| it.number().filter(|_| !DAY_SUFFIXES.contains(&it.peek())))
    });
    if reader.eat_any(&TOO_OFTEN) {
        said.fail(Unclear::TooOften);
    } else if reader.eat_any(&WORKDAYS) {
        match interval {
            None => said.add_weekdays(&said::WORKDAYS),
            Some(_) => said.fail(Unclear::Vague),
        }
    } else if reader.eat("weekend") {
        said.add_every(interval.unwrap_or(1), CycleUnit::Week);
        said.weekdays.push(Saturday);
    } else if reader.eat("fortnight") {
        said.add_every(2 * interval.unwrap_or(1).clamp(1, 99), CycleUnit::Week);
    } else if let Some(unit) = reader.eat_of(&CYCLES) {
        said.add_every(interval.unwrap_or(1), unit);
    } else if let Some(part) = reader.eat_of(&PARTS).or_else(|| reader.eat_of(&HOURS)) {
        said.add_every(interval.unwrap_or(1), CycleUnit::Day);
        said.add_part(part);
    } else if let Some(day) = reader.attempt(read_ordinal).filter(|_| interval.is_none()) {
        reader.eat_any(&OF_MONTH);
        said.add_every(1, CycleUnit::Month);
        said.add_day(DayOfMonth(day, None));
    } else {
        let days = read_weekdays(reader);
        if !days.is_empty() {
            said.add_every(interval.unwrap_or(1), CycleUnit::Week);
            said.weekdays.extend(days);
        } else if reader.eat_any(&["quarter", "few", "couple of", "half"]) {
            said.fail(Unclear::Vague);
        } else {
            reader.at = start;
            return false;
        }
    }
    true
}

/// Reads "Monday and Thursday", "Mon-Fri".
fn read_weekdays(reader: &mut TokenReader<'_>) -> Vec<Weekday> {
    let read_next = |it: &mut TokenReader<'_>, is_first| {
        (is_first || it.eat_any(&[",", "and", ", and", "&", "or", "/"])).then_some(())?;
        it.eat("on");
        it.eat_of(&WEEKDAYS)
    };
    series::read_weekdays(reader, &["-", "–", "to", "through"], read_next, |it| {
        it.eat_of(&WEEKDAYS)
    })
}

fn read_vague(reader: &mut TokenReader<'_>, said: &mut SaidTime, lead: Lead) -> bool {
    let is_day = reader.eat_any(&["later today", "later tonight"]);
    if is_day {
        reader.at -= 1;
    }
    let is_led = matches!(lead, Lead::In | Lead::At) && reader.eat_any(&VAGUE_BEHIND_LEAD);
    let is_vague = is_day || is_led || reader.eat_any(&VAGUE);
    said.is_vague |= is_vague;
    is_vague
}

/// Reads "in the morning", "noon"; and behind a day or a clock time, "morning".
fn read_day_part(reader: &mut TokenReader<'_>, said: &mut SaidTime) -> bool {
    let has_more =
        said.day.is_some() || said.clock.is_some() || said.every.is_some() || said.after.is_some();
    let is_off = has_more && reader.eat_any(&["early", "late"]);
    let part = reader.eat_of(&HOURS).or_else(|| has_more.then(|| reader.eat_of(&PARTS)).flatten());
    match (part, is_off) {
        (Some(part), _) => {
            said.add_part(part);
            said.is_vague |= is_off;
        }
        (None, true) => reader.at -= 1,
        (None, false) => {}
    }
    part.is_some()
}

/// Reads from when on, or until when, something recurs.
fn read_limit(reader: &mut TokenReader<'_>, said: &mut SaidTime, lead: Lead) -> bool {
    if said.every.is_none() {
        return false;
    }
    let start = reader.at;
    let is_bound = lead == Lead::Bound;
    let is_end = reader.eat_any(&["until", "till", "through", "except", "but not", "for the next"])
        || is_bound && reader.before() != "from";
    if said.fail_if(is_end, Unclear::Vague) {
        return true;
    }
    if is_bound
        || reader.eat_any(&[
            "starting", "beginning", "starting from", "starting on", "as of", "beginning on",
        ])
    {
        reader.eat("on");
        let mut from = SaidTime::default();
        if read_day(reader, &mut from, Lead::On) {
            said.start = from.day;
            return true;
        }
    }
    reader.at = start;
    false
}
