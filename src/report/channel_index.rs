//! A channel's messages, arranged to find out what people did around a moment.

use std::collections::{HashMap, HashSet};

use jiff::{SignedDuration, Timestamp};

use crate::replay::history::{RecordedChannel, RecordedMessage};
use crate::replay::score::open_questions;
use aizuchi_core::store::open_questions::{asks, names_somebody, says_again};

/// Without annotation, a message of another person at the same place counts as an answer within this time.
const ANSWER_WINDOW: SignedDuration = SignedDuration::from_hours(1);
/// A message of a person this close to a post was their answer.
const NEAR: SignedDuration = SignedDuration::from_secs(60);
/// An exchange is going on if two people wrote within this time …
const EXCHANGE_BEFORE: SignedDuration = SignedDuration::from_secs(120);
/// … and one of them goes on within this time.
const EXCHANGE_AFTER: SignedDuration = SignedDuration::from_secs(60);

pub struct ChannelIndex<'a> {
    channel: &'a RecordedChannel,
    by_id: HashMap<&'a str, &'a RecordedMessage>,
    /// All messages by place, and those of them that humans wrote.
    messages: HashMap<&'a str, Vec<&'a RecordedMessage>>,
    human_messages: HashMap<&'a str, Vec<&'a RecordedMessage>>,
    /// The answers of people that say what they answer, by that.
    answers: HashMap<&'a str, Vec<&'a RecordedMessage>>,
    /// Whether it is known of every message what it answers. The replies of a platform say it of some.
    pub is_annotated: bool,
}

