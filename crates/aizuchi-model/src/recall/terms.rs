//! The search terms of a message: its words, in lower case and without common English endings, and every pair of
//! neighboring characters in scripts without spaces between words.

use std::borrow::Cow;
use std::char::ToLowercase;
use std::hash::{DefaultHasher, Hash, Hasher};

use unicode_normalization::UnicodeNormalization;

/// The maximum length of a term in characters. Real words are shorter, and the beginning identifies anything longer.
const MAX_TERM_LENGTH: usize = 40;

/// Extracts the terms of a text in order, including repetitions.
pub fn extract_terms(text: &str) -> Vec<String> {
    let mut terms = Vec::new();
    for run in split_runs(&normalize_unicode(text)) {
        match run {
            TextRun::Word(word) => terms.push(stem(word)),
            TextRun::Unspaced(characters) => {
                terms.extend(characters.windows(2).map(|pair| pair.iter().collect::<String>()));
                // The last character alone, so that every character begins a term and can be searched for alone.
                terms.extend(characters.last().map(char::to_string));
            }
        }
    }
    terms
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SearchTerm {
    Term(String),
    /// One character of a script without spaces. It matches every term that begins with it.
    Prefix(String),
}

impl SearchTerm {
    pub fn is_match(&self, terms: &[String]) -> bool {
        match self {
            SearchTerm::Term(term) => terms.contains(term),
            SearchTerm::Prefix(character) => {
                terms.iter().any(|term| term.starts_with(character.as_str()))
            }
        }
    }

    /// The hash to look up in [`TermHashes`].
    pub fn hash(&self) -> u64 {
        match self {
            SearchTerm::Term(term) => hash_term(term),
            SearchTerm::Prefix(character) => character.chars().next().map_or(0, hash_character),
        }
    }
}

/// The hashes of a text's terms: they suffice to tell which search terms it contains, and are smaller and faster
/// than the terms.
#[derive(Clone, Debug)]
pub struct TermHashes {
    /// The number of terms, including repetitions.
    pub length: usize,
    /// The hashes, sorted. The first character of a term in a script without spaces has an additional hash.
    pub hashes: Box<[u64]>,
}

impl TermHashes {
    pub fn new(text: &str) -> Self {
        let terms = extract_terms(text);
        let mut hashes: Vec<u64> = terms
            .iter()
            .flat_map(|term| [Some(hash_term(term)), hash_beginning(term)])
            .flatten()
            .collect();
        hashes.sort_unstable();
        hashes.dedup();
        Self { length: terms.len(), hashes: hashes.into() }
    }

    /// Whether the text has a term with this [`SearchTerm::hash`].
    pub fn contains(&self, hash: u64) -> bool {
        self.hashes.binary_search(&hash).is_ok()
    }
}

fn hash_term(term: &str) -> u64 {
    // Its keys are fixed, so equal terms have equal hashes in all messages.
    let mut hasher = DefaultHasher::new();
    term.hash(&mut hasher);
    hasher.finish()
}

/// The hash of a term's first character, if that character can be searched for.
fn hash_beginning(term: &str) -> Option<u64> {
    term.chars().next().filter(|character| is_unspaced(*character)).map(hash_character)
}

fn hash_character(character: char) -> u64 {
    let mut hasher = DefaultHasher::new();
    character.hash(&mut hasher);
    hasher.finish()
}

/// The distinct search terms of a text. A long text yields only the `most` terms that are likely to be rare.
pub fn search_terms(text: &str, most: usize) -> Vec<SearchTerm> {
    let mut found: Vec<(usize, SearchTerm)> = Vec::new();
    for run in split_runs(&normalize_unicode(text)) {
        match run {
            TextRun::Word(word) => {
                found.push((word.chars().count(), SearchTerm::Term(stem(word))));
            }
            TextRun::Unspaced(characters) => {
                let pairs = characters.windows(2);
                found.extend(
                    pairs.map(|pair| (rarity(pair), SearchTerm::Term(pair.iter().collect()))),
                );
                if let [character] = characters[..] {
                    found.push((rarity(&characters), SearchTerm::Prefix(character.to_string())));
                }
            }
        }
    }
    found.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    found.dedup();
    found.into_iter().take(most).map(|(_, term)| term).collect()
}

/// The length of a Latin word that is about as rare. Hiragana is mostly grammar.
fn rarity(characters: &[char]) -> usize {
    let is_grammar = |character: &&char| matches!(character, '\u{3041}'..='\u{309f}');
    1 + 3 * (characters.len() - characters.iter().filter(is_grammar).count())
}

/// A run of characters that are tokenized together.
enum TextRun {
    Word(String),
    Unspaced(Vec<char>),
}

fn split_runs(text: &str) -> Vec<TextRun> {
    let mut runs = Vec::new();
    // Whether the newest run may continue.
    let mut is_open = false;
    for character in text.chars().flat_map(normalize_character) {
        if is_ignored(character) {
            continue;
        }
        let is_unspaced = is_unspaced(character);
        match runs.last_mut().filter(|_| is_open) {
            Some(TextRun::Word(word)) if character.is_alphanumeric() && !is_unspaced => {
                word.push(character)
            }
            Some(TextRun::Unspaced(characters)) if is_unspaced => characters.push(character),
            Some(_) | None if is_unspaced => runs.push(TextRun::Unspaced(vec![character])),
            Some(_) | None if character.is_alphanumeric() => {
                runs.push(TextRun::Word(character.into()))
            }
            Some(_) | None => {
                is_open = false;
                continue;
            }
        }
        is_open = true;
    }
    runs
}

/// Normalizes a character for comparison: lower case and not full-width.
fn normalize_character(character: char) -> ToLowercase {
    match character {
        '\u{ff01}'..='\u{ff5e}' => char::from_u32(character as u32 - 0xfee0).unwrap_or(character),
        _ => character,
    }
    .to_lowercase()
}

/// Applies NFKC: a single encoding of each character, with composed marks and without half-width forms.
pub fn normalize_unicode(text: &str) -> Cow<'_, str> {
    if text.is_ascii() { text.into() } else { text.nfkc().collect::<String>().into() }
}

