//! Errors of the Web API, with Slack's own names.

use std::fmt;

use serde_json::{Map, Value, json};

pub type ApiResult<T = ()> = Result<T, ApiError>;

/// A response that is not `ok`: its `error` and its other fields.
#[derive(Clone, Debug, PartialEq)]
pub struct ApiError {
    pub error: String,
    pub extra: Map<String, Value>,
    /// Seconds to wait. If set, the response has the status 429.
    pub retry_after: Option<u64>,
}

pub fn api_error(error: &str) -> ApiError {
    ApiError { error: error.to_owned(), extra: Map::new(), retry_after: None }
}

impl ApiError {
    pub fn rate_limited(seconds: u64) -> Self {
        Self { retry_after: Some(seconds), ..api_error("ratelimited") }
    }

    pub fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.extra.insert(name.to_owned(), value.into());
        self
    }

    pub fn to_json(&self) -> Value {
        let mut object = json!({ "ok": false, "error": self.error });
        for (name, value) in &self.extra {
            object[name] = value.clone();
        }
        object
    }
}

impl fmt::Display for ApiError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.error)
    }
}

impl std::error::Error for ApiError {}