/// What makes a post one that would have disturbed, and how close it was.
pub enum Disturbance<'a> {
    /// A person's answer came this long after it, or before it where that is negative.
    NearAnswer(&'a RecordedMessage, SignedDuration),
    InExchange(&'a RecordedMessage, SignedDuration),
}

impl<'a> ChannelIndex<'a> {
    pub fn new(channel: &'a RecordedChannel) -> Self {
        let is_annotated = channel.is_annotated;
        let mut index = Self {
            channel,
            by_id: HashMap::new(),
            messages: HashMap::new(),
            human_messages: HashMap::new(),
            answers: HashMap::new(),
            is_annotated,
        };
        for message in &channel.messages {
            index.by_id.insert(&message.id, message);
            let place = place(message.thread.as_deref());
            index.messages.entry(place).or_default().push(message);
            if !message.bot {
                index.human_messages.entry(place).or_default().push(message);
                for asked in &message.reply_to {
                    index.answers.entry(asked).or_default().push(message);
                }
            }
        }
        index
    }

    pub fn message(&self, id: &str) -> Option<&'a RecordedMessage> {
        self.by_id.get(id).copied()
    }

    /// Whether a person's message says what it answers.
    pub fn has_replies(&self) -> bool {
        !self.answers.is_empty()
    }

    /// The first message of another person that answers this one, as far as can be told.
    pub fn first_answer(&self, asked: &RecordedMessage) -> Option<&'a RecordedMessage> {
        let is_others =
            |message: &&&RecordedMessage| message.author != asked.author && message.ts >= asked.ts;
        let said = self.answers.get(&*asked.id).and_then(|answers| answers.iter().find(is_others));
        if self.is_annotated {
            return said.copied();
        }
        let may_answer = |message: &&&RecordedMessage| {
            is_others(message)
                && (message.reply_to.is_empty() || message.reply_to.contains(&asked.id))
        };
        let in_thread = self.in_place(Some(&asked.id)).iter().find(may_answer).copied();
        let beside = self.in_place(asked.thread.as_deref());
        let later = beside.partition_point(|message| message.ts <= asked.ts);
        let beside = beside[later..]
            .iter()
            .take_while(|message| message.at().duration_since(asked.at()) <= ANSWER_WINDOW)
            .find(may_answer)
            .copied();
        let found = said.copied().into_iter().chain(in_thread).chain(beside);
        found.min_by_key(|message| message.at())
    }

    /// Whether somebody else wrote at the same place within this time before a message.
    pub fn follows_another(&self, message: &RecordedMessage, within: SignedDuration) -> bool {
        let beside = self.in_place(message.thread.as_deref());
        let before = &beside[..beside.partition_point(|other| other.ts < message.ts)];
        let close = before.iter().rev();
        let mut close = close.take_while(|other| message.at().duration_since(other.at()) <= within);
        close.any(|other| other.author != message.author)
    }

    /// Whether a post at this time would have disturbed people.
    pub fn disturbance(
        &self,
        thread: Option<&str>,
        about: Option<&RecordedMessage>,
        at: Timestamp,
    ) -> Option<Disturbance<'a>> {
        let near = about.and_then(|about| self.near_answer(thread, about, at));
        near.or_else(|| self.exchange(thread, at))
    }

    /// The message of another person closest to the post that answers what it is about.
    fn near_answer(
        &self,
        thread: Option<&str>,
        about: &RecordedMessage,
        at: Timestamp,
    ) -> Option<Disturbance<'a>> {
        let places = [self.in_place(thread), self.in_place(Some(&about.id))];
        let near = places.into_iter().flat_map(|place| {
            let from = place.partition_point(|message| message.at() + NEAR < at);
            place[from..].iter().take_while(|message| message.at() <= at + NEAR)
        });
        let is_answer = |message: &&&RecordedMessage| {
            let is_answer = message.reply_to.contains(&about.id)
                || (!self.is_annotated && message.reply_to.is_empty());
            message.author != about.author && message.ts > about.ts && is_answer
        };
        let closest = near
            .filter(is_answer)
            .min_by_key(|message| (message.at().duration_since(at).abs(), message.at()))?;
        Some(Disturbance::NearAnswer(closest, closest.at().duration_since(at)))
    }

    /// The person who goes on with an exchange right after the post.
    fn exchange(&self, thread: Option<&str>, at: Timestamp) -> Option<Disturbance<'a>> {
        let messages = self.in_place(thread);
        let next = messages.partition_point(|message| message.at() <= at);
        let recent = messages[..next]
            .iter()
            .rev()
            .take_while(|message| at.duration_since(message.at()) <= EXCHANGE_BEFORE);
        let authors: HashSet<&str> = recent.map(|message| &*message.author).collect();
        let next = messages.get(next)?;
        let gap = next.at().duration_since(at);
        let is_exchange =
            authors.len() >= 2 && authors.contains(&*next.author) && gap <= EXCHANGE_AFTER;
        is_exchange.then_some(Disturbance::InExchange(next, gap))
    }

    /// Whether who wrote what a post is about had also written last, and goes on right after the post.
    pub fn asker_goes_on(
        &self,
        thread: Option<&str>,
        about: &RecordedMessage,
        at: Timestamp,
    ) -> bool {
        let messages = self.in_place(thread);
        let next = messages.partition_point(|message| message.at() <= at);
        let (before, after) = messages.split_at(next);
        let is_askers = |message: &&&RecordedMessage| message.author == about.author;
        let next = after.first().filter(is_askers);
        before.last().filter(is_askers).is_some()
            && next.is_some_and(|message| message.at().duration_since(at) <= EXCHANGE_AFTER)
    }

    /// The questions that certainly nobody answered, by time.
    pub fn unanswered(&self) -> Vec<&'a RecordedMessage> {
        if self.is_annotated {
            let open = open_questions(self.channel);
            let is_open = |message: &&RecordedMessage| open.contains(&*message.id);
            return self.channel.messages.iter().filter(is_open).collect();
        }
        let Some(end) = self.channel.messages.last().map(RecordedMessage::at) else {
            return Vec::new();
        };
        let mut found: Vec<&RecordedMessage> = Vec::new();
        for message in self.in_place(None).iter().filter(|message| is_question(message)) {
            let is_known = end.duration_since(message.at()) > ANSWER_WINDOW;
            let is_again = says_again(asked(message), found.iter().copied().map(asked));
            let is_open = !names_somebody(&message.text) && self.first_answer(message).is_none();
            if is_known && !is_again && is_open {
                found.push(message);
            }
        }
        found
    }

    /// The messages that belong to a moment: its conversation, what opened it, and the thread below what it is about.
    pub fn around(
        &self,
        thread: Option<&str>,
        about: Option<&RecordedMessage>,
    ) -> Vec<&'a RecordedMessage> {
        let at = |thread: Option<&str>| self.messages.get(place(thread)).into_iter().flatten();
        let root = thread.and_then(|root| self.message(root));
        let below = about.filter(|about| thread != Some(&*about.id));
        let below = below.into_iter().flat_map(|about| at(Some(&about.id)));
        let mut found: Vec<&RecordedMessage> =
            root.iter().chain(at(thread)).chain(below).copied().collect();
        found.sort_by_key(|message| message.at());
        found.dedup_by(|one, other| one.id == other.id);
        found
    }

    /// People's messages in a thread, or at the top level.
    pub fn in_place(&self, thread: Option<&str>) -> &[&'a RecordedMessage] {
        self.human_messages.get(place(thread)).map_or(&[], Vec::as_slice)
    }

    /// The times between two messages of different people at one place, within an hour. A thread follows the message that
    /// it is about, which stands at another place.
    pub fn delays(&self) -> impl Iterator<Item = SignedDuration> {
        let pairs = self.human_messages.values().flat_map(|messages| messages.windows(2));
        let pairs = pairs.map(|pair| (pair[0], pair[1]));
        let begun = self.human_messages.iter().filter_map(move |(thread, messages)| {
            let root = self.message(thread).filter(|root| !root.bot)?;
            Some((root, *messages.first()?))
        });
        let others = pairs.chain(begun).filter(|(one, next)| one.author != next.author);
        others
            .map(|(one, next)| next.at().duration_since(one.at()))
            .filter(|delay| (SignedDuration::ZERO..=ANSWER_WINDOW).contains(delay))
    }
}

