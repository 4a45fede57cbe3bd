//! What people wrote on a platform, as people read it.

use crate::chat::{Mention, is_line_break};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParsedText {
    pub text: String,
    /// Each once, in the order of the text.
    pub mentions: Vec<Mention>,
}

/// Without controls, and with one kind of line end.
pub fn normalize_text(text: &str) -> String {
    let kept = text.replace("\r\n", "\n");
    let kept = kept
        .chars()
        .filter(|letter| *letter == '\t' || is_line_break(*letter) || !letter.is_control());
    kept.map(|letter| if is_line_break(letter) { '\n' } else { letter }).collect()
}
