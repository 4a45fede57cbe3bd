//! The time zones that people name beside a clock time: "9am PT", "17:00 UTC+2", "9:00 Berlin time", 「日本時間9時」.

use jiff::tz::{Offset, TimeZone};

use crate::plan::time_expression::said::SaidZone;
use crate::plan::time_expression::token::TokenReader;

/// What a zone is called in a part of the year only is checked against the date.
const ABBREVIATIONS: &[(&str, &str, Option<&str>)] = &[
    ("utc", "UTC", None),
    ("gmt", "UTC", None),
    ("z", "UTC", None),
    ("jst", "Asia/Tokyo", None),
    ("日本時間", "Asia/Tokyo", None),
    ("東京時間", "Asia/Tokyo", None),
    ("et", "America/New_York", None),
    ("est", "America/New_York", Some("EST")),
    ("edt", "America/New_York", Some("EDT")),
    ("ct", "America/Chicago", None),
    ("cdt", "America/Chicago", Some("CDT")),
    ("mt", "America/Denver", None),
    ("mst", "America/Denver", Some("MST")),
    ("mdt", "America/Denver", Some("MDT")),
    ("pt", "America/Los_Angeles", None),
    ("pst", "America/Los_Angeles", Some("PST")),
    ("pdt", "America/Los_Angeles", Some("PDT")),
    ("cet", "Europe/Berlin", Some("CET")),
    ("cest", "Europe/Berlin", Some("CEST")),
    ("bst", "Europe/London", Some("BST")),
    ("kst", "Asia/Seoul", None),
    ("hkt", "Asia/Hong_Kong", None),
    ("sgt", "Asia/Singapore", None),
    ("aest", "Australia/Sydney", Some("AEST")),
    ("aedt", "Australia/Sydney", Some("AEDT")),
    ("現地時間", "", None),
    ("ist", "", None),
    ("ニューヨーク時間", "America/New_York", None),
    ("ロンドン時間", "Europe/London", None),
    ("ベルリン時間", "Europe/Berlin", None),
    ("パリ時間", "Europe/Paris", None),
    ("太平洋時間", "America/Los_Angeles", None),
    ("東部時間", "America/New_York", None),
    ("韓国時間", "Asia/Seoul", None),
];

/// Reads a time zone. The error is one that is named and unknown.
pub fn read_zone(reader: &mut TokenReader<'_>) -> Option<Result<SaidZone, ()>> {
    reader.attempt(read_abbreviation).or_else(|| reader.attempt(read_city))
}

fn read_abbreviation(reader: &mut TokenReader<'_>) -> Option<Result<SaidZone, ()>> {
    let found = ABBREVIATIONS.iter().find(|(word, ..)| reader.eat(word))?;
    let (word, name, abbreviation) = *found;
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
    let zone = TimeZone::get(name).ok().filter(|_| !name.is_empty());
    Some(zone.map(|zone| SaidZone { zone, abbreviation }).ok_or(()))
}

/// Reads "Berlin time", "in New York".
fn read_city(reader: &mut TokenReader<'_>) -> Option<Result<SaidZone, ()>> {
    const NO_CITIES: [&str; 44] = [
        "this", "that", "the", "my", "your", "our", "in", "of", "his", "her", "their", "some",
        "same", "to", "and", "for", "on", "at", "about", "please", "by", "it's", "is", "next",
        "last", "every", "each", "one", "more", "lunch", "tea", "dinner", "bed", "game", "coffee",
        "play", "show", "part", "full", "first", "second", "a", "no", "local",
    ];
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
