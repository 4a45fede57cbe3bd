//! The labels of figures, and the closed lists that some of their values are from.

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

/// What a platform sent that fits no type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MalformedInput {
    /// A frame of its connection that holds no event.
    Frame,
    Event,
    /// A slash command, or another interaction of a user.
    Command,
    /// The response to a call.
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

/// How a call of one of the operator's tools ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ExternalCallEnd {
    Answered,
    /// The tool answered that it failed.
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

/// A task of a platform, in which a defect showed.
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
