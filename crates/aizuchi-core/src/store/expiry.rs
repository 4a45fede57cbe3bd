//! Erases what is older than messages are kept, in small steps: the same order and bounds in every store. A message is
//! erased last, so it finds what was made from it again after a crash, and no position is stored.

use jiff::Timestamp;

use crate::chat::WorkspaceId;

/// The most messages, and bytes of their texts, erased at once: each message takes its links along, each word leaves the search index.
pub const MESSAGES: usize = 25;
const TEXT_BYTES: usize = 2_000;
/// Files go with their messages. So many of their bytes count as one of a text.
const UPLOAD_BYTES_PER_TEXT_BYTE: u64 = 5_000;
/// The most prompts emptied at once: each can be tens of kilobytes long.
pub const PROMPTS: usize = 10;
/// The most decisions whose reasons are erased at once.
pub const DECISIONS: usize = 50;

/// What is to be erased.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Expiry {
    /// What was written before this has expired.
    pub before: Timestamp,
    pub now: Timestamp,
}

/// What one step has done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExpiryProgress {
    /// Nothing has expired.
    Idle,
    /// There may be more.
    Working(ExpiredMessages),
}

/// The messages that one step has erased, none if it has erased what was made from them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExpiredMessages {
    pub count: usize,
    pub workspaces: Vec<WorkspaceId>,
}

/// The length in bytes of a text that takes as long to erase as this one does together with files.
pub fn length(text: &str, upload_bytes: u64) -> usize {
    let files = usize::try_from(upload_bytes / UPLOAD_BYTES_PER_TEXT_BYTE).unwrap_or(usize::MAX);
    text.len().saturating_add(files)
}

/// How many of these messages, given by their [`length`]s, are erased at once.
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
