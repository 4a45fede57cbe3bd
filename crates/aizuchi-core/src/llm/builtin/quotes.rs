//! What was said that the built-in mind may quote, and how it quotes it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::{SignedDuration, Zoned};

use crate::chat::{ChannelId, Message, UserId, to_single_line};
use crate::context::Context;
use crate::llm::builtin::keeping::is_thrown_away;
use crate::llm::builtin::preamble::{behind_greeting, without_call};
use crate::llm::builtin::quote::{
    Quote, QuoteKind, answered_question, asks, replies, speaks_of_own,
};
use crate::llm::builtin::ranking::{BestAnswer, MIN_SHARE, Question, rank};
use crate::llm::builtin::request::Request;
use crate::llm::builtin::vocabulary::{asks_for_secrecy, truncate_quote};
use crate::persona::Language;
use crate::prompt::Prompt;
use crate::recall::content_words::content_words;
use crate::texts::{self, Name};

/// How many messages of the talk about one matter need not name it.
const MAX_BETWEEN: usize = 3;
/// "Between us" covers what its author says about then.
const BETWEEN_US: SignedDuration = SignedDuration::from_mins(5);

/// Everything that may be quoted in one reply, oldest first.
pub struct Quotes<'a> {
    quotes: Vec<Quote<'a>>,
    /// What the asker said to the others. It is quoted to them only where they ask for it.
    own: Vec<Quote<'a>>,
    /// The names of those who are known here.
    user_names: Vec<&'a str>,
    context: &'a Context,
    language: Language,
    now: &'a Zoned,
}

