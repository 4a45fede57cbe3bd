//! Where the messages of an input wait on disk, by channel. However long the input is, what is in memory is one channel
//! and a buffer.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::unix::fs::FileExt;

use anyhow::Context as _;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::replay::history::{ChannelSource, DUPLICATE_PROBLEM, RecordedChannel, RecordedMessage};

/// The messages of a channel go to disk in pieces of this size.
const SEGMENT_BYTES: usize = 64 << 10;
/// All channels together keep at most this much in memory.
const BUFFERED_BYTES: usize = 16 << 20;
/// The number of bad records that are named.
const MAX_NAMED: usize = 10;

/// A record of the input: the number of its file, and its own number in that.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct RecordNumber(pub u32, pub u64);

/// Records that could not be read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BadRecords {
    pub count: u64,
    /// The first of them.
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

/// Takes what a reader finds in an input.
pub struct SpoolWriter {
    file: File,
    file_bytes: u64,
    buffered_bytes: usize,
    channels: Vec<SpooledChannel>,
    indexes: HashMap<String, usize>,
    /// How the records of each file are called, up to their number: `line `, or `general/2024-01-02.json, record `.
    labels: Vec<String>,
    bad_records: BadRecords,
    /// Whether a message is marked as the beginning of a conversation.
    pub is_annotated: bool,
}

struct SpooledChannel {
    name: String,
    /// The places of its pieces in the file.
    segments: Vec<(u64, usize)>,
    buffer: Vec<u8>,
    records: u64,
    /// Messages whose ids came before.
    duplicates: Vec<RecordNumber>,
    messages: u64,
}

/// What stands before each record on disk. With it, nothing is parsed to look for ids that came before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct RecordHeader {
    kind: RecordKind,
    /// Of the id of the message.
    hash: u64,
    /// The length of the record.
    length: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RecordKind {
    Message,
    Edit,
    Delete,
}

impl RecordHeader {
    const BYTES: usize = 13;

    fn to_bytes(self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        bytes[0] = match self.kind {
            RecordKind::Message => b'm',
            RecordKind::Edit => b'e',
            RecordKind::Delete => b'd',
        };
        bytes[1..9].copy_from_slice(&self.hash.to_le_bytes());
        bytes[9..].copy_from_slice(&self.length.to_le_bytes());
        bytes
    }

    /// The header that these bytes begin with, the record behind it, and what follows.
    fn split(bytes: &[u8]) -> Option<(Self, &[u8], &[u8])> {
        let (kind, rest) = bytes.split_first()?;
        let kind = match kind {
            b'm' => RecordKind::Message,
            b'e' => RecordKind::Edit,
            b'd' => RecordKind::Delete,
            _ => return None,
        };
        let (hash, rest) = rest.split_first_chunk()?;
        let (length, rest) = rest.split_first_chunk()?;
        let (hash, length) = (u64::from_le_bytes(*hash), u32::from_le_bytes(*length));
        let (record, rest) = rest.split_at_checked(length as usize)?;
        Some((Self { kind, hash, length }, record, rest))
    }
}

/// What is written for one record. The time keeps its bits: as decimal digits it would not come back exactly.
#[derive(Serialize, Deserialize)]
enum SpooledRecord<'a> {
    Message {
        #[serde(borrow)]
        thread: Option<Cow<'a, str>>,
        #[serde(borrow)]
        id: Cow<'a, str>,
        ts_bits: u64,
        #[serde(borrow)]
        author: Cow<'a, str>,
        #[serde(borrow)]
        name: Option<Cow<'a, str>>,
        #[serde(borrow)]
        text: Cow<'a, str>,
        reply_to: Vec<String>,
        bot: bool,
        opener: bool,
    },
    /// A message's text was replaced.
    Edit {
        #[serde(borrow)]
        id: Cow<'a, str>,
        #[serde(borrow)]
        text: Cow<'a, str>,
    },
    Delete {
        #[serde(borrow)]
        id: Cow<'a, str>,
    },
}

