//! What is remembered and may be known in a conversation (invariant 9): what came from its own channel, and what came
//! from public ones.

use aizuchi_model::chat::{ChannelId, ConversationId, to_single_line};
use aizuchi_model::memo::Memo;
use aizuchi_model::memory::duplicates::NormalizedText;
use aizuchi_model::memory::layer::Layer;
use aizuchi_model::memory::{Memory, MemoryEntry, MemoryId, MemoryKey, MemoryScope, MemoryTerm};
use aizuchi_store::archive::Archive;
use aizuchi_store::{Store, StoreError};

/// The maximum number of a channel's most recently active threads that are searched for what is to be forgotten.
const MAX_THREADS: usize = 50;

/// An entry or a memo that may be known in a conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remembered {
    pub layer: Layer,
    pub item: Item,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Item {
    Entry { key: MemoryKey, version: MemoryId, entry: MemoryEntry },
    Memo { id: MemoryId, memo: Memo },
}

impl Item {
    /// Returns the item as it is shown, on a single line.
    pub fn line(&self) -> String {
        match self {
            Item::Entry { entry, .. } => format!("{}: {}", entry.date, entry.text),
            Item::Memo { memo, .. } => {
                let content = to_single_line(&memo.content);
                // The built-in mind uses the beginning of a memo as its name.
                match content.starts_with(&memo.name) {
                    true => content,
                    false => format!("{}: {content}", memo.name),
                }
            }
        }
    }

    pub fn is_duplicate_of(&self, other: &Self) -> bool {
        match (self, other) {
            (Item::Entry { entry, .. }, Item::Entry { entry: other, .. }) => {
                entry.is_duplicate_of(other)
            }
            (Item::Memo { .. }, Item::Memo { .. }) => self == other,
            (Item::Entry { entry, .. }, Item::Memo { memo, .. })
            | (Item::Memo { memo, .. }, Item::Entry { entry, .. }) => {
                NormalizedText::new(&entry.text) == NormalizedText::new(&memo.content)
            }
        }
    }
}

/// Returns what `memory` shows in a conversation: the memories of its thread, its channel and the whole workspace,
/// nearest layer first, and oldest first within each.
pub async fn remembered_in(
    store: &dyn Store,
    archive: &dyn Archive,
    conversation: &ConversationId,
) -> Result<Vec<Remembered>, StoreError> {
    let ConversationId { workspace, channel, .. } = conversation;
    let mut memories = store.memories(workspace).await?;
    memories.retain(|memory| memory.key.channel().is_none_or(|other| other == channel));
    // The channel's memories come before the workspace's, which repeat them.
    memories.sort_by(|one, other| other.key.scope.cmp(&one.key.scope));
    memories.extend(thread_memory(archive, conversation).await?);
    let layered = |memory: &Memory| {
        let layer = Layer::from_key(&memory.key);
        let entries = known_entries(memory, channel).into_iter();
        entries.map(|item| Remembered { layer, item }).collect::<Vec<_>>()
    };
    let mut remembered: Vec<Remembered> = memories.iter().flat_map(layered).collect();
    let memos = known_memos(store, conversation).await?.into_iter();
    remembered.extend(memos.map(|item| Remembered { layer: Layer::Memos, item }));
    remembered.sort_by_key(|it| it.layer);
    Ok(remembered)
}

/// Returns everything that may be known in a conversation, as prompts there may contain it, including what came from
/// other public channels and from the channel's other threads.
pub async fn known_in(
    store: &dyn Store,
    archive: &dyn Archive,
    conversation: &ConversationId,
) -> Result<Vec<Item>, StoreError> {
    let ConversationId { workspace, channel, .. } = conversation;
    let mut memories = store.memories(workspace).await?;
    memories.extend(archive.thread_memories(workspace, channel, MAX_THREADS).await?);
    let own = thread_memory(archive, conversation).await?;
    memories.extend(own.filter(|own| memories.iter().all(|known| known.id != own.id)));
    let mut known: Vec<Item> =
        memories.iter().flat_map(|memory| known_entries(memory, channel)).collect();
    known.extend(known_memos(store, conversation).await?);
    Ok(known)
}

/// Returns the memory of the conversation's thread.
async fn thread_memory(
    archive: &dyn Archive,
    ConversationId { workspace, channel, thread }: &ConversationId,
) -> Result<Option<Memory>, StoreError> {
    let Some(thread) = thread else { return Ok(None) };
    let scope = MemoryScope::Thread(channel.clone(), thread.clone());
    let key = MemoryKey { workspace: workspace.clone(), scope, term: MemoryTerm::ShortTerm };
    Ok(archive.memory_versions(&key).await?.pop())
}

/// Returns the entries of a memory that may be known in a channel.
fn known_entries(memory: &Memory, channel: &ChannelId) -> Vec<Item> {
    let is_own = memory.key.channel() == Some(channel);
    let known = memory.entries.iter().filter(|entry| is_own || entry.is_public());
    let item = |entry: &MemoryEntry| Item::Entry {
        key: memory.key.clone(),
        version: memory.id,
        entry: entry.clone(),
    };
    known.map(item).collect()
}

async fn known_memos(
    store: &dyn Store,
    ConversationId { workspace, channel, .. }: &ConversationId,
) -> Result<Vec<Item>, StoreError> {
    let memos = store.memos(workspace, channel).await?.into_iter();
    let visible = memos.filter(|(_, memo)| memo.is_visible_from(channel));
    Ok(visible.map(|(id, memo)| Item::Memo { id, memo }).collect())
}

/// Removes duplicates, and keeps the first of each.
pub fn without_doubles(remembered: Vec<Remembered>) -> Vec<Remembered> {
    let mut once: Vec<Remembered> = Vec::new();
    for found in remembered {
        if !once.iter().any(|known| found.item.is_duplicate_of(&known.item)) {
            once.push(found);
        }
    }
    once
}
