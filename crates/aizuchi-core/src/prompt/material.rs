//! What a memory is made from: blocks of talk, and entries that are remembered already. They are
//! numbered from 1, and whoever remembers names the numbers behind each new entry, so that its lineage
//! is known.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::chat::{ChannelId, ConversationId, Message, UserId};
use crate::memory::{Entry, LineId, Lineage, MemoryId, MemoryKey, Term};

/// The most lines of one block: what is taken back later takes its whole block's entries along.
pub const MOST_LINES: usize = 12;

#[derive(Clone, Debug, PartialEq)]
pub struct Material {
    /// The memory that is to be made.
    pub key: MemoryKey,
    /// The longest that it may be.
    pub max_tokens: u32,
    pub sources: Vec<Source>,
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
pub enum Source {
    Talk(Talk),
    Known(Known),
}

/// At most [`MOST_LINES`] lines of one conversation, oldest first.
#[derive(Clone, Debug, PartialEq)]
pub struct Talk {
    pub conversation: ConversationId,
    pub lines: Vec<Arc<Message>>,
}

/// An entry of a memory that there is.
#[derive(Clone, Debug, PartialEq)]
pub struct Known {
    pub owner: Owner,
    pub entry: Entry,
}

/// Whose entry it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Owner {
    /// Of the memory itself, as it has been so far.
    Itself,
    /// Of a part of the memory that is being made, where it is made in parts.
    Part,
    /// Of a channel's memory that is merged into this one.
    Channel { id: ChannelId, name: Arc<str>, term: Term },
}

impl Material {
    /// Every source with its number.
    pub fn numbered(&self) -> impl Iterator<Item = (usize, &Source)> {
        self.sources.iter().enumerate().map(|(place, source)| (place + 1, source))
    }

    /// The source of a number.
    pub fn source(&self, number: usize) -> Option<&Source> {
        self.sources.get(number.checked_sub(1)?)
    }

    /// What a memory is made from that is made from this.
    pub fn lineage(&self) -> Lineage {
        let lines = self.sources.iter().flat_map(Source::line_ids).collect();
        Lineage { lines, memories: self.merged.clone() }
    }

    /// Every line of talk in it.
    pub fn lines(&self) -> impl Iterator<Item = &Arc<Message>> {
        self.sources.iter().flat_map(|source| match source {
            Source::Talk(talk) => &talk.lines[..],
            Source::Known(_) => &[],
        })
    }
}

impl Source {
    /// The lines behind it.
    pub fn line_ids(&self) -> Vec<LineId> {
        match self {
            Source::Talk(talk) => {
                let channel = &talk.conversation.channel;
                talk.lines.iter().map(|line| LineId(channel.clone(), line.id.clone())).collect()
            }
            Source::Known(known) => known.entry.lines.clone(),
        }
    }
}
