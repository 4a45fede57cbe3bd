//! What is remembered: for the workspace, each channel and each thread, in the short and in the long term. A memory
//! is a list of dated entries. Each entry records its source messages, so that it can be forgotten when one of them
//! is edited or deleted.

pub mod layer;
pub mod duplicates;
pub mod asker;
pub mod change;

use std::fmt::{self, Write as _};
use std::sync::Arc;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde::{Deserialize, Serialize};

use crate::chat::{ChannelId, MessageId, Visibility, WorkspaceId};

number_id!(
    /// Identifies one version of a memory.
    MemoryId
);

/// Identifies a memory by its subject and its term.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MemoryKey {
    pub workspace: WorkspaceId,
    pub scope: MemoryScope,
    pub term: MemoryTerm,
}

/// The subject of a memory.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum MemoryScope {
    /// The workspace. Its memory is made only from public messages.
    Workspace,
    Channel(ChannelId),
    Thread(ChannelId, MessageId),
}

named_enum! {
    /// The type of a memory. Threads have no long-term memory.
    pub enum MemoryTerm {
        /// Covers the last hours and is rebuilt each time.
        ShortTerm,
        /// Covers all time; new content is merged into it.
        LongTerm,
    }
}

/// A message anywhere in its workspace.
#[derive(
    Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, schemars::JsonSchema,
)]
pub struct MessageRef(pub ChannelId, pub MessageId);

/// The sources of a text. When a source message is edited or deleted, or a source memory changes because of that,
/// the text may repeat what was withdrawn.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lineage {
    #[serde(rename = "lines")]
    pub messages: Vec<MessageRef>,
    pub memories: Vec<MemoryId>,
    /// Standing orders, by number and version. They disappear if their author opts out or is forgotten.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub orders: Vec<(i64, i64)>,
}

/// One dated entry of a memory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryEntry {
    /// The day that the entry is about, in the workspace's time zone.
    pub date: jiff::civil::Date,
    /// On a single line.
    pub text: Arc<str>,
    /// Who may see the entry. Public only if every source message was public.
    pub visibility: Visibility,
    /// The source messages, sorted.
    #[serde(rename = "lines")]
    pub messages: Vec<MessageRef>,
    /// Whether a user wants the entry to stay as it is.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub pinned: bool,
}

/// A stored version of a memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Memory {
    pub id: MemoryId,
    pub key: MemoryKey,
    /// The entries, oldest first.
    pub entries: Vec<MemoryEntry>,
    /// Entries that users removed. They appear only in prompts that fold memories, and are not remembered again.
    pub removed: Vec<MemoryEntry>,
    /// Messages that lost their entry because another source message of it was withdrawn. They are remembered again.
    pub orphaned_messages: Vec<MessageRef>,
    /// When the newest source message was written.
    pub newest_message_at: Timestamp,
    pub created: Timestamp,
}

/// A memory that a model made and that is not yet stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewMemory {
    /// The store sets the visibility.
    pub entries: Vec<MemoryEntry>,
    /// When the newest source message was written.
    pub newest_message_at: Timestamp,
    /// The store revision that it was made from.
    pub seen_revision: u64,
    /// The memories that it was made from.
    pub source_memories: Vec<MemoryId>,
}

impl Lineage {
    /// Replaces a source memory (or memo) with the messages that it was made from.
    pub fn replace_memory(&mut self, memory: MemoryId, messages: &[MessageRef]) {
        let before = self.memories.len();
        self.memories.retain(|other| *other != memory);
        if self.memories.len() != before {
            self.messages.extend_from_slice(messages);
            self.messages.sort();
            self.messages.dedup();
        }
    }
}

impl MemoryKey {
    /// The channel that the memory belongs to, or `None` for the workspace's.
    pub fn channel(&self) -> Option<&ChannelId> {
        match &self.scope {
            MemoryScope::Workspace => None,
            MemoryScope::Channel(channel) | MemoryScope::Thread(channel, _) => Some(channel),
        }
    }
}

/// The form in which the ledger shows the key.
impl fmt::Display for MemoryKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.scope.name(), self.term.name())?;
        match &self.scope {
            MemoryScope::Workspace => Ok(()),
            MemoryScope::Channel(channel) => write!(f, "/{channel}"),
            MemoryScope::Thread(channel, thread) => write!(f, "/{channel}/{thread}"),
        }
    }
}

impl MemoryScope {
    pub fn name(&self) -> &'static str {
        self.into()
    }
}

impl Memory {
    /// The text of the entries that pass `is_known`, or `None` if there are none.
    pub fn render_entries(
        entries: &[MemoryEntry],
        is_known: impl Fn(&MemoryEntry) -> bool,
    ) -> Option<String> {
        let mut text = String::new();
        for entry in entries.iter().filter(|entry| is_known(entry)) {
            let break_line = if text.is_empty() { "" } else { "\n" };
            let _ = write!(text, "{break_line}- {}: {}", entry.date, entry.text);
        }
        (!text.is_empty()).then_some(text)
    }

    /// Drops every entry with this source message. Returns whether there was one.
    pub fn forget_message(&mut self, message: &MessageRef) -> bool {
        let before = self.entries.len() + self.removed.len();
        self.removed.retain(|entry| !entry.messages.contains(message));
        let lost = self.entries.extract_if(.., |entry| entry.messages.contains(message));
        self.orphaned_messages.extend(lost.flat_map(|entry| entry.messages));
        self.orphaned_messages.sort();
        self.orphaned_messages.dedup();
        self.entries.len() + self.removed.len() != before
    }

    /// Drops every entry with a source message in this channel. Returns whether there was one.
    pub fn forget_channel(&mut self, channel: &ChannelId) -> bool {
        let before = self.entries.len() + self.removed.len();
        let is_elsewhere =
            |entry: &MemoryEntry| entry.messages.iter().all(|message| message.0 != *channel);
        self.entries.retain(is_elsewhere);
        self.removed.retain(is_elsewhere);
        self.entries.len() + self.removed.len() != before
    }

    /// Restricts every entry to the channel. Returns whether any of them was public.
    pub fn make_private(&mut self) -> bool {
        let mut entries = self.entries.iter_mut().chain(&mut self.removed);
        let was_public = entries.any(|entry| entry.is_public());
        let entries = self.entries.iter_mut().chain(&mut self.removed);
        entries.for_each(|entry| entry.visibility = Visibility::Private);
        was_public
    }
}

impl MemoryEntry {
    pub fn is_public(&self) -> bool {
        self.visibility == Visibility::Public
    }
}

/// The date of a moment in the workspace's time zone.
pub fn date_in_zone(at: Timestamp, zone: &TimeZone) -> jiff::civil::Date {
    at.to_zoned(zone.clone()).date()
}
