//! Waiting for a platform that has not been caught up on: nothing is decided or said on talk of which a part
//! may not have been heard yet.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use jiff::{SignedDuration, Timestamp};

use crate::agent::Agent;
use crate::chat::ConversationId;
use crate::clock::seconds;
use crate::decision::Ended;
use crate::event::{Claim, Closing, End, Event};

/// How soon it is looked again at first, and then.
const SOON: SignedDuration = SignedDuration::from_secs(1);
const LATER: SignedDuration = SignedDuration::from_secs(10);

/// When the steps that wait were due before they did.
#[derive(Debug, Default)]
pub struct Waits(Mutex<HashMap<ConversationId, Timestamp>>);

impl Waits {
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
    pub(super) fn held_up(&self, claim: &Claim) -> Option<End> {
        let conversation = claim.event.conversation();
        let platform = self.platforms.of(&conversation.workspace).ok()?;
        if !platform.is_behind(conversation) {
            let overdue = self.now().duration_since(self.waits.end(claim));
            return self.is_stale(claim, overdue).then(|| self.too_late());
        }
        let waited = self.now().duration_since(self.waits.begin(claim));
        let wait = if waited < LATER { SOON } else { LATER };
        Some(End::Wait { due: self.now() + wait })
    }

    /// A verdict is judged anew where it can be, an answer is owed, and what was begun is finished.
    fn is_stale(&self, claim: &Claim, overdue: SignedDuration) -> bool {
        let is_begun = match &claim.event {
            Event::Judge(_) => true,
            Event::Reply(_) => false,
            Event::Post(piece) => piece.is_out(),
        };
        !is_begun && !claim.is_owed && overdue > seconds(self.settings.max_delay_seconds)
    }

    fn too_late(&self) -> End {
        let why = self.persona.language.pick("it came too late", "時機を逃しました");
        End::Silent(Closing::new(Ended::Dropped, why))
    }
}
