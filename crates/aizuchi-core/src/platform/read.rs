//! What people wrote on a platform, as people read it.

use crate::chat::{Mention, ends_line};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Read {
    pub text: String,
    /// Each once, in the order of the text.
    pub mentions: Vec<Mention>,
}

/// Without controls, and with one kind of line end.
pub fn clean(text: &str) -> String {
    let kept = text.replace("\r\n", "\n");
    let kept =
        kept.chars().filter(|letter| *letter == '\t' || ends_line(*letter) || !letter.is_control());
    kept.map(|letter| if ends_line(letter) { '\n' } else { letter }).collect()
}
