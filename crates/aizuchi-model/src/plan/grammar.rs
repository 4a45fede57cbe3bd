//! Phrases and what they mean, as `english.txt`, `japanese.txt` and `zones.txt` declare them, and how they are read from
//! a text. `english.txt` tells how its lines are written.

use std::collections::{HashMap, HashSet};
use std::ops::{Range, RangeInclusive};
use std::sync::LazyLock;

use crate::plan::token::{Token, entries, is_word, read_number, tokens};

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
    lines: Vec<RuleLine>,
    /// The words that begin a phrase of it, with [`NUMBER`] and [`ANYTHING`].
    begins: HashSet<String>,
}

/// A number begins a phrase, or something that is known only when it is read. No word is written like them.
const NUMBER: &str = "#";
const ANYTHING: &str = "";

struct RuleLine {
    meaning: Option<&'static str>,
    parts: Vec<Part>,
}

enum Part {
    Word(String),
    /// One of a kind, in a range.
    Number(&'static str, RangeInclusive<i64>),
    Token(fn(&str) -> bool),
    Rule(usize),
    /// What the context reads, or whether it holds.
    Other(&'static str),
    Choice(Vec<RuleLine>),
    Repeat(Box<Part>, usize),
    /// What has to follow, or must not.
    Ahead(Box<Part>, bool),
    Close,
    End,
    /// What is kept for a slot.
    Slot(&'static str, Box<Part>),
}

/// What is read for a slot.
pub struct Capture {
    pub slot: &'static str,
    pub tokens: Range<usize>,
    pub meaning: Option<&'static str>,
}

/// What the phrases do not declare: tells where it ends if it is next. A condition that holds ends where it begins.
pub type PhraseContext<'t> = &'t dyn Fn(&str, &PhraseReader<'_>) -> Option<usize>;

impl Grammar {
    fn read() -> Self {
        let mut names = HashMap::new();
        for (rule, ..) in entries() {
            let next = names.len();
            names.entry(rule).or_insert(next);
        }
        let mut grammar = Self { rules: names.iter().map(|_| Rule::default()).collect(), names };
        for (rule, meaning, mut text) in entries() {
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
    fn begin(&self, lines: &[RuleLine], begins: &mut HashSet<String>) -> bool {
        // All of them are looked at, not only those up to the first.
        let empty = lines.iter().filter(|it| it.parts.iter().all(|it| self.begin_part(it, begins)));
        empty.count() > 0
    }

    fn begin_part(&self, part: &Part, begins: &mut HashSet<String>) -> bool {
        let begin = match part {
            Part::Word(word) => word,
            Part::Number(..) => NUMBER,
            Part::Rule(rule) => return self.begin(&self.rules[*rule].lines, begins),
            Part::Choice(lines) => return self.begin(lines, begins),
            Part::Repeat(part, _) => return self.begin_part(part, begins) | true,
            Part::Other(_) | Part::Ahead(..) | Part::Close => return true,
            Part::Slot(_, part) => match **part {
                Part::Other(_) => ANYTHING,
                _ => return self.begin_part(part, begins),
            },
            Part::Token(_) | Part::End => ANYTHING,
        };
        begins.insert(begin.to_owned());
        false
    }

    /// Reads alternatives, up to the end of their group.
    fn lines(&self, text: &mut &'static str) -> Vec<RuleLine> {
        let (mut lines, mut parts) = (Vec::new(), Vec::new());
        loop {
            *text = text.trim_start();
            let mark = text.chars().next();
            match mark {
                Some('|' | ')') => *text = &text[1..],
                Some(_) => {
                    parts.extend(self.parts(text));
                    continue;
                }
                None => {}
            }
            lines.push(RuleLine { meaning: None, parts: std::mem::take(&mut parts) });
            if mark != Some('|') {
                return lines;
            }
        }
    }

    /// Reads words, or one part that is none.
    fn parts(&self, text: &mut &'static str) -> Vec<Part> {
        let whole = *text;
        let mut inside = |mark| {
            let (inside, after) = whole[1..].split_once(mark).unwrap_or_default();
            *text = after;
            inside
        };
        let part = match whole.chars().next() {
            Some('{') => self.slot(inside('}')),
            Some('<') => {
                let names = inside('>').split('|').map(Part::Other);
                let lines = names.map(|it| RuleLine { meaning: None, parts: vec![it] });
                Part::Choice(lines.collect())
            }
            Some('(') => {
                *text = &whole[1..];
                Part::Choice(self.lines(text))
            }
            Some(mark @ ('!' | '&')) if whole[1..].starts_with(['(', '{', '<']) => {
                *text = &whole[1..];
                let part = self.parts(text).remove(0);
                Part::Ahead(Box::new(part), mark == '&')
            }
            _ => return words(text),
        };
        let max = match text.chars().next() {
            Some('?') => 1,
            Some('*') => MAX_REPEATS,
            _ => return vec![part],
        };
        *text = &text[1..];
        vec![Part::Repeat(Box::new(part), max)]
    }

    fn slot(&self, text: &'static str) -> Part {
        let (name, range) = text.split_once(' ').unwrap_or((text, ""));
        let (kind, slot) = name.split_once(':').unwrap_or((name, name));
        let part = match (self.names.get(kind), kind) {
            (Some(rule), _) => Part::Rule(*rule),
            (None, "token") => Part::Token(|_| true),
            (None, "word") => Part::Token(|it| it.chars().all(is_word)),
            (None, "mark") => Part::Token(|it| !it.starts_with(char::is_alphanumeric)),
            (None, "kanji") => Part::Token(|it| it.starts_with(is_kanji)),
            (None, "name_part") => Part::Token(is_name_part),
            (
                None,
                "number" | "spelled" | "hhmm" | "0" | "00" | "000" | "0000" | "09" | "9" | "99",
            ) => {
                let (least, most) = range.split_once('-').unwrap_or_default();
                let (least, most) = (least.parse().unwrap_or(0), most.parse().unwrap_or(i64::MAX));
                Part::Number(kind, least..=most)
            }
            (None, name) => Part::Other(name),
        };
        Part::Slot(slot, Box::new(part))
    }
}

/// Reads words up to another part.
fn words(text: &mut &'static str) -> Vec<Part> {
    let (escaped, word) = text.strip_prefix('\\').map_or((false, *text), |word| (true, word));
    let end = word.char_indices().skip(1).find(|(_, it)| " (){}<>|\\".contains(*it));
    let (word, after) = word.split_at(end.map_or(word.len(), |(at, _)| at));
    *text = after;
    let words = tokens(if escaped && word == "n" { "\n" } else { word });
    let part = |word: String| match &*word {
        "_" => Part::Close,
        "$" if !escaped => Part::End,
        _ => Part::Word(word),
    };
    words.into_iter().map(|token| part(token.text)).collect()
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

/// A place between two tokens, from which is read.
#[derive(Clone, Copy)]
pub struct PhraseReader<'t> {
    pub tokens: &'t [Token],
    pub at: usize,
    pub context: PhraseContext<'t>,
}

impl<'t> PhraseReader<'t> {
    pub fn new(tokens: &'t [Token], at: usize) -> Self {
        Self { tokens, at, context: &|_, _| None }
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

    /// Goes behind the longest phrase of a rule that is next, and returns what it says, at last the whole.
    pub fn read(&mut self, rule: &str) -> Option<Vec<Capture>> {
        let place = GRAMMAR.names.get(rule);
        debug_assert!(place.is_some(), "no rule {rule}");
        let (start, mut found) = (self.at, Vec::new());
        let meaning = self.part(&Part::Rule(*place?), &mut found)?;
        found.push(Capture { slot: "", tokens: start..self.at, meaning });
        Some(found)
    }

    /// Goes behind the longest of the phrases that is next, and returns its meaning.
    fn longest(
        &mut self,
        lines: &[RuleLine],
        found: &mut Vec<Capture>,
    ) -> Option<Option<&'static str>> {
        let before = found.len();
        let mut best: Option<(usize, Option<&'static str>, Vec<Capture>)> = None;
        for line in lines {
            let mut ahead = *self;
            let is_read = line.parts.iter().all(|part| ahead.part(part, found).is_some());
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

    fn part(&mut self, part: &Part, found: &mut Vec<Capture>) -> Option<Option<&'static str>> {
        let number = || read_number(&self.tokens[self.at..]);
        let is_there = match part {
            Part::Word(word) => self.eat_if(self.peek() == *word),
            Part::Token(is_meant) => self.eat_if(!self.peek().is_empty() && is_meant(self.peek())),
            Part::Number(kind, range) => {
                let (number, count) = number()?;
                let is_meant = range.contains(&number) && is_of_kind(kind, self.peek());
                self.at += count;
                is_meant
            }
            Part::Rule(rule) => {
                let Rule { lines, begins } = &GRAMMAR.rules[*rule];
                let may_begin = begins.contains(ANYTHING)
                    || begins.contains(self.peek())
                    || begins.contains(NUMBER) && number().is_some();
                return may_begin.then(|| self.longest(lines, found)).flatten();
            }
            Part::Choice(lines) => return self.longest(lines, found),
            Part::Other(name) => {
                self.at = (self.context)(name, self)?;
                true
            }
            Part::Repeat(part, max) => {
                for _ in 0..*max {
                    let (mut ahead, before) = (*self, found.len());
                    if ahead.part(part, found).is_none() {
                        found.truncate(before);
                        break;
                    }
                    *self = ahead;
                }
                true
            }
            Part::Ahead(part, is_there) => {
                let mut ahead = *self;
                ahead.part(part, &mut Vec::new()).is_some() == *is_there
            }
            Part::Close => self.tokens.get(self.at).is_some_and(|token| !token.is_spaced),
            Part::End => self.peek().is_empty(),
            Part::Slot(slot, part) => {
                let start = self.at;
                let meaning = self.part(part, found)?;
                found.push(Capture { slot, tokens: start..self.at, meaning });
                return Some(meaning);
            }
        };
        is_there.then_some(None)
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

#[cfg(test)]
mod tests {
    use super::*;

    /// What the readers of times and of orders tell.
    const CONTEXT: [&str; 35] = [
        "led", "on", "at", "in", "by", "for", "after", "bound", "none", "alone", "day",
        "other_day", "no_clock", "every", "every_until", "every_from", "weekly", "more", "timed",
        "untimed", "time", "name", "english", "japanese", "condition", "order", "first", "free",
        "clause", "delayed", "told", "vague", "of_another", "post", "",
    ];

    fn others<'p>(part: &'p Part, found: &mut Vec<&'p str>) {
        match part {
            Part::Other(name) => found.push(name),
            Part::Choice(lines) => {
                lines.iter().flat_map(|line| &line.parts).for_each(|part| others(part, found));
            }
            Part::Repeat(part, _) | Part::Ahead(part, _) | Part::Slot(_, part) => {
                others(part, found)
            }
            Part::Word(_) | Part::Number(..) | Part::Token(_) | Part::Rule(_) => {}
            Part::Close | Part::End => {}
        }
    }

    #[test]
    fn each_name_in_a_phrase_is_known() {
        let mut found = Vec::new();
        for line in GRAMMAR.rules.iter().flat_map(|rule| &rule.lines) {
            assert!(!line.parts.is_empty());
            line.parts.iter().for_each(|part| others(part, &mut found));
        }
        let unknown: Vec<_> = found.iter().filter(|name| !CONTEXT.contains(*name)).collect();
        assert!(unknown.is_empty(), "{unknown:?}");
    }

    #[test]
    fn the_longest_phrase_of_a_rule_is_read() {
        for (rule, text, expected) in [
            ("amounts", "2 hours and 15 minutes from now", "2 hours and 15 minutes"),
            ("amounts", "1h30m", "1h30m"),
            ("amounts", "an hour and a half", "an hour and a half"),
            ("amounts", "1時間30分後", "1時間30分"),
            ("every", "every second Tuesday of the month", "every second Tuesday of the month"),
            ("every", "毎週月・水・金の9時", "毎週月・水・金"),
            ("day", "the last Friday of next month", "the last Friday of"),
            ("day", "2026-12-04T09:00", "2026-12-04T"),
            ("day", "12月4日の9時", "12月4日"),
            ("clock", "9:30pm sharp, please", "9:30pm sharp"),
            ("clock", "午後3時半ごろに", "午後3時半ごろ"),
            ("clock", "2026", ""),
            ("kanji_days", "月末", ""),
            ("closed", "please!", "please!"),
            ("closed", "please come", ""),
        ] {
            let tokens = tokens(text);
            let mut reader = PhraseReader::new(&tokens, 0);
            reader.eat(rule);
            let end = reader.at.checked_sub(1).map_or(0, |at| tokens[at].range.end);
            assert_eq!(&text[..end], expected, "{rule}");
        }
    }

    #[test]
    fn what_a_phrase_says_is_kept_for_its_slots() {
        let tokens = tokens("every 3 weeks");
        let found = PhraseReader::new(&tokens, 0).read("every").unwrap();
        let found: Vec<_> = found.into_iter().map(|it| (it.slot, it.tokens, it.meaning)).collect();
        assert!(found.contains(&("n", 1..2, None)), "{found:?}");
        assert!(found.contains(&("cycle", 2..3, Some("week"))), "{found:?}");
        assert_eq!(found.last(), Some(&("", 0..3, None)));
    }
}
