//! Finds the users that a message addresses or mentions by name, as users write names: in full, abbreviated, or with a
//! typo.

use std::collections::{HashMap, HashSet};

use crate::reader::split_words;

/// The minimum length of a name without a punctuation mark after it. A name that is a common word always needs one.
const MIN_BARE_NAME_LENGTH: usize = 3;
const AMBIGUOUS_NAMES: [&str; 20] = [
    "any", "can", "mark", "may", "will", "how", "what", "the", "for", "you", "hey", "hello", "yes",
    "and", "but", "help", "root", "user", "now", "well",
];
/// The minimum length of an abbreviation of a name, and of a name in which typos are tolerated.
const MIN_FUZZY_LENGTH: usize = 4;
/// The minimum length of a name that may have two typos.
const MIN_TWO_TYPO_LENGTH: usize = 7;

/// All users who may be addressed. A user is a number that the caller assigns. A channel may have thousands of users,
/// so only a few of them are compared with a text.
#[derive(Clone, Debug, Default)]
pub struct NameIndex {
    users: Vec<IndexedUser>,
    ids: HashSet<u32>,
    /// The places in `users`, in order, of names by their first and their last character.
    by_first: HashMap<char, Vec<usize>>,
    by_last: HashMap<char, Vec<usize>>,
    /// The places of names that a text may contain as one word.
    by_word: HashMap<String, Vec<usize>>,
    /// The places of names that may occur anywhere in a text.
    anywhere: Vec<usize>,
}

#[derive(Clone, Debug)]
struct IndexedUser {
    id: u32,
    /// The name in lower case.
    name: String,
    characters: Vec<char>,
    /// An approximate set of its characters.
    character_set: u64,
    /// Whether it counts as a name without a mark after it.
    is_plain: bool,
}

/// The user whom a text addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Addressed<'t> {
    pub user: Option<u32>,
    /// The text after the name that it begins with.
    pub body: &'t str,
}

impl NameIndex {
    pub fn knows(&self, id: u32) -> bool {
        self.ids.contains(&id)
    }

    /// Adds a user with their name in lower case, unless they are known.
    pub fn insert(&mut self, id: u32, name: &str) {
        let (Some(first), Some(last)) = (name.chars().next(), name.chars().next_back()) else {
            return;
        };
        if !self.ids.insert(id) {
            return;
        }
        let place = self.users.len();
        let user = IndexedUser::new(id, name);
        let is_common = AMBIGUOUS_NAMES.contains(&name);
        self.by_first.entry(first).or_default().push(place);
        self.by_last.entry(last).or_default().push(place);
        match name.is_ascii() && !name.contains(' ') {
            true if name.len() >= MIN_BARE_NAME_LENGTH && !is_common => {
                self.by_word.entry(name.to_owned()).or_default().push(place);
            }
            true => {}
            false if user.characters.len() >= 2 => self.anywhere.push(place),
            false => {}
        }
        self.users.push(user);
    }

    /// The user whom a text in lower case addresses with its first or last words. Authors never address themselves, and
    /// a typo that matches two names matches neither.
    pub fn find_addressee<'t>(&self, text: &'t str, author: u32) -> Addressed<'t> {
        let called = text.trim_start_matches(['@', '＠', ' ', '<']);
        let behind = |name: &str| trim_name_end(called.strip_prefix(name).unwrap_or(called));
        let word = first_word(text);
        let plain = text.trim_start_matches(['@', '＠', ' ']);
        let firsts = [plain.chars().next(), word.and_then(|word| word.chars().next())];
        let found = firsts.into_iter().flatten().filter_map(|first| {
            self.first_of(self.by_first.get(&first), author, |user| {
                is_name_prefix(text, plain, word, user)
            })
        });
        if let Some(user) = found.min().map(|place| &self.users[place]) {
            return Addressed { user: Some(user.id), body: behind(&user.name) };
        }
        if let Some(word) = word.filter(|word| !AMBIGUOUS_NAMES.contains(word)) {
            let characters: Vec<char> = word.chars().collect();
            let set = character_set(word);
            let others = self.users.iter().filter(|user| user.id != author);
            let mut matches = others.filter(|user| is_fuzzy_match(&characters, set, user));
            if let (Some(user), None) = (matches.next(), matches.next()) {
                return Addressed { user: Some(user.id), body: behind(word) };
            }
        }
        let end = name_end(text);
        let last = end.chars().next_back().and_then(|last| {
            let ending = self.by_last.get(&last);
            self.first_of(ending, author, |user| is_name_suffix(text, end, user))
        });
        Addressed { user: last.map(|place| self.users[place].id), body: text }
    }

    /// The first of these places with a user other than the author for whom `holds` is true.
    fn first_of(
        &self,
        places: Option<&Vec<usize>>,
        author: u32,
        holds: impl Fn(&IndexedUser) -> bool,
    ) -> Option<usize> {
        let mut places = places?.iter().copied();
        places.find(|place| {
            let user = &self.users[*place];
            user.id != author && holds(user)
        })
    }

    /// The users whose names occur anywhere in a text in lower case.
    pub fn find_named(&self, text: &str, author: u32) -> Vec<u32> {
        let words = split_words(text).filter(|word| word.len() >= MIN_BARE_NAME_LENGTH);
        let mut places: Vec<usize> = Vec::new();
        if !self.by_word.is_empty() {
            places.extend(words.filter_map(|word| self.by_word.get(word)).flatten());
        }
        if !self.anywhere.is_empty() {
            // Most names contain a character that the text lacks, and checking that is cheaper than searching for the
            // name.
            let set = character_set(text);
            let is_there = |place: &&usize| {
                let user = &self.users[**place];
                user.character_set & !set == 0 && text.contains(&user.name)
            };
            places.extend(self.anywhere.iter().filter(is_there));
        }
        places.sort_unstable();
        places.dedup();
        let users = places.into_iter().map(|place| self.users[place].id);
        users.filter(|user| *user != author).collect()
    }
}

