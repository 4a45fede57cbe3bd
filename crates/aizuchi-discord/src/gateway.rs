//! The gateway: one connection for each shard, watched, and joined anew where it is lost. An event is done
//! when it is kept, and how far that was is kept with it; so whatever ends a connection, or the program, the
//! next one goes on right there. Discord is never told goodbye, which would end the session.

mod connection;
pub mod lost;

use futures_util::future::try_join_all;
use jiff::SignedDuration;
use serde_json::Value;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tracing::{debug, info, warn};
use twilight_gateway::{ConfigBuilder, Intents, Shard, ShardId};

use crate::from_discord::text;
use crate::gateway::connection::{Event, Opening, listen_to};
use crate::gateway::lost::{Fate, Lost};
use crate::identify::{Ask, Turnstile};
use crate::session::Session;
use crate::shards::Plan;
use crate::take::TakeError;
use crate::{Discord, JoinError};
use aizuchi_core::chat::Heard;
use aizuchi_core::clock::chance;
use aizuchi_core::platform::backoff::backoff;
use aizuchi_core::store::StoreError;

/// What is heard: servers and what is in them, what is said and how people react to it.
pub const INTENTS: Intents = Intents::GUILDS
    .union(Intents::GUILD_MESSAGES)
    .union(Intents::GUILD_MESSAGE_REACTIONS)
    .union(Intents::DIRECT_MESSAGES)
    .union(Intents::DIRECT_MESSAGE_REACTIONS)
    .union(Intents::MESSAGE_CONTENT);

/// So many events may wait to be kept.
const MOST_WAITING: usize = 10_000;
/// How far it was heard is noted after so many events that nothing was kept of.
const MOST_UNNOTED: u32 = 100;
/// A connection that lasts so long is no failure.
const STEADY: SignedDuration = SignedDuration::from_secs(60);

/// What comes over one shard, whatever the connection.
pub(super) struct Stream {
    pub shard: ShardId,
    pub session: Option<Session>,
    /// The one that is over, until another begins.
    ended: Option<Session>,
    /// So many events were heard since it was noted how far.
    unnoted: u32,
    /// Nothing has come over it since the program was started.
    is_fresh: bool,
}

impl Discord {
    /// Keeps all connections up until `shutdown`.
    pub(super) async fn listen(&self, shutdown: &CancellationToken) -> Result<(), JoinError> {
        let plan = tokio::select! {
            plan = self.plan() => plan.map_err(JoinError::of)?,
            () = shutdown.cancelled() => return Ok(()),
        };
        let (asking, asked) = mpsc::unbounded_channel();
        let shards = (0..plan.shards).map(|number| ShardId::new(number, plan.shards));
        let shards = shards.map(|shard| self.stay_connected(shard, &plan, &asking, shutdown));
        tokio::select! {
            ended = try_join_all(shards) => ended.map(|_| ()),
            failed = self.grant(asked, plan.shards) => match failed? {},
            why = self.dismissed.reason() => Err(JoinError::Dismissed(why)),
        }
    }

    async fn stay_connected(
        &self,
        shard: ShardId,
        plan: &Plan,
        asking: &mpsc::UnboundedSender<Ask>,
        shutdown: &CancellationToken,
    ) -> Result<(), JoinError> {
        let session = self.session(shard).await?;
        let mut stream = Stream { shard, session, ended: None, unnoted: 0, is_fresh: true };
        let mut tried = 0;
        loop {
            let began = self.now();
            let lost = tokio::select! {
                biased;
                () = shutdown.cancelled() => return Ok(self.note(&mut stream).await?),
                lost = self.stay_on(&mut stream, plan, asking) => lost?,
            };
            self.shards.off(shard, &self.air);
            match lost.fate {
                Fate::GoesOn => {}
                Fate::GoesOnElsewhere => {
                    if let Some(session) = &mut stream.session {
                        session.resume_url = None;
                    }
                }
                Fate::Over => stream.ended = stream.session.take().or(stream.ended),
            }
            let lasted = self.now().duration_since(began) > STEADY;
            tried = if lasted { 1 } else { tried + 1 };
            let draw = [shard.number().to_string(), tried.to_string(), began.to_string()];
            let draw = chance(self.ears.seed, &["reconnect", &draw[0], &draw[1], &draw[2]]);
            let wait = lost.wait.max(backoff(tried, draw));
            warn!("a connection to Discord is lost ({}); the next try is in {wait:#}", lost.why);
            tokio::select! {
                () = shutdown.cancelled() => return Ok(self.note(&mut stream).await?),
                () = self.clock.sleep_until(self.now() + wait) => {}
            }
        }
    }

