//! Whether a page of a private chat's newest messages is enough to tell what was sent there.

use aizuchi_model::platform::PlatformError;
use jiff::{SignedDuration, Timestamp};

/// The number of newest messages that are searched.
pub const MAX_SCANNED: usize = 100;

/// The maximum difference between our clock and a platform's.
const CLOCK_SKEW: SignedDuration = SignedDuration::from_mins(15);

/// The newest messages of a private chat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HistoryScan {
    /// Whether the chat has older ones.
    pub has_more: bool,
    /// When the oldest of them was sent, if that is known.
    pub oldest: Option<Timestamp>,
}

impl HistoryScan {
    /// Succeeds if a message that is not among them cannot have been sent since then. Fails if so many messages have
    /// arrived since then that this is unknown.
    pub fn expect_absent(&self, since: Timestamp) -> Result<(), PlatformError> {
        let since = since.checked_sub(CLOCK_SKEW).unwrap_or(Timestamp::MIN);
        let reaches_back = self.oldest.is_some_and(|oldest| oldest < since);
        if !self.has_more || reaches_back {
            return Ok(());
        }
        let why = "more has come in the private chat since than is looked through";
        Err(PlatformError::Refused(why.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_be_older_than_the_page_is_not_known_to_be_absent() {
        let at = |minute: i64| Timestamp::from_second(1_800_000_000 + minute * 60).unwrap();
        for (has_more, oldest, is_absent) in [
            (false, None, true),
            (false, Some(at(30)), true),
            (true, Some(at(-16)), true),
            // The clocks may differ.
            (true, Some(at(-14)), false),
            (true, Some(at(30)), false),
            (true, None, false),
        ] {
            let scan = HistoryScan { has_more, oldest };
            assert_eq!(scan.expect_absent(at(0)).is_ok(), is_absent, "{scan:?}");
        }
    }
}
