//! A Slack workspace: it is heard over Socket Mode (or Slack's web hooks), caught up on by its history, and
//! spoken to through the Web API. Nothing is acknowledged before it is kept.

pub mod api;
mod command;
pub mod emoji;
pub mod diagnose;
pub mod from_slack;
mod history;
mod post_lookup;
pub mod manifest;
pub mod mrkdwn;
mod post;
mod cache;
pub mod signature;
mod socket;
mod sync;
mod ingest;

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::time::Duration;

use anyhow::Context as _;
use futures_util::future::{join4, try_join_all};
use jiff::{SignedDuration, Timestamp};
use secrecy::SecretString;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use crate::api::{SlackApi, SlackApiError};
use crate::cache::SlackCache;
use crate::command::CommandQueue;
use crate::history::limit::HistoryLimit;
use crate::history::{LIMIT_KEY, LIMIT_ON};
use crate::post::PostLimiter;
use crate::post_lookup::PostLookups;
use crate::signature::InvalidSignature;
use aizuchi_core::chat::{AuthorKind, ChannelId, Cursor, Heard, Role, User, UserId, WorkspaceId};
use aizuchi_core::clock::Clock;
use aizuchi_core::inbox::Inbox;
use aizuchi_core::persona::Persona;
use aizuchi_core::platform::PlatformDeps;
use aizuchi_core::platform::backfill_queue::BackfillQueue;
use aizuchi_core::platform::connection_status::ConnectionStatus;
use aizuchi_core::platform::slash_command::SlashCommands;
use aizuchi_core::store::{Archive, Order, StoreError};

/// Where what is known of an installation before Slack was asked is kept.
const IDENTITY_WORKSPACE: &str = "slack";

/// How often Slack is asked at the start who we are, and what is between.
const MAX_START_ATTEMPTS: usize = 3;
const START_RETRY_DELAY: Duration = Duration::from_secs(2);

#[derive(Clone, Debug)]
pub struct SlackSettings {
    pub bot_token: SecretString,
    /// How events come.
    pub events: EventTransport,
    pub api_base: String,
    pub reply_in: ReplyPlacement,
    /// How long after a dispatch a post is surely not on its way any more.
    pub settle_time: SignedDuration,
    /// How far back a channel is read that was not heard before.
    pub history_span: SignedDuration,
    /// How often channels, members and names are read anew.
    pub sync_interval: SignedDuration,
    pub timeouts: SlackTimeouts,
}

/// How long a connection may take for what it does.
#[derive(Clone, Copy, Debug)]
pub struct SlackTimeouts {
    /// A call of the Web API. Below what the agent gives a post.
    pub call: Duration,
    /// Whoever gives a slash command waits so long for its answer. Slack gives it up after three seconds.
    pub command_answer: Duration,
    /// Opening a socket, and then Slack's hello.
    pub open: Duration,
    /// How often we ask whether the other side is there.
    pub ping_interval: Duration,
    /// How long it may say nothing at all.
    pub idle: Duration,
    /// Between two pages of history, where Slack gives little of it.
    pub limited_page_interval: SignedDuration,
}

impl Default for SlackTimeouts {
    fn default() -> Self {
        Self {
            call: Duration::from_secs(12),
            command_answer: Duration::from_millis(1_500),
            open: Duration::from_secs(10),
            ping_interval: Duration::from_secs(10),
            idle: Duration::from_secs(35),
            limited_page_interval: SignedDuration::from_secs(60),
        }
    }
}

/// How Slack's events come.
#[derive(Clone, Debug)]
pub enum EventTransport {
    /// Over so many WebSockets that we open.
    SocketMode { app_token: SecretString, connections: usize },
    /// Slack calls us, and signs with this.
    Webhooks { signing_secret: SecretString },
}

/// Where an answer to a line at a channel's top level goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReplyPlacement {
    /// To the top level.
    #[default]
    TopLevel,
    /// Into a thread below the line.
    Thread,
}

/// Who we are in the workspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlackIdentity {
    pub workspace: WorkspaceId,
    /// The workspace's name.
    pub name: String,
    /// The bot's user.
    pub user: UserId,
    /// Whether the token lets it find its own posts again by their keys.
    pub can_find_posts: bool,
}

