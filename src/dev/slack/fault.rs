//! What goes wrong on purpose: for each method a queue of faults, each used once.

use std::collections::{BTreeMap, VecDeque};

use jiff::{SignedDuration, Timestamp};
use serde::Deserialize;

use crate::dev::slack::refusal::Refusal;

/// What a call meets instead of a plain answer. `Before` and `After` are about the change it makes.
#[derive(Clone, Debug, PartialEq)]
pub enum Fault {
    /// The connection is reset; nothing was done.
    ResetBefore,
    /// It was done, and the connection is reset before the answer.
    ResetAfter,
    /// It does not answer for a while, then does what it was asked to. Who hangs up stops it.
    HangBefore(Hang),
    /// It does what it was asked to, and does not answer for a while.
    HangAfter(Hang),
    /// It is done so much later, whoever has hung up by then; meanwhile it says nothing, or this.
    CommitLater { after: SignedDuration, answer: Option<u16> },
    /// This status and a page, as a proxy sends it; nothing was done.
    Status(u16),
    /// It was done, and this status is the answer.
    StatusAfter(u16),
    /// 200, and something that is no JSON; nothing was done.
    Garbage,
    /// 429, with so many seconds to wait.
    RateLimited(u64),
    /// `ok: false` with this error.
    Error(String),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hang {
    For(SignedDuration),
    UntilReleased,
}

/// A fault as JSON says it.
#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum FaultShape {
    ResetBefore,
    ResetAfter,
    HangBefore { milliseconds: Option<i64> },
    HangAfter { milliseconds: Option<i64> },
    CommitLater { milliseconds: i64, status: Option<u16> },
    Status { status: u16 },
    StatusAfter { status: u16 },
    Garbage,
    RateLimited { seconds: u64 },
    Error { error: String },
}

impl From<FaultShape> for Fault {
    fn from(shape: FaultShape) -> Self {
        let hang = |milliseconds: Option<i64>| {
            let hang = milliseconds.map(SignedDuration::from_millis).map(Hang::For);
            hang.unwrap_or(Hang::UntilReleased)
        };
        match shape {
            FaultShape::ResetBefore => Fault::ResetBefore,
            FaultShape::ResetAfter => Fault::ResetAfter,
            FaultShape::HangBefore { milliseconds } => Fault::HangBefore(hang(milliseconds)),
            FaultShape::HangAfter { milliseconds } => Fault::HangAfter(hang(milliseconds)),
            FaultShape::CommitLater { milliseconds, status } => Fault::CommitLater {
                after: SignedDuration::from_millis(milliseconds),
                answer: status,
            },
            FaultShape::Status { status } => Fault::Status(status),
            FaultShape::StatusAfter { status } => Fault::StatusAfter(status),
            FaultShape::Garbage => Fault::Garbage,
            FaultShape::RateLimited { seconds } => Fault::RateLimited(seconds),
            FaultShape::Error { error } => Fault::Error(error),
        }
    }
}

/// What is to go wrong yet.
#[derive(Default)]
pub struct Faults {
    queues: BTreeMap<String, VecDeque<Fault>>,
    /// How often hanging calls have been released.
    pub releases: u64,
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

impl Faults {
    pub fn add(&mut self, method: &str, fault: Fault) {
        self.queues.entry(method.to_owned()).or_default().push_back(fault);
    }

    pub fn clear(&mut self) {
        self.queues.clear();
        self.releases += 1;
    }

    pub fn take(&mut self, method: &str) -> Option<Fault> {
        self.queues.get_mut(method)?.pop_front()
    }

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
