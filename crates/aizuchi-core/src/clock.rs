//! Time and randomness, as arguments. A manual clock moves only when a replay or a test moves it.
//!
//! Random numbers are hashes, so that a replay draws the same ones again.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use futures_util::future::{Either, select};
use jiff::{SignedDuration, Timestamp};
use parking_lot::{Mutex, MutexGuard};
use sha2::{Digest, Sha256};
use tokio::sync::watch;

/// The wall clock may be set during a sleep, so no sleep is longer than this.
const LONGEST_SLEEP: std::time::Duration = std::time::Duration::from_secs(60);

/// Tells the time, to the millisecond, and waits for it.
#[derive(Clone, Debug)]
pub struct Clock(ClockKind);

#[derive(Clone, Debug)]
enum ClockKind {
    System,
    Manual(Arc<Mutex<ManualClock>>),
}

#[derive(Debug)]
struct ManualClock {
    now: Timestamp,
    sleepers: BTreeMap<(Timestamp, u64), Waker>,
    next_sleeper: u64,
    sleeper_count: watch::Sender<usize>,
}

/// The time was up before the work was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimedOut;

impl Clock {
    pub fn system() -> Self {
        Self(ClockKind::System)
    }

    pub fn manual(now: Timestamp) -> Self {
        let (sleepers, sleeper_count) = Default::default();
        let manual = ManualClock { now, sleepers, next_sleeper: 0, sleeper_count };
        Self(ClockKind::Manual(Arc::new(Mutex::new(manual))))
    }

    pub fn now(&self) -> Timestamp {
        match &self.0 {
            ClockKind::System => truncate_to_millisecond(Timestamp::now()),
            ClockKind::Manual(manual) => lock(manual).now,
        }
    }

    pub async fn sleep_until(&self, at: Timestamp) {
        match &self.0 {
            ClockKind::System => loop {
                let left = Timestamp::now().duration_until(at);
                let Ok(left) = std::time::Duration::try_from(left) else {
                    return;
                };
                if left.is_zero() {
                    return;
                }
                tokio::time::sleep(left.min(LONGEST_SLEEP)).await;
            },
            ClockKind::Manual(manual) => Sleep { manual: manual.clone(), at, number: None }.await,
        }
    }

    /// Waits for `work`, but no longer than `limit`, whatever happens to the wall clock meanwhile.
    pub async fn timeout<F: Future>(
        &self,
        limit: SignedDuration,
        work: F,
    ) -> Result<F::Output, TimedOut> {
        if let ClockKind::System = &self.0 {
            let limit = std::time::Duration::try_from(limit).unwrap_or_default();
            return tokio::time::timeout(limit, work).await.map_err(|_| TimedOut);
        }
        let deadline = self.now() + limit;
        let (work, sleep) = (std::pin::pin!(work), std::pin::pin!(self.sleep_until(deadline)));
        match select(work, sleep).await {
            Either::Left((done, _)) => Ok(done),
            Either::Right(_) => Err(TimedOut),
        }
    }

    /// Advances a manual clock and wakes the sleepers that are due. Does nothing to the system clock.
    pub fn advance_to(&self, at: Timestamp) {
        let ClockKind::Manual(manual) = &self.0 else {
            return;
        };
        let mut due = Vec::new();
        {
            let mut manual = lock(manual);
            manual.now = manual.now.max(at);
            while let Some(entry) = manual.sleepers.first_entry() {
                if entry.key().0 > at {
                    break;
                }
                due.push(entry.remove());
            }
            manual.count_sleepers();
        }
        due.into_iter().for_each(Waker::wake);
    }

    /// How many sleep until a manual clock is advanced.
    pub fn sleepers(&self) -> watch::Receiver<usize> {
        match &self.0 {
            ClockKind::System => watch::channel(0).1,
            ClockKind::Manual(manual) => lock(manual).sleeper_count.subscribe(),
        }
    }

    /// When a manual clock's first sleeper is due.
    pub fn next_wake_at(&self) -> Option<Timestamp> {
        match &self.0 {
            ClockKind::System => None,
            ClockKind::Manual(manual) => lock(manual).sleepers.keys().next().map(|(at, _)| *at),
        }
    }
}

