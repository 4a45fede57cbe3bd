//! Hears edits and deletions: changes the message, and forgets what was made from it.

use std::collections::HashSet;

use aizuchi_model::chat::attachment::searched_names;
use aizuchi_model::chat::{ConversationId, Deletion, Edit, Message, MessageId};
use aizuchi_model::flow::Disposition;
use aizuchi_model::flow::step::EditedMessage;
use aizuchi_model::memory::MessageRef;
use jiff::Timestamp;
use serde_json::json;

use crate::database::connection::{Connection, query};
use crate::database::hear::ArrivalEffects;
use crate::database::pending_states::PendingStates;
use crate::database::{Counters, memory, plans, rows, sql};
use crate::{HearReceipt, StoreError};

pub async fn hear_edit(
    connection: &mut Connection,
    counters: &mut Counters,
    edit: &Edit,
    disposition: Disposition,
) -> Result<HearReceipt, StoreError> {
    let before = read_message(connection, &edit.conversation, &edit.message).await?;
    let (Disposition::Judge(debounce), Some((before, edited_ms, eligibility))) =
        (disposition, before)
    else {
        return change_expired(connection, counters, &edit.conversation, &edit.message, edit.at)
            .await;
    };
    let edit = &match eligibility {
        EditEligibility::Eligible => edit.clone(),
        // A command is carried out as it was first written; its edits are ignored.
        EditEligibility::Command => return Ok(counters.unchanged_receipt()),
        // If the text was withheld, so is the edited text.
        EditEligibility::Redacted if before.is_erased() => {
            return Ok(counters.unchanged_receipt());
        }
        EditEligibility::Redacted => Edit { mentions: Vec::new(), ..edit.clone() },
    };
    // Edits may arrive out of order or twice, so one with the same time is old, too.
    let is_old = edited_ms.is_some_and(|edited_ms| edited_ms >= edit.at.as_millisecond());
    if !before.is_changed_by(edit) || is_old {
        return Ok(counters.unchanged_receipt());
    }
    counters.revision += 1;
    counters.erasures += 1;
    let after = before.edited(edit);
    let mut pending_states =
        PendingStates::read(connection, &HashSet::from([&edit.conversation])).await?;
    let pending_state = pending_states.entry(&edit.conversation);
    let edited = EditedMessage { before: &before, after: &after };
    let effect = match eligibility {
        EditEligibility::Eligible => {
            pending_state.hear_edit(edited, edit.at, debounce, counters.next_decision_id())
        }
        EditEligibility::Redacted | EditEligibility::Command => None,
    };
    // An edit that is owed an answer belongs to the decision that answers it.
    let is_owed = pending_state.owed.iter().any(|owed| owed.to == edit.message);
    let decision = effect.filter(|_| is_owed).map(|effect| effect.decision.0);
    let mut effects = ArrivalEffects::default();
    if let Some(effect) = effect {
        counters.record_arrival(effect);
        effects.record(&after, edit.at, effect, pending_state, counters.revision);
    }
    let message_ref = MessageRef(edit.conversation.channel.clone(), edit.message.clone());
    let (workspace, message) = (&edit.conversation.workspace, [(message_ref, before.at)]);
    memory::forget_messages(connection, counters, workspace, &message, edit.at).await?;
    // Bots edit their messages all the time, which must not erase prompts.
    if before.is_human() {
        forget_exchanges(connection, counters, &edit.conversation, &edit.message).await?;
    }
    // Before the message moves to its new decision, so that an answer of the old one counts.
    pending_states.write(connection, edit.at.as_millisecond()).await?;
    query(sql::messages::EDIT_MESSAGE)
        .bind(edit.conversation.workspace.as_str())
        .bind(edit.conversation.channel.as_str())
        .bind(edit.message.as_str())
        .bind(&*edit.text)
        .bind(json!(edit.mentions).to_string())
        .bind(counters.revision as i64)
        .bind(decision)
        .bind(edited_ms.max(Some(edit.made_at.as_millisecond())))
        .bind(json!(after.attachments).to_string())
        .bind(searched_names(&after.attachments))
        .execute(&mut *connection)
        .await?;
    effects.write(connection).await?;
    Ok(counters.receipt(effect))
}

