//! How long from now, in English: "in 20 minutes", "an hour and a half ago", "a week from Friday".

use crate::plan::time_expression::lead::Lead;
use crate::plan::time_expression::said::{SaidLength, SaidTime};
use crate::plan::time_expression::token::TokenReader;
use crate::plan::time_expression::{Unclear, series};
use crate::plan::words::{ENGLISH, word_lists};

word_lists! { ENGLISH;
    pub UNITS: (&str, SaidLength),
    HOUR_PARTS: (&str, i64),
}

/// Reads "in 20 minutes", "an hour from now", "a week from Friday".
pub fn read_length(reader: &mut TokenReader<'_>, said: &mut SaidTime, lead: Lead) -> bool {
    let start = reader.at;
    if lead == Lead::In
        && reader.eat_any(&["the next", "a few", "several", "some", "a couple more"])
    {
        let is_length = reader.number().is_some() | reader.eat_of(&UNITS).is_some();
        reader.at = if is_length { reader.at } else { start };
        return said.fail_if(is_length, Unclear::Vague);
    }
    let Some(mut length) = reader.attempt(|it| read_amounts(it, lead)) else { return false };
    let is_about = reader.attempt(|it| it.eat("or").then(|| it.number()).flatten()).is_some();
    reader.eat_any(&["' time", "time"]);
    if is_about
        || reader.eat_any(&[
            "before", "after", "prior", "ahead", "early", "earlier", "in advance", "beforehand",
        ])
    {
        said.fail(Unclear::Vague);
    } else if reader.eat_any(&["from now", "later", "hence", "from today"]) {
    } else if reader.eat("ago") {
        length = length.times(-1);
    } else if reader.eat("from") {
        length.is_from_day = true;
    } else if lead != Lead::In {
        reader.at = start;
        return false;
    }
    said.add_after(length);
    true
}

/// Reads "20 minutes", "an hour and a half", "1h30".
fn read_amounts(reader: &mut TokenReader<'_>, lead: Lead) -> Option<SaidLength> {
    if let Some(total) = series::read_amounts(reader, &["and", ",", ", and"], read_amount) {
        return Some(total);
    }
    // "ping me in 5" means minutes.
    let minutes = reader.digits()?.0;
    let is_end = ["", ",", ".", "to", "please", "pls", "about", "!"].contains(&reader.peek());
    let is_minutes = lead == Lead::In && is_end && minutes <= 90;
    is_minutes.then(|| SaidLength::seconds(minutes * 60))
}

fn read_amount(reader: &mut TokenReader<'_>) -> Option<SaidLength> {
    if let Some(minutes) = reader.eat_of(&HOUR_PARTS) {
        return Some(SaidLength::seconds(minutes * 60));
    }
    let count = match reader.eat_of(&[("a couple of", 2), ("a couple", 2), ("a", 1), ("an", 1)]) {
        Some(count) => count,
        None => reader.number()?,
    };
    let fraction = reader.behind(&["."], |it| {
        it.is_close().then(|| it.digits()).flatten().filter(|(_, digits)| *digits <= 3)
    });
    let is_half = reader.eat("and a half") || reader.eat("1/2");
    let unit = reader.eat_of(&UNITS)?;
    let is_half = is_half || reader.eat("and a half");
    let mut length = unit.times(count);
    let parts = match (fraction, is_half) {
        (None, false) => return Some(add_minutes(reader, unit, length)),
        (Some((part, digits)), _) => part * 10_i64.pow(3 - u32::try_from(digits).ok()?),
        (None, true) => 500,
    };
    // Half a day or a month is no number of days.
    (unit.seconds > 0 || unit.days == 7).then_some(())?;
    let part_seconds = (unit.seconds + unit.days * 86_400) * parts / 1000;
    length.seconds = length.seconds.saturating_add(part_seconds);
    Some(length)
}

/// Adds the minutes of "1h30".
fn add_minutes(reader: &mut TokenReader<'_>, unit: SaidLength, length: SaidLength) -> SaidLength {
    let minutes = reader.attempt(|it| {
        let (minutes, digits) = it.is_close().then(|| it.digits()).flatten()?;
        let is_unit = UNITS.iter().any(|(name, _)| *name == it.peek());
        (unit.seconds == 3600 && digits == 2 && minutes < 60 && !is_unit).then_some(minutes)
    });
    SaidLength { seconds: length.seconds.saturating_add(minutes.unwrap_or(0) * 60), ..length }
}
