//! The sender of a connection or a request, as far as limits and trust are concerned.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::sync::Arc;

use aizuchi_model::ip_network::IpNetwork;
use axum::http::HeaderMap;

/// An address, or for IPv6 the network of one subscriber.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Peer(IpAddr);

/// The proxies that are trusted to name their clients.
#[derive(Clone, Debug, Default)]
pub struct TrustedProxies(Arc<[IpNetwork]>);

/// The sender of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Client {
    /// The peer that limits apply to: behind a trusted proxy, the client and not the proxy.
    pub peer: Peer,
    /// Whether the sender is a program on this machine, as far as the connection and the proxies tell.
    pub is_local: bool,
    /// Whether the connection comes from a trusted proxy.
    pub is_from_proxy: bool,
}

/// The bits of an IPv6 address that identify the network of a subscriber.
const SUBSCRIBER_BITS: u128 = !0 << 64;
/// The headers that show that a proxy has forwarded a request.
const PROXY_HEADERS: [&str; 6] =
    ["forwarded", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "x-real-ip", "via"];

impl Peer {
    pub fn new(address: IpAddr) -> Self {
        // A dual-stack socket shows an IPv4 client as `::ffff:192.0.2.1`.
        Self(match address.to_canonical() {
            IpAddr::V6(address) if !address.is_loopback() => {
                Ipv6Addr::from_bits(address.to_bits() & SUBSCRIBER_BITS).into()
            }
            address => address,
        })
    }
}

impl fmt::Display for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl TrustedProxies {
    pub fn new(networks: &[IpNetwork]) -> Self {
        Self(networks.into())
    }

    pub fn contains(&self, address: IpAddr) -> bool {
        self.0.iter().any(|network| network.contains(address))
    }

    /// Returns the sender of a request that came over a connection from `address`.
    pub fn client(&self, address: IpAddr, headers: &HeaderMap) -> Client {
        let is_forwarded = PROXY_HEADERS.iter().any(|name| headers.contains_key(*name));
        Client {
            peer: Peer::new(self.resolve(address, headers)),
            // A proxy on this machine connects from a loopback address on behalf of other machines.
            is_local: address.to_canonical().is_loopback() && !is_forwarded,
            is_from_proxy: self.contains(address),
        }
    }

    /// Follows the addresses that each proxy has added, the last one first, as long as trusted proxies added them. The
    /// client may have forged everything before an entry that cannot be parsed.
    fn resolve(&self, address: IpAddr, headers: &HeaderMap) -> IpAddr {
        let values = headers.get_all("x-forwarded-for").into_iter();
        // An unreadable value must not be left out: an earlier entry, which the client may have forged, would count.
        let values: Vec<&str> = values.map(|value| value.to_str().unwrap_or("?")).collect();
        let entries = values.iter().flat_map(|value| value.split(',')).map(str::trim);
        let mut entries = entries.filter(|entry| !entry.is_empty()).rev();
        let mut client = address;
        while self.contains(client) {
            let Some(before) = entries.next().and_then(parse_address) else { break };
            client = before;
        }
        client
    }
}

