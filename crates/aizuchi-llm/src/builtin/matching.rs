//! Matches texts against phrases.

use crate::builtin::phrases::List;

/// The maximum length of a request. Real ones are shorter, but users may write any length, and each word is compared
/// with many.
const MAX_REQUEST_BYTES: usize = 500;

/// Whether a text says that something has changed: "it moved to Friday", 「やっぱり金曜」.
pub fn changes(text: &str) -> bool {
    let lower = normalize(text);
    List::Changes.phrases().iter().any(|phrase| lower.contains(phrase))
}

/// Whether the text is nothing but the phrase and filler words: "no, that's wrong", "and now summarize please",
/// 「いや、違うよ」.
pub fn is_alone(lower: &str, phrase: &str) -> bool {
    if lower.len() > MAX_REQUEST_BYTES {
        return false;
    }
    let mut rest = lower.trim_matches(is_mark);
    loop {
        if rest == phrase || without_softener(rest).is_some_and(|shorter| shorter == phrase) {
            return true;
        }
        match without_interjection(rest) {
            Some(shorter) => rest = shorter,
            None => return false,
        }
    }
}

/// Removes an interjection: "ok, …", "so …", 「いや、…」. `None` if nothing is left.
pub fn without_interjection(text: &str) -> Option<&str> {
    let behind = List::Interjections.phrases().iter().find_map(|word| {
        let rest = text.strip_prefix(word)?;
        let is_cut =
            word.is_ascii() && rest.starts_with(|character: char| character.is_alphanumeric());
        (!is_cut).then(|| rest.trim_start_matches(is_mark))
    });
    behind.filter(|rest| !rest.is_empty())
}

/// Removes a softener: "… please", 「…よ」.
pub fn without_softener(text: &str) -> Option<&str> {
    let before = List::Softeners.phrases().iter().find_map(|word| {
        let rest = text.strip_suffix(word)?;
        let is_cut = word.is_ascii() && !rest.ends_with(is_mark);
        (!is_cut).then(|| rest.trim_end_matches(is_mark))
    });
    before.filter(|rest| !rest.is_empty())
}

/// The text without all of these words at its beginning.
pub fn without_prefixes<'a>(text: &'a str, words: &[&str]) -> &'a str {
    let mut rest = text;
    while let Some(shorter) = words.iter().find_map(|word| rest.strip_prefix(word)) {
        rest = shorter.trim_start_matches(is_mark);
    }
    rest
}

/// Normalizes to lower case, straight quotes and single spaces.
pub fn normalize(text: &str) -> String {
    let characters = text.chars().map(|character| match character {
        '’' => '\'',
        character if character.is_whitespace() => ' ',
        character => character,
    });
    characters.collect::<String>().to_lowercase()
}

/// Whether the text contains one of the phrases.
pub fn holds_any(lower: &str, phrases: &[&str]) -> bool {
    phrases.iter().any(|phrase| holds(lower, phrase))
}

/// Whether the text contains the phrase; a phrase in Latin letters must match whole words. A star matches any text.
pub fn holds(lower: &str, phrase: &str) -> bool {
    let mut rest = lower;
    phrase.split('*').map(str::trim).all(|part| {
        let mut places = rest.match_indices(part).map(|(at, _)| at);
        let found = places.find(|at| is_whole_word(rest, *at, part));
        rest = found.map_or(rest, |at| &rest[at + part.len()..]);
        found.is_some()
    })
}

/// Whether the phrase at this position is not part of a longer word in Latin letters.
fn is_whole_word(lower: &str, at: usize, phrase: &str) -> bool {
    let is_word = |character: Option<char>| {
        character.is_some_and(|character| character.is_ascii_alphanumeric())
    };
    let begins = phrase.starts_with(|character: char| character.is_ascii_alphanumeric());
    let ends = phrase.ends_with(|character: char| character.is_ascii_alphanumeric());
    let before = begins && is_word(lower[..at].chars().next_back());
    let behind = ends && is_word(lower[at + phrase.len()..].chars().next());
    !before && !behind
}

pub fn is_mark(character: char) -> bool {
    character.is_whitespace() || "?!.,…？！。、，".contains(character)
}

pub fn is_separator(character: char) -> bool {
    character.is_whitespace() || ",:、，：".contains(character)
}
