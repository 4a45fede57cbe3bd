//! How the program checks, connects and runs the Discord adapter.

use std::sync::Arc;

use aizuchi_model::chat::WorkspaceId;
use aizuchi_model::rules::Rulebook;
use aizuchi_platform::PlatformDeps;
use aizuchi_platform::remote::{
    Account, Connector, Credentials, PlatformCheck, RemotePlatform, Renewal, RenewalError,
};
use aizuchi_store::Cursors;
use async_trait::async_trait;
use tokio_util::sync::CancellationToken;

use crate::DiscordPlatform;
use crate::diagnose::diagnose;
use crate::identity::{platform_workspace, resolve_identity};
use crate::settings::DiscordSettings;

pub struct DiscordConnector {
    pub settings: DiscordSettings,
    /// The rules of each channel, to check the permissions that the bot needs there.
    pub rulebook: Arc<Rulebook>,
}

#[async_trait]
impl Connector for DiscordConnector {
    fn platform(&self) -> &'static str {
        "discord"
    }

    async fn check(&self, _cursors: Option<&dyn Cursors>) -> PlatformCheck {
        diagnose(&self.settings, &self.rulebook).await
    }

    fn credentials(&self) -> Credentials {
        self.settings.credentials()
    }

    async fn connect(&self, deps: PlatformDeps) -> anyhow::Result<Arc<dyn RemotePlatform>> {
        let identity = resolve_identity(&self.settings, &*deps.cursors).await?;
        for workspace in identity.workspaces() {
            deps.inbox.load_workspace(&*deps.archive, &workspace).await?;
        }
        Ok(Arc::new(DiscordPlatform::new(self.settings.clone(), identity, deps).await?))
    }
}

#[async_trait]
impl RemotePlatform for DiscordPlatform {
    fn workspace(&self) -> WorkspaceId {
        platform_workspace()
    }

    /// The server's current name, or its name when the program started.
    fn workspace_name(&self, workspace: &WorkspaceId) -> Option<String> {
        let id = self.guild_id(workspace)?;
        let now = self.cache.guild(id).map(|guild| guild.name.to_string());
        let at_start = || self.identity.guilds.iter().find(|guild| guild.id == id);
        now.or_else(|| at_start().map(|guild| guild.name.clone()))
    }

    fn account(&self) -> Account {
        let name = self.identity.name.clone();
        Account { platform: "Discord", name, servers: Some(self.identity.guilds.len()) }
    }

    async fn run(&self, shutdown: CancellationToken) -> anyhow::Result<()> {
        DiscordPlatform::run(self, shutdown).await
    }

    async fn renew_credentials(&self, newer: &Credentials) -> Result<Renewal, RenewalError> {
        DiscordPlatform::renew_credentials(self, newer).await
    }
}
