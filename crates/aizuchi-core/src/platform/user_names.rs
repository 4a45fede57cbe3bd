//! Finds the people whom a text calls: `@` and a name that somebody has. Names may hold blanks, and
//! Japanese ones stand beside other letters.

use std::collections::HashMap;

use crate::chat::{AuthorKind, UserId};
use crate::store::StoredMessage;

/// Whoever has spoken among so many lines is there to be called.
pub const RECENT_MESSAGES: usize = 100;
/// In letters; no name is longer.
const MAX_NAME_LENGTH: usize = 80;
/// What a name may be followed by where letters of its own script would make another name of it.
const HONORIFICS: [&str; 11] =
    ["さん", "ちゃん", "くん", "さま", "様", "氏", "君", "殿", "先生", "先輩", "部長"];

/// Who is there to be called, by names in small letters. Two of one name are nobody.
pub struct UserNames(HashMap<String, UserId>);

impl UserNames {
    /// Those who have spoken in these lines.
    pub fn from_messages(lines: &[StoredMessage]) -> Self {
        let mut people: HashMap<String, Option<UserId>> = HashMap::new();
        for line in lines.iter().filter(|line| line.message.author.kind == AuthorKind::Human) {
            let author = &line.message.author.id;
            let known =
                people.entry(line.author_name.to_lowercase()).or_insert(Some(author.clone()));
            if known.as_ref() != Some(author) {
                *known = None;
            }
        }
        Self(people.into_iter().filter_map(|(name, user)| Some((name, user?))).collect())
    }

    pub fn find_user(&self, name: &str) -> Option<UserId> {
        self.0.get(&name.to_lowercase()).cloned()
    }
}

pub enum TextPart<'a> {
    Text(&'a str),
    Mention(UserId),
}

/// The words of a text, and whom it calls between them.
pub fn split_mentions<'a>(
    text: &'a str,
    people: &dyn Fn(&str) -> Option<UserId>,
) -> Vec<TextPart<'a>> {
    let mut parts = Vec::new();
    let mut from = 0;
    for (at, sign) in text.match_indices(['@', '＠']) {
        if at < from || is_within_word(&text[..at]) {
            continue;
        }
        let behind = at + sign.len();
        if let Some((length, person)) = longest_name(&text[behind..], people) {
            parts.push(TextPart::Text(&text[from..at]));
            parts.push(TextPart::Mention(person));
            from = behind + length;
        }
    }
    parts.push(TextPart::Text(&text[from..]));
    parts
}

/// As in `anna@example.org` and `https://example.org/@anna`.
fn is_within_word(before: &str) -> bool {
    before.ends_with(|letter: char| {
        letter.is_ascii_alphanumeric() || "_./-=&?#%+~@＠".contains(letter)
    })
}

/// The longest name that the text begins with.
fn longest_name(from: &str, people: &dyn Fn(&str) -> Option<UserId>) -> Option<(usize, UserId)> {
    let near = from.split(['@', '＠', '\n']).next().unwrap_or(from);
    let ends: Vec<usize> = near
        .char_indices()
        .map(|(at, letter)| at + letter.len_utf8())
        .take(MAX_NAME_LENGTH)
        .collect();
    ends.into_iter().rev().find_map(|end| {
        let name = &from[..end];
        let is_name = name.trim() == name && is_name_boundary(name, &from[end..]);
        Some((end, is_name.then(|| people(name)).flatten()?))
    })
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Script {
    Hiragana,
    Katakana,
    Kanji,
    /// Letters that make words between blanks.
    SpaceSeparated,
    NotALetter,
}

fn is_name_boundary(name: &str, rest: &str) -> bool {
    let mut letters = rest.chars();
    let (Some(last), Some(next)) = (name.chars().next_back(), letters.next()) else {
        return true;
    };
    match (script_of(last), script_of(next)) {
        (Script::SpaceSeparated, Script::SpaceSeparated) => false,
        // `@anna-lee` and `@anna.lee` are not anna.
        (Script::SpaceSeparated, Script::NotALetter) if matches!(next, '-' | '.') => {
            !letters.next().is_some_and(|letter| script_of(letter) == Script::SpaceSeparated)
        }
        (last, next) if last == next && last != Script::NotALetter => {
            HONORIFICS.iter().any(|honorific| rest.starts_with(honorific))
        }
        (_, _) => true,
    }
}

fn script_of(letter: char) -> Script {
    match letter {
        '\u{3041}'..='\u{309f}' => Script::Hiragana,
        '\u{30a1}'..='\u{30fa}' | '\u{30fc}'..='\u{30ff}' | '\u{ff66}'..='\u{ff9f}' => {
            Script::Katakana
        }
        '々' | '\u{3400}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}' => {
            Script::Kanji
        }
        '_' => Script::SpaceSeparated,
        letter if letter.is_alphanumeric() => Script::SpaceSeparated,
        _ => Script::NotALetter,
    }
}
