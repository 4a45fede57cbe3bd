//! The example config and the schema are correct and complete.

use aizuchi_config::environment::Environment;
use aizuchi_config::known_keys::keys;
use aizuchi_config::schema::schema;
use aizuchi_config::{Config, EXAMPLE};
use serde_json::Value;

use crate::config::{aizuchi, environment};

#[test]
fn the_example_equals_the_defaults() {
    let loaded = Config::read(EXAMPLE, "example.yaml", &Environment::default()).unwrap();
    let url = loaded.config.storage.url.clone();
    assert_eq!(loaded.config.database_address(), Config::default().database_address());
    let mut defaults = Config::default();
    defaults.storage.url = url;
    assert_eq!((loaded.config, loaded.warnings), (defaults, Vec::new()));
}

#[test]
fn the_example_has_every_key() {
    let whole = uncommented();
    let names = ["OPENAI_API_KEY", "ANTHROPIC_API_KEY", "AIZUCHI_TOKEN"];
    let pairs = names.map(|name| (name, "9f86d081884c7d65"));
    let slack = [("SLACK_BOT_TOKEN", "xoxb-x"), ("SLACK_APP_TOKEN", "xapp-x")];
    let more = [("DISCORD_TOKEN", "x"), ("MIA_TOKEN", "a1b2f7e4409cc318"), slack[0], slack[1]];
    let environment = environment(&[&pairs[..], &more[..]].concat(), "");
    let config = Config::read(&whole, "example.yaml", &environment).unwrap().config;
    assert_eq!(config.response.min_wait_seconds.unwrap().0, 300.0);
    assert_eq!(config.health_check.port.unwrap().0, 8081);
    let tree: Value = serde_saphyr::from_str(&whole).unwrap();
    // All agents have the same keys, so the example shows them for the first one only.
    let is_shown_once = |path: &[String]| {
        path.first().is_some_and(|key| key == "agents")
            && path.get(1).is_some_and(|key| key != "response")
            && path.len() > 2
    };
    let is_free = |path: &[String]| path.iter().any(|key| key == "extra_headers") && path.len() > 5;
    // This is an alias of `max_retries`.
    let is_alias = |path: &[String]| path.last().is_some_and(|key| key == "num_retries");
    let is_shown = |path: &[String]| !is_shown_once(path) && !is_free(path) && !is_alias(path);
    for path in keys().iter().filter(|path| is_shown(path)) {
        assert!(has(&tree, path), "{} is not in the example", path.join("."));
    }
}

#[test]
fn the_schema_describes_the_example() {
    let schema = schema();
    for text in [EXAMPLE.to_owned(), uncommented()] {
        let tree: Value = serde_saphyr::from_str(&text).unwrap();
        conforms(&tree, &schema, &schema, "").unwrap();
    }
    for text in [
        "response: {jitter_ratio: \"${JITTER}\", wait: \"${WAIT:-fixed}\"}",
        "logging: {level: info}",
        "channels: {C1: {mode: \"${MODE}\", quiet_hours: none, budget: \"${BUDGET}\"}}",
        "channels: {C1: {budget: {posts_per_hour: 0}, facilitator: {rest_seconds: 2}}}",
        "agents: {response: {model_id: builtin, client_args: {num_retries: 2}}}",
    ] {
        let tree: Value = serde_saphyr::from_str(text).unwrap();
        conforms(&tree, &schema, &schema, "").unwrap();
    }
    for (text, expected) in [
        ("persona: {nam: x}", "/persona/nam is unknown"),
        ("response: {jitter_ratio: 2}", "/response/jitter_ratio fits no choice"),
        ("response: {wait: soon}", "/response/wait fits no choice"),
        ("http: 1", "/http is of a wrong type"),
        ("response: {mode: loud}", "/response/mode fits no choice"),
        ("channels: {C1: {budget: {soft_share: 1}}}", "/channels/C1/budget fits no choice"),
        ("channels: {C1: {budget: much}}", "/channels/C1/budget fits no choice"),
    ] {
        let tree: Value = serde_saphyr::from_str(text).unwrap();
        assert_eq!(conforms(&tree, &schema, &schema, ""), Err(expected.to_owned()));
    }
}

