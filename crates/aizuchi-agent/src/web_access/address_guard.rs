//! Which addresses may be read. A user who writes an address into the chat must not be able to reach, through this
//! machine, what only this machine can reach: itself, its network, and the metadata service that gives cloud machines
//! their keys.
//!
//! The address itself is checked before each request, including redirects. The addresses that its name resolves to are
//! checked when the connection is made, by the resolver in this folder.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use aizuchi_model::ip_network::IpNetwork;
use reqwest::Url;

use crate::web_access::{MAX_ADDRESS_BYTES, RefusedAddress};

/// The standard ports of the web.
pub const WEB_PORTS: [u16; 2] = [80, 443];

/// The IPv4 ranges that are not public, according to the registry of special-purpose addresses.
const RESERVED_V4: [(Ipv4Addr, u32); 16] = [
    // This network
    (Ipv4Addr::new(0, 0, 0, 0), 8),
    // Private
    (Ipv4Addr::new(10, 0, 0, 0), 8),
    (Ipv4Addr::new(172, 16, 0, 0), 12),
    (Ipv4Addr::new(192, 168, 0, 0), 16),
    // Shared by a provider's customers
    (Ipv4Addr::new(100, 64, 0, 0), 10),
    // Loopback
    (Ipv4Addr::new(127, 0, 0, 0), 8),
    // Link-local
    (Ipv4Addr::new(169, 254, 0, 0), 16),
    // Protocol assignments
    (Ipv4Addr::new(192, 0, 0, 0), 24),
    // Documentation
    (Ipv4Addr::new(192, 0, 2, 0), 24),
    (Ipv4Addr::new(198, 51, 100, 0), 24),
    (Ipv4Addr::new(203, 0, 113, 0), 24),
    // 6to4 relays
    (Ipv4Addr::new(192, 88, 99, 0), 24),
    // Benchmarking
    (Ipv4Addr::new(198, 18, 0, 0), 15),
    // Multicast
    (Ipv4Addr::new(224, 0, 0, 0), 4),
    // Reserved, and broadcast
    (Ipv4Addr::new(240, 0, 0, 0), 4),
    // The host of a virtual machine in Azure
    (Ipv4Addr::new(168, 63, 129, 16), 32),
];

/// The range of all public IPv6 addresses. Loopback, mapped and compatible IPv4, NAT64, unique local, link-local,
/// site-local and multicast addresses are outside of it.
const PUBLIC_V6: (Ipv6Addr, u32) = (Ipv6Addr::new(0x2000, 0, 0, 0, 0, 0, 0, 0), 3);

/// Subranges that are not public, or lead to an IPv4 address.
const RESERVED_V6: [(Ipv6Addr, u32); 4] = [
    // Teredo, benchmarking and other protocol assignments
    (Ipv6Addr::new(0x2001, 0, 0, 0, 0, 0, 0, 0), 23),
    // Documentation
    (Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0), 32),
    (Ipv6Addr::new(0x3fff, 0, 0, 0, 0, 0, 0, 0), 20),
    // 6to4
    (Ipv6Addr::new(0x2002, 0, 0, 0, 0, 0, 0, 0), 16),
];

/// The addresses of clouds' metadata services, which hand out the keys of machines. No setting allows these.
const METADATA_ADDRESSES: [IpAddr; 6] = [
    IpAddr::V4(Ipv4Addr::new(169, 254, 169, 254)),
    IpAddr::V4(Ipv4Addr::new(169, 254, 170, 2)),
    IpAddr::V4(Ipv4Addr::new(168, 63, 129, 16)),
    IpAddr::V4(Ipv4Addr::new(100, 100, 100, 200)),
    IpAddr::V4(Ipv4Addr::new(192, 0, 0, 192)),
    IpAddr::V6(Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254)),
];

/// The names of clouds' metadata services.
const METADATA_NAMES: [&str; 6] = [
    "metadata",
    "metadata.google.internal",
    "metadata.goog",
    "metadata.azure.internal",
    "instance-data",
    "instance-data.ec2.internal",
];

/// Suffixes of names that no public server has.
const INTERNAL_ENDS: [&str; 10] = [
    ".localhost", ".localdomain", ".local", ".internal", ".intranet", ".private", ".lan", ".home",
    ".corp", ".home.arpa",
];

/// The rules for addresses.
#[derive(Clone, Debug)]
pub struct AddressGuard {
    /// Networks that may be read although they are not public, such as an intranet.
    allowed: Vec<IpNetwork>,
    ports: Vec<u16>,
}

