//! A map of the recently active conversations of one channel. There may be very many conversations, so the keys are the
//! hashes of their threads, and the oldest entries are dropped.

use std::collections::HashMap;

use aizuchi_model::chat::{ConversationId, MessageId};

use crate::replay::rows::IdHash;

/// The minimum number of conversations that are kept. A value is read within the same step, or before a decided post is
/// made: within a few hours, in which a channel has far fewer conversations.
const MIN_KNOWN: usize = 1 << 15;

/// A value for each conversation.
pub struct ByConversation<T> {
    /// The latest entries.
    newer: HashMap<IdHash, T>,
    /// The entries before those.
    older: HashMap<IdHash, T>,
}

/// A set of recently active conversations.
#[derive(Default)]
pub struct ConversationSet(ByConversation<()>);

impl<T> ByConversation<T> {
    pub fn insert(&mut self, conversation: &ConversationId, value: T) {
        if self.newer.len() >= MIN_KNOWN {
            self.older = std::mem::take(&mut self.newer);
        }
        self.newer.insert(key(conversation), value);
    }

    pub fn get(&self, conversation: &ConversationId) -> Option<&T> {
        let key = key(conversation);
        self.newer.get(&key).or_else(|| self.older.get(&key))
    }

    fn remove(&mut self, conversation: &ConversationId) {
        let key = key(conversation);
        self.newer.remove(&key);
        self.older.remove(&key);
    }
}

impl<T> Default for ByConversation<T> {
    fn default() -> Self {
        Self { newer: HashMap::new(), older: HashMap::new() }
    }
}

impl ConversationSet {
    pub fn insert(&mut self, conversation: &ConversationId) {
        self.0.insert(conversation, ());
    }

    pub fn remove(&mut self, conversation: &ConversationId) {
        self.0.remove(conversation);
    }

    pub fn contains(&self, conversation: &ConversationId) -> bool {
        self.0.get(conversation).is_some()
    }
}

fn key(conversation: &ConversationId) -> IdHash {
    IdHash::from_thread(conversation.thread.as_ref().map(MessageId::as_str))
}
