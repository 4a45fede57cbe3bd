//! Servers as Discord lists them: read where a session went on after the program was started anew, which
//! tells nothing of what there is, and every now and then. A list that broke off changes nothing.

use serde_json::{Value, json};
use tracing::{info, warn};
use twilight_model::id::Id;
use twilight_model::id::marker::GuildMarker;

use jiff::SignedDuration;

use crate::DiscordPlatform;
use crate::api::DiscordApiError;
use crate::from_discord::guild;
use crate::identity::guild_workspace;
use crate::ingest::IngestError;
use aizuchi_core::chat::WorkspaceId;

/// After a list could not be read.
const RETRY_DELAY: SignedDuration = SignedDuration::from_secs(60);

impl DiscordPlatform {
    /// Reads all lists where that is wanted, and now and then. Never ends.
    pub(super) async fn run_sync(&self) {
        let mut next = self.now() + self.settings.sync_interval;
        loop {
            tokio::select! {
                () = self.sync_requested.notified() => {}
                () = self.clock.sleep_until(next) => {}
            }
            next = match self.sync().await {
                Ok(()) => self.now() + self.settings.sync_interval,
                Err(error) => {
                    warn!("Discord's lists could not be read and are tried again: {error}");
                    self.now() + RETRY_DELAY
                }
            };
        }
    }

    async fn sync(&self) -> Result<(), IngestError> {
        let known = self.identity.guilds.iter().map(|guild| guild.id).chain(self.cache.guilds());
        let mut guilds: Vec<_> = known.collect();
        guilds.sort();
        guilds.dedup();
        for guild in guilds {
            match self.sync_guild(guild).await {
                Err(IngestError::Api(DiscordApiError::Refused(refusal)))
                    if matches!(refusal.status, 403 | 404) =>
                {
                    info!("a server may not be read any more: Discord says {refusal}");
                    self.leave_guild(guild);
                }
                synced => synced?,
            }
        }
        Ok(())
    }

    /// As a session's beginning would tell of it.
    async fn sync_guild(&self, id: Id<GuildMarker>) -> Result<(), IngestError> {
        let mut told: Value = self.read_with_retries(&format!("/guilds/{id}")).await?;
        told["channels"] = self.read_with_retries(&format!("/guilds/{id}/channels")).await?;
        let mut active: Value =
            self.read_with_retries(&format!("/guilds/{id}/threads/active")).await?;
        told["threads"] = active["threads"].take();
        let us: Value =
            self.read_with_retries(&format!("/guilds/{id}/members/{}", self.identity.user)).await?;
        told["members"] = json!([us]);
        if let Some(guild) = guild::parse_guild(&told) {
            self.hear_guild(guild).await?;
        }
        Ok(())
    }

    /// The server that is this workspace.
    pub(super) fn guild_id(&self, of: &WorkspaceId) -> Option<Id<GuildMarker>> {
        let number = of.as_str().rsplit_once(':')?.1.parse().ok()?;
        (guild_workspace(number) == *of).then_some(number)
    }
}
