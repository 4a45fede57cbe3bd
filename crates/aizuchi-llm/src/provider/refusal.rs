//! What a server says when it refuses a request: that it does, whatever its status, and which parameter it rejects, as
//! far as that can be told.

use reqwest::StatusCode;
use serde_json::Value;

/// The names of a request's output limit.
const LIMIT_WORDS: [&str; 6] = [
    "max_tokens", "max_completion_tokens", "max_output_tokens", "maxoutputtokens",
    "max_new_tokens", "maximum context length",
];
/// How servers say that the prompt and the limit together are too long.
const CONTEXT_WORDS: [&str; 4] =
    ["context length", "context limit", "context window", "context size"];

/// The texts of a refusal that say what is wrong, in lower case, without echoed parts of the request.
pub struct ProviderRefusal {
    text: String,
    /// The parameter that OpenAI's API names. If it is set, the text is not searched.
    parameter: Option<String>,
}

impl ProviderRefusal {
    pub fn new(body: &str) -> Self {
        let Ok(json) = serde_json::from_str::<Value>(body) else {
            return Self { text: body.to_lowercase(), parameter: None };
        };
        // Gemini wraps errors of streams in a list.
        let json = json.get(0).unwrap_or(&json);
        let mut texts = Vec::new();
        for path in ["/error", "/error/message", "/message", "/detail", "/message/detail"] {
            let Some(found) = json.pointer(path) else { continue };
            texts.extend(found.as_str().map(str::to_owned));
            for problem in found.as_array().into_iter().flatten() {
                let place = problem["loc"].as_array().into_iter().flatten();
                let place: Vec<&str> = place.filter_map(Value::as_str).collect();
                texts.push(place.join("."));
                texts.extend(problem["msg"].as_str().map(str::to_owned));
            }
        }
        let parameter = json.pointer("/error/param").and_then(Value::as_str);
        let parameter = parameter.filter(|name| !name.is_empty()).map(str::to_lowercase);
        Self { text: texts.join("\n").to_lowercase(), parameter }
    }

    /// Whether the refusal names the output limit.
    pub fn names_limit(&self) -> bool {
        LIMIT_WORDS.iter().any(|word| self.names(word))
    }

    /// Whether the limit is too high only in combination with this prompt.
    pub fn names_context(&self) -> bool {
        CONTEXT_WORDS.iter().any(|word| self.text.contains(word))
    }

    /// Whether the refusal names this word. If it names a parameter separately, the word must be that parameter.
    pub fn names(&self, word: &str) -> bool {
        let is_apart = |character: Option<char>| {
            !character.is_some_and(|character| character.is_alphanumeric() || character == '_')
        };
        let is_in = |text: &str| {
            text.match_indices(word).any(|(at, word)| {
                is_apart(text[..at].chars().next_back())
                    && is_apart(text[at + word.len()..].chars().next())
            })
        };
        is_in(&self.text) && (word == "instead" || self.is_about(word, is_in))
    }

    fn is_about(&self, word: &str, is_in: impl Fn(&str) -> bool) -> bool {
        let is_limit = LIMIT_WORDS.contains(&word);
        self.parameter.as_ref().is_none_or(|parameter| is_limit || is_in(parameter))
    }
}

/// The status that a body with a status of success stands for, if it is an error: gateways answer 200 whatever happened.
pub fn hidden_status(body: &[u8]) -> Option<StatusCode> {
    // Signs in an error's code or words, for errors without a number. `_` counts as a space.
    const SIGNS: [(u16, &[&str]); 6] = [
        (429, &["rate limit", "too many requests", "exhausted"]),
        (402, &["quota", "credit", "billing", "insufficient balance", "insufficient funds"]),
        (401, &["api key", "unauthorized", "authentic", "permission"]),
        (404, &["not found", "not exist", "no such"]),
        (503, &["overloaded", "unavailable", "busy"]),
        (400, &["invalid request", "invalid argument", "bad request", "unsupported"]),
    ];
    // As a stream, it is the first event.
    let body = std::str::from_utf8(body).ok()?.trim_start();
    let body = body.strip_prefix("data:").map_or(body, |rest| rest.lines().next().unwrap_or(rest));
    let body: Value = serde_json::from_str(body).ok()?;
    let body = body.get(0).unwrap_or(&body);
    let is_there =
        |value: &&Value| !value.is_null() && **value != false && value.as_str() != Some("");
    let has = |keys: &[&str]| keys.iter().any(|key| body.get(key).filter(is_there).is_some());
    // These are errors whatever else is there.
    let stated = ["/choices/0/error", "/error"].iter().find_map(|place| {
        let error = body.pointer(place).filter(is_there);
        error.filter(|error| error.is_object() || error.is_string())
    });
    let is_answer = has(&["choices", "content", "candidates", "text", "promptFeedback"]);
    let is_kind = ["type", "object"].iter().any(|key| body[key] == "error");
    // An object may be the answer.
    let is_told = ["detail", "message"].iter().any(|key| has(&[*key]) && !body[key].is_object());
    let is_error = is_kind || is_told || has(&["error", "errors"]);
    if stated.is_none() && (is_answer || !is_error) {
        return None;
    }
    let error = stated.or_else(|| body.pointer("/errors/0")).unwrap_or(body);
    let numbers = ["code", "status"].map(|key| error.get(key).or_else(|| body.get(key)));
    let number = numbers.into_iter().flatten().find_map(|number| {
        let written = number.as_str().and_then(|text| text.parse().ok());
        number.as_u64().or(written).filter(|number| (400..600).contains(number))
    });
    // Other parts may repeat the request.
    let words = ["code", "type", "status", "message", "detail"].map(|key| error[key].as_str());
    let words: Vec<&str> = words.into_iter().chain([error.as_str()]).flatten().collect();
    let words = words.join("\n").to_lowercase().replace('_', " ");
    let signed = || SIGNS.iter().find(|(_, signs)| signs.iter().any(|sign| words.contains(sign)));
    let status = match number {
        Some(number) => number as u16,
        None if body.get("detail").is_some_and(Value::is_array) => 422,
        None => signed().map_or(500, |(status, _)| *status),
    };
    StatusCode::from_u16(status).ok()
}

