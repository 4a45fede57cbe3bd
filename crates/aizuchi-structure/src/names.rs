//! Finds the users that a message addresses or names, as users write names: in full, abbreviated, or with a typo.

use crate::reader::split_words;

/// A shorter name, or a name that is a common word, only counts with a punctuation mark after it.
const MIN_BARE_NAME_LENGTH: usize = 3;
const AMBIGUOUS_NAMES: [&str; 20] = [
    "any", "can", "mark", "may", "will", "how", "what", "the", "for", "you", "hey", "hello", "yes",
    "and", "but", "help", "root", "user", "now", "well",
];
/// The shortest abbreviation of a name, and the shortest name in which typos are tolerated.
const MIN_FUZZY_LENGTH: usize = 4;
/// From this length on, a name may have two typos.
const MIN_TWO_TYPO_LENGTH: usize = 7;

/// All users who may be addressed. A user is a number that the caller gives.
#[derive(Debug, Default)]
pub struct NameIndex {
    users: Vec<IndexedUser>,
}

#[derive(Debug)]
struct IndexedUser {
    id: u32,
    /// In lower case.
    name: String,
    letters: Vec<char>,
    /// It needs no mark after it to be a name.
    is_plain: bool,
}

/// Whom a text addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Addressed<'t> {
    pub user: Option<u32>,
    /// The text behind the name that it begins with.
    pub body: &'t str,
}

impl NameIndex {
    /// Adds a user with their name in lower case, unless they are known.
    pub fn insert(&mut self, id: u32, name: &str) {
        if !name.is_empty() && !self.users.iter().any(|user| user.id == id) {
            let letters: Vec<char> = name.chars().collect();
            let is_plain =
                letters.len() >= MIN_BARE_NAME_LENGTH && !AMBIGUOUS_NAMES.contains(&name);
            self.users.push(IndexedUser { id, name: name.to_owned(), letters, is_plain });
        }
    }

    /// The user that a text in lower case addresses by its first or last words. An author never addresses
    /// themselves, and a typo that fits two names matches neither.
    pub fn find_addressee<'t>(&self, text: &'t str, author: u32) -> Addressed<'t> {
        let others = || self.users.iter().filter(|user| user.id != author);
        let called = text.trim_start_matches(['@', '＠', ' ', '<']);
        let behind = |name: &str| trim_name_end(called.strip_prefix(name).unwrap_or(called));
        let word = first_word(text);
        let plain = text.trim_start_matches(['@', '＠', ' ']);
        if let Some(user) = others().find(|user| is_name_prefix(text, plain, word, user)) {
            return Addressed { user: Some(user.id), body: behind(&user.name) };
        }
        if let Some(word) = word.filter(|word| !AMBIGUOUS_NAMES.contains(word)) {
            let letters: Vec<char> = word.chars().collect();
            let mut matches = others().filter(|user| is_fuzzy_match(&letters, &user.letters));
            if let (Some(user), None) = (matches.next(), matches.next()) {
                return Addressed { user: Some(user.id), body: behind(word) };
            }
        }
        let end = name_end(text);
        let last = others().find(|user| is_name_suffix(text, end, user));
        Addressed { user: last.map(|user| user.id), body: text }
    }

    /// The users whose names stand anywhere in a text in lower case.
    pub fn find_named(&self, text: &str, author: u32) -> Vec<u32> {
        let words: Vec<&str> = split_words(text).collect();
        let is_named = |user: &&IndexedUser| {
            let name = user.name.as_str();
            user.id != author
                && match name.is_ascii() && !name.contains(' ') {
                    true => {
                        name.len() >= MIN_BARE_NAME_LENGTH
                            && !AMBIGUOUS_NAMES.contains(&name)
                            && words.contains(&name)
                    }
                    false => user.letters.len() >= 2 && text.contains(name),
                }
        };
        self.users.iter().filter(is_named).map(|user| user.id).collect()
    }
}

/// The name that a text begins with, if any: `bob: …`, `@bob, …`, `花子さん、…`.
pub fn leading_name(text: &str) -> Option<&str> {
    let text = text.trim_start_matches(['@', '＠', ' ']);
    let (name, _) = text.split_once([':', ',', '、', '：', '，', '。'])?;
    let name = name.strip_suffix("さん").unwrap_or(name);
    (!name.is_empty()).then_some(name)
}

fn trim_name_end(rest: &str) -> &str {
    let rest = rest.strip_prefix("さん").unwrap_or(rest);
    rest.trim_start_matches([':', ',', ';', '、', '：', '，', '>', '-', ' '])
}

/// `bob: …`, `bob, …`, `bob - …`, `@bob …`, `bob what …`, `<bob> …`, `花子さん、…`; both in lower case.
/// `called` is the text without a mark before the name.
fn is_name_prefix(text: &str, called: &str, first_word: Option<&str>, user: &IndexedUser) -> bool {
    let (name, is_plain) = (user.name.as_str(), user.is_plain);
    let Some(rest) = called.strip_prefix(name) else {
        return is_plain && first_word == Some(name);
    };
    let is_mention = text.starts_with(['@', '＠']);
    let is_polite = rest.starts_with("さん") && !name.is_ascii();
    let marked = rest.strip_prefix("さん").unwrap_or(rest);
    marked.starts_with([':', ',', '、', '：', '，', '。'])
        || is_mention
        || (is_plain && (rest.starts_with(' ') || is_polite || first_word == Some(name)))
}

/// A text without the marks behind its last word.
fn name_end(text: &str) -> &str {
    let end = text.trim_end_matches(|letter: char| !letter.is_alphanumeric() && letter != '_');
    end.strip_suffix("さん").unwrap_or(end)
}

/// `…, bob?`, `thanks bob!`; but not `where is bob?`, which is about Bob.
fn is_name_suffix(text: &str, end: &str, user: &IndexedUser) -> bool {
    let name = user.name.as_str();
    let is_long = || user.letters.len() >= MIN_FUZZY_LENGTH || !name.is_ascii();
    let before = end.strip_suffix(name).filter(|_| is_long());
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

    const NAMES: [&str; 7] = ["bob_42", "carpenter", "花子", "may", "ida", "dora", "dorb"];

    fn index() -> NameIndex {
        let mut index = NameIndex::default();
        for (name, id) in NAMES.iter().zip(0..) {
            index.insert(id, name);
        }
        index
    }

    #[test]
    fn a_name_is_found_in_full_abbreviated_or_with_a_typo() {
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
            ("@may which door", Some("may")),
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
            let addressee = index().find_addressee(text, 4).user;
            assert_eq!(addressee.map(|id| NAMES[id as usize]), expected, "{text}");
        }
    }

    #[test]
    fn only_a_leading_name_is_called() {
        for (text, expected) in [
            ("bob: who has the key?", Some("bob")),
            ("@bob, who has the key?", Some("bob")),
            ("花子さん、鍵はどこですか", Some("花子")),
            ("Ann Lee, is it you?", Some("Ann Lee")),
            // Only the channel knows whether this is a name.
            ("ok, who has the key?", Some("ok")),
            ("who has the key?", None),
            ("", None),
            (": what?", None),
        ] {
            assert_eq!(leading_name(text), expected, "{text}");
        }
    }

    #[test]
    fn a_name_anywhere_counts_as_a_whole_word() {
        assert_eq!(index().find_named("where is carpenter?", 0), [1]);
        assert!(index().find_named("they are no carpenters", 0).is_empty());
        assert_eq!(index().find_named("花子さんの件", 0), [2]);
        assert_eq!(index().find_addressee("carpenter: look", 0).body, "look");
    }
}
