//! What holds for single channels.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::config::budget::ChannelBudget;
use crate::config::facilitator::FacilitatorConfig;
use crate::config::platforms::Threads;
use crate::config::schema;
use crate::config::values::{QuietTimes, Ratio, Reaction, Seconds};
use aizuchi_core::clock::seconds;
use aizuchi_core::rules::{Mode, Rules};

/// What holds for one channel. What is left out is as `response` and `facilitator` say.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ChannelConfig {
    /// What it does there.
    #[schemars(with = "Option<schema::Modes>")]
    pub mode: Option<Mode>,
    /// `22:00-07:00`: within these hours it says nothing unasked. `none`: it has no such hours.
    pub quiet_hours: Option<QuietTimes>,
    /// A judge that is less sure than this is not followed.
    pub min_confidence: Option<Ratio>,
    /// It keeps out of talk of which it has said more than this share.
    pub max_share: Option<Ratio>,
    /// What it may react with.
    pub reactions: Option<Vec<Reaction>>,
    /// After it has spoken unasked, a companion keeps out of the talk for so long.
    pub cooldown_seconds: Option<Seconds>,
    /// How it listens there, if its mode is `facilitator`.
    pub facilitator: FacilitatorConfig,
    /// Whether a mention there opens a thread, on Discord.
    pub threads: Option<Threads>,
    /// What it may use up there: a section of limits, or the most money in 30 days.
    pub budget: Option<ChannelBudget>,
}

/// A channel's id, or `#` and its name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(try_from = "String")]
pub struct ChannelKey(pub String);

impl ChannelConfig {
    /// What is not set here is as usual.
    pub fn over(&self, usual: &Rules) -> Rules {
        let cooldown = |wait: Seconds| seconds(wait.0);
        Rules {
            mode: self.mode.unwrap_or(usual.mode),
            quiet_hours: self.quiet_hours.map_or(usual.quiet_hours, |hours| hours.0),
            min_confidence: self.min_confidence.map_or(usual.min_confidence, |least| least.0),
            reactions: self.reactions.as_deref().map_or_else(|| usual.reactions.clone(), names),
            facilitation: self.facilitator.over(&usual.facilitation),
            cooldown: self.cooldown_seconds.map_or(usual.cooldown, cooldown),
            most_share: self.max_share.map_or(usual.most_share, |most| most.0),
            allowance: self.budget.as_ref().map_or(usual.allowance, ChannelBudget::allowance),
        }
    }
}

/// The emoji themselves.
pub fn names(reactions: &[Reaction]) -> Vec<String> {
    reactions.iter().map(|reaction| reaction.0.clone()).collect()
}

impl TryFrom<String> for ChannelKey {
    type Error = &'static str;

    fn try_from(value: String) -> Result<Self, &'static str> {
        let name = value.strip_prefix('#').unwrap_or(&value);
        let is_fine = !name.is_empty() && !name.contains(char::is_whitespace);
        is_fine.then_some(Self(value)).ok_or("it must be \"#\" and a channel's name, or its id")
    }
}
