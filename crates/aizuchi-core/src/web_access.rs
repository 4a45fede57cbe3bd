//! What a reply may look up on the web: a search, and the text of a page. An address may be chosen by whoever writes
//! into the chat, and a page by whoever runs its server, so both are untrusted.

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

use async_trait::async_trait;

use crate::event::web_call::WebLimits;

/// Longer addresses are not read, in bytes.
pub const MAX_ADDRESS_BYTES: usize = 2_000;

/// A search engine.
#[async_trait]
pub trait WebSearch: Send + Sync {
    async fn search(&self, query: &str) -> Result<SearchAnswer, WebError>;

    /// Whether it can be used as it is configured. Costs as little as possible.
    async fn check(&self) -> Result<(), WebError>;
}

/// Reads pages.
#[async_trait]
pub trait PageReader: Send + Sync {
    async fn read(&self, address: &str) -> Result<Page, WebError>;

    /// Whether it can be used as it is configured.
    async fn check(&self) -> Result<(), WebError>;
}

/// What a search found, the best first.
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
    /// Where it was in the end, after all redirects.
    pub address: String,
    pub title: Option<String>,
    /// Markdown, plain text, JSON or the beginning of a PDF.
    pub text: String,
    /// Whether there was more of it than is ever read.
    pub is_cut: bool,
}

/// Why nothing was found or read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WebError {
    /// Such an address is never read.
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
    /// Neither HTML nor plain text nor JSON, nor a PDF that can be read.
    #[error("it is no text")]
    NotText,
    /// A document of which a beginning is of no use.
    #[error("it is larger than any document that is read")]
    TooLarge,
    /// A page that consists of a program, for example.
    #[error("it has no text that can be read without running it")]
    Empty,
    #[error("the server answered with the status {0}")]
    Status(u16),
    /// The service wants another key.
    #[error("the key is refused")]
    KeyRefused,
    /// What the operator's plan allows is used up for now.
    #[error("no more requests are allowed now")]
    UsedUp,
    /// An instance of SearXNG has JSON off by default.
    #[error("it does not answer in JSON; allow it in search.formats of its settings.yml")]
    NoJson,
    /// The service answered something else than its API promises.
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
    /// Whatever is not on the public internet.
    #[error("it leads into a private network")]
    Internal,
    /// An encrypted page led to one that is not.
    #[error("it leads from https to http")]
    Downgrade,
}

/// What replies may look up on the web, and how often. By default nothing.
#[derive(Clone, Default)]
pub struct WebTools {
    pub search: Option<Arc<dyn WebSearch>>,
    pub reader: Option<Arc<dyn PageReader>>,
    /// The longest text of a page, in characters.
    pub max_page_characters: usize,
    /// The longest text of one search result, in characters.
    pub max_result_characters: usize,
    pub limits: WebLimits,
}

impl WebTools {
    pub fn offered(&self) -> OfferedWebTools {
        OfferedWebTools { search: self.search.is_some(), fetch: self.reader.is_some() }
    }
}

/// Which of the web tools a model is told of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OfferedWebTools {
    pub search: bool,
    pub fetch: bool,
}