impl<'a> Quotes<'a> {
    /// What was said before `request`.
    pub fn new(prompt: &'a Prompt, request: &Message) -> Self {
        let context = &*prompt.context;
        let (names, channels) = (names(context), channel_names(context));
        let mut humans: Vec<&Arc<Message>> =
            context.messages().filter(|message| message.is_human()).collect();
        humans.sort_by_key(|message| message.at);
        let mut seen = BTreeSet::new();
        let earlier = humans.iter().filter(|message| {
            let place = (&message.conversation.channel, &message.id);
            message.at <= request.at
                && message.id != request.id
                && seen.insert(place)
                && !is_between_us(message, context)
        });
        let quotes = earlier.filter_map(|message| {
            let (text, kind) = quotable_text(message, &prompt.persona.name)?;
            let speaker = names.get(&message.author.id).copied();
            let is_here = message.conversation.channel == context.conversation.channel;
            if kind == QuoteKind::Kept && is_here && is_thrown_away(&text, prompt) {
                return None;
            }
            let channel = channels.get(&message.conversation.channel).filter(|_| !is_here);
            Some(Quote {
                message,
                speaker: to_single_line(speaker.unwrap_or(message.author.id.as_str())),
                channel: channel.map(|name| to_single_line(name)),
                text: truncate_quote(without_ending(&to_single_line(&text), kind)),
                kind,
                question: answered_question(message, &humans, context),
            })
        });
        let quotes: Vec<Quote<'a>> = quotes.collect();
        let is_own = |quote: &Quote<'a>| {
            quote.kind == QuoteKind::Said && quote.message.author == request.author
        };
        let (own, quotes) = quotes.into_iter().partition(is_own);
        let user_names = names.into_values().collect();
        let language = prompt.persona.language;
        Self { quotes, own, user_names, context, language, now: &prompt.now }
    }

    /// What others said that answers this best, if something does.
    pub fn nearest(&self, question: &str) -> Option<BestAnswer<'_, 'a>> {
        Question::new(question, &self.user_names).best_answer(self.quotes.iter().collect())
    }

    /// The same, if it helps somebody who did not ask for it.
    pub fn helpful(&self, text: &str) -> Option<BestAnswer<'_, 'a>> {
        let question = Question::new(text, &self.user_names);
        let answer = question.best_answer(self.quotes.iter().collect())?;
        question.is_helped_by(answer.newest).then_some(answer)
    }

    /// The same with what the asker said: who asks for it has forgotten it, or wants to see it in writing.
    pub fn nearest_of_all(&self, question: &str) -> Option<BestAnswer<'_, 'a>> {
        Question::new(question, &self.user_names).best_answer(self.all())
    }

    /// The same, if the asker asks about themselves and has told it.
    pub fn nearest_of_themselves(
        &self,
        question: &str,
        asker: &UserId,
    ) -> Option<BestAnswer<'_, 'a>> {
        if !speaks_of_own(question) {
            return None;
        }
        let told = self.all().into_iter();
        let told = told.filter(|it| it.message.author.id == *asker && speaks_of_own(&it.text));
        Question::new(question, &self.user_names).best_answer(told.collect())
    }

    /// What somebody said about themselves, newest last.
    pub fn of_themselves(&self, user: &UserId, most: usize) -> Vec<&Quote<'a>> {
        let mut told: Vec<&Quote<'a>> =
            self.all().into_iter().filter(|quote| quote.is_of_its_author_by(user)).collect();
        told.retain(|quote| !asks(&quote.text));
        told.drain(..told.len().saturating_sub(most));
        told
    }

    /// What answers a question that goes on with an earlier one.
    pub fn nearest_following(&self, question: &str, earlier: &str) -> Option<BestAnswer<'_, 'a>> {
        Question::new(question, &self.user_names).following(earlier).best_answer(self.all())
    }

    /// What is most about a question without answering it.
    pub fn related(&self, question: &str, earlier: Option<&str>) -> Option<&Quote<'a>> {
        let question = Question::new(question, &self.user_names);
        let question = match earlier {
            Some(earlier) => question.following(earlier),
            None => question,
        };
        question.related(self.all())
    }

    /// Whether somebody has used a word that a question is about.
    pub fn has_word_of(&self, question: &str) -> bool {
        rank(question, &self.all()).iter().any(|(share, _)| *share > 0.0)
    }

    /// What somebody said last.
    pub fn newest_by(&self, name: &str) -> Option<&Quote<'a>> {
        self.all().into_iter().rfind(|quote| quote.speaker.eq_ignore_ascii_case(name))
    }

    /// The last words of somebody else, if a text is about nobody and nothing but them.
    pub fn last_words_of(&self, text: &str, asker: &UserId) -> Option<&Quote<'a>> {
        let words = content_words(text);
        self.all().into_iter().rfind(|quote| {
            let name = content_words(&quote.speaker);
            quote.message.author.id != *asker && !name.is_empty() && name == words
        })
    }

    /// What was said last that holds a name.
    pub fn newest_with(&self, name: &str) -> Option<&Quote<'a>> {
        let name = name.to_lowercase();
        self.all().into_iter().rfind(|quote| quote.text.to_lowercase().contains(&name))
    }

    /// Whether what others said answers this so plainly that it is worth saying unasked.
    pub fn tells_plainly(&self, question: &str) -> bool {
        Question::new(question, &self.user_names).is_plainly_told(&self.quotes)
    }

    /// Everything, oldest first.
    pub fn all(&self) -> Vec<&Quote<'a>> {
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
            let goes_on = || {
                found.iter().any(|earlier| replies(quote.message, earlier.message, self.context))
            };
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

    /// Whether a message replies to one that is about this.
    fn replies_about(&self, quote: &Quote<'_>, topic: &str) -> bool {
        let words = content_words(topic);
        let mut parents = self.context.target_messages().iter().filter(|parent| {
            parent.is_human()
                && parent.at <= quote.message.at
                && replies(quote.message, parent, self.context)
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
                // Who says something about it says it in their own words, and not only in reply to it.
                let own: Vec<Quote<'a>> = match speaker {
                    Some(_) => Vec::new(),
                    None => {
                        said.iter().map(|it| Quote { question: None, ..(*it).clone() }).collect()
                    }
                };
                let ranked = match speaker {
                    Some(_) => rank(topic, &said),
                    None => rank(topic, &own.iter().collect::<Vec<_>>()),
                };
                let shares: Vec<f64> = ranked.iter().map(|(share, _)| *share).collect();
                let ranked = shares.into_iter().zip(said);
                let is_about = |(share, quote): &(f64, &Quote<'a>)| {
                    *share > MIN_SHARE || (speaker.is_some() && self.replies_about(quote, topic))
                };
                ranked.filter(is_about).map(|(_, quote)| quote).collect()
            }
        };
        found.drain(..found.len().saturating_sub(most));
        found
    }

    /// The newest of what others said in this conversation. If some of it came after the asker's last words, only that.
    pub fn newest_of_others(&self, asker: &UserId, most: usize) -> Vec<&Quote<'a>> {
        let of_others = self.quotes.iter().filter(|quote| quote.message.author.id != *asker);
        let newest = self.newest(of_others.collect(), most);
        let here = |quote: &&Quote<'a>| self.context.target_message(&quote.message.id).is_some();
        let own = self.own.iter().rfind(here);
        let Some(last) = own.map(|quote| quote.message.at) else { return newest };
        match newest.iter().any(|quote| quote.message.at > last) {
            true => newest.into_iter().filter(|quote| quote.message.at > last).collect(),
            false => newest,
        }
    }

    /// The newest of what was said in this conversation, if others have said anything.
    pub fn newest_of_all(&self, most: usize) -> Vec<&Quote<'a>> {
        match self.newest(self.quotes.iter().collect(), 1).is_empty() {
            true => Vec::new(),
            false => self.newest(self.all(), most),
        }
    }

    /// The newest of what was said in this conversation yesterday.
    pub fn newest_of_yesterday(&self, most: usize) -> Vec<&Quote<'a>> {
        let Ok(yesterday) = self.now.date().yesterday() else { return Vec::new() };
        let zone = self.now.time_zone();
        let mut all = self.all();
        all.retain(|quote| quote.message.at.to_zoned(zone.clone()).date() == yesterday);
        self.newest(all, most)
    }

    fn newest<'q>(&self, quotes: Vec<&'q Quote<'a>>, most: usize) -> Vec<&'q Quote<'a>> {
        // 「ぜひ！」 says nothing without what stands before it.
        const FEW_CHARACTERS: usize = 8;
        let says_something = |text: &str| {
            text.chars().nth(FEW_CHARACTERS).is_some() || !content_words(text).is_empty()
        };
        let here = |quote: &&Quote<'a>| {
            self.context.target_message(&quote.message.id).is_some() && says_something(&quote.text)
        };
        let mut newest: Vec<&Quote<'a>> =
            quotes.into_iter().rev().filter(here).take(most).collect();
        newest.reverse();
        newest
    }

    /// What is known, the newest first where it has changed.
    pub fn tell(&self, answer: &BestAnswer<'_, '_>, asker: &UserId) -> String {
        let newest = self.sentence(answer.newest, asker);
        let Some(before) = answer.before else { return newest };
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
        Request::Greeting => {
            let text = behind_greeting(&message.text, persona);
            (!text.is_empty()).then_some((text, QuoteKind::Told))
        }
        Request::Call
        | Request::Said { .. }
        | Request::Topic(_)
        | Request::Again
        | Request::Sum { .. }
        | Request::Order(_)
        | Request::Laugh
        | Request::Question(_) => None,
    }
}

/// A quotation in Japanese has no full stop, and what was told to the mind none of the 「よ」 with which it was told.
fn without_ending(text: &str, kind: QuoteKind) -> &str {
    let text = text.strip_suffix('。').unwrap_or(text);
    let told = text.strip_suffix(['よ', 'ね']).filter(|rest| {
        kind != QuoteKind::Said && rest.ends_with(|character| ('ぁ'..='ん').contains(&character))
    });
    told.unwrap_or(text)
}

/// Whether its author asked about that time not to be repeated.
fn is_between_us(message: &Message, context: &Context) -> bool {
    context.messages().any(|other| {
        other.author == message.author
            && other.at.duration_since(message.at).abs() <= BETWEEN_US
            && asks_for_secrecy(&other.text)
    })
}

/// The text with a capital letter at its beginning.
fn capitalize(text: &str) -> String {
    let mut characters = text.chars();
    characters
        .next()
        .map_or_else(String::new, |first| first.to_uppercase().chain(characters).collect())
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
