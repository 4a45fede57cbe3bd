//! The parts of a time in English: "on Friday", "at half past five", "in 20 minutes", "every second Tuesday".

use jiff::civil::Weekday::{self, Friday, Monday, Saturday, Sunday, Thursday, Tuesday, Wednesday};

use crate::plan::recurrence::LAST;
use crate::plan::time_expression::said::SaidDay::{
    Date, DayOfMonth, EndOfWeek, LastDay, Month, NthWeekday, Plus, Week, Weekend, Year,
};
use crate::plan::time_expression::said::{
    CycleUnit, DayHalf, DayPart, SaidClock, SaidDay, SaidLength, SaidTime,
};
use crate::plan::time_expression::token::{Token, TokenReader};
use crate::plan::time_expression::zone::read_zone;
use crate::plan::time_expression::{TimePhrase, Unclear};

/// What stands before a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lead {
    None,
    On,
    At,
    In,
    By,
    For,
    After,
    /// The time ends or begins something else: "until", "since".
    Bound,
}

const LEADS: [(&str, Lead); 28] = [
    ("on", Lead::On),
    ("at", Lead::At),
    ("at around", Lead::At),
    ("at about", Lead::At),
    ("at exactly", Lead::At),
    ("around", Lead::At),
    ("@", Lead::At),
    ("in", Lead::In),
    ("in about", Lead::In),
    ("in around", Lead::In),
    ("in exactly", Lead::In),
    ("in like", Lead::In),
    ("in another", Lead::In),
    ("by", Lead::By),
    ("by around", Lead::By),
    ("for", Lead::For),
    ("for around", Lead::For),
    ("after", Lead::After),
    ("until", Lead::Bound),
    ("till", Lead::Bound),
    ("before", Lead::Bound),
    ("since", Lead::Bound),
    ("from", Lead::Bound),
    ("between", Lead::Bound),
    ("over", Lead::On),
    ("during", Lead::Bound),
    ("through", Lead::Bound),
    ("within", Lead::Bound),
];

const DAYS: [(&str, SaidDay); 49] = [
    ("today", Plus(0)),
    ("later today", Plus(0)),
    ("tomorrow", Plus(1)),
    ("the day after tomorrow", Plus(2)),
    ("day after tomorrow", Plus(2)),
    ("overmorrow", Plus(2)),
    ("yesterday", Plus(-1)),
    ("the day before yesterday", Plus(-2)),
    ("this week", Week(0)),
    ("next week", Week(1)),
    ("the week after next", Week(2)),
    ("week after next", Week(2)),
    ("last week", Week(-1)),
    ("early next week", Week(1)),
    ("the beginning of next week", Week(1)),
    ("the start of next week", Week(1)),
    ("beginning of next week", Week(1)),
    ("start of next week", Week(1)),
    ("this weekend", Weekend(0)),
    ("the weekend", Weekend(0)),
    ("weekend", Weekend(0)),
    ("next weekend", Weekend(1)),
    ("last weekend", Weekend(-1)),
    ("end of week", EndOfWeek(0)),
    ("eow", EndOfWeek(0)),
    ("end of the week", EndOfWeek(0)),
    ("end of this week", EndOfWeek(0)),
    ("end of next week", EndOfWeek(1)),
    ("this month", Month(0)),
    ("next month", Month(1)),
    ("the month after next", Month(2)),
    ("last month", Month(-1)),
    ("this year", Year(0)),
    ("next year", Year(1)),
    ("last year", Year(-1)),
    ("end of month", LastDay(0)),
    ("eom", LastDay(0)),
    ("month end", LastDay(0)),
    ("month's end", LastDay(0)),
    ("end of the month", LastDay(0)),
    ("end of this month", LastDay(0)),
    ("end of next month", LastDay(1)),
    ("last day of the month", LastDay(0)),
    ("last day of this month", LastDay(0)),
    ("last day of next month", LastDay(1)),
    ("last day", LastDay(0)),
    ("beginning of next month", DayOfMonth(1, Some(1))),
    ("start of next month", DayOfMonth(1, Some(1))),
    ("month-end", LastDay(0)),
];

/// A part of a day that is named with it.
const DAY_PARTS: [(&str, i64, DayPart); 6] = [
    ("tonight", 0, DayPart::Night),
    ("this morning", 0, DayPart::Morning),
    ("this afternoon", 0, DayPart::Afternoon),
    ("this evening", 0, DayPart::Evening),
    ("last night", -1, DayPart::Night),
    ("tonight at midnight", 0, DayPart::Midnight),
];