/// Whether a character is ignored: apostrophes and combining marks do not end a word, and users omit them.
fn is_ignored(character: char) -> bool {
    matches!(character, '\'' | '’' | '\u{300}'..='\u{36f}')
}

/// Whether a character is Chinese, Japanese or Korean.
fn is_unspaced(character: char) -> bool {
    character >= '\u{3005}'
        && matches!(
            character,
            '々' | '〆' | '\u{3041}'..='\u{30fa}' | '\u{30fc}'..='\u{30ff}' | '\u{31f0}'..='\u{31ff}'
                | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{ac00}'..='\u{d7a3}'
                | '\u{f900}'..='\u{faff}' | '\u{ff66}'..='\u{ff9d}' | '\u{20000}'..='\u{3ffff}'
        )
}

/// Removes the common English ending of a word: `roses` is found by `rose`, `installing` by `install`.
pub fn stem(mut word: String) -> String {
    if !word.bytes().all(|character| character.is_ascii_lowercase()) {
        return word.chars().take(MAX_TERM_LENGTH).collect();
    }
    word.truncate(MAX_TERM_LENGTH);
    let is_plural =
        word.ends_with('s') && !["ss", "us", "is"].iter().any(|end| word.ends_with(end));
    if word.len() > 3 && is_plural {
        word.pop();
    }
    for ending in ["ing", "ed"] {
        let Some(rest) = word.strip_suffix(ending).filter(|rest| rest.len() > 2) else { continue };
        if rest.contains(['a', 'e', 'i', 'o', 'u', 'y']) {
            word.truncate(undouble(rest).len());
            break;
        }
    }
    if word.len() > 3 && word.ends_with('e') {
        word.pop();
    }
    if word.len() > 3 && word.ends_with('y') {
        word.pop();
        word.push('i');
    }
    word
}

