//! Figures of a period, by day and channel, as pages show them.

use aizuchi_model::named_enum;
use std::sync::Arc;

use aizuchi_model::chat::{ChannelId, MessageId, UserId, WorkspaceId};
use aizuchi_model::decision::welcome::{self, Aftermath, RatedChoice};
use aizuchi_model::decision::{DecisionId, DecisionResult, Price, Usage};
use jiff::{SignedDuration, Timestamp};

/// A question counts as unanswered if no one else writes below it within this time.
pub const ANSWER_WINDOW: SignedDuration = welcome::ANSWER_WINDOW;

/// A period of a workspace.
#[derive(Clone, Debug)]
pub struct WorkspacePeriod {
    pub workspace: WorkspaceId,
    pub since: Timestamp,
    /// The end of the period, exclusive.
    pub until: Timestamp,
    /// The offset of local time from UTC, constant over the period. A day begins at local midnight.
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
    /// Whether they are the persona's own messages, or those that it heard.
    pub is_own: bool,
    pub count: u64,
}

/// The decisions of a channel that were opened on a day and ended with the same result. `None`: open decisions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutcomeCount {
    pub day: Day,
    pub channel: ChannelId,
    pub ended: Option<DecisionResult>,
    pub count: u64,
}

named_enum! {
    /// The purpose of a model call.
    pub enum CallKind {
        Judge,
        State,
        Reply,
        /// The description of a picture.
        Describe,
        /// The transcript of a recording.
        Transcribe,
        Remember,
        /// A trial of a model, a setting or a persona.
        Trial,
        /// The process ended before the response came, so this is the maximum cost.
        Unfinished,
    }
}

impl CallKind {
    pub const ALL: [CallKind; 8] = [
        CallKind::Judge,
        CallKind::State,
        CallKind::Reply,
        CallKind::Describe,
        CallKind::Transcribe,
        CallKind::Remember,
        CallKind::Trial,
        CallKind::Unfinished,
    ];

    /// The kind of calls recorded under this verb.
    pub fn of_verb(verb: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == verb)
    }
}

/// The calls of a model on a day, of one kind, in one channel. `None`: for the whole workspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallSum {
    pub day: Day,
    pub channel: Option<ChannelId>,
    pub kind: CallKind,
    /// Empty if unknown.
    pub model: Arc<str>,
    pub calls: u64,
    pub usage: Usage,
    /// The price of the calls whose price is known.
    pub price: Price,
    /// The tokens of the other calls.
    pub unpriced_tokens: u64,
}

/// The time from the newest message of a decision to the persona's post.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AnswerDelay {
    /// The day on which the decision was opened.
    pub day: Day,
    pub channel: ChannelId,
    pub is_addressed: bool,
    pub delay: SignedDuration,
}

/// The number of users' reactions to the persona's posts in a channel on a day.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReactionCount {
    pub day: Day,
    pub channel: ChannelId,
    pub count: u64,
}

/// A message with a question mark that no other user followed up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnansweredQuestion {
    pub day: Day,
    pub channel: ChannelId,
    pub message: MessageId,
    pub at: Timestamp,
    pub author: UserId,
    pub text: Arc<str>,
    /// Whether the persona spoke to it unsolicited, within [`ANSWER_WINDOW`].
    pub is_taken_up: bool,
}

/// What happened after an unsolicited post or proposal of the persona, or after a silence that its judge chose.
#[derive(Clone, Debug, PartialEq)]
pub struct ChoiceAftermath {
    pub decision: DecisionId,
    /// The day on which the decision was opened.
    pub day: Day,
    pub channel: ChannelId,
    /// When the persona spoke, the decision was closed, or a user declined the proposal.
    pub at: Timestamp,
    /// The judge's confidence that the persona should speak. `None` if it said no.
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
