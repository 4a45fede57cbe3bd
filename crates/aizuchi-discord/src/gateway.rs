//! The gateway: one connection per shard, reopened when it is lost. The sequence number is stored in the same
//! transaction as the event (invariant 1: heard before acknowledged), so the session resumes right after the last
//! stored event, whatever ended the connection or the program. The bot never closes a connection with 1000 or 1001,
//! because that would end the session.

mod connection;
pub mod disconnect;
mod queue;
mod reconnects;
mod socket;

use std::pin::pin;
use std::sync::Arc;

use aizuchi_agent::metrics::labels::{MalformedInput, PlatformTask};
use aizuchi_model::chat::Cursor;
use aizuchi_model::clock::seeded_random;
use aizuchi_platform::access::AccessLoss;
use aizuchi_platform::incidents::Panicked;
use aizuchi_store::StoreError;
use futures_util::future::try_join_all;
use jiff::{SignedDuration, Timestamp};
use secrecy::SecretString;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tracing::{debug, info, warn};
use twilight_model::gateway::{Intents, ShardId};

use crate::DiscordPlatform;
use crate::gateway::connection::read_events;
use crate::gateway::disconnect::{Disconnect, ResumeMode};
use crate::gateway::queue::{EventReceiver, GatewayEvent, GatewayInput, event_queue};
use crate::gateway::reconnects::Reconnects;
use crate::gateway::socket::ShardLogin;
use crate::identify::{IdentifyQueue, IdentifyRequest};
use crate::identity::DiscordConnectError;
use crate::ingest::{IngestError, IngestResult};
use crate::json::non_empty_str;
use crate::session::GatewaySession;
use crate::shards::{GatewayPlan, gateway_url};

/// The events that Discord should send: servers and their channels, messages and reactions.
pub const INTENTS: Intents = Intents::GUILDS
    .union(Intents::GUILD_MESSAGES)
    .union(Intents::GUILD_MESSAGE_REACTIONS)
    .union(Intents::DIRECT_MESSAGES)
    .union(Intents::DIRECT_MESSAGE_REACTIONS)
    .union(Intents::MESSAGE_CONTENT);

/// After this many events without a write to the store, the sequence number is stored on its own.
const MAX_UNSAVED_EVENTS: u32 = 100;
/// The interval between gaps that are declared because an event was missed. Each gap triggers a backfill of all
/// channels.
const GAP_INTERVAL: SignedDuration = SignedDuration::from_secs(60);

/// A shard's event stream, across connections.
pub(super) struct ShardStream {
    pub shard: ShardId,
    pub session: Option<GatewaySession>,
    /// The last session that cannot be resumed, until a new one starts.
    ended_session: Option<GatewaySession>,
    /// The number of events received since the sequence number was stored.
    unsaved_events: u32,
    /// Whether no session has started or resumed since the program started.
    is_fresh: bool,
    /// The time at which to declare a gap, after an event was missed.
    gap_due: Option<Timestamp>,
    /// No gap is declared before this time.
    next_gap_at: Timestamp,
}

impl DiscordPlatform {
    /// Keeps all shards connected until `shutdown`.
    pub(super) async fn run_gateway(
        &self,
        shutdown: &CancellationToken,
    ) -> Result<(), DiscordConnectError> {
        let lost = async {
            match self.access.lost().await {
                AccessLoss::Refused(_) => DiscordConnectError::TokenRefused,
                AccessLoss::Revoked(why) => DiscordConnectError::Revoked(why),
            }
        };
        let mut lost = pin!(lost);
        let plan = tokio::select! {
            plan = self.plan_gateway() => plan.map_err(DiscordConnectError::IdentityUnavailable)?,
            loss = &mut lost => return Err(loss),
            () = shutdown.cancelled() => return Ok(()),
        };
        let (identify_requests, identify_receiver) = mpsc::unbounded_channel();
        let shards = (0..plan.shards).map(|number| ShardId::new(number, plan.shards));
        let shards = shards.map(|shard| self.run_shard(shard, &plan, &identify_requests, shutdown));
        tokio::select! {
            ended = try_join_all(shards) => ended.map(|_| ()),
            failed = self.permit(identify_receiver, plan.shards) => match failed? {},
            loss = lost => Err(loss),
        }
    }