impl ManualClock {
    fn count_sleepers(&self) {
        self.sleeper_count.send_replace(self.sleepers.len());
    }
}

/// A number in `[0, 1)`, the same for the same `seed` and `keys`.
pub fn seeded_random(seed: u64, keys: &[&str]) -> f64 {
    let mut hash = Sha256::new();
    hash.update(seed.to_le_bytes());
    for key in keys {
        hash.update(key);
        hash.update([0]);
    }
    let digest: [u8; 32] = hash.finalize().into();
    let mut first = [0; 8];
    first.copy_from_slice(&digest[..8]);
    // A double holds exactly 53 bits.
    (u64::from_le_bytes(first) >> 11) as f64 / (1_u64 << 53) as f64
}

/// Seconds from a setting, as a duration to the millisecond.
pub fn duration_from_seconds(seconds: f64) -> SignedDuration {
    SignedDuration::from_millis((seconds * 1000.0).round() as i64)
}

/// The precision with which platforms and the store keep times.
pub fn truncate_to_millisecond(at: Timestamp) -> Timestamp {
    Timestamp::from_millisecond(at.as_millisecond())
        .expect("a timestamp's milliseconds are in range")
}

struct Sleep {
    manual: Arc<Mutex<ManualClock>>,
    at: Timestamp,
    number: Option<u64>,
}

impl Future for Sleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let at = self.at;
        let number = {
            let mut manual = lock(&self.manual);
            if manual.now >= at {
                return Poll::Ready(());
            }
            let number = self.number.unwrap_or(manual.next_sleeper);
            manual.next_sleeper = manual.next_sleeper.max(number + 1);
            manual.sleepers.insert((at, number), context.waker().clone());
            manual.count_sleepers();
            number
        };
        self.number = Some(number);
        Poll::Pending
    }
}

impl Drop for Sleep {
    fn drop(&mut self) {
        if let Some(number) = self.number {
            let mut manual = lock(&self.manual);
            manual.sleepers.remove(&(self.at, number));
            manual.count_sleepers();
        }
    }
}

fn lock(manual: &Mutex<ManualClock>) -> MutexGuard<'_, ManualClock> {
    manual.lock()
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;
    use futures_util::task::LocalSpawnExt;

    use super::*;

    #[test]
    fn seeded_random_is_repeatable_and_spread() {
        assert_eq!(seeded_random(1, &["a", "b"]), seeded_random(1, &["a", "b"]));
        assert_ne!(seeded_random(1, &["a", "b"]), seeded_random(2, &["a", "b"]));
        assert_ne!(seeded_random(1, &["ab", ""]), seeded_random(1, &["a", "b"]));
        let draws: Vec<f64> = (0..1000).map(|n| seeded_random(7, &[&n.to_string()])).collect();
        let mean = draws.iter().sum::<f64>() / 1000.0;
        assert!((0.47..0.53).contains(&mean), "mean {mean}");
        assert!(draws.iter().all(|draw| (0.0..1.0).contains(draw)));
    }

    #[test]
    fn a_manual_clock_wakes_sleepers_in_order_and_forgets_dropped_ones() {
        let start = Timestamp::from_second(1000).expect("in range");
        let clock = Clock::manual(start);
        let woken = Arc::new(Mutex::new(Vec::new()));
        let mut pool = futures_executor::LocalPool::new();
        for after in [30, 10, 20] {
            let (clock, woken) = (clock.clone(), woken.clone());
            let task = async move {
                clock.sleep_until(start + SignedDuration::from_secs(after)).await;
                woken.lock().push(after);
            };
            pool.spawner().spawn_local(task).unwrap();
        }
        let dropped = clock.timeout(SignedDuration::from_secs(5), std::future::pending::<()>());
        assert!(dropped.now_or_never().is_none());
        pool.run_until_stalled();
        assert_eq!(clock.next_wake_at(), Some(start + SignedDuration::from_secs(10)));
        clock.advance_to(start + SignedDuration::from_secs(20));
        pool.run_until_stalled();
        assert_eq!(*woken.lock(), [10, 20]);
    }
}