const WEEKDAYS: [(&str, Weekday); 25] = [
    ("monday", Monday),
    ("tuesday", Tuesday),
    ("wednesday", Wednesday),
    ("thursday", Thursday),
    ("friday", Friday),
    ("saturday", Saturday),
    ("sunday", Sunday),
    ("mon", Monday),
    ("tue", Tuesday),
    ("tues", Tuesday),
    ("wed", Wednesday),
    ("weds", Wednesday),
    ("thu", Thursday),
    ("thur", Thursday),
    ("thurs", Thursday),
    ("fri", Friday),
    ("sat", Saturday),
    ("sun", Sunday),
    ("mondays", Monday),
    ("tuesdays", Tuesday),
    ("wednesdays", Wednesday),
    ("thursdays", Thursday),
    ("fridays", Friday),
    ("saturdays", Saturday),
    ("sundays", Sunday),
];

const MONTHS: [(&str, i64); 24] = [
    ("january", 1),
    ("february", 2),
    ("march", 3),
    ("april", 4),
    ("may", 5),
    ("june", 6),
    ("july", 7),
    ("august", 8),
    ("september", 9),
    ("october", 10),
    ("november", 11),
    ("december", 12),
    ("jan", 1),
    ("feb", 2),
    ("mar", 3),
    ("apr", 4),
    ("jun", 6),
    ("jul", 7),
    ("aug", 8),
    ("sep", 9),
    ("sept", 9),
    ("oct", 10),
    ("nov", 11),
    ("dec", 12),
];

const ORDINALS: [(&str, i64); 14] = [
    ("first", 1),
    ("second", 2),
    ("third", 3),
    ("fourth", 4),
    ("fifth", 5),
    ("sixth", 6),
    ("seventh", 7),
    ("eighth", 8),
    ("ninth", 9),
    ("tenth", 10),
    ("fifteenth", 15),
    ("twentieth", 20),
    ("thirtieth", 30),
    ("last", -1),
];

/// A part of a day that is clear by itself.
const HOURS: [(&str, DayPart); 24] = [
    ("noon", DayPart::Noon),
    ("midday", DayPart::Noon),
    ("lunchtime", DayPart::Noon),
    ("lunch time", DayPart::Noon),
    ("midnight", DayPart::Midnight),
    ("eod", DayPart::EndOfWork),
    ("end of day", DayPart::EndOfWork),
    ("the end of day", DayPart::EndOfWork),
    ("end of the day", DayPart::EndOfWork),
    ("the end of the day", DayPart::EndOfWork),
    ("close of business", DayPart::EndOfWork),
    ("cob", DayPart::EndOfWork),
    ("eob", DayPart::EndOfWork),
    ("the morning", DayPart::Morning),
    ("first thing", DayPart::Morning),
    ("first thing in the morning", DayPart::Morning),
    ("the afternoon", DayPart::Afternoon),
    ("the evening", DayPart::Evening),
    ("at night", DayPart::Night),
    ("at lunch", DayPart::Noon),
    ("noonish", DayPart::Noon),
    ("in the morning", DayPart::Morning),
    ("in the afternoon", DayPart::Afternoon),
    ("in the evening", DayPart::Evening),
];

/// A part of a day that belongs to the day before it.
const PARTS: [(&str, DayPart); 4] = [
    ("morning", DayPart::Morning),
    ("afternoon", DayPart::Afternoon),
    ("evening", DayPart::Evening),
    ("night", DayPart::Night),
];

const VAGUE: [&str; 16] = [
    "later", "later on", "soon", "sometime", "some time", "someday", "some day", "shortly",
    "eventually", "another time", "the end of the year", "end of the year", "end of year",
    "sooner or later", "one day", "at some point",
];

/// Behind "in" and "at".
const VAGUE_BEHIND_LEAD: [&str; 10] = [
    "a bit", "a little bit", "a while", "a little while", "a moment", "a few", "a sec",
    "some point", "the near future", "a little",
];

