//! Settings of single channels.

use aizuchi_model::rules::ChannelRules;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::overrides::{ChannelConfig, PlaceOverrides};
use crate::values::{ConfiguredUserId, user_ids};

text_settings! {
    /// A channel's id, or `#` and its name.
    #[derive(PartialOrd, Ord)]
    ChannelKey(String) = |text| {
        let name = text.strip_prefix('#').unwrap_or(&text);
        (!name.is_empty() && !name.contains(char::is_whitespace)).then_some(text)
    }, "it must be \"#\" and a channel's name, or its id";
}

impl ChannelConfig {
    /// The rules of the channel: these settings on top of the defaults.
    pub fn apply_to(&self, defaults: &ChannelRules) -> ChannelRules {
        let ChannelRules { facilitation, budget_limits, keeper, companions, .. } = defaults;
        ChannelRules {
            facilitation: self.facilitator.apply_to(facilitation),
            keeper: self.keeper.as_ref().map(ConfiguredUserId::user).or_else(|| keeper.clone()),
            budget_limits: match &self.budget {
                Some(budget) => budget.limits(budget_limits),
                None => *budget_limits,
            },
            companions: match &self.companions {
                Some(own) => Some(user_ids(own)),
                None => companions.clone(),
            },
            first_word: match &self.speaks_first {
                Some(own) => Some(own.rule()),
                None => defaults.first_word.clone(),
            },
            ..PlaceOverrides::from(self).apply_to(defaults)
        }
    }
}
