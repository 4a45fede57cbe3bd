//! A text as words, numbers and single characters of Japanese, each with its place in the text. Letters are in lower
//! case, full-width ones are plain, and what is often misspelled is right.

use std::ops::Range;

use crate::plan::words::{ENGLISH, word_lists};

word_lists! { ENGLISH;
    TYPOS: (&str, &str),
    DIGITS: (&str, i64),
    TENS: (&str, i64),
}

/// As many kanji as a number of a time has.
const MAX_KANJI: usize = 10;

const KANJI_DIGITS: &str = "〇一二三四五六七八九";

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
        if let Some((_, right)) = TYPOS.iter().find(|(typo, _)| *typo == token.text) {
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
fn is_word(letter: char) -> bool {
    letter.is_alphabetic() && letter < '\u{2000}'
}

/// A place between two tokens, from which is read.
#[derive(Clone, Copy, Debug)]
pub struct TokenReader<'t> {
    pub tokens: &'t [Token],
    pub at: usize,
}

impl<'t> TokenReader<'t> {
    pub fn new(tokens: &'t [Token], at: usize) -> Self {
        Self { tokens, at }
    }

    pub fn is_done(&self) -> bool {
        self.at >= self.tokens.len()
    }

    /// The next token, or nothing at the end.
    pub fn peek(&self) -> &'t str {
        self.peek_at(0)
    }

    pub fn peek_at(&self, ahead: usize) -> &'t str {
        self.tokens.get(self.at + ahead).map_or("", |token| &token.text)
    }

    /// The token before, or nothing at the beginning.
    pub fn before(&self) -> &'t str {
        let before = self.at.checked_sub(1).and_then(|at| self.tokens.get(at));
        before.map_or("", |token| &token.text)
    }

    /// Whether the next token stands close to the one before.
    pub fn is_close(&self) -> bool {
        self.tokens.get(self.at).is_some_and(|token| !token.is_spaced)
    }

    /// Goes behind a phrase if it is next.
    pub fn eat(&mut self, phrase: &str) -> bool {
        let (mut at, mut rest) = (self.at, phrase);
        while !rest.is_empty() {
            let token = self.tokens.get(at).map_or("", |token| &token.text);
            let Some(after) = rest.strip_prefix(token).filter(|_| !token.is_empty()) else {
                return false;
            };
            if token.starts_with(is_word) && after.starts_with(is_word) {
                return false;
            }
            rest = after.trim_start_matches(' ');
            at += 1;
        }
        self.at = at;
        true
    }

    /// Goes behind the longest of the phrases that is next.
    pub fn eat_any(&mut self, phrases: &[&str]) -> bool {
        let ends = phrases.iter().filter_map(|phrase| self.end_of(phrase));
        let end = ends.max();
        self.at = end.unwrap_or(self.at);
        end.is_some()
    }

    /// Goes behind the longest of the phrases that is next, and returns its meaning.
    pub fn eat_of<T: Copy>(&mut self, meanings: &[(&str, T)]) -> Option<T> {
        let ends = meanings.iter().filter_map(|(phrase, it)| Some((self.end_of(phrase)?, *it)));
        let (end, meaning) = ends.max_by_key(|(end, _)| *end)?;
        self.at = end;
        Some(meaning)
    }

    fn end_of(mut self, phrase: &str) -> Option<usize> {
        self.eat(phrase).then_some(self.at)
    }

    /// Reads something, or stays.
    pub fn attempt<T>(&mut self, read: impl FnOnce(&mut Self) -> Option<T>) -> Option<T> {
        let mut ahead = *self;
        let found = read(&mut ahead)?;
        *self = ahead;
        Some(found)
    }

    /// Reads something behind one of the phrases, or stays.
    pub fn behind<T>(
        &mut self,
        phrases: &[&str],
        read: impl FnOnce(&mut Self) -> Option<T>,
    ) -> Option<T> {
        self.attempt(|it| it.eat_any(phrases).then(|| read(it)).flatten())
    }

    /// Reads a number in digits, with their count. One that is too large is the largest one.
    pub fn digits(&mut self) -> Option<(i64, usize)> {
        let token = self.peek();
        token.starts_with(|letter: char| letter.is_ascii_digit()).then(|| {
            self.at += 1;
            (token.parse().unwrap_or(i64::MAX), token.len())
        })
    }

    /// Reads a number in digits, English words or kanji.
    pub fn number(&mut self) -> Option<i64> {
        if let Some((number, _)) = self.digits() {
            return Some(number);
        }
        if let Some(tens) = self.eat_of(&TENS) {
            let ones = self.attempt(|it| {
                it.eat("-");
                it.eat_of(&DIGITS).filter(|ones| (1..10).contains(ones))
            });
            return Some(tens + ones.unwrap_or(0));
        }
        self.eat_of(&DIGITS).or_else(|| self.kanji_number())
    }

    fn kanji_number(&mut self) -> Option<i64> {
        let (start, mut total, mut digit) = (self.at, 0_i64, None::<i64>);
        while let Some(letter) = self.peek().chars().next().filter(|_| self.at < start + MAX_KANJI)
        {
            let place = KANJI_DIGITS.chars().position(|it| it == letter);
            match (place.and_then(|place| i64::try_from(place).ok()), letter) {
                (Some(place), _) => {
                    digit = Some(digit.unwrap_or(0).saturating_mul(10).saturating_add(place));
                }
                (None, '十') => {
                    total = total.saturating_add(digit.take().unwrap_or(1).saturating_mul(10))
                }
                (None, '百') => {
                    total = total.saturating_add(digit.take().unwrap_or(1).saturating_mul(100))
                }
                (None, _) => break,
            }
            self.at += 1;
        }
        (self.at > start).then(|| total.saturating_add(digit.unwrap_or(0)))
    }
}
