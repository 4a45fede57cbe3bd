//! Events and interactions over HTTP, for apps without a socket: signed, and retried if the app does not accept them.

use std::time::Duration;

use aizuchi_http::body::{MAX_PLATFORM_BODY_BYTES, read_body};
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use hmac::{Hmac, KeyInit, Mac};
use serde_json::{Value, json};
use sha2::Sha256;

use crate::slack::FakeSlack;
use crate::slack::delivery::{Envelope, PayloadKind};
use crate::slack::request_url::{PushRequest, RequestUrl, UrlVerification};
use crate::slack::state::FakeSlackState;
use crate::slack::workspace::unique_id;
use crate::wire::to_wire;

struct SignedRequest {
    url: String,
    body: String,
    headers: Vec<(&'static str, String)>,
}

impl FakeSlack {
    /// Sends events to this URL from now on, once it has answered the challenge.
    pub fn set_request_url(&self, url: &str) {
        self.change(|state| {
            state.request_url =
                Some(RequestUrl { url: url.to_owned(), verification: UrlVerification::Pending });
            state.pending_pushes.push(PushRequest::Verify);
        });
    }

    pub fn request_url(&self) -> Option<RequestUrl> {
        self.read(|state| state.request_url.clone())
    }

    /// Makes the pending requests. Never returns.
    pub(super) async fn run_pushes(&self, client: &reqwest::Client) {
        let mut changed = self.subscribe();
        let mut in_flight = FuturesUnordered::new();
        loop {
            changed.mark_unchanged();
            if self.read(|state| !state.pending_pushes.is_empty()) {
                let pushes = self.change(|state| std::mem::take(&mut state.pending_pushes));
                in_flight.extend(pushes.into_iter().map(|push| self.push(client, push)));
            }
            tokio::select! {
                _ = changed.changed() => {}
                Some(()) = in_flight.next() => {}
            }
        }
    }

    /// Makes one request and records its result.
    async fn push(&self, client: &reqwest::Client, push: PushRequest) {
        let challenge = unique_id("");
        let Some(signed) = self.read(|state| build_request(state, self, &push, &challenge)) else {
            return;
        };
        let timeout = Duration::try_from(self.settings.ack_deadline).unwrap_or_default();
        let request = client.post(signed.url).timeout(timeout).body(signed.body);
        let request = signed
            .headers
            .into_iter()
            .fold(request, |request, (name, value)| request.header(name, value));
        let response = match request.send().await {
            Ok(response) if response.status().is_success() => {
                read_body(response, MAX_PLATFORM_BODY_BYTES).await.ok()
            }
            Ok(_) | Err(_) => None,
        };
        self.change(|state| match push {
            PushRequest::Verify => {
                let is_echoed = response
                    .is_some_and(|body| String::from_utf8_lossy(&body).contains(&challenge));
                if let Some(request_url) = &mut state.request_url {
                    request_url.verification =
                        if is_echoed { UrlVerification::Verified } else { UrlVerification::Failed };
                }
            }
            PushRequest::Deliver(delivery) if response.is_some() => {
                let envelope = state.dispatcher.deliveries[delivery].envelope_id.clone();
                let body = response.and_then(|body| serde_json::from_slice(&body).ok());
                state.acknowledge(&envelope, &body.unwrap_or_default());
            }
            PushRequest::Deliver(delivery) => {
                state.fail_delivery(delivery, &self.settings, "http_error")
            }
        });
    }
}

pub fn http_client() -> anyhow::Result<reqwest::Client> {
    // reqwest needs a crypto provider even for plain HTTP. Installing one fails if another is installed already.
    let _ = rustls::crypto::ring::default_provider().install_default();
    Ok(reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).build()?)
}

fn build_request(
    state: &FakeSlackState,
    fake: &FakeSlack,
    push: &PushRequest,
    challenge: &str,
) -> Option<SignedRequest> {
    let url = state.request_url.as_ref()?.url.clone();
    let (body, envelope): (Value, Option<&Envelope>) = match push {
        PushRequest::Verify => {
            let kind = "url_verification";
            let token = "dev-verification";
            (json!({ "token": token, "challenge": challenge, "type": kind }), None)
        }
        PushRequest::Deliver(delivery) => {
            let delivery = state.dispatcher.deliveries.get(*delivery)?;
            (delivery.payload.clone(), state.dispatcher.envelopes.get(delivery.envelope_index))
        }
    };
    let is_interaction = envelope.is_some_and(|envelope| envelope.kind == PayloadKind::Interaction);
    let (body, content_type) = match is_interaction {
        true => (form_body(&to_wire(&body))?, "application/x-www-form-urlencoded"),
        false => (to_wire(&body), "application/json"),
    };
    let now = state.workspace.unix_seconds().to_string();
    let mut headers = vec![
        ("content-type", content_type.to_owned()),
        ("x-slack-signature", sign(&fake.settings.signing_secret, &now, &body)?),
        ("x-slack-request-timestamp", now),
    ];
    if let Some(envelope) = envelope.filter(|envelope| envelope.retry_attempt > 0) {
        headers.push(("x-slack-retry-num", envelope.retry_attempt.to_string()));
        headers.push(("x-slack-retry-reason", envelope.retry_reason.to_owned()));
    }
    Some(SignedRequest { url, body, headers })
}

/// Encodes an interaction as a form with one field.
fn form_body(payload: &str) -> Option<String> {
    let mut form = reqwest::Url::parse("http://form/").ok()?;
    form.query_pairs_mut().append_pair("payload", payload);
    form.query().map(str::to_owned)
}

/// Signs a request.
pub fn sign(secret: &str, timestamp: &str, body: &str) -> Option<String> {
    let mut mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).ok()?;
    mac.update(format!("v0:{timestamp}:{body}").as_bytes());
    let digest = mac.finalize().into_bytes();
    let hex: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    Some(format!("v0={hex}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_signed_as_slack_documents_it() {
        // The example in Slack's documentation, "Verifying requests from Slack".
        let body = "token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V&channel_name=foobar&user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-collect&text=&response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN&trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c";
        let signed = sign("8f742231b10e8888abcd99yyyzzz85a5", "1531420618", body);
        let expected = "v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503";
        assert_eq!(signed.as_deref(), Some(expected));
    }
}
