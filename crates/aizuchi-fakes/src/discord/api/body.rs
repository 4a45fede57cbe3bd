//! What requests carry and what goes back.

use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use twilight_model::id::Id;

use crate::discord::api::Asked;
use crate::discord::refusal::Refusal;

/// What goes back over HTTP; nothing at all for 204.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub body: Value,
}

impl Answer {
    pub fn of(body: Value) -> Self {
        Self { status: 200, body }
    }

    pub fn created(body: Value) -> Self {
        Self { status: 201, body }
    }

    pub fn nothing() -> Self {
        Self { status: 204, body: Value::Null }
    }
}

impl IntoResponse for Answer {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.status).unwrap_or(StatusCode::OK);
        if status == StatusCode::NO_CONTENT {
            return status.into_response();
        }
        (status, axum::Json(self.body)).into_response()
    }
}

/// It is neither JSON nor a form with JSON in it.
#[derive(Debug)]
pub struct Unreadable;

/// Reads a body: JSON, or a form with files and JSON beside them.
pub fn read(headers: &HeaderMap, bytes: &[u8]) -> Result<Value, Unreadable> {
    if bytes.is_empty() {
        return Ok(json!({}));
    }
    let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    let json = match kind.unwrap_or_default().split_once("boundary=") {
        Some((_, boundary)) => {
            payload(bytes, boundary.trim_matches('"').as_bytes()).ok_or(Unreadable)?
        }
        None => bytes,
    };
    serde_json::from_slice(json).map_err(|_| Unreadable)
}

/// The part of a form that is called `payload_json`.
fn payload<'a>(bytes: &'a [u8], boundary: &[u8]) -> Option<&'a [u8]> {
    let name = find(bytes, b"name=\"payload_json\"")?;
    let part = &bytes[name..];
    let begin = find(part, b"\r\n\r\n")? + 4;
    let end = find(&part[begin..], &[b"\r\n--", boundary].concat())?;
    Some(&part[begin..begin + end])
}

fn find(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes.windows(wanted.len()).position(|window| window == wanted)
}

impl Asked {
    /// An id in the path.
    pub fn id<T>(&self, name: &str) -> Result<Id<T>, Refusal> {
        let part = self.parts.get(name).map(String::as_str).unwrap_or_default();
        part.parse().map_err(|_| not_a_snowflake(name, part))
    }

    pub fn part(&self, name: &str) -> &str {
        self.parts.get(name).map(String::as_str).unwrap_or_default()
    }

    /// A value behind the path's question mark.
    pub fn query(&self, name: &str) -> Option<&str> {
        let found = self.query.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    }

    pub fn query_id<T>(&self, name: &str) -> Result<Option<Id<T>>, Refusal> {
        let Some(text) = self.query(name) else {
            return Ok(None);
        };
        // Nothing is older than nothing.
        let text = if text == "0" { "1" } else { text };
        text.parse().map(Some).map_err(|_| not_a_snowflake(name, text))
    }

    /// How many are wanted.
    pub fn limit(&self, usual: usize, most: usize) -> Result<usize, Refusal> {
        let Some(text) = self.query("limit") else {
            return Ok(usual);
        };
        let limit: usize = text.parse().map_err(|_| {
            let message = format!("Value \"{text}\" is not int.");
            Refusal::of_field("limit", "NUMBER_TYPE_COERCE", &message)
        })?;
        if limit > most {
            let message = format!("int value should be less than or equal to {most}.");
            return Err(Refusal::of_field("limit", "NUMBER_TYPE_MAX", &message));
        }
        if limit == 0 {
            let message = "int value should be greater than or equal to 1.";
            return Err(Refusal::of_field("limit", "NUMBER_TYPE_MIN", message));
        }
        Ok(limit)
    }

    /// The body as what it should be.
    pub fn read<T: DeserializeOwned>(&self) -> Result<T, Refusal> {
        serde_json::from_value(self.body.clone())
            .map_err(|error| Refusal::of_body(&error.to_string()))
    }
}

fn not_a_snowflake(name: &str, text: &str) -> Refusal {
    let message = format!("Value \"{text}\" is not snowflake.");
    Refusal::of_field(name, "NUMBER_TYPE_COERCE", &message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_form_has_its_json_beside_the_files() {
        let mut headers = HeaderMap::new();
        let kind = "multipart/form-data; boundary=xyz".parse().unwrap();
        headers.insert(header::CONTENT_TYPE, kind);
        let form = "--xyz\r\nContent-Disposition: form-data; name=\"files[0]\"; filename=\"a\"\r\n\r\nA\r\n\
                    --xyz\r\nContent-Disposition: form-data; name=\"payload_json\"\r\n\r\n{\"content\":\"tea\"}\r\n--xyz--\r\n";
        assert_eq!(read(&headers, form.as_bytes()).unwrap(), json!({ "content": "tea" }));
        assert!(read(&HeaderMap::new(), b"{").is_err());
        assert_eq!(read(&HeaderMap::new(), b"").unwrap(), json!({}));
    }
}
