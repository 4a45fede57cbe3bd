//! The adapter for Discord: a bot on servers (each is a workspace of its own) and in direct messages. Events arrive
//! over the gateway, gaps are backfilled from the channels' histories, and posts go out through the REST API.
//!
//! The modules are in the order in which a message passes them: shared ones, inbound, outbound, and the operator's.

pub mod settings;
pub mod identity;
mod json;
mod snowflake;
mod rate_limit;
pub mod api;

mod shards;
mod identify;
mod session;
mod gateway;
pub mod text;
pub mod from_discord;
pub mod message_text;
pub mod permissions;
mod visibility;
mod cache;
mod channels;
mod credentials;
mod ingest;
mod history;
mod sync;

mod threads;
mod post;
mod react;
pub mod files;
mod command;
mod keeper;

pub mod invite;
pub mod diagnose;
pub mod remote;

use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::AtomicI64;

use aizuchi_agent::inbox::Inbox;
use aizuchi_agent::metrics::labels::{MalformedInput, PlatformTask};
use aizuchi_model::chat::{ChannelId, ConversationId};
use aizuchi_model::clock::Clock;
use aizuchi_model::persona::Persona;
use aizuchi_platform::access::{PlatformAccess, RETRY_INTERVAL};
use aizuchi_platform::backfill_queue::BackfillQueue;
use aizuchi_platform::backfill_run::{run_backfill, run_deletion_checks, run_prioritized_backfill};
use aizuchi_platform::call_error::Retries;
use aizuchi_platform::connection_tracker::ConnectionTracker;
use aizuchi_platform::incidents::Incidents;
use aizuchi_platform::keeper::{KeeperLengths, Keepers};
use aizuchi_platform::slash_command::SlashCommands;
use aizuchi_platform::{PlatformDeps, register_persona};
use aizuchi_store::archive::Archive;
use aizuchi_store::{Cursors, StoreError};
use anyhow::Context as _;
use futures_util::future::{join3, join5};
use jiff::Timestamp;
use parking_lot::Mutex;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::sync::{Notify, mpsc};
use tokio_util::sync::CancellationToken;
use tracing::info;
use twilight_model::id::Id;
use twilight_model::id::marker::GuildMarker;

use crate::api::{ApiRequest, DiscordApi, DiscordApiError};
use crate::cache::DiscordCache;
use crate::identity::DiscordIdentity;
use crate::keeper::MAX_FORM_LENGTH;
use crate::session::ReadCursor;
use crate::settings::DiscordSettings;
use crate::shards::Shards;
use crate::text::write::MAX_MESSAGE_LENGTH;

pub struct DiscordPlatform {
    api: DiscordApi,
    settings: DiscordSettings,
    identity: DiscordIdentity,
    persona: Arc<Persona>,
    inbox: Arc<Inbox>,
    slash_commands: SlashCommands,
    keepers: Keepers,
    archive: Arc<dyn Archive>,
    cursors: Arc<dyn Cursors>,
    clock: Clock,
    cache: DiscordCache,
    backfill: BackfillQueue,
    shards: Shards,
    pub connection: ConnectionTracker,
    /// Whether Discord accepts the token.
    access: PlatformAccess,
    incidents: Incidents,
    /// How far each channel's history has been read.
    read_cursors: Mutex<HashMap<ChannelId, ReadCursor>>,
    /// When the last lookup of each unknown channel failed. Locked during a lookup, so that each channel is looked up
    /// once.
    failed_lookups: tokio::sync::Mutex<HashMap<ChannelId, Timestamp>>,
    /// How many changes of each server events have described. Locked while a server and its channels are heard, so that
    /// the description that a sync has fetched never replaces a newer one.
    guild_changes: tokio::sync::Mutex<HashMap<Id<GuildMarker>, u64>>,
    /// Wakes the sync of servers, channels and names.
    sync_requested: Notify,
    /// Interactions that wait for an answer.
    interaction_sender: mpsc::UnboundedSender<Value>,
    interaction_receiver: tokio::sync::Mutex<mpsc::UnboundedReceiver<Value>>,
    /// When the missing message content was last logged.
    content_warned_ms: AtomicI64,
}

