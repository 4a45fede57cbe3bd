//! How this Discord fails on purpose.

use serde::Deserialize;

use crate::discord::method::Method;
use crate::discord::refusal::{Reason, Refusal, Scope, Wait, refuse};
use crate::fault;

pub type Fault = fault::Fault<Refusal>;
pub type Faults = fault::Faults<Method, Refusal>;
pub type FaultShape = fault::FaultShape<RefusalShape>;

impl Fault {
    pub fn rate_limited(seconds: f64, scope: Scope) -> Self {
        Self::Refused(Refusal::rate_limited(Wait { seconds, scope }))
    }

    pub fn error(reason: Reason) -> Self {
        Self::Refused(refuse(reason))
    }
}

/// A refusal as JSON says it.
#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum RefusalShape {
    RateLimited {
        seconds: f64,
        #[serde(default)]
        scope: Scope,
    },
    Error {
        error: Reason,
    },
}

impl From<RefusalShape> for Refusal {
    fn from(shape: RefusalShape) -> Self {
        match shape {
            RefusalShape::RateLimited { seconds, scope } => {
                Refusal::rate_limited(Wait { seconds, scope })
            }
            RefusalShape::Error { error } => refuse(error),
        }
    }
}
