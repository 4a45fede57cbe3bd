//! Who is admitted to the pages and the API: the middleware before every handler.

use std::sync::Arc;

use aizuchi_actions::access::Access;
use aizuchi_model::access_role::AccessRole;
use aizuchi_model::access_scope::AccessScope;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Redirect, Response};
use hyper::service::Service as _;
use hyper_util::service::TowerToHyperService;

use crate::access::{FrameState, Visitor, allows};
use crate::auth::TokenCheck;
use crate::console::layout::encode;
use crate::language::language_of;
use crate::own_page::OwnPage;
use crate::peer::Client;
use crate::problem_page::RefusedRequest;
use crate::refusal::Refusal;
use crate::request_origin::{is_foreign, is_from_here, is_host_local, is_page, text};
use crate::{ApiProblem, Web, routes};

const STATIC_PATH: &str = "/static/";

/// Middleware: rejects requests without access and adds the security headers to every response.
pub async fn require_access(
    State(web): State<Arc<Web>>,
    mut request: Request,
    next: Next,
) -> Response {
    let is_private = !request.uri().path().starts_with(STATIC_PATH);
    let language = language_of(request.headers()).unwrap_or(web.persona.language);
    let asked = RefusedRequest::new(&request, language);
    let response = match admit(&web, &request) {
        Err(refusal) => *refusal,
        Ok(visitor) => {
            let scope = visitor.access.scope().clone();
            request.extensions_mut().insert(visitor);
            match scope {
                AccessScope::Everything => next.run(request).await,
                // Everything that is handled below knows only these places.
                AccessScope::Only(_) => {
                    let limited = TowerToHyperService::new(routes(Arc::new(web.within(&scope))));
                    limited.call(request).await.into_response()
                }
            }
        }
    };
    let mut response = asked.translate(response);
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
    // Files that users have sent have a stricter policy.
    let policy = HeaderValue::from_static(policy);
    headers.entry(header::CONTENT_SECURITY_POLICY).or_insert(policy);
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert("cross-origin-resource-policy", HeaderValue::from_static("same-origin"));
    // Not `no-referrer`: browsers would send forms with `Origin: null`.
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("same-origin"));
}

/// Returns the visitor behind a request, or the error response if they have no access. Pages of other sites must not
/// reach the room through a user's browser: neither by DNS rebinding, nor across origins.
fn admit(web: &Web, request: &Request) -> Result<Visitor, Box<Response>> {
    let headers = request.headers();
    let is_foreign = is_foreign(request);
    let (authenticator, now) = (&web.authenticator, web.clock.now());
    let frame = FrameState { revision: *web.revisions.borrow(), ..FrameState::default() };
    if !authenticator.is_closed() {
        if is_foreign || !is_host_local(headers) {
            return Err(refuse(Refusal::OtherSiteOrMachine));
        }
        if !is_from_here(request) {
            return Err(refuse(Refusal::ForwardedWithoutToken));
        }
        // Without a token, a sign-in link from the command line grants the role of an admin, or a lesser one.
        let session = authenticator.session(headers, now);
        let access = match &session {
            Some(session) => Access::SignedIn(session.holder.clone()),
            None => Access::ThisMachine,
        };
        let visitor = Visitor { access, is_trusted: true, session, token_ended: None, frame };
        return permit(request, visitor);
    }
    if is_foreign {
        return Err(refuse(Refusal::OtherSite));
    }
    if let Some(session) = authenticator.session(headers, now) {
        let access = Access::SignedIn(session.holder.clone());
        let is_trusted = session.holder.scope == AccessScope::Everything;
        let (session, token_ended) = (Some(session), None);
        let visitor = Visitor { access, is_trusted, session, token_ended, frame };
        return permit(request, visitor);
    }
    let bearer = text(headers, header::AUTHORIZATION).and_then(|value| value.split_once(' '));
    // The scheme's name is case-insensitive (RFC 9110, 11.1).
    let bearer = bearer.filter(|(scheme, _)| scheme.eq_ignore_ascii_case("Bearer"));
    let bearer = bearer.map(|(_, token)| token);
    if let Some(holder) = bearer.and_then(|code| authenticator.code_holder(request, code, now)) {
        let access = Access::SignedIn(holder);
        let (session, token_ended) = (None, None);
        let visitor = Visitor { access, is_trusted: true, session, token_ended, frame };
        return permit(request, visitor);
    }
    let client = request.extensions().get::<Client>();
    // Before the check, so that a replacement after it is not missed.
    let token_ended = bearer.map(|_| authenticator.token_ended());
    let check =
        bearer.zip(client).map(|(bearer, client)| authenticator.check(bearer, client.peer, now));
    let proxied = authenticator.proxied(client, headers);
    // A token takes precedence: a wrong one is refused whatever a proxy says.
    let signed_in = match (&check, &proxied) {
        (Some(TokenCheck::Right(holder)), _) | (None, Some(Ok(holder))) => Some(holder.clone()),
        (Some(TokenCheck::Wrong | TokenCheck::TooSoon(_)) | None, _) => None,
    };
    if let Some(holder) = signed_in {
        let is_trusted = holder.scope == AccessScope::Everything;
        let (access, session) = (Access::SignedIn(holder), None);
        let visitor = Visitor { access, is_trusted, session, token_ended, frame };
        return permit(request, visitor);
    }
    if is_public_path(request.uri().path()) {
        let is_trusted = is_from_here(request);
        let (access, session, token_ended) = (Access::Public, None, None);
        return Ok(Visitor { access, is_trusted, session, token_ended, frame });
    }
    if proxied == Some(Err(())) {
        return Err(refuse(Refusal::UnknownToProxy));
    }
    if let Some(TokenCheck::TooSoon(wait)) = check {
        // Round up, so that a retry after this time is not too soon.
        let seconds = wait.as_secs().unsigned_abs() + 1;
        let problem = ApiProblem::from(Refusal::TooManyTokens { seconds });
        let retry_after = [(header::RETRY_AFTER, HeaderValue::from(seconds))];
        return Err(Box::new((retry_after, problem).into_response()));
    }
    if let Some(header) = authenticator.only_proxy_header() {
        return Err(refuse(Refusal::NotFromProxy { header: header.to_owned() }));
    }
    if is_page(request) {
        return Err(Box::new(to_sign_in(request).into_response()));
    }
    Err(refuse(match check {
        Some(TokenCheck::Wrong) => Refusal::WrongToken,
        Some(TokenCheck::Right(_) | TokenCheck::TooSoon(_)) | None => Refusal::TokenNeeded,
    }))
}

