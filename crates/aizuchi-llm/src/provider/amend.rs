//! Changes a request after `genai` has built it: merges in parameters from the settings that `genai` does not know,
//! at any depth, restores the fields that a provider expects back with its tool calls, and leaves out what a model
//! has refused.

use std::collections::BTreeSet;

use hyper::body::Bytes;
use serde_json::{Map, Value};

use crate::prompt::tool::CallFields;
use crate::provider::refusal::ProviderRefusal;
use crate::provider::{DEFAULT_MAX_TOKENS, ModelParams};

/// Where the output limit is in a request.
const LIMIT_PATHS: [&str; 3] =
    ["/max_tokens", "/max_completion_tokens", "/generationConfig/maxOutputTokens"];

/// How providers spell the effort, its budgets and its levels.
const EFFORT_WORDS: [&str; 15] = [
    "reasoning_effort", "reasoningeffort", "reasoning.effort", "output_config.effort", "effort",
    "thinking_budget", "thinkingbudget", "thinking budget", "thinking_level", "thinkinglevel",
    "thinking level", "thinking_config", "thinkingconfig", "thinking.type", "budget_tokens",
];

/// A change that a server asks for when it refuses a request.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Remedy {
    /// Leave out this parameter of the settings.
    LeaveOut(String),
    /// Send `max_completion_tokens` instead of `max_tokens`: for OpenAI's reasoning models under custom names.
    RenameLimit,
    /// Send no additional tokens for thinking: the limit exceeds the model's maximum.
    LowerLimit,
    /// The same for this call only: the limit exceeds what the model can produce after this long prompt.
    LowerLimitOnce,
}

/// The parameters in the settings that a model may refuse or that `genai` does not send.
pub struct Parameters {
    /// The parameters that `genai` does not know.
    extra: Map<String, Value>,
    sent: Vec<Parameter>,
}

/// A parameter that is sent.
struct Parameter {
    /// The name as the settings spell it, with dots.
    name: String,
    /// The spellings used in refusals, in lower case.
    words: Vec<String>,
}

/// The changes to one request.
#[derive(Default)]
pub struct RequestChanges {
    extra: Map<String, Value>,
    remedies: BTreeSet<Remedy>,
    call_fields: CallFields,
}

impl Parameters {
    pub fn new(params: &ModelParams) -> Self {
        let mut sent = Vec::new();
        collect_extra(&params.extra, "", &mut sent);
        // The innermost parameter first: a refusal names it together with the enclosing ones.
        sent.sort_by_key(|parameter| std::cmp::Reverse(parameter.name.matches('.').count()));
        let mut add = |is_set: bool, name: &str, words: &[&str]| {
            let words = words.iter().map(|word| (*word).to_owned()).collect();
            sent.extend(is_set.then(|| Parameter { name: name.to_owned(), words }));
        };
        add(params.temperature.is_some(), "temperature", &["temperature"]);
        add(params.top_p.is_some(), "top_p", &["top_p", "topp"]);
        let stop_words = ["stop", "stop_sequences", "stopsequences"];
        add(!params.stop.is_empty(), "stop", &stop_words);
        add(params.seed.is_some(), "seed", &["seed", "random_seed"]);
        add(params.reasoning_effort.is_some(), "reasoning_effort", &EFFORT_WORDS);
        Self { extra: params.extra.clone(), sent }
    }

    /// The changes to a request for a server with these remedies, with the fields to send back with tool calls.
    pub fn changes(&self, remedies: BTreeSet<Remedy>, call_fields: CallFields) -> RequestChanges {
        let mut extra = self.extra.clone();
        for remedy in &remedies {
            if let Remedy::LeaveOut(name) = remedy {
                remove(&mut extra, name);
            }
        }
        RequestChanges { extra, remedies, call_fields }
    }

