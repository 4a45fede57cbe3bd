//! Deterministic simulation: the real inbox, runner and agent live virtual days among users, models, platforms and
//! stores that do everything they may do, and some things that they should not. Everything is drawn from one seed,
//! so a day that violates an invariant can be repeated.
//!
//! `AIZUCHI_SIMULATION_DAYS` sets the number of days, `AIZUCHI_SIMULATION_FIRST` the first of them, and
//! `AIZUCHI_SIMULATION_SEED` runs a single day and prints its transcript.

mod day;
mod life;
mod mind;
mod plan;
mod platform;
mod promises;
mod store;
mod texts;
mod world;

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use aizuchi_harness::effort::cases;

use crate::simulation::day::{DayReport, live};
use crate::simulation::world::Broken;

/// Whether the day is run twice to check determinism: some days on each store.
fn is_lived_twice(seed: u64) -> bool {
    seed.is_multiple_of(20) || seed % 100 == 19
}

/// The totals of all days.
#[derive(Default)]
struct Summary {
    days: u64,
    messages: usize,
    calls: usize,
    posts: usize,
    unsolicited: usize,
    collisions: usize,
    crashes: usize,
    slowest: (Duration, u64),
    broken: Vec<String>,
}

impl Summary {
    fn add(&mut self, seed: u64, report: &DayReport, took: Duration) {
        self.days += 1;
        self.messages += report.messages;
        self.calls += report.calls;
        self.posts += report.posts;
        self.unsolicited += report.unsolicited;
        self.collisions += report.collisions;
        self.crashes += report.crashes;
        self.slowest = self.slowest.max((took, seed));
        if let Some(broken) = &report.broken {
            self.broken.push(failure(seed, broken.promise, &broken.how));
        }
    }
}

fn number_from(variable: &str) -> Option<u64> {
    std::env::var(variable).ok()?.parse().ok()
}

/// One line with the command that repeats the day, and the violation.
fn failure(seed: u64, promise: &str, how: &str) -> String {
    format!(
        "AIZUCHI_SIMULATION_SEED={seed} cargo test -p aizuchi-agent --test it simulation -- --nocapture # {promise}: {how}"
    )
}

#[test]
fn the_promises_hold_on_simulated_days() {
    if let Some(seed) = number_from("AIZUCHI_SIMULATION_SEED") {
        let report = live(seed, true);
        assert_eq!(report.broken, None);
        assert_eq!(live(seed, false).transcript, report.transcript, "the day is another one");
        return;
    }
    let first = number_from("AIZUCHI_SIMULATION_FIRST").unwrap_or(0);
    let days = number_from("AIZUCHI_SIMULATION_DAYS").unwrap_or(cases(60, 300));
    let next = AtomicU64::new(first);
    let summary = Mutex::new(Summary::default());
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= first + days {
                        return;
                    }
                    live_and_compare(seed, &summary);
                }
            });
        }
    });
    let summary = summary.into_inner().unwrap();
    println!(
        "{} days: {} messages, {} model calls, {} posts, {} crashes; {} of {} unsolicited posts met a message that nobody had told yet; the slowest day is {} with {:?}",
        summary.days,
        summary.messages,
        summary.calls,
        summary.posts,
        summary.crashes,
        summary.collisions,
        summary.unsolicited,
        summary.slowest.1,
        summary.slowest.0,
    );
    assert!(summary.broken.is_empty(), "\n{}\n", summary.broken.join("\n"));
}

fn live_and_compare(seed: u64, summary: &Mutex<Summary>) {
    let began = Instant::now();
    let mut report = live_or_panic(seed);
    let took = began.elapsed();
    if report.broken.is_none() && is_lived_twice(seed) {
        let again = live_or_panic(seed);
        let differs = report.transcript.iter().zip(&again.transcript).find(|(one, two)| one != two);
        if report.transcript != again.transcript {
            let how = format!("{differs:?}");
            report.broken = Some(Broken { promise: "the same seed gives the same day", how });
        }
    }
    summary.lock().unwrap().add(seed, &report, took);
}

/// Lives a day. A panic counts as a violation.
fn live_or_panic(seed: u64) -> DayReport {
    std::panic::catch_unwind(|| live(seed, false)).unwrap_or_else(|_| DayReport {
        broken: Some(Broken { promise: "nothing panics", how: "see above".to_owned() }),
        ..DayReport::default()
    })
}
