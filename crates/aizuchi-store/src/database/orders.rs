//! Carries out users' orders, and reads the orders in force.

use aizuchi_model::chat::{ChannelId, ConversationId, UserId, WorkspaceId};
use aizuchi_model::memory::{MemoryEntry, MemoryKey, NewMemory};
use aizuchi_model::rules::Mode;
use jiff::Timestamp;

use crate::database::connection::{Connection, Readers, query};
use crate::database::forget::{self, ForgetOrderer};
use crate::database::memory::NewVersion;
use crate::database::{
    Counters, consents, dead_letters, marks, memory, memory_changes, memos, order_journal,
    place_settings, plans, proposals, redaction, rows, sql, standing_order_drafts, standing_orders,
    trust,
};
use crate::order::{Mute, Order, OrdersInForce};
use crate::private_reads::PrivateRead;
use crate::{LOOK, PRIVATE_READ_RETENTION, StoreError};

/// Carries out an order. A signed order is also recorded.
pub async fn apply(
    connection: &mut Connection,
    counters: &mut Counters,
    order: &Order,
    now: Timestamp,
) -> Result<(), StoreError> {
    let (order, signer) = order.unsigned();
    if let Some(by) = signer {
        record(connection, order, by, now).await?;
    }
    carry_out(connection, counters, order, now).await
}

/// Records an order in the journal. This happens before it is carried out, since a dead letter is gone afterwards.
async fn record(
    connection: &mut Connection,
    order: &Order,
    by: &str,
    now: Timestamp,
) -> Result<(), StoreError> {
    let Some(mut record) = order.to_record() else { return Ok(()) };
    let workspace = order.workspace();
    if let Order::DropDeadLetter { id, .. } | Order::RetryDeadLetter { id, .. } = order {
        record = record.of_letter(&dead_letters::find(connection, workspace, *id).await?);
    }
    if let Order::TakeConsentStep { id, .. } = order {
        record = record.of_consent(&consents::find(connection, workspace, *id).await?);
    }
    order_journal::put(connection, workspace, &record, by, now).await
}

