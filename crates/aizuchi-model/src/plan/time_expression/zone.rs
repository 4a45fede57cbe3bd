//! The time zones that people name beside a clock time: "9am PT", "17:00 UTC+2", "9:00 Berlin time", 「日本時間9時」.

use jiff::tz::{Offset, TimeZone};

use crate::plan::time_expression::said::SaidZone;
use crate::plan::time_expression::token::TokenReader;
use crate::plan::words::{self, word_lists};

word_lists! { words::ZONES;
    ZONES: (&str, &str),
    NO_CITIES: &str,
}

/// Reads a time zone. The error is one that is named and unknown.
pub fn read_zone(reader: &mut TokenReader<'_>) -> Option<Result<SaidZone, ()>> {
    reader.attempt(read_abbreviation).or_else(|| reader.attempt(read_city))
}

fn read_abbreviation(reader: &mut TokenReader<'_>) -> Option<Result<SaidZone, ()>> {
    let zone = reader.eat_of(&ZONES)?;
    let (name, abbreviation) =
        zone.split_once(' ').map_or((zone, None), |(it, short)| (it, Some(short)));
    let word = reader.before();
    let sign = match reader.peek() {
        "+" => Some(1),
        "-" | "−" => Some(-1),
        _ => None,
    };
    if let Some(sign) = sign.filter(|_| ["utc", "gmt"].contains(&word) && reader.is_close()) {
        reader.at += 1;
        let (hours, _) = reader.digits().filter(|(_, digits)| *digits <= 2)?;
        let minutes = reader.attempt(|it| it.eat(":").then(|| it.digits()).flatten());
        let seconds = hours * 3600 + minutes.map_or(0, |it| it.0.min(59)) * 60;
        let offset = i32::try_from(sign * seconds).ok();
        let offset = offset.and_then(|offset| Offset::from_seconds(offset).ok());
        let zone = offset.map(|it| SaidZone { zone: TimeZone::fixed(it), abbreviation: None });
        return Some(zone.ok_or(()));
    }
    let zone = TimeZone::get(name).ok();
    Some(zone.map(|zone| SaidZone { zone, abbreviation }).ok_or(()))
}

/// Reads "Berlin time", "in New York".
fn read_city(reader: &mut TokenReader<'_>) -> Option<Result<SaidZone, ()>> {
    let words = (1..=2).find(|words| reader.peek_at(*words) == "time")?;
    let city = (0..words).map(|word| reader.peek_at(word)).collect::<Vec<_>>().join("_");
    let is_word = city.chars().all(|letter| letter.is_alphabetic() || letter == '_');
    if !is_word || city.is_empty() || NO_CITIES.contains(&reader.peek()) {
        return None;
    }
    reader.at += words + 1;
    let mut names = jiff::tz::db().available();
    let name = names.find(|name| {
        let place = name.as_str().rsplit('/').next().unwrap_or_default();
        place.eq_ignore_ascii_case(&city)
    });
    let zone = name.and_then(|name| TimeZone::get(name.as_str()).ok());
    Some(zone.map(|zone| SaidZone { zone, abbreviation: None }).ok_or(()))
}
