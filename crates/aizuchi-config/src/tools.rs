//! The `tools` section.

use aizuchi_agent::web_access::tavily::SearchDepth;
use aizuchi_model::ip_network::IpNetwork;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::budget::LimitSetting;
use crate::mcp::McpConfig;
use crate::secret::Secret;
use crate::values::{BoundedInteger, Port, WebUrl};

section! {
    /// The tools that Aizuchi may use while it writes an answer: the web, and tools of the operator. A tool whose section
    /// is omitted is off.
    pub struct ToolsConfig {
        /// Reads a page whose address appears in the conversation or in what a search found.
        pub web_fetch: Option<WebFetchConfig>,
        /// Searches the web, with Tavily or SearXNG.
        pub web_search: Option<WebSearchConfig>,
        /// How many searches and page reads one answer may make, in all of its drafts together.
        // The defaults suit a team: an answer that needs a search and a few pages, and some such answers for each user.
        pub web_calls_per_answer: LimitSetting = LimitSetting::Most(6),
        /// How many searches and page reads the answers to one person may make within 24 hours. A restart does not reset
        /// the count.
        pub web_calls_per_person_per_day: LimitSetting = LimitSetting::Most(60),
        /// How many searches and page reads all answers together may make within 24 hours.
        pub web_calls_per_day: LimitSetting = LimitSetting::Most(300),
        pub mcp: McpConfig,
    }
}

section! {
    /// Reads a page.
    pub struct WebFetchConfig {
        /// Whether the tool is on.
        pub enabled: bool = true,
        /// A service with crawl4ai's API, which reads pages and runs their scripts. If omitted: pages are read directly.
        pub api_endpoint: Option<WebUrl>,
        /// The timeout for reading a page.
        pub timeout_seconds: BoundedInteger<1, 600> = BoundedInteger(60),
        /// The longest page, in characters; the rest is cut off.
        pub max_content_length: BoundedInteger<1, 10_000_000> = BoundedInteger(20_000),
        /// Networks that are not public but whose pages may be read, such as `10.1.0.0/16`. Anyone who writes in a channel
        /// can have these pages read.
        pub allow_networks: Vec<IpNetwork>,
        /// Ports that pages may be read from, in addition to 80 and 443.
        pub allow_ports: Vec<Port>,
    }
}

section! {
    /// Searches the web.
    pub struct WebSearchConfig {
        /// Whether the tool is on.
        pub enabled: bool = true,
        /// Tavily's API key. Without it and without `searxng_url`, the tool is off.
        pub api_key: Option<Secret>,
        /// The address of a SearXNG instance that answers in JSON, to use instead of Tavily.
        pub searxng_url: Option<WebUrl>,
        /// The address of Tavily's API, for tests and proxies. If omitted: Tavily's own.
        pub api_base: Option<WebUrl>,
        /// How thorough Tavily's search is.
        pub search_depth: SearchDepthSetting = SearchDepthSetting::Basic,
        /// The maximum number of results.
        pub max_results: BoundedInteger<1, 20> = BoundedInteger(5),
        /// The longest text of one result, in characters; 0 is no limit.
        pub max_content_length: BoundedInteger<0, 10_000_000> = BoundedInteger(500),
        /// The timeout of a search.
        pub timeout_seconds: BoundedInteger<1, 600> = BoundedInteger(30),
    }
}

choices! {
    /// How thorough the search is.
    SearchDepthSetting for SearchDepth {
        Basic = Basic,
        Advanced = Advanced,
        Fast = Fast,
        #[serde(rename = "ultra-fast")]
        UltraFast = UltraFast,
    }
}

impl WebSearchConfig {
    /// Whether a search engine is configured.
    pub fn has_engine(&self) -> bool {
        self.api_key.is_some() || self.searxng_url.is_some()
    }
}
