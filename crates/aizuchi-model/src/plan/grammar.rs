//! Phrases and what they mean, as `english.txt`, `japanese.txt` and `zones.txt` declare them, and how they are read from
//! a text. `english.txt` tells how its lines are written.

use std::collections::HashMap;
use std::ops::RangeInclusive;
use std::sync::LazyLock;

use crate::plan::token::{FILES, Token, entries, is_word, read_number, tokens};

static GRAMMAR: LazyLock<Grammar> = LazyLock::new(Grammar::read);

/// How often a phrase may be repeated.
const MAX_REPEATS: usize = 16;

struct Grammar {
    rules: Vec<Vec<Line>>,
    /// The place of each rule.
    names: HashMap<&'static str, usize>,
}

struct Line {
    meaning: Option<&'static str>,
    parts: Vec<Part>,
}

enum Part {
    Word(String),
    Number {
        kind: &'static str,
        slot: &'static str,
        range: RangeInclusive<i64>,
    },
    /// One token of a kind.
    Token {
        is_meant: fn(&str) -> bool,
        slot: &'static str,
    },
    Rule {
        rule: usize,
        slot: &'static str,
    },
    /// What the context reads.
    Other {
        name: &'static str,
        slot: &'static str,
    },
    /// The place between two tokens.
    At(&'static str),
    Choice(Vec<Line>),
    Repeat(Box<Part>, usize),
    /// What has to follow, or must not.
    Ahead(Vec<Part>, bool),
    /// Whether one of these holds where it is read.
    If(Vec<&'static str>),
    Close,
    End,
}

/// What a part of a phrase says, with the slot that it is for.
#[derive(Clone, Copy, Debug)]
pub struct Capture {
    pub slot: &'static str,
    pub value: Value,
}

#[derive(Clone, Copy, Debug)]
pub enum Value {
    Number(i64),
    /// The first of them, and the one behind them.
    Tokens(usize, usize),
    Meaning(&'static str),
}

/// What the phrases do not declare: tells where it ends if it is next. A condition that holds ends where it begins.
pub type Context<'t> = &'t dyn Fn(&str, &Reader<'_>) -> Option<usize>;

impl Grammar {
    fn read() -> Self {
        let lines = || FILES.into_iter().flat_map(entries);
        let mut names = HashMap::new();
        for (rule, ..) in lines() {
            let next = names.len();
            names.entry(rule).or_insert(next);
        }
        let mut grammar = Self { rules: names.iter().map(|_| Vec::new()).collect(), names };
        for (rule, meaning, mut text) in lines() {
            let mut read = grammar.lines(&mut text);
            read.iter_mut().for_each(|line| line.meaning = meaning);
            grammar.rules[grammar.names[rule]].extend(read);
        }
        grammar
    }

    /// Reads alternatives up to the end of their group.
    fn lines(&self, text: &mut &'static str) -> Vec<Line> {
        let mut lines = vec![Line { meaning: None, parts: Vec::new() }];
        loop {
            *text = text.trim_start();
            match text.chars().next() {
                None | Some(')') => return lines,
                Some('|') => {
                    *text = &text[1..];
                    lines.push(Line { meaning: None, parts: Vec::new() });
                }
                Some(_) => lines.last_mut().into_iter().for_each(|it| self.part(text, it)),
            }
        }
    }

    fn part(&self, text: &mut &'static str, line: &mut Line) {
        let whole = *text;
        let mut after = whole.chars();
        let letter = after.next();
        *text = after.as_str();
        let part = match letter {
            Some('(') => {
                let lines = self.lines(text);
                *text = &text[1..];
                Part::Choice(lines)
            }
            Some('{') => self.slot(until('}', text)),
            Some('<') => Part::If(until('>', text).split('|').collect()),
            Some(mark @ ('!' | '&')) if text.starts_with(['(', '{', '<']) => {
                let mut ahead = Line { meaning: None, parts: Vec::new() };
                self.part(text, &mut ahead);
                Part::Ahead(ahead.parts, mark == '&')
            }
            Some(_) => {
                let escaped = usize::from(letter == Some('\\'));
                let word = &whole[escaped..];
                let end = word.char_indices().skip(1).find(|(_, it)| " (){}<>|\\".contains(*it));
                let (word, rest) = word.split_at(end.map_or(word.len(), |(at, _)| at));
                *text = rest;
                let word = if escaped == 1 && word == "n" { "\n" } else { word };
                line.parts.extend(tokens(word).into_iter().map(|token| match &*token.text {
                    "_" => Part::Close,
                    "$" if escaped == 0 => Part::End,
                    _ => Part::Word(token.text),
                }));
                return;
            }
            None => return,
        };
        let max = match text.chars().next() {
            Some('?') => Some(1),
            Some('*') => Some(MAX_REPEATS),
            _ => None,
        };
        line.parts.push(match max {
            Some(max) => {
                *text = &text[1..];
                Part::Repeat(Box::new(part), max)
            }
            None => part,
        });
    }

    fn slot(&self, text: &'static str) -> Part {
        let (name, range) = text.split_once(' ').unwrap_or((text, ""));
        let (kind, slot) = name.split_once(':').unwrap_or((name, name));
        let token = |is_meant| Part::Token { is_meant, slot };
        match kind {
            "word" => token(|it| it.chars().all(is_word)),
            "mark" => token(|it| !it.starts_with(char::is_alphanumeric)),
            "kanji" => token(|it| it.starts_with(is_kanji)),
            "name_part" => token(is_name_part),
            "token" => token(|_| true),
            "at" => Part::At(slot),
            "number" | "spelled" | "hhmm" | "0" | "00" | "000" | "0000" | "09" | "9" | "99" => {
                let (least, most) = range.split_once('-').unwrap_or_default();
                let range = least.parse().unwrap_or(0)..=most.parse().unwrap_or(i64::MAX);
                Part::Number { kind, slot, range }
            }
            name => match self.names.get(name) {
                Some(rule) => Part::Rule { rule: *rule, slot },
                None => Part::Other { name, slot },
            },
        }
    }
}

/// Whether a letter is kanji or katakana, and does not begin a time.
fn is_kanji(letter: char) -> bool {
    matches!(letter, '\u{4e00}'..='\u{9fff}' | '\u{30a1}'..='\u{30ff}')
        && !"一二三四五六七八九十〇頃今毎".contains(letter)
}

/// Whether a token may belong to a name in Japanese: no hiragana, which follow one.
pub fn is_name_part(token: &str) -> bool {
    let is_letter = |it: char| it.is_alphanumeric() && !matches!(it, '\u{3041}'..='\u{309f}');
    token.starts_with(is_letter) || ["_", "-", "・"].contains(&token)
}

/// Goes behind the next one of a mark, and returns what is before it.
fn until(mark: char, text: &mut &'static str) -> &'static str {
    let (before, after) = text.split_once(mark).unwrap_or((text, ""));
    *text = after;
    before
}

/// A place between two tokens, from which is read.
#[derive(Clone, Copy)]
pub struct Reader<'t> {
    pub tokens: &'t [Token],
    pub at: usize,
    pub context: Context<'t>,
}

impl<'t> Reader<'t> {
    pub fn new(tokens: &'t [Token], at: usize) -> Self {
        Self { tokens, at, context: &|_, _| None }
    }

    pub fn is_done(&self) -> bool {
        self.at >= self.tokens.len()
    }

    /// The next token, or nothing at the end.
    pub fn peek(&self) -> &'t str {
        self.tokens.get(self.at).map_or("", |token| &token.text)
    }

    /// The token before, or nothing at the beginning.
    pub fn before(&self) -> &'t str {
        let before = self.at.checked_sub(1).and_then(|at| self.tokens.get(at));
        before.map_or("", |token| &token.text)
    }

    /// Goes behind the longest phrase of a rule that is next.
    pub fn eat(&mut self, rule: &str) -> bool {
        self.read(rule).is_some()
    }

    /// Whether a phrase of a rule is next.
    pub fn is_at(mut self, rule: &str) -> bool {
        self.eat(rule)
    }

    /// Goes behind the longest phrase of a rule that is next, and returns what it says.
    pub fn read(&mut self, rule: &str) -> Option<Vec<Capture>> {
        let lines = GRAMMAR.names.get(rule).map(|rule| &GRAMMAR.rules[*rule]);
        debug_assert!(lines.is_some(), "no rule {rule}");
        let mut found = Vec::new();
        self.longest(lines?, "", &mut found).then_some(found)
    }

    /// Goes behind the longest phrase of a rule that is next, and returns its meaning.
    pub fn meaning(&mut self, rule: &str) -> Option<&'static str> {
        match self.read(rule)?.last()?.value {
            Value::Meaning(meaning) => Some(meaning),
            Value::Number(_) | Value::Tokens(..) => None,
        }
    }

    fn longest(&mut self, lines: &[Line], slot: &'static str, found: &mut Vec<Capture>) -> bool {
        let before = found.len();
        let mut best: Option<(usize, Vec<Capture>)> = None;
        for line in lines {
            let mut ahead = *self;
            let is_read = line.parts.iter().all(|part| ahead.part(part, found));
            if is_read && best.as_ref().is_none_or(|(end, _)| ahead.at > *end) {
                let meaning = line.meaning.map(|it| Capture { slot, value: Value::Meaning(it) });
                found.extend(meaning);
                best = Some((ahead.at, found.split_off(before)));
            }
            found.truncate(before);
        }
        let Some((end, captures)) = best else { return false };
        self.at = end;
        found.extend(captures);
        true
    }

    fn part(&mut self, part: &Part, found: &mut Vec<Capture>) -> bool {
        match part {
            Part::Word(word) => self.eat_if(self.peek() == *word),
            Part::Token { is_meant, slot } => {
                found.push(Capture { slot, value: Value::Tokens(self.at, self.at + 1) });
                self.eat_if(!self.is_done() && is_meant(self.peek()))
            }
            Part::Other { name, slot } => {
                let Some(end) = (self.context)(name, self) else { return false };
                found.push(Capture { slot, value: Value::Tokens(self.at, end) });
                self.at = end;
                true
            }
            Part::At(slot) => {
                found.push(Capture { slot, value: Value::Tokens(self.at, self.at) });
                true
            }
            Part::Number { kind, slot, range } => {
                let Some((number, count)) = read_number(&self.tokens[self.at..]) else {
                    return false;
                };
                found.push(Capture { slot, value: Value::Number(number) });
                let is_meant = range.contains(&number) && is_of_kind(kind, self.peek());
                self.at += count;
                is_meant
            }
            Part::Rule { rule, slot } => self.longest(&GRAMMAR.rules[*rule], slot, found),
            Part::Choice(lines) => self.longest(lines, "", found),
            Part::Repeat(part, max) => {
                for _ in 0..*max {
                    let (mut ahead, before) = (*self, found.len());
                    if !ahead.part(part, found) {
                        found.truncate(before);
                        break;
                    }
                    *self = ahead;
                }
                true
            }
            Part::Ahead(parts, is_there) => {
                let (mut ahead, mut found) = (*self, Vec::new());
                parts.iter().all(|part| ahead.part(part, &mut found)) == *is_there
            }
            Part::If(names) => names.iter().any(|name| (self.context)(name, self).is_some()),
            Part::Close => self.tokens.get(self.at).is_some_and(|token| !token.is_spaced),
            Part::End => self.is_done(),
        }
    }

    fn eat_if(&mut self, is_meant: bool) -> bool {
        self.at += usize::from(is_meant);
        is_meant
    }
}

/// Whether a number is written in such digits: `99` are up to two, `00` two, `9` any, `09` up to two with a zero before
/// them, `hhmm` those of an hour and its minutes, `spelled` none.
fn is_of_kind(kind: &str, token: &str) -> bool {
    let is_digit = token.starts_with(|letter: char| letter.is_ascii_digit());
    let digits = if is_digit { token.len() } else { 0 };
    match kind {
        "number" => true,
        "spelled" => digits == 0,
        "9" => digits > 0,
        "99" => (1..=2).contains(&digits),
        "09" => digits <= 2 && token.starts_with('0'),
        "hhmm" => digits == 4 && token[..2] < *"24" && token[2..] < *"60",
        zeros => digits == zeros.len(),
    }
}