/// Whether an error broke off an answer, which may be charged.
pub fn has_begun(body: &[u8]) -> bool {
    let body: Value = serde_json::from_slice(body).unwrap_or_default();
    let usage = ["usage", "usageMetadata"].iter().filter_map(|key| body[key].as_object());
    let is_counted = usage.flat_map(|usage| usage.values()).any(|count| count.as_f64() > Some(0.0));
    is_counted || body.pointer("/choices/0/error").is_some_and(Value::is_object)
}

/// What the server says of an error.
pub fn error_words(body: &str) -> Option<String> {
    let body: Value = serde_json::from_str(body).ok()?;
    let body = body.get(0).unwrap_or(&body);
    let places = ["/error/message", "/error", "/choices/0/error/message", "/message", "/detail"];
    let words = places.iter().find_map(|place| body.pointer(place)?.as_str());
    words.filter(|words| !words.is_empty()).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_with_a_status_of_success_is_seen() {
        for (body, expected) in [
            (r#"{"error": {"message": "slow down", "code": 429}}"#, Some(429)),
            (r#"{"error": {"message": "slow down", "code": "429"}}"#, Some(429)),
            (r#"{"error": "Rate limit reached"}"#, Some(429)),
            (r#"{"error": "model 'x' not found, try pulling it first"}"#, Some(404)),
            (r#"{"error": "it burns"}"#, Some(500)),
            (r#"{"error": {}}"#, Some(500)),
            (r#"{"error": {"type": "invalid_request_error"}, "choices": null}"#, Some(400)),
            (r#"{"type": "error", "error": {"type": "authentication_error"}}"#, Some(401)),
            (r#"[{"error": {"code": 503, "status": "UNAVAILABLE"}}]"#, Some(503)),
            (r#"{"object": "error", "message": "too long", "code": 400}"#, Some(400)),
            (r#"{"detail": "Unauthorized"}"#, Some(401)),
            (r#"{"detail": [{"loc": ["body", "tools"], "msg": "no"}]}"#, Some(422)),
            (r#"{"message": "no credit"}"#, Some(402)),
            ("data: {\"error\": {\"code\": 502}}\n\ndata: [DONE]\n", Some(502)),
            (r#"{"choices": [{"error": {"code": 502}, "finish_reason": "error"}]}"#, Some(502)),
            (r#"{"choices": [{"message": {"content": "error"}}], "error": null}"#, None),
            (r#"{"choices": [], "error": {"message": "overloaded", "code": 503}}"#, Some(503)),
            (r#"{"choices": [{"delta": {}, "finish_reason": "error"}], "error": {}}"#, Some(500)),
            (r#"{"choices": [{"error": null}], "error": "model is busy"}"#, Some(503)),
            (r#"{"error": "load balancer: upstream unavailable"}"#, Some(503)),
            (r#"{"error": {"message": "insufficient GPU memory"}}"#, Some(500)),
            (r#"{"error": {"message": "insufficient permissions"}}"#, Some(401)),
            (r#"{"error": {"message": "invalid response from upstream"}}"#, Some(500)),
            (r#"{"error": {"code": "insufficient_balance"}}"#, Some(402)),
            (r#"{"error": {"message": "no", "metadata": {"raw": "quota"}}}"#, Some(500)),
            (r#"{"errors": [{"message": "Rate limit reached"}]}"#, Some(429)),
            (r#"{"message": {"role": "assistant", "content": "error"}, "done": true}"#, None),
            (r#"{"detail": {"family": "qwen"}, "error": ""}"#, None),
            (r#"{"choices": [], "error": ""}"#, None),
            (r#"{"choices": [], "error": false}"#, None),
            (r#"{"content": [], "type": "message"}"#, None),
            (r#"{"text": "hello"}"#, None),
            (r#"{"promptFeedback": {"blockReason": "SAFETY"}}"#, None),
            (r#"{"data": []}"#, None),
            ("hello", None),
        ] {
            let found = hidden_status(body.as_bytes()).map(|status| status.as_u16());
            assert_eq!(found, expected, "{body}");
        }
    }

    #[test]
    fn an_answer_that_broke_off_may_be_charged() {
        for (body, expected) in [
            (r#"{"choices": [{"error": {"code": 502}, "finish_reason": "error"}]}"#, true),
            (r#"{"error": {"code": 502}, "usage": {"prompt_tokens": 7}}"#, true),
            (r#"{"error": {"code": 429}, "usage": {"prompt_tokens": 0}}"#, false),
            (r#"{"error": {"code": 429}, "usage": null}"#, false),
            (r#"[{"error": {"code": 503}}]"#, false),
        ] {
            assert_eq!(has_begun(body.as_bytes()), expected, "{body}");
        }
    }
}
