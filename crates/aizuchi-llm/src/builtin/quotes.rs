//! What was said that the built-in mind may quote, and how it quotes it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use aizuchi_model::chat::{ChannelId, Message, UserId, to_single_line};
use aizuchi_model::context::Context;
use aizuchi_model::persona::Language;
use aizuchi_model::recall::content_words::content_words;
use aizuchi_model::texts::{self, Name};
use jiff::{SignedDuration, Zoned};

use crate::builtin::keeping::is_thrown_away;
use crate::builtin::preamble::{behind_greeting, without_call};
use crate::builtin::quote::{Quote, QuoteKind, answered_question, replies, speaks_of_own};
use crate::builtin::ranking::{BestAnswer, MIN_SHARE, Question, rank};
use crate::builtin::request::Request;
use crate::builtin::vocabulary::{asks_for_secrecy, truncate_quote};
use crate::prompt::Prompt;

/// The maximum number of messages within the talk on one topic that do not name it.
const MAX_BETWEEN: usize = 3;
/// "Between us" covers what its author says within this time.
const BETWEEN_US: SignedDuration = SignedDuration::from_mins(5);

/// Everything that may be quoted in one reply, oldest first.
pub struct Quotes<'a> {
    quotes: Vec<Quote<'a>>,
    /// What the asker said to others. It is quoted to them only on request.
    own: Vec<Quote<'a>>,
    /// The names of the known users.
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

    /// The best answer, if it helps a user who did not ask for it.
    pub fn helpful(&self, text: &str) -> Option<BestAnswer<'_, 'a>> {
        let question = Question::new(text, &self.user_names);
        let answer = question.best_answer(self.quotes.iter().collect())?;
        question.is_helped_by(answer.newest).then_some(answer)
    }

    /// The best answer, including what the asker said, who may have forgotten it or want to see it in writing.
    pub fn nearest_of_all(&self, question: &str) -> Option<BestAnswer<'_, 'a>> {
        Question::new(question, &self.user_names).best_answer(self.all())
    }

    /// The best answer, if the asker asks about themselves and has said it.
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

    /// The best answer to a question that follows up on an earlier one.
    pub fn nearest_following(&self, question: &str, earlier: &str) -> Option<BestAnswer<'_, 'a>> {
        Question::new(question, &self.user_names).following(earlier).best_answer(self.all())
    }

    /// The quote that is most related to a question without answering it.
    pub fn related(&self, question: &str, earlier: Option<&str>) -> Option<&Quote<'a>> {
        let question = Question::new(question, &self.user_names);
        let question = match earlier {
            Some(earlier) => question.following(earlier),
            None => question,
        };
        question.related(self.all())
    }

    /// Whether any quote contains a word of the question's subject.
    pub fn has_word_of(&self, question: &str) -> bool {
        rank(question, &self.all()).iter().any(|(share, _)| *share > 0.0)
    }

    /// The last thing that a user said.
    pub fn newest_by(&self, name: &str) -> Option<&Quote<'a>> {
        self.all().into_iter().rfind(|quote| quote.speaker.eq_ignore_ascii_case(name))
    }

    /// The last words of another user, if a text is about nothing but them.
    pub fn last_words_of(&self, text: &str, asker: &UserId) -> Option<&Quote<'a>> {
        let words = content_words(text);
        self.all().into_iter().rfind(|quote| {
            let name = content_words(&quote.speaker);
            quote.message.author.id != *asker && !name.is_empty() && name == words
        })
    }

    /// The newest quote that contains a name.
    pub fn newest_with(&self, name: &str) -> Option<&Quote<'a>> {
        let name = name.to_lowercase();
        self.all().into_iter().rfind(|quote| quote.text.to_lowercase().contains(&name))
    }

    /// Whether what others said answers this so plainly that it is worth saying unasked.
    pub fn answers_plainly(&self, question: &str) -> bool {
        Question::new(question, &self.user_names).is_plainly_answered(&self.quotes)
    }

    /// All quotes, oldest first.
    pub fn all(&self) -> Vec<&Quote<'a>> {
        let mut all: Vec<&Quote<'a>> = self.quotes.iter().chain(&self.own).collect();
        all.sort_by_key(|quote| quote.message.at);
        all
    }

    /// What was said in this conversation about a topic, including replies to messages with its words, newest last.
    pub fn talk_about(&self, topic: &BTreeSet<String>, most: usize) -> Vec<&Quote<'a>> {
        let here = self.all().into_iter().filter(|quote| {
            quote.kind == QuoteKind::Said
                && self.context.target_message(&quote.message.id).is_some()
        });
        let mut found: Vec<&Quote<'a>> = Vec::new();
        // Messages between two messages on the topic most probably belong to that talk.
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

    /// Whether a message replies to a message about this topic.
    fn replies_about(&self, quote: &Quote<'_>, topic: &str) -> bool {
        let words = content_words(topic);
        let mut parents = self.context.target_messages().iter().filter(|parent| {
            parent.is_human()
                && parent.at <= quote.message.at
                && replies(quote.message, parent, self.context)
        });
        parents.any(|parent| !content_words(&parent.text).is_disjoint(&words))
    }

    /// What this speaker, or anyone, said about a topic, newest last.
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
                // Speaking about a topic takes words of one's own; a reply to a message about it is not enough.
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

    /// The newest messages in this conversation, if others have said anything.
    pub fn newest_of_all(&self, most: usize) -> Vec<&Quote<'a>> {
        match self.newest(self.quotes.iter().collect(), 1).is_empty() {
            true => Vec::new(),
            false => self.newest(self.all(), most),
        }
    }

    /// Yesterday's newest messages in this conversation.
    pub fn newest_of_yesterday(&self, most: usize) -> Vec<&Quote<'a>> {
        let Ok(yesterday) = self.now.date().yesterday() else { return Vec::new() };
        let zone = self.now.time_zone();
        let mut all = self.all();
        all.retain(|quote| quote.message.at.to_zoned(zone.clone()).date() == yesterday);
        self.newest(all, most)
    }

    fn newest<'q>(&self, quotes: Vec<&'q Quote<'a>>, most: usize) -> Vec<&'q Quote<'a>> {
        // 「ぜひ！」 says nothing without the message before it.
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

    /// Describes the answer, the newest version first if it has changed.
    pub fn describe(&self, answer: &BestAnswer<'_, '_>, asker: &UserId) -> String {
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

    /// A sentence such as “Mia said at 10:12: …”.
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

    /// When it was said, and where, if in another channel.
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

/// The quotable part of a message, and whether the mind was asked to keep it. A mere request to the mind is no news
/// for anyone.
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
        | Request::Order(_)
        | Request::Laugh
        | Request::Question(_) => None,
    }
}

