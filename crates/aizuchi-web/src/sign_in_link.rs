//! One-time codes: those of links that sign in, and those with which commands such as `aizuchi status` authenticate. The
//! command line makes them with a key that the running program keeps in its database and that changes with every start,
//! so a code works for one process, once, and for a short time.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::str::FromStr;

use aizuchi_actions::access::SignedInUser;
use aizuchi_config::http::{HttpConfig, ReaderName};
use aizuchi_model::access_role::AccessRole;
use hmac::{Hmac, KeyInit as _, Mac as _};
use jiff::{SignedDuration, Timestamp};
use parking_lot::{Mutex, RwLock};
use sha2::{Digest, Sha256};

/// The cursor of the local room that holds a process's part of the key.
pub const LINK_KEY_STREAM: &str = "console key";
/// The maximum age of a link.
pub const LINK_AGE: SignedDuration = SignedDuration::from_mins(10);
/// The maximum age of a code for a request: it is sent as soon as it is made.
const ASKING_AGE: SignedDuration = SignedDuration::from_secs(10);
/// The tolerance for a clock that is set between making and using a link.
const CLOCK_TOLERANCE: SignedDuration = SignedDuration::from_secs(5);
const RANDOM_BYTES: usize = 16;

/// The purpose of a code. It is part of what is signed, so a code works for no other purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose<'a> {
    /// Signs a visitor in, with a session.
    SignIn,
    /// Sends one request, without a session: its method, its path and its query. Another program may answer in place of
    /// ours and get the code.
    Request(&'a str),
}

/// The key that signs links, derived from the process's own part and the tokens in the config.
#[derive(Clone)]
pub struct LinkKey([u8; 32]);

/// The sign-in links of a process, and which of them were used.
pub struct SignInLinks {
    /// `None` disables sign-in links.
    key: RwLock<Option<LinkKey>>,
    used: Mutex<HashMap<String, Timestamp>>,
}

impl Purpose<'_> {
    fn name(self) -> String {
        match self {
            Purpose::SignIn => "link".to_owned(),
            Purpose::Request(line) => hex(&Sha256::digest(line)),
        }
    }

    fn most_age(self) -> SignedDuration {
        match self {
            Purpose::SignIn => LINK_AGE,
            Purpose::Request(_) => ASKING_AGE,
        }
    }
}

impl LinkKey {
    pub fn new(own_part: &str, http: &HttpConfig) -> Self {
        let mut digest = Sha256::new_with_prefix("aizuchi sign-in link");
        let tokens = http.token.iter().chain(http.tokens.iter().map(|named| &named.token));
        for part in [own_part].into_iter().chain(tokens.map(|token| token.0.expose())) {
            // Separate the parts, so that the same characters, divided in another way, make another key.
            digest.update([0]);
            digest.update(part);
        }
        Self(digest.finalize().into())
    }

    /// Makes a code that authenticates this holder once, for this purpose. Fails if the system has no random bytes.
    pub fn mint(
        &self,
        purpose: Purpose<'_>,
        holder: &SignedInUser,
        now: Timestamp,
    ) -> Result<String, getrandom::Error> {
        let nonce = random_hex()?;
        let (purpose, role, at) = (purpose.name(), holder.role.name(), now.as_millisecond());
        let claims = format!("{purpose}.{role}.{at}.{nonce}.{}", hex(holder.name.as_bytes()));
        Ok(format!("{claims}.{}", hex(&self.signature(&claims).finalize().into_bytes())))
    }

    fn signature(&self, claims: &str) -> Hmac<Sha256> {
        let mut signature =
            Hmac::<Sha256>::new_from_slice(&self.0).expect("any length is a key's length");
        signature.update(claims.as_bytes());
        signature
    }
}

impl SignInLinks {
    pub fn new(key: Option<LinkKey>) -> Self {
        Self { key: RwLock::new(key), used: Mutex::default() }
    }

    /// Replaces the key. Links that were signed with the former one are invalid from then on.
    pub fn replace_key(&self, key: Option<LinkKey>) {
        *self.key.write() = key;
    }

    /// Returns whom a code authenticates for this purpose. A code works once.
    pub fn redeem(&self, purpose: Purpose<'_>, code: &str, now: Timestamp) -> Option<SignedInUser> {
        let key = self.key.read().clone()?;
        let (claims, signature) = code.rsplit_once('.')?;
        // Verify in constant time, and before anything in the claims is trusted.
        key.signature(claims).verify_slice(&parse_hex(signature)?).ok()?;
        let [signed, role, at, nonce, name] =
            claims.split('.').collect::<Vec<_>>().try_into().ok()?;
        if signed != purpose.name() {
            return None;
        }
        let at = Timestamp::from_millisecond(at.parse().ok()?).ok()?;
        let age = now.duration_since(at);
        if age < -CLOCK_TOLERANCE || age > purpose.most_age() {
            return None;
        }
        let name = String::from_utf8(parse_hex(name)?).ok()?;
        let name = ReaderName::try_from(name).ok()?.0;
        let role = AccessRole::from_str(role).ok()?;
        let mut used = self.used.lock();
        used.retain(|_, until| *until > now);
        // Remember the code for longer than any code works, in case the clock is set in the meantime.
        let is_new = used.insert(nonce.to_owned(), at + LINK_AGE + CLOCK_TOLERANCE * 2).is_none();
        is_new.then_some(SignedInUser::new(name, role))
    }
}

