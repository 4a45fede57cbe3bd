//! Looks up what people did in a channel around a moment.

use std::collections::HashSet;

use aizuchi_import::history::RecordedChannel;
use aizuchi_import::rows::{ChannelRows, IdHash, MessageRow, RowList};
use aizuchi_store::open_questions::says_again;
use jiff::{SignedDuration, Timestamp};

use crate::replay::score::open_questions;

/// Without annotation, a message of another person in the same conversation counts as an answer within this time.
const ANSWER_WINDOW: SignedDuration = SignedDuration::from_hours(1);
/// A post interrupts if a person answers within this time before or after it.
const NEAR: SignedDuration = SignedDuration::from_secs(60);
/// A post also interrupts if at least two people wrote within this time before it …
const EXCHANGE_BEFORE: SignedDuration = SignedDuration::from_secs(120);
/// … and one of them goes on within this time after it.
const EXCHANGE_AFTER: SignedDuration = SignedDuration::from_secs(60);

#[derive(Clone, Copy)]
pub struct ChannelIndex<'a> {
    channel: &'a RecordedChannel,
    rows: &'a ChannelRows,
    /// Whether the recording says for every message what it answers. Platforms record it only for replies.
    pub is_annotated: bool,
}

/// Why a post would have interrupted.
pub enum Disturbance {
    /// A person's answer came this long after the post. Negative if it came before the post.
    NearAnswer(MessageRow, SignedDuration),
    InExchange(MessageRow, SignedDuration),
}

impl<'a> ChannelIndex<'a> {
    pub fn new(channel: &'a RecordedChannel) -> Self {
        Self { channel, rows: &channel.rows, is_annotated: channel.is_annotated }
    }

    pub fn message(&self, id: &str) -> Option<MessageRow> {
        self.rows.find(IdHash::new(id))
    }

    /// Whether any message by a person says what it answers.
    pub fn has_replies(&self) -> bool {
        self.rows.human_messages().any(|row| row.is_reply())
    }

    /// Returns the first answer to a message by another person, as far as the recording shows.
    pub fn first_answer(&self, asked: &MessageRow) -> Option<MessageRow> {
        let rows = self.rows;
        let is_others = |row: &MessageRow| row.author != asked.author && row.ts >= asked.ts;
        let mut answers = rows.answers_to(asked).filter(|row| !row.is_bot());
        let said = answers.find(is_others);
        if self.is_annotated {
            return said;
        }
        let may_answer =
            |row: &MessageRow| is_others(row) && (!row.is_reply() || rows.is_answer(row, asked));
        let in_thread = rows.human_messages_at(asked.id).iter().find(may_answer);
        let beside = rows.human_messages_in(asked.thread);
        let later = beside.from(beside.partition_point(|row| row.ts <= asked.ts));
        let beside = later
            .iter()
            .take_while(|row| row.at().duration_since(asked.at()) <= ANSWER_WINDOW)
            .find(may_answer);
        said.into_iter().chain(in_thread).chain(beside).min_by_key(|row| row.at())
    }

    /// Whether somebody else wrote in the same conversation within this time before a message.
    pub fn follows_another(&self, message: &MessageRow, within: SignedDuration) -> bool {
        let beside = self.rows.human_messages_in(message.thread);
        let before = beside.until(beside.partition_point(|other| other.ts < message.ts));
        let close = before.iter().rev();
        let mut close = close.take_while(|other| message.at().duration_since(other.at()) <= within);
        close.any(|other| other.author != message.author)
    }

    /// Returns why a post at this time would have interrupted people, if it would have.
    pub fn disturbance(
        &self,
        thread: Option<&str>,
        about: Option<&MessageRow>,
        at: Timestamp,
    ) -> Option<Disturbance> {
        let near = about.and_then(|about| self.near_answer(thread, about, at, NEAR));
        near.or_else(|| self.exchange(thread, at))
    }

    /// Whether a post would have interrupted people if answers within `near` counted.
    pub fn is_disturbing_within(
        &self,
        near: SignedDuration,
        thread: Option<&str>,
        about: Option<&MessageRow>,
        at: Timestamp,
    ) -> bool {
        let is_near =
            about.is_some_and(|about| self.near_answer(thread, about, at, near).is_some());
        is_near || self.exchange(thread, at).is_some()
    }

