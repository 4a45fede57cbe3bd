//! How much an app may ask for: buckets for each kind of request and place, and one for all.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};

use crate::discord::method::{Method, Parts};
use crate::discord::refusal::{Scope, Wait};

/// So many requests in so much time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit {
    pub requests: u32,
    pub per: SignedDuration,
}

impl Limit {
    pub const fn new(requests: u32, per: SignedDuration) -> Self {
        Self { requests, per }
    }
}

/// What limits hold.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// All requests together.
    pub global: Limit,
    /// Messages into one channel.
    pub messages: Limit,
    /// Reactions in one channel.
    pub reactions: Limit,
    /// Anything else.
    pub others: Limit,
}

impl Default for Bounds {
    fn default() -> Self {
        let second = SignedDuration::from_secs(1);
        Self {
            global: Limit::new(50, second),
            messages: Limit::new(5, SignedDuration::from_secs(5)),
            reactions: Limit::new(1, SignedDuration::from_millis(250)),
            others: Limit::new(50, second),
        }
    }
}

impl Bounds {
    fn of(&self, method: Method) -> Limit {
        if method == Method::CreateMessage {
            return self.messages;
        }
        let is_reaction = matches!(method, Method::CreateReaction | Method::DeleteMyReaction);
        if is_reaction { self.reactions } else { self.others }
    }
}

#[derive(Clone, Copy, Debug)]
struct Window {
    used: u32,
    until: Timestamp,
}

#[derive(Default)]
pub struct Limits {
    windows: BTreeMap<(Method, String), Window>,
    global: Option<Window>,
}

/// What a request has left its bucket with.
#[derive(Clone, Debug, PartialEq)]
pub struct Counted {
    pub bucket: String,
    pub limit: u32,
    pub remaining: u32,
    pub reset_at: Timestamp,
    pub reset_after: SignedDuration,
    /// It was one too many.
    pub exceeded: Option<Wait>,
}

impl Limits {
    pub fn count(
        &mut self,
        bounds: &Bounds,
        method: Method,
        parts: &Parts,
        now: Timestamp,
    ) -> Counted {
        let limit = bounds.of(method);
        let major = ["channel", "guild", "token"].iter().find_map(|name| parts.get(name));
        let key = (method, major.cloned().unwrap_or_default());
        let window = self.windows.entry(key).or_insert(Window { used: 0, until: now });
        let is_full = !use_one(window, limit, now);
        let until = window.until;
        let remaining = limit.requests.saturating_sub(window.used);
        let global = self.global.get_or_insert(Window { used: 0, until: now });
        let is_all_full = !use_one(global, bounds.global, now);
        let wait =
            |until: Timestamp, scope| Wait { seconds: left(until, now).as_secs_f64(), scope };
        let exceeded = match (is_all_full, is_full) {
            (true, _) => Some(wait(global.until, Scope::Global)),
            (false, true) => Some(wait(until, Scope::User)),
            (false, false) => None,
        };
        Counted {
            bucket: format!("{method:?}").to_lowercase(),
            limit: limit.requests,
            remaining,
            reset_at: until,
            reset_after: left(until, now),
            exceeded,
        }
    }
}

fn use_one(window: &mut Window, limit: Limit, now: Timestamp) -> bool {
    if window.until <= now {
        *window = Window { used: 0, until: now + limit.per };
    }
    let has_room = window.used < limit.requests;
    if has_room {
        window.used += 1;
    }
    has_room
}

fn left(until: Timestamp, now: Timestamp) -> SignedDuration {
    until.duration_since(now).max(SignedDuration::ZERO)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_is_full_until_its_time_is_over() {
        let begin: Timestamp = "2026-11-21T00:00:00Z".parse().unwrap();
        let mut limits = Limits::default();
        let mut count = |seconds: i64, channel: &str| {
            let parts = Parts::from([("channel", channel.to_owned())]);
            let now = begin + SignedDuration::from_secs(seconds);
            limits.count(&Bounds::default(), Method::CreateMessage, &parts, now)
        };
        let left: Vec<u32> = (0..5).map(|_| count(0, "1").remaining).collect();
        assert_eq!(left, [4, 3, 2, 1, 0]);
        let sixth = count(1, "1");
        assert_eq!(sixth.exceeded, Some(Wait { seconds: 4.0, scope: Scope::User }));
        assert_eq!(count(1, "2").exceeded, None, "another channel has a bucket of its own");
        assert_eq!(count(5, "1").exceeded, None);
    }
}
