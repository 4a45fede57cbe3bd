//! The messages and decisions of a workspace, a page at a time.

use aizuchi_core::chat::WorkspaceId;
use aizuchi_core::decision::Decision;
use aizuchi_core::store::archive::Archive as _;
use aizuchi_core::store::database::DatabaseStore;
use aizuchi_core::store::stored_message::StoredMessage;

/// How many are read at once.
const PAGE: usize = 1000;

/// The messages of a workspace, in the order in which they came or changed.
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
