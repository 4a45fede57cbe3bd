//! Cursor pagination.

use serde_json::{Value, json};

use crate::slack::api_error::{ApiResult, api_error};
use crate::slack::arguments::Arguments;

/// A page of a list, and the cursor of the next one; empty on the last page.
pub struct ListPage<T> {
    pub items: Vec<T>,
    pub next_cursor: String,
}

/// Returns the page that a call requests. `items` must be sorted by key.
pub fn paginate<'a, T>(
    arguments: &Arguments,
    items: impl Iterator<Item = (&'a str, T)>,
    default: usize,
) -> ApiResult<ListPage<T>> {
    let from = decode_cursor(arguments, "id")?.unwrap_or_default();
    let limit = page_limit(arguments, default);
    let mut rest = items.skip_while(|(key, _)| *key < from.as_str());
    let items = rest.by_ref().take(limit).map(|(_, item)| item).collect();
    let next = rest.next().map(|(key, _)| encode_cursor("id", key)).unwrap_or_default();
    Ok(ListPage { items, next_cursor: next })
}

/// Returns the page size that a call requests.
pub fn page_limit(arguments: &Arguments, default: usize) -> usize {
    let limit = arguments.number("limit").and_then(|limit| usize::try_from(limit).ok());
    limit.filter(|limit| *limit > 0).unwrap_or(default).min(1000)
}

/// Encodes a cursor, which clients must treat as opaque. Like Slack's, it ends in a character that a URL must escape.
pub fn encode_cursor(kind: &str, key: &str) -> String {
    format!("{kind}:{key}=")
}

pub fn decode_cursor(arguments: &Arguments, kind: &str) -> ApiResult<Option<String>> {
    let Some(cursor) = arguments.text("cursor") else {
        return Ok(None);
    };
    let key = cursor.strip_prefix(kind).and_then(|rest| rest.strip_prefix(':')?.strip_suffix('='));
    key.map(|key| Some(key.to_owned())).ok_or_else(|| api_error("invalid_cursor"))
}

pub fn response_metadata(next: &str) -> Value {
    json!({ "next_cursor": next })
}
