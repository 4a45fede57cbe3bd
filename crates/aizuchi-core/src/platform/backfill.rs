//! The stored messages that a backfill compares with a platform's history, and its progress.

use std::collections::HashMap;
use std::sync::Arc;

use aizuchi_model::chat::{ChannelId, Message, MessageId, WorkspaceId};
use aizuchi_model::event::{Event, OutboxItem};
use aizuchi_model::persona::Language;
use aizuchi_model::texts;
use jiff::{SignedDuration, Timestamp};
use tracing::info;

use crate::platform::backfill_queue::BackfillQueue;
use crate::platform::deletion_check::CheckProgress;
use crate::store::StoreError;
use crate::store::archive::Archive;
use crate::store::query::{MessageQuery, MessageRange};

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
        archive.pending_steps(workspace).await?.into_iter().filter_map(|step| match step.event {
            Event::Post(item) => Some(item),
            Event::Judge(_) | Event::Reply(_) => None,
        });
    Ok(items.filter(|it| it.is_sending() && it.conversation.channel == *channel).collect())
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackfillProgress {
    pub platform: &'static str,
    pub channels: usize,
    /// The channels that have not been read since the last gap.
    pub behind: Vec<ChannelId>,
    /// The channels, among all, whose last read failed.
    pub failing: Vec<ChannelId>,
    /// The number of threads that have been read.
    pub threads_read: usize,
    /// The channels in which missed deletions are still being looked for.
    pub deletion_checks: Vec<(ChannelId, CheckProgress)>,
}

impl BackfillProgress {
    /// Returns the number of channels that have been read.
    pub fn channels_read(&self) -> usize {
        self.channels - self.behind.len()
    }

    pub fn is_complete(&self) -> bool {
        self.behind.is_empty()
    }

    /// Describes the progress in a sentence for users.
    pub fn describe(&self, language: Language) -> String {
        let (read, failing) = (self.channels_read(), self.failing.len());
        let Self { platform, channels, threads_read: threads, .. } = *self;
        let told = texts::platform::backfill_progress(language, platform, read, channels, threads);
        match failing {
            0 => told,
            failing => told + &texts::platform::unreadable_channels(language, failing),
        }
    }
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
            failing: self.failing().into_iter().filter(|it| channels.contains(it)).collect(),
            threads_read: self.threads_read(),
            deletion_checks: self.deletion_checks.progress(channels),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_is_described_in_both_languages() {
        let channel = |number: usize| ChannelId::new(number.to_string());
        let progress = BackfillProgress {
            platform: "Slack",
            channels: 12,
            behind: (0..9).map(channel).collect(),
            failing: Vec::new(),
            threads_read: 41,
            deletion_checks: Vec::new(),
        };
        assert!(!progress.is_complete());
        let described = [Language::En, Language::Ja].map(|language| progress.describe(language));
        assert_eq!(
            described,
            [
                "Slack: caught up on 3 of 12 channels and 41 threads",
                "Slack: 不在中の発言を、12 チャンネル中 3 チャンネル、41 スレッドまで読みました",
            ]
        );
        let failing = BackfillProgress { failing: vec![channel(1)], ..progress };
        let described = [Language::En, Language::Ja].map(|language| failing.describe(language));
        assert!(described[0].ends_with("; 1 can’t be read at the moment"));
        assert!(described[1].ends_with("（1 チャンネルはいま読めません）"));
    }
}
