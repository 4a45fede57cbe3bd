//! Converts the config to the settings of the agent and its runner: how long they wait, what a prompt holds and how
//! long a step may take.

use std::collections::BTreeSet;

use aizuchi_agent::agent::{self, remember};
use aizuchi_agent::inbox::WaitSettings;
use aizuchi_agent::runner;
use aizuchi_llm::model_id::ModelId;
use aizuchi_llm::price::Prices;
use aizuchi_model::clock::duration_from_seconds;
use aizuchi_model::context::ContextLimits;
use aizuchi_model::rhythm::WaitStrategy;
use jiff::SignedDuration;
use jiff::tz::TimeZone;

use crate::Config;
use crate::models::agent_models::ResolvedMind;
use crate::models::cold_start::COLD_TIMEOUT_SECONDS;
use crate::models::saved_choice::names_model;
use crate::values::BoundedInteger;

/// The default wait of the local room. It is short, so that a new user soon sees a decision.
const ROOM_WAIT_SECONDS: f64 = 12.0;
/// The wait in the demo's channel. It leaves time for three decisions in a minute.
const DEMO_WAIT_SECONDS: f64 = 3.0;
/// By how much a lease exceeds the longest step.
const LEASE_SLACK: SignedDuration = SignedDuration::from_secs(30);

impl Config {
    /// The wait before a judgment on chat platforms.
    pub fn wait_settings(&self) -> WaitSettings {
        self.wait_settings_with_default(WaitSettings::default().min_wait_seconds)
    }

    /// The wait before a judgment in the local room.
    pub fn room_wait_settings(&self) -> WaitSettings {
        self.wait_settings_with_default(ROOM_WAIT_SECONDS)
    }

    /// The wait before a judgment while the demo is played.
    pub fn demo_wait_settings(&self) -> WaitSettings {
        WaitSettings {
            wait: WaitStrategy::Adaptive,
            min_wait_floor_seconds: DEMO_WAIT_SECONDS,
            min_wait_seconds: DEMO_WAIT_SECONDS,
            ..self.room_wait_settings()
        }
    }

    /// The configured waits, with this minimum wait if none is configured.
    fn wait_settings_with_default(&self, default_wait: f64) -> WaitSettings {
        let max_wait_seconds = self.response.max_wait_seconds.0;
        let min_wait_seconds = self
            .response
            .min_wait_seconds
            .map_or(default_wait.min(max_wait_seconds), |wait| wait.0);
        WaitSettings {
            wait: self.response.wait,
            min_wait_floor_seconds: self.response.min_wait_floor_seconds.0,
            min_wait_seconds,
            jitter_ratio: self.response.jitter_ratio.0,
            max_wait_seconds: max_wait_seconds.max(min_wait_seconds),
            max_message_age_seconds: self.response.max_message_age_seconds.0,
        }
    }

    /// How long after a message was heard it is folded into memory.
    pub fn memory_delay(&self) -> SignedDuration {
        duration_from_seconds(self.memory.long_term_update_interval_seconds.0)
    }

    fn remember_settings(&self) -> remember::MemorySettings {
        let tokens = |tokens: u64| u32::try_from(tokens).unwrap_or(u32::MAX);
        let memory = &self.memory;
        let defaults = remember::MemorySettings::default();
        remember::MemorySettings {
            interval: self.memory_delay(),
            short_term_max_tokens: tokens(memory.short_term_summary_max_tokens.0),
            long_term_max_tokens: tokens(memory.long_term_summary_max_tokens.0),
            kept_versions: memory.keep_versions.size(),
            max_fold_tokens: defaults.max_fold_tokens.min(self.context.budget().max_tokens / 2),
        }
    }

    /// How many messages and memories a prompt holds.
    pub fn limits(&self) -> ContextLimits {
        let response = &self.response;
        ContextLimits {
            channel_messages: response.channel_messages_limit.size(),
            channel_messages_step: response.channel_messages_step.map(BoundedInteger::size),
            active_channel_age: response.active_channel_days.days(),
            thread_memory_age: response.thread_memory_days.days(),
            short_term_age: self.memory.short_term_window_hours.hours(),
        }
    }

    pub fn agent_settings(&self) -> agent::AgentSettings {
        agent::AgentSettings {
            gates: self.response.gates.iter().map(|gate| gate.rule()).collect(),
            rulebook: self.rulebook().into(),
            wait_settings: self.wait_settings(),
            state: self.decision.state,
            limits: self.limits(),
            budget: self.context.budget(),
            zone: self.time_zone_or(TimeZone::system()),
            memory: self.remember_settings(),
            files: self.transcription.settings(self.vision.settings()),
            timing: self.response.timing(),
            max_delay_seconds: self.response.max_delay_seconds.0,
            proposal_lifetime: duration_from_seconds(self.response.proposal_seconds.0),
            prices: self.prices(),
            keeps_exchanges: self.retention.keeps_prompts(),
            secrets: self.secret_scanner(),
            link_hosts: self.response.link_hosts.iter().map(|host| host.0.clone()).collect(),
            model_timeout: self.longest_call(),
            ..agent::AgentSettings::default()
        }
    }

    /// The prices of models: as configured, or else as their providers list them.
    pub fn prices(&self) -> Prices {
        self.models.prices(&self.minds.models_elsewhere(self.decision.state))
    }

    /// The models in use without a known price.
    pub fn unpriced_models(&self) -> BTreeSet<String> {
        let Prices(prices) = self.prices();
        let models = self.minds.models_in_use(self.decision.state);
        let models = models.filter(|id| **id != ModelId::Builtin).map(ToString::to_string);
        models.filter(|id| !prices.contains_key(id)).collect()
    }

    /// Whether every model that may judge is known to be free, including those that channels may have of their own.
    pub fn is_judge_free(&self) -> bool {
        let prices = self.prices();
        let is_free = |mind: &ResolvedMind| prices.is_free(&mind.model.id.to_string());
        let mut named = self.minds.named.values();
        is_free(&self.minds.judgment)
            && named.all(|mind| mind.model.id == ModelId::Builtin || is_free(mind))
    }

    /// The timeout of a model call, including calls to a model that is chosen while the program runs.
    fn longest_call(&self) -> SignedDuration {
        let usual = self.models.timeout_seconds.0 as f64;
        let chosen = match names_model(&self.agents) {
            true => usual,
            // The model may be one on this machine, which has to be loaded first.
            false => usual.max(COLD_TIMEOUT_SECONDS),
        };
        self.minds.longest_call().max(duration_from_seconds(chosen + 1.0))
    }

    /// The runner's settings. The lease outlasts the longest possible step.
    pub fn runner_settings(&self) -> runner::RunnerSettings {
        let defaults = runner::RunnerSettings::default();
        let lease = defaults.lease.max(self.agent_settings().max_step_duration() + LEASE_SLACK);
        runner::RunnerSettings { lease, ..defaults }
    }
}