const UNITS: [(&str, SaidLength); 30] = [
    ("second", SECOND),
    ("seconds", SECOND),
    ("sec", SECOND),
    ("secs", SECOND),
    ("s", SECOND),
    ("minute", MINUTE),
    ("minutes", MINUTE),
    ("min", MINUTE),
    ("mins", MINUTE),
    ("m", MINUTE),
    ("hour", HOUR),
    ("hours", HOUR),
    ("hr", HOUR),
    ("hrs", HOUR),
    ("h", HOUR),
    ("day", DAY),
    ("days", DAY),
    ("d", DAY),
    ("week", WEEK),
    ("weeks", WEEK),
    ("wk", WEEK),
    ("wks", WEEK),
    ("w", WEEK),
    ("fortnight", FORTNIGHT),
    ("fortnights", FORTNIGHT),
    ("month", MONTH),
    ("months", MONTH),
    ("year", YEAR),
    ("years", YEAR),
    ("yr", YEAR),
];

const SECOND: SaidLength = SaidLength { months: 0, days: 0, seconds: 1, is_from_day: false };
const MINUTE: SaidLength = SaidLength { seconds: 60, ..SECOND };
const HOUR: SaidLength = SaidLength { seconds: 3600, ..SECOND };
const DAY: SaidLength = SaidLength { months: 0, days: 1, seconds: 0, is_from_day: false };
const WEEK: SaidLength = SaidLength { days: 7, ..DAY };
const FORTNIGHT: SaidLength = SaidLength { days: 14, ..DAY };
const MONTH: SaidLength = SaidLength { months: 1, days: 0, seconds: 0, is_from_day: false };
const YEAR: SaidLength = SaidLength { months: 12, ..MONTH };

/// What a recurrence counts.
const CYCLES: [(&str, CycleUnit); 9] = [
    ("day", CycleUnit::Day),
    ("days", CycleUnit::Day),
    ("week", CycleUnit::Week),
    ("weeks", CycleUnit::Week),
    ("month", CycleUnit::Month),
    ("months", CycleUnit::Month),
    ("year", CycleUnit::Year),
    ("years", CycleUnit::Year),
    ("single day", CycleUnit::Day),
];

const ADVERBS: [(&str, CycleUnit); 10] = [
    ("daily", CycleUnit::Day),
    ("weekly", CycleUnit::Week),
    ("monthly", CycleUnit::Month),
    ("yearly", CycleUnit::Year),
    ("annually", CycleUnit::Year),
    ("once a day", CycleUnit::Day),
    ("once a week", CycleUnit::Week),
    ("once a month", CycleUnit::Month),
    ("once a year", CycleUnit::Year),
    ("nightly", CycleUnit::Day),
];

const WORKDAYS: [&str; 9] = [
    "weekday", "weekdays", "workday", "workdays", "working day", "business day", "work day",
    "working days", "business days",
];

const TOO_OFTEN: [&str; 14] = [
    "hour", "hours", "hr", "hrs", "h", "minute", "minutes", "min", "mins", "m", "second",
    "seconds", "half hour", "half an hour",
];

/// "1 year, 2 months, 3 days and 4 hours".
pub const MAX_AMOUNT_TOKENS: usize = 16;

impl Lead {
    pub fn read(reader: &mut TokenReader<'_>) -> Self {
        reader.eat_of(&LEADS).unwrap_or(Lead::None)
    }
}

/// Reads one part of a time, and adds it to what is said.
pub fn read_part(reader: &mut TokenReader<'_>, said: &mut SaidTime, lead: Lead) -> bool {
    read_iso(reader, said)
        || read_every(reader, said)
        || read_length(reader, said, lead)
        || read_vague(reader, said, lead)
        || read_day(reader, said, lead)
        || read_day_part(reader, said)
        || read_clock(reader, said, lead)
        || read_said_zone(reader, said)
        || read_limit(reader, said, lead)
}

