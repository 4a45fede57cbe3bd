//! Reads Discord's JSON leniently: a field of an unexpected shape counts as absent.

use serde_json::Value;
use twilight_model::id::Id;

/// Returns the string, unless it is absent or empty.
pub fn non_empty_str(value: &Value) -> Option<&str> {
    value.as_str().filter(|text| !text.is_empty())
}

/// Discord's own ids have up to 20 digits. A longer id than this would not fit into a database index.
const MAX_ID_BYTES: usize = 200;

/// Returns the string if it can be an id, or an emoji's name, which serves as one.
pub fn id_str(value: &Value) -> Option<&str> {
    non_empty_str(value).filter(|id| id.len() <= MAX_ID_BYTES)
}

/// Returns the items of an array, or none if it is absent.
pub fn array_at<'a>(object: &'a Value, key: &str) -> impl Iterator<Item = &'a Value> {
    object[key].as_array().into_iter().flatten()
}

pub fn parse_id<T>(value: &Value) -> Option<Id<T>> {
    non_empty_str(value)?.parse().ok()
}
