//! Ranks quotes by how well they answer a question: the best one shares the most of the question's rare words, and
//! states what was asked for.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use aizuchi_model::recall::content_words::content_words;
use aizuchi_structure::cues::Cues;
use jiff::SignedDuration;

use crate::builtin::asked::{QuestionKind, is_about_somebody, person_asked_about, says_who_is};
use crate::builtin::matching::changes;
use crate::builtin::phrases::List;
use crate::builtin::quote::{Quote, QuoteKind, asks, speaks_of_its_author};
use crate::builtin::wording::{as_written, faint_words};

/// An answer contains more than this share of the question's words, by weight.
pub const MIN_SHARE: f64 = 0.5;
/// The weight of a word that is in the question that a message answered, and not in the message.
const INHERITED: f64 = 0.995;
/// "It moved to Friday" refers to what was said at most this long before.
const SHORTLY: SignedDuration = SignedDuration::from_mins(30);

/// The best answer to a question.
#[derive(Clone, Copy, Debug)]
pub struct BestAnswer<'q, 'a> {
    pub newest: &'q Quote<'a>,
    /// The previous answer, if it has changed.
    pub before: Option<&'q Quote<'a>>,
}

/// A question that is looking for an answer.
pub struct Question<'a> {
    text: &'a str,
    /// The subject, if its own words do not state it: "and when is it?".
    topic: String,
    asked: QuestionKind,
    /// The names of the known users.
    user_names: &'a [&'a str],
}

