//! Proposals, which need approval before they are posted: stores them, decides each exactly once, and reads them.

use std::collections::HashSet;
use std::sync::Arc;

use aizuchi_model::chat::{ConversationId, WorkspaceId};
use aizuchi_model::decision::proposal::{
    ClosedDecision, Proposal, ProposalChoice, ProposalId, ProposalState,
};
use aizuchi_model::decision::{DecisionId, DecisionResult, Judgment};
use aizuchi_model::flow::Claim;
use aizuchi_model::flow::approval::approved_items;
use aizuchi_model::flow::completion::{NewNumbers, NewProposal};
use aizuchi_model::flow::outbox::{DraftMetadata, OutboxItem};
use jiff::Timestamp;

use crate::StoreError;
use crate::database::connection::{BindValue, Connection, Row, query};
use crate::database::outbox::{self, ItemOwner};
use crate::database::pending_states::PendingStates;
use crate::database::{Counters, marks, rows, sql, trust};
use crate::refusal_reason::RefusalReason;

/// The part of a proposal that is needed to decide it.
struct StoredProposal {
    id: ProposalId,
    decision: DecisionId,
    conversation: ConversationId,
    state: ProposalState,
    expires: Timestamp,
}

/// Holds the new rows of a draft in the outbox until a user decides. Also lapses overdue proposals.
pub async fn put(
    connection: &mut Connection,
    claim: &Claim,
    items: &[OutboxItem],
    proposal: &NewProposal,
) -> Result<(), StoreError> {
    let Some(first) = items.first() else { return Ok(()) };
    lapse(connection, proposal.made).await?;
    let verdict =
        query(sql::proposals::VERDICT).bind(claim.decision.0).fetch_one(&mut *connection).await?;
    let verdict: Option<String> = rows::column(&verdict, "judgment")?;
    let verdict: Option<Judgment> =
        verdict.map(|verdict| rows::parse_json(&verdict)).transpose()?;
    let conversation = &first.conversation;
    let put = query(sql::proposals::PUT_PROPOSAL)
        .bind(first.id.0)
        .bind(conversation.workspace.as_str())
        .bind(conversation.channel.as_str())
        .bind(rows::thread_column(conversation))
        .bind(claim.decision.0)
        .bind(BindValue::Real(verdict.map(|verdict| verdict.confidence)))
        .bind(proposal.made.as_millisecond())
        .bind(proposal.expires.as_millisecond());
    put.execute(&mut *connection).await?;
    query(sql::proposals::HOLD_OUTBOX_ITEMS).bind(first.id.0).execute(connection).await?;
    Ok(())
}

/// Lapses proposals that were not decided in time: they cannot be approved any more, and their text is erased.
pub async fn lapse(connection: &mut Connection, now: Timestamp) -> Result<(), StoreError> {
    // In this order: the items are found through proposals that are still open.
    for statement in [sql::proposals::ERASE_LAPSED_ITEMS, sql::proposals::LAPSE_PROPOSALS] {
        query(statement).bind(now.as_millisecond()).execute(&mut *connection).await?;
    }
    Ok(())
}

/// Decides a proposal once: the first choice counts.
pub async fn decide(
    connection: &mut Connection,
    counters: &mut Counters,
    (workspace, id): (&WorkspaceId, ProposalId),
    choice: &ProposalChoice,
    by: &str,
    now: Timestamp,
) -> Result<(), StoreError> {
    let refused = |reason| Err(StoreError::Refused(reason));
    let found = query(sql::proposals::PROPOSAL).bind(workspace.as_str()).bind(id.0);
    let Some(row) = found.fetch_optional(&mut *connection).await? else {
        return refused(RefusalReason::ProposalGone);
    };
    let proposal = stored_proposal(&row)?;
    let items =
        query(sql::proposals::PROPOSED_ITEMS).bind(id.0).fetch_all(&mut *connection).await?;
    let items: Vec<OutboxItem> =
        items.iter().map(rows::outbox_item_from_row).collect::<Result<_, _>>()?;
    match proposal.state {
        ProposalState::Open => {}
        ProposalState::Lapsed => return refused(RefusalReason::ProposalLapsed),
        ProposalState::Approved
        | ProposalState::Edited
        | ProposalState::Declined
        | ProposalState::Never => return refused(RefusalReason::ProposalDecided),
    }
    // An overdue proposal stays open in the table until the next `lapse`. If a message behind it was edited or deleted,
    // its text has been erased.
    let is_overdue = proposal.expires.as_millisecond() <= now.as_millisecond();
    if is_overdue || items.is_empty() || items.iter().any(|item| item.text.is_empty()) {
        return refused(RefusalReason::ProposalLapsed);
    }
    counters.revision += 1;
    match choice {
        ProposalChoice::SayIt => {
            approve(connection, counters, &proposal, &items, None, now).await?
        }
        ProposalChoice::Edit(texts) => {
            approve(connection, counters, &proposal, &items, Some(texts.as_slice()), now).await?;
        }
        ProposalChoice::NotNow | ProposalChoice::NeverLikeThis => {}
    }
    let end_proposed = match choice {
        ProposalChoice::Edit(_) => sql::proposals::KEEP_ORIGINAL_ITEMS,
        ProposalChoice::SayIt | ProposalChoice::NotNow | ProposalChoice::NeverLikeThis => {
            sql::proposals::ERASE_PROPOSED_ITEMS
        }
    };
    query(end_proposed).bind(id.0).execute(&mut *connection).await?;
    let decide = query(sql::proposals::DECIDE_PROPOSAL)
        .bind(id.0)
        .bind(choice.state().name())
        .bind(by)
        .bind(now.as_millisecond());
    decide.execute(&mut *connection).await?;
    marks::put(connection, workspace, (proposal.decision, choice.mark()), by, now).await?;
    let touch = query(sql::decisions::TOUCH_DECISION);
    let touch = touch.bind(proposal.decision.0).bind(counters.revision as i64);
    touch.execute(&mut *connection).await?;
    let click = (workspace, &proposal.conversation.channel, id);
    trust::after_click(connection, click, now).await
}

