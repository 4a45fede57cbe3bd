//! The labels of metrics, and the closed lists of some of their values.

use prometheus_client::encoding::{EncodeLabelSet, EncodeLabelValue, LabelValueEncoder};

macro_rules! label_sets {
    ($($name:ident { $($label:ident: $type:ty),* })*) => {
        $(#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
        pub(super) struct $name {
            $(pub(super) $label: $type),*
        })*
    };
}

label_sets! {
    HeardLabels { author: LabelValue, arrival: LabelValue }
    VerbLabel { verb: String }
    WorkspaceLabel { workspace: String }
    MarkLabel { mark: LabelValue }
    PlatformLabel { platform: LabelValue }
    DecisionLabels { ended: LabelValue, gate: LabelValue }
    ModelCallLabels { verb: String, model: String, end: LabelValue }
    ModelLabel { model: String }
    MoneyLabels { workspace: String, period: LabelValue }
    PeriodLabel { period: LabelValue }
    TokenLabels { model: String, kind: LabelValue }
    PostLabels { addressed: LabelValue }
    MalformedInputLabels { platform: LabelValue, kind: LabelValue }
    ExternalToolLabels { server: String, end: LabelValue }
    PanicLabels { platform: LabelValue, task: LabelValue }
}

/// Platform input that could not be parsed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
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
        self.into()
    }
}

/// The outcome of a call to one of the operator's tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum ExternalCallEnd {
    Answered,
    /// The tool reported a failure.
    Failed,
    TimedOut,
    Unavailable,
}

impl ExternalCallEnd {
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// A platform's task that panicked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
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
        self.into()
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
