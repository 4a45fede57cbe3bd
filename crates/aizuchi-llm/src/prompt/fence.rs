//! The fence between data and instructions (invariant 10). Text is printed unchanged, except that a
//! line which could be taken for structure of the prompt is escaped with a backslash, as in
//! Markdown. A line that begins with a backslash gets another one, so the escaping can be undone.

use std::borrow::Cow;

use aizuchi_model::chat::{is_invisible, is_line_break};
use unicode_normalization::UnicodeNormalization;

use crate::prompt::neutralize_text::to_inert_text;

/// Lists and quotations nested deeper than this are escaped whatever they contain.
const MAX_LIST_DEPTH: usize = 8;
/// The number of visible characters that are examined. A line that begins with more marks than this is escaped as a
/// thematic break.
const MAX_MARK_CHARS: usize = 64;

/// Escapes a text for a prompt. Every kind of line break becomes `\n`, and hidden characters are removed.
/// Most text needs no change.
pub fn fence(text: &str) -> Cow<'_, str> {
    match to_inert_text(text) {
        Cow::Borrowed(text) => escape_structure(text),
        Cow::Owned(text) => Cow::Owned(escape_structure(&text).into_owned()),
    }
}

fn escape_structure(text: &str) -> Cow<'_, str> {
    if is_clean(text) {
        return Cow::Borrowed(text);
    }
    let mut fenced = String::with_capacity(text.len() + 8);
    for (number, line) in split_lines(text).enumerate() {
        if number > 0 {
            fenced.push('\n');
        }
        if is_like_structure(line) {
            fenced.push('\\');
        }
        fenced.push_str(line);
    }
    Cow::Owned(fenced)
}

/// Whether all lines end with `\n` and no line needs escaping.
fn is_clean(text: &str) -> bool {
    let mut rest = text;
    while let Some((end, character)) = find_line_end(rest) {
        if character != '\n' || is_like_structure(&rest[..end]) {
            return false;
        }
        rest = &rest[end + 1..];
    }
    !is_like_structure(rest)
}

/// Splits a text into lines at any kind of line break. A carriage return with a line feed is one line break.
pub fn split_lines(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = Some(text);
    std::iter::from_fn(move || {
        let text = rest?;
        let Some((end, character)) = find_line_end(text) else {
            return rest.take();
        };
        let after = &text[end + character.len_utf8()..];
        let is_pair = character == '\r' && after.starts_with('\n');
        rest = Some(if is_pair { &after[1..] } else { after });
        Some(&text[..end])
    })
}

/// Finds the first line break. Only a few bytes can begin one.
fn find_line_end(text: &str) -> Option<(usize, char)> {
    let may_end = |byte: u8| byte < 0x20 || byte == 0xc2 || byte == 0xe2;
    let positions = text.bytes().enumerate().filter(|(_, byte)| may_end(*byte));
    let mut characters =
        positions.filter_map(|(position, _)| Some((position, text[position..].chars().next()?)));
    characters.find(|(_, character)| is_line_break(*character))
}

/// Whether a reader could take the line for a heading, a thematic break, a speaker, a memo, a numbered source or the
/// fence of a code block.
fn is_like_structure(line: &str) -> bool {
    if is_plain_text(line) {
        return false;
    }
    // The beginning of a line is enough to classify it.
    let seen = line.nfkc().filter(|character| !is_invisible(*character)).map(fold_lookalike);
    let seen: String =
        seen.skip_while(|character| *character == ' ').take(MAX_MARK_CHARS).collect();
    let mut rest = seen.trim_end();
    if rest.starts_with(['\\', '#']) || line.starts_with('\\') {
        return true;
    }
    for _ in 0..MAX_LIST_DEPTH {
        if begins_structure(rest) {
            return true;
        }
        let Some(inside) = strip_list_marker(rest) else { return false };
        rest = inside.trim_start();
        if is_numbered(rest) || is_heading(rest) {
            return true;
        }
    }
    true
}

/// A fast path: most lines begin with a word, perhaps after a bullet or a number. The characters
/// accepted here have no lookalikes among the marks.
fn is_plain_text(line: &str) -> bool {
    let is_letter = |first: char| {
        let is_sign = first.is_ascii_punctuation() && !"#\\*_-=`~+>[".contains(first);
        let is_word = matches!(first, 'ぁ'..='ゖ' | 'ァ'..='ヺ' | '丁'..='鿿');
        first.is_ascii_alphabetic() || is_sign || is_word
    };
    let inside = line.strip_prefix("- ").unwrap_or(line);
    let after = inside.trim_start_matches(|character: char| character.is_ascii_digit());
    if after.len() == inside.len() {
        return line.is_empty() || after.starts_with(is_letter);
    }
    // A number followed by a dot or a parenthesis is a list marker, too.
    after.starts_with(|next: char| {
        !".)".contains(next) && (next == ' ' || next.is_ascii_graphic() || is_letter(next))
    })
}

fn begins_structure(seen: &str) -> bool {
    ["**", "__", "```", "~~~"].iter().any(|mark| seen.starts_with(mark)) || is_break(seen)
}

