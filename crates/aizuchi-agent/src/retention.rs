//! Deletes expired prompts and responses, expired entries of journals, and copies of the file left by earlier versions,
//! once an hour.

use std::sync::Arc;

use aizuchi_model::clock::Clock;
use aizuchi_store::database::location::DatabaseLocation;
use aizuchi_store::sqlite::earlier_version;
use aizuchi_store::{Store, StoreError};
use jiff::SignedDuration;
use tokio_util::sync::CancellationToken;
use tracing::warn;

/// How often expired data is deleted.
const INTERVAL: SignedDuration = SignedDuration::from_hours(1);

pub struct Retention {
    pub store: Arc<dyn Store>,
    pub clock: Clock,
    /// How long prompts and responses are kept.
    pub prompt_max_age: SignedDuration,
    /// The maximum size of all prompts and responses, in bytes.
    pub prompt_max_bytes: u64,
    /// The database. Copies of earlier versions may be in the same folder.
    pub database: DatabaseLocation,
}

impl Retention {
    pub async fn run(&self, shutdown: CancellationToken) -> anyhow::Result<()> {
        while !shutdown.is_cancelled() {
            if let Err(error) = self.step().await {
                warn!(error = %error, wait = ?INTERVAL, "deleting what has expired failed; retrying");
            }
            tokio::select! {
                () = shutdown.cancelled() => {}
                () = self.clock.sleep_until(self.clock.now() + INTERVAL) => {}
            }
        }
        Ok(())
    }

    /// Deletes everything that has expired.
    pub async fn step(&self) -> Result<(), StoreError> {
        if let DatabaseLocation::Sqlite(path) = &self.database {
            // Copies that could not be removed are logged.
            let _ = earlier_version::remove_copies(path, earlier_version::KEPT);
        }
        self.store.drop_journals(self.clock.now()).await?;
        // With a retention of zero, data that was stored in this very millisecond has expired, too.
        let now = self.clock.now() + SignedDuration::from_millis(1);
        let before = now.checked_sub(self.prompt_max_age).unwrap_or_default();
        self.store.drop_exchanges(before, self.prompt_max_bytes).await
    }
}
