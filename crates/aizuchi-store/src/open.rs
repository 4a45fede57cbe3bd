//! Opens and inspects a database at any location.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures_util::future::BoxFuture;

use crate::database::MAX_READERS;
use crate::database::location::{DatabaseLocation, DatabaseStatus, OpenedDatabase};
use crate::{StoreError, postgres, sqlite};

/// How often a standby checks whether it can take over.
const STANDBY_POLL_INTERVAL: Duration = Duration::from_secs(1);

impl DatabaseLocation {
    /// Opens the database exclusively. Fails if another process owns it.
    pub fn open(&self) -> BoxFuture<'_, Result<OpenedDatabase, StoreError>> {
        Box::pin(async move {
            // A server ends the session of an exited process only after a short delay.
            for _ in 0..postgres::ENDING_SESSION_POLLS {
                if let Some(opened) = self.open_if_free().await? {
                    return Ok(opened);
                }
                tokio::time::sleep(postgres::ENDING_SESSION_POLL).await;
            }
            self.open_with_readers(MAX_READERS).await
        })
    }

    /// Opens the database exclusively with at most this many readers. Each costs a server a process.
    pub fn open_with_readers(
        &self,
        readers: u32,
    ) -> BoxFuture<'_, Result<OpenedDatabase, StoreError>> {
        Box::pin(async move {
            let in_use = || {
                StoreError::Broken(format!(
                    "another Aizuchi is active on {self}; stop it, or give this one a database of its own"
                ))
            };
            self.open_unless_owned(readers).await?.ok_or_else(in_use)
        })
    }

    /// Opens the database. `None` if another process owns it and this one may stand by. Only a server allows that; for
    /// a file it is an error.
    pub fn open_if_free(&self) -> BoxFuture<'_, Result<Option<OpenedDatabase>, StoreError>> {
        Box::pin(async move { self.open_unless_owned(MAX_READERS).await })
    }

    async fn open_unless_owned(&self, readers: u32) -> Result<Option<OpenedDatabase>, StoreError> {
        match self {
            DatabaseLocation::Sqlite(path) => {
                sqlite::open_with_readers(path, readers).await.map(Some)
            }
            DatabaseLocation::Postgres(server) => postgres::open(server, readers).await,
        }
    }

    /// Opens the database as soon as no other process owns it. Also waits for a server that is down. `can_look` tells
    /// whether the last look at the database succeeded: else this process could not take over.
    pub fn wait_and_open<'a>(&'a self, can_look: &'a AtomicBool) -> BoxFuture<'a, OpenedDatabase> {
        Box::pin(async move {
            let mut last_error = None;
            loop {
                tokio::time::sleep(STANDBY_POLL_INTERVAL).await;
                let opened = self.open_if_free().await;
                can_look.store(opened.is_ok(), Ordering::Relaxed);
                match opened {
                    Ok(Some(opened)) => return opened,
                    Ok(None) => last_error = None,
                    Err(error) => {
                        let message = error.to_string();
                        // Only once for each cause, since it is retried every second.
                        if last_error.as_ref() != Some(&message) {
                            tracing::warn!(error = %message, "standing by; the database cannot be opened");
                        }
                        last_error = Some(message);
                    }
                }
            }
        })
    }

    /// Inspects the database without changing anything: `check` must neither migrate nor create it.
    pub fn inspect(&self) -> BoxFuture<'_, Result<DatabaseStatus, StoreError>> {
        Box::pin(async move {
            match self {
                DatabaseLocation::Sqlite(path) => sqlite::inspect::inspect(path).await,
                DatabaseLocation::Postgres(server) => postgres::inspect(server).await,
            }
        })
    }
}
