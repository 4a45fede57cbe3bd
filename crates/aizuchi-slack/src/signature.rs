//! Verifies that a webhook request comes from Slack: the body is signed with the app's signing secret, and the
//! signature is at most a few minutes old, which prevents replay attacks.

use hmac::{Hmac, KeyInit, Mac};
use jiff::{SignedDuration, Timestamp};
use secrecy::{ExposeSecret, SecretString};
use sha2::Sha256;

/// As Slack's documentation recommends ("Verifying requests from Slack").
const MAX_AGE: SignedDuration = SignedDuration::from_mins(5);

/// Why a request is rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidSignature {
    #[error("the request is not signed")]
    Unsigned,
    #[error("the request was signed at another time")]
    Expired,
    #[error("the request is not signed by this app")]
    Mismatch,
}

/// Checks the headers `X-Slack-Request-Timestamp` and `X-Slack-Signature` (`v0=` and the HMAC-SHA256 of
/// `v0:{timestamp}:{body}` in hexadecimal digits).
pub fn verify(
    secret: &SecretString,
    timestamp: Option<&str>,
    signature: Option<&str>,
    body: &[u8],
    now: Timestamp,
) -> Result<(), InvalidSignature> {
    let (Some(timestamp), Some(signature)) = (timestamp, signature) else {
        return Err(InvalidSignature::Unsigned);
    };
    let second = timestamp.parse::<i64>().map_err(|_| InvalidSignature::Unsigned)?;
    let signed = Timestamp::from_second(second).map_err(|_| InvalidSignature::Expired)?;
    // In both directions, because Slack's clock may be ahead of ours.
    if now.duration_since(signed).abs() > MAX_AGE {
        return Err(InvalidSignature::Expired);
    }
    let digits = signature.strip_prefix("v0=").ok_or(InvalidSignature::Unsigned)?;
    let signature = decode_hex(digits).ok_or(InvalidSignature::Mismatch)?;
    let mut hash = Hmac::<Sha256>::new_from_slice(secret.expose_secret().as_bytes())
        .map_err(|_| InvalidSignature::Mismatch)?;
    // The header as it was sent: a number that is formatted again may differ from what Slack signed.
    hash.update(format!("v0:{timestamp}:").as_bytes());
    hash.update(body);
    // Compares in constant time.
    hash.verify_slice(&signature).map_err(|_| InvalidSignature::Mismatch)
}

fn decode_hex(digits: &str) -> Option<Vec<u8>> {
    if !digits.is_ascii() || !digits.len().is_multiple_of(2) {
        return None;
    }
    let pairs = (0..digits.len()).step_by(2);
    pairs.map(|start| u8::from_str_radix(&digits[start..start + 2], 16).ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Slack's own example in "Verifying requests from Slack".
    const BODY: &str = "token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&\
        channel_id=G8PSS9T3V&channel_name=foobar&user_id=U2CERLKJA&user_name=roadrunner&\
        command=%2Fwebhook-collect&text=&response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands%2F\
        T1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN&\
        trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c";
    const SIGNATURE: &str = "v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503";

    #[test]
    fn only_recent_requests_signed_by_the_app_are_accepted() {
        let secret = SecretString::from("8f742231b10e8888abcd99yyyzzz85a5");
        let now = Timestamp::from_second(1_531_420_618).unwrap();
        let time = Some("1531420618");
        let late = now + SignedDuration::from_secs(301);
        let upper = SIGNATURE.replace("a2", "A2");
        for (time, signature, body, now, expected) in [
            (time, Some(SIGNATURE), BODY, now, Ok(())),
            (time, Some(upper.as_str()), BODY, now, Ok(())),
            (time, Some(SIGNATURE), BODY, late, Err(InvalidSignature::Expired)),
            (Some("1531420619"), Some(SIGNATURE), BODY, now, Err(InvalidSignature::Mismatch)),
            (time, Some(SIGNATURE), "token=other", now, Err(InvalidSignature::Mismatch)),
            (time, Some("v0=a2"), BODY, now, Err(InvalidSignature::Mismatch)),
            (time, Some("v0=é1"), BODY, now, Err(InvalidSignature::Mismatch)),
            (time, Some("a2114d"), BODY, now, Err(InvalidSignature::Unsigned)),
            (time, None, BODY, now, Err(InvalidSignature::Unsigned)),
            (Some("now"), Some(SIGNATURE), BODY, now, Err(InvalidSignature::Unsigned)),
            (
                Some("9223372036854775807"),
                Some(SIGNATURE),
                BODY,
                now,
                Err(InvalidSignature::Expired),
            ),
        ] {
            assert_eq!(verify(&secret, time, signature, body.as_bytes(), now), expected);
        }
    }
}
