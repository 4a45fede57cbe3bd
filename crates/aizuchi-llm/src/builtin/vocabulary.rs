//! What the built-in mind can tell from the words of a message, in English and Japanese.

use crate::builtin::matching::{holds_any, normalize};

/// Latin phrases match whole words: a secretary is no secret.
const SECRECY_PHRASES: [&str; 10] = [
    "secret", "off the record", "between us", "keep that to yourself", "keep this to yourself",
    "内緒", "秘密", "ここだけの話", "オフレコ", "覚えないで",
];
/// Phrases that demand secrecy, unless the sentence is about a subject: "I don't remember".
const SECRECY_ORDERS: [&str; 5] =
    ["don't remember", "do not remember", "don't tell", "do not tell", "never tell"];
const SUBJECTS: [&str; 9] = ["i", "you", "we", "they", "he", "she", "people", "really", "still"];
/// What follows if "I" was left out: "don't remember when the sauna opens".
const MISSED: [&str; 5] =
    ["remember when ", "remember where ", "remember who ", "remember if ", "remember how "];
/// Asks to forget. If one of [`FORGOTTEN`] follows, it only says that something was forgotten: 「傘を忘れてきた」.
const FORGETTING: &str = "忘れて";
const FORGOTTEN: [&str; 8] = ["き", "た", "い", "ま", "し", "る", "な", "は"];
/// Longer messages are quoted from their beginning only.
pub const MAX_QUOTE_CHARS: usize = 160;
/// The reactions to thanks and "I see", and to a laugh or a greeting.
pub const WELCOME: &str = "👍";
pub const LAUGH: &str = "😄";
/// The reaction to a message that asks for nothing.
pub const SEEN: &str = "👀";

/// Whether the author asks not to be repeated or remembered.
pub fn asks_for_secrecy(text: &str) -> bool {
    let lower = normalize(text);
    holds_any(&lower, &SECRECY_PHRASES) || orders_secrecy(&lower) || asks_to_forget(&lower)
}

/// Whether a text demands secrecy. If in doubt, it does.
fn orders_secrecy(lower: &str) -> bool {
    let is_order = |(at, order): (usize, &str)| {
        let subject = lower[..at].split_whitespace().next_back().unwrap_or_default();
        let rest = &lower[at + order.len()..];
        let is_missed = || MISSED.iter().any(|it| format!("{order}{rest} ").contains(it));
        let is_told = SUBJECTS.contains(&subject);
        let begins = lower[..at].trim().is_empty();
        !is_told && (!begins || !is_missed())
    };
    SECRECY_ORDERS.iter().any(|order| lower.match_indices(order).any(is_order))
}

fn asks_to_forget(lower: &str) -> bool {
    lower.match_indices(FORGETTING).any(|(at, found)| {
        let rest = &lower[at + found.len()..];
        !FORGOTTEN.iter().any(|end| rest.starts_with(end))
    })
}

/// Returns a text for a quote: without mentions, and truncated. Code that the cut leaves open is closed, since otherwise
/// the text after the quote would become code.
pub fn truncate_quote(text: &str) -> String {
    const FENCE: &str = "```";
    let text = without_mentions(text);
    let Some((end, _)) = text.char_indices().nth(MAX_QUOTE_CHARS) else {
        return text;
    };
    // The cut may be within a fence.
    let kept = text[..end].trim_end().trim_end_matches('`').trim_end();
    let is_in_block = kept.matches(FENCE).count() % 2 == 1;
    let last = kept.rsplit(FENCE).next().unwrap_or(kept);
    let is_in_code = last.matches('`').count() % 2 == 1;
    let mark = match () {
        () if is_in_block => FENCE,
        () if is_in_code => "`",
        () => "",
    };
    format!("{kept}…{mark}")
}

/// Leaves out the `@` before names, so that a quote notifies nobody. An `@` within a word, as in an e-mail address, and
/// one in code mention nobody.
fn without_mentions(text: &str) -> String {
    const AT: [char; 2] = ['@', '＠'];
    let mut kept = String::with_capacity(text.len());
    let mut is_code = false;
    for (position, character) in text.char_indices() {
        let after = &text[position + character.len_utf8()..];
        is_code ^= character == '`';
        let is_mention = AT.contains(&character)
            && !kept.ends_with(|before: char| before.is_ascii_alphanumeric())
            && after.starts_with(|after: char| !after.is_whitespace())
            && !(is_code && after.contains('`'));
        if !is_mention {
            kept.push(character);
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_has_forgotten_something_asks_for_no_secrecy() {
        for (text, expected) in [
            ("this is a secret", true),
            ("@Aizuchi please don’t remember my messages", true),
            ("Do not remember this: the code is 4", true),
            ("it broke. don't tell Ann", true),
            ("いまのは忘れて", true),
            ("@Aizuchi その話は忘れてください。", true),
            ("これは内緒です", true),
            ("I don't remember when the sauna opens", false),
            ("don't remember where I put it", false),
            ("@Aizuchi you don't remember my name", false),
            ("I'm leaving in May, but please don't tell anyone", true),
            ("it's my surprise (don't tell Ann)", true),
            ("the code is 4711\ndon't tell anyone", true),
            ("don't tell who did it", true),
            ("@Aizuchi don't remember what I said about it", true),
            ("忘れてほしいです", true),
            ("今のは忘れてw", true),
            ("ask the secretary", false),
            ("傘を忘れてきた", false),
            ("会議をすっかり忘れてました", false),
        ] {
            assert_eq!(asks_for_secrecy(text), expected, "{text}");
        }
    }

    #[test]
    fn a_quote_mentions_nobody() {
        for (text, expected) in [
            ("@Rico try the long hook", "Rico try the long hook"),
            ("ask @Ida or @@Rico, please", "ask Ida or Rico, please"),
            ("こんにちは＠花子さん、@山田 太郎様", "こんにちは花子さん、山田 太郎様"),
            ("write to ida@clay.example", "write to ida@clay.example"),
            ("3 @ 4", "3 @ 4"),
            ("it is `@media print` here", "it is `@media print` here"),
            ("```@media print``` @Ida", "```@media print``` Ida"),
            ("a stray ` @Ida", "a stray ` Ida"),
            ("@", "@"),
        ] {
            assert_eq!(truncate_quote(text), expected, "{text}");
        }
        // A name at the cut is none of those that are left.
        let long = format!("{}@Ida and more", "x ".repeat(79));
        assert!(!truncate_quote(&long).contains('@'), "{}", truncate_quote(&long));
    }

    #[test]
    fn quotes_are_cut_between_characters() {
        let long = "あ".repeat(200);
        assert_eq!(truncate_quote(&long).chars().count(), 161);
        assert_eq!(truncate_quote("short"), "short");
        let rest = "x".repeat(200);
        for (text, end) in [
            (format!("see ```let y = 1; {rest}``` here"), "x…```"),
            (format!("see ```let y``` here {rest}"), "x…"),
            (format!("see `let y {rest}` here"), "x…`"),
            (format!("see `let` {rest}"), "x…"),
            (format!("{}```{rest}```", "y".repeat(159)), "y…"),
            (format!("```{}```", "y".repeat(157)), "y…```"),
        ] {
            assert!(truncate_quote(&text).ends_with(end), "{text}: {}", truncate_quote(&text));
        }
    }
}
