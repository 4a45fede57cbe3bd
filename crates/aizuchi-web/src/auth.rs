//! Access to the pages and the API. If tokens are configured, a client has to present one, or the session that it
//! opened. Otherwise, only this machine has access.

use aizuchi_actions::access::SignedInUser;
use aizuchi_config::http::{HeaderText, HttpConfig, HttpToken, ProxySignIn, scope};
use aizuchi_model::access_role::AccessRole;
use aizuchi_model::reloadable::Reloadable;
use axum::extract::Request;
use axum::http::{HeaderMap, header};
use jiff::{SignedDuration, Timestamp};
use sha2::{Digest, Sha256};
use tokio_util::sync::CancellationToken;

use crate::failed_sign_ins::FailedSignIns;
use crate::peer::{Client, Peer};
use crate::request_origin::{is_from_here, text};
use crate::sessions::{Session, Sessions};
use crate::sign_in_link::{LinkKey, Purpose, SignInLinks, is_code};

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
    pub fn only_proxy_header(&self) -> Option<&str> {
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
    pub fn code_holder(
        &self,
        request: &Request,
        bearer: &str,
        now: Timestamp,
    ) -> Option<SignedInUser> {
        let target = request.uri().path_and_query()?;
        // The command line runs on this machine.
        if !is_from_here(request) {
            return None;
        }
        let line = format!("{} {target}", request.method());
        self.links.redeem(Purpose::Request(&line), bearer.trim(), now)
    }

    /// Returns whom a trusted proxy names as signed in: `None` if it names nobody, `Err` if they have no access.
    pub fn proxied(
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

    /// Returns the session whose cookie a browser sends.
    pub fn session(&self, headers: &HeaderMap, now: Timestamp) -> Option<Session> {
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

#[cfg(test)]
mod tests {
    use aizuchi_config::http::{NamedToken, ReaderName};
    use aizuchi_config::secret::Secret;
    use aizuchi_model::access_scope::{AccessPlace, AccessScope};
    use aizuchi_model::ip_network::IpNetwork;
    use axum::body::Body;
    use axum::http::{HeaderValue, Method};

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
}
