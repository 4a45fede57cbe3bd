//! What went wrong with a call, by what helps. Providers' own sentences may repeat the prompt or
//! part of a key, so only their codes are passed on.

use genai::{Error, webc};
use jiff::fmt::rfc2822::DateTimeParser;
use jiff::{SignedDuration, Timestamp};
use reqwest::StatusCode;
use reqwest::header::{HeaderMap, RETRY_AFTER};
use serde_json::Value;

use crate::clock::duration_from_seconds;
use crate::decision::Usage;

/// What helps.
#[derive(Clone, Debug, PartialEq)]
pub enum CallError {
    /// Time.
    Retryable { why: String, retry_after: Option<SignedDuration> },
    /// Another shape of the request, perhaps.
    RequestRejected(String),
    /// Nothing; a person should look.
    Permanent(String),
    /// Nothing, though it has cost something.
    Unusable { why: String, usage: Usage },
}

/// It thinks that it should not.
pub const DECLINED: &str = "it declined to answer this";

/// Reads an error of `genai`. Its own text is not used, since it holds requests and answers.
pub fn from_genai(error: Error, now: Timestamp) -> CallError {
    let passing = |why: &str| CallError::Retryable { why: why.to_owned(), retry_after: None };
    match error {
        Error::WebModelCall { webc_error, .. } | Error::WebAdapterCall { webc_error, .. } => {
            match webc_error {
                webc::Error::ResponseFailedStatus { status, body, headers } => {
                    status_error(status, &body, &headers, now)
                }
                webc::Error::ResponseFailedNotJson { .. } => passing("its answer is not JSON"),
                webc::Error::ResponseFailedInvalidJson { .. } => {
                    passing("its answer is broken JSON")
                }
                webc::Error::JsonValueExt(_) => passing("its answer has an unknown shape"),
                webc::Error::Reqwest(error) => transport_error(&error),
            }
        }
        Error::HttpError { status, body, headers, .. } => {
            status_error(status, &body, &headers, now)
        }
        // Gemini says so where a candidate would be.
        Error::ChatResponseGeneration { response_body, .. }
            if response_body.get("promptFeedback").is_some() =>
        {
            CallError::Permanent(DECLINED.to_owned())
        }
        Error::ChatResponseGeneration { .. }
        | Error::ChatResponse { .. }
        | Error::NoChatResponse { .. }
        | Error::InvalidJsonResponseElement { .. }
        | Error::StreamParse { .. }
        | Error::JsonValueExt(_)
        | Error::SerdeJson(_) => passing("its answer has an unknown shape"),
        Error::RequiresApiKey { .. } | Error::NoAuthResolver { .. } | Error::NoAuthData { .. } => {
            CallError::Permanent("it needs an API key".to_owned())
        }
        _ => CallError::Permanent("the request could not be made".to_owned()),
    }
}

/// It says that it has no such thing: a model, an address, or tools. Gateways say so of a model whose
/// servers know no tools.
pub fn is_not_found(error: &Error) -> bool {
    let (Error::WebModelCall { webc_error, .. } | Error::WebAdapterCall { webc_error, .. }) = error
    else {
        return false;
    };
    matches!(webc_error, webc::Error::ResponseFailedStatus { status, .. } if status.as_u16() == 404)
}

/// Nothing came, or not all of it.
fn transport_error(error: &reqwest::Error) -> CallError {
    let why = if error.is_timeout() {
        "it did not answer in time"
    } else if error.is_connect() {
        "it cannot be reached"
    } else if error.is_redirect() || error.is_builder() {
        let why = "its address, its key or an extra header cannot be sent";
        return CallError::Permanent(why.to_owned());
    } else {
        "the connection broke off"
    };
    CallError::Retryable { why: why.to_owned(), retry_after: None }
}

