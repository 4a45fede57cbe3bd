//! Finds the people whom a text calls: `@` and a name that somebody has. Names may hold blanks, and
//! Japanese ones stand beside other letters.

use crate::chat::UserId;
use crate::platform::slack::mrkdwn::is_id;

/// In letters; no name is longer.
const LONGEST_NAME: usize = 80;
/// What a name may be followed by where letters of its own script would make another name of it.
const HONORIFICS: [&str; 11] =
    ["さん", "ちゃん", "くん", "さま", "様", "氏", "君", "殿", "先生", "先輩", "部長"];

pub enum Piece<'a> {
    Words(&'a str),
    Person(UserId),
}

pub fn pieces<'a>(text: &'a str, people: &dyn Fn(&str) -> Option<UserId>) -> Vec<Piece<'a>> {
    let mut pieces = Vec::new();
    let mut from = 0;
    for (at, sign) in text.match_indices(['@', '＠']) {
        if at < from || is_within_word(&text[..at]) {
            continue;
        }
        let behind = at + sign.len();
        if let Some((length, person)) = person(&text[behind..], people) {
            pieces.push(Piece::Words(&text[from..at]));
            pieces.push(Piece::Person(person));
            from = behind + length;
        }
    }
    pieces.push(Piece::Words(&text[from..]));
    pieces
}

/// As in `anna@example.org` and `https://example.org/@anna`.
fn is_within_word(before: &str) -> bool {
    before.ends_with(|letter: char| {
        letter.is_ascii_alphanumeric() || "_./-=&?#%+~@＠".contains(letter)
    })
}

/// The longest name that the text begins with.
fn person(from: &str, people: &dyn Fn(&str) -> Option<UserId>) -> Option<(usize, UserId)> {
    let near = from.split(['@', '＠', '\n']).next().unwrap_or(from);
    let ends: Vec<usize> =
        near.char_indices().map(|(at, letter)| at + letter.len_utf8()).take(LONGEST_NAME).collect();
    ends.into_iter().rev().find_map(|end| {
        let name = &from[..end];
        let is_name = name.trim() == name && is_border(name, &from[end..]);
        let person = is_name.then(|| people(name)).flatten()?;
        is_id(person.as_str()).then_some((end, person))
    })
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Script {
    Hiragana,
    Katakana,
    Kanji,
    /// Letters that make words between blanks.
    Spaced,
    None,
}

fn is_border(name: &str, rest: &str) -> bool {
    let mut letters = rest.chars();
    let (Some(last), Some(next)) = (name.chars().next_back(), letters.next()) else {
        return true;
    };
    match (script(last), script(next)) {
        (Script::Spaced, Script::Spaced) => false,
        // `@anna-lee` and `@anna.lee` are not anna.
        (Script::Spaced, Script::None) if matches!(next, '-' | '.') => {
            !letters.next().is_some_and(|letter| script(letter) == Script::Spaced)
        }
        (last, next) if last == next && last != Script::None => {
            HONORIFICS.iter().any(|honorific| rest.starts_with(honorific))
        }
        (_, _) => true,
    }
}

fn script(letter: char) -> Script {
    match letter {
        '\u{3041}'..='\u{309f}' => Script::Hiragana,
        '\u{30a1}'..='\u{30fa}' | '\u{30fc}'..='\u{30ff}' | '\u{ff66}'..='\u{ff9f}' => {
            Script::Katakana
        }
        '々' | '\u{3400}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}' => {
            Script::Kanji
        }
        '_' => Script::Spaced,
        letter if letter.is_alphanumeric() => Script::Spaced,
        _ => Script::None,
    }
}
