//! The bot's identity on Discord, and the workspaces derived from it. Discord's last response is stored, so that the
//! program also starts while Discord cannot be reached.

use std::time::Duration;

use aizuchi_model::chat::{Cursor, UserId, WorkspaceId, to_single_line};
use aizuchi_model::clock::Clock;
use aizuchi_store::{Cursors, StoreError};
use secrecy::ExposeSecret as _;
use serde::Deserialize;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tracing::warn;
use twilight_model::id::Id;
use twilight_model::id::marker::{ApplicationMarker, GuildMarker};
use twilight_model::oauth::ApplicationFlags;

use crate::api::{ApiRequest, DiscordApi, DiscordApiError};
use crate::json::id_str;
use crate::settings::DiscordSettings;

/// The prefix of every Discord workspace. On its own it is the workspace that stores the cursors of the whole
/// installation.
const PLATFORM: &str = "discord";

/// The number of servers per page of Discord's list.
const GUILD_PAGE_SIZE: usize = 200;
const MAX_START_ATTEMPTS: usize = 3;
const START_RETRY_DELAY: Duration = Duration::from_secs(2);

/// The bot's identity on Discord.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiscordIdentity {
    pub application: Id<ApplicationMarker>,
    /// The bot's user.
    pub user: UserId,
    /// The bot's name.
    pub name: String,
    /// Whether the application has the Message Content Intent.
    pub can_read_content: bool,
    /// The servers that the bot is on.
    pub guilds: Vec<GuildSummary>,
}

/// A server in Discord's list of the bot's servers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GuildSummary {
    pub id: Id<GuildMarker>,
    pub name: String,
}

