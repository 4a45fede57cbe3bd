//! Reads pages through a service of the operator's, which also runs their scripts: anything with the API of crawl4ai.
//! The service connects to pages itself, so it has to limit what it may reach. Addresses that this machine would not
//! read are not passed to it.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use async_trait::async_trait;
use reqwest::dns::{Name, Resolve};
use reqwest::{Client, Url};
use serde::Deserialize;
use serde_json::json;

use crate::web_access::address_guard::AddressGuard;
use crate::web_access::api::{api_client, fetch_json};
use crate::web_access::resolver::{GuardedResolver, SystemLookup};
use crate::web_access::{Page, PageReader, RefusedAddress, WebError};

pub struct Crawl4ai {
    http: Client,
    /// The URL for requesting the Markdown of a page.
    endpoint: Url,
    guard: Arc<AddressGuard>,
    resolver: GuardedResolver,
    timeout: Duration,
}

#[derive(Deserialize)]
struct ServiceAnswer {
    #[serde(default)]
    success: bool,
    markdown: Option<String>,
}

impl Crawl4ai {
    /// Creates a client for the service at `base`, which ends with a slash.
    pub fn new(base: &str, guard: AddressGuard, timeout: Duration) -> anyhow::Result<Self> {
        let endpoint = Url::parse(base).and_then(|base| base.join("md"));
        let endpoint =
            endpoint.context("the address of the service that reads pages cannot be used")?;
        let guard = Arc::new(guard);
        let resolver = GuardedResolver { lookup: Arc::new(SystemLookup), guard: guard.clone() };
        Ok(Self { http: api_client()?, endpoint, guard, resolver, timeout })
    }

    /// Checks what the name of an address resolves to here. If the service resolves it differently, only its own
    /// network can restrict it.
    async fn check_name(&self, url: &Url) -> Result<(), WebError> {
        let Some(host) = url.host_str().filter(|host| !host.starts_with('[')) else {
            return Ok(());
        };
        let name: Name = host.parse().map_err(|_| RefusedAddress::NoAddress)?;
        let resolved = self.resolver.resolve(name).await;
        let resolved = resolved.map_err(|error| match error.downcast_ref::<RefusedAddress>() {
            Some(refusal) => (*refusal).into(),
            None => WebError::Unreachable,
        })?;
        let addresses: Vec<SocketAddr> = resolved.collect();
        if addresses.is_empty() { Err(WebError::Unreachable) } else { Ok(()) }
    }
}

#[async_trait]
impl PageReader for Crawl4ai {
    async fn read(&self, address: &str) -> Result<Page, WebError> {
        let url = self.guard.parse(address)?;
        self.check_name(&url).await?;
        let request = self.http.post(self.endpoint.clone()).timeout(self.timeout);
        let request =
            request.json(&json!({ "url": url.as_str(), "f": "llm", "q": null, "c": "0" }));
        let answer: ServiceAnswer =
            serde_json::from_value(fetch_json(request).await?).map_err(|_| WebError::Unusable)?;
        if !answer.success {
            return Err(WebError::Unreachable);
        }
        let text = answer.markdown.unwrap_or_default().trim().to_owned();
        if text.is_empty() {
            return Err(WebError::Empty);
        }
        Ok(Page { address: url.into(), title: None, text, is_cut: false })
    }

    /// Checks whether the service responds: reading a page would also need the internet.
    async fn check(&self) -> Result<(), WebError> {
        let request = self.http.get(self.endpoint.clone()).timeout(self.timeout);
        match fetch_json(request).await {
            Err(error @ (WebError::TimedOut | WebError::Unreachable)) => Err(error),
            Ok(_) | Err(_) => Ok(()),
        }
    }
}
