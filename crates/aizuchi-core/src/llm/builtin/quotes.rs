//! What was said that the built-in mind may quote, and which of it answers a question: the message that shares the most
//! of the question's rare words.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Zoned;

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

/// Something that was said.
#[derive(Clone, Debug)]
pub struct Quote<'a> {
    pub message: &'a Message,
    pub speaker: String,
    /// The name of its channel, if that is another one.
    pub channel: Option<String>,
    /// What to quote: the text, or what it asked the mind to keep.
    pub text: String,
    /// The mind was asked to keep it.
    pub is_kept: bool,
}

/// Everything that may be quoted in one reply, oldest first.
pub struct Quotes<'a> {
    quotes: Vec<Quote<'a>>,
    language: Language,
    now: &'a Zoned,
}

impl<'a> Quotes<'a> {
    /// What others than `asker` said, and what the mind was asked to keep. `before` is the request itself.
    pub fn new(prompt: &'a Prompt, asker: &UserId, before: &Message) -> Self {
        let context = &*prompt.context;
        let names = names(context);
        let channels = channel_names(context);
        let mut seen = BTreeSet::new();
        let mut quotes: Vec<Quote<'a>> = Vec::new();
        let secret: BTreeSet<&UserId> = context
            .messages()
            .filter(|message| asks_for_secrecy(&message.text))
            .map(|message| &message.author.id)
            .collect();
        for message in context.messages() {
            let place = (&message.conversation.channel, &message.id);
            let is_earlier = message.at <= before.at && message.id != before.id;
            if !message.is_human() || !is_earlier || !seen.insert(place) {
                continue;
            }
            let told = Request::parse(&message.text, &prompt.persona.name, std::iter::empty());
            let is_told = matches!(told, Request::Statement | Request::News(_));
            let kept = match told {
                Request::Keep(text) if message.is_addressed() => Some(text),
                _ => None,
            };
            // What others ask of the mind is no news for anybody.
            let is_others = message.author.id != *asker && (is_told || !message.is_addressed());
            if (kept.is_none() && !is_others) || secret.contains(&message.author.id) {
                continue;
            }
            let speaker = names.get(&message.author.id).copied();
            let speaker = to_single_line(speaker.unwrap_or(message.author.id.as_str()));
            let is_here = message.conversation.channel == context.conversation.channel;
            let channel = channels.get(&message.conversation.channel).filter(|_| !is_here);
            let is_kept = kept.is_some();
            let text = match kept {
                Some(text) => text,
                None if message.is_addressed() => without_call(&message.text, &prompt.persona.name),
                None => message.text.to_string(),
            };
            quotes.push(Quote {
                message,
                speaker,
                channel: channel.map(|name| to_single_line(name)),
                text: truncate_quote(&to_single_line(&text)),
                is_kept,
            });
        }
        quotes.sort_by_key(|quote| quote.message.at);
        Self { quotes, language: prompt.persona.language, now: &prompt.now }
    }

    /// The statement that answers this best, if one does. Among equals, what it was asked to keep and then the newest.
    pub fn nearest(&self, question: &str) -> Option<&Quote<'a>> {
        let statements: Vec<&Quote<'a>> =
            self.quotes.iter().filter(|quote| !asks(&quote.text)).collect();
        let mut best: Option<(f64, &Quote<'a>)> = None;
        for (share, quote) in rank(question, &statements) {
            let is_better = best.is_none_or(|(known, other)| {
                share > known || (share == known && (quote.is_kept || !other.is_kept))
            });
            if share > MIN_SHARE && is_better {
                best = Some((share, quote));
            }
        }
        best.map(|(_, quote)| quote)
    }

    /// What this speaker, or anybody, said about a topic, newest last.
    pub fn about(&self, speaker: Option<&str>, topic: &str, most: usize) -> Vec<&Quote<'a>> {
        let said: Vec<&Quote<'a>> = self
            .quotes
            .iter()
            .filter(|quote| speaker.is_none_or(|speaker| quote.speaker == speaker))
            .filter(|quote| !quote.is_kept)
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
        let when = self.when(quote);
        match (quote.is_kept, quote.message.author.id == *asker) {
            (true, true) => texts::builtin::you_asked_to_keep(self.language, &when, &quote.text),
            (true, false) => texts::builtin::asked_to_keep(
                self.language,
                Name(&quote.speaker),
                &when,
                &quote.text,
            ),
            (false, _) => {
                texts::builtin::said(self.language, Name(&quote.speaker), &when, &quote.text)
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
        let (time, date) =
            (at.strftime("%H:%M").to_string(), texts::builtin::day(self.language, day));
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
