//! Parsed requests to the REST API: their route, query and body.

use axum::http::{HeaderMap, header};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use twilight_model::id::Id;

use crate::discord::api_error::{ApiError, ApiResult};
use crate::discord::method::{Method, PathParameters};

/// A parsed request.
#[derive(Clone, Debug)]
pub struct ParsedRequest {
    pub method: Method,
    pub path_parameters: PathParameters,
    pub query: Vec<(String, String)>,
    pub body: Value,
    pub host: String,
}

pub fn request_host(headers: &HeaderMap) -> String {
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok());
    host.unwrap_or("127.0.0.1").to_owned()
}

/// The body is neither JSON nor a form with JSON in it.
#[derive(Debug)]
pub struct InvalidBody;

/// Parses a body: JSON, or a multipart form with files and JSON.
pub fn parse_body(headers: &HeaderMap, bytes: &[u8]) -> Result<Value, InvalidBody> {
    if bytes.is_empty() {
        return Ok(json!({}));
    }
    let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    let json = match kind.unwrap_or_default().split_once("boundary=") {
        Some((_, boundary)) => {
            form_payload(bytes, boundary.trim_matches('"').as_bytes()).ok_or(InvalidBody)?
        }
        None => bytes,
    };
    serde_json::from_slice(json).map_err(|_| InvalidBody)
}

/// Returns the `payload_json` part of a form.
fn form_payload<'a>(bytes: &'a [u8], boundary: &[u8]) -> Option<&'a [u8]> {
    let name = find_bytes(bytes, b"name=\"payload_json\"")?;
    let part = &bytes[name..];
    let begin = find_bytes(part, b"\r\n\r\n")? + 4;
    let end = find_bytes(&part[begin..], &[b"\r\n--", boundary].concat())?;
    Some(&part[begin..begin + end])
}

fn find_bytes(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes.windows(wanted.len()).position(|window| window == wanted)
}

impl ParsedRequest {
    pub fn path_id<T>(&self, name: &str) -> ApiResult<Id<T>> {
        let part = self.path_parameters.get(name).map(String::as_str).unwrap_or_default();
        part.parse().map_err(|_| not_a_snowflake(name, part))
    }

    pub fn path_parameter(&self, name: &str) -> &str {
        self.path_parameters.get(name).map(String::as_str).unwrap_or_default()
    }

    pub fn query_parameter(&self, name: &str) -> Option<&str> {
        let found = self.query.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    }

    pub fn query_id<T>(&self, name: &str) -> ApiResult<Option<Id<T>>> {
        let Some(text) = self.query_parameter(name) else {
            return Ok(None);
        };
        // Clients pass 0 for "from the beginning", but it is not a valid id.
        let text = if text == "0" { "1" } else { text };
        text.parse().map(Some).map_err(|_| not_a_snowflake(name, text))
    }

    /// Returns the requested page size.
    pub fn limit(&self, default: usize, max: usize) -> ApiResult<usize> {
        let Some(text) = self.query_parameter("limit") else {
            return Ok(default);
        };
        let limit: usize = text.parse().map_err(|_| {
            let message = format!("Value \"{text}\" is not int.");
            ApiError::invalid_field("limit", "NUMBER_TYPE_COERCE", &message)
        })?;
        if limit > max {
            let message = format!("int value should be less than or equal to {max}.");
            return Err(ApiError::invalid_field("limit", "NUMBER_TYPE_MAX", &message));
        }
        if limit == 0 {
            let message = "int value should be greater than or equal to 1.";
            return Err(ApiError::invalid_field("limit", "NUMBER_TYPE_MIN", message));
        }
        Ok(limit)
    }

    /// Parses the body as a `T`.
    pub fn parse_body<T: DeserializeOwned>(&self) -> ApiResult<T> {
        serde_json::from_value(self.body.clone())
            .map_err(|error| ApiError::invalid_body(&error.to_string()))
    }
}

fn not_a_snowflake(name: &str, text: &str) -> ApiError {
    let message = format!("Value \"{text}\" is not snowflake.");
    ApiError::invalid_field(name, "NUMBER_TYPE_COERCE", &message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_json_of_a_form_is_found() {
        let mut headers = HeaderMap::new();
        let kind = "multipart/form-data; boundary=xyz".parse().unwrap();
        headers.insert(header::CONTENT_TYPE, kind);
        let form = "--xyz\r\nContent-Disposition: form-data; name=\"files[0]\"; filename=\"a\"\r\n\r\nA\r\n\
                    --xyz\r\nContent-Disposition: form-data; name=\"payload_json\"\r\n\r\n{\"content\":\"tea\"}\r\n--xyz--\r\n";
        assert_eq!(parse_body(&headers, form.as_bytes()).unwrap(), json!({ "content": "tea" }));
        assert!(parse_body(&HeaderMap::new(), b"{").is_err());
        assert_eq!(parse_body(&HeaderMap::new(), b"").unwrap(), json!({}));
    }
}
