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
    pub scope: Scope,
    pub term: Term,
}

/// What a memory is about.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scope {
    /// Made of what everybody may know.
    Workspace,
    Channel(ChannelId),
    Thread(ChannelId, MessageId),
}

/// The type of a memory. Threads have no long term.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Term {
    /// Of talk within the last hours; made anew each time.
    ShortTerm,
    /// Of all time; what is new is merged into it.
    LongTerm,
}

/// One line of talk, wherever it stands in its workspace.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct LineId(pub ChannelId, pub MessageId);

/// What words were made from. When a line of it is edited or deleted, or a memory of it is touched by
/// that, the words may repeat what was taken back.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lineage {
    pub lines: Vec<LineId>,
    pub memories: Vec<MemoryId>,
}

/// One dated thing that is remembered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// The day that it is about, in the workspace's time zone.
    pub date: jiff::civil::Date,
    /// On one line.
    pub text: Arc<str>,
    /// Who may know it: everybody, only if everybody could read every line behind it.
    pub visibility: Visibility,
    /// The lines behind it, sorted.
    pub lines: Vec<LineId>,
}

/// A memory as it was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Memory {
    pub id: MemoryId,
    pub key: MemoryKey,
    /// Oldest first.
    pub entries: Vec<Entry>,
    /// Lines that lost their entry because another line behind it was taken back. They are remembered
    /// anew.
    pub lost: Vec<LineId>,
    /// The newest line behind it.
    pub newest: Timestamp,
    pub made: Timestamp,
}

/// A memory that was thought of and is not kept yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewMemory {
    /// The visibility is for the store to say.
    pub entries: Vec<Entry>,
    /// The newest line behind it.
    pub newest: Timestamp,
    /// The revision of the store that it was made from.
    pub considered: u64,
    /// What else it was made from.
    pub merged: Vec<MemoryId>,
}

impl Lineage {
    /// Lines in the place of a memory or memo that was made from them.
    pub fn trade(&mut self, memory: MemoryId, lines: &[LineId]) {
        let before = self.memories.len();
        self.memories.retain(|other| *other != memory);
        if self.memories.len() != before {
            self.lines.extend_from_slice(lines);
            self.lines.sort();
            self.lines.dedup();
        }
    }
}

impl MemoryKey {
    /// The channel that it belongs to, if it is not the workspace's.
    pub fn channel(&self) -> Option<&ChannelId> {
        match &self.scope {
            Scope::Workspace => None,
            Scope::Channel(channel) | Scope::Thread(channel, _) => Some(channel),
        }
    }
}

/// As the ledger names it.
impl fmt::Display for MemoryKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.scope.name(), self.term.name())?;
        match &self.scope {
            Scope::Workspace => Ok(()),
            Scope::Channel(channel) => write!(f, "/{channel}"),
            Scope::Thread(channel, thread) => write!(f, "/{channel}/{thread}"),
        }
    }
}

impl Scope {
    pub fn name(&self) -> &'static str {
        match self {
            Scope::Workspace => "workspace",
            Scope::Channel(_) => "channel",
            Scope::Thread(..) => "thread",
        }
    }
}

impl Term {
    pub fn name(self) -> &'static str {
        match self {
            Term::ShortTerm => "short_term",
            Term::LongTerm => "long_term",
        }
    }
}

impl Memory {
    /// What is known of it where every entry, or only what everybody may know, is shown.
    pub fn text(entries: &[Entry], is_known: impl Fn(&Entry) -> bool) -> Option<String> {
        let mut text = String::new();
        for entry in entries.iter().filter(|entry| is_known(entry)) {
            let break_line = if text.is_empty() { "" } else { "\n" };
            let _ = write!(text, "{break_line}- {}: {}", entry.date, entry.text);
        }
        (!text.is_empty()).then_some(text)
    }

    /// Drops every entry that a line is behind. True if there was one.
    pub fn forget(&mut self, line: &LineId) -> bool {
        let before = self.entries.len();
        let lost = self.entries.extract_if(.., |entry| entry.lines.contains(line));
        self.lost.extend(lost.flat_map(|entry| entry.lines));
        self.lost.sort();
        self.lost.dedup();
        self.entries.len() != before
    }

    /// Drops every entry that a line of a channel is behind. True if there was one.
    pub fn forget_channel(&mut self, channel: &ChannelId) -> bool {
        let before = self.entries.len();
        self.entries.retain(|entry| entry.lines.iter().all(|line| line.0 != *channel));
        self.entries.len() != before
    }

    /// Nobody else may know any of it. True if anybody could.
    pub fn withdraw(&mut self) -> bool {
        let was_public = self.entries.iter().any(Entry::is_public);
        self.entries.iter_mut().for_each(|entry| entry.visibility = Visibility::Private);
        was_public
    }
}

impl Entry {
    pub fn is_public(&self) -> bool {
        self.visibility == Visibility::Public
    }
}

/// The day of a moment in the workspace's time zone.
pub fn day(at: Timestamp, zone: &TimeZone) -> jiff::civil::Date {
    at.to_zoned(zone.clone()).date()
}
