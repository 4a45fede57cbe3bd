//! The time that a restored copy of the database knows nothing about.

use jiff::{SignedDuration, Timestamp};

/// What happened in this time is not in the store: it was restored from a backup that is older.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LostSpan {
    /// When the backup was made.
    pub from: Timestamp,
    /// When it was restored.
    pub until: Timestamp,
}

/// How far the clocks of a platform and of this machine may be apart.
const CLOCK_SKEW: SignedDuration = SignedDuration::from_mins(15);

/// How far they are apart as a rule.
const SMALL_SKEW: SignedDuration = SignedDuration::from_mins(1);

/// For this long after a restore, mentions of the lost time may be owed an answer.
const RESTORE_AFTERMATH: SignedDuration = SignedDuration::from_hours(1);

impl LostSpan {
    /// Whether a post of the persona was made by the process whose database was lost.
    pub fn includes(&self, posted: Timestamp) -> bool {
        self.from < posted && posted <= self.until + SMALL_SKEW
    }

    /// The same, give or take what the clocks are apart.
    pub fn widened(&self) -> Self {
        Self { from: self.from - CLOCK_SKEW, until: self.until + CLOCK_SKEW }
    }

    /// Whether what was answered in the lost time still matters.
    pub fn is_recent(&self, now: Timestamp) -> bool {
        now < self.until + RESTORE_AFTERMATH
    }
}
