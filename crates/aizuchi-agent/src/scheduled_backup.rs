//! Writes a backup whenever one is due, and removes old ones.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use aizuchi_model::clock::Clock;
use aizuchi_store::StoreError;
use aizuchi_store::database::location::DatabaseLocation;
use aizuchi_store::transfer;
use futures_util::future::BoxFuture;
use jiff::{SignedDuration, Timestamp};
use tokio_util::sync::CancellationToken;
use tracing::{error, info};

use crate::metrics::Metrics;

/// The maximum delay before the next attempt after a failure.
const RETRY: SignedDuration = SignedDuration::from_mins(10);
/// The value of the metric if a backup is due but none was ever written.
const NEVER: SignedDuration = SignedDuration::from_secs(1);
/// The age at which an unfinished backup that was not scheduled counts as left behind.
const ABANDONED: SignedDuration = SignedDuration::from_hours(24);
const PREFIX: &str = "aizuchi-";
const SUFFIX: &str = ".db";
const TIME_FORMAT: &str = "%Y%m%dT%H%M%SZ";

pub struct ScheduledBackup {
    pub location: DatabaseLocation,
    pub folder: PathBuf,
    pub interval: SignedDuration,
    /// The number of backups to keep.
    pub keep: usize,
    pub clock: Clock,
    pub metrics: Arc<Metrics>,
}

impl ScheduledBackup {
    pub fn run(&self, shutdown: CancellationToken) -> BoxFuture<'_, anyhow::Result<()>> {
        Box::pin(async move {
            self.metrics.set_backup_interval(self.interval);
            loop {
                let due = match self.newest() {
                    Some(newest) => newest + self.interval,
                    None => self.clock.now(),
                };
                tokio::select! {
                    () = shutdown.cancelled() => return Ok(()),
                    () = self.clock.sleep_until(due) => {}
                }
                // A backup that is interrupted leaves nothing behind.
                let step = tokio::select! {
                    () = shutdown.cancelled() => return Ok(()),
                    step = self.step() => step,
                };
                if let Err(problem) = step {
                    let wait = self.interval.min(RETRY);
                    error!(error = %problem, wait = ?wait, "the backup failed; retrying");
                    tokio::select! {
                        () = shutdown.cancelled() => return Ok(()),
                        () = self.clock.sleep_until(self.clock.now() + wait) => {}
                    }
                }
            }
        })
    }

    /// Writes a backup, and removes the oldest ones if there are too many.
    pub async fn step(&self) -> Result<PathBuf, StoreError> {
        let now = self.clock.now();
        create_private_folder(&self.folder)?;
        self.remove_unfinished();
        let file = self.folder.join(format!("{PREFIX}{}{SUFFIX}", now.strftime(TIME_FORMAT)));
        let report = transfer::back_up(&self.location, &file).await?;
        info!(file = %file.display(), rows = report.rows(), "a backup was written");
        self.metrics.record_backup(now);
        let mut backups = self.backups();
        // The new backup is never removed, whatever the clock says.
        backups.retain(|(_, other)| *other != file);
        let surplus = (backups.len() + 1).saturating_sub(self.keep);
        // Backups from the future, made while the clock was ahead, are removed first.
        backups.sort_by_key(|(at, _)| (*at <= now, *at));
        for (_, old) in backups.into_iter().take(surplus) {
            if let Err(problem) = std::fs::remove_file(&old) {
                error!(file = %old.display(), error = %problem, "an old backup cannot be removed");
            }
        }
        Ok(file)
    }

    /// Removes the files of backups that an earlier process did not finish. A user may be writing a backup with another
    /// name here, even in another container, so such a file is removed only if nothing has been written to it for long.
    fn remove_unfinished(&self) {
        let now = self.clock.now();
        let files = std::fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let unfinished =
            files.map(|file| file.path()).filter(|file| match unfinished_backup(file) {
                Some(backup) => made_at(&backup).is_some() || is_abandoned(file, now),
                None => false,
            });
        for file in unfinished {
            if let Err(problem) = std::fs::remove_file(&file) {
                error!(file = %file.display(), error = %problem, "an unfinished backup cannot be removed");
            }
        }
    }

    /// Returns when the newest backup was made. A time in the future is ignored, since the clock was wrong.
    fn newest(&self) -> Option<Timestamp> {
        let now = self.clock.now();
        let newest = self.backups().into_iter().map(|(at, _)| at).rfind(|at| *at <= now);
        // With the first second of the epoch as the value, an alert can tell that a backup is missing.
        self.metrics.record_backup(newest.unwrap_or(Timestamp::UNIX_EPOCH + NEVER));
        newest
    }

    /// Returns the backups in the folder, oldest first.
    fn backups(&self) -> Vec<(Timestamp, PathBuf)> {
        let Ok(files) = std::fs::read_dir(&self.folder) else { return Vec::new() };
        let backup = |file: std::fs::DirEntry| Some((made_at(&file.path())?, file.path()));
        let mut backups: Vec<_> = files.flatten().filter_map(backup).collect();
        backups.sort();
        backups
    }
}

/// Returns the name that an unfinished backup would have got. Until then, the id of its process and `.part` follow it.
fn unfinished_backup(file: &Path) -> Option<PathBuf> {
    let name = file.file_name()?.to_str()?.strip_suffix(".part")?;
    let (backup, _process) = name.rsplit_once('.')?;
    backup.starts_with(PREFIX).then(|| PathBuf::from(backup))
}

/// Whether nothing was written to a file for a long time.
fn is_abandoned(file: &Path, now: Timestamp) -> bool {
    let written = std::fs::metadata(file).and_then(|found| found.modified()).ok();
    let written = written.and_then(|at| Timestamp::try_from(at).ok());
    written.is_some_and(|at| now.duration_since(at) >= ABANDONED)
}

/// Returns when a backup was made, by its name.
fn made_at(file: &Path) -> Option<Timestamp> {
    let name = file.file_name()?.to_str()?;
    let time = name.strip_prefix(PREFIX)?.strip_suffix(SUFFIX)?;
    let time = jiff::civil::DateTime::strptime(TIME_FORMAT, time).ok()?;
    time.to_zoned(jiff::tz::TimeZone::UTC).ok().map(|at| at.timestamp())
}

/// Creates the folder with private permissions, since backups contain private messages.
fn create_private_folder(folder: &Path) -> Result<(), StoreError> {
    use std::os::unix::fs::DirBuilderExt as _;
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(|error| {
        StoreError::Broken(format!("{} cannot be created: {error}", folder.display()))
    })
}
