//! What a memory is made from: blocks of talk, and entries that are remembered already. They are
//! numbered from 1, and whoever remembers names the numbers behind each new entry, so that its lineage
//! is known.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::chat::{ChannelId, ConversationId, Message, UserId};
use crate::memory::{Lineage, MemoryEntry, MemoryId, MemoryKey, MemoryTerm, MessageRef};

/// The most lines of one block: what is taken back later takes its whole block's entries along.
pub const MAX_BLOCK_MESSAGES: usize = 12;

#[derive(Clone, Debug, PartialEq)]
pub struct MemoryInput {
    /// The memory that is to be made.
    pub key: MemoryKey,
    /// The longest that it may be.
    pub max_tokens: u32,
    pub sources: Vec<MemorySource>,
    /// Of the channel that the memory belongs to; empty for the workspace's.
    pub channel_name: Arc<str>,
    /// The names of everyone who wrote, as far as they are known.
    pub names: BTreeMap<UserId, Arc<str>>,
    /// The memories that the sources are of, or that were looked at.
    pub merged: Vec<MemoryId>,
    /// The store's revision that they are of.
    pub considered: u64,
}

#[derive(Clone, Debug, PartialEq)]
pub enum MemorySource {
    Messages(MessageBlock),
    Entry(KnownEntry),
}

/// At most [`MOST_LINES`] lines of one conversation, oldest first.
#[derive(Clone, Debug, PartialEq)]
pub struct MessageBlock {
    pub conversation: ConversationId,
    pub messages: Vec<Arc<Message>>,
}

/// An entry of a memory that there is.
#[derive(Clone, Debug, PartialEq)]
pub struct KnownEntry {
    pub owner: EntryOwner,
    pub entry: MemoryEntry,
}

/// Whose entry it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EntryOwner {
    /// Of the memory itself, as it has been so far.
    SameMemory,
    /// Of a part of the memory that is being made, where it is made in parts.
    Part,
    /// Of a channel's memory that is merged into this one.
    Channel { id: ChannelId, name: Arc<str>, term: MemoryTerm },
}

impl MemoryInput {
    /// Every source with its number.
    pub fn numbered(&self) -> impl Iterator<Item = (usize, &MemorySource)> {
        self.sources.iter().enumerate().map(|(place, source)| (place + 1, source))
    }

    /// The source of a number.
    pub fn source(&self, number: usize) -> Option<&MemorySource> {
        self.sources.get(number.checked_sub(1)?)
    }

    /// What a memory is made from that is made from this.
    pub fn lineage(&self) -> Lineage {
        let lines = self.sources.iter().flat_map(MemorySource::message_refs).collect();
        Lineage { messages: lines, memories: self.merged.clone() }
    }

    /// Every line of talk in it.
    pub fn messages(&self) -> impl Iterator<Item = &Arc<Message>> {
        self.sources.iter().flat_map(|source| match source {
            MemorySource::Messages(talk) => &talk.messages[..],
            MemorySource::Entry(_) => &[],
        })
    }
}

impl MemorySource {
    /// The lines behind it.
    pub fn message_refs(&self) -> Vec<MessageRef> {
        match self {
            MemorySource::Messages(talk) => {
                let channel = &talk.conversation.channel;
                talk.messages
                    .iter()
                    .map(|line| MessageRef(channel.clone(), line.id.clone()))
                    .collect()
            }
            MemorySource::Entry(known) => known.entry.messages.clone(),
        }
    }
}