impl DiscordPlatform {
    /// Loads users, channels and cursors from the store; Discord is not called yet.
    pub async fn new(
        settings: DiscordSettings,
        identity: DiscordIdentity,
        deps: PlatformDeps,
    ) -> anyhow::Result<Self> {
        let keepers =
            deps.keepers(KeeperLengths { form: MAX_FORM_LENGTH, post: MAX_MESSAGE_LENGTH });
        let PlatformDeps { persona, inbox, archive, cursors, answers, .. } = deps;
        let slash_commands = SlashCommands { inbox: inbox.clone(), answers };
        let clock = inbox.clock.clone();
        let (cache, mut read_cursors) = (DiscordCache::default(), HashMap::new());
        let backfill = BackfillQueue::default();
        for workspace in identity.workspaces() {
            cache.load(archive.users(&workspace).await?, archive.channels(&workspace).await?);
            let stored = cursors.cursors(&workspace).await?;
            backfill.deletion_checks.load(&stored);
            read_cursors.extend(stored.iter().filter_map(|cursor| {
                Some((ChannelId::new(&*cursor.stream), ReadCursor::parse(&cursor.value)?))
            }));
        }
        let (interaction_sender, interaction_receiver) = mpsc::unbounded_channel();
        let access = PlatformAccess::new("discord", "discord.token", clock.clone());
        let incidents = Incidents::new("discord", inbox.metrics.clone(), clock.clone());
        Ok(Self {
            api: DiscordApi::new(&settings, clock.clone())?,
            settings,
            identity,
            persona,
            slash_commands,
            keepers,
            archive,
            cursors,
            clock,
            inbox,
            cache,
            backfill,
            shards: Shards::default(),
            connection: ConnectionTracker::default(),
            access,
            incidents,
            read_cursors: Mutex::new(read_cursors),
            failed_lookups: tokio::sync::Mutex::default(),
            guild_changes: tokio::sync::Mutex::default(),
            sync_requested: Notify::new(),
            interaction_sender,
            interaction_receiver: tokio::sync::Mutex::new(interaction_receiver),
            content_warned_ms: AtomicI64::new(0),
        })
    }

    /// Returns the next slash command, autocompletion or button that a user triggers.
    pub async fn next_interaction(&self) -> Option<Value> {
        self.interaction_receiver.lock().await.recv().await
    }

    pub fn identity(&self) -> &DiscordIdentity {
        &self.identity
    }

    /// Runs until `shutdown`. Returns earlier only if Discord does not admit the bot.
    pub async fn run(&self, shutdown: CancellationToken) -> anyhow::Result<()> {
        self.register_identity().await.context("cannot open Discord")?;
        tokio::select! {
            // After `shutdown` this returns once every received event is stored.
            ended = self.run_gateway(&shutdown) => Ok(ended?),
            // These never return and are safe to cancel at any await point.
            _ = self.run_background_tasks() => Ok(()),
        }
    }

    async fn run_background_tasks(&self) {
        let incidents = &self.incidents;
        let interval = self.settings.sync_interval;
        let tasks = join5(
            incidents.keep_running(PlatformTask::Sync, || self.run_sync()),
            incidents.keep_running(PlatformTask::Backfill, || run_backfill(self, interval)),
            incidents.keep_running(PlatformTask::Backfill, || run_prioritized_backfill(self)),
            incidents.keep_running(PlatformTask::Backfill, || run_deletion_checks(self)),
            incidents.keep_running(PlatformTask::Command, || self.run_commands()),
        );
        let keepers = incidents.keep_running(PlatformTask::Keeper, || self.keepers.run(self));
        join3(tasks, keepers, self.retry_refused_token()).await;
    }

