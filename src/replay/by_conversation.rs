//! What is noted of each conversation of one channel. There may be very many, so they are known by the hashes of their
//! threads.

use std::collections::{HashMap, HashSet};

use crate::replay::rows::IdHash;
use aizuchi_core::chat::{ConversationId, MessageId};

/// A value for each conversation.
pub struct ByConversation<T>(HashMap<IdHash, T>);

/// Some conversations.
#[derive(Default)]
pub struct ConversationSet(HashSet<IdHash>);

impl<T> ByConversation<T> {
    pub fn insert(&mut self, conversation: &ConversationId, value: T) {
        self.0.insert(key(conversation), value);
    }

    pub fn get(&self, conversation: &ConversationId) -> Option<&T> {
        self.0.get(&key(conversation))
    }
}

impl<T> Default for ByConversation<T> {
    fn default() -> Self {
        Self(HashMap::new())
    }
}

impl ConversationSet {
    /// Whether it was not there.
    pub fn insert(&mut self, conversation: &ConversationId) -> bool {
        self.0.insert(key(conversation))
    }

    /// Whether it was there.
    pub fn remove(&mut self, conversation: &ConversationId) -> bool {
        self.0.remove(&key(conversation))
    }

    pub fn contains(&self, conversation: &ConversationId) -> bool {
        self.0.contains(&key(conversation))
    }
}

fn key(conversation: &ConversationId) -> IdHash {
    IdHash::of_thread(conversation.thread.as_ref().map(MessageId::as_str))
}
