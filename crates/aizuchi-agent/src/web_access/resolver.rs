//! Resolves names for the client that reads pages. The client connects to exactly the addresses that were checked, so a
//! name that resolves to something else a moment later gains nothing.

use std::error::Error;
use std::net::SocketAddr;
use std::sync::Arc;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};

use crate::web_access::address_guard::AddressGuard;

type BoxError = Box<dyn Error + Send + Sync>;

/// The operating system's resolver.
pub struct SystemLookup;

/// A resolver that fails with a [`crate::web_access::RefusedAddress`] if one of a name's addresses is not allowed.
pub struct GuardedResolver {
    pub lookup: Arc<dyn Resolve>,
    pub guard: Arc<AddressGuard>,
}

impl Resolve for SystemLookup {
    fn resolve(&self, name: Name) -> Resolving {
        Box::pin(look_up(name))
    }
}

impl Resolve for GuardedResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let host = name.as_str().to_owned();
        Box::pin(check_addresses(self.lookup.resolve(name), host, self.guard.clone()))
    }
}

async fn look_up(name: Name) -> Result<Addrs, BoxError> {
    let found = tokio::net::lookup_host((name.as_str(), 0)).await?;
    let addresses: Vec<SocketAddr> = found.collect();
    Ok(Box::new(addresses.into_iter()))
}

async fn check_addresses(
    looked_up: Resolving,
    host: String,
    guard: Arc<AddressGuard>,
) -> Result<Addrs, BoxError> {
    let addresses: Vec<SocketAddr> = looked_up.await?.collect();
    guard.check_resolved(&host, &addresses)?;
    Ok(Box::new(addresses.into_iter()))
}
