//! What goes wrong on purpose: for each method a queue of faults, each used once.

use std::collections::{BTreeMap, VecDeque};

use jiff::SignedDuration;
use serde::Deserialize;

use crate::dev::discord::method::Method;
use crate::dev::discord::refusal::{Reason, Refusal, Scope, Wait, refuse};

/// What a request meets instead of a plain answer. `Before` and `After` are about the change it makes.
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
    /// Discord does not do it, and says why.
    Refused(Refusal),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hang {
    For(SignedDuration),
    UntilReleased,
}

impl Fault {
    pub fn rate_limited(seconds: f64, scope: Scope) -> Self {
        Self::Refused(Refusal::rate_limited(Wait { seconds, scope }))
    }

    pub fn error(reason: Reason) -> Self {
        Self::Refused(refuse(reason))
    }
}

/// A fault as JSON says it.
#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum FaultShape {
    ResetBefore,
    ResetAfter,
    HangBefore {
        milliseconds: Option<i64>,
    },
    HangAfter {
        milliseconds: Option<i64>,
    },
    CommitLater {
        milliseconds: i64,
        status: Option<u16>,
    },
    Status {
        status: u16,
    },
    StatusAfter {
        status: u16,
    },
    Garbage,
    RateLimited {
        seconds: f64,
        #[serde(default)]
        scope: Scope,
    },
    Error {
        error: Reason,
    },
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
            FaultShape::RateLimited { seconds, scope } => Fault::rate_limited(seconds, scope),
            FaultShape::Error { error } => Fault::error(error),
        }
    }
}

/// What is to go wrong yet.
#[derive(Default)]
pub struct Faults {
    queues: BTreeMap<Method, VecDeque<Fault>>,
    /// How often hanging requests have been released.
    pub releases: u64,
}

impl Faults {
    pub fn add(&mut self, method: Method, fault: Fault) {
        self.queues.entry(method).or_default().push_back(fault);
    }

    pub fn clear(&mut self) {
        self.queues.clear();
        self.releases += 1;
    }

    pub fn take(&mut self, method: Method) -> Option<Fault> {
        self.queues.get_mut(&method)?.pop_front()
    }
}