impl IndexedUser {
    fn new(id: u32, name: &str) -> Self {
        let characters: Vec<char> = name.chars().collect();
        Self {
            id,
            name: name.to_owned(),
            character_set: character_set(name),
            is_plain: characters.len() >= MIN_BARE_NAME_LENGTH && !AMBIGUOUS_NAMES.contains(&name),
            characters,
        }
    }
}

/// Whether a text in lower case may address or mention a user with this name in lower case. If not, that user makes no
/// difference to how it is read.
pub fn may_name(text: &str, name: &str) -> bool {
    let resembles = |word: &str| {
        let characters: Vec<char> = word.chars().collect();
        is_fuzzy_match(&characters, character_set(word), &IndexedUser::new(0, name))
    };
    text.contains(name) || first_word(text).is_some_and(resembles)
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

/// Whether a text begins with the user's name as an address, both in lower case: `bob: …`, `bob, …`, `bob - …`, `@bob
/// …`, `bob what …`, `<bob> …`, `花子さん、…`. `called` is the text without a mark before the name.
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

/// The text without the marks after its last word.
fn name_end(text: &str) -> &str {
    let end =
        text.trim_end_matches(|character: char| !character.is_alphanumeric() && character != '_');
    end.strip_suffix("さん").unwrap_or(end)
}

/// Whether a text ends with the user's name as an address: `…, bob?`, `thanks bob!`; but not `where is bob?`, which is
/// about Bob.
fn is_name_suffix(text: &str, end: &str, user: &IndexedUser) -> bool {
    let name = user.name.as_str();
    let is_long = || user.characters.len() >= MIN_FUZZY_LENGTH || !name.is_ascii();
    let before = end.strip_suffix(name).filter(|_| is_long());
    before.is_some_and(|before| match before.trim_end().chars().next_back() {
        Some(',' | '、' | '，') => true,
        Some(_) => before.ends_with([' ', '@']) && !text.contains(['?', '？']),
        None => false,
    })
}

/// The first word, if a mark after it indicates that it addresses a user.
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

/// Whether a word is an abbreviation or a misspelling of the name: `roland` for `rolandpish`, `bob` for `bob_42`,
/// `sjohnosn` for `sjohnson`.
fn is_fuzzy_match(word: &[char], word_set: u64, user: &IndexedUser) -> bool {
    let name = &user.characters[..];
    let shorter = word.len().min(name.len());
    // Most names begin with another character, and checking that is cheaper than comparing two slices.
    let rest = if name.first() == word.first() { name.strip_prefix(word) } else { None };
    let is_stem = word.len() >= MIN_BARE_NAME_LENGTH
        && rest.is_some_and(|rest| rest.iter().all(|character| !character.is_alphabetic()));
    let is_short = word.len() >= MIN_FUZZY_LENGTH && rest.is_some();
    let most = if shorter < MIN_TWO_TYPO_LENGTH { 1 } else { 2 };
    let is_close = || {
        shorter >= MIN_FUZZY_LENGTH
            && word.len().abs_diff(name.len()) <= most
            // A wrong character removes one from the set and adds another.
            && (word_set ^ user.character_set).count_ones() as usize <= 2 * most
            && edit_distance(word, name) <= most
    };
    is_stem || is_short || is_close()
}

/// An approximate set of the characters of a text, without their order and number.
fn character_set(text: &str) -> u64 {
    text.chars().fold(0, |set, character| set | 1 << (u32::from(character) % 64))
}

/// The edit distance: the number of characters that are wrong, missing, superfluous or swapped with a neighbor.
fn edit_distance(word: &[char], name: &[char]) -> usize {
    let mut before: Vec<usize> = Vec::new();
    let mut row: Vec<usize> = (0..=name.len()).collect();
    for (i, character) in word.iter().enumerate() {
        let mut next = vec![i + 1];
        for (j, other) in name.iter().enumerate() {
            let swapped = i > 0 && j > 0 && *character == name[j - 1] && word[i - 1] == *other;
            let changed = row[j] + usize::from(character != other);
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
            // The name is ambiguous.
            ("dorc: look", None),
            // Authors never address themselves.
            ("ida: that is me", None),
            ("", None),
            ("…", None),
        ] {
            let addressee = index().find_addressee(text, 4).user;
            assert_eq!(addressee.map(|id| NAMES[id as usize]), expected, "{text}");
        }
    }

    /// Compares each user with the text, one after the other.
    fn addressee_by_search(index: &NameIndex, text: &str, author: u32) -> Option<u32> {
        let others = || index.users.iter().filter(|user| user.id != author);
        let (word, end) = (first_word(text), name_end(text));
        let plain = text.trim_start_matches(['@', '＠', ' ']);
        let prefix = others().find(|user| is_name_prefix(text, plain, word, user));
        let fuzzy = || {
            let word: Vec<char> =
                word.filter(|word| !AMBIGUOUS_NAMES.contains(word))?.chars().collect();
            let mut matches = others().filter(|user| {
                // With every character in both sets, no user is ruled out by the set.
                let user = IndexedUser { character_set: u64::MAX, ..(*user).clone() };
                is_fuzzy_match(&word, u64::MAX, &user)
            });
            matches.next().filter(|_| matches.next().is_none())
        };
        let suffix = || others().find(|user| is_name_suffix(text, end, user));
        prefix.or_else(fuzzy).or_else(suffix).map(|user| user.id)
    }

    #[test]
    fn few_users_are_compared_with_a_text_and_the_same_are_found() {
        let names = [
            "ann", "anna", "ann lee", "bob", "bob_42", "花子", "花子さん", "carl-heinz",
            "carlheinz", "dorothea", "dorothee", "élise", "may", "x", "zoë", "ann",
        ];
        let mut index = NameIndex::default();
        for (name, id) in names.iter().zip(0..) {
            index.insert(id, name);
        }
        let parts = [
            "ann", "anna:", "@ann", "<bob>", "bob_42,", "bob,", "花子、", "花子さん", "carl-heinz",
            "carlhienz:", "dorothe:", "dorothae,", "élise", "may", "zoë!", "thanks", "is it?", "x",
            "-", "ann lee", "bobb -", "carl..",
        ];
        let mut compared = 0;
        for one in parts {
            for other in parts {
                for third in ["", "so it goes", "ann", "花子さん"] {
                    for text in [format!("{one} {other} {third}"), format!("{one}{other} {third}")]
                    {
                        let expected = addressee_by_search(&index, &text, 3);
                        assert_eq!(index.find_addressee(&text, 3).user, expected, "{text}");
                        let named = names.iter().zip(0..).filter(|(name, id)| {
                            let words: Vec<&str> = split_words(&text).collect();
                            *id != 3
                                && match name.is_ascii() && !name.contains(' ') {
                                    true => {
                                        name.len() >= 3
                                            && !AMBIGUOUS_NAMES.contains(name)
                                            && words.contains(name)
                                    }
                                    false => name.chars().count() >= 2 && text.contains(*name),
                                }
                        });
                        let named: Vec<u32> = named.map(|(_, id)| id).collect();
                        assert_eq!(index.find_named(&text, 3), named, "{text}");
                        compared += usize::from(expected.is_some() || !named.is_empty());
                        for name in names.iter().filter(|name| !may_name(&text, name)) {
                            let mut fewer = NameIndex::default();
                            for (other, id) in names.iter().zip(0..).filter(|(it, _)| it != &name) {
                                fewer.insert(id, other);
                            }
                            assert_eq!(fewer.find_addressee(&text, 3).user, expected, "{text}");
                            assert_eq!(fewer.find_named(&text, 3), named, "{text}");
                        }
                    }
                }
            }
        }
        assert!(compared > 1000, "{compared}");
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
