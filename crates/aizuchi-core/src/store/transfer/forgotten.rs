//! Who was forgotten: kept as hashes, so that a backup that was made before does not bring them back.

use crate::chat::WorkspaceId;
use crate::store::StoreError;
use crate::store::database::connection::{Connection, query};
use crate::store::database::{rows, sql};
use crate::store::transfer::tables::Table;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForgottenUser {
    pub workspace: WorkspaceId,
    pub hash: String,
    /// When, in epoch milliseconds.
    pub at: i64,
}

/// Everybody whom a database has forgotten. One of an older version may not have noted it.
pub async fn read(connection: &mut Connection) -> Result<Vec<ForgottenUser>, StoreError> {
    let tables = Table::list(connection).await?;
    if !tables.iter().any(|table| table.name == "forgotten_users") {
        return Ok(Vec::new());
    }
    let found = query(sql::forget::FORGOTTEN_USERS).fetch_all(connection).await?;
    let user = |row| {
        Ok(ForgottenUser {
            workspace: WorkspaceId::new(rows::column::<String>(row, "workspace")?),
            hash: rows::column(row, "user_hash")?,
            at: rows::column(row, "at_ms")?,
        })
    };
    found.iter().map(user).collect()
}

/// Notes them here, too: a later restore may bring back somebody who is not in this database.
pub async fn note(connection: &mut Connection, users: &[ForgottenUser]) -> Result<(), StoreError> {
    for user in users {
        let note = query(sql::forget::PUT_FORGOTTEN_USER).bind(user.workspace.as_str());
        note.bind(&user.hash).bind(user.at).execute(&mut *connection).await?;
    }
    Ok(())
}

/// The ids of all users who are known or who wrote something.
pub async fn all_users(
    connection: &mut Connection,
) -> Result<Vec<(WorkspaceId, String)>, StoreError> {
    let found = query(sql::ALL_USER_IDS).fetch_all(connection).await?;
    let user = |row| {
        let workspace = WorkspaceId::new(rows::column::<String>(row, "workspace")?);
        Ok((workspace, rows::column(row, "id")?))
    };
    found.iter().map(user).collect()
}