/// Removes a doubled consonant: `runn` of `running` becomes `run`, but `install` keeps both characters.
fn undouble(rest: &str) -> &str {
    match rest.as_bytes() {
        [.., a, b] if a == b && rest.len() > 3 && !b"lsz".contains(b) => &rest[..rest.len() - 1],
        _ => rest,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> String {
        extract_terms(text).join(" ")
    }

    #[test]
    fn a_text_has_terms() {
        for (text, expected) in [
            ("", ""),
            ("!? … ・。", ""),
            ("Rust, RUST & Ｒｕｓｔ", "rust rust rust"),
            ("it's Ann’s café", "its ann café"),
            ("cafe\u{301} İ", "café i"),
            ("か\u{3099}", "が"),
            ("ﾗｰﾒﾝ", "ラー ーメ メン ン"),
            ("apt-get install libfoo2_1.0", "apt get install libfoo2 1 0"),
            ("犬", "犬"),
            ("京都", "京都 都"),
            ("東京都に行く。", "東京 京都 都に に行 行く く"),
            ("ラーメン・カレー", "ラー ーメ メン ン カレ レー ー"),
            ("Rust製のbot", "rust 製の の bot"),
            ("한국어 좋아", "한국 국어 어 좋아 아"),
            ("Привет МИР", "привет мир"),
        ] {
            assert_eq!(found(text), expected, "{text}");
        }
        assert_eq!(extract_terms(&"x".repeat(1000)), ["x".repeat(MAX_TERM_LENGTH)]);
        assert_eq!(extract_terms(&"é".repeat(1000)), ["é".repeat(MAX_TERM_LENGTH)]);
    }

    #[test]
    fn inflected_forms_are_the_same_term() {
        for (one, other) in [
            ("rose", "Roses"),
            ("installing", "installed"),
            ("run", "running"),
            ("query", "queries"),
            ("use", "uses"),
            ("configure", "configuring"),
            ("like", "likes"),
            ("like", "liking"),
            ("cookie", "cookies"),
        ] {
            assert_eq!(found(one), found(other));
        }
        for word in ["this", "bus", "class", "ssh", "red", "sing", "http2s"] {
            assert_eq!(found(word), word);
        }
    }

    #[test]
    fn a_query_finds_a_message_that_has_its_terms() {
        for (query, text) in [
            ("犬", "大きい犬"),
            ("犬", "犬が好き"),
            ("犬", "子犬と"),
            ("京都", "東京都"),
            ("東京都", "東京都に"),
            ("カレー", "カレーだ"),
            ("ラーメン", "ラーメン屋"),
            ("rust", "I like Rust."),
            ("roses", "a rose"),
        ] {
            let terms = extract_terms(text);
            assert!(
                search_terms(query, 16).iter().all(|term| term.is_match(&terms)),
                "{query} in {text}"
            );
        }
        let terms = extract_terms("猫がいる");
        assert!(!search_terms("犬 dog 京都", 16).iter().any(|term| term.is_match(&terms)));
    }

    #[test]
    fn a_long_query_keeps_the_terms_that_are_likely_rare() {
        let term = |term: &str| SearchTerm::Term(term.to_owned());
        assert_eq!(search_terms("how do I prune the roses, how?", 2), [term("prun"), term("ros")]);
        assert_eq!(search_terms("京都でたべる", 2), [term("京都"), term("都で")]);
        assert_eq!(search_terms("", 2), []);
    }

    #[test]
    fn hashes_tell_the_same_as_the_terms() {
        let texts = [
            "",
            "Who has the long ladder?",
            "the ladders",
            "京都に行く",
            "Rust製のbot",
            "犬",
            "の",
        ];
        for text in texts {
            let (terms, hashes) = (extract_terms(text), TermHashes::new(text));
            assert_eq!(hashes.length, terms.len());
            for term in texts.iter().flat_map(|other| search_terms(other, 100)) {
                assert_eq!(hashes.contains(term.hash()), term.is_match(&terms), "{text} {term:?}");
            }
        }
    }
}
