//! What was said that the built-in mind may quote, and which of it answers a question: the message that shares the most
//! of the question's rare words.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Zoned};

use crate::chat::{ChannelId, Message, UserId, to_single_line};
use crate::context::Context;
use crate::llm::builtin::request::{Request, without_call};
use crate::llm::builtin::vocabulary::{asks_for_secrecy, content_words, truncate_quote};
use crate::persona::Language;
use crate::prompt::Prompt;
use crate::texts::{self, Name};
use aizuchi_structure::cues::Cues;

/// An answer holds more than this share of the question's words, by weight.
const MIN_SHARE: f64 = 0.5;
/// "Between us" covers what its author says about then.
const BETWEEN_US: SignedDuration = SignedDuration::from_mins(5);

/// Something that was said.
#[derive(Clone, Debug)]
pub struct Quote<'a> {
    pub message: &'a Message,
    pub speaker: String,
    /// The name of its channel, if that is another one.
    pub channel: Option<String>,
    /// What to quote: the text, or what it asked the mind to keep.
    pub text: String,
    pub kind: QuoteKind,
}

/// To whom something was said.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum QuoteKind {
    /// To the others.
    Said,
    /// To the mind.
    Told,
    /// To the mind, which was asked to keep it.
    Kept,
}

/// Everything that may be quoted in one reply, oldest first.
pub struct Quotes<'a> {
    quotes: Vec<Quote<'a>>,
    /// What the asker said, which is never quoted to them.
    own: Vec<Quote<'a>>,
    language: Language,
    now: &'a Zoned,
}

impl<'a> Quotes<'a> {
    /// What was said before `request`.
    pub fn new(prompt: &'a Prompt, request: &Message) -> Self {
        let context = &*prompt.context;
        let (names, channels) = (names(context), channel_names(context));
        let mut seen = BTreeSet::new();
        let earlier = context.messages().filter(|message| {
            let place = (&message.conversation.channel, &message.id);
            message.is_human()
                && message.at <= request.at
                && message.id != request.id
                && seen.insert(place)
                && !is_between_us(message, context)
        });
        let quotes = earlier.filter_map(|message| {
            let (text, kind) = quotable_text(message, &prompt.persona.name)?;
            let speaker = names.get(&message.author.id).copied();
            let is_here = message.conversation.channel == context.conversation.channel;
            let channel = channels.get(&message.conversation.channel).filter(|_| !is_here);
            Some(Quote {
                message,
                speaker: to_single_line(speaker.unwrap_or(message.author.id.as_str())),
                channel: channel.map(|name| to_single_line(name)),
                text: truncate_quote(&to_single_line(&text)),
                kind,
            })
        });
        let mut quotes: Vec<Quote<'a>> = quotes.collect();
        quotes.sort_by_key(|quote| quote.message.at);
        let is_own = |quote: &Quote<'a>| {
            quote.kind == QuoteKind::Said && quote.message.author == request.author
        };
        let (own, quotes) = quotes.into_iter().partition(is_own);
        Self { quotes, own, language: prompt.persona.language, now: &prompt.now }
    }

    /// The statement that answers this best, if one does.
    pub fn nearest(&self, question: &str) -> Option<&Quote<'a>> {
        nearest(&self.quotes, question)
    }

    /// Whether something that the asker said answers this.
    pub fn is_answered_by_asker(&self, question: &str) -> bool {
        nearest(&self.own, question).is_some()
    }

    /// What this speaker, or anybody, said about a topic, newest last.
    pub fn about(&self, speaker: Option<&str>, topic: &str, most: usize) -> Vec<&Quote<'a>> {
        let said: Vec<&Quote<'a>> = self
            .quotes
            .iter()
            .filter(|quote| speaker.is_none_or(|speaker| quote.speaker == speaker))
            .filter(|quote| quote.kind != QuoteKind::Kept)
            .collect();
        let mut found: Vec<&Quote<'a>> = match content_words(topic).is_empty() {
            true if speaker.is_some() => said,
            true => Vec::new(),
            false => {
                let ranked = rank(topic, &said).into_iter();
                ranked.filter(|(share, _)| *share > MIN_SHARE).map(|(_, quote)| quote).collect()
            }
        };
        found.drain(..found.len().saturating_sub(most));
        found
    }

    /// The newest of what was said in this conversation.
    pub fn newest(&self, context: &Context, most: usize) -> Vec<&Quote<'a>> {
        let here = |quote: &&Quote<'a>| context.target_message(&quote.message.id).is_some();
        let mut newest: Vec<&Quote<'a>> =
            self.quotes.iter().rev().filter(here).take(most).collect();
        newest.reverse();
        newest
    }

    /// The names of those who said it.
    pub fn speakers(&self) -> BTreeSet<&str> {
        self.quotes.iter().map(|quote| quote.speaker.as_str()).collect()
    }

    /// “Mia said at 10:12: …”
    pub fn sentence(&self, quote: &Quote<'_>, asker: &UserId) -> String {
        let (language, when) = (self.language, self.when(quote));
        let speaker = Name(&quote.speaker);
        let is_askers = quote.message.author.id == *asker;
        match (quote.kind, is_askers) {
            (QuoteKind::Kept, true) => {
                let when = capitalize(&when);
                texts::builtin::you_asked_to_keep(language, speaker, &when, &quote.text)
            }
            (QuoteKind::Kept, false) => {
                let when = capitalize(&when);
                texts::builtin::asked_to_keep(language, speaker, &when, &quote.text)
            }
            (QuoteKind::Told, true) => {
                let when = capitalize(&when);
                texts::builtin::you_told_me(language, speaker, &when, &quote.text)
            }
            (QuoteKind::Told | QuoteKind::Said, _) => {
                texts::builtin::said(language, speaker, &when, &quote.text)
            }
        }
    }

    /// A line of a list: when, who, and what.
    pub fn line(&self, quote: &Quote<'_>) -> String {
        texts::builtin::said_line(
            self.language,
            Name(&quote.speaker),
            &self.when(quote),
            &quote.text,
        )
    }

    /// When, and where if that is another channel.
    fn when(&self, quote: &Quote<'_>) -> String {
        let at = quote.message.at.to_zoned(self.now.time_zone().clone());
        let (day, today) = (at.date(), self.now.date());
        let time = texts::builtin::time_of_day(self.language, at.time());
        let date = texts::builtin::day(self.language, day);
        let when = if day == today {
            texts::builtin::today_at(self.language, &time)
        } else if today.yesterday().is_ok_and(|yesterday| yesterday == day) {
            texts::builtin::yesterday_at(self.language, &time)
        } else if day.year() == today.year() {
            texts::builtin::on_day(self.language, &date)
        } else {
            texts::builtin::on_day_of_year(self.language, &date, day.year())
        };
        match &quote.channel {
            Some(channel) => {
                texts::builtin::when_in(self.language, &when, channel.trim_start_matches('#'))
            }
            None => when,
        }
    }
}

