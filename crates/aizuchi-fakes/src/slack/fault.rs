//! Slack's own faults, and its cap on history for apps outside of its Marketplace.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};

use crate::fault;
use crate::slack::api_error::{ApiError, ApiResult, api_error};

pub type Fault = fault::Fault<ApiError>;
pub type Faults = fault::Faults<String, ApiError>;

impl Fault {
    /// Returns an error with the status 429 and this `Retry-After`.
    pub fn rate_limited(seconds: u64) -> Self {
        Self::ApiError(ApiError::rate_limited(seconds))
    }

    /// Returns an error response: `ok: false` with this code.
    pub fn error(error: &str) -> Self {
        Self::ApiError(api_error(error))
    }
}

/// The cap on history, if any, and when it last allowed each method.
#[derive(Default)]
pub struct HistoryCaps {
    cap: Option<HistoryCap>,
    /// When a call of each capped method was last allowed.
    last_allowed_at: BTreeMap<String, Timestamp>,
}

/// The limit on history for apps that are distributed outside of the Marketplace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HistoryCap {
    pub objects: usize,
    /// The minimum interval between two calls.
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

    /// Returns the maximum number of objects that a call may return, or a rate limit error.
    pub fn max_objects(&mut self, method: &str, now: Timestamp) -> ApiResult<usize> {
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
