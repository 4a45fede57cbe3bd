//! Times of the day in English: "9:30pm", "half past five", "0900 UTC".

use crate::plan::time_expression::english::length::UNITS;
use crate::plan::time_expression::lead::Lead;
use crate::plan::time_expression::said::{DayHalf, SaidClock, SaidTime};
use crate::plan::time_expression::token::{Token, TokenReader};
use crate::plan::time_expression::zone::read_zone;
use crate::plan::time_expression::{TimePhrase, Unclear};
use crate::plan::words::{ENGLISH, word_lists};

word_lists! { ENGLISH;
    HALVES: (&str, DayHalf),
}

pub fn read_clock(reader: &mut TokenReader<'_>, said: &mut SaidTime, lead: Lead) -> bool {
    if reader.eat_any(&["the same time", "same time", "this time", "the same hour"]) {
        said.add_clock(SaidClock::Unchanged);
        return true;
    }
    let Some(clock) = reader.attempt(|it| read_clock_time(it, said, lead)) else { return false };
    said.add_clock(clock);
    reader.eat_any(&["sharp", "ish", "or so", "exactly", "on the dot", "-ish", "hours", "hrs"]);
    read_said_zone(reader, said);
    let is_range = reader.behind(
        &["-", "–", "—", "~", "or", "and", "to", "until", "till", "and at", "or at"],
        |it| read_clock_time(it, said, Lead::At),
    );
    said.fail_if(is_range.is_some(), Unclear::Several);
    true
}

fn read_clock_time(reader: &mut TokenReader<'_>, said: &SaidTime, lead: Lead) -> Option<SaidClock> {
    if let Some(clock) = reader.attempt(read_half_past) {
        return Some(clock);
    }
    let is_zero = reader.peek().starts_with('0');
    let (mut hour, count) = match reader.digits() {
        Some(digits) => digits,
        None => (reader.number().filter(|hour| *hour <= 12)?, 0),
    };
    let minute = reader.attempt(|it| {
        let is_colon = count > 0 && it.is_close() && it.eat_any(&[":", "."]) && it.is_close();
        match (is_colon, count) {
            (true, 1..=2) => {
                it.digits().filter(|(_, digits)| *digits == 2).map(|(minute, _)| minute)
            }
            (false, 0) => it.number().filter(|minute| (10..60).contains(minute)),
            _ => None,
        }
    });
    // "17:00:30"
    reader.attempt(|it| (minute.is_some() && it.eat(":")).then(|| it.digits()).flatten());
    let half = reader.eat_of(&HALVES);
    let half = half.or_else(|| {
        let is_close = count > 0 && reader.is_close();
        is_close.then(|| reader.eat_of(&[("a", DayHalf::Am), ("p", DayHalf::Pm)])).flatten()
    });
    let is_oclock = reader.eat_any(&["o'clock", "oclock", "o' clock"])
        || (count > 0 && reader.is_close() && reader.eat("h"));
    let mut minute_of = minute.unwrap_or(0);
    let is_military = count == 4 && minute.is_none();
    if is_military {
        (minute_of, hour) = (hour % 100, hour / 100);
    }
    let is_led = matches!(lead, Lead::At | Lead::By | Lead::After | Lead::For | Lead::Bound);
    let is_named = half.is_some() || is_oclock || (minute.is_some() && count > 0);
    let goes_on = ["", "to", "please", "pls", "that", "and", "in", "on", "for"];
    let is_behind = said.day.is_some() || said.every.is_some();
    let next_is_mark = reader.peek().starts_with(|letter: char| !letter.is_alphanumeric());
    let is_bare = is_behind && (next_is_mark || goes_on.contains(&reader.peek()));
    let is_unit = UNITS.iter().any(|(unit, _)| *unit == reader.peek())
        || ["%", "/", "$", "percent", "people", "of"].contains(&reader.peek());
    if is_military && (hour > 23 || minute_of > 59) {
        return None;
    }
    // "at 25 degrees"
    if !is_named && (hour > 24 || is_unit || !(is_led || is_bare)) {
        return None;
    }
    let half = half.unwrap_or(match (hour, is_zero || is_military) {
        (1..=12, false) => DayHalf::Likely,
        _ => DayHalf::Whole,
    });
    let (hour, minute) =
        if hour > 24 || (hour == 24 && minute_of > 0) { (99, 0) } else { (hour, minute_of) };
    Some(SaidClock::At { hour, minute, half })
}

/// Reads "half past five", "quarter to nine", "ten past 3pm".
fn read_half_past(reader: &mut TokenReader<'_>) -> Option<SaidClock> {
    reader.eat("a");
    let minutes = match reader.eat_of(&[("half", 30), ("quarter", 15)]) {
        Some(minutes) => minutes,
        None => {
            let minutes = reader.number().filter(|minutes| (1..60).contains(minutes))?;
            reader.eat_any(&["minutes", "min", "mins"]);
            minutes
        }
    };
    let is_before =
        reader.eat_of(&[("past", false), ("after", false), ("to", true), ("before", true)])?;
    let hour = reader.number().filter(|hour| (0..=23).contains(hour))?;
    (reader.peek() != ":" && !(minutes == 30 && is_before)).then_some(())?;
    // "quarter to seven" is in the morning, like seven.
    let half = if hour == 7 && is_before { DayHalf::Whole } else { DayHalf::Likely };
    let said = reader.eat_of(&[("am", DayHalf::Am), ("pm", DayHalf::Pm), ("o'clock", half)]);
    let (hour, minute) = match (is_before, hour) {
        (false, hour) => (hour, minutes),
        (true, 0 | 1) => (hour + 11, 60 - minutes),
        (true, hour) => (hour - 1, 60 - minutes),
    };
    let half = if hour > 12 { DayHalf::Whole } else { said.unwrap_or(half) };
    Some(SaidClock::At { hour, minute, half })
}

/// Reads the zone of a time of the day.
pub fn read_said_zone(reader: &mut TokenReader<'_>, said: &mut SaidTime) -> bool {
    let has_time = said.clock.is_some() || said.part.is_some();
    let zone = if has_time && said.zone.is_none() { read_zone(reader) } else { None };
    let is_said = zone.is_some();
    zone.into_iter().for_each(|zone| said.add_zone(zone));
    is_said
}

/// Finds the clock time of "make it 5", "move it to 5".
pub fn bare_clock(tokens: &[Token]) -> Option<TimePhrase> {
    let at =
        tokens.iter().position(|token| token.text.starts_with(|it: char| it.is_ascii_digit()))?;
    let mut reader = TokenReader::new(tokens, at);
    let mut said = SaidTime::default();
    let is_asked = ["", "it", "to", "that"].contains(&reader.before());
    (is_asked && read_clock(&mut reader, &mut said, Lead::At) && reader.peek() == "")
        .then(|| TimePhrase { said, tokens: at..reader.at, lead: Lead::At })
}