    /// One connection, until it is lost.
    async fn stay_on(
        &self,
        stream: &mut Stream,
        plan: &Plan,
        asking: &mpsc::UnboundedSender<Ask>,
    ) -> Result<Lost, JoinError> {
        if stream.session.is_none() {
            // Not after Discord has said hello: it would not wait so long.
            let next = self.next_identify(plan.shards).await?;
            self.clock.sleep_until(next).await;
        }
        let turnstile = Turnstile::new(asking.clone());
        let opening =
            Opening { patience: self.settings.patience.opening, resumes: stream.session.is_some() };
        let mut shard = self.shard(stream, plan, &turnstile);
        let (events, waiting) = mpsc::channel(MOST_WAITING);
        let mut hearing = std::pin::pin!(self.hear_all(stream, waiting));
        let lost = tokio::select! {
            biased;
            heard = &mut hearing => return lost_by(heard),
            lost = listen_to(&mut shard, events, opening, &turnstile) => lost?,
        };
        // What has come is heard before another connection tells of it again.
        match hearing.await {
            Ok(()) => Ok(lost),
            failed => lost_by(failed),
        }
    }

    fn shard(&self, stream: &Stream, plan: &Plan, turnstile: &Turnstile) -> Shard<Turnstile> {
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
    async fn hear_all(
        &self,
        stream: &mut Stream,
        mut waiting: mpsc::Receiver<Event>,
    ) -> Result<(), TakeError> {
        while let Some(event) = waiting.recv().await {
            match event.name.as_str() {
                "READY" => self.begin(stream, &event).await?,
                "RESUMED" => self.go_on(stream).await,
                name => {
                    let sequence = event.sequence;
                    let heard = |session: &Session| session.heard(sequence, self.now());
                    let session = stream.session.as_ref().map(heard);
                    let mut so_far = session.as_ref().map(|session| session.bookmark(stream.shard));
                    self.take(name, &event.data, &mut so_far).await?;
                    stream.unnoted = if so_far.is_none() { 0 } else { stream.unnoted + 1 };
                    stream.session = session;
                }
            }
            if stream.unnoted >= MOST_UNNOTED {
                self.note(stream).await?;
            }
        }
        Ok(())
    }

    /// A session begins: whatever was said before was not told, so it is read.
    async fn begin(&self, stream: &mut Stream, event: &Event) -> Result<(), TakeError> {
        let Some(id) = text(&event.data["session_id"]) else { return Ok(()) };
        let before = stream.session.take().or(stream.ended.take());
        if let Some(before) = &before {
            self.settle_marks(before.since(), before.until()).await?;
        }
        let resume_url = text(&event.data["resume_gateway_url"]).map(str::to_owned);
        let session = Session::new(id, resume_url, event.sequence, self.who.user.clone());
        let session = session.begun(self.now());
        info!("a new session with Discord begins");
        let bookmark = session.bookmark(stream.shard);
        self.ears.hear(Heard::Bookmark(bookmark)).await?;
        self.leave_other_guilds(stream.shard, &event.data["guilds"]).await;
        let since = session.since();
        (stream.session, stream.unnoted, stream.is_fresh) = (Some(session), 0, false);
        self.shards.on(stream.shard, since, &self.air);
        self.open_directs().await?;
        Ok(())
    }

    /// The session goes on where it was left: nothing is missing.
    async fn go_on(&self, stream: &mut Stream) {
        let Some(session) = &stream.session else { return };
        debug!("the session with Discord goes on");
        if stream.is_fresh {
            // What there is was told in an earlier life.
            self.wants_lists.notify_one();
        }
        stream.is_fresh = false;
        self.shards.on(stream.shard, session.since(), &self.air);
        if let Err(error) = self.open_directs().await {
            warn!("direct messages could not be looked for: {error}");
        }
    }

    /// Notes how far a shard was heard.
    async fn note(&self, stream: &mut Stream) -> Result<(), StoreError> {
        if let Some(session) = stream.session.as_ref().filter(|_| stream.unnoted > 0) {
            self.ears.hear(Heard::Bookmark(session.bookmark(stream.shard))).await?;
        }
        stream.unnoted = 0;
        Ok(())
    }
}

/// What could not be heard is told again by the next connection.
fn lost_by(heard: Result<(), TakeError>) -> Result<Lost, JoinError> {
    match heard {
        Ok(()) => Ok(Lost::because("it has ended")),
        Err(error) => Ok(Lost::because(format!("what came could not be kept: {error}"))),
    }
}

/// A frame's content, as far as it is looked at here.
fn is_true(value: &Value) -> bool {
    value == &Value::Bool(true)
}
