//! The `http` and `health_check` sections.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use schemars::JsonSchema;
use serde::Deserialize;

use crate::config::guessing::is_guessable;
use crate::config::network::Network;
use crate::config::secret::Secret;
use crate::config::values::Port;

/// The pages and their API.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct HttpConfig {
    /// Where the pages are. An address that other machines can reach needs `http.token`.
    pub listen: ListenAddress,
    /// What a visitor must know: at least 16 characters that are hard to guess. Its holder reads and writes in the
    /// local room under any name, and reads the pages of decisions and what could not be posted in any workspace.
    pub token: Option<HttpToken>,
    /// The proxies that say in `X-Forwarded-For` whom they stand for: addresses, or networks like 10.0.0.0/8. What
    /// other peers say of themselves there is not believed.
    pub trusted_proxies: Vec<Network>,
}

/// A second listener, on all interfaces, that says only whether it lives and is ready.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct HealthCheckConfig {
    /// Its port. Left out: there is none.
    pub port: Option<Port>,
}

/// An address and a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(try_from = "String")]
#[schemars(inline)]
pub struct ListenAddress(pub SocketAddr);

/// A secret that is hard to guess.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(try_from = "String")]
#[schemars(inline, extend("format" = "password", "minLength" = 16))]
pub struct HttpToken(pub Secret);

/// The address of the pages at a listener, for a browser on this machine.
pub fn page_address(mut listen: SocketAddr) -> String {
    match listen.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => listen.set_ip(Ipv4Addr::LOCALHOST.into()),
        IpAddr::V6(ip) if ip.is_unspecified() => listen.set_ip(Ipv6Addr::LOCALHOST.into()),
        IpAddr::V4(_) | IpAddr::V6(_) => {}
    }
    format!("http://{listen}")
}

impl Default for HttpConfig {
    fn default() -> Self {
        Self {
            listen: ListenAddress(SocketAddr::from(([127, 0, 0, 1], 8080))),
            token: None,
            trusted_proxies: Vec::new(),
        }
    }
}

impl TryFrom<String> for ListenAddress {
    type Error = &'static str;

    fn try_from(value: String) -> Result<Self, &'static str> {
        value.parse().map(Self).map_err(|_| "it must be an address like 127.0.0.1:8080")
    }
}

impl TryFrom<String> for HttpToken {
    type Error = &'static str;

    fn try_from(value: String) -> Result<Self, &'static str> {
        if value.trim().chars().count() < 16 {
            return Err("it must have at least 16 characters");
        }
        if is_guessable(&value) {
            return Err(
                "it is easy to guess (well-known words, sequences and repeated characters count for little); \
                        make a random one, for example with `openssl rand -hex 16`",
            );
        }
        Ok(Self(Secret::new(&value)))
    }
}
