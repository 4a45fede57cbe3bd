//! Which of what was said answers a question: the message that shares the most of the question's rare words, and tells
//! what was asked for.

use std::collections::BTreeSet;

use jiff::SignedDuration;

use crate::llm::builtin::phrases::List;
use crate::llm::builtin::quote::{Quote, QuoteKind, asks};
use crate::llm::builtin::request::{holds_any, normalize};
use crate::recall::content_words::content_words;
use aizuchi_structure::cues::Cues;
use aizuchi_structure::lexicon::Topic;

/// An answer holds more than this share of the question's words, by weight.
pub const MIN_SHARE: f64 = 0.5;
/// What a word counts that stands in the question that a message answered, and not in the message.
const INHERITED: f64 = 0.995;
/// "It moved to Friday" is about what was said not longer before.
const SHORTLY: SignedDuration = SignedDuration::from_mins(30);

/// What answers a question.
#[derive(Clone, Copy, Debug)]
pub struct Known<'q, 'a> {
    pub newest: &'q Quote<'a>,
    /// What it was before, if it has changed.
    pub before: Option<&'q Quote<'a>>,
}

/// A question to which an answer is looked for.
pub struct Question<'a> {
    text: &'a str,
    lower: String,
    /// The names of those who are known here.
    people: &'a [&'a str],
}

