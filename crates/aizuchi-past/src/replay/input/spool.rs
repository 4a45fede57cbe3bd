//! Stores the messages of an input on disk, by channel. However long the input is, only the rows of one channel and a
//! buffer are in memory.

mod record;
mod messages;

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use anyhow::Context as _;

use crate::replay::history::{
    ChannelSource, DUPLICATE_PROBLEM, ReadPiece, RecordedChannel, RecordedMessage,
};
use crate::replay::input::spool::messages::{CANNOT_READ, SpooledMessages, read_at};
use crate::replay::input::spool::record::{RecordHeader, RecordKind, RecordNumber, SpooledRecord};
use crate::replay::rows::IdHash;
use crate::replay::rows::builder::RowsBuilder;

/// Receives a record as it is on disk, with its place.
type RecordTaker<'a> = &'a mut dyn FnMut(u64, RecordHeader, &[u8]) -> anyhow::Result<()>;

/// The size of the segments in which the messages of a channel are written to disk.
const SEGMENT_BYTES: usize = 64 << 10;
/// The maximum size of the buffers of all channels together.
const BUFFERED_BYTES: usize = 16 << 20;
/// The number of bad records that are named.
const MAX_NAMED: usize = 10;

/// Records that could not be read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BadRecords {
    pub count: u64,
    /// The first bad records.
    first: Vec<(RecordNumber, String)>,
}

impl BadRecords {
    fn add(&mut self, number: RecordNumber, problem: String) {
        self.count += 1;
        let place = self.first.partition_point(|(other, _)| *other <= number);
        if place < MAX_NAMED {
            self.first.insert(place, (number, problem));
            self.first.truncate(MAX_NAMED);
        }
    }
}

/// Writes the records that a reader finds to the spool.
pub struct SpoolWriter {
    file: File,
    file_bytes: u64,
    buffered_bytes: usize,
    channels: Vec<SpooledChannel>,
    indexes: HashMap<String, usize>,
    /// The label that precedes the number of a record, for each file: `line `, or
    /// `general/2024-01-02.json, record `.
    labels: Vec<String>,
    bad_records: BadRecords,
    /// Whether any message is marked as the beginning of a conversation.
    pub is_annotated: bool,
}

struct SpooledChannel {
    name: String,
    /// The offsets and lengths of its segments in the file.
    segments: Vec<(u64, usize)>,
    buffer: Vec<u8>,
    /// Whether any message was edited or deleted later.
    has_changes: bool,
    /// Messages whose ids have occurred before.
    duplicates: Vec<RecordNumber>,
    messages: u64,
}

/// The records of an input on disk.
pub struct Spool {
    file: Arc<File>,
    channels: Vec<SpooledChannel>,
    labels: Vec<String>,
    pub bad_records: BadRecords,
    is_annotated: bool,
}

impl SpoolWriter {
    pub fn new() -> anyhow::Result<Self> {
        // The file has no name, so it disappears when the program ends, even if it crashes.
        let file = tempfile::tempfile().context("cannot make a temporary file")?;
        Ok(Self {
            file,
            file_bytes: 0,
            buffered_bytes: 0,
            channels: Vec::new(),
            indexes: HashMap::new(),
            labels: Vec::new(),
            bad_records: BadRecords::default(),
            is_annotated: false,
        })
    }

    /// Begins the records of a file. `label` precedes their number in errors.
    pub fn begin_file(&mut self, label: String) {
        self.labels.push(label);
    }

    pub fn add_bad(&mut self, record: u64, problem: impl Into<String>) {
        self.bad_records.add(self.number(record), problem.into());
    }

    pub fn add_message(&mut self, record: u64, message: &RecordedMessage) -> anyhow::Result<()> {
        let spooled = SpooledRecord::Message {
            thread: message.thread.as_deref().map(Cow::from),
            id: Cow::from(&message.id),
            ts_bits: message.ts.to_bits(),
            author: Cow::from(&message.author),
            name: message.name.as_deref().map(Cow::from),
            text: Cow::from(&message.text),
            reply_to: message.reply_to.clone(),
            bot: message.bot,
            opener: message.opener,
        };
        self.add(record, &message.channel, &spooled)
    }

    /// Adds a later edit of a message's text.
    pub fn add_edit(
        &mut self,
        record: u64,
        channel_name: &str,
        id: &str,
        text: &str,
    ) -> anyhow::Result<()> {
        let edit = SpooledRecord::Edit { id: Cow::from(id), text: Cow::from(text) };
        self.add(record, channel_name, &edit)
    }

