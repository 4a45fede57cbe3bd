//! Who the bot is on Discord, and the workspaces that follow from it. Discord's last answer is stored, so the
//! program also starts while Discord cannot be reached.

use std::time::Duration;

use secrecy::ExposeSecret as _;
use serde::Deserialize;
use serde_json::Value;
use sha2::{Digest, Sha256};
use tracing::warn;
use twilight_model::id::Id;
use twilight_model::id::marker::{ApplicationMarker, GuildMarker};
use twilight_model::oauth::ApplicationFlags;

use crate::api::{ApiRequest, DiscordApi, DiscordApiError};
use crate::settings::DiscordSettings;
use aizuchi_core::chat::{Cursor, UserId, WorkspaceId, to_single_line};
use aizuchi_core::clock::Clock;
use aizuchi_core::store::{Archive, StoreError};

/// All of Discord: the platform of every workspace whose name begins with this and a colon. What is known
/// of an installation before Discord was asked is kept here, too.
const PLATFORM: &str = "discord";

/// How often Discord is asked at the start who we are, and what is between.
const MAX_START_ATTEMPTS: usize = 3;
const START_RETRY_DELAY: Duration = Duration::from_secs(2);

/// Who we are on Discord.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiscordIdentity {
    pub application: Id<ApplicationMarker>,
    /// The bot's user.
    pub user: UserId,
    /// The bot's name.
    pub name: String,
    /// Whether the application may read what people write.
    pub can_read_content: bool,
    /// The servers that it is on.
    pub guilds: Vec<GuildSummary>,
}

/// A server, as Discord lists those that we are on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GuildSummary {
    pub id: Id<GuildMarker>,
    pub name: String,
}

