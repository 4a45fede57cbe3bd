//! What is known of a person, and how far a person is forgotten, in numbers.

use aizuchi_model::chat::{ChannelId, UserId, Visibility, WorkspaceId};
use aizuchi_model::memory::MemoryKey;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What was forgotten, in numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ForgetReport {
    pub messages: usize,
    /// The persona's own messages that answered the user, were made from the user's messages, or quoted them.
    pub own_messages: usize,
    pub memos: usize,
    /// Memories that will be rewritten without the user.
    pub memories: usize,
}

/// A user who is being forgotten.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunningForgetting {
    pub workspace: WorkspaceId,
    pub user: UserId,
    pub begun: Timestamp,
    /// How many of the phases are done.
    pub done: usize,
    pub phases: usize,
    /// What went so far.
    pub report: ForgetReport,
}

/// What a person wrote in a channel while it was public, or while it was not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrittenIn {
    pub channel: ChannelId,
    /// That of these messages.
    pub visibility: Visibility,
    pub messages: u64,
    pub last: Timestamp,
    /// How many decisions about these messages led to a post.
    pub answers: u64,
}

/// Where the newest of a person's messages are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PersonTraces {
    /// Most messages first.
    pub written: Vec<WrittenIn>,
    /// Whether there are messages of theirs that are not counted.
    pub has_older: bool,
    /// The memories that were made from their messages.
    pub memories: Vec<MemoryKey>,
}
