//! Access to the pages and the API. If tokens are configured, a client has to present one, or the session that it
//! opened. Otherwise, only this machine has access.

use std::sync::Arc;

use aizuchi_actions::access::{Access, SignedInUser};
use aizuchi_config::http::{HeaderText, HttpConfig, HttpToken, ProxySignIn, scope};
use aizuchi_model::access_role::AccessRole;
use aizuchi_model::access_scope::AccessScope;
use aizuchi_model::reloadable::Reloadable;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Redirect, Response};
use hyper::service::Service as _;
use hyper_util::service::TowerToHyperService;
use jiff::{SignedDuration, Timestamp};
use sha2::{Digest, Sha256};
use tokio_util::sync::CancellationToken;

use crate::access::{FrameState, Visitor, allows};
use crate::console::layout::encode;
use crate::failed_sign_ins::FailedSignIns;
use crate::language::language_of;
use crate::own_page::OwnPage;
use crate::peer::{Client, Peer};
use crate::problem_page::RefusedRequest;
use crate::refusal::Refusal;
use crate::sessions::{Session, Sessions};
use crate::sign_in_link::{LinkKey, Purpose, SignInLinks, is_code};
use crate::{ApiProblem, Web, routes};

const STATIC_PATH: &str = "/static/";
/// The cookie with a session's id.
pub const SESSION_COOKIE: &str = "aizuchi_session";

/// The name of a visitor who signed in with `http.token`.
const TOKEN_HOLDER: &str = "http.token";

/// The tokens that give other machines access, and the sessions that they opened.
pub struct Authenticator {
    credentials: Reloadable<Vec<Credential>>,
    /// Cancelled when the credentials are replaced. Sessions end with it.
    credentials_ended: Reloadable<CancellationToken>,
    /// This process's part of the key that signs links. `None` disables sign-in links.
    link_secret: Option<String>,
    proxy_sign_in: Option<ProxySignIn>,
    pub sessions: Sessions,
    pub links: SignInLinks,
    attempts: FailedSignIns,
}

#[derive(PartialEq)]
struct Credential {
    /// Compared instead of the token, so that the timing of the comparison reveals nothing about it.
    digest: [u8; 32],
    holder: SignedInUser,
}

/// The result of checking a token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TokenCheck {
    Right(SignedInUser),
    Wrong,
    /// The token was not checked, because its client has sent too many wrong ones. It may try again after this time.
    TooSoon(SignedDuration),
}

impl Authenticator {
    pub fn new(http: &HttpConfig, link_secret: Option<String>) -> Self {
        let link_key = link_secret.as_ref().map(|secret| LinkKey::new(secret, http));
        Self {
            credentials: credentials(http).into(),
            credentials_ended: CancellationToken::new().into(),
            link_secret,
            proxy_sign_in: http.proxy_sign_in.clone(),
            sessions: Sessions::default(),
            links: SignInLinks::new(link_key),
            attempts: FailedSignIns::default(),
        }
    }

    /// Replaces the accepted tokens with those of this config. If they have changed, everybody has to sign in again.
    pub fn renew_tokens(&self, http: &HttpConfig) {
        let credentials = credentials(http);
        // Unchanged tokens must not sign everybody out at each reload.
        if credentials == *self.credentials.read() {
            return;
        }
        self.credentials.replace(credentials);
        self.links.replace_key(self.link_secret.as_ref().map(|secret| LinkKey::new(secret, http)));
        // Last, so that no session or stream opened with a former token in the meantime survives.
        let ended = self.credentials_ended.read();
        self.credentials_ended.replace(CancellationToken::new());
        ended.cancel();
        tracing::info!("the tokens of the pages are new: everybody has to sign in again");
    }

    /// Returns what is cancelled once a token or a link that is checked from now on is no longer accepted.
    pub fn token_ended(&self) -> CancellationToken {
        CancellationToken::clone(&self.credentials_ended.read())
    }

    /// Whether only visitors who sign in have access.
    pub fn is_closed(&self) -> bool {
        self.has_tokens() || self.proxy_sign_in.is_some()
    }

    /// Whether any token is configured.
    pub fn has_tokens(&self) -> bool {
        !self.credentials.read().is_empty()
    }

