//! Days in English: "next Friday", "the second Tuesday", "December 4th", "12/24".

use jiff::civil::Weekday;

use crate::plan::recurrence::LAST;
use crate::plan::time_expression::Unclear;
use crate::plan::time_expression::lead::Lead;
use crate::plan::time_expression::said::SaidDay::{Date, DayOfMonth, NthWeekday, Plus};
use crate::plan::time_expression::said::{DayPart, SaidDay, SaidLength, SaidTime};
use crate::plan::time_expression::token::TokenReader;
use crate::plan::words::{ENGLISH, word_lists};

word_lists! { ENGLISH;
    pub WEEKDAYS: (&str, Weekday),
    DAYS: (&str, SaidDay),
    DAY_PARTS: (&str, (i64, DayPart)),
    WEEKS: (&str, Option<i64>),
    MONTHS: (&str, i64),
    ORDINALS: (&str, i64),
}

/// What stands behind the number of a day.
pub const DAY_SUFFIXES: [&str; 4] = ["st", "nd", "rd", "th"];

pub fn read_day(reader: &mut TokenReader<'_>, said: &mut SaidTime, lead: Lead) -> bool {
    if let Some((days, part)) = reader.eat_of(&DAY_PARTS) {
        said.add_day(Plus(days));
        said.add_part(part);
        return true;
    }
    let the = reader.at;
    let has_article = reader.eat("the");
    if let Some(day) = reader.attempt(read_nth_weekday) {
        said.add_day(day);
        // The one of a named month.
        let is_dated = reader.behind(&["of", "in"], |it| it.eat_of(&MONTHS)).is_some();
        said.fail_if(is_dated, Unclear::Vague);
        let is_near = |it: &TokenReader<'_>| ["next", "this"].contains(&it.peek());
        reader.behind(&["of", "in"], |it| is_near(it).then_some(()));
        return true;
    }
    if let Some(date) = reader.attempt(read_month_day) {
        said.add_day(date);
        return true;
    }
    let ordinal = reader.attempt(read_ordinal);
    if let Some(day) = ordinal.filter(|_| has_article || lead == Lead::On || lead == Lead::By) {
        said.add_day(DayOfMonth(day, None));
        if reader.peek() == "of" && ["next", "this"].contains(&reader.peek_at(1)) {
            reader.at += 1;
        }
        return true;
    }
    reader.at = the;
    let day = reader.eat_of(&DAYS).or_else(|| reader.behind(&["the"], |it| it.eat_of(&DAYS)));
    let day = day.or_else(|| reader.attempt(read_iso)).or_else(|| reader.attempt(read_slashed));
    day.into_iter().for_each(|day| said.add_day(day));
    day.is_some() || read_weekday(reader, said, lead)
}

/// Reads "Friday", "next Friday", "Friday week".
fn read_weekday(reader: &mut TokenReader<'_>, said: &mut SaidTime, lead: Lead) -> bool {
    let found = reader.attempt(|it| {
        let week = it.eat_of(&WEEKS);
        let name = it.peek();
        let day = it.eat_of(&WEEKDAYS)?;
        // "sat" and "sun" are words, too.
        let is_word = ["sat", "sun", "mon", "wed"].contains(&name);
        let goes_on = ["at", ",", "", "to", ".", "morning", "afternoon", "evening", "night"];
        let is_day = week.is_some() || lead != Lead::None || goes_on.contains(&it.peek());
        let is_clock = it.peek().starts_with(|letter: char| letter.is_ascii_digit());
        if name.len() < 5 && name != "tues" {
            it.eat(".");
        }
        (!is_word || is_day || is_clock).then_some((day, week))
    });
    let Some((day, week)) = found else { return false };
    let week = match (week.flatten(), reader.eat_any(&["week", "after next"])) {
        (week, false) => week,
        (_, true) if reader.before() == "next" => Some(2),
        (_, true) => {
            // A week after the coming one.
            said.add_after(SaidLength { days: 7, is_from_day: true, ..SaidLength::default() });
            None
        }
    };
    said.add_day(SaidDay::Weekday(day, week));
    let is_list = reader.behind(&["and", "or", "/", "&", "and on"], |it| it.eat_of(&WEEKDAYS));
    said.fail_if(is_list.is_some(), Unclear::Several);
    true
}

