//! Looks up what people did in a channel around a moment.

use aizuchi_import::history::RecordedChannel;
use aizuchi_import::rows::{ChannelRows, IdHash, MessageRow, RowList};
use aizuchi_store::open_questions::says_again;
use jiff::{SignedDuration, Timestamp};

/// A question is open if no other person takes it up within this time.
pub const ANSWER_WINDOW: SignedDuration = SignedDuration::from_hours(1);
/// A post is in mid-talk if a person other than the one it answers writes within this time before or after it.
const MID_TALK: SignedDuration = SignedDuration::from_secs(60);

#[derive(Clone, Copy)]
pub struct PeopleAround<'a> {
    rows: &'a ChannelRows,
    /// Whether the recording says for every message what it answers. Platforms record it only for replies.
    is_annotated: bool,
    /// Until when it is known what people wrote.
    end: Timestamp,
}

impl<'a> PeopleAround<'a> {
    /// `end` is when the recording of all channels ends. If omitted: when that of this channel does.
    pub fn new(channel: &'a RecordedChannel, end: Option<Timestamp>) -> Self {
        let rows = &channel.rows;
        let last = rows.last().map_or(Timestamp::MIN, |row| row.at());
        Self { rows, is_annotated: channel.is_annotated, end: last.max(end.unwrap_or(last)) }
    }

    pub fn message(&self, id: &str) -> Option<MessageRow> {
        self.rows.find(IdHash::new(id))
    }

    /// Returns the first message with which another person took up this one, within an hour: the first one in its
    /// thread or beside it, but not an answer to another message. In an annotated recording, only answers count.
    pub fn taken_up(&self, asked: &MessageRow) -> Option<MessageRow> {
        let rows = self.rows;
        let is_others = |row: &MessageRow| {
            row.author != asked.author && row.ts >= asked.ts && !row.is_bot() && is_soon(asked, row)
        };
        let said = rows.answers_to(asked).find(is_others);
        if self.is_annotated {
            return said;
        }
        let may_answer =
            |row: &MessageRow| is_others(row) && (!row.is_reply() || rows.is_answer(row, asked));
        let in_thread = rows.human_messages_at(asked.id).iter().find(may_answer);
        let beside = rows.human_messages_in(asked.thread);
        let beside = beside.from(beside.partition_point(|row| row.ts <= asked.ts));
        let beside = beside.iter().take_while(|row| is_soon(asked, row)).find(may_answer);
        said.into_iter().chain(in_thread).chain(beside).min_by_key(|row| row.at())
    }

    /// Whether it is known what people wrote within an hour after a message.
    pub fn knows_hour_after(&self, row: &MessageRow) -> bool {
        self.end.duration_since(row.at()) > ANSWER_WINDOW
    }

    /// Returns the questions to everybody that nobody took up within an hour, by time. A question that repeats its
    /// author's last one does not count again, and neither does one at whose end the recording ends.
    pub fn open_questions(&self) -> Vec<MessageRow> {
        let mut found: Vec<MessageRow> = Vec::new();
        for row in self.in_place(None).iter().filter(|row| row.asks() && !row.names_somebody()) {
            let is_known = self.knows_hour_after(&row);
            let begins = !self.is_annotated || row.is_opener();
            let is_again = || says_again(asked(&row), found.iter().map(asked));
            if is_known && begins && !is_again() && self.taken_up(&row).is_none() {
                found.push(row);
            }
        }
        found
    }

    /// Returns the message that puts a post in mid-talk, if one does, and how long after the post it came (negative if
    /// before): the one closest to the post, of a person other than the one whom the post answers.
    pub fn mid_talk(
        &self,
        thread: Option<&str>,
        about: Option<&MessageRow>,
        at: Timestamp,
    ) -> Option<(MessageRow, SignedDuration)> {
        let place = self.in_place(thread);
        let from = place.from(place.partition_point(|row| row.at() + MID_TALK < at));
        let near = from.iter().take_while(|row| row.at() <= at + MID_TALK);
        let others = near.filter(|row| about.is_none_or(|about| row.author != about.author));
        let closest = others.min_by_key(|row| (row.at().duration_since(at).abs(), row.at()))?;
        Some((closest, closest.at().duration_since(at)))
    }

    /// Returns the messages around a moment, from an hour before the message that it is about until an hour after it:
    /// its conversation, the thread's parent, and the thread below the message that it is about.
    pub fn around(
        &self,
        thread: Option<&str>,
        about: &MessageRow,
        at: Timestamp,
    ) -> Vec<MessageRow> {
        let (from, to) = (about.at().min(at) - ANSWER_WINDOW, at + ANSWER_WINDOW);
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
    fn in_place(&self, thread: Option<&str>) -> RowList<'a> {
        self.rows.human_messages_at(IdHash::from_thread(thread))
    }
}

/// Whether something happened within an hour after a message.
pub fn is_within_hour(asked: &MessageRow, at: Timestamp) -> bool {
    at.duration_since(asked.at()) <= ANSWER_WINDOW
}

fn is_soon(asked: &MessageRow, row: &MessageRow) -> bool {
    is_within_hour(asked, row.at())
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
            message("2", "ben", 10.0, &["0"]),
            message("3", "cat", 20.0, &[]),
            message("4", "dan", 3600.0, &["3"]),
            message("5", "eve", 20_000.0, &[]),
        ];
        let channel = RecordedChannel::from_messages("r".to_owned(), messages);
        let people = PeopleAround::new(&channel, None);
        let taken_up = |id: &str| {
            let found = people.taken_up(&people.message(id).unwrap());
            found.map(|answer| answer.id)
        };
        assert_eq!(taken_up("1"), Some(IdHash::new("3")), "the reply answers another message");
        assert_eq!(taken_up("3"), Some(IdHash::new("4")));
        assert_eq!(taken_up("4"), None);
        let open: Vec<_> = people.open_questions().iter().map(|one| one.id).collect();
        assert_eq!(open, [IdHash::new("4")], "of the last one it is not known");
        let later = Timestamp::from_second(30_000).unwrap();
        assert_eq!(PeopleAround::new(&channel, Some(later)).open_questions().len(), 2);
    }

    #[test]
    fn a_question_is_open_for_an_hour_and_not_for_a_second_more() {
        for (second, expected) in [(3600.0, 0), (3601.0, 1)] {
            let messages = vec![message("1", "ann", 0.0, &[]), message("2", "ben", second, &[])];
            let channel = RecordedChannel::from_messages("r".to_owned(), messages);
            assert_eq!(PeopleAround::new(&channel, None).open_questions().len(), expected);
        }
    }

    #[test]
    fn only_another_person_within_a_minute_makes_a_post_one_in_mid_talk() {
        let messages = vec![
            message("1", "ann", 0.0, &[]),
            message("2", "ann", 90.0, &[]),
            message("3", "ben", 250.0, &[]),
            RecordedMessage { bot: true, ..message("4", "bot", 600.0, &[]) },
        ];
        let channel = RecordedChannel::from_messages("r".to_owned(), messages);
        let people = PeopleAround::new(&channel, None);
        let asked = people.message("1").unwrap();
        let mid_talk = |second: i64| {
            let found =
                people.mid_talk(None, Some(&asked), Timestamp::from_second(second).unwrap());
            found.map(|(_, after)| after.as_secs())
        };
        assert_eq!(
            [100, 189, 190, 310, 311, 600].map(mid_talk),
            [None, None, Some(60), Some(-60), None, None]
        );
        assert_eq!(
            people.mid_talk(Some("1"), Some(&asked), asked.at()),
            None,
            "another conversation"
        );
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
