//! What a replay learns from its judge's verdicts as it goes. It learns as the running program does, except that all
//! recorded channels count as one workspace.

use std::collections::HashMap;
use std::sync::Arc;

use aizuchi_model::chat::WorkspaceId;
use aizuchi_model::decision::learned::{
    JudgedMoment, JudgedMoments, LearnedGate, LearnedGates, MAX_MOMENTS, MomentFeatures, learned_at,
};
use aizuchi_model::decision::{DecisionId, Judgment};
use aizuchi_model::flow::{Claim, Outcome, StepResult};
use parking_lot::Mutex;

/// The learned gate of a replay, and every moment that was judged.
#[derive(Debug, Default)]
pub struct ReplayLearning {
    /// The fraction of the judge's yes verdicts that a gate may miss, if one is learned.
    miss: Option<f64>,
    pub gates: Arc<LearnedGates>,
    state: Mutex<LearningState>,
}

#[derive(Debug, Default)]
struct LearningState {
    /// The moments of open decisions, in the channel that is being replayed.
    open: HashMap<DecisionId, MomentFeatures>,
    judged: Vec<JudgedMoment>,
    gate: Option<LearnedGate>,
}

impl ReplayLearning {
    pub fn new(miss: Option<f64>) -> Self {
        Self { miss, ..Self::default() }
    }

    /// Whether a gate is learned. If so, the channels are replayed one after another, because what is learned in one
    /// channel applies to the next.
    pub fn keeps_moments(&self) -> bool {
        self.miss.is_some()
    }

    /// Begins the next channel with what was learned so far.
    pub fn begin(&self, workspace: &WorkspaceId) {
        if !self.keeps_moments() {
            return;
        }
        let mut state = self.state.lock();
        state.open.clear();
        if let Some(gate) = &state.gate {
            self.gates.replace(workspace.clone(), gate.clone());
        }
    }

    /// Records the outcome of a step.
    pub fn record(&self, claim: &Claim, outcome: &Outcome) {
        let Some(miss) = self.miss else { return };
        let state = &mut *self.state.lock();
        let moment = outcome.evaluation.as_ref().and_then(|evaluation| evaluation.moment.as_ref());
        if let Some(moment) = moment {
            state.open.insert(claim.decision, moment.clone());
        }
        let Some(is_yes) = verdict(&outcome.result).map(Judgment::is_yes) else { return };
        let Some(moment) = state.open.remove(&claim.decision) else { return };
        state.judged.push(JudgedMoment { decision: claim.decision, moment, is_yes });
        let total = state.judged.len();
        if learned_at(total) != total {
            return;
        }
        let newest = &state.judged[total.saturating_sub(MAX_MOMENTS)..];
        let gate = LearnedGate::learn(&JudgedMoments { newest: newest.to_vec(), total }, miss);
        let workspace = claim.work.conversation().workspace.clone();
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