/// What there is to quote in a message, and whether it is what the mind was asked to keep. What people only ask of the mind is
/// no news for anybody.
fn quotable_text(message: &Message, persona: &str) -> Option<(String, QuoteKind)> {
    if !message.is_addressed() {
        return Some((message.text.to_string(), QuoteKind::Said));
    }
    match Request::parse(&message.text, persona, std::iter::empty()) {
        Request::Keep(text) => Some((text, QuoteKind::Kept)),
        Request::Statement | Request::News(_) => {
            Some((without_call(&message.text, persona), QuoteKind::Told))
        }
        Request::Call
        | Request::Greeting
        | Request::Said { .. }
        | Request::Topic(_)
        | Request::Laugh
        | Request::Question(_) => None,
    }
}

/// Whether its author asked about that time not to be repeated.
fn is_between_us(message: &Message, context: &Context) -> bool {
    context.messages().any(|other| {
        other.author == message.author
            && other.at.duration_since(message.at).abs() <= BETWEEN_US
            && asks_for_secrecy(&other.text)
    })
}

/// The statement that answers a question best, if one does. Among equals, what is kept and then the newest.
fn nearest<'q, 'a>(quotes: &'q [Quote<'a>], question: &str) -> Option<&'q Quote<'a>> {
    let statements: Vec<&Quote<'a>> = quotes.iter().filter(|quote| !asks(&quote.text)).collect();
    let mut best: Option<(f64, &Quote<'a>)> = None;
    for (share, quote) in rank(question, &statements) {
        let is_better = best.is_none_or(|(known, other)| {
            share > known || (share == known && quote.kind >= other.kind)
        });
        if share > MIN_SHARE && is_better {
            best = Some((share, quote));
        }
    }
    best.map(|(_, quote)| quote)
}

/// How much of the topic's words each quote holds, by weight: the fewer quotes hold a word, the more it weighs.
fn rank<'q, 'a>(topic: &str, quotes: &[&'q Quote<'a>]) -> Vec<(f64, &'q Quote<'a>)> {
    let wanted = content_words(topic);
    let held: Vec<BTreeSet<String>> =
        quotes.iter().map(|quote| content_words(&quote.text)).collect();
    let weight = |word: &String| {
        let having = held.iter().filter(|words| words.contains(word)).count();
        (1.0 + quotes.len() as f64 / (having as f64 + 0.5)).ln()
    };
    let weights: Vec<(&String, f64)> = wanted.iter().map(|word| (word, weight(word))).collect();
    let all: f64 = weights.iter().map(|(_, weight)| weight).sum();
    let share = |words: &BTreeSet<String>| {
        let shared = weights.iter().filter(|(word, _)| words.contains(*word));
        shared.map(|(_, weight)| weight).sum::<f64>() / all
    };
    match wanted.is_empty() {
        true => Vec::new(),
        false => held.iter().zip(quotes).map(|(words, quote)| (share(words), *quote)).collect(),
    }
}

/// The text with a capital letter at its beginning.
fn capitalize(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// The names that people see, also of those who stand only in what was recalled.
pub fn names(context: &Context) -> BTreeMap<&UserId, &str> {
    let recalled = context.recalled_messages.iter();
    let recalled = recalled.map(|found| (&found.message.author.id, &*found.author_name));
    recalled.chain(context.names.iter().map(|(user, name)| (user, &**name))).collect()
}

fn channel_names(context: &Context) -> BTreeMap<&ChannelId, &str> {
    let recalled = context.recalled_messages.iter();
    recalled.map(|found| (&found.message.conversation.channel, &*found.channel_name)).collect()
}

fn asks(text: &str) -> bool {
    Cues::of(text).contains(Cues::ASKS)
}
