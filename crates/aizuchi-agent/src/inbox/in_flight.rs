//! The conversations that this process is working on, so that a new message can cancel the work at once. This is only a
//! hint: the step's generation in the store is authoritative, so a lost hint only costs a wasted model call.

use std::collections::HashMap;

use aizuchi_model::chat::ConversationId;
use aizuchi_model::flow::Claim;
use parking_lot::{Mutex, MutexGuard};
use tokio_util::sync::CancellationToken;

#[derive(Default)]
pub struct InFlight {
    work: Mutex<HashMap<ConversationId, InFlightStep>>,
}

struct InFlightStep {
    /// The claim's token.
    token: i64,
    cancellation: CancellationToken,
}

impl InFlight {
    /// Cancels the work on this conversation, because it was superseded.
    pub fn cancel(&self, conversation: &ConversationId) {
        if let Some(work) = self.lock().get(conversation) {
            work.cancellation.cancel();
        }
    }

    /// Registers the work on a claim. The returned token is cancelled when the work is superseded.
    pub fn begin(&self, claim: &Claim) -> CancellationToken {
        let cancellation = CancellationToken::new();
        // A message supersedes no plan.
        if claim.plan.is_some() {
            return cancellation;
        }
        let work = InFlightStep { token: claim.token, cancellation: cancellation.clone() };
        // Replaces the entry of a claim whose lease has ended.
        self.lock().insert(claim.work.conversation().clone(), work);
        cancellation
    }

    pub fn finish(&self, claim: &Claim) {
        let mut steps = self.lock();
        let conversation = claim.work.conversation();
        // If its lease has ended, the entry may be of a newer claim.
        if steps.get(conversation).is_some_and(|work| work.token == claim.token) {
            steps.remove(conversation);
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<ConversationId, InFlightStep>> {
        self.work.lock()
    }
}
