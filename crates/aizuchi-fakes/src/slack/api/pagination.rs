//! Long lists come in pages, each with a cursor to the next.

use serde_json::{Value, json};

use crate::slack::api_error::{ApiError, api_error};
use crate::slack::arguments::Arguments;

/// Some of a list, and where it goes on; empty at its end.
pub struct ListPage<T> {
    pub items: Vec<T>,
    pub next_cursor: String,
}

/// The items that a call asks for. They stand in the order of their keys.
pub fn paginate<'a, T>(
    arguments: &Arguments,
    items: impl Iterator<Item = (&'a str, T)>,
    usual: usize,
) -> Result<ListPage<T>, ApiError> {
    let from = decode_cursor(arguments, "id")?.unwrap_or_default();
    let limit = page_limit(arguments, usual);
    let mut rest = items.skip_while(|(key, _)| *key < from.as_str());
    let items = rest.by_ref().take(limit).map(|(_, item)| item).collect();
    let next = rest.next().map(|(key, _)| encode_cursor("id", key)).unwrap_or_default();
    Ok(ListPage { items, next_cursor: next })
}

/// How many a call asks for.
pub fn page_limit(arguments: &Arguments, usual: usize) -> usize {
    let limit = arguments.number("limit").and_then(|limit| usize::try_from(limit).ok());
    limit.filter(|limit| *limit > 0).unwrap_or(usual).min(1000)
}

/// Opaque to clients; it ends in what must be escaped in a URL, as Slack's do.
pub fn encode_cursor(kind: &str, key: &str) -> String {
    format!("{kind}:{key}=")
}

pub fn decode_cursor(arguments: &Arguments, kind: &str) -> Result<Option<String>, ApiError> {
    let Some(cursor) = arguments.text("cursor") else {
        return Ok(None);
    };
    let key = cursor.strip_prefix(kind).and_then(|rest| rest.strip_prefix(':')?.strip_suffix('='));
    key.map(|key| Some(key.to_owned())).ok_or_else(|| api_error("invalid_cursor"))
}

/// What a list's answer says of the next page.
pub fn response_metadata(next: &str) -> Value {
    json!({ "next_cursor": next })
}
