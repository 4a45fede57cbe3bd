//! What a server asks for when it refuses a request: to leave out a parameter of the settings, or another limit.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use crate::provider::refusal::ProviderRefusal;
use crate::provider::{DEFAULT_MAX_TOKENS, ModelParams};

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

/// The parameters in the settings, which a model may refuse.
pub struct Parameters {
    params: ModelParams,
    sent: Vec<Parameter>,
}

/// A parameter that is sent.
struct Parameter {
    /// The name as the settings spell it, with dots.
    name: String,
    /// The spellings used in refusals, in lower case.
    words: Vec<String>,
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
        Self { params: params.clone(), sent }
    }

    /// The parameters without those that the model has refused.
    pub fn accepted(&self, remedies: &BTreeSet<Remedy>) -> ModelParams {
        let mut params = self.params.clone();
        for remedy in remedies {
            let Remedy::LeaveOut(name) = remedy else { continue };
            match &**name {
                "temperature" => params.temperature = None,
                "top_p" => params.top_p = None,
                "stop" => params.stop.clear(),
                "seed" => params.seed = None,
                "reasoning_effort" => params.reasoning_effort = None,
                _ => {}
            }
            remove(&mut params.extra, name);
        }
        params
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
        let remedies = ["temperature", "reasoning_effort", "generationConfig.topK", "x"];
        let remedies = remedies.map(|name| Remedy::LeaveOut(name.to_owned()));
        let expected = ModelParams {
            stop: vec!["END".to_owned()],
            extra: json!({ "generationConfig": { "a": 1 } }).as_object().unwrap().clone(),
            ..ModelParams::default()
        };
        assert_eq!(parameters.accepted(&remedies.into_iter().collect()), expected);
    }
}
