//! What a learned gate would have saved on a recorded history. Its first half is there to learn from, its second half
//! counts, and the gate goes on learning as it does while the program runs.

use std::sync::Arc;

use jiff::Timestamp;
use serde::Serialize;

use crate::replay::history::{ChannelSource, RecordedMessage};
use crate::replay::learning::{LearningPurpose, ReplayLearning, TimedMoment};
use crate::replay::{Policy, Replay, ReplaySettings};
use aizuchi_core::clock::seeded_random;
use aizuchi_core::decision::learned::{
    JudgedMoment, JudgedMoments, LearnedCheck, LearnedGate, MAX_MOMENTS, learned_at,
};
use aizuchi_core::llm::Llm;

/// All moments that were judged in a replay without a gate, by time, and when its second half began.
pub struct GateTrial {
    pub moments: Vec<TimedMoment>,
    pub half: Timestamp,
    /// Messages by people in the second half.
    pub messages: usize,
    pub seed: u64,
}

/// Which of the judge's verdicts the gate must not miss.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Missable {
    /// Every yes.
    Yes,
    /// Only a yes of which something was seen. The others were superseded or dropped before anything was posted.
    Seen,
}

/// Sums over the second half.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct GateSavings {
    pub misses: Missable,
    pub messages: usize,
    /// Calls without a gate, and those of them that ended in a yes, and in something that was seen.
    pub calls: usize,
    pub yes: usize,
    pub seen: usize,
    /// Calls that the gate saved, and what of the two it missed with them.
    pub saved: usize,
    pub missed_yes: usize,
    pub missed_seen: usize,
    /// The share of the calls that a gate would save that knew every verdict before.
    pub ceiling: f64,
}

impl GateTrial {
    /// Replays the channels without a gate, judged by `mind` or as the settings say.
    pub fn new(
        channels: &dyn ChannelSource,
        policy: &Policy,
        settings: ReplaySettings,
        mind: Option<Arc<dyn Llm>>,
        progress: &dyn Fn(u64),
    ) -> anyhow::Result<Self> {
        let learning = Arc::new(ReplayLearning::new(LearningPurpose::Measure));
        let replay = Replay::new(policy, settings)?.learning_with(learning.clone());
        let replay = match mind {
            Some(mind) => replay.judged_by(mind),
            None => replay,
        };
        let mut times: Vec<Timestamp> = Vec::new();
        replay.run(channels, 0, None, &mut |_, channel, _| {
            let people = channel.messages.iter().filter(|message| !message.bot);
            times.extend(people.map(RecordedMessage::at));
            progress(channel.messages.len() as u64);
            Ok(())
        })?;
        times.sort_unstable();
        let half = times.get(times.len() / 2).copied().unwrap_or(Timestamp::UNIX_EPOCH);
        let mut moments = learning.take_judged();
        // The channels are one workspace, whose moments come as they are written.
        moments.sort_by_key(|moment| moment.at);
        let messages = times.len() - times.partition_point(|at| *at < half);
        Ok(Self { moments, half, messages, seed: settings.seed })
    }

    /// Goes through the moments with a gate that may miss this share of what it must not miss.
    pub fn savings(&self, misses: Missable, miss: f64) -> GateSavings {
        let mut savings = self.without_gate(misses);
        let mut known: Vec<JudgedMoment> = Vec::new();
        let mut gate: Option<LearnedGate> = None;
        for (number, timed) in self.moments.iter().enumerate() {
            let judged = &timed.judged;
            let is_yes = match misses {
                Missable::Yes => judged.is_yes,
                Missable::Seen => timed.was_seen,
            };
            let chance = seeded_random(self.seed, &[&number.to_string(), "explore"]);
            let (moment, check) = match &gate {
                Some(gate) if gate.skipping.is_some() => {
                    let features = judged.moment.features.clone();
                    gate.check(&judged.moment.judge, features, chance)
                }
                Some(_) | None => (judged.moment.clone(), LearnedCheck::Unchecked),
            };
            if let LearnedCheck::Skipped { .. } = check {
                let counts = usize::from(timed.at >= self.half);
                savings.saved += counts;
                savings.missed_yes += counts * usize::from(judged.is_yes);
                savings.missed_seen += counts * usize::from(timed.was_seen);
                continue;
            }
            known.push(JudgedMoment { decision: judged.decision, moment, is_yes });
            if learned_at(known.len()) == known.len() {
                let newest = known[known.len().saturating_sub(MAX_MOMENTS)..].to_vec();
                let total = known.len();
                gate = Some(LearnedGate::learn(&JudgedMoments { newest, total }, miss));
            }
        }
        savings
    }

    fn without_gate(&self, misses: Missable) -> GateSavings {
        let second = || self.moments.iter().filter(|moment| moment.at >= self.half);
        let (calls, yes) = (second().count(), second().filter(|it| it.judged.is_yes).count());
        let seen = second().filter(|moment| moment.was_seen).count();
        let kept = match misses {
            Missable::Yes => yes,
            Missable::Seen => seen,
        };
        GateSavings {
            misses,
            messages: self.messages,
            calls,
            yes,
            seen,
            saved: 0,
            missed_yes: 0,
            missed_seen: 0,
            ceiling: (calls - kept) as f64 / calls.max(1) as f64,
        }
    }
}