    /// Retries a refused token, because Discord may accept it again.
    async fn retry_refused_token(&self) -> Infallible {
        loop {
            self.access.refused_for(RETRY_INTERVAL).await;
            // Every call records whether Discord accepts the token.
            let _ = self.call(&ApiRequest::get("/users/@me")).await;
        }
    }

    /// Registers the persona in every workspace, and stores the identity for the next start.
    async fn register_identity(&self) -> Result<(), StoreError> {
        for workspace in self.identity.workspaces() {
            register_persona(&self.inbox, &self.persona, &workspace, &self.identity.user).await?;
        }
        let cursor = self.identity.to_cursor(&self.settings);
        self.cursors.put_cursor(cursor).await?;
        info!(
            platform = "discord",
            name = self.identity.name,
            count = self.identity.guilds.len(),
            "starting on the bot's Discord servers"
        );
        Ok(())
    }

    /// Calls the REST API. If Discord refuses the bot's token, nothing was done, and the call fails as one to retry.
    async fn call(&self, call: &ApiRequest) -> Result<Value, DiscordApiError> {
        let result = loop {
            let token = self.settings.token.read();
            let result = self.api.call(call).await;
            let is_refused = result.as_ref().is_err_and(DiscordApiError::is_token_invalid);
            let was_replaced = !Arc::ptr_eq(&token, &self.settings.token.read());
            if !(is_refused && was_replaced) {
                break result;
            }
        };
        match &result {
            Err(error) if error.is_token_invalid() && !call.has_own_token() => {
                self.access.refuse(error.to_string());
                return Err(DiscordApiError::Unreachable(error.to_string()));
            }
            // A call with a token of its own says nothing about the bot's token.
            Ok(_) | Err(DiscordApiError::Refused(_)) if call.has_own_token() => {}
            // Only the gateway shows whether it accepts the token.
            Ok(_) | Err(DiscordApiError::Refused(_)) => self.access.recover(),
            Err(DiscordApiError::Malformed(_)) => self.record_malformed_response(call),
            Err(
                DiscordApiError::RateLimited(_)
                | DiscordApiError::Unreachable(_)
                | DiscordApiError::OutcomeUnknown(_),
            ) => {}
        }
        result
    }

    /// Records that a response cannot be read.
    fn record_malformed_response(&self, call: &ApiRequest) {
        // The path may contain a secret, which the route leaves out.
        self.incidents.record_malformed(MalformedInput::Response, &call.route_name());
    }

    /// Fetches a path, and retries until Discord answers or refuses. Honors `Retry-After`.
    async fn read_with_retries<T: DeserializeOwned>(
        &self,
        path: &str,
    ) -> Result<T, DiscordApiError> {
        const MAX_ATTEMPTS: u32 = 8;
        self.read_with_attempts(path, MAX_ATTEMPTS).await
    }

    /// Like `read_with_retries`, but with at most this many attempts, not counting those that Discord asked to delay.
    async fn read_with_attempts<T: DeserializeOwned>(
        &self,
        path: &str,
        max_attempts: u32,
    ) -> Result<T, DiscordApiError> {
        let call = ApiRequest::get(path);
        let mut retries = Retries::new(&self.clock, path, max_attempts);
        loop {
            let Some(answer) = retries.settle(self.call(&call).await).await else { continue };
            return serde_json::from_value(answer?).map_err(|_| {
                self.record_malformed_response(&call);
                DiscordApiError::Malformed("it has another type")
            });
        }
    }

    async fn channel_name(&self, conversation: &ConversationId) -> Option<Arc<str>> {
        let channels = self.archive.channels(&conversation.workspace).await.unwrap_or_default();
        let channel = channels.into_iter().find(|channel| channel.id == conversation.channel);
        channel.map(|channel| channel.name)
    }

    fn now(&self) -> Timestamp {
        self.clock.now()
    }
}
