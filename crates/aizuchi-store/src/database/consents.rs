//! Calls that need a user's consent: stored with the draft that announces them, decided and made at most once, and
//! reported.

use aizuchi_model::chat::{ConversationId, MessageId, UserId, WorkspaceId};
use aizuchi_model::decision::DecisionId;
use aizuchi_model::decision::consent::{
    CallAnswer, Consent, ConsentId, ConsentState, ConsentStep, NewConsent,
};
use aizuchi_model::flow::Claim;
use aizuchi_model::flow::outbox::OutboxItem;
use aizuchi_model::flow::step::OwedAnswer;
use jiff::Timestamp;
use serde_json::json;

use crate::StoreError;
use crate::database::connection::{Connection, Row, query};
use crate::database::{Counters, hear, rows, sql};
use crate::order_journal::ORDER_RETENTION;
use crate::refusal_reason::RefusalReason;

/// Stores the calls that a new draft asks consent for.
pub async fn put(
    connection: &mut Connection,
    counters: &mut Counters,
    claim: &Claim,
    draft: &OutboxItem,
    wanted: &[NewConsent],
) -> Result<(), StoreError> {
    let conversation = &draft.conversation;
    for new in wanted {
        counters.last_number += 1;
        let put = query(sql::consents::PUT_CONSENT)
            .bind(counters.last_number)
            .bind(conversation.workspace.as_str())
            .bind(conversation.channel.as_str())
            .bind(rows::thread_column(conversation))
            .bind(json!(new.messages).to_string())
            .bind(i64::from(new.is_addressed))
            .bind(claim.decision.0)
            .bind(draft.first_in_draft.0)
            .bind(&*new.tool)
            .bind(&*new.arguments)
            .bind(json!(draft.metadata.lineage).to_string())
            .bind(draft.metadata.seen_revision.number() as i64)
            .bind(new.made.as_millisecond())
            .bind(new.expires.as_millisecond())
            .bind(counters.revision as i64);
        put.execute(&mut *connection).await?;
    }
    Ok(())
}

/// Opens the consents of a draft that is posted at `now`: users may decide them from now on.
pub async fn open(
    connection: &mut Connection,
    counters: &Counters,
    item: &OutboxItem,
    now: Timestamp,
) -> Result<(), StoreError> {
    let open = query(sql::consents::OPEN_CONSENTS)
        .bind(item.first_in_draft.0)
        .bind(counters.revision as i64)
        .bind(now.as_millisecond());
    open.execute(connection).await?;
    Ok(())
}

/// Settles the consents whose outcome was reported, as known at that revision, to the authors of these messages.
pub async fn settle_reported(
    connection: &mut Connection,
    conversation: &ConversationId,
    messages: &[MessageId],
    seen_revision: Option<u64>,
) -> Result<(), StoreError> {
    if messages.is_empty() {
        return Ok(());
    }
    let messages = json!(messages);
    let settle = query(sql::consents::SETTLE_CONSENTS)
        .bind(conversation.workspace.as_str())
        .bind(conversation.channel.as_str())
        .bind(rows::thread_column(conversation))
        .bind(messages.to_string())
        .bind(seen_revision.map_or(i64::MAX, |revision| revision as i64));
    settle.execute(connection).await?;
    Ok(())
}

/// Advances the state of a consent, if the transition is valid.
pub async fn take_step(
    connection: &mut Connection,
    counters: &mut Counters,
    (workspace, id): (&WorkspaceId, ConsentId),
    step: &ConsentStep,
    now: Timestamp,
) -> Result<(), StoreError> {
    let consent = find(connection, workspace, id).await?;
    if *step == ConsentStep::Owe {
        return owe(connection, counters, consent, now).await;
    }
    let next = consent.after(step, now);
    let next = next.map_err(|problem| StoreError::Refused(problem.into()))?;
    counters.revision += 1;
    change(connection, &Consent { revision: counters.revision, ..next }).await?;
    let touch = query(sql::decisions::TOUCH_DECISION);
    let touch = touch.bind(consent.decision.0).bind(counters.revision as i64);
    touch.execute(connection).await?;
    Ok(())
}

pub async fn find(
    connection: &mut Connection,
    workspace: &WorkspaceId,
    id: ConsentId,
) -> Result<Consent, StoreError> {
    let found = query(sql::consents::CONSENT).bind(workspace.as_str()).bind(id.0);
    let found = found.fetch_optional(connection).await?;
    from_row(&found.ok_or(StoreError::Refused(RefusalReason::ConsentGone))?)
}