    /// The header in which a proxy names the visitor, if that is the only way to sign in.
    fn only_proxy_header(&self) -> Option<&str> {
        let proxy = self.proxy_sign_in.as_ref().filter(|_| !self.has_tokens())?;
        Some(proxy.header.0.as_str())
    }

    /// Checks a token, and returns whom it authenticates.
    pub fn check(&self, offered: &str, client: Peer, now: Timestamp) -> TokenCheck {
        // Check the wait first: during a wait, a client that guesses must not learn that a token is right.
        if let Some(wait) = self.attempts.wait(client, now) {
            return TokenCheck::TooSoon(wait);
        }
        let offered = offered.trim();
        // Compare digests, so that the timing reveals nothing about a token.
        let digest: [u8; 32] = Sha256::digest(offered).into();
        let credentials = self.credentials.read();
        if let Some(known) = credentials.iter().find(|known| known.digest == digest) {
            self.attempts.succeed(client);
            return TokenCheck::Right(known.holder.clone());
        }
        // An invalid code, e.g. from a command line with other tokens, does not count as a guess of a token.
        if is_code(offered) {
            return TokenCheck::Wrong;
        }
        let (failures, wait) = self.attempts.fail(client, now);
        let wait_seconds = wait.as_secs();
        tracing::warn!(%client, failures, wait_seconds, "a client offered a wrong token");
        TokenCheck::Wrong
    }

    /// Returns whom a code of the command line authenticates: once, and only for the request that it was made for. The
    /// command line sends no token, because another program may answer in place of this one.
    fn code_holder(&self, request: &Request, bearer: &str, now: Timestamp) -> Option<SignedInUser> {
        let target = request.uri().path_and_query()?;
        // The command line runs on this machine.
        if !is_from_here(request) {
            return None;
        }
        let line = format!("{} {target}", request.method());
        self.links.redeem(Purpose::Request(&line), bearer.trim(), now)
    }

    /// Returns whom a trusted proxy names as signed in: `None` if it names nobody, `Err` if they have no access.
    fn proxied(
        &self,
        client: Option<&Client>,
        headers: &HeaderMap,
    ) -> Option<Result<SignedInUser, ()>> {
        let proxy = self.proxy_sign_in.as_ref()?;
        client.filter(|client| client.is_from_proxy)?;
        // A second header may come from the client itself.
        let only = |name: &HeaderText| {
            let mut values = headers.get_all(&name.0).into_iter();
            let value = str::from_utf8(values.next()?.as_bytes()).map(str::trim);
            Some(value.ok().filter(|_| values.next().is_none()).ok_or(()))
        };
        let name = only(&proxy.header)?;
        let groups = only(&proxy.groups_header).filter(|_| !proxy.groups.is_empty());
        let (Ok(name), Ok(groups)) = (name, groups.unwrap_or(Ok(""))) else { return Some(Err(())) };
        // Whom only a group admits must not sign the journals as the holder of a token.
        let is_token_holder = name == TOKEN_HOLDER
            || self.credentials.read().iter().any(|known| *known.holder.name == *name);
        let groups = if is_token_holder { "" } else { groups };
        let holder = |(role, scope)| SignedInUser { name: name.into(), role, scope };
        Some(proxy.access_of(name, groups).map(holder).ok_or(()))
    }

    fn session(&self, headers: &HeaderMap, now: Timestamp) -> Option<Session> {
        let cookies = text(headers, header::COOKIE).unwrap_or_default().split(';');
        let cookies = cookies.filter_map(|cookie| cookie.trim().split_once('='));
        let mut ids = cookies.filter(|(name, _)| *name == SESSION_COOKIE).map(|(_, id)| id);
        // A browser may send several cookies of this name, e.g. one that a parent domain has set.
        ids.find_map(|id| self.sessions.find(id, now))
    }
}

/// Returns the credentials of all configured tokens.
fn credentials(http: &HttpConfig) -> Vec<Credential> {
    let admin = SignedInUser::new(TOKEN_HOLDER, AccessRole::Admin);
    let admin = http.token.iter().map(|token| Credential::new(token, admin.clone()));
    let named = http.tokens.iter().map(|named| {
        let (name, scope) = (named.name.0.as_str().into(), scope(named.only.as_deref()));
        let holder = SignedInUser { name, role: named.role, scope };
        Credential::new(&named.token, holder)
    });
    admin.chain(named).collect()
}

