//! Slack's web hooks, which replace the socket where Slack can reach the program: events, interactions and slash
//! commands.

use aizuchi_agent::metrics::labels::MalformedInput;
use aizuchi_http::json::parse_json;
use aizuchi_platform::remote::{Webhook, WebhookError};
use serde_json::{Value, json};

use crate::settings::EventTransport;
use crate::{SlackPlatform, signature};

impl SlackPlatform {
    /// Handles a call of a web hook. Returns the body of the response, if it has one. Slack repeats a call that fails.
    pub async fn handle_webhook(&self, call: Webhook<'_>) -> Result<Option<Value>, WebhookError> {
        // Nothing of the body is parsed before this.
        self.verify_webhook(&call)?;
        let content_type = (call.header)("content-type").unwrap_or_default();
        match content_type.starts_with("application/x-www-form-urlencoded") {
            true => self.receive_form(&call).await,
            false => self.receive_event(&call).await,
        }
    }

    fn verify_webhook(&self, call: &Webhook<'_>) -> Result<(), WebhookError> {
        let EventTransport::Webhooks { signing_secret } = &self.settings.events else {
            return Err(WebhookError::NotUsed);
        };
        let (time, signature) =
            ((call.header)("x-slack-request-timestamp"), (call.header)("x-slack-signature"));
        signature::verify(&signing_secret.read(), time, signature, call.body, call.now).map_err(
            |invalid| {
                self.log_invalid_signature(invalid);
                WebhookError::NotAuthentic(invalid.to_string())
            },
        )
    }

    /// Handles a form: an interaction if it has a `payload`, and a slash command otherwise.
    async fn receive_form(&self, call: &Webhook<'_>) -> Result<Option<Value>, WebhookError> {
        let malformed = WebhookError::Malformed("the body is not a form");
        let form = (call.parse_form)(call.body).ok_or(malformed)?;
        match form.get("payload").and_then(Value::as_str) {
            Some(payload) => {
                let payload = self.parse_webhook(payload.as_bytes(), "the payload is not JSON")?;
                Ok(self.take_interaction(payload).await)
            }
            None => Ok(Some(self.answer_command(Value::Object(form)).await)),
        }
    }

    async fn receive_event(&self, call: &Webhook<'_>) -> Result<Option<Value>, WebhookError> {
        let payload = self.parse_webhook(call.body, "the body is not JSON")?;
        // Slack sends this when the URL is entered in the app's settings.
        if payload["type"] == "url_verification" {
            return Ok(Some(json!({ "challenge": payload["challenge"] })));
        }
        match self.ingest(&payload).await {
            true => Ok(None),
            false => Err(WebhookError::Unavailable("it could not be kept")),
        }
    }

    fn parse_webhook(&self, json: &[u8], problem: &'static str) -> Result<Value, WebhookError> {
        parse_json(json).map_err(|_| {
            self.incidents.record_malformed(MalformedInput::Frame, "a web hook");
            WebhookError::Malformed(problem)
        })
    }
}
