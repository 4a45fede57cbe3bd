//! Ports and HTTP clients for tests.

/// A port on which nothing listens.
pub fn free_port() -> u16 {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("loopback has a free port");
    listener.local_addr().expect("a listener has an address").port()
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
