//! What a replay learns from its judge's verdicts as it goes. It learns as the running program does, except that all
//! recorded channels count as one workspace.

use std::collections::HashMap;
use std::sync::Arc;

use jiff::Timestamp;
use parking_lot::Mutex;

use aizuchi_core::chat::WorkspaceId;
use aizuchi_core::decision::learned::{
    JudgedMoment, JudgedMoments, LearnedGate, LearnedGates, MAX_MOMENTS, MomentFeatures, learned_at,
};
use aizuchi_core::decision::{DecisionId, Judgment};
use aizuchi_core::event::{Claim, Outcome, StepResult};

/// The learned gate of a replay, and every moment that was judged.
#[derive(Debug, Default)]
pub struct ReplayLearning {
    purpose: LearningPurpose,
    pub gates: Arc<LearnedGates>,
    state: Mutex<LearningState>,
}

/// What the judged moments are used for.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum LearningPurpose {
    /// The moments are not kept.
    #[default]
    None,
    /// The moments are kept, to be measured.
    Measure,
    /// A gate is trained on the moments, which may miss this fraction of the judge's yes verdicts.
    Learn(f64),
}

#[derive(Debug, Default)]
struct LearningState {
    /// The moments of open decisions, in the channel that is being replayed.
    open: HashMap<DecisionId, MomentFeatures>,
    /// The index of the judged moment of each yes that may still lead to a post.
    joined: HashMap<DecisionId, usize>,
    judged: Vec<TimedMoment>,
    gate: Option<LearnedGate>,
}

/// A judged moment of a recording.
#[derive(Clone, Debug, PartialEq)]
pub struct TimedMoment {
    pub at: Timestamp,
    pub workspace: WorkspaceId,
    pub judged: JudgedMoment,
    /// Whether the moment led to a post or a reaction. A yes may also be superseded or dropped.
    pub was_seen: bool,
}

impl ReplayLearning {
    pub fn new(purpose: LearningPurpose) -> Self {
        Self { purpose, ..Self::default() }
    }

    /// Whether the moments are kept. If so, the channels are replayed one after another, because what is learned in one
    /// channel applies to the next.
    pub fn keeps_moments(&self) -> bool {
        self.purpose != LearningPurpose::None
    }

    /// Begins the next channel with what was learned so far.
    pub fn begin(&self, workspace: &WorkspaceId) {
        if !self.keeps_moments() {
            return;
        }
        let mut state = self.state.lock();
        state.open.clear();
        state.joined.clear();
        if let Some(gate) = &state.gate {
            self.gates.replace(workspace.clone(), gate.clone());
        }
    }

    /// Records the outcome of a step.
    pub fn record(&self, claim: &Claim, outcome: &Outcome, at: Timestamp) {
        if !self.keeps_moments() {
            return;
        }
        let state = &mut *self.state.lock();
        if matches!(outcome.result, StepResult::Posted(_))
            && let Some(index) = state.joined.remove(&claim.decision)
        {
            state.judged[index].was_seen = true;
        }
        let moment = outcome.evaluation.as_ref().and_then(|evaluation| evaluation.moment.as_ref());
        if let Some(moment) = moment {
            state.open.insert(claim.decision, moment.clone());
        }
        let Some(is_yes) = verdict(&outcome.result).map(Judgment::is_yes) else { return };
        let Some(moment) = state.open.remove(&claim.decision) else { return };
        let workspace = claim.event.conversation().workspace.clone();
        if is_yes {
            state.joined.insert(claim.decision, state.judged.len());
        }
        let judged = JudgedMoment { decision: claim.decision, moment, is_yes };
        let timed = TimedMoment { at, workspace: workspace.clone(), judged, was_seen: false };
        state.judged.push(timed);
        self.learn(state, workspace);
    }

    /// Returns the moments that were judged, in the order of the replay.
    pub fn take_judged(&self) -> Vec<TimedMoment> {
        std::mem::take(&mut self.state.lock().judged)
    }

    fn learn(&self, state: &mut LearningState, workspace: WorkspaceId) {
        let total = state.judged.len();
        let miss = match self.purpose {
            LearningPurpose::Learn(miss) if learned_at(total) == total => miss,
            LearningPurpose::Learn(_) | LearningPurpose::Measure | LearningPurpose::None => return,
        };
        let newest = &state.judged[total.saturating_sub(MAX_MOMENTS)..];
        let newest = newest.iter().map(|timed| timed.judged.clone()).collect();
        let gate = LearnedGate::learn(&JudgedMoments { newest, total }, miss);
        self.gates.replace(workspace, gate.clone());
        state.gate = Some(gate);
    }
}

fn verdict(result: &StepResult) -> Option<&Judgment> {
    match result {
        StepResult::Join { judgment, .. } | StepResult::React { judgment, .. } => Some(judgment),
        StepResult::Silent(closing) => closing.judgment.as_ref(),
        StepResult::Drafted { .. }
        | StepResult::Proposed(_)
        | StepResult::Posted(_)
        | StepResult::Withdrawn { .. }
        | StepResult::LookAgain { .. }
        | StepResult::Redraft { .. }
        | StepResult::Retry { .. }
        | StepResult::Deferred { .. }
        | StepResult::RetryUnsent { .. }
        | StepResult::Failed { .. }
        | StepResult::Superseded => None,
    }
}
