//! How much of the store a text was made from: what was written later is unseen.

use std::num::NonZeroU64;

use serde::{Deserialize, Serialize};

/// The newest revision that the author of a text has seen. It is stored as a number, 0 for nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "u64", into = "u64")]
pub enum SeenRevision {
    /// It looked at no message. Every message is unseen.
    #[default]
    Nothing,
    /// The first commit of a store has revision 1.
    UpTo(NonZeroU64),
}

impl SeenRevision {
    /// Whether a change with this revision was seen. No change has revision 0.
    pub fn covers(self, revision: u64) -> bool {
        revision <= self.number()
    }

    /// Returns the stored number. Every change that was not seen has a greater revision.
    pub fn number(self) -> u64 {
        match self {
            SeenRevision::Nothing => 0,
            SeenRevision::UpTo(revision) => revision.get(),
        }
    }
}

impl From<u64> for SeenRevision {
    fn from(number: u64) -> Self {
        NonZeroU64::new(number).map_or(SeenRevision::Nothing, SeenRevision::UpTo)
    }
}

impl From<SeenRevision> for u64 {
    fn from(seen_revision: SeenRevision) -> Self {
        seen_revision.number()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_stored_as_a_number() {
        for (stored, expected) in [
            ("0", SeenRevision::Nothing),
            ("1", SeenRevision::UpTo(NonZeroU64::MIN)),
            ("18446744073709551615", SeenRevision::UpTo(NonZeroU64::MAX)),
        ] {
            let read: SeenRevision = serde_json::from_str(stored).unwrap();
            assert_eq!(read, expected);
            assert_eq!(serde_json::to_string(&read).unwrap(), stored);
        }
    }

    #[test]
    fn nothing_seen_covers_no_change() {
        assert!(!SeenRevision::Nothing.covers(1));
        let seen = SeenRevision::from(7);
        assert_eq!([6, 7, 8].map(|revision| seen.covers(revision)), [true, true, false]);
    }
}
