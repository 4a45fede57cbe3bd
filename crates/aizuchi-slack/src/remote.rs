//! How the program checks, connects and runs the Slack adapter.

use std::sync::Arc;

use aizuchi_model::chat::WorkspaceId;
use aizuchi_platform::PlatformDeps;
use aizuchi_platform::remote::{
    Account, Connector, Credentials, PlatformCheck, RemotePlatform, Renewal, RenewalError, Webhook,
    WebhookError,
};
use aizuchi_store::Cursors;
use async_trait::async_trait;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::SlackPlatform;
use crate::diagnose::diagnose;
use crate::identity::resolve_identity;
use crate::settings::SlackSettings;

pub struct SlackConnector {
    pub settings: SlackSettings,
}

#[async_trait]
impl Connector for SlackConnector {
    fn platform(&self) -> &'static str {
        "slack"
    }

    async fn check(&self, cursors: Option<&dyn Cursors>) -> PlatformCheck {
        diagnose(&self.settings, cursors).await
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
        self.handle_webhook(call).await
    }
}
