//! How the program checks, connects and runs the Slack adapter, and forwards Slack's webhooks to it.

use std::sync::Arc;

use async_trait::async_trait;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::diagnose::diagnose;
use crate::identity::resolve_identity;
use crate::settings::{EventTransport, SlackSettings};
use crate::{SlackPlatform, signature};
use aizuchi_core::chat::WorkspaceId;
use aizuchi_core::metrics::labels::MalformedInput;
use aizuchi_core::platform::PlatformDeps;
use aizuchi_core::platform::json::parse_json;
use aizuchi_core::platform::remote::{
    Account, Connector, Credentials, RemotePlatform, Renewal, RenewalError, Webhook, WebhookError,
};
use aizuchi_core::store::Cursors;

pub struct SlackConnector {
    pub settings: SlackSettings,
    /// The channels that the settings name, by `#name` or id.
    pub configured_channels: Vec<String>,
}

#[async_trait]
impl Connector for SlackConnector {
    fn platform(&self) -> &'static str {
        "slack"
    }

    async fn check(&self, cursors: Option<&dyn Cursors>) -> Vec<Result<String, String>> {
        diagnose(&self.settings, &self.configured_channels, cursors).await
    }

    fn credentials(&self) -> Credentials {
        self.settings.credentials()
    }

    async fn connect(&self, deps: PlatformDeps) -> anyhow::Result<Arc<dyn RemotePlatform>> {
        let identity = resolve_identity(&self.settings, &*deps.cursors).await?;
        deps.inbox.load_workspace(&*deps.archive, &identity.workspace).await?;
        Ok(Arc::new(SlackPlatform::new(self.settings.clone(), identity, deps).await?))
    }
}

#[async_trait]
impl RemotePlatform for SlackPlatform {
    fn workspace(&self) -> WorkspaceId {
        self.identity.workspace.clone()
    }

    fn workspace_name(&self, workspace: &WorkspaceId) -> Option<String> {
        (*workspace == self.identity.workspace).then(|| self.identity.name.clone())
    }

    fn account(&self) -> Account {
        Account { platform: "Slack", name: self.identity.name.clone(), servers: None }
    }

    async fn run(&self, shutdown: CancellationToken) -> anyhow::Result<()> {
        SlackPlatform::run(self, shutdown).await
    }

    async fn renew_credentials(&self, newer: &Credentials) -> Result<Renewal, RenewalError> {
        SlackPlatform::renew_credentials(self, newer).await
    }

    async fn receive_webhook(&self, call: Webhook<'_>) -> Result<Option<Value>, WebhookError> {
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
        )?;
        let content_type = (call.header)("content-type").unwrap_or_default();
        if content_type.starts_with("application/x-www-form-urlencoded") {
            let malformed = WebhookError::Malformed("the body is not a form");
            let form = (call.parse_form)(call.body).ok_or(malformed)?;
            if let Some(payload) = form.get("payload").and_then(Value::as_str) {
                let Ok(payload) = parse_json(payload.as_bytes()) else {
                    self.incidents.record_malformed(MalformedInput::Frame, "a web hook");
                    return Err(WebhookError::Malformed("the payload is not JSON"));
                };
                return Ok(self.take_interaction(payload).await);
            }
            return Ok(Some(self.answer_command(Value::Object(form)).await));
        }
        let Ok(payload) = parse_json(call.body) else {
            self.incidents.record_malformed(MalformedInput::Frame, "a web hook");
            return Err(WebhookError::Malformed("the body is not JSON"));
        };
        if payload["type"] == "url_verification" {
            return Ok(Some(json!({ "challenge": payload["challenge"] })));
        }
        match self.ingest(&payload).await {
            true => Ok(None),
            false => Err(WebhookError::Unavailable("it could not be kept")),
        }
    }
}
