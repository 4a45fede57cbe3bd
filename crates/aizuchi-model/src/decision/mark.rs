//! A user's later opinion of a decision.

use std::sync::Arc;

use jiff::Timestamp;

use crate::decision::DecisionId;

named_enum! {
    /// The mark that a user gives a decision.
    pub enum Mark {
        Right,
        ShouldHaveSpoken,
        ShouldHaveKeptSilent,
    }
}

impl Mark {
    pub const ALL: [Mark; 3] = [Mark::Right, Mark::ShouldHaveSpoken, Mark::ShouldHaveKeptSilent];
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
