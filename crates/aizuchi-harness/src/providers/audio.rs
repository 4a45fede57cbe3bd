//! The endpoint of OpenAI's API that transcribes a recording. It takes a form.

use axum::http::{HeaderMap, StatusCode};
use serde_json::{Value, json};

use crate::providers::ProviderRequest;

pub const PATH: &str = "/v1/audio/transcriptions";
/// The length of every recording, which determines its cost.
pub const SECONDS: u64 = 3;

/// The fields of a form. For its file: the name, the type and the size.
pub fn form(headers: &HeaderMap, body: &[u8]) -> Value {
    let kind = headers.get("content-type").and_then(|value| value.to_str().ok());
    let boundary = kind.and_then(|kind| kind.strip_prefix("multipart/form-data; boundary="));
    let Some(boundary) = boundary else { return Value::Null };
    // One character per byte, so that bytes that are not text keep their number.
    let body: String = body.iter().map(|byte| char::from(*byte)).collect();
    let mut form = json!({});
    for part in body.split(&format!("--{boundary}\r\n")).skip(1) {
        let Some((head, content)) = part.split_once("\r\n\r\n") else { return Value::Null };
        let content = content.split(&format!("\r\n--{boundary}")).next().unwrap_or_default();
        let content = content.strip_suffix("\r\n").unwrap_or(content);
        let value = |key: &str| {
            let begin = head.find(key)? + key.len();
            Some(head[begin..].split(['"', '\r']).next()?.to_owned())
        };
        let Some(name) = value(" name=\"") else { return Value::Null };
        form[name] = match value("filename=\"") {
            None => json!(content),
            Some(file_name) => json!({
                "name": file_name, "type": value("Content-Type: "), "size": content.chars().count(),
            }),
        };
    }
    form
}

/// Why the provider would reject the request, if it would.
pub fn complaint(request: &ProviderRequest) -> Option<(StatusCode, &'static str)> {
    let key = request.headers.get("authorization").and_then(|value| value.to_str().ok());
    let body = &request.body;
    match () {
        () if !key.is_some_and(|key| key.starts_with("Bearer ")) => {
            Some((StatusCode::UNAUTHORIZED, "no key"))
        }
        () if !body["model"].is_string() => Some((StatusCode::BAD_REQUEST, "no model")),
        () if body["response_format"] != "json" => Some((StatusCode::BAD_REQUEST, "no format")),
        () if !body["file"]["size"].is_u64() => Some((StatusCode::BAD_REQUEST, "no file")),
        () => None,
    }
}

pub fn answer(text: &str) -> Value {
    json!({ "text": text, "usage": { "type": "duration", "seconds": SECONDS } })
}
