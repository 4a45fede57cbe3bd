//! Which weeks a channel's keeper has been told of: a row for each channel and week, begun before anything is sent. Of
//! what was told nothing is kept.

use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};
use serde::Deserialize;

use crate::chat::{ChannelId, WorkspaceId};
use crate::store::StoreError;

/// Rows that are older are dropped.
pub const RETENTION: SignedDuration = SignedDuration::from_hours(60 * 24);

/// A channel and a week.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct NoteKey {
    pub workspace: WorkspaceId,
    pub channel: ChannelId,
    /// The date of its end, as 20261123.
    pub week: i64,
}

/// How far a note has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
#[serde(rename_all = "snake_case")]
pub enum NoteState {
    /// It may have been sent.
    Sending,
    Sent,
    /// There was nothing to tell any more.
    Nothing,
    /// The platform never takes it.
    Refused,
}

impl NoteState {
    pub fn name(self) -> &'static str {
        self.into()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoredNote {
    pub state: NoteState,
    /// When it was last begun to be sent.
    pub begun: Timestamp,
}

/// A change of a note's row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoteChange {
    /// It is to be sent now: for the first time, or once more if it was last begun `before`.
    Begin {
        now: Timestamp,
        before: Option<Timestamp>,
    },
    End(NoteState),
}

#[async_trait]
pub trait WeeklyNotes: Send + Sync {
    async fn weekly_note(&self, key: &NoteKey) -> Result<Option<StoredNote>, StoreError>;

    /// Changes a note's row. Returns whether it was changed: of two who begin a note one does, and only that one sends it.
    /// Durable when this returns; wakes no task.
    async fn change_weekly_note(
        &self,
        key: NoteKey,
        change: NoteChange,
    ) -> Result<bool, StoreError>;
}
