//! The longer answers of a notebook: a page of memos, one memo, and the tags. Nothing in a memo can be mistaken for
//! another memo or field, and every answer has a maximum length.

use std::fmt::Write as _;

use aizuchi_model::chat::{is_line_break, to_single_line};
use aizuchi_model::memo::{MAX_LIST_LENGTH, MAX_NAME_LENGTH, Memo};
use aizuchi_model::persona::Language;
use aizuchi_model::texts;
use jiff::Timestamp;
use jiff::tz::TimeZone;

/// The maximum length of a memo's content in a list, in characters.
const MAX_LINE_LENGTH: usize = 200;
/// The maximum length of the content or the details shown for a single memo.
const MAX_TEXT_LENGTH: usize = 4000;

/// Formats one page of the `all` memos, after skipping `offset`.
pub fn list(language: Language, page: &[&Memo], offset: usize, all: usize) -> String {
    let mut text = match page.is_empty() {
        false => texts::memos::page(language, offset + 1, offset + page.len(), all),
        true => texts::memos::empty_page(language, all),
    };
    for memo in page {
        let _ = write!(text, "\n{}", list_item(language, memo));
    }
    text
}

pub fn details(language: Language, memo: &Memo, zone: &TimeZone) -> String {
    let tags = match memo.tags.is_empty() {
        true => texts::memos::no_tags_field(language).to_owned(),
        false => join_tags(&memo.tags),
    };
    let minute = |at: Timestamp| format_time(at, zone, "%Y-%m-%d %H:%M");
    let mut text = texts::memos::one_memo(language).to_owned();
    let mut field = |name: &str, value: String| {
        let _ = write!(text, "\n- {name}:{value}");
    };
    let quote = |text: &str| quote_multiline(&truncate(text, MAX_TEXT_LENGTH));
    field(texts::memos::name_field(language), quote_multiline(&memo.name));
    field(texts::memos::priority_field(language), format!(" {}", memo.priority));
    field(texts::memos::tags_field(language), format!(" {tags}"));
    field(texts::memos::content_field(language), quote(&memo.content));
    if let Some(detail) = &memo.detail {
        field(texts::memos::details_field(language), quote(detail));
    }
    field(texts::memos::created_field(language), format!(" {}", minute(memo.created)));
    field(texts::memos::changed_field(language), format!(" {}", minute(memo.updated)));
    text
}

/// Formats each tag with the number of its memos and the time of the latest change.
pub fn tags(language: Language, tags: &[(&str, usize, Timestamp)], zone: &TimeZone) -> String {
    let mut text = texts::memos::tags(language, tags.len());
    for (tag, count, updated) in tags.iter().take(MAX_LIST_LENGTH) {
        let (tag, day) = (shown_name(tag), format_time(*updated, zone, "%Y-%m-%d"));
        let _ = write!(text, "\n- {}", texts::memos::tag(language, &tag, *count, &day));
    }
    text
}

/// Returns the name of a memo or a tag as answers show it. It may be any text, because it is echoed even if there is no
/// such memo or tag.
pub fn shown_name(name: &str) -> String {
    truncate_line(name, MAX_NAME_LENGTH)
}

fn list_item(language: Language, memo: &Memo) -> String {
    let name = to_single_line(&memo.name);
    let priority = texts::memos::priority(language, memo.priority);
    let mut text = format!("- [{name}] {priority}");
    if !memo.tags.is_empty() {
        let _ = write!(text, " [{}]", join_tags(&memo.tags));
    }
    let _ = write!(text, " {}", truncate_line(&memo.content, MAX_LINE_LENGTH));
    if memo.detail.is_some() {
        let _ = write!(text, " {}", texts::memos::has_details(language));
    }
    text
}

/// Quotes a text. A single line stays on the same line. A longer text follows below, with `> ` before each line, so
/// that it cannot look like another field (invariant 10).
fn quote_multiline(text: &str) -> String {
    if !text.contains(is_line_break) {
        return format!(" {}", to_single_line(text));
    }
    text.split(is_line_break).map(|line| format!("\n> {line}")).collect()
}

fn join_tags(tags: &[String]) -> String {
    let tags: Vec<String> = tags.iter().map(|tag| shown_name(tag)).collect();
    tags.join(", ")
}

fn format_time(at: Timestamp, zone: &TimeZone, format: &str) -> String {
    at.to_zoned(zone.clone()).strftime(format).to_string()
}

fn truncate_line(text: &str, longest: usize) -> String {
    truncate(&to_single_line(text), longest)
}

fn truncate(text: &str, longest: usize) -> String {
    match text.char_indices().nth(longest) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
