//! Deferral: while a platform is being backfilled, nothing is decided or posted, because messages
//! may be missing from the context.

use std::collections::HashMap;

use jiff::{SignedDuration, Timestamp};
use parking_lot::Mutex;

use crate::agent::Agent;
use crate::chat::ConversationId;
use crate::clock::duration_from_seconds;
use crate::decision::DecisionResult;
use crate::event::{Claim, DecisionClosing, Event, StepResult};
use crate::texts;

/// How soon a deferred step checks again at first, and then how often.
const FIRST_RECHECK: SignedDuration = SignedDuration::from_secs(1);
const RECHECK_INTERVAL: SignedDuration = SignedDuration::from_secs(10);

/// When each deferred step was originally due.
#[derive(Debug, Default)]
pub struct Deferrals(Mutex<HashMap<ConversationId, Timestamp>>);

impl Deferrals {
    /// Remembers when a deferred step was originally due, and returns it.
    fn begin(&self, claim: &Claim) -> Timestamp {
        let mut due_times = self.0.lock();
        *due_times.entry(claim.event.conversation().clone()).or_insert(claim.due)
    }

    /// Forgets a deferral, and returns when the step was originally due.
    fn end(&self, claim: &Claim) -> Timestamp {
        let mut due_times = self.0.lock();
        due_times.remove(claim.event.conversation()).unwrap_or(claim.due)
    }
}

impl Agent {
    /// The result for a step that must not be handled now. It waits for the backfill, or it has
    /// waited so long that an unsolicited post would be stale.
    pub(super) fn deferral(&self, claim: &Claim) -> Option<StepResult> {
        let conversation = claim.event.conversation();
        let platform = self.platforms.for_workspace(&conversation.workspace).ok()?;
        if !platform.is_behind(conversation) {
            let overdue = self.now().duration_since(self.deferrals.end(claim));
            return self.is_stale(claim, overdue).then(|| self.drop_as_stale());
        }
        platform.prioritize_backfill(conversation);
        let waited = self.now().duration_since(self.deferrals.begin(claim));
        let wait = if waited < RECHECK_INTERVAL { FIRST_RECHECK } else { RECHECK_INTERVAL };
        Some(StepResult::Deferred { due: self.now() + wait })
    }

    /// Never stale: a judgment, since it reads the context again; an owed answer; a post that was
    /// begun.
    fn is_stale(&self, claim: &Claim, overdue: SignedDuration) -> bool {
        let is_begun = match &claim.event {
            Event::Judge(_) => true,
            Event::Reply(_) => false,
            Event::Post(item) => item.is_published(),
        };
        !is_begun
            && !claim.is_owed
            && overdue > duration_from_seconds(self.settings.max_delay_seconds)
    }

    fn drop_as_stale(&self) -> StepResult {
        let why = texts::replies::too_late(self.persona.language);
        StepResult::Silent(DecisionClosing::new(DecisionResult::Dropped, why))
    }
}