    /// Returns the answer by another person that is closest to the post, within `near` before or after it.
    fn near_answer(
        &self,
        thread: Option<&str>,
        about: &MessageRow,
        at: Timestamp,
        near: SignedDuration,
    ) -> Option<Disturbance> {
        let places = [self.in_place(thread), self.rows.human_messages_at(about.id)];
        let close = places.into_iter().flat_map(|place| {
            let from = place.from(place.partition_point(|row| row.at() + near < at));
            from.iter().take_while(move |row| row.at() <= at + near)
        });
        let is_answer = |row: &MessageRow| {
            let is_answer =
                self.rows.is_answer(row, about) || (!self.is_annotated && !row.is_reply());
            row.author != about.author && row.ts > about.ts && is_answer
        };
        let closest = close
            .filter(is_answer)
            .min_by_key(|row| (row.at().duration_since(at).abs(), row.at()))?;
        Some(Disturbance::NearAnswer(closest, closest.at().duration_since(at)))
    }

    /// Returns the next message after the post, if it continues an exchange between people.
    fn exchange(&self, thread: Option<&str>, at: Timestamp) -> Option<Disturbance> {
        let messages = self.in_place(thread);
        let next = messages.partition_point(|row| row.at() <= at);
        let before = messages.until(next).iter().rev();
        let recent = before.take_while(|row| at.duration_since(row.at()) <= EXCHANGE_BEFORE);
        let authors: HashSet<u32> = recent.map(|row| row.author).collect();
        let next = messages.get(next)?;
        let gap = next.at().duration_since(at);
        let is_exchange =
            authors.len() >= 2 && authors.contains(&next.author) && gap <= EXCHANGE_AFTER;
        is_exchange.then_some(Disturbance::InExchange(next, gap))
    }

    /// Whether the author of the message that a post is about had also written last, and goes on right after the post.
    pub fn asker_goes_on(&self, thread: Option<&str>, about: &MessageRow, at: Timestamp) -> bool {
        let messages = self.in_place(thread);
        let next = messages.partition_point(|row| row.at() <= at);
        let is_askers = |row: &MessageRow| row.author == about.author;
        let last = next.checked_sub(1).and_then(|last| messages.get(last));
        let next = messages.get(next).filter(is_askers);
        last.filter(is_askers).is_some()
            && next.is_some_and(|row| row.at().duration_since(at) <= EXCHANGE_AFTER)
    }

    /// Returns the questions that certainly nobody answered, by time.
    pub fn unanswered(&self) -> Vec<MessageRow> {
        if self.is_annotated {
            let open = open_questions(self.channel);
            return self.rows.all().filter(|row| open.contains(&row.id)).collect();
        }
        let Some(end) = self.rows.last().map(|row| row.at()) else { return Vec::new() };
        let mut found: Vec<MessageRow> = Vec::new();
        for row in self.in_place(None).iter().filter(|row| row.asks()) {
            let is_known = end.duration_since(row.at()) > ANSWER_WINDOW;
            let is_again = says_again(asked(&row), found.iter().map(asked));
            let is_open = !row.names_somebody() && self.first_answer(&row).is_none();
            if is_known && !is_again && is_open {
                found.push(row);
            }
        }
        found
    }

    /// Returns the messages around a moment, from `window` before the message that it is about until `window` after it:
    /// its conversation, the thread's parent, and the thread below the message that it is about.
    pub fn around(
        &self,
        thread: Option<&str>,
        about: &MessageRow,
        at: Timestamp,
        window: SignedDuration,
    ) -> Vec<MessageRow> {
        let (from, to) = (about.at().min(at) - window, at + window);
        let all = self.rows.between(from, to);
        let in_thread = |thread: IdHash| {
            let thread = self.rows.thread(thread);
            all.iter().copied().filter(move |row| Some(row.thread) == thread)
        };
        let thread_id = IdHash::from_thread(thread);
        let root = thread.and_then(|root| self.message(root));
        let root = root.filter(|root| (from..=to).contains(&root.at()));
        let below = (thread_id != about.id).then(|| in_thread(about.id)).into_iter().flatten();
        let mut found: Vec<MessageRow> =
            root.into_iter().chain(in_thread(thread_id)).chain(below).collect();
        found.sort_by_key(|row| row.at());
        found.dedup_by_key(|row| row.id);
        found
    }