#[test]
fn the_program_prints_the_example_and_the_schema() {
    let example = aizuchi().args(["config", "example"]).assert().code(0);
    let example = String::from_utf8(example.get_output().stdout.clone()).unwrap();
    assert_eq!(example, EXAMPLE);
    let printed = aizuchi().args(["config", "schema"]).assert().code(0);
    let printed: Value = serde_json::from_slice(&printed.get_output().stdout).unwrap();
    assert_eq!(printed, schema());
    aizuchi().arg("config").assert().code(2);
}

/// Returns the example with all commented settings enabled: lines with a `#` and no space, or more than one.
pub fn uncommented() -> String {
    let line = |line: &str| match line.split_once('#') {
        Some((indentation, rest)) if indentation.trim().is_empty() => {
            let is_prose = rest.is_empty() || (rest.starts_with(' ') && !rest.starts_with("  "));
            if is_prose { String::new() } else { format!("{indentation}{rest}") }
        }
        _ => line.to_owned(),
    };
    EXAMPLE.lines().map(line).collect::<Vec<_>>().join("\n")
}

fn has(tree: &Value, path: &[String]) -> bool {
    match path.split_first() {
        None => true,
        Some((first, rest)) if first == "*" => {
            tree.as_object().is_some_and(|section| section.values().any(|value| has(value, rest)))
        }
        Some((first, rest)) => tree.get(first).is_some_and(|value| has(value, rest)),
    }
}

/// Validates a value by the subset of JSON Schema that the schema uses.
fn conforms(value: &Value, part: &Value, schema: &Value, path: &str) -> Result<(), String> {
    if let Some(target) = part["$ref"].as_str() {
        conforms(value, schema.pointer(&target[1..]).unwrap(), schema, path)?;
    }
    let choices = part["anyOf"].as_array().or(part["oneOf"].as_array());
    if let Some(choices) = choices {
        let errors: Vec<_> = choices
            .iter()
            .filter_map(|choice| conforms(value, choice, schema, path).err())
            .collect();
        if errors.len() == choices.len() {
            return Err(format!("{path} fits no choice"));
        }
    }
    if let Some(values) = part["enum"].as_array().filter(|values| !values.contains(value)) {
        return Err(format!("{path} is none of {values:?}"));
    }
    if part.get("const").is_some_and(|word| word != value) {
        return Err(format!("{path} is another word"));
    }
    let kinds: Vec<&str> = match &part["type"] {
        Value::String(kind) => vec![kind],
        Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    let is_kind = |kind: &&str| match *kind {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "number" => value.is_number(),
        "integer" => value.is_i64() || value.is_u64(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        other => panic!("the schema has the type {other}"),
    };
    if !kinds.is_empty() && !kinds.iter().any(is_kind) {
        return Err(format!("{path} is of a wrong type"));
    }
    let is_variable = |text: &str| text.contains("${");
    let wants_variable = part["pattern"] == r"\$\{";
    if wants_variable && !value.as_str().is_some_and(is_variable) {
        return Err(format!("{path} is no variable"));
    }
    let number = value.as_f64();
    let is_over = number.zip(part["maximum"].as_f64()).is_some_and(|(value, max)| value > max);
    let is_under = number.zip(part["minimum"].as_f64()).is_some_and(|(value, min)| value < min);
    if is_over || is_under {
        return Err(format!("{path} is out of range"));
    }
    for item in value.as_array().into_iter().flatten() {
        conforms(item, &part["items"], schema, path)?;
    }
    for (key, value) in value.as_object().into_iter().flatten() {
        let path = format!("{path}/{key}");
        match (part["properties"].get(key), &part["additionalProperties"]) {
            (Some(part), _) => conforms(value, part, schema, &path)?,
            (None, Value::Bool(false)) => return Err(format!("{path} is unknown")),
            (None, others) => conforms(value, others, schema, &path)?,
        }
    }
    Ok(())
}