impl AddressGuard {
    /// Creates a guard that allows these networks and ports in addition to the public internet and the standard ports
    /// of the web.
    pub fn new(allowed: Vec<IpNetwork>, more_ports: &[u16]) -> Self {
        Self { allowed, ports: [&WEB_PORTS[..], more_ports].concat() }
    }

    /// Parses an address. Numbers in any spelling (`0x7f.1`, `2130706433`) become the IPv4 address that they represent.
    pub fn parse(&self, address: &str) -> Result<Url, RefusedAddress> {
        let address = address.trim();
        if address.len() > MAX_ADDRESS_BYTES {
            return Err(RefusedAddress::NoAddress);
        }
        let url = Url::parse(address).map_err(|_| RefusedAddress::NoAddress)?;
        self.check_url(&url)?;
        Ok(url)
    }

    /// Checks everything that can be told from an address itself.
    pub fn check_url(&self, url: &Url) -> Result<(), RefusedAddress> {
        if !matches!(url.scheme(), "http" | "https") {
            return Err(RefusedAddress::Scheme);
        }
        // In `https://known.example@other.example/`, people read the wrong host, and the password would be sent along.
        if !url.username().is_empty() || url.password().is_some() {
            return Err(RefusedAddress::UserInfo);
        }
        let host =
            url.host_str().filter(|host| !host.is_empty()).ok_or(RefusedAddress::NoAddress)?;
        if !url.port_or_known_default().is_some_and(|port| self.ports.contains(&port)) {
            return Err(RefusedAddress::Port);
        }
        match literal_address(host) {
            Some(address) => self.check_address(address),
            // The name may belong to an allowed intranet.
            None if is_metadata_name(host) || is_internal_name(host) && self.allowed.is_empty() => {
                Err(RefusedAddress::Internal)
            }
            None => Ok(()),
        }
    }

    /// Checks all addresses that a name resolves to. If one is not allowed, the name is refused.
    pub fn check_resolved(
        &self,
        host: &str,
        addresses: &[SocketAddr],
    ) -> Result<(), RefusedAddress> {
        if is_metadata_name(host) {
            return Err(RefusedAddress::Internal);
        }
        let is_internal = is_internal_name(host);
        addresses.iter().map(SocketAddr::ip).try_for_each(|address| {
            // An internal name is not made public by a public address.
            if is_internal && !self.is_allowed(address) {
                return Err(RefusedAddress::Internal);
            }
            self.check_address(address)
        })
    }

    fn check_address(&self, address: IpAddr) -> Result<(), RefusedAddress> {
        // A mapped address (`::ffff:169.254.169.254`) reaches the same service.
        let is_metadata = METADATA_ADDRESSES.contains(&address.to_canonical());
        match !is_metadata && (is_public(address) || self.is_allowed(address)) {
            true => Ok(()),
            false => Err(RefusedAddress::Internal),
        }
    }

    fn is_allowed(&self, address: IpAddr) -> bool {
        self.allowed.iter().any(|network| network.contains(address))
    }
}

/// Returns the IP address that a URL's host is, if it is not a name.
fn literal_address(host: &str) -> Option<IpAddr> {
    let v6 = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
    match v6 {
        Some(v6) => v6.parse().ok().map(IpAddr::V6),
        None => host.parse().ok().map(IpAddr::V4),
    }
}

fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => !RESERVED_V4.iter().any(|network| is_in_v4(address, network)),
        IpAddr::V6(address) => {
            let is_reserved = RESERVED_V6.iter().any(|network| is_in_v6(address, network));
            is_in_v6(address, &PUBLIC_V6) && !is_reserved
        }
    }
}

fn is_in_v4(address: Ipv4Addr, (network, prefix): &(Ipv4Addr, u32)) -> bool {
    let rest = Ipv4Addr::BITS - prefix;
    address.to_bits() >> rest == network.to_bits() >> rest
}

fn is_in_v6(address: Ipv6Addr, (network, prefix): &(Ipv6Addr, u32)) -> bool {
    let rest = Ipv6Addr::BITS - prefix;
    address.to_bits() >> rest == network.to_bits() >> rest
}

fn is_metadata_name(host: &str) -> bool {
    // A trailing dot makes a name absolute without changing what it resolves to.
    let host = host.trim_end_matches('.');
    METADATA_NAMES.iter().any(|name| host.eq_ignore_ascii_case(name))
}

/// Whether only a private network can resolve this name: it has a single part, or an internal suffix.
fn is_internal_name(host: &str) -> bool {
    let host = host.trim_end_matches('.').to_ascii_lowercase();
    !host.contains('.') || INTERNAL_ENDS.iter().any(|end| host.ends_with(end))
}

#[cfg(test)]
mod tests;
