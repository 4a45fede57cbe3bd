//! Time and randomness, as arguments. A manual clock only moves when a replay or a test moves it.
//!
//! Random numbers are hashes, so that a replay draws the same ones again.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Instant;

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
    System(Instant),
    Manual(Arc<Mutex<ManualClock>>),
}

#[derive(Debug)]
struct ManualClock {
    now: Timestamp,
    /// How far the clock was set. Timeouts use the time without this.
    set_by: SignedDuration,
    /// Sleepers that wait for a time of day.
    sleepers: BTreeMap<(Timestamp, u64), Waker>,
    /// Sleepers that wait for a duration to elapse.
    timeouts: BTreeMap<(Timestamp, u64), Waker>,
    next_sleeper: u64,
    sleeper_count: watch::Sender<usize>,
}

/// What a sleeper waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WakeTime {
    OnTheClock(Timestamp),
    /// Independent of changes of the wall clock.
    Elapsed(Timestamp),
}

/// The time limit was reached before the work was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimedOut;

impl Clock {
    pub fn system() -> Self {
        Self(ClockKind::System(Instant::now()))
    }

    pub fn manual(now: Timestamp) -> Self {
        let (sleepers, timeouts) = Default::default();
        let manual = ManualClock {
            now,
            set_by: SignedDuration::ZERO,
            sleepers,
            timeouts,
            next_sleeper: 0,
            sleeper_count: watch::Sender::default(),
        };
        Self(ClockKind::Manual(Arc::new(Mutex::new(manual))))
    }

    pub fn now(&self) -> Timestamp {
        match &self.0 {
            ClockKind::System(_) => truncate_to_millisecond(Timestamp::now()),
            ClockKind::Manual(manual) => lock(manual).now,
        }
    }

    /// Returns the time that has elapsed since some moment in the past. It cannot be set.
    pub fn elapsed(&self) -> SignedDuration {
        match &self.0 {
            ClockKind::System(began) => {
                SignedDuration::try_from(began.elapsed()).unwrap_or(SignedDuration::MAX)
            }
            ClockKind::Manual(manual) => lock(manual).elapsed().as_duration(),
        }
    }

    pub async fn sleep_until(&self, at: Timestamp) {
        match &self.0 {
            ClockKind::System(_) => loop {
                let left = Timestamp::now().duration_until(at);
                let Ok(left) = std::time::Duration::try_from(left) else {
                    return;
                };
                if left.is_zero() {
                    return;
                }
                tokio::time::sleep(left.min(LONGEST_SLEEP)).await;
            },
            ClockKind::Manual(manual) => Sleep::new(manual, WakeTime::OnTheClock(at)).await,
        }
    }

    /// Waits for `work` for at most `limit`, independently of changes of the wall clock.
    pub async fn timeout<F: Future>(
        &self,
        limit: SignedDuration,
        work: F,
    ) -> Result<F::Output, TimedOut> {
        let manual = match &self.0 {
            ClockKind::System(_) => {
                let limit = std::time::Duration::try_from(limit).unwrap_or_default();
                return tokio::time::timeout(limit, work).await.map_err(|_| TimedOut);
            }
            ClockKind::Manual(manual) => manual,
        };
        let deadline = WakeTime::Elapsed(lock(manual).elapsed() + limit);
        let (work, sleep) = (std::pin::pin!(work), std::pin::pin!(Sleep::new(manual, deadline)));
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
        let due = {
            let mut manual = lock(manual);
            manual.now = manual.now.max(at);
            manual.take_due()
        };
        // Outside of the lock, which the sleepers take.
        due.into_iter().for_each(Waker::wake);
    }

    /// Sets a manual clock forward or back, as an operator or a time server does. Timeouts are not affected. Does
    /// nothing to the system clock.
    pub fn set_by(&self, by: SignedDuration) {
        let ClockKind::Manual(manual) = &self.0 else {
            return;
        };
        let due = {
            let mut manual = lock(manual);
            manual.now += by;
            manual.set_by += by;
            manual.take_due()
        };
        due.into_iter().for_each(Waker::wake);
    }

    /// Returns a watch on the number of sleepers that wait until a manual clock is advanced.
    pub fn sleepers(&self) -> watch::Receiver<usize> {
        match &self.0 {
            ClockKind::System(_) => watch::channel(0).1,
            ClockKind::Manual(manual) => lock(manual).sleeper_count.subscribe(),
        }
    }

    /// Returns when a manual clock's first sleeper is due.
    pub fn next_wake_at(&self) -> Option<Timestamp> {
        match &self.0 {
            ClockKind::System(_) => None,
            ClockKind::Manual(manual) => lock(manual).next_wake_at(),
        }
    }
}

impl ManualClock {
    /// Returns the time that it would show if it had never been set.
    fn elapsed(&self) -> Timestamp {
        self.now - self.set_by
    }

    fn next_wake_at(&self) -> Option<Timestamp> {
        self.next_waiting().map(|(at, ..)| at)
    }

