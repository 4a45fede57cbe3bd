//! A read-only view of a database that another process may own and be writing to.

use std::path::Path;

use aizuchi_model::chat::{Channel, ChannelId, MessageId, WorkspaceId};
use aizuchi_model::recall::{RecallQuery, RecalledMessage};
use jiff::Timestamp;
use serde_json::json;

use crate::database::connection::{Readers, query};
use crate::database::location::DatabaseLocation;
use crate::database::schema::{newer_schema_error, newest_migration, older_schema_error};
use crate::database::{DatabaseStore, archive, recall, rows, sql};
use crate::sqlite::{earlier_version, inspect};
use crate::{StoreError, postgres, sqlite};

pub struct ReadOnlyDatabase {
    readers: Readers,
}

impl ReadOnlyDatabase {
    pub async fn open(location: &DatabaseLocation) -> Result<Self, StoreError> {
        let (readers, migrations) = match location {
            DatabaseLocation::Sqlite(path) => (inspect::readers(path).await?, sqlite::MIGRATIONS),
            DatabaseLocation::Postgres(server) => {
                (postgres::readers(server).await?, postgres::MIGRATIONS)
            }
        };
        let newest = newest_migration(&readers)
            .await
            .map_err(|error| error.into_broken(&location.to_string()))?;
        match newest - migrations.last().map_or(0, |(version, _, _)| *version) {
            0 => Ok(Self { readers }),
            ..0 => Err(older_schema_error(&location.to_string())),
            1.. => Err(newer_schema_error(&location.to_string(), newest)),
        }
    }

    /// Opens a database that an earlier version may still be using. If it is a file, it is copied to `folder`, and the
    /// copy is migrated; `folder` must exist as long as the database is read.
    pub async fn open_any_version(
        location: &DatabaseLocation,
        folder: &Path,
    ) -> Result<Self, StoreError> {
        let DatabaseLocation::Sqlite(path) = location else { return Self::open(location).await };
        let readers = inspect::readers(path).await?;
        let newest = newest_migration(&readers).await;
        readers.close().await;
        let newest = newest.map_err(|error| error.into_broken(&location.to_string()))?;
        if !earlier_version::is_earlier(newest) {
            return Self::open(location).await;
        }
        let copy = folder.join("copy.db");
        earlier_version::copy_migrated(path, &copy).await?;
        Self::open(&DatabaseLocation::Sqlite(copy)).await
    }

    /// Converts it to a store without a writer.
    pub fn into_store(self) -> DatabaseStore {
        DatabaseStore::from_readers(self.readers)
    }

    pub async fn workspaces(&self) -> Result<Vec<WorkspaceId>, StoreError> {
        archive::workspaces(&self.readers).await
    }

    pub async fn channels(&self, workspace: &WorkspaceId) -> Result<Vec<Channel>, StoreError> {
        let rows = query(sql::messages::CHANNELS).bind(workspace.as_str()).fetch_all(&self.readers);
        rows.await?.iter().map(rows::channel_from_row).collect()
    }

    /// The channels with this id or name, with or without a leading `#`.
    pub async fn find_channels(
        &self,
        name_or_id: &str,
    ) -> Result<Vec<(WorkspaceId, ChannelId)>, StoreError> {
        let without_hash = |name: &str| name.strip_prefix('#').unwrap_or(name).to_owned();
        let name = without_hash(name_or_id);
        let mut found = Vec::new();
        for workspace in self.workspaces().await? {
            let channels = self.channels(&workspace).await?.into_iter();
            let matching = channels.filter(|channel| {
                channel.id.as_str() == name_or_id || without_hash(&channel.name) == name
            });
            found.extend(matching.map(|channel| (workspace.clone(), channel.id)));
        }
        Ok(found)
    }

    pub async fn has_message(
        &self,
        workspace: &WorkspaceId,
        channel: &ChannelId,
        message: &MessageId,
    ) -> Result<bool, StoreError> {
        let message = query(sql::messages::MESSAGES_BY_ID)
            .bind(workspace.as_str())
            .bind(json!([[channel, message]]).to_string());
        Ok(message.fetch_optional(&self.readers).await?.is_some())
    }

    /// The number of messages older than this that are not erased yet.
    pub async fn count_messages_before(&self, before: Timestamp) -> Result<u64, StoreError> {
        let count = query(sql::expiry::COUNT_EXPIRED).bind(before.as_millisecond());
        rows::to_unsigned(rows::column(&count.fetch_one(&self.readers).await?, "n")?)
    }

    pub async fn recall(&self, query: &RecallQuery) -> Result<Vec<RecalledMessage>, StoreError> {
        recall::recall(&mut self.readers.snapshot().await?, query).await
    }
}