async fn carry_out(
    connection: &mut Connection,
    counters: &mut Counters,
    order: &Order,
    now: Timestamp,
) -> Result<(), StoreError> {
    let workspace = order.workspace();
    let channel_column = |channel: &Option<ChannelId>| {
        channel.as_ref().map_or(String::new(), |channel| channel.to_string())
    };
    let put = |statement| query(statement).bind(workspace.as_str());
    let put = match order {
        Order::ImportMemory { key, entries, newest } => {
            return import_memory(connection, counters, key, entries, *newest, now).await;
        }
        Order::ImportMemo { workspace, memo, messages } => {
            return memos::import(connection, counters, workspace, memo, messages).await;
        }
        // The journal says from when on ratings count.
        Order::ForgetMoments { .. } => return Ok(()),
        Order::DropDeadLetter { workspace, id } => {
            return dead_letters::drop(connection, counters, workspace, *id).await;
        }
        Order::RetryDeadLetter { workspace, id } => {
            return dead_letters::retry(connection, counters, workspace, *id, now).await;
        }
        Order::ChangeMemory { key, version, change, by } => {
            let place = (key, *version);
            return memory_changes::change_memory(connection, counters, place, change, by, now)
                .await;
        }
        Order::ChangeMemo { workspace, id, edit, by } => {
            let (place, edit) = ((workspace, *id), edit.as_ref());
            return memory_changes::change_memo(connection, counters, place, edit, by, now).await;
        }
        Order::RevertMemo { workspace, id, version, by } => {
            let place = (workspace, *id, *version);
            return memory_changes::revert_memo(connection, counters, place, by, now).await;
        }
        Order::GiveStandingOrder { workspace, scope, text, by } => {
            let place = (workspace, scope);
            return standing_orders::give(connection, counters, place, text, by, now).await;
        }
        Order::ChangeStandingOrder { workspace, number, text, by } => {
            let place = (workspace, *number);
            return standing_orders::change(connection, counters, place, text, by, now).await;
        }
        Order::DropStandingOrder { workspace, number } => {
            return standing_orders::drop(connection, counters, workspace, *number, now).await;
        }
        Order::DraftStandingOrder { workspace, target, text, by } => {
            let place = (workspace, target);
            return standing_order_drafts::draft(connection, counters, place, text, by, now).await;
        }
        Order::KeepStandingOrder { workspace, number } => {
            return standing_order_drafts::keep(connection, counters, workspace, *number, now)
                .await;
        }
        Order::DropOrderDraft { workspace, number } => {
            return standing_order_drafts::drop(connection, counters, workspace, *number).await;
        }
        Order::NotePrivateRead(read) => return note_private_read(connection, read, now).await,
        Order::MarkDecision { workspace, id, mark, by } => {
            return marks::apply(connection, counters, workspace, (*id, *mark), by, now).await;
        }
        Order::DecideProposal { workspace, id, choice, by } => {
            let place = (workspace, *id);
            return proposals::decide(connection, counters, place, choice, by, now).await;
        }
        Order::AnswerTrust { workspace, channel, id, least, choice, by } => {
            let (place, choice) = ((workspace, channel, *id), (*least, *choice));
            trust::answer(connection, counters, place, choice, by, now).await?;
            return change_setting(connection, order, now).await;
        }
        Order::TakeConsentStep { workspace, id, step } => {
            let place = (workspace, *id);
            return consents::take_step(connection, counters, place, step, now).await;
        }
        Order::MakePlan(plan) => {
            return plans::make(connection, counters, workspace, plan).await;
        }
        Order::ChangePlan { id, change, .. } => {
            return plans::change(connection, counters, *id, change, now).await;
        }
        Order::Forget { workspace, user, asked } => {
            let (place, by) = ((workspace, user), ForgetOrderer::User { asked: *asked });
            return forget::begin(connection, counters, place, by, now).await;
        }
        Order::ForgetUser { workspace, user, by } => {
            let (place, by) = ((workspace, user), ForgetOrderer::Operator(by));
            return forget::begin(connection, counters, place, by, now).await;
        }
        Order::Mute { channel, until, by, .. } => Some(
            put(sql::orders::MUTE)
                .bind(channel_column(channel))
                .bind(until.as_millisecond())
                .bind(by.name()),
        ),
        Order::Unmute { channel, by, .. } => {
            Some(put(sql::orders::UNMUTE).bind(channel_column(channel)).bind(by.name()))
        }
        Order::Mode { channel, mode: Some(mode), .. } => {
            Some(put(sql::orders::PUT_MODE).bind(channel.as_str()).bind(mode.name()))
        }
        Order::Mode { channel, mode: None, .. } => {
            Some(put(sql::orders::DROP_MODE).bind(channel.as_str()))
        }
        Order::OptOut { user, .. } => Some(put(sql::orders::OPT_OUT).bind(user.as_str())),
        Order::OptIn { user, .. } => Some(put(sql::orders::OPT_IN).bind(user.as_str())),
        Order::ChangeSetting { .. }
        | Order::Redact { .. }
        | Order::Reset { .. }
        | Order::NoteStop { .. }
        | Order::Note { .. } => None,
        Order::InChannels { orders, .. } => {
            for order in orders {
                Box::pin(carry_out(connection, counters, order, now)).await?;
            }
            return Ok(());
        }
        // Unwrapped by the caller.
        Order::Signed { .. } => return Ok(()),
    };
    counters.revision += 1;
    if let Order::OptOut { workspace, user } | Order::Redact { workspace, user } = order {
        redact_user(connection, counters, workspace, user, now).await?;
    }
    if let Order::Reset { conversation, until } = order {
        reset_conversation(connection, counters, conversation, *until, now).await?;
    }
    if let Order::Mode { workspace, channel, mode } = order {
        trust::after_mode(connection, (workspace, channel), *mode, now).await?;
    }
    change_setting(connection, order, now).await?;
    if let Some(put) = put {
        put.execute(connection).await?;
    }
    Ok(())
}

/// Makes an order's change of the settings that users ordered, if it has one.
async fn change_setting(
    connection: &mut Connection,
    order: &Order,
    now: Timestamp,
) -> Result<(), StoreError> {
    let Some(change) = order.setting_change(now) else { return Ok(()) };
    place_settings::change(connection, order.workspace(), &change).await
}

/// Imports a memory, unless there is one for this key already.
async fn import_memory(
    connection: &mut Connection,
    counters: &mut Counters,
    key: &MemoryKey,
    entries: &[MemoryEntry],
    newest: Timestamp,
    now: Timestamp,
) -> Result<(), StoreError> {
    if memory::made_at(connection, key).await?.is_some() {
        return Ok(());
    }
    counters.revision += 1;
    let revision = counters.revision;
    let new = NewMemory {
        entries: entries.to_vec(),
        newest_message_at: newest,
        seen_revision: revision,
        source_memories: Vec::new(),
    };
    // An imported memory has a single version.
    let version = NewVersion { key, new, removed: &[], versions_kept: 1 };
    memory::save_version(connection, counters, version, now).await.map(|_| ())
}

