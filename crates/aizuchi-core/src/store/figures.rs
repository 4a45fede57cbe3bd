//! Figures of a period, by days and channels, as pages draw them.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::chat::{ChannelId, MessageId, UserId, WorkspaceId};
use crate::decision::welcome::{self, Aftermath, RatedChoice};
use crate::decision::{DecisionId, DecisionResult, Price, Usage};

/// What nobody wrote below within this time did not answer a question.
pub const ANSWER_WINDOW: SignedDuration = welcome::ANSWER_WINDOW;

/// A period of a workspace.
#[derive(Clone, Debug)]
pub struct WorkspacePeriod {
    pub workspace: WorkspaceId,
    pub since: Timestamp,
    /// The first time that is not in it.
    pub until: Timestamp,
    /// What local time is ahead of UTC, all the while. A day begins at midnight there.
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

/// What a model is called for.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    strum::IntoStaticStr,
    JsonSchema,
)]
#[strum(serialize_all = "snake_case")]
#[serde(rename_all = "snake_case")]
pub enum CallKind {
    Judge,
    State,
    Reply,
    Remember,
    /// Somebody tried a model, a setting or a persona.
    Trial,
    /// The program ended before the answer came, so this is the most that it may have cost.
    Unfinished,
}

impl CallKind {
    pub const ALL: [CallKind; 6] = [
        CallKind::Judge,
        CallKind::State,
        CallKind::Reply,
        CallKind::Remember,
        CallKind::Trial,
        CallKind::Unfinished,
    ];

    pub fn name(self) -> &'static str {
        self.into()
    }

    /// What a call is for that is recorded under this verb.
    pub fn of_verb(verb: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == verb)
    }
}

/// The calls of a model on a day, for one thing in one channel. `None`: for the whole workspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallSum {
    pub day: Day,
    pub channel: Option<ChannelId>,
    pub kind: CallKind,
    /// Empty where that is not known.
    pub model: Arc<str>,
    pub calls: u64,
    pub usage: Usage,
    /// Of the calls whose price is known.
    pub price: Price,
    /// The tokens of the others.
    pub unpriced_tokens: u64,
}

/// How long after the newest message of a decision the persona spoke.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AnswerDelay {
    /// On which the decision was opened.
    pub day: Day,
    pub channel: ChannelId,
    pub is_addressed: bool,
    pub delay: SignedDuration,
}

/// How often people reacted to what the persona posted in a channel on a day.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReactionCount {
    pub day: Day,
    pub channel: ChannelId,
    pub count: u64,
}

/// A message with a question mark that no other person followed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnansweredQuestion {
    pub day: Day,
    pub channel: ChannelId,
    pub message: MessageId,
    pub at: Timestamp,
    pub author: UserId,
    pub text: Arc<str>,
    /// Whether the persona spoke to it unasked, within [`ANSWER_WINDOW`].
    pub is_taken_up: bool,
}

/// What happened after a word that the persona said unasked or proposed, or after a silence that its judge chose.
#[derive(Clone, Debug, PartialEq)]
pub struct ChoiceAftermath {
    pub decision: DecisionId,
    /// On which the decision was opened.
    pub day: Day,
    pub channel: ChannelId,
    /// When it spoke, the decision was closed, or a person declined what was proposed.
    pub at: Timestamp,
    /// How sure the judge was that it should speak. `None` if it said no.
    pub confidence: Option<f64>,
    pub aftermath: Aftermath,
}

impl ChoiceAftermath {
    pub fn rate(&self) -> RatedChoice {
        RatedChoice {
            decision: self.decision,
            channel: self.channel.clone(),
            at: self.at,
            choice: self.aftermath.choice(),
            confidence: self.confidence,
            rating: self.aftermath.rate(),
            answered: self.aftermath.answered(),
        }
    }
}

const DAY_MS: i64 = 24 * 3_600_000;

impl WorkspacePeriod {
    pub fn has(&self, at: Timestamp) -> bool {
        self.since <= at && at < self.until
    }

    pub fn day_of(&self, at: Timestamp) -> Day {
        Day((at.as_millisecond() + self.offset_ms()).div_euclid(DAY_MS))
    }

    pub fn offset_ms(&self) -> i64 {
        self.offset.as_secs() * 1000
    }
}
