//! Withholds and forgets what users have ordered to be, in small steps while others are heard, and rewrites the
//! database in a quiet hour.

use std::sync::Arc;
use std::time::{Duration, Instant};

use jiff::{SignedDuration, Timestamp};
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use crate::clock::Clock;
use crate::inbox::channel_cache::ChannelCache;
use crate::store::database::DatabaseStore;
use crate::store::database::forget::job::{ForgetProgress, ForgettingJob};
use crate::store::database::redaction::RedactionProgress;
use crate::store::{Store, StoreError};

/// Nobody is heard while the database is rewritten, so it waits until nothing was stored for this long,
const QUIET_TIME: SignedDuration = SignedDuration::from_mins(10);
/// but not for ever.
const MAX_SCRUB_DELAY: SignedDuration = SignedDuration::from_hours(24);
/// How often it is checked whether it is quiet, and how long a failure waits.
const INTERVAL: SignedDuration = SignedDuration::from_mins(1);
/// How long a rewrite that failed waits: it may have taken long.
const SCRUB_RETRY: SignedDuration = SignedDuration::from_hours(1);
/// The shortest pause after a step. Longer steps are followed by pauses as long as they took.
const MIN_PAUSE: Duration = Duration::from_millis(1);

pub struct Forgetter {
    pub store: Arc<DatabaseStore>,
    pub channel_cache: Arc<ChannelCache>,
    pub clock: Clock,
    job: ForgettingJob,
    /// The newest revision that was seen, and when it was new.
    newest: (u64, Timestamp),
    /// After a rewrite that failed, the next one waits until then.
    next_scrub: Timestamp,
}

impl Forgetter {
    pub fn new(store: Arc<DatabaseStore>, channel_cache: Arc<ChannelCache>, clock: Clock) -> Self {
        let newest = (*store.revisions().borrow(), clock.now());
        let next_scrub = Timestamp::MIN;
        Self { store, channel_cache, clock, job: ForgettingJob::default(), newest, next_scrub }
    }

    pub async fn run(mut self, shutdown: CancellationToken) -> anyhow::Result<()> {
        while !shutdown.is_cancelled() {
            let began = Instant::now();
            let is_working = match self.step().await {
                Ok(is_working) => is_working,
                Err(error) => {
                    warn!(error = %error, wait = ?INTERVAL, "withholding or forgetting what a user wrote failed; retrying");
                    false
                }
            };
            if is_working {
                // Others get at least as much of the database as this does.
                tokio::select! {
                    () = shutdown.cancelled() => {}
                    () = tokio::time::sleep(began.elapsed().max(MIN_PAUSE)) => {}
                }
                continue;
            }
            if let Err(error) = self.scrub_if_quiet().await {
                warn!(error = %error, wait = ?SCRUB_RETRY, "a forgotten user's text is still in the database's free pages; retrying");
            }
            tokio::select! {
                () = shutdown.cancelled() => {}
                () = self.store.wait_for_erasure() => {}
                () = self.clock.sleep_until(self.clock.now() + INTERVAL) => {}
            }
        }
        Ok(())
    }

    /// Takes one step. Returns whether there may be another one.
    pub async fn step(&mut self) -> Result<bool, StoreError> {
        // It is soon done, and until then prompts may hold it.
        match self.store.redact_next(self.clock.now()).await? {
            RedactionProgress::Idle => {}
            RedactionProgress::Working => return Ok(true),
            RedactionProgress::Done(workspace) => {
                self.channel_cache.conversations.drop_all_messages(&workspace);
                return Ok(true);
            }
        }
        match self.job.step(&self.store, self.clock.now()).await? {
            ForgetProgress::Idle => Ok(false),
            ForgetProgress::Working => Ok(true),
            ForgetProgress::Hidden(workspace) => {
                self.channel_cache.conversations.drop_all_messages(&workspace);
                Ok(true)
            }
            ForgetProgress::Done(report) => {
                info!(
                    messages = report.messages,
                    own_messages = report.own_messages,
                    memos = report.memos,
                    memories = report.memories,
                    "a user is forgotten; the database is rewritten when it is quiet, within a day"
                );
                Ok(true)
            }
        }
    }

    /// Rewrites the database if that is due, and nothing was stored for a while or it has waited for a day. Returns
    /// whether it did.
    pub async fn scrub_if_quiet(&mut self) -> Result<bool, StoreError> {
        let (revision, now) = (*self.store.revisions().borrow(), self.clock.now());
        if revision != self.newest.0 {
            self.newest = (revision, now);
        }
        let Some(due_since) = self.store.scrub_due_since().await? else { return Ok(false) };
        let is_quiet = now.duration_since(self.newest.1) >= QUIET_TIME;
        let has_waited = now.duration_since(due_since) >= MAX_SCRUB_DELAY;
        if (!is_quiet && !has_waited) || now < self.next_scrub {
            return Ok(false);
        }
        self.next_scrub = now + SCRUB_RETRY;
        info!(
            "rewriting the database, so that nothing of forgotten users is left in it; messages wait meanwhile"
        );
        let began = Instant::now();
        self.store.scrub().await?;
        info!(took = ?began.elapsed(), "the database is rewritten");
        Ok(true)
    }
}
