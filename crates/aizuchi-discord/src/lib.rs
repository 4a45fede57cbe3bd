//! Discord: a bot that lives on servers (each a workspace of its own) and in direct messages. It is heard
//! over the gateway, caught up on by its channels' histories, and spoken to through the REST API.

pub mod api;
mod rate_limit;
mod command;
pub mod diagnose;
pub mod from_discord;
mod gateway;
mod history;
mod identify;
pub mod invite;
pub mod message_text;
pub mod permissions;
mod post;
mod visibility;
mod react;
mod channels;
mod cache;
mod session;
mod shards;
mod sync;
mod ingest;
pub mod text;
mod threads;

use std::collections::HashMap;
use std::sync::atomic::AtomicI64;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use anyhow::Context as _;
use futures_util::future::join4;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use secrecy::{ExposeSecret as _, SecretString};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use sha2::{Digest, Sha256};
use tokio::sync::{Notify, mpsc};
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};
use twilight_model::id::Id;
use twilight_model::id::marker::{ApplicationMarker, GuildMarker};
use twilight_model::oauth::ApplicationFlags;

use crate::api::{ApiRequest, DiscordApi, DiscordApiError};
use crate::cache::DiscordCache;
use crate::session::ReadCursor;
use crate::shards::Shards;
use aizuchi_core::chat::{
    AuthorKind, ChannelId, ConversationId, Cursor, Heard, Role, User, UserId, WorkspaceId,
    to_single_line,
};
use aizuchi_core::clock::Clock;
use aizuchi_core::inbox::Inbox;
use aizuchi_core::persona::Persona;
use aizuchi_core::platform::PlatformDeps;
use aizuchi_core::platform::backfill_queue::BackfillQueue;
use aizuchi_core::platform::connection_status::ConnectionStatus;
use aizuchi_core::platform::revocation::Revocation;
use aizuchi_core::platform::slash_command::SlashCommands;
use aizuchi_core::store::{Archive, Order, StoreError};

/// All of Discord: the platform of every workspace whose name begins with this and a colon. What is known
/// of an installation before Discord was asked is kept here, too.
const PLATFORM: &str = "discord";

/// How often Discord is asked at the start who we are, and what is between.
const MAX_START_ATTEMPTS: usize = 3;
const START_RETRY_DELAY: Duration = Duration::from_secs(2);

#[derive(Clone, Debug)]
pub struct DiscordSettings {
    pub token: SecretString,
    /// Without a slash at the end.
    pub api_base: String,
    /// Where the gateway is, if Discord shall not be asked.
    pub gateway_url: Option<String>,
    /// How many connections share the servers, if Discord shall not be asked.
    pub shards: Option<u32>,
    pub threads: ThreadSettings,
    /// How long after a dispatch a post is surely not on its way any more.
    pub settle_time: SignedDuration,
    /// How far back a channel is read that was not heard before.
    pub history_span: SignedDuration,
    /// How often channels and names are read anew.
    pub sync_interval: SignedDuration,
    /// Whose clock the persona reads.
    pub time_zone: TimeZone,
    pub timeouts: DiscordTimeouts,
}

/// Whether a mention at a channel's top level opens a thread, in which the talk goes on.
#[derive(Clone, Debug, Default)]
pub struct ThreadSettings {
    pub default: ThreadPolicy,
    /// What is different in channels, by `#name` or id.
    pub channels: HashMap<String, ThreadPolicy>,
    /// After so many minutes of silence such a thread is put away. If nothing is said, as the channel has it.
    pub archive_minutes: Option<u16>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ThreadPolicy {
    /// A mention opens one.
    Auto,
    /// A mention is answered where it stood.
    #[default]
    Never,
}

/// How long a connection may take for what it does.
#[derive(Clone, Copy, Debug)]
pub struct DiscordTimeouts {
    /// A call of the REST API. Below what the agent gives a post.
    pub call: Duration,
    /// Opening the gateway; then its hello; then, once we have introduced ourselves, the session.
    pub open: Duration,
    /// What a command orders; after that, whoever gave it sees that it is being done. Discord waits for three
    /// seconds in all.
    pub command_answer: Duration,
}

impl Default for DiscordTimeouts {
    fn default() -> Self {
        Self {
            call: Duration::from_secs(12),
            open: Duration::from_secs(20),
            command_answer: Duration::from_millis(1500),
        }
    }
}

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

pub struct DiscordPlatform {
    api: DiscordApi,
    settings: DiscordSettings,
    identity: DiscordIdentity,
    persona: Arc<Persona>,
    inbox: Arc<Inbox>,
    slash_commands: SlashCommands,
    archive: Arc<dyn Archive>,
    clock: Clock,
    cache: DiscordCache,
    backfill: BackfillQueue,
    shards: Shards,
    pub connection: ConnectionStatus,
    revocation: Revocation,
    /// How far rooms have been read.
    read_cursors: Mutex<HashMap<ChannelId, ReadCursor>>,
    /// Held while a place is met for the first time.
    location_lock: tokio::sync::Mutex<()>,
    /// All lists are to be read.
    sync_requested: Notify,
    /// Commands that wait for an answer.
    interaction_sender: mpsc::UnboundedSender<Value>,
    interaction_receiver: tokio::sync::Mutex<mpsc::UnboundedReceiver<Value>>,
    /// When the log was told last that messages come without their text.
    content_warned_ms: AtomicI64,
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
    fn from_api_error(error: DiscordApiError) -> Self {
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
}

impl DiscordPlatform {
    /// Remembers what was known before Discord is asked.
    pub async fn new(
        settings: DiscordSettings,
        who: DiscordIdentity,
        surroundings: PlatformDeps,
    ) -> anyhow::Result<Self> {
        let PlatformDeps { persona, inbox, archive, answers } = surroundings;
        let slash = SlashCommands { inbox: inbox.clone(), answers };
        let clock = inbox.clock.clone();
        let (roster, mut marks) = (DiscordCache::default(), HashMap::new());
        for workspace in who.workspaces() {
            roster.load(archive.users(&workspace).await?, archive.channels(&workspace).await?);
            let known = archive.cursors(&workspace).await?;
            let known = known.iter().filter_map(|bookmark| {
                Some((ChannelId::new(&*bookmark.stream), ReadCursor::parse(&bookmark.value)?))
            });
            marks.extend(known);
        }
        let (interactions, commands) = mpsc::unbounded_channel();
        Ok(Self {
            api: DiscordApi::new(&settings, clock.clone())?,
            settings,
            identity: who,
            persona,
            slash_commands: slash,
            archive,
            clock,
            inbox,
            cache: roster,
            backfill: BackfillQueue::default(),
            shards: Shards::default(),
            connection: ConnectionStatus::default(),
            revocation: Revocation::default(),
            read_cursors: Mutex::new(marks),
            location_lock: tokio::sync::Mutex::default(),
            sync_requested: Notify::new(),
            interaction_sender: interactions,
            interaction_receiver: tokio::sync::Mutex::new(commands),
            content_warned_ms: AtomicI64::new(0),
        })
    }

