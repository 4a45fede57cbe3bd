//! The bot's identity in its workspace: fetched from Slack at startup and stored, so that the bot can start while Slack
//! is down.

use std::time::Duration;

use aizuchi_model::chat::{Cursor, UserId, WorkspaceId, to_single_line};
use aizuchi_store::{Cursors, StoreError};
use secrecy::ExposeSecret as _;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tracing::warn;

use crate::api::{SlackApi, SlackApiError};
use crate::from_slack::{non_empty_str, parse_id};
use crate::manifest;
use crate::settings::SlackSettings;

/// The identity is needed before the workspace is known, so its cursor uses a workspace of its own.
const IDENTITY_WORKSPACE: &str = "slack";

const MAX_START_ATTEMPTS: usize = 3;
const START_RETRY_DELAY: Duration = Duration::from_secs(2);

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlackIdentity {
    pub workspace: WorkspaceId,
    /// The workspace's name.
    pub name: String,
    /// The bot's user.
    pub user: UserId,
    /// The workspace's address, with a slash at its end. An identity that an earlier version stored has none.
    pub url: Option<String>,
}

impl SlackIdentity {
    /// Returns the identity as a cursor, stored for the next start.
    pub fn to_cursor(&self, settings: &SlackSettings) -> Cursor {
        let value = json!({
            "team_id": self.workspace, "team": self.name, "user_id": self.user,
            "url": self.url,
        });
        Cursor {
            workspace: WorkspaceId::new(IDENTITY_WORKSPACE),
            stream: identity_key(settings).into(),
            value: value.to_string().into(),
        }
    }
}

/// Why the bot cannot connect to Slack.
#[derive(Debug, thiserror::Error)]
pub enum SlackConnectError {
    #[error(
        "Slack refuses slack.bot_token ({0}); see \"OAuth & Permissions\" in the app's settings"
    )]
    BotTokenRefused(String),
    #[error("Slack refuses slack.app_token ({0}); see \"Basic Information\" in the app's settings")]
    AppTokenRefused(String),
    #[error(
        "Socket Mode is switched off for the Slack app; switch it on in the app's settings, or use \
         slack.signing_secret"
    )]
    SocketModeDisabled,
    #[error("the app was removed from the Slack workspace: {0}")]
    Revoked(&'static str),
    #[error("Slack could not be asked who the bot is: {0}")]
    IdentityUnavailable(SlackApiError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("{0:#}")]
    Other(#[from] anyhow::Error),
}

/// Asks Slack for the identity behind the bot's token.
pub async fn fetch_identity(settings: &SlackSettings) -> Result<SlackIdentity, SlackConnectError> {
    let api = SlackApi::new(&settings.api_base, settings.timeouts.call)?;
    match api.call_with_scopes(&settings.bot_token.read(), "auth.test", &[]).await {
        Ok(response) => {
            let scopes = response.scopes.as_deref();
            let missing = scopes.map(manifest::missing_scopes).unwrap_or_default();
            for scope in missing {
                warn!(
                    platform = "slack",
                    scope = scope.name,
                    needed_to = scope.reason,
                    "the Slack app lacks a scope"
                );
            }
            let unknown = SlackApiError::Malformed("it does not say who the bot is");
            parse_identity(&response.body).ok_or(SlackConnectError::IdentityUnavailable(unknown))
        }
        Err(SlackApiError::Refused(code)) => Err(SlackConnectError::BotTokenRefused(code)),
        Err(error) => Err(SlackConnectError::IdentityUnavailable(error)),
    }
}

/// Fetches the identity from Slack. Falls back to the stored one while Slack cannot be reached.
pub async fn resolve_identity(
    settings: &SlackSettings,
    cursors: &dyn Cursors,
) -> Result<SlackIdentity, SlackConnectError> {
    let mut fetched = fetch_identity(settings).await;
    for attempt in 1..MAX_START_ATTEMPTS {
        let Err(SlackConnectError::IdentityUnavailable(error)) = &fetched else { break };
        warn!(platform = "slack", attempt, error = %error, "the identity could not be fetched; retrying");
        tokio::time::sleep(START_RETRY_DELAY).await;
        fetched = fetch_identity(settings).await;
    }
    match fetched {
        Err(SlackConnectError::IdentityUnavailable(error)) => {
            let identity = stored_identity(settings, cursors)
                .await?
                .ok_or_else(|| SlackConnectError::IdentityUnavailable(error.clone()))?;
            warn!(
                platform = "slack",
                workspace = %identity.workspace,
                error = %error,
                "the identity could not be fetched; using the stored one"
            );
            Ok(identity)
        }
        fetched => fetched,
    }
}

async fn stored_identity(
    settings: &SlackSettings,
    cursors: &dyn Cursors,
) -> Result<Option<SlackIdentity>, StoreError> {
    let stored = cursors.cursors(&WorkspaceId::new(IDENTITY_WORKSPACE)).await?;
    let key = identity_key(settings);
    let stored = stored.iter().find(|cursor| *cursor.stream == *key);
    let stored = stored.and_then(|stored| serde_json::from_str(&stored.value).ok());
    Ok(stored.as_ref().and_then(parse_identity))
}

/// Parses the response of `auth.test`, or the stored identity, which has the same shape.
pub(crate) fn parse_identity(answer: &Value) -> Option<SlackIdentity> {
    Some(SlackIdentity {
        workspace: WorkspaceId::new(parse_id(&answer["team_id"])?),
        name: to_single_line(non_empty_str(&answer["team"]).unwrap_or("Slack")),
        user: UserId::new(parse_id(&answer["user_id"])?),
        url: non_empty_str(&answer["url"]).map(str::to_owned),
    })
}

/// Returns a digest of the token: the token itself is never stored.
fn identity_key(settings: &SlackSettings) -> String {
    let digest = Sha256::digest(settings.bot_token.read().expose_secret());
    digest.iter().take(16).map(|byte| format!("{byte:02x}")).collect()
}