    pub fn add_deletion(
        &mut self,
        record: u64,
        channel_name: &str,
        id: &str,
    ) -> anyhow::Result<()> {
        self.add(record, channel_name, &SpooledRecord::Delete { id: Cow::from(id) })
    }

    fn add(
        &mut self,
        record: u64,
        channel_name: &str,
        spooled: &SpooledRecord<'_>,
    ) -> anyhow::Result<()> {
        let number = self.number(record);
        let index = match self.indexes.get(channel_name) {
            Some(index) => *index,
            None => {
                self.channels.push(SpooledChannel::new(channel_name.to_owned()));
                self.indexes.insert(channel_name.to_owned(), self.channels.len() - 1);
                self.channels.len() - 1
            }
        };
        let channel = &mut self.channels[index];
        let before = channel.buffer.len();
        channel.buffer.extend_from_slice(&[0; RecordHeader::BYTES]);
        let begin = channel.buffer.len();
        serde_json::to_writer(&mut channel.buffer, &(number, spooled))?;
        let length =
            u32::try_from(channel.buffer.len() - begin).context("a message is longer than 4 GB")?;
        let header = RecordHeader { length, ..spooled.header() };
        channel.buffer[before..begin].copy_from_slice(&header.to_bytes());
        channel.has_changes |= header.kind != RecordKind::Message;
        self.buffered_bytes += channel.buffer.len() - before;
        if channel.buffer.len() >= SEGMENT_BYTES {
            self.flush(index)?;
        } else if self.buffered_bytes >= BUFFERED_BYTES {
            (0..self.channels.len()).try_for_each(|index| self.flush(index))?;
        }
        Ok(())
    }

    fn flush(&mut self, index: usize) -> anyhow::Result<()> {
        let channel = &mut self.channels[index];
        if channel.buffer.is_empty() {
            return Ok(());
        }
        let written = self.file.write_all_at(&channel.buffer, self.file_bytes);
        written.context("cannot write to a temporary file")?;
        channel.segments.push((self.file_bytes, channel.buffer.len()));
        self.file_bytes += channel.buffer.len() as u64;
        self.buffered_bytes -= channel.buffer.len();
        channel.buffer = Vec::new();
        Ok(())
    }

    fn number(&self, record: u64) -> RecordNumber {
        RecordNumber(self.labels.len().saturating_sub(1) as u32, record)
    }

    /// Finds duplicate messages, and drops channels without messages.
    pub fn finish(mut self) -> anyhow::Result<Spool> {
        (0..self.channels.len()).try_for_each(|index| self.flush(index))?;
        let Self { file, channels, labels, bad_records, is_annotated, .. } = self;
        let mut spool = Spool { file: Arc::new(file), channels, labels, bad_records, is_annotated };
        for index in 0..spool.channels.len() {
            let hashes = spool.id_hashes(index)?;
            let messages = hashes.len();
            let duplicates = spool.find_duplicates(index, hashes)?;
            for number in &duplicates {
                spool.bad_records.add(*number, DUPLICATE_PROBLEM.to_owned());
            }
            let left = messages - duplicates.len();
            let channel = &mut spool.channels[index];
            (channel.duplicates, channel.messages) = (duplicates, left as u64);
            if channel.has_changes {
                spool.channels[index].messages = spool.channel(index)?.rows.len() as u64;
            }
        }
        spool.channels.retain(|channel| channel.messages > 0);
        Ok(spool)
    }
}

impl SpooledChannel {
    fn new(name: String) -> Self {
        Self {
            name,
            segments: Vec::new(),
            buffer: Vec::new(),
            has_changes: false,
            duplicates: Vec::new(),
            messages: 0,
        }
    }
}

impl Spool {
    pub fn messages(&self) -> u64 {
        self.channels.iter().map(|channel| channel.messages).sum()
    }

    /// Returns the first bad records, each as a sentence that names its place.
    pub fn named_bad_records(&self) -> impl Iterator<Item = String> {
        self.bad_records.first.iter().map(|(RecordNumber(file, record), problem)| {
            let label = self.labels.get(*file as usize).map_or("record ", String::as_str);
            format!("{label}{record}: {problem}")
        })
    }

    /// Passes on the records of a channel in the order of the input, as they are on disk, each with its place.
    fn each_record(&self, index: usize, take: RecordTaker<'_>) -> anyhow::Result<()> {
        let mut bytes = Vec::new();
        for (begin, length) in &self.channels[index].segments {
            bytes.resize(*length, 0);
            read_at(&self.file, &mut bytes, *begin)?;
            let mut rest = &bytes[..];
            while !rest.is_empty() {
                let place = begin + (length - rest.len()) as u64;
                let (header, record, after) = RecordHeader::split(rest).context(CANNOT_READ)?;
                take(place, header, record)?;
                rest = after;
            }
        }
        Ok(())
    }

