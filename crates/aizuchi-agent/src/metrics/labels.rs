//! The labels of metrics, and the closed lists of some of their values.

use prometheus_client::encoding::{EncodeLabelSet, EncodeLabelValue, LabelValueEncoder};

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct HeardLabels {
    pub(super) author: LabelValue,
    pub(super) arrival: LabelValue,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct VerbLabel {
    pub(super) verb: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct WorkspaceLabel {
    pub(super) workspace: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct MarkLabel {
    pub(super) mark: LabelValue,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct PlatformLabel {
    pub(super) platform: LabelValue,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct DecisionLabels {
    pub(super) ended: LabelValue,
    pub(super) gate: LabelValue,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct ModelCallLabels {
    pub(super) verb: String,
    pub(super) model: String,
    pub(super) end: LabelValue,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct ModelLabel {
    pub(super) model: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct MoneyLabels {
    pub(super) workspace: String,
    pub(super) period: LabelValue,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct PeriodLabel {
    pub(super) period: LabelValue,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct TokenLabels {
    pub(super) model: String,
    pub(super) kind: LabelValue,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct PostLabels {
    pub(super) addressed: LabelValue,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct MalformedInputLabels {
    pub(super) platform: LabelValue,
    pub(super) kind: LabelValue,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct ExternalToolLabels {
    pub(super) server: String,
    pub(super) end: LabelValue,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct PanicLabels {
    pub(super) platform: LabelValue,
    pub(super) task: LabelValue,
}

/// Platform input that could not be parsed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MalformedInput {
    /// A frame of the connection without an event.
    Frame,
    Event,
    /// A slash command, or another user interaction.
    Command,
    /// The response to an API call.
    Response,
}

impl MalformedInput {
    pub fn name(self) -> &'static str {
        match self {
            MalformedInput::Frame => "frame",
            MalformedInput::Event => "event",
            MalformedInput::Command => "command",
            MalformedInput::Response => "response",
        }
    }
}

/// The outcome of a call to one of the operator's tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ExternalCallEnd {
    Answered,
    /// The tool reported a failure.
    Failed,
    TimedOut,
    Unavailable,
}

impl ExternalCallEnd {
    pub fn name(self) -> &'static str {
        match self {
            ExternalCallEnd::Answered => "answered",
            ExternalCallEnd::Failed => "failed",
            ExternalCallEnd::TimedOut => "timed_out",
            ExternalCallEnd::Unavailable => "unavailable",
        }
    }
}

/// A platform's task that panicked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PlatformTask {
    Connection,
    Event,
    Command,
    Sync,
    Backfill,
    Keeper,
}

impl PlatformTask {
    pub fn name(self) -> &'static str {
        match self {
            PlatformTask::Connection => "connection",
            PlatformTask::Event => "event",
            PlatformTask::Command => "command",
            PlatformTask::Sync => "sync",
            PlatformTask::Backfill => "backfill",
            PlatformTask::Keeper => "keeper",
        }
    }
}

/// A value from a closed list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct LabelValue(pub(super) &'static str);

impl EncodeLabelValue for LabelValue {
    fn encode(&self, encoder: &mut LabelValueEncoder) -> Result<(), std::fmt::Error> {
        self.0.encode(encoder)
    }
}
