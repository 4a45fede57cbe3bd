//! Searches for settings that suit a workspace better. It searches on the first part of a recorded history, checks the
//! result on the rest, and says nothing where the data is inconclusive.

pub mod figures;
pub mod tuned_setting;
pub mod search;
pub mod validation;

use std::collections::BTreeMap;
use std::sync::Arc;

use aizuchi_import::history::RecordedChannel;

use crate::replay::judge::recorded::RecordedAnswers;
use crate::replay::{Policy, Replay, ReplaySettings};
use crate::tune::figures::{TuneFigures, UtcDay, day_of};

/// The share of the days that the search uses.
const LEARNED_SHARE: f64 = 0.6;
/// The maximum number of messages that the search takes, the newest ones of its part.
const MAX_LEARNED_MESSAGES: u64 = 30_000;
/// The approximate number of newest messages that the coarse search takes, if there are far more.
const COARSE_MESSAGES: u64 = 6_000;

/// The days of a history, and where they are split.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DaySplit {
    /// The first day of the search.
    pub begin: UtcDay,
    /// The first day of the coarse search, which shows what is worth a full replay.
    pub coarse: UtcDay,
    /// The first day of the check.
    pub middle: UtcDay,
    /// The last day.
    pub end: UtcDay,
}

impl DaySplit {
    /// Splits a history by its days. `None` if it has no messages.
    pub fn new(channels: &[RecordedChannel]) -> Option<Self> {
        let mut messages: BTreeMap<UtcDay, u64> = BTreeMap::new();
        for row in channels.iter().flat_map(|channel| channel.rows.all()) {
            *messages.entry(day_of(row.at())).or_default() += 1;
        }
        let days: Vec<UtcDay> = messages.keys().copied().collect();
        let (first, last) = (days.first()?, days.last()?);
        let middle = days[((days.len() as f64 * LEARNED_SHARE) as usize).min(days.len() - 1)];
        // Finds the first of the newest days before the middle that together have at most this many messages; at least
        // one day.
        let newest = |most: u64| {
            let mut taken = 0;
            let days = messages.range(..middle).rev().enumerate();
            let days = days.take_while(|(place, (_, count))| {
                taken += **count;
                *place == 0 || taken <= most
            });
            days.last().map_or(*first, |(_, (day, _))| *day)
        };
        let begin = newest(MAX_LEARNED_MESSAGES);
        let learned: u64 = messages.range(begin..middle).map(|(_, count)| count).sum();
        let coarse = match learned > 2 * COARSE_MESSAGES {
            true => newest(COARSE_MESSAGES),
            false => begin,
        };
        Some(Self { begin, coarse, middle, end: *last })
    }
}

/// Replays the channels, and sums up each day. `answers` replace the judge that the settings name.
pub fn measure(
    channels: &[RecordedChannel],
    policy: &Policy,
    settings: &ReplaySettings,
    answers: Option<&Arc<RecordedAnswers>>,
) -> anyhow::Result<BTreeMap<UtcDay, TuneFigures>> {
    let mut days = BTreeMap::new();
    let mut replay = Replay::new(policy, *settings)?;
    if let Some(answers) = answers {
        replay = replay.judged_by(answers.clone());
    }
    replay.run(channels, None, &mut |channel, record| {
        figures::add(&mut days, channel, record);
        Ok(())
    })?;
    Ok(days)
}

/// Returns the channels between two days, both inclusive.
pub fn within(
    channels: &[RecordedChannel],
    begin: UtcDay,
    end: UtcDay,
) -> anyhow::Result<Vec<RecordedChannel>> {
    let is_within = |at| (begin..=end).contains(&day_of(at));
    let parts = channels.iter().map(|channel| channel.within(is_within));
    let mut parts: Vec<RecordedChannel> = parts.collect::<anyhow::Result<_>>()?;
    parts.retain(|channel| !channel.rows.is_empty());
    Ok(parts)
}