    async fn run_shard(
        &self,
        shard: ShardId,
        plan: &GatewayPlan,
        identify_requests: &mpsc::UnboundedSender<IdentifyRequest>,
        shutdown: &CancellationToken,
    ) -> Result<(), DiscordConnectError> {
        let session = self.load_session(shard).await?;
        let mut stream = ShardStream {
            shard,
            session,
            ended_session: None,
            unsaved_events: 0,
            is_fresh: true,
            gap_due: None,
            next_gap_at: self.now(),
        };
        let mut reconnects = Reconnects::default();
        loop {
            let started_at = self.now();
            // Kept, to tell whether a token that the gateway refuses has been replaced in the meantime.
            let token = self.settings.token.read();
            let connection = self.run_connection(&mut stream, &token, plan, identify_requests);
            let connection = self.incidents.contain(PlatformTask::Connection, connection);
            let disconnect = tokio::select! {
                biased;
                () = shutdown.cancelled() => return Ok(self.save_session(&mut stream).await?),
                disconnect = connection => disconnect,
            };
            self.shards.mark_disconnected(shard, &self.connection);
            let disconnect = match disconnect {
                Ok(Err(DiscordConnectError::TokenRefused)) => {
                    tokio::select! {
                        () = shutdown.cancelled() => return Ok(self.save_session(&mut stream).await?),
                        () = self.wait_for_token(&token) => Disconnect::token_refused(),
                    }
                }
                Ok(disconnect) => disconnect?,
                Err(Panicked) => Disconnect::after_defect(),
            };
            match disconnect.resume_mode {
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
            let ended_at = self.now();
            let draw = seeded_random(
                self.inbox.random_seed,
                &["reconnect", &shard.number().to_string(), &ended_at.to_string()],
            );
            let lasted = ended_at.duration_since(started_at);
            let wait = reconnects.wait_after(&disconnect, lasted, draw);
            warn!(
                platform = "discord",
                shard = shard.number(),
                reason = disconnect.reason,
                attempt = reconnects.attempt,
                ?wait,
                "lost a connection to Discord; reconnecting"
            );
            tokio::select! {
                () = shutdown.cancelled() => return Ok(self.save_session(&mut stream).await?),
                () = self.clock.sleep_until(self.now() + wait) => {}
            }
        }
    }

    /// Waits until there may be a replacement for this token, which the gateway has refused.
    async fn wait_for_token(&self, refused: &Arc<SecretString>) {
        // The failure of a token that was replaced during the connection says nothing about its successor.
        if Arc::ptr_eq(refused, &self.settings.token.read()) {
            self.access.refuse("the gateway says so");
        }
        self.access.usable().await;
    }

    /// Opens one connection and ingests its events until it is lost.
    async fn run_connection(
        &self,
        stream: &mut ShardStream,
        token: &SecretString,
        plan: &GatewayPlan,
        identify_requests: &mpsc::UnboundedSender<IdentifyRequest>,
    ) -> Result<Disconnect, DiscordConnectError> {
        if stream.session.is_none() {
            // Wait before connecting: after its hello, Discord would not wait this long for an Identify.
            let next = self.next_identify_at(plan.shards).await?;
            self.clock.sleep_until(next).await;
        }
        let identify_queue = IdentifyQueue::new(identify_requests.clone());
        let session = stream.session.clone();
        let resume_url = session.as_ref().and_then(|session| session.resume_url.as_deref());
        let number = stream.shard.number().to_string();
        let login = ShardLogin {
            shard: stream.shard,
            url: resume_url.unwrap_or(&plan.url),
            token,
            session: session.as_ref(),
            heartbeat_jitter: seeded_random(
                self.inbox.random_seed,
                &["heartbeat", &number, &self.now().to_string()],
            ),
            identify_queue: &identify_queue,
        };
        let (events, event_receiver) = event_queue();
        let reading = read_events(login, events, self.settings.timeouts.open);
        let mut ingesting = std::pin::pin!(self.ingest_events(stream, event_receiver));
        let disconnect = tokio::select! {
            biased;
            result = &mut ingesting => return disconnect_from(result),
            disconnect = reading => disconnect?,
        };
        // Ingest the received events before another connection replays them.
        match ingesting.await {
            Ok(()) => Ok(disconnect),
            failed => disconnect_from(failed),
        }
    }

    /// Ingests the events one by one, until the connection is lost and the queue is empty.
    async fn ingest_events(
        &self,
        stream: &mut ShardStream,
        mut event_receiver: EventReceiver,
    ) -> Result<(), IngestError> {
        loop {
            let gap_due = stream.gap_due;
            let gap_is_due = async {
                match gap_due {
                    Some(due) => self.clock.sleep_until(due).await,
                    None => std::future::pending().await,
                }
            };
            let input = tokio::select! {
                biased;
                () = gap_is_due => {
                    self.declare_gap(stream).await?;
                    continue;
                }
                input = event_receiver.recv() => input,
            };
            // The input counts against the queue's capacity until it is stored.
            let Some(queued) = input else { return Ok(()) };
            match &queued.input {
                GatewayInput::Event(event) => self.ingest_event(stream, event).await?,
                GatewayInput::Unreadable => {
                    self.incidents.record_malformed(MalformedInput::Frame, "a frame");
                    self.miss_event(stream);
                }
            }
            if stream.unsaved_events >= MAX_UNSAVED_EVENTS {
                self.save_session(stream).await?;
            }
        }
    }

    async fn ingest_event(
        &self,
        stream: &mut ShardStream,
        event: &GatewayEvent,
    ) -> Result<(), IngestError> {
        match event.name.as_str() {
            "READY" => return self.start_session(stream, event).await,
            "RESUMED" => {
                self.resume_session(stream).await;
                return Ok(());
            }
            _ => {}
        }
        let advance = |session: &GatewaySession| session.advanced_to(event.sequence, self.now());
        let session = stream.session.as_ref().map(advance);
        let mut cursor = session.as_ref().map(|session| self.session_cursor(stream, session));
        match self.ingest(&event.name, &event.data, &mut cursor).await? {
            IngestResult::Done => {}
            IngestResult::Missed => self.miss_event(stream),
        }
        // If the cursor was taken, it was stored together with the event.
        stream.unsaved_events = if cursor.is_none() { 0 } else { stream.unsaved_events + 1 };
        // Only now: an event that could not be stored must be replayed by the next connection.
        stream.session = session;
        Ok(())
    }

    /// Schedules a gap after an event that could not be heard. Discord does not resend the event, but its message is in
    /// the history.
    fn miss_event(&self, stream: &mut ShardStream) {
        stream.gap_due = stream.gap_due.or(Some(self.now().max(stream.next_gap_at)));
    }

    /// Declares a gap, as a new session does: everything since the last gap is backfilled.
    async fn declare_gap(&self, stream: &mut ShardStream) -> Result<(), IngestError> {
        (stream.gap_due, stream.next_gap_at) = (None, self.now() + GAP_INTERVAL);
        let Some(session) = stream.session.clone() else { return Ok(()) };
        warn!(
            platform = "discord",
            shard = stream.shard.number(),
            "an event was missed; reading the channels again"
        );
        self.advance_read_cursors(session.unbroken_since(), session.heard_until()).await?;
        let session = session.started_at(self.now());
        self.cursors.put_cursor(session.to_cursor(stream.shard)).await?;
        self.shards.mark_connected(stream.shard, session.unbroken_since(), &self.connection);
        (stream.session, stream.unsaved_events) = (Some(session), 0);
        // The missed event may have been the first of a channel or thread that is not known yet.
        self.sync_requested.notify_one();
        Ok(())
    }

    /// Starts a new session. Discord does not replay earlier events, so there is a gap to backfill.
    async fn start_session(
        &self,
        stream: &mut ShardStream,
        event: &GatewayEvent,
    ) -> Result<(), IngestError> {
        let Some(id) = non_empty_str(&event.data["session_id"]) else {
            self.incidents.record_malformed(MalformedInput::Event, "READY");
            return Ok(());
        };
        // A session that cannot be resumed still tells until when its events were heard.
        let previous = stream.session.take().or(stream.ended_session.take());
        if let Some(previous) = &previous {
            self.advance_read_cursors(previous.unbroken_since(), previous.heard_until()).await?;
        }
        let resume_url = non_empty_str(&event.data["resume_gateway_url"]).and_then(gateway_url);
        let session =
            GatewaySession::new(id, resume_url, event.sequence, self.identity.user.clone());
        let session = session.started_at(self.now());
        info!(platform = "discord", shard = stream.shard.number(), "a new gateway session starts");
        let cursor = session.to_cursor(stream.shard);
        self.cursors.put_cursor(cursor).await?;
        self.leave_other_guilds(stream.shard, &event.data["guilds"]).await;
        let since = session.unbroken_since();
        (stream.session, stream.unsaved_events, stream.is_fresh) = (Some(session), 0, false);
        self.access.confirm();
        self.shards.mark_connected(stream.shard, since, &self.connection);
        self.restore_direct_channels().await?;
        Ok(())
    }

    /// Marks the session as resumed: no event is missing.
    async fn resume_session(&self, stream: &mut ShardStream) {
        let Some(session) = &stream.session else { return };
        debug!(platform = "discord", shard = stream.shard.number(), "resumed the gateway session");
        if stream.is_fresh {
            // Discord described the servers to the previous process, when the session started.
            self.sync_requested.notify_one();
        }
        stream.is_fresh = false;
        self.access.confirm();
        self.shards.mark_connected(stream.shard, session.unbroken_since(), &self.connection);
        if let Err(error) = self.restore_direct_channels().await {
            warn!(platform = "discord", %error, "could not restore the direct messages");
        }
    }

    /// Stores a shard's sequence number if events were received since it was last stored.
    async fn save_session(&self, stream: &mut ShardStream) -> Result<(), StoreError> {
        if let Some(session) = stream.session.as_ref().filter(|_| stream.unsaved_events > 0) {
            self.cursors.put_cursor(self.session_cursor(stream, session)).await?;
        }
        stream.unsaved_events = 0;
        Ok(())
    }

    /// Returns the session as a cursor. A gap that is yet to be declared must survive a crash.
    fn session_cursor(&self, stream: &ShardStream, session: &GatewaySession) -> Cursor {
        match stream.gap_due {
            None => session.to_cursor(stream.shard),
            Some(_) => session.clone().with_gap_until(self.now()).to_cursor(stream.shard),
        }
    }
}

/// Converts the result to a disconnect. The next connection replays an event that could not be stored.
fn disconnect_from(result: Result<(), IngestError>) -> Result<Disconnect, DiscordConnectError> {
    match result {
        Ok(()) => Ok(Disconnect::from_reason("the connection ended")),
        Err(error) => Ok(Disconnect::from_reason(format!("an event could not be stored: {error}"))),
    }
}
