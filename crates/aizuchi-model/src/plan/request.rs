//! What a message asks for that has a time: to remind somebody, to post something, to come back to this, to ask somebody
//! again. The whole sentence decides, so that talk about times and reminders is no request.

pub mod english;
pub mod japanese;

use std::ops::Range;

use jiff::Zoned;

use crate::plan::time_expression::said::{SaidDay, SaidTime};
use crate::plan::time_expression::token::{Token, tokens};
use crate::plan::time_expression::{TimePhrase, Unclear, When, is_japanese, time_phrases};
use crate::plan::words::named_meanings;
use crate::plan::{PlanKind, Whom};

#[derive(Clone, Debug, PartialEq)]
pub struct PlanRequest {
    pub kind: PlanKind,
    pub whom: Whom,
    pub when: When,
    /// What to say or do, in the asker's words, without the order and the time. Empty if only that was said.
    pub what: String,
}

/// How a verb is used.
#[derive(Clone, Copy, PartialEq, Eq, strum::EnumString)]
#[strum(serialize_all = "snake_case")]
enum VerbUse {
    /// It is said of reminders only.
    Sure,
    /// It is said of other things, too.
    Weak,
    /// It is said to somebody.
    Tell,
}

named_meanings!(VerbUse);

/// An order in a text.
struct PlanOrder {
    kind: PlanKind,
    whom: Whom,
    said: Result<SaidTime, Unclear>,
    /// The tokens of what is to be said or done, which may have the others between them.
    what: Range<usize>,
    /// The tokens that are no part of that.
    without: Vec<Range<usize>>,
}

impl PlanRequest {
    /// Parses a message without the mention of whom it is to. Names are written as `@name`.
    pub fn parse(text: &str, now: &Zoned) -> Option<Self> {
        let tokens = tokens(text);
        let is_japanese = tokens.iter().any(|token| is_japanese(&token.text));
        let is_order = |token: &Token| english::VERBS.contains(&token.text.as_str());
        let has_verb = is_japanese || tokens.iter().any(is_order);
        if !has_verb {
            return None;
        }
        let phrases = time_phrases(&tokens);
        let japanese = || japanese::find_order(text, &tokens, &phrases);
        let order = is_japanese.then(japanese).flatten();
        let is_in_japanese = order.is_some();
        let order = order.or_else(|| english::find_order(text, &tokens, &phrases))?;
        let when = match &order.said {
            Ok(said) => said.resolve(now),
            Err(unclear) => When::Unclear(*unclear),
        };
        let is_of_now = order.said.as_ref().is_ok_and(is_of_past_or_now);
        let is_talk = matches!(when, When::Past(_)) || is_of_now;
        if order.kind == PlanKind::Post && is_talk {
            return None;
        }
        let kept = kept(text, &tokens, &order);
        let what = match is_in_japanese {
            true => japanese::trimmed(&kept.concat()).to_owned(),
            false => english::trimmed(&kept.join(" "), order.kind).to_owned(),
        };
        Some(Self { kind: order.kind, whom: order.whom, when, what })
    }
}

/// "Summarize today" and "what we decided last week" name no time for it.
fn is_of_past_or_now(said: &SaidTime) -> bool {
    let is_past = match said.day {
        Some(SaidDay::Plus(days)) => days <= 0,
        Some(SaidDay::Week(weeks) | SaidDay::Month(weeks) | SaidDay::Year(weeks)) => weeks <= 0,
        _ => false,
    };
    is_past && said.is_day_alone()
}

/// Returns the parts of the text that say what is to be said or done.
fn kept<'t>(text: &'t str, tokens: &[Token], order: &PlanOrder) -> Vec<&'t str> {
    let mut kept: Vec<Range<usize>> = Vec::new();
    for at in order.what.clone() {
        let is_kept = !order.without.iter().any(|without| without.contains(&at));
        match kept.last_mut() {
            _ if !is_kept => {}
            Some(last) if last.end == at => last.end = at + 1,
            _ => kept.push(at..at + 1),
        }
    }
    let bytes = |part: Range<usize>| tokens[part.start].range.start..tokens[part.end - 1].range.end;
    kept.into_iter().map(|part| &text[bytes(part)]).collect()
}

/// Returns the time of several places of a text.
fn joined<'p>(phrases: impl Iterator<Item = &'p TimePhrase>) -> Option<SaidTime> {
    phrases.map(|phrase| phrase.said.clone()).reduce(|mut all, more| {
        all.add(more);
        all
    })
}

/// Returns a text without the quotation marks around it, if they are one pair.
fn unquoted<'t>(what: &'t str, pairs: &[(char, char)]) -> &'t str {
    let quoted = pairs.iter().find_map(|(open, close)| {
        what.strip_prefix(*open)?.strip_suffix(*close).filter(|inside| !inside.contains(*open))
    });
    quoted.unwrap_or(what)
}

#[cfg(test)]
mod tests;
