//! What a replay records of the agent's decisions as they pass through its store.

use std::sync::Arc;

use aizuchi_import::rows::IdHash;
use aizuchi_llm::prompt::PromptVerb;
use aizuchi_model::chat::MessageId;
use aizuchi_model::chat::owed::Owed;
use aizuchi_model::clock::Clock;
use aizuchi_model::context::message_structure::{SharedStructure, StructureCache};
use aizuchi_model::decision::{Attempt, AttemptResult, DecisionResult};
use aizuchi_model::flow::{Claim, Outcome, StepResult, Work};
use aizuchi_store::volatile::Observed;

use crate::replay::record::{PostRecord, Recorder, ReplayEventKind};

/// Records claims, contexts and outcomes.
pub(super) struct StoreRecorder {
    pub(super) recorder: Arc<Recorder>,
    pub(super) clock: Clock,
    pub(super) talks: Arc<StructureCache>,
}

impl StoreRecorder {
    pub(super) fn observe(&self, observed: Observed<'_>) {
        match observed {
            Observed::Claimed(claims) => self.record_claims(claims),
            Observed::Read(conversation, context) => {
                context.talk = SharedStructure::cached_in(self.talks.clone());
                let newest = context.target_messages().last().map(|message| message.id.clone());
                self.recorder.lock().notes(conversation).considered = newest;
            }
            Observed::Completing(claim, outcome) => self.record(claim, outcome),
        }
    }

    fn record_claims(&self, claims: &[Claim]) {
        let mut record = self.recorder.lock();
        for claim in claims {
            let notes = record.notes(claim.work.conversation());
            notes.decision = Some(claim.decision);
            notes.is_second_look = claim.second_looks > 0;
        }
    }

    fn record(&self, claim: &Claim, outcome: &Outcome) {
        let mut record = self.recorder.lock();
        record.now = self.clock.now();
        let conversation = claim.work.conversation();
        let thread = IdHash::from_thread(conversation.thread.as_ref().map(MessageId::as_str));
        let is_superseded_judgment = |attempt: &Attempt| {
            &*attempt.verb == PromptVerb::Judge.name()
                && attempt.result == AttemptResult::Superseded
        };
        if outcome.attempts.iter().any(is_superseded_judgment)
            && let Some(call) = record.newest_call(thread)
        {
            call.is_superseded = true;
        }
        record.add_moment(claim, outcome);
        let Some(kind) = event_kind(&outcome.result, &claim.work) else { return };
        record.gated += usize::from(kind == ReplayEventKind::Gate);
        record.failed += usize::from(kind == ReplayEventKind::Failed);
        if kind == ReplayEventKind::Speak {
            let (at, heard_rows) = (record.now, record.heard_rows);
            let about = match &claim.work {
                Work::Post(item) if !claim.is_owed && item.id == item.first_in_draft => {
                    item.metadata.about.as_ref().map(|about| IdHash::new(about.as_str()))
                }
                Work::Post(_) | Work::Judge(_) | Work::Reply(_) => None,
            };
            record.posts.push(PostRecord { at, thread, heard_rows, about });
        }
        let mut event = record.event(kind, conversation);
        if let StepResult::Silent(closing) = &outcome.result {
            event.gate = closing.gate.map(|gate| gate.name());
        }
        if let Work::Post(item) = &claim.work {
            let owed = || item.metadata.owed.last().map(Owed::stored_id);
            event.about = item.metadata.about.clone().or_else(owed);
        }
        record.write(&event);
    }
}

/// Returns the kind of event that is written for the result of a step, if any.
fn event_kind(result: &StepResult, work: &Work) -> Option<ReplayEventKind> {
    match result {
        StepResult::Silent(closing) if closing.gate.is_some() => Some(ReplayEventKind::Gate),
        StepResult::Silent(closing) if closing.ended == DecisionResult::Dropped => {
            Some(ReplayEventKind::Dropped)
        }
        StepResult::Withdrawn { .. } => Some(ReplayEventKind::Dropped),
        // A reply became doubtful, and the judge is called again.
        StepResult::LookAgain { .. } if !matches!(work, Work::Judge(_)) => {
            Some(ReplayEventKind::Dropped)
        }
        StepResult::Posted(_) => match work {
            Work::Post(item) if item.reaction_to.is_some() => Some(ReplayEventKind::React),
            Work::Post(_) | Work::Judge(_) | Work::Reply(_) => Some(ReplayEventKind::Speak),
        },
        StepResult::Superseded => Some(ReplayEventKind::Cancelled),
        StepResult::Failed { .. } => Some(ReplayEventKind::Failed),
        StepResult::Silent(closing) if closing.ended == DecisionResult::Failed => {
            Some(ReplayEventKind::Failed)
        }
        StepResult::Silent(_)
        | StepResult::Join { .. }
        | StepResult::React { .. }
        | StepResult::Drafted { .. }
        | StepResult::Proposed(_)
        | StepResult::LookAgain { .. }
        | StepResult::Redraft { .. }
        | StepResult::Retry { .. }
        | StepResult::Deferred { .. }
        | StepResult::RetryUnsent { .. } => None,
    }
}