    /// Like [`Self::each_record`], but parses the records.
    fn read(
        &self,
        index: usize,
        take: &mut dyn FnMut(u64, RecordNumber, SpooledRecord<'_>) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        self.each_record(index, &mut |place, _, record| {
            let (number, record) = serde_json::from_slice(record).context(CANNOT_READ)?;
            take(place, number, record)
        })
    }

    /// Returns the hashes of the ids of a channel's messages.
    fn id_hashes(&self, index: usize) -> anyhow::Result<Vec<u64>> {
        let mut hashes = Vec::new();
        self.each_record(index, &mut |_, header, _| {
            hashes.extend((header.kind == RecordKind::Message).then_some(header.hash));
            Ok(())
        })?;
        Ok(hashes)
    }

    /// Returns the later changes to the messages of a channel. The last change counts.
    fn changes(&self, index: usize) -> anyhow::Result<HashMap<IdHash, FinalChange>> {
        let mut changes = HashMap::new();
        if !self.channels[index].has_changes {
            return Ok(changes);
        }
        self.each_record(index, &mut |place, header, _| {
            let change = match header.kind {
                RecordKind::Message => return Ok(()),
                RecordKind::Edit => FinalChange::Edited(place),
                RecordKind::Delete => FinalChange::Deleted,
            };
            changes.insert(IdHash(header.hash), change);
            Ok(())
        })?;
        Ok(changes)
    }

    /// Finds messages whose ids have occurred before. Compares the hashes of all ids first, because the ids of a long
    /// channel take much memory.
    fn find_duplicates(
        &self,
        index: usize,
        mut hashes: Vec<u64>,
    ) -> anyhow::Result<Vec<RecordNumber>> {
        hashes.sort_unstable();
        let pairs = hashes.windows(2).filter(|pair| pair[0] == pair[1]);
        let mut suspects: Vec<u64> = pairs.map(|pair| pair[0]).collect();
        suspects.dedup();
        let mut duplicates = Vec::new();
        if suspects.is_empty() {
            return Ok(duplicates);
        }
        let mut seen = HashSet::new();
        self.read(index, &mut |_, number, record| {
            if let SpooledRecord::Message { id, .. } = record
                && suspects.binary_search(&IdHash::new(&id).0).is_ok()
                && !seen.insert(id.into_owned())
            {
                duplicates.push(number);
            }
            Ok(())
        })?;
        // Rows identify messages by the hashes of their ids. Among 10 million ids, two have the same hash with a
        // probability of 3 in a million.
        anyhow::ensure!(
            seen.len() == suspects.len(),
            "the ids of two messages in {} have the same hash",
            self.channels[index].name
        );
        Ok(duplicates)
    }
}

impl ChannelSource for Spool {
    fn channel_count(&self) -> usize {
        self.channels.len()
    }

    fn channel(&self, index: usize) -> anyhow::Result<Cow<'_, RecordedChannel>> {
        let channel = &self.channels[index];
        let changes = self.changes(index)?;
        let mut messages = SpooledMessages {
            file: Arc::clone(&self.file),
            channel: channel.name.clone(),
            segments: channel.segments.clone(),
            edits: HashMap::new(),
        };
        let mut rows = RowsBuilder::default();
        let mut piece = ReadPiece::default();
        self.read(index, &mut |place, number, record| {
            let Some(mut message) = record.into_message(&channel.name) else { return Ok(()) };
            if channel.duplicates.binary_search(&number).is_ok() {
                return Ok(());
            }
            match changes.get(&IdHash::new(&message.id)) {
                Some(FinalChange::Deleted) => return Ok(()),
                Some(FinalChange::Edited(edit)) => {
                    messages.edits.insert(place, *edit);
                    message.text = messages.edited_text(*edit, &mut piece)?;
                }
                None => {}
            }
            rows.add(&message.row_source(place));
            Ok(())
        })?;
        let (name, is_annotated) = (channel.name.clone(), self.is_annotated);
        let messages = Arc::new(messages);
        Ok(Cow::Owned(RecordedChannel { name, rows: rows.finish(), messages, is_annotated }))
    }
}

/// The final change to a message.
#[derive(Clone, Copy)]
enum FinalChange {
    /// The text was replaced with that of the edit at this place.
    Edited(u64),
    Deleted,
}
