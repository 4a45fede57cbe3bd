//! A row of 32 bytes for each message of a channel: its author, time and thread, and the properties of its text that
//! figures need. The message itself is read only when it is needed, so a channel may be long.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use jiff::Timestamp;

/// The hash of a message's id. Of two messages of a channel with the same hash, the second counts as said before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct IdHash(pub u64);

impl IdHash {
    /// The top level, which is the id of no thread.
    pub(super) const TOP_LEVEL: Self = Self(0);

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

/// A message without its text.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MessageRow {
    /// Epoch seconds.
    pub ts: f64,
    pub id: IdHash,
    /// The place of the message, shifted left to make space for a byte of flags.
    pub(super) place: u64,
    /// The number of its author in the channel.
    pub author: u32,
    /// The number of its thread in the channel.
    pub thread: u32,
}

const _: () = assert!(size_of::<MessageRow>() == 32);

pub(super) const BOT: u64 = 1;
pub(super) const OPENER: u64 = 1 << 1;
pub(super) const REPLY: u64 = 1 << 2;
pub(super) const QUESTION_MARK: u64 = 1 << 3;
pub(super) const ASKS: u64 = 1 << 4;
pub(super) const NAMES: u64 = 1 << 5;
pub(super) const SHORT: u64 = 1 << 6;

/// A text with fewer characters seldom says what it is about.
pub(super) const MIN_TELLING_CHARS: usize = 30;

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

/// The rows of a channel, in chronological order.
#[derive(Clone, Debug, Default)]
pub struct ChannelRows {
    pub(super) rows: Vec<MessageRow>,
    /// In the order of their first messages.
    pub(super) authors: Vec<RecordedAuthor>,
    /// The names of authors, with the numbers of the authors, in the order of their first use.
    pub(super) names: Vec<(u32, Arc<str>)>,
    /// The top level and the threads, by their numbers.
    pub(super) threads: Vec<IdHash>,
    /// The ids of the threads with their numbers, sorted by id.
    pub(super) threads_by_id: Vec<(IdHash, u32)>,
    /// Messages and the messages that they answer, both as indexes in `rows`. Answered messages outside of the channel
    /// are left out.
    pub(super) replies: Vec<(u32, u32)>,
    /// The same pairs, answered message first.
    pub(super) answers: OnceLock<Vec<(u32, u32)>>,
    /// The ids with their indexes in `rows`, sorted by id.
    pub(super) by_id: OnceLock<Vec<(IdHash, u32)>>,
    pub(super) human_messages: OnceLock<HumanMessagesByThread>,
}

/// The indexes of messages by human authors, grouped by thread.
#[derive(Clone, Debug)]
pub(super) struct HumanMessagesByThread {
    places: Vec<u32>,
    /// The index at which each thread begins in `places`, and the one at which the last thread ends.
    begins: Vec<u32>,
}

impl ChannelRows {
    pub fn all(&self) -> impl Iterator<Item = MessageRow> {
        self.rows.iter().copied()
    }

    pub fn get(&self, place: usize) -> Option<MessageRow> {
        self.rows.get(place).copied()
    }

    pub fn len(&self) -> usize {
        self.rows.len()
    }

    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    pub fn first(&self) -> Option<MessageRow> {
        self.rows.first().copied()
    }

    pub fn last(&self) -> Option<MessageRow> {
        self.rows.last().copied()
    }

    /// Returns the rows between two times, both inclusive.
    pub fn between(&self, from: Timestamp, to: Timestamp) -> &[MessageRow] {
        let later = self.rows.partition_point(|row| row.at() < from);
        let later = &self.rows[later..];
        &later[..later.partition_point(|row| row.at() <= to)]
    }

    /// Returns the rows of messages by human authors.
    pub fn human_messages(&self) -> impl Iterator<Item = MessageRow> {
        self.all().filter(|row| !row.is_bot())
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
        self.rows.get(self.place_of(id)? as usize).copied()
    }

    pub(super) fn place_of(&self, id: IdHash) -> Option<u32> {
        let by_id = self.by_id.get_or_init(|| {
            let places = self.rows.iter().zip(0_u32..).map(|(row, place)| (row.id, place));
            let mut places: Vec<(IdHash, u32)> = places.collect();
            places.sort_unstable();
            places
        });
        let first = by_id.partition_point(|(known, _)| *known < id);
        by_id.get(first).filter(|(known, _)| *known == id).map(|(_, place)| *place)
    }

    /// Returns the numbers of the top level and of all threads.
    pub fn threads(&self) -> Range<u32> {
        0..self.threads.len() as u32
    }

    /// Returns the id of a thread, by its number.
    pub fn thread_id(&self, thread: u32) -> IdHash {
        self.threads.get(thread as usize).copied().unwrap_or(IdHash::TOP_LEVEL)
    }

