//! Drops what is kept only for a while, once an hour.

use std::sync::Arc;

use jiff::SignedDuration;
use tokio_util::sync::CancellationToken;
use tracing::warn;

use crate::clock::Clock;
use crate::store::{Store, StoreError};

/// How often it looks.
const INTERVAL: SignedDuration = SignedDuration::from_hours(1);

pub struct Retention {
    pub store: Arc<dyn Store>,
    pub clock: Clock,
    /// How long prompts and answers are kept.
    pub prompt_max_age: SignedDuration,
}

impl Retention {
    pub async fn run(&self, shutdown: CancellationToken) -> anyhow::Result<()> {
        while !shutdown.is_cancelled() {
            if let Err(error) = self.step().await {
                warn!("what is too old could not be dropped, which is tried again: {error}");
            }
            tokio::select! {
                () = shutdown.cancelled() => {}
                () = self.clock.sleep_until(self.clock.now() + INTERVAL) => {}
            }
        }
        Ok(())
    }

    /// Drops what is too old now.
    pub async fn step(&self) -> Result<(), StoreError> {
        // Whatever is kept for no time at all goes, too.
        let now = self.clock.now() + SignedDuration::from_millis(1);
        self.store.drop_exchanges(now.checked_sub(self.prompt_max_age).unwrap_or_default()).await
    }
}
