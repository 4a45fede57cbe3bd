//! Ports and HTTP clients for tests.

/// A port on which nothing listens.
pub fn free_port() -> u16 {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("loopback has a free port");
    listener.local_addr().expect("a listener has an address").port()
}

/// An HTTP client for pages and APIs. reqwest needs a TLS provider even for plain HTTP.
pub fn http() -> reqwest::Client {
    let _ = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::new()
}
