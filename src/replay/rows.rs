//! A row of 32 bytes for each message of a channel: who wrote when and where, and what figures need to know of its text.
//! The message itself is read only when it is needed, so a channel may be long.

pub mod builder;

use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use jiff::Timestamp;

/// Stands for the id of a message. That no two messages of a channel share one is checked where they are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct IdHash(pub u64);

impl IdHash {
    /// The top level, which no thread is.
    const TOP_LEVEL: Self = Self(0);

    pub fn of(id: &str) -> Self {
        let mut hasher = DefaultHasher::new();
        id.hash(&mut hasher);
        Self(hasher.finish())
    }

    /// Of the message that opened a thread, or of the top level.
    pub fn of_thread(thread: Option<&str>) -> Self {
        thread.map_or(Self::TOP_LEVEL, Self::of)
    }
}

/// A message without its text.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MessageRow {
    /// Epoch seconds.
    pub ts: f64,
    pub id: IdHash,
    /// Where the message is read, and below that a byte of flags.
    place: u64,
    /// The number of its author in the channel.
    pub author: u32,
    /// The number of its thread in the channel.
    pub thread: u32,
}

const _: () = assert!(size_of::<MessageRow>() == 32);

const BOT: u64 = 1;
const OPENER: u64 = 1 << 1;
const REPLY: u64 = 1 << 2;
const QUESTION_MARK: u64 = 1 << 3;
const ASKS: u64 = 1 << 4;
const NAMES: u64 = 1 << 5;
const SHORT: u64 = 1 << 6;

/// With fewer letters, a text seldom says what it is about.
const MIN_TELLING_CHARS: usize = 30;

impl MessageRow {
    /// The time to the millisecond.
    pub fn at(&self) -> Timestamp {
        epoch_seconds(self.ts)
    }

    /// Where the message is read.
    pub fn place(&self) -> u64 {
        self.place >> 8
    }

    pub fn is_bot(&self) -> bool {
        self.place & BOT != 0
    }

    /// Annotated as the beginning of a conversation.
    pub fn is_opener(&self) -> bool {
        self.place & OPENER != 0
    }

    /// Whether it says what it answers.
    pub fn is_reply(&self) -> bool {
        self.place & REPLY != 0
    }

    /// Whether a question mark stands anywhere in its text.
    pub fn has_question_mark(&self) -> bool {
        self.place & QUESTION_MARK != 0
    }

    /// Whether its text asks something.
    pub fn asks(&self) -> bool {
        self.place & ASKS != 0
    }

    /// Whether its text names somebody.
    pub fn names_somebody(&self) -> bool {
        self.place & NAMES != 0
    }

    /// Whether its text is too short to be understood without what stands around it.
    pub fn is_short(&self) -> bool {
        self.place & SHORT != 0
    }
}

/// A time in epoch seconds, to the millisecond.
pub fn epoch_seconds(seconds: f64) -> Timestamp {
    Timestamp::from_millisecond((seconds * 1000.0).round() as i64).unwrap_or(Timestamp::UNIX_EPOCH)
}

/// Somebody who wrote in a channel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordedAuthor {
    pub id: Arc<str>,
    /// Whether a bot wrote the first message.
    pub is_bot: bool,
    /// The first name that differs from the id.
    pub name: Option<Arc<str>>,
}

/// The rows of a channel, by time.
#[derive(Clone, Debug, Default)]
pub struct ChannelRows {
    rows: Vec<MessageRow>,
    /// In the order of their first messages.
    authors: Vec<RecordedAuthor>,
    /// The names of authors, by their numbers, in the order in which they first came.
    names: Vec<(u32, Arc<str>)>,
    /// The top level and the threads, by their numbers.
    threads: Vec<IdHash>,
    /// Their numbers, by what they stand for.
    threads_by_id: Vec<u32>,
    /// Messages and what they answer, both by their places in `rows`. What is not in the channel is left out.
    replies: Vec<(u32, u32)>,
    /// The same the other way round.
    answers: OnceLock<Vec<(u32, u32)>>,
    /// Places in `rows`, by what the ids are.
    by_id: OnceLock<Vec<u32>>,
    people: OnceLock<PeopleByThread>,
}

/// The places of people's messages, thread by thread.
#[derive(Clone, Debug)]
struct PeopleByThread {
    places: Vec<u32>,
    /// Where each thread begins among them, and where the last one ends.
    begins: Vec<u32>,
}

impl ChannelRows {
    pub fn all(&self) -> &[MessageRow] {
        &self.rows
    }

    pub fn len(&self) -> usize {
        self.rows.len()
    }

    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    pub fn first(&self) -> Option<&MessageRow> {
        self.rows.first()
    }

    pub fn last(&self) -> Option<&MessageRow> {
        self.rows.last()
    }

    /// Without those of bots.
    pub fn people(&self) -> impl Iterator<Item = &MessageRow> {
        self.rows.iter().filter(|row| !row.is_bot())
    }

    /// Those who wrote, in the order of their first messages.
    pub fn authors(&self) -> &[RecordedAuthor] {
        &self.authors
    }

    /// The id of who wrote a message.
    pub fn author(&self, row: &MessageRow) -> &Arc<str> {
        &self.authors[row.author as usize].id
    }

