//! A fake: its settings, and its state behind a lock, with a change counter that tests and tasks can wait on.

use std::sync::Arc;

use aizuchi_model::clock::Clock;
use jiff::Timestamp;
use parking_lot::Mutex;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::fault::{Fault, Faults, Hang};

/// The whole state of a fake.
pub trait FakeState {
    type Settings;
    /// A kind of request.
    type Method: Ord + Clone;
    type ApiError: Clone;

    fn new(settings: &Self::Settings) -> Self;

    /// Sends the events of the last change to the app.
    fn flush_events(&mut self, settings: &Self::Settings);

    /// Returns when the next scheduled task is due.
    fn next_timer(&self) -> Option<Timestamp>;

    fn clock(settings: &Self::Settings) -> &Clock;

    fn faults(&mut self) -> &mut Faults<Self::Method, Self::ApiError>;
}

/// A fake platform. Its methods take effect immediately.
pub struct Fake<S: FakeState> {
    pub settings: S::Settings,
    state: Mutex<S>,
    changes: watch::Sender<u64>,
}

impl<S: FakeState> Fake<S> {
    pub fn new(settings: S::Settings) -> Arc<Self> {
        let state = Mutex::new(S::new(&settings));
        Arc::new(Self { settings, state, changes: watch::Sender::new(0) })
    }

    pub fn read<T>(&self, read: impl FnOnce(&S) -> T) -> T {
        read(&self.state.lock())
    }

    /// Changes the state and sends the resulting events to the app.
    pub fn change<T>(&self, change: impl FnOnce(&mut S) -> T) -> T {
        let mut state = self.state.lock();
        let result = change(&mut state);
        state.flush_events(&self.settings);
        drop(state);
        self.changes.send_modify(|count| *count += 1);
        result
    }

    /// Returns a counter that increases with every change.
    pub fn subscribe(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    /// Runs the scheduled tasks when they are due, with `run_due`. Never returns.
    pub async fn run_timers(&self, run_due: impl Fn(&mut S, &S::Settings)) {
        let clock = S::clock(&self.settings);
        let mut changed = self.subscribe();
        loop {
            changed.mark_unchanged();
            let due = self.read(S::next_timer);
            if due.is_some_and(|due| due <= clock.now()) {
                self.change(|state| run_due(state, &self.settings));
                continue;
            }
            let until_due = async {
                match due {
                    Some(due) => clock.sleep_until(due).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                () = until_due => {}
                _ = changed.changed() => {}
            }
        }
    }

    /// Hangs as a fault specifies, until hanging requests are released, or until shutdown.
    pub async fn hang(&self, hang: Hang, shutdown: &CancellationToken) {
        let released = async {
            let mut changed = self.subscribe();
            let releases = || self.state.lock().faults().releases;
            let before = releases();
            while releases() == before {
                // The sender cannot be gone: `self` owns it.
                let _ = changed.changed().await;
            }
        };
        let elapsed = async {
            let clock = S::clock(&self.settings);
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

/// Faults of single requests.
impl<S: FakeState> Fake<S> {
    /// Makes the next request of a kind fail. Several faults form a queue.
    pub fn inject_fault(&self, method: impl Into<S::Method>, fault: Fault<S::ApiError>) {
        self.change(|state| state.faults().push(method.into(), fault));
    }

    pub fn inject_fault_times(
        &self,
        method: impl Into<S::Method>,
        fault: &Fault<S::ApiError>,
        times: usize,
    ) {
        let method = method.into();
        (0..times).for_each(|_| self.inject_fault(method.clone(), fault.clone()));
    }

    /// Makes all requests for the history of a channel and its threads fail.
    pub fn break_history(&self, channel: impl ToString, fault: Fault<S::ApiError>) {
        self.change(|state| state.faults().break_history(channel.to_string(), fault));
    }

    /// Drops all faults that have not been used yet, including those of histories, and releases hanging requests.
    pub fn clear_faults(&self) {
        self.change(|state| state.faults().clear_and_release());
    }

    /// Releases hanging requests.
    pub fn release_hanging(&self) {
        self.change(|state| state.faults().releases += 1);
    }
}

/// What the request handlers share.
pub struct ServerContext<S: FakeState> {
    pub fake: Arc<Fake<S>>,
    pub shutdown: CancellationToken,
}

impl<S: FakeState> Clone for ServerContext<S> {
    fn clone(&self) -> Self {
        Self { fake: self.fake.clone(), shutdown: self.shutdown.clone() }
    }
}

/// Defines methods of a fake that call those of a part of its state, and deliver the resulting events.
macro_rules! delegate {
    ($part:ident: $($(#[$doc:meta])* fn $name:ident($($argument:ident: $type:ty),*) -> $result:ty;)*) => { $(
        $(#[$doc])*
        pub fn $name(&self, $($argument: $type),*) -> $result {
            self.change(|state| state.$part.$name($($argument),*))
        }
    )* };
}
