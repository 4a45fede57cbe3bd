//! Reading Discord's JSON leniently: a field of another shape counts as absent.

use serde_json::Value;
use twilight_model::id::Id;

/// Text that is there.
pub fn non_empty_str(value: &Value) -> Option<&str> {
    value.as_str().filter(|text| !text.is_empty())
}

pub fn array_at<'a>(holder: &'a Value, key: &str) -> impl Iterator<Item = &'a Value> {
    holder[key].as_array().into_iter().flatten()
}

pub fn parse_id<T>(value: &Value) -> Option<Id<T>> {
    non_empty_str(value)?.parse().ok()
}