    /// Returns the number of a thread, if it has any messages.
    pub fn thread(&self, id: IdHash) -> Option<u32> {
        let first = self.threads_by_id.partition_point(|(known, _)| *known < id);
        let found = self.threads_by_id.get(first);
        found.filter(|(known, _)| *known == id).map(|(_, thread)| *thread)
    }

    /// Returns the messages by human authors in a thread, or at the top level.
    pub fn human_messages_in(&self, thread: u32) -> RowList<'_> {
        let grouped = self.human_messages.get_or_init(|| self.group_human_messages());
        let begin = |thread: usize| grouped.begins.get(thread).map_or(0, |begin| *begin as usize);
        let (from, to) = (begin(thread as usize), begin(thread as usize + 1));
        RowList { rows: &self.rows, places: &grouped.places[from.min(to)..to] }
    }

    /// Returns the messages by human authors in a thread that may not exist.
    pub fn human_messages_at(&self, id: IdHash) -> RowList<'_> {
        // No thread has this number.
        self.human_messages_in(self.thread(id).unwrap_or(self.threads().end))
    }

    fn group_human_messages(&self) -> HumanMessagesByThread {
        let mut begins = vec![0_u32; self.threads.len() + 1];
        for row in self.human_messages() {
            begins[row.thread as usize + 1] += 1;
        }
        for thread in 1..begins.len() {
            begins[thread] += begins[thread - 1];
        }
        let mut places = vec![0; begins.last().map_or(0, |end| *end as usize)];
        let mut next = begins.clone();
        for (row, place) in self.all().zip(0..).filter(|(row, _)| !row.is_bot()) {
            let next = &mut next[row.thread as usize];
            places[*next as usize] = place;
            *next += 1;
        }
        HumanMessagesByThread { places, begins }
    }

    /// Messages and the messages that they say they answer, by the time of the former.
    pub fn replies(&self) -> impl Iterator<Item = (MessageRow, MessageRow)> {
        let row = |place: &u32| self.rows[*place as usize];
        self.replies.iter().map(move |(reply, asked)| (row(reply), row(asked)))
    }

    /// Whether `reply` says that it answers `asked`.
    pub fn is_answer(&self, reply: &MessageRow, asked: &MessageRow) -> bool {
        let places = || Some((self.place_of(reply.id)?, self.place_of(asked.id)?));
        let is_there = |pair: (u32, u32)| self.replies.binary_search(&pair).is_ok();
        reply.is_reply() && places().is_some_and(is_there)
    }

    /// Returns the messages that say that they answer `asked`, by time.
    pub fn answers_to(&self, asked: &MessageRow) -> impl Iterator<Item = MessageRow> {
        let answers = self.answers.get_or_init(|| {
            let turned = self.replies.iter().map(|(reply, asked)| (*asked, *reply));
            let mut turned: Vec<(u32, u32)> = turned.collect();
            turned.sort_unstable();
            turned
        });
        let place = if answers.is_empty() { None } else { self.place_of(asked.id) };
        let first = answers.partition_point(|(asked, _)| Some(*asked) < place);
        let found = answers[first..].iter();
        let found = found.take_while(move |(asked, _)| Some(*asked) == place);
        found.map(|(_, reply)| self.rows[*reply as usize])
    }
}

/// Messages of one thread or of the top level, by time.
#[derive(Clone, Copy)]
pub struct RowList<'a> {
    rows: &'a [MessageRow],
    places: &'a [u32],
}

impl<'a> RowList<'a> {
    pub fn len(self) -> usize {
        self.places.len()
    }

    pub fn is_empty(self) -> bool {
        self.places.is_empty()
    }

    pub fn get(self, index: usize) -> Option<MessageRow> {
        self.places.get(index).map(|place| self.rows[*place as usize])
    }

    pub fn iter(self) -> impl DoubleEndedIterator<Item = MessageRow> + 'a {
        self.places.iter().map(move |place| self.rows[*place as usize])
    }

    /// Returns the number of leading messages for which `holds` is true.
    pub fn partition_point(self, holds: impl Fn(&MessageRow) -> bool) -> usize {
        self.places.partition_point(|place| holds(&self.rows[*place as usize]))
    }

    /// Returns the number of messages that are among the first `rows` rows of the channel.
    pub fn among_first(self, rows: usize) -> usize {
        self.places.partition_point(|place| (*place as usize) < rows)
    }

    /// Skips the first `first` messages.
    pub fn from(self, first: usize) -> Self {
        Self { places: &self.places[first.min(self.len())..], ..self }
    }

    /// Keeps only the first `end` messages.
    pub fn until(self, end: usize) -> Self {
        Self { places: &self.places[..end.min(self.len())], ..self }
    }
}
