//! The installation's own keys and tokens, which must never appear in model output.

use aizuchi_model::outgoing::secrets::SecretScanner;

use crate::Config;
use crate::models::agent_models::{ResolvedMind, ResolvedMinds};
use crate::secret::Secret;

impl Config {
    pub fn secret_scanner(&self) -> SecretScanner {
        SecretScanner::new(self.secrets())
    }

    /// All keys and tokens.
    pub fn secrets(&self) -> impl Iterator<Item = &str> {
        let slack = self.slack.iter().flat_map(|slack| {
            let bot_token = slack.bot_token.iter().map(|token| &token.0);
            let app_token = slack.app_token.iter().map(|token| &token.0);
            let signing_secret = slack.signing_secret.iter().map(|secret| &secret.0);
            bot_token.chain(app_token).chain(signing_secret)
        });
        let discord = self.discord.iter().flat_map(|discord| &discord.token);
        let named = self.http.tokens.iter().map(|named| &named.token.0);
        let http = self.http.token.iter().map(|token| &token.0).chain(named);
        let search = self.tools.web_search.iter().flat_map(|search| &search.api_key);
        let secrets = slack.chain(discord).chain(http).chain(search).chain(self.minds.keys());
        secrets.map(Secret::expose).chain(self.tools.mcp.secrets())
    }
}

impl ResolvedMinds {
    /// The keys and headers of all models.
    pub fn keys(&self) -> impl Iterator<Item = &Secret> {
        self.all().flat_map(model_secrets)
    }
}

fn model_secrets(mind: &ResolvedMind) -> impl Iterator<Item = &Secret> {
    let models = [&mind.model].into_iter().chain(&mind.fallback);
    let endpoints = models.flat_map(|model| &model.endpoint);
    endpoints.flat_map(|endpoint| endpoint.key.iter().chain(endpoint.headers.values()))
}
