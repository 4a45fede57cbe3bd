//! What could be used in place of the built-in mind: models on this machine, and providers whose key is in the
//! environment.

use std::net::SocketAddr;

use aizuchi_llm::discover::{FoundServer, default_endpoints, discover};
use aizuchi_llm::model_id::ModelId;
use aizuchi_llm::provider_list::Provider;
use aizuchi_model::clock::Clock;
use aizuchi_model::persona::Language;
use aizuchi_model::texts;
use tracing::info;

use crate::Config;
use crate::models::in_use::ModelsInUse;
use crate::models::sources::ModelOrigin;

/// The variable that tells Ollama's own programs its address.
const OLLAMA_VARIABLE: &str = "OLLAMA_HOST";

/// Finds the model servers on this machine, except at the `own` addresses.
pub async fn find_servers(config: &Config, own: &[SocketAddr]) -> Vec<FoundServer> {
    let environment = &config.model_sources.environment;
    let endpoints = default_endpoints(environment.get_non_empty(OLLAMA_VARIABLE), own);
    discover(&endpoints, &Clock::system()).await
}

/// A common model of each provider, as an example.
pub fn example_model(provider: Provider) -> &'static str {
    match provider {
        Provider::OpenAi => "gpt-4o-mini",
        Provider::Anthropic => "claude-haiku-4-5",
        Provider::Gemini => "gemini-2.5-flash",
        Provider::Ollama => "qwen3:8b",
        Provider::OpenRouter => "openai/gpt-4o-mini",
        Provider::DeepSeek => "deepseek-chat",
        Provider::Groq => "llama-3.3-70b-versatile",
        Provider::Mistral => "mistral-small-latest",
        Provider::Xai => "grok-4",
        Provider::Vertex => "gemini-2.5-flash",
        // Deployments have names that their owners choose.
        Provider::Azure => "gpt-4o-mini",
        Provider::Bedrock => "openai.gpt-oss-120b-1:0",
    }
}

/// The command that starts the program with a found model.
pub fn command(server: &FoundServer, model: &ModelId) -> String {
    match server.endpoint.api_base() {
        None => format!("aizuchi --model {model}"),
        // The command line cannot name an address.
        Some(_) => "aizuchi --model auto".to_owned(),
    }
}

impl ModelsInUse {
    /// Whether a model can be chosen while the program runs.
    pub fn is_open_to_choice(&self) -> bool {
        matches!(self.origin(), ModelOrigin::Default | ModelOrigin::Saved)
    }

    /// Looks for model servers on this machine, unless discovery is turned off or no model can be chosen.
    pub async fn look_around(&self, own: &[SocketAddr]) {
        let config = self.config.read();
        if !config.discover.0 || !self.is_open_to_choice() {
            *self.found.write() = Some(Vec::new());
            return;
        }
        let found = find_servers(&config, own).await;
        for server in &found {
            let (name, models) = (server.endpoint.server.name(), server.models.len());
            info!(server = name, models, "a model server answers on this machine");
        }
        *self.found.write() = Some(found);
        self.notify();
    }

    /// The model servers that were found on this machine so far.
    pub fn found(&self) -> Vec<FoundServer> {
        self.found.read().clone().unwrap_or_default()
    }

    /// The providers whose keys are in the environment.
    pub fn providers_with_key(&self) -> Vec<Provider> {
        self.config.read().model_sources.providers_with_key()
    }

    /// Waits until it is known what could be used in place of the built-in mind, and describes it for the operator.
    pub async fn offers(&self, language: Language) -> Option<String> {
        let mut changes = self.subscribe();
        while self.found.read().is_none() {
            changes.changed().await.ok()?;
        }
        if !self.is_builtin() || !self.is_open_to_choice() {
            return None;
        }
        let server = |server: &FoundServer| {
            let name = server.endpoint.server.name();
            let Some(model) = server.models.first() else {
                return texts::models::server_has_no_model(language, name);
            };
            let ModelId::Hosted { name: model_name, .. } = model else { return String::new() };
            let command = texts::models::use_it(language, &command(server, model));
            format!("{} {command}", texts::models::server_answers(language, name, model_name))
        };
        let key = |provider: Provider| {
            let variable = provider.key_variable().unwrap_or_default();
            let (name, example) = (provider.name(), example_model(provider));
            let command = format!("aizuchi --model {name}/{example}");
            let command = texts::models::use_one(language, &command);
            format!("{} {command}", texts::models::key_is_set(language, variable))
        };
        let found = self.found();
        let keys = self.providers_with_key().into_iter().map(key);
        let lines: Vec<String> = found.iter().map(server).chain(keys).collect();
        (!lines.is_empty()).then(|| lines.join("\n"))
    }
}
