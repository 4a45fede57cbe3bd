//! Where something is remembered, as seen from a conversation: the headings under which it is shown.

use crate::memory::{MemoryKey, MemoryScope, MemoryTerm};

/// The layers, the nearest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Layer {
    Thread,
    Channel,
    /// The last hours, in the channel or in all public channels.
    Recent,
    Workspace,
    Memos,
}

impl Layer {
    pub const ALL: [Self; 5] =
        [Layer::Thread, Layer::Channel, Layer::Recent, Layer::Workspace, Layer::Memos];

    pub fn from_key(key: &MemoryKey) -> Self {
        match (&key.scope, key.term) {
            (MemoryScope::Thread(..), _) => Layer::Thread,
            (_, MemoryTerm::ShortTerm) => Layer::Recent,
            (MemoryScope::Channel(_), MemoryTerm::LongTerm) => Layer::Channel,
            (MemoryScope::Workspace, MemoryTerm::LongTerm) => Layer::Workspace,
        }
    }
}
