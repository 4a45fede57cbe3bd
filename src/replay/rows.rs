//! A row of 32 bytes for each message of a channel: its author, time and thread, and the properties of its text that
//! figures need. The message itself is read only when it is needed, and the rows of a long channel are spilled to a
//! temporary file, so that a channel may be long.

pub mod builder;

use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use jiff::Timestamp;

use crate::replay::column::fixed::Fixed;
use crate::replay::column::{Column, ColumnIter, ColumnPart};

/// The hash of a message's id. The hashes are checked for collisions when the messages of a channel are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct IdHash(pub u64);

impl IdHash {
    /// The top level, which is the id of no thread.
    const TOP_LEVEL: Self = Self(0);

    pub fn new(id: &str) -> Self {
        let mut hasher = DefaultHasher::new();
        id.hash(&mut hasher);
        Self(hasher.finish())
    }

    /// Returns the hash of a thread's parent, or the top level.
    pub fn from_thread(thread: Option<&str>) -> Self {
        thread.map_or(Self::TOP_LEVEL, Self::new)
    }
}

impl Fixed for IdHash {
    const BYTES: usize = u64::BYTES;

    fn write(self, bytes: &mut [u8]) {
        self.0.write(bytes);
    }

    fn read(bytes: &[u8]) -> Self {
        Self(u64::read(bytes))
    }
}

/// A message without its text.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MessageRow {
    /// Epoch seconds.
    pub ts: f64,
    pub id: IdHash,
    /// The place of the message, shifted left to make space for a byte of flags.
    place: u64,
    /// The number of its author in the channel.
    pub author: u32,
    /// The number of its thread in the channel.
    pub thread: u32,
}

const _: () = assert!(size_of::<MessageRow>() == 32);

/// The encoded parts of a row.
type RowParts = (f64, (IdHash, (u64, (u32, u32))));

impl Fixed for MessageRow {
    const BYTES: usize = RowParts::BYTES;

    fn write(self, bytes: &mut [u8]) {
        let Self { ts, id, place, author, thread } = self;
        (ts, (id, (place, (author, thread)))).write(bytes);
    }

    fn read(bytes: &[u8]) -> Self {
        let (ts, (id, (place, (author, thread)))) = RowParts::read(bytes);
        Self { ts, id, place, author, thread }
    }
}

const BOT: u64 = 1;
const OPENER: u64 = 1 << 1;
const REPLY: u64 = 1 << 2;
const QUESTION_MARK: u64 = 1 << 3;
const ASKS: u64 = 1 << 4;
const NAMES: u64 = 1 << 5;
const SHORT: u64 = 1 << 6;

/// A text with fewer characters seldom says what it is about.
const MIN_TELLING_CHARS: usize = 30;

impl MessageRow {
    /// Returns the time to the millisecond.
    pub fn at(&self) -> Timestamp {
        epoch_seconds(self.ts)
    }

    /// Returns the place where the message can be read.
    pub fn place(&self) -> u64 {
        self.place >> 8
    }

    pub fn is_bot(&self) -> bool {
        self.place & BOT != 0
    }

    /// Whether it is annotated as the beginning of a conversation.
    pub fn is_opener(&self) -> bool {
        self.place & OPENER != 0
    }

    /// Whether it says which message it answers.
    pub fn is_reply(&self) -> bool {
        self.place & REPLY != 0
    }

    /// Whether its text contains a question mark.
    pub fn has_question_mark(&self) -> bool {
        self.place & QUESTION_MARK != 0
    }

    /// Whether its text asks something.
    pub fn asks(&self) -> bool {
        self.place & ASKS != 0
    }

    /// Whether its text names a user.
    pub fn names_somebody(&self) -> bool {
        self.place & NAMES != 0
    }

    /// Whether its text is too short to be understood without context.
    pub fn is_short(&self) -> bool {
        self.place & SHORT != 0
    }
}

/// Converts epoch seconds to a timestamp, to the millisecond.
pub fn epoch_seconds(seconds: f64) -> Timestamp {
    Timestamp::from_millisecond((seconds * 1000.0).round() as i64).unwrap_or(Timestamp::UNIX_EPOCH)
}

/// An author in a channel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordedAuthor {
    pub id: Arc<str>,
    /// Whether a bot wrote the first message.
    pub is_bot: bool,
    /// The first name that differs from the id.
    pub name: Option<Arc<str>>,
}

