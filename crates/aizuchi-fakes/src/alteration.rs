//! Alterations of single values in JSON, to test parsers: another type, an extreme value, or no value.

use serde_json::{Value, json};

use crate::wire::LONE_SURROGATE;

/// Longer than a database index allows.
const HUGE: usize = 5_000;

#[derive(Clone, Debug, PartialEq)]
pub struct Alteration {
    /// A JSON pointer to a value.
    pub pointer: String,
    /// The value that replaces it, or `None` to remove it.
    pub value: Option<Value>,
}

impl Alteration {
    /// Returns every alteration of every value in `json`. Only the first item of an array is altered.
    pub fn all_of(json: &Value) -> Vec<Self> {
        let mut pointers = Vec::new();
        collect_pointers(json, String::new(), &mut pointers);
        let alter = |pointer: String| {
            replacements().into_iter().map(move |value| Self { pointer: pointer.clone(), value })
        };
        pointers.into_iter().flat_map(alter).collect()
    }

    pub fn apply(&self, json: &mut Value) {
        let value = self.value.clone();
        let Some((parent, key)) = self.pointer.rsplit_once('/') else {
            *json = value.unwrap_or_default();
            return;
        };
        let key = key.replace("~1", "/").replace("~0", "~");
        match (json.pointer_mut(parent), value) {
            (Some(Value::Object(parent)), Some(value)) => {
                parent.insert(key, value);
            }
            (Some(Value::Object(parent)), None) => {
                parent.remove(&key);
            }
            (Some(Value::Array(parent)), value) => {
                parent.splice(..1, value);
            }
            (Some(_) | None, _) => {}
        }
    }
}

fn collect_pointers(json: &Value, pointer: String, pointers: &mut Vec<String>) {
    let mut descend = |key: &str, inner: &Value| {
        let key = key.replace('~', "~0").replace('/', "~1");
        collect_pointers(inner, format!("{pointer}/{key}"), pointers);
    };
    match json {
        Value::Object(fields) => fields.iter().for_each(|(key, inner)| descend(key, inner)),
        Value::Array(items) => items.iter().take(1).for_each(|item| descend("0", item)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
    pointers.push(pointer);
}

fn replacements() -> Vec<Option<Value>> {
    // The last two are the latest possible time and the highest id.
    let half = LONE_SURROGATE.to_string();
    let texts = ["", "x", "\u{0}", &half, "253402207199.999999", "18446744073709551615"];
    let others = [Value::Null, json!(true), json!(7), json!(u64::MAX), json!([])];
    let huge = json!("x".repeat(HUGE));
    let values = texts.map(Value::from).into_iter().chain(others);
    [None].into_iter().chain(values.chain([json!({ "id": "x" }), huge]).map(Some)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_is_altered() {
        let json = json!({"a/b": [{"c": 1}, 2]});
        let alterations = Alteration::all_of(&json);
        let of = |pointer: &str| {
            let of = alterations.iter().filter(|it| it.pointer == pointer);
            let altered = of.map(|alteration| {
                let mut json = json.clone();
                alteration.apply(&mut json);
                json
            });
            altered.collect::<Vec<_>>()
        };
        assert_eq!(alterations.len(), 4 * replacements().len());
        assert!(of("").contains(&json!("x")));
        assert!(of("/a~1b").contains(&json!({"a/b": null})) && of("/a~1b").contains(&json!({})));
        assert!(of("/a~1b/0").contains(&json!({"a/b": [2]})));
        assert!(of("/a~1b/0/c").contains(&json!({"a/b": [{"c": "x"}, 2]})));
    }
}