impl SpooledRecord<'_> {
    /// The header, without the length.
    fn header(&self) -> RecordHeader {
        let (kind, id) = match self {
            SpooledRecord::Message { id, .. } => (RecordKind::Message, id),
            SpooledRecord::Edit { id, .. } => (RecordKind::Edit, id),
            SpooledRecord::Delete { id } => (RecordKind::Delete, id),
        };
        RecordHeader { kind, hash: hash_of(id), length: 0 }
    }
}

/// The records of an input on disk.
pub struct Spool {
    file: File,
    channels: Vec<SpooledChannel>,
    labels: Vec<String>,
    pub bad_records: BadRecords,
    is_annotated: bool,
}

impl SpoolWriter {
    pub fn new() -> anyhow::Result<Self> {
        // It has no name, so it is gone when the program ends, however it ends.
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

    /// The records that follow come from a file. `label` is how they are called, up to their number.
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
        self.add(record, &message.room, &spooled)
    }

    /// The text of a message was replaced later.
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
        channel.records += 1;
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

    /// Looks for messages that came before, and drops channels without any message.
    pub fn finish(mut self) -> anyhow::Result<Spool> {
        (0..self.channels.len()).try_for_each(|index| self.flush(index))?;
        let Self { file, channels, labels, bad_records, is_annotated, .. } = self;
        let mut spool = Spool { file, channels, labels, bad_records, is_annotated };
        for index in 0..spool.channels.len() {
            let IdHashes { hashes, has_deletions } = spool.id_hashes(index)?;
            let messages = hashes.len();
            let duplicates = spool.find_duplicates(index, hashes)?;
            for number in &duplicates {
                spool.bad_records.add(*number, DUPLICATE_PROBLEM.to_owned());
            }
            let left = messages - duplicates.len();
            spool.channels[index].duplicates = duplicates;
            let left = if has_deletions { spool.channel(index)?.messages.len() } else { left };
            spool.channels[index].messages = left as u64;
        }
        spool.channels.retain(|channel| channel.messages > 0);
        Ok(spool)
    }
}

/// What the headers of a channel tell.
struct IdHashes {
    /// Of its messages.
    hashes: Vec<u64>,
    has_deletions: bool,
}

impl SpooledChannel {
    fn new(name: String) -> Self {
        Self {
            name,
            segments: Vec::new(),
            buffer: Vec::new(),
            records: 0,
            duplicates: Vec::new(),
            messages: 0,
        }
    }
}

impl Spool {
    pub fn messages(&self) -> u64 {
        self.channels.iter().map(|channel| channel.messages).sum()
    }

    /// The first bad records, each as a sentence that names its place.
    pub fn named_bad_records(&self) -> impl Iterator<Item = String> {
        self.bad_records.first.iter().map(|(RecordNumber(file, record), problem)| {
            let label = self.labels.get(*file as usize).map_or("record ", String::as_str);
            format!("{label}{record}: {problem}")
        })
    }

    /// Equal for equal messages in equal channels.
    pub fn fingerprint(&self) -> anyhow::Result<String> {
        let mut hasher = Sha256::new();
        for (index, channel) in self.channels.iter().enumerate() {
            hasher.update((channel.name.len() as u64).to_le_bytes());
            hasher.update(channel.name.as_bytes());
            // Without the hashes, which another version of the compiler may make otherwise.
            self.each_record(index, &mut |header, record| {
                hasher.update(header.length.to_le_bytes());
                hasher.update(record);
                Ok(())
            })?;
        }
        let digest = hasher.finalize();
        Ok(digest.iter().map(|byte| format!("{byte:02x}")).collect())
    }

    fn read_segment(&self, (offset, length): (u64, usize)) -> anyhow::Result<Vec<u8>> {
        let mut bytes = vec![0; length];
        self.file.read_exact_at(&mut bytes, offset).context("cannot read a temporary file")?;
        Ok(bytes)
    }

