//! Looks into a database that another process may own and be writing to, and changes nothing.

use std::path::Path;

use sqlx::{Connection, SqliteConnection, query};

use crate::chat::{Channel, WorkspaceId};
use crate::recall::{RecallQuery, Recalled};
use crate::store::StoreError;
use crate::store::sqlite::{MIGRATIONS, examine, opening, recall, rows, sql, stored};

pub struct Onlooker {
    connection: SqliteConnection,
}

impl Onlooker {
    pub async fn open(path: &Path) -> Result<Self, StoreError> {
        let shown = path.display();
        if !path.exists() {
            return Err(StoreError::Broken(format!(
                "{shown} does not exist yet; `aizuchi run` creates it"
            )));
        }
        let opened = |error| opening(path, error);
        let is_in_use = examine::is_locked(path)?;
        let mut connection = examine::look_into(path, is_in_use).await.map_err(opened)?;
        let newest = examine::migration(&mut connection).await.map_err(opened)?;
        match newest - MIGRATIONS.last().map_or(0, |(version, _, _)| *version) {
            0 => Ok(Self { connection }),
            ..0 => Err(StoreError::Broken(format!(
                "{shown} was written by an older version of Aizuchi; `aizuchi run` brings it up to date"
            ))),
            1.. => Err(examine::newer(path, newest)),
        }
    }

    pub async fn workspaces(&mut self) -> Result<Vec<WorkspaceId>, StoreError> {
        let rows = query(recall::sql::WORKSPACES).fetch_all(&mut self.connection).await;
        let workspace = |row| rows::column::<String>(row, "workspace").map(WorkspaceId::new);
        rows.map_err(stored)?.iter().map(workspace).collect()
    }

    pub async fn channels(&mut self, workspace: &WorkspaceId) -> Result<Vec<Channel>, StoreError> {
        let rows = query(sql::CHANNELS).bind(workspace.as_str()).fetch_all(&mut self.connection);
        rows.await.map_err(stored)?.iter().map(rows::channel).collect()
    }

    pub async fn recall(&mut self, query: &RecallQuery) -> Result<Vec<Recalled>, StoreError> {
        let mut moment = self.connection.begin().await.map_err(stored)?;
        recall::recall(&mut moment, query).await
    }
}
