//! Which conversations this process is working at, so that a new line can call the work off at
//! once. Only a hint: what counts is the step's generation in the store, so a hint that is lost
//! costs a wasted thought and nothing else.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio_util::sync::CancellationToken;

use crate::chat::ConversationId;
use crate::event::Claim;

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
    /// The work on this conversation no longer counts.
    pub fn cancel(&self, conversation: &ConversationId) {
        if let Some(work) = self.lock().get(conversation) {
            work.cancellation.cancel();
        }
    }

    /// Work on a claim begins; what is returned is cancelled when it is overtaken.
    pub fn begin(&self, claim: &Claim) -> CancellationToken {
        let overtaken = CancellationToken::new();
        let work = InFlightStep { token: claim.token, cancellation: overtaken.clone() };
        self.lock().insert(claim.event.conversation().clone(), work);
        overtaken
    }

    pub fn finish(&self, claim: &Claim) {
        let mut works = self.lock();
        let conversation = claim.event.conversation();
        if works.get(conversation).is_some_and(|work| work.token == claim.token) {
            works.remove(conversation);
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<ConversationId, InFlightStep>> {
        self.work.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
