//! Reads and writes the rows of weekly notes.

use jiff::Timestamp;

use crate::StoreError;
use crate::database::connection::{Connection, Query, Readers, query};
use crate::database::{rows, sql};
use crate::weekly_notes::{NoteChange, NoteKey, NoteState, RETENTION, StoredNote};

pub async fn read(readers: &Readers, key: &NoteKey) -> Result<Option<StoredNote>, StoreError> {
    let row = of_key(sql::WEEKLY_NOTE, key).fetch_optional(readers).await?;
    let Some(row) = row else { return Ok(None) };
    Ok(Some(StoredNote {
        state: rows::parse_name(&rows::column::<String>(&row, "state")?)?,
        begun: rows::to_timestamp(rows::column(&row, "begun_ms")?)?,
    }))
}

pub async fn change(
    connection: &mut Connection,
    key: &NoteKey,
    change: &NoteChange,
) -> Result<bool, StoreError> {
    let changed = match change {
        NoteChange::Begin { now, before } => of_key(sql::BEGIN_WEEKLY_NOTE, key)
            .bind(NoteState::Sending.name())
            .bind(now.as_millisecond())
            .bind(before.map(Timestamp::as_millisecond)),
        NoteChange::End(state) => of_key(sql::END_WEEKLY_NOTE, key).bind(state.name()),
    };
    Ok(changed.execute(connection).await? > 0)
}

pub async fn drop_old(connection: &mut Connection, now: Timestamp) -> Result<(), StoreError> {
    let before = now.checked_sub(RETENTION).unwrap_or(Timestamp::MIN);
    query(sql::DROP_WEEKLY_NOTES).bind(before.as_millisecond()).execute(connection).await?;
    Ok(())
}

fn of_key(statement: &'static str, key: &NoteKey) -> Query {
    query(statement).bind(key.workspace.as_str()).bind(key.channel.as_str()).bind(key.week)
}