/// Redirects to the sign-in page, which leads back to the requested page.
fn to_sign_in(request: &Request) -> Redirect {
    let asked = request.uri().path_and_query().and_then(|asked| OwnPage::parse(asked.as_str()));
    match asked.filter(|page| !page.is_room()) {
        Some(page) => Redirect::to(&format!("/login?next={}", encode(page.as_str()))),
        None => Redirect::to("/login"),
    }
}

/// Admits a visitor if their role has access to this path.
fn permit(request: &Request, visitor: Visitor) -> Result<Visitor, Box<Response>> {
    let path = request.uri().path();
    if is_public_path(path) || allows(&visitor.access, request.method(), path) {
        return Ok(visitor);
    }
    if path == "/" {
        return Err(Box::new(Redirect::to("/console").into_response()));
    }
    let role = visitor.access.role().map_or("nobody", AccessRole::name);
    Err(refuse(Refusal::RoleExcluded { role }))
}

fn refuse(refusal: Refusal) -> Box<Response> {
    Box::new(ApiProblem::from(refusal).into_response())
}

/// Whether a path needs no token: health checks, the sign-in page and its static files.
fn is_public_path(path: &str) -> bool {
    matches!(path, "/live" | "/ready" | "/login") || path.starts_with(STATIC_PATH)
}

#[cfg(test)]
mod tests {
    use axum::body::Body;

    use super::*;

    #[test]
    fn a_sign_in_leads_back_to_the_page_that_was_asked_for() {
        for (asked, expected) in [
            ("/", "/login"),
            ("/console", "/login?next=%2Fconsole"),
            ("/console/queue?before=7", "/login?next=%2Fconsole%2Fqueue%3Fbefore%3D7"),
            ("/decisions/1", "/login?next=%2Fdecisions%2F1"),
            // A stream is not a page, and neither is a path that a browser could take for another host.
            ("/console/events", "/login"),
            ("/console//evil.example", "/login"),
            ("//evil.example/console", "/login"),
        ] {
            let request = axum::http::Request::builder().uri(asked).body(Body::empty()).unwrap();
            let answer = to_sign_in(&request).into_response();
            assert_eq!(answer.headers()[header::LOCATION], expected, "{asked}");
        }
    }
}