    /// Returns when the first of all sleepers is due, its number, and whether it waits for a timeout.
    fn next_waiting(&self) -> Option<(Timestamp, u64, bool)> {
        let sleeper = self.sleepers.keys().next().map(|(at, number)| (*at, *number, false));
        let timeout = self.timeouts.keys().next();
        let timeout = timeout.map(|(at, number)| (*at + self.set_by, *number, true));
        sleeper.into_iter().chain(timeout).min()
    }

    fn count_sleepers(&self) {
        self.sleeper_count.send_replace(self.sleepers.len() + self.timeouts.len());
    }

    /// Takes the sleepers that are due, in the order in which they became due.
    fn take_due(&mut self) -> Vec<Waker> {
        let mut due = Vec::new();
        while let Some((_, _, is_timeout)) = self.next_waiting().filter(|(at, ..)| *at <= self.now)
        {
            let waiting = if is_timeout { &mut self.timeouts } else { &mut self.sleepers };
            due.extend(waiting.pop_first().map(|(_, waker)| waker));
        }
        self.count_sleepers();
        due
    }

    fn is_due(&self, wake_time: WakeTime) -> bool {
        match wake_time {
            WakeTime::OnTheClock(at) => self.now >= at,
            WakeTime::Elapsed(at) => self.elapsed() >= at,
        }
    }

    /// Returns the sleepers that wait for the same kind of time, and when this one is due.
    fn waiting(
        &mut self,
        wake_time: WakeTime,
    ) -> (&mut BTreeMap<(Timestamp, u64), Waker>, Timestamp) {
        match wake_time {
            WakeTime::OnTheClock(at) => (&mut self.sleepers, at),
            WakeTime::Elapsed(at) => (&mut self.timeouts, at),
        }
    }
}

/// Returns a number in `[0, 1)`, the same for the same `seed` and `keys`.
pub fn seeded_random(seed: u64, keys: &[&str]) -> f64 {
    let mut hash = Sha256::new();
    hash.update(seed.to_le_bytes());
    for key in keys {
        hash.update(key);
        // Separates the keys, so that keys that are divided differently draw another number.
        hash.update([0]);
    }
    let digest: [u8; 32] = hash.finalize().into();
    let mut first = [0; 8];
    first.copy_from_slice(&digest[..8]);
    // An f64 represents every 53-bit integer exactly.
    (u64::from_le_bytes(first) >> 11) as f64 / (1_u64 << 53) as f64
}

/// Converts seconds from a setting to a duration, rounded to the millisecond.
pub fn duration_from_seconds(seconds: f64) -> SignedDuration {
    SignedDuration::from_millis((seconds * 1000.0).round() as i64)
}

/// Truncates a time to the precision with which platforms and the store keep times.
pub fn truncate_to_millisecond(at: Timestamp) -> Timestamp {
    Timestamp::from_millisecond(at.as_millisecond())
        .expect("a timestamp's milliseconds are in range")
}

struct Sleep {
    manual: Arc<Mutex<ManualClock>>,
    wake_time: WakeTime,
    number: Option<u64>,
}

impl Sleep {
    fn new(manual: &Arc<Mutex<ManualClock>>, wake_time: WakeTime) -> Self {
        Self { manual: manual.clone(), wake_time, number: None }
    }
}

impl Future for Sleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let number = {
            let mut manual = lock(&self.manual);
            if manual.is_due(self.wake_time) {
                return Poll::Ready(());
            }
            // A sleeper keeps its number, and so its place among equals, however often it is polled.
            let number = self.number.unwrap_or(manual.next_sleeper);
            manual.next_sleeper = manual.next_sleeper.max(number + 1);
            let (waiting, at) = manual.waiting(self.wake_time);
            waiting.insert((at, number), context.waker().clone());
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
            let (waiting, at) = manual.waiting(self.wake_time);
            waiting.remove(&(at, number));
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

    #[test]
    fn a_clock_that_is_set_keeps_its_timeouts() {
        let start = Timestamp::from_second(100_000).expect("in range");
        let seconds = SignedDuration::from_secs;
        let clock = Clock::manual(start);
        let mut timeout = std::pin::pin!(clock.timeout(seconds(10), std::future::pending::<()>()));
        let mut sleep = std::pin::pin!(clock.sleep_until(start + seconds(5)));
        assert!((&mut timeout).now_or_never().is_none());
        assert!((&mut sleep).now_or_never().is_none());
        clock.set_by(seconds(-3600));
        assert_eq!(clock.now(), start - seconds(3600));
        assert_eq!(clock.next_wake_at(), Some(start - seconds(3590)));
        clock.advance_to(start - seconds(3590));
        assert_eq!((&mut timeout).now_or_never(), Some(Err(TimedOut)));
        assert!((&mut sleep).now_or_never().is_none());
        clock.set_by(seconds(24 * 3600));
        assert_eq!((&mut sleep).now_or_never(), Some(()));
        assert_eq!(clock.next_wake_at(), None);
    }
}
