//! How this Slack fails on purpose, and how it is stingy.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use serde::Deserialize;

use crate::fault;
use crate::slack::refusal::{Refusal, refuse};

pub type Fault = fault::Fault<Refusal>;
pub type Faults = fault::Faults<String, Refusal>;
pub type FaultShape = fault::FaultShape<RefusalShape>;

impl Fault {
    /// 429, with so many seconds to wait.
    pub fn rate_limited(seconds: u64) -> Self {
        Self::Refused(Refusal::rate_limited(seconds))
    }

    /// `ok: false` with this error.
    pub fn error(error: &str) -> Self {
        Self::Refused(refuse(error))
    }
}

/// A refusal as JSON says it.
#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum RefusalShape {
    RateLimited { seconds: u64 },
    Error { error: String },
}

impl From<RefusalShape> for Refusal {
    fn from(shape: RefusalShape) -> Self {
        match shape {
            RefusalShape::RateLimited { seconds } => Refusal::rate_limited(seconds),
            RefusalShape::Error { error } => refuse(&error),
        }
    }
}

/// How much of histories is told.
#[derive(Default)]
pub struct Caps {
    cap: Option<Cap>,
    /// When each capped method was let through last.
    let_through: BTreeMap<String, Timestamp>,
}

/// What apps that are sold outside the marketplace get of histories.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cap {
    pub objects: usize,
    /// Between two calls.
    pub interval: SignedDuration,
}

impl Default for Cap {
    fn default() -> Self {
        Self { objects: 15, interval: SignedDuration::from_mins(1) }
    }
}

impl Caps {
    pub fn cap(&mut self, cap: Option<Cap>) {
        self.cap = cap;
        self.let_through.clear();
    }

    /// How many objects a call may return at most, or how long it must wait.
    pub fn history_limit(&mut self, method: &str, now: Timestamp) -> Result<usize, Refusal> {
        let Some(cap) = self.cap else {
            return Ok(usize::MAX);
        };
        if let Some(last) = self.let_through.get(method) {
            let left = cap.interval - now.duration_since(*last);
            if left.is_positive() {
                let seconds = left.as_millis().unsigned_abs().div_ceil(1000);
                return Err(Refusal::rate_limited(u64::try_from(seconds).unwrap_or(1)));
            }
        }
        self.let_through.insert(method.to_owned(), now);
        Ok(cap.objects)
    }
}
