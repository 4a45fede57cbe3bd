//! Classifies errors by what the caller can do. Providers' messages may repeat the prompt or part of a key, so only
//! their error codes are kept.

use aizuchi_http::body::{BodyError, MAX_MODEL_BODY_BYTES};
use aizuchi_http::log_sentence::to_log_sentence;
use aizuchi_model::clock::duration_from_seconds;
use aizuchi_model::decision::Usage;
use aizuchi_model::decision::model_problem::ModelProblem;
use jiff::fmt::rfc2822::DateTimeParser;
use jiff::{SignedDuration, Timestamp};
use reqwest::StatusCode;
use reqwest::header::{HeaderMap, RETRY_AFTER};
use serde_json::Value;

use crate::provider::refusal::error_words;
use crate::provider::remedy::Remedy;

/// Why a call failed. The variant says what may help.
#[derive(Clone, Debug, PartialEq)]
pub enum CallError {
    /// Waiting may help. The call may have cost tokens.
    Retryable {
        problem: ModelProblem,
        why: String,
        retry_after: Option<SignedDuration>,
        usage: Usage,
    },
    /// A request in another shape, or with this change, may help. If the server reported an internal error, waiting
    /// may help as well.
    RequestRejected { why: String, remedy: Option<Remedy>, may_pass: bool },
    /// Nothing helps; the operator should look.
    Permanent { problem: ModelProblem, why: String },
    /// Nothing helps, and the call cost tokens.
    Unusable { why: String, usage: Usage },
}

impl CallError {
    fn retryable(problem: ModelProblem, why: &str) -> Self {
        let usage = Usage::default();
        Self::Retryable { problem, why: why.to_owned(), retry_after: None, usage }
    }

    pub fn rejected(why: impl Into<String>) -> Self {
        Self::RequestRejected { why: why.into(), remedy: None, may_pass: false }
    }

    /// Converts a rejection into its final error once no other request is left to try.
    pub fn settled(self) -> Self {
        match self {
            Self::RequestRejected { why, may_pass: true, .. } => {
                Self::retryable(ModelProblem::ServerFailed, &why)
            }
            other => other,
        }
    }

    pub fn permanent(problem: ModelProblem, why: impl Into<String>) -> Self {
        Self::Permanent { problem, why: why.into() }
    }

    /// The problem that keeps the model from answering. `None` if it gave an unusable answer.
    pub fn problem(&self) -> Option<ModelProblem> {
        match self {
            Self::Retryable { problem, .. } | Self::Permanent { problem, .. } => Some(*problem),
            Self::RequestRejected { .. } => Some(ModelProblem::RequestRejected),
            Self::Unusable { .. } => None,
        }
    }

    /// The same error with the server's own words, for a request that holds no chat text.
    pub fn with_words(mut self, body: &str) -> Self {
        let (Self::Retryable { why, .. }
        | Self::RequestRejected { why, .. }
        | Self::Permanent { why, .. }
        | Self::Unusable { why, .. }) = &mut self;
        if let Some(words) = error_words(body) {
            why.push_str(&format!(": “{}”", to_log_sentence(&words)));
        }
        self
    }

    /// The same error with the tokens that the call used.
    pub fn with_usage(self, usage: Usage) -> Self {
        match self {
            Self::Retryable { problem, why, retry_after, .. } => {
                Self::Retryable { problem, why, retry_after, usage }
            }
            Self::Unusable { why, .. } => Self::Unusable { why, usage },
            // The provider did not accept the request.
            Self::RequestRejected { .. } | Self::Permanent { .. } => self,
        }
    }
}

/// The model refused for policy reasons.
pub const DECLINED: &str = "it declined to answer this";

/// A part of the request from the settings is invalid.
pub const UNSENDABLE: &str = "its address, its key or an extra header cannot be sent";

/// Converts an error of a body that was not read to its end.
pub fn from_body(error: &BodyError) -> CallError {
    match error {
        BodyError::TooLarge => CallError::Unusable {
            why: format!("it is larger than {} KB", MAX_MODEL_BODY_BYTES / 1024),
            usage: Usage::default(),
        },
        BodyError::Broken(error) => from_transport(error),
    }
}

/// Converts an error of a body that is not JSON, or not all of it.
pub fn from_json(error: &serde_json::Error) -> CallError {
    let what = if error.is_eof() { "broken JSON" } else { "not JSON" };
    CallError::retryable(ModelProblem::Garbled, &format!("its answer is {what}"))
}

/// Converts a missing or incomplete response.
pub fn from_transport(error: &reqwest::Error) -> CallError {
    if error.is_timeout() {
        CallError::retryable(ModelProblem::TimedOut, "it did not answer in time")
    } else if error.is_connect() {
        CallError::retryable(ModelProblem::Unreachable, "it cannot be reached")
    } else if error.is_redirect() || error.is_builder() {
        CallError::permanent(ModelProblem::RequestRejected, UNSENDABLE)
    } else {
        CallError::retryable(ModelProblem::Unreachable, "the connection broke off")
    }
}

