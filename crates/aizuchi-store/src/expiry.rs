//! Erases messages past their retention, in small steps, with the same order and limits in every store. A message is
//! erased last, so after a crash it still leads to what was made from it, and no position is stored.

use aizuchi_model::chat::WorkspaceId;
use jiff::Timestamp;

/// The maximum number of messages, and bytes of their texts, erased at once: the links of a message are removed with
/// it, and each of its words is removed from the search index.
pub const MESSAGES: usize = 25;
const TEXT_BYTES: usize = 2_000;
/// Files are erased with their messages. This many of their bytes count as one byte of text.
const UPLOAD_BYTES_PER_TEXT_BYTE: u64 = 5_000;
/// The maximum number of prompts emptied at once: each can be tens of kilobytes long.
pub const PROMPTS: usize = 10;
/// The maximum number of decisions whose reasons are erased at once.
pub const DECISIONS: usize = 50;

/// What to erase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Expiry {
    /// Messages written before this time have expired.
    pub before: Timestamp,
    pub now: Timestamp,
}

/// The result of one step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExpiryProgress {
    /// Nothing has expired.
    Idle,
    /// There may be more.
    Working(ExpiredMessages),
}

/// The messages erased by one step; none if it erased data made from them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExpiredMessages {
    pub count: usize,
    pub workspaces: Vec<WorkspaceId>,
}

/// The cost of erasing a text with its files, as the length in bytes of a text that takes as long.
pub fn length(text: &str, upload_bytes: u64) -> usize {
    let files = usize::try_from(upload_bytes / UPLOAD_BYTES_PER_TEXT_BYTE).unwrap_or(usize::MAX);
    text.len().saturating_add(files)
}

/// How many messages with these [`length`]s are erased at once.
pub fn count_at_once(lengths: impl IntoIterator<Item = usize>) -> usize {
    let mut bytes = 0;
    let fits = |length: &usize| {
        bytes = length.saturating_add(bytes);
        bytes <= TEXT_BYTES
    };
    lengths.into_iter().take(MESSAGES).take_while(fits).count().max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_count_by_their_size() {
        for (text, upload_bytes, expected) in
            [("", 0, 0), ("hi", 4_999, 2), ("hi", 10_000_000, 2_002)]
        {
            assert_eq!(length(text, upload_bytes), expected);
        }
    }

    #[test]
    fn a_step_takes_one_message_at_least() {
        for (lengths, expected) in [
            (vec![5; 3], 3),
            (vec![5; 100], 25),
            (vec![1_000, 1_000, 1], 2),
            (vec![40_000, 1], 1),
            (vec![1, 40_000, 1], 1),
        ] {
            assert_eq!(count_at_once(lengths.clone()), expected, "{lengths:?}");
        }
    }
}
