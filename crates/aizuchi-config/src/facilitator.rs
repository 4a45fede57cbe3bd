//! The `facilitator` section.

use aizuchi_model::rules::FacilitationRules;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::values::{BoundedInteger, Seconds};

/// How Aizuchi takes part in channels whose mode is `facilitator`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct FacilitatorConfig {
    /// How long a conversation must rest before it is judged. If omitted: 5.
    pub rest_seconds: Option<Seconds>,
    /// The longest that new messages wait to be judged, even while people keep talking. If omitted: 30.
    pub max_rest_seconds: Option<Seconds>,
    /// With fewer messages than this, a conversation is not judged. If omitted: 3.
    pub min_messages: Option<BoundedInteger<1, 1000>>,
    /// How many of the newest messages Aizuchi looks at. If omitted: 20.
    pub buffer_size: Option<BoundedInteger<1, 1000>>,
    /// How long Aizuchi waits after an unasked post before the next one. If omitted: 10.
    pub cooldown_minutes: Option<BoundedInteger<0, 525_600>>,
    /// How many messages before Aizuchi's last unasked post are compared with the current conversation. If omitted: 5.
    pub compare_window: Option<BoundedInteger<1, 1000>>,
}

impl FacilitatorConfig {
    /// The rules for facilitation: these settings on top of the defaults.
    pub fn apply_to(&self, defaults: &FacilitationRules) -> FacilitationRules {
        FacilitationRules {
            rest_seconds: self.rest_seconds.map_or(defaults.rest_seconds, |rest| rest.0),
            max_rest_seconds: self
                .max_rest_seconds
                .map_or(defaults.max_rest_seconds, |rest| rest.0),
            min_messages: self.min_messages.map_or(defaults.min_messages, BoundedInteger::size),
            buffer_size: self.buffer_size.map_or(defaults.buffer_size, BoundedInteger::size),
            cooldown: self.cooldown_minutes.map_or(defaults.cooldown, BoundedInteger::minutes),
            compare_window: self
                .compare_window
                .map_or(defaults.compare_window, BoundedInteger::size),
        }
    }
}