/// Whether a text looks like a code, valid or not. No token that people choose does.
pub fn is_code(text: &str) -> bool {
    let Some((claims, signature)) = text.rsplit_once('.') else { return false };
    let is_signature = |text: &str| text.len() == 64 && parse_hex(text).is_some();
    claims.split('.').count() == 5 && is_signature(signature)
}

/// Returns random bytes as text.
pub fn random_hex() -> Result<String, getrandom::Error> {
    let mut bytes = [0; RANDOM_BYTES];
    getrandom::fill(&mut bytes)?;
    Ok(hex(&bytes))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to a string does not fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

fn parse_hex(text: &str) -> Option<Vec<u8>> {
    let digit = |byte: &u8| char::from(*byte).to_digit(16);
    let pairs = text.as_bytes().chunks(2);
    pairs
        .map(|pair| match pair {
            [high, low] => u8::try_from(digit(high)? * 16 + digit(low)?).ok(),
            _ => None,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use aizuchi_config::http::HttpToken;
    use aizuchi_config::secret::Secret;

    use super::*;

    fn holder(role: AccessRole) -> SignedInUser {
        SignedInUser::new("mia@example.org", role)
    }

    #[test]
    fn a_link_works_once_and_not_for_long() {
        let http = HttpConfig::default();
        let key = LinkKey::new("part", &http);
        let links = SignInLinks::new(Some(key.clone()));
        let now = Timestamp::UNIX_EPOCH;
        let mia = holder(AccessRole::Operator);
        let code = key.mint(Purpose::SignIn, &mia, now).unwrap();
        assert_eq!(
            links.redeem(Purpose::SignIn, &code, now + LINK_AGE + SignedDuration::from_secs(1)),
            None
        );
        assert_eq!(links.redeem(Purpose::SignIn, &code, now), Some(mia.clone()));
        assert_eq!(links.redeem(Purpose::SignIn, &code, now), None);
        let other = key.mint(Purpose::SignIn, &mia, now).unwrap();
        assert_ne!(code, other);
        // The code is remembered for as long as it could be redeemed.
        assert_eq!(links.redeem(Purpose::SignIn, &other, now + LINK_AGE), Some(mia));
        assert_eq!(links.redeem(Purpose::SignIn, &code, now + LINK_AGE), None);
    }

    #[test]
    fn a_link_of_another_key_or_with_other_claims_is_none() {
        let http = HttpConfig::default();
        let links = SignInLinks::new(Some(LinkKey::new("part", &http)));
        let now = Timestamp::UNIX_EPOCH;
        let viewer = holder(AccessRole::Viewer);
        let code = LinkKey::new("part", &http).mint(Purpose::SignIn, &viewer, now).unwrap();
        let token = HttpToken(Secret::new("0123456789abcdef"));
        let closed = HttpConfig { token: Some(token), ..HttpConfig::default() };
        for forged in [
            code.replace("viewer", "admin"),
            code.replace("viewer.0.", "viewer.1.").to_owned(),
            code[..code.len() - 2].to_owned(),
            format!("{code}0"),
            LinkKey::new("other", &http).mint(Purpose::SignIn, &viewer, now).unwrap(),
            LinkKey::new("part", &closed).mint(Purpose::SignIn, &viewer, now).unwrap(),
            LinkKey::new("part", &http)
                .mint(Purpose::Request("GET /api/status"), &viewer, now)
                .unwrap(),
            String::new(),
            "....".to_owned(),
        ] {
            assert_eq!(links.redeem(Purpose::SignIn, &forged, now), None, "{forged}");
        }
        assert_eq!(links.redeem(Purpose::SignIn, &code, now), Some(viewer));
    }

    #[test]
    fn a_code_for_asking_signs_nobody_in() {
        let http = HttpConfig::default();
        let key = LinkKey::new("part", &http);
        let links = SignInLinks::new(Some(key.clone()));
        let (now, viewer) = (Timestamp::UNIX_EPOCH, holder(AccessRole::Viewer));
        let code = key.mint(Purpose::Request("GET /api/status"), &viewer, now).unwrap();
        assert_eq!(links.redeem(Purpose::SignIn, &code, now), None);
        assert_eq!(
            links.redeem(
                Purpose::SignIn,
                &code.replacen(&Purpose::Request("GET /api/status").name(), "link", 1),
                now
            ),
            None
        );
        let late = now + ASKING_AGE + SignedDuration::from_secs(1);
        assert_eq!(links.redeem(Purpose::Request("GET /api/status"), &code, late), None);
        assert_eq!(
            links.redeem(Purpose::Request("GET /api/status"), &code, now),
            Some(viewer.clone())
        );
        assert_eq!(links.redeem(Purpose::Request("GET /api/status"), &code, now), None);
        let link = key.mint(Purpose::SignIn, &viewer, now).unwrap();
        assert_eq!(links.redeem(Purpose::Request("GET /api/status"), &link, now), None);
        assert!(is_code(&code) && is_code(&link));
        for token in ["0123456789abcdef", "a.b.c.d.e.f", "", &code[1..code.len() - 1]] {
            assert!(!is_code(token), "{token}");
        }
    }
}
