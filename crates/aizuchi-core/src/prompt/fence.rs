//! The fence between data and prompt (invariant 10). Text is printed as it is, except that a line
//! which could be taken for structure of the prompt gets a backslash before it, as in Markdown. A line
//! that begins with a backslash gets one more, so whoever takes one away has the text again.

use std::borrow::Cow;

use unicode_normalization::UnicodeNormalization;

use crate::chat::{is_invisible, is_line_break};

/// Deeper than this, what stands in lists and quotations is fenced whatever it is.
const MAX_LIST_DEPTH: usize = 8;
/// In letters that are seen. What begins with more signs than this is fenced as a break.
const MAX_MARK_CHARS: usize = 64;

/// Text that can stand in a prompt, on as many lines as anybody may see in it. Most text can stand
/// there as it is.
pub fn fence(text: &str) -> Cow<'_, str> {
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

/// All lines end as those of a prompt do, and none needs a fence.
fn is_clean(text: &str) -> bool {
    let mut rest = text;
    while let Some((end, letter)) = find_line_end(rest) {
        if letter != '\n' || is_like_structure(&rest[..end]) {
            return false;
        }
        rest = &rest[end + 1..];
    }
    !is_like_structure(rest)
}

/// The lines of a text, whatever ends them. A carriage return and the line feed behind it are one end.
pub fn split_lines(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = Some(text);
    std::iter::from_fn(move || {
        let whole = rest?;
        let Some((end, letter)) = find_line_end(whole) else {
            return rest.take();
        };
        let behind = &whole[end + letter.len_utf8()..];
        let is_pair = letter == '\r' && behind.starts_with('\n');
        rest = Some(if is_pair { &behind[1..] } else { behind });
        Some(&whole[..end])
    })
}

/// Where a line ends, and by which letter. Only few bytes can begin such a letter.
fn find_line_end(text: &str) -> Option<(usize, char)> {
    let may_end = |byte: u8| byte < 0x20 || byte == 0xc2 || byte == 0xe2;
    let places = text.bytes().enumerate().filter(|(_, byte)| may_end(*byte));
    let mut letters = places.filter_map(|(place, _)| Some((place, text[place..].chars().next()?)));
    letters.find(|(_, letter)| is_line_break(*letter))
}

/// Could a reader take the line for a heading, a break, a speaker, a memo, a numbered source or the
/// edge of a code block?
fn is_like_structure(line: &str) -> bool {
    if is_plain_text(line) {
        return false;
    }
    // Nobody needs more of a line to know what it is.
    let seen = line.nfkc().filter(|letter| !is_invisible(*letter)).map(fold_lookalike);
    let seen: String = seen.skip_while(|letter| *letter == ' ').take(MAX_MARK_CHARS).collect();
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

/// Most lines begin with a word, or with a bullet or a number and then a word. No letter that is taken
/// for plain here looks like another one.
fn is_plain_text(line: &str) -> bool {
    let is_letter = |first: char| {
        let is_sign = first.is_ascii_punctuation() && !"#\\*_-=`~+>[".contains(first);
        let is_word = matches!(first, 'ぁ'..='ゖ' | 'ァ'..='ヺ' | '丁'..='鿿');
        first.is_ascii_alphabetic() || is_sign || is_word
    };
    let inside = line.strip_prefix("- ").unwrap_or(line);
    let behind = inside.trim_start_matches(|letter: char| letter.is_ascii_digit());
    if behind.len() == inside.len() {
        return line.is_empty() || behind.starts_with(is_letter);
    }
    // A number with a dot or a parenthesis behind it is a bullet, too.
    behind.starts_with(|next: char| {
        !".)".contains(next) && (next == ' ' || next.is_ascii_graphic() || is_letter(next))
    })
}

fn begins_structure(seen: &str) -> bool {
    ["**", "__", "```", "~~~"].iter().any(|mark| seen.starts_with(mark)) || is_break(seen)
}

/// A thematic break, or what underlines a heading.
fn is_break(seen: &str) -> bool {
    let mut count = 0;
    let mut underlines = true;
    for letter in seen.chars().filter(|letter| *letter != ' ') {
        if !matches!(letter, '-' | '_' | '*' | '=') {
            return false;
        }
        underlines &= matches!(letter, '-' | '=');
        count += 1;
    }
    count >= 3 || (count > 0 && underlines)
}

/// `[12]`, as sources are numbered; `[ ]` and `[x]` are somebody's own.
fn is_numbered(seen: &str) -> bool {
    let inside = seen.strip_prefix('[').and_then(|rest| rest.split_once(']'));
    let inside = inside.map(|(inside, _)| inside.trim());
    inside.is_some_and(|inside| {
        !inside.is_empty() && inside.chars().all(|letter| letter.is_ascii_digit())
    })
}

/// `# words`; `#channel` within a list is none.
fn is_heading(seen: &str) -> bool {
    let behind = seen.trim_start_matches('#');
    behind.len() < seen.len() && (behind.is_empty() || behind.starts_with(' '))
}

/// What stands in an item of a list or a quotation.
fn strip_list_marker(seen: &str) -> Option<&str> {
    let bullet = seen.strip_prefix(['-', '*', '+', '>', '•', '・']);
    bullet.or_else(|| {
        let behind = seen.trim_start_matches(|letter: char| letter.is_ascii_digit());
        let is_number = behind.len() < seen.len();
        behind.strip_prefix(['.', ')']).filter(|_| is_number)
    })
}

/// The letter that another one looks like.
fn fold_lookalike(letter: char) -> char {
    match letter {
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
        letter if letter.is_whitespace() => ' ',
        letter => letter,
    }
}

/// There is something that a reader sees.
pub fn has_visible_text(text: &str) -> bool {
    text.chars().any(|letter| !letter.is_whitespace() && !is_invisible(letter))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ordinary_text_stays_as_it_is() {
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
    fn what_looks_like_structure_is_fenced() {
        for line in [
            "# x",
            "#general",
            "   ## x",
            "＃ x",
            "\u{200b}# x",
            "♯ x",
            "---",
            "- - -",
            "***",
            "___",
            "===",
            "=",
            "--",
            "———",
            "ーーー",
            "－－－",
            "〰〰〰",
            "▬▬▬",
            "╴╴╴",
            "\u{1d173}# x",
            "-\u{1bca0}--",
            "**x**",
            "__x__",
            "＊＊x",
            "*\u{200b}*x",
            "- **Name**: x",
            "* __x",
            "> **x",
            "> > ---",
            "1. ## x",
            "- # x",
            "```",
            "~~~",
            "- ```",
            "\\",
            "\\# x",
            "  \\x",
            "- [1] 2026-01-05: x",
            "- [ 23 ] x",
            "\t# x",
            "\u{3000}# x",
            "• **x**",
            "1\u{1}. **x**",
            "－ ＊＊x",
        ] {
            assert_eq!(fence(line), format!("\\{line}"), "{line}");
        }
    }

    #[test]
    fn every_end_of_a_line_begins_a_new_one() {
        for letter in
            (0..0x11_0000).filter_map(char::from_u32).filter(|letter| is_line_break(*letter))
        {
            assert_eq!(fence(&format!("é a{letter}# b")), "é a\n\\# b", "{letter:?}");
        }
        assert_eq!(fence("a\r\n# b\r---\u{2028}**c**\u{85}d\n"), "a\n\\# b\n\\---\n\\**c**\nd\n");
        assert_eq!(fence("\u{b}# a"), "\n\\# a");
    }
}
