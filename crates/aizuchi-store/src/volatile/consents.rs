//! Calls that need a user's consent, in memory.

use aizuchi_model::chat::{ConversationId, MessageId, UserId, WorkspaceId};
use aizuchi_model::decision::DecisionId;
use aizuchi_model::decision::consent::{Consent, ConsentId, ConsentState, ConsentStep, NewConsent};
use aizuchi_model::event::step::OwedAnswer;
use aizuchi_model::event::{Claim, OutboxItem, OutboxItemId};
use aizuchi_model::memory::asker::signer;
use jiff::Timestamp;

use crate::order_journal::ORDER_RETENTION;
use crate::query::ConsentQuery;
use crate::refusal_reason::RefusalReason;
use crate::volatile::VolatileState;
use crate::volatile::records::truncate_to_milliseconds;
use crate::{FORGOTTEN_USER_ID, StoreError};

/// A consent, and the draft that announces it.
pub(super) struct ConsentRecord {
    pub(super) consent: Consent,
    draft: OutboxItemId,
}

impl VolatileState {
    /// Stores the calls that a new draft asks consent for.
    pub(super) fn put_consents(
        &mut self,
        claim: &Claim,
        draft: &OutboxItem,
        wanted: Vec<NewConsent>,
    ) {
        for new in wanted {
            self.last_number += 1;
            let consent = Consent {
                id: ConsentId(self.last_number),
                decision: claim.decision,
                conversation: draft.conversation.clone(),
                messages: new.messages,
                is_addressed: new.is_addressed,
                tool: new.tool,
                arguments: Some(new.arguments),
                lineage: draft.metadata.lineage.clone(),
                seen_revision: draft.metadata.seen_revision,
                made: truncate_to_milliseconds(new.made),
                expires: truncate_to_milliseconds(new.expires),
                state: ConsentState::Drafted,
                decided: None,
                until: None,
                answer: None,
                is_settled: false,
                revision: self.revision,
            };
            let record = ConsentRecord { consent, draft: draft.first_in_draft };
            self.consents.insert(record.consent.id, record);
        }
    }

    /// Opens the consents of a draft that is posted at `now`: users may decide them from now on.
    pub(super) fn open_consents(&mut self, item: &OutboxItem, now: Timestamp) {
        let (revision, now) = (self.revision, truncate_to_milliseconds(now));
        let of_draft = self.consents.values_mut().filter(|it| it.draft == item.first_in_draft);
        for ConsentRecord { consent, .. } in of_draft {
            if consent.state == ConsentState::Drafted {
                let expires = now + consent.expires.duration_since(consent.made);
                (consent.state, consent.expires) = (ConsentState::Open, expires);
                consent.revision = revision;
            }
        }
    }

    /// Settles the consents whose outcome was reported, as known at that revision, to the authors of these messages.
    pub(super) fn settle_reported_consents(
        &mut self,
        conversation: &ConversationId,
        messages: &[MessageId],
        seen_revision: Option<u64>,
    ) {
        let seen = seen_revision.unwrap_or(u64::MAX);
        for ConsentRecord { consent, .. } in self.consents.values_mut() {
            let is_reported = consent.conversation == *conversation
                && consent.messages.iter().any(|message| messages.contains(message))
                && consent.state.is_final()
                && consent.revision <= seen;
            if is_reported {
                *consent = consent.clone().settled();
            }
        }
    }

    /// Advances the state of a consent, if the transition is valid.
    pub(super) fn take_consent_step(
        &mut self,
        workspace: &WorkspaceId,
        id: ConsentId,
        step: &ConsentStep,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let consent = self.find_consent(workspace, id)?.clone();
        if *step == ConsentStep::Owe {
            self.owe_report(consent, now);
            return Ok(());
        }
        let next = consent.after(step, now);
        let next = next.map_err(|problem| StoreError::Refused(problem.into()))?;
        self.change_consent(next);
        let revision = self.revision;
        self.decisions.entry(consent.decision).and_modify(|row| row.revision = revision);
        Ok(())
    }

