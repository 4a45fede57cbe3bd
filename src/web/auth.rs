//! Access to the pages and the API: with `http.token` for every client that presents the token or the session that it
//! opened, otherwise only for this machine.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Redirect, Response};
use jiff::{SignedDuration, Timestamp};
use sha2::{Digest, Sha256};

use crate::config::secret::Secret;
use crate::web::attempts::Attempts;
use crate::web::language::language_of;
use crate::web::peer::{Client, Peer};
use crate::web::problem_page::{is_for_people, page_for};
use crate::web::sessions::{Session, Sessions};
use crate::web::{ApiProblem, Web};

const STATIC_PATH: &str = "/static/";
/// The cookie with a session's id.
pub const SESSION_COOKIE: &str = "aizuchi_session";

/// The token that opens the pages to other machines, and what it opened.
pub struct Authenticator {
    /// Compared instead of the token, so that the timing of the comparison reveals nothing about it.
    digest: [u8; 32],
    pub sessions: Sessions,
    attempts: Attempts,
}

/// The result of looking at a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenCheck {
    Right,
    Wrong,
    /// The token was not looked at, because its client has sent too many wrong ones. It may try again after this time.
    TooSoon(SignedDuration),
}

/// Who sent a request.
#[derive(Clone, Debug)]
pub struct Visitor {
    /// May read what is private.
    pub is_trusted: bool,
    pub session: Option<Session>,
}

impl Authenticator {
    pub fn new(token: &Secret) -> Self {
        Self {
            digest: Sha256::digest(token.expose()).into(),
            sessions: Sessions::default(),
            attempts: Attempts::default(),
        }
    }

    pub fn check(&self, offered: &str, client: Peer, now: Timestamp) -> TokenCheck {
        if let Some(wait) = self.attempts.wait(client, now) {
            return TokenCheck::TooSoon(wait);
        }
        let offered: [u8; 32] = Sha256::digest(offered.trim()).into();
        if offered == self.digest {
            self.attempts.succeed(client);
            return TokenCheck::Right;
        }
        let (failures, wait) = self.attempts.fail(client, now);
        let wait_seconds = wait.as_secs();
        tracing::warn!(%client, failures, wait_seconds, "a client offered a wrong token");
        TokenCheck::Wrong
    }

    fn session(&self, headers: &HeaderMap, now: Timestamp) -> Option<Session> {
        let cookies = text(headers, header::COOKIE).unwrap_or_default().split(';');
        let cookies = cookies.filter_map(|cookie| cookie.trim().split_once('='));
        let mut ids = cookies.filter(|(name, _)| *name == SESSION_COOKIE).map(|(_, id)| id);
        ids.find_map(|id| self.sessions.find(id, now))
    }
}

/// Middleware: rejects requests without access and adds the security headers to every response.
pub(super) async fn require_access(
    State(web): State<Arc<Web>>,
    mut request: Request,
    next: Next,
) -> Response {
    let is_private = !request.uri().path().starts_with(STATIC_PATH);
    let page_language = is_for_people(request.method(), request.uri().path(), request.headers())
        .then(|| language_of(request.headers()).unwrap_or(web.persona.language));
    let mut response = match admit(&web, &request) {
        Err(refusal) => *refusal,
        Ok(visitor) => {
            request.extensions_mut().insert(visitor);
            next.run(request).await
        }
    };
    if let Some(language) = page_language {
        response = page_for(response, language);
    }
    let headers = response.headers_mut();
    add_security_headers(headers);
    // Static files are the same for everybody.
    if is_private {
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    }
    response
}

fn add_security_headers(headers: &mut HeaderMap) {
    let policy = "default-src 'self'; img-src 'self' data:; form-action 'self'; \
                  frame-ancestors 'none'; base-uri 'none'";
    headers.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(policy));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert("cross-origin-resource-policy", HeaderValue::from_static("same-origin"));
    // Not `no-referrer`: browsers would send forms with `Origin: null`.
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("same-origin"));
}

/// The visitor behind a request, or the error response if it has no access. Pages of other sites must not reach the
/// room through a user's browser: neither by DNS rebinding, nor across origins.
fn admit(web: &Web, request: &Request) -> Result<Visitor, Box<Response>> {
    let headers = request.headers();
    let is_foreign = is_foreign(request);
    let Some(authenticator) = &web.authenticator else {
        if is_foreign || !is_host_local(headers) {
            let sentence = "the room answers only pages of its own on this machine";
            return Err(refusal(StatusCode::FORBIDDEN, sentence));
        }
        if !is_from_here(request) {
            let sentence = "what a proxy forwards to the room needs http.token";
            return Err(refusal(StatusCode::FORBIDDEN, sentence));
        }
        return Ok(Visitor { is_trusted: true, session: None });
    };
    if is_foreign {
        return Err(refusal(StatusCode::FORBIDDEN, "the room answers only pages of its own"));
    }
    let now = web.clock.now();
    if let Some(session) = authenticator.session(headers, now) {
        return Ok(Visitor { is_trusted: true, session: Some(session) });
    }
    let bearer =
        text(headers, header::AUTHORIZATION).and_then(|value| value.strip_prefix("Bearer "));
    let client = request.extensions().get::<Client>();
    let check =
        bearer.zip(client).map(|(bearer, client)| authenticator.check(bearer, client.peer, now));
    if check == Some(TokenCheck::Right) {
        return Ok(Visitor { is_trusted: true, session: None });
    }
    if is_public_path(request.uri().path()) {
        return Ok(Visitor { is_trusted: is_from_here(request), session: None });
    }
    if let Some(TokenCheck::TooSoon(wait)) = check {
        let sentence = "there were too many wrong tokens; try again later";
        let problem = ApiProblem::new(StatusCode::TOO_MANY_REQUESTS, sentence);
        let seconds = HeaderValue::from(wait.as_secs().unsigned_abs() + 1);
        return Err(Box::new(([(header::RETRY_AFTER, seconds)], problem).into_response()));
    }
    if is_page(request) {
        return Err(Box::new(Redirect::to("/login").into_response()));
    }
    Err(refusal(StatusCode::UNAUTHORIZED, "this needs the token of http.token, as a bearer"))
}

