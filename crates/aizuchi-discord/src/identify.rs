//! How often it may introduce itself to the gateway. Discord ends all sessions and takes the token away
//! from a bot that does so more than a thousand times a day, so it is counted where a crash does not reach:
//! however often the program is started anew, the count goes on.

use std::convert::Infallible;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use tokio::sync::{Notify, mpsc, oneshot};
use tracing::{error, info};
use twilight_gateway::queue::Queue;

use crate::{Discord, everywhere};
use aizuchi_core::chat::{Bookmark, Heard};
use aizuchi_core::clock::{chance, seconds};
use aizuchi_core::store::StoreError;

/// A hundred fewer than Discord allows.
const MOST: usize = 900;
const DAY: SignedDuration = SignedDuration::from_hours(24);
/// Discord wants so much between two of them.
const LEAST_PAUSE: SignedDuration = SignedDuration::from_secs(5);
/// At this pace, a day has 720 of them.
const LONGEST_PAUSE: SignedDuration = SignedDuration::from_secs(120);
/// So many within an hour are nothing unusual.
const USUAL: u32 = 5;
/// Where they are counted.
const COUNTED: &str = "identifies";

/// When it has introduced itself within the last day, oldest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Budget(Vec<i64>);

impl Budget {
    pub fn read(written: &str) -> Self {
        Self(written.split(' ').filter_map(|second| second.parse().ok()).collect())
    }

    pub fn written(&self) -> String {
        self.0.iter().map(i64::to_string).collect::<Vec<_>>().join(" ")
    }

    pub fn note(&mut self, now: Timestamp) {
        let day_ago = now.as_second() - DAY.as_secs();
        self.0.retain(|second| *second > day_ago);
        self.0.push(now.as_second());
    }

    /// When it may do so next, where so many shards share the budget.
    pub fn next(&self, now: Timestamp, shards: u32) -> Timestamp {
        let Some(last) = self.0.last() else { return now };
        let at = |second: i64| Timestamp::from_second(second).unwrap_or(now);
        let lately = self.0.iter().filter(|second| **second > now.as_second() - 3600).count();
        let lately = u32::try_from(lately).unwrap_or(u32::MAX) / shards.max(1);
        let doublings = lately.saturating_sub(USUAL).min(5);
        let pause = (LEAST_PAUSE * (1 << doublings)).min(LONGEST_PAUSE);
        let rested = at(*last) + pause;
        // The oldest of the last 900 has to be a day ago.
        let spent = self.0.len().checked_sub(MOST).and_then(|over| self.0.get(over));
        let renewed = spent.map_or(Timestamp::MIN, |second| at(*second) + DAY);
        rested.max(renewed)
    }
}

/// Where a connection asks whether it may introduce itself.
#[derive(Clone, Debug)]
pub struct Turnstile {
    asks: mpsc::UnboundedSender<Ask>,
    passed: Arc<Notify>,
}

/// A connection waits for its turn.
#[derive(Debug)]
pub struct Ask {
    granted: oneshot::Sender<()>,
    /// Whoever watches the connection is told.
    passed: Arc<Notify>,
}

impl Turnstile {
    pub fn new(asks: mpsc::UnboundedSender<Ask>) -> Self {
        Self { asks, passed: Arc::default() }
    }

    /// Whoever goes on with a session needs no turn.
    pub fn pass(&self) {
        self.passed.notify_one();
    }

    /// Returns when the connection may introduce itself.
    pub async fn passed(&self) {
        self.passed.notified().await;
    }
}

impl Queue for Turnstile {
    fn enqueue(&self, _shard: u32) -> oneshot::Receiver<()> {
        let (granted, grant) = oneshot::channel();
        // Where nobody grants anything, it all ends.
        let _ = self.asks.send(Ask { granted, passed: self.passed.clone() });
        grant
    }
}

impl Discord {
    /// Lets one shard after the other introduce itself, and counts them before they do. Ends only where
    /// they cannot be counted.
    pub(super) async fn grant(
        &self,
        mut asked: mpsc::UnboundedReceiver<Ask>,
        shards: u32,
    ) -> Result<Infallible, StoreError> {
        loop {
            let Some(Ask { granted, passed }) = asked.recv().await else {
                return std::future::pending().await;
            };
            let next = self.next_identify(shards).await?;
            self.clock.sleep_until(next).await;
            // Its connection may be gone by now.
            if granted.is_closed() {
                continue;
            }
            let mut budget = self.budget().await?;
            budget.note(self.now());
            let value = budget.written().into();
            let bookmark = Bookmark { workspace: everywhere(), place: COUNTED.into(), value };
            self.ears.hear(Heard::Bookmark(bookmark)).await?;
            let _ = granted.send(());
            passed.notify_one();
        }
    }

    /// When it may introduce itself next, spread a little.
    pub(super) async fn next_identify(&self, shards: u32) -> Result<Timestamp, StoreError> {
        let (budget, now) = (self.budget().await?, self.now());
        let next = budget.next(now, shards).max(self.not_before());
        let wait = next.duration_since(now);
        if wait > LONGEST_PAUSE * 2 {
            error!(
                "it has introduced itself to Discord so often today that Discord might take the token \
                 away; the next time is in {wait:#}"
            );
        } else if wait > LEAST_PAUSE {
            info!("it introduces itself to Discord again in {wait:#}");
        }
        if next <= now {
            return Ok(now);
        }
        let draw = chance(self.ears.seed, &["identify", &next.to_string()]);
        Ok(next + seconds(draw))
    }

    async fn budget(&self) -> Result<Budget, StoreError> {
        let known = self.archive.bookmarks(&everywhere()).await?;
        let known = known.iter().find(|bookmark| *bookmark.place == *COUNTED);
        Ok(known.map_or_else(Budget::default, |known| Budget::read(&known.value)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    /// As many as there can be within some time, if it is tried again at once each time.
    fn tried(seconds: i64, shards: u32) -> usize {
        let (mut budget, mut now, mut count) = (Budget::default(), 0, 0);
        while now < seconds {
            budget.note(at(now));
            count += 1;
            now = budget.next(at(now), shards).as_second();
        }
        count
    }

    #[test]
    fn a_crash_loop_never_spends_what_discord_allows() {
        assert_eq!(tried(20, 1), 4);
        assert!(tried(3600, 1) < 40, "{}", tried(3600, 1));
        assert!(tried(86_400, 1) < 800, "{}", tried(86_400, 1));
        // However many shards there are, the day has no more than that.
        for shards in [16, 1000] {
            assert!(tried(86_400, shards) <= MOST, "{shards}");
        }
    }

    #[test]
    fn a_usual_restart_does_not_wait() {
        let mut budget = Budget::default();
        assert_eq!(budget.next(at(100), 1), at(100));
        budget.note(at(100));
        assert_eq!(budget.next(at(101), 1), at(105));
        assert!(budget.next(at(4000), 1) < at(4000));
    }

    #[test]
    fn a_spent_budget_is_renewed_after_a_day() {
        let mut budget = Budget::default();
        (0..900).for_each(|number| budget.note(at(number * 10)));
        assert_eq!(budget.next(at(9000), 100), at(86_400));
        budget.note(at(86_400));
        assert_eq!(budget.next(at(86_401), 100), at(86_410));
        assert_eq!(Budget::read(&budget.written()), budget);
        assert_eq!(Budget::read("odd"), Budget::default());
    }
}
