//! Discord: a bot that lives on servers (each a workspace of its own) and in direct messages. It is heard
//! over the gateway, caught up on by its channels' histories, and spoken to through the REST API.

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
mod ingest;
mod history;
mod sync;

mod threads;
mod post;
mod react;
mod command;

pub mod invite;
pub mod diagnose;

use std::collections::HashMap;
use std::sync::atomic::AtomicI64;
use std::sync::{Arc, Mutex};

use anyhow::Context as _;
use futures_util::future::join4;
use jiff::{SignedDuration, Timestamp};
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::sync::{Notify, mpsc};
use tokio_util::sync::CancellationToken;
use tracing::info;

use crate::api::{ApiRequest, DiscordApi, DiscordApiError};
use crate::cache::DiscordCache;
use crate::identity::DiscordIdentity;
use crate::session::ReadCursor;
use crate::settings::DiscordSettings;
use crate::shards::Shards;
use aizuchi_core::chat::{AuthorKind, ChannelId, ConversationId, Heard, Role, User, WorkspaceId};
use aizuchi_core::clock::Clock;
use aizuchi_core::inbox::Inbox;
use aizuchi_core::persona::Persona;
use aizuchi_core::platform::PlatformDeps;
use aizuchi_core::platform::backfill_queue::BackfillQueue;
use aizuchi_core::platform::connection_status::ConnectionStatus;
use aizuchi_core::platform::revocation::Revocation;
use aizuchi_core::platform::slash_command::SlashCommands;
use aizuchi_core::store::{Archive, Order, StoreError};

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
        let cursor = self.identity.to_cursor(&self.settings);
        self.inbox.hear(Heard::Cursor(cursor)).await?;
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