/// It answered, but not with success.
fn status_error(status: StatusCode, body: &str, headers: &HeaderMap, now: Timestamp) -> CallError {
    let code = error_code(body);
    let told = match &code {
        Some(code) => format!("{} {code}", status.as_u16()),
        None => status.as_u16().to_string(),
    };
    let is_spent = matches!(code.as_deref(), Some("insufficient_quota" | "billing_not_active"));
    let is_hopeless = matches!(
        code.as_deref(),
        Some("context_length_exceeded" | "model_not_found" | "content_policy_violation")
    );
    if code.as_deref() == Some("API_KEY_INVALID") {
        return CallError::Permanent(format!("it does not accept the API key ({told})"));
    }
    match status.as_u16() {
        429 | 402 if is_spent || status.as_u16() == 402 => {
            CallError::Permanent(format!("its account has nothing left to spend ({told})"))
        }
        408 | 409 | 425 | 429 | 500..=599 => {
            let why = match status.as_u16() {
                429 => format!("it asks to be called less often ({told})"),
                _ => format!("it is in trouble itself ({told})"),
            };
            CallError::Retryable { why, retry_after: retry_after(headers, now) }
        }
        401 | 403 => CallError::Permanent(format!("it does not accept the API key ({told})")),
        404 => CallError::Permanent(format!("it knows no such model or address ({told})")),
        300..=399 => CallError::Permanent(format!(
            "it sends us elsewhere ({told}), which we do not follow; set api_base to the final address"
        )),
        400 | 422 if !is_hopeless => {
            CallError::RequestRejected(format!("it does not take the request ({told})"))
        }
        _ => CallError::Permanent(format!("it does not take the request ({told})")),
    }
}

/// The provider's own code of an error, if it looks like one.
fn error_code(body: &str) -> Option<String> {
    let body: Value = serde_json::from_str(body).ok()?;
    // Gemini wraps its error into a list where it streams.
    let error = body.get(0).unwrap_or(&body).get("error")?;
    // Gemini tells a wrong key only here.
    let details = error.get("details").and_then(Value::as_array).into_iter().flatten();
    let reasons = details.filter_map(|detail| detail.get("reason")?.as_str());
    let named = ["code", "type", "status"].iter().filter_map(|key| error.get(key)?.as_str());
    let mut named = reasons.chain(named);
    let is_code = |code: &&str| {
        (1..=48).contains(&code.len())
            && code.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte))
    };
    named.find(is_code).map(str::to_owned)
}

/// How long the provider wants us to wait: `retry-after-ms`, or `Retry-After` in seconds or as a
/// date (RFC 9110 §10.2.3).
fn retry_after(headers: &HeaderMap, now: Timestamp) -> Option<SignedDuration> {
    const LONGEST: f64 = 86_400.0;
    let text =
        |value: Option<&reqwest::header::HeaderValue>| Some(value?.to_str().ok()?.to_owned());
    let number = |text: String| text.trim().parse::<f64>().ok().filter(|number| *number >= 0.0);
    if let Some(milliseconds) = text(headers.get("retry-after-ms")).and_then(number) {
        return Some(duration_from_seconds((milliseconds / 1000.0).min(LONGEST)));
    }
    let header = text(headers.get(RETRY_AFTER))?;
    if let Some(wait) = number(header.clone()) {
        return Some(duration_from_seconds(wait.min(LONGEST)));
    }
    let date = DateTimeParser::new().parse_timestamp(header.trim()).ok()?;
    Some(date.duration_since(now).max(SignedDuration::ZERO))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    #[test]
    fn waiting_times_are_read_in_every_form() {
        for (name, value, expected) in [
            ("retry-after", "7", Some(7.0)),
            ("retry-after", "1.5", Some(1.5)),
            ("retry-after-ms", "250", Some(0.25)),
            ("retry-after", "Thu, 01 Jan 1970 00:01:40 GMT", Some(90.0)),
            ("retry-after", "Thu, 01 Jan 1970 00:00:01 GMT", Some(0.0)),
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
    fn only_codes_are_taken_from_a_refusal() {
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
            (r#"{"error": "no"}"#, None),
            ("<html>", None),
        ] {
            assert_eq!(error_code(body).as_deref(), expected, "{body}");
        }
    }
}
