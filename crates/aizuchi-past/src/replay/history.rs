//! Recorded chat: messages, grouped by channel (`room` in JSON Lines).

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::fmt::Debug;
use std::io::BufRead;
use std::path::Path;
use std::sync::Arc;

use aizuchi_model::chat::AuthorKind;
use aizuchi_model::input_file;
use aizuchi_store::stored_message::StoredMessage;
use anyhow::Context as _;
use jiff::Timestamp;
use serde::{Deserialize, Deserializer, Serialize};

use crate::replay::export_lines::LineKind;
use crate::replay::json_lines::read_lines;
use crate::replay::rows::builder::{RowSource, RowsBuilder};
use crate::replay::rows::{ChannelRows, MessageRow, epoch_seconds};

/// One recorded message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RecordedMessage {
    #[serde(rename = "room")]
    pub channel: String,
    #[serde(default)]
    pub thread: Option<String>,
    pub id: String,
    /// Epoch seconds.
    pub ts: f64,
    pub author: String,
    /// The display name, if it differs from the author's id.
    #[serde(default)]
    pub name: Option<String>,
    pub text: String,
    /// The annotated ids of the messages that this one answers.
    #[serde(default, deserialize_with = "none_as_default")]
    pub reply_to: Vec<String>,
    #[serde(default, deserialize_with = "none_as_default")]
    pub bot: bool,
    /// Annotated as the beginning of a conversation.
    #[serde(default, deserialize_with = "none_as_default")]
    pub opener: bool,
}

impl RecordedMessage {
    /// A message of Aizuchi's own store.
    pub fn from_stored(channel: &str, stored: &StoredMessage) -> Self {
        let message = &stored.message;
        Self {
            channel: channel.to_owned(),
            thread: message.conversation.thread.as_ref().map(ToString::to_string),
            id: message.id.to_string(),
            ts: message.at.as_millisecond() as f64 / 1000.0,
            author: message.author.id.to_string(),
            name: Some(stored.author_name.to_string()),
            text: message.text.to_string(),
            reply_to: Vec::new(),
            bot: message.author.kind != AuthorKind::Human,
            opener: false,
        }
    }

    /// Parses a line of JSON Lines. The error does not repeat its text.
    pub fn parse(line: &[u8]) -> Result<Self, String> {
        let text = std::str::from_utf8(line).map_err(|_| "it is not UTF-8".to_owned())?;
        let message: Self =
            serde_json::from_str(text).map_err(|error| describe_json_error(&error))?;
        message.checked()
    }

    /// Returns the message, unless it has a [`Self::problem`].
    pub fn checked(self) -> Result<Self, String> {
        match self.problem() {
            Some(problem) => Err(problem.to_owned()),
            None => Ok(self),
        }
    }

    /// Returns why a replay cannot hear this message, if it cannot.
    pub fn problem(&self) -> Option<&'static str> {
        if !(0.0..MAX_EPOCH_SECONDS).contains(&self.ts) {
            return Some("its ts is not a time in epoch seconds");
        }
        let lacks_key = self.channel.is_empty() || self.id.is_empty();
        lacks_key.then_some("its room or its id is empty")
    }

    /// Returns the data that the row of a message is made from. `place` is where the message can be read.
    pub fn row_source(&self, place: u64) -> RowSource<'_> {
        RowSource {
            place,
            thread: self.thread.as_deref(),
            id: &self.id,
            ts: self.ts,
            author: &self.author,
            name: self.name.as_deref(),
            text: &self.text,
            reply_to: &self.reply_to,
            bot: self.bot,
            opener: self.opener,
        }
    }

    /// Returns the time to the millisecond. Only messages without a [`Self::problem`] are kept.
    pub fn at(&self) -> Timestamp {
        epoch_seconds(self.ts)
    }
}

/// One channel: a row for each message, and access to the messages.
#[derive(Clone, Debug)]
pub struct RecordedChannel {
    pub name: String,
    pub rows: ChannelRows,
    pub messages: Arc<dyn MessageReads>,
    /// Whether any message of the recording, here or in another channel, is annotated as the beginning of a
    /// conversation. If so, `reply_to` is annotated as well; otherwise it comes from the platform.
    pub is_annotated: bool,
}

/// A line of the file that could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadLine {
    /// Counted from 1.
    pub number: usize,
    pub problem: String,
}

