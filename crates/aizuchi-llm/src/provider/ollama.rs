//! What an Ollama model needs beyond the OpenAI-compatible API: keeping it loaded, and finding out its context
//! length, because Ollama silently truncates longer prompts.

use std::time::Duration;

use aizuchi_http::body::{MAX_MODEL_BODY_BYTES, read_body};
use reqwest::{RequestBuilder, Url};
use secrecy::ExposeSecret;
use serde_json::{Value, json};

use crate::provider::ProviderMind;
use crate::provider_list::Provider;

/// Ollama answers questions about its models immediately.
const TIMEOUT: Duration = Duration::from_secs(5);

impl ProviderMind {
    /// The context length of the prompt and its answer together, from the loaded model or from the model's own
    /// parameters. `None` if neither is known, or it is not an Ollama model.
    pub(super) async fn ollama_context_length(&self) -> Option<u64> {
        let loaded = read(self.ollama_request("api/ps", None)?).await?;
        match loaded_length(&loaded, &self.settings.model_name) {
            Some(length) => Some(length),
            None => {
                let model = json!({ "model": self.settings.model_name });
                declared_length(&read(self.ollama_request("api/show", Some(&model))?).await?)
            }
        }
    }

    /// Loads the model, for as long as `params.keep_alive` says, if it is set. This uses no tokens. If it fails, so
    /// does the following call, which reports the reason.
    pub(super) async fn load_for(&self, keep_alive: &Value) {
        let body = json!({ "model": self.settings.model_name, "keep_alive": keep_alive });
        if let Some(request) = self.ollama_request("api/generate", Some(&body)) {
            let _ = request.send().await;
        }
    }

    /// A request to the native API, next to the OpenAI-compatible one.
    fn ollama_request(&self, path: &str, body: Option<&Value>) -> Option<RequestBuilder> {
        if self.settings.provider != Provider::Ollama {
            return None;
        }
        let root = self.settings.api_base.strip_suffix("v1/")?;
        let url = Url::parse(root).ok()?.join(path).ok()?;
        let request = match body {
            Some(body) => self.http.post(url).json(body),
            None => self.http.get(url),
        };
        let request = request.headers(self.settings.extra_headers().ok()?);
        Some(match &self.settings.api_key {
            Some(key) => request.bearer_auth(key.expose_secret()),
            None => request,
        })
    }
}

async fn read(request: RequestBuilder) -> Option<Value> {
    let response = request.timeout(TIMEOUT).send().await.ok()?;
    let body = read_body(response, MAX_MODEL_BODY_BYTES).await.ok()?;
    serde_json::from_slice(&body).ok()
}

/// The context length of a model in the list of loaded models.
fn loaded_length(list: &Value, name: &str) -> Option<u64> {
    let is_it = |model: &&Value| {
        let loaded = model["name"].as_str().unwrap_or_default();
        loaded == name || loaded.strip_suffix(":latest") == Some(name)
    };
    list["models"].as_array()?.iter().find(is_it)?["context_length"].as_u64()
}

/// The context length that the model's own parameters declare (`num_ctx`).
fn declared_length(model: &Value) -> Option<u64> {
    let lines = model["parameters"].as_str()?.lines();
    let mut lengths = lines.filter_map(|line| line.trim().strip_prefix("num_ctx"));
    lengths.next()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_context_is_that_of_the_model_in_question() {
        let list = json!({ "models": [
            { "name": "other:1b", "context_length": 1 },
            { "name": "tiny:latest", "context_length": 4096 },
            { "name": "old:1b" },
        ]});
        let lengths =
            ["tiny", "tiny:latest", "old:1b", "new:1b"].map(|it| loaded_length(&list, it));
        assert_eq!(lengths, [Some(4096), Some(4096), None, None]);
        assert_eq!(loaded_length(&json!([]), "tiny"), None);
    }

    #[test]
    fn a_model_may_set_its_context() {
        for (parameters, expected) in [
            ("stop    \"<|im_end|>\"\nnum_ctx                        8192", Some(8192)),
            ("temperature 0.7", None),
            ("num_ctx many", None),
        ] {
            assert_eq!(declared_length(&json!({ "parameters": parameters })), expected);
        }
        assert_eq!(declared_length(&json!({})), None);
    }
}
