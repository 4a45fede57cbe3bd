//! A message's text as users read it.

use aizuchi_model::chat::{Mention, is_line_break};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParsedText {
    pub text: String,
    /// Without duplicates, in the order of the text.
    pub mentions: Vec<Mention>,
}

/// Removes control characters and unifies line breaks.
pub fn normalize_text(text: &str) -> String {
    let text = text.replace("\r\n", "\n");
    let visible = text.chars().filter(|character| {
        *character == '\t' || is_line_break(*character) || !character.is_control()
    });
    visible.map(|character| if is_line_break(character) { '\n' } else { character }).collect()
}
