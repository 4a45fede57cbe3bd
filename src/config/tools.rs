//! The `tools` section.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::config::secret::Secret;
use crate::config::values::{BoundedInteger, WebUrl};

/// What it may look up while it writes an answer. (Not implemented yet.) A tool whose section is omitted is off.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ToolsConfig {
    /// Reads a page that someone named.
    pub web_fetch: Option<WebFetchConfig>,
    /// Searches the web, with Tavily.
    pub web_search: Option<WebSearchConfig>,
}

/// Reads a page.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct WebFetchConfig {
    /// Whether the tool is on.
    pub enabled: bool,
    /// A service that reads pages. If omitted: pages are read directly.
    pub api_endpoint: Option<WebUrl>,
    /// The longest that reading a page may take.
    pub timeout_seconds: BoundedInteger<1, 600>,
    /// The longest page, in characters; the rest is cut off.
    pub max_content_length: BoundedInteger<1, 10_000_000>,
}

/// Searches the web.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct WebSearchConfig {
    /// Whether the tool is on.
    pub enabled: bool,
    /// The key of the search service. Without one the tool is off.
    pub api_key: Option<Secret>,
    /// How thorough the search is.
    pub search_depth: SearchDepth,
    /// The most results.
    pub max_results: BoundedInteger<1, 20>,
    /// The longest text of one result, in characters; 0 is no limit.
    pub max_content_length: BoundedInteger<0, 10_000_000>,
}

/// How thorough the search is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum SearchDepth {
    #[default]
    Basic,
    Advanced,
}

impl Default for WebFetchConfig {
    fn default() -> Self {
        Self {
            enabled: true,
            api_endpoint: None,
            timeout_seconds: BoundedInteger(60),
            max_content_length: BoundedInteger(20_000),
        }
    }
}

impl Default for WebSearchConfig {
    fn default() -> Self {
        Self {
            enabled: true,
            api_key: None,
            search_depth: SearchDepth::Basic,
            max_results: BoundedInteger(5),
            max_content_length: BoundedInteger(500),
        }
    }
}
