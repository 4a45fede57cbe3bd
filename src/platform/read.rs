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

/// The text before a span or a block of code, the code with its marks, and what follows.
pub fn next_code(text: &str) -> Option<(&str, &str, &str)> {
    let mut from = 0;
    while let Some(start) = text[from..].find('`').map(|at| from + at) {
        let behind = &text[start..];
        let length = block_length(behind).or_else(|| span_length(behind));
        if let Some(length) = length {
            return Some((&text[..start], &behind[..length], &behind[length..]));
        }
        from = start + 1;
    }
    None
}

fn block_length(from: &str) -> Option<usize> {
    let code = from.strip_prefix("```")?;
    Some(code.find("```").filter(|end| *end > 0)? + 6)
}

fn span_length(from: &str) -> Option<usize> {
    let line = from.split('\n').next().unwrap_or(from);
    let code = line.strip_prefix('`')?;
    Some(code.find('`').filter(|end| *end > 0)? + 2)
}
