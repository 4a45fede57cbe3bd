//! Figures of a period, by days and channels, as pages draw them.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};

use crate::chat::{ChannelId, WorkspaceId};
use crate::decision::{DecisionResult, Price, Usage};

/// A period of a workspace, up to now.
#[derive(Clone, Debug)]
pub struct Period {
    pub workspace: WorkspaceId,
    pub since: Timestamp,
    /// What local time is ahead of UTC. A day begins at midnight there.
    pub offset: SignedDuration,
}

/// A day, counted from 1970-01-01 in local time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Day(pub i64);

/// The messages of a channel on a day.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MessageCount {
    pub day: Day,
    pub channel: ChannelId,
    /// Those of the persona; else those that it heard.
    pub is_own: bool,
    pub count: u64,
}

/// The decisions of a channel that were opened on a day and ended alike. `None`: those that are open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutcomeCount {
    pub day: Day,
    pub channel: ChannelId,
    pub ended: Option<DecisionResult>,
    pub count: u64,
}

/// The calls of a model for the decisions of a channel that were opened on a day.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallSum {
    pub day: Day,
    pub channel: ChannelId,
    pub model: Arc<str>,
    pub calls: u64,
    pub usage: Usage,
    /// Of the calls whose price is known.
    pub price: Price,
}

/// How long after the newest message of a decision the persona spoke.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AnswerDelay {
    pub channel: ChannelId,
    pub is_addressed: bool,
    pub delay: SignedDuration,
}

const DAY_MS: i64 = 24 * 3_600_000;

impl Period {
    pub fn day_of(&self, at: Timestamp) -> Day {
        Day((at.as_millisecond() + self.offset_ms()).div_euclid(DAY_MS))
    }

    /// Midnight of a day.
    pub fn begin_of(&self, Day(day): Day) -> Timestamp {
        let begin = day.saturating_mul(DAY_MS).saturating_sub(self.offset_ms());
        Timestamp::from_millisecond(begin).unwrap_or(Timestamp::MIN)
    }

    pub fn offset_ms(&self) -> i64 {
        self.offset.as_secs() * 1000
    }
}
