//! Removes the remains of forgotten users outside the tables, in small steps: removed terms from the index, and the
//! write-ahead log; on a server, the dead rows. SQLite overwrites deleted data (`secure_delete`), so a file needs no
//! rewrite.

use crate::StoreError;
use crate::database::recall::index::MergeStep;
use crate::database::{DatabaseStore, forget};

/// The state of the scrub. It starts over after a crash, and when another user is forgotten.
#[derive(Default)]
pub struct ScrubJob {
    next: ScrubStep,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum ScrubStep {
    #[default]
    Begin,
    Merge,
    TruncateLog,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScrubProgress {
    /// There is nothing to scrub.
    Idle,
    Working,
    /// A reader uses an older snapshot, so the log cannot be truncated now.
    Blocked,
    Done,
}

impl ScrubJob {
    pub async fn step(&mut self, store: &DatabaseStore) -> Result<ScrubProgress, StoreError> {
        if store.scrub_due_since().await?.is_none() {
            return Ok(ScrubProgress::Idle);
        }
        let merge_step = match self.next {
            ScrubStep::Begin => Some(MergeStep::First),
            ScrubStep::Merge => Some(MergeStep::Next),
            ScrubStep::TruncateLog => None,
        };
        if let Some(merge_step) = merge_step {
            let mut reader = store.readers.acquire().await?;
            if reader.is_postgres() {
                forget::vacuum_dead_rows(&mut reader).await?;
            }
            drop(reader);
            // Only once the step has succeeded: a merge that was never begun leaves removed terms in the index.
            if store.merge_index(merge_step).await? {
                self.next = ScrubStep::Merge;
                return Ok(ScrubProgress::Working);
            }
            self.next = ScrubStep::TruncateLog;
        }
        match store.truncate_log().await? {
            true => {
                self.next = ScrubStep::Begin;
                Ok(ScrubProgress::Done)
            }
            false => Ok(ScrubProgress::Blocked),
        }
    }
}
