//! The conversation, and the account names of its authors.

use jiff::Timestamp;

/// A line consists of an id, a time, a channel, an author, and a text after `|`. Attributes may come before it: `in:`
/// names the message that began its thread, `re:` the one that it answers, `edits:` the one whose text it replaces. A
/// message that is `deleted` leaves a trace in some exports.
const CONVERSATION: &str = include_str!("conversation.txt");

/// The authors, each with an account name.
pub const PEOPLE: [(&str, &str); 7] = [
    ("Nadia", "nadia"),
    ("Tomasz", "tomasz"),
    ("Priya", "priya"),
    ("Lena", "lena"),
    ("Viktor", "viktor"),
    ("美咲", "misaki"),
    ("悠斗", "yuto"),
];
pub const BOT: (&str, &str) = ("Tidewatch", "tidewatch");
pub const CHANNELS: [&str; 4] = ["boatyard", "harbour-desk", "港の雑談", PRIVATE_CHANNEL];
pub const PRIVATE_CHANNEL: &str = "bursary";
/// The creation time of the channels, before the first message.
pub const BEGIN: i64 = 1_715_580_000;
pub const FIRST_DAY: &str = "2024-05-13";

pub struct Line {
    pub id: &'static str,
    pub at: Timestamp,
    pub channel: &'static str,
    pub author: &'static str,
    pub thread: Option<&'static str>,
    pub reply_to: Option<&'static str>,
    pub edits: Option<&'static str>,
    pub is_deleted: bool,
    pub text: &'static str,
}

impl Line {
    fn parse(line: &'static str) -> Self {
        let (head, text) = line.split_once(" | ").unwrap();
        let words: Vec<&'static str> = head.split(' ').collect();
        let find = |name: &str| words.iter().copied().find_map(|word| word.strip_prefix(name));
        Self {
            id: words[0],
            at: words[1].parse().unwrap(),
            channel: words[2],
            author: words[3],
            thread: find("in:"),
            reply_to: find("re:"),
            edits: find("edits:"),
            is_deleted: words.contains(&"deleted"),
            text,
        }
    }

    pub fn is_private(&self) -> bool {
        self.channel == PRIVATE_CHANNEL
    }

    pub fn is_by_bot(&self) -> bool {
        self.author == BOT.0
    }
}

pub struct Conversation {
    pub lines: Vec<Line>,
}

impl Conversation {
    pub fn read() -> Self {
        Self { lines: CONVERSATION.lines().map(Line::parse).collect() }
    }

    /// Returns every message, with its last edit.
    pub fn messages(&self) -> impl Iterator<Item = (&Line, Option<&Line>)> {
        let messages = self.lines.iter().filter(|line| line.edits.is_none());
        messages.map(move |line| (line, self.edit_of(line)))
    }

    /// Returns the messages that were not deleted.
    pub fn kept(&self) -> impl Iterator<Item = (&Line, Option<&Line>)> {
        self.messages().filter(|(line, _)| !line.is_deleted)
    }

    fn edit_of(&self, line: &Line) -> Option<&Line> {
        self.lines.iter().find(|other| other.edits == Some(line.id))
    }

    pub fn line(&self, id: &str) -> &Line {
        self.lines.iter().find(|line| line.id == id).unwrap()
    }

    pub fn is_thread(&self, id: &str) -> bool {
        self.lines.iter().any(|line| line.thread == Some(id))
    }

    /// Returns Slack's id of a message, which is its time.
    pub fn slack_id(&self, id: &str) -> String {
        format!("{}.000000", self.line(id).at.as_second())
    }

    pub fn snowflake(&self, id: &str) -> String {
        let number = self.lines.iter().position(|line| line.id == id).unwrap();
        format!("12395000000000000{number:02}")
    }
}

pub fn accounts() -> impl Iterator<Item = (&'static str, &'static str)> {
    PEOPLE.into_iter().chain([BOT])
}

/// Returns the number of a user's account.
pub fn number(name: &str) -> usize {
    accounts().position(|(known, _)| known == name).unwrap() + 1
}

pub fn account(name: &str) -> &'static str {
    accounts().find(|(known, _)| *known == name).unwrap().1
}

pub fn channel_number(channel: &str) -> usize {
    CHANNELS.iter().position(|known| *known == channel).unwrap() + 1
}