fn refusal(status: StatusCode, sentence: &str) -> Box<Response> {
    Box::new(ApiProblem::new(status, sentence).into_response())
}

/// Whether a page of another origin has a browser send this request. It may only link to a page of ours.
fn is_foreign(request: &Request) -> bool {
    let headers = request.headers();
    let host = text(headers, header::HOST);
    let origin = text(headers, header::ORIGIN);
    let is_of_other_origin =
        origin.is_some_and(|origin| origin.split_once("://").map(|(_, host)| host) != host);
    let site = headers.get("sec-fetch-site").map(HeaderValue::as_bytes);
    let is_cross = site.is_some_and(|site| !matches!(site, b"same-origin" | b"none"));
    let is_navigation =
        headers.get("sec-fetch-mode").is_some_and(|mode| mode == "navigate") && is_page(request);
    is_of_other_origin || is_cross && !is_navigation
}

/// Whether a request comes from this machine, and not through a proxy on it.
pub(super) fn is_from_here(request: &Request) -> bool {
    let client = request.extensions().get::<Client>();
    client.is_some_and(|client| is_direct(*client, request.headers()))
}

/// Whether a client is a program on this machine that addresses it as such.
pub(super) fn is_direct(client: Client, headers: &HeaderMap) -> bool {
    client.is_local && is_host_local(headers)
}

fn is_host_local(headers: &HeaderMap) -> bool {
    text(headers, header::HOST).is_some_and(|host| is_local(host_name(host)))
}

/// Paths that need no token: health checks, and what the sign-in page consists of.
fn is_public_path(path: &str) -> bool {
    matches!(path, "/live" | "/ready" | "/login") || path.starts_with(STATIC_PATH)
}

fn is_page(request: &Request) -> bool {
    let path = request.uri().path();
    let is_path_of_page = matches!(path, "/" | "/login") || path.starts_with("/decisions/");
    request.method() == Method::GET && is_path_of_page
}

fn text(headers: &HeaderMap, name: header::HeaderName) -> Option<&str> {
    headers.get(name)?.to_str().ok()
}

/// A `Host` without its port.
fn host_name(host: &str) -> &str {
    match host.rsplit_once(':') {
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
    fn a_token_is_not_looked_at_after_too_many_wrong_ones() {
        let authenticator = Authenticator::new(&Secret::new("0123456789abcdef"));
        let client = |address: [u8; 4]| Peer::new(address.into());
        let (guesser, other) = (client([192, 0, 2, 1]), client([192, 0, 2, 2]));
        let now = Timestamp::UNIX_EPOCH;
        let check = |token: &str, client: Peer| authenticator.check(token, client, now);
        assert_eq!(check("0123456789abcdeF", guesser), TokenCheck::Wrong);
        assert_eq!(check(" 0123456789abcdef\n", guesser), TokenCheck::Right);
        (0..3).for_each(|_| assert_eq!(check("", guesser), TokenCheck::Wrong));
        let wait = SignedDuration::from_secs(2);
        assert_eq!(check("0123456789abcdef", guesser), TokenCheck::TooSoon(wait));
        assert_eq!(check("0123456789abcdef", other), TokenCheck::Right);
    }

    #[test]
    fn a_session_is_found_by_its_cookie() {
        let authenticator = Authenticator::new(&Secret::new("0123456789abcdef"));
        let now = Timestamp::UNIX_EPOCH;
        let id = authenticator.sessions.open(now).unwrap();
        for (cookie, expected) in [
            (format!("theme=dark; {SESSION_COOKIE}={id}"), true),
            (format!("{SESSION_COOKIE}=; {SESSION_COOKIE}={id}"), true),
            (format!("{SESSION_COOKIE}={}", &id[1..]), false),
            (format!("{SESSION_COOKIE}=0123456789abcdef"), false),
            (String::new(), false),
        ] {
            let headers = HeaderMap::from_iter([(header::COOKIE, cookie.parse().unwrap())]);
            assert_eq!(authenticator.session(&headers, now).is_some(), expected, "{cookie}");
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
