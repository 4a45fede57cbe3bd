//! Converts the `tools` section to the web tools.

use std::sync::Arc;
use std::time::Duration;

use aizuchi_agent::documents::DocumentReader;
use aizuchi_agent::web_access::address_guard::AddressGuard;
use aizuchi_agent::web_access::crawl4ai::Crawl4ai;
use aizuchi_agent::web_access::direct_reader::DirectReader;
use aizuchi_agent::web_access::searxng::{Searxng, SearxngSettings};
use aizuchi_agent::web_access::tavily::{self, Tavily, TavilySettings};
use aizuchi_agent::web_access::{OfferedWebTools, PageReader, WebSearch, WebTools};
use aizuchi_model::flow::web_call::WebLimits;

use crate::Config;
use crate::tools::{ToolsConfig, WebFetchConfig, WebSearchConfig};

impl Config {
    /// The enabled web tools. PDFs are read by `documents`, up to the maximum size of attached PDFs.
    pub fn web_tools(
        &self,
        documents: Option<Arc<dyn DocumentReader>>,
    ) -> anyhow::Result<WebTools> {
        let max_pdf_bytes = self.vision.max_pdf_kilobytes.size() * 1_000;
        let pdfs = documents.map(|documents| (documents, max_pdf_bytes));
        let ToolsConfig { web_fetch, web_search, .. } = &self.tools;
        let fetch = web_fetch.as_ref().filter(|fetch| fetch.enabled);
        let search = web_search.as_ref().filter(|search| search.enabled);
        let lengths = WebFetchConfig::default().max_content_length;
        let lengths = fetch.map_or(lengths, |fetch| fetch.max_content_length);
        Ok(WebTools {
            search: search.map(WebSearchConfig::engine).transpose()?.flatten(),
            reader: fetch.map(|fetch| fetch.reader(pdfs)).transpose()?,
            max_page_characters: lengths.size(),
            max_result_characters: match search.map_or(0, |search| search.max_content_length.size())
            {
                0 => usize::MAX,
                most => most,
            },
            limits: WebLimits {
                per_answer: self.tools.web_calls_per_answer.most(),
                per_user_per_day: self.tools.web_calls_per_person_per_day.most(),
                per_day: self.tools.web_calls_per_day.most(),
            },
        })
    }

    /// Which web tools are enabled.
    pub fn offered_web_tools(&self) -> OfferedWebTools {
        let ToolsConfig { web_fetch, web_search, .. } = &self.tools;
        OfferedWebTools {
            search: web_search.as_ref().is_some_and(|search| search.enabled && search.has_engine()),
            fetch: web_fetch.as_ref().is_some_and(|fetch| fetch.enabled),
        }
    }

    /// Describes the enabled web tools for the operator.
    pub fn describe_web_tools(&self) -> Vec<String> {
        let offered = self.offered_web_tools();
        let search = self.tools.web_search.as_ref().filter(|_| offered.search);
        let fetch = self.tools.web_fetch.as_ref().filter(|_| offered.fetch);
        let search = search.map(WebSearchConfig::describe);
        search.into_iter().chain(fetch.map(WebFetchConfig::describe)).collect()
    }
}

impl WebSearchConfig {
    /// The search engine, if one is configured.
    fn engine(&self) -> anyhow::Result<Option<Arc<dyn WebSearch>>> {
        let timeout = Duration::from_secs(self.timeout_seconds.0);
        if let Some(instance) = &self.searxng_url {
            let (instance, max_results) = (instance.as_base(), self.max_results.size());
            let settings = SearxngSettings { instance, max_results, timeout };
            return Ok(Some(Arc::new(Searxng::new(settings)?)));
        }
        let Some(key) = &self.api_key else { return Ok(None) };
        let api_base = self.api_base.as_ref().map(|base| base.as_base());
        Ok(Some(Arc::new(Tavily::new(TavilySettings {
            key: key.to_request(),
            api_base: api_base.unwrap_or_else(|| tavily::API_BASE.to_owned()),
            depth: self.search_depth.rule(),
            max_results: self.max_results.0,
            timeout,
        })?)))
    }

    /// Describes the search engine for the operator.
    pub fn describe(&self) -> String {
        let engine = match &self.searxng_url {
            Some(instance) => format!("SearXNG at {}", instance.0),
            None => format!("Tavily, {}", <&str>::from(self.search_depth.rule())),
        };
        format!("web_search with {engine}")
    }
}

impl WebFetchConfig {
    fn reader(
        &self,
        pdfs: Option<(Arc<dyn DocumentReader>, usize)>,
    ) -> anyhow::Result<Arc<dyn PageReader>> {
        let ports = self.allow_ports.iter().filter_map(|port| u16::try_from(port.0).ok());
        let ports: Vec<u16> = ports.collect();
        let guard = AddressGuard::new(self.allow_networks.clone(), &ports);
        let timeout = Duration::from_secs(self.timeout_seconds.0);
        let reader: Arc<dyn PageReader> = match &self.api_endpoint {
            Some(service) => Arc::new(Crawl4ai::new(&service.as_base(), guard, timeout)?),
            None => {
                let reader = DirectReader::new(guard, timeout)?;
                Arc::new(match pdfs {
                    Some((documents, max_bytes)) => reader.with_documents(documents, max_bytes),
                    None => reader,
                })
            }
        };
        Ok(reader)
    }

    /// Describes the page reader for the operator.
    pub fn describe(&self) -> String {
        let way = match &self.api_endpoint {
            Some(service) => format!("through {}", service.0),
            None => "directly".to_owned(),
        };
        match self.allow_networks.len() {
            0 => format!("web_fetch {way}"),
            count => format!("web_fetch {way}, also in networks that are not public ({count})"),
        }
    }
}
