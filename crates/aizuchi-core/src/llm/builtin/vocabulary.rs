//! What the built-in mind can tell from the words of a message, in English and Japanese.

use std::collections::BTreeSet;

const STOP_WORDS: [&str; 30] = [
    "about", "after", "also", "anyone", "because", "been", "could", "does", "from", "have", "here",
    "just", "know", "like", "please", "some", "someone", "that", "their", "them", "then", "there",
    "they", "this", "what", "when", "where", "will", "with", "your",
];
const SECRECY_PHRASES: [&str; 14] = [
    "secret",
    "off the record",
    "between us",
    "keep that to yourself",
    "keep this to yourself",
    "don't remember",
    "do not remember",
    "don't tell",
    "内緒",
    "秘密",
    "ここだけの話",
    "オフレコ",
    "覚えないで",
    "忘れて",
];
const MAX_QUOTE_CHARS: usize = 160;

/// Whether the author asks not to be repeated or remembered.
pub fn asks_for_secrecy(text: &str) -> bool {
    let lower = text.to_lowercase().replace('’', "'");
    SECRECY_PHRASES.iter().any(|word| lower.contains(word))
}

/// How many content words two texts share.
pub fn shared_words(one: &str, other: &str) -> usize {
    content_words(one).intersection(&content_words(other)).count()
}

pub fn truncate_quote(text: &str) -> String {
    match text.char_indices().nth(MAX_QUOTE_CHARS) {
        Some((end, _)) => format!("{}…", text[..end].trim_end()),
        None => text.to_owned(),
    }
}

/// Longer Latin words without their endings, and pairs of kanji or katakana: Japanese writes
/// content words in these, and has no spaces.
fn content_words(text: &str) -> BTreeSet<String> {
    let lower = text.to_lowercase();
    let latin = lower.split(|character: char| !character.is_ascii_alphanumeric());
    let latin = latin.filter(|word| word.len() >= 4 && !STOP_WORDS.contains(word)).map(stem);
    let characters: Vec<char> = text.chars().collect();
    let pairs = characters
        .windows(2)
        .filter(|pair| pair.iter().all(|character| is_ideographic(*character)));
    latin.chain(pairs.map(|pair| pair.iter().collect())).collect()
}

fn stem(word: &str) -> String {
    let stem = ["ing", "ed", "es", "s"].iter().find_map(|ending| word.strip_suffix(ending));
    stem.filter(|stem| stem.len() >= 4).unwrap_or(word).to_owned()
}

fn is_ideographic(character: char) -> bool {
    matches!(character, '\u{4e00}'..='\u{9fff}' | '\u{30a1}'..='\u{30fa}' | 'ー')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_are_cut_between_characters() {
        let long = "あ".repeat(200);
        assert_eq!(truncate_quote(&long).chars().count(), 161);
        assert_eq!(truncate_quote("short"), "short");
    }
}
