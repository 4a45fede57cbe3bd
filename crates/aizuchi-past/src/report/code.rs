//! Finds code in backquotes, as it is marked in chat.

/// A part of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextPart {
    pub kind: PartKind,
    pub text: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartKind {
    Plain,
    Code,
    /// A block of code with several lines.
    Block,
    Strong,
    Emphasis,
}

/// Splits a text into code and other parts. An unclosed block, as in a text that was cut, extends to the end of the
/// text; an unclosed single backquote is a plain character.
pub fn parts(text: &str) -> Vec<TextPart> {
    let mut parts = Vec::new();
    for (number, piece) in text.split("```").enumerate() {
        match number % 2 {
            0 => add_inline(&mut parts, piece),
            _ => add(&mut parts, PartKind::Block, piece.trim_matches('\n')),
        }
    }
    parts
}

fn add_inline(parts: &mut Vec<TextPart>, text: &str) {
    let mut rest = text;
    while let Some((plain, code, after)) = first_code(rest) {
        add(parts, PartKind::Plain, plain);
        add(parts, PartKind::Code, code);
        rest = after;
    }
    add(parts, PartKind::Plain, rest);
}

/// Splits a text at its first inline code: the text before it, the code, and the text after it.
fn first_code(text: &str) -> Option<(&str, &str, &str)> {
    let mut from = 0;
    while let Some(begin) = text[from..].find('`').map(|at| from + at) {
        let inside = &text[begin + 1..];
        let end = inside.find(['`', '\n'])?;
        if end > 0 && inside[end..].starts_with('`') {
            return Some((&text[..begin], &inside[..end], &inside[end + 1..]));
        }
        from = begin + 1 + end + 1;
    }
    None
}

fn add(parts: &mut Vec<TextPart>, kind: PartKind, text: &str) {
    if !text.is_empty() {
        parts.push(TextPart { kind, text: text.to_owned() });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use PartKind::{Block, Code, Plain};

    #[test]
    fn code_is_told_from_words() {
        for (text, expected) in [
            ("no code", vec![(Plain, "no code")]),
            ("run `ls -l` now", vec![(Plain, "run "), (Code, "ls -l"), (Plain, " now")]),
            ("so:\n```\na\nb\n```ok?", vec![(Plain, "so:\n"), (Block, "a\nb"), (Plain, "ok?")]),
            ("cut ```fn main…", vec![(Plain, "cut "), (Block, "fn main…")]),
            ("a ` alone\nand `b`", vec![(Plain, "a ` alone\nand "), (Code, "b")]),
            ("``", vec![(Plain, "``")]),
        ] {
            let found = parts(text);
            let found: Vec<_> = found.iter().map(|part| (part.kind, &*part.text)).collect();
            assert_eq!(found, expected, "{text}");
        }
    }
}
