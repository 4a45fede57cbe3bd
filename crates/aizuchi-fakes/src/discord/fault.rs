//! Discord's own faults.

use serde::Deserialize;

use crate::discord::api_error::{ApiError, ErrorCode, RateLimitScope, RetryAfter, api_error};
use crate::discord::method::Method;
use crate::fault;

pub type Fault = fault::Fault<ApiError>;
pub type Faults = fault::Faults<Method, ApiError>;
pub type FaultSpec = fault::FaultSpec<ApiErrorSpec>;

impl Fault {
    pub fn rate_limited(seconds: f64, scope: RateLimitScope) -> Self {
        Self::ApiError(ApiError::rate_limited(RetryAfter { seconds, scope }))
    }

    pub fn error(code: ErrorCode) -> Self {
        Self::ApiError(api_error(code))
    }
}

/// An error in the format of the control API.
#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum ApiErrorSpec {
    RateLimited {
        seconds: f64,
        #[serde(default)]
        scope: RateLimitScope,
    },
    Error {
        error: ErrorCode,
    },
}

impl From<ApiErrorSpec> for ApiError {
    fn from(spec: ApiErrorSpec) -> Self {
        match spec {
            ApiErrorSpec::RateLimited { seconds, scope } => {
                ApiError::rate_limited(RetryAfter { seconds, scope })
            }
            ApiErrorSpec::Error { error } => api_error(error),
        }
    }
}
