//! A locally learned gate: a workspace learns from its own ledger which moments its judge always declines, and no
//! longer calls the judge for those.
//!
//! A few of the moments that the gate would skip are judged anyway, so that it stays known what it misses. They are
//! weighted to represent the skipped moments in the next training. The gate may miss at most a share of the judge's yes
//! verdicts that the operator sets, measured by an upper bound. So it is off until it has seen enough, and turns off
//! again when it misses too much.

pub mod calibration;
pub mod features;
pub mod threshold;
pub mod trees;

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use parking_lot::RwLock;
use serde::{Deserialize, Serialize};

use crate::chat::WorkspaceId;
use crate::decision::learned::calibration::{Calibration, Scored};
use crate::decision::learned::threshold::{MIN_EXPLORATION, SkipThreshold};
use crate::decision::learned::trees::{TrainingRow, Trees};
use crate::decision::tolerance::WelcomeLabels;
use crate::decision::{DecisionId, Judgment};

/// The maximum number of newest judged moments to learn from: a channel changes.
pub const MAX_MOMENTS: usize = 6000;
/// The minimum number of verdicts, and of yes verdicts, to learn from.
pub const MIN_VERDICTS: usize = 200;
pub const MIN_YES: usize = 20;
/// The gate is trained again when the number of verdicts has grown by this share.
const GROWTH: f64 = 0.04;
/// The number of folds of the cross-validation: each moment is scored by a model that has not seen its fold.
const PARTS: usize = 5;

/// The numeric features of a decision just before it was judged, and the probability with which the judge was asked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MomentFeatures {
    /// The version of the features.
    pub version: u32,
    /// The model that judged, or was to judge. A fallback may have taken its place.
    pub judge: Arc<str>,
    pub features: Vec<f32>,
    /// 1 unless the gate would have skipped the moment.
    pub propensity: f64,
    /// The share of yes verdicts in moments like this one, if a model could estimate it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<f64>,
}

/// A moment that was judged.
#[derive(Clone, Debug, PartialEq)]
pub struct JudgedMoment {
    pub decision: DecisionId,
    pub moment: MomentFeatures,
    pub is_yes: bool,
}

/// The newest judged moments of a workspace, oldest first, and their total number.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct JudgedMoments {
    pub newest: Vec<JudgedMoment>,
    pub total: usize,
}

impl Judgment {
    /// Whether the judge wanted a visible response, a post or a reaction, at any confidence.
    pub fn is_yes(&self) -> bool {
        self.should_respond || self.reaction.is_some()
    }
}

/// A trained gate, and what it was trained on.
#[derive(Clone, Debug, PartialEq)]
pub struct LearnedGate {
    pub training: Training,
    /// `None` if the gate must not skip anything.
    pub skipping: Option<SkipModel>,
}

/// What a gate was trained on.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Training {
    /// The number of verdicts in the ledger at the time of training.
    pub total: usize,
    /// The version of the features.
    pub version: u32,
    /// The model that gave the verdicts. Another model may decide otherwise.
    pub judge: Arc<str>,
    pub verdicts: usize,
    pub yes: usize,
    /// How many of them were judged although a gate would have skipped them.
    pub explored: usize,
    /// The newest decision among them.
    pub cutoff: Option<DecisionId>,
    /// The share of the yes verdicts that may be missed.
    pub miss: f64,
}

/// Decides which moments are skipped.
#[derive(Clone, Debug, PartialEq)]
pub struct SkipModel {
    trees: Trees,
    calibration: Calibration,
    pub threshold: SkipThreshold,
}

impl LearnedGate {
    /// Trains a gate on a workspace's judged moments. The same moments give the same gate.
    pub fn learn(moments: &JudgedMoments, miss: f64) -> Self {
        let usable = training_set(moments);
        let training = Training {
            total: learned_at(moments.total),
            version: features::VERSION,
            judge: usable.last().map_or("".into(), |judged| judged.moment.judge.clone()),
            verdicts: usable.len(),
            yes: usable.iter().filter(|judged| judged.is_yes).count(),
            explored: usable.iter().filter(|judged| judged.moment.propensity < 1.0).count(),
            cutoff: usable.last().map(|judged| judged.decision),
            miss,
        };
        let has_enough = training.has_enough();
        let skipping = has_enough.then(|| SkipModel::learn(&usable, miss)).flatten();
        Self { training, skipping }
    }

    /// Returns the share of yes verdicts in moments like this one, if they are to be skipped.
    fn skip_rate(&self, features: &[f32]) -> Option<f64> {
        let skipping = self.skipping.as_ref()?;
        let score = skipping.trees.score(features);
        (score <= skipping.threshold.score).then(|| skipping.calibration.rate(score))
    }

    /// Checks a moment that is about to be judged by `judge`. `chance` is a random number from 0 to 1.
    pub fn check(
        &self,
        judge: &str,
        features: Vec<f32>,
        chance: f64,
    ) -> (MomentFeatures, LearnedCheck) {
        let rate = self.skip_rate(&features).filter(|_| *self.training.judge == *judge);
        let exploration = self.skipping.as_ref().map_or(1.0, |of| of.threshold.exploration);
        let (propensity, check) = match rate {
            None => (1.0, LearnedCheck::Judged),
            Some(_) if chance < exploration => (exploration, LearnedCheck::Judged),
            Some(rate) => (exploration, LearnedCheck::Skipped { rate }),
        };
        (MomentFeatures { rate, ..MomentFeatures::new(judge, features, propensity) }, check)
    }
}

