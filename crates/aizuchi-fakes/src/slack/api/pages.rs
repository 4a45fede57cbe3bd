//! Long lists come in pages, each with a cursor to the next.

use serde_json::{Value, json};

use crate::slack::arguments::Arguments;
use crate::slack::refusal::{Refusal, refuse};

/// Some of a list, and where it goes on; empty at its end.
pub struct Page<T> {
    pub items: Vec<T>,
    pub next: String,
}

/// The items that a call asks for. They stand in the order of their keys.
pub fn page<'a, T>(
    arguments: &Arguments,
    items: impl Iterator<Item = (&'a str, T)>,
    usual: usize,
) -> Result<Page<T>, Refusal> {
    let from = read_cursor(arguments, "id")?.unwrap_or_default();
    let limit = limit(arguments, usual);
    let mut rest = items.skip_while(|(key, _)| *key < from.as_str());
    let items = rest.by_ref().take(limit).map(|(_, item)| item).collect();
    let next = rest.next().map(|(key, _)| cursor("id", key)).unwrap_or_default();
    Ok(Page { items, next })
}

/// How many a call asks for.
pub fn limit(arguments: &Arguments, usual: usize) -> usize {
    let limit = arguments.number("limit").and_then(|limit| usize::try_from(limit).ok());
    limit.filter(|limit| *limit > 0).unwrap_or(usual).min(1000)
}

/// Opaque to clients; it ends in what must be escaped in a URL, as Slack's do.
pub fn cursor(kind: &str, key: &str) -> String {
    format!("{kind}:{key}=")
}

pub fn read_cursor(arguments: &Arguments, kind: &str) -> Result<Option<String>, Refusal> {
    let Some(cursor) = arguments.text("cursor") else {
        return Ok(None);
    };
    let key = cursor.strip_prefix(kind).and_then(|rest| rest.strip_prefix(':')?.strip_suffix('='));
    key.map(|key| Some(key.to_owned())).ok_or_else(|| refuse("invalid_cursor"))
}

/// What a list's answer says of the next page.
pub fn metadata(next: &str) -> Value {
    json!({ "next_cursor": next })
}
