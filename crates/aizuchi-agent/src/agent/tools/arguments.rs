//! The arguments of tool calls, as models write them.

use aizuchi_actions::parse::quiet::Quiet;
use aizuchi_model::chat::to_single_line;
use aizuchi_model::memo::MemoUpdate;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Number, Value};

/// The maximum length of an error about arguments, in characters.
const MAX_PROBLEM_CHARS: usize = 200;

/// Why a call could not be run.
pub(super) enum ToolCallError {
    UnknownTool,
    InvalidArguments(String),
}

#[derive(Deserialize)]
pub(super) struct MemoNameArguments {
    pub(super) memo_name: String,
}

#[derive(Deserialize)]
pub(super) struct EditMemoArguments {
    pub(super) memo_name: String,
    #[serde(flatten)]
    pub(super) update: MemoUpdate,
}

#[derive(Deserialize)]
pub(super) struct ListMemoArguments {
    pub(super) tag: Option<String>,
    pub(super) offset: Option<i64>,
    pub(super) limit: Option<i64>,
}

#[derive(Deserialize)]
pub(super) struct QuietArguments {
    pub(super) how: Quiet,
}

#[derive(Deserialize)]
pub(super) struct ScheduleArguments {
    pub(super) at: String,
    pub(super) what: String,
    #[serde(default)]
    pub(super) who: ScheduledFor,
}

#[derive(Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum ScheduledFor {
    #[default]
    Asker,
    Channel,
}

/// Parses arguments as models write them: an object, perhaps encoded as a string, with integers
/// that may be strings or floats.
pub(super) fn parse_arguments<T: DeserializeOwned>(arguments: &Value) -> Result<T, ToolCallError> {
    let normalized = arguments_object(arguments)?.into_iter().map(|(key, value)| {
        let value = if ["priority", "offset", "limit"].contains(&key.as_str()) {
            normalize_integer(value)
        } else {
            value
        };
        (key, value)
    });
    serde_json::from_value(Value::Object(normalized.collect())).map_err(|error| {
        let problem = to_single_line(&error.to_string());
        ToolCallError::InvalidArguments(problem.chars().take(MAX_PROBLEM_CHARS).collect())
    })
}

pub(super) fn arguments_object(arguments: &Value) -> Result<Map<String, Value>, ToolCallError> {
    match arguments {
        Value::Object(object) => Ok(object.clone()),
        Value::Null => Ok(Map::new()),
        Value::String(text) => serde_json::from_str(text).map_err(|_| not_an_object()),
        Value::Array(_) | Value::Bool(_) | Value::Number(_) => Err(not_an_object()),
    }
}

fn normalize_integer(value: Value) -> Value {
    let number = match &value {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => text.trim().parse().ok(),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    };
    // A larger float may not be exact, so the parser gets to refuse it.
    let is_whole = |number: &f64| number.fract() == 0.0 && number.abs() < 1e15;
    let number = number.filter(is_whole).map(|number| Value::Number(Number::from(number as i64)));
    number.unwrap_or(value)
}

fn not_an_object() -> ToolCallError {
    ToolCallError::InvalidArguments("not a JSON object".to_owned())
}