    /// The change that a refusal asks for, if it names a parameter that was sent.
    pub fn remedy(&self, refusal: &str, limit: u32) -> Option<Remedy> {
        let refusal = ProviderRefusal::new(refusal);
        let names_limit = refusal.names_limit();
        if names_limit && refusal.names("instead") && refusal.names("max_completion_tokens") {
            return Some(Remedy::RenameLimit);
        }
        if names_limit && limit > DEFAULT_MAX_TOKENS {
            return Some(match refusal.names_context() {
                true => Remedy::LowerLimitOnce,
                false => Remedy::LowerLimit,
            });
        }
        let is_named = |parameter: &&Parameter| parameter.words.iter().any(|it| refusal.names(it));
        let named = self.sent.iter().find(is_named)?;
        Some(Remedy::LeaveOut(named.name.clone()))
    }
}

impl RequestChanges {
    /// Applies the changes to the body of a request.
    pub fn apply(&self, body: Bytes) -> Bytes {
        let changes_nothing =
            self.extra.is_empty() && self.remedies.is_empty() && self.call_fields.is_empty();
        // Most requests need no change, and are not parsed.
        if changes_nothing && !names_tool_calls(&body) {
            return body;
        }
        let Ok(mut request) = serde_json::from_slice::<Value>(&body) else { return body };
        for remedy in &self.remedies {
            match remedy {
                Remedy::LeaveOut(name) => {
                    for (place, key) in paths_of(name) {
                        if let Some(Value::Object(object)) = request.pointer_mut(place) {
                            object.shift_remove(*key);
                        }
                    }
                }
                Remedy::RenameLimit => {
                    if let Some(request) = request.as_object_mut()
                        && let Some(limit) = request.shift_remove("max_tokens")
                    {
                        request.insert("max_completion_tokens".to_owned(), limit);
                    }
                }
                Remedy::LowerLimit | Remedy::LowerLimitOnce => {
                    for path in LIMIT_PATHS {
                        let Some(limit) = request.pointer_mut(path) else { continue };
                        let usual = u64::from(DEFAULT_MAX_TOKENS);
                        if limit.as_u64().is_some_and(|limit| limit > usual) {
                            *limit = usual.into();
                        }
                    }
                }
            }
        }
        clear_empty_contents(&mut request);
        self.add_call_fields(&mut request);
        // Last, so that the operator's own parameters win.
        merge(&mut request, &Value::Object(self.extra.clone()));
        serde_json::to_vec(&request).map_or(body, Bytes::from)
    }

    fn add_call_fields(&self, request: &mut Value) {
        let messages = request.get_mut("messages").and_then(Value::as_array_mut);
        for message in messages.into_iter().flatten() {
            let first = message.pointer("/tool_calls/0/id").and_then(Value::as_str);
            let fields = first.and_then(|id| self.call_fields.of_messages.get(id));
            add_fields(message, fields);
            let calls = message.get_mut("tool_calls").and_then(Value::as_array_mut);
            for call in calls.into_iter().flatten() {
                let id = call.get("id").and_then(Value::as_str);
                let fields = id.and_then(|id| self.call_fields.of_calls.get(id));
                add_fields(call, fields);
            }
        }
    }
}

fn names_tool_calls(body: &[u8]) -> bool {
    let name = br#""tool_calls""#;
    body.windows(name.len()).any(|part| part == name)
}

/// Removes an empty text beside tool calls. A proxy that translates for another provider may replace it with a
/// placeholder, which the model then reads as its own words.
fn clear_empty_contents(request: &mut Value) {
    let messages = request.get_mut("messages").and_then(Value::as_array_mut);
    for message in messages.into_iter().flatten() {
        let calls = message.get("tool_calls").and_then(Value::as_array);
        if calls.is_some_and(|calls| !calls.is_empty()) && message["content"] == "" {
            message["content"] = Value::Null;
        }
    }
}

fn add_fields(object: &mut Value, fields: Option<&Map<String, Value>>) {
    if let (Some(object), Some(fields)) = (object.as_object_mut(), fields) {
        object.extend(fields.clone());
    }
}

/// Where a parameter may be in a request: the enclosing object, and the key in it. Empty for a parameter that
/// `genai` does not know.
fn paths_of(name: &str) -> &'static [(&'static str, &'static str)] {
    match name {
        "temperature" => &[("", "temperature"), ("/generationConfig", "temperature")],
        "top_p" => &[("", "top_p"), ("/generationConfig", "topP")],
        "stop" => &[("", "stop"), ("", "stop_sequences"), ("/generationConfig", "stopSequences")],
        "seed" => &[("", "seed"), ("", "random_seed"), ("/generationConfig", "seed")],
        "reasoning_effort" => &[
            ("", "reasoning_effort"),
            ("", "thinking"),
            ("/output_config", "effort"),
            ("/generationConfig", "thinkingConfig"),
        ],
        _ => &[],
    }
}

