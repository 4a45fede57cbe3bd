//! The state of a fake, behind a lock, with a change counter that tests and tasks can wait on.

use aizuchi_model::clock::Clock;
use parking_lot::Mutex;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::fault::Hang;

pub struct SharedState<S> {
    state: Mutex<S>,
    changes: watch::Sender<u64>,
}

impl<S> SharedState<S> {
    pub fn new(state: S) -> Self {
        Self { state: Mutex::new(state), changes: watch::Sender::new(0) }
    }

    pub fn read<T>(&self, read: impl FnOnce(&S) -> T) -> T {
        read(&self.state.lock())
    }

    pub fn change<T>(&self, change: impl FnOnce(&mut S) -> T) -> T {
        let result = change(&mut self.state.lock());
        self.changes.send_modify(|count| *count += 1);
        result
    }

    /// Returns a counter that increases with every change.
    pub fn subscribe(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    /// Hangs as a fault specifies, until `releases` increases, or until shutdown.
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
                // The sender cannot be gone: `self` owns it.
                let _ = changed.changed().await;
            }
        };
        let elapsed = async {
            match hang {
                Hang::For(time) => clock.sleep_until(clock.now() + time).await,
                Hang::UntilReleased => std::future::pending().await,
            }
        };
        tokio::select! {
            () = released => {}
            () = elapsed => {}
            () = shutdown.cancelled() => {}
        }
    }
}
