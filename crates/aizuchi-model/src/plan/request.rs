//! What a message asks for that has a time: to remind somebody, to post something, to come back to this, to ask somebody
//! again. The whole sentence decides, so that talk about times and reminders is no request.

mod order;

use jiff::Zoned;

use crate::plan::grammar::PhraseReader;
use crate::plan::request::order::PlanOrder;
use crate::plan::time_expression::said::{SaidDay, SaidTime};
use crate::plan::time_expression::{When, near_edges, time_phrases};
use crate::plan::token::{Token, is_japanese, tokens};
use crate::plan::{PlanKind, Whom};

#[derive(Clone, Debug, PartialEq)]
pub struct PlanRequest {
    pub kind: PlanKind,
    pub whom: Whom,
    pub when: When,
    /// What to say or do, in the asker's words, without the order and the time. Empty if only that was said.
    pub what: String,
}

impl PlanRequest {
    /// Parses a message without the mention of whom it is to. Names are written as `@name`.
    pub fn parse(text: &str, now: &Zoned) -> Option<Self> {
        let tokens = tokens(text);
        let is_verb = |at: &usize| {
            is_japanese(&tokens[*at].text) || PhraseReader::new(&tokens, *at).eat("verb")
        };
        near_edges(&tokens).find(is_verb)?;
        let phrases = time_phrases(&tokens);
        let order = PlanOrder::find(text, &tokens, &phrases)?;
        let when = order.said.resolve(now);
        let is_post = order.kind == PlanKind::Post;
        if is_post && (is_of_past_or_now(&order.said) || matches!(when, When::Past(_))) {
            return None;
        }
        let default = if is_post { Whom::Channel } else { Whom::Asker };
        let (kind, what) = (order.kind, order.what());
        Some(Self { kind, whom: order.whom.unwrap_or(default), when, what })
    }
}

/// "Summarize today" and "what we decided last week" name no time for it.
fn is_of_past_or_now(said: &SaidTime) -> bool {
    use SaidDay::*;
    said.is_day_alone()
        && matches!(said.day, Some(Plus(..=0) | Week(..=0) | Month(..=0) | Year(..=0)))
}

impl PlanOrder<'_> {
    /// Returns what is to be said or done, without the words that join it to the order, courtesies and quotation marks.
    fn what(&self) -> String {
        const MAX_TOKENS: usize = 17;
        const MAX_TRIMS: usize = 50;
        let is_kept = |at: &usize| !self.without.iter().any(|without| without.contains(at));
        let kept: Vec<usize> = self.what.clone().filter(is_kept).collect();
        let tokens = kept.iter().map(|at| {
            let is_first = *at == 0 || !is_kept(&(at - 1));
            let token = self.tokens[*at].clone();
            Token { is_spaced: is_first || token.is_spaced, ..token }
        });
        let tokens: Vec<Token> = tokens.collect();
        let context = |name: &str, it: &PhraseReader<'_>| {
            (name == "post" && self.kind == PlanKind::Post).then_some(it.at)
        };
        let behind = |rule, at, end| {
            let mut reader = PhraseReader { tokens: &tokens[..end], at, context: &context };
            reader.eat(rule);
            reader.at
        };
        let (mut start, mut end) = (0, tokens.len());
        for _ in 0..MAX_TRIMS {
            start = behind("before_what", start, end);
        }
        for _ in 0..MAX_TRIMS {
            let mut lasts = start.max(end.saturating_sub(MAX_TOKENS))..end;
            end = lasts.find(|at| behind("behind_what", *at, end) == end).unwrap_or(end);
        }
        let is_japanese = self.language == "japanese";
        if is_japanese {
            start = behind("before_japanese", start, end);
        }
        let parts = kept[start..end].chunk_by(|at, next| at + 1 == *next);
        let parts = parts.map(|part| self.text_of(&(part[0]..part[0] + part.len())));
        let what = parts.collect::<Vec<_>>().join(if is_japanese { "" } else { " " });
        let pairs = [('\'', '\''), ('"', '"'), ('“', '”'), ('‘', '’'), ('「', '」'), ('『', '』')];
        let quoted = pairs.iter().find_map(|(open, close)| {
            what.strip_prefix(*open)?.strip_suffix(*close).filter(|inside| !inside.contains(*open))
        });
        quoted.unwrap_or(&what).to_owned()
    }
}

#[cfg(test)]
mod tests;
