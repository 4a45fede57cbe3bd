//! Phrases and what they mean, as `english.txt`, `japanese.txt` and `zones.txt` declare them, and how they are read from
//! a text. `english.txt` tells how its lines are written.

use std::collections::{HashMap, HashSet};
use std::ops::{Range, RangeInclusive};
use std::sync::LazyLock;

use crate::plan::token::{FILES, Token, entries, is_word, read_number, tokens};

static GRAMMAR: LazyLock<Grammar> = LazyLock::new(Grammar::read);

/// How often a phrase may be repeated.
const MAX_REPEATS: usize = 16;

struct Grammar {
    rules: Vec<Rule>,
    /// The place of each rule.
    names: HashMap<&'static str, usize>,
}

#[derive(Default)]
struct Rule {
    lines: Vec<Line>,
    /// The words that begin a phrase of it, with [`NUMBER`] and [`ANYTHING`].
    begins: HashSet<String>,
}

/// A number begins a phrase, or something that is known only when it is read. No word is written like them.
const NUMBER: &str = "#";
const ANYTHING: &str = "";

#[derive(Default)]
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
    Token(fn(&str) -> bool),
    Rule {
        rule: usize,
        slot: &'static str,
    },
    /// What the context reads.
    Other {
        name: &'static str,
        slot: &'static str,
    },
    Choice(Vec<Line>),
    Repeat(Box<Part>, usize),
    /// What has to follow, or must not.
    Ahead(Vec<Part>, bool),
    Close,
    End,
}