impl<'a> Question<'a> {
    pub fn new(text: &'a str, people: &'a [&'a str]) -> Self {
        Self { text, lower: normalize(text), people }
    }

    /// The statement that answers it best, if one does. Among equals, what was told to the mind and then the newest. A
    /// later one that says the same matter anew stands before it.
    pub fn known<'q, 'b>(&self, quotes: Vec<&'q Quote<'b>>) -> Option<Known<'q, 'b>> {
        let statements: Vec<&'q Quote<'b>> =
            quotes.into_iter().filter(|quote| !asks(&quote.text)).collect();
        let ranked = rank(self.text, &statements);
        let is_told = |quote: &Quote<'_>| quote.kind != QuoteKind::Said;
        let mut best: Option<(f64, usize)> = None;
        for (index, (share, quote)) in ranked.iter().enumerate() {
            let is_better = best.is_none_or(|(known, other)| {
                let is_as_good = is_told(quote) || !is_told(statements[other]);
                *share > known || (*share == known && is_as_good)
            });
            if *share > MIN_SHARE && is_better && self.is_told_by(quote) {
                best = Some((*share, index));
            }
        }
        let (share, index) = best?;
        let best = statements[index];
        let says_anew = |(later, (has, quote)): &(usize, &(f64, &Quote<'_>))| {
            let changes = changes(&quote.text);
            // "It moved to Friday" right behind it has no word of the matter.
            let goes_on = || *later == index + 1 && changes && is_shortly_behind(quote, best);
            let is_same = *has >= share || (changes && *has > MIN_SHARE);
            goes_on() || (is_same && (changes || self.asks_for_time() && tells_time(&quote.text)))
        };
        let later = ranked.iter().enumerate().skip(index + 1).rfind(says_anew);
        let earlier = || {
            let is_as_good = |(has, quote): &&(f64, &'q Quote<'b>)| {
                *has >= share && is_told(quote) && quote.text != best.text
            };
            let is_change = is_told(best) && changes(&best.text);
            ranked[..index].iter().rfind(is_as_good).filter(|_| is_change).map(|(_, quote)| *quote)
        };
        Some(match later {
            Some((_, (_, newest))) => Known { newest, before: Some(best) },
            None => Known { newest: best, before: earlier() },
        })
    }

    /// Whether one of these answers it so plainly that it is worth saying unasked: it was told to the mind, or it has
    /// all words of the question and the time that is asked for.
    pub fn is_plainly_told(&self, quotes: &[Quote<'_>]) -> bool {
        const ALL: f64 = 0.99;
        let statements: Vec<&Quote<'_>> = quotes.iter().filter(|it| !asks(&it.text)).collect();
        rank(self.text, &statements).iter().any(|(share, quote)| match quote.kind {
            QuoteKind::Kept | QuoteKind::Told => *share > MIN_SHARE,
            QuoteKind::Said => *share > ALL && self.asks_for_time() && tells_time(&quote.text),
        })
    }

    fn asks_for_time(&self) -> bool {
        Topic::find(&self.lower) == Topic::Time
    }

    /// Whether a message tells what is asked for, as far as its form shows. "The cache is slow" does not tell who looks
    /// at the cache.
    fn is_told_by(&self, quote: &Quote<'_>) -> bool {
        let is_said = quote.kind == QuoteKind::Said;
        match &quote.question {
            Some(_) => !self.asks_for_time() || tells_time(&quote.text),
            None => !is_said || !asks_who(self.text) || self.tells_who(&quote.text),
        }
    }

    /// Whether a text tells of its author, of somebody else than the question does, or says who the one is that is asked
    /// about.
    fn tells_who(&self, text: &str) -> bool {
        let lower = normalize(text);
        let names_other = || {
            self.people.iter().map(|name| name.to_lowercase()).any(|name| {
                !name.is_empty() && lower.contains(&name) && !self.lower.contains(&name)
            })
        };
        match self.subject() {
            Some(subject) => {
                let defines = |form: &str| lower.contains(&format!("{subject}{form}"));
                [" is ", "'s ", "は"].into_iter().any(defines)
            }
            None => {
                Cues::of(text).intersects(Cues::FIRST_PERSON | Cues::OFFERS)
                    || names_other()
                    || self.names_stranger(text)
            }
        }
    }

    /// The person that it asks about: "who is Mia?", 「佐藤さんって誰？」, but not "who is on call?".
    fn subject(&self) -> Option<&str> {
        let behind = ["who is ", "who's ", "who was "];
        let before = ["って誰", "って、誰", "は誰", "ってだれ", "はだれ"];
        let behind = behind.iter().find_map(|start| self.lower.split_once(start)).map(|it| it.1);
        let before = before.iter().find_map(|end| self.lower.split_once(end)).map(|it| it.0);
        let subject = behind.or(before)?.trim_matches(|letter: char| !letter.is_alphanumeric());
        let is_capital = || self.text.match_indices(|letter: char| letter.is_uppercase());
        let is_written_as_name = is_capital().any(|(at, _)| {
            self.text[at..].to_lowercase().starts_with(subject) && !subject.contains(' ')
        });
        let has_honorific =
            ["さん", "くん", "君", "ちゃん", "氏"].iter().any(|it| subject.ends_with(it));
        (!subject.is_empty() && (is_written_as_name || has_honorific)).then_some(subject)
    }

    /// Whether a text names somebody, as its letters show, whom the question does not name.
    fn names_stranger(&self, text: &str) -> bool {
        let is_new = |name: &str| !name.is_empty() && !self.lower.contains(&name.to_lowercase());
        let mut honorifics = text.match_indices("さん");
        let is_name = |at: usize| {
            let before: Vec<char> = text[..at].chars().rev().take(2).collect();
            is_new(&before.iter().rev().collect::<String>())
        };
        if honorifics.any(|(at, _)| is_name(at)) {
            return true;
        }
        let mut words = text.split_whitespace().map(|word| {
            word.split(|letter: char| !letter.is_alphanumeric()).next().unwrap_or_default()
        });
        // A sentence begins with a capital letter, too.
        let first = words.next().unwrap_or_default();
        let mut words = words.peekable();
        let tells = ["is", "has", "was", "will", "can", "does", "did", "takes", "had", "owns"];
        let is_subject = words.peek().is_some_and(|next| tells.contains(next));
        let is_named = |word: &str| {
            word.starts_with(|letter: char| letter.is_ascii_uppercase())
                && !content_words(word).is_empty()
                && !List::Days.phrases().contains(&&*word.to_lowercase())
                && is_new(word)
        };
        (is_subject && is_named(first)) || words.any(is_named)
    }
}

/// "who has the key?", 「誰が当番？」, but not "does anyone know …?" and 「誰か知ってる？」.
pub fn asks_who(question: &str) -> bool {
    let lower = normalize(question);
    let is_somebody = |rest: &str| rest.starts_with(['か', 'も']);
    let asks_japanese = ["誰", "だれ", "どなた"].iter().any(|who| {
        let mut places = lower.match_indices(who);
        places.any(|(at, who)| !is_somebody(&lower[at + who.len()..]))
    });
    let mut words = lower.split(|letter: char| !letter.is_alphanumeric());
    asks_japanese || words.any(|word| ["who", "whose", "whom"].contains(&word))
}

/// How much of the topic's words each quote holds, by weight: the fewer quotes hold a word, the more it weighs.
pub fn rank<'q, 'a>(topic: &str, quotes: &[&'q Quote<'a>]) -> Vec<(f64, &'q Quote<'a>)> {
    let wanted = content_words(topic);
    let words = |quote: &&Quote<'a>| {
        let asked = quote.question.as_ref().map(|question| content_words(question));
        (content_words(&quote.text), asked.unwrap_or_default())
    };
    let held: Vec<(BTreeSet<String>, BTreeSet<String>)> = quotes.iter().map(words).collect();
    let weight = |word: &String| {
        let having = held.iter().filter(|(own, _)| own.contains(word)).count();
        (1.0 + quotes.len() as f64 / (having as f64 + 0.5)).ln()
    };
    let weights: Vec<(&String, f64)> = wanted.iter().map(|word| (word, weight(word))).collect();
    let all: f64 = weights.iter().map(|(_, weight)| weight).sum();
    let share = |(own, asked): &(BTreeSet<String>, BTreeSet<String>)| {
        let held = weights.iter().map(|(word, weight)| match () {
            () if own.contains(*word) => *weight,
            () if asked.contains(*word) => INHERITED * weight,
            () => 0.0,
        });
        held.sum::<f64>() / all
    };
    match wanted.is_empty() {
        true => Vec::new(),
        false => held.iter().zip(quotes).map(|(words, quote)| (share(words), *quote)).collect(),
    }
}

fn changes(text: &str) -> bool {
    let lower = normalize(text);
    List::Changes.phrases().iter().any(|phrase| lower.contains(phrase))
}

/// Whether a text names a time, a day or a number.
fn tells_time(text: &str) -> bool {
    let lower = normalize(text);
    Cues::of(text).contains(Cues::NUMBER)
        || lower.contains(|letter: char| letter.is_ascii_digit())
        || holds_any(&lower, List::Days.phrases())
}

/// Whether it was said in the same conversation soon after.
fn is_shortly_behind(quote: &Quote<'_>, earlier: &Quote<'_>) -> bool {
    quote.message.conversation == earlier.message.conversation
        && quote.message.at.duration_since(earlier.message.at) <= SHORTLY
}
