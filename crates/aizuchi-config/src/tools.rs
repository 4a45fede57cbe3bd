//! The `tools` section.

use aizuchi_model::ip_network::IpNetwork;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::budget::LimitSetting;
use crate::mcp::McpConfig;
use crate::secret::Secret;
use crate::values::{BoundedInteger, Port, WebUrl};

/// The tools that Aizuchi may use while it writes an answer: the web, and tools of the operator. A tool whose section
/// is omitted is off.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ToolsConfig {
    /// Reads a page whose address appears in the conversation or in what a search found.
    pub web_fetch: Option<WebFetchConfig>,
    /// Searches the web, with Tavily or SearXNG.
    pub web_search: Option<WebSearchConfig>,
    /// How many searches and page reads one answer may make, in all of its drafts together.
    pub web_calls_per_answer: LimitSetting,
    /// How many searches and page reads the answers to one person may make within 24 hours. A restart does not reset
    /// the count.
    pub web_calls_per_person_per_day: LimitSetting,
    /// How many searches and page reads all answers together may make within 24 hours.
    pub web_calls_per_day: LimitSetting,
    pub mcp: McpConfig,
}

/// Reads a page.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct WebFetchConfig {
    /// Whether the tool is on.
    pub enabled: bool,
    /// A service with crawl4ai's API, which reads pages and runs their scripts. If omitted: pages are read directly.
    pub api_endpoint: Option<WebUrl>,
    /// The timeout for reading a page.
    pub timeout_seconds: BoundedInteger<1, 600>,
    /// The longest page, in characters; the rest is cut off.
    pub max_content_length: BoundedInteger<1, 10_000_000>,
    /// Networks that are not public but whose pages may be read, such as `10.1.0.0/16`. Anyone who writes in a channel
    /// can have these pages read.
    pub allow_networks: Vec<IpNetwork>,
    /// Ports that pages may be read from, in addition to 80 and 443.
    pub allow_ports: Vec<Port>,
}

/// Searches the web.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct WebSearchConfig {
    /// Whether the tool is on.
    pub enabled: bool,
    /// Tavily's API key. Without it and without `searxng_url`, the tool is off.
    pub api_key: Option<Secret>,
    /// The address of a SearXNG instance that answers in JSON, to use instead of Tavily.
    pub searxng_url: Option<WebUrl>,
    /// The address of Tavily's API, for tests and proxies. If omitted: Tavily's own.
    pub api_base: Option<WebUrl>,
    /// How thorough Tavily's search is.
    pub search_depth: SearchDepth,
    /// The maximum number of results.
    pub max_results: BoundedInteger<1, 20>,
    /// The longest text of one result, in characters; 0 is no limit.
    pub max_content_length: BoundedInteger<0, 10_000_000>,
    /// The timeout of a search.
    pub timeout_seconds: BoundedInteger<1, 600>,
}

/// How thorough the search is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(inline)]
pub enum SearchDepth {
    #[default]
    Basic,
    Advanced,
    Fast,
    UltraFast,
}

impl WebSearchConfig {
    /// Whether a search engine is configured.
    pub fn has_engine(&self) -> bool {
        self.api_key.is_some() || self.searxng_url.is_some()
    }
}

impl Default for ToolsConfig {
    /// Defaults that suit a team: an answer that needs a search and a few pages, and some such answers for each user.
    fn default() -> Self {
        Self {
            web_fetch: None,
            web_search: None,
            web_calls_per_answer: LimitSetting::Most(6),
            web_calls_per_person_per_day: LimitSetting::Most(60),
            web_calls_per_day: LimitSetting::Most(300),
            mcp: McpConfig::default(),
        }
    }
}

impl Default for WebFetchConfig {
    fn default() -> Self {
        Self {
            enabled: true,
            api_endpoint: None,
            timeout_seconds: BoundedInteger(60),
            max_content_length: BoundedInteger(20_000),
            allow_networks: Vec::new(),
            allow_ports: Vec::new(),
        }
    }
}

impl Default for WebSearchConfig {
    fn default() -> Self {
        Self {
            enabled: true,
            api_key: None,
            searxng_url: None,
            api_base: None,
            search_depth: SearchDepth::Basic,
            max_results: BoundedInteger(5),
            max_content_length: BoundedInteger(500),
            timeout_seconds: BoundedInteger(30),
        }
    }
}
