//! The forgotten users of a database: stored as hashes, so that an older backup does not bring them back.

use std::collections::BTreeSet;

use aizuchi_model::chat::WorkspaceId;

use crate::StoreError;
use crate::database::connection::{Connection, query};
use crate::database::forget::user_hash::hash_user;
use crate::database::{rows, sql};
use crate::transfer::tables::Table;

/// All users that a database has forgotten.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ForgottenUsers(Vec<ForgottenUserHash>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct ForgottenUserHash {
    workspace: WorkspaceId,
    hash: String,
    /// The salt of the installation that forgot them; empty if its version used none.
    salt: String,
    /// The time in epoch milliseconds.
    at: i64,
}

impl ForgottenUsers {
    /// Reads them from a database. Older versions stored none, or hashes without a salt.
    pub async fn read(connection: &mut Connection) -> Result<Self, StoreError> {
        let tables = Table::list(connection).await?;
        let Some(table) = tables.iter().find(|table| table.name == "forgotten_users") else {
            return Ok(Self::default());
        };
        let statement = match table.has_column("salt") {
            true => sql::forget::FORGOTTEN_USERS,
            false => sql::forget::FORGOTTEN_USERS_WITHOUT_SALT,
        };
        let found = query(statement).fetch_all(connection).await?;
        let user = |row| {
            Ok(ForgottenUserHash {
                workspace: WorkspaceId::new(rows::column::<String>(row, "workspace")?),
                hash: rows::column(row, "user_hash")?,
                salt: rows::column(row, "salt")?,
                at: rows::column(row, "at_ms")?,
            })
        };
        found.iter().map(user).collect::<Result<_, _>>().map(Self)
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// When a user was last forgotten, if they were.
    pub fn forgotten_at(&self, workspace: &WorkspaceId, user: &str) -> Option<i64> {
        let here = || self.0.iter().filter(|forgotten| forgotten.workspace == *workspace);
        let salts: BTreeSet<&str> = here().map(|forgotten| &*forgotten.salt).collect();
        let times = salts.into_iter().filter_map(|salt| {
            let hash = hash_user(salt, workspace.as_str(), user);
            let found = here().find(|forgotten| forgotten.salt == salt && forgotten.hash == hash);
            found.map(|forgotten| forgotten.at)
        });
        times.max()
    }

    /// Records them here, too: a later restore may bring back a user who is not in this database.
    pub async fn note(&self, connection: &mut Connection) -> Result<(), StoreError> {
        for user in &self.0 {
            let note = query(sql::forget::PUT_FORGOTTEN_USER).bind(user.workspace.as_str());
            let note = note.bind(user.hash.as_str()).bind(user.salt.as_str()).bind(user.at);
            note.execute(&mut *connection).await?;
        }
        Ok(())
    }
}

/// The ids of all users who are known, wrote a message, have opted out, or appear in an order.
pub async fn all_users(
    connection: &mut Connection,
) -> Result<Vec<(WorkspaceId, String)>, StoreError> {
    let found = query(sql::messages::ALL_USER_IDS).fetch_all(connection).await?;
    let user = |row| {
        let workspace = WorkspaceId::new(rows::column::<String>(row, "workspace")?);
        Ok((workspace, rows::column(row, "id")?))
    };
    found.iter().map(user).collect()
}
