//! Settings of single threads.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::config::channel_overrides::{ChannelPersona, ChannelTools};
use crate::config::language::LanguageSetting;
use crate::config::own_models::OwnModels;
use crate::config::values::{Ratio, TimingSetting};

/// The settings of a thread. What is omitted is as in its channel.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ThreadConfig {
    /// If the judge is less sure than this, Aizuchi stays silent.
    pub min_confidence: Option<Ratio>,
    /// The language there: `en`, `ja`, or `auto`, which is what people write.
    pub language: Option<LanguageSetting>,
    /// Added to the persona's prompt there; or a section with the `system_prompt` that takes its place.
    pub persona: Option<ChannelPersona>,
    /// The model that judges and replies there: a name in `models.named`, or a section with one for `response`,
    /// `judgment` or `state`.
    pub model: Option<OwnModels>,
    /// Whether replies may use tools there, or a list of those that they may use.
    pub tools: Option<ChannelTools>,
    /// When it posts unasked, if the judge names no moment.
    pub timing: Option<TimingSetting>,
}
