//! Builds the rows of a channel.

use std::collections::HashMap;
use std::sync::Arc;

use aizuchi_store::open_questions::{asks, names_somebody};
use jiff::Timestamp;

use crate::replay::rows::{
    ASKS, BOT, ChannelRows, IdHash, MIN_TELLING_CHARS, MessageRow, NAMES, OPENER, QUESTION_MARK,
    REPLY, RecordedAuthor, SHORT, epoch_seconds,
};

/// The data of a message from which its row is built.
pub struct RowSource<'a> {
    /// The place where the message can be read: less than 2^56.
    pub place: u64,
    pub thread: Option<&'a str>,
    pub id: &'a str,
    pub ts: f64,
    pub author: &'a str,
    pub name: Option<&'a str>,
    pub text: &'a str,
    pub reply_to: &'a [String],
    pub bot: bool,
    pub opener: bool,
}

impl RowSource<'_> {
    fn flags(&self) -> u64 {
        let flag = |flag: u64, is_set: bool| if is_set { flag } else { 0 };
        // A cheap check first, because most texts need no closer look.
        let has_mark = self.text.contains(['?', '？']);
        flag(BOT, self.bot)
            | flag(OPENER, self.opener)
            | flag(REPLY, !self.reply_to.is_empty())
            | flag(QUESTION_MARK, has_mark)
            | flag(ASKS, has_mark && asks(self.text))
            | flag(NAMES, self.text.contains('@') && names_somebody(self.text))
            | flag(SHORT, self.text.chars().nth(MIN_TELLING_CHARS).is_none())
    }
}

/// The first occurrence: its time and, for equal times, its position in the input.
type First = (Timestamp, usize);

struct FoundAuthor {
    id: Arc<str>,
    is_bot: bool,
    first: First,
    names: HashMap<Arc<str>, First>,
}

/// Builds the rows of a channel from its messages, in the order of the input.
pub struct RowsBuilder {
    rows: Vec<MessageRow>,
    authors: Vec<FoundAuthor>,
    author_numbers: HashMap<Arc<str>, u32>,
    threads: Vec<IdHash>,
    thread_numbers: HashMap<IdHash, u32>,
    replies: Vec<(IdHash, IdHash)>,
}

impl Default for RowsBuilder {
    fn default() -> Self {
        Self {
            authors: Vec::new(),
            author_numbers: HashMap::new(),
            threads: vec![IdHash::TOP_LEVEL],
            thread_numbers: HashMap::from([(IdHash::TOP_LEVEL, 0)]),
            replies: Vec::new(),
            rows: Vec::new(),
        }
    }
}

impl RowsBuilder {
    pub fn add(&mut self, message: &RowSource<'_>) {
        let first = (epoch_seconds(message.ts), self.rows.len());
        let id = IdHash::new(message.id);
        let author = self.author(message, first);
        let thread = self.thread(IdHash::from_thread(message.thread));
        let answered = message.reply_to.iter().map(|asked| (id, IdHash::new(asked)));
        self.replies.extend(answered);
        let place = message.place << 8 | message.flags();
        self.rows.push(MessageRow { ts: message.ts, id, place, author, thread });
    }

    fn author(&mut self, message: &RowSource<'_>, first: First) -> u32 {
        let number = match self.author_numbers.get(message.author) {
            Some(number) => *number,
            None => {
                let (id, number) = (Arc::<str>::from(message.author), self.authors.len() as u32);
                self.author_numbers.insert(id.clone(), number);
                let (is_bot, names) = (message.bot, HashMap::new());
                self.authors.push(FoundAuthor { id, is_bot, first, names });
                number
            }
        };
        let author = &mut self.authors[number as usize];
        if first < author.first {
            (author.first, author.is_bot) = (first, message.bot);
        }
        if let Some(name) = message.name {
            match author.names.get_mut(name) {
                Some(known) => *known = first.min(*known),
                None => {
                    author.names.insert(name.into(), first);
                }
            }
        }
        number
    }

    fn thread(&mut self, id: IdHash) -> u32 {
        let next = self.threads.len() as u32;
        let number = *self.thread_numbers.entry(id).or_insert(next);
        if number == next {
            self.threads.push(id);
        }
        number
    }

    /// Returns the rows by time. Rows with the same time stay in the order of the input.
    pub fn finish(self) -> ChannelRows {
        let Self { mut rows, authors, threads, replies, thread_numbers, .. } = self;
        drop(thread_numbers);
        let mut order: Vec<usize> = (0..authors.len()).collect();
        order.sort_unstable_by_key(|number| authors[*number].first);
        let mut numbers = vec![0_u32; authors.len()];
        for (new, old) in order.iter().enumerate() {
            numbers[*old] = new as u32;
        }
        rows.iter_mut().for_each(|row| row.author = numbers[row.author as usize]);
        rows.sort_by_key(MessageRow::at);
        let mut named: Vec<(First, u32, Arc<str>)> = Vec::new();
        for (author, number) in authors.iter().zip(&numbers) {
            named.extend(author.names.iter().map(|(name, first)| (*first, *number, name.clone())));
        }
        named.sort_unstable();
        let mut known: Vec<RecordedAuthor> = Vec::with_capacity(order.len());
        for author in order.iter().map(|number| &authors[*number]) {
            known.push(RecordedAuthor { id: author.id.clone(), is_bot: author.is_bot, name: None });
        }
        for (_, number, name) in &named {
            let author = &mut known[*number as usize];
            if author.name.is_none() && *name != author.id {
                author.name = Some(name.clone());
            }
        }
        let mut threads_by_id: Vec<(IdHash, u32)> = threads.iter().copied().zip(0..).collect();
        threads_by_id.sort_unstable();
        let names = named.into_iter().map(|(_, number, name)| (number, name)).collect();
        let mut built = ChannelRows {
            rows,
            authors: known,
            names,
            threads,
            threads_by_id,
            ..ChannelRows::default()
        };
        let places = |(reply, asked)| Some((built.place_of(reply)?, built.place_of(asked)?));
        let mut pairs: Vec<(u32, u32)> = replies.into_iter().filter_map(places).collect();
        pairs.sort_unstable();
        pairs.dedup();
        built.replies = pairs;
        built
    }
}
