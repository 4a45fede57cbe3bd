//! Deferral: while a platform is being backfilled, nothing is decided or posted, because messages may be missing from
//! the context. An owed answer waits only for a limited time: a history that cannot be read must not keep a user
//! waiting.

use std::collections::HashMap;
use std::sync::Arc;

use aizuchi_model::chat::ConversationId;
use aizuchi_model::clock::duration_from_seconds;
use aizuchi_model::decision::{DecisionId, DecisionResult};
use aizuchi_model::flow::{Claim, DecisionClosing, StepResult, Work};
use aizuchi_model::platform::BackfillState;
use aizuchi_model::texts;
use jiff::{SignedDuration, Timestamp};
use parking_lot::Mutex;
use tracing::warn;

use crate::agent::Worker;

/// The first and the later intervals after which a deferred step checks again.
const FIRST_RECHECK: SignedDuration = SignedDuration::from_secs(1);
const RECHECK_INTERVAL: SignedDuration = SignedDuration::from_secs(10);
/// How long an owed answer waits for the backfill of its conversation while the platform is connected. It outlasts one
/// call that hangs.
pub const MAX_OWED_WAIT: SignedDuration = SignedDuration::from_secs(15);

/// How late a step may always be without being stale, however short the longest delay: the runner may be busy.
const MAX_LATENESS: SignedDuration = SignedDuration::from_mins(5);

/// How long an owed answer waits after a restore, because it may have been given already.
const MAX_RESTORED_WAIT: SignedDuration = SignedDuration::from_mins(10);

/// The deferred steps. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct Deferrals(Arc<Mutex<HashMap<ConversationId, Deferral>>>);

#[derive(Clone, Copy, Debug)]
struct Deferral {
    /// The decision and the generation of the deferred work.
    work: (DecisionId, u64),
    /// When that work was originally due.
    due: Timestamp,
    /// When a step was first deferred after the newest gap.
    since: Timestamp,
    /// When that gap ended. `None` while the platform is disconnected.
    gap_ended: Option<Timestamp>,
}

impl Deferrals {
    /// Records a deferred step, and returns since when it has waited for this state.
    fn begin(&self, claim: &Claim, gap_ended: Option<Timestamp>, now: Timestamp) -> Timestamp {
        let mut deferrals = self.0.lock();
        let work = work(claim);
        let deferral = Deferral { work, due: claim.due, since: now, gap_ended };
        let known = deferrals.entry(claim.work.conversation().clone()).or_insert(deferral);
        // Other work has a due time of its own, but does not wait again for the same backfill.
        if known.work != work {
            (known.work, known.due) = (work, claim.due);
        }
        // A new gap has a backfill of its own, so the wait starts again.
        if known.gap_ended != gap_ended {
            *known = Deferral { due: known.due, ..deferral };
        }
        known.since
    }

    /// Removes a deferral, and returns when the step was originally due.
    fn end(&self, claim: &Claim) -> Timestamp {
        let deferral = self.0.lock().remove(claim.work.conversation());
        // An owed answer that went on, or work that was replaced, may have left its deferral behind.
        let deferral = deferral.filter(|deferral| deferral.work == work(claim));
        deferral.map_or(claim.due, |deferral| deferral.due)
    }
}

fn work(claim: &Claim) -> (DecisionId, u64) {
    (claim.decision, claim.generation)
}

impl Worker<'_> {
    /// Returns the result for a step that must not be handled now: it waits for its platform or for the backfill, or it
    /// has waited so long that an unsolicited post would be stale.
    pub(super) async fn deferral(&self, claim: &Claim) -> Option<StepResult> {
        let conversation = claim.work.conversation();
        let Ok(platform) = self.platforms.for_workspace(&conversation.workspace) else {
            // The config may have left the platform out by mistake; the next start may bring it back.
            let due = self.now() + RECHECK_INTERVAL;
            return self.may_wait_for_platform(claim).await.then_some(StepResult::Deferred { due });
        };
        let gap_ended = match platform.backfill_state(conversation) {
            BackfillState::Complete => {
                // Counted from when the step was first due, not from its last recheck.
                let overdue = self.now().duration_since(self.deferrals.end(claim));
                return self.is_stale(claim, overdue).then(|| self.drop_as_stale());
            }
            BackfillState::Pending { gap_ended } => Some(gap_ended),
            BackfillState::Disconnected => None,
        };
        platform.prioritize_backfill(conversation);
        let waited = self.now().duration_since(self.deferrals.begin(claim, gap_ended, self.now()));
        let wait = if waited < RECHECK_INTERVAL { FIRST_RECHECK } else { RECHECK_INTERVAL };
        let has_waited = gap_ended.is_some() && waited >= MAX_OWED_WAIT;
        if has_waited && self.is_before_an_owed_answer(claim).await {
            // The answer waits no longer, so the post makes way for it.
            return Some(StepResult::RetryUnsent { due: self.now() });
        }
        if !claim.is_owed || gap_ended.is_none() {
            return Some(StepResult::Deferred { due: self.now() + wait });
        }
        // Only the history shows what was answered before a restore.
        let lost_span = self.command_answers.archive.lost_span();
        let is_restored = lost_span.is_some_and(|span| span.is_recent(self.now()));
        let most = if is_restored { MAX_RESTORED_WAIT } else { MAX_OWED_WAIT };
        let left = most - waited;
        if left.is_positive() {
            return Some(StepResult::Deferred { due: self.now() + wait.min(left) });
        }
        if let Work::Reply(_) = &claim.work {
            warn!(
                workspace = %conversation.workspace,
                channel = %conversation.channel,
                "what was missed in a conversation cannot be read; answering from what is known"
            );
        }
        None
    }

    /// Whether a step waits for a platform that is not connected in this run: an answer is owed to a message that is
    /// young enough.
    async fn may_wait_for_platform(&self, claim: &Claim) -> bool {
        let Ok(context) = self.load_context(claim.work.conversation()).await else { return true };
        let most = duration_from_seconds(self.settings.wait_settings.max_message_age_seconds);
        let commands = context.pending_commands.iter().map(|command| command.at);
        let mut asked = context.owed_messages().map(|message| message.at).chain(commands);
        claim.is_owed && asked.any(|at| self.now().duration_since(at) < most)
    }

    /// Whether an approved post that nobody has seen yet keeps a user waiting who mentioned the persona after it.
    async fn is_before_an_owed_answer(&self, claim: &Claim) -> bool {
        let Work::Post(item) = &claim.work else { return false };
        if !item.metadata.is_approved || item.is_published() {
            return false;
        }
        let context = self.load_context(&item.conversation).await;
        context.is_ok_and(|context| !context.owed.is_empty())
    }

    /// Whether the step is stale. A judgment never is, since it reads the context again; nor is an owed answer or a
    /// post that was begun.
    fn is_stale(&self, claim: &Claim, overdue: SignedDuration) -> bool {
        let is_begun = match &claim.work {
            Work::Judge(_) => true,
            Work::Reply(_) => false,
            Work::Post(item) => item.is_published(),
        };
        let longest = duration_from_seconds(self.settings.max_delay_seconds).max(MAX_LATENESS);
        !is_begun && !claim.is_owed && overdue > longest
    }

    fn drop_as_stale(&self) -> StepResult {
        let why = texts::replies::too_late(self.persona.language);
        StepResult::Silent(DecisionClosing::new(DecisionResult::Dropped, why))
    }
}
