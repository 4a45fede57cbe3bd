//! Posts that need approval, in memory.

use std::sync::Arc;

use aizuchi_model::chat::{ChannelId, ConversationId, WorkspaceId};
use aizuchi_model::decision::mark::DecisionMark;
use aizuchi_model::decision::proposal::{
    ClosedDecision, Proposal, ProposalChoice, ProposalId, ProposalLabel, ProposalState,
};
use aizuchi_model::decision::{DecisionId, DecisionResult};
use aizuchi_model::event::approval::approved_items;
use aizuchi_model::event::completion::{NewNumbers, NewProposal};
use aizuchi_model::event::{Claim, OutboxItem};
use jiff::Timestamp;

use crate::StoreError;
use crate::query::ProposalQuery;
use crate::refusal_reason::RefusalReason;
use crate::volatile::VolatileState;
use crate::volatile::records::{OutboxRecord, truncate_to_milliseconds};

/// A proposal in its stored state, and the rows that would be posted.
pub(super) struct ProposalRecord {
    pub(super) proposal: Proposal,
    items: Vec<OutboxItem>,
}

impl ProposalRecord {
    fn text(&self) -> Option<Arc<str>> {
        let is_whole = !self.items.is_empty() && self.items.iter().all(|it| !it.text.is_empty());
        let texts: Vec<&str> = self.items.iter().map(|item| &*item.text).collect();
        is_whole.then(|| texts.join("\n\n").into())
    }
}

impl VolatileState {
    /// Holds new rows until a user decides. Also lapses overdue proposals.
    pub(super) fn put_proposal(
        &mut self,
        claim: &Claim,
        items: Vec<OutboxItem>,
        proposal: &NewProposal,
    ) {
        let (Some(first), Some(last)) = (items.first(), items.last()) else { return };
        self.last_number = last.id.0;
        let id = ProposalId(first.id.0);
        let judgment =
            self.decisions.get(&claim.decision).and_then(|decision| decision.judgment.as_ref());
        let proposal = Proposal {
            id,
            decision: claim.decision,
            conversation: first.conversation.clone(),
            text: None,
            original: None,
            about: first.metadata.about.clone(),
            why: None,
            confidence: judgment.map(|judgment| judgment.confidence),
            made: truncate_to_milliseconds(proposal.made),
            expires: truncate_to_milliseconds(proposal.expires),
            state: ProposalState::Open,
            decided: None,
        };
        self.lapse_proposals(proposal.made);
        self.proposals.insert(id, ProposalRecord { proposal, items });
    }

    /// Lapses proposals that were not decided in time: they cannot be approved any more, and their text is erased.
    pub(super) fn lapse_proposals(&mut self, now: Timestamp) {
        let open = self.proposals.values_mut();
        let overdue = open.filter(|it| {
            it.proposal.state == ProposalState::Open
                && it.proposal.expires.as_millisecond() <= now.as_millisecond()
        });
        for record in overdue {
            record.proposal.state = ProposalState::Lapsed;
            record.items.clear();
        }
    }

    /// Erases the original texts of proposals that were edited before `before`.
    pub(super) fn erase_originals(&mut self, before: Timestamp) {
        let decided = |it: &ProposalRecord| it.proposal.decided.as_ref().map(|(_, at)| *at);
        let records = self.proposals.values_mut();
        let old = records.filter(|record| decided(record).is_some_and(|at| at < before));
        old.for_each(|record| record.items.clear());
    }

    /// Erases the texts of proposals that may quote an erased message. They cannot be approved any more.
    pub(super) fn erase_proposals(&mut self, is_erased: impl Fn(DecisionId) -> bool) {
        let records = self.proposals.values_mut();
        for record in records.filter(|record| is_erased(record.proposal.decision)) {
            record.items.clear();
        }
    }

    /// Decides a proposal once: the first choice counts.
    pub(super) fn decide_proposal(
        &mut self,
        workspace: &WorkspaceId,
        id: ProposalId,
        choice: &ProposalChoice,
        by: Arc<str>,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let refused = |reason| Err(StoreError::Refused(reason));
        let found = self.proposals.get(&id);
        let found = found.filter(|it| it.proposal.conversation.workspace == *workspace);
        let Some(record) = found else { return refused(RefusalReason::ProposalGone) };
        match record.proposal.state {
            ProposalState::Open => {}
            ProposalState::Lapsed => return refused(RefusalReason::ProposalLapsed),
            ProposalState::Approved
            | ProposalState::Edited
            | ProposalState::Declined
            | ProposalState::Never => return refused(RefusalReason::ProposalDecided),
        }
        let is_overdue = record.proposal.expires.as_millisecond() <= now.as_millisecond();
        if is_overdue || record.text().is_none() {
            return refused(RefusalReason::ProposalLapsed);
        }
        let decision = record.proposal.decision;
        let conversation = record.proposal.conversation.clone();
        let installation = self.installation.clone();
        let numbers = NewNumbers { last_id: self.last_number, installation: &installation };
        let items = match choice {
            ProposalChoice::SayIt => approved_items(&record.items, None, numbers),
            ProposalChoice::Edit(texts) => {
                approved_items(&record.items, Some(texts.as_slice()), numbers)
            }
            ProposalChoice::NotNow | ProposalChoice::NeverLikeThis => Vec::new(),
        };
        if choice.state().is_approved() {
            self.approve(decision, &conversation, items, now)?;
        }
        self.revision += 1;
        if let Some(record) = self.proposals.get_mut(&id) {
            match choice {
                // The original texts are kept.
                ProposalChoice::Edit(_) => {}
                ProposalChoice::SayIt | ProposalChoice::NotNow | ProposalChoice::NeverLikeThis => {
                    record.items.clear();
                }
            }
            record.proposal.state = choice.state();
            record.proposal.decided = Some((by.clone(), now));
        }
        let mark = choice.mark();
        self.marks.insert(decision, DecisionMark { decision, mark, by, at: now });
        let revision = self.revision;
        self.decisions.entry(decision).and_modify(|row| row.revision = revision);
        self.offer_trust((conversation.workspace, conversation.channel, id), now);
        Ok(())
    }

