//! The JSON Schema of the config.

use schemars::JsonSchema;
use serde_json::{Value, json};

use crate::Config;

/// How a mode is written.
#[derive(JsonSchema)]
#[schemars(rename_all = "snake_case", inline)]
pub enum ModeSchema {
    /// Takes part as a member.
    Companion,
    /// Helps a discussion along.
    Facilitator,
    /// Answers only when it is mentioned.
    MentionOnly,
    /// Asks somebody before it says anything unasked.
    Propose,
    /// Remembers, and posts nothing.
    Observe,
    /// Does nothing there.
    Off,
}

/// How the way to find the wait is written.
#[derive(JsonSchema)]
#[schemars(rename_all = "snake_case", inline)]
pub enum WaitSchema {
    /// `min_wait_seconds` ± `jitter_ratio` after the newest message.
    Fixed,
    /// The wait follows the pace of the channel.
    Adaptive,
}

/// How the call that names a state is written.
#[derive(JsonSchema)]
#[schemars(rename_all = "snake_case", inline)]
pub enum StateCallSchema {
    /// The judge names it in its own call.
    Fused,
    /// `agents.state` is asked before the judge.
    Separate,
}

/// The JSON Schema, with which editors complete and check a config.
pub fn schema() -> Value {
    let mut schema = schemars::schema_for!(Config).to_value();
    allow_variables(&mut schema);
    let retries = "/$defs/ClientArgs/properties/max_retries";
    if let Some(retries) = schema.pointer(retries).cloned()
        && let Some(known) = schema.pointer_mut("/$defs/ClientArgs/properties")
    {
        known["num_retries"] = retries;
    }
    if let Some(object) = schema.as_object_mut() {
        object.insert("title".to_owned(), "The settings of Aizuchi".into());
    }
    schema
}

/// Allows a `${…}` variable in place of every value that is not a string.
fn allow_variables(schema_part: &mut Value) {
    match schema_part {
        Value::Array(schema_parts) => schema_parts.iter_mut().for_each(allow_variables),
        Value::Object(object) => {
            object.values_mut().for_each(allow_variables);
            let is_number =
                |kind: &Value| matches!(kind.as_str(), Some("integer" | "number" | "boolean"));
            let is_closed = object.get("type").is_some_and(|kind| match kind.as_array() {
                Some(kinds) => kinds.iter().any(is_number),
                None => is_number(kind),
            }) || object.contains_key("enum")
                || object.contains_key("oneOf");
            if is_closed {
                let mut choice = std::mem::take(object);
                let annotations = ["description", "default"];
                let annotations = annotations.map(|key| (key.to_owned(), choice.remove(key)));
                object.insert(
                    "anyOf".to_owned(),
                    json!([choice, { "type": "string", "pattern": r"\$\{" }]),
                );
                object
                    .extend(annotations.into_iter().filter_map(|(key, value)| Some((key, value?))));
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::secret::is_secret_key;

    /// Collects the paths that the schema marks as secret.
    fn secrets(
        schema_part: &Value,
        schema: &Value,
        path: &mut Vec<String>,
        found: &mut Vec<Vec<String>>,
    ) {
        if schema_part["format"] == "password" {
            found.push(path.clone());
        }
        if let Some(reference) = schema_part["$ref"].as_str() {
            secrets(schema.pointer(&reference[1..]).unwrap(), schema, path, found);
        }
        for choice in schema_part["anyOf"].as_array().into_iter().flatten() {
            secrets(choice, schema, path, found);
        }
        for (key, schema_part) in schema_part["properties"].as_object().into_iter().flatten() {
            path.push(key.clone());
            secrets(schema_part, schema, path, found);
            path.pop();
        }
        if schema_part["additionalProperties"].is_object() {
            secrets(&schema_part["additionalProperties"], schema, path, found);
        }
    }

    #[test]
    fn every_secret_has_a_secret_key() {
        let schema = schema();
        let mut found = Vec::new();
        secrets(&schema, &schema, &mut Vec::new(), &mut found);
        assert!(found.len() > 8, "{found:?}");
        for path in found {
            assert!(path.iter().any(|key| is_secret_key(key)), "{path:?}");
        }
    }

    #[test]
    fn every_key_is_described() {
        let schema = schema();
        let mut schema_parts = vec![("the config", &schema)];
        schema_parts.extend(
            schema["$defs"]
                .as_object()
                .unwrap()
                .iter()
                .map(|(name, schema_part)| (name.as_str(), schema_part)),
        );
        for (name, schema_part) in schema_parts {
            for (key, schema_part) in schema_part["properties"].as_object().into_iter().flatten() {
                let target =
                    schema_part["$ref"].as_str().map(|to| schema.pointer(&to[1..]).unwrap());
                let is_described = [Some(schema_part), target]
                    .iter()
                    .flatten()
                    .any(|schema_part| schema_part["description"].is_string());
                assert!(is_described, "{key} of {name}");
            }
        }
    }
}
