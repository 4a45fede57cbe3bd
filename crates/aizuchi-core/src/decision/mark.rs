//! What a person thinks of a decision afterwards.

use std::sync::Arc;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::decision::DecisionId;

/// What a decision is marked as.
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

/// A decision's mark, by whom and when. The newest counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DecisionMark {
    pub decision: DecisionId,
    pub mark: Mark,
    /// The name under which they signed in; empty for somebody on this machine without a sign-in.
    pub by: Arc<str>,
    pub at: Timestamp,
}
