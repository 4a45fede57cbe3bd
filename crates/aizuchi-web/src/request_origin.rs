//! Where a request comes from: this machine, or a page of another site.

use axum::extract::Request;
use axum::http::{HeaderMap, HeaderValue, Method, header};

use crate::peer::Client;

/// Whether a page of another origin made the browser send this request. Such a page may only link to a page of ours.
pub fn is_foreign(request: &Request) -> bool {
    let headers = request.headers();
    let host = text(headers, header::HOST);
    let origin = text(headers, header::ORIGIN);
    // A sandboxed page sends the origin `null`, which is never our host.
    let is_of_other_origin =
        origin.is_some_and(|origin| origin.split_once("://").map(|(_, host)| host) != host);
    let site = headers.get("sec-fetch-site").map(HeaderValue::as_bytes);
    // `none` is an address that the user typed. `same-site` is foreign, too: another port or subdomain may belong to
    // another party.
    let is_cross = site.is_some_and(|site| !matches!(site, b"same-origin" | b"none"));
    let is_navigation =
        headers.get("sec-fetch-mode").is_some_and(|mode| mode == "navigate") && is_page(request);
    let is_unclear = [header::HOST, header::ORIGIN].iter().any(|name| is_unclear(headers, name));
    is_unclear || is_of_other_origin || is_cross && !is_navigation
}

/// Whether a header that has one value is sent twice, as a list or unreadably. A proxy may go by another value than
/// this server.
fn is_unclear(headers: &HeaderMap, name: &header::HeaderName) -> bool {
    let is_clear = |value: &HeaderValue| value.to_str().is_ok_and(|value| !value.contains(','));
    let mut values = headers.get_all(name).into_iter();
    values.next().is_some_and(|value| !is_clear(value)) || values.next().is_some()
}

/// Whether a request comes from this machine, and not through a proxy on it.
pub fn is_from_here(request: &Request) -> bool {
    let client = request.extensions().get::<Client>();
    client.is_some_and(|client| is_direct(*client, request.headers()))
}

/// Whether a client is a program on this machine that addresses it by a local host name.
pub fn is_direct(client: Client, headers: &HeaderMap) -> bool {
    client.is_local && is_host_local(headers)
}

/// Whether a request addresses this machine by a local host name.
pub fn is_host_local(headers: &HeaderMap) -> bool {
    text(headers, header::HOST).is_some_and(|host| is_local(host_name(host)))
}

/// Whether a request asks for a page.
pub fn is_page(request: &Request) -> bool {
    let path = request.uri().path();
    let is_path_of_page = matches!(path, "/" | "/login" | "/console")
        || path.starts_with("/decisions/")
        || path.starts_with("/console/");
    request.method() == Method::GET && is_path_of_page
}

/// The value of a header, if it is text.
pub fn text(headers: &HeaderMap, name: header::HeaderName) -> Option<&str> {
    headers.get(name)?.to_str().ok()
}

/// A `Host` without its port.
fn host_name(host: &str) -> &str {
    match host.rsplit_once(':') {
        // `[::1]` has colons and no port.
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        Some(_) | None => host,
    }
}

fn is_local(name: &str) -> bool {
    let address = name.trim_start_matches('[').trim_end_matches(']').parse::<std::net::IpAddr>();
    name.eq_ignore_ascii_case("localhost") || address.is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use axum::body::Body;

    use super::*;

    #[test]
    fn only_loopback_hosts_are_local() {
        for (host, expected) in [
            ("localhost", true),
            ("localhost:8080", true),
            ("127.0.0.1:8080", true),
            ("[::1]:8080", true),
            ("[::1]", true),
            ("example.org:8080", false),
            ("127.0.0.1.example.org", false),
            ("10.0.0.1", false),
        ] {
            assert_eq!(is_local(host_name(host)), expected, "{host}");
        }
    }

    #[test]
    fn other_sites_may_only_link_to_a_page() {
        for (path, headers, expected) in [
            ("/api/channels", vec![], false),
            ("/api/channels", vec![("sec-fetch-site", "same-origin")], false),
            ("/", vec![("sec-fetch-site", "none"), ("sec-fetch-mode", "navigate")], false),
            ("/", vec![("sec-fetch-site", "cross-site"), ("sec-fetch-mode", "navigate")], false),
            ("/", vec![("sec-fetch-site", "cross-site"), ("sec-fetch-mode", "no-cors")], true),
            ("/api/channels", vec![("sec-fetch-site", "same-site")], true),
            (
                "/api/channels",
                vec![("sec-fetch-site", "cross-site"), ("sec-fetch-mode", "navigate")],
                true,
            ),
            ("/", vec![("host", "a.example"), ("origin", "https://a.example")], false),
            ("/", vec![("host", "a.example"), ("origin", "https://b.example")], true),
            ("/", vec![("host", "a.example"), ("origin", "null")], true),
            ("/", vec![("host", "a.example"), ("host", "a.example")], true),
            ("/", vec![("host", "localhost"), ("host", "b.example")], true),
            ("/", vec![("host", "localhost, b.example")], true),
            ("/", vec![("host", "a.example"), ("origin", "https://é.example")], true),
            (
                "/",
                vec![
                    ("host", "a.example"),
                    ("origin", "https://a.example"),
                    ("origin", "https://b.example"),
                ],
                true,
            ),
            (
                "/",
                vec![("host", "a.example"), ("origin", "https://a.example, https://b.example")],
                true,
            ),
        ] {
            let mut request = axum::http::Request::builder().uri(path);
            for (name, value) in &headers {
                request = request.header(*name, *value);
            }
            let request = request.body(Body::empty()).unwrap();
            assert_eq!(is_foreign(&request), expected, "{path} {headers:?}");
        }
    }
}
