//! Requests to the operator's own services: search engines, and page readers.

use aizuchi_http::body::{BodyError, MAX_MODEL_BODY_BYTES, read_body};
use aizuchi_llm::provider::http_client;
use jiff::SignedDuration;
use reqwest::{Client, RequestBuilder, StatusCode};
use serde_json::Value;

use crate::web_access::WebError;

const CONNECT_TIMEOUT: SignedDuration = SignedDuration::from_secs(10);

pub fn api_client() -> anyhow::Result<Client> {
    http_client(CONNECT_TIMEOUT)
}

/// Sends a request and parses the JSON of the answer.
pub async fn fetch_json(request: RequestBuilder) -> Result<Value, WebError> {
    let response = request.send().await.map_err(|error| error_of(&error))?;
    let status = response.status();
    match status {
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => return Err(WebError::KeyRefused),
        StatusCode::TOO_MANY_REQUESTS => return Err(WebError::UsedUp),
        status if !status.is_success() => return Err(WebError::Status(status.as_u16())),
        _ => {}
    }
    let body = read_body(response, MAX_MODEL_BODY_BYTES).await.map_err(|error| match error {
        BodyError::TooLarge => WebError::Unusable,
        BodyError::Broken(error) => error_of(&error),
    })?;
    serde_json::from_slice(&body).map_err(|_| WebError::Unusable)
}

/// Returns the error for a request without a complete response.
pub fn error_of(error: &reqwest::Error) -> WebError {
    if error.is_timeout() {
        WebError::TimedOut
    } else if error.is_connect() || error.is_request() {
        WebError::Unreachable
    } else {
        WebError::Broken
    }
}
