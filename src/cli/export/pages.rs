//! Reads the messages and decisions of a workspace page by page.

use aizuchi_core::chat::WorkspaceId;
use aizuchi_core::decision::Decision;
use aizuchi_core::store::archive::Archive as _;
use aizuchi_core::store::database::DatabaseStore;
use aizuchi_core::store::stored_message::StoredMessage;

/// The number of items per page.
const PAGE: usize = 1000;

/// The messages of a workspace, in the order in which they were stored or changed.
pub struct MessagePages<'a> {
    pub store: &'a DatabaseStore,
    pub workspace: &'a WorkspaceId,
    pub revision: u64,
}

impl MessagePages<'_> {
    pub async fn next(&mut self) -> anyhow::Result<Option<Vec<StoredMessage>>> {
        let page = self.store.messages_since(self.workspace, self.revision, PAGE).await?;
        let Some(last) = page.last() else { return Ok(None) };
        self.revision = last.revision;
        Ok(Some(page))
    }
}

/// The decisions of a workspace, in the order in which they were made or changed.
pub struct DecisionPages<'a> {
    pub store: &'a DatabaseStore,
    pub workspace: &'a WorkspaceId,
    pub revision: u64,
}

impl DecisionPages<'_> {
    pub async fn next(&mut self) -> anyhow::Result<Option<Vec<Decision>>> {
        let page = self.store.decisions_since(self.workspace, self.revision, PAGE).await?;
        let Some(last) = page.last() else { return Ok(None) };
        self.revision = last.revision;
        Ok(Some(page))
    }
}