/// Reads the messages of a channel, on disk or in memory.
pub trait MessageReads: Debug + Send + Sync {
    /// Reads the message at a place. `piece` caches the last read from disk, which often contains the next message,
    /// too.
    fn message(&self, place: u64, piece: &mut ReadPiece) -> anyhow::Result<RecordedMessage>;
}

/// A piece of a file.
#[derive(Debug, Default)]
pub struct ReadPiece {
    /// The offset of the piece in the file.
    pub begin: u64,
    pub bytes: Vec<u8>,
}

/// Messages in memory. The place of a message is its index.
#[derive(Debug)]
struct MessagesInMemory(Vec<RecordedMessage>);

impl MessageReads for MessagesInMemory {
    fn message(&self, place: u64, _piece: &mut ReadPiece) -> anyhow::Result<RecordedMessage> {
        self.0.get(place as usize).cloned().context("a message is not there")
    }
}

/// Reads the full messages of a channel, one after another.
pub struct MessageReader<'a> {
    channel: &'a RecordedChannel,
    piece: ReadPiece,
}

impl MessageReader<'_> {
    pub fn read(&mut self, row: &MessageRow) -> anyhow::Result<RecordedMessage> {
        self.channel.messages.message(row.place(), &mut self.piece)
    }
}

/// The channels in the order in which they first appear, and the lines that were skipped.
#[derive(Clone, Debug, Default)]
pub struct History {
    pub channels: Vec<RecordedChannel>,
    pub bad_lines: Vec<BadLine>,
}

/// Recorded channels, which are read one at a time.
pub trait ChannelSource: Sync {
    fn channel_count(&self) -> usize;

    /// Returns the channel at an index.
    fn channel(&self, index: usize) -> anyhow::Result<Cow<'_, RecordedChannel>>;
}

impl ChannelSource for History {
    fn channel_count(&self) -> usize {
        self.channels.len()
    }

    fn channel(&self, index: usize) -> anyhow::Result<Cow<'_, RecordedChannel>> {
        Ok(Cow::Borrowed(&self.channels[index]))
    }
}

impl History {
    /// Reads a file of JSON Lines, plain or gzipped, into memory.
    pub fn open(path: &Path) -> anyhow::Result<Self> {
        let history = Self::read(open_text(path)?);
        history.with_context(|| format!("cannot read {}", path.display()))
    }

    /// Reads JSON Lines into memory.
    pub fn read(mut input: impl BufRead) -> anyhow::Result<Self> {
        let mut channels: Vec<(String, Vec<RecordedMessage>)> = Vec::new();
        let (mut bad_lines, mut is_annotated) = (Vec::new(), false);
        let mut channel_indexes: HashMap<String, usize> = HashMap::new();
        let mut seen_ids: HashSet<(usize, String)> = HashSet::new();
        read_lines(&mut input, &mut |number, line| {
            let number = number as usize;
            if line.as_ref().is_ok_and(|line| LineKind::from_line(line) != LineKind::Message) {
                return Ok(());
            }
            let message = match line.and_then(RecordedMessage::parse) {
                Ok(message) => message,
                Err(problem) => {
                    bad_lines.push(BadLine { number, problem });
                    return Ok(());
                }
            };
            is_annotated |= message.opener;
            let index = *channel_indexes.entry(message.channel.clone()).or_insert_with(|| {
                channels.push((message.channel.clone(), Vec::new()));
                channels.len() - 1
            });
            match seen_ids.insert((index, message.id.clone())) {
                true => channels[index].1.push(message),
                false => {
                    bad_lines.push(BadLine { number, problem: DUPLICATE_PROBLEM.to_owned() });
                }
            }
            Ok(())
        })?;
        let channels = channels.into_iter().map(|(name, messages)| RecordedChannel {
            is_annotated,
            ..RecordedChannel::from_messages(name, messages)
        });
        Ok(Self { channels: channels.collect(), bad_lines })
    }

    pub fn messages(&self) -> usize {
        self.channels.iter().map(|channel| channel.rows.len()).sum()
    }
}

impl RecordedChannel {
    /// Creates a channel from messages in memory, sorted by time. Messages with the same time keep their order. It is
    /// not annotated.
    pub fn from_messages(name: String, messages: Vec<RecordedMessage>) -> Self {
        let mut rows = RowsBuilder::default();
        for (place, message) in messages.iter().enumerate() {
            rows.add(&message.row_source(place as u64));
        }
        let messages = Arc::new(MessagesInMemory(messages));
        Self { name, rows: rows.finish(), messages, is_annotated: false }
    }

