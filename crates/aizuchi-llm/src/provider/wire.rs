//! The wire formats, by provider.

use reqwest::RequestBuilder;
use serde_json::Value;

use crate::provider::chat::{ChatRequest, ChatResponse, merge, without_nulls};
use crate::provider::{anthropic, gemini, openai};
use crate::provider_list::WireFormat;

impl WireFormat {
    /// Where to send a request, below the base of the API.
    pub(super) fn path(self, model_name: &str) -> String {
        match self {
            WireFormat::OpenAi => "chat/completions".to_owned(),
            WireFormat::Anthropic => "messages".to_owned(),
            WireFormat::Gemini => format!("models/{model_name}:generateContent"),
        }
    }

    /// Adds the headers with the key.
    pub(super) fn authorize(self, request: RequestBuilder, key: &str) -> RequestBuilder {
        match self {
            WireFormat::OpenAi => request.bearer_auth(key),
            WireFormat::Anthropic => {
                request.header("x-api-key", key).header("anthropic-version", "2023-06-01")
            }
            WireFormat::Gemini => request.header("x-goog-api-key", key),
        }
    }

    pub(super) fn body(self, request: &ChatRequest) -> Value {
        let body = match self {
            WireFormat::OpenAi => openai::body(request),
            WireFormat::Anthropic => anthropic::body(request),
            WireFormat::Gemini => gemini::body(request),
        };
        let mut body = without_nulls(body);
        // Last, so that the operator's own parameters win.
        merge(&mut body, &request.params.extra);
        body
    }

    pub(super) fn parse(self, body: &Value) -> ChatResponse {
        match self {
            WireFormat::OpenAi => openai::parse(body),
            WireFormat::Anthropic => anthropic::parse(body),
            WireFormat::Gemini => gemini::parse(body),
        }
    }
}
