//! The ledger: how its decisions are opened and retired, and what they forget.

use jiff::Timestamp;

use crate::chat::{ConversationId, MessageId};
use crate::decision::{AttemptResult, Decision, DecisionFollowUp, DecisionId};
use crate::memory::MessageRef;
use crate::store::volatile::VolatileState;
use crate::store::volatile::records::ExchangeRecord;

impl VolatileState {
    pub(super) fn open_decision(
        &mut self,
        id: DecisionId,
        conversation: &ConversationId,
        addressed: bool,
        at: Timestamp,
    ) {
        self.last_number = self.last_number.max(id.0);
        let decision = Decision {
            id,
            conversation: conversation.clone(),
            opened: at,
            closed: None,
            messages: Vec::new(),
            is_addressed: addressed,
            evaluation: None,
            gate: None,
            judgment: None,
            state_hash: None,
            ended: None,
            why: None,
            is_expired: false,
            posted_messages: Vec::new(),
            reaction: None,
            follow_up: DecisionFollowUp::default(),
            attempts: Vec::new(),
            revision: self.revision,
        };
        self.decisions.insert(id, decision);
    }

    /// Removes an edited or deleted message from prompts, from what models wrote about it, and from answers that could
    /// not be posted.
    pub(super) fn forget_exchanges(&mut self, conversation: &ConversationId, message: &MessageId) {
        let message_ref = MessageRef(conversation.channel.clone(), message.clone());
        // A prompt may hold messages of other channels.
        let is_same_workspace = |other: &ConversationId| other.workspace == conversation.workspace;
        let covering_decision =
            self.message_mut(conversation, message).and_then(|record| record.decision);
        let mut forgotten = Vec::new();
        let revision = self.revision;
        for (id, decision) in &mut self.decisions {
            let exchanges = self.exchanges.get_mut(id).map_or(&mut [][..], Vec::as_mut_slice);
            let is_held = |record: &Option<ExchangeRecord>| {
                record
                    .as_ref()
                    .is_some_and(|record| record.exchange.lineage.messages.contains(&message_ref))
            };
            let has_held =
                is_same_workspace(&decision.conversation) && exchanges.iter().any(is_held);
            if has_held || covering_decision == Some(*id) {
                forget_reasons(decision, revision);
                forgotten.push(*id);
            }
            if has_held {
                let held = exchanges.iter_mut().filter(|record| is_held(record)).flatten();
                held.for_each(ExchangeRecord::clear_text);
            }
        }
        self.erase_dead_letters(|letter| {
            letter.decision.is_some_and(|decision| forgotten.contains(&decision))
        });
        self.erase_proposals(|decision| forgotten.contains(&decision));
        self.erase_consents(|decision| forgotten.contains(&decision));
    }
}

/// Judgments and drafts that no longer count stay in the ledger, marked as such.
pub(super) fn retire(decision: &mut Decision, result: AttemptResult) {
    decision.judgment = None;
    for attempt in &mut decision.attempts {
        if attempt.result == AttemptResult::Kept {
            attempt.result = result;
        }
    }
}

/// A model's reasons may quote messages.
pub(super) fn forget_reasons(decision: &mut Decision, revision: u64) {
    let attempts = decision.attempts.iter_mut().filter_map(|attempt| attempt.judgment.as_mut());
    attempts.for_each(|judgment| judgment.reason.clear());
    if let Some(judgment) = &mut decision.judgment {
        judgment.reason.clear();
        decision.why = None;
        decision.revision = revision;
    }
}
