//! Duplicate entries: the memories of a thread, its channel, the workspace and the last hours may contain the same
//! fact.

use std::collections::BTreeSet;

use crate::memory::{MemoryEntry, MessageRef};

/// The share of common character pairs from which texts made from the same messages say the same.
const NEARLY_SAME: f64 = 0.8;

/// A text without punctuation, case, and character width.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NormalizedText(String);

impl NormalizedText {
    pub fn new(text: &str) -> Self {
        let narrow: String = text.chars().map(narrow).flat_map(char::to_lowercase).collect();
        let words = narrow.split(|character: char| !character.is_alphanumeric());
        let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
        // A text of punctuation only is kept as it is.
        let is_empty = words.is_empty();
        Self(if is_empty { narrow.trim().to_owned() } else { words.join(" ") })
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub fn contains(&self, part: &Self) -> bool {
        self.0.contains(&part.0)
    }

    /// Whether the texts have nearly the same characters, and the same numbers: May 3rd is not May 5th.
    fn is_nearly(&self, other: &Self) -> bool {
        let (own, others) = (self.pairs(), other.pairs());
        let shared = own.intersection(&others).count() * 2;
        self.numbers() == other.numbers()
            && shared as f64 >= NEARLY_SAME * (own.len() + others.len()) as f64
    }

    fn pairs(&self) -> BTreeSet<(char, char)> {
        let characters: Vec<char> = self.0.chars().filter(|character| *character != ' ').collect();
        characters.windows(2).map(|pair| (pair[0], pair[1])).collect()
    }

    fn numbers(&self) -> BTreeSet<&str> {
        let runs = self.0.split(|character: char| !character.is_ascii_digit());
        runs.filter(|run| !run.is_empty()).collect()
    }
}

impl MemoryEntry {
    /// Whether the entry says the same as another one: in the same words, or in nearly the same and from the same
    /// messages.
    pub fn is_duplicate_of(&self, other: &MemoryEntry) -> bool {
        let (own, others) = (NormalizedText::new(&self.text), NormalizedText::new(&other.text));
        own == others || has_same_sources(self, other) && own.is_nearly(&others)
    }
}

/// Whether all source messages of one entry are also sources of the other.
fn has_same_sources(one: &MemoryEntry, other: &MemoryEntry) -> bool {
    let is_among = |messages: &[MessageRef], others: &[MessageRef]| {
        !messages.is_empty() && messages.iter().all(|message| others.contains(message))
    };
    is_among(&one.messages, &other.messages) || is_among(&other.messages, &one.messages)
}

/// Maps a full-width character to its narrow form: Ａ to A, ５ to 5.
fn narrow(character: char) -> char {
    match character {
        '！'..='～' => {
            char::from_u32(character as u32 - '！' as u32 + '!' as u32).unwrap_or(character)
        }
        '\u{3000}' => ' ',
        character => character,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chat::{ChannelId, MessageId, Visibility};

    /// An entry made from messages whose ids are one character each.
    fn entry(text: &str, messages: &str) -> MemoryEntry {
        let message = |id: char| MessageRef(ChannelId::new("c"), MessageId::new(id.to_string()));
        MemoryEntry {
            date: jiff::civil::date(2027, 1, 3),
            text: text.into(),
            visibility: Visibility::Public,
            messages: messages.chars().map(message).collect(),
            pinned: false,
        }
    }

    #[test]
    fn entries_are_doubles_by_their_words_or_by_their_sources_and_nearly_their_words() {
        for ((one, from), (other, of), expected) in [
            (("The beans are up!", ""), ("the  beans are up", ""), true),
            (("The beans are up", "a"), ("the beans are up", "b"), true),
            (("豆が５本出た。", ""), ("豆が5本出た", ""), true),
            (("Mia planted the beans", "a"), ("Mia has planted the beans", "a"), true),
            (("Mia planted the beans", "a"), ("Mia has planted the beans", "ab"), true),
            (("Mia planted the beans", "a"), ("Mia has planted the beans", "b"), false),
            (("Mia planted the beans", ""), ("Mia has planted the beans", ""), false),
            (("the talk is on May 3rd", "a"), ("the talk is on May 5th", "a"), false),
            (("the beans are up", "a"), ("the soup is on", "a"), false),
            (("ミアは畑の端に豆をまいた", "a"), ("ミアが畑の端に豆をまいた", "a"), true),
            (("ミアは豆をまいた", "a"), ("トムは茶を飲んだ", "a"), false),
            (("version 1.2", "a"), ("version 12", "a"), false),
            (("!?", ""), ("♡", ""), false),
        ] {
            let (one, other) = (entry(one, from), entry(other, of));
            assert_eq!(one.is_duplicate_of(&other), expected, "{one:?} {other:?}");
            assert_eq!(other.is_duplicate_of(&one), expected, "{other:?} {one:?}");
        }
    }
}