    pub fn reader(&self) -> MessageReader<'_> {
        MessageReader { channel: self, piece: ReadPiece::default() }
    }

    /// Passes on the full messages, by time.
    pub fn each_message(
        &self,
        take: &mut dyn FnMut(RecordedMessage) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        let mut reader = self.reader();
        self.rows.all().try_for_each(|row| take(reader.read(&row)?))
    }

    /// Returns the channel with only the messages whose times `takes` accepts.
    pub fn within(&self, takes: impl Fn(Timestamp) -> bool) -> anyhow::Result<Self> {
        let mut reader = self.reader();
        let mut rows = RowsBuilder::default();
        for row in self.rows.all().filter(|row| takes(row.at())) {
            rows.add(&reader.read(&row)?.row_source(row.place()));
        }
        let (name, messages) = (self.name.clone(), Arc::clone(&self.messages));
        Ok(Self { name, rows: rows.finish(), messages, is_annotated: self.is_annotated })
    }
}

/// Opens a text file, plain or gzipped.
pub fn open_text(path: &Path) -> anyhow::Result<Box<dyn BufRead>> {
    input_file::open_stream(path).with_context(|| format!("cannot read {}", path.display()))
}

/// Why a message is left out if its channel already has one with its id.
pub const DUPLICATE_PROBLEM: &str = "a message with this id came before";

/// The year 9000. Adding a wait to a time before it cannot overflow a timestamp.
pub const MAX_EPOCH_SECONDS: f64 = 221_845_392_000.0;

/// Deserializes `null` as the default.
pub fn none_as_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Default + Deserialize<'de>,
{
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

/// Describes why a line was rejected. The parser's own message is not used, because it quotes chat text.
pub fn describe_json_error(error: &serde_json::Error) -> String {
    match error.classify() {
        serde_json::error::Category::Data => {
            let problem = error.to_string();
            match problem.strip_prefix("missing field ") {
                Some(field) => {
                    format!("the field {} is missing", field.split(' ').next().unwrap_or_default())
                }
                None if problem.starts_with("unknown field ") => {
                    format!("a field is not known, at column {}", error.column())
                }
                None => format!("a field has the wrong type, at column {}", error.column()),
            }
        }
        serde_json::error::Category::Syntax
        | serde_json::error::Category::Eof
        | serde_json::error::Category::Io => {
            format!("it is not a JSON object, at column {}", error.column())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bad_lines_are_named_and_skipped() {
        let text = concat!(
            "\u{feff}",
            r#"{"room":"a","id":"2","ts":2.5,"author":"u","text":"second","reply_to":null,"bot":null}"#,
            "\n\n",
            "nonsense\n",
            r#"{"room":"a","id":"1","ts":1.25,"author":"u","text":"first","bot":false}"#,
            "\n",
            r#"{"room":"a","id":"3","author":"u","text":"secret"}"#,
            "\n",
            r#"{"room":"a","id":"4","ts":"soon","author":"u","text":"secret"}"#,
            "\n",
            r#"{"room":"a","id":"2","ts":9,"author":"u","text":"again"}"#,
            "\n",
            r#"{"room":"b","id":"5","ts":1e300,"author":"u","text":"never"}"#,
            "\n",
            r#"{"room":"b","id":"6","ts":"missing field secret","author":"u","text":"never"}"#,
        );
        let history = History::read(text.as_bytes()).unwrap();
        let mut ids = Vec::new();
        let read = history.channels[0].each_message(&mut |message| {
            ids.push(message.id);
            Ok(())
        });
        read.unwrap();
        assert_eq!(ids, ["1", "2"]);
        let numbers: Vec<usize> = history.bad_lines.iter().map(|line| line.number).collect();
        assert_eq!(numbers, [3, 5, 6, 7, 8, 9]);
        assert_eq!(history.bad_lines[1].problem, "the field `ts` is missing");
        assert!(history.bad_lines.iter().all(|line| !line.problem.contains("secret")));
        assert_eq!(history.channels[0].rows.first().unwrap().at().as_millisecond(), 1250);
    }

    #[test]
    fn truncated_gzip_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("history.gz");
        std::fs::write(&file, [0x1f, 0x8b, 8, 0, 0]).unwrap();
        assert!(History::open(&file).is_err());
    }
}
