//! How this Slack fails on purpose, and how it is stingy.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use serde::Deserialize;

use crate::fault;
use crate::slack::api_error::{ApiError, api_error};

pub type Fault = fault::Fault<ApiError>;
pub type Faults = fault::Faults<String, ApiError>;
pub type FaultSpec = fault::FaultSpec<ApiErrorSpec>;

impl Fault {
    /// 429, with so many seconds to wait.
    pub fn rate_limited(seconds: u64) -> Self {
        Self::ApiError(ApiError::rate_limited(seconds))
    }

    /// `ok: false` with this error.
    pub fn error(error: &str) -> Self {
        Self::ApiError(api_error(error))
    }
}

/// A refusal as JSON says it.
#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum ApiErrorSpec {
    RateLimited { seconds: u64 },
    Error { error: String },
}

impl From<ApiErrorSpec> for ApiError {
    fn from(shape: ApiErrorSpec) -> Self {
        match shape {
            ApiErrorSpec::RateLimited { seconds } => ApiError::rate_limited(seconds),
            ApiErrorSpec::Error { error } => api_error(&error),
        }
    }
}

/// How much of histories is told.
#[derive(Default)]
pub struct HistoryCaps {
    cap: Option<HistoryCap>,
    /// When each capped method was let through last.
    last_allowed_at: BTreeMap<String, Timestamp>,
}

/// What apps that are sold outside the marketplace get of histories.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HistoryCap {
    pub objects: usize,
    /// Between two calls.
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

    /// How many objects a call may return at most, or how long it must wait.
    pub fn max_objects(&mut self, method: &str, now: Timestamp) -> Result<usize, ApiError> {
        let Some(cap) = self.cap else {
            return Ok(usize::MAX);
        };
        if let Some(last) = self.last_allowed_at.get(method) {
            let left = cap.interval - now.duration_since(*last);
            if left.is_positive() {
                let seconds = left.as_millis().unsigned_abs().div_ceil(1000);
                return Err(ApiError::rate_limited(u64::try_from(seconds).unwrap_or(1)));
            }
        }
        self.last_allowed_at.insert(method.to_owned(), now);
        Ok(cap.objects)
    }
}
