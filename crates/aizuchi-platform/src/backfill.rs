//! The stored messages that a backfill compares with a platform's history, and its progress.

use std::collections::HashMap;
use std::sync::Arc;

use aizuchi_model::chat::{ChannelId, Message, MessageId, WorkspaceId};
use aizuchi_model::flow::Work;
use aizuchi_model::flow::outbox::OutboxItem;
use aizuchi_model::platform::backfill_progress::BackfillProgress;
use aizuchi_store::StoreError;
use aizuchi_store::archive::Archive;
use aizuchi_store::query::{MessageQuery, MessageRange};
use jiff::{SignedDuration, Timestamp};
use tracing::info;

use crate::backfill_queue::BackfillQueue;

/// The maximum number of a channel's stored messages that are held in memory to compare them with pages of its history.
/// More are compared in chunks.
const MAX_COMPARED: usize = 20_000;

/// Messages by their ids.
pub type StoredById = HashMap<MessageId, Arc<Message>>;

/// Returns the messages of a channel that are stored since then, or `None` if there are too many to hold in memory.
pub async fn stored_messages_since(
    archive: &dyn Archive,
    workspace: &WorkspaceId,
    channel: &ChannelId,
    from: Timestamp,
) -> Result<Option<StoredById>, StoreError> {
    let query = MessageQuery {
        workspace: workspace.clone(),
        channel: channel.clone(),
        thread: None,
        range: MessageRange::AfterTime(from - SignedDuration::from_millis(1)),
        limit: MAX_COMPARED + 1,
    };
    let stored = archive.messages(query).await?;
    if stored.len() > MAX_COMPARED {
        info!(
            %workspace, %channel, limit = MAX_COMPARED,
            "a channel has many messages, so deletions are looked for in chunks"
        );
        return Ok(None);
    }
    let stored = stored.into_iter().filter(|message| !message.is_deleted);
    Ok(Some(stored.map(|message| (message.message.id.clone(), message.message)).collect()))
}

/// Returns the posts of a channel that are being made: the agent stores them itself, as it wrote them.
pub async fn posts_in_flight(
    archive: &dyn Archive,
    workspace: &WorkspaceId,
    channel: &ChannelId,
) -> Result<Vec<OutboxItem>, StoreError> {
    let items =
        archive.pending_steps(workspace).await?.into_iter().filter_map(|step| match step.work {
            Work::Post(item) => Some(item),
            Work::Judge(_) | Work::Reply(_) => None,
        });
    Ok(items.filter(|it| it.is_sending() && it.conversation.channel == *channel).collect())
}

impl BackfillQueue {
    /// Returns the progress of these channels since the gap that ended at `since`.
    pub fn backfill_progress(
        &self,
        platform: &'static str,
        channels: &[ChannelId],
        since: Option<Timestamp>,
    ) -> BackfillProgress {
        BackfillProgress {
            platform,
            channels: channels.len(),
            behind: self.behind(channels, since),
            failing: self.failing().into_iter().filter(|(it, _)| channels.contains(it)).collect(),
            threads_read: self.threads_read(),
            deletion_checks: self.deletion_checks.progress(channels),
        }
    }
}
