//! Links that sign in once. The command line makes them with a key that the running program keeps in its database, and
//! that changes with every start, so a link works at one process, once, and for a short time.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::str::FromStr;

use hmac::{Hmac, KeyInit as _, Mac as _};
use jiff::{SignedDuration, Timestamp};
use parking_lot::{Mutex, RwLock};
use sha2::{Digest, Sha256};

use crate::config::http::{AccessRole, HttpConfig, ReaderName};
use crate::web::holder::Holder;

/// The cursor of the local room that holds a process's part of the key.
pub const LINK_KEY_STREAM: &str = "console key";
/// How long a link works.
pub const LINK_AGE: SignedDuration = SignedDuration::from_mins(10);
/// A clock may be set while a link is on its way.
const CLOCK_TOLERANCE: SignedDuration = SignedDuration::from_secs(5);
const RANDOM_BYTES: usize = 16;

/// What signs links: it is made of the process's own part and of the tokens in the config.
#[derive(Clone)]
pub struct LinkKey([u8; 32]);

/// The links of a process, and which were used.
pub struct SignInLinks {
    /// `None`: no link signs anybody in.
    key: RwLock<Option<LinkKey>>,
    used: Mutex<HashMap<String, Timestamp>>,
}

impl LinkKey {
    pub fn new(own_part: &str, http: &HttpConfig) -> Self {
        let mut digest = Sha256::new_with_prefix("aizuchi sign-in link");
        let tokens = http.token.iter().chain(http.tokens.iter().map(|named| &named.token));
        for part in [own_part].into_iter().chain(tokens.map(|token| token.0.expose())) {
            digest.update([0]);
            digest.update(part);
        }
        Self(digest.finalize().into())
    }

    /// A code that signs this holder in once. Fails if the system has no random bytes.
    pub fn mint(&self, holder: &Holder, now: Timestamp) -> Result<String, getrandom::Error> {
        let nonce = random_hex()?;
        let (role, at) = (holder.role.name(), now.as_millisecond());
        let claims = format!("{role}.{at}.{nonce}.{}", hex(holder.name.as_bytes()));
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

    /// Links that were signed with the former key are worth nothing from now on.
    pub fn replace_key(&self, key: Option<LinkKey>) {
        *self.key.write() = key;
    }

    /// Whom a code signs in. A code works once.
    pub fn redeem(&self, code: &str, now: Timestamp) -> Option<Holder> {
        let key = self.key.read().clone()?;
        let (claims, signature) = code.rsplit_once('.')?;
        key.signature(claims).verify_slice(&parse_hex(signature)?).ok()?;
        let [role, at, nonce, name] = claims.split('.').collect::<Vec<_>>().try_into().ok()?;
        let at = Timestamp::from_millisecond(at.parse().ok()?).ok()?;
        let age = now.duration_since(at);
        if age < -CLOCK_TOLERANCE || age > LINK_AGE {
            return None;
        }
        let name = String::from_utf8(parse_hex(name)?).ok()?;
        let name = ReaderName::try_from(name).ok()?.0.into();
        let role = AccessRole::from_str(role).ok()?;
        let mut used = self.used.lock();
        used.retain(|_, until| *until > now);
        let is_new = used.insert(nonce.to_owned(), at + LINK_AGE + CLOCK_TOLERANCE * 2).is_none();
        is_new.then_some(Holder { name, role })
    }
}

/// Random bytes as text.
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
    use super::*;
    use crate::config::http::HttpToken;
    use crate::config::secret::Secret;

    fn holder(role: AccessRole) -> Holder {
        Holder { name: "mia@example.org".into(), role }
    }

    #[test]
    fn a_link_works_once_and_not_for_long() {
        let http = HttpConfig::default();
        let key = LinkKey::new("part", &http);
        let links = SignInLinks::new(Some(key.clone()));
        let now = Timestamp::UNIX_EPOCH;
        let mia = holder(AccessRole::Operator);
        let code = key.mint(&mia, now).unwrap();
        assert_eq!(links.redeem(&code, now + LINK_AGE + SignedDuration::from_secs(1)), None);
        assert_eq!(links.redeem(&code, now), Some(mia.clone()));
        assert_eq!(links.redeem(&code, now), None);
        let other = key.mint(&mia, now).unwrap();
        assert_ne!(code, other);
        // It is remembered for as long as it could be redeemed.
        assert_eq!(links.redeem(&other, now + LINK_AGE), Some(mia));
        assert_eq!(links.redeem(&code, now + LINK_AGE), None);
    }

    #[test]
    fn a_link_of_another_key_or_with_other_claims_is_none() {
        let http = HttpConfig::default();
        let links = SignInLinks::new(Some(LinkKey::new("part", &http)));
        let now = Timestamp::UNIX_EPOCH;
        let viewer = holder(AccessRole::Viewer);
        let code = LinkKey::new("part", &http).mint(&viewer, now).unwrap();
        let token = HttpToken(Secret::new("0123456789abcdef"));
        let closed = HttpConfig { token: Some(token), ..HttpConfig::default() };
        for forged in [
            code.replace("viewer", "admin"),
            code.replace("viewer.0.", "viewer.1.").to_owned(),
            code[..code.len() - 2].to_owned(),
            format!("{code}0"),
            LinkKey::new("other", &http).mint(&viewer, now).unwrap(),
            LinkKey::new("part", &closed).mint(&viewer, now).unwrap(),
            String::new(),
            "....".to_owned(),
        ] {
            assert_eq!(links.redeem(&forged, now), None, "{forged}");
        }
        assert_eq!(links.redeem(&code, now), Some(viewer));
    }
}
