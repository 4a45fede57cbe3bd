//! SearXNG, a metasearch engine. The operator configures an instance.

use std::time::Duration;

use anyhow::Context as _;
use async_trait::async_trait;
use reqwest::{Client, Url};
use serde::Deserialize;
use serde_json::Value;

use crate::web_access::api::{api_client, fetch_json};
use crate::web_access::{SearchAnswer, SearchResult, WebError, WebSearch};

pub struct SearxngSettings {
    /// The URL of the instance. Ends with a slash.
    pub instance: String,
    pub max_results: usize,
    pub timeout: Duration,
}

pub struct Searxng {
    http: Client,
    search: Url,
    max_results: usize,
    timeout: Duration,
}

#[derive(Deserialize)]
struct SearxngAnswer {
    #[serde(default)]
    results: Vec<SearxngResult>,
}

#[derive(Deserialize)]
struct SearxngResult {
    url: Option<String>,
    #[serde(default)]
    title: String,
    content: Option<String>,
}

impl Searxng {
    pub fn new(settings: SearxngSettings) -> anyhow::Result<Self> {
        let SearxngSettings { instance, max_results, timeout } = settings;
        let search = Url::parse(&instance).and_then(|instance| instance.join("search"));
        let search = search.context("the address of the SearXNG instance cannot be used")?;
        Ok(Self { http: api_client()?, search, max_results, timeout })
    }

    async fn ask(&self, query: &str) -> Result<Value, WebError> {
        let mut url = self.search.clone();
        url.query_pairs_mut().append_pair("q", query).append_pair("format", "json");
        let answer = fetch_json(self.http.get(url).timeout(self.timeout)).await;
        // There are no keys, so a forbidden request means that the format is not allowed.
        answer.map_err(|error| match error {
            WebError::KeyRefused | WebError::Unusable => WebError::NoJson,
            error => error,
        })
    }
}

#[async_trait]
impl WebSearch for Searxng {
    async fn search(&self, query: &str) -> Result<SearchAnswer, WebError> {
        let answer: SearxngAnswer =
            serde_json::from_value(self.ask(query).await?).map_err(|_| WebError::Unusable)?;
        let results = answer.results.into_iter().filter_map(|result| {
            Some(SearchResult {
                title: result.title,
                address: result.url?,
                text: result.content.unwrap_or_default(),
            })
        });
        Ok(SearchAnswer { summary: None, results: results.take(self.max_results).collect() })
    }

    async fn check(&self) -> Result<(), WebError> {
        self.ask("test").await.map(|_answer| ())
    }
}
