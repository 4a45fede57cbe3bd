//! When something is to happen, as people write it in English and Japanese: "on Friday at 9", 「30分後」, "every second
//! Tuesday". [`said`] holds what they say, [`reading`] finds it, and [`resolve`] tells which moment that is.

pub mod said;
mod resolve;
mod reading;

use std::ops::Range;

use jiff::Zoned;

use crate::plan::grammar::PhraseReader;
use crate::plan::recurrence::Recurrence;
use crate::plan::time_expression::reading::read_part;
use crate::plan::time_expression::said::SaidTime;
use crate::plan::token::{Token, is_japanese, tokens};

#[derive(Clone, Debug, PartialEq)]
pub enum When {
    Once(Zoned),
    /// Again and again, for the first time then.
    Every(Recurrence, Zoned),
    Past(Zoned),
    Unclear(Unclear),
}

/// Why it has to be asked when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unclear {
    /// No time is named.
    NoTime,
    /// "later", "before the meeting", "every week", "tomorrow at midnight".
    Vague,
    /// There is no such date or hour, or its parts contradict each other.
    Impossible,
    /// "5/6": which one is the month?
    DayOrMonth,
    /// Several times are named.
    Several,
    /// More than once a day.
    TooOften,
}

/// A time in a text, with the tokens that name it.
#[derive(Clone, Debug)]
pub struct TimePhrase {
    pub said: SaidTime,
    pub tokens: Range<usize>,
    pub lead: Lead,
}

/// The word before a time, which tells whether it is that of something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::EnumString, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
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

/// An order and its time stand at the beginning or the end of a long text, within so many tokens.
const EDGE: usize = 250;

/// Finds when a text says, with its place there. Several times are one if they complete each other.
pub fn parse_time(text: &str, now: &Zoned) -> Option<(When, Range<usize>)> {
    let tokens = tokens(text);
    let mut phrases = time_phrases(&tokens);
    if phrases.is_empty() {
        phrases.extend(bare_clock(&tokens));
    }
    let (first, last) = (phrases.first()?.tokens.start, phrases.last()?.tokens.end);
    let bytes = tokens[first].range.start..tokens[last - 1].range.end;
    Some((joined(&phrases).resolve(now), bytes))
}

/// Returns the time of several places of a text.
pub fn joined<'t>(phrases: impl IntoIterator<Item = &'t TimePhrase>) -> SaidTime {
    phrases.into_iter().fold(SaidTime::default(), |mut all, phrase| {
        all.add(phrase.said.clone());
        all
    })
}

/// Finds the clock time of "make it 5", "move it to 5".
fn bare_clock(tokens: &[Token]) -> Option<TimePhrase> {
    let is_digit = |token: &Token| token.text.starts_with(|it: char| it.is_ascii_digit());
    let at = tokens.iter().position(is_digit)?;
    let (mut reader, mut said) = (PhraseReader::new(tokens, at), SaidTime::default());
    let is_asked = ["", "it", "to", "that"].contains(&reader.before());
    let is_read = is_asked && read_part(&mut reader, &mut said, Lead::At);
    let is_whole = said.clock.is_some() && reader.peek().is_empty();
    (is_read && is_whole).then(|| TimePhrase { said, tokens: at..reader.at, lead: Lead::At })
}

/// Finds each place of a text that says when.
pub fn time_phrases(tokens: &[Token]) -> Vec<TimePhrase> {
    let (mut phrases, mut end) = (Vec::new(), 0);
    let is_japanese = tokens.iter().any(|token| is_japanese(&token.text));
    for at in near_edges(tokens) {
        let mut reader = PhraseReader::new(tokens, at);
        if let Some(mut phrase) = (at >= end).then(|| read_phrase(&mut reader)).flatten() {
            phrase.said.is_japanese = is_japanese;
            end = reader.at;
            phrases.push(phrase);
        }
    }
    phrases
}

/// Reads a time.
fn read_phrase(reader: &mut PhraseReader<'_>) -> Option<TimePhrase> {
    let start = reader.at;
    let lead = read_lead(reader);
    let (mut said, mut next, mut end) = (SaidTime::default(), lead, start);
    while read_part(reader, &mut said, next) {
        end = reader.at + usize::from(reader.peek() == ")");
        reader.at = end;
        reader.eat("joint");
        next = read_lead(reader);
    }
    reader.at = end;
    if said.is_empty() {
        return None;
    }
    // 「か明後日」, "or Friday"
    let mut other = SaidTime::default();
    if reader.eat("or") {
        let lead = read_lead(reader);
        read_part(reader, &mut other, lead);
    }
    match other.is_empty() {
        true => reader.at = end,
        false => said.fail(Unclear::Several),
    }
    Some(TimePhrase { said, tokens: start..reader.at, lead })
}

fn read_lead(reader: &mut PhraseReader<'_>) -> Lead {
    let lead = reader.read("lead").and_then(|found| found.last()?.meaning);
    lead.and_then(|lead| lead.parse().ok()).unwrap_or(Lead::None)
}

/// The places near the beginning and the end of a text.
pub fn near_edges(tokens: &[Token]) -> impl Iterator<Item = usize> {
    (0..tokens.len()).filter(|at| *at < EDGE || at + EDGE >= tokens.len())
}
