//! The operator's actions on a dead letter.

use std::sync::Arc;

use aizuchi_model::chat::WorkspaceId;
use aizuchi_model::decision::DecisionResult;
use aizuchi_model::event::dead_letter::Redelivery;
use aizuchi_model::event::step::{OwedAnswer, PendingState};
use aizuchi_model::event::{DeadLetter, DeadLetterId, OutboxItem};
use jiff::Timestamp;

use crate::StoreError;
use crate::refusal_reason::RefusalReason;
use crate::volatile::VolatileState;

impl VolatileState {
    pub(super) fn drop_dead_letter(
        &mut self,
        workspace: &WorkspaceId,
        id: DeadLetterId,
    ) -> Result<(), StoreError> {
        let place = self.dead_letter_place(workspace, id)?;
        self.revision += 1;
        self.remove_dead_letter(place);
        Ok(())
    }

    /// Erases the texts of dead letters and of their parts.
    pub(super) fn erase_dead_letters(&mut self, is_erased: impl Fn(&DeadLetter) -> bool) {
        for letter in self.dead_letters.iter_mut().filter(|letter| is_erased(letter)) {
            letter.text = None;
            let parts = letter.decision.and_then(|decision| self.dead_parts.get_mut(&decision));
            for part in parts.into_iter().flatten() {
                part.item.text = "".into();
                Arc::make_mut(&mut part.item.metadata).why.clear();
            }
        }
    }

    fn remove_dead_letter(&mut self, place: usize) {
        if let Some(decision) = self.dead_letters.remove(place).decision {
            self.dead_parts.remove(&decision);
        }
    }

    /// Reopens the decision of a dead letter, and drops the letter. If a part was posted already, posting continues
    /// with the next part.
    pub(super) fn retry_dead_letter(
        &mut self,
        workspace: &WorkspaceId,
        id: DeadLetterId,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let place = self.dead_letter_place(workspace, id)?;
        let letter = self.dead_letters[place].clone();
        let conversation = &letter.conversation;
        let record = self.conversations.get(conversation);
        if record.is_some_and(|record| record.pending.step.is_some()) {
            return Err(StoreError::Refused(RefusalReason::DeadLetterBlocked));
        }
        let decision = letter.decision.and_then(|id| self.decisions.get_mut(&id));
        let failed = decision.filter(|row| row.ended == Some(DecisionResult::Failed));
        let gone = || StoreError::Refused(RefusalReason::DeadLetterGone);
        let decision = failed.ok_or_else(gone)?;
        let parts = self.dead_parts.get(&decision.id).map_or(&[][..], Vec::as_slice);
        let items: Vec<OutboxItem> = parts.iter().map(|part| part.item.clone()).collect();
        let rest = match Redelivery::of_parts(&items) {
            Redelivery::Anew => None,
            Redelivery::Continue(part) => Some(part),
            Redelivery::Impossible => {
                return Err(StoreError::Refused(RefusalReason::DeadLetterIncomplete));
            }
        };
        self.revision += 1;
        (decision.closed, decision.ended, decision.gate, decision.why) = (None, None, None, None);
        decision.revision = self.revision;
        let decision = decision.id;
        self.marks.remove(&decision);
        let mut owed = Vec::new();
        for ((in_workspace, asker), of_asker) in &self.once_owed {
            let here = of_asker.iter().filter(|((channel, _), once_owed)| {
                in_workspace == workspace
                    && *channel == conversation.channel
                    && once_owed.thread == conversation.thread
                    && once_owed.closed == Some(letter.at)
            });
            for ((_, message), _) in here {
                let records = record.map_or(&[][..], |record| &record.messages);
                let found = records.iter().find(|found| found.message.id == *message);
                owed.extend(found.filter(|found| found.is_visible()).map(|found| OwedAnswer {
                    at: found.message.at,
                    to: message.clone().into(),
                    asker: asker.clone(),
                }));
            }
        }
        owed.sort();
        if rest.is_some() {
            let parts = self.dead_parts.remove(&decision).unwrap_or_default();
            self.outbox.extend(parts.into_iter().map(|part| (part.item.id, part)));
        }
        let retried = PendingState::try_again(conversation.clone(), decision, owed, rest, now);
        self.change_pending_state(conversation, now, |pending| *pending = retried);
        self.remove_dead_letter(place);
        Ok(())
    }

    fn dead_letter_place(
        &self,
        workspace: &WorkspaceId,
        id: DeadLetterId,
    ) -> Result<usize, StoreError> {
        let is_it =
            |letter: &DeadLetter| letter.id == id && letter.conversation.workspace == *workspace;
        let place = self.dead_letters.iter().position(is_it);
        place.ok_or(StoreError::Refused(RefusalReason::DeadLetterGone))
    }
}
