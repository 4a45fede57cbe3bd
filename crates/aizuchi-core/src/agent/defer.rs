//! Waiting for a platform that has not been caught up on: nothing is decided or said on talk of which a part
//! may not have been heard yet.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use jiff::{SignedDuration, Timestamp};

use crate::agent::Agent;
use crate::chat::ConversationId;
use crate::clock::duration_from_seconds;
use crate::decision::DecisionResult;
use crate::event::{Claim, DecisionClosing, Event, StepResult};

/// How soon it is looked again at first, and then.
const FIRST_RECHECK: SignedDuration = SignedDuration::from_secs(1);
const RECHECK_INTERVAL: SignedDuration = SignedDuration::from_secs(10);

/// When the steps that wait were due before they did.
#[derive(Debug, Default)]
pub struct Deferrals(Mutex<HashMap<ConversationId, Timestamp>>);

impl Deferrals {
    /// When a step that waits was due first.
    fn begin(&self, claim: &Claim) -> Timestamp {
        let mut waits = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *waits.entry(claim.event.conversation().clone()).or_insert(claim.due)
    }

    /// When the claim was due first.
    fn end(&self, claim: &Claim) -> Timestamp {
        let mut waits = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        waits.remove(claim.event.conversation()).unwrap_or(claim.due)
    }
}

impl Agent {
    /// How a claim ends that may not be worked at: it waits, or has waited for so long that nobody expects
    /// words of its own any more.
    pub(super) fn deferral(&self, claim: &Claim) -> Option<StepResult> {
        let conversation = claim.event.conversation();
        let platform = self.platforms.for_workspace(&conversation.workspace).ok()?;
        if !platform.is_behind(conversation) {
            let overdue = self.now().duration_since(self.deferrals.end(claim));
            return self.is_stale(claim, overdue).then(|| self.drop_as_stale());
        }
        let waited = self.now().duration_since(self.deferrals.begin(claim));
        let wait = if waited < RECHECK_INTERVAL { FIRST_RECHECK } else { RECHECK_INTERVAL };
        Some(StepResult::Deferred { due: self.now() + wait })
    }

    /// A verdict is judged anew where it can be, an answer is owed, and what was begun is finished.
    fn is_stale(&self, claim: &Claim, overdue: SignedDuration) -> bool {
        let is_begun = match &claim.event {
            Event::Judge(_) => true,
            Event::Reply(_) => false,
            Event::Post(piece) => piece.is_published(),
        };
        !is_begun
            && !claim.is_owed
            && overdue > duration_from_seconds(self.settings.max_delay_seconds)
    }

    fn drop_as_stale(&self) -> StepResult {
        let why = self.persona.language.pick("it came too late", "時機を逃しました");
        StepResult::Silent(DecisionClosing::new(DecisionResult::Dropped, why))
    }
}
