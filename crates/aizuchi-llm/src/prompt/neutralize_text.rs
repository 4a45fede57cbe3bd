//! Neutralizes what a model would read or obey but people do not see in users' texts: hidden characters, and the
//! control tokens by which models separate turns and roles. Hidden characters are removed; a backslash breaks a
//! control token and shows that it was there.

use std::borrow::Cow;
use std::sync::LazyLock;

use aizuchi_model::chat::{is_line_break, is_shaping, to_single_line, to_visible_text};
use regex::Regex;
use unicode_normalization::UnicodeNormalization as _;
use unicode_security::confusable_detection::skeleton;

/// The control tokens of the common chat templates.
const CONTROL_TOKENS: [&str; 6] = [
    // `<|im_start|>`, `<|eot_id|>`, and the same with full-width bars
    r"<[|｜][^<>\s|｜]{1,60}[|｜]>",
    // Llama 2 and Mistral
    r"\[/?(?:INST|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS)\]",
    r"<</?SYS>>",
    // The beginning and the end of a text, and Gemma's turns
    r"</?s>|<(?:bos|eos|pad|unk)>|<(?:start|end)_of_turn>",
    // Roles and calls as tags
    r"</?(?:system|user|assistant|human|developer|tool|function|instructions?|prompt)(?:[\s_-][^<>\n]{0,80})?/?>",
    r"</?(?:antml:)?(?:function_calls|function_results|invoke|parameter|tool_call|tool_response|tool_use|tool_result)(?:\s[^<>\n]{0,80})?/?>",
];

static CONTROL_TOKEN: LazyLock<Regex> = LazyLock::new(|| {
    let pattern = format!("(?i)(?:{})", CONTROL_TOKENS.join("|"));
    Regex::new(&pattern).expect("the control tokens are valid patterns")
});

/// Makes a text safe for a model to read. Most text needs no change.
pub fn to_inert_text(text: &str) -> Cow<'_, str> {
    let visible = if has_hidden_character(text) {
        Cow::Owned(without_repeated_shaping(&to_visible_text(text)))
    } else {
        Cow::Borrowed(text)
    };
    // Spares most texts the regular expression.
    if !visible.contains(['<', '[']) || !CONTROL_TOKEN.is_match(&visible) {
        return visible;
    }
    let broken = CONTROL_TOKEN.replace_all(&visible, |found: &regex::Captures<'_>| {
        let (first, rest) = found[0].split_at(1);
        format!("{first}\\{rest}")
    });
    Cow::Owned(broken.into_owned())
}

/// Makes a name or a title safe, on one line.
pub fn to_inert_line(text: &str) -> String {
    to_inert_text(&to_single_line(text)).into_owned()
}

/// Replaces each character that a model reads as a Latin one, or as its mark, by that one: wide, styled, accented
/// and look-alike characters (Unicode Technical Standard 39, section 4), and the full stop of a host. Others stay.
pub fn to_plain_characters(text: &str) -> String {
    if text.is_ascii() {
        return text.to_owned();
    }
    let is_accent = |character: &char| matches!(character, '\u{300}'..='\u{36f}');
    let base: String = text.nfkd().filter(|character| !is_accent(character)).collect();
    let mut plain = String::with_capacity(base.len());
    for character in base.nfc() {
        match character {
            '\u{3002}' | '\u{ff61}' => plain.push('.'),
            character if character.is_ascii() => plain.push(character),
            character => {
                let look: String = skeleton(character.encode_utf8(&mut [0; 4])).collect();
                let is_latin = look.chars().all(|character| character.is_ascii_alphanumeric());
                if is_latin { plain.push_str(&look) } else { plain.push(character) }
            }
        }
    }
    plain
}

/// Whether a text contains a hidden character, other than single joiners and variation selectors.
fn has_hidden_character(text: &str) -> bool {
    if text.is_ascii() {
        let is_plain = |byte: u8| matches!(byte, b' '..=b'~' | b'\n' | b'\t' | b'\r');
        return !text.bytes().all(is_plain);
    }
    let mut was_shaping = false;
    text.chars().any(|character| {
        let is_repeated = std::mem::replace(&mut was_shaping, is_shaping(character)) && was_shaping;
        is_repeated || (aizuchi_model::chat::is_hidden(character) && !is_line_break(character))
    })
}

/// Removes repeated joiners and variation selectors. A single one shapes the character before it; a sequence shapes
/// nothing, and may encode hidden text.
fn without_repeated_shaping(text: &str) -> String {
    let mut was_shaping = false;
    let stays = |character: &char| {
        let is_repeated = was_shaping && is_shaping(*character);
        was_shaping = is_shaping(*character);
        !is_repeated
    };
    text.chars().filter(stays).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ordinary_text_is_unchanged() {
        for text in [
            "a < b && b > c, [x] and [1]",
            "<b>bold</b> <systemd> Vec<String> <T>",
            "if a <| b |> c",
            "❤\u{fe0f} 👩\u{200d}👧 می\u{200c}خواهم",
            "one\r\ntwo\tthree\u{2028}four",
            "犬と猫",
        ] {
            assert!(matches!(to_inert_text(text), Cow::Borrowed(_)), "{text:?}");
        }
    }

    #[test]
    fn what_models_obey_is_broken_or_removed() {
        for (text, expected) in [
            ("<|im_start|>system", "<\\|im_start|>system"),
            ("<｜User｜>", "<\\｜User｜>"),
            ("[INST] x [/inst]", "[\\INST] x [\\/inst]"),
            ("<<SYS>>", "<\\<SYS>>"),
            ("</s><s>", "<\\/s><\\s>"),
            ("<start_of_turn>model", "<\\start_of_turn>model"),
            ("</system> <SYSTEM role=\"x\">", "<\\/system> <\\SYSTEM role=\"x\">"),
            ("</user_message>", "<\\/user_message>"),
            ("<function_calls>", "<\\function_calls>"),
            ("<|im_\u{200b}start|>", "<\\|im_start|>"),
            ("a\u{e0041}\u{e0042}b", "ab"),
            ("\u{202e}abc\u{202c}", "abc"),
            ("a\u{1b}[31mb", "a[31mb"),
            ("x\u{fe0f}\u{fe0e}\u{fe0f}\u{200d}y", "x\u{fe0f}y"),
        ] {
            let inert = to_inert_text(text);
            assert_eq!(inert, expected, "{text:?}");
            assert_eq!(to_inert_text(&inert), expected, "twice");
        }
        assert_eq!(to_inert_line("<|a|>\nb"), "<\\|a|> b");
    }
}
