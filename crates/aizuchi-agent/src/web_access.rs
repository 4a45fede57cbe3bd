//! The web tools of a reply: searching, and reading the text of a page. Any user in the chat may choose an address, and
//! anyone may run the server of a page, so both are untrusted.

pub mod address_guard;
mod resolver;
mod api;
pub mod tavily;
pub mod searxng;
pub mod charset;
mod entities;
mod markup;
mod html;
pub mod direct_reader;
pub mod crawl4ai;

use std::sync::Arc;

use aizuchi_model::flow::web_call::WebLimits;
use async_trait::async_trait;

/// The maximum length of an address, in bytes.
pub const MAX_ADDRESS_BYTES: usize = 2_000;

/// A search engine.
#[async_trait]
pub trait WebSearch: Send + Sync {
    async fn search(&self, query: &str) -> Result<SearchAnswer, WebError>;

    /// Checks whether it can be used as configured, at the lowest possible cost.
    async fn check(&self) -> Result<(), WebError>;
}

/// Reads pages.
#[async_trait]
pub trait PageReader: Send + Sync {
    async fn read(&self, address: &str) -> Result<Page, WebError>;

    /// Checks whether it can be used as configured.
    async fn check(&self) -> Result<(), WebError>;
}

/// The results of a search, best first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SearchAnswer {
    /// A summary by the search engine itself.
    pub summary: Option<String>,
    pub results: Vec<SearchResult>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchResult {
    pub title: String,
    pub address: String,
    pub text: String,
}

/// A page that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    /// The final address, after all redirects.
    pub address: String,
    pub title: Option<String>,
    /// Markdown, plain text, JSON or the beginning of a PDF.
    pub text: String,
    /// Whether the page has more text than the maximum.
    pub is_cut: bool,
}

/// Why a search or a page failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WebError {
    /// The address is never read.
    #[error(transparent)]
    Refused(#[from] RefusedAddress),
    #[error("no answer in time")]
    TimedOut,
    #[error("no connection")]
    Unreachable,
    #[error("the answer broke off or cannot be decoded")]
    Broken,
    #[error("too many redirects")]
    TooManyRedirects,
    /// The page is neither HTML nor plain text nor JSON, nor a readable PDF.
    #[error("it is no text")]
    NotText,
    /// The document exceeds the maximum size, and its beginning alone is useless.
    #[error("it is larger than any document that is read")]
    TooLarge,
    /// The page consists only of a program, for example.
    #[error("it has no text that can be read without running it")]
    Empty,
    #[error("the server answered with the status {0}")]
    Status(u16),
    /// The service refused the key.
    #[error("the key is refused")]
    KeyRefused,
    /// The limits of the operator's plan are exhausted for now.
    #[error("no more requests are allowed now")]
    UsedUp,
    /// JSON is disabled, which is the default of SearXNG.
    #[error("it does not answer in JSON; allow it in search.formats of its settings.yml")]
    NoJson,
    /// The service's answer does not match its API.
    #[error("the answer cannot be understood")]
    Unusable,
}

/// Why an address is not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RefusedAddress {
    #[error("it is no address of a page")]
    NoAddress,
    #[error("it does not begin with http:// or https://")]
    Scheme,
    #[error("it holds a user name or a password")]
    UserInfo,
    #[error("its port is not allowed")]
    Port,
    /// The address is not on the public internet.
    #[error("it leads into a private network")]
    Internal,
    /// A redirect from an encrypted page to an unencrypted one.
    #[error("it leads from https to http")]
    Downgrade,
}

/// The web tools of replies, and their limits. By default there are none.
#[derive(Clone, Default)]
pub struct WebTools {
    pub search: Option<Arc<dyn WebSearch>>,
    pub reader: Option<Arc<dyn PageReader>>,
    /// The maximum length of a page's text, in characters.
    pub max_page_characters: usize,
    /// The maximum length of one search result's text, in characters.
    pub max_result_characters: usize,
    pub limits: WebLimits,
}

impl WebTools {
    pub fn offered(&self) -> OfferedWebTools {
        OfferedWebTools { search: self.search.is_some(), fetch: self.reader.is_some() }
    }
}

/// The web tools that are offered to a model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OfferedWebTools {
    pub search: bool,
    pub fetch: bool,
}
