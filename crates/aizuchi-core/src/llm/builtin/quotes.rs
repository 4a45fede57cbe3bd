//! What was said that the built-in mind may quote, and which of it answers a question: the message that shares the most
//! of the question's rare words.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Zoned};

use crate::chat::{ChannelId, Message, UserId, to_single_line};
use crate::context::Context;
use crate::llm::builtin::phrases::List;
use crate::llm::builtin::request::{Request, normalize, without_call};
use crate::llm::builtin::vocabulary::{asks_for_secrecy, content_words, truncate_quote};
use crate::persona::Language;
use crate::prompt::Prompt;
use crate::texts::{self, Name};
use aizuchi_structure::cues::Cues;
use aizuchi_structure::lexicon::Topic as LinguisticTopic;

/// An answer holds more than this share of the question's words, by weight.
const MIN_SHARE: f64 = 0.5;
/// A message replies to another one from this probability on.
const REPLIES: f32 = 0.4;
/// How many messages of the talk about one matter need not name it.
const MAX_BETWEEN: usize = 3;
/// "It moved to Friday" is about what was said not longer before.
const SHORTLY: SignedDuration = SignedDuration::from_mins(30);
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

/// What answers a question.
#[derive(Clone, Copy, Debug)]
pub struct Known<'q, 'a> {
    pub newest: &'q Quote<'a>,
    /// What it was before, if it has changed.
    pub before: Option<&'q Quote<'a>>,
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
    /// What the asker said to the others. It is quoted to them only where they ask for it.
    own: Vec<Quote<'a>>,
    context: &'a Context,
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
        Self { quotes, own, context, language: prompt.persona.language, now: &prompt.now }
    }

    /// What others said that answers this best, if something does.
    pub fn nearest(&self, question: &str) -> Option<Known<'_, 'a>> {
        known(self.quotes.iter().collect(), question)
    }

    /// The same with what the asker said: who asks for it has forgotten it, or wants to see it in writing.
    pub fn nearest_of_all(&self, question: &str) -> Option<Known<'_, 'a>> {
        known(self.all(), question)
    }

    /// Whether what others said answers this so plainly that it is worth saying unasked: it was told to the mind, or it has
    /// all words of the question and the time that is asked for.
    pub fn tells_plainly(&self, question: &str) -> bool {
        const ALL: f64 = 0.99;
        let statements: Vec<&Quote<'a>> =
            self.quotes.iter().filter(|quote| !asks(&quote.text)).collect();
        let asks_for_time =
            LinguisticTopic::find(&question.to_lowercase()) == LinguisticTopic::Time;
        rank(question, &statements).iter().any(|(share, quote)| match quote.kind {
            QuoteKind::Kept | QuoteKind::Told => *share > MIN_SHARE,
            QuoteKind::Said => *share > ALL && asks_for_time && tells_time(&quote.text),
        })
    }

    /// Everything, oldest first.
    fn all(&self) -> Vec<&Quote<'a>> {
        let mut all: Vec<&Quote<'a>> = self.quotes.iter().chain(&self.own).collect();
        all.sort_by_key(|quote| quote.message.at);
        all
    }

    /// What was said in this conversation about a topic, also in reply to what has its words, newest last.
    pub fn talk_about(&self, topic: &BTreeSet<String>, most: usize) -> Vec<&Quote<'a>> {
        let here = self.all().into_iter().filter(|quote| {
            quote.kind == QuoteKind::Said
                && self.context.target_message(&quote.message.id).is_some()
        });
        let mut found: Vec<&Quote<'a>> = Vec::new();
        // What stands between two messages about it is most probably part of that talk.
        let mut between: Vec<&Quote<'a>> = Vec::new();
        for quote in here {
            let has_words = !content_words(&quote.text).is_disjoint(topic);
            let goes_on = || found.iter().any(|earlier| self.replies(quote, earlier.message));
            if has_words || goes_on() {
                if between.len() <= MAX_BETWEEN && !found.is_empty() {
                    found.append(&mut between);
                }
                between.clear();
                found.push(quote);
            } else {
                between.push(quote);
            }
        }
        found.drain(..found.len().saturating_sub(most));
        found
    }

    /// Whether a message most probably replies to another one.
    fn replies(&self, quote: &Quote<'_>, parent: &Message) -> bool {
        let links = self.context.links.get(&quote.message.id);
        let link = links.and_then(|links| links.parents.get(&parent.id));
        link.is_some_and(|probability| *probability >= REPLIES)
    }

    /// Whether a message replies to one that is about this.
    fn replies_about(&self, quote: &Quote<'_>, topic: &str) -> bool {
        let words = content_words(topic);
        let mut parents = self.context.target_messages().iter().filter(|parent| {
            parent.is_human() && parent.at <= quote.message.at && self.replies(quote, parent)
        });
        parents.any(|parent| !content_words(&parent.text).is_disjoint(&words))
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
                let is_about = |(share, quote): &(f64, &Quote<'a>)| {
                    *share > MIN_SHARE || (speaker.is_some() && self.replies_about(quote, topic))
                };
                ranked.filter(is_about).map(|(_, quote)| quote).collect()
            }
        };
        found.drain(..found.len().saturating_sub(most));
        found
    }

    /// The newest of what others said in this conversation.
    pub fn newest_of_others(&self, most: usize) -> Vec<&Quote<'a>> {
        self.newest(self.quotes.iter().collect(), most)
    }

    /// The newest of what was said in this conversation, if others have said anything.
    pub fn newest_of_all(&self, most: usize) -> Vec<&Quote<'a>> {
        match self.newest_of_others(1).is_empty() {
            true => Vec::new(),
            false => self.newest(self.all(), most),
        }
    }

    fn newest<'q>(&self, quotes: Vec<&'q Quote<'a>>, most: usize) -> Vec<&'q Quote<'a>> {
        let here = |quote: &&Quote<'a>| self.context.target_message(&quote.message.id).is_some();
        let mut newest: Vec<&Quote<'a>> =
            quotes.into_iter().rev().filter(here).take(most).collect();
        newest.reverse();
        newest
    }

    /// What is known, the newest first where it has changed.
    pub fn tell(&self, known: &Known<'_, '_>, asker: &UserId) -> String {
        let newest = self.sentence(known.newest, asker);
        let Some(before) = known.before else { return newest };
        let (language, when) = (self.language, self.when(before));
        let speaker = Name(&before.speaker);
        let before = match before.message.author.id == *asker {
            true => texts::builtin::you_said_before(language, speaker, &when, &before.text),
            false => texts::builtin::said_before(language, speaker, &when, &before.text),
        };
        texts::builtin::both(language, &newest, &before)
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
            (QuoteKind::Said, true) => {
                let when = capitalize(&when);
                texts::builtin::you_said(language, speaker, &when, &quote.text)
            }
            (QuoteKind::Told | QuoteKind::Said, false) => {
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
        let time = texts::builtin::time_of_day(at.time());
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

/// The statement that answers a question best, if one does. Among equals, what was told to the mind and then the newest. A
/// later one that says the same matter anew stands before it.
fn known<'q, 'a>(quotes: Vec<&'q Quote<'a>>, question: &str) -> Option<Known<'q, 'a>> {
    let statements: Vec<&'q Quote<'a>> =
        quotes.into_iter().filter(|quote| !asks(&quote.text)).collect();
    let ranked = rank(question, &statements);
    let is_told = |quote: &Quote<'_>| quote.kind != QuoteKind::Said;
    let mut best: Option<(f64, usize)> = None;
    for (index, (share, quote)) in ranked.iter().enumerate() {
        let is_better = best.is_none_or(|(known, other)| {
            let is_as_good = is_told(quote) || !is_told(statements[other]);
            *share > known || (*share == known && is_as_good)
        });
        if *share > MIN_SHARE && is_better {
            best = Some((*share, index));
        }
    }
    let (share, index) = best?;
    let best = statements[index];
    let asks_for_time = LinguisticTopic::find(&question.to_lowercase()) == LinguisticTopic::Time;
    let says_anew = |(later, (has, quote)): &(usize, &(f64, &Quote<'_>))| {
        let changes = changes(&quote.text);
        // "It moved to Friday" right behind it has no word of the matter.
        let goes_on = || *later == index + 1 && changes && is_shortly_behind(quote, best);
        let is_same = *has >= share || (changes && *has > MIN_SHARE);
        goes_on() || (is_same && (changes || asks_for_time && tells_time(&quote.text)))
    };
    let later = ranked.iter().enumerate().skip(index + 1).rfind(says_anew);
    let earlier = || {
        let is_as_good = |(has, quote): &&(f64, &'q Quote<'a>)| {
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

fn changes(text: &str) -> bool {
    let lower = normalize(text);
    List::Changes.phrases().iter().any(|phrase| lower.contains(phrase))
}

/// Whether a text names a time, a day or a number.
fn tells_time(text: &str) -> bool {
    let lower = normalize(text);
    Cues::of(text).contains(Cues::NUMBER)
        || lower.contains(|letter: char| letter.is_ascii_digit())
        || List::Days.phrases().iter().any(|phrase| lower.contains(phrase))
}

/// Whether it was said in the same conversation soon after.
fn is_shortly_behind(quote: &Quote<'_>, earlier: &Quote<'_>) -> bool {
    quote.message.conversation == earlier.message.conversation
        && quote.message.at.duration_since(earlier.message.at) <= SHORTLY
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