pub struct SlackPlatform {
    api: SlackApi,
    settings: SlackSettings,
    identity: SlackIdentity,
    persona: Arc<Persona>,
    inbox: Arc<Inbox>,
    slash_commands: SlashCommands,
    archive: Arc<dyn Archive>,
    clock: Clock,
    cache: SlackCache,
    backfill: BackfillQueue,
    post_limiter: PostLimiter,
    post_lookups: PostLookups,
    command_queue: CommandQueue,
    history_limit: HistoryLimit,
    pub connection: ConnectionStatus,
    /// Held while a room is met for the first time. When it was last asked about in vain.
    channel_lookups: tokio::sync::Mutex<HashMap<ChannelId, Timestamp>>,
    /// All lists have been read once, or could not be.
    has_synced: AtomicBool,
    /// When the log was told last that a request was not believed.
    invalid_signature_logged_ms: AtomicI64,
}

/// Why Slack cannot be joined.
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
    #[error("the Slack workspace has dismissed the app: {0}")]
    Revoked(&'static str),
    #[error("Slack could not be asked who we are: {0}")]
    IdentityUnavailable(SlackApiError),
    #[error("Slack does not say who we are")]
    NoIdentity,
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("{0:#}")]
    Other(#[from] anyhow::Error),
}

/// Asks Slack whose token this is.
pub async fn fetch_identity(settings: &SlackSettings) -> Result<SlackIdentity, SlackConnectError> {
    let api = SlackApi::new(&settings.api_base, settings.timeouts.call)?;
    match api.call_with_scopes(&settings.bot_token, "auth.test", &[]).await {
        Ok(answer) => {
            let scopes = answer.scopes.as_deref();
            let missing = scopes.map(manifest::missing_scopes).unwrap_or_default();
            for scope in &missing {
                warn!(
                    "the Slack app lacks the scope {}, which it needs to {}",
                    scope.name, scope.reason
                );
            }
            let finds_keys = !missing.iter().any(|scope| scope.name == manifest::METADATA_SCOPE);
            let who = parse_identity(&answer.body).ok_or(SlackConnectError::NoIdentity)?;
            Ok(SlackIdentity { can_find_posts: finds_keys, ..who })
        }
        Err(SlackApiError::Refused(code)) => Err(SlackConnectError::BotTokenRefused(code)),
        Err(error) => Err(SlackConnectError::IdentityUnavailable(error)),
    }
}

/// Whose token this is. While Slack cannot be reached, what it said the last time holds.
pub async fn resolve_identity(
    settings: &SlackSettings,
    archive: &dyn Archive,
) -> Result<SlackIdentity, SlackConnectError> {
    let mut told = fetch_identity(settings).await;
    for _ in 1..MAX_START_ATTEMPTS {
        let Err(SlackConnectError::IdentityUnavailable(error)) = &told else { break };
        warn!("{error}; it is asked again");
        tokio::time::sleep(START_RETRY_DELAY).await;
        told = fetch_identity(settings).await;
    }
    match told {
        Err(SlackConnectError::IdentityUnavailable(error)) => {
            let known = archive.cursors(&WorkspaceId::new(IDENTITY_WORKSPACE)).await?;
            let place = identity_key(settings);
            let known = known.iter().find(|bookmark| *bookmark.stream == *place);
            let known = known.and_then(|known| serde_json::from_str(&known.value).ok());
            let who = known
                .as_ref()
                .and_then(parse_identity)
                .ok_or(SlackConnectError::IdentityUnavailable(error.clone()))?;
            warn!("{error}; it goes on as who it was the last time");
            Ok(who)
        }
        told => told,
    }
}

fn parse_identity(answer: &Value) -> Option<SlackIdentity> {
    let text = |key: &str| from_slack::non_empty_str(&answer[key]);
    Some(SlackIdentity {
        workspace: WorkspaceId::new(text("team_id")?),
        name: aizuchi_core::chat::to_single_line(text("team").unwrap_or("Slack")),
        user: UserId::new(text("user_id")?),
        can_find_posts: answer["finds_keys"] != false,
    })
}

