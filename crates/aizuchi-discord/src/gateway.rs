//! The gateway: one connection for each shard, watched, and joined anew where it is lost. An event is done
//! when it is kept, and how far that was is kept with it; so whatever ends a connection, or the program, the
//! next one goes on right there. Discord is never told goodbye, which would end the session.

mod connection;
pub mod disconnect;

use futures_util::future::try_join_all;
use jiff::SignedDuration;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tracing::{debug, info, warn};
use twilight_gateway::{ConfigBuilder, Intents, Shard, ShardId};

use crate::DiscordPlatform;
use crate::gateway::connection::{ConnectOptions, GatewayEvent, read_events};
use crate::gateway::disconnect::{Disconnect, ResumeMode};
use crate::identify::{IdentifyQueue, IdentifyRequest};
use crate::identity::DiscordConnectError;
use crate::ingest::IngestError;
use crate::json::non_empty_str;
use crate::session::GatewaySession;
use crate::shards::GatewayPlan;
use aizuchi_core::chat::Heard;
use aizuchi_core::clock::seeded_random;
use aizuchi_core::platform::backoff::backoff_delay;
use aizuchi_core::store::StoreError;

/// What is heard: servers and what is in them, what is said and how people react to it.
pub const INTENTS: Intents = Intents::GUILDS
    .union(Intents::GUILD_MESSAGES)
    .union(Intents::GUILD_MESSAGE_REACTIONS)
    .union(Intents::DIRECT_MESSAGES)
    .union(Intents::DIRECT_MESSAGE_REACTIONS)
    .union(Intents::MESSAGE_CONTENT);

/// So many events may wait to be kept.
const MAX_QUEUED_EVENTS: usize = 10_000;
/// How far it was heard is noted after so many events that nothing was kept of.
const MAX_UNSAVED_EVENTS: u32 = 100;
/// A connection that lasts so long is no failure.
const STABLE_AFTER: SignedDuration = SignedDuration::from_secs(60);

/// What comes over one shard, whatever the connection.
pub(super) struct ShardStream {
    pub shard: ShardId,
    pub session: Option<GatewaySession>,
    /// The one that is over, until another begins.
    ended_session: Option<GatewaySession>,
    /// So many events were heard since it was noted how far.
    unsaved_events: u32,
    /// Nothing has come over it since the program was started.
    is_fresh: bool,
}

impl DiscordPlatform {
    /// Keeps all connections up until `shutdown`.
    pub(super) async fn run_gateway(
        &self,
        shutdown: &CancellationToken,
    ) -> Result<(), DiscordConnectError> {
        let plan = tokio::select! {
            plan = self.plan_gateway() => plan.map_err(DiscordConnectError::from_api_error)?,
            () = shutdown.cancelled() => return Ok(()),
        };
        let (asking, asked) = mpsc::unbounded_channel();
        let shards = (0..plan.shards).map(|number| ShardId::new(number, plan.shards));
        let shards = shards.map(|shard| self.run_shard(shard, &plan, &asking, shutdown));
        tokio::select! {
            ended = try_join_all(shards) => ended.map(|_| ()),
            failed = self.permit(asked, plan.shards) => match failed? {},
            why = self.revocation.revoked() => Err(DiscordConnectError::Revoked(why)),
        }
    }

    async fn run_shard(
        &self,
        shard: ShardId,
        plan: &GatewayPlan,
        asking: &mpsc::UnboundedSender<IdentifyRequest>,
        shutdown: &CancellationToken,
    ) -> Result<(), DiscordConnectError> {
        let session = self.load_session(shard).await?;
        let mut stream =
            ShardStream { shard, session, ended_session: None, unsaved_events: 0, is_fresh: true };
        let mut tried = 0;
        loop {
            let began = self.now();
            let lost = tokio::select! {
                biased;
                () = shutdown.cancelled() => return Ok(self.save_session(&mut stream).await?),
                lost = self.run_connection(&mut stream, plan, asking) => lost?,
            };
            self.shards.mark_disconnected(shard, &self.connection);
            match lost.resume_mode {
                ResumeMode::Resume => {}
                ResumeMode::ResumeAtDefaultUrl => {
                    if let Some(session) = &mut stream.session {
                        session.resume_url = None;
                    }
                }
                ResumeMode::NewSession => {
                    stream.ended_session = stream.session.take().or(stream.ended_session)
                }
            }
            let lasted = self.now().duration_since(began) > STABLE_AFTER;
            tried = if lasted { 1 } else { tried + 1 };
            let draw = [shard.number().to_string(), tried.to_string(), began.to_string()];
            let draw =
                seeded_random(self.inbox.random_seed, &["reconnect", &draw[0], &draw[1], &draw[2]]);
            let wait = lost.wait.max(backoff_delay(tried, draw));
            warn!("a connection to Discord is lost ({}); the next try is in {wait:#}", lost.reason);
            tokio::select! {
                () = shutdown.cancelled() => return Ok(self.save_session(&mut stream).await?),
                () = self.clock.sleep_until(self.now() + wait) => {}
            }
        }
    }

