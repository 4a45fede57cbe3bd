//! Who a connection or a request comes from, as far as limits are concerned.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr};

use axum::http::HeaderMap;

/// An address, or for IPv6 the network that one subscriber has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Peer(IpAddr);

/// The bits of an IPv6 address that name the network of a subscriber.
const SUBSCRIBER_BITS: u128 = !0 << 64;

impl Peer {
    pub fn new(address: IpAddr) -> Self {
        Self(match address.to_canonical() {
            IpAddr::V6(address) if !address.is_loopback() => {
                Ipv6Addr::from_bits(address.to_bits() & SUBSCRIBER_BITS).into()
            }
            address => address,
        })
    }

    pub fn is_loopback(self) -> bool {
        self.0.is_loopback()
    }

    /// The client behind this peer. A proxy on this machine adds the client's address as the last one; other peers
    /// could claim any.
    pub fn client(self, headers: &HeaderMap) -> Self {
        let forwarded = headers.get_all("x-forwarded-for").into_iter().next_back();
        let forwarded = forwarded.and_then(|value| value.to_str().ok()?.rsplit(',').next());
        match forwarded.and_then(|address| address.trim().parse().ok()) {
            Some(address) if self.is_loopback() => Self::new(address),
            Some(_) | None => self,
        }
    }
}

impl fmt::Display for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn peer(address: &str) -> Peer {
        Peer::new(address.parse().unwrap())
    }

    #[test]
    fn the_addresses_of_one_subscriber_are_one_peer() {
        assert_eq!(peer("2001:db8:1:2::3"), peer("2001:db8:1:2:ffff::4"));
        assert_ne!(peer("2001:db8:1:2::3"), peer("2001:db8:1:3::3"));
        assert_eq!(peer("::ffff:192.0.2.1"), peer("192.0.2.1"));
        assert_ne!(peer("192.0.2.1"), peer("192.0.2.2"));
        assert!(peer("::1").is_loopback() && peer("127.0.0.2").is_loopback());
    }

    #[test]
    fn only_a_proxy_on_this_machine_can_name_its_client() {
        let headers = |value: &str| {
            HeaderMap::from_iter([("x-forwarded-for".parse().unwrap(), value.parse().unwrap())])
        };
        let local = peer("127.0.0.1");
        assert_eq!(local.client(&headers("203.0.113.9, 192.0.2.1")), peer("192.0.2.1"));
        assert_eq!(local.client(&headers("somebody")), local);
        assert_eq!(local.client(&HeaderMap::new()), local);
        let other = peer("198.51.100.1");
        assert_eq!(other.client(&headers("192.0.2.1")), other);
    }
}
