//! Ports and HTTP clients for tests.

use std::net::TcpListener;
use std::sync::atomic::{AtomicU32, Ordering};

/// The ports that [`free_port`] takes: below those that Linux gives to connections, each of which could take a port
/// while a test restarts what listens there.
const PORTS: std::ops::Range<u32> = 10_000..32_000;

/// A port on which nothing listens, and which no other test of this process gets. Processes that start one after the
/// other begin a hundred ports apart.
pub fn free_port() -> u16 {
    static TAKEN: AtomicU32 = AtomicU32::new(0);
    let first = std::process::id().wrapping_mul(100);
    let next = || first.wrapping_add(TAKEN.fetch_add(1, Ordering::Relaxed)) % PORTS.len() as u32;
    std::iter::repeat_with(next)
        .take(PORTS.len())
        .filter_map(|offset| u16::try_from(PORTS.start + offset).ok())
        .find(|port| TcpListener::bind(("127.0.0.1", *port)).is_ok())
        .expect("loopback has a free port")
}

/// An HTTP client for pages and APIs on this machine.
pub fn http() -> reqwest::Client {
    http_builder().build().expect("a client without certificates can be built")
}

/// A builder for that client, for tests that change something about it.
pub fn http_builder() -> reqwest::ClientBuilder {
    // reqwest needs a TLS provider even for plain HTTP.
    let _ = rustls::crypto::ring::default_provider().install_default();
    // Nothing here speaks TLS, and reading the system's certificates takes longer than a request.
    reqwest::Client::builder().tls_certs_only([])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_are_distinct_and_never_those_of_connections() {
        let ports: Vec<u16> = (0..50).map(|_| free_port()).collect();
        let distinct: std::collections::HashSet<u16> = ports.iter().copied().collect();
        assert_eq!(distinct.len(), ports.len());
        // The first port that Linux gives to connections, unless the machine is set to a range that leaves none.
        assert!(ports.iter().all(|port| *port < 32_768), "{ports:?}");
    }
}