/// Converts a response with an error status.
pub fn status_error(
    status: StatusCode,
    body: &str,
    headers: &HeaderMap,
    now: Timestamp,
) -> CallError {
    let code = error_code(body);
    let status_text = match &code {
        Some(code) => format!("{} {code}", status.as_u16()),
        None => status.as_u16().to_string(),
    };
    let is_out_of_funds =
        matches!(code.as_deref(), Some("insufficient_quota" | "billing_not_active"));
    // Anthropic has no code of its own for it.
    let is_out_of_credit = status == StatusCode::BAD_REQUEST
        && error_words(body).is_some_and(|it| it.contains("credit balance is too low"));
    let is_permanent =
        matches!(code.as_deref(), Some("context_length_exceeded" | "model_not_found"));
    if matches!(code.as_deref(), Some("content_filter" | "content_policy_violation")) {
        return CallError::Unusable { why: DECLINED.to_owned(), usage: Usage::default() };
    }
    if code.as_deref() == Some("API_KEY_INVALID") {
        return key_refused(&status_text);
    }
    match status.as_u16() {
        // OpenAI also answers 429 if the account is empty, and then waiting does not help.
        400 | 402 | 429 if is_out_of_funds || is_out_of_credit || status.as_u16() == 402 => {
            let why = format!("its account has no credit left ({status_text})");
            CallError::permanent(ModelProblem::NoFunds, why)
        }
        500 | 501 if is_about_shape(body) => CallError::RequestRejected {
            why: format!("it is in trouble itself ({status_text})"),
            remedy: None,
            may_pass: true,
        },
        408 | 409 | 425 | 429 | 500..=599 => {
            let why = match status.as_u16() {
                429 => format!("it asks to be called less often ({status_text})"),
                _ => format!("it is in trouble itself ({status_text})"),
            };
            let retry_after = retry_after(headers, now).or_else(|| retry_delay(body));
            let problem = match status.as_u16() {
                500..=502 => ModelProblem::ServerFailed,
                _ => ModelProblem::Overloaded,
            };
            CallError::Retryable { problem, why, retry_after, usage: Usage::default() }
        }
        401 | 403 => key_refused(&status_text),
        404 => {
            let why = format!("it knows no such model or address ({status_text})");
            CallError::permanent(ModelProblem::UnknownModel, why)
        }
        300..=399 => CallError::permanent(
            ModelProblem::RequestRejected,
            format!(
                "it sends us elsewhere ({status_text}), which we do not follow; set api_base to the final address"
            ),
        ),
        400 | 422 if !is_permanent => {
            CallError::rejected(format!("it does not take the request ({status_text})"))
        }
        _ => {
            let is_unknown = code.as_deref() == Some("model_not_found");
            let problem = match is_unknown {
                true => ModelProblem::UnknownModel,
                false => ModelProblem::RequestRejected,
            };
            CallError::permanent(problem, format!("it does not take the request ({status_text})"))
        }
    }
}

/// Whether a server failed because of the request's shape. llama.cpp and others do if the model's chat template, or
/// their configuration, does not support tools, schemas, or a conversation without a user turn.
fn is_about_shape(body: &str) -> bool {
    const SIGNS: [&str; 11] = [
        "jinja", "template", "user query", "grammar", "json_schema", "json schema",
        "response_format", "tool_choice", "not support", "unsupported", "not implemented",
    ];
    let body = body.to_lowercase();
    SIGNS.iter().any(|sign| body.contains(sign))
}

fn key_refused(status_text: &str) -> CallError {
    let why = format!("it does not accept the API key ({status_text})");
    CallError::permanent(ModelProblem::KeyRefused, why)
}

/// The provider's error code, if it looks like one.
pub fn error_code(body: &str) -> Option<String> {
    let body: Value = serde_json::from_str(body).ok()?;
    // Gemini wraps errors of streams in a list.
    let error = body.get(0).unwrap_or(&body).get("error")?;
    // Gemini reports an invalid key only here.
    let details = error.get("details").and_then(Value::as_array).into_iter().flatten();
    let reasons = details.filter_map(|detail| detail.get("reason")?.as_str());
    let named = ["code", "type", "status"].iter().filter_map(|key| error.get(key)?.as_str());
    let mut named = reasons.chain(named);
    let is_code = |code: &&str| {
        (1..=48).contains(&code.len())
            && code.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte))
    };
    // A code that looks like a key is not used.
    let is_safe = |code: &&str| to_log_sentence(code) == *code;
    named.find(|code| is_code(code) && is_safe(code)).map(str::to_owned)
}

/// The longest wait that is accepted.
const MAX_SECONDS: f64 = 86_400.0;

/// The wait that the provider asks for: `retry-after-ms`, or `Retry-After` in seconds or as a date (RFC 9110
/// §10.2.3).
fn retry_after(headers: &HeaderMap, now: Timestamp) -> Option<SignedDuration> {
    let text =
        |value: Option<&reqwest::header::HeaderValue>| Some(value?.to_str().ok()?.to_owned());
    let number = |text: String| text.trim().parse::<f64>().ok().filter(|number| *number >= 0.0);
    if let Some(milliseconds) = text(headers.get("retry-after-ms")).and_then(number) {
        return Some(duration_from_seconds((milliseconds / 1000.0).min(MAX_SECONDS)));
    }
    let header = text(headers.get(RETRY_AFTER))?;
    if let Some(wait) = number(header.clone()) {
        return Some(duration_from_seconds(wait.min(MAX_SECONDS)));
    }
    let date = DateTimeParser::new().parse_timestamp(header.trim()).ok()?;
    let longest = duration_from_seconds(MAX_SECONDS);
    Some(date.duration_since(now).clamp(SignedDuration::ZERO, longest))
}

