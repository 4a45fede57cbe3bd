//! Estimates what a learned gate would have saved on a recorded history. The first half is only for training, and the
//! second half counts. The gate keeps learning throughout, as it does in the running program.

use std::sync::Arc;

use jiff::Timestamp;
use serde::Serialize;

use crate::replay::history::ChannelSource;
use crate::replay::judge::recorded::RecordedAnswers;
use crate::replay::learning::{LearningPurpose, ReplayLearning, TimedMoment};
use crate::replay::rows::MessageRow;
use crate::replay::{Policy, Replay, ReplaySettings};
use aizuchi_core::clock::seeded_random;
use aizuchi_core::decision::learned::{
    JudgedMoment, JudgedMoments, LearnedCheck, LearnedGate, MAX_MOMENTS, MIN_VERDICTS, MIN_YES,
    learned_at,
};

/// The moments that were judged in a replay without a gate, in chronological order, and the start of its second half.
pub struct GateTrial {
    pub moments: Vec<TimedMoment>,
    pub half: Timestamp,
    /// Messages by users in the second half.
    pub messages: usize,
    /// Moments for which the judge's answer is unknown. They are not among `moments`.
    pub unknown: u64,
    pub seed: u64,
}

/// Which of the judge's verdicts the gate must not miss.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum GateTarget {
    /// Every yes verdict.
    Yes,
    /// Only a yes that led to a post or a reaction. The others were superseded or dropped before anything was posted.
    Seen,
}

/// Sums over the second half.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GateSavings {
    pub misses: GateTarget,
    pub messages: usize,
    /// The calls without a gate, how many of them ended in a yes, and how many led to a post or a reaction.
    pub calls: usize,
    pub yes: usize,
    pub seen: usize,
    pub saved: Result<SavedCalls, NothingLearned>,
    /// The share of the calls that a gate would save if it knew every verdict in advance. `None` if there were no
    /// calls.
    pub ceiling: Option<f64>,
}

/// The calls that a gate saved, and the yes verdicts, posts and reactions that it missed with them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SavedCalls {
    pub calls: usize,
    pub missed_yes: usize,
    pub missed_seen: usize,
}

/// Why no gate could ever skip anything, and how much there was to learn from in the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NothingLearned {
    /// Too few verdicts, or too few of them that must not be missed.
    TooFew { verdicts: usize, kept: usize },
    /// The last verdict completed the required number, so nothing was left to skip.
    TooLate { verdicts: usize, kept: usize },
    /// No threshold stays within the share that may be missed.
    NoThreshold { verdicts: usize, kept: usize },
}

impl GateTrial {
    /// Replays the channels without a gate, judged by `answers` or as the settings say. Messages do not count if the
    /// answers after them cannot be known.
    pub fn new(
        channels: &dyn ChannelSource,
        policy: &Policy,
        settings: ReplaySettings,
        answers: Option<Arc<RecordedAnswers>>,
        progress: &dyn Fn(u64),
    ) -> anyhow::Result<Self> {
        let learning = Arc::new(ReplayLearning::new(LearningPurpose::Measure));
        let replay = Replay::new(policy, settings)?.learning_with(learning.clone());
        let replay = match &answers {
            Some(answers) => replay.judged_by(answers.clone()),
            None => replay,
        };
        let mut times: Vec<Timestamp> = Vec::new();
        replay.run(channels, 0, None, &mut |_, channel, _| {
            let counts = |row: &MessageRow| {
                answers.as_ref().is_none_or(|answers| answers.may_know(&channel.name, row.id))
            };
            times.extend(channel.rows.human_messages().filter(counts).map(|row| row.at()));
            progress(channel.rows.len() as u64);
            Ok(())
        })?;
        times.sort_unstable();
        let half = times.get(times.len() / 2).copied().unwrap_or(Timestamp::UNIX_EPOCH);
        let mut moments = learning.take_judged();
        // All channels belong to one workspace, so their moments are merged by time.
        moments.sort_by_key(|moment| moment.at);
        let messages = times.len() - times.partition_point(|at| *at < half);
        let unknown = answers.map_or(0, |answers| answers.counts().unknown);
        Ok(Self { moments, half, messages, unknown, seed: settings.seed })
    }