    /// The next command, button or the like that somebody uses.
    pub async fn next_interaction(&self) -> Option<Value> {
        self.interaction_receiver.lock().await.recv().await
    }

    pub fn identity(&self) -> &DiscordIdentity {
        &self.identity
    }

    /// Lives on Discord until `shutdown`. Ends before only if it may not live there.
    pub async fn run(&self, shutdown: CancellationToken) -> anyhow::Result<()> {
        self.register_identity().await.context("opening Discord")?;
        tokio::select! {
            // Ends after `shutdown`, when what was taken is kept; or before, where it may not be.
            listened = self.run_gateway(&shutdown) => Ok(listened?),
            // Reading goes on for ever, and can be left at any point.
            _ = self.run_background_tasks() => Ok(()),
        }
    }

    async fn run_background_tasks(&self) {
        let reading = (self.run_sync(), self.run_backfill(), self.run_prioritized_backfill());
        join4(reading.0, reading.1, reading.2, self.run_commands()).await;
    }

    /// Makes sure that the persona is known everywhere, and that the next start knows who we are.
    async fn register_identity(&self) -> Result<(), StoreError> {
        for workspace in self.identity.workspaces() {
            self.register_workspace(workspace).await?;
        }
        let who = serde_json::to_string(&to_identity_record(&self.identity)).unwrap_or_default();
        let bookmark = Cursor {
            workspace: platform_workspace(),
            stream: identity_key(&self.settings).into(),
            value: who.into(),
        };
        self.inbox.hear(Heard::Cursor(bookmark)).await?;
        info!("on Discord as {}, on {} servers", self.identity.name, self.identity.guilds.len());
        Ok(())
    }

    /// The persona is somebody in a workspace, and whoever opted out is so there, too.
    async fn register_workspace(&self, workspace: WorkspaceId) -> Result<(), StoreError> {
        for user in self.inbox.channel_cache.rulebook().opted_out.clone() {
            // Who was put on the list since the last start may have said something before.
            let workspace = workspace.clone();
            self.inbox.apply_order(Order::Redact { workspace, user }).await?;
        }
        let persona = User {
            workspace,
            id: self.identity.user.clone(),
            name: self.persona.name.as_str().into(),
            kind: AuthorKind::Persona,
            role: Role::Member,
        };
        self.inbox.hear(Heard::User(persona)).await.map(|_| ())
    }

    /// Calls the REST API. A token that is worth nothing ends it all.
    async fn call(&self, call: &ApiRequest) -> Result<Value, DiscordApiError> {
        let answered = self.api.call(call).await;
        if let Err(error) = &answered
            && error.is_token_invalid()
        {
            self.revocation.revoke("the bot's token is worth nothing any more");
        }
        answered
    }

    /// Reads what is at a path, until Discord answers or says no. Its waits are kept.
    async fn read_with_retries<T: DeserializeOwned>(
        &self,
        path: &str,
    ) -> Result<T, DiscordApiError> {
        const TRIES: u32 = 8;
        let mut tried = 0;
        loop {
            tried += 1;
            let answered = self.call(&ApiRequest::get(path)).await;
            let wait = match answered {
                Ok(answer) => {
                    return serde_json::from_value(answer).map_err(|_| {
                        DiscordApiError::OutcomeUnknown(
                            "its answer is not what it should be".to_owned(),
                        )
                    });
                }
                Err(error @ DiscordApiError::Refused(_)) => return Err(error),
                Err(DiscordApiError::RateLimited(wait)) => wait,
                Err(
                    error @ (DiscordApiError::Unreachable(_) | DiscordApiError::OutcomeUnknown(_)),
                ) if tried == TRIES => {
                    return Err(error);
                }
                Err(DiscordApiError::Unreachable(_) | DiscordApiError::OutcomeUnknown(_)) => {
                    SignedDuration::from_secs(1 << tried.min(5))
                }
            };
            if wait > SignedDuration::from_secs(10) {
                info!("Discord wants us to wait for {wait:#}");
            }
            self.clock.sleep_until(self.clock.now() + wait).await;
        }
    }

    async fn channel_name(&self, place: &ConversationId) -> Option<Arc<str>> {
        let channels = self.archive.channels(&place.workspace).await.unwrap_or_default();
        let channel = channels.into_iter().find(|channel| channel.id == place.channel);
        channel.map(|channel| channel.name)
    }

    fn now(&self) -> Timestamp {
        self.clock.now()
    }
}
