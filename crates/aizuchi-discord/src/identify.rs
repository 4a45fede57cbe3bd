//! The limit on how often the bot may identify to the gateway. Discord ends all sessions and resets the token of a bot
//! that identifies more than a thousand times a day, so the count is stored to survive crashes and restarts.

use std::convert::Infallible;
use std::sync::Arc;

use aizuchi_model::chat::Cursor;
use aizuchi_model::clock::{duration_from_seconds, seeded_random};
use aizuchi_store::StoreError;
use jiff::{SignedDuration, Timestamp};
use tokio::sync::{Notify, mpsc, oneshot};
use tracing::{error, info};

use crate::DiscordPlatform;
use crate::identity::platform_workspace;

/// A hundred below Discord's limit.
const MAX_PER_DAY: usize = 900;
const DAY: SignedDuration = SignedDuration::from_hours(24);
/// Discord's minimum interval between two Identifies.
const MIN_INTERVAL: SignedDuration = SignedDuration::from_secs(5);
/// At this interval, a day has 720 Identifies.
const MAX_INTERVAL: SignedDuration = SignedDuration::from_secs(120);
/// Up to this many Identifies within an hour do not delay the next one.
const BACKOFF_THRESHOLD: u32 = 5;
/// The key of the stored count.
const BUDGET_KEY: &str = "identifies";

/// The times of the Identifies within the last day, oldest first, in Unix seconds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IdentifyBudget(Vec<i64>);

impl IdentifyBudget {
    pub fn parse(text: &str) -> Self {
        Self(text.split(' ').filter_map(|second| second.parse().ok()).collect())
    }

    pub fn to_text(&self) -> String {
        self.0.iter().map(i64::to_string).collect::<Vec<_>>().join(" ")
    }

    /// Moves times after now to now. The clock has been set back since, and waiting until it reaches them again might
    /// take years.
    pub fn clamped_to(self, now: Timestamp) -> Self {
        Self(self.0.into_iter().map(|second| second.min(now.as_second())).collect())
    }

    pub fn record(&mut self, now: Timestamp) {
        let day_ago = now.as_second() - DAY.as_secs();
        self.0.retain(|second| *second > day_ago);
        self.0.push(now.as_second());
    }

    /// Returns when the bot may identify next, if this many shards share the budget.
    pub fn next_at(&self, now: Timestamp, shards: u32) -> Timestamp {
        let Some(last) = self.0.last() else { return now };
        let at = |second: i64| Timestamp::from_second(second).unwrap_or(now);
        let recent = self.0.iter().filter(|second| **second > now.as_second() - 3600).count();
        // At each start every shard identifies once, which is no reason to slow down.
        let recent = u32::try_from(recent).unwrap_or(u32::MAX) / shards.max(1);
        let doublings = recent.saturating_sub(BACKOFF_THRESHOLD).min(5);
        let pause = (MIN_INTERVAL * (1 << doublings)).min(MAX_INTERVAL);
        let after_pause = at(*last) + pause;
        // The oldest of the last 900 Identifies has to be a day old.
        let spent = self.0.len().checked_sub(MAX_PER_DAY).and_then(|over| self.0.get(over));
        let after_renewal = spent.map_or(Timestamp::MIN, |second| at(*second) + DAY);
        after_pause.max(after_renewal)
    }
}

/// The queue in which a connection waits until it may identify.
#[derive(Clone, Debug)]
pub struct IdentifyQueue {
    requests: mpsc::UnboundedSender<IdentifyRequest>,
    permitted: Arc<Notify>,
}

/// A connection's place in the queue.
#[derive(Debug)]
pub struct IdentifyRequest {
    permit: oneshot::Sender<()>,
    /// Notified with the permit, which starts the connection's timeout.
    permitted: Arc<Notify>,
}

impl IdentifyQueue {
    pub fn new(requests: mpsc::UnboundedSender<IdentifyRequest>) -> Self {
        Self { requests, permitted: Arc::default() }
    }

    /// Starts the timeout without a permit: resuming a session needs none.
    pub fn skip(&self) {
        self.permitted.notify_one();
    }

    /// Returns once the connection may identify.
    pub async fn wait_for_permit(&self) {
        self.permitted.notified().await;
    }

