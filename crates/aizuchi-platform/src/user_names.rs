//! Finds the users whom a text mentions: `@` and a known name. Names may contain spaces, and Japanese names are not
//! followed by a space.

use std::collections::HashMap;

use aizuchi_model::chat::{AuthorKind, UserId};
use aizuchi_store::stored_message::StoredMessage;

/// Authors among this many of the newest messages can be mentioned.
pub const RECENT_MESSAGES: usize = 100;
/// The maximum length of a name, in characters.
const MAX_NAME_LENGTH: usize = 80;
/// Honorifics that may follow a name although they are written in its script. Other characters of the same script
/// would make it a different name.
const HONORIFICS: [&str; 11] =
    ["さん", "ちゃん", "くん", "さま", "様", "氏", "君", "殿", "先生", "先輩", "部長"];

/// The users who can be mentioned, by lower-case name. A name that two users share is left out.
pub struct UserNames(HashMap<String, UserId>);

impl UserNames {
    /// Returns the names of the authors of these messages.
    pub fn from_messages(messages: &[StoredMessage]) -> Self {
        let mut users: HashMap<String, Option<UserId>> = HashMap::new();
        for message in
            messages.iter().filter(|message| message.message.author.kind == AuthorKind::Human)
        {
            let author = &message.message.author.id;
            let known =
                users.entry(message.author_name.to_lowercase()).or_insert(Some(author.clone()));
            if known.as_ref() != Some(author) {
                *known = None;
            }
        }
        Self(users.into_iter().filter_map(|(name, user)| Some((name, user?))).collect())
    }

    pub fn find_user(&self, name: &str) -> Option<UserId> {
        self.0.get(&name.to_lowercase()).cloned()
    }
}

pub enum TextOrMention<'a> {
    Text(&'a str),
    Mention(UserId),
}

/// Splits a text into plain parts and mentions.
pub fn split_mentions<'a>(
    text: &'a str,
    find_user: &dyn Fn(&str) -> Option<UserId>,
) -> Vec<TextOrMention<'a>> {
    let mut parts = Vec::new();
    let mut from = 0;
    for (at, sign) in text.match_indices(['@', '＠']) {
        if at < from || is_within_word(&text[..at]) {
            continue;
        }
        let after = at + sign.len();
        if let Some((length, user)) = longest_name(&text[after..], find_user) {
            parts.push(TextOrMention::Text(&text[from..at]));
            parts.push(TextOrMention::Mention(user));
            from = after + length;
        }
    }
    parts.push(TextOrMention::Text(&text[from..]));
    parts
}

/// Whether an `@` is within a word, as in `anna@example.org` and `https://example.org/@anna`.
fn is_within_word(before: &str) -> bool {
    before.ends_with(|character: char| {
        character.is_ascii_alphanumeric() || "_./-=&?#%+~@＠".contains(character)
    })
}

/// Returns the longest name that the text begins with, and its user.
fn longest_name(from: &str, find_user: &dyn Fn(&str) -> Option<UserId>) -> Option<(usize, UserId)> {
    let near = from.split(['@', '＠', '\n']).next().unwrap_or(from);
    let ends: Vec<usize> = near
        .char_indices()
        .map(|(at, character)| at + character.len_utf8())
        .take(MAX_NAME_LENGTH)
        .collect();
    ends.into_iter().rev().find_map(|end| {
        let name = &from[..end];
        let is_name = name.trim() == name && is_name_boundary(name, &from[end..]);
        Some((end, is_name.then(|| find_user(name)).flatten()?))
    })
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum NameScript {
    Hiragana,
    Katakana,
    Kanji,
    /// Characters of scripts that put spaces between words.
    SpaceSeparated,
    NotALetter,
}

fn is_name_boundary(name: &str, rest: &str) -> bool {
    let mut characters = rest.chars();
    let (Some(last), Some(next)) = (name.chars().next_back(), characters.next()) else {
        return true;
    };
    match (script_of(last), script_of(next)) {
        (NameScript::SpaceSeparated, NameScript::SpaceSeparated) => false,
        // `@anna-lee` and `@anna.lee` are not anna.
        (NameScript::SpaceSeparated, NameScript::NotALetter) if matches!(next, '-' | '.') => {
            !characters
                .next()
                .is_some_and(|character| script_of(character) == NameScript::SpaceSeparated)
        }
        (last, next) if last == next && last != NameScript::NotALetter => {
            HONORIFICS.iter().any(|honorific| rest.starts_with(honorific))
        }
        (_, _) => true,
    }
}

fn script_of(character: char) -> NameScript {
    match character {
        '\u{3041}'..='\u{309f}' => NameScript::Hiragana,
        '\u{30a1}'..='\u{30fa}' | '\u{30fc}'..='\u{30ff}' | '\u{ff66}'..='\u{ff9f}' => {
            NameScript::Katakana
        }
        '々' | '\u{3400}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}' => {
            NameScript::Kanji
        }
        '_' => NameScript::SpaceSeparated,
        character if character.is_alphanumeric() => NameScript::SpaceSeparated,
        _ => NameScript::NotALetter,
    }
}