/// Drops reads of private channels past their retention.
pub async fn drop_old_private_reads(
    connection: &mut Connection,
    now: Timestamp,
) -> Result<(), StoreError> {
    let before = now.checked_sub(PRIVATE_READ_RETENTION).unwrap_or(Timestamp::MIN);
    query(sql::orders::DROP_PRIVATE_READS)
        .bind(before.as_millisecond())
        .execute(connection)
        .await?;
    Ok(())
}

/// Counts a read in its hour. Drops reads past their retention.
async fn note_private_read(
    connection: &mut Connection,
    read: &PrivateRead,
    now: Timestamp,
) -> Result<(), StoreError> {
    drop_old_private_reads(connection, now).await?;
    let note = query(sql::orders::NOTE_PRIVATE_READ)
        .bind(read.workspace.as_str())
        .bind(read.channel.as_str())
        .bind(&*read.reader)
        .bind(read.what.name())
        .bind(now.as_millisecond())
        .bind(LOOK.as_millis() as i64);
    note.execute(connection).await?;
    Ok(())
}

/// Withholds what a user has written so far, and closes the answers owed to them.
async fn redact_user(
    connection: &mut Connection,
    counters: &mut Counters,
    workspace: &WorkspaceId,
    user: &UserId,
    now: Timestamp,
) -> Result<(), StoreError> {
    forget::claim_carriers(connection, workspace, user).await?;
    redaction::begin_for_user(connection, counters, workspace, user, now).await?;
    standing_orders::withdraw_all_of(connection, workspace, user, now).await?;
    plans::drop_all_of(connection, counters, workspace, user, now).await?;
    let close_owed = query(sql::orders::CLOSE_OWED_OF_USER)
        .bind(workspace.as_str())
        .bind(user.as_str())
        .bind(now.as_millisecond());
    close_owed.execute(connection).await?;
    Ok(())
}

/// Withholds the messages of a conversation up to a time, and closes the answers owed there.
async fn reset_conversation(
    connection: &mut Connection,
    counters: &mut Counters,
    conversation: &ConversationId,
    until: Timestamp,
    now: Timestamp,
) -> Result<(), StoreError> {
    let in_conversation = |statement| {
        query(statement)
            .bind(conversation.workspace.as_str())
            .bind(conversation.channel.as_str())
            .bind(rows::thread_column(conversation))
            .bind(until.as_millisecond())
    };
    in_conversation(sql::orders::PUT_RESET).execute(&mut *connection).await?;
    redaction::begin_for_conversation(connection, counters, conversation, until, now).await?;
    let close_owed = in_conversation(sql::orders::CLOSE_OWED_IN).bind(now.as_millisecond());
    close_owed.execute(connection).await?;
    Ok(())
}

pub async fn read(readers: &Readers, workspace: &WorkspaceId) -> Result<OrdersInForce, StoreError> {
    let query = query(sql::orders::ORDERS).bind(workspace.as_str());
    let standing = standing_orders::read(readers, sql::orders::STANDING_ORDERS, workspace).await?;
    let drafts =
        standing_orders::read(readers, sql::orders::STANDING_ORDER_DRAFTS, workspace).await?;
    let settings = place_settings::read(readers, workspace).await?;
    let mut orders = OrdersInForce { standing, drafts, settings, ..OrdersInForce::default() };
    for row in query.fetch_all(readers).await? {
        let kind: String = rows::column(&row, "kind")?;
        let target: String = rows::column(&row, "whom")?;
        match kind.as_str() {
            "mute" => {
                let until = rows::to_end_timestamp(rows::column(&row, "until_ms")?)?;
                let by = rows::parse_name(&rows::column::<String>(&row, "role")?)?;
                let mute = Mute { until, by };
                let channel = (!target.is_empty()).then(|| ChannelId::new(target));
                orders.mutes.push((channel, mute));
            }
            "mode" => {
                let mode: Mode = rows::parse_name(&rows::column::<String>(&row, "mode")?)?;
                orders.modes.push((ChannelId::new(target), mode));
            }
            "forgetting" => {
                let asked = rows::to_timestamp(rows::column(&row, "until_ms")?)?;
                orders.forgotten.push((UserId::new(target), asked));
            }
            _ => orders.opted_out.push(UserId::new(target)),
        }
    }
    Ok(orders)
}