    /// Requests a permit.
    pub fn enqueue(&self) -> oneshot::Receiver<()> {
        let (permit_sender, permit) = oneshot::channel();
        // Fails only if the permit loop has ended, which ends the whole adapter.
        let _ = self
            .requests
            .send(IdentifyRequest { permit: permit_sender, permitted: self.permitted.clone() });
        permit
    }
}

impl DiscordPlatform {
    /// Permits one Identify at a time, and stores the count before each. Returns only if the count cannot be stored.
    pub(super) async fn permit(
        &self,
        mut requests: mpsc::UnboundedReceiver<IdentifyRequest>,
        shards: u32,
    ) -> Result<Infallible, StoreError> {
        loop {
            let Some(IdentifyRequest { permit: permit_sender, permitted }) = requests.recv().await
            else {
                return std::future::pending().await;
            };
            let next = self.next_identify_at(shards).await?;
            self.clock.sleep_until(next).await;
            // The connection may have been lost while it waited.
            if permit_sender.is_closed() {
                continue;
            }
            let mut budget = self.load_identify_budget().await?;
            budget.record(self.now());
            let value = budget.to_text().into();
            let cursor =
                Cursor { workspace: platform_workspace(), stream: BUDGET_KEY.into(), value };
            self.cursors.put_cursor(cursor).await?;
            let _ = permit_sender.send(());
            permitted.notify_one();
        }
    }

    /// Returns when the bot may identify next, with some jitter.
    pub(super) async fn next_identify_at(&self, shards: u32) -> Result<Timestamp, StoreError> {
        let (budget, now) = (self.load_identify_budget().await?, self.now());
        let next = budget.next_at(now, shards).max(self.identify_not_before());
        let wait = next.duration_since(now);
        if wait > MAX_INTERVAL * 2 {
            error!(
                platform = "discord",
                ?wait,
                "the bot has identified so often today that Discord might reset the token; waiting"
            );
        } else if wait > MIN_INTERVAL {
            info!(platform = "discord", ?wait, "waiting before the bot identifies again");
        }
        if next <= now {
            return Ok(now);
        }
        let jitter = seeded_random(self.inbox.random_seed, &["identify", &next.to_string()]);
        Ok(next + duration_from_seconds(jitter))
    }

    async fn load_identify_budget(&self) -> Result<IdentifyBudget, StoreError> {
        let cursors = self.cursors.cursors(&platform_workspace()).await?;
        let stored = cursors.iter().find(|cursor| *cursor.stream == *BUDGET_KEY);
        let budget = stored
            .map_or_else(IdentifyBudget::default, |cursor| IdentifyBudget::parse(&cursor.value));
        Ok(budget.clamped_to(self.now()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    /// Returns how often the bot identifies within this time if every attempt fails immediately.
    fn attempts_within(seconds: i64, shards: u32) -> usize {
        let (mut budget, mut now, mut count) = (IdentifyBudget::default(), 0, 0);
        while now < seconds {
            budget.record(at(now));
            count += 1;
            now = budget.next_at(at(now), shards).as_second();
        }
        count
    }

    #[test]
    fn a_crash_loop_stays_below_discords_limit() {
        assert_eq!(attempts_within(20, 1), 4);
        assert!(attempts_within(3600, 1) < 40, "{}", attempts_within(3600, 1));
        assert!(attempts_within(86_400, 1) < 800, "{}", attempts_within(86_400, 1));
        // The limit applies to any number of shards.
        for shards in [16, 1000] {
            assert!(attempts_within(86_400, shards) <= MAX_PER_DAY, "{shards}");
        }
    }

    #[test]
    fn a_single_restart_does_not_wait() {
        let mut budget = IdentifyBudget::default();
        assert_eq!(budget.next_at(at(100), 1), at(100));
        budget.record(at(100));
        assert_eq!(budget.next_at(at(101), 1), at(105));
        assert!(budget.next_at(at(4000), 1) < at(4000));
    }

    #[test]
    fn a_clock_that_is_set_back_delays_little() {
        let mut budget = IdentifyBudget::default();
        for second in [100, 1_000_000, 1_000_010] {
            budget.record(at(second));
        }
        let mut budget = budget.clamped_to(at(200));
        assert_eq!(budget.next_at(at(200), 1), at(205));
        budget.record(at(205));
        // They expire like any others.
        budget.record(at(100_000));
        assert_eq!(budget.to_text(), "100000");
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
