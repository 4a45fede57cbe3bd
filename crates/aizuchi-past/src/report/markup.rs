//! Renders the marks of chat messages: bold, italics, emoji names and code. What is not certainly a mark stays as it
//! was written.

use std::sync::LazyLock;

use aizuchi_platform::emoji_names;
use regex::{Captures, Regex};

use crate::report::code::{PartKind, TextPart, parts};

/// Matches the name of an emoji in the syntax of Slack.
static EMOJI: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r":[a-z0-9_+'\-]+(?:::skin-tone-[2-6])?:").expect("the pattern is valid")
});

/// Splits a message into styled parts. Code contains no other marks.
pub fn chat_parts(text: &str) -> Vec<TextPart> {
    let mut found = Vec::new();
    for part in parts(text) {
        match part.kind {
            PartKind::Plain => add_styled(&mut found, &part.text),
            PartKind::Code | PartKind::Block | PartKind::Strong | PartKind::Emphasis => {
                found.push(part);
            }
        }
    }
    found
}

fn add_styled(found: &mut Vec<TextPart>, text: &str) {
    let mut rest = text;
    while let Some((before, styled, after)) = first_styled(rest) {
        add(found, PartKind::Plain, before);
        add(found, styled.kind, styled.inner);
        rest = after;
    }
    add(found, PartKind::Plain, rest);
}

fn add(found: &mut Vec<TextPart>, kind: PartKind, text: &str) {
    if !text.is_empty() {
        let character = |name: &Captures<'_>| emoji_names::to_character(&name[0]);
        found.push(TextPart { kind, text: EMOJI.replace_all(text, character).into_owned() });
    }
}

struct Styled<'a> {
    kind: PartKind,
    inner: &'a str,
}

/// Splits a text at its first styled words: the text before them, the words, and the text after them.
fn first_styled(text: &str) -> Option<(&str, Styled<'_>, &str)> {
    text.match_indices(['*', '_']).find_map(|(begin, mark)| {
        let is_word = |character: char| character.is_alphanumeric();
        let is_inside = text[..begin]
            .chars()
            .next_back()
            .is_some_and(|one| is_word(one) || mark.starts_with(one));
        if is_inside {
            return None;
        }
        let marks = text[begin..].chars().take_while(|one| mark.starts_with(*one)).count();
        let marks = &text[begin..begin + marks.min(2)];
        // Names in code begin with two: `__init__`.
        if marks == "__" {
            return None;
        }
        let rest = &text[begin + marks.len()..];
        let (inner, after) = rest.split_once(marks)?;
        let goes_on = after.chars().next().is_some_and(|one| is_word(one) || mark.starts_with(one));
        let other = if mark == "*" { "_" } else { "*" };
        let words = inner.strip_prefix(other).and_then(|inner| inner.strip_suffix(other));
        let inner = words.unwrap_or(inner);
        let is_phrase = inner.starts_with(is_word)
            && !inner.ends_with(char::is_whitespace)
            && !inner.contains(['\n', '*', '_']);
        let kind = if mark == "*" { PartKind::Strong } else { PartKind::Emphasis };
        (is_phrase && !goes_on).then(|| (&text[..begin], Styled { kind, inner }, after))
    })
}

#[cfg(test)]
mod tests {
    use PartKind::{Code, Emphasis, Plain, Strong};

    use super::*;

    #[test]
    fn marks_are_seen_and_what_is_none_stays() {
        for (text, expected) in [
            ("so *definitely* yes", vec![(Plain, "so "), (Strong, "definitely"), (Plain, " yes")]),
            ("**very** good", vec![(Strong, "very"), (Plain, " good")]),
            ("_*cross-platform apps*_!", vec![(Emphasis, "cross-platform apps"), (Plain, "!")]),
            ("_why_, `*not*`", vec![(Emphasis, "why"), (Plain, ", "), (Code, "*not*")]),
            (
                "oh :sweat: 10:30:00 :no_such_emoji_here:",
                vec![(Plain, "oh 😓 10:30:00 :no_such_emoji_here:")],
            ),
            ("snake_case_name and a * b * c", vec![(Plain, "snake_case_name and a * b * c")]),
            ("*.rs, *.md and __init__.py", vec![(Plain, "*.rs, *.md and __init__.py")]),
            ("* one\n* two", vec![(Plain, "* one\n* two")]),
            ("*<b>x</b>*", vec![(Plain, "*<b>x</b>*")]),
            ("***", vec![(Plain, "***")]),
        ] {
            let found = chat_parts(text);
            let found: Vec<_> = found.iter().map(|part| (part.kind, &*part.text)).collect();
            assert_eq!(found, expected, "{text}");
        }
    }
}
