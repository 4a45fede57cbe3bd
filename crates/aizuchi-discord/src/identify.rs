//! How often it may introduce itself to the gateway. Discord ends all sessions and takes the token away
//! from a bot that does so more than a thousand times a day, so it is counted where a crash does not reach:
//! however often the program is started anew, the count goes on.

use std::convert::Infallible;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use tokio::sync::{Notify, mpsc, oneshot};
use tracing::{error, info};
use twilight_gateway::queue::Queue;

use crate::DiscordPlatform;
use crate::identity::platform_workspace;
use aizuchi_core::chat::{Cursor, Heard};
use aizuchi_core::clock::{duration_from_seconds, seeded_random};
use aizuchi_core::store::StoreError;

/// A hundred fewer than Discord allows.
const MAX_PER_DAY: usize = 900;
const DAY: SignedDuration = SignedDuration::from_hours(24);
/// Discord wants so much between two of them.
const MIN_INTERVAL: SignedDuration = SignedDuration::from_secs(5);
/// At this pace, a day has 720 of them.
const MAX_INTERVAL: SignedDuration = SignedDuration::from_secs(120);
/// So many within an hour are nothing unusual.
const BACKOFF_THRESHOLD: u32 = 5;
/// Where they are counted.
const BUDGET_KEY: &str = "identifies";

/// When it has introduced itself within the last day, oldest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IdentifyBudget(Vec<i64>);

impl IdentifyBudget {
    pub fn parse(written: &str) -> Self {
        Self(written.split(' ').filter_map(|second| second.parse().ok()).collect())
    }

    pub fn to_text(&self) -> String {
        self.0.iter().map(i64::to_string).collect::<Vec<_>>().join(" ")
    }

    pub fn record(&mut self, now: Timestamp) {
        let day_ago = now.as_second() - DAY.as_secs();
        self.0.retain(|second| *second > day_ago);
        self.0.push(now.as_second());
    }

    /// When it may do so next, where so many shards share the budget.
    pub fn next_at(&self, now: Timestamp, shards: u32) -> Timestamp {
        let Some(last) = self.0.last() else { return now };
        let at = |second: i64| Timestamp::from_second(second).unwrap_or(now);
        let lately = self.0.iter().filter(|second| **second > now.as_second() - 3600).count();
        let lately = u32::try_from(lately).unwrap_or(u32::MAX) / shards.max(1);
        let doublings = lately.saturating_sub(BACKOFF_THRESHOLD).min(5);
        let pause = (MIN_INTERVAL * (1 << doublings)).min(MAX_INTERVAL);
        let rested = at(*last) + pause;
        // The oldest of the last 900 has to be a day ago.
        let spent = self.0.len().checked_sub(MAX_PER_DAY).and_then(|over| self.0.get(over));
        let renewed = spent.map_or(Timestamp::MIN, |second| at(*second) + DAY);
        rested.max(renewed)
    }
}

/// Where a connection asks whether it may introduce itself.
#[derive(Clone, Debug)]
pub struct IdentifyQueue {
    requests: mpsc::UnboundedSender<IdentifyRequest>,
    permitted: Arc<Notify>,
}

/// A connection waits for its turn.
#[derive(Debug)]
pub struct IdentifyRequest {
    permit: oneshot::Sender<()>,
    /// Whoever watches the connection is told.
    permitted: Arc<Notify>,
}

impl IdentifyQueue {
    pub fn new(asks: mpsc::UnboundedSender<IdentifyRequest>) -> Self {
        Self { requests: asks, permitted: Arc::default() }
    }

    /// Whoever goes on with a session needs no turn.
    pub fn skip(&self) {
        self.permitted.notify_one();
    }

    /// Returns when the connection may introduce itself.
    pub async fn wait_for_permit(&self) {
        self.permitted.notified().await;
    }
}

impl Queue for IdentifyQueue {
    fn enqueue(&self, _shard: u32) -> oneshot::Receiver<()> {
        let (granted, grant) = oneshot::channel();
        // Where nobody grants anything, it all ends.
        let _ = self
            .requests
            .send(IdentifyRequest { permit: granted, permitted: self.permitted.clone() });
        grant
    }
}

impl DiscordPlatform {
    /// Lets one shard after the other introduce itself, and counts them before they do. Ends only where
    /// they cannot be counted.
    pub(super) async fn permit(
        &self,
        mut asked: mpsc::UnboundedReceiver<IdentifyRequest>,
        shards: u32,
    ) -> Result<Infallible, StoreError> {
        loop {
            let Some(IdentifyRequest { permit: granted, permitted: passed }) = asked.recv().await
            else {
                return std::future::pending().await;
            };
            let next = self.next_identify_at(shards).await?;
            self.clock.sleep_until(next).await;
            // Its connection may be gone by now.
            if granted.is_closed() {
                continue;
            }
            let mut budget = self.load_identify_budget().await?;
            budget.record(self.now());
            let value = budget.to_text().into();
            let bookmark =
                Cursor { workspace: platform_workspace(), stream: BUDGET_KEY.into(), value };
            self.inbox.hear(Heard::Cursor(bookmark)).await?;
            let _ = granted.send(());
            passed.notify_one();
        }
    }

    /// When it may introduce itself next, spread a little.
    pub(super) async fn next_identify_at(&self, shards: u32) -> Result<Timestamp, StoreError> {
        let (budget, now) = (self.load_identify_budget().await?, self.now());
        let next = budget.next_at(now, shards).max(self.identify_not_before());
        let wait = next.duration_since(now);
        if wait > MAX_INTERVAL * 2 {
            error!(
                "it has introduced itself to Discord so often today that Discord might take the token \
                 away; the next time is in {wait:#}"
            );
        } else if wait > MIN_INTERVAL {
            info!("it introduces itself to Discord again in {wait:#}");
        }
        if next <= now {
            return Ok(now);
        }
        let draw = seeded_random(self.inbox.random_seed, &["identify", &next.to_string()]);
        Ok(next + duration_from_seconds(draw))
    }

    async fn load_identify_budget(&self) -> Result<IdentifyBudget, StoreError> {
        let known = self.archive.cursors(&platform_workspace()).await?;
        let known = known.iter().find(|bookmark| *bookmark.stream == *BUDGET_KEY);
        Ok(known.map_or_else(IdentifyBudget::default, |known| IdentifyBudget::parse(&known.value)))
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
        let (mut budget, mut now, mut count) = (IdentifyBudget::default(), 0, 0);
        while now < seconds {
            budget.record(at(now));
            count += 1;
            now = budget.next_at(at(now), shards).as_second();
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
            assert!(tried(86_400, shards) <= MAX_PER_DAY, "{shards}");
        }
    }

    #[test]
    fn a_usual_restart_does_not_wait() {
        let mut budget = IdentifyBudget::default();
        assert_eq!(budget.next_at(at(100), 1), at(100));
        budget.record(at(100));
        assert_eq!(budget.next_at(at(101), 1), at(105));
        assert!(budget.next_at(at(4000), 1) < at(4000));
    }

    #[test]
    fn a_spent_budget_is_renewed_after_a_day() {
        let mut budget = IdentifyBudget::default();
        (0..900).for_each(|number| budget.record(at(number * 10)));
        assert_eq!(budget.next_at(at(9000), 100), at(86_400));
        budget.record(at(86_400));
        assert_eq!(budget.next_at(at(86_401), 100), at(86_410));
        assert_eq!(IdentifyBudget::parse(&budget.to_text()), budget);
        assert_eq!(IdentifyBudget::parse("odd"), IdentifyBudget::default());
    }
}
