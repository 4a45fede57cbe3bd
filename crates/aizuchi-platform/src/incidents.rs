//! Unexpected incidents: a platform sends data of an unexpected form, or the program panics. Each incident is counted,
//! logged without content, and contained.

use std::collections::HashMap;
use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use aizuchi_agent::metrics::Metrics;
use aizuchi_agent::metrics::labels::{MalformedInput, PlatformTask};
use aizuchi_model::clock::Clock;
use futures_util::FutureExt as _;
use jiff::{SignedDuration, Timestamp};
use parking_lot::Mutex;
use tracing::{error, warn};

/// The minimum interval between logs of malformed input of one kind, so that a change at the platform does not fill the
/// log.
const LOG_INTERVAL: SignedDuration = SignedDuration::from_secs(60);
/// The delay before a task that panicked is restarted.
const RESTART_DELAY: SignedDuration = SignedDuration::from_secs(5);

/// The incidents of one platform.
pub struct Incidents {
    platform: &'static str,
    metrics: Arc<Metrics>,
    clock: Clock,
    /// When malformed input of each kind was logged last.
    logged_at: Mutex<HashMap<MalformedInput, Timestamp>>,
}

/// A piece of work panicked and was abandoned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Panicked;

impl Incidents {
    pub fn new(platform: &'static str, metrics: Arc<Metrics>, clock: Clock) -> Self {
        Self { platform, metrics, clock, logged_at: Mutex::default() }
    }

    /// Records malformed input. `what` names it, e.g. by the type of an event or the method of a call.
    pub fn record_malformed(&self, input: MalformedInput, what: &str) {
        self.metrics.record_malformed(self.platform, input);
        let now = self.clock.now();
        let mut logged_at = self.logged_at.lock();
        let is_due =
            logged_at.get(&input).is_none_or(|logged| now.duration_since(*logged) >= LOG_INTERVAL);
        if is_due {
            logged_at.insert(input, now);
            warn!(
                platform = self.platform,
                kind = input.name(),
                what,
                "the platform sent something that cannot be read; ignoring it"
            );
        }
    }

    /// Runs a piece of work and contains its panics.
    pub async fn contain<T>(
        &self,
        task: PlatformTask,
        work: impl Future<Output = T>,
    ) -> Result<T, Panicked> {
        AssertUnwindSafe(work).catch_unwind().await.map_err(|_| {
            self.metrics.record_panic(self.platform, task);
            // The panic's message may contain chat text.
            error!(
                platform = self.platform,
                task = task.name(),
                "a defect in the program stopped a piece of work"
            );
            Panicked
        })
    }

    /// Runs a task that never ends, and restarts it if it panics.
    pub async fn keep_running<F: Future<Output = ()>>(
        &self,
        task: PlatformTask,
        start: impl Fn() -> F,
    ) {
        while self.contain(task, start()).await.is_err() {
            self.clock.sleep_until(self.clock.now() + RESTART_DELAY).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use futures_executor::block_on;

    use super::*;

    fn incidents() -> (Incidents, Clock) {
        let clock = Clock::manual(Timestamp::from_second(1_800_000_000).unwrap());
        (Incidents::new("slack", Arc::default(), clock.clone()), clock)
    }

    fn figures(incidents: &Incidents) -> Vec<String> {
        let text = incidents.metrics.to_openmetrics(None);
        let figures = text.lines().filter(|line| {
            line.starts_with("aizuchi_malformed_input_total")
                || line.starts_with("aizuchi_panics_total")
        });
        figures.map(str::to_owned).collect()
    }

    #[test]
    fn malformed_input_and_defects_are_counted() {
        let (incidents, _) = incidents();
        for _ in 0..3 {
            incidents.record_malformed(MalformedInput::Event, "message");
        }
        assert_eq!(block_on(incidents.contain(PlatformTask::Event, async { 7 })), Ok(7));
        let defect = async { "".bytes().next().expect("a defect") };
        assert_eq!(block_on(incidents.contain(PlatformTask::Command, defect)), Err(Panicked));
        assert_eq!(
            figures(&incidents),
            [
                r#"aizuchi_malformed_input_total{platform="slack",kind="event"} 3"#,
                r#"aizuchi_panics_total{platform="slack",task="command"} 1"#,
            ]
        );
    }

    #[test]
    fn a_task_with_a_defect_starts_again() {
        let (incidents, clock) = incidents();
        let starts = Cell::new(0);
        let task = || async {
            starts.set(starts.get() + 1);
            assert!(starts.get() > 2, "a defect");
        };
        let mut running = Box::pin(incidents.keep_running(PlatformTask::Sync, task));
        while running.as_mut().now_or_never().is_none() {
            clock.advance_to(clock.next_wake_at().unwrap());
        }
        assert_eq!(starts.get(), 3);
        assert_eq!(
            figures(&incidents),
            [r#"aizuchi_panics_total{platform="slack",task="sync"} 2"#]
        );
    }
}
