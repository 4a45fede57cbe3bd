//! The pending states of conversations: changed by the rules, with the effects on the ready steps and on the messages
//! that were owed an answer.

use aizuchi_model::chat::{ConversationId, MessageId};
use aizuchi_model::decision::Decision;
use aizuchi_model::flow::step::{OwedAnswer, PendingState, Step};
use jiff::Timestamp;

use crate::volatile::VolatileState;
use crate::volatile::records::ConversationRecord;

/// A message that was owed an answer before.
pub(super) struct OnceOwed {
    pub(super) thread: Option<MessageId>,
    /// When the answer owed was closed. `None` if one is owed again.
    pub(super) closed: Option<Timestamp>,
    /// How many answers it got before an edit asked again.
    pub(super) earlier_answers: usize,
}

impl VolatileState {
    /// Changes a conversation's pending state and updates the index of ready steps.
    pub(super) fn change_pending_state<T>(
        &mut self,
        conversation: &ConversationId,
        now: Timestamp,
        change: impl FnOnce(&mut PendingState) -> T,
    ) -> T {
        if !self.conversations.contains_key(conversation) {
            self.conversations.insert(conversation.clone(), ConversationRecord::default());
        }
        let record = self.conversations.get_mut(conversation).expect("it was put there just now");
        let before = record.pending.step.as_ref().map(Step::ready_at);
        let owed = record.pending.owed.clone();
        let result = change(&mut record.pending);
        if owed != record.pending.owed {
            for (owed_answer, is_owed) in owed_changes(&owed, &record.pending.owed) {
                let asker = (conversation.workspace.clone(), owed_answer.asker.clone());
                let id = (conversation.channel.clone(), owed_answer.to.stored_id());
                let of_asker = self.once_owed.entry(asker).or_default();
                if !is_owed {
                    let once_owed = of_asker.entry(id).or_insert_with(|| OnceOwed {
                        thread: conversation.thread.clone(),
                        closed: None,
                        earlier_answers: 0,
                    });
                    once_owed.closed = Some(now);
                } else if let Some(once_owed) = of_asker.get_mut(&id) {
                    once_owed.closed = None;
                    let decision = record.question(&id.1).and_then(|it| it.decision);
                    let decision = decision.and_then(|decision| self.decisions.get(&decision));
                    once_owed.earlier_answers +=
                        usize::from(decision.is_some_and(Decision::took_an_answer));
                }
            }
        }
        let after = record.pending.step.as_ref().map(Step::ready_at);
        if before != after {
            if let Some(before) = before {
                self.ready.remove(&(before, conversation.clone()));
            }
            if let Some(after) = after {
                self.ready.insert((after, conversation.clone()));
            }
        }
        result
    }
}

/// The owed answers that were closed, and those that were opened.
fn owed_changes<'a>(
    before: &'a [OwedAnswer],
    after: &'a [OwedAnswer],
) -> impl Iterator<Item = (&'a OwedAnswer, bool)> {
    let opened = after.iter().filter(|owed| !before.contains(owed)).map(|owed| (owed, true));
    let closed = before.iter().filter(|owed| !after.contains(owed)).map(|owed| (owed, false));
    closed.chain(opened)
}
