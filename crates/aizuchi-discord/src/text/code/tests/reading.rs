//! A text as Discord's clients read it, by their patterns in their order. It shares nothing with what is tested, and
//! where a pattern cannot be written here, it takes more for a link than Discord does.

use std::sync::LazyLock;

use regex::Regex;

/// Longer runs of backticks are read as such a run.
const MAX_RUN: usize = 12;

struct Patterns {
    quote: Regex,
    line: Regex,
    code_block: Regex,
    escape: Regex,
    autolink: Regex,
    url: Regex,
    link: Regex,
    /// Without a valid one, no client shows a link.
    scheme: Regex,
    em: [Regex; 2],
    strong: Regex,
    underline: Regex,
    strike: Regex,
    spoiler: Regex,
    leaf: Regex,
    item: Regex,
    /// Code in a line, by the number of backticks around it less one.
    spans: Vec<Regex>,
}

static PATTERNS: LazyLock<Patterns> = LazyLock::new(|| {
    let star = r"\*\*|\\(?s:.)|\s+(?:\\(?s:.)|[^\s*\\]|\*\*)|[^\s*\\]";
    let new = |pattern: &str| Regex::new(pattern).expect("the pattern is valid");
    Patterns {
        quote: new(r"^( *>>> (?s:.*))|^( *> [^\n]*(\n *> [^\n]*)*\n?)"),
        line: new(r"^(?:#{1,3}|-#) +([^\n]+)(?:\n|$)"),
        code_block: new(r"(?i)^```(?:([a-z0-9_+\-.#]+?)\n)?\n*([^\n](?s:.*?))\n*```"),
        escape: new(r"^\\[^0-9A-Za-z\s]"),
        autolink: new(r"^<([^: >]+:/[^ >]+)>"),
        url: new(r#"^((?:https?|steam)://[^\s<]+[^<.,:;"'\]\s])"#),
        // The label may be longer than Discord's.
        link: new(
            r"^\[(?s:.*?)\]\(\s*<?((?:\([^)]*\)|[^\s\\]|\\.)*?)>?\s*(?:['\x22](?s:.*?)['\x22])?\s*\)",
        ),
        scheme: new(r"^[A-Za-z][0-9A-Za-z+.\-]*:"),
        em: [
            new(r"^_((?:__|\\(?s:.)|[^\\_])+?)_(?:[^0-9A-Za-z_]|$)"),
            new(&format!(r"^\*((?:\*\*|\\(?s:.)|[^\s*\\])(?:{star})*?)\*(?:[^*]|$)")),
        ],
        strong: new(r"^\*\*((?:\\(?s:.)|[^\\])+?)\*\*(?:[^*]|$)"),
        underline: new(r"^__((?:\\(?s:.)|[^\\])+?)__(?:[^_]|$)"),
        strike: new(r"^~~((?s:.+?))~~(?:[^_]|$)"),
        spoiler: new(r"^\|\|((?s:.+?))\|\|"),
        leaf: new(
            r"^(?:<(?:@[!&]?|#|a?:[0-9A-Za-z_]+:|t:|/[^:>`\n]+:)[0-9A-Za-z:]+>|¯\\_\(ツ\)_/¯|:[0-9A-Za-z_+-]+:)",
        ),
        item: new(r"^( *)(?:[*-]|[0-9]+\.) +"),
        spans: (1..=MAX_RUN)
            .map(|run| new(&format!("^`{{{run}}}((?s:.*?)[^`])`{{{run}}}(?:[^`]|$)")))
            .collect(),
    }
});

/// What a client reads besides the common patterns.
#[derive(Clone, Copy)]
pub struct ChatClient {
    /// Lists, whose items are read by themselves.
    pub has_lists: bool,
    /// Emoji by their names.
    pub has_emoji: bool,
}

#[derive(Clone, Copy)]
struct State {
    is_quoted: bool,
    list_level: usize,
}

/// Returns the targets of all links that are not in code.
pub fn live_targets(text: &str, client: ChatClient) -> Vec<String> {
    let mut targets = Vec::new();
    read(text, client, State { is_quoted: false, list_level: 0 }, &mut targets);
    targets
}

fn read(text: &str, client: ChatClient, state: State, targets: &mut Vec<String>) {
    let patterns = &*PATTERNS;
    let mut at = 0;
    while at < text.len() {
        let rest = &text[at..];
        let is_line_start = at == 0 || text[..at].ends_with('\n');
        if is_line_start {
            if let Some(quote) = patterns.quote.find(rest).filter(|_| !state.is_quoted) {
                // `>>>` begins a quotation of all that follows.
                let mark = if rest.trim_start().starts_with(">>>") { ">>>" } else { ">" };
                let count = if mark == ">>>" { 1 } else { usize::MAX };
                let lines = quote.as_str().split('\n').enumerate().map(|(number, line)| {
                    let inner = line.trim_start_matches(' ').strip_prefix(mark);
                    let inner = inner.filter(|_| number < count);
                    inner.map_or(line, |inner| inner.strip_prefix(' ').unwrap_or(inner))
                });
                let inner = lines.collect::<Vec<_>>().join("\n");
                read(&inner, client, State { is_quoted: true, ..state }, targets);
                at += quote.end();
                continue;
            }
            if let Some(line) = patterns.line.captures(rest) {
                read(&line[1], client, state, targets);
                at += line[0].len();
                continue;
            }
            let may_be_list = client.has_lists && state.list_level < 11;
            if let Some(end) = list_end(rest).filter(|_| may_be_list) {
                read_list(&rest[..end], client, state, targets);
                at += end;
                continue;
            }
        }
        at += read_inline(rest, client, state, targets);
    }
}

/// Reads what matches first and returns its length.
fn read_inline(rest: &str, client: ChatClient, state: State, targets: &mut Vec<String>) -> usize {
    let patterns = &*PATTERNS;
    if let Some(raw) = patterns.code_block.find(rest).or_else(|| patterns.escape.find(rest)) {
        return raw.end();
    }
    for link in [&patterns.autolink, &patterns.url, &patterns.link] {
        if let Some(link) = link.captures(rest) {
            targets
                .extend(Some(link[1].to_owned()).filter(|target| patterns.scheme.is_match(target)));
            return link[0].len();
        }
    }
    // The longest wins, and among equals the first.
    let emphases = patterns.em.iter().chain([&patterns.strong, &patterns.underline]);
    let found = emphases.filter_map(|emphasis| emphasis.captures(rest)).map(|found| {
        let inner = found.get(1).expect("each pattern has a content");
        (inner.end() + inner.start(), inner.as_str())
    });
    let longest = found.reduce(|best, next| if next.0 > best.0 { next } else { best });
    let others = [&patterns.strike, &patterns.spoiler].into_iter();
    let other = || {
        let mut found = others.filter_map(|mark| mark.captures(rest));
        let inner = found.next()?.get(1)?;
        Some((inner.end() + inner.start(), inner.as_str()))
    };
    if let Some((end, inner)) = longest.or_else(other) {
        read(inner, client, state, targets);
        return end;
    }
    let leaf = patterns.leaf.find(rest);
    let leaf = leaf.filter(|leaf| client.has_emoji || !leaf.as_str().starts_with(':'));
    let code = code_in_line(rest).or(leaf.map(|leaf| leaf.end()));
    code.unwrap_or_else(|| rest.chars().next().map_or(1, char::len_utf8))
}

fn code_in_line(rest: &str) -> Option<usize> {
    let run = rest.len() - rest.trim_start_matches('`').len();
    PATTERNS.spans[..run.min(MAX_RUN)]
        .iter()
        .enumerate()
        .rev()
        .find_map(|(index, span)| Some(span.captures(rest)?.get(1)?.end() + index + 1))
}

/// Returns where a list ends: before a line without a space before it that begins no item.
fn list_end(rest: &str) -> Option<usize> {
    let first = PATTERNS.item.captures(rest)?;
    let indent = &first[1];
    let mut end = 0;
    for line in rest.split_inclusive('\n') {
        let is_item = line.strip_prefix(indent).is_some_and(|item| begins_item(item, 0));
        if end > 0 && !line.starts_with(' ') && !is_item {
            break;
        }
        end += line.len();
    }
    Some(end)
}

fn begins_item(line: &str, indent: usize) -> bool {
    PATTERNS.item.captures(line).is_some_and(|item| item[1].len() == indent)
}

fn read_list(list: &str, client: ChatClient, state: State, targets: &mut Vec<String>) {
    let Some(first) = PATTERNS.item.captures(list) else { return };
    let (indent, width) = (first[1].len(), first[0].len());
    let mut items: Vec<String> = Vec::new();
    for line in list.split_inclusive('\n') {
        let is_next = begins_item(line, indent) || begins_item(line, indent + 1);
        if is_next || items.is_empty() {
            items.push(PATTERNS.item.replace(line, "").into_owned());
        } else if let Some(item) = items.last_mut() {
            let blank = line.len() - line.trim_start_matches(' ').len();
            item.push_str(&line[blank.min(width)..]);
        }
    }
    let state = State { list_level: state.list_level + 1, ..state };
    items.iter().for_each(|item| read(item, client, state, targets));
}