/// The rows of a channel, in chronological order. All of its columns fail together, since they are derived from each
/// other.
#[derive(Clone, Debug, Default)]
pub struct ChannelRows {
    rows: Column<MessageRow>,
    /// In the order of their first messages.
    authors: Vec<RecordedAuthor>,
    /// The names of authors, with the numbers of the authors, in the order of their first use.
    names: Vec<(u32, Arc<str>)>,
    /// The top level and the threads, by their numbers.
    threads: Column<IdHash>,
    /// The ids of the threads with their numbers, sorted by id.
    threads_by_id: Column<(IdHash, u32)>,
    /// Messages and the messages that they answer, both as indexes in `rows`. Answered messages outside of the channel
    /// are left out.
    replies: Column<(u32, u32)>,
    /// The same pairs, answered message first.
    answers: OnceLock<Column<(u32, u32)>>,
    /// The ids with their indexes in `rows`, sorted by id.
    by_id: OnceLock<Column<(IdHash, u32)>>,
    human_messages: OnceLock<HumanMessagesByThread>,
}

/// The indexes of messages by human authors, grouped by thread.
#[derive(Clone, Debug)]
struct HumanMessagesByThread {
    places: Column<u32>,
    /// The index at which each thread begins in `places`, and the one at which the last thread ends.
    begins: Column<u32>,
}

impl ChannelRows {
    pub fn all(&self) -> ColumnIter<'_, MessageRow> {
        self.rows.iter()
    }

    pub fn get(&self, place: usize) -> Option<MessageRow> {
        self.rows.get(place)
    }

    pub fn len(&self) -> usize {
        self.rows.len()
    }

    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    pub fn first(&self) -> Option<MessageRow> {
        self.rows.get(0)
    }

    pub fn last(&self) -> Option<MessageRow> {
        self.rows.get(self.rows.len().checked_sub(1)?)
    }

    /// Returns the rows between two times, both inclusive.
    pub fn between(&self, from: Timestamp, to: Timestamp) -> ColumnPart<'_, MessageRow> {
        let later = self.rows.partition_point(|row| row.at() < from);
        let later = self.rows.part(later, self.rows.len());
        later.part(0, later.partition_point(|row| row.at() <= to))
    }

    /// Returns the rows of messages by human authors.
    pub fn human_messages(&self) -> impl Iterator<Item = MessageRow> {
        self.all().filter(|row| !row.is_bot())
    }

    /// Returns the number of rows in memory, without the cached pages of their file.
    pub fn kept(&self) -> usize {
        self.rows.kept()
    }

    /// Fails if a row, or a column derived from the rows, could not be read back from its temporary file. In that case,
    /// nothing that was found in them so far can be trusted.
    pub fn check(&self) -> anyhow::Result<()> {
        self.rows.check()
    }

    /// Simulates that the file with the human messages of each thread was lost.
    #[cfg(test)]
    pub fn lose_human_messages(&mut self) -> std::io::Result<()> {
        let HumanMessagesByThread { places, begins } = self.group_human_messages();
        self.human_messages =
            OnceLock::from(HumanMessagesByThread { places: places.lost()?, begins });
        Ok(())
    }

    /// Returns the authors, in the order of their first messages.
    pub fn authors(&self) -> &[RecordedAuthor] {
        &self.authors
    }

    /// Returns the id of a message's author.
    pub fn author(&self, row: &MessageRow) -> &Arc<str> {
        &self.authors[row.author as usize].id
    }

    /// Returns the ids and names of the authors, in the order of the first use of each name.
    pub fn names(&self) -> impl Iterator<Item = (&Arc<str>, &Arc<str>)> {
        self.names.iter().map(|(author, name)| (&self.authors[*author as usize].id, name))
    }

    pub fn find(&self, id: IdHash) -> Option<MessageRow> {
        self.rows.get(self.place_of(id)? as usize)
    }

    fn place_of(&self, id: IdHash) -> Option<u32> {
        let by_id = self.by_id.get_or_init(|| {
            let places = self.all().zip(0_u32..).map(|(row, place)| (row.id, place));
            self.rows.derive(places).sorted_by_key(|entry| *entry)
        });
        let first = by_id.partition_point(|(known, _)| *known < id);
        by_id.get(first).filter(|(known, _)| *known == id).map(|(_, place)| place)
    }

    /// Returns the numbers of the top level and of all threads.
    pub fn threads(&self) -> Range<u32> {
        0..self.threads.len() as u32
    }

    /// Returns the id of a thread, by its number.
    pub fn thread_id(&self, thread: u32) -> IdHash {
        self.threads.get(thread as usize).unwrap_or(IdHash::TOP_LEVEL)
    }

    /// Returns the number of a thread, if it has any messages.
    pub fn thread(&self, id: IdHash) -> Option<u32> {
        let first = self.threads_by_id.partition_point(|(known, _)| *known < id);
        let found = self.threads_by_id.get(first);
        found.filter(|(known, _)| *known == id).map(|(_, thread)| thread)
    }

    /// Returns the messages by human authors in a thread, or at the top level.
    pub fn human_messages_in(&self, thread: u32) -> RowList<'_> {
        let grouped = self.human_messages.get_or_init(|| self.group_human_messages());
        let begin = |thread: usize| grouped.begins.get(thread).map_or(0, |begin| begin as usize);
        let (from, to) = (begin(thread as usize), begin(thread as usize + 1));
        RowList { rows: &self.rows, places: grouped.places.part(from, to) }
    }

    /// Returns the messages by human authors in a thread that may not exist.
    pub fn human_messages_at(&self, id: IdHash) -> RowList<'_> {
        // No thread has this number.
        self.human_messages_in(self.thread(id).unwrap_or(self.threads().end))
    }

    fn group_human_messages(&self) -> HumanMessagesByThread {
        let zeros = |count: usize| self.rows.derive(std::iter::repeat_n(0_u32, count));
        let mut begins: Column<u32> = zeros(self.threads.len() + 1);
        let add_one = |numbers: &mut Column<u32>, place: usize| {
            let number = numbers.get(place).unwrap_or(0);
            numbers.set(place, number + 1);
            number
        };
        for row in self.human_messages() {
            add_one(&mut begins, row.thread as usize + 1);
        }
        let sums = begins.iter().scan(0, |sum, begin| {
            *sum += begin;
            Some(*sum)
        });
        let sums: Column<u32> = begins.derive(sums);
        let mut places: Column<u32> = zeros(self.human_messages().count());
        let mut next = sums.clone();
        for (row, place) in self.all().zip(0..).filter(|(row, _)| !row.is_bot()) {
            let thread = row.thread as usize;
            places.set(add_one(&mut next, thread) as usize, place);
        }
        HumanMessagesByThread { places, begins: sums }
    }

    /// Messages and the messages that they say they answer, by the time of the former.
    pub fn replies(&self) -> impl Iterator<Item = (MessageRow, MessageRow)> {
        let row = |place: u32| self.rows.get(place as usize);
        self.replies.iter().filter_map(move |(reply, asked)| row(reply).zip(row(asked)))
    }

    /// Whether `reply` says that it answers `asked`.
    pub fn is_answer(&self, reply: &MessageRow, asked: &MessageRow) -> bool {
        let places = || Some((self.place_of(reply.id)?, self.place_of(asked.id)?));
        let is_there = |pair: (u32, u32)| {
            let first = self.replies.partition_point(|known| *known < pair);
            self.replies.get(first) == Some(pair)
        };
        reply.is_reply() && places().is_some_and(is_there)
    }

    /// Returns the messages that say that they answer `asked`, by time.
    pub fn answers_to(&self, asked: &MessageRow) -> impl Iterator<Item = MessageRow> {
        let answers = self.answers.get_or_init(|| {
            let turned = self.replies.iter().map(|(reply, asked)| (asked, reply));
            self.replies.derive(turned).sorted_by_key(|pair| *pair)
        });
        let place = if answers.is_empty() { None } else { self.place_of(asked.id) };
        let first = answers.partition_point(|(asked, _)| Some(*asked) < place);
        let found = answers.part(first, answers.len()).iter();
        let found = found.take_while(move |(asked, _)| Some(*asked) == place);
        found.filter_map(|(_, reply)| self.rows.get(reply as usize))
    }
}

