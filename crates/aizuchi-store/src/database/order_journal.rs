//! The journal of orders.

use aizuchi_model::chat::{ChannelId, UserId, WorkspaceId};
use aizuchi_model::decision::DecisionId;
use aizuchi_model::memory::asker::signer;
use jiff::Timestamp;

use crate::StoreError;
use crate::database::connection::{Connection, Readers, Row, query};
use crate::database::{rows, sql};
use crate::order_journal::{
    GivenOrder, ORDER_RETENTION, OrderJournalQuery, OrderKind, OrderRecord,
};

/// Records an order. Drops orders past their retention.
pub async fn put(
    connection: &mut Connection,
    workspace: &WorkspaceId,
    record: &OrderRecord,
    by: &str,
    now: Timestamp,
) -> Result<(), StoreError> {
    if signer(by).is_some() && has_command(connection, workspace, record, by).await? {
        return Ok(());
    }
    let put = query(sql::orders::PUT_GIVEN_ORDER)
        .bind(workspace.as_str())
        .bind(now.as_millisecond())
        .bind(by)
        .bind(record.kind.name())
        .bind(record.channel.as_ref().map_or("", ChannelId::as_str))
        .bind(record.user.as_ref().map_or("", UserId::as_str))
        .bind(record.until.map(Timestamp::as_millisecond))
        .bind(record.value.as_deref())
        .bind(record.decision.map(|DecisionId(id)| id));
    put.execute(&mut *connection).await?;
    drop_old(connection, now).await
}

/// Drops orders past their retention.
pub async fn drop_old(connection: &mut Connection, now: Timestamp) -> Result<(), StoreError> {
    let before = now.checked_sub(ORDER_RETENTION).unwrap_or(Timestamp::MIN);
    query(sql::orders::DROP_GIVEN_ORDERS).bind(before.as_millisecond()).execute(connection).await?;
    Ok(())
}

/// Whether a chat command is recorded already: it is carried out again if the process ended before its message was
/// stored.
async fn has_command(
    connection: &mut Connection,
    workspace: &WorkspaceId,
    record: &OrderRecord,
    by: &str,
) -> Result<bool, StoreError> {
    let known = query(sql::orders::HAS_GIVEN_ORDER).bind(workspace.as_str()).bind(by);
    let known = known.bind(record.kind.name()).fetch_optional(connection).await?;
    Ok(known.is_some())
}

/// The newest orders before a given one, newest first.
pub async fn read(
    readers: &Readers,
    OrderJournalQuery { workspace, kind, before, limit }: &OrderJournalQuery,
) -> Result<Vec<GivenOrder>, StoreError> {
    let orders = query(sql::orders::GIVEN_ORDERS)
        .bind(before.unwrap_or(i64::MAX))
        .bind(workspace.as_ref().map(WorkspaceId::as_str))
        .bind(*limit as i64)
        .bind(kind.map(OrderKind::name));
    orders.fetch_all(readers).await?.iter().map(order_from_row).collect()
}

fn order_from_row(row: &Row) -> Result<GivenOrder, StoreError> {
    let given = |column: &str| -> Result<Option<String>, StoreError> {
        let text: String = rows::column(row, column)?;
        Ok((!text.is_empty()).then_some(text))
    };
    let until = rows::column::<Option<i64>>(row, "until_ms")?;
    Ok(GivenOrder {
        number: rows::column(row, "id")?,
        workspace: WorkspaceId::new(rows::column::<String>(row, "workspace")?),
        at: rows::to_timestamp(rows::column(row, "at_ms")?)?,
        by: rows::column::<String>(row, "given_by")?.into(),
        record: OrderRecord {
            kind: rows::parse_name(&rows::column::<String>(row, "kind")?)?,
            channel: given("channel")?.map(ChannelId::new),
            user: given("user_id")?.map(UserId::new),
            until: until.map(rows::to_end_timestamp).transpose()?,
            value: rows::column::<Option<String>>(row, "value")?.map(Into::into),
            decision: rows::column::<Option<i64>>(row, "decision")?.map(DecisionId),
        },
    })
}