impl Credential {
    fn new(token: &HttpToken, holder: SignedInUser) -> Self {
        Self { digest: Sha256::digest(token.0.expose()).into(), holder }
    }
}

/// Middleware: rejects requests without access and adds the security headers to every response.
pub(super) async fn require_access(
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

/// Whether a page of another origin made the browser send this request. Such a page may only link to a page of ours.
fn is_foreign(request: &Request) -> bool {
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
pub(super) fn is_from_here(request: &Request) -> bool {
    let client = request.extensions().get::<Client>();
    client.is_some_and(|client| is_direct(*client, request.headers()))
}

/// Whether a client is a program on this machine that addresses it by a local host name.
pub(super) fn is_direct(client: Client, headers: &HeaderMap) -> bool {
    client.is_local && is_host_local(headers)
}

fn is_host_local(headers: &HeaderMap) -> bool {
    text(headers, header::HOST).is_some_and(|host| is_local(host_name(host)))
}

/// Whether a path needs no token: health checks, the sign-in page and its static files.
fn is_public_path(path: &str) -> bool {
    matches!(path, "/live" | "/ready" | "/login") || path.starts_with(STATIC_PATH)
}

fn is_page(request: &Request) -> bool {
    let path = request.uri().path();
    let is_path_of_page = matches!(path, "/" | "/login" | "/console")
        || path.starts_with("/decisions/")
        || path.starts_with("/console/");
    request.method() == Method::GET && is_path_of_page
}

fn text(headers: &HeaderMap, name: header::HeaderName) -> Option<&str> {
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
    use aizuchi_config::http::{NamedToken, ReaderName};
    use aizuchi_config::secret::Secret;
    use aizuchi_model::access_scope::AccessPlace;
    use aizuchi_model::ip_network::IpNetwork;
    use axum::body::Body;

    use super::*;
    use crate::peer::TrustedProxies;

    fn authenticator(http: &HttpConfig) -> Authenticator {
        Authenticator::new(http, Some("part".to_owned()))
    }

    fn closed() -> HttpConfig {
        let token = Some(HttpToken(Secret::new("0123456789abcdef")));
        HttpConfig { token, ..HttpConfig::default() }
    }

    fn admin() -> SignedInUser {
        SignedInUser::new(TOKEN_HOLDER, AccessRole::Admin)
    }

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
        let authenticator = authenticator(&closed());
        let client = |address: [u8; 4]| Peer::new(address.into());
        let (guesser, other) = (client([192, 0, 2, 1]), client([192, 0, 2, 2]));
        let now = Timestamp::UNIX_EPOCH;
        let check = |token: &str, client: Peer| authenticator.check(token, client, now);
        assert_eq!(check("0123456789abcdeF", guesser), TokenCheck::Wrong);
        assert_eq!(check(" 0123456789abcdef\n", guesser), TokenCheck::Right(admin()));
        (0..3).for_each(|_| assert_eq!(check("", guesser), TokenCheck::Wrong));
        let wait = SignedDuration::from_secs(2);
        assert_eq!(check("0123456789abcdef", guesser), TokenCheck::TooSoon(wait));
        assert_eq!(check("0123456789abcdef", other), TokenCheck::Right(admin()));
    }

    #[test]
    fn each_token_is_that_of_its_holder() {
        let tom = NamedToken {
            name: ReaderName("tom".to_owned()),
            role: AccessRole::Viewer,
            token: HttpToken(Secret::new("fedcba9876543210")),
            only: Some(vec!["T1".to_owned().try_into().unwrap()]),
        };
        let authenticator = authenticator(&HttpConfig { tokens: vec![tom], ..closed() });
        let peer = Peer::new([192, 0, 2, 1].into());
        let check = |token: &str| authenticator.check(token, peer, Timestamp::UNIX_EPOCH);
        let scope = AccessScope::Only(AccessPlace::parse("T1").into_iter().collect());
        let tom = SignedInUser { scope, ..SignedInUser::new("tom", AccessRole::Viewer) };
        assert_eq!(check("fedcba9876543210"), TokenCheck::Right(tom));
        assert_eq!(check("0123456789abcdef"), TokenCheck::Right(admin()));
        assert_eq!(check("0123456789abcde"), TokenCheck::Wrong);
    }

    #[test]
    fn new_tokens_end_what_the_old_ones_opened() {
        let authenticator = authenticator(&closed());
        let ended = authenticator.token_ended();
        authenticator.renew_tokens(&closed());
        assert!(!ended.is_cancelled(), "they are the same");
        let token = Some(HttpToken(Secret::new("fedcba9876543210")));
        authenticator.renew_tokens(&HttpConfig { token, ..closed() });
        assert!(ended.is_cancelled() && !authenticator.token_ended().is_cancelled());
    }

    #[test]
    fn a_sign_in_that_new_tokens_overtake_opens_no_session() {
        let (authenticator, now) = (authenticator(&closed()), Timestamp::UNIX_EPOCH);
        let ended = authenticator.token_ended();
        let check = authenticator.check("0123456789abcdef", Peer::new([192, 0, 2, 1].into()), now);
        assert_eq!(check, TokenCheck::Right(admin()));
        let open = || authenticator.sessions.open(admin(), &ended, now).unwrap();
        let earlier = open();
        let found = authenticator.sessions.find(&earlier, now).unwrap();
        let token = Some(HttpToken(Secret::new("fedcba9876543210")));
        authenticator.renew_tokens(&HttpConfig { token, ..closed() });
        assert!(found.ended.is_cancelled(), "its streams end");
        for id in [earlier, open()] {
            assert!(authenticator.sessions.find(&id, now).is_none());
        }
        let later = authenticator.sessions.open(admin(), &authenticator.token_ended(), now);
        assert!(authenticator.sessions.find(&later.unwrap(), now).is_some());
    }

    #[test]
    fn a_code_is_for_one_request() {
        let (http, now) = (closed(), Timestamp::UNIX_EPOCH);
        let authenticator = authenticator(&http);
        let viewer = SignedInUser::new("aizuchi-status", AccessRole::Viewer);
        let mint = |purpose| LinkKey::new("part", &http).mint(purpose, &viewer, now).unwrap();
        let (proxies, none) = (TrustedProxies::default(), HeaderMap::new());
        let [here, elsewhere] =
            [[127, 0, 0, 1], [192, 0, 2, 1]].map(|it| proxies.client(it.into(), &none));
        let read_from = |here: Client, method: Method, path: &str, code: &str| {
            let request = axum::http::Request::builder().method(method).uri(path).extension(here);
            let request = request.header("host", "127.0.0.1:8080");
            authenticator.code_holder(&request.body(Body::empty()).unwrap(), code, now)
        };
        let reader = |method, path: &str, code: &str| read_from(here, method, path, code);
        let status = Purpose::Request("GET /api/status");
        let code = mint(status);
        assert_eq!(read_from(elsewhere, Method::GET, "/api/status", &code), None);
        assert_eq!(reader(Method::GET, "/api/decisions", &code), None);
        assert_eq!(reader(Method::POST, "/api/status", &code), None);
        assert_eq!(reader(Method::GET, "/api/status?workspace=local", &code), None);
        assert_eq!(reader(Method::GET, "/api/status", &mint(Purpose::SignIn)), None);
        assert_eq!(reader(Method::GET, "/api/status", &code), Some(viewer.clone()));
        assert_eq!(reader(Method::GET, "/api/status", &code), None);
        // A code is not a token, and does not count as a wrong one.
        let peer = Peer::new([192, 0, 2, 1].into());
        for purpose in [status, Purpose::SignIn].into_iter().cycle().take(10) {
            assert_eq!(authenticator.check(&mint(purpose), peer, now), TokenCheck::Wrong);
        }
        assert_eq!(authenticator.check("0123456789abcdef", peer, now), TokenCheck::Right(admin()));
    }

    #[test]
    fn only_a_trusted_proxy_says_who_signed_in() {
        let proxy: ProxySignIn = serde_json::from_value(serde_json::json!({
            "header": "X-Forwarded-Email", "admins": ["mia@example.org"], "viewers": ["tom@example.org"],
        }))
        .unwrap();
        let http = HttpConfig { proxy_sign_in: Some(proxy), ..HttpConfig::default() };
        let authenticator = authenticator(&http);
        let trusted: IpNetwork = "10.0.0.0/8".to_owned().try_into().unwrap();
        let proxies = TrustedProxies::new(&[trusted]);
        let found = |address: [u8; 4], names: &[&str]| {
            let mut headers = HeaderMap::new();
            for name in names {
                headers.append("x-forwarded-email", name.parse().unwrap());
            }
            let client = proxies.client(address.into(), &headers);
            authenticator.proxied(Some(&client), &headers)
        };
        let (near, far) = ([10, 0, 0, 1], [192, 0, 2, 1]);
        let holder = |name: &str, role| Some(Ok(SignedInUser::new(name, role)));
        assert_eq!(found(near, &["mia@example.org"]), holder("mia@example.org", AccessRole::Admin));
        assert_eq!(
            found(near, &["tom@example.org"]),
            holder("tom@example.org", AccessRole::Viewer)
        );
        assert_eq!(found(near, &["eve@example.org"]), Some(Err(())));
        assert_eq!(found(near, &["eve@example.org", "mia@example.org"]), Some(Err(())));
        assert_eq!(found(near, &[]), None);
        assert_eq!(found(far, &["mia@example.org"]), None);
    }

    #[test]
    fn groups_of_the_proxy_have_roles_and_places() {
        let proxy: ProxySignIn = serde_json::from_value(serde_json::json!({
            "header": "X-Forwarded-Email", "viewers": ["tom"],
            "groups": [
                {"group": "staff", "role": "viewer", "only": ["local"]},
                {"group": "tea team", "role": "operator", "only": ["T1/C1"]},
                {"group": "garden", "role": "operator", "only": ["discord:2"]},
                {"group": "boss", "role": "admin"},
            ],
        }))
        .unwrap();
        let http = HttpConfig { proxy_sign_in: Some(proxy), ..HttpConfig::default() };
        let authenticator = authenticator(&http);
        let trusted: IpNetwork = "10.0.0.0/8".to_owned().try_into().unwrap();
        let proxies = TrustedProxies::new(&[trusted]);
        let found = |name: &str, groups: &[&str]| {
            let mut headers = HeaderMap::from_iter([(
                "x-forwarded-email".parse().unwrap(),
                name.parse().unwrap(),
            )]);
            for groups in groups {
                let groups = HeaderValue::from_bytes(groups.as_bytes()).unwrap();
                headers.append("x-forwarded-groups", groups);
            }
            let client = proxies.client([10, 0, 0, 1].into(), &headers);
            authenticator.proxied(Some(&client), &headers).unwrap().ok()
        };
        let holder = |name: &str, role, places: &[&str]| {
            let places = places.iter().filter_map(|it| AccessPlace::parse(it)).collect();
            Some(SignedInUser { scope: AccessScope::Only(places), ..SignedInUser::new(name, role) })
        };
        use AccessRole::{Admin, Operator, Viewer};
        assert_eq!(found("tom", &[]), Some(SignedInUser::new("tom", Viewer)));
        assert_eq!(found("tom", &["staff"]), Some(SignedInUser::new("tom", Viewer)));
        assert_eq!(found("mia", &["staff,other"]), holder("mia", Viewer, &["local"]));
        let both = holder("mia", Operator, &["T1/C1", "discord:2"]);
        assert_eq!(found("mia", &["staff, tea team ,garden"]), both);
        assert_eq!(found("mia", &["boss,garden"]), Some(SignedInUser::new("mia", Admin)));
        assert_eq!(found("mia", &["開発部,boss"]), Some(SignedInUser::new("mia", Admin)));
        for (name, groups) in [
            ("mia", &["Boss, tea, team"][..]),
            ("mia", &[]),
            // A second header may come from the client itself.
            ("mia", &["staff", "boss"]),
            ("tom", &["staff", "boss"]),
            ("", &["boss"]),
            ("mia <b>", &["boss"]),
            ("http.token", &["boss"]),
        ] {
            assert_eq!(found(name, groups), None, "{name} {groups:?}");
        }
    }

    #[test]
    fn a_session_is_found_by_its_cookie() {
        let authenticator = authenticator(&closed());
        let now = Timestamp::UNIX_EPOCH;
        let ended = authenticator.token_ended();
        let id = authenticator.sessions.open(admin(), &ended, now).unwrap();
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
