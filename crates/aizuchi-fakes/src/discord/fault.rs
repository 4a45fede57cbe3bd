//! Discord's own faults.

use crate::discord::api_error::{ApiError, ErrorCode, RateLimitScope, RetryAfter, api_error};
use crate::discord::method::Method;
use crate::fault;

pub type Fault = fault::Fault<ApiError>;
pub type Faults = fault::Faults<Method, ApiError>;

impl Fault {
    pub fn rate_limited(seconds: f64, scope: RateLimitScope) -> Self {
        Self::ApiError(ApiError::rate_limited(RetryAfter { seconds, scope }))
    }

    pub fn error(code: ErrorCode) -> Self {
        Self::ApiError(api_error(code))
    }
}
