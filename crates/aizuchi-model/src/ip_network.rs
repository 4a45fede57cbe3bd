//! An address, or all addresses with a common prefix.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use schemars::JsonSchema;
use serde::Deserialize;

/// An IP address, or a network in CIDR notation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(try_from = "String")]
#[schemars(with = "String", inline, extend("minLength" = 2))]
pub struct IpNetwork {
    address: IpAddr,
    /// The number of bits that all its addresses share.
    prefix: u32,
}

impl IpNetwork {
    /// Whether the network contains an address. An IPv4 address written as IPv6 is treated as IPv4.
    pub fn contains(&self, address: IpAddr) -> bool {
        match (self.address, address.to_canonical()) {
            (IpAddr::V4(own), IpAddr::V4(other)) => {
                let mask = u32::MAX.checked_shl(Ipv4Addr::BITS - self.prefix).unwrap_or(0);
                own.to_bits() & mask == other.to_bits() & mask
            }
            (IpAddr::V6(own), IpAddr::V6(other)) => {
                let mask = u128::MAX.checked_shl(Ipv6Addr::BITS - self.prefix).unwrap_or(0);
                own.to_bits() & mask == other.to_bits() & mask
            }
            (IpAddr::V4(_), IpAddr::V6(_)) | (IpAddr::V6(_), IpAddr::V4(_)) => false,
        }
    }
}

impl From<IpAddr> for IpNetwork {
    fn from(address: IpAddr) -> Self {
        let address = address.to_canonical();
        Self { address, prefix: bits(address) }
    }
}

impl TryFrom<String> for IpNetwork {
    type Error = &'static str;

    fn try_from(value: String) -> Result<Self, &'static str> {
        parse(value.trim()).ok_or("it must be an IP address, or a network like 10.0.0.0/8")
    }
}

fn parse(text: &str) -> Option<IpNetwork> {
    let Some((address, prefix)) = text.split_once('/') else {
        return text.parse::<IpAddr>().ok().map(IpNetwork::from);
    };
    let address: IpAddr = address.parse().ok()?;
    let prefix = prefix.parse().ok().filter(|prefix| *prefix <= bits(address))?;
    Some(IpNetwork { address, prefix })
}

fn bits(address: IpAddr) -> u32 {
    match address {
        IpAddr::V4(_) => Ipv4Addr::BITS,
        IpAddr::V6(_) => Ipv6Addr::BITS,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_network_holds_the_addresses_that_begin_like_it() {
        for (network, address, expected) in [
            ("192.0.2.1", "192.0.2.1", true),
            ("192.0.2.1", "::ffff:192.0.2.1", true),
            ("192.0.2.1", "192.0.2.2", false),
            ("::ffff:192.0.2.1", "192.0.2.1", true),
            ("10.0.0.0/8", "10.255.0.1", true),
            ("10.1.2.3/8", "10.255.0.1", true),
            ("10.0.0.0/8", "11.0.0.1", false),
            ("10.0.0.0/31", "10.0.0.1", true),
            ("10.0.0.0/31", "10.0.0.2", false),
            ("10.0.0.1/32", "10.0.0.1", true),
            ("0.0.0.0/0", "203.0.113.9", true),
            ("0.0.0.0/0", "2001:db8::1", false),
            ("2001:db8::/32", "2001:db8:ffff::1", true),
            ("2001:db8::/32", "2001:db9::1", false),
            ("::/0", "2001:db8::1", true),
            ("::1", "::1", true),
        ] {
            let parsed = IpNetwork::try_from(network.to_owned()).unwrap();
            assert_eq!(parsed.contains(address.parse().unwrap()), expected, "{network} {address}");
        }
    }

    #[test]
    fn what_is_no_network_is_refused() {
        for text in
            ["", "here", "10.0.0.0/33", "10.0.0.0/-1", "10.0.0/8", "::/129", "10.0.0.1:80", "/8"]
        {
            assert!(IpNetwork::try_from(text.to_owned()).is_err(), "{text}");
        }
    }
}
