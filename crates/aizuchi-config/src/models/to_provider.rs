//! Converts the config to the settings of a model provider.

use aizuchi_agent::agent;
use aizuchi_llm::model_id::ModelId;
use aizuchi_llm::provider::{self, ProviderSettings};
use aizuchi_model::clock::duration_from_seconds;
use jiff::SignedDuration;

use crate::agents::ModelParamsConfig;
use crate::models::agent_models::{ResolvedMind, ResolvedMinds, ResolvedModel};
use crate::secret::Secret;

impl ResolvedModel {
    /// The settings for calling the model. `None` for the built-in mind.
    pub fn settings(&self) -> Option<ProviderSettings> {
        let (ModelId::Hosted { provider, name }, Some(endpoint)) = (&self.id, &self.endpoint)
        else {
            return None;
        };
        let headers = endpoint.headers.iter();
        Some(ProviderSettings {
            provider: *provider,
            model_name: name.clone(),
            api_key: endpoint.key.as_ref().map(Secret::to_request),
            api_base: endpoint.base.clone(),
            headers: headers.map(|(name, value)| (name.clone(), value.to_request())).collect(),
            params: to_provider(&self.params),
            connect_timeout: duration_from_seconds(endpoint.connect_timeout_seconds),
            timeout: duration_from_seconds(endpoint.timeout_seconds),
            cold_timeout: duration_from_seconds(endpoint.cold_timeout_seconds),
            max_attempts: u32::try_from(endpoint.attempts).unwrap_or(u32::MAX),
        })
    }

    fn timeout(&self) -> SignedDuration {
        let builtin = agent::AgentSettings::default().model_timeout;
        self.endpoint.as_ref().map_or(builtin, |endpoint| {
            duration_from_seconds(endpoint.timeout_seconds.max(endpoint.cold_timeout_seconds))
        })
    }
}

impl ResolvedMinds {
    /// The timeout of a model call including its fallback. It is slightly longer than the timeouts of the models, which
    /// end their calls themselves.
    pub fn longest_call(&self) -> SignedDuration {
        let total_timeout = |mind: &ResolvedMind| {
            let fallback =
                mind.fallback.as_ref().map_or(SignedDuration::ZERO, ResolvedModel::timeout);
            mind.model.timeout() + fallback
        };
        let minds = [&self.response, &self.judgment, &self.memory, &self.state];
        let minds = minds.into_iter().chain(self.named.values());
        minds.map(total_timeout).max().unwrap_or_default() + SignedDuration::from_secs(1)
    }
}

fn to_provider(params: &ModelParamsConfig) -> provider::ModelParams {
    provider::ModelParams {
        temperature: params.temperature.map(|temperature| temperature.0),
        max_tokens: params.max_tokens.and_then(|count| u32::try_from(count.0).ok()),
        thinking_tokens: params.thinking_tokens.and_then(|count| u32::try_from(count.0).ok()),
        top_p: params.top_p.map(|share| share.0),
        stop: params.stop.as_ref().map_or(Vec::new(), |stop| stop.texts().to_vec()),
        seed: params.seed,
        reasoning_effort: params.reasoning_effort.map(|effort| effort.name().to_owned()),
        extra: params.others.clone().into_iter().collect(),
    }
}
