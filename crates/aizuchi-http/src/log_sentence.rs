//! Makes a server's error message fit for logs, the ledger and dead letters. A gateway may repeat a key or a request in
//! it.

use aizuchi_model::chat::{is_invisible, is_line_break};

/// The maximum length: enough for a sentence and a code.
const MAX_CHARACTERS: usize = 200;
/// Replaces text that looks like a key.
const WITHHELD: &str = "[withheld]";
/// The prefixes of the keys of providers and platforms.
const KEY_PREFIXES: [&str; 15] = [
    "sk-", "sk_", "rk_", "pk_", "xoxa-", "xoxb-", "xoxe", "xoxp-", "xoxr-", "xoxs-", "xapp-",
    "AIza", "ghp_", "github_pat_", "eyJ",
];
/// The minimum length of a run of letters and digits that is taken for a key rather than a word or a code.
const MIN_KEY_RUN: usize = 16;

/// Returns one line of at most 200 visible characters, without anything that looks like a key.
pub fn to_log_sentence(text: &str) -> String {
    let visible =
        text.chars().filter(|character| is_line_break(*character) || !is_invisible(*character));
    // Text beyond this is never shown, even if keys are removed.
    let line: String = visible
        .take(MAX_CHARACTERS * 4)
        .map(|character| if is_line_break(character) { ' ' } else { character })
        .collect();
    let sentence = withhold_keys(line.trim());
    match sentence.char_indices().nth(MAX_CHARACTERS) {
        Some((end, _)) => {
            let end = sentence[..end].char_indices().next_back().map_or(0, |(last, _)| last);
            format!("{}…", &sentence[..end])
        }
        None => sentence,
    }
}

fn withhold_keys(line: &str) -> String {
    let is_key_character =
        |character: char| character.is_ascii_alphanumeric() || "_-.+/~".contains(character);
    let mut sentence = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(begin) = rest.find(is_key_character) {
        let (before, tail) = rest.split_at(begin);
        let end = tail.find(|character| !is_key_character(character)).unwrap_or(tail.len());
        let (word, after) = tail.split_at(end);
        sentence.push_str(before);
        sentence.push_str(if is_key(word) { WITHHELD } else { word });
        rest = after;
    }
    sentence + rest
}

fn is_key(word: &str) -> bool {
    let has_prefix = KEY_PREFIXES.iter().any(|prefix| {
        word.match_indices(prefix).any(|(at, _)| {
            let is_begin =
                !word[..at].ends_with(|character: char| character.is_ascii_alphanumeric());
            is_begin && word.len() - at >= prefix.len() + 4
        })
    });
    let mut runs = word.split(|character: char| !character.is_ascii_alphanumeric());
    let is_random = |run: &str| {
        let has_digit = run.bytes().any(|byte| byte.is_ascii_digit());
        let has_letter = run.bytes().any(|byte| byte.is_ascii_alphabetic());
        run.len() >= MIN_KEY_RUN && has_digit && has_letter
    };
    has_prefix || runs.any(is_random)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_withheld() {
        for (text, expected) in [
            (
                "Incorrect API key provided: sk-proj-abcd1234.",
                "Incorrect API key provided: [withheld]",
            ),
            ("key=sk_live_abcd1234; why", "key=[withheld]; why"),
            ("Bearer xoxb-12-34-abcd is bad", "Bearer [withheld] is bad"),
            ("\"AIzaSyA1234567890\"", "\"[withheld]\""),
            ("MTIzNDU2Nzg5MDEyMzQ1Njc4.GaBcDe.x-y_z", "[withheld]"),
            ("hash 0123456789abcdef0123", "hash [withheld]"),
            ("my_sk-abcdefgh", "[withheld]"),
            ("context_length_exceeded", "context_length_exceeded"),
            ("gpt-4o-mini-2024-07-18 is gone", "gpt-4o-mini-2024-07-18 is gone"),
            ("missing_scope: channels:history", "missing_scope: channels:history"),
            ("ask-me, risk-free, 12345678901234567890", "ask-me, risk-free, 12345678901234567890"),
            ("50013 Missing Permissions", "50013 Missing Permissions"),
            ("", ""),
        ] {
            assert_eq!(to_log_sentence(text), expected, "{text}");
        }
    }

    #[test]
    fn a_sentence_is_one_short_visible_line() {
        assert_eq!(to_log_sentence(" a\u{202e}\r\nb\u{1b}[1m\u{2028}c\u{200b} "), "a  b[1m c");
        let long = to_log_sentence(&"あ ".repeat(1_000_000));
        assert_eq!(long.chars().count(), MAX_CHARACTERS);
        assert!(long.ends_with('…'));
        // A key that is cut off is withheld, too.
        let cut = to_log_sentence(&format!("{} sk-{}", "a ".repeat(95), "x1".repeat(5_000)));
        assert!(!cut.contains("sk-"), "{cut}");
    }
}
