//! How the ears reach a runner that sleeps or works. Only a hint: what counts is in the store, so
//! a hint that is lost costs time or a wasted thought, nothing else.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;
use tokio::sync::futures::Notified;
use tokio_util::sync::CancellationToken;

use crate::chat::ConversationId;

#[derive(Default)]
pub struct Wake {
    something_new: Notify,
    working: Mutex<HashMap<ConversationId, CancellationToken>>,
}

impl Wake {
    /// There may be a step that is due earlier than the runner thinks.
    pub fn wake(&self) {
        self.something_new.notify_one();
    }

    /// Subscribe before looking into the store, so that nothing is missed in between.
    pub fn woken(&self) -> Notified<'_> {
        self.something_new.notified()
    }

    /// The work on this conversation no longer counts.
    pub fn overtake(&self, conversation: &ConversationId) {
        if let Some(overtaken) = self.lock().get(conversation) {
            overtaken.cancel();
        }
    }

    /// Work on this conversation begins; the token is cancelled when it is overtaken.
    pub fn begin(&self, conversation: &ConversationId) -> CancellationToken {
        let overtaken = CancellationToken::new();
        self.lock().insert(conversation.clone(), overtaken.clone());
        overtaken
    }

    pub fn end(&self, conversation: &ConversationId) {
        self.lock().remove(conversation);
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<ConversationId, CancellationToken>> {
        self.working.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