/// The wait in the body of an error, where Google's APIs put it: `"retryDelay": "37.5s"`.
fn retry_delay(body: &str) -> Option<SignedDuration> {
    let body: Value = serde_json::from_str(body).ok()?;
    let details = body.get(0).unwrap_or(&body).pointer("/error/details")?.as_array()?;
    let delay = details.iter().find_map(|detail| detail.get("retryDelay")?.as_str())?;
    let seconds = delay.strip_suffix('s')?.parse::<f64>().ok().filter(|wait| *wait >= 0.0)?;
    Some(duration_from_seconds(seconds.min(MAX_SECONDS)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    #[test]
    fn retry_after_is_read_in_every_form() {
        for (name, value, expected) in [
            ("retry-after", "7", Some(7.0)),
            ("retry-after", "1.5", Some(1.5)),
            ("retry-after-ms", "250", Some(0.25)),
            ("retry-after", "Thu, 01 Jan 1970 00:01:40 GMT", Some(90.0)),
            ("retry-after", "Thu, 01 Jan 1970 00:00:01 GMT", Some(0.0)),
            ("retry-after", "Fri, 31 Dec 2066 23:59:59 GMT", Some(86_400.0)),
            ("retry-after", "soon", None),
            ("retry-after", "-3", None),
            ("retry-after", "1e99", Some(86_400.0)),
            ("x-other", "7", None),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(name, value.parse().unwrap());
            assert_eq!(
                retry_after(&headers, at(10)),
                expected.map(duration_from_seconds),
                "{name}: {value}"
            );
        }
    }

    #[test]
    fn the_wait_in_a_body_is_read() {
        let body = |delay: &str| {
            format!(
                r#"{{"error": {{"details": [{{"@type": "type.googleapis.com/google.rpc.Help"}},
                    {{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "{delay}"}}]}}}}"#
            )
        };
        for (body, expected) in [
            (body("37s"), Some(37.0)),
            (body("0.5s"), Some(0.5)),
            (body("1e99s"), Some(86_400.0)),
            (format!("[{}]", body("3s")), Some(3.0)),
            (body("-3s"), None),
            (body("NaNs"), None),
            (body("soon"), None),
            (body("3"), None),
            (r#"{"error": {"details": "3s"}}"#.to_owned(), None),
            ("<html>".to_owned(), None),
        ] {
            assert_eq!(retry_delay(&body), expected.map(duration_from_seconds), "{body}");
        }
    }

    #[test]
    fn a_filtered_prompt_and_an_empty_account_are_no_fault_of_the_request() {
        let error =
            |body: &str| status_error(StatusCode::BAD_REQUEST, body, &HeaderMap::new(), at(0));
        let filtered = error(r#"{"error": {"code": "content_filter", "message": "filtered"}}"#);
        assert!(matches!(filtered, CallError::Unusable { why, .. } if why == DECLINED));
        let broke = r#"{"type": "error", "error": {"type": "invalid_request_error",
            "message": "Your credit balance is too low to access the API."}}"#;
        assert_eq!(error(broke).problem(), Some(ModelProblem::NoFunds));
        let echoed = r#"{"error": {"message": "bad"}, "input": "my credit balance is too low"}"#;
        assert_ne!(error(echoed).problem(), Some(ModelProblem::NoFunds));
    }

    #[test]
    fn only_codes_are_taken_from_an_error() {
        for (body, expected) in [
            (
                r#"{"error": {"code": "invalid_api_key", "message": "sk-123 is wrong"}}"#,
                Some("invalid_api_key"),
            ),
            (r#"{"error": {"type": "overloaded_error"}}"#, Some("overloaded_error")),
            (
                r#"{"error": {"code": 429, "status": "RESOURCE_EXHAUSTED"}}"#,
                Some("RESOURCE_EXHAUSTED"),
            ),
            (r#"[{"error": {"status": "INTERNAL"}}]"#, Some("INTERNAL")),
            (
                r#"{"error": {"status": "INVALID_ARGUMENT", "details": [{"reason": "API_KEY_INVALID"}]}}"#,
                Some("API_KEY_INVALID"),
            ),
            (r#"{"error": {"code": "you said: hello there"}}"#, None),
            (r#"{"error": {"code": "sk-proj-0123456789abcdef"}}"#, None),
            (r#"{"error": {"code": "0123456789abcdef0123", "type": "bad"}}"#, Some("bad")),
            (r#"{"error": "no"}"#, None),
            ("<html>", None),
        ] {
            assert_eq!(error_code(body).as_deref(), expected, "{body}");
        }
    }
}