/// Owes all askers an answer about the outcome, unless one is owed already. If all their messages are gone, no one is
/// owed anything.
async fn owe(
    connection: &mut Connection,
    counters: &mut Counters,
    consent: Consent,
    now: Timestamp,
) -> Result<(), StoreError> {
    if consent.is_settled || !consent.state.is_final() {
        return Ok(());
    }
    let conversation = &consent.conversation;
    let mut is_gone = true;
    for message in &consent.messages {
        let asker = query(sql::consents::CONSENT_ASKER)
            .bind(conversation.workspace.as_str())
            .bind(conversation.channel.as_str())
            .bind(message.as_str());
        let Some(asker) = asker.fetch_optional(&mut *connection).await? else { continue };
        is_gone = false;
        let owed = OwedAnswer {
            at: rows::to_timestamp(rows::column(&asker, "at_ms")?)?,
            to: message.clone().into(),
            asker: UserId::new(rows::column::<String>(&asker, "author")?),
        };
        hear::owe_again(connection, counters, conversation, owed, now).await?;
    }
    if is_gone {
        counters.revision += 1;
        let revision = counters.revision;
        change(connection, &Consent { revision, ..consent.settled() }).await?;
    }
    Ok(())
}

async fn change(connection: &mut Connection, consent: &Consent) -> Result<(), StoreError> {
    let (by, at) = match &consent.decided {
        Some((by, at)) => (Some(&**by), Some(at.as_millisecond())),
        None => (None, None),
    };
    let change = query(sql::consents::CHANGE_CONSENT)
        .bind(consent.id.0)
        .bind(consent.state.name())
        .bind(consent.arguments.as_deref().unwrap_or_default())
        .bind(consent.answer.as_ref().map(|answer| json!(answer).to_string()))
        .bind(by)
        .bind(at)
        .bind(consent.until.map(Timestamp::as_millisecond))
        .bind(i64::from(consent.is_settled))
        .bind(consent.revision as i64);
    change.execute(connection).await?;
    Ok(())
}

pub fn from_row(row: &Row) -> Result<Consent, StoreError> {
    let state: ConsentState = rows::parse_name(&rows::column::<String>(row, "state")?)?;
    let arguments: String = rows::column(row, "arguments")?;
    let answer: Option<String> = rows::column(row, "answer")?;
    let answer: Option<CallAnswer> = answer.map(|it| rows::parse_json(&it)).transpose()?;
    let decided_by: Option<String> = rows::column(row, "decided_by")?;
    let decided_at = rows::optional_time(row, "decided_ms")?;
    Ok(Consent {
        id: ConsentId(rows::column(row, "id")?),
        decision: DecisionId(rows::column(row, "decision")?),
        conversation: rows::conversation_from_row(row)?,
        messages: rows::parse_json(&rows::column::<String>(row, "messages")?)?,
        is_addressed: rows::column(row, "is_addressed")?,
        tool: rows::column::<String>(row, "tool")?.into(),
        arguments: (!arguments.is_empty()).then(|| arguments.into()),
        lineage: rows::parse_json(&rows::column::<String>(row, "lineage")?)?,
        seen_revision: rows::to_unsigned(rows::column(row, "seen")?)?.into(),
        made: rows::to_timestamp(rows::column(row, "made_ms")?)?,
        expires: rows::to_timestamp(rows::column(row, "expires_ms")?)?,
        state,
        decided: decided_by.map(Into::into).zip(decided_at),
        until: rows::optional_time(row, "until_ms")?,
        answer,
        is_settled: rows::column(row, "is_settled")?,
        revision: rows::to_unsigned(rows::column(row, "revision")?)?,
    })
}

/// Drops settled consents past the retention of the journal.
pub async fn drop_old(connection: &mut Connection, now: Timestamp) -> Result<(), StoreError> {
    let before = now.checked_sub(ORDER_RETENTION).unwrap_or(Timestamp::MIN);
    let drop = query(sql::consents::DROP_OLD_CONSENTS).bind(before.as_millisecond());
    drop.execute(connection).await?;
    Ok(())
}

/// Converts rows to consents with their states at `now`.
pub fn from_rows(rows: &[Row], now: Timestamp) -> Result<Vec<Consent>, StoreError> {
    rows.iter().map(|row| Ok(from_row(row)?.at(now))).collect()
}
