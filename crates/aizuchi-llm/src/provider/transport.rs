//! Sends a request to a provider and reads its response up to a limit.

use std::borrow::Cow;

use aizuchi_http::body::{MAX_MODEL_BODY_BYTES, read_body};
use aizuchi_model::decision::Usage;
use jiff::Timestamp;
use reqwest::header::HeaderMap;
use reqwest::{RequestBuilder, StatusCode};

use crate::provider::error::{CallError, from_body, from_transport, status_error};
use crate::provider::refusal::{has_begun, hidden_status};

pub struct ProviderResponse {
    /// The status, or the one that an error with a status of success stands for.
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub body: Vec<u8>,
    /// Whether the provider may charge for it.
    pub is_charged: bool,
}

/// Returns the response to a request. `usage` is that of an accepted request, which may be charged although the
/// response does not arrive.
pub async fn send(request: RequestBuilder, usage: Usage) -> Result<ProviderResponse, CallError> {
    let response = request.send().await.map_err(|error| from_transport(&error))?;
    let (status, headers) = (response.status(), response.headers().clone());
    if !status.is_success() {
        // Without an error code, the status decides.
        let body = read_body(response, MAX_MODEL_BODY_BYTES).await.unwrap_or_default();
        return Ok(ProviderResponse { status, headers, body, is_charged: false });
    }
    let body = read_body(response, MAX_MODEL_BODY_BYTES).await;
    let body = body.map_err(|error| from_body(&error).with_usage(usage))?;
    let hidden = hidden_status(&body);
    let is_charged = hidden.is_none() || has_begun(&body);
    Ok(ProviderResponse { status: hidden.unwrap_or(status), headers, body, is_charged })
}

impl ProviderResponse {
    pub fn text(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(&self.body)
    }

    /// The error that it is, if it is one.
    pub fn error(&self, now: Timestamp) -> Option<CallError> {
        let is_error = !self.status.is_success();
        is_error.then(|| status_error(self.status, &self.text(), &self.headers, now))
    }
}
