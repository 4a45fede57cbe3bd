//! Finds the user that a message addresses by its first or last words, as users write names: in full,
//! abbreviated, or with a typo.

use crate::chat::{UserId, starts_with_lowercase_name};

/// A shorter name, or a name that is a common word, only counts with a punctuation mark after it.
const MIN_BARE_NAME_LENGTH: usize = 3;
const AMBIGUOUS_NAMES: [&str; 6] = ["any", "can", "mark", "may", "will", "how"];
/// The shortest abbreviation of a name, and the shortest name in which typos are tolerated.
const MIN_FUZZY_LENGTH: usize = 4;
/// From this length on, a name may have two typos.
const MIN_TWO_TYPO_LENGTH: usize = 7;

/// All users who may be addressed, with their names in lower case.
#[derive(Debug)]
pub struct NameIndex<'a> {
    users: Vec<IndexedUser<'a>>,
}

#[derive(Debug)]
struct IndexedUser<'a> {
    id: &'a UserId,
    name: String,
    letters: Vec<char>,
}

impl<'a> NameIndex<'a> {
    pub fn new(users: Vec<(&'a UserId, String)>) -> Self {
        let indexed = users.into_iter().map(|(id, name)| {
            let letters = name.chars().collect();
            IndexedUser { id, name, letters }
        });
        Self { users: indexed.collect() }
    }

    /// The user that a text in lower case addresses. An author never addresses themselves, and a typo that fits
    /// two names matches neither.
    pub fn find_addressee(&self, text: &str, author: &UserId) -> Option<&'a UserId> {
        let others = || self.users.iter().filter(|user| user.id != author);
        let word = first_word(text);
        let exact = others().find(|user| is_name_prefix(text, word, &user.name));
        let fuzzy = || {
            let word: Vec<char> = word?.chars().collect();
            let mut matches = others().filter(|user| is_fuzzy_match(&word, &user.letters));
            matches.next().filter(|_| matches.next().is_none())
        };
        let last = || others().find(|user| is_name_suffix(text, &user.name));
        exact.or_else(fuzzy).or_else(last).map(|user| user.id)
    }
}

/// `bob: …`, `bob, …`, `bob - …`, `@bob …`, `bob what …`, `<bob> …`, `花子さん、…`; both in lower case.
fn is_name_prefix(text: &str, first_word: Option<&str>, name: &str) -> bool {
    let is_plain = name.chars().count() >= MIN_BARE_NAME_LENGTH && !AMBIGUOUS_NAMES.contains(&name);
    let called = text.trim_start_matches(['@', '＠', ' ']);
    let rest = called.strip_prefix(name).filter(|_| !name.is_empty());
    let is_bare = || rest.is_some_and(|rest| rest.starts_with(' ')) && is_plain;
    starts_with_lowercase_name(text, name) || is_bare() || (first_word == Some(name) && is_plain)
}

/// `…, bob?`, `thanks bob!`; but not `where is bob?`, which is about Bob.
fn is_name_suffix(text: &str, name: &str) -> bool {
    let end = text.trim_end_matches(|letter: char| !letter.is_alphanumeric() && letter != '_');
    let end = end.strip_suffix("さん").unwrap_or(end);
    let is_long = name.chars().count() >= MIN_FUZZY_LENGTH || !name.is_ascii();
    let before = end.strip_suffix(name).filter(|_| is_long && !name.is_empty());
    before.is_some_and(|before| match before.trim_end().chars().next_back() {
        Some(',' | '、' | '，') => true,
        Some(_) => before.ends_with([' ', '@']) && !text.contains(['?', '？']),
        None => false,
    })
}

/// The first word, if a mark after it shows that it addresses a user.
fn first_word(text: &str) -> Option<&str> {
    let text = text.trim_start_matches(['@', '＠', ' ']);
    if let Some((word, _)) = text.strip_prefix('<').and_then(|rest| rest.split_once(['>', ':'])) {
        return Some(word);
    }
    let end = text.find([' ', ':', ',', ';', '、', '：', '，'])?;
    let (word, rest) = text.split_at(end);
    let is_marked = !rest.starts_with(' ') || rest.starts_with(" - ");
    match word.strip_suffix('-').or_else(|| word.strip_suffix("..")) {
        Some(word) => Some(word),
        None => is_marked.then_some(word),
    }
}

/// `roland` for `rolandpish`, `bob` for `bob_42`, `sjohnosn` for `sjohnson`.
fn is_fuzzy_match(word: &[char], name: &[char]) -> bool {
    let shorter = word.len().min(name.len());
    let rest = name.strip_prefix(word);
    let is_stem = word.len() >= MIN_BARE_NAME_LENGTH
        && rest.is_some_and(|rest| rest.iter().all(|letter| !letter.is_alphabetic()));
    let is_short = word.len() >= MIN_FUZZY_LENGTH && rest.is_some();
    let most = if shorter < MIN_TWO_TYPO_LENGTH { 1 } else { 2 };
    let is_close = || {
        shorter >= MIN_FUZZY_LENGTH
            && word.len().abs_diff(name.len()) <= most
            && edit_distance(word, name) <= most
    };
    is_stem || is_short || is_close()
}

/// The number of letters that are wrong, missing, superfluous or swapped with a neighbor.
fn edit_distance(word: &[char], name: &[char]) -> usize {
    let mut before: Vec<usize> = Vec::new();
    let mut row: Vec<usize> = (0..=name.len()).collect();
    for (i, letter) in word.iter().enumerate() {
        let mut next = vec![i + 1];
        for (j, other) in name.iter().enumerate() {
            let swapped = i > 0 && j > 0 && *letter == name[j - 1] && word[i - 1] == *other;
            let changed = row[j] + usize::from(letter != other);
            let least = changed.min(row[j + 1] + 1).min(next[j] + 1);
            next.push(if swapped { least.min(before[j - 1] + 1) } else { least });
        }
        before = std::mem::replace(&mut row, next);
    }
    row[name.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_found_in_full_abbreviated_or_with_a_typo() {
        let names = ["bob_42", "carpenter", "花子", "may", "ida", "dora", "dorb"];
        let users: Vec<UserId> = names.iter().map(|name| UserId::new(*name)).collect();
        let known = users.iter().zip(names).map(|(user, name)| (user, name.to_owned()));
        let index = NameIndex::new(known.collect());
        for (text, expected) in [
            ("carpenter: look", Some("carpenter")),
            ("carpenter look", Some("carpenter")),
            ("carpenter - look", Some("carpenter")),
            ("carpenter- look", Some("carpenter")),
            ("<carpenter> a door", Some("carpenter")),
            ("carpneter: look", Some("carpenter")),
            ("@carpentr, look", Some("carpenter")),
            ("carpe: look", Some("carpenter")),
            ("car: look", None),
            ("carpe diem: look", None),
            ("carpet, tiles or wood?", None),
            ("bob, which door?", Some("bob_42")),
            ("bob which door?", None),
            ("may: which door?", Some("may")),
            ("may i ask something?", None),
            ("花子さん、ドアは？", Some("花子")),
            ("which door, carpenter?", Some("carpenter")),
            ("thank you carpenter!", Some("carpenter")),
            ("どのドアですか、花子さん", Some("花子")),
            ("where is carpenter?", None),
            ("they are no carpenters", None),
            // Ambiguous.
            ("dorc: look", None),
            // An author never addresses themselves.
            ("ida: that is me", None),
            ("", None),
            ("…", None),
        ] {
            let addressee = index.find_addressee(text, &UserId::new("ida"));
            assert_eq!(addressee.map(UserId::as_str), expected, "{text}");
        }
    }
}