    pub(super) fn find_consent(
        &self,
        workspace: &WorkspaceId,
        id: ConsentId,
    ) -> Result<&Consent, StoreError> {
        let found = self.consents.get(&id).map(|record| &record.consent);
        let found = found.filter(|consent| consent.conversation.workspace == *workspace);
        found.ok_or(StoreError::Refused(RefusalReason::ConsentGone))
    }

    fn change_consent(&mut self, next: Consent) {
        self.revision += 1;
        let revision = self.revision;
        let until = next.until.map(truncate_to_milliseconds);
        if let Some(record) = self.consents.get_mut(&next.id) {
            record.consent = Consent { until, revision, ..next };
        }
    }

    /// Owes all askers an answer about the outcome, unless one is owed already. If all their messages are gone, no one
    /// is owed anything.
    fn owe_report(&mut self, consent: Consent, now: Timestamp) {
        if consent.is_settled || !consent.state.is_final() {
            return;
        }
        let conversation = consent.conversation.clone();
        let mut is_gone = true;
        for message in &consent.messages {
            let asked = self.message_mut(&conversation, message);
            let Some(asked) = asked.filter(|asked| !asked.is_deleted && !asked.is_redacted) else {
                continue;
            };
            is_gone = false;
            let (asker, at) = (asked.message.author.id.clone(), asked.message.at);
            let owed = OwedAnswer { at, to: message.clone().into(), asker };
            let decision = DecisionId(self.last_number + 1);
            let effect = self.change_pending_state(&conversation, now, |pending| {
                pending.owe_again(owed, &conversation, now, decision)
            });
            if let Some(effect) = effect {
                self.revision += 1;
                self.apply_arrival(&conversation, effect, now);
            }
        }
        if is_gone {
            self.change_consent(consent.settled());
        }
    }

    /// Erases the arguments of calls that may quote an erased message. Such a call is not made any more.
    pub(super) fn erase_consents(&mut self, is_erased: impl Fn(DecisionId) -> bool) {
        let records = self.consents.values_mut().map(|record| &mut record.consent);
        for consent in records.filter(|consent| is_erased(consent.decision)) {
            (consent.arguments, consent.answer) = (None, None);
        }
    }

    /// Drops texts older than the retention of prompts.
    pub(super) fn drop_consent_texts(&mut self, before: Timestamp) {
        for ConsentRecord { consent, .. } in self.consents.values_mut() {
            if consent.made.as_millisecond() < before.as_millisecond() {
                (consent.arguments, consent.answer) = (None, None);
            }
        }
    }

    /// Drops settled consents past the retention of the journal.
    pub(super) fn drop_old_consents(&mut self, now: Timestamp) {
        let before = now.checked_sub(ORDER_RETENTION).unwrap_or(Timestamp::MIN);
        self.consents.retain(|_, ConsentRecord { consent, .. }| {
            !consent.is_settled || consent.made.as_millisecond() >= before.as_millisecond()
        });
    }

    /// Keeps the user's decisions about calls, without their name.
    pub(super) fn forget_consents_of(&mut self, workspace: &WorkspaceId, user: &UserId) {
        let records = self.consents.values_mut().map(|record| &mut record.consent);
        for consent in records.filter(|it| it.conversation.workspace == *workspace) {
            if let Some((by, _)) = &mut consent.decided
                && signer(by) == Some(user.as_str())
            {
                *by = FORGOTTEN_USER_ID.into();
            }
        }
    }

    pub(super) fn current_consents(&self, query: &ConsentQuery, now: Timestamp) -> Vec<Consent> {
        let newest = self.consents.values().rev().map(|record| &record.consent);
        let wanted = newest.filter(|consent| {
            let workspace = &consent.conversation.workspace;
            query.workspace.as_ref().is_none_or(|wanted| wanted == workspace)
                && query.decision.is_none_or(|decision| decision == consent.decision)
                && query.before.is_none_or(|before| consent.id < before)
                && consent.state != ConsentState::Drafted
        });
        wanted.take(query.limit).map(|consent| consent.clone().at(now)).collect()
    }

    pub(super) fn unsettled_consents(&self) -> Vec<Consent> {
        let all = self.consents.values().map(|record| &record.consent);
        all.filter(|consent| !consent.is_settled).cloned().collect()
    }
}
