//! What the config says of a model, as its provider's client takes it.

use jiff::SignedDuration;
use secrecy::SecretString;

use crate::config::agents::Params;
use crate::config::minds::{Mind, Minds, Model};
use crate::config::secret::Secret;
use aizuchi_core::agent;
use aizuchi_core::clock::seconds;
use aizuchi_core::llm::model::ModelId;
use aizuchi_core::llm::provider::{self, ProviderSettings};

impl Model {
    /// How it is asked; `None` for the built-in mind.
    pub fn settings(&self) -> Option<ProviderSettings> {
        let (ModelId::Of { provider, name }, Some(server)) = (&self.id, &self.server) else {
            return None;
        };
        let secret = |secret: &Secret| SecretString::from(secret.expose());
        let headers = server.headers.iter();
        Some(ProviderSettings {
            provider: *provider,
            name: name.clone(),
            api_key: server.key.as_ref().map(secret),
            api_base: server.base.clone(),
            headers: headers.map(|(name, value)| (name.clone(), secret(value))).collect(),
            params: to_provider(&self.params),
            connect_timeout: seconds(server.connect_timeout_seconds),
            timeout: seconds(server.timeout_seconds),
            tries: u32::try_from(server.attempts).unwrap_or(u32::MAX),
        })
    }

    fn timeout(&self) -> SignedDuration {
        let builtin = agent::Settings::default().model_timeout;
        self.server.as_ref().map_or(builtin, |server| seconds(server.timeout_seconds))
    }
}

impl Minds {
    /// The longest that a question may take, with whoever stands in. Each model keeps its own time;
    /// this is a little more.
    pub fn patience(&self) -> SignedDuration {
        let of = |mind: &Mind| {
            let fallback = mind.fallback.as_ref().map_or(SignedDuration::ZERO, Model::timeout);
            mind.model.timeout() + fallback
        };
        of(&self.response).max(of(&self.judgment)) + SignedDuration::from_secs(1)
    }
}

fn to_provider(params: &Params) -> provider::Params {
    provider::Params {
        temperature: params.temperature.map(|temperature| temperature.0),
        max_tokens: params.max_tokens.and_then(|count| u32::try_from(count.0).ok()),
        top_p: params.top_p.map(|share| share.0),
        stop: params.stop.as_ref().map_or(Vec::new(), |stop| stop.texts().to_vec()),
        seed: params.seed,
        reasoning_effort: params.reasoning_effort.map(|effort| effort.name().to_owned()),
        others: params.others.clone().into_iter().collect(),
    }
}
