//! Reading Discord's JSON leniently: a field of another shape counts as absent.

use serde_json::Value;
use twilight_model::id::Id;

/// A string, unless it is absent or empty.
pub fn non_empty_str(value: &Value) -> Option<&str> {
    value.as_str().filter(|text| !text.is_empty())
}

/// Discord's own ids have up to twenty digits. A longer one fits into no index of a database.
const MAX_ID_BYTES: usize = 200;

/// A string that can be an id, or the name of an emoji, which serves as one.
pub fn id_str(value: &Value) -> Option<&str> {
    non_empty_str(value).filter(|id| id.len() <= MAX_ID_BYTES)
}

/// The items of an array; none if it is absent.
pub fn array_at<'a>(object: &'a Value, key: &str) -> impl Iterator<Item = &'a Value> {
    object[key].as_array().into_iter().flatten()
}

pub fn parse_id<T>(value: &Value) -> Option<Id<T>> {
    non_empty_str(value)?.parse().ok()
}