    /// Who is called what, by the ids, in the order in which the names first came.
    pub fn names(&self) -> impl Iterator<Item = (&Arc<str>, &Arc<str>)> {
        self.names.iter().map(|(author, name)| (&self.authors[*author as usize].id, name))
    }

    pub fn find(&self, id: IdHash) -> Option<&MessageRow> {
        self.place_of(id).map(|place| &self.rows[place as usize])
    }

    fn place_of(&self, id: IdHash) -> Option<u32> {
        let by_id = self.by_id.get_or_init(|| {
            let mut places: Vec<u32> = (0..self.rows.len() as u32).collect();
            places.sort_unstable_by_key(|place| (self.rows[*place as usize].id, *place));
            places
        });
        let key = |place: &u32| self.rows[*place as usize].id;
        let first = by_id.partition_point(|place| key(place) < id);
        by_id.get(first).copied().filter(|place| key(place) == id)
    }

    /// The numbers of the top level and of all threads.
    pub fn threads(&self) -> Range<u32> {
        0..self.threads.len() as u32
    }

    /// What a number of a thread stands for.
    pub fn thread_id(&self, thread: u32) -> IdHash {
        self.threads[thread as usize]
    }

    /// The number of a thread, if it has a message.
    pub fn thread(&self, id: IdHash) -> Option<u32> {
        let key = |thread: &u32| self.threads[*thread as usize];
        let found = self.threads_by_id.binary_search_by_key(&id, key).ok()?;
        Some(self.threads_by_id[found])
    }

    /// What people wrote in a thread, or at the top level.
    pub fn people_in(&self, thread: u32) -> RowList<'_> {
        let people = self.people.get_or_init(|| self.group_people());
        let begin = |thread: usize| people.begins.get(thread).map_or(0, |begin| *begin as usize);
        let (from, to) = (begin(thread as usize), begin(thread as usize + 1));
        RowList { rows: &self.rows, places: people.places.get(from..to).unwrap_or_default() }
    }

    /// The same, where nobody may have written.
    pub fn people_at(&self, id: IdHash) -> RowList<'_> {
        let none = RowList { rows: &self.rows, places: &[] };
        self.thread(id).map_or(none, |thread| self.people_in(thread))
    }

    fn group_people(&self) -> PeopleByThread {
        let mut begins = vec![0_u32; self.threads.len() + 1];
        for row in self.people() {
            begins[row.thread as usize + 1] += 1;
        }
        let mut sum = 0;
        for begin in &mut begins {
            sum += *begin;
            *begin = sum;
        }
        let mut next = begins.clone();
        let mut places = vec![0_u32; sum as usize];
        for (place, row) in self.rows.iter().enumerate().filter(|(_, row)| !row.is_bot()) {
            let next = &mut next[row.thread as usize];
            places[*next as usize] = place as u32;
            *next += 1;
        }
        PeopleByThread { places, begins }
    }

    /// Messages and what they say they answer, by the time of the messages.
    pub fn replies(&self) -> impl Iterator<Item = (&MessageRow, &MessageRow)> {
        let row = |place: u32| &self.rows[place as usize];
        self.replies.iter().map(move |(reply, asked)| (row(*reply), row(*asked)))
    }

    /// Whether a message says that it answers this one.
    pub fn is_answer(&self, reply: &MessageRow, asked: &MessageRow) -> bool {
        let places = || Some((self.place_of(reply.id)?, self.place_of(asked.id)?));
        reply.is_reply() && places().is_some_and(|pair| self.replies.binary_search(&pair).is_ok())
    }

    /// The messages that say that they answer this one, by time.
    pub fn answers_to(&self, asked: &MessageRow) -> impl Iterator<Item = &MessageRow> {
        let answers = self.answers.get_or_init(|| {
            let turned = self.replies.iter().map(|(reply, asked)| (*asked, *reply));
            let mut turned: Vec<(u32, u32)> = turned.collect();
            turned.sort_unstable();
            turned
        });
        let place = if answers.is_empty() { None } else { self.place_of(asked.id) };
        let first = answers.partition_point(|(asked, _)| Some(*asked) < place);
        let found = answers[first..].iter().take_while(move |(asked, _)| Some(*asked) == place);
        found.map(|(_, reply)| &self.rows[*reply as usize])
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

    pub fn get(self, index: usize) -> Option<&'a MessageRow> {
        self.places.get(index).map(|place| &self.rows[*place as usize])
    }

    pub fn iter(self) -> impl DoubleEndedIterator<Item = &'a MessageRow> + ExactSizeIterator {
        self.places.iter().map(move |place| &self.rows[*place as usize])
    }

    /// How many come first for which this holds.
    pub fn partition_point(self, holds: impl Fn(&MessageRow) -> bool) -> usize {
        self.places.partition_point(|place| holds(&self.rows[*place as usize]))
    }

    /// Without the first so many.
    pub fn from(self, first: usize) -> Self {
        Self { places: self.places.get(first..).unwrap_or_default(), ..self }
    }

    /// At most the first so many.
    pub fn until(self, end: usize) -> Self {
        Self { places: self.places.get(..end).unwrap_or(self.places), ..self }
    }

    /// Each with the next.
    pub fn pairs(self) -> impl Iterator<Item = (&'a MessageRow, &'a MessageRow)> {
        self.iter().zip(self.from(1).iter())
    }
}