impl<'a> Question<'a> {
    pub fn new(text: &'a str, user_names: &'a [&'a str]) -> Self {
        Self { text, topic: text.to_owned(), asked: QuestionKind::from_question(text), user_names }
    }

    /// The question with the subject of an earlier one, if it is a follow-up: "and when is it?", "what about the
    /// drinks?".
    pub fn following(self, earlier: &str) -> Self {
        let asked = match self.asked {
            QuestionKind::Other => QuestionKind::from_question(earlier),
            asked => asked,
        };
        Self { topic: format!("{earlier} {}", self.topic), asked, ..self }
    }

    /// The statement that answers the question best, if any. Ties are won by what was told to the mind, and then by
    /// the newest. A later statement that updates the same fact takes precedence.
    pub fn best_answer<'q, 'b>(&self, quotes: Vec<&'q Quote<'b>>) -> Option<BestAnswer<'q, 'b>> {
        let statements: Vec<&'q Quote<'b>> =
            quotes.into_iter().filter(|quote| !asks(&quote.text)).collect();
        let ranked = rank(&self.topic, &statements);
        let is_told = |quote: &Quote<'_>| quote.kind != QuoteKind::Said;
        let mut best: Option<(f64, usize)> = None;
        for (index, (share, quote)) in ranked.iter().enumerate() {
            let is_better = best.is_none_or(|(known, other)| {
                let is_as_good = is_told(quote) || !is_told(statements[other]);
                *share > known || (*share == known && is_as_good)
            });
            if *share > MIN_SHARE && is_better && self.is_answered_by(quote) {
                best = Some((*share, index));
            }
        }
        let (share, index) = best?;
        let best = statements[index];
        let says_anew = |(later, (has, quote)): &(usize, &(f64, &Quote<'_>))| {
            let changes = changes(&quote.text) && self.is_answered_by(quote);
            // "It moved to Friday" right after it contains no word of this subject, nor of another one.
            let is_about_another = || {
                let others = statements.iter().filter(|other| {
                    other.message.id != quote.message.id && other.message.id != best.message.id
                });
                let words = content_words(&quote.text);
                let own = content_words(&best.text);
                let mut others = others.map(|other| content_words(&other.text));
                others.any(|other| words.intersection(&other).any(|word| !own.contains(word)))
            };
            let goes_on = || {
                *later == index + 1
                    && changes
                    && is_shortly_behind(quote, best)
                    && !is_about_another()
                    && !has_other_subject(&quote.text, &best.text)
            };
            let is_same = *has >= share || (changes && *has > MIN_SHARE);
            goes_on()
                || (is_same
                    && (changes || self.asks_for_time() && self.asked.is_answered_by(&quote.text)))
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
            Some((_, (_, newest))) => BestAnswer { newest, before: Some(best) },
            None => BestAnswer { newest: best, before: earlier() },
        })
    }

    /// The most related quote that does not state what is asked for.
    pub fn related<'q, 'b>(&self, quotes: Vec<&'q Quote<'b>>) -> Option<&'q Quote<'b>> {
        let statements: Vec<&'q Quote<'b>> =
            quotes.into_iter().filter(|quote| !asks(&quote.text)).collect();
        let mut best: Option<(f64, &'q Quote<'b>)> = None;
        for (share, quote) in rank(&self.topic, &statements) {
            if share > MIN_SHARE && best.is_none_or(|(known, _)| share >= known) {
                best = Some((share, quote));
            }
        }
        best.map(|(_, quote)| quote)
    }

    /// Whether a quote answers the question so plainly that it is worth saying unasked in the middle of a talk: it
    /// was told to the mind, or it has all words of the question and the time or the place that is asked for.
    pub fn is_plainly_answered(&self, quotes: &[Quote<'_>]) -> bool {
        const ALL: f64 = 0.99;
        let statements: Vec<&Quote<'_>> = quotes.iter().filter(|it| !asks(&it.text)).collect();
        rank(&self.topic, &statements).iter().any(|(share, quote)| match quote.kind {
            QuoteKind::Kept | QuoteKind::Told => {
                *share > MIN_SHARE && self.asked.is_answered_by(&quote.text)
            }
            QuoteKind::Said => {
                let is_plain = matches!(self.asked, QuestionKind::Time | QuestionKind::Place);
                *share > ALL && is_plain && self.asked.is_answered_by(&quote.text)
            }
        })
    }

    /// Whether a quote helps a user who did not ask the mind. If the text's form does not show that it answers, it
    /// must share more than one word with the question.
    pub fn is_helped_by(&self, known: &Quote<'_>) -> bool {
        const FEWEST: usize = 2;
        let shared = || {
            let wanted = content_words(&self.topic);
            wanted.intersection(&content_words(&known.text)).count()
        };
        match self.asked {
            QuestionKind::Time
            | QuestionKind::Amount
            | QuestionKind::Person
            | QuestionKind::Place
            | QuestionKind::Reason => {
                self.asked.is_answered_by(&known.text) || known.question.is_some()
            }
            QuestionKind::Way | QuestionKind::Other => {
                known.kind != QuoteKind::Said || shared() >= FEWEST
            }
        }
    }

    fn asks_for_time(&self) -> bool {
        self.asked == QuestionKind::Time
    }

    /// Whether a message states what is asked for, judging by its form. What was told to the mind is accepted as it
    /// is.
    fn is_answered_by(&self, quote: &Quote<'_>) -> bool {
        match (self.asked, &quote.question) {
            _ if quote.kind != QuoteKind::Said => true,
            (QuestionKind::Time, Some(_)) => self.asked.is_answered_by(&quote.text),
            // "The machine is fixed" right after "whose umbrella is it?" is no answer, "Bob" is.
            (QuestionKind::Person, Some(_)) => {
                is_about_somebody(&quote.text, self.text, self.user_names)
                    || Cues::from_text(&quote.text).contains(Cues::SHORT)
            }
            (_, Some(_)) => true,
            (QuestionKind::Person, None) => match person_asked_about(self.text) {
                Some(person) => says_who_is(&person, &quote.text),
                None => is_about_somebody(&quote.text, self.text, self.user_names),
            },
            (asked, None) => asked.is_answered_by(&quote.text),
        }
    }
}

/// The share of the topic's words in each quote, by weight: a word in fewer quotes weighs more.
pub fn rank<'q, 'a>(topic: &str, quotes: &[&'q Quote<'a>]) -> Vec<(f64, &'q Quote<'a>)> {
    let words = |text: &str| -> BTreeSet<String> {
        content_words(text).into_iter().chain(faint_words(text)).collect()
    };
    let asks_of_matter = person_asked_about(topic).is_none();
    let of_quote = |quote: &&Quote<'a>| {
        let asked = quote.question.as_ref().map(|question| words(question));
        let mut own = words(&quote.text);
        // "When is Mia's birthday?" asks for what Mia said about hers, "who is Mia?" for what others said.
        if asks_of_matter && speaks_of_its_author(&quote.text) {
            own.extend(words(&quote.speaker));
        }
        (own, asked.unwrap_or_default())
    };
    let held: Vec<(BTreeSet<String>, BTreeSet<String>)> = quotes.iter().map(of_quote).collect();
    let having = |word: &String| held.iter().filter(|(own, _)| own.contains(word)).count();
    let topic = as_written(topic, quotes.iter().map(|quote| &*quote.text));
    let faint = faint_words(&topic).into_iter().filter(|word| having(word) > 0);
    let kinds = kinds();
    let firm = content_words(&topic);
    // On its own, even such a word is a subject.
    let is_matter = |word: &String| !kinds.contains(word) || firm.is_subset(kinds);
    let firm = firm.iter().filter(|word| is_matter(word)).cloned();
    let wanted: BTreeSet<String> = firm.chain(faint).collect();
    let weight = |word: &String| (1.0 + quotes.len() as f64 / (having(word) as f64 + 0.5)).ln();
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

/// Words for an aspect of a subject, which are not a subject themselves: "time", 「場所」.
fn kinds() -> &'static BTreeSet<String> {
    static KINDS: LazyLock<BTreeSet<String>> =
        LazyLock::new(|| content_words(&List::Kinds.phrases().join(" ")));
    &KINDS
}

/// Whether a text names its subject, and another one has no word of it: 「訪問は15時に変更になりました」 after 「定例は木曜です」.
fn has_other_subject(text: &str, other: &str) -> bool {
    let Some((subject, _)) = text.split_once('は') else { return false };
    let subject: BTreeSet<String> = content_words(subject).difference(kinds()).cloned().collect();
    !subject.is_empty() && subject.is_disjoint(&content_words(other))
}

/// Whether a quote was said in the same conversation soon after another one.
fn is_shortly_behind(quote: &Quote<'_>, earlier: &Quote<'_>) -> bool {
    quote.message.conversation == earlier.message.conversation
        && quote.message.at.duration_since(earlier.message.at) <= SHORTLY
}
