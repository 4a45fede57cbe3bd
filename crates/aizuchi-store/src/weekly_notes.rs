//! The weekly notes to channels' keepers: a row for each channel and week, inserted before anything is sent. The text
//! of a note is not stored.

use aizuchi_model::chat::{ChannelId, WorkspaceId};
use aizuchi_model::named_enum;
use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};

use crate::StoreError;

/// How long rows are kept.
pub const RETENTION: SignedDuration = SignedDuration::from_hours(60 * 24);

/// A channel and a week.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct NoteKey {
    pub workspace: WorkspaceId,
    pub channel: ChannelId,
    /// The date of its end, in the form 20261123.
    pub week: i64,
}

named_enum! {
    /// The state of a note.
    pub enum NoteState {
        /// The note may have been sent.
        Sending,
        Sent,
        /// There was nothing left to report.
        Nothing,
        /// The platform refuses it permanently.
        Refused,
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoredNote {
    pub state: NoteState,
    /// When sending it was last begun.
    pub begun: Timestamp,
}

/// A change of a note's row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoteChange {
    /// Sending begins now: for the first time, or again if it was last begun at `before`.
    Begin {
        now: Timestamp,
        before: Option<Timestamp>,
    },
    End(NoteState),
}

#[async_trait]
pub trait WeeklyNotes: Send + Sync {
    async fn weekly_note(&self, key: &NoteKey) -> Result<Option<StoredNote>, StoreError>;

    /// Changes a note's row. Returns whether it was changed: if two callers begin a note, only one succeeds and sends
    /// it. Durable when this returns; wakes no task.
    async fn change_weekly_note(
        &self,
        key: NoteKey,
        change: NoteChange,
    ) -> Result<bool, StoreError>;
}
