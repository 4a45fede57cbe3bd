//! Withholds and forgets what users have ordered to be, and removes what is left of it outside the tables, all in
//! small steps while others are heard.

use std::sync::Arc;
use std::time::{Duration, Instant};

use jiff::SignedDuration;
use tokio_util::sync::CancellationToken;
use tracing::{debug, info, warn};

use crate::clock::Clock;
use crate::inbox::channel_cache::ChannelCache;
use crate::store::StoreError;
use crate::store::database::DatabaseStore;
use crate::store::database::forget::job::{ForgetProgress, ForgettingJob, ForgottenUser};
use crate::store::database::forget::scrub::{ScrubJob, ScrubProgress};
use crate::store::database::redaction::RedactionProgress;

/// How often it is checked whether there is anything to do, and how long a failure waits.
const INTERVAL: SignedDuration = SignedDuration::from_mins(1);
/// The shortest pause after a step. Longer steps are followed by pauses as long as they took.
const MIN_PAUSE: Duration = Duration::from_millis(1);

pub struct Forgetter {
    pub store: Arc<DatabaseStore>,
    pub channel_cache: Arc<ChannelCache>,
    pub clock: Clock,
    job: ForgettingJob,
    scrub: ScrubJob,
}

impl Forgetter {
    pub fn new(store: Arc<DatabaseStore>, channel_cache: Arc<ChannelCache>, clock: Clock) -> Self {
        let (job, scrub) = (ForgettingJob::default(), ScrubJob::default());
        Self { store, channel_cache, clock, job, scrub }
    }

    pub async fn run(mut self, shutdown: CancellationToken) -> anyhow::Result<()> {
        while !shutdown.is_cancelled() {
            let began = Instant::now();
            let stepped = tokio::select! {
                biased;
                () = shutdown.cancelled() => break,
                stepped = self.step() => stepped,
            };
            let is_working = match stepped {
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
            ForgetProgress::Idle => self.scrub().await,
            ForgetProgress::Working => Ok(true),
            ForgetProgress::Hidden(workspace) => {
                self.channel_cache.conversations.drop_all_messages(&workspace);
                Ok(true)
            }
            ForgetProgress::Done(ForgottenUser { workspace, user, keeps_name, report }) => {
                if !keeps_name {
                    self.channel_cache.forget_user(&workspace, &user);
                }
                self.scrub = ScrubJob::default();
                info!(
                    messages = report.messages,
                    own_messages = report.own_messages,
                    memos = report.memos,
                    memories = report.memories,
                    "a user is forgotten; what is left in the index and the log goes next"
                );
                Ok(true)
            }
        }
    }

    /// Takes one step of removing what is left of forgotten users. Returns whether there may be another one.
    async fn scrub(&mut self) -> Result<bool, StoreError> {
        match self.scrub.step(&self.store).await? {
            ScrubProgress::Idle => Ok(false),
            ScrubProgress::Working => Ok(true),
            ScrubProgress::Blocked => {
                debug!(wait = ?INTERVAL, "somebody reads the database; the log is truncated later");
                Ok(false)
            }
            ScrubProgress::Done => {
                info!("what was left of forgotten users outside the tables is removed");
                Ok(false)
            }
        }
    }
}