/// What is read in a slot.
#[derive(Clone)]
pub struct Capture {
    pub slot: &'static str,
    pub tokens: Range<usize>,
    pub number: Option<i64>,
    pub meaning: Option<&'static str>,
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
        let mut grammar = Self { rules: names.iter().map(|_| Rule::default()).collect(), names };
        for (rule, meaning, mut text) in lines() {
            let mut read = grammar.lines(&mut text);
            read.iter_mut().for_each(|line| line.meaning = meaning);
            grammar.rules[grammar.names[rule]].lines.extend(read);
        }
        for rule in 0..grammar.rules.len() {
            let mut begins = HashSet::new();
            if grammar.begin(&grammar.rules[rule].lines, &mut begins) {
                begins.insert(ANYTHING.to_owned());
            }
            grammar.rules[rule].begins = begins;
        }
        grammar
    }

    /// Adds what begins a phrase, and returns whether there may be nothing of it.
    fn begin(&self, lines: &[Line], begins: &mut HashSet<String>) -> bool {
        let mut may_be_empty = false;
        for line in lines {
            may_be_empty |= line.parts.iter().all(|part| self.begin_part(part, begins));
        }
        may_be_empty
    }

    fn begin_part(&self, part: &Part, begins: &mut HashSet<String>) -> bool {
        let begin = match part {
            Part::Word(word) => word,
            Part::Number { .. } => NUMBER,
            Part::Rule { rule, .. } => return self.begin(&self.rules[*rule].lines, begins),
            Part::Choice(lines) => return self.begin(lines, begins),
            Part::Repeat(part, _) => {
                self.begin_part(part, begins);
                return true;
            }
            Part::Other { slot: "", .. } | Part::Ahead(..) | Part::Close => return true,
            Part::Other { .. } | Part::Token(_) | Part::End => ANYTHING,
        };
        begins.insert(begin.to_owned());
        false
    }

    /// Reads alternatives up to the end of their group.
    fn lines(&self, text: &mut &'static str) -> Vec<Line> {
        let mut lines = vec![Line::default()];
        loop {
            *text = text.trim_start();
            match text.chars().next() {
                None | Some(')') => return lines,
                Some('|') => {
                    *text = &text[1..];
                    lines.push(Line::default());
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
            Some('<') => {
                let names = until('>', text).split('|').map(|name| Part::Other { name, slot: "" });
                Part::Choice(names.map(|it| Line { meaning: None, parts: vec![it] }).collect())
            }
            Some(mark @ ('!' | '&')) if text.starts_with(['(', '{', '<']) => {
                let mut ahead = Line::default();
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
        match (kind, self.names.get(kind)) {
            (_, Some(rule)) => Part::Rule { rule: *rule, slot },
            ("token", None) => Part::Token(|_| true),
            ("word", None) => Part::Token(|it| it.chars().all(is_word)),
            ("mark", None) => Part::Token(|it| !it.starts_with(char::is_alphanumeric)),
            ("kanji", None) => Part::Token(|it| it.starts_with(is_kanji)),
            ("name_part", None) => Part::Token(is_name_part),
            ("number" | "spelled" | "hhmm", None) => self.number(kind, slot, range),
            (digits, None) if digits.starts_with(['0', '9']) => self.number(kind, slot, range),
            (name, None) => Part::Other { name, slot },
        }
    }

    fn number(&self, kind: &'static str, slot: &'static str, range: &str) -> Part {
        let (least, most) = range.split_once('-').unwrap_or_default();
        let range = least.parse().unwrap_or(0)..=most.parse().unwrap_or(i64::MAX);
        Part::Number { kind, slot, range }
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

    /// Goes behind the longest phrase of a rule that is next, and returns what it says, at last the whole.
    pub fn read(&mut self, rule: &str) -> Option<Vec<Capture>> {
        let place = GRAMMAR.names.get(rule);
        debug_assert!(place.is_some(), "no rule {rule}");
        let mut found = Vec::new();
        self.rule(*place?, "", &mut found).then_some(found)
    }

    fn rule(&mut self, rule: usize, slot: &'static str, found: &mut Vec<Capture>) -> bool {
        let Rule { lines, begins } = &GRAMMAR.rules[rule];
        let is_number =
            || begins.contains(NUMBER) && read_number(&self.tokens[self.at..]).is_some();
        let may_begin = begins.contains(ANYTHING) || begins.contains(self.peek()) || is_number();
        let start = self.at;
        let Some(meaning) = may_begin.then(|| self.longest(lines, found)).flatten() else {
            return false;
        };
        found.push(Capture { slot, tokens: start..self.at, number: None, meaning });
        true
    }

    /// Goes behind the longest of the phrases that is next, and returns its meaning, if it is there and has one.
    fn longest(
        &mut self,
        lines: &[Line],
        found: &mut Vec<Capture>,
    ) -> Option<Option<&'static str>> {
        let before = found.len();
        let mut best: Option<(usize, Option<&'static str>, Vec<Capture>)> = None;
        for line in lines {
            let mut ahead = *self;
            let is_read = line.parts.iter().all(|part| ahead.part(part, found));
            if is_read && best.as_ref().is_none_or(|(end, ..)| ahead.at > *end) {
                best = Some((ahead.at, line.meaning, found.split_off(before)));
            }
            found.truncate(before);
        }
        let (end, meaning, captures) = best?;
        self.at = end;
        found.extend(captures);
        Some(meaning)
    }

    fn part(&mut self, part: &Part, found: &mut Vec<Capture>) -> bool {
        match part {
            Part::Word(word) => self.eat_if(self.peek() == *word),
            Part::Token(is_meant) => self.eat_if(!self.is_done() && is_meant(self.peek())),
            Part::Number { kind, slot, range } => {
                let Some((number, count)) = read_number(&self.tokens[self.at..]) else {
                    return false;
                };
                let is_meant = range.contains(&number) && is_of_kind(kind, self.peek());
                let tokens = self.at..self.at + count;
                self.at = tokens.end;
                found.push(Capture { slot, tokens, number: Some(number), meaning: None });
                is_meant
            }
            Part::Rule { rule, slot } => self.rule(*rule, slot, found),
            Part::Other { name, slot } => {
                let Some(end) = (self.context)(name, self) else { return false };
                found.push(Capture { slot, tokens: self.at..end, number: None, meaning: None });
                self.at = end;
                true
            }
            Part::Choice(lines) => self.longest(lines, found).is_some(),
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
