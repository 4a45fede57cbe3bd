//! Fetches the servers over the REST API: periodically, and after a restart that resumed a session, when Discord does
//! not describe the servers. An incomplete response changes nothing.

use aizuchi_model::chat::WorkspaceId;
use jiff::SignedDuration;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use tracing::{info, warn};
use twilight_model::id::Id;
use twilight_model::id::marker::GuildMarker;

use crate::DiscordPlatform;
use crate::api::DiscordApiError;
use crate::from_discord::guild::{self, Guild};
use crate::identity::guild_workspace;
use crate::ingest::IngestError;

/// Discord's response to `/guilds/{id}/threads/active`.
#[derive(Deserialize)]
struct ActiveThreads {
    threads: Vec<Value>,
}

/// The delay after a failed sync.
const RETRY_DELAY: SignedDuration = SignedDuration::from_secs(60);
/// How many times a server that changes meanwhile is fetched.
const MAX_FETCHES: usize = 5;

impl DiscordPlatform {
    /// Syncs on request and periodically. Never returns.
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
                    warn!(platform = "discord", %error, "could not sync the servers; retrying");
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
        let mut failure = Ok(());
        for guild in guilds {
            match self.sync_guild(guild).await {
                Err(IngestError::Api(DiscordApiError::Refused(refusal)))
                    // A proxy's error page has no code, and says nothing about the server.
                    if matches!(refusal.status, 403 | 404) && refusal.code != 0 =>
                {
                    info!(
                        platform = "discord",
                        server = %guild,
                        error = %refusal,
                        "no access to a server"
                    );
                    self.leave_guild(guild);
                }
                // One server must not prevent the others from being fetched.
                Err(IngestError::Api(error)) => failure = Err(error.into()),
                result => result?,
            }
        }
        failure
    }

    /// Fetches one server and hears it. If an event has changed the server in the meantime, the fetched description may
    /// be the older one, e.g. of a channel that has just been made private, so it is fetched again.
    async fn sync_guild(&self, id: Id<GuildMarker>) -> Result<(), IngestError> {
        for _ in 0..MAX_FETCHES {
            let before = self.guild_changes.lock().await.get(&id).copied();
            let guild = self.fetch_guild(id).await?;
            let changes = self.guild_changes.lock().await;
            if changes.get(&id).copied() == before {
                return Ok(self.hear_guild(guild).await?);
            }
        }
        Err(DiscordApiError::Unreachable("it changes all the time".to_owned()).into())
    }

    /// Fetches one server, in the format that a new session would send.
    async fn fetch_guild(&self, id: Id<GuildMarker>) -> Result<Guild, DiscordApiError> {
        // A list of an unexpected type must not count as empty: the bot would then leave all channels.
        let mut described: Map<String, Value> =
            self.read_with_retries(&format!("/guilds/{id}")).await?;
        let channels: Vec<Value> =
            self.read_with_retries(&format!("/guilds/{id}/channels")).await?;
        let active: ActiveThreads =
            self.read_with_retries(&format!("/guilds/{id}/threads/active")).await?;
        // Only the bot itself: the list of members needs a privileged intent.
        let member: Value =
            self.read_with_retries(&format!("/guilds/{id}/members/{}", self.identity.user)).await?;
        described.insert("channels".to_owned(), Value::Array(channels));
        described.insert("threads".to_owned(), Value::Array(active.threads));
        described.insert("members".to_owned(), json!([member]));
        let guild = guild::parse_guild(&Value::Object(described));
        let guild = guild.filter(|guild| guild.id == id);
        guild.ok_or(DiscordApiError::Malformed("it describes no server"))
    }

    /// Returns the server of a workspace.
    pub(super) fn guild_id(&self, workspace: &WorkspaceId) -> Option<Id<GuildMarker>> {
        let number = workspace.as_str().rsplit_once(':')?.1.parse().ok()?;
        (guild_workspace(number) == *workspace).then_some(number)
    }
}
