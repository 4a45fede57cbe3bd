//! When to speak: how long talk rests, and what stops a judgment.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::agent;
use crate::config::values::{Count, Ratio, Seconds};
use crate::decision::gate::Gate;
use crate::hear::Waiting;

/// When it speaks.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ResponseConfig {
    /// How the wait before a judgment is found.
    pub wait: Wait,
    /// How long the talk must rest before it is judged. Left out: 300, and 12 in the local room.
    pub min_wait_seconds: Option<Seconds>,
    /// The wait is spread evenly by this share to both sides.
    pub jitter_ratio: Ratio,
    /// The longest delay that a judge may ask for.
    pub max_delay_seconds: Seconds,
    /// A mention that was missed is answered only if it is younger than this.
    pub max_message_age_seconds: Seconds,
    /// The gates before the judge, in their order; with an empty list every rest is judged.
    pub gates: Vec<JudgeGate>,
    /// How many of a channel's newest messages a prompt holds.
    pub channel_messages_limit: Count<1, 1000>,
    /// A channel's memory is in other channels' prompts if somebody wrote there in so many days.
    pub active_channel_days: Count<0, 3650>,
    /// A thread's memory is in prompts if somebody wrote there in so many days.
    pub thread_memory_days: Count<0, 3650>,
    /// How often the list of channels is read anew.
    pub channel_sync_interval_seconds: Seconds,
}

/// How the wait before a judgment is found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum Wait {
    /// `min_wait_seconds` ± `jitter_ratio` after the newest line.
    #[default]
    Fixed,
    /// It follows the room's own tempo.
    Adaptive,
}

/// A gate that a setting may name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum JudgeGate {
    /// It spoke last, and nobody has said anything since.
    SpokeLast,
    /// Nothing is new since the last judgment.
    Unchanged,
}

impl JudgeGate {
    pub fn gate(self) -> Gate {
        match self {
            JudgeGate::SpokeLast => Gate::SpokeLast,
            JudgeGate::Unchanged => Gate::Unchanged,
        }
    }
}

impl Default for ResponseConfig {
    fn default() -> Self {
        let waiting = Waiting::default();
        Self {
            wait: Wait::Fixed,
            min_wait_seconds: None,
            jitter_ratio: Ratio(waiting.jitter_ratio),
            max_delay_seconds: Seconds(agent::Settings::default().max_delay_seconds),
            max_message_age_seconds: Seconds(waiting.max_message_age_seconds),
            gates: vec![JudgeGate::SpokeLast, JudgeGate::Unchanged],
            channel_messages_limit: Count(50),
            active_channel_days: Count(7),
            thread_memory_days: Count(7),
            channel_sync_interval_seconds: Seconds(3600.0),
        }
    }
}