pub async fn hear_deletion(
    connection: &mut Connection,
    counters: &mut Counters,
    deletion: &Deletion,
    disposition: Disposition,
) -> Result<HearReceipt, StoreError> {
    let before = read_message(connection, &deletion.conversation, &deletion.message).await?;
    let (Disposition::Judge(debounce), Some((before, _, eligibility))) = (disposition, before)
    else {
        let Deletion { conversation, message, at, .. } = deletion;
        return change_expired(connection, counters, conversation, message, *at).await;
    };
    counters.revision += 1;
    counters.erasures += 1;
    let mut pending_states =
        PendingStates::read(connection, &HashSet::from([&deletion.conversation])).await?;
    let pending_state = pending_states.entry(&deletion.conversation);
    let effect = match eligibility {
        EditEligibility::Eligible => pending_state.hear_deletion(&before, deletion.at, debounce),
        EditEligibility::Redacted | EditEligibility::Command => None,
    };
    let mut effects = ArrivalEffects::default();
    if let Some(effect) = effect {
        effects.record(&before, deletion.at, effect, pending_state, counters.revision);
    }
    query(sql::messages::DELETE_MESSAGE)
        .bind(deletion.conversation.workspace.as_str())
        .bind(deletion.conversation.channel.as_str())
        .bind(deletion.message.as_str())
        .bind(deletion.at.as_millisecond())
        .bind(counters.revision as i64)
        .execute(&mut *connection)
        .await?;
    let message_ref = MessageRef(deletion.conversation.channel.clone(), deletion.message.clone());
    let (workspace, message) = (&deletion.conversation.workspace, [(message_ref, before.at)]);
    memory::forget_messages(connection, counters, workspace, &message, deletion.at).await?;
    plans::erase_those_of(connection, workspace, &message[0].0).await?;
    forget_exchanges(connection, counters, &deletion.conversation, &deletion.message).await?;
    effects.write(connection).await?;
    pending_states.write(connection, deletion.at.as_millisecond()).await?;
    Ok(counters.receipt(effect))
}

/// Forgets what is remembered of an expired message when its author edits or deletes it.
async fn change_expired(
    connection: &mut Connection,
    counters: &mut Counters,
    conversation: &ConversationId,
    message: &MessageId,
    at: Timestamp,
) -> Result<HearReceipt, StoreError> {
    let expired = query(sql::messages::EXPIRED_MESSAGE)
        .bind(conversation.workspace.as_str())
        .bind(conversation.channel.as_str())
        .bind(message.as_str())
        .bind(rows::thread_column(conversation));
    let Some(row) = expired.fetch_optional(&mut *connection).await? else {
        return Ok(counters.unchanged_receipt());
    };
    let written = rows::to_timestamp(rows::column(&row, "at_ms")?)?;
    let message_ref = MessageRef(conversation.channel.clone(), message.clone());
    let (workspace, messages) = (&conversation.workspace, [(message_ref, written)]);
    let (revision, erasures) = (counters.revision + 1, counters.erasures + 1);
    // Changed rows get the next revision, so that they are read again.
    let mut changed = Counters { revision, erasures, ..counters.clone() };
    if !memory::forget_messages(connection, &mut changed, workspace, &messages, at).await? {
        return Ok(counters.unchanged_receipt());
    }
    *counters = changed;
    Ok(counters.receipt(None))
}

/// Removes an edited or deleted message from prompts, from what models wrote about it, and from dead letters.
async fn forget_exchanges(
    connection: &mut Connection,
    counters: &Counters,
    conversation: &ConversationId,
    message: &MessageId,
) -> Result<(), StoreError> {
    let (workspace, channel) = (conversation.workspace.as_str(), conversation.channel.as_str());
    let reasons = query(sql::decisions::FORGET_REASONS)
        .bind(workspace)
        .bind(channel)
        .bind(message.as_str())
        .bind(counters.revision as i64);
    reasons.execute(&mut *connection).await?;
    let statements = [
        sql::decisions::FORGET_VERDICTS,
        sql::decisions::FORGET_DEAD_LETTERS,
        sql::decisions::FORGET_DEAD_OUTBOX_TEXT,
        sql::decisions::FORGET_CONSENTS,
        sql::decisions::FORGET_EXCHANGES,
    ];
    for statement in statements {
        let forget = query(statement).bind(workspace).bind(channel).bind(message.as_str());
        forget.execute(&mut *connection).await?;
    }
    Ok(())
}

/// How far an edit or deletion of a message takes effect.
#[derive(Clone, Copy, PartialEq, Eq)]
enum EditEligibility {
    Eligible,
    /// Its author or channel is opted out.
    Redacted,
    /// It was a command, which is not part of the conversation.
    Command,
}

/// Reads a message that is not deleted, the time of its last edit, and how far its changes take effect.
async fn read_message(
    connection: &mut Connection,
    conversation: &ConversationId,
    message: &MessageId,
) -> Result<Option<(Message, Option<i64>, EditEligibility)>, StoreError> {
    let row = query(sql::messages::UNDELETED_MESSAGE)
        .bind(conversation.workspace.as_str())
        .bind(conversation.channel.as_str())
        .bind(message.as_str())
        .bind(rows::thread_column(conversation))
        .fetch_optional(connection)
        .await?;
    let Some(row) = row else { return Ok(None) };
    let eligibility = rows::column::<i64>(&row, "attention")?;
    let eligibility = match eligibility {
        0 => EditEligibility::Eligible,
        1 => EditEligibility::Redacted,
        _ => EditEligibility::Command,
    };
    Ok(Some((rows::message_from_row(&row)?, rows::column(&row, "edited_ms")?, eligibility)))
}
