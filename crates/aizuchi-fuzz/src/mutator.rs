//! Derives new inputs from those of a corpus. The same seed gives the same inputs.

use aizuchi_harness::random::Random;
use serde_json::{Map, Value, json};

use crate::Input;

/// Fragments that are hard for parsers.
const PIECES: [&str; 40] = [
    "", "\0", "\n", "\r\n", "\u{feff}", "\u{202e}", "\u{200d}", "é", "e\u{301}", "👩\u{200d}👧",
    "ﷺ", "。", "「", "<", ">", "&", "&amp;", "<@U", "<!channel>", "<#C1|", "@everyone", "```",
    "~~~", "`", "**", "_", "|", "||", "[", "](", "](http://", "{", "}", "\"", "\\", "\\u0000",
    "${", "-1", "1e999", "18446744073709551616",
];
const MOST_BYTES: usize = 16 * 1024;
const DEEPEST: usize = 40;

/// Derives a new input from one in the corpus.
pub fn mutate(random: &mut Random, input: Input, corpus: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = random.pick(corpus).clone();
    if input == Input::Json
        && random.chance(0.6)
        && let Some(changed) = mutate_json(random, &bytes, corpus)
    {
        return changed;
    }
    for _ in 0..random.between(1, 6) {
        mutate_bytes(random, &mut bytes, corpus);
    }
    bytes.truncate(MOST_BYTES);
    bytes
}

fn mutate_bytes(random: &mut Random, bytes: &mut Vec<u8>, corpus: &[Vec<u8>]) {
    let at = random.below(bytes.len() + 1);
    let end = (at + random.below(24)).min(bytes.len());
    match random.below(8) {
        0 => bytes.truncate(at),
        1 => drop(bytes.drain(at..end)),
        2 => {
            let piece = bytes[at..end].repeat(random.below(6));
            bytes.splice(at..at, piece);
        }
        3 if at < bytes.len() => bytes[at] ^= 1 << random.below(8),
        4 => {
            let other = random.pick(corpus);
            let from = random.below(other.len() + 1);
            let piece = other[from..(from + random.below(60)).min(other.len())].to_vec();
            bytes.splice(at..end, piece);
        }
        5 => {
            let piece = random.pick(&PIECES).repeat(random.below(300));
            bytes.splice(at..at, piece.into_bytes());
        }
        _ => drop(bytes.splice(at..end, random.pick(&PIECES).bytes())),
    }
}

/// Changes values regardless of their schema. `None` if the bytes are not JSON.
fn mutate_json(random: &mut Random, bytes: &[u8], corpus: &[Vec<u8>]) -> Option<Vec<u8>> {
    let mut value: Value = serde_json::from_slice(bytes).ok()?;
    let other: &Vec<u8> = random.pick(corpus);
    let other = serde_json::from_slice(other).unwrap_or(Value::Null);
    for _ in 0..random.between(1, 5) {
        let place = random_place(random, &mut value);
        *place = match random.below(3) {
            0 => random_place(random, &mut other.clone()).clone(),
            1 => changed(random, place),
            _ => odd_value(random),
        };
    }
    Some(value.to_string().into_bytes())
}

/// A random value inside this one, or this one itself.
fn random_place<'v>(random: &mut Random, value: &'v mut Value) -> &'v mut Value {
    let length = match value {
        Value::Array(items) => items.len(),
        Value::Object(fields) => fields.len(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 0,
    };
    if length == 0 || random.chance(0.15) {
        return value;
    }
    let index = random.below(length);
    let inner = match value {
        Value::Array(items) => items.get_mut(index),
        Value::Object(fields) => fields.values_mut().nth(index),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    };
    random_place(random, inner.expect("the index is within its length"))
}

fn changed(random: &mut Random, value: &Value) -> Value {
    match value {
        Value::String(text) => {
            let middle = text.char_indices().nth(random.below(text.chars().count() + 1));
            let middle = middle.map_or(text.len(), |(at, _)| at);
            format!("{}{}{}", &text[..middle], random.pick(&PIECES), &text[middle..]).into()
        }
        Value::Array(items) => {
            let count = random.below(2 * items.len() + 1);
            items.iter().cycle().take(count).cloned().collect()
        }
        Value::Object(fields) => {
            let kept = fields.iter().filter(|_| random.chance(0.8));
            Value::Object(kept.map(|(key, value)| (key.clone(), value.clone())).collect())
        }
        Value::Number(number) => {
            let number = number.as_f64().unwrap_or_default();
            json!(*random.pick(&[-number, number * 1e6, number + 0.5, 0.0]))
        }
        Value::Null | Value::Bool(_) => odd_value(random),
    }
}

fn odd_value(random: &mut Random) -> Value {
    match random.below(12) {
        0 => Value::Null,
        1 => json!(true),
        2 => json!(i64::MIN),
        3 => json!(u64::MAX),
        4 => json!(1e300),
        5 => json!([]),
        6 => Value::Object(Map::new()),
        7 => json!("9".repeat(random.below(400))),
        8 => (0..random.below(DEEPEST)).fold(json!(1), |inner, _| json!([inner])),
        9 => json!("1800000000.000100"),
        10 => json!("U0000000001"),
        _ => json!(random.pick(&PIECES).repeat(random.below(40))),
    }
}
