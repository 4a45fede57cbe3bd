//! A text as words, numbers and single characters of Japanese, each with its place in the text. Letters are in lower
//! case, full-width ones are plain, and what is often misspelled is right.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::LazyLock;

const FILES: [&str; 3] =
    [include_str!("english.txt"), include_str!("japanese.txt"), include_str!("zones.txt")];

static TYPOS: LazyLock<HashMap<&str, &str>> = LazyLock::new(|| words("typos"));
static NUMBERS: LazyLock<HashMap<&str, &str>> = LazyLock::new(|| words("numbers"));

/// As many kanji as a number of a time has.
const MAX_KANJI: usize = 10;

#[derive(Clone, Debug)]
pub struct Token {
    pub text: String,
    /// Its bytes in the text.
    pub range: Range<usize>,
    /// Whether a space or the beginning of the text is before it.
    pub is_spaced: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Letters {
    Word,
    Number,
    Alone,
}

/// Returns the lines of the files: the name of their rule, the meaning if they have one, and the phrases.
pub fn entries() -> impl Iterator<Item = (&'static str, Option<&'static str>, &'static str)> {
    let lines = FILES.into_iter().flat_map(str::lines);
    let mut rule = "";
    lines.filter(|line| !line.is_empty() && !line.starts_with('#')).filter_map(move |line| {
        if let Some(title) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
            rule = title;
            return None;
        }
        let split = line.split_once(" = ");
        Some((rule, split.map(|it| it.0), split.map_or(line, |it| it.1)))
    })
}

/// Returns the words of a rule that has nothing else, with their meanings.
fn words(rule: &str) -> HashMap<&'static str, &'static str> {
    let lines = entries().filter(|line| line.0 == rule);
    let words = lines.flat_map(|(_, meaning, words)| {
        words.split(" | ").filter_map(move |word| Some((word, meaning?)))
    });
    words.collect()
}

/// Splits a text. A line break is a token.
pub fn tokens(text: &str) -> Vec<Token> {
    let mut tokens: Vec<Token> = Vec::new();
    let (mut last, mut is_spaced) = (Letters::Alone, true);
    let mut letters = text.char_indices().peekable();
    while let Some((at, letter)) = letters.next() {
        let range = at..at + letter.len_utf8();
        let letter = plain(letter);
        if letter.is_whitespace() && letter != '\n' {
            is_spaced = true;
            continue;
        }
        let follows_word = last == Letters::Word && !is_spaced;
        let next = letters.peek().map(|(_, next)| plain(*next));
        let kind = match letter {
            '\'' if follows_word && next.is_some_and(is_word) => Letters::Word,
            letter if letter.is_ascii_digit() => Letters::Number,
            letter if is_word(letter) => Letters::Word,
            _ => Letters::Alone,
        };
        match tokens.last_mut() {
            Some(token) if !is_spaced && kind == last && kind != Letters::Alone => {
                token.text.extend(letter.to_lowercase());
                token.range.end = range.end;
            }
            _ => tokens.push(Token { text: letter.to_lowercase().collect(), range, is_spaced }),
        }
        (last, is_spaced) = (kind, letter == '\n');
    }
    for token in &mut tokens {
        if let Some(right) = TYPOS.get(&*token.text) {
            token.text = (*right).to_owned();
        }
    }
    tokens
}

fn plain(letter: char) -> char {
    match letter {
        '\u{ff01}'..='\u{ff5e}' => char::from_u32(letter as u32 - 0xfee0).unwrap_or(letter),
        '’' => '\'',
        letter => letter,
    }
}

/// Whether a letter belongs to a script that has words between spaces.
pub fn is_word(letter: char) -> bool {
    letter.is_alphabetic() && letter < '\u{2000}'
}

/// Whether a token is a character of Japanese: kana, kanji or 々.
pub fn is_japanese(token: &str) -> bool {
    token.starts_with(
        |letter: char| matches!(letter, '々' | '\u{3041}'..='\u{30ff}' | '\u{4e00}'..='\u{9fff}'),
    )
}

/// Reads a number in digits, English words or kanji, with the count of its tokens. One that is too large is the largest
/// one.
pub fn read_number(tokens: &[Token]) -> Option<(i64, usize)> {
    let text = &*tokens.first()?.text;
    if text.starts_with(|letter: char| letter.is_ascii_digit()) {
        return Some((text.parse().unwrap_or(i64::MAX), 1));
    }
    let spelled = |at: usize| NUMBERS.get(&*tokens.get(at)?.text)?.parse::<i64>().ok();
    let Some(number) = spelled(0) else { return kanji_number(tokens) };
    let is_hyphen = tokens.get(1).is_some_and(|token| token.text == "-");
    let next = 1 + usize::from(is_hyphen);
    match spelled(next).filter(|ones| number >= 20 && (1..10).contains(ones)) {
        Some(ones) => Some((number + ones, next + 1)),
        None => Some((number, 1)),
    }
}

fn kanji_number(tokens: &[Token]) -> Option<(i64, usize)> {
    let (mut count, mut total, mut digit) = (0, 0_i64, None::<i64>);
    for token in tokens.iter().take(MAX_KANJI) {
        let place = "〇一二三四五六七八九".chars().position(|it| token.text.starts_with(it));
        match (place.and_then(|place| i64::try_from(place).ok()), &*token.text) {
            // Ten of them are not too large.
            (Some(place), _) => digit = Some(digit.unwrap_or(0) * 10 + place),
            (None, "十") => total += digit.take().unwrap_or(1) * 10,
            (None, "百") => total += digit.take().unwrap_or(1) * 100,
            (None, _) => break,
        }
        count += 1;
    }
    (count > 0).then(|| (total + digit.unwrap_or(0), count))
}
