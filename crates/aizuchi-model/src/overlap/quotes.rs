//! Finds quotes from many texts in bounded memory, by the hashes of their runs of characters.

use crate::overlap::normalize;

/// The number of consecutive characters that count as a quote. Shorter runs are too generic to attribute.
pub const RUN_LENGTH: usize = 16;

/// A prime below 2^61, by which the rolling hash is reduced.
const MODULUS: u64 = (1 << 61) - 1;
const BASE: u64 = 0x0b4c_1f09_73d5_a2e7;

/// The hashes of all runs of some texts: eight bytes for each character, independent of the content.
#[derive(Clone, Debug, Default)]
pub struct QuoteIndex {
    hashes: Vec<u64>,
}

impl QuoteIndex {
    pub fn new<'a>(texts: impl IntoIterator<Item = &'a str>) -> Self {
        let mut index = Self::default();
        for text in texts {
            index.add(text);
        }
        index.finish();
        index
    }

    /// Allocates space for this many characters at once, since a growing list takes twice its size.
    pub fn with_capacity(characters: usize) -> Self {
        Self { hashes: Vec::with_capacity(characters) }
    }

    /// Adds a text. It can be found only after [`QuoteIndex::finish`].
    pub fn add(&mut self, text: &str) {
        self.hashes.extend(run_hashes(text));
    }

    pub fn finish(&mut self) {
        self.hashes.sort_unstable();
        self.hashes.dedup();
    }

    pub fn len(&self) -> usize {
        self.hashes.len()
    }

    pub fn is_empty(&self) -> bool {
        self.hashes.is_empty()
    }

    /// Returns the hashes of the runs that a text shares with the texts of this index.
    pub fn shared_runs(&self, text: &str) -> Vec<u64> {
        if self.is_empty() {
            return Vec::new();
        }
        run_hashes(text).into_iter().filter(|hash| self.contains(*hash)).collect()
    }

    pub fn contains(&self, hash: u64) -> bool {
        self.hashes.binary_search(&hash).is_ok()
    }
}

/// Returns the hash of every run, each computed from the previous one (Rabin and Karp).
fn run_hashes(text: &str) -> Vec<u64> {
    let characters: Vec<u64> =
        normalize(text).chars().map(|character| u64::from(character) + 1).collect();
    if characters.len() < RUN_LENGTH {
        return Vec::new();
    }
    let leaving = (1..RUN_LENGTH).fold(1, |power, _| multiply(power, BASE));
    let mut hashes = Vec::with_capacity(characters.len() - RUN_LENGTH + 1);
    let mut hash =
        characters[..RUN_LENGTH].iter().fold(0, |hash, character| push(hash, *character));
    hashes.push(hash);
    for (first, next) in characters.iter().zip(&characters[RUN_LENGTH..]) {
        hash = push(subtract(hash, multiply(*first, leaving)), *next);
        hashes.push(hash);
    }
    hashes
}

fn push(hash: u64, character: u64) -> u64 {
    (multiply(hash, BASE) + character) % MODULUS
}

fn subtract(hash: u64, other: u64) -> u64 {
    (hash + MODULUS - other) % MODULUS
}

fn multiply(one: u64, other: u64) -> u64 {
    (u128::from(one) * u128::from(other) % u128::from(MODULUS)) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quote_is_a_run_of_sixteen_characters() {
        let index = QuoteIndex::new([
            "The roof of the shed leaks.",
            "犬を二匹飼っています、名前は梅と竹",
            "ok",
        ]);
        for (text, expected) in [
            ("somebody's roof of  the SHED leaks now", true),
            ("a roof of a shed", false),
            ("roof of the shed l", true),
            ("roof of the shed", true),
            ("roof of the shad", false),
            ("犬を二匹飼っています、名前は梅と竹らしい", true),
            ("犬を二匹飼っています", false),
            ("ok", false),
            ("", false),
        ] {
            assert_eq!(!index.shared_runs(text).is_empty(), expected, "{text}");
        }
    }

    #[test]
    fn a_rolled_hash_is_that_of_its_run_alone() {
        let text = "each run is hashed from the run before it";
        let characters: Vec<char> = text.chars().collect();
        let alone = characters.windows(RUN_LENGTH).map(|run| run.iter().collect::<String>());
        let alone: Vec<u64> = alone
            .map(|run| run.chars().fold(0, |hash, character| push(hash, u64::from(character) + 1)))
            .collect();
        assert_eq!(run_hashes(text), alone);
    }
}
