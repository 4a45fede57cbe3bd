//! Tavily, a search engine for models.

use std::time::Duration;

use async_trait::async_trait;
use reqwest::Client;
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use serde_json::json;

use crate::web_access::api::{api_client, fetch_json};
use crate::web_access::{SearchAnswer, SearchResult, WebError, WebSearch};

/// The base URL of the API.
pub const API_BASE: &str = "https://api.tavily.com/";

/// The maximum length of a query, in characters.
const MAX_QUERY_CHARACTERS: usize = 400;
/// The status codes for exhausted limits: of the plan, and of paid use beyond the plan.
const USED_UP: [u16; 2] = [432, 433];

/// How thorough a search is, and therefore how slow and expensive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, strum::IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub enum SearchDepth {
    #[default]
    Basic,
    Advanced,
    Fast,
    UltraFast,
}

pub struct TavilySettings {
    pub key: SecretString,
    /// The base URL of the API. Ends with a slash.
    pub api_base: String,
    pub depth: SearchDepth,
    pub max_results: u64,
    pub timeout: Duration,
}

pub struct Tavily {
    http: Client,
    settings: TavilySettings,
}

#[derive(Deserialize)]
struct TavilyAnswer {
    answer: Option<String>,
    #[serde(default)]
    results: Vec<TavilyResult>,
}

#[derive(Deserialize)]
struct TavilyResult {
    #[serde(default)]
    title: String,
    url: String,
    #[serde(default)]
    content: String,
}

impl Tavily {
    pub fn new(settings: TavilySettings) -> anyhow::Result<Self> {
        Ok(Self { http: api_client()?, settings })
    }

    fn url(&self, path: &str) -> String {
        format!("{}{path}", self.settings.api_base)
    }
}

#[async_trait]
impl WebSearch for Tavily {
    async fn search(&self, query: &str) -> Result<SearchAnswer, WebError> {
        let TavilySettings { key, depth, max_results, timeout, .. } = &self.settings;
        let depth: &'static str = depth.into();
        let query: String = query.chars().take(MAX_QUERY_CHARACTERS).collect();
        let request = self.http.post(self.url("search")).timeout(*timeout);
        let request = request.bearer_auth(key.expose_secret()).json(&json!({
            "query": query,
            "search_depth": depth,
            "max_results": max_results,
            "include_answer": true,
        }));
        let answer = fetch_json(request).await.map_err(describe_status)?;
        let answer: TavilyAnswer =
            serde_json::from_value(answer).map_err(|_| WebError::Unusable)?;
        let results = answer.results.into_iter().map(|result| SearchResult {
            title: result.title,
            address: result.url,
            text: result.content,
        });
        Ok(SearchAnswer { summary: answer.answer, results: results.collect() })
    }

    /// Requests the usage of the plan, which costs nothing.
    async fn check(&self) -> Result<(), WebError> {
        let request = self.http.get(self.url("usage")).timeout(self.settings.timeout);
        let request = request.bearer_auth(self.settings.key.expose_secret());
        fetch_json(request).await.map_err(describe_status)?;
        Ok(())
    }
}

fn describe_status(error: WebError) -> WebError {
    match error {
        WebError::Status(status) if USED_UP.contains(&status) => WebError::UsedUp,
        error => error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn depths_have_the_names_of_the_api() {
        let names: [&'static str; 4] =
            [SearchDepth::Basic, SearchDepth::Advanced, SearchDepth::Fast, SearchDepth::UltraFast]
                .map(Into::into);
        assert_eq!(names, ["basic", "advanced", "fast", "ultra-fast"]);
    }
}