/// Reads "the second Tuesday", "last Friday of".
pub fn read_nth_weekday(reader: &mut TokenReader<'_>) -> Option<SaidDay> {
    let nth = reader.attempt(read_ordinal).or_else(|| reader.eat_of(&ORDINALS))?;
    let weekday = reader.eat_of(&WEEKDAYS)?;
    // "last Friday" has passed.
    let is_of = reader.peek() == "of" || reader.peek() == "in" || reader.before().ends_with("days");
    let is_last = nth == -1;
    let nth =
        if is_last { LAST } else { i8::try_from(nth).ok().filter(|nth| (1..=4).contains(nth))? };
    let first = &reader.tokens[reader.at.saturating_sub(3)].text;
    let is_every = ["every", "each"].contains(&first.as_str());
    (!is_last || is_of || is_every).then_some(NthWeekday(nth, weekday, None))
}

/// Reads "4th", "first of".
pub fn read_ordinal(reader: &mut TokenReader<'_>) -> Option<i64> {
    if let Some((day, _)) = reader.digits() {
        return (reader.is_close() && reader.eat_any(&DAY_SUFFIXES)).then_some(day);
    }
    let day = reader.eat_of(&ORDINALS).filter(|nth| *nth > 0)?;
    let next = reader.peek();
    let is_weekday = WEEKDAYS.iter().any(|(name, _)| *name == next);
    (is_weekday || ["of", "day"].contains(&next)).then_some(day)
}

/// Reads "December 4th, 2026", "4 Dec", "4th of December".
pub fn read_month_day(reader: &mut TokenReader<'_>) -> Option<SaidDay> {
    let (month, day) = match reader.eat_of(&MONTHS) {
        Some(month) => {
            reader.eat(".");
            reader.eat("the");
            let (day, _) = reader.digits().filter(|(_, digits)| *digits <= 2)?;
            let is_suffix = reader.is_close() && reader.eat_any(&DAY_SUFFIXES);
            // "Dec 4:30" has no day.
            (is_suffix || !(reader.is_close() && reader.peek() == ":")).then_some(())?;
            (month, day)
        }
        None => {
            let day = match reader.digits() {
                Some((day, digits)) => (digits <= 2).then_some(day)?,
                None => reader.eat_of(&ORDINALS).filter(|nth| *nth > 0)?,
            };
            if reader.is_close() {
                reader.eat_any(&["st", "nd", "rd", "th", "."]);
            }
            reader.eat("of");
            let month = reader.eat_of(&MONTHS)?;
            reader.eat(".");
            (month, day)
        }
    };
    let year = reader.attempt(|it| {
        it.eat(",");
        it.digits().filter(|(year, digits)| {
            *digits == 4 && (1900..2200).contains(year) && it.peek() != ":"
        })
    });
    Some(Date { year: year.map(|(year, _)| year), month, day })
}

/// Reads "12/24", "24.12.2026". Where both orders are possible, it depends on where somebody lives.
fn read_slashed(reader: &mut TokenReader<'_>) -> Option<SaidDay> {
    let (one, _) = reader.digits().filter(|(_, digits)| *digits <= 2)?;
    let mark = ["/", "."].into_iter().find(|mark| reader.is_close() && reader.eat(mark))?;
    let (other, digits) = reader.is_close().then(|| reader.digits()).flatten()?;
    let year = reader.attempt(|it| {
        (it.is_close() && it.eat(mark) && it.is_close()).then(|| it.digits()).flatten()
    });
    let year = year.map(|(year, digits)| if digits == 2 { 2000 + year } else { year });
    let is_ended = reader.is_close() && reader.peek() == "." && other <= 12;
    let is_date = mark == "/" || year.is_some() || is_ended;
    if mark == "." && year.is_none() {
        reader.eat(".");
    }
    (digits <= 2 && is_date && !reader.eat_any(&["/", "%"])).then_some(match mark {
        "." => Date { year, month: other, day: one },
        _ => SaidDay::Slashed { year, one, other },
    })
}

/// Reads "2026-12-04", "2026-12-04T09:00+09:00".
fn read_iso(reader: &mut TokenReader<'_>) -> Option<SaidDay> {
    let (year, _) = reader.digits().filter(|(_, digits)| *digits == 4)?;
    let mark = ["-", "/", "."].into_iter().find(|mark| reader.eat(mark))?;
    let (month, _) = reader.digits()?;
    let (day, _) = reader.behind(&[mark], TokenReader::digits)?;
    if reader.is_close() {
        reader.eat("t");
    }
    Some(Date { year: Some(year), month, day })
}
