//! What is remembered of talk: for the workspace, each channel and each thread, in the long and in the
//! short term. A memory is a list of dated entries; each knows the lines that it was made from, so
//! that what is taken back can be forgotten.

use std::fmt::{self, Write as _};
use std::sync::Arc;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde::{Deserialize, Serialize};

use crate::chat::{ChannelId, MessageId, Visibility, WorkspaceId};

/// The number of one version of a memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct MemoryId(pub i64);

/// Whose memory, and of which time.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MemoryKey {
    pub workspace: WorkspaceId,
    pub scope: MemoryScope,
    pub term: MemoryTerm,
}

/// What a memory is about.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum MemoryScope {
    /// Made of what everybody may know.
    Workspace,
    Channel(ChannelId),
    Thread(ChannelId, MessageId),
}

/// The type of a memory. Threads have no long term.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MemoryTerm {
    /// Of talk within the last hours; made anew each time.
    ShortTerm,
    /// Of all time; what is new is merged into it.
    LongTerm,
}

/// One line of talk, wherever it stands in its workspace.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct MessageRef(pub ChannelId, pub MessageId);

/// What words were made from. When a line of it is edited or deleted, or a memory of it is touched by
/// that, the words may repeat what was taken back.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lineage {
    #[serde(rename = "lines")]
    pub messages: Vec<MessageRef>,
    pub memories: Vec<MemoryId>,
}

/// One dated thing that is remembered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryEntry {
    /// The day that it is about, in the workspace's time zone.
    pub date: jiff::civil::Date,
    /// On one line.
    pub text: Arc<str>,
    /// Who may know it: everybody, only if everybody could read every line behind it.
    pub visibility: Visibility,
    /// The lines behind it, sorted.
    #[serde(rename = "lines")]
    pub messages: Vec<MessageRef>,
}

/// A memory as it was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Memory {
    pub id: MemoryId,
    pub key: MemoryKey,
    /// Oldest first.
    pub entries: Vec<MemoryEntry>,
    /// Lines that lost their entry because another line behind it was taken back. They are remembered
    /// anew.
    pub orphaned_messages: Vec<MessageRef>,
    /// The newest line behind it.
    pub newest_message_at: Timestamp,
    pub created: Timestamp,
}

/// A memory that was thought of and is not kept yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewMemory {
    /// The visibility is for the store to say.
    pub entries: Vec<MemoryEntry>,
    /// The newest line behind it.
    pub newest_message_at: Timestamp,
    /// The revision of the store that it was made from.
    pub seen_revision: u64,
    /// What else it was made from.
    pub source_memories: Vec<MemoryId>,
}

impl Lineage {
    /// Lines in the place of a memory or memo that was made from them.
    pub fn replace_memory(&mut self, memory: MemoryId, lines: &[MessageRef]) {
        let before = self.memories.len();
        self.memories.retain(|other| *other != memory);
        if self.memories.len() != before {
            self.messages.extend_from_slice(lines);
            self.messages.sort();
            self.messages.dedup();
        }
    }
}

impl MemoryKey {
    /// The channel that it belongs to, if it is not the workspace's.
    pub fn channel(&self) -> Option<&ChannelId> {
        match &self.scope {
            MemoryScope::Workspace => None,
            MemoryScope::Channel(channel) | MemoryScope::Thread(channel, _) => Some(channel),
        }
    }
}

/// As the ledger names it.
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
        match self {
            MemoryScope::Workspace => "workspace",
            MemoryScope::Channel(_) => "channel",
            MemoryScope::Thread(..) => "thread",
        }
    }
}

impl MemoryTerm {
    pub fn name(self) -> &'static str {
        match self {
            MemoryTerm::ShortTerm => "short_term",
            MemoryTerm::LongTerm => "long_term",
        }
    }
}

impl Memory {
    /// What is known of it where every entry, or only what everybody may know, is shown.
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

    /// Drops every entry that a line is behind. True if there was one.
    pub fn forget_message(&mut self, line: &MessageRef) -> bool {
        let before = self.entries.len();
        let lost = self.entries.extract_if(.., |entry| entry.messages.contains(line));
        self.orphaned_messages.extend(lost.flat_map(|entry| entry.messages));
        self.orphaned_messages.sort();
        self.orphaned_messages.dedup();
        self.entries.len() != before
    }

    /// Drops every entry that a line of a channel is behind. True if there was one.
    pub fn forget_channel(&mut self, channel: &ChannelId) -> bool {
        let before = self.entries.len();
        self.entries.retain(|entry| entry.messages.iter().all(|line| line.0 != *channel));
        self.entries.len() != before
    }

    /// Nobody else may know any of it. True if anybody could.
    pub fn make_private(&mut self) -> bool {
        let was_public = self.entries.iter().any(MemoryEntry::is_public);
        self.entries.iter_mut().for_each(|entry| entry.visibility = Visibility::Private);
        was_public
    }
}

impl MemoryEntry {
    pub fn is_public(&self) -> bool {
        self.visibility == Visibility::Public
    }
}

/// The day of a moment in the workspace's time zone.
pub fn date_in_zone(at: Timestamp, zone: &TimeZone) -> jiff::civil::Date {
    at.to_zoned(zone.clone()).date()
}
