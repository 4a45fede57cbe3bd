//! The operator's actions on a dead letter: drop it, or retry its decision.

use std::collections::HashSet;

use aizuchi_model::chat::{MessageId, UserId, WorkspaceId};
use aizuchi_model::decision::DecisionId;
use aizuchi_model::flow::dead_letter::Redelivery;
use aizuchi_model::flow::outbox::OutboxItem;
use aizuchi_model::flow::step::{OwedAnswer, PendingState};
use aizuchi_model::flow::{DeadLetter, DeadLetterId};
use jiff::Timestamp;

use crate::StoreError;
use crate::database::connection::{Connection, Row, query};
use crate::database::pending_states::PendingStates;
use crate::database::{Counters, rows, sql};
use crate::refusal_reason::RefusalReason;

/// Drops a dead letter, and the text that could not be posted.
pub async fn drop(
    connection: &mut Connection,
    counters: &mut Counters,
    workspace: &WorkspaceId,
    id: DeadLetterId,
) -> Result<(), StoreError> {
    let letter = find(connection, workspace, id).await?;
    counters.revision += 1;
    erase(connection, &letter).await
}

/// Reopens the decision of a dead letter, and drops the letter. If a part was posted already, posting continues with
/// the next part.
pub async fn retry(
    connection: &mut Connection,
    counters: &mut Counters,
    workspace: &WorkspaceId,
    id: DeadLetterId,
    now: Timestamp,
) -> Result<(), StoreError> {
    let letter = find(connection, workspace, id).await?;
    let conversation = &letter.conversation;
    let mut states = PendingStates::read(connection, &HashSet::from([conversation])).await?;
    if states.entry(conversation).step.is_some() {
        return Err(StoreError::Refused(RefusalReason::DeadLetterBlocked));
    }
    let in_conversation = |statement| {
        query(statement)
            .bind(conversation.workspace.as_str())
            .bind(conversation.channel.as_str())
            .bind(rows::thread_column(conversation))
            // The letter was written with the time at which the owed answers were closed.
            .bind(letter.at.as_millisecond())
    };
    let gone = || StoreError::Refused(RefusalReason::DeadLetterGone);
    let decision = letter.decision.ok_or_else(gone)?;
    let rest = match Redelivery::of_parts(&unposted_parts(connection, decision).await?) {
        Redelivery::Anew => None,
        Redelivery::Continue(part) => Some(part),
        Redelivery::Impossible => {
            return Err(StoreError::Refused(RefusalReason::DeadLetterIncomplete));
        }
    };
    counters.revision += 1;
    let reopen =
        query(sql::decisions::REOPEN_DECISION).bind(decision.0).bind(counters.revision as i64);
    if reopen.execute(&mut *connection).await? == 0 {
        return Err(gone());
    }
    let unmark = query(sql::orders::DROP_MARK).bind(workspace.as_str()).bind(decision.0);
    unmark.execute(&mut *connection).await?;
    let owed = in_conversation(sql::steps::OWED_CLOSED_AT).fetch_all(&mut *connection).await?;
    let owed = owed.iter().map(owed_answer).collect::<Result<Vec<_>, StoreError>>()?;
    // Before the letter is erased, and with it all parts that are still dead.
    if let Some(part) = &rest {
        query(sql::steps::REVIVE_OUTBOX_ITEMS)
            .bind(part.first_in_draft.0)
            .execute(&mut *connection)
            .await?;
    }
    *states.entry(conversation) =
        PendingState::try_again(conversation.clone(), decision, owed, rest, now);
    states.write(connection, now.as_millisecond()).await?;
    erase(connection, &letter).await
}

pub async fn find(
    connection: &mut Connection,
    workspace: &WorkspaceId,
    id: DeadLetterId,
) -> Result<DeadLetter, StoreError> {
    let letter = query(sql::steps::DEAD_LETTER).bind(workspace.as_str()).bind(id.0);
    let letter = letter.fetch_optional(connection).await?;
    let gone = || StoreError::Refused(RefusalReason::DeadLetterGone);
    rows::dead_letter_from_row(&letter.ok_or_else(gone)?)
}

/// The parts of a decision's last draft that were given up.
async fn unposted_parts(
    connection: &mut Connection,
    decision: DecisionId,
) -> Result<Vec<OutboxItem>, StoreError> {
    let parts = query(sql::steps::DEAD_OUTBOX_ITEMS).bind(decision.0).fetch_all(connection).await?;
    parts.iter().map(rows::outbox_item_from_row).collect()
}

async fn erase(connection: &mut Connection, letter: &DeadLetter) -> Result<(), StoreError> {
    if let Some(decision) = letter.decision {
        let erase = query(sql::steps::DROP_DEAD_OUTBOX_ITEMS).bind(decision.0);
        erase.execute(&mut *connection).await?;
    }
    let drop = query(sql::steps::DROP_DEAD_LETTER);
    let drop = drop.bind(letter.conversation.workspace.as_str()).bind(letter.id.0);
    drop.execute(connection).await?;
    Ok(())
}

fn owed_answer(row: &Row) -> Result<OwedAnswer, StoreError> {
    Ok(OwedAnswer {
        at: rows::to_timestamp(rows::column(row, "at_ms")?)?,
        to: MessageId::new(rows::column::<String>(row, "message")?).into(),
        asker: UserId::new(rows::column::<String>(row, "asker")?),
    })
}
