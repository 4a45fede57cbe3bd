//! Reads the messages and decisions of a workspace page by page.

use aizuchi_model::chat::WorkspaceId;
use aizuchi_model::decision::Decision;
use futures_util::future::BoxFuture;

use crate::StoreError;
use crate::archive::Archive;
use crate::stored_message::StoredMessage;

/// The number of items per page.
const PAGE: usize = 1000;

/// The messages of a workspace, in the order in which they were stored or changed.
pub struct MessagePages<'a> {
    pub archive: &'a dyn Archive,
    pub workspace: &'a WorkspaceId,
    pub revision: u64,
}

impl MessagePages<'_> {
    pub async fn next(&mut self) -> Result<Option<Vec<StoredMessage>>, StoreError> {
        let (archive, workspace) = (self.archive, self.workspace);
        let read = |since, limit| archive.messages_since(workspace, since, limit);
        next_page(&mut self.revision, read, |message| message.revision).await
    }
}

/// The decisions of a workspace, in the order in which they were made or changed.
pub struct DecisionPages<'a> {
    pub archive: &'a dyn Archive,
    pub workspace: &'a WorkspaceId,
    pub revision: u64,
}

impl DecisionPages<'_> {
    pub async fn next(&mut self) -> Result<Option<Vec<Decision>>, StoreError> {
        let (archive, workspace) = (self.archive, self.workspace);
        let read = |since, limit| archive.decisions_since(workspace, since, limit);
        next_page(&mut self.revision, read, |decision| decision.revision).await
    }
}

/// Reads the page after a revision, and moves the revision to its end.
async fn next_page<'a, T>(
    revision: &mut u64,
    read: impl Fn(u64, usize) -> BoxFuture<'a, Result<Vec<T>, StoreError>>,
    revision_of: impl Fn(&T) -> u64,
) -> Result<Option<Vec<T>>, StoreError> {
    let mut limit = PAGE;
    loop {
        let page = read(*revision, limit).await?;
        if page.is_empty() {
            return Ok(None);
        }
        let page = whole_revisions(page, limit, &revision_of);
        if let Some(last) = page.last() {
            *revision = revision_of(last);
            return Ok(Some(page));
        }
        limit *= 2;
    }
}

/// Leaves out the last revision of a full page, which may lack a part of it: what is forgotten or expires changes
/// several rows at one revision. Returns nothing if all of the page has the same revision.
fn whole_revisions<T>(mut page: Vec<T>, limit: usize, revision: impl Fn(&T) -> u64) -> Vec<T> {
    let newest = page.last().map(&revision);
    if page.len() >= limit {
        page.retain(|item| Some(revision(item)) != newest);
    }
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The items of all pages, read as an export reads them.
    fn all(revisions: &[u64]) -> Vec<u64> {
        let (mut read, mut after) = (Vec::new(), 0);
        loop {
            let mut limit = 3;
            let page = loop {
                let newer = revisions.iter().copied().filter(|revision| *revision > after);
                let page: Vec<u64> = newer.take(limit).collect();
                if page.is_empty() {
                    return read;
                }
                let page = whole_revisions(page, limit, |revision| *revision);
                if !page.is_empty() {
                    break page;
                }
                limit *= 2;
            };
            after = page.last().copied().unwrap_or(after);
            read.extend(page);
        }
    }

    #[test]
    fn what_changed_at_one_revision_is_read_whole() {
        for revisions in [
            &[][..],
            &[1, 2, 3],
            &[1, 2, 3, 4],
            &[1, 2, 3, 3, 3, 4],
            &[1, 1, 1, 1, 1, 1, 1],
            &[1, 2, 2, 2, 2, 2, 2, 2, 5, 5],
        ] {
            assert_eq!(all(revisions), revisions);
        }
    }
}
