//! Parses form bodies of any length from a platform: what a user wrote in a Slack form is included twice, and
//! percent-encoded Japanese is nine times as long as it looks.

use reqwest::Url;
use serde_json::{Map, Value};

/// Parses the fields of an `application/x-www-form-urlencoded` body as strings. If a name occurs twice, the last value
/// wins.
pub fn parse_form(body: &[u8]) -> Option<Map<String, Value>> {
    let body = std::str::from_utf8(body).ok()?;
    let mut url = Url::parse("http://form/").ok()?;
    url.set_query(Some(body));
    let pairs = url.query_pairs().into_owned();
    Some(pairs.map(|(name, value)| (name, Value::String(value))).collect())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn fields_are_decoded() {
        for (body, fields) in [
            ("", json!({})),
            (
                "command=%2Faizuchi&text=mute+2h&empty=",
                json!({ "command": "/aizuchi", "text": "mute 2h", "empty": "" }),
            ),
            ("text=%E7%8A%AC&text=%23a%26b", json!({ "text": "#a&b" })),
            ("text=a#b", json!({ "text": "a#b" })),
            ("text=%ff%", json!({ "text": "\u{fffd}%" })),
        ] {
            assert_eq!(parse_form(body.as_bytes()).map(Value::Object), Some(fields), "{body}");
        }
        assert_eq!(parse_form(&[0xff]), None);
    }

    #[test]
    fn a_form_may_be_long() {
        let body = format!("payload={}", "%F0%9F%8C%B1".repeat(20_000));
        let fields = parse_form(body.as_bytes()).unwrap();
        assert_eq!(fields["payload"], "🌱".repeat(20_000));
    }
}
