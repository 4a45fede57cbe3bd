//! A request to a model and its response, independent of the wire format.

use std::borrow::Cow;

use serde_json::{Map, Value};

use crate::prompt::picture::Picture;
use crate::prompt::tool::{ToolCall, ToolSpec};
use crate::provider::ModelParams;
use crate::provider::tools::ToolTurn;
use crate::provider_list::Provider;

/// The text of a user turn, for providers that reject a request with only a system message, or a turn without a text.
pub const MINIMAL_USER_TURN: &str = ".";

#[derive(Clone)]
pub struct ChatRequest<'p> {
    pub provider: Provider,
    pub model_name: &'p str,
    pub system: Cow<'p, str>,
    /// Where the provider's cache is told to store the prefix.
    pub cache_marks: Vec<usize>,
    pub cache_key: Option<String>,
    /// Whether a user turn follows the system message. A picture needs one.
    pub has_user_turn: bool,
    pub picture: Option<&'p Picture>,
    /// The JSON schema of the answer, with its name.
    pub schema: Option<(&'static str, Value)>,
    pub tools: &'p [ToolSpec],
    /// Tool calls and their results.
    pub turns: Vec<ToolTurn<'p>>,
    pub params: ModelParams,
    pub max_tokens: u32,
    /// Whether the server has asked for `max_completion_tokens`.
    pub is_limit_renamed: bool,
    /// The estimated number of input tokens.
    pub tokens: u64,
    /// Whether it holds no chat text, so that its errors may have the server's words.
    pub is_check: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub struct ChatResponse {
    pub text: String,
    /// What the model shows of its thinking.
    pub thinking: String,
    pub calls: Vec<ToolCall>,
    pub stop: Stop,
    /// What the provider wants back with the results of the calls, in its own format.
    pub message: Value,
}

/// Why a model stopped writing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    Finished,
    /// It reached a limit.
    CutOff,
    /// The model or a filter refused.
    Declined,
    /// The server gave up in the middle.
    Broken,
}

impl Stop {
    /// Reads the reason in the spelling of any provider, because gateways pass on what they get.
    pub fn from_reason(reason: &Value) -> Self {
        match reason.as_str().unwrap_or_default() {
            "length"
            | "max_tokens"
            | "MAX_TOKENS"
            | "incomplete"
            | "model_length"
            | "model_context_window_exceeded" => Self::CutOff,
            "content_filter"
            | "refusal"
            | "SAFETY"
            | "RECITATION"
            | "BLOCKLIST"
            | "PROHIBITED_CONTENT"
            | "SPII"
            | "LANGUAGE"
            | "IMAGE_SAFETY"
            | "IMAGE_PROHIBITED_CONTENT"
            | "IMAGE_RECITATION"
            | "MODEL_ARMOR"
            | "ERROR_TOXIC" => Self::Declined,
            "insufficient_system_resource" | "error" => Self::Broken,
            _ => Self::Finished,
        }
    }
}

/// An object without the fields that are null.
pub fn without_nulls(mut object: Value) -> Value {
    if let Some(object) = object.as_object_mut() {
        object.retain(|_, value| !value.is_null());
    }
    object
}

/// Merges fields into an object at any depth, and leaves its other fields as they are.
pub fn merge(into: &mut Value, from: &Map<String, Value>) {
    for (key, value) in from {
        match (&mut into[key], value) {
            (inner @ Value::Object(_), Value::Object(value)) => merge(inner, value),
            (inner, value) => *inner = value.clone(),
        }
    }
}

/// The elements of a list; none if it is no list.
pub fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// Joins the texts of those values that are texts.
pub fn joined<'v>(values: impl Iterator<Item = &'v Value>, separator: &str) -> String {
    values.filter_map(Value::as_str).collect::<Vec<_>>().join(separator)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_answer_that_a_server_gave_up_is_not_finished() {
        for (reason, stop) in [
            ("stop", Stop::Finished),
            ("insufficient_system_resource", Stop::Broken),
            ("error", Stop::Broken),
            ("MODEL_ARMOR", Stop::Declined),
        ] {
            assert_eq!(Stop::from_reason(&Value::from(reason)), stop, "{reason}");
        }
    }

    #[test]
    fn parameters_are_merged_at_any_depth() {
        let mut body = json!({
            "contents": "x", "generationConfig": { "temperature": 0.5, "a": { "c": 2 } }, "safetySettings": [2, 3],
        });
        let extra = json!({ "generationConfig": { "topK": 3, "a": { "b": 1 } }, "safetySettings": [1], "x": { "y": 1 } });
        merge(&mut body, extra.as_object().unwrap());
        let expected = json!({
            "contents": "x",
            "generationConfig": { "temperature": 0.5, "a": { "c": 2, "b": 1 }, "topK": 3 },
            "safetySettings": [1],
            "x": { "y": 1 },
        });
        assert_eq!(body, expected);
    }
}