/// Reopens the decision, and makes posting its text the next step.
async fn approve(
    connection: &mut Connection,
    counters: &mut Counters,
    proposal: &StoredProposal,
    proposed: &[OutboxItem],
    edited: Option<&[String]>,
    now: Timestamp,
) -> Result<(), StoreError> {
    let gone = || StoreError::Refused(RefusalReason::ProposalGone);
    let installation = counters.installation.clone();
    let numbers = NewNumbers { last_id: counters.last_number, installation: &installation };
    let items = approved_items(proposed, edited, numbers);
    let first = items.first().cloned().ok_or_else(gone)?;
    let decision = proposal.decision;
    let reopen =
        query(sql::proposals::REOPEN_DECISION).bind(decision.0).bind(counters.revision as i64);
    if reopen.execute(&mut *connection).await? == 0 {
        return Err(gone());
    }
    let conversation = &proposal.conversation;
    let mut states = PendingStates::read(connection, &HashSet::from([conversation])).await?;
    let approval = states.entry(conversation).post_approved(first, decision, now);
    let Some(approval) = approval else {
        // The error rolls back the transaction, and with it the reopening above.
        return Err(StoreError::Refused(RefusalReason::ProposalBlocked));
    };
    if let Some(absorbed) = approval.absorbed {
        let statements = [
            sql::proposals::ABSORB_MESSAGES,
            sql::proposals::ABSORB_ATTEMPTS,
            sql::proposals::ABSORB_OUTBOX_ITEMS,
        ];
        for statement in statements {
            let absorb = query(statement).bind(decision.0).bind(absorbed.0);
            absorb.execute(&mut *connection).await?;
        }
        query(sql::proposals::DROP_DECISION).bind(absorbed.0).execute(&mut *connection).await?;
    }
    let owner = ItemOwner { decision, is_owed: false };
    for item in &items {
        counters.last_number = item.id.0;
        outbox::put_item(connection, owner, item).await?;
    }
    states.write(connection, now.as_millisecond()).await
}

fn stored_proposal(row: &Row) -> Result<StoredProposal, StoreError> {
    Ok(StoredProposal {
        id: ProposalId(rows::column(row, "id")?),
        decision: DecisionId(rows::column(row, "decision")?),
        conversation: rows::conversation_from_row(row)?,
        state: rows::parse_name(&rows::column::<String>(row, "state")?)?,
        expires: rows::to_timestamp(rows::column(row, "expires_ms")?)?,
    })
}

/// Converts a row to a proposal with its state at `now`.
pub fn from_row(row: &Row, now: Timestamp) -> Result<Proposal, StoreError> {
    let stored = stored_proposal(row)?;
    let texts: Vec<String> = rows::parse_json(&rows::column::<String>(row, "texts")?)?;
    let is_whole = !texts.is_empty() && texts.iter().all(|text| !text.is_empty());
    let metadata: Option<DraftMetadata> = rows::column::<Option<String>>(row, "notes")?
        .map(|it| rows::parse_json(&it))
        .transpose()?;
    let ended: Option<DecisionResult> = rows::column::<Option<String>>(row, "ended")?
        .map(|it| rows::parse_name(&it))
        .transpose()?;
    let is_addressed = rows::column(row, "is_addressed")?;
    let decided_by: Option<String> = rows::column(row, "decided_by")?;
    let decided_at = rows::optional_time(row, "decided_ms")?;
    let text: Option<Arc<str>> = is_whole.then(|| texts.join("\n\n").into());
    let proposal = Proposal {
        id: stored.id,
        decision: stored.decision,
        conversation: stored.conversation,
        original: text.clone(),
        text,
        about: metadata.and_then(|metadata| metadata.about),
        why: rows::column::<Option<String>>(row, "why")?.map(Arc::from),
        confidence: rows::column(row, "confidence")?,
        made: rows::to_timestamp(rows::column(row, "made_ms")?)?,
        expires: stored.expires,
        state: stored.state,
        decided: decided_by.map(Arc::from).zip(decided_at),
    };
    Ok(proposal.at(now, ended.map(|ended| ClosedDecision { ended, is_addressed })))
}
