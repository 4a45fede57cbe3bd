//! What the built-in mind can tell from the words of a message, in English and Japanese.

use crate::llm::builtin::request::{holds_any, normalize};

/// In Latin letters as whole words: a secretary is no secret.
const SECRECY_PHRASES: [&str; 10] = [
    "secret",
    "off the record",
    "between us",
    "keep that to yourself",
    "keep this to yourself",
    "内緒",
    "秘密",
    "ここだけの話",
    "オフレコ",
    "覚えないで",
];
/// What begins a sentence that orders it: "don't remember this", but not "I don't remember".
const SECRECY_ORDERS: [&str; 4] =
    ["don't remember", "do not remember", "don't tell", "do not tell"];
/// What follows where "I" was left out: "don't remember when the sauna opens".
const NO_ORDERS: [&str; 8] = ["when", "where", "who", "what", "which", "why", "how", "if"];
/// What ends a sentence that orders it: 「いまのは忘れて」, but not 「傘を忘れてきた」.
const FORGETTING_ENDS: [&str; 6] =
    ["忘れて", "忘れてね", "忘れてください", "忘れて下さい", "忘れてくれ", "忘れてほしい"];
const MAX_QUOTE_CHARS: usize = 160;
/// What it nods with at thanks and at "I see", and at a laugh or a greeting.
pub const WELCOME: &str = "👍";
pub const LAUGH: &str = "😄";
/// What it nods with at what asks for nothing.
pub const SEEN: &str = "👀";

/// Whether the author asks not to be repeated or remembered.
pub fn asks_for_secrecy(text: &str) -> bool {
    let lower = normalize(text);
    holds_any(&lower, &SECRECY_PHRASES)
        || lower.split(['.', '!', '?', ',', ';', ':', '。', '！', '？', '、']).any(orders_secrecy)
}

fn orders_secrecy(sentence: &str) -> bool {
    let words = sentence.split_whitespace();
    let words: Vec<&str> = words
        .skip_while(|word| word.starts_with('@') || ["please", "pls"].contains(word))
        .collect();
    let sentence = words.join(" ");
    let ordered = SECRECY_ORDERS.iter().find_map(|order| sentence.strip_prefix(order));
    let is_order = ordered.is_some_and(|rest| {
        rest.is_empty()
            || rest.starts_with(' ')
                && !NO_ORDERS.contains(&rest.split_whitespace().next().unwrap_or_default())
    });
    is_order || FORGETTING_ENDS.iter().any(|end| sentence.ends_with(end))
}

/// The beginning of a text. Code that the cut leaves open is closed, or else what follows the quote would be code.
pub fn truncate_quote(text: &str) -> String {
    const FENCE: &str = "```";
    let Some((end, _)) = text.char_indices().nth(MAX_QUOTE_CHARS) else {
        return text.to_owned();
    };
    // Perhaps the cut is within a fence.
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
            ("ask the secretary", false),
            ("傘を忘れてきた", false),
            ("会議をすっかり忘れてました", false),
        ] {
            assert_eq!(asks_for_secrecy(text), expected, "{text}");
        }
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