pub fn is_question(message: &RecordedMessage) -> bool {
    asks(&message.text)
}

fn asked(message: &RecordedMessage) -> (&str, Timestamp) {
    (&*message.author, message.at())
}

/// The key of a thread, or of the top level, which no thread has: ids are not empty.
fn place(thread: Option<&str>) -> &str {
    thread.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(id: &str, author: &str, second: f64, reply_to: &[&str]) -> RecordedMessage {
        RecordedMessage {
            room: "r".to_owned(),
            thread: None,
            id: id.to_owned(),
            ts: second,
            author: author.to_owned(),
            name: None,
            text: "who has it?".to_owned(),
            reply_to: reply_to.iter().map(|id| (*id).to_owned()).collect(),
            bot: false,
            opener: false,
        }
    }

    /// One reply of a platform says nothing about the messages that are none.
    #[test]
    fn a_reply_is_an_answer_and_so_is_what_follows_without_saying_so() {
        let messages = vec![
            message("1", "ann", 0.0, &[]),
            message("2", "ben", 10.0, &[]),
            message("3", "cat", 20.0, &[]),
            message("4", "dan", 7000.0, &["3"]),
            message("5", "eve", 20_000.0, &[]),
        ];
        let channel = RecordedChannel { messages, ..RecordedChannel::new("r".to_owned()) };
        let index = ChannelIndex::new(&channel);
        let answer = |id: &str| {
            let found = index.first_answer(index.message(id).unwrap());
            found.map(|answer| answer.id.clone())
        };
        assert_eq!(answer("1").as_deref(), Some("2"));
        // Nobody wrote within an hour, but somebody replied later.
        assert_eq!(answer("3").as_deref(), Some("4"));
        assert_eq!(answer("4"), None);
        assert!(index.has_replies() && !index.is_annotated);
        let unanswered: Vec<_> = index.unanswered().iter().map(|one| &*one.id).collect();
        assert_eq!(unanswered, ["4"]);
    }

    #[test]
    fn who_asked_may_go_on_after_a_post() {
        let messages = vec![
            message("1", "ann", 0.0, &[]),
            message("2", "ann", 150.0, &[]),
            message("3", "ben", 400.0, &[]),
            message("4", "ann", 430.0, &[]),
        ];
        let channel = RecordedChannel { messages, ..RecordedChannel::new("r".to_owned()) };
        let index = ChannelIndex::new(&channel);
        let goes_on = |second: i64| {
            let at = Timestamp::from_second(second).unwrap();
            index.asker_goes_on(None, index.message("1").unwrap(), at)
        };
        assert!(goes_on(100) && !goes_on(80), "within a minute");
        // Somebody else wrote next, or last, or nobody.
        assert!(!goes_on(390) && !goes_on(410) && !goes_on(440));
    }

    #[test]
    fn the_first_reply_in_a_thread_comes_after_what_began_it() {
        let within = |thread: &str, message: RecordedMessage| RecordedMessage {
            thread: Some(thread.to_owned()),
            ..message
        };
        let messages = vec![
            message("1", "ann", 0.0, &[]),
            within("1", message("2", "ben", 60.0, &[])),
            within("1", message("3", "ann", 70.0, &[])),
            RecordedMessage { bot: true, ..message("4", "bot", 100.0, &[]) },
            within("4", message("5", "ben", 110.0, &[])),
            within("gone", message("6", "cat", 120.0, &[])),
        ];
        let channel = RecordedChannel { messages, ..RecordedChannel::new("r".to_owned()) };
        let mut delays: Vec<i64> =
            ChannelIndex::new(&channel).delays().map(|delay| delay.as_secs()).collect();
        delays.sort_unstable();
        assert_eq!(delays, [10, 60]);
    }

    #[test]
    fn a_question_mark_in_an_address_or_in_code_asks_nothing() {
        let message = |text: &str| RecordedMessage {
            room: "r".to_owned(),
            thread: None,
            id: "1".to_owned(),
            ts: 0.0,
            author: "ann".to_owned(),
            name: None,
            text: text.to_owned(),
            reply_to: Vec::new(),
            bot: false,
            opener: false,
        };
        for text in ["who has it?", "really?! yes", "(is it?)", "どこですか？教えて", "what? no"]
        {
            assert!(is_question(&message(text)), "{text}");
        }
        for text in ["see https://a.example/x?y=1", "use `nil?` there", "so it goes", "a?b"] {
            assert!(!is_question(&message(text)), "{text}");
        }
    }
}
