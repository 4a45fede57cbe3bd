//! Events over HTTP, for apps without a socket: signed, and tried again if the app does not take them.

use std::time::Duration;

use hmac::{Hmac, KeyInit, Mac};
use serde_json::{Value, json};
use sha2::Sha256;

use crate::slack::FakeSlack;
use crate::slack::mail::{Letter, LetterKind};
use crate::slack::state::State;
use crate::slack::workspace::unique;

/// Where events go instead of to a socket.
#[derive(Clone, Debug, PartialEq)]
pub struct Address {
    pub url: String,
    pub trust: Trust,
}

/// Whether the app has shown that the address is its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trust {
    Asked,
    Verified,
    Refused,
}

/// A request that is to be made.
#[derive(Clone, Debug, PartialEq)]
pub enum Push {
    /// Asks the app to repeat a word.
    Verify,
    /// A delivery, by its number.
    Deliver(usize),
}

/// What is sent.
struct Parcel {
    url: String,
    body: String,
    headers: Vec<(&'static str, String)>,
}

impl FakeSlack {
    /// From here on events go to this address, if it answers as Slack asks.
    pub fn push_to(&self, url: &str) {
        self.change(|state| {
            state.address = Some(Address { url: url.to_owned(), trust: Trust::Asked });
            state.pushes.push(Push::Verify);
        });
    }

    pub fn address(&self) -> Option<Address> {
        self.read(|state| state.address.clone())
    }

    /// Makes one request, and takes note of what came of it.
    pub(super) async fn push(&self, client: reqwest::Client, push: Push) {
        let challenge = unique("");
        let Some(parcel) = self.read(|state| parcel(state, self, &push, &challenge)) else {
            return;
        };
        let limit = Duration::try_from(self.settings.ack_deadline).unwrap_or_default();
        let request = client.post(parcel.url).timeout(limit).body(parcel.body);
        let request = parcel
            .headers
            .into_iter()
            .fold(request, |request, (name, value)| request.header(name, value));
        let answer = match request.send().await {
            Ok(answer) if answer.status().is_success() => answer.text().await.ok(),
            Ok(_) | Err(_) => None,
        };
        self.change(|state| match push {
            Push::Verify => {
                let is_repeated = answer.is_some_and(|answer| answer.contains(&challenge));
                if let Some(address) = &mut state.address {
                    address.trust = if is_repeated { Trust::Verified } else { Trust::Refused };
                }
            }
            Push::Deliver(delivery) if answer.is_some() => {
                let envelope = state.mail.deliveries[delivery].envelope_id.clone();
                let answer = answer.and_then(|answer| serde_json::from_str(&answer).ok());
                state.answer_command(&envelope, &answer.unwrap_or(Value::Null));
                state.mail.ack(&envelope);
            }
            Push::Deliver(delivery) => state.fail(delivery, &self.settings, "http_error"),
        });
    }
}

/// A client for it; reqwest wants to know who encrypts.
pub fn client() -> anyhow::Result<reqwest::Client> {
    // It fails where a provider of cryptography is installed already, which is as well.
    let _ = rustls::crypto::ring::default_provider().install_default();
    Ok(reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).build()?)
}

fn parcel(state: &State, fake: &FakeSlack, push: &Push, challenge: &str) -> Option<Parcel> {
    let url = state.address.as_ref()?.url.clone();
    let (body, letter): (Value, Option<&Letter>) = match push {
        Push::Verify => {
            let kind = "url_verification";
            let token = "dev-verification";
            (json!({ "token": token, "challenge": challenge, "type": kind }), None)
        }
        Push::Deliver(delivery) => {
            let delivery = state.mail.deliveries.get(*delivery)?;
            (delivery.payload.clone(), state.mail.letters.get(delivery.letter))
        }
    };
    let body = body.to_string();
    let now = state.workspace.unix_seconds().to_string();
    let mut headers = vec![
        ("content-type", "application/json".to_owned()),
        ("x-slack-signature", signature(&fake.settings.signing_secret, &now, &body)?),
        ("x-slack-request-timestamp", now),
    ];
    if let Some(letter) = letter.filter(|letter| letter.attempt > 0) {
        headers.push(("x-slack-retry-num", letter.attempt.to_string()));
        headers.push(("x-slack-retry-reason", letter.reason.to_owned()));
    }
    Some(Parcel { url, body, headers })
}

/// What shows that a request is Slack's.
pub fn signature(secret: &str, timestamp: &str, body: &str) -> Option<String> {
    let mut mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).ok()?;
    mac.update(format!("v0:{timestamp}:{body}").as_bytes());
    let digest = mac.finalize().into_bytes();
    let hex: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    Some(format!("v0={hex}"))
}

impl State {
    /// Whether this letter goes to an address rather than to a socket.
    pub fn is_pushed(&self, letter: usize) -> bool {
        let is_verified =
            self.address.as_ref().is_some_and(|address| address.trust == Trust::Verified);
        is_verified && self.mail.letters[letter].kind == LetterKind::Event
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_signed_as_slack_documents_it() {
        // The example of "Verifying requests from Slack".
        let body = "token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V&channel_name=foobar&user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-collect&text=&response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN&trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c";
        let signed = signature("8f742231b10e8888abcd99yyyzzz85a5", "1531420618", body);
        let expected = "v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503";
        assert_eq!(signed.as_deref(), Some(expected));
    }
}
