//! Why a model does not answer, as far as somebody can do something about it.

use serde::Serialize;

/// What stands between the program and a model. It holds until a call succeeds.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, strum::IntoStaticStr, schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum ModelProblem {
    /// Nothing listens at its address.
    Unreachable,
    TimedOut,
    KeyRefused,
    KeyMissing,
    /// There is no such model, or nothing at its address.
    UnknownModel,
    /// The account is empty.
    NoFunds,
    /// It is called too often, or has failures of its own.
    Overloaded,
    /// It does not take the requests as the settings make them.
    RequestRejected,
    /// What it answers cannot be read.
    Garbled,
}

impl ModelProblem {
    /// Its name in JSON.
    pub fn name(self) -> &'static str {
        self.into()
    }
}
