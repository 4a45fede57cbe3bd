//! The words of a message that may show its subject.

use std::sync::LazyLock;

use crate::fixed_map::FixedSet;
use crate::reader::{is_japanese, split_words};

/// The maximum number of words that are read. The first ones of a longer text suffice, and comparing two texts crafted
/// for it in full would hold up a channel.
const MAX_WORDS: usize = 200;

/// Hashes of the words that are not common, sorted and without duplicates: Latin words without a plural's ending, and
/// pairs of neighboring Kanji or Katakana. Hiragana is mostly grammar.
pub fn rare_words(body: &str) -> Vec<u32> {
    let mut words = Vec::new();
    for word in split_words(body) {
        if word.chars().any(is_japanese) {
            let mut before = None;
            for character in word.chars() {
                let character = Some(character)
                    .filter(|character| is_japanese(*character) && !is_grammar(*character));
                if let (Some(one), Some(other)) = (before, character) {
                    words.push(hash(
                        [one, other]
                            .into_iter()
                            .flat_map(|character| u32::from(character).to_le_bytes()),
                    ));
                }
                before = character;
            }
        } else if word.len() >= 2 && !COMMON.contains(word) {
            let stem = word.strip_suffix('s').filter(|stem| stem.len() > 2).unwrap_or(word);
            words.push(hash(stem.bytes()));
        }
    }
    words.truncate(MAX_WORDS);
    words.sort_unstable();
    words.dedup();
    words
}

fn is_grammar(character: char) -> bool {
    matches!(character, '\u{3041}'..='\u{309f}' | 'ー')
}

/// 32-bit FNV-1a.
fn hash(bytes: impl Iterator<Item = u8>) -> u32 {
    bytes.fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

static COMMON: LazyLock<FixedSet<&str>> = LazyLock::new(|| COMMON_WORDS.into_iter().collect());

const COMMON_WORDS: [&str; 110] = [
    "the", "to", "it", "is", "and", "of", "in", "that", "you", "for", "on", "have", "with", "not",
    "my", "me", "this", "do", "be", "can", "but", "are", "if", "what", "or", "so", "how", "just",
    "no", "at", "as", "was", "get", "there", "it's", "from", "any", "your", "don't", "i'm", "like",
    "an", "know", "will", "does", "when", "use", "all", "up", "out", "then", "one", "about",
    "would", "yes", "ok", "has", "they", "did", "some", "which", "try", "need", "want", "go", "we",
    "im", "he", "thanks", "think", "should", "now", "see", "why", "here", "got", "them", "its",
    "well", "by", "lol", "who", "where", "am", "too", "only", "also", "could", "more", "u", "i've",
    "that's", "yeah", "really", "anyone", "much", "way", "using", "something", "been", "because",
    "make", "work", "good", "time", "were", "their", "other", "had", "than",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_shared_across_endings_and_not_if_common() {
        let shared = |one: &str, other: &str| {
            let other = rare_words(other);
            rare_words(one).iter().filter(|word| other.contains(word)).count()
        };
        assert_eq!(shared("the vpn certificate", "vpn certificates expired"), 2);
        assert_eq!(shared("what is the time", "the time is now"), 0);
        assert_eq!(shared("証明書が切れた", "新しい証明書です"), 2);
        assert_eq!(shared("これはどうしますか", "それはこうします"), 0);
    }
}