    /// One connection, until it is lost.
    async fn run_connection(
        &self,
        stream: &mut ShardStream,
        plan: &GatewayPlan,
        asking: &mpsc::UnboundedSender<IdentifyRequest>,
    ) -> Result<Disconnect, DiscordConnectError> {
        if stream.session.is_none() {
            // Not after Discord has said hello: it would not wait so long.
            let next = self.next_identify_at(plan.shards).await?;
            self.clock.sleep_until(next).await;
        }
        let turnstile = IdentifyQueue::new(asking.clone());
        let opening = ConnectOptions {
            timeout: self.settings.timeouts.open,
            is_resume: stream.session.is_some(),
        };
        let mut shard = self.new_shard(stream, plan, &turnstile);
        let (events, waiting) = mpsc::channel(MAX_QUEUED_EVENTS);
        let mut hearing = std::pin::pin!(self.ingest_events(stream, waiting));
        let lost = tokio::select! {
            biased;
            heard = &mut hearing => return disconnect_from(heard),
            lost = read_events(&mut shard, events, opening, &turnstile) => lost?,
        };
        // What has come is heard before another connection tells of it again.
        match hearing.await {
            Ok(()) => Ok(lost),
            failed => disconnect_from(failed),
        }
    }

    fn new_shard(
        &self,
        stream: &ShardStream,
        plan: &GatewayPlan,
        turnstile: &IdentifyQueue,
    ) -> Shard<IdentifyQueue> {
        use secrecy::ExposeSecret as _;
        let token = self.settings.token.expose_secret().to_owned();
        let config = ConfigBuilder::new(token, INTENTS).proxy_url(plan.url.clone());
        let mut config = config.queue(turnstile.clone());
        if let Some(session) = &stream.session {
            config = config.session(session.to_resume());
            if let Some(url) = &session.resume_url {
                config = config.resume_url(url.clone());
            }
        }
        Shard::with_config(stream.shard, config.build())
    }

    /// Hears one event after the other, until no more can come.
    async fn ingest_events(
        &self,
        stream: &mut ShardStream,
        mut waiting: mpsc::Receiver<GatewayEvent>,
    ) -> Result<(), IngestError> {
        while let Some(event) = waiting.recv().await {
            match event.name.as_str() {
                "READY" => self.start_session(stream, &event).await?,
                "RESUMED" => self.resume_session(stream).await,
                name => {
                    let sequence = event.sequence;
                    let heard =
                        |session: &GatewaySession| session.advanced_to(sequence, self.now());
                    let session = stream.session.as_ref().map(heard);
                    let mut so_far =
                        session.as_ref().map(|session| session.to_cursor(stream.shard));
                    self.ingest(name, &event.data, &mut so_far).await?;
                    stream.unsaved_events =
                        if so_far.is_none() { 0 } else { stream.unsaved_events + 1 };
                    stream.session = session;
                }
            }
            if stream.unsaved_events >= MAX_UNSAVED_EVENTS {
                self.save_session(stream).await?;
            }
        }
        Ok(())
    }

    /// A session begins: whatever was said before was not told, so it is read.
    async fn start_session(
        &self,
        stream: &mut ShardStream,
        event: &GatewayEvent,
    ) -> Result<(), IngestError> {
        let Some(id) = non_empty_str(&event.data["session_id"]) else { return Ok(()) };
        let before = stream.session.take().or(stream.ended_session.take());
        if let Some(before) = &before {
            self.advance_read_cursors(before.unbroken_since(), before.heard_until()).await?;
        }
        let resume_url = non_empty_str(&event.data["resume_gateway_url"]).map(str::to_owned);
        let session =
            GatewaySession::new(id, resume_url, event.sequence, self.identity.user.clone());
        let session = session.started_at(self.now());
        info!("a new session with Discord begins");
        let bookmark = session.to_cursor(stream.shard);
        self.inbox.hear(Heard::Cursor(bookmark)).await?;
        self.leave_other_guilds(stream.shard, &event.data["guilds"]).await;
        let since = session.unbroken_since();
        (stream.session, stream.unsaved_events, stream.is_fresh) = (Some(session), 0, false);
        self.shards.mark_connected(stream.shard, since, &self.connection);
        self.restore_direct_channels().await?;
        Ok(())
    }

    /// The session goes on where it was left: nothing is missing.
    async fn resume_session(&self, stream: &mut ShardStream) {
        let Some(session) = &stream.session else { return };
        debug!("the session with Discord goes on");
        if stream.is_fresh {
            // What there is was told in an earlier life.
            self.sync_requested.notify_one();
        }
        stream.is_fresh = false;
        self.shards.mark_connected(stream.shard, session.unbroken_since(), &self.connection);
        if let Err(error) = self.restore_direct_channels().await {
            warn!("direct messages could not be looked for: {error}");
        }
    }

    /// Notes how far a shard was heard.
    async fn save_session(&self, stream: &mut ShardStream) -> Result<(), StoreError> {
        if let Some(session) = stream.session.as_ref().filter(|_| stream.unsaved_events > 0) {
            self.inbox.hear(Heard::Cursor(session.to_cursor(stream.shard))).await?;
        }
        stream.unsaved_events = 0;
        Ok(())
    }
}

/// What could not be heard is told again by the next connection.
fn disconnect_from(heard: Result<(), IngestError>) -> Result<Disconnect, DiscordConnectError> {
    match heard {
        Ok(()) => Ok(Disconnect::from_reason("it has ended")),
        Err(error) => Ok(Disconnect::from_reason(format!("what came could not be kept: {error}"))),
    }
}
