//! The input of a memory: blocks of messages, and entries of existing memories. Sources are numbered from 1, and a
//! model names the numbers behind each new entry, so the entry's lineage is known.

use std::collections::BTreeMap;
use std::sync::Arc;

use aizuchi_model::chat::{ChannelId, ConversationId, Message, UserId, Visibility};
use aizuchi_model::memory::change::KeptEntries;
use aizuchi_model::memory::{Lineage, MemoryEntry, MemoryId, MemoryKey, MemoryTerm, MessageRef};

/// The maximum length of a block. Deleting one message also deletes the entries made from its whole block, so blocks
/// are small.
pub const MAX_BLOCK_MESSAGES: usize = 12;

#[derive(Clone, Debug, PartialEq)]
pub struct MemoryInput {
    /// The memory to make.
    pub key: MemoryKey,
    /// The maximum length of the memory.
    pub max_tokens: u32,
    pub sources: Vec<MemorySource>,
    /// The channel that the memory belongs to; empty for the workspace's memory.
    pub channel_name: Arc<str>,
    /// Who can read that channel.
    pub visibility: Visibility,
    /// The known names of the authors.
    pub names: BTreeMap<UserId, Arc<str>>,
    /// The memories that the sources come from, or that were read.
    pub merged: Vec<MemoryId>,
    /// The entries that users pinned or removed.
    pub kept: KeptEntries,
    /// The store revision that was read.
    pub seen_revision: u64,
}

#[derive(Clone, Debug, PartialEq)]
pub enum MemorySource {
    Messages(MessageBlock),
    Entry(KnownEntry),
}

/// At most [`MAX_BLOCK_MESSAGES`] messages of one conversation, oldest first.
#[derive(Clone, Debug, PartialEq)]
pub struct MessageBlock {
    pub conversation: ConversationId,
    pub messages: Vec<Arc<Message>>,
}

/// An entry of an existing memory.
#[derive(Clone, Debug, PartialEq)]
pub struct KnownEntry {
    pub owner: EntryOwner,
    pub entry: MemoryEntry,
}

/// Which memory an entry belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EntryOwner {
    /// The current version of the memory itself.
    SameMemory,
    /// A part of the memory being made, if it is made in parts.
    Part,
    /// A channel's memory that is merged into this one.
    Channel { id: ChannelId, name: Arc<str>, term: MemoryTerm },
}

impl MemoryInput {
    /// Every source with its number.
    pub fn numbered(&self) -> impl Iterator<Item = (usize, &MemorySource)> {
        self.sources.iter().enumerate().map(|(index, source)| (index + 1, source))
    }

    /// The source with this number.
    pub fn source(&self, number: usize) -> Option<&MemorySource> {
        self.sources.get(number.checked_sub(1)?)
    }

    /// The lineage of a memory made from this input.
    pub fn lineage(&self) -> Lineage {
        let kept = self.kept.pinned.iter().chain(&self.kept.removed);
        let messages = self.sources.iter().flat_map(MemorySource::message_refs);
        let messages = messages.chain(kept.flat_map(|entry| entry.messages.clone())).collect();
        Lineage { messages, memories: self.merged.clone(), ..Lineage::default() }
    }

    /// Every message in the sources.
    pub fn messages(&self) -> impl Iterator<Item = &Arc<Message>> {
        self.sources.iter().flat_map(|source| match source {
            MemorySource::Messages(block) => &block.messages[..],
            MemorySource::Entry(_) => &[],
        })
    }
}

impl MemorySource {
    /// The messages behind this source.
    pub fn message_refs(&self) -> Vec<MessageRef> {
        match self {
            MemorySource::Messages(block) => {
                let channel = &block.conversation.channel;
                block
                    .messages
                    .iter()
                    .map(|message| MessageRef(channel.clone(), message.id.clone()))
                    .collect()
            }
            MemorySource::Entry(known) => known.entry.messages.clone(),
        }
    }
}
