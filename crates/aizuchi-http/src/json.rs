//! Parses JSON from chat platforms. One value that cannot be represented must not hide the page or the event that
//! contains it, so it is repaired or left out.

use std::collections::BTreeMap;

use serde_json::value::RawValue;
use serde_json::{Error, Map, Value, from_slice, from_str};

/// The maximum depth to which readable values are salvaged next to an unreadable one.
const MAX_SALVAGE_DEPTH: usize = 8;
/// The replacement for an invalid character.
const REPLACEMENT: &str = "\\ufffd";
/// The length of an escaped UTF-16 code unit, as in `\u00e9`.
const ESCAPE_LENGTH: usize = 6;

/// Parses JSON. An unpaired surrogate, which JSON can escape but a string cannot contain, becomes U+FFFD. A value that
/// is nested too deeply, or a number that is too large, becomes null. Fails only if the input is not JSON.
pub fn parse_json(bytes: &[u8]) -> Result<Value, Error> {
    from_slice(bytes).or_else(|_| {
        let text = replace_lone_surrogates(&String::from_utf8_lossy(bytes));
        from_str(&text).or_else(|_| from_str(&text).map(|raw| salvage(raw, 0)))
    })
}

/// Parses a value part by part.
fn salvage(raw: &RawValue, depth: usize) -> Value {
    let text = raw.get();
    if let Ok(value) = from_str(text) {
        return value;
    }
    if depth == MAX_SALVAGE_DEPTH {
        return Value::Null;
    }
    if let Ok(items) = from_str::<Vec<&RawValue>>(text) {
        return items.into_iter().map(|item| salvage(item, depth + 1)).collect();
    }
    match from_str::<BTreeMap<String, &RawValue>>(text) {
        Ok(fields) => {
            let fields = fields.into_iter().map(|(name, raw)| (name, salvage(raw, depth + 1)));
            Value::Object(Map::from_iter(fields))
        }
        Err(_) => Value::Null,
    }
}

/// Replaces each escaped surrogate that is not part of a pair.
fn replace_lone_surrogates(text: &str) -> String {
    let mut repaired = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        let (before, escaped) = rest.split_at(at);
        repaired.push_str(before);
        let (kept, length) = match code_unit(escaped) {
            Some(0xd800..=0xdbff) if is_low_surrogate(&escaped[ESCAPE_LENGTH..]) => {
                (&escaped[..2 * ESCAPE_LENGTH], 2 * ESCAPE_LENGTH)
            }
            Some(0xd800..=0xdfff) => (REPLACEMENT, ESCAPE_LENGTH),
            Some(_) => (&escaped[..ESCAPE_LENGTH], ESCAPE_LENGTH),
            // The backslash, and the character that it escapes.
            None => {
                let length = escaped.chars().take(2).map(char::len_utf8).sum();
                (&escaped[..length], length)
            }
        };
        repaired.push_str(kept);
        rest = &escaped[length..];
    }
    repaired + rest
}

/// Returns the code unit of an escape at the start of the text.
fn code_unit(text: &str) -> Option<u16> {
    let digits = text.strip_prefix("\\u")?.get(..ESCAPE_LENGTH - 2)?;
    let is_hex = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    u16::from_str_radix(digits, 16).ok().filter(|_| is_hex)
}

fn is_low_surrogate(text: &str) -> bool {
    matches!(code_unit(text), Some(0xdc00..=0xdfff))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn lone_surrogates_are_replaced() {
        for (text, expected) in [
            (r#""a \ud800 b""#, "a \u{fffd} b"),
            (r#""\udc00\ud83c\udf75""#, "\u{fffd}🍵"),
            (r#""\ud83c\ud83c\udf75\ud83c""#, "\u{fffd}🍵\u{fffd}"),
            (r#""\\ud800 \\\ud800 \u00e9\n\"""#, "\\ud800 \\\u{fffd} é\n\""),
        ] {
            assert_eq!(parse_json(text.as_bytes()).unwrap(), json!(expected), "{text}");
        }
        assert_eq!(parse_json(b"\"tea \xff\"").unwrap(), json!("tea \u{fffd}"));
    }

    #[test]
    fn what_cannot_be_read_hides_nothing_else() {
        let deep = "[".repeat(500) + &"]".repeat(500);
        let page = format!(
            r#"{{"messages": [{{"ts": "1.0", "x": {deep}}}, {{"ts": "2.0", "n": 1e999}}]}}"#
        );
        let page = parse_json(page.as_bytes()).unwrap();
        assert_eq!(page["messages"][0]["ts"], "1.0");
        assert_eq!(page["messages"][1], json!({"ts": "2.0", "n": null}));
    }

    #[test]
    fn what_is_no_json_is_refused() {
        for text in
            ["", "<html>", "{\"a\": }", "[1, 2", "\"\\ud8\"", "\"\\", "{} {}", "\"\\u\u{e9}\""]
        {
            assert!(parse_json(text.as_bytes()).is_err(), "{text}");
        }
    }
}
