//! Strong words in Japanese Markdown. Whoever shows what a model wrote marks them before the parser
//! reads it, and reads the marks from the text that comes out.

use pulldown_cmark::{CowStr, Event, Tag, TagEnd};

/// Stand for a `**` that CommonMark does not take for what it is.
const OPENS: char = '\u{e000}';
const CLOSES: char = '\u{e001}';

/// Marks the `**` of Japanese text. CommonMark wants a space or a stop beside those that stand next
/// to brackets and stops, as in `**「大事」**です`, and Japanese has no spaces.
pub fn with_marks(text: &str) -> String {
    // The marks are ours alone.
    let text = text.replace([OPENS, CLOSES], "");
    let mut is_code = false;
    let lines = text.split('\n').map(|line| {
        is_code ^= line.trim_start().starts_with("```");
        let is_plain = is_code || line.contains('`') || line.is_ascii();
        if is_plain { line.to_owned() } else { line_with_marks(line) }
    });
    lines.collect::<Vec<_>>().join("\n")
}

fn line_with_marks(line: &str) -> String {
    let parts: Vec<&str> = line.split("**").collect();
    // They come in pairs, each around something that begins and ends with a letter or a mark.
    let are_pairs = parts.len() % 2 == 1;
    let is_inside = |part: &str| !part.is_empty() && part.trim() == part && !part.contains('*');
    if !are_pairs || !parts.iter().skip(1).step_by(2).all(|part| is_inside(part)) {
        return line.to_owned();
    }
    let mut marked = String::with_capacity(line.len());
    for (number, part) in parts.iter().enumerate() {
        match number % 2 {
            0 => marked.push_str(part),
            _ => marked.extend([&OPENS.to_string(), *part, &CLOSES.to_string()]),
        }
    }
    marked
}

pub fn has_marks(text: &str) -> bool {
    text.contains([OPENS, CLOSES])
}

/// With the `**` that our marks stand for.
pub fn plain(text: &str) -> CowStr<'static> {
    text.replace([OPENS, CLOSES], "**").into()
}

/// The event with the `**` that our marks stand for.
pub fn without_marks(event: Event<'_>) -> Event<'_> {
    match event {
        Event::Text(text) => Event::Text(plain(&text)),
        Event::Code(text) => Event::Code(plain(&text)),
        other => other,
    }
}

/// The events of a text in which marks stand.
pub fn parts(text: &str) -> Vec<Event<'static>> {
    let mut events = Vec::new();
    for part in text.split_inclusive([OPENS, CLOSES]) {
        let words = part.trim_end_matches([OPENS, CLOSES]);
        if !words.is_empty() {
            events.push(Event::Text(words.to_owned().into()));
        }
        match part.chars().next_back() {
            Some(OPENS) => events.push(Event::Start(Tag::Strong)),
            Some(CLOSES) => events.push(Event::End(TagEnd::Strong)),
            Some(_) | None => {}
        }
    }
    events
}
