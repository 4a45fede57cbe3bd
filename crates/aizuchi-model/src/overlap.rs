//! Detects that one text repeats another, by the runs of characters that both contain.

pub mod quotes;

use std::collections::HashSet;

/// How much must recur to count as a repetition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OverlapThreshold {
    /// This many characters in a row.
    pub min_run: usize,
    /// A text shorter than a run counts if it recurs as a whole and has this many characters.
    pub min_whole_length: usize,
    /// A character of a script without spaces counts as this many.
    pub unspaced_weight: usize,
}

/// An index of texts, to detect repetitions of them.
#[derive(Clone, Debug)]
pub struct OverlapIndex {
    threshold: OverlapThreshold,
    runs: HashSet<Vec<char>>,
    short_texts: HashSet<String>,
}

/// Whether a text contains a name, both in lower case. A name in Latin letters must be a separate word.
pub fn has_name(text: &str, name: &str) -> bool {
    !name.is_empty()
        && text.match_indices(name).any(|(at, _)| {
            let before = text[..at].chars().next_back();
            let after = text[at + name.len()..].chars().next();
            ![before, after]
                .into_iter()
                .flatten()
                .any(|character| character.is_ascii_alphanumeric())
        })
}

impl OverlapIndex {
    pub fn new<'a>(texts: impl IntoIterator<Item = &'a str>, threshold: OverlapThreshold) -> Self {
        let mut index = Self { threshold, runs: HashSet::new(), short_texts: HashSet::new() };
        for text in texts {
            let text = normalize(text);
            let characters: Vec<char> = text.chars().collect();
            if threshold.weight(&characters) >= threshold.min_run {
                index.runs.extend(threshold.runs(&characters).map(<[char]>::to_vec));
            } else if threshold.weight(&characters) >= threshold.min_whole_length {
                index.short_texts.insert(text);
            }
        }
        index
    }

    pub fn has_overlap_with(&self, text: &str) -> bool {
        let text = normalize(text);
        let characters: Vec<char> = text.chars().collect();
        self.short_texts.iter().any(|quote| text.contains(quote))
            || self.threshold.runs(&characters).any(|run| self.runs.contains(run))
    }
}

impl OverlapThreshold {
    fn weight(self, characters: &[char]) -> usize {
        characters
            .iter()
            .map(|character| if is_unspaced(*character) { self.unspaced_weight } else { 1 })
            .sum()
    }

    /// Returns, for each position, the shortest run from there that reaches `min_run`.
    fn runs(self, characters: &[char]) -> impl Iterator<Item = &[char]> {
        (0..characters.len()).filter_map(move |from| {
            let longest = (characters.len() - from).min(self.min_run);
            let behind = &characters[from..from + longest];
            let length =
                (1..=longest).find(|length| self.weight(&behind[..*length]) >= self.min_run);
            length.map(|length| &behind[..length])
        })
    }
}

/// Converts a text to lower case, with single spaces.
pub fn normalize(text: &str) -> String {
    text.to_lowercase().split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Whether a character belongs to a script that puts no spaces between words.
pub fn is_unspaced(character: char) -> bool {
    matches!(character, '\u{3005}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_repeats_another_by_a_run_of_characters_or_as_a_whole() {
        let threshold = OverlapThreshold { min_run: 12, min_whole_length: 6, unspaced_weight: 2 };
        for (text, other, expected) in [
            ("Bob's birthday is May 3rd", "so my  BIRTHDAY is may 3rd!", true),
            ("May 3rd", "it is on may 3rd, I think", true),
            ("it is on May 3rd, I think", "May 3rd", false),
            ("May 3", "it is on May 3", false),
            ("we meet on Monday", "we met on Tuesday", false),
            ("誕生日は5月3日です", "ボブの誕生日は5月3日", true),
            ("5月3日", "ボブの誕生日は5月3日", true),
            ("今日は雨", "明日は晴れです", false),
            ("", "", false),
        ] {
            assert_eq!(
                OverlapIndex::new([text], threshold).has_overlap_with(other),
                expected,
                "{text} {other}"
            );
        }
    }
}
