//! The time span that is missing in a restored copy of the database.

use jiff::{SignedDuration, Timestamp};

/// The time span that is missing in the store, since it was restored from an older backup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LostSpan {
    /// When the backup was made.
    pub from: Timestamp,
    /// When it was restored.
    pub until: Timestamp,
}

/// The maximum difference between the clocks of a platform and of this machine.
const CLOCK_SKEW: SignedDuration = SignedDuration::from_mins(15);

/// For this long after a restore, mentions from the lost span may be owed an answer.
const RESTORE_AFTERMATH: SignedDuration = SignedDuration::from_hours(1);

impl LostSpan {
    /// The span, widened by the maximum clock skew.
    pub fn widened(&self) -> Self {
        Self { from: self.from - CLOCK_SKEW, until: self.until + CLOCK_SKEW }
    }

    /// Whether the restore is recent enough that answers from the lost span still matter.
    pub fn is_recent(&self, now: Timestamp) -> bool {
        now < self.until + RESTORE_AFTERMATH
    }
}
