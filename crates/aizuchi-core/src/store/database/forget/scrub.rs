//! Removes what is left of forgotten users outside the tables, in small steps: removed terms from the index, and the
//! write-ahead log; on a server the dead rows. SQLite overwrites what it deletes (`secure_delete`), so a file needs no
//! rewrite.

use crate::store::StoreError;
use crate::store::database::recall::index::MergeStep;
use crate::store::database::{DatabaseStore, forget};

/// Where the scrub is. After a crash it begins anew.
#[derive(Default)]
pub struct ScrubJob {
    has_begun_merge: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScrubProgress {
    /// Nothing is left of anybody.
    Idle,
    Working,
    /// Somebody reads an older state, so the log cannot be truncated now.
    Blocked,
    Done,
}

impl ScrubJob {
    pub async fn step(&mut self, store: &DatabaseStore) -> Result<ScrubProgress, StoreError> {
        if store.scrub_due_since().await?.is_none() {
            return Ok(ScrubProgress::Idle);
        }
        let mut reader = store.readers.acquire().await?;
        if reader.is_postgres() {
            forget::vacuum_dead_rows(&mut reader).await?;
        }
        drop(reader);
        let merge_step = if self.has_begun_merge { MergeStep::Next } else { MergeStep::First };
        self.has_begun_merge = true;
        if store.merge_index(merge_step).await? {
            return Ok(ScrubProgress::Working);
        }
        // If somebody is forgotten before the log is truncated, the merge begins anew.
        self.has_begun_merge = false;
        match store.truncate_log().await? {
            true => Ok(ScrubProgress::Done),
            false => Ok(ScrubProgress::Blocked),
        }
    }
}
