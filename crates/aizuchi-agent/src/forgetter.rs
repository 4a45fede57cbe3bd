//! Withholds and forgets what users have ordered, erases messages that are older than the retention period, and removes
//! what is left of both outside the tables, all in small steps while messages are being heard.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use aizuchi_model::chat::WorkspaceId;
use aizuchi_model::clock::Clock;
use aizuchi_store::database::DatabaseStore;
use aizuchi_store::database::forget::job::{ForgetProgress, ForgettingJob, ForgottenUser};
use aizuchi_store::database::forget::scrub::{ScrubJob, ScrubProgress};
use aizuchi_store::database::redaction::RedactionProgress;
use aizuchi_store::expiry::{Expiry, ExpiryProgress};
use aizuchi_store::{Store, StoreError};
use futures_util::future::BoxFuture;
use jiff::{SignedDuration, Timestamp};
use tokio_util::sync::CancellationToken;
use tracing::{debug, info, warn};

use crate::inbox::channel_cache::ChannelCache;

/// The interval between checks for work, and the delay after a failure.
const INTERVAL: SignedDuration = SignedDuration::from_mins(1);
/// The minimum pause after a step. After longer steps, the pause is as long as the step.
const MIN_PAUSE: Duration = Duration::from_millis(1);

pub struct Forgetter {
    pub store: Arc<DatabaseStore>,
    pub channel_cache: Arc<ChannelCache>,
    pub clock: Clock,
    /// How long messages are kept. `None` means forever.
    pub message_max_age: Option<SignedDuration>,
    job: ForgettingJob,
    expired: ExpiredSoFar,
    scrub: ScrubJob,
    /// Whether data of a forgotten user may remain outside the tables.
    owes_scrub: bool,
}

/// What the expiry has erased since it last had nothing to do.
#[derive(Default)]
struct ExpiredSoFar {
    messages: usize,
    workspaces: BTreeSet<WorkspaceId>,
}

impl Forgetter {
    pub fn new(
        store: Arc<DatabaseStore>,
        channel_cache: Arc<ChannelCache>,
        clock: Clock,
        message_max_age: Option<SignedDuration>,
    ) -> Self {
        Self {
            store,
            channel_cache,
            clock,
            message_max_age,
            job: ForgettingJob::default(),
            expired: ExpiredSoFar::default(),
            scrub: ScrubJob::default(),
            // An earlier process may have ended in between.
            owes_scrub: true,
        }
    }

    pub fn run(mut self, shutdown: CancellationToken) -> BoxFuture<'static, anyhow::Result<()>> {
        Box::pin(async move {
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
                        warn!(error = %error, wait = ?INTERVAL, "withholding, forgetting or erasing messages failed; retrying");
                        false
                    }
                };
                if is_working {
                    // Other users of the database get at least as much of its time as this does.
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
        })
    }

    /// Takes one step. Returns whether there may be more.
    pub fn step(&mut self) -> BoxFuture<'_, Result<bool, StoreError>> {
        Box::pin(async move {
            // Redaction is quick, and until it is done, prompts may contain the messages.
            match self.store.redact_next(self.clock.now()).await? {
                RedactionProgress::Idle => {}
                RedactionProgress::Working => return Ok(true),
                RedactionProgress::Done(workspace) => {
                    self.channel_cache.conversations.drop_all_messages(&workspace);
                    return Ok(true);
                }
            }
            match self.job.step(&self.store, self.clock.now()).await? {
                // What is left of a user who asked to be forgotten is removed before what is only old.
                ForgetProgress::Idle if self.owes_scrub => self.scrub().await,
                ForgetProgress::Idle => match self.expire().await? {
                    true => Ok(true),
                    false => self.scrub().await,
                },
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
                    self.owes_scrub = true;
                    info!(
                        platform = workspace.platform(),
                        %workspace,
                        messages = report.messages,
                        own_messages = report.own_messages,
                        memos = report.memos,
                        memories = report.memories,
                        "a user is forgotten; what is left in the index and the log goes next"
                    );
                    Ok(true)
                }
            }
        })
    }

    /// Takes one step of erasing messages that are older than the retention period. Returns whether there may be more.
    async fn expire(&mut self) -> Result<bool, StoreError> {
        let Some(max_age) = self.message_max_age else { return Ok(false) };
        let now = self.clock.now();
        let expiry = Expiry { before: expires_before(now, max_age), now };
        if let ExpiryProgress::Working(erased) = self.store.expire_next(expiry).await? {
            self.expired.messages += erased.count;
            self.expired.workspaces.extend(erased.workspaces);
            // The scrub starts over, because more was erased than it has seen.
            self.scrub = ScrubJob::default();
            return Ok(true);
        }
        let ExpiredSoFar { messages, workspaces } = std::mem::take(&mut self.expired);
        for workspace in &workspaces {
            self.channel_cache.conversations.drop_all_messages(workspace);
        }
        if messages > 0 {
            let workspaces: Vec<&str> = workspaces.iter().map(WorkspaceId::as_str).collect();
            let workspaces = workspaces.join(", ");
            info!(workspaces, messages, before = %expiry.before, "old messages are erased");
        }
        Ok(false)
    }

    /// Takes one step of removing what is left of forgotten users and old messages. Returns whether there may be more.
    async fn scrub(&mut self) -> Result<bool, StoreError> {
        let progress = self.scrub.step(&self.store).await?;
        let may_expire = self.message_max_age.is_some() && self.owes_scrub;
        self.owes_scrub &= progress == ScrubProgress::Working;
        match progress {
            ScrubProgress::Working => Ok(true),
            // The expiry has waited for the scrub.
            _ if may_expire => Ok(true),
            ScrubProgress::Idle => Ok(false),
            ScrubProgress::Blocked => {
                debug!(wait = ?INTERVAL, "somebody reads the database; the log is truncated later");
                Ok(false)
            }
            ScrubProgress::Done => {
                info!("what was left of erased messages outside the tables is removed");
                Ok(false)
            }
        }
    }
}

/// Returns the time before which messages have expired. It moves once a day, at midnight UTC, since afterwards the
/// whole search index is rewritten, so that nothing is left in it.
pub fn expires_before(now: Timestamp, max_age: SignedDuration) -> Timestamp {
    const DAY_MS: i64 = 24 * 3600 * 1000;
    let oldest = now.checked_sub(max_age).unwrap_or(Timestamp::UNIX_EPOCH).as_millisecond();
    Timestamp::from_millisecond(oldest - oldest.rem_euclid(DAY_MS)).unwrap_or(Timestamp::UNIX_EPOCH)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_expire_with_the_day_on_which_they_were_written() {
        let day = SignedDuration::from_hours(24);
        for (now, days, expected) in [
            ("2026-03-10T00:00:00Z", 1, "2026-03-09T00:00:00Z"),
            ("2026-03-10T23:59:59.999Z", 1, "2026-03-09T00:00:00Z"),
            ("2026-03-11T00:00:00Z", 1, "2026-03-10T00:00:00Z"),
            ("2026-03-10T12:00:00Z", 90, "2025-12-10T00:00:00Z"),
            ("1970-01-02T12:00:00Z", 90, "1969-10-04T00:00:00Z"),
        ] {
            let (now, expected): (Timestamp, Timestamp) =
                (now.parse().unwrap(), expected.parse().unwrap());
            assert_eq!(expires_before(now, day * days), expected, "{now} {days}");
        }
    }
}