    /// Reopens the decision, and makes posting its text the next step.
    fn approve(
        &mut self,
        decision: DecisionId,
        conversation: &ConversationId,
        items: Vec<OutboxItem>,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let gone = || StoreError::Refused(RefusalReason::ProposalGone);
        let first = items.first().cloned().ok_or_else(gone)?;
        let row = self.decisions.get(&decision);
        row.filter(|row| row.ended == Some(DecisionResult::Proposed)).ok_or_else(gone)?;
        let approval = self.change_pending_state(conversation, now, |pending| {
            pending.post_approved(first, decision, now)
        });
        let blocked = || StoreError::Refused(RefusalReason::ProposalBlocked);
        let approval = approval.ok_or_else(blocked)?;
        if let Some(absorbed) = approval.absorbed {
            self.absorb_decision(decision, absorbed, conversation);
        }
        if let Some(row) = self.decisions.get_mut(&decision) {
            (row.closed, row.ended, row.gate, row.why) = (None, None, None, None);
        }
        for item in items {
            self.last_number = item.id.0;
            let is_unsolicited = item.reaction_to.is_none();
            let record = OutboxRecord { item, is_posted: false, is_unsolicited };
            self.outbox.insert(record.item.id, record);
        }
        Ok(())
    }

    /// Moves everything that belongs to one decision to another.
    fn absorb_decision(
        &mut self,
        decision: DecisionId,
        absorbed: DecisionId,
        conversation: &ConversationId,
    ) {
        let record = self.conversations.entry(conversation.clone()).or_default();
        let messages = record.messages.iter_mut();
        for message in messages.filter(|message| message.decision == Some(absorbed)) {
            message.decision = Some(decision);
        }
        let attempts = self.decisions.remove(&absorbed).map(|row| row.attempts);
        if let Some(row) = self.decisions.get_mut(&decision) {
            row.attempts.extend(attempts.unwrap_or_default());
        }
        let exchanges = self.exchanges.remove(&absorbed).unwrap_or_default();
        self.exchanges.entry(decision).or_default().extend(exchanges);
        self.judged_revision.remove(&absorbed);
    }

    pub(super) fn current_proposals(&self, query: &ProposalQuery, now: Timestamp) -> Vec<Proposal> {
        let newest = self.proposals.values().rev().filter(|record| {
            let workspace = &record.proposal.conversation.workspace;
            query.workspace.as_ref().is_none_or(|wanted| wanted == workspace)
                && query.decision.is_none_or(|wanted| wanted == record.proposal.decision)
                && query.before.is_none_or(|before| record.proposal.id < before)
        });
        let current = newest.filter_map(|record| {
            let decision = self.decisions.get(&record.proposal.decision)?;
            let is_addressed = decision.is_addressed;
            let closed = decision.ended.map(|ended| ClosedDecision { ended, is_addressed });
            let proposal = Proposal {
                text: record.text(),
                original: record.text(),
                why: decision.why.as_deref().map(Arc::from),
                ..record.proposal.clone()
            };
            Some(proposal.at(now, closed))
        });
        current.take(query.limit).collect()
    }

    pub(super) fn proposal_labels(
        &self,
        workspace: &WorkspaceId,
        limit: usize,
    ) -> Vec<(ChannelId, ProposalLabel)> {
        let of_workspace = self.proposals.values().map(|record| &record.proposal);
        let of_workspace =
            of_workspace.filter(|proposal| proposal.conversation.workspace == *workspace);
        let mut decided: Vec<(Timestamp, &Proposal)> = of_workspace
            .filter_map(|proposal| Some((proposal.decided.as_ref()?.1, proposal)))
            .collect();
        decided.sort_by_key(|(at, proposal)| std::cmp::Reverse((*at, proposal.id)));
        let labels = decided.into_iter().filter_map(|(_, proposal)| {
            let is_approved = proposal.state.is_approved();
            let (confidence, decided) = (proposal.confidence?, proposal.decided.as_ref()?.1);
            let label = ProposalLabel { confidence, is_approved, decided };
            Some((proposal.conversation.channel.clone(), label))
        });
        labels.take(limit).collect()
    }
}