    /// Returns the messages by people in a thread, or at the top level.
    pub fn in_place(&self, thread: Option<&str>) -> RowList<'a> {
        self.rows.human_messages_at(IdHash::from_thread(thread))
    }

    /// Returns the delays of up to an hour between consecutive messages by different people in one conversation. The
    /// first message of a thread counts as following the thread's parent, which is at the top level.
    pub fn delays(&self) -> impl Iterator<Item = SignedDuration> {
        let rows = self.rows;
        let pairs = rows.threads().flat_map(move |thread| rows.human_messages_in(thread).pairs());
        let begun = rows.threads().filter_map(move |thread| {
            let root = rows.find(rows.thread_id(thread)).filter(|root| !root.is_bot())?;
            Some((root, rows.human_messages_in(thread).get(0)?))
        });
        let others = pairs.chain(begun).filter(|(one, next)| one.author != next.author);
        others
            .map(|(one, next)| next.at().duration_since(one.at()))
            .filter(|delay| (SignedDuration::ZERO..=ANSWER_WINDOW).contains(delay))
    }
}

fn asked(row: &MessageRow) -> (u32, Timestamp) {
    (row.author, row.at())
}

#[cfg(test)]
mod tests {
    use super::*;
    use aizuchi_import::history::RecordedMessage;

    fn message(id: &str, author: &str, second: f64, reply_to: &[&str]) -> RecordedMessage {
        RecordedMessage {
            channel: "r".to_owned(),
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
        let channel = RecordedChannel::from_messages("r".to_owned(), messages);
        let index = ChannelIndex::new(&channel);
        let answer = |id: &str| {
            let found = index.first_answer(&index.message(id).unwrap());
            found.map(|answer| answer.id)
        };
        assert_eq!(answer("1"), Some(IdHash::new("2")));
        // Nobody wrote within an hour, but somebody replied later.
        assert_eq!(answer("3"), Some(IdHash::new("4")));
        assert_eq!(answer("4"), None);
        assert!(index.has_replies() && !index.is_annotated);
        let unanswered: Vec<_> = index.unanswered().iter().map(|one| one.id).collect();
        assert_eq!(unanswered, [IdHash::new("4")]);
    }

    #[test]
    fn who_asked_may_go_on_after_a_post() {
        let messages = vec![
            message("1", "ann", 0.0, &[]),
            message("2", "ann", 150.0, &[]),
            message("3", "ben", 400.0, &[]),
            message("4", "ann", 430.0, &[]),
        ];
        let channel = RecordedChannel::from_messages("r".to_owned(), messages);
        let index = ChannelIndex::new(&channel);
        let goes_on = |second: i64| {
            let at = Timestamp::from_second(second).unwrap();
            index.asker_goes_on(None, &index.message("1").unwrap(), at)
        };
        assert!(goes_on(100) && !goes_on(80), "within a minute");
        // Somebody else wrote next, or last, or nobody.
        assert!(!goes_on(390) && !goes_on(410) && !goes_on(440));
    }

    #[test]
    fn a_message_disturbs_only_within_the_limit() {
        let messages = vec![message("1", "ann", 0.0, &[]), message("2", "ben", 250.0, &[])];
        let channel = RecordedChannel::from_messages("r".to_owned(), messages);
        let index = ChannelIndex::new(&channel);
        let asked = index.message("1").unwrap();
        let at = Timestamp::from_second(100).unwrap();
        let within = |seconds: i64| {
            let near = SignedDuration::from_secs(seconds);
            index.is_disturbing_within(near, None, Some(&asked), at)
        };
        assert!(within(180) && within(150) && !within(149));
        assert!(index.disturbance(None, Some(&asked), at).is_none());
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
        let channel = RecordedChannel::from_messages("r".to_owned(), messages);
        let mut delays: Vec<i64> =
            ChannelIndex::new(&channel).delays().map(|delay| delay.as_secs()).collect();
        delays.sort_unstable();
        assert_eq!(delays, [10, 60]);
    }

    #[test]
    fn a_question_mark_in_an_address_or_in_code_asks_nothing() {
        let asks = |text: &str| {
            let asked = RecordedMessage { text: text.to_owned(), ..message("1", "ann", 0.0, &[]) };
            RecordedChannel::from_messages("r".to_owned(), vec![asked]).rows.first().unwrap().asks()
        };
        for text in ["who has it?", "really?! yes", "(is it?)", "どこですか？教えて", "what? no"]
        {
            assert!(asks(text), "{text}");
        }
        for text in ["see https://a.example/x?y=1", "use `nil?` there", "so it goes", "a?b"] {
            assert!(!asks(text), "{text}");
        }
    }
}
