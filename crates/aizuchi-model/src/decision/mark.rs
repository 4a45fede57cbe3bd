//! A user's later opinion of a decision.

use std::sync::Arc;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::decision::DecisionId;

/// The mark that a user gives a decision.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    Serialize,
    Deserialize,
    strum::IntoStaticStr,
    schemars::JsonSchema,
)]
#[strum(serialize_all = "snake_case")]
#[serde(rename_all = "snake_case")]
pub enum Mark {
    Right,
    ShouldHaveSpoken,
    ShouldHaveKeptSilent,
}

impl Mark {
    pub const ALL: [Mark; 3] = [Mark::Right, Mark::ShouldHaveSpoken, Mark::ShouldHaveKeptSilent];

    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// A decision's mark, with who gave it and when. The newest one counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DecisionMark {
    pub decision: DecisionId,
    pub mark: Mark,
    /// The name under which the user was signed in; empty for a local user without a sign-in.
    pub by: Arc<str>,
    pub at: Timestamp,
}
