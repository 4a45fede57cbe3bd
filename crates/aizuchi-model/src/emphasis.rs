//! Emphasis in Japanese Markdown. A renderer marks it before the parser reads a model's text, and replaces the
//! marks in the parser's output.

use pulldown_cmark::{CowStr, Event, Tag, TagEnd};

/// Private-use characters that stand for a `**` that CommonMark does not recognize.
const EMPHASIS_START: char = '\u{e000}';
const EMPHASIS_END: char = '\u{e001}';

/// Marks the `**` of Japanese text. Next to brackets and punctuation, as in `**「大事」**です`, CommonMark requires a
/// space or punctuation outside, and Japanese has no spaces.
pub fn mark_emphasis(text: &str) -> String {
    // Only this function may add marks.
    let text = text.replace([EMPHASIS_START, EMPHASIS_END], "");
    let mut is_code = false;
    let lines = text.split('\n').map(|line| {
        is_code ^= line.trim_start().starts_with("```");
        let is_plain = is_code || line.contains('`') || line.is_ascii();
        if is_plain { line.to_owned() } else { mark_line(line) }
    });
    lines.collect::<Vec<_>>().join("\n")
}

fn mark_line(line: &str) -> String {
    let parts: Vec<&str> = line.split("**").collect();
    // They come in pairs around non-blank text.
    let are_pairs = parts.len() % 2 == 1;
    let is_inside = |part: &str| !part.is_empty() && part.trim() == part && !part.contains('*');
    if !are_pairs || !parts.iter().skip(1).step_by(2).all(|part| is_inside(part)) {
        return line.to_owned();
    }
    let mut marked = String::with_capacity(line.len());
    for (number, part) in parts.iter().enumerate() {
        match number % 2 {
            0 => marked.push_str(part),
            _ => marked.extend([&EMPHASIS_START.to_string(), *part, &EMPHASIS_END.to_string()]),
        }
    }
    marked
}

pub fn has_emphasis_marks(text: &str) -> bool {
    text.contains([EMPHASIS_START, EMPHASIS_END])
}

/// Replaces the marks with `**` again.
pub fn restore_asterisks(text: &str) -> CowStr<'static> {
    text.replace([EMPHASIS_START, EMPHASIS_END], "**").into()
}

/// Replaces the marks in an event with `**` again.
pub fn restore_event(event: Event<'_>) -> Event<'_> {
    match event {
        Event::Text(text) => Event::Text(restore_asterisks(&text)),
        Event::Code(text) => Event::Code(restore_asterisks(&text)),
        other => other,
    }
}

/// Returns the events of a text with marks.
pub fn to_events(text: &str) -> Vec<Event<'static>> {
    let mut events = Vec::new();
    for part in text.split_inclusive([EMPHASIS_START, EMPHASIS_END]) {
        let text = part.trim_end_matches([EMPHASIS_START, EMPHASIS_END]);
        if !text.is_empty() {
            events.push(Event::Text(text.to_owned().into()));
        }
        match part.chars().next_back() {
            Some(EMPHASIS_START) => events.push(Event::Start(Tag::Strong)),
            Some(EMPHASIS_END) => events.push(Event::End(TagEnd::Strong)),
            Some(_) | None => {}
        }
    }
    events
}