/// Why Discord cannot be joined.
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
        "Discord wants the bot's servers to be shared out differently; leave discord.shards out, so that \
         Discord is asked"
    )]
    InvalidShards,
    #[error(
        "Discord does not understand us any more (it says {0}); this program is too old for it"
    )]
    UnsupportedVersion(u16),
    #[error("Discord has dismissed the bot: {0}")]
    Revoked(&'static str),
    #[error("Discord could not be asked who we are: {0}")]
    IdentityUnavailable(DiscordApiError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("{0:#}")]
    Other(#[from] anyhow::Error),
}

impl DiscordConnectError {
    /// Why it could not be asked.
    pub(crate) fn from_api_error(error: DiscordApiError) -> Self {
        if error.is_token_invalid() { Self::TokenRefused } else { Self::IdentityUnavailable(error) }
    }
}

/// The platform of all workspaces of Discord.
pub fn platform_workspace() -> WorkspaceId {
    WorkspaceId::new(PLATFORM)
}

/// A server is a workspace.
pub fn guild_workspace(guild: Id<GuildMarker>) -> WorkspaceId {
    WorkspaceId::new(format!("{PLATFORM}:{guild}"))
}

/// All direct messages are one workspace. Each is a private channel of it, so nothing goes from one to
/// another; and nothing goes to or from a server, since nobody says that both are of it.
pub fn direct_workspace() -> WorkspaceId {
    WorkspaceId::new(format!("{PLATFORM}:direct"))
}

/// Asks Discord whose token this is, and where it is.
pub async fn fetch_identity(
    settings: &DiscordSettings,
) -> Result<DiscordIdentity, DiscordConnectError> {
    let api = DiscordApi::new(settings, Clock::system())?;
    let ask = async |path: &str| match api.call(&ApiRequest::get(path)).await {
        Ok(answer) => Ok(answer),
        Err(error) if error.is_token_invalid() => Err(DiscordConnectError::TokenRefused),
        Err(error) => Err(DiscordConnectError::IdentityUnavailable(error)),
    };
    let mut me = ask("/users/@me").await?;
    me["application"] = ask("/applications/@me").await?;
    me["guilds"] = Value::Array(Vec::new());
    let mut after = String::new();
    loop {
        let page = ask(&format!("/users/@me/guilds?limit=200{after}")).await?;
        let guilds = page.as_array().cloned().unwrap_or_default();
        after = guilds
            .last()
            .map(|last| format!("&after={}", last["id"].as_str().unwrap_or("")))
            .unwrap_or_default();
        let is_last = guilds.len() < 200;
        if let Value::Array(all) = &mut me["guilds"] {
            all.extend(guilds);
        }
        if is_last {
            break;
        }
    }
    parse_identity(me).ok_or(DiscordConnectError::IdentityUnavailable(
        DiscordApiError::OutcomeUnknown("it does not say who we are".to_owned()),
    ))
}

/// Whose token this is. While Discord cannot be reached, what it said the last time holds.
pub async fn resolve_identity(
    settings: &DiscordSettings,
    archive: &dyn Archive,
) -> Result<DiscordIdentity, DiscordConnectError> {
    let mut told = fetch_identity(settings).await;
    for _ in 1..MAX_START_ATTEMPTS {
        let Err(DiscordConnectError::IdentityUnavailable(error)) = &told else { break };
        warn!("{error}; it is asked again");
        tokio::time::sleep(START_RETRY_DELAY).await;
        told = fetch_identity(settings).await;
    }
    match told {
        Err(DiscordConnectError::IdentityUnavailable(error)) => {
            let known = archive.cursors(&platform_workspace()).await?;
            let place = identity_key(settings);
            let known = known.iter().find(|bookmark| *bookmark.stream == *place);
            let known = known.and_then(|known| serde_json::from_str(&known.value).ok());
            let who = known
                .and_then(parse_identity)
                .ok_or(DiscordConnectError::IdentityUnavailable(error.clone()))?;
            warn!("{error}; it goes on as who it was the last time");
            Ok(who)
        }
        told => told,
    }
}

/// What Discord says of us, as it is kept, too.
#[derive(Deserialize, serde::Serialize)]
struct IdentityRecord {
    id: String,
    username: String,
    application: ApplicationRecord,
    guilds: Vec<GuildRecord>,
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

fn parse_identity(told: Value) -> Option<DiscordIdentity> {
    let told: IdentityRecord = serde_json::from_value(told).ok()?;
    let flags = ApplicationFlags::from_bits_truncate(told.application.flags);
    let may_read = ApplicationFlags::GATEWAY_MESSAGE_CONTENT
        | ApplicationFlags::GATEWAY_MESSAGE_CONTENT_LIMITED;
    let guild =
        |guild: GuildRecord| GuildSummary { id: guild.id, name: to_single_line(&guild.name) };
    Some(DiscordIdentity {
        application: told.application.id,
        user: UserId::new(told.id),
        name: to_single_line(&told.username),
        can_read_content: flags.intersects(may_read),
        guilds: told.guilds.into_iter().map(guild).collect(),
    })
}

/// The same as Discord tells it.
fn to_identity_record(who: &DiscordIdentity) -> IdentityRecord {
    let flags = match who.can_read_content {
        true => ApplicationFlags::GATEWAY_MESSAGE_CONTENT.bits(),
        false => 0,
    };
    let guilds = who.guilds.iter();
    IdentityRecord {
        id: who.user.to_string(),
        username: who.name.clone(),
        application: ApplicationRecord { id: who.application, flags },
        guilds: guilds
            .map(|guild| GuildRecord { id: guild.id, name: guild.name.clone() })
            .collect(),
    }
}

/// Where it is noted who we are with a token. The token itself is noted nowhere.
fn identity_key(settings: &DiscordSettings) -> String {
    let digest = Sha256::digest(settings.token.expose_secret());
    digest.iter().take(16).map(|byte| format!("{byte:02x}")).collect()
}

impl DiscordIdentity {
    /// Every workspace that it lives in.
    pub fn workspaces(&self) -> Vec<WorkspaceId> {
        let guilds = self.guilds.iter().map(|guild| guild_workspace(guild.id));
        guilds.chain([direct_workspace()]).collect()
    }

    pub(crate) fn to_cursor(&self, settings: &DiscordSettings) -> Cursor {
        let record = serde_json::to_string(&to_identity_record(self)).unwrap_or_default();
        Cursor {
            workspace: platform_workspace(),
            stream: identity_key(settings).into(),
            value: record.into(),
        }
    }
}
