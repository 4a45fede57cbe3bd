//! The log of who has read messages of private channels on the console.

use aizuchi_model::named_enum;
use std::sync::Arc;

use aizuchi_model::chat::{ChannelId, WorkspaceId};
use jiff::Timestamp;

/// A read of text in a private channel or a direct message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PrivateRead {
    pub workspace: WorkspaceId,
    pub channel: ChannelId,
    /// The reader's login name.
    pub reader: Arc<str>,
    pub what: PrivateText,
}

named_enum! {
    /// The kind of text that was read.
    pub enum PrivateText {
        Messages,
        Decisions,
        DeadLetters,
        Proposals,
        Calls,
        Memories,
    }
}

/// The reads of one channel by one reader within an hour.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PrivateReads {
    pub read: PrivateRead,
    /// The time of the newest one.
    pub at: Timestamp,
    /// A page that refreshes itself counts once.
    pub count: u64,
}

/// Selects the newest reads of private text, of one workspace or of all.
#[derive(Clone, Debug)]
pub struct PrivateReadQuery {
    pub workspace: Option<WorkspaceId>,
    /// Only those whose newest read was before this millisecond.
    pub before: Option<Timestamp>,
    pub limit: usize,
}
