//! A dead letter that an operator has tried again.

use jiff::Timestamp;

use crate::chat::ConversationId;
use crate::decision::DecisionId;
use crate::event::Event;
use crate::event::step::{OwedAnswer, PendingState, Step, new_step};

impl PendingState {
    /// The pending work of a conversation whose decision is opened again: the answers that it owed are thought of anew,
    /// and what was said unasked is judged anew, because the conversation may have moved on.
    pub fn try_again(
        conversation: ConversationId,
        decision: DecisionId,
        owed: Vec<OwedAnswer>,
        now: Timestamp,
    ) -> Self {
        let step = match owed.is_empty() {
            true => new_step(Event::Judge(conversation), now, decision, 0),
            false => {
                let reply = new_step(Event::Reply(conversation), now, decision, 0);
                Step { is_owed: true, ..reply }
            }
        };
        Self { step: Some(step), owed }
    }
}
