//! When something is to happen, as people write it in English and Japanese: "on Friday at 9", 「30分後」, "every second
//! Tuesday". Each language has the words of its parts; [`said`] holds what they say, and [`resolve`] which moment that is.

pub mod token;
pub mod said;
pub mod resolve;
pub mod zone;
pub mod series;
pub mod lead;
pub mod english;
pub mod japanese;

use std::ops::Range;

use jiff::Zoned;

use crate::plan::recurrence::Recurrence;
use crate::plan::time_expression::lead::Lead;
use crate::plan::time_expression::said::SaidTime;
use crate::plan::time_expression::token::{Token, TokenReader, tokens};

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
    /// The word before it.
    pub lead: Lead,
}

/// An order and its time stand at the beginning or the end of a long text, within so many tokens.
const EDGE: usize = 250;

/// Finds when a text says, with its place there. Several times are one if they complete each other.
pub fn parse_time(text: &str, now: &Zoned) -> Option<(When, Range<usize>)> {
    let tokens = tokens(text);
    let mut phrases = time_phrases(&tokens).into_iter();
    let mut whole = phrases.next().or_else(|| english::clock::bare_clock(&tokens))?;
    for phrase in phrases {
        whole.said.add(phrase.said);
        whole.tokens.end = phrase.tokens.end;
    }
    let bytes = tokens[whole.tokens.start].range.start..tokens[whole.tokens.end - 1].range.end;
    Some((whole.said.resolve(now), bytes))
}

/// Finds each place of a text that says when.
pub fn time_phrases(tokens: &[Token]) -> Vec<TimePhrase> {
    let (mut phrases, mut reader) = (Vec::new(), TokenReader::new(tokens, 0));
    let is_japanese = tokens.iter().any(|token| is_japanese(&token.text));
    while !reader.is_done() {
        if !is_near_edge(tokens, reader.at) {
            reader.at = tokens.len() - EDGE;
        }
        match reader.attempt(read_phrase) {
            Some(mut phrase) => {
                phrase.said.is_japanese = is_japanese;
                phrases.push(phrase);
            }
            None => reader.at += 1,
        }
    }
    phrases
}

fn read_phrase(reader: &mut TokenReader<'_>) -> Option<TimePhrase> {
    let start = reader.at;
    let lead = Lead::read(reader);
    let (mut said, mut next, mut end) = (SaidTime::default(), lead, start);
    while english::read_part(reader, &mut said, next) || japanese::read_part(reader, &mut said) {
        reader.eat(")");
        end = reader.at;
        reader.eat_any(&[",", "、", "の", "(", "に ,", "の ,"]);
        next = Lead::read(reader);
    }
    reader.at = end;
    if !said.is_empty() && reader.attempt(read_alternative).is_some() {
        said.fail(Unclear::Several);
        end = reader.at;
    }
    (!said.is_empty()).then_some(TimePhrase { said, tokens: start..end, lead })
}

/// Reads 「か明後日」, "or Friday".
fn read_alternative(reader: &mut TokenReader<'_>) -> Option<()> {
    let mut other = SaidTime::default();
    reader.eat_any(&["or", "と", "か", "や", "または", "もしくは", "・"]).then_some(())?;
    let lead = Lead::read(reader);
    let is_time =
        english::read_part(reader, &mut other, lead) || japanese::read_part(reader, &mut other);
    (is_time && !other.is_empty()).then_some(())
}

/// Whether a token is near the beginning or the end of a text.
pub fn is_near_edge(tokens: &[Token], at: usize) -> bool {
    at < EDGE || at + EDGE >= tokens.len()
}

/// Whether a token is a character of Japanese: kana, kanji or 々.
pub fn is_japanese(token: &str) -> bool {
    token.starts_with(
        |letter: char| matches!(letter, '々' | '\u{3041}'..='\u{30ff}' | '\u{4e00}'..='\u{9fff}'),
    )
}
