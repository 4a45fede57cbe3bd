//! JSON as sent on the wire. A user's client can send half of a surrogate pair, which JSON can encode and Rust's
//! strings cannot.

use axum::http::header;
use axum::response::{IntoResponse, Response};
use serde_json::Value;

/// The placeholder for half of a surrogate pair in a text.
pub const LONE_SURROGATE: char = '\u{e000}';

pub fn to_wire(json: &Value) -> String {
    json.to_string().replace(LONE_SURROGATE, "\\ud800")
}

/// Returns a response with this body.
pub fn json_response(json: &Value) -> Response {
    ([(header::CONTENT_TYPE, "application/json")], to_wire(json)).into_response()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn half_of_a_surrogate_pair_is_sent_as_json_spells_it() {
        let text = format!("a {LONE_SURROGATE} b");
        assert_eq!(to_wire(&json!({ "text": text })), r#"{"text":"a \ud800 b"}"#);
    }
}