    /// Simulates a gate that may miss the share `miss` of the verdicts that it must not miss.
    pub fn savings(&self, misses: GateTarget, miss: f64) -> GateSavings {
        let mut saved = SavedCalls::default();
        let mut was_in_force = false;
        let mut known: Vec<JudgedMoment> = Vec::new();
        let mut gate: Option<LearnedGate> = None;
        for (number, timed) in self.moments.iter().enumerate() {
            let judged = &timed.judged;
            let is_counted = timed.at >= self.half;
            let is_yes = match misses {
                GateTarget::Yes => judged.is_yes,
                GateTarget::Seen => timed.was_seen,
            };
            let chance = seeded_random(self.seed, &[&number.to_string(), "explore"]);
            let (moment, check) = match &gate {
                Some(gate) if gate.skipping.is_some() => {
                    was_in_force |= is_counted;
                    let features = judged.moment.features.clone();
                    gate.check(&judged.moment.judge, features, chance)
                }
                Some(_) | None => (judged.moment.clone(), LearnedCheck::Unchecked),
            };
            if let LearnedCheck::Skipped { .. } = check {
                saved.calls += usize::from(is_counted);
                saved.missed_yes += usize::from(is_counted && judged.is_yes);
                saved.missed_seen += usize::from(is_counted && timed.was_seen);
                continue;
            }
            known.push(JudgedMoment { decision: judged.decision, moment, is_yes });
            // A gate learned from the last moment would have nothing left to skip.
            let is_last = number + 1 == self.moments.len();
            if learned_at(known.len()) == known.len() && !is_last {
                let newest = known[known.len().saturating_sub(MAX_MOMENTS)..].to_vec();
                let total = known.len();
                gate = Some(LearnedGate::learn(&JudgedMoments { newest, total }, miss));
            }
        }
        let is_learned = was_in_force || gate.as_ref().is_some_and(|gate| gate.skipping.is_some());
        let saved = match is_learned {
            true => Ok(saved),
            false => Err(nothing_learned(gate.as_ref(), &known)),
        };
        self.sum_up(misses, saved)
    }

    fn sum_up(&self, misses: GateTarget, saved: Result<SavedCalls, NothingLearned>) -> GateSavings {
        let second = || self.moments.iter().filter(|moment| moment.at >= self.half);
        let (calls, yes) = (second().count(), second().filter(|it| it.judged.is_yes).count());
        let seen = second().filter(|moment| moment.was_seen).count();
        let kept = match misses {
            GateTarget::Yes => yes,
            GateTarget::Seen => seen,
        };
        let ceiling = (calls > 0).then(|| (calls - kept) as f64 / calls as f64);
        GateSavings { misses, messages: self.messages, calls, yes, seen, saved, ceiling }
    }
}

/// Returns why no gate skips anything after these moments.
fn nothing_learned(gate: Option<&LearnedGate>, known: &[JudgedMoment]) -> NothingLearned {
    match gate.map(|gate| &gate.training) {
        Some(training) if training.has_enough() => {
            NothingLearned::NoThreshold { verdicts: training.verdicts, kept: training.yes }
        }
        Some(training) => {
            NothingLearned::TooFew { verdicts: training.verdicts, kept: training.yes }
        }
        None => {
            let kept = known.iter().filter(|judged| judged.is_yes).count();
            let verdicts = known.len();
            match verdicts >= MIN_VERDICTS && kept >= MIN_YES {
                true => NothingLearned::TooLate { verdicts, kept },
                false => NothingLearned::TooFew { verdicts, kept },
            }
        }
    }
}
