//! Reads requests with the times that are meant, and says how many are understood:
//! `AIZUCHI_TIME_EXPRESSIONS=FILE.tsv cargo run -p aizuchi-model --example time_expressions`.
//!
//! Columns: language, now, time zone, text, what is expected, what is to be said. Expected is `once 2026-12-04T09:00`,
//! `every` with the next times, `past`, `unclear` or `none`; alternatives stand between ` | `. With
//! `AIZUCHI_SHOW_ANSWERS`, each answer is printed.

use std::collections::BTreeMap;
use std::fs;
use std::time::Instant;

use aizuchi_model::plan::Whom;
use aizuchi_model::plan::request::PlanRequest;
use aizuchi_model::plan::time_expression::When;
use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};

#[derive(Default)]
struct Score {
    right: usize,
    wrong: Vec<usize>,
    asked_back: Vec<usize>,
    other_words: Vec<usize>,
}

fn main() {
    let path =
        std::env::var("AIZUCHI_TIME_EXPRESSIONS").expect("AIZUCHI_TIME_EXPRESSIONS names a file");
    let shows_answers = std::env::var_os("AIZUCHI_SHOW_ANSWERS").is_some();
    let file = fs::read_to_string(path).expect("the file can be read");
    let mut scores: BTreeMap<String, Score> = BTreeMap::new();
    let begun = Instant::now();
    for (line, row) in (1..).zip(file.lines()).skip(1) {
        let columns: Vec<&str> = row.split('\t').collect();
        let [language, now, zone, text, expected, rest @ ..] = &columns[..] else { continue };
        let now: Timestamp = now.parse().expect("the time can be read");
        let now = now.to_zoned(TimeZone::get(zone).expect("the time zone is known"));
        let request = PlanRequest::parse(text, &now);
        let is_right = expected.split(" | ").any(|it| is_meant(it.trim(), request.as_ref()));
        let score = scores.entry((*language).to_owned()).or_default();
        let is_asked = matches!(&request, Some(PlanRequest { when: When::Unclear(_), .. }));
        match (is_right, is_asked) {
            (true, _) => score.right += 1,
            (false, true) => score.asked_back.push(line),
            (false, false) => score.wrong.push(line),
        }
        let what = rest.first().copied().unwrap_or_default();
        if request.as_ref().is_some_and(|request| !says(request, what)) {
            score.other_words.push(line);
        }
        if shows_answers {
            println!("{line} {is_right} {text}\n    {expected} {what}\n    {request:?}");
        }
    }
    let rows = scores.values().map(|it| it.right + it.wrong.len() + it.asked_back.len());
    println!("{} rows in {:?}", rows.sum::<usize>(), begun.elapsed());
    for (language, Score { right, wrong, asked_back, other_words }) in scores {
        println!(
            "{language}: {right} right, {} wrong {wrong:?}, {} asked back {asked_back:?}, other words {other_words:?}",
            wrong.len(),
            asked_back.len(),
        );
    }
}

fn is_meant(expected: &str, request: Option<&PlanRequest>) -> bool {
    let shown = |at: &Zoned| at.strftime("%Y-%m-%dT%H:%M").to_string();
    let mut words = expected.split_whitespace();
    match (words.next(), request.map(|request| &request.when)) {
        (Some("none"), when) => when.is_none(),
        (Some("past"), Some(When::Past(_))) | (Some("unclear"), Some(When::Unclear(_))) => true,
        (Some("once"), Some(When::Once(at))) => words.next() == Some(&shown(at)),
        (Some("every"), Some(When::Every(recurrence, first))) => {
            let times = std::iter::successors(Some(first.clone()), |at| recurrence.next_after(at));
            words.zip(times).all(|(expected, at)| expected == shown(&at))
        }
        _ => false,
    }
}

fn says(request: &PlanRequest, what: &str) -> bool {
    let is_whom = matches!(&request.whom, Whom::Named(name) if what.contains(name.as_str()));
    request.what.contains(what) || is_whom
}
