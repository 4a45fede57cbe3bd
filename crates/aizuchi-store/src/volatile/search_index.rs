//! An inverted index of a channel's messages, so that a search in memory reads only matches.

use std::collections::HashMap;
use std::hash::Hash;

use aizuchi_model::chat::{MessageId, UserId, Visibility};
use aizuchi_model::recall::FoundTerms;
use aizuchi_model::recall::terms::TermHashes;
use jiff::Timestamp;

use crate::volatile::records::MessageRecord;

/// The part of a channel that a query may search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SearchScope {
    Everything,
    /// Messages heard while the channel was public.
    Public,
}

/// The visible messages of a channel that have terms, in the order in which they were added.
#[derive(Default)]
pub(super) struct SearchIndex {
    pub messages: Vec<SearchedMessage>,
    /// How many of them were heard while the channel was public.
    public: usize,
    /// The places of the messages with a term, by the hash of the term.
    by_term: HashMap<u64, Vec<u32>>,
    /// The top level, and the threads that have a message.
    pub threads: Numbered<Option<MessageId>>,
    pub authors: Numbered<UserId>,
}

/// The data of a message that a search needs, except its text.
pub(super) struct SearchedMessage {
    pub id: MessageId,
    pub at: Timestamp,
    /// The number of its thread.
    pub thread: u32,
    /// The number of its author.
    pub author: u32,
    /// The number of its terms, with repetitions.
    pub length: u32,
    is_public: bool,
}

impl SearchIndex {
    /// Adds a message, unless it must not be used.
    pub fn add(&mut self, record: &MessageRecord) {
        if !record.is_visible() {
            return;
        }
        let message = &record.message;
        let terms = TermHashes::new(&message.searched_text());
        // A message without terms is never found and does not count.
        if terms.length == 0 {
            return;
        }
        let place = self.messages.len() as u32;
        for hash in terms.hashes.iter() {
            self.by_term.entry(*hash).or_default().push(place);
        }
        let is_public = record.visibility == Visibility::Public;
        self.public += usize::from(is_public);
        self.messages.push(SearchedMessage {
            id: message.id.clone(),
            at: message.at,
            thread: self.threads.number(&message.conversation.thread),
            author: self.authors.number(&message.author.id),
            length: terms.length as u32,
            is_public,
        });
    }

    /// The number of messages that a query may find.
    pub fn count(&self, scope: SearchScope) -> usize {
        match scope {
            SearchScope::Everything => self.messages.len(),
            SearchScope::Public => self.public,
        }
    }

    /// Returns the places of the messages that have any of these terms, and adds the number of messages with each term
    /// to its frequency.
    pub fn find(
        &self,
        hashes: &[u64],
        scope: SearchScope,
        frequencies: &mut [usize],
    ) -> Vec<(usize, FoundTerms)> {
        let mut found = vec![FoundTerms::default(); self.messages.len()];
        for (term, (hash, frequency)) in hashes.iter().zip(frequencies).enumerate() {
            let places = self.by_term.get(hash).into_iter().flatten();
            for place in places.map(|place| *place as usize) {
                if scope == SearchScope::Everything || self.messages[place].is_public {
                    found[place].add(term);
                    *frequency += 1;
                }
            }
        }
        found.into_iter().enumerate().filter(|(_, terms)| !terms.is_empty()).collect()
    }
}

/// Values, numbered in the order of their first occurrence.
pub(super) struct Numbered<T> {
    numbers: HashMap<T, u32>,
    pub values: Vec<T>,
}

impl<T> Default for Numbered<T> {
    fn default() -> Self {
        Self { numbers: HashMap::new(), values: Vec::new() }
    }
}

impl<T: Clone + Eq + Hash> Numbered<T> {
    fn number(&mut self, value: &T) -> u32 {
        if let Some(number) = self.numbers.get(value) {
            return *number;
        }
        let number = self.values.len() as u32;
        self.numbers.insert(value.clone(), number);
        self.values.push(value.clone());
        number
    }
}
