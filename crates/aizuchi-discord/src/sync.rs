//! Servers as Discord lists them: read where a session went on after the program was started anew, which
//! tells nothing of what there is, and every now and then. A list that broke off changes nothing.

use serde_json::{Value, json};
use tracing::{info, warn};
use twilight_model::id::Id;
use twilight_model::id::marker::GuildMarker;

use jiff::SignedDuration;

use crate::api::ApiError;
use crate::from_discord::guild;
use crate::take::TakeError;
use crate::{Discord, workspace};
use aizuchi_core::chat::WorkspaceId;

/// After a list could not be read.
const PAUSE: SignedDuration = SignedDuration::from_secs(60);

impl Discord {
    /// Reads all lists where that is wanted, and now and then. Never ends.
    pub(super) async fn stay_in_sync(&self) {
        let mut next = self.now() + self.settings.sync_every;
        loop {
            tokio::select! {
                () = self.wants_lists.notified() => {}
                () = self.clock.sleep_until(next) => {}
            }
            next = match self.sync().await {
                Ok(()) => self.now() + self.settings.sync_every,
                Err(error) => {
                    warn!("Discord's lists could not be read and are tried again: {error}");
                    self.now() + PAUSE
                }
            };
        }
    }

    async fn sync(&self) -> Result<(), TakeError> {
        let known = self.who.guilds.iter().map(|guild| guild.id).chain(self.roster.guilds());
        let mut guilds: Vec<_> = known.collect();
        guilds.sort();
        guilds.dedup();
        for guild in guilds {
            match self.sync_guild(guild).await {
                Err(TakeError::Discord(ApiError::Refused(refusal)))
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
    async fn sync_guild(&self, id: Id<GuildMarker>) -> Result<(), TakeError> {
        let mut told: Value = self.read(&format!("/guilds/{id}")).await?;
        told["channels"] = self.read(&format!("/guilds/{id}/channels")).await?;
        let mut active: Value = self.read(&format!("/guilds/{id}/threads/active")).await?;
        told["threads"] = active["threads"].take();
        let us: Value = self.read(&format!("/guilds/{id}/members/{}", self.who.user)).await?;
        told["members"] = json!([us]);
        if let Some(guild) = guild::guild(&told) {
            self.hear_guild(guild).await?;
        }
        Ok(())
    }

    /// The server that is this workspace.
    pub(super) fn guild_of(&self, of: &WorkspaceId) -> Option<Id<GuildMarker>> {
        let number = of.as_str().rsplit_once(':')?.1.parse().ok()?;
        (workspace(number) == *of).then_some(number)
    }
}