/// Parses an address, with or without a port.
fn parse_address(entry: &str) -> Option<IpAddr> {
    let entry = entry.trim_matches('"');
    let bracketed = entry.strip_prefix('[').and_then(|entry| entry.strip_suffix(']'));
    let with_port = || entry.parse::<SocketAddr>().ok().map(|address| address.ip());
    bracketed.unwrap_or(entry).parse().ok().or_else(with_port)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    fn peer(text: &str) -> Peer {
        Peer::new(address(text))
    }

    fn headers(headers: &[(&str, &str)]) -> HeaderMap {
        let headers = headers.iter();
        headers.map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect()
    }

    fn proxies(networks: &[&str]) -> TrustedProxies {
        let networks: Vec<IpNetwork> =
            networks.iter().map(|network| (*network).to_owned().try_into().unwrap()).collect();
        TrustedProxies::new(&networks)
    }

    #[test]
    fn the_addresses_of_one_subscriber_are_one_peer() {
        assert_eq!(peer("2001:db8:1:2::3"), peer("2001:db8:1:2:ffff::4"));
        assert_ne!(peer("2001:db8:1:2::3"), peer("2001:db8:1:3::3"));
        assert_eq!(peer("::ffff:192.0.2.1"), peer("192.0.2.1"));
        assert_ne!(peer("192.0.2.1"), peer("192.0.2.2"));
    }

    #[test]
    fn the_client_is_the_last_address_that_no_trusted_proxy_has() {
        let trusted = proxies(&["10.0.0.0/8", "127.0.0.1", "2001:db8:1::/48"]);
        for (from, forwarded, expected) in [
            ("10.0.0.1", "192.0.2.1", "192.0.2.1"),
            ("::ffff:10.0.0.1", "192.0.2.1", "192.0.2.1"),
            ("2001:db8:1::1", "192.0.2.1", "192.0.2.1"),
            ("10.0.0.1", "203.0.113.9, 192.0.2.1", "192.0.2.1"),
            ("10.0.0.1", "203.0.113.9, 192.0.2.1, 10.0.0.2,10.0.0.3", "192.0.2.1"),
            ("10.0.0.1", "192.0.2.1:4711", "192.0.2.1"),
            ("10.0.0.1", "[2001:db8::1]:4711", "2001:db8::1"),
            ("10.0.0.1", "[2001:db8::1]", "2001:db8::1"),
            ("10.0.0.1", "\"[2001:db8::1]:4711\"", "2001:db8::1"),
            ("10.0.0.1", "2001:db8::1", "2001:db8::1"),
            ("10.0.0.1", " 192.0.2.1 , ", "192.0.2.1"),
            // All of them are trusted, so the first one is the client.
            ("10.0.0.1", "10.0.0.9, 10.0.0.2", "10.0.0.9"),
            // The proxy did not name its client, and anything before that entry may be forged.
            ("10.0.0.1", "unknown", "10.0.0.1"),
            ("10.0.0.1", "203.0.113.9, unknown", "10.0.0.1"),
            ("10.0.0.1", "203.0.113.9, 192.0.2.1.5, 10.0.0.2", "10.0.0.2"),
            ("10.0.0.1", "", "10.0.0.1"),
            // Other senders may claim anything.
            ("198.51.100.1", "192.0.2.1", "198.51.100.1"),
            ("127.0.0.2", "192.0.2.1", "127.0.0.2"),
        ] {
            let client = trusted.client(address(from), &headers(&[("x-forwarded-for", forwarded)]));
            assert_eq!(client.peer, peer(expected), "{from}: {forwarded}");
        }
        // Each proxy may add a separate header.
        let both = headers(&[("x-forwarded-for", "203.0.113.9"), ("x-forwarded-for", "192.0.2.1")]);
        assert_eq!(trusted.client(address("10.0.0.1"), &both).peer, peer("192.0.2.1"));
        let bare = trusted.client(address("10.0.0.1"), &HeaderMap::new());
        assert_eq!(bare.peer, peer("10.0.0.1"));
        let nobody = TrustedProxies::default();
        let forged = headers(&[("x-forwarded-for", "192.0.2.1")]);
        assert_eq!(nobody.client(address("127.0.0.1"), &forged).peer, peer("127.0.0.1"));
    }

    #[test]
    fn nothing_that_a_proxy_forwards_comes_from_this_machine() {
        for trusted in [proxies(&[]), proxies(&["127.0.0.1", "::1"])] {
            let is_local = |from: &str, names: &[(&str, &str)]| {
                trusted.client(address(from), &headers(names)).is_local
            };
            assert!(is_local("127.0.0.1", &[]) && is_local("::1", &[]));
            assert!(is_local("::ffff:127.0.0.1", &[]));
            assert!(!is_local("192.0.2.1", &[]));
            assert!(!is_local("192.0.2.1", &[("x-forwarded-for", "127.0.0.1")]));
            for header in PROXY_HEADERS {
                assert!(!is_local("127.0.0.1", &[(header, "127.0.0.1")]), "{header}");
            }
        }
    }
}