/// Removes endings that do not belong in a Japanese quotation: a full stop, and the 「よ」 of what was told to the
/// mind.
fn without_ending(text: &str, kind: QuoteKind) -> &str {
    let text = text.strip_suffix('。').unwrap_or(text);
    let told = text.strip_suffix(['よ', 'ね']).filter(|rest| {
        kind != QuoteKind::Said && rest.ends_with(|character| ('ぁ'..='ん').contains(&character))
    });
    told.unwrap_or(text)
}

/// Whether the author asked around that time not to be repeated.
fn is_between_us(message: &Message, context: &Context) -> bool {
    context.messages().any(|other| {
        other.author == message.author
            && other.at.duration_since(message.at).abs() <= BETWEEN_US
            && asks_for_secrecy(&other.text)
    })
}

/// Capitalizes the first letter of a text.
fn capitalize(text: &str) -> String {
    let mut characters = text.chars();
    characters
        .next()
        .map_or_else(String::new, |first| first.to_uppercase().chain(characters).collect())
}

/// The display names, including those of authors of recalled messages only.
pub fn names(context: &Context) -> BTreeMap<&UserId, &str> {
    let recalled = context.recalled_messages.iter();
    let recalled = recalled.map(|found| (&found.message.author.id, &*found.author_name));
    recalled.chain(context.names.iter().map(|(user, name)| (user, &**name))).collect()
}

fn channel_names(context: &Context) -> BTreeMap<&ChannelId, &str> {
    let recalled = context.recalled_messages.iter();
    recalled.map(|found| (&found.message.conversation.channel, &*found.channel_name)).collect()
}
