//! Rate limits: a bucket for each kind of request and its channel, guild or webhook, and a global bucket.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};

use crate::discord::api_error::{RateLimitScope, RetryAfter};
use crate::discord::method::{Method, PathParameters};

/// A maximum number of requests per period.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateLimit {
    pub requests: u32,
    pub period: SignedDuration,
}

impl RateLimit {
    pub const fn new(requests: u32, period: SignedDuration) -> Self {
        Self { requests, period }
    }
}

/// The rate limits in effect.
#[derive(Clone, Copy, Debug)]
pub struct RateLimits {
    /// For all requests together.
    pub global: RateLimit,
    /// For messages to one channel.
    pub messages: RateLimit,
    /// For reactions in one channel.
    pub reactions: RateLimit,
    /// For everything else.
    pub other: RateLimit,
}

impl Default for RateLimits {
    fn default() -> Self {
        let second = SignedDuration::from_secs(1);
        Self {
            global: RateLimit::new(50, second),
            messages: RateLimit::new(5, SignedDuration::from_secs(5)),
            reactions: RateLimit::new(1, SignedDuration::from_millis(250)),
            other: RateLimit::new(50, second),
        }
    }
}

impl RateLimits {
    fn for_method(&self, method: Method) -> RateLimit {
        if method == Method::CreateMessage {
            return self.messages;
        }
        let is_reaction = matches!(method, Method::CreateReaction | Method::DeleteMyReaction);
        if is_reaction { self.reactions } else { self.other }
    }
}

#[derive(Clone, Copy, Debug)]
struct RateLimitWindow {
    used: u32,
    until: Timestamp,
}

#[derive(Default)]
pub struct FakeRateLimiter {
    windows: BTreeMap<(Method, String), RateLimitWindow>,
    global: Option<RateLimitWindow>,
}

/// The state of a bucket after a request.
#[derive(Clone, Debug, PartialEq)]
pub struct BucketState {
    pub bucket: String,
    pub limit: u32,
    pub remaining: u32,
    pub reset_at: Timestamp,
    pub reset_after: SignedDuration,
    /// Set if the request exceeded the limit.
    pub exceeded: Option<RetryAfter>,
}

impl FakeRateLimiter {
    pub fn count(
        &mut self,
        limits: &RateLimits,
        method: Method,
        path_parameters: &PathParameters,
        now: Timestamp,
    ) -> BucketState {
        let limit = limits.for_method(method);
        let major = ["channel", "guild", "token"].iter().find_map(|name| path_parameters.get(name));
        let key = (method, major.cloned().unwrap_or_default());
        let window = self.windows.entry(key).or_insert(RateLimitWindow { used: 0, until: now });
        let is_full = !try_acquire(window, limit, now);
        let until = window.until;
        let remaining = limit.requests.saturating_sub(window.used);
        let global = self.global.get_or_insert(RateLimitWindow { used: 0, until: now });
        let is_global_full = !try_acquire(global, limits.global, now);
        let wait = |until: Timestamp, scope| RetryAfter {
            seconds: time_left(until, now).as_secs_f64(),
            scope,
        };
        let exceeded = match (is_global_full, is_full) {
            (true, _) => Some(wait(global.until, RateLimitScope::Global)),
            (false, true) => Some(wait(until, RateLimitScope::User)),
            (false, false) => None,
        };
        BucketState {
            bucket: format!("{method:?}").to_lowercase(),
            limit: limit.requests,
            remaining,
            reset_at: until,
            reset_after: time_left(until, now),
            exceeded,
        }
    }
}

fn try_acquire(window: &mut RateLimitWindow, limit: RateLimit, now: Timestamp) -> bool {
    if window.until <= now {
        *window = RateLimitWindow { used: 0, until: now + limit.period };
    }
    let is_allowed = window.used < limit.requests;
    if is_allowed {
        window.used += 1;
    }
    is_allowed
}

fn time_left(until: Timestamp, now: Timestamp) -> SignedDuration {
    until.duration_since(now).max(SignedDuration::ZERO)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_resets_after_its_period() {
        let start: Timestamp = "2026-11-21T00:00:00Z".parse().unwrap();
        let mut limits = FakeRateLimiter::default();
        let mut count = |seconds: i64, channel: &str| {
            let path_parameters = PathParameters::from([("channel", channel.to_owned())]);
            let now = start + SignedDuration::from_secs(seconds);
            limits.count(&RateLimits::default(), Method::CreateMessage, &path_parameters, now)
        };
        let remaining: Vec<u32> = (0..5).map(|_| count(0, "1").remaining).collect();
        assert_eq!(remaining, [4, 3, 2, 1, 0]);
        let sixth = count(1, "1");
        assert_eq!(sixth.exceeded, Some(RetryAfter { seconds: 4.0, scope: RateLimitScope::User }));
        assert_eq!(count(1, "2").exceeded, None, "another channel has a bucket of its own");
        assert_eq!(count(5, "1").exceeded, None);
    }
}
