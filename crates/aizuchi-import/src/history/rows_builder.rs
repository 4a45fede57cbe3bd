//! Builds the rows of a channel.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use aizuchi_store::open_questions::{asks, names_somebody};
use jiff::Timestamp;

use crate::history::RecordedMessage;
use crate::rows::{
    ASKS, BOT, ChannelRows, IdHash, MIN_TELLING_CHARS, MessageRow, NAMES, OPENER, QUESTION_MARK,
    REPLY, RecordedAuthor, SHORT,
};

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
    ids: HashSet<IdHash>,
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
            ids: HashSet::new(),
        }
    }
}

impl RowsBuilder {
    /// Adds a message that can be read at `place`, which is less than 2^56. Returns false if one with this id came before.
    pub fn add(&mut self, message: &RecordedMessage, place: u64) -> bool {
        let first = (message.at(), self.rows.len());
        let id = IdHash::new(&message.id);
        if !self.ids.insert(id) {
            return false;
        }
        let author = self.author(message, first);
        let thread = self.thread(IdHash::from_thread(message.thread.as_deref()));
        let answered = message.reply_to.iter().map(|asked| (id, IdHash::new(asked)));
        self.replies.extend(answered);
        let place = place << 8 | flags(message);
        self.rows.push(MessageRow { ts: message.ts, id, place, author, thread });
        true
    }

    fn author(&mut self, message: &RecordedMessage, first: First) -> u32 {
        let number = match self.author_numbers.get(message.author.as_str()) {
            Some(number) => *number,
            None => {
                let (id, number) =
                    (Arc::<str>::from(message.author.as_str()), self.authors.len() as u32);
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
        if let Some(name) = message.name.as_deref() {
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
        let Self { mut rows, authors, threads, replies, thread_numbers, ids, .. } = self;
        drop((thread_numbers, ids));
        rows.shrink_to_fit();
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

fn flags(message: &RecordedMessage) -> u64 {
    let text = &*message.text;
    let flag = |flag: u64, is_set: bool| if is_set { flag } else { 0 };
    // A cheap check first, because most texts need no closer look.
    let has_mark = text.contains(['?', '？']);
    flag(BOT, message.bot)
        | flag(OPENER, message.opener)
        | flag(REPLY, !message.reply_to.is_empty())
        | flag(QUESTION_MARK, has_mark)
        | flag(ASKS, has_mark && asks(text))
        | flag(NAMES, text.contains('@') && names_somebody(text))
        | flag(SHORT, text.chars().nth(MIN_TELLING_CHARS).is_none())
}

#[cfg(test)]
mod tests;
