//! Checks that a provider is reachable, accepts the key and has the model, using its list of models. Unlike a call,
//! this is free.

use std::time::Duration;

use aizuchi_http::body::{MAX_MODEL_BODY_BYTES, read_body};
use aizuchi_model::decision::model_problem::ModelProblem;
use reqwest::{RequestBuilder, Response, StatusCode, Url};
use secrecy::ExposeSecret;
use serde_json::Value;

use crate::provider::ProviderMind;
use crate::provider::error::error_code;
use crate::provider::refusal::hidden_status;
use crate::provider_list::Provider;

/// Servers list their models immediately.
const TIMEOUT: Duration = Duration::from_secs(10);

/// The result of a list of models.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Listing {
    Problem(ModelProblem),
    /// The server answered without a problem.
    Fine,
    /// Unknown: not every server has such a list.
    Unknown,
}

impl ProviderMind {
    /// Remembers a problem until a call succeeds. An unreachable model counts as fixed as soon as its server
    /// answers.
    pub(super) async fn look_for_problem(&self) -> Option<ModelProblem> {
        let listing = self.listing().await;
        let mut problem = self.problem.lock();
        match (listing, *problem) {
            (Listing::Problem(found), _) => *problem = Some(found),
            (Listing::Fine, Some(ModelProblem::Unreachable | ModelProblem::TimedOut)) => {
                *problem = None;
            }
            (Listing::Fine | Listing::Unknown, _) => {}
        }
        *problem
    }

    async fn listing(&self) -> Listing {
        let Some(request) = self.listing_request() else { return Listing::Unknown };
        let response = match request.timeout(TIMEOUT).send().await {
            Ok(response) => response,
            Err(error) if error.is_timeout() => return Listing::Problem(ModelProblem::TimedOut),
            Err(error) if error.is_connect() => return Listing::Problem(ModelProblem::Unreachable),
            Err(_) => return Listing::Unknown,
        };
        let status = response.status();
        let body = body_of(response).await;
        let hidden = body.as_ref().and_then(|body| hidden_status(body.as_bytes()));
        let status = hidden.filter(|_| status.is_success()).unwrap_or(status);
        // 403 is no proof: a key may be allowed to use a model but not to list models.
        if status == StatusCode::UNAUTHORIZED {
            return Listing::Problem(ModelProblem::KeyRefused);
        }
        let Some(body) = body else { return Listing::Unknown };
        let has_invalid_key = || error_code(&body).as_deref() == Some("API_KEY_INVALID");
        match (self.settings.provider, status.as_u16()) {
            (Provider::Gemini, 400) if has_invalid_key() => {
                Listing::Problem(ModelProblem::KeyRefused)
            }
            (Provider::Ollama, 200) if lists(&body, &self.settings.model_name) == Some(false) => {
                Listing::Problem(ModelProblem::UnknownModel)
            }
            (_, 200..=299) => Listing::Fine,
            _ => Listing::Unknown,
        }
    }

    fn listing_request(&self) -> Option<RequestBuilder> {
        // Their lists need other credentials than a key.
        if matches!(self.settings.provider, Provider::Vertex | Provider::Bedrock) {
            return None;
        }
        // OpenRouter's list of models needs no key, so it cannot check one.
        let path = if self.settings.provider == Provider::OpenRouter { "key" } else { "models" };
        let url = Url::parse(&self.settings.api_base).ok()?.join(path).ok()?;
        let request = self.http.get(url).headers(self.settings.extra_headers().ok()?);
        let Some(key) = &self.settings.api_key else { return Some(request) };
        let format = self.settings.provider.wire_format();
        Some(format.authorize(request, key.expose_secret()))
    }
}

async fn body_of(response: Response) -> Option<String> {
    let body = read_body(response, MAX_MODEL_BODY_BYTES).await.ok()?;
    String::from_utf8(body).ok()
}

/// Whether a self-hosted server's list, which is complete, contains this model. `None` if the body is not a list of
/// models.
fn lists(body: &str, name: &str) -> Option<bool> {
    let body: Value = serde_json::from_str(body).ok()?;
    let mut ids =
        body.get("data")?.as_array()?.iter().filter_map(|model| model.get("id")?.as_str());
    // Without a tag, `latest` is meant.
    Some(ids.any(|id| id == name || id.strip_suffix(":latest") == Some(name)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_may_be_named_without_its_tag() {
        let body = r#"{"data": [{"id": "qwen3:8b"}, {"id": "tiny:latest"}]}"#;
        for (name, expected) in
            [("qwen3:8b", Some(true)), ("tiny", Some(true)), ("qwen3", Some(false))]
        {
            assert_eq!(lists(body, name), expected, "{name}");
        }
        assert_eq!(lists("{}", "tiny"), None);
    }
}