/// Adds each parameter of an object, and the nested ones.
fn collect_extra(object: &Map<String, Value>, before: &str, sent: &mut Vec<Parameter>) {
    for (key, value) in object {
        let name = format!("{before}{key}");
        let plain = key.to_lowercase();
        // `generationConfig` is also called `generation_config`.
        let mut words = vec![plain.clone(), plain.replace('_', ""), to_snake_case(key)];
        words.dedup();
        sent.push(Parameter { name: name.clone(), words });
        if let Value::Object(inner) = value {
            collect_extra(inner, &format!("{name}."), sent);
        }
    }
}

fn to_snake_case(key: &str) -> String {
    let mut snake = String::new();
    for character in key.chars() {
        if character.is_ascii_uppercase() {
            snake.push('_');
        }
        snake.push(character.to_ascii_lowercase());
    }
    snake
}

/// Removes a parameter by its dotted name.
fn remove(object: &mut Map<String, Value>, name: &str) {
    if object.shift_remove(name).is_some() {
        return;
    }
    for (at, _) in name.match_indices('.') {
        if let Some(Value::Object(inner)) = object.get_mut(&name[..at]) {
            remove(inner, &name[at + 1..]);
        }
    }
}

/// Merges `from` into an object, and leaves its other fields as they are.
fn merge(into: &mut Value, from: &Value) {
    match (into, from) {
        (Value::Object(into), Value::Object(from)) => {
            for (key, value) in from {
                merge(into.entry(key.clone()).or_insert(Value::Null), value);
            }
        }
        (into, from) => *into = from.clone(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn parameters(extra: Value) -> Parameters {
        Parameters::new(&ModelParams {
            temperature: Some(0.5),
            stop: vec!["END".to_owned()],
            reasoning_effort: Some("low".to_owned()),
            extra: extra.as_object().unwrap().clone(),
            ..ModelParams::default()
        })
    }

    fn applied(parameters: &Parameters, remedies: &[Remedy], body: &Value) -> Value {
        let remedies = remedies.iter().cloned().collect();
        let changes = parameters.changes(remedies, CallFields::default());
        serde_json::from_slice(&changes.apply(body.to_string().into())).unwrap()
    }

    #[test]
    fn parameters_are_merged_at_any_depth() {
        let extra =
            json!({ "generationConfig": { "topK": 3, "a": { "b": 1 } }, "safetySettings": [1] });
        let body = json!({
            "contents": "x", "generationConfig": { "temperature": 0.5, "a": { "c": 2 } }, "safetySettings": [2, 3],
        });
        let expected = json!({
            "contents": "x",
            "generationConfig": { "temperature": 0.5, "a": { "c": 2, "b": 1 }, "topK": 3 },
            "safetySettings": [1],
        });
        assert_eq!(applied(&parameters(extra), &[], &body), expected);
        let untouched = Bytes::from_static(b"not JSON");
        assert_eq!(RequestChanges::default().apply(untouched.clone()), untouched);
    }

    #[test]
    fn tool_calls_stand_beside_no_empty_text() {
        let turn = |content: Value, calls: Value| json!({ "messages": [{ "role": "assistant", "content": content, "tool_calls": calls }] });
        let calls = json!([{ "id": "call_1", "function": { "name": "get_memo" } }]);
        for (content, sent, calls) in [
            (json!(""), Value::Null, calls.clone()),
            (json!("I look."), json!("I look."), calls),
            (json!(""), json!(""), json!([])),
        ] {
            let body = turn(content, calls.clone()).to_string();
            let applied = RequestChanges::default().apply(body.into());
            assert_eq!(serde_json::from_slice::<Value>(&applied).unwrap(), turn(sent, calls));
        }
    }

    #[test]
    fn a_refusal_names_what_was_sent() {
        let extra = json!({ "top_k": 3, "generationConfig": { "frequencyPenalty": 1 } });
        let parameters = parameters(extra);
        let leave_out = |name: &str| Some(Remedy::LeaveOut(name.to_owned()));
        for (refusal, limit, expected) in [
            (
                json!({ "error": { "message": "Unsupported value: 'temperature' does not support 0.5 with this model.",
                    "param": "temperature", "code": "unsupported_value" } }),
                99,
                leave_out("temperature"),
            ),
            (
                json!({ "type": "error", "error": { "type": "invalid_request_error",
                    "message": "`temperature` may only be set to 1 when thinking is enabled." } }),
                99,
                leave_out("temperature"),
            ),
            (
                json!({ "error": { "code": 400, "status": "INVALID_ARGUMENT",
                    "message": "Invalid JSON payload. Unknown name \"frequencyPenalty\" at 'generation_config'" } }),
                99,
                leave_out("generationConfig.frequencyPenalty"),
            ),
            (
                json!([{ "error": { "message": "The thinking budget 128 is invalid." } }]),
                99,
                leave_out("reasoning_effort"),
            ),
            (
                json!({ "object": "error", "message": { "detail": [{ "type": "extra_forbidden", "loc": ["body", "top_k"],
                    "msg": "Extra inputs are not permitted", "input": 3 }] } }),
                99,
                leave_out("top_k"),
            ),
            // The echoed request names every parameter.
            (
                json!({ "detail": [{ "loc": ["body", "tools"], "msg": "Field required",
                    "input": { "temperature": 1, "stop": 2 } }] }),
                99,
                None,
            ),
            // The message mentions other parameters as well.
            (
                json!({ "error": { "message": "Set temperature or tools", "param": "tools" } }),
                99,
                None,
            ),
            (
                json!({ "error": { "message": "Unsupported parameter: 'max_tokens' is not supported with this model. \
                    Use 'max_completion_tokens' instead.", "param": "max_tokens" } }),
                99,
                Some(Remedy::RenameLimit),
            ),
            (
                json!({ "error": { "message": "max_tokens is too large: 18048", "param": "max_tokens" } }),
                18_048,
                Some(Remedy::LowerLimit),
            ),
            (
                json!({ "message": "This model's maximum context length is 8192 tokens." }),
                18_048,
                Some(Remedy::LowerLimitOnce),
            ),
            (
                json!({ "type": "error", "error": { "message":
                    "input length and `max_tokens` exceed context limit: 190000 + 18048 > 200000" } }),
                18_048,
                Some(Remedy::LowerLimitOnce),
            ),
            (json!({ "message": "max_tokens must be at least 16" }), 1, None),
            (json!({ "message": "nonstop temperatures" }), 99, None),
            (json!({}), 99, None),
        ] {
            assert_eq!(parameters.remedy(&refusal.to_string(), limit), expected, "{refusal}");
        }
        let plain = parameters.remedy("unknown field `top_k`", 99);
        assert_eq!(plain, leave_out("top_k"));
    }

    #[test]
    fn what_was_refused_is_left_out() {
        let extra = json!({ "generationConfig": { "topK": 3, "a": 1 }, "x": 2 });
        let parameters = parameters(extra);
        let body = json!({ "temperature": 1, "max_tokens": 18_048,
            "generationConfig": { "temperature": 1, "maxOutputTokens": 18_048, "thinkingConfig": {} } });
        let remedies = ["temperature", "reasoning_effort", "generationConfig.topK", "x"];
        let remedies = remedies.map(|name| Remedy::LeaveOut(name.to_owned()));
        let expected = json!({ "max_tokens": 18_048,
            "generationConfig": { "maxOutputTokens": 18_048, "a": 1 } });
        assert_eq!(applied(&parameters, &remedies, &body), expected);
        let limits = [Remedy::RenameLimit, Remedy::LowerLimit, Remedy::LeaveOut("x".to_owned())];
        let limited = applied(&parameters, &limits, &json!({ "max_tokens": 18_048 }));
        let expected =
            json!({ "max_completion_tokens": 2048, "generationConfig": { "topK": 3, "a": 1 } });
        assert_eq!(limited, expected);
    }
}