/// Messages of one thread or of the top level, by time.
#[derive(Clone, Copy)]
pub struct RowList<'a> {
    rows: &'a Column<MessageRow>,
    places: ColumnPart<'a, u32>,
}

impl RowList<'_> {
    pub fn len(self) -> usize {
        self.places.len()
    }

    pub fn is_empty(self) -> bool {
        self.places.is_empty()
    }

    pub fn get(self, index: usize) -> Option<MessageRow> {
        self.places.get(index).and_then(|place| self.rows.get(place as usize))
    }

    pub fn iter(self) -> impl DoubleEndedIterator<Item = MessageRow> {
        self.places.iter().filter_map(move |place| self.rows.get(place as usize))
    }

    /// Returns the number of leading messages for which `holds` is true.
    pub fn partition_point(self, holds: impl Fn(&MessageRow) -> bool) -> usize {
        let row = |place: u32| self.rows.get(place as usize);
        self.places.partition_point(|place| row(*place).is_some_and(|row| holds(&row)))
    }

    /// Returns the number of messages that are among the first `rows` rows of the channel.
    pub fn among_first(self, rows: usize) -> usize {
        self.places.partition_point(|place| (*place as usize) < rows)
    }

    /// Skips the first `first` messages.
    pub fn from(self, first: usize) -> Self {
        Self { places: self.places.part(first, self.len()), ..self }
    }

    /// Keeps only the first `end` messages.
    pub fn until(self, end: usize) -> Self {
        Self { places: self.places.part(0, end), ..self }
    }

    /// Pairs of consecutive messages.
    pub fn pairs(self) -> impl Iterator<Item = (MessageRow, MessageRow)> {
        self.iter().zip(self.from(1).iter())
    }
}

#[cfg(test)]
mod tests;