    /// Passes on the records of a channel in the order of the input, as they are on disk.
    fn each_record(
        &self,
        index: usize,
        take: &mut dyn FnMut(RecordHeader, &[u8]) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        for segment in &self.channels[index].segments {
            let bytes = self.read_segment(*segment)?;
            let mut rest = &bytes[..];
            while !rest.is_empty() {
                let (header, record, after) =
                    RecordHeader::split(rest).context("cannot read a record")?;
                take(header, record)?;
                rest = after;
            }
        }
        Ok(())
    }

    /// The same, parsed.
    fn read(
        &self,
        index: usize,
        take: &mut dyn FnMut(RecordNumber, SpooledRecord<'_>),
    ) -> anyhow::Result<()> {
        self.each_record(index, &mut |_, record| {
            let (number, record) =
                serde_json::from_slice(record).context("cannot read a record")?;
            take(number, record);
            Ok(())
        })
    }

    fn id_hashes(&self, index: usize) -> anyhow::Result<IdHashes> {
        let mut hashes = Vec::with_capacity(self.channels[index].records as usize);
        let mut has_deletions = false;
        self.each_record(index, &mut |header, _| {
            match header.kind {
                RecordKind::Message => hashes.push(header.hash),
                RecordKind::Edit => {}
                RecordKind::Delete => has_deletions = true,
            }
            Ok(())
        })?;
        Ok(IdHashes { hashes, has_deletions })
    }

    /// Compares the hashes of all ids first, because the ids of a long channel take much memory.
    fn find_duplicates(
        &self,
        index: usize,
        mut hashes: Vec<u64>,
    ) -> anyhow::Result<Vec<RecordNumber>> {
        hashes.sort_unstable();
        let suspects: Vec<u64> =
            hashes.windows(2).filter(|pair| pair[0] == pair[1]).map(|pair| pair[0]).collect();
        let mut duplicates = Vec::new();
        if suspects.is_empty() {
            return Ok(duplicates);
        }
        let mut seen = HashSet::new();
        self.read(index, &mut |number, record| {
            if let SpooledRecord::Message { id, .. } = record
                && suspects.binary_search(&hash_of(&id)).is_ok()
                && !seen.insert(id.into_owned())
            {
                duplicates.push(number);
            }
        })?;
        Ok(duplicates)
    }
}

impl ChannelSource for Spool {
    fn channel_count(&self) -> usize {
        self.channels.len()
    }

    fn channel(&self, index: usize) -> anyhow::Result<Cow<'_, RecordedChannel>> {
        let channel = &self.channels[index];
        let mut messages: Vec<RecordedMessage> = Vec::with_capacity(channel.records as usize);
        // What a message says in the end, or that it is deleted.
        let mut changes: HashMap<String, Option<String>> = HashMap::new();
        self.read(index, &mut |number, record| match record {
            SpooledRecord::Message { .. } if channel.duplicates.binary_search(&number).is_ok() => {}
            SpooledRecord::Message {
                thread,
                id,
                ts_bits,
                author,
                name,
                text,
                reply_to,
                bot,
                opener,
            } => messages.push(RecordedMessage {
                room: channel.name.clone(),
                thread: thread.map(Cow::into_owned),
                id: id.into_owned(),
                ts: f64::from_bits(ts_bits),
                author: author.into_owned(),
                name: name.map(Cow::into_owned),
                text: text.into_owned(),
                reply_to,
                bot,
                opener,
            }),
            SpooledRecord::Edit { id, text } => {
                changes.insert(id.into_owned(), Some(text.into_owned()));
            }
            SpooledRecord::Delete { id } => {
                changes.insert(id.into_owned(), None);
            }
        })?;
        if !changes.is_empty() {
            messages.retain(|message| changes.get(&message.id) != Some(&None));
            for message in &mut messages {
                if let Some(Some(text)) = changes.remove(&message.id) {
                    message.text = text;
                }
            }
        }
        let (name, is_annotated) = (channel.name.clone(), self.is_annotated);
        let mut channel = RecordedChannel { name, messages, is_annotated };
        channel.sort();
        Ok(Cow::Owned(channel))
    }
}

fn hash_of(id: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    id.hash(&mut hasher);
    hasher.finish()
}
