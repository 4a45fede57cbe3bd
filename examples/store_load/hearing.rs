//! Hears messages at a steady rate and measures how long each takes.

use std::sync::Arc;
use std::time::{Duration, Instant};

use aizuchi_store::Store as _;
use aizuchi_store::database::DatabaseStore;
use anyhow::Context as _;
use tokio::time::{MissedTickBehavior, interval};

use crate::Options;
use crate::world::{entry, text};

/// How long the messages took, and the memory in use.
pub struct Heards {
    pub latencies: Latencies,
    pub peak_kb: u64,
    pub end_kb: u64,
}

#[derive(Default)]
pub struct Latencies(pub Vec<Duration>);

impl std::fmt::Display for Latencies {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut sorted = self.0.clone();
        sorted.sort();
        let at = |share: f64| {
            let index = (sorted.len() as f64 * share) as usize;
            sorted.get(index.min(sorted.len().saturating_sub(1))).copied().unwrap_or_default()
        };
        let mean = sorted.iter().sum::<Duration>() / (sorted.len().max(1) as u32);
        let [half, most, all] = [0.5, 0.99, 1.0].map(at);
        let count = sorted.len();
        write!(f, "{count}: mean {mean:.1?}, p50 {half:.1?}, p99 {most:.1?}, slowest {all:.1?}")
    }
}

/// Hears messages of others at a steady rate until this is done.
pub async fn hear_until(
    store: &Arc<DatabaseStore>,
    options: &Options,
    prefix: &str,
    until: impl Future<Output = anyhow::Result<()>>,
) -> anyhow::Result<Heards> {
    let mut ticks = interval(Duration::from_secs(1) / options.rate);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Burst);
    let mut hearing = tokio::task::JoinSet::new();
    let (mut number, mut peak_kb) = (0, 0);
    let mut latencies = Vec::new();
    tokio::pin!(until);
    loop {
        tokio::select! {
            done = &mut until => {
                done?;
                break;
            }
            _ = ticks.tick() => {
                number += 1;
                let entry = entry(format!("{prefix}{number}"), number, "u1", text(number, 80));
                let store = store.clone();
                hearing.spawn(async move {
                    let began = Instant::now();
                    store.hear(entry).await.map(|_| began.elapsed())
                });
                // Tasks that have ended would count as memory in use.
                while let Some(heard) = hearing.try_join_next() {
                    latencies.push(heard??);
                }
                peak_kb = peak_kb.max(resident_kb()?);
            }
        }
    }
    while let Some(heard) = hearing.join_next().await {
        latencies.push(heard??);
    }
    Ok(Heards { latencies: Latencies(latencies), peak_kb, end_kb: resident_kb()? })
}

fn resident_kb() -> anyhow::Result<u64> {
    let status =
        std::fs::read_to_string("/proc/self/status").context("reading the memory in use")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kb = line.and_then(|line| line.split_whitespace().next()).context("finding VmRSS")?;
    kb.parse().context("reading VmRSS")
}
