//! Finds posts of a channel that repeat a quote.

use std::collections::HashMap;

use aizuchi_import::rows::IdHash;
use jiff::{SignedDuration, Timestamp};

/// Within this time the same quote counts as a repetition.
const AGAIN: SignedDuration = SignedDuration::from_hours(24);

/// The time at which each quote was last posted.
#[derive(Default)]
pub(super) struct RecentQuotes(HashMap<IdHash, Timestamp>);

impl RecentQuotes {
    /// Records a post, and returns whether it repeats a quote of the last 24 hours. Posts must be added in
    /// chronological order.
    pub(super) fn is_again(&mut self, at: Timestamp, text: &str) -> bool {
        let Some(quote) = quote_in(text) else { return false };
        let before = self.0.insert(IdHash::new(quote), at);
        before.is_some_and(|before| at.duration_since(before) <= AGAIN)
    }
}

/// Returns the text between the first opening quotation mark and the last closing one.
fn quote_in(text: &str) -> Option<&str> {
    let between = |begin: char, end: char| {
        let (_, rest) = text.split_once(begin)?;
        rest.rsplit_once(end).map(|(quote, _)| quote)
    };
    between('“', '”').or_else(|| between('「', '」'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quote_comes_again_within_a_day() {
        let mut quoted = RecentQuotes::default();
        let mut post = |hour: i64, text: &str| {
            quoted.is_again(Timestamp::from_second(hour * 3600).unwrap(), text)
        };
        assert!(!post(0, "Mia, this might help: Tom said today at 08:00: “The long “hook”.”"));
        assert!(!post(1, "Mia, this might help: Tom said today at 09:00: “The short hook.”"));
        assert!(post(2, "Ida, this might help: Tom said yesterday at 08:00: “The long “hook”.”"));
        assert!(!post(27, "Ida, this might help: Tom said yesterday at 08:00: “The long “hook”.”"));
        assert!(!post(28, "I don’t know.") && !post(28, "I don’t know."));
        assert!(!post(29, "ご参考までに。Tom さんが「長いフック」と言っていました。"));
        assert!(post(30, "ご参考までに。昨日 Tom さんが「長いフック」と言っていました。"));
    }
}
