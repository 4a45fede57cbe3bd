//! Reads the chat histories that users have: an export of Slack or Discord, Aizuchi's own database,
//! or JSON Lines. Each is read once, one message at a time.

mod export_files;
mod document;
mod channel_names;
mod slack;
mod discord;
mod file_kind;
pub mod format;
pub mod database;

use std::collections::{HashMap, HashSet};
use std::io::BufRead;
use std::path::Path;

use aizuchi_model::chat::to_single_line;
use aizuchi_model::persona::Language;
use aizuchi_model::texts;
use jiff::Timestamp;
use serde::Serialize;
use serde_json::{Value, json};

use crate::export_lines::MessageLine;
use crate::history::{ChannelBuilder, RecordedChannel, RecordedMessage};
use crate::input::channel_names::{Audience, ChannelNames, ParsedLine};
use crate::input::document::ExportError;

/// Which parts of an input are read, and in which language.
#[derive(Clone, Copy, Debug, Default)]
pub struct InputOptions {
    /// Messages before this time are left out …
    pub from: Option<Timestamp>,
    /// … and those at this time or later.
    pub to: Option<Timestamp>,
    pub private: PrivateChannels,
    /// The language of the placeholders for files and other content without text.
    pub language: Language,
}

/// Whether channels are read that not everybody in the workspace can read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PrivateChannels {
    #[default]
    LeftOut,
    Taken,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum InputFormat {
    JsonLines,
    Slack,
    Discord,
    Database,
}

impl InputFormat {
    pub fn describe(self) -> &'static str {
        match self {
            InputFormat::JsonLines => "JSON Lines",
            InputFormat::Slack => "an export of Slack",
            InputFormat::Discord => "an export of Discord",
            InputFormat::Database => "the database",
        }
    }
}

/// The number of items that were left out on purpose.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct LeftOutCounts {
    pub private_channels: u64,
    /// Messages of a public channel from the time when it was private.
    pub private_messages: u64,
    /// Messages outside of the requested time range.
    pub outside_range: u64,
    /// Joins, topics, calls and the like, and messages without text.
    pub notices: u64,
    pub deleted: u64,
    /// Messages that were older than the retention period.
    pub expired: u64,
    /// Commands, and messages of users who have opted out.
    pub withheld: u64,
    /// Files of a folder or a zip that are not recognized.
    pub files: u64,
}

impl LeftOutCounts {
    /// Describes what was left out, as parts of a sentence.
    pub fn describe(&self) -> Vec<String> {
        let count = |count: u64, one: &str, many: &str| {
            (count > 0).then(|| format!("{count} {}", if count == 1 { one } else { many }))
        };
        let counts = [
            count(
                self.private_channels,
                "private channel (--private takes it)",
                "private channels (--private takes them)",
            ),
            count(
                self.private_messages,
                "message from when its channel was private",
                "messages from when their channels were private",
            ),
            count(self.outside_range, "message outside the time", "messages outside the time"),
            count(
                self.notices,
                "notice or message without text",
                "notices and messages without text",
            ),
            count(self.deleted, "deleted message", "deleted messages"),
            count(self.expired, "message older than messages are kept", "expired messages"),
            count(self.withheld, "withheld message", "withheld messages"),
            count(self.files, "file that was not recognized", "files that were not recognized"),
        ];
        counts.into_iter().flatten().collect()
    }
}

/// An input, ready to be replayed.
pub struct Recording {
    pub format: InputFormat,
    pub left_out: LeftOutCounts,
    /// Whether the input says which channels are private.
    pub tells_private: bool,
    /// Whether private channels were read.
    pub private: PrivateChannels,
    /// The times of its first and its last message.
    pub span: Option<(Timestamp, Timestamp)>,
    /// The channels with messages, in the order in which they first appear.
    pub channels: Vec<RecordedChannel>,
    pub bad_records: BadRecords,
}

/// Records that could not be read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BadRecords {
    pub count: u64,
    /// The first bad records, by the numbers of their file and of the record in it.
    first: Vec<((usize, u64), String)>,
}

/// The number of bad records that are named.
const MAX_NAMED: usize = 10;

/// Takes a message of an export as a line of Aizuchi's own, and the number of its record.
type LineTaker<'a> = &'a mut dyn FnMut(u64, MessageLine) -> anyhow::Result<()>;