/// Reads the zone of a time of the day.
fn read_said_zone(reader: &mut TokenReader<'_>, said: &mut SaidTime) -> bool {
    let has_time = said.clock.is_some() || said.part.is_some();
    let zone = if has_time && said.zone.is_none() { read_zone(reader) } else { None };
    let is_said = zone.is_some();
    match zone {
        Some(Ok(zone)) => said.zone = Some(zone),
        Some(Err(())) => said.fail(Unclear::Impossible),
        None => {}
    }
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

/// Reads "2026-12-04", "2026-12-04T09:00+09:00".
fn read_iso(reader: &mut TokenReader<'_>, said: &mut SaidTime) -> bool {
    let date = reader.attempt(|it| {
        let (year, _) = it.digits().filter(|(_, digits)| *digits == 4)?;
        let mark = ["-", "/", "."].into_iter().find(|mark| it.eat(mark))?;
        let (month, _) = it.digits()?;
        let (day, _) = it.eat(mark).then(|| it.digits()).flatten()?;
        if it.is_close() {
            it.eat("t");
        }
        Some(Date { year: Some(year), month, day })
    });
    date.into_iter().for_each(|date| said.add_day(date));
    date.is_some()
}

/// Reads "every second Tuesday", "daily", "on weekdays".
fn read_every(reader: &mut TokenReader<'_>, said: &mut SaidTime) -> bool {
    if let Some(unit) = reader.eat_of(&ADVERBS) {
        said.add_every(1, unit);
        if reader.before() == "nightly" {
            said.add_part(DayPart::Night);
        }
        return true;
    }
    if reader.eat_any(&["fortnightly", "biweekly", "hourly", "quarterly"]) {
        match reader.before() {
            "fortnightly" => said.add_every(2, CycleUnit::Week),
            "hourly" => said.fail(Unclear::TooOften),
            _ => said.fail(Unclear::Vague),
        }
        return true;
    }
    if reader.eat_any(&["weekdays", "workdays", "weekends"]) {
        let is_end = reader.before() == "weekends";
        add_weekdays(
            said,
            if is_end { &[Saturday] } else { &[Monday, Tuesday, Wednesday, Thursday, Friday] },
        );
        return true;
    }
    let is_many = WEEKDAYS.iter().any(|(day, _)| day.ends_with("days") && *day == reader.peek());
    if is_many {
        let days = read_weekdays(reader);
        add_weekdays(said, &days);
        return true;
    }
    if reader.eat_any(&["twice a", "three times a", "several times a", "twice per"]) {
        said.fail(Unclear::Vague);
        return true;
    }
    if reader.eat_any(&[
        "the end of every month", "end of every month", "the end of each month",
        "end of each month",
    ]) {
        said.add_every(1, CycleUnit::Month);
        said.add_day(LastDay(0));
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
    if let Some(day) = reader.attempt(read_nth_weekday) {
        let is_of_month =
            reader.eat_any(&["of the month", "of each month", "of every month", "of month"]);
        let SaidDay::NthWeekday(nth, weekday, _) = day else { return false };
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
        reader.eat_any(&["of the month", "of each month", "of every month"]);
        said.add_every(1, CycleUnit::Month);
        said.add_day(LastDay(0));
        return true;
    }
    if let Some(date) = reader.attempt(read_month_day) {
        said.add_every(1, CycleUnit::Year);
        said.add_day(date);
        return true;
    }
    let alternate = reader.eat_any(&["other", "second", "2nd", "alternate"]);
    let interval = match alternate {
        true => Some(2),
        false if reader.eat_any(&["third", "3rd"]) => Some(3),
        false => reader
            .attempt(|it| it.number().filter(|_| !["st", "nd", "rd", "th"].contains(&it.peek()))),
    };
    if reader.eat_any(&TOO_OFTEN) {
        said.fail(Unclear::TooOften);
    } else if reader.eat_any(&WORKDAYS) {
        match interval {
            None => add_weekdays(said, &[Monday, Tuesday, Wednesday, Thursday, Friday]),
            Some(_) => said.fail(Unclear::Vague),
        }
    } else if reader.eat_any(&["fortnight", "weekend"]) {
        match (reader.before(), interval) {
            ("weekend", interval) => {
                said.add_every(interval.unwrap_or(1), CycleUnit::Week);
                said.weekdays.push(Saturday);
            }
            _ => said.add_every(2 * interval.unwrap_or(1).clamp(1, 99), CycleUnit::Week),
        }
    } else if let Some(unit) = reader.eat_of(&CYCLES) {
        said.add_every(interval.unwrap_or(1), unit);
    } else if let Some(part) = reader.eat_of(&PARTS).or_else(|| reader.eat_of(&HOURS)) {
        said.add_every(interval.unwrap_or(1), CycleUnit::Day);
        said.add_part(part);
    } else if let Some(day) = reader.attempt(read_ordinal).filter(|_| interval.is_none()) {
        reader.eat_any(&["of the month", "of each month", "of every month"]);
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

fn add_weekdays(said: &mut SaidTime, days: &[Weekday]) {
    said.add_every(1, CycleUnit::Week);
    said.weekdays.extend(days);
}

/// Reads "Monday and Thursday", "Mon-Fri".
fn read_weekdays(reader: &mut TokenReader<'_>) -> Vec<Weekday> {
    let mut days: Vec<Weekday> = Vec::new();
    while let Some(day) = reader.attempt(|it| {
        if !days.is_empty() && !it.eat_any(&[",", "and", ", and", "&", "or", "/"]) {
            return None;
        }
        it.eat("on");
        it.eat_of(&WEEKDAYS)
    }) {
        let last = reader.attempt(|it| {
            it.eat_any(&["-", "–", "to", "through"]).then(|| it.eat_of(&WEEKDAYS)).flatten()
        });
        let count = last.map_or(0, |last| day.until(last));
        days.extend((0..=count).map(|more| day.wrapping_add(more)));
    }
    days
}

/// Reads "in 20 minutes", "an hour from now", "a week from Friday".
fn read_length(reader: &mut TokenReader<'_>, said: &mut SaidTime, lead: Lead) -> bool {
    let start = reader.at;
    if lead == Lead::In
        && reader.eat_any(&["the next", "a few", "several", "some", "a couple more"])
    {
        let is_length = reader.number().is_some() | reader.eat_of(&UNITS).is_some();
        if is_length {
            said.fail(Unclear::Vague);
        } else {
            reader.at = start;
        }
        return is_length;
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
        let negated = |number: i64| number.saturating_neg();
        let SaidLength { months, days, seconds, .. } = length;
        length = SaidLength {
            months: negated(months),
            days: negated(days),
            seconds: negated(seconds),
            is_from_day: false,
        };
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
    let mut total = SaidLength::default();
    let mut is_first = true;
    let end = reader.at + MAX_AMOUNT_TOKENS;
    while let Some(amount) = reader.attempt(|it| {
        (it.at < end).then_some(())?;
        if !is_first {
            it.eat_any(&["and", ",", ", and"]);
        }
        read_amount(it)
    }) {
        total.months = total.months.saturating_add(amount.months);
        total.days = total.days.saturating_add(amount.days);
        total.seconds = total.seconds.saturating_add(amount.seconds);
        is_first = false;
    }
    if is_first {
        // "ping me in 5" means minutes.
        let minutes = reader.attempt(|it| it.digits())?.0;
        let is_end = ["", ",", ".", "to", "please", "pls", "about", "!"].contains(&reader.peek());
        let is_minutes = lead == Lead::In && is_end && minutes <= 90;
        return is_minutes.then(|| SaidLength { seconds: minutes * 60, ..SECOND });
    }
    Some(total)
}

fn read_amount(reader: &mut TokenReader<'_>) -> Option<SaidLength> {
    let times = |length: SaidLength, count: i64| SaidLength {
        months: length.months.saturating_mul(count),
        days: length.days.saturating_mul(count),
        seconds: length.seconds.saturating_mul(count),
        is_from_day: false,
    };
    if reader.eat_any(&["half an hour", "half hour", "a half hour", "half a hour"]) {
        return Some(times(MINUTE, 30));
    }
    if reader.eat_any(&["a quarter of an hour", "quarter of an hour", "a quarter hour"]) {
        return Some(times(MINUTE, 15));
    }
    if reader.eat("three quarters of an hour") {
        return Some(times(MINUTE, 45));
    }
    let count = match reader.eat_of(&[("a couple of", 2), ("a couple", 2), ("a", 1), ("an", 1)]) {
        Some(count) => count,
        None => reader.number()?,
    };
    let fraction = reader.attempt(|it| {
        (it.eat(".") && it.is_close())
            .then(|| it.digits())
            .flatten()
            .filter(|(_, digits)| *digits <= 3)
    });
    let is_half = reader.eat("and a half") || reader.eat("1/2");
    let unit = reader.eat_of(&UNITS)?;
    let is_half = is_half || reader.eat("and a half");
    let mut length = times(unit, count);
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
        (unit == HOUR && digits == 2 && minutes < 60 && !is_unit).then_some(minutes)
    });
    SaidLength { seconds: length.seconds.saturating_add(minutes.unwrap_or(0) * 60), ..length }
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

fn read_day(reader: &mut TokenReader<'_>, said: &mut SaidTime, lead: Lead) -> bool {
    if let Some(index) = reader.eat_of(&DAY_PARTS.each_ref().map(|(word, ..)| (*word, *word))) {
        let found = DAY_PARTS.iter().find(|(word, ..)| *word == index);
        found.into_iter().for_each(|(_, days, part)| {
            said.add_day(Plus(*days));
            said.add_part(*part);
        });
        return true;
    }
    let the = reader.at;
    let has_article = reader.eat("the");
    if reader.eat_any(&[
        "last working day", "last business day", "last weekday", "last workday",
        "first working day", "first business day",
    ]) {
        said.fail(Unclear::Vague);
        return true;
    }
    if let Some(day) = reader.attempt(read_nth_weekday) {
        said.add_day(day);
        // The one of a named month.
        let is_of_date =
            reader.attempt(|it| it.eat_any(&["of", "in"]).then(|| it.eat_of(&MONTHS)).flatten());
        if is_of_date.is_some() {
            said.fail(Unclear::Vague);
        }
        reader.attempt(|it| {
            it.eat_any(&["of", "in"])
                .then(|| (it.peek() == "next" || it.peek() == "this").then_some(()))
                .flatten()
        });
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
    if let Some(day) = reader
        .eat_of(&DAYS)
        .or_else(|| reader.attempt(|it| it.eat("the").then(|| it.eat_of(&DAYS)).flatten()))
    {
        said.add_day(day);
        return true;
    }
    read_slashed(reader, said) || read_weekday(reader, said, lead)
}

/// Reads "Friday", "next Friday", "Friday week".
fn read_weekday(reader: &mut TokenReader<'_>, said: &mut SaidTime, lead: Lead) -> bool {
    let found = reader.attempt(|it| {
        let week = it.eat_of(&[
            ("next", Some(1)),
            ("last", Some(-1)),
            ("this", None),
            ("this coming", None),
            ("coming", None),
            ("the coming", None),
            ("the next", None),
            ("next week", Some(1)),
        ]);
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
            said.add_after(SaidLength { is_from_day: true, ..WEEK });
            None
        }
    };
    said.add_day(SaidDay::Weekday(day, week));
    let is_list = reader.attempt(|it| {
        it.eat_any(&["and", "or", "/", "&", "and on"]).then(|| it.eat_of(&WEEKDAYS)).flatten()
    });
    if is_list.is_some() {
        said.fail(Unclear::Several);
    }
    true
}

/// Reads "the second Tuesday", "last Friday of".
fn read_nth_weekday(reader: &mut TokenReader<'_>) -> Option<SaidDay> {
    let nth = match reader.attempt(read_ordinal) {
        Some(nth) => nth,
        None => reader.eat_of(&ORDINALS)?,
    };
    let weekday = reader.eat_of(&WEEKDAYS)?;
    // "last Friday" has passed.
    let is_of = reader.peek() == "of" || reader.peek() == "in" || reader.before().ends_with("days");
    let is_last = nth == -1;
    let nth =
        if is_last { LAST } else { i8::try_from(nth).ok().filter(|nth| (1..=4).contains(nth))? };
    let is_every = {
        let back = reader.at.saturating_sub(3);
        ["every", "each"].contains(&reader.tokens.get(back).map_or("", |it| &it.text))
    };
    (!is_last || is_of || is_every).then_some(NthWeekday(nth, weekday, None))
}

/// Reads "4th", "first of".
fn read_ordinal(reader: &mut TokenReader<'_>) -> Option<i64> {
    let (day, _) = match reader.attempt(|it| it.digits()) {
        Some(digits) => digits,
        None => {
            let day = reader.eat_of(&ORDINALS[..13])?;
            let is_date = ["of", "day"].contains(&reader.peek())
                || WEEKDAYS.iter().any(|(name, _)| *name == reader.peek());
            return is_date.then_some(day);
        }
    };
    (reader.is_close() && reader.eat_any(&["st", "nd", "rd", "th"])).then_some(day)
}

/// Reads "December 4th, 2026", "4 Dec", "4th of December".
fn read_month_day(reader: &mut TokenReader<'_>) -> Option<SaidDay> {
    let (month, day) = match reader.eat_of(&MONTHS) {
        Some(month) => {
            reader.eat(".");
            reader.eat("the");
            let (day, digits) = reader.digits().filter(|(_, digits)| *digits <= 2)?;
            let is_suffix = reader.is_close() && reader.eat_any(&["st", "nd", "rd", "th"]);
            // "Dec 4:30" has no day.
            (is_suffix || !(reader.is_close() && reader.peek() == ":")).then_some(())?;
            let _ = digits;
            (month, day)
        }
        None => {
            let day = match reader.attempt(|it| it.digits()) {
                Some((day, digits)) => (digits <= 2).then_some(day)?,
                None => reader.eat_of(&ORDINALS[..13])?,
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
fn read_slashed(reader: &mut TokenReader<'_>, said: &mut SaidTime) -> bool {
    let found = reader.attempt(|it| {
        let (one, digits) = it.digits().filter(|(_, digits)| *digits <= 2)?;
        let mark = ["/", "."].into_iter().find(|mark| it.is_close() && it.eat(mark))?;
        let (other, others) = it.is_close().then(|| it.digits()).flatten()?;
        let year = it.attempt(|it| {
            (it.is_close() && it.eat(mark) && it.is_close()).then(|| it.digits()).flatten()
        });
        let year = year.map(|(year, digits)| if digits == 2 { 2000 + year } else { year });
        let is_date =
            mark == "/" || year.is_some() || (it.is_close() && it.peek() == "." && other <= 12);
        if mark == "." && year.is_none() {
            it.eat(".");
        }
        (digits <= 2 && others <= 2 && is_date && !it.eat_any(&["/", "%"]))
            .then_some((mark, one, other, year))
    });
    let Some((mark, one, other, year)) = found else { return false };
    match mark {
        "." => said.add_day(Date { year, month: other, day: one }),
        _ => said.add_day(SaidDay::Slashed { year, one, other }),
    }
    true
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

fn read_clock(reader: &mut TokenReader<'_>, said: &mut SaidTime, lead: Lead) -> bool {
    if reader.eat_any(&["the same time", "same time", "this time", "the same hour"]) {
        said.add_clock(SaidClock::Unchanged);
        return true;
    }
    let Some(clock) = reader.attempt(|it| read_clock_time(it, said, lead)) else { return false };
    said.add_clock(clock);
    reader.eat_any(&["sharp", "ish", "or so", "exactly", "on the dot", "-ish", "hours", "hrs"]);
    read_said_zone(reader, said);
    let is_range = reader.attempt(|it| {
        let is_range = it
            .eat_any(&["-", "–", "—", "~", "or", "and", "to", "until", "till", "and at", "or at"]);
        is_range.then(|| read_clock_time(it, said, Lead::At)).flatten()
    });
    if is_range.is_some() {
        said.fail(Unclear::Several);
    }
    true
}

fn read_clock_time(reader: &mut TokenReader<'_>, said: &SaidTime, lead: Lead) -> Option<SaidClock> {
    if let Some(clock) = reader.attempt(read_half_past) {
        return Some(clock);
    }
    let is_zero = reader.peek().starts_with('0');
    let digits = reader.attempt(|it| it.digits());
    let (mut hour, count) = match digits {
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
    let half = reader.eat_of(&[
        ("am", DayHalf::Am),
        ("a.m.", DayHalf::Am),
        ("a.m", DayHalf::Am),
        ("pm", DayHalf::Pm),
        ("p.m.", DayHalf::Pm),
        ("p.m", DayHalf::Pm),
    ]);
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
    let goes_on = ["", ",", ".", "to", "please", "pls", "that", "!", "?", "and", "in", "on", "for"];
    let is_behind = said.day.is_some() || said.every.is_some();
    let is_bare = is_behind
        && (goes_on.contains(&reader.peek())
            || reader
                .tokens
                .get(reader.at)
                .is_some_and(|it| it.text.starts_with(|letter: char| !letter.is_alphanumeric())));
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

/// Reads from when on, or until when, something recurs.
fn read_limit(reader: &mut TokenReader<'_>, said: &mut SaidTime, lead: Lead) -> bool {
    if said.every.is_none() {
        return false;
    }
    let start = reader.at;
    if reader.eat_any(&["until", "till", "through", "except", "but not", "for the next"]) {
        said.fail(Unclear::Vague);
        return true;
    }
    let is_bound = lead == Lead::Bound;
    if is_bound && reader.before() != "from" {
        said.fail(Unclear::Vague);
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