/// Whether the line is a thematic break, or the underline of a heading.
fn is_break(seen: &str) -> bool {
    let mut count = 0;
    let mut underlines = true;
    for character in seen.chars().filter(|character| *character != ' ') {
        if !matches!(character, '-' | '_' | '*' | '=') {
            return false;
        }
        underlines &= matches!(character, '-' | '=');
        count += 1;
    }
    count >= 3 || (count > 0 && underlines)
}

/// Whether the line begins like a numbered source, `[12]`. `[ ]` and `[x]` are ordinary text.
fn is_numbered(seen: &str) -> bool {
    let inside = seen.strip_prefix('[').and_then(|rest| rest.split_once(']'));
    let inside = inside.map(|(inside, _)| inside.trim());
    inside.is_some_and(|inside| {
        !inside.is_empty() && inside.chars().all(|character| character.is_ascii_digit())
    })
}

/// Whether the line is a heading, `# text`. In a list, `#channel` is not a heading.
fn is_heading(seen: &str) -> bool {
    let after = seen.trim_start_matches('#');
    after.len() < seen.len() && (after.is_empty() || after.starts_with(' '))
}

/// The content of a list item or a quotation. `None` for other lines.
fn strip_list_marker(seen: &str) -> Option<&str> {
    let bullet = seen.strip_prefix(['-', '*', '+', '>', '•', '・']);
    bullet.or_else(|| {
        let after = seen.trim_start_matches(|character: char| character.is_ascii_digit());
        let is_number = after.len() < seen.len();
        after.strip_prefix(['.', ')']).filter(|_| is_number)
    })
}

/// Maps lookalikes of marks to the mark itself.
fn fold_lookalike(character: char) -> char {
    match character {
        '♯' | '⌗' | '⋕' => '#',
        '∗' | '⁎' | '✱' | '✲' | '✳' | '٭' | '⚹' => '*',
        '‐'..='―'
        | '⁃'
        | '−'
        | '─'
        | '━'
        | '┄'
        | '┅'
        | '┈'
        | '┉'
        | '╌'
        | '╍'
        | '╴'
        | '╶'
        | '╸'
        | '╺'
        | '▬'
        | '〰'
        | '⎯'
        | '⏤'
        | '⸺'
        | '⸻'
        | 'ー'
        | '〜'
        | '➖' => '-',
        '═' | '゠' | '⹀' | '꞊' | '᐀' => '=',
        '‗' | '⎽' | '▁' => '_',
        '∖' | '⧵' | '⧹' | '╲' => '\\',
        'ˋ' | '‵' => '`',
        '∼' | '⁓' | '˜' => '~',
        character if character.is_whitespace() => ' ',
        character => character,
    }
}

/// Replaces quotation marks, so the text cannot end the quotation that it is printed in.
pub fn escape_quotes(text: &str) -> String {
    let inner = |character: char| match character {
        '“' | '”' | '„' | '‟' | '"' | '＂' => '\'',
        '「' | '｢' => '『',
        '」' | '｣' => '』',
        character => character,
    };
    text.chars().map(inner).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ordinary_text_is_unchanged() {
        for text in [
            "",
            "hello",
            "おはよう！",
            "- a bullet",
            "* another",
            "1. first",
            "- [ ] to do",
            "- [x] done",
            "- 2024年1月: プロジェクトAが開始された",
            "- #general is loud",
            "3 - 1",
            "-1 degrees",
            "> quoted",
            "*really*",
            "_so_",
            "a\n\nb",
            "{{ name }}",
            "ーん",
            "…",
            "---x",
            "[1] a note",
            "「**」",
            "= 3",
            "10:00 alice:",
        ] {
            assert_eq!(fence(text), text);
        }
    }

    #[test]
    fn structure_is_escaped() {
        for line in [
            "# x", "#general", "   ## x", "＃ x", "\u{200b}# x", "♯ x", "---", "- - -", "***",
            "___", "===", "=", "--", "———", "ーーー", "－－－", "〰〰〰", "▬▬▬", "╴╴╴",
            "\u{1d173}# x", "-\u{1bca0}--", "**x**", "__x__", "＊＊x", "*\u{200b}*x",
            "- **Name**: x", "* __x", "> **x", "> > ---", "1. ## x", "- # x", "```", "~~~",
            "- ```", "\\", "\\# x", "  \\x", "- [1] 2026-01-05: x", "- [ 23 ] x", "\t# x",
            "\u{3000}# x", "• **x**", "1\u{1}. **x**", "－ ＊＊x",
        ] {
            assert_eq!(fence(line), format!("\\{}", to_inert_text(line)), "{line}");
        }
    }

    #[test]
    fn every_line_break_begins_a_new_line() {
        for character in
            (0..0x11_0000).filter_map(char::from_u32).filter(|character| is_line_break(*character))
        {
            assert_eq!(fence(&format!("é a{character}# b")), "é a\n\\# b", "{character:?}");
        }
        assert_eq!(fence("a\r\n# b\r---\u{2028}**c**\u{85}d\n"), "a\n\\# b\n\\---\n\\**c**\nd\n");
        assert_eq!(fence("\u{b}# a"), "\n\\# a");
    }
}
