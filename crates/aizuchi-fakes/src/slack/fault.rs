//! Slack's own faults, and its cap on history for apps outside the marketplace.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use serde::Deserialize;

use crate::fault;
use crate::slack::api_error::{ApiError, api_error};

pub type Fault = fault::Fault<ApiError>;
pub type Faults = fault::Faults<String, ApiError>;
pub type FaultSpec = fault::FaultSpec<ApiErrorSpec>;

impl Fault {
    /// The status 429 with this `Retry-After`.
    pub fn rate_limited(seconds: u64) -> Self {
        Self::ApiError(ApiError::rate_limited(seconds))
    }

    /// `ok: false` with this error.
    pub fn error(error: &str) -> Self {
        Self::ApiError(api_error(error))
    }
}

/// An error as the control API receives it.
#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum ApiErrorSpec {
    RateLimited { seconds: u64 },
    Error { error: String },
}

impl From<ApiErrorSpec> for ApiError {
    fn from(spec: ApiErrorSpec) -> Self {
        match spec {
            ApiErrorSpec::RateLimited { seconds } => ApiError::rate_limited(seconds),
            ApiErrorSpec::Error { error } => api_error(&error),
        }
    }
}

/// The cap on history, if there is one, and when it let each method through.
#[derive(Default)]
pub struct HistoryCaps {
    cap: Option<HistoryCap>,
    /// When a call of each capped method was last allowed.
    last_allowed_at: BTreeMap<String, Timestamp>,
}

/// The limit on history for apps that are sold outside the marketplace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HistoryCap {
    pub objects: usize,
    /// The least time between two calls.
    pub interval: SignedDuration,
}

impl Default for HistoryCap {
    fn default() -> Self {
        Self { objects: 15, interval: SignedDuration::from_mins(1) }
    }
}

impl HistoryCaps {
    pub fn set(&mut self, cap: Option<HistoryCap>) {
        self.cap = cap;
        self.last_allowed_at.clear();
    }

    /// The most objects that a call may return, or a rate limit error.
    pub fn max_objects(&mut self, method: &str, now: Timestamp) -> Result<usize, ApiError> {
        let Some(cap) = self.cap else {
            return Ok(usize::MAX);
        };
        if let Some(last) = self.last_allowed_at.get(method) {
            let wait = cap.interval - now.duration_since(*last);
            if wait.is_positive() {
                let seconds = wait.as_millis().unsigned_abs().div_ceil(1000);
                return Err(ApiError::rate_limited(u64::try_from(seconds).unwrap_or(1)));
            }
        }
        self.last_allowed_at.insert(method.to_owned(), now);
        Ok(cap.objects)
    }
}
