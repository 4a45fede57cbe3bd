//! Access to the pages and the API: with `http.token` for every client that presents the token, otherwise only for
//! this machine.

use std::sync::Arc;

use askama::Template;
use axum::Form;
use axum::extract::rejection::FormRejection;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{Html, IntoResponse, Redirect, Response};
use serde::Deserialize;
use sha2::{Digest, Sha256};

use crate::config::secret::Secret;
use crate::web::{ApiProblem, Web};
use aizuchi_core::texts;

const COOKIE: &str = "aizuchi_token";
/// How long a browser stays logged in.
const COOKIE_MAX_AGE_SECONDS: u32 = 30 * 24 * 3600;

/// The token that opens the pages to other machines.
pub struct AccessToken {
    /// Compared instead of the token, so that the timing of the comparison reveals nothing about it.
    digest: [u8; 32],
    /// The cookie's value. It proves knowledge of the token without containing it.
    cookie: String,
}

impl AccessToken {
    pub fn new(token: &Secret) -> Self {
        let token = token.expose();
        let cookie = Sha256::digest(format!("a browser that knows {token}"));
        let cookie = cookie.iter().map(|byte| format!("{byte:02x}")).collect();
        Self { digest: Sha256::digest(token).into(), cookie }
    }

    fn matches(&self, offered: &str) -> bool {
        let offered: [u8; 32] = Sha256::digest(offered.trim()).into();
        offered == self.digest
    }

    fn is_presented(&self, headers: &HeaderMap) -> bool {
        let bearer =
            text(headers, header::AUTHORIZATION).and_then(|value| value.strip_prefix("Bearer "));
        let cookies = text(headers, header::COOKIE).unwrap_or_default();
        let cookies = cookies.split(';').filter_map(|cookie| cookie.trim().split_once('='));
        let mut values = cookies.filter(|(name, _)| *name == COOKIE).map(|(_, value)| value);
        let is_own = |value: &str| Sha256::digest(value) == Sha256::digest(&self.cookie);
        bearer.is_some_and(|bearer| self.matches(bearer)) || values.any(is_own)
    }
}

/// Middleware: rejects requests without access and adds the security headers to every response.
pub(super) async fn require_access(
    State(web): State<Arc<Web>>,
    request: Request,
    next: Next,
) -> Response {
    let mut response = match access_denied(&web, &request) {
        Some(refusal) => refusal,
        None => next.run(request).await,
    };
    let headers = response.headers_mut();
    let policy =
        "default-src 'self'; img-src 'self' data:; frame-ancestors 'none'; base-uri 'none'";
    headers.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(policy));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    // Not `no-referrer`: browsers would send forms with `Origin: null`.
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("same-origin"));
    response
}

/// The error response if the request has no access. Pages of other sites must not reach the room through a user's
/// browser: neither by DNS rebinding, nor across origins.
fn access_denied(web: &Web, request: &Request) -> Option<Response> {
    let headers = request.headers();
    let host = text(headers, header::HOST);
    let origin = text(headers, header::ORIGIN);
    let is_foreign =
        origin.is_some_and(|origin| origin.split_once("://").map(|(_, host)| host) != host);
    let Some(token) = &web.token else {
        let is_here = host.is_some_and(|host| is_local(host_name(host)));
        let sentence = "the room answers only pages of its own on this machine";
        return (is_foreign || !is_here)
            .then(|| ApiProblem::new(StatusCode::FORBIDDEN, sentence).into_response());
    };
    if is_foreign {
        let sentence = "the room answers only pages of its own";
        return Some(ApiProblem::new(StatusCode::FORBIDDEN, sentence).into_response());
    }
    if is_public_path(request.uri().path()) || token.is_presented(headers) {
        return None;
    }
    if is_page(request) {
        return Some(Redirect::to("/login").into_response());
    }
    let sentence = "this needs the token of http.token, as a bearer";
    Some(ApiProblem::new(StatusCode::UNAUTHORIZED, sentence).into_response())
}

#[derive(Template)]
#[template(path = "login.html")]
struct LoginPage<'a> {
    language: &'a str,
    persona: &'a str,
    question: &'a str,
    label: &'a str,
    button: &'a str,
    error: Option<&'a str>,
}

pub(super) async fn login_page(State(web): State<Arc<Web>>) -> Result<Response, ApiProblem> {
    if web.token.is_none() {
        return Ok(Redirect::to("/").into_response());
    }
    Ok(page(&web, None)?.into_response())
}

#[derive(Deserialize)]
pub(super) struct LoginForm {
    token: String,
}

pub(super) async fn login(
    State(web): State<Arc<Web>>,
    form: Result<Form<LoginForm>, FormRejection>,
) -> Result<Response, ApiProblem> {
    let Some(token) = &web.token else { return Ok(Redirect::to("/").into_response()) };
    let is_known = form.is_ok_and(|Form(form)| token.matches(&form.token));
    if !is_known {
        let error = texts::pages::wrong_token(web.persona.language);
        return Ok((StatusCode::UNAUTHORIZED, page(&web, Some(error))?).into_response());
    }
    let cookie = format!(
        "{COOKIE}={}; Path=/; Max-Age={COOKIE_MAX_AGE_SECONDS}; HttpOnly; SameSite=Strict",
        token.cookie
    );
    Ok(([(header::SET_COOKIE, cookie)], Redirect::to("/")).into_response())
}

fn page(web: &Web, error: Option<&str>) -> Result<Html<String>, ApiProblem> {
    let language = web.persona.language;
    let page = LoginPage {
        language: language.tag(),
        persona: &web.persona.name,
        question: texts::pages::token_needed(language),
        label: texts::pages::token(language),
        button: texts::pages::enter(language),
        error,
    };
    let broken =
        |_| ApiProblem::new(StatusCode::INTERNAL_SERVER_ERROR, "the page could not be made");
    page.render().map(Html).map_err(broken)
}

/// Paths that need no token: health checks, and what the login page consists of.
fn is_public_path(path: &str) -> bool {
    matches!(path, "/live" | "/ready" | "/login") || path.starts_with("/static/")
}

fn is_page(request: &Request) -> bool {
    let path = request.uri().path();
    request.method() == Method::GET && (path == "/" || path.starts_with("/decisions/"))
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
    fn a_token_is_accepted_as_a_bearer_or_as_its_cookie() {
        let token = AccessToken::new(&Secret::new("0123456789abcdef"));
        let cookie = format!("theme=dark; {COOKIE}={}", token.cookie);
        for (name, value, expected) in [
            ("authorization", "Bearer 0123456789abcdef", true),
            ("authorization", "Bearer 0123456789abcdeF", false),
            ("authorization", "0123456789abcdef", false),
            ("cookie", &cookie, true),
            ("cookie", "aizuchi_token=0123456789abcdef", false),
            ("cookie", "", false),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(name, value.parse().unwrap());
            assert_eq!(token.is_presented(&headers), expected, "{name}: {value}");
        }
    }
}
