//! The JSON that models answer with. Only what every provider's strict mode knows: no ranges, every
//! field required, `anyOf` for what may be null.

use serde_json::{Value, json};

/// The fields of [`crate::decision::Judgment`] as a model writes them (seed 002-5).
pub fn judgment() -> Value {
    let or_null = |kind: &str| json!({ "anyOf": [{ "type": kind }, { "type": "null" }] });
    json!({
        "type": "object",
        "properties": {
            "should_respond": { "type": "boolean" },
            "reason": { "type": "string" },
            "confidence": { "type": "number" },
            "delay_seconds": or_null("integer"),
            "about": or_null("string"),
        },
        "required": ["should_respond", "reason", "confidence", "delay_seconds", "about"],
        "additionalProperties": false,
    })
}

/// A memory: dated entries, each with the numbers of the sources that it comes from.
pub fn memory() -> Value {
    json!({
        "type": "object",
        "properties": {
            "entries": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {
                        "date": { "type": "string" },
                        "text": { "type": "string" },
                        "sources": { "type": "array", "items": { "type": "integer" } },
                    },
                    "required": ["date", "text", "sources"],
                    "additionalProperties": false,
                },
            },
        },
        "required": ["entries"],
        "additionalProperties": false,
    })
}