/// Receives the records of a reader, drops those that the options exclude, and keeps the rest.
struct InputWriter<'a> {
    options: &'a InputOptions,
    channels: Vec<ChannelBuilder>,
    /// The places of the channels in `channels`, by name.
    places: HashMap<String, usize>,
    /// What precedes the number of a record, for each file: `line `, or `general/2024-01-02.json, record `.
    labels: Vec<String>,
    bad_records: BadRecords,
    /// Whether any message is marked as the beginning of a conversation.
    is_annotated: bool,
    left_out: LeftOutCounts,
    span: Option<(Timestamp, Timestamp)>,
    messages: u64,
    channel_names: ChannelNames,
    /// The private channels of JSON Lines that were left out.
    left_out_channels: HashSet<String>,
    /// All private channels that were left out, by a name or an id that no other one has.
    counted_private: HashSet<String>,
    /// Whether any line said who may read it.
    tells_audience: bool,
    progress: &'a dyn Fn(u64),
    /// Takes the messages to be imported, which are not kept.
    lines: Option<LineTaker<'a>>,
}

/// The number of messages between two calls of `progress`.
const PROGRESS_INTERVAL: u64 = 1000;

impl Recording {
    /// Reads a file or a folder. Calls `progress` with the number of messages read.
    pub fn open(
        path: &Path,
        options: &InputOptions,
        progress: &dyn Fn(u64),
    ) -> anyhow::Result<Self> {
        let mut writer = InputWriter::new(options, progress);
        let format = format::read(path, &mut writer)?;
        writer.finish(format)
    }

    /// Reads one open file. `shown` is its name in errors.
    pub fn read(
        input: &mut dyn BufRead,
        shown: &str,
        options: &InputOptions,
    ) -> anyhow::Result<Self> {
        let mut writer = InputWriter::new(options, &|_| {});
        let format = format::read_alone(input, shown, &mut writer)?;
        writer.finish(format)
    }

    /// Reads an export of Slack or Discord with the platform's own ids, and returns the number of its bad records. A later
    /// line of a message replaces the earlier one.
    pub fn read_lines(
        path: &Path,
        language: Language,
        take: LineTaker<'_>,
    ) -> anyhow::Result<usize> {
        let private = PrivateChannels::Taken;
        let options = InputOptions { private, language, ..InputOptions::default() };
        let mut writer = InputWriter { lines: Some(take), ..InputWriter::new(&options, &|_| {}) };
        format::read(path, &mut writer)?;
        Ok(usize::try_from(writer.bad_records.count)?)
    }

    pub fn messages(&self) -> u64 {
        self.channels.iter().map(|channel| channel.rows.len() as u64).sum()
    }

    /// Returns the number of private channels that were left out. `None` if it is unknown.
    pub fn private_channels(&self) -> Option<u64> {
        Some(self.left_out.private_channels).filter(|count| *count > 0 || self.tells_private)
    }
}

impl BadRecords {
    /// Returns the first bad records, each as a sentence that names its place.
    pub fn named(&self) -> impl Iterator<Item = &str> {
        self.first.iter().map(|(_, named)| &**named)
    }
}

impl<'a> InputWriter<'a> {
    fn new(options: &'a InputOptions, progress: &'a dyn Fn(u64)) -> Self {
        Self {
            options,
            channels: Vec::new(),
            places: HashMap::new(),
            labels: Vec::new(),
            bad_records: BadRecords::default(),
            is_annotated: false,
            left_out: LeftOutCounts::default(),
            span: None,
            messages: 0,
            channel_names: ChannelNames::default(),
            left_out_channels: HashSet::new(),
            counted_private: HashSet::new(),
            tells_audience: false,
            progress,
            lines: None,
        }
    }

    fn finish(self, format: InputFormat) -> anyhow::Result<Recording> {
        let Self { options, left_out, span, bad_records, is_annotated, .. } = self;
        let tells_private = match format {
            InputFormat::Slack | InputFormat::Database => true,
            InputFormat::JsonLines => self.tells_audience,
            // DiscordChatExporter does not say which channels only some roles see.
            InputFormat::Discord => false,
        };
        let channels = self.channels.into_iter().map(|channel| channel.finish(is_annotated));
        let mut channels: Vec<RecordedChannel> = channels.collect::<anyhow::Result<_>>()?;
        channels.retain(|channel| !channel.rows.is_empty());
        let private = options.private;
        Ok(Recording { format, left_out, tells_private, private, span, channels, bad_records })
    }

    /// Begins the records of a file. `label` precedes their number in errors.
    fn begin_file(&mut self, label: String) {
        self.labels.push(label);
    }

