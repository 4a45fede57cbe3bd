//! What a fake remembers, behind a lock, with a count of changes to wait for.

use std::sync::{Mutex, PoisonError};

use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::fault::Hang;
use aizuchi_core::clock::Clock;

pub struct SharedState<S> {
    state: Mutex<S>,
    changes: watch::Sender<u64>,
}

impl<S> SharedState<S> {
    pub fn new(state: S) -> Self {
        Self { state: Mutex::new(state), changes: watch::Sender::new(0) }
    }

    pub fn read<T>(&self, look: impl FnOnce(&S) -> T) -> T {
        look(&self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub fn change<T>(&self, work: impl FnOnce(&mut S) -> T) -> T {
        let done = work(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner));
        self.changes.send_modify(|count| *count += 1);
        done
    }

    /// Counts changes of any kind.
    pub fn subscribe(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    /// Waits as a fault says: for a while, until `releases` counts on, or until all ends.
    pub async fn hang(
        &self,
        hang: Hang,
        releases: impl Fn(&S) -> u64,
        clock: &Clock,
        shutdown: &CancellationToken,
    ) {
        let released = async {
            let mut changed = self.subscribe();
            let before = self.read(&releases);
            while self.read(&releases) == before {
                // The sender lives as long as what is held here.
                let _ = changed.changed().await;
            }
        };
        let over = async {
            match hang {
                Hang::For(time) => clock.sleep_until(clock.now() + time).await,
                Hang::UntilReleased => std::future::pending().await,
            }
        };
        tokio::select! {
            () = released => {}
            () = over => {}
            () = shutdown.cancelled() => {}
        }
    }
}
