//! Looks into a database that another process may own and be writing to, and changes nothing.

use std::path::Path;

use sqlx::sqlite::SqlitePoolOptions;
use sqlx::{Connection, SqliteConnection, query};

use crate::chat::{Channel, ChannelId, MessageId, WorkspaceId};
use crate::recall::{RecallQuery, Recalled};
use crate::store::StoreError;
use crate::store::sqlite::{MIGRATIONS, SqliteStore, examine, opening, recall, rows, sql, stored};

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

    /// The same as a store, of which everything can be read and nothing written.
    pub async fn store(path: &Path) -> Result<SqliteStore, StoreError> {
        Self::open(path).await?.connection.close().await.map_err(stored)?;
        let readers = SqlitePoolOptions::new()
            .max_connections(2)
            .connect_with(examine::looking(path, examine::is_locked(path)?))
            .await
            .map_err(|error| opening(path, error))?;
        Ok(SqliteStore::of_readers(readers))
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

    /// The channels with a name, with or without a `#` before it, or an id.
    pub async fn channels_called(
        &mut self,
        wanted: &str,
    ) -> Result<Vec<(WorkspaceId, ChannelId)>, StoreError> {
        let bare = |name: &str| name.strip_prefix('#').unwrap_or(name).to_owned();
        let name = bare(wanted);
        let mut found = Vec::new();
        for workspace in self.workspaces().await? {
            let channels = self.channels(&workspace).await?.into_iter();
            let meant = channels
                .filter(|channel| channel.id.as_str() == wanted || bare(&channel.name) == name);
            found.extend(meant.map(|channel| (workspace.clone(), channel.id)));
        }
        Ok(found)
    }

    pub async fn has_line(
        &mut self,
        workspace: &WorkspaceId,
        channel: &ChannelId,
        line: &MessageId,
    ) -> Result<bool, StoreError> {
        let line = query(sql::ONE_LINE)
            .bind(workspace.as_str())
            .bind(channel.as_str())
            .bind(line.as_str());
        Ok(line.fetch_optional(&mut self.connection).await.map_err(stored)?.is_some())
    }

    pub async fn recall(&mut self, query: &RecallQuery) -> Result<Vec<Recalled>, StoreError> {
        let mut moment = self.connection.begin().await.map_err(stored)?;
        recall::recall(&mut moment, query).await
    }
}