impl Training {
    /// Whether there are enough verdicts, and enough yes verdicts among them, to learn from.
    pub fn has_enough(&self) -> bool {
        self.verdicts >= MIN_VERDICTS && self.yes >= MIN_YES
    }
}

impl MomentFeatures {
    fn new(judge: &str, features: Vec<f32>, propensity: f64) -> Self {
        Self { version: features::VERSION, judge: judge.into(), features, propensity, rate: None }
    }

    /// Returns the features of a moment for which there was no trained gate.
    pub fn judged(judge: &str, features: Vec<f32>) -> Self {
        Self::new(judge, features, 1.0)
    }
}

/// A learned gate's answer for a moment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum LearnedCheck {
    /// There is no gate yet.
    Unchecked,
    Judged,
    /// The judge said yes to this share of similar moments.
    Skipped {
        rate: f64,
    },
}

impl SkipModel {
    /// Returns `None` if no threshold is both safe and useful.
    fn learn(moments: &[&JudgedMoment], miss: f64) -> Option<Self> {
        let rows: Vec<TrainingRow<'_>> = moments.iter().copied().map(to_row).collect();
        let scored = score_unseen(&rows);
        let threshold = SkipThreshold::find(&scored, miss)?;
        let calibration = Calibration::fit(&scored);
        // Only the estimate of the errors needs unseen moments; the gate itself learns from all.
        let trees = Trees::fit(&rows);
        Some(Self { trees, calibration, threshold })
    }
}

fn to_row(judged: &JudgedMoment) -> TrainingRow<'_> {
    TrainingRow {
        features: &judged.moment.features,
        is_yes: judged.is_yes,
        // The lower bound keeps a single explored moment from dominating the training.
        weight: 1.0 / judged.moment.propensity.max(MIN_EXPLORATION),
    }
}

/// Returns the newest moments that count: by the usual judge, with the current feature version, and up to the last
/// number of verdicts at which the gate is trained.
fn training_set(moments: &JudgedMoments) -> Vec<&JudgedMoment> {
    let later = moments.total - learned_at(moments.total);
    let end = moments.newest.len().saturating_sub(later);
    let is_current = |judged: &&JudgedMoment| judged.moment.version == features::VERSION;
    let mut usable: Vec<&JudgedMoment> = moments.newest[..end].iter().filter(is_current).collect();
    let judge = usual_judge(&usable);
    usable.retain(|judged| Some(&judged.moment.judge) == judge.as_ref());
    usable
}

/// Returns the model that gave most of the newest verdicts. A fallback that steps in for an hour does not invalidate
/// what is known about the judge.
fn usual_judge(moments: &[&JudgedMoment]) -> Option<Arc<str>> {
    let mut verdicts: BTreeMap<&Arc<str>, usize> = BTreeMap::new();
    for judged in moments.iter().rev().take(MIN_VERDICTS) {
        *verdicts.entry(&judged.moment.judge).or_default() += 1;
    }
    let most = verdicts.into_iter().max_by_key(|(_, verdicts)| *verdicts);
    most.map(|(judge, _)| judge.clone())
}

/// Returns the largest number of verdicts up to `total` at which the gate is trained. The numbers are spaced out, and
/// the same in every process.
pub fn learned_at(total: usize) -> usize {
    let mut at = 0;
    let mut next = MIN_VERDICTS;
    while next <= total {
        at = next;
        // No more moments than this are learned from, so the spacing stops growing there.
        next += ((at.min(MAX_MOMENTS) as f64 * GROWTH) as usize).max(1);
    }
    at
}

/// Scores each moment with a model that has seen neither it nor its neighbors in time.
fn score_unseen(rows: &[TrainingRow<'_>]) -> Vec<Scored> {
    let bound = |part: usize| part * rows.len() / PARTS;
    let parts = (0..PARTS).flat_map(|part| {
        let (begin, end) = (bound(part), bound(part + 1));
        let others = [&rows[..begin], &rows[end..]].concat();
        let trees = Trees::fit(&others);
        let scored = move |row: &TrainingRow<'_>| Scored {
            score: trees.score(row.features),
            is_yes: row.is_yes,
            weight: row.weight,
        };
        rows[begin..end].iter().map(scored).collect::<Vec<_>>()
    });
    parts.collect()
}

/// What was learned from the ledger: the gates in force, by workspace, and how welcome posts were. The learner replaces
/// it; the judge reads it.
#[derive(Debug, Default)]
pub struct LearnedGates {
    gates: RwLock<HashMap<WorkspaceId, Arc<LearnedGate>>>,
    pub labels: WelcomeLabels,
}

impl LearnedGates {
    pub fn read(&self, workspace: &WorkspaceId) -> Option<Arc<LearnedGate>> {
        self.gates.read().get(workspace).cloned()
    }

    pub fn replace(&self, workspace: WorkspaceId, gate: LearnedGate) {
        self.gates.write().insert(workspace, Arc::new(gate));
    }
}

#[cfg(test)]
mod tests;
