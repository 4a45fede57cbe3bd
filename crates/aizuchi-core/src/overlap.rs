//! What tells that one text repeats another: letters in a row that stand in both.

use std::collections::HashSet;

/// How much has to come again to be taken for a quotation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OverlapThreshold {
    /// So many letters in a row.
    pub min_run: usize,
    /// A text that is shorter than a run counts if it comes again whole and has so many letters.
    pub min_whole_length: usize,
    /// A letter of a script without spaces counts as so many.
    pub unspaced_weight: usize,
}

/// What texts can be quoted by.
#[derive(Clone, Debug)]
pub struct OverlapIndex {
    measure: OverlapThreshold,
    runs: HashSet<Vec<char>>,
    short_texts: HashSet<String>,
}

/// Does a text hold a name, both in lower case? One that is written in Latin letters stands as a word of its
/// own.
pub fn has_name(text: &str, name: &str) -> bool {
    !name.is_empty()
        && text.match_indices(name).any(|(at, _)| {
            let before = text[..at].chars().next_back();
            let after = text[at + name.len()..].chars().next();
            ![before, after].into_iter().flatten().any(|letter| letter.is_ascii_alphanumeric())
        })
}

impl OverlapIndex {
    pub fn new<'a>(texts: impl IntoIterator<Item = &'a str>, measure: OverlapThreshold) -> Self {
        let mut quotes = Self { measure, runs: HashSet::new(), short_texts: HashSet::new() };
        for text in texts {
            let text = normalize(text);
            let letters: Vec<char> = text.chars().collect();
            if measure.weight(&letters) >= measure.min_run {
                quotes.runs.extend(measure.runs(&letters).map(<[char]>::to_vec));
            } else if measure.weight(&letters) >= measure.min_whole_length {
                quotes.short_texts.insert(text);
            }
        }
        quotes
    }

    pub fn has_overlap_with(&self, text: &str) -> bool {
        let text = normalize(text);
        let letters: Vec<char> = text.chars().collect();
        self.short_texts.iter().any(|quote| text.contains(quote))
            || self.measure.runs(&letters).any(|run| self.runs.contains(run))
    }
}

impl OverlapThreshold {
    fn weight(self, letters: &[char]) -> usize {
        letters
            .iter()
            .map(|letter| if is_unspaced(*letter) { self.unspaced_weight } else { 1 })
            .sum()
    }

    /// From each letter on, as many as it takes.
    fn runs(self, letters: &[char]) -> impl Iterator<Item = &[char]> {
        (0..letters.len()).filter_map(move |from| {
            let longest = (letters.len() - from).min(self.min_run);
            let behind = &letters[from..from + longest];
            let length =
                (1..=longest).find(|length| self.weight(&behind[..*length]) >= self.min_run);
            length.map(|length| &behind[..length])
        })
    }
}

/// Lower-cased, with single spaces.
pub fn normalize(text: &str) -> String {
    text.to_lowercase().split_whitespace().collect::<Vec<_>>().join(" ")
}

fn is_unspaced(letter: char) -> bool {
    matches!(letter, '\u{3005}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_repeats_another_by_a_run_of_letters_or_as_a_whole() {
        let measure = OverlapThreshold { min_run: 12, min_whole_length: 6, unspaced_weight: 2 };
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
                OverlapIndex::new([text], measure).has_overlap_with(other),
                expected,
                "{text} {other}"
            );
        }
    }
}
