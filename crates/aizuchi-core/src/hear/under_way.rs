//! Which conversations this process is working at, so that a new line can call the work off at
//! once. Only a hint: what counts is the step's generation in the store, so a hint that is lost
//! costs a wasted thought and nothing else.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio_util::sync::CancellationToken;

use crate::chat::ConversationId;
use crate::event::Claim;

#[derive(Default)]
pub struct UnderWay {
    work: Mutex<HashMap<ConversationId, Work>>,
}

struct Work {
    /// The claim's token.
    token: i64,
    overtaken: CancellationToken,
}

impl UnderWay {
    /// The work on this conversation no longer counts.
    pub fn overtake(&self, conversation: &ConversationId) {
        if let Some(work) = self.lock().get(conversation) {
            work.overtaken.cancel();
        }
    }

    /// Work on a claim begins; what is returned is cancelled when it is overtaken.
    pub fn begin(&self, claim: &Claim) -> CancellationToken {
        let overtaken = CancellationToken::new();
        let work = Work { token: claim.token, overtaken: overtaken.clone() };
        self.lock().insert(claim.event.conversation().clone(), work);
        overtaken
    }

    pub fn end(&self, claim: &Claim) {
        let mut works = self.lock();
        let conversation = claim.event.conversation();
        if works.get(conversation).is_some_and(|work| work.token == claim.token) {
            works.remove(conversation);
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<ConversationId, Work>> {
        self.work.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