    fn add_bad(&mut self, record: u64, problem: impl Into<String>) {
        let BadRecords { count, first } = &mut self.bad_records;
        *count += 1;
        let number = (self.labels.len(), record);
        let place = first.partition_point(|(other, _)| *other <= number);
        if place < MAX_NAMED {
            let label = self.labels.last().map_or("record ", String::as_str);
            first.insert(place, (number, format!("{label}{record}: {}", problem.into())));
            first.truncate(MAX_NAMED);
        }
    }

    fn channel(&mut self, name: &str) -> &mut ChannelBuilder {
        let place = match self.places.get(name) {
            Some(place) => *place,
            None => {
                self.channels.push(ChannelBuilder::new(name.to_owned()));
                self.places.insert(name.to_owned(), self.channels.len() - 1);
                self.channels.len() - 1
            }
        };
        &mut self.channels[place]
    }

    /// Appends a line to a text for each file that was sent with it.
    fn with_files<'n>(&self, text: &str, names: impl Iterator<Item = &'n str>) -> String {
        let word = texts::slack::file(self.options.language);
        let files = names.map(|name| format!("[{word}: {}]", to_single_line(name)));
        let lines = [text.to_owned()].into_iter().chain(files);
        let lines: Vec<String> = lines.filter(|line| !line.trim().is_empty()).collect();
        lines.join("\n")
    }

    /// Whether a channel is read. A channel that is not read is counted once, however many files it has.
    fn takes_channel(&mut self, key: &str, is_private: bool) -> bool {
        let takes = !is_private || self.options.private == PrivateChannels::Taken;
        if !takes && !self.counted_private.contains(key) {
            self.counted_private.insert(key.to_owned());
            self.left_out.private_channels += 1;
        }
        takes
    }

    /// Whether a line of JSON Lines is read. Counts each private channel that is not read once, and each message that
    /// is not read because its channel was private when it was posted.
    fn takes_line(&mut self, line: &ParsedLine) -> bool {
        self.tells_audience |= line.audience != Audience::Unknown;
        let takes_private = self.options.private == PrivateChannels::Taken;
        match line.audience {
            Audience::Everybody => true,
            Audience::Unknown => !self.left_out_channels.contains(&line.message.channel),
            Audience::Channel if self.left_out_channels.contains(&line.message.channel) => false,
            Audience::Channel => {
                let takes = self.takes_channel(&line.message.channel, true);
                if !takes {
                    self.left_out_channels.insert(line.message.channel.clone());
                }
                takes
            }
            Audience::FormerChannel => {
                self.left_out.private_messages += u64::from(!takes_private);
                takes_private
            }
        }
    }

    fn add(&mut self, record: u64, message: &RecordedMessage) -> anyhow::Result<()> {
        self.messages += 1;
        if self.messages.is_multiple_of(PROGRESS_INTERVAL) {
            (self.progress)(self.messages);
        }
        if let Some(problem) = message.problem() {
            self.add_bad(record, problem);
            return Ok(());
        }
        self.is_annotated |= message.opener;
        let at = message.at();
        let is_early = self.options.from.is_some_and(|from| at < from);
        if is_early || self.options.to.is_some_and(|to| at >= to) {
            self.left_out.outside_range += 1;
            return Ok(());
        }
        let (first, last) = self.span.unwrap_or((at, at));
        self.span = Some((first.min(at), last.max(at)));
        if !self.channel(&message.channel).add(message)? {
            self.add_bad(record, "a message with this id came before");
        }
        Ok(())
    }

    /// Adds a message of an export whose platform calls its place by these keys of a [`MessageLine`]. As a line, one
    /// without text withdraws an earlier one.
    fn add_placed(
        &mut self,
        record: u64,
        message: &RecordedMessage,
        place: Value,
    ) -> anyhow::Result<()> {
        let taker = self.lines.as_mut().filter(|_| message.problem().is_none());
        let Some(take) = taker else { return self.add(record, message) };
        let mut line = json!(message);
        if let (Value::Object(line), Value::Object(place)) = (&mut line, place) {
            line.extend(place);
        }
        line["withheld"] = message.text.trim().is_empty().into();
        take(record, serde_json::from_value(line)?)
    }

    /// Counts and names a file that no reader knows.
    fn add_unrecognized(&mut self, name: &str) {
        self.left_out.files += 1;
        self.begin_file(format!("{name}, record "));
        self.add_bad(1, "it is not an export that Aizuchi knows");
    }

    /// Adds the record at which a document breaks off, if it does.
    fn end_document(&mut self, end: Result<(), ExportError>) -> anyhow::Result<()> {
        match end {
            Ok(()) => {}
            Err(ExportError::Malformed { record, problem }) => self.add_bad(record, problem),
            Err(ExportError::Failed(error)) => return Err(error),
        }
        Ok(())
    }
}
