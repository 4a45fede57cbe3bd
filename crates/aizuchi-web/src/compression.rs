//! Compresses text responses for clients that accept gzip. Event streams are sent uncompressed, event by event.

use std::io::Write as _;

use axum::body::{Body, to_bytes};
use axum::extract::Request;
use axum::http::{HeaderMap, HeaderValue, header};
use axum::middleware::Next;
use axum::response::Response;
use flate2::Compression;
use flate2::write::GzEncoder;
use http_body::Body as _;

/// Shorter bodies gain nothing from compression.
const LEAST_BYTES: u64 = 1024;
/// Longer bodies are not buffered in memory for compression.
const MOST_BYTES: u64 = 16 << 20;
/// Each page is rendered for one reader, so time counts more than the last percent of size.
const LEVEL: u32 = 5;

/// Middleware that compresses text responses.
pub async fn compress(request: Request, next: Next) -> Response {
    let is_wanted = takes_gzip(request.headers());
    let response = next.run(request).await;
    if !is_text(response.headers()) || response.headers().contains_key(header::CONTENT_ENCODING) {
        return response;
    }
    let (mut head, body) = response.into_parts();
    // Caches must not serve a compressed body to a client that cannot read it.
    head.headers.append(header::VARY, HeaderValue::from_static("accept-encoding"));
    let length = body.size_hint().exact();
    let is_fit = length.is_some_and(|length| (LEAST_BYTES..=MOST_BYTES).contains(&length));
    if !is_wanted || !is_fit {
        return Response::from_parts(head, body);
    }
    let most = usize::try_from(MOST_BYTES).unwrap_or(usize::MAX);
    let Ok(bytes) = to_bytes(body, most).await else {
        return Response::from_parts(head, Body::empty());
    };
    match gzip(&bytes) {
        Ok(smaller) => {
            head.headers.remove(header::CONTENT_LENGTH);
            head.headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
            weaken_tag(&mut head.headers);
            Response::from_parts(head, Body::from(smaller))
        }
        Err(_) => Response::from_parts(head, Body::from(bytes)),
    }
}

fn gzip(bytes: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::with_capacity(bytes.len() / 3), Compression::new(LEVEL));
    encoder.write_all(bytes)?;
    encoder.finish()
}

/// Makes the entity tag weak. A strong tag identifies the exact bytes, and compression changes them.
fn weaken_tag(headers: &mut HeaderMap) {
    let strong = headers.get(header::ETAG).and_then(|tag| tag.to_str().ok());
    let weak = strong.filter(|tag| !tag.starts_with("W/")).map(|tag| format!("W/{tag}"));
    if let Some(weak) = weak.and_then(|weak| HeaderValue::from_str(&weak).ok()) {
        headers.insert(header::ETAG, weak);
    }
}

fn is_text(headers: &HeaderMap) -> bool {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    let kind = kind.unwrap_or_default().split(';').next().unwrap_or_default().trim();
    let is_other_text =
        matches!(kind, "application/json" | "application/javascript" | "image/svg+xml");
    is_other_text || kind.starts_with("text/") && kind != "text/event-stream"
}

/// Whether the client accepts gzip (RFC 9110 §12.5.3). A weight of 0 refuses it.
fn takes_gzip(headers: &HeaderMap) -> bool {
    let accepted = headers.get(header::ACCEPT_ENCODING).and_then(|value| value.to_str().ok());
    accepted.unwrap_or_default().split(',').any(|coding| {
        let mut parts = coding.split(';').map(str::trim);
        let is_gzip = parts.next().is_some_and(|name| name.eq_ignore_ascii_case("gzip"));
        let weight = parts.find_map(|part| part.strip_prefix("q=")?.parse::<f32>().ok());
        is_gzip && weight.is_none_or(|weight| weight > 0.0)
    })
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use flate2::read::GzDecoder;

    use super::*;

    #[test]
    fn only_what_is_wanted_and_text_is_made_smaller() {
        let headers = |name: header::HeaderName, value: &str| {
            HeaderMap::from_iter([(name, HeaderValue::from_str(value).unwrap())])
        };
        for (accepted, expected) in [
            ("gzip, deflate, br", true),
            ("br;q=1.0, GZIP;q=0.5", true),
            ("gzip;q=0", false),
            ("identity", false),
            ("", false),
        ] {
            let found = takes_gzip(&headers(header::ACCEPT_ENCODING, accepted));
            assert_eq!(found, expected, "{accepted}");
        }
        for (kind, expected) in [
            ("text/html; charset=utf-8", true),
            ("text/css", true),
            ("application/json", true),
            ("text/event-stream", false),
            ("image/webp", false),
        ] {
            assert_eq!(is_text(&headers(header::CONTENT_TYPE, kind)), expected, "{kind}");
        }
    }

    #[test]
    fn what_is_made_smaller_is_the_same_again() {
        let text = "a kettle and a cup. ".repeat(500);
        let smaller = gzip(text.as_bytes()).unwrap();
        assert!(smaller.len() < text.len() / 10, "{} bytes", smaller.len());
        let mut again = String::new();
        GzDecoder::new(&*smaller).read_to_string(&mut again).unwrap();
        assert_eq!(again, text);
    }
}