/// Why the bot cannot connect to Discord.
#[derive(Debug, thiserror::Error)]
pub enum DiscordConnectError {
    #[error(
        "Discord refuses discord.token; see the page Bot of the application, at \
         https://discord.com/developers/applications"
    )]
    TokenRefused,
    #[error(
        "Discord does not let the bot read messages; switch on \"Message Content Intent\" on the page Bot of \
         the application, at https://discord.com/developers/applications"
    )]
    DisallowedIntents,
    #[error(
        "Discord wants a different number of shards; remove discord.shards, so that Discord decides"
    )]
    InvalidShards,
    #[error("Discord no longer understands this program (it says {0}); use a newer version")]
    UnsupportedVersion(u16),
    #[error("Discord has removed the bot: {0}")]
    Revoked(&'static str),
    #[error("Discord could not be asked who the bot is: {0}")]
    IdentityUnavailable(DiscordApiError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("{0:#}")]
    Other(#[from] anyhow::Error),
}

/// Returns the workspace that represents Discord as a whole.
pub fn platform_workspace() -> WorkspaceId {
    WorkspaceId::new(PLATFORM)
}

/// Returns the workspace of a server.
pub fn guild_workspace(guild: Id<GuildMarker>) -> WorkspaceId {
    WorkspaceId::new(format!("{PLATFORM}:{guild}"))
}

/// Returns the workspace of all direct messages. Each direct message is a private channel of it, so nothing leaks from
/// one to another, and nothing leaks to or from a server.
pub fn direct_workspace() -> WorkspaceId {
    WorkspaceId::new(format!("{PLATFORM}:direct"))
}

/// Fetches the bot that the token belongs to, and the servers that it is on.
pub async fn fetch_identity(
    settings: &DiscordSettings,
) -> Result<DiscordIdentity, DiscordConnectError> {
    let api = DiscordApi::new(settings, Clock::system())?;
    let get = async |path: &str| match api.call(&ApiRequest::get(path)).await {
        Ok(answer) => Ok(answer),
        Err(error) if error.is_token_invalid() => Err(DiscordConnectError::TokenRefused),
        Err(error) => Err(DiscordConnectError::IdentityUnavailable(error)),
    };
    let user = get("/users/@me").await?;
    let application = get("/applications/@me").await?;
    let mut guilds = Vec::new();
    let mut last = String::new();
    loop {
        let after = if last.is_empty() { String::new() } else { format!("&after={last}") };
        let page = get(&format!("/users/@me/guilds?limit={GUILD_PAGE_SIZE}{after}")).await?;
        let Value::Array(page) = page else { return Err(unreadable("it lists no servers")) };
        let is_last = page.len() < GUILD_PAGE_SIZE;
        let newest = page.last().and_then(|newest| id_str(&newest["id"])).map(str::to_owned);
        guilds.extend(page);
        if is_last {
            break;
        }
        last = newest
            .filter(|newest| *newest != last)
            .ok_or_else(|| unreadable("its list of servers has no end"))?;
    }
    let (id, username) = (&user["id"], &user["username"]);
    let record = json!({
        "id": id, "username": username, "application": application, "guilds": guilds,
    });
    parse_identity(record).ok_or_else(|| unreadable("it does not say who the bot is"))
}

fn unreadable(reason: &'static str) -> DiscordConnectError {
    DiscordConnectError::IdentityUnavailable(DiscordApiError::Malformed(reason))
}

/// Fetches the identity. Falls back to the stored one while Discord cannot be reached.
pub async fn resolve_identity(
    settings: &DiscordSettings,
    cursors: &dyn Cursors,
) -> Result<DiscordIdentity, DiscordConnectError> {
    let mut fetched = fetch_identity(settings).await;
    for _ in 1..MAX_START_ATTEMPTS {
        let Err(DiscordConnectError::IdentityUnavailable(error)) = &fetched else { break };
        warn!(platform = "discord", %error, "Discord did not tell the bot's identity; retrying");
        tokio::time::sleep(START_RETRY_DELAY).await;
        fetched = fetch_identity(settings).await;
    }
    match fetched {
        Err(DiscordConnectError::IdentityUnavailable(error)) => {
            let stored = cursors.cursors(&platform_workspace()).await?;
            let key = identity_key(settings);
            let stored = stored.iter().find(|cursor| *cursor.stream == *key);
            let stored = stored.and_then(|cursor| serde_json::from_str(&cursor.value).ok());
            let identity = stored
                .and_then(parse_identity)
                .ok_or(DiscordConnectError::IdentityUnavailable(error.clone()))?;
            warn!(platform = "discord", %error, "using the identity stored at the last start");
            Ok(identity)
        }
        fetched => fetched,
    }
}

/// The identity in the format that Discord sends and the store keeps.
#[derive(Deserialize, serde::Serialize)]
struct IdentityRecord {
    id: String,
    username: String,
    application: ApplicationRecord,
    /// Each is a [`GuildRecord`]. An unreadable one does not hide the others.
    guilds: Vec<Value>,
}

#[derive(Deserialize, serde::Serialize)]
struct ApplicationRecord {
    id: Id<ApplicationMarker>,
    #[serde(default)]
    flags: u64,
}

#[derive(Deserialize, serde::Serialize)]
struct GuildRecord {
    id: Id<GuildMarker>,
    name: String,
}

fn parse_identity(record: Value) -> Option<DiscordIdentity> {
    let record: IdentityRecord = serde_json::from_value(record).ok()?;
    let flags = ApplicationFlags::from_bits_truncate(record.application.flags);
    let content_flags = ApplicationFlags::GATEWAY_MESSAGE_CONTENT
        | ApplicationFlags::GATEWAY_MESSAGE_CONTENT_LIMITED;
    let guild = |guild: Value| {
        let GuildRecord { id, name } = serde_json::from_value(guild).ok()?;
        Some(GuildSummary { id, name: to_single_line(&name) })
    };
    Some(DiscordIdentity {
        application: record.application.id,
        user: UserId::new(record.id),
        name: to_single_line(&record.username),
        can_read_content: flags.intersects(content_flags),
        guilds: record.guilds.into_iter().filter_map(guild).collect(),
    })
}

fn to_identity_record(identity: &DiscordIdentity) -> IdentityRecord {
    let flags = match identity.can_read_content {
        true => ApplicationFlags::GATEWAY_MESSAGE_CONTENT.bits(),
        false => 0,
    };
    let guilds = identity.guilds.iter();
    IdentityRecord {
        id: identity.user.to_string(),
        username: identity.name.clone(),
        application: ApplicationRecord { id: identity.application, flags },
        guilds: guilds
            .map(|guild| json!(GuildRecord { id: guild.id, name: guild.name.clone() }))
            .collect(),
    }
}

/// Returns the key under which a token's identity is stored. The token itself is never stored.
fn identity_key(settings: &DiscordSettings) -> String {
    let digest = Sha256::digest(settings.token.read().expose_secret());
    digest.iter().take(16).map(|byte| format!("{byte:02x}")).collect()
}

impl DiscordIdentity {
    /// Returns every workspace that the bot is in.
    pub fn workspaces(&self) -> Vec<WorkspaceId> {
        let guilds = self.guilds.iter().map(|guild| guild_workspace(guild.id));
        guilds.chain([direct_workspace()]).collect()
    }

    /// Returns the identity as a cursor, for [`resolve_identity`] at the next start.
    pub(crate) fn to_cursor(&self, settings: &DiscordSettings) -> Cursor {
        let record = serde_json::to_string(&to_identity_record(self)).unwrap_or_default();
        Cursor {
            workspace: platform_workspace(),
            stream: identity_key(settings).into(),
            value: record.into(),
        }
    }
}
