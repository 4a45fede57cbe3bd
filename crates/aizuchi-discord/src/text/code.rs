//! Whether Discord shows as code what CommonMark reads as code. Discord tries a list of patterns at each position, and
//! the one that begins first wins: emphasis or a spoiler that opens before the code may close within it. Where clients
//! may differ, the answer is no.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

/// A part of a text that is code by CommonMark.
pub struct CodePart {
    pub range: Range<usize>,
    /// The part without its URLs.
    pub bare: String,
}

/// Whether Discord surely reads as code each part with a URL. The parts are all code of the text, in order.
pub fn is_all_code(text: &str, parts: &[CodePart]) -> bool {
    let shaped = parts.iter().map(|part| &part.range).filter(|range| has_shape(text, range));
    let shaped: Vec<Range<usize>> = shaped.cloned().collect();
    let is_bare = |part: &CodePart| text[part.range.clone()] == part.bare;
    parts.iter().all(|part| is_bare(part) || shaped.contains(&part.range))
        && is_undisturbed(text, &shaped)
}

/// Whether Discord reads this part as code if it begins to read at its start. It first cuts quotations, lists and
/// headings out of the text, so code over several lines must not leave the item that it is in.
fn has_shape(text: &str, part: &Range<usize>) -> bool {
    static ITEM: LazyLock<Regex> = LazyLock::new(|| regex(r"^( *)(?:[*-]|[0-9]+\.) "));
    let before = &text[..part.start];
    let indent = before.rsplit('\n').next().unwrap_or_default();
    let is_inside =
        |line: &str| ITEM.captures(line).is_none_or(|item| item[1].len() + 2 <= indent.len());
    let stays_inside = || {
        let is_block = text[part.start..].starts_with("```") && indent.trim_matches(' ').is_empty();
        is_block
            && (indent.is_empty() || before.lines().all(is_inside))
            && text[part.clone()].split('\n').skip(1).all(|line| line.starts_with(indent))
    };
    let ends = code_ends(&text[part.start..]);
    let is_whole = !ends.is_empty() && ends.iter().all(|end| *end == part.len());
    is_whole && (!text[part.clone()].contains('\n') || stays_inside())
}

/// Whether no pattern that begins outside of the parts ends within one of them.
fn is_undisturbed(text: &str, parts: &[Range<usize>]) -> bool {
    // Discord may begin to read at a line, after a pattern, and after a character that begins no pattern.
    let mut may_begin = vec![false; text.len() + 1];
    for (at, character) in text.char_indices() {
        let parts = &parts[parts.partition_point(|part| part.end <= at)..];
        let begins = at == 0 || may_begin[at] || text[..at].ends_with('\n');
        if !begins || parts.first().is_some_and(|part| part.start < at) {
            continue;
        }
        if let Some(part) = parts.first().filter(|part| part.start == at) {
            may_begin[part.end] = true;
            continue;
        }
        // The label of a link may reach into code.
        if character == '[' && parts.iter().any(|part| text[part.clone()].contains("](")) {
            return false;
        }
        let mut is_passed = false;
        for (content, end) in patterns(&text[at..]) {
            let end = at + end;
            let held = &parts[..parts.partition_point(|part| part.start < end)];
            match (content, held.last()) {
                (_, None) => {}
                (PatternContent::Text(mark), Some(last)) if last.end <= end => {
                    may_begin[at + mark] = true
                }
                (
                    PatternContent::Text(_) | PatternContent::Raw | PatternContent::Perhaps,
                    Some(_),
                ) => return false,
            }
            may_begin[end] = true;
            // An item or a quotation that ends before the pattern leaves its first character as text.
            is_passed |= content != PatternContent::Perhaps && !text[at..end].contains('\n');
        }
        if !is_passed {
            may_begin[at + character.len_utf8()] = true;
        }
    }
    true
}

/// What is within a pattern.
#[derive(Clone, Copy, PartialEq, Eq)]
enum PatternContent {
    /// Text between two marks of this length.
    Text(usize),
    Raw,
    /// The name of something that may not exist, or an address.
    Perhaps,
}

/// Discord's patterns but code. The first group is what it takes; the rest must follow.
static PATTERNS: LazyLock<Vec<(PatternContent, Regex)>> = LazyLock::new(|| {
    let patterns = [
        (PatternContent::Raw, r"^(\\[^0-9A-Za-z\s])"),
        (PatternContent::Text(1), r"^(_(?:__|\\(?s:.)|[^\\_])+?_)(?:[^0-9A-Za-z_]|$)"),
        (
            PatternContent::Text(1),
            r"^(\*(?:\*\*|\\(?s:.)|[^\s*\\])(?:\*\*|\s*\\(?s:.)|\s+\*\*|\s*[^\s*\\])*?\*)(?:[^*]|$)",
        ),
        (PatternContent::Text(2), r"^(\*\*(?:\\(?s:.)|[^\\])+?\*\*)(?:[^*]|$)"),
        (PatternContent::Text(2), r"^(__(?:\\(?s:.)|[^\\])+?__)(?:[^_]|$)"),
        (PatternContent::Text(2), r"^(~~(?s:.)+?~~)(?:[^_]|$)"),
        (PatternContent::Text(2), r"^(\|\|(?s:.)+?\|\|)"),
        (PatternContent::Perhaps, r"^(<(?:[^: >]+:/[^ >]+|[\w '@#&!:/-]+)>)"),
        (PatternContent::Perhaps, r"^(:[0-9A-Za-z_+-]+:)"),
        (PatternContent::Perhaps, r"^(¯\\_\(ツ\)_/¯)"),
    ];
    patterns.map(|(content, pattern)| (content, regex(pattern))).into()
});

/// Returns the patterns that match the start of a text, and where they end.
fn patterns(rest: &str) -> Vec<(PatternContent, usize)> {
    let code = code_ends(rest).into_iter().map(|end| (PatternContent::Raw, end));
    let others = PATTERNS
        .iter()
        .filter_map(|(content, pattern)| Some((*content, pattern.captures(rest)?.get(1)?.end())));
    code.chain(others).collect()
}

/// Returns the ends of a code block, for clients that know its language and for those that do not, or else the end of
/// code in a line, with as many backticks as at its start or, if there are none, fewer.
fn code_ends(rest: &str) -> Vec<usize> {
    static BLOCKS: LazyLock<[Regex; 2]> = LazyLock::new(|| {
        [r"^```(?:[0-9A-Za-z_+.#-]*\n)?\n*[^\n](?s:.)*?```", r"^```\n*[^\n](?s:.)*?```"].map(regex)
    });
    let blocks = BLOCKS.iter().filter_map(|block| Some(block.find(rest)?.end()));
    let blocks: Vec<usize> = blocks.collect();
    if !blocks.is_empty() {
        return blocks;
    }
    let run_at = |at: usize| rest[at..].len() - rest[at..].trim_start_matches('`').len();
    let closes = |count: usize| {
        let mut at = run_at(0);
        loop {
            at += rest[at..].find('`')?;
            let run = run_at(at);
            at += run;
            if run == count {
                return Some(at);
            }
        }
    };
    (1..=run_at(0)).rev().find_map(closes).into_iter().collect()
}

fn regex(pattern: &str) -> Regex {
    Regex::new(pattern).expect("the pattern is valid")
}

#[cfg(test)]
pub(super) mod tests;
