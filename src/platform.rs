//! Where the persona lives: one port for all chat platforms. What they deliver goes to
//! [`crate::hear::Ears`]; what is said goes out here.

pub mod local;

use std::collections::HashMap;
use std::sync::Arc;

use async_trait::async_trait;
use jiff::SignedDuration;

use crate::chat::WorkspaceId;
use crate::event::{Piece, Posted};

#[async_trait]
pub trait Platform: Send + Sync {
    /// Says a piece where its conversation is, or puts its emoji on a line. The piece's key travels with
    /// what is said; reacting twice is reacting once.
    async fn post(&self, piece: &Piece) -> Result<Posted, PlatformError>;

    /// How long people see it typing before a piece is said. What is ordered or said meanwhile counts.
    fn typing(&self, _piece: &Piece) -> SignedDuration {
        SignedDuration::ZERO
    }

    /// Looks for a dispatched piece by its key in the conversation's history.
    async fn find(&self, piece: &Piece) -> Result<Option<Posted>, PlatformError>;

    /// How long after a dispatch its request is surely dead, so that absent means not said.
    fn settle(&self) -> SignedDuration;

    /// The longest text of one post, in characters.
    fn longest_post(&self) -> usize;
}

/// What the caller does next.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlatformError {
    /// Surely not said; try again after a while.
    #[error("the platform is busy: {why}")]
    Busy { why: String, retry_after: Option<SignedDuration> },
    /// Surely not said, and never will be.
    #[error("the platform refuses: {0}")]
    Refused(String),
    /// It may have been said; look before you repeat it.
    #[error("the platform's answer is not known: {0}")]
    Unknown(String),
}

/// The platform of each workspace.
#[derive(Clone, Default)]
pub struct Platforms(pub HashMap<WorkspaceId, Arc<dyn Platform>>);

impl Platforms {
    pub fn of(&self, workspace: &WorkspaceId) -> Result<&Arc<dyn Platform>, PlatformError> {
        let absent =
            || PlatformError::Refused(format!("the workspace {workspace} is not connected"));
        self.0.get(workspace).ok_or_else(absent)
    }
}

/// Cuts a text into pieces of at most `longest` characters: behind a paragraph if there is one in
/// the second half, else behind a line, a sentence, a word, and only then anywhere.
pub fn split(text: &str, longest: usize) -> Vec<String> {
    const BORDERS: [&[&str]; 4] =
        [&["\n\n"], &["\n"], &["。", "！", "？", ". ", "! ", "? "], &[" ", "、"]];
    let mut pieces = Vec::new();
    let mut rest = text.trim();
    while let Some((end, _)) = rest.char_indices().nth(longest.max(1)) {
        let head = &rest[..end];
        let cut = BORDERS.iter().find_map(|borders| {
            let cuts = borders.iter().filter_map(|border| Some(head.rfind(border)? + border.len()));
            cuts.max().filter(|cut| *cut >= end / 2)
        });
        let (piece, more) = rest.split_at(cut.unwrap_or(end));
        pieces.push(piece.trim_end().to_owned());
        rest = more.trim_start();
    }
    if !rest.is_empty() {
        pieces.push(rest.to_owned());
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_are_cut_at_the_best_border() {
        for (text, longest, expected) in [
            ("short", 10, vec!["short"]),
            ("  ", 10, vec![]),
            ("one two three", 8, vec!["one two", "three"]),
            ("A b. C d e f g", 10, vec!["A b.", "C d e f g"]),
            ("first\n\nsecond line", 14, vec!["first", "second line"]),
            ("a line\nanother line", 13, vec!["a line", "another line"]),
            ("そうですね。それはよいですね。", 10, vec!["そうですね。", "それはよいですね。"]),
            ("abcdefghij", 4, vec!["abcd", "efgh", "ij"]),
            ("ああああ", 1, vec!["あ", "あ", "あ", "あ"]),
        ] {
            let pieces = split(text, longest);
            assert!(pieces.iter().all(|piece| piece.chars().count() <= longest), "{pieces:?}");
            assert_eq!(pieces, expected, "{text:?} in {longest}");
        }
    }
}