/// Where it is noted who we are with a token. The token itself is noted nowhere.
fn identity_key(settings: &SlackSettings) -> String {
    use secrecy::ExposeSecret as _;
    let digest = Sha256::digest(settings.bot_token.expose_secret());
    digest.iter().take(16).map(|byte| format!("{byte:02x}")).collect()
}

impl SlackPlatform {
    /// Remembers what was known of the workspace before Slack is asked.
    pub async fn new(
        settings: SlackSettings,
        who: SlackIdentity,
        surroundings: PlatformDeps,
    ) -> anyhow::Result<Self> {
        let PlatformDeps { persona, inbox, archive, answers } = surroundings;
        let slash = SlashCommands { inbox: inbox.clone(), answers };
        let roster = SlackCache::default();
        roster.load(archive.users(&who.workspace).await?, archive.channels(&who.workspace).await?);
        let cap = HistoryLimit::new(settings.timeouts.limited_page_interval);
        let bookmarks = archive.cursors(&who.workspace).await?;
        let is_capped = |it: &Cursor| *it.stream == *LIMIT_KEY && *it.value == *LIMIT_ON;
        if bookmarks.iter().any(is_capped) {
            cap.set_limited(inbox.clock.now());
        }
        let clock = inbox.clock.clone();
        let air = match settings.events {
            EventTransport::SocketMode { .. } => ConnectionStatus::default(),
            EventTransport::Webhooks { .. } => ConnectionStatus::always_connected(clock.now()),
        };
        Ok(Self {
            api: SlackApi::new(&settings.api_base, settings.timeouts.call)?,
            settings,
            identity: who,
            persona,
            slash_commands: slash,
            archive,
            clock,
            cache: roster,
            backfill: BackfillQueue::default(),
            post_limiter: PostLimiter::default(),
            post_lookups: PostLookups::default(),
            command_queue: CommandQueue::default(),
            history_limit: cap,
            connection: air,
            inbox,
            channel_lookups: tokio::sync::Mutex::default(),
            has_synced: AtomicBool::new(false),
            invalid_signature_logged_ms: AtomicI64::new(0),
        })
    }

    pub fn identity(&self) -> &SlackIdentity {
        &self.identity
    }

    /// What signs Slack's web hooks, if they are used.
    pub fn signing_secret(&self) -> Option<&SecretString> {
        match &self.settings.events {
            EventTransport::Webhooks { signing_secret } => Some(signing_secret),
            EventTransport::SocketMode { .. } => None,
        }
    }

    /// Lives in the workspace until `shutdown`. Ends before only if it may not live there.
    pub async fn run(&self, shutdown: CancellationToken) -> anyhow::Result<()> {
        self.register().await.context("opening the Slack workspace")?;
        tokio::select! {
            // Ends after `shutdown`, when what was taken is acknowledged; or before, where it may not be.
            listened = self.listen(&shutdown) => Ok(listened?),
            // Reading goes on for ever, and can be left at any point.
            _ = join4(
                self.run_sync(),
                self.run_backfill(),
                self.run_prioritized_backfill(),
                self.run_commands(),
            ) => Ok(()),
        }
    }

    async fn listen(&self, shutdown: &CancellationToken) -> Result<(), SlackConnectError> {
        let listening = async {
            match &self.settings.events {
                EventTransport::SocketMode { app_token, connections } => {
                    let slots = 0..*connections;
                    let slots = slots.map(|place| self.keep_connected(app_token, place, shutdown));
                    try_join_all(slots).await.map(|_| ())
                }
                EventTransport::Webhooks { .. } => {
                    shutdown.cancelled().await;
                    Ok(())
                }
            }
        };
        tokio::select! {
            ended = listening => ended,
            why = self.cache.revocation.revoked() => Err(SlackConnectError::Revoked(why)),
        }
    }

