//! Recorded chat: messages, grouped by channel (`room` in JSON Lines).

mod rows_builder;

use std::collections::HashMap;
use std::io::BufRead;
use std::path::Path;
use std::sync::Arc;

use aizuchi_model::chat::AuthorKind;
use aizuchi_model::input_file;
use aizuchi_store::stored_message::StoredMessage;
use anyhow::Context as _;
use jiff::Timestamp;
use serde::{Deserialize, Deserializer, Serialize};

use crate::history::rows_builder::RowsBuilder;
use crate::rows::{ChannelRows, IdHash, MessageRow, epoch_seconds};

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

    /// Returns the time to the millisecond. Only messages without a [`Self::problem`] are kept.
    pub fn at(&self) -> Timestamp {
        epoch_seconds(self.ts)
    }
}

/// One channel: a row for each message, and the messages.
#[derive(Clone, Debug)]
pub struct RecordedChannel {
    pub name: String,
    pub rows: ChannelRows,
    /// The encoded messages, which take a third of the memory of those that they are read as. Rows say where each is.
    pub bytes: Arc<Vec<u8>>,
    /// Whether any message of the recording, here or in another channel, is annotated as the beginning of a
    /// conversation. If so, `reply_to` is annotated as well; otherwise it comes from the platform.
    pub is_annotated: bool,
}

/// Reads the full messages of a channel.
pub type MessageReader<'a> = &'a RecordedChannel;

/// A message as it is kept: without its channel and its time, which its row has.
type EncodedMessage<M, N, R> = (N, M, M, N, M, R, bool, bool);

/// Collects the messages of a channel, in the order of the input.
pub struct ChannelBuilder {
    name: String,
    rows: RowsBuilder,
    bytes: Vec<u8>,
    /// The later texts of messages. `None` if a message was deleted.
    changes: HashMap<IdHash, Option<String>>,
}

impl ChannelBuilder {
    pub fn new(name: String) -> Self {
        let (rows, bytes, changes) = (RowsBuilder::default(), Vec::new(), HashMap::new());
        Self { name, rows, bytes, changes }
    }

    /// Adds a message. Returns false if one with this id came before.
    pub fn add(&mut self, message: &RecordedMessage) -> anyhow::Result<bool> {
        if !self.rows.add(message, self.bytes.len() as u64) {
            return Ok(false);
        }
        let RecordedMessage { thread, id, author, name, text, reply_to, bot, opener, .. } = message;
        let encoded: EncodedMessage<&str, Option<&str>, &[String]> =
            (thread.as_deref(), id, author, name.as_deref(), text, reply_to, *bot, *opener);
        serde_json::to_writer(&mut self.bytes, &encoded)?;
        Ok(true)
    }

    /// Changes the text of a message, wherever it is in the input, or deletes the message. The last change counts.
    pub fn change(&mut self, id: &str, text: Option<String>) {
        self.changes.insert(IdHash::new(id), text);
    }

    pub fn finish(mut self, is_annotated: bool) -> anyhow::Result<RecordedChannel> {
        self.bytes.shrink_to_fit();
        let (rows, bytes) = (self.rows.finish(), Arc::new(self.bytes));
        let channel = RecordedChannel { name: self.name, rows, bytes, is_annotated };
        if self.changes.is_empty() {
            return Ok(channel);
        }
        let mut rows: Vec<MessageRow> = channel.rows.all().collect();
        rows.sort_by_key(MessageRow::place);
        let mut changed = Self::new(channel.name.clone());
        for row in rows {
            let message = channel.read(&row)?;
            match self.changes.remove(&row.id) {
                Some(None) => {}
                Some(Some(text)) => _ = changed.add(&RecordedMessage { text, ..message })?,
                None => _ = changed.add(&message)?,
            }
        }
        changed.finish(is_annotated)
    }
}

impl RecordedChannel {
    /// Creates a channel from messages, sorted by time. Messages with the same time keep their order. It is not
    /// annotated.
    pub fn from_messages(name: String, messages: Vec<RecordedMessage>) -> Self {
        let mut builder = ChannelBuilder::new(name);
        messages.iter().try_for_each(|message| builder.add(message).map(drop)).expect(ENCODED);
        builder.finish(false).expect(ENCODED)
    }

    pub fn reader(&self) -> MessageReader<'_> {
        self
    }

    /// Reads the full message of a row.
    pub fn read(&self, row: &MessageRow) -> anyhow::Result<RecordedMessage> {
        let bytes = self.bytes.get(row.place() as usize..).unwrap_or_default();
        let mut encoded = serde_json::Deserializer::from_slice(bytes);
        let (thread, id, author, name, text, reply_to, bot, opener) =
            EncodedMessage::<String, Option<String>, Vec<String>>::deserialize(&mut encoded)
                .context("cannot read a message again")?;
        let (channel, ts) = (self.name.clone(), row.ts);
        Ok(RecordedMessage { channel, thread, id, ts, author, name, text, reply_to, bot, opener })
    }

    /// Passes on the full messages, by time.
    pub fn each_message(
        &self,
        take: &mut dyn FnMut(RecordedMessage) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        self.rows.all().try_for_each(|row| take(self.read(&row)?))
    }

    /// Returns the channel with only the messages whose times `takes` accepts.
    pub fn within(&self, takes: impl Fn(Timestamp) -> bool) -> anyhow::Result<Self> {
        let mut rows = RowsBuilder::default();
        for row in self.rows.all().filter(|row| takes(row.at())) {
            rows.add(&self.read(&row)?, row.place());
        }
        Ok(Self { rows: rows.finish(), ..self.clone() })
    }
}

/// Opens a text file, plain or gzipped.
pub fn open_text(path: &Path) -> anyhow::Result<Box<dyn BufRead>> {
    input_file::open_stream(path).with_context(|| format!("cannot read {}", path.display()))
}

const ENCODED: &str = "texts and numbers can be encoded";

/// The year 9000. Adding a wait to a time before it cannot overflow a timestamp.
pub const MAX_EPOCH_SECONDS: f64 = 221_845_392_000.0;

/// Deserializes `null` as the default.
fn none_as_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
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