    /// Makes sure that the persona is known, and that the next start knows who we are.
    async fn register(&self) -> Result<(), StoreError> {
        let workspace = &self.identity.workspace;
        for user in self.inbox.channel_cache.rulebook().opted_out.clone() {
            // Who was put on the list since the last start may have said something before.
            let workspace = workspace.clone();
            self.inbox.apply_order(Order::Redact { workspace, user }).await?;
        }
        let persona = User {
            workspace: workspace.clone(),
            id: self.identity.user.clone(),
            name: self.persona.name.as_str().into(),
            kind: AuthorKind::Persona,
            role: Role::Member,
        };
        self.inbox.hear(Heard::User(persona)).await?;
        let who = json!({
            "team_id": workspace, "team": self.identity.name, "user_id": self.identity.user,
            "finds_keys": self.identity.can_find_posts,
        });
        let bookmark = Cursor {
            workspace: WorkspaceId::new(IDENTITY_WORKSPACE),
            stream: identity_key(&self.settings).into(),
            value: who.to_string().into(),
        };
        self.inbox.hear(Heard::Cursor(bookmark)).await?;
        info!("in the Slack workspace {}", self.identity.name);
        Ok(())
    }

    /// Somebody calls as Slack and is not. The log hears of it once an hour, since nobody should fill it.
    pub fn log_invalid_signature(&self, forged: InvalidSignature) {
        const HOUR_MS: i64 = 3_600_000;
        let now = self.now().as_millisecond();
        if now - self.invalid_signature_logged_ms.load(Ordering::Relaxed) > HOUR_MS {
            self.invalid_signature_logged_ms.store(now, Ordering::Relaxed);
            warn!(
                "a request to /slack/events is not believed ({forged}); is slack.signing_secret right?"
            );
        }
    }

    /// Calls a method with the bot's token. One that is worth nothing ends it all.
    async fn call(
        &self,
        method: &str,
        arguments: &[(&str, String)],
    ) -> Result<Value, SlackApiError> {
        let answered = self.api.call(&self.settings.bot_token, method, arguments).await;
        if let Err(error) = &answered
            && error.is_token_invalid()
        {
            self.cache.revocation.revoke("the bot's token is worth nothing any more");
        }
        answered
    }

    /// Calls a method that only reads, until it answers or says no. Slack's waits are kept.
    async fn read_with_retries(
        &self,
        method: &str,
        arguments: &[(&str, String)],
    ) -> Result<Value, SlackApiError> {
        const TRIES: u32 = 8;
        let mut tried = 0;
        loop {
            tried += 1;
            let answered = self.call(method, arguments).await;
            let wait = match &answered {
                Ok(_) | Err(SlackApiError::Refused(_)) => return answered,
                Err(SlackApiError::RateLimited(wait)) => *wait,
                Err(SlackApiError::Unreachable(_) | SlackApiError::OutcomeUnknown(_))
                    if tried == TRIES =>
                {
                    return answered;
                }
                Err(SlackApiError::Unreachable(_) | SlackApiError::OutcomeUnknown(_)) => {
                    SignedDuration::from_secs(1 << tried.min(5))
                }
            };
            if wait > SignedDuration::from_secs(10) {
                info!("Slack wants {method} to wait for {wait:#}");
            }
            self.clock.sleep_until(self.clock.now() + wait).await;
        }
    }

    /// All of a list that comes in pages.
    async fn read_all_pages(
        &self,
        method: &str,
        arguments: &[(&str, String)],
        list: &str,
    ) -> Result<Vec<Value>, SlackApiError> {
        let mut found = Vec::new();
        let mut cursor = None;
        loop {
            let mut arguments = arguments.to_vec();
            arguments.extend(cursor.take().map(|cursor: String| ("cursor", cursor)));
            let mut page = self.read_with_retries(method, &arguments).await?;
            if let Value::Array(items) = page[list].take() {
                found.extend(items);
            }
            cursor = next_cursor(&page);
            if cursor.is_none() {
                return Ok(found);
            }
        }
    }

    fn now(&self) -> Timestamp {
        self.clock.now()
    }
}

fn next_cursor(page: &Value) -> Option<String> {
    from_slack::non_empty_str(&page["response_metadata"]["next_cursor"]).map(str::to_owned)
}
