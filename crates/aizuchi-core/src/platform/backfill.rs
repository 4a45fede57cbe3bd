//! Backfill on any platform: compares stored messages with the platform's history, reads channels with waiting
//! steps first, and logs the progress.

use std::collections::HashMap;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use tracing::{debug, info, warn};

use crate::chat::{ChannelId, Deletion, Heard, Message, MessageId, WorkspaceId};
use crate::persona::Language;
use crate::platform::backfill_queue::{BackfillQueue, BackfillTarget};
use crate::platform::connection_status::ConnectionStatus;
use crate::store::{Archive, MessageQuery, MessageRange, StoreError};
use crate::texts;

/// How many channels pass between two log entries on the progress.
const LOG_EVERY_CHANNELS: usize = 20;
/// The maximum number of stored messages of a channel that are compared with its history.
const MAX_COMPARED: usize = 20_000;
/// The maximum number of messages that may be missing at once.
const MAX_MISSING: usize = 100;

/// Messages by their ids.
pub type StoredById = HashMap<MessageId, Arc<Message>>;

/// The messages of a channel that are stored since then, or `None` if there are too many to compare.
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
            "too many messages to look for past edits and deletions"
        );
        return Ok(None);
    }
    let stored = stored.into_iter().filter(|message| !message.is_deleted);
    Ok(Some(stored.map(|message| (message.message.id.clone(), message.message)).collect()))
}

/// The stored messages that a history lacks. Empty if so many are missing that the history is not credible.
pub fn missing_messages<'a>(
    stored: Option<&'a StoredById>,
    misses: impl Fn(&Message) -> bool,
    platform: &str,
) -> Vec<&'a Message> {
    let missing = stored.into_iter().flat_map(HashMap::values).map(|message| &**message);
    let missing: Vec<&Message> = missing.filter(|message| misses(message)).collect();
    if missing.len() <= MAX_MISSING {
        return missing;
    }
    let (count, channel) = (missing.len(), &missing[0].conversation.channel);
    warn!(platform, %channel, count, "too many stored messages are missing in the history; ignoring it");
    Vec::new()
}

/// The deletion of a stored message that no longer exists on the platform.
pub fn to_deletion(message: &Message, at: Timestamp) -> Heard {
    let (conversation, message) = (message.conversation.clone(), message.id.clone());
    Heard::Deletion(Deletion { conversation, message, at })
}

/// How far a backfill has come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackfillProgress {
    pub platform: &'static str,
    pub channels: usize,
    /// How many channels have been read.
    pub channels_read: usize,
    /// How many threads have been read.
    pub threads_read: usize,
}

impl BackfillProgress {
    pub fn is_complete(&self) -> bool {
        self.channels_read == self.channels
    }

    /// A sentence for users.
    pub fn describe(&self, language: Language) -> String {
        let Self { platform, channels, channels_read: read, threads_read: threads } = *self;
        texts::platform::backfill_progress(language, platform, read, channels, threads)
    }
}

impl BackfillQueue {
    /// The progress of these channels since the gap that ended at `since`.
    pub fn backfill_progress(
        &self,
        platform: &'static str,
        channels: &[ChannelId],
        since: Option<Timestamp>,
    ) -> BackfillProgress {
        let (read, threads) = self.progress(channels, since);
        BackfillProgress {
            platform,
            channels: channels.len(),
            channels_read: read,
            threads_read: threads,
        }
    }

    /// The next target with a waiting step, and since when the platform has been connected without
    /// interruption.
    pub async fn next_prioritized(&self, status: &ConnectionStatus) -> (BackfillTarget, Timestamp) {
        loop {
            let target = self.pop_prioritized().await;
            match status.state().connected_since {
                Some(since) if !self.is_complete(&target, since) => return (target, since),
                Some(_) | None => {}
            }
        }
    }

    /// Logs the progress at intervals.
    pub fn log_progress(&self, platform: &str, channel: &ChannelId, new: usize, failed: usize) {
        let left = self.remaining();
        debug!(platform, %channel, count = new, left, "backfilled a channel");
        match left {
            0 if failed == 0 => info!(platform, "backfilled all channels"),
            0 => warn!(platform, failed, "backfilled all but some channels; retrying those"),
            left if left.is_multiple_of(LOG_EVERY_CHANNELS) => {
                info!(platform, left, "backfilling channels");
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_is_described_in_both_languages() {
        let progress = BackfillProgress {
            platform: "Slack",
            channels: 12,
            channels_read: 3,
            threads_read: 41,
        };
        assert!(!progress.is_complete());
        let described = [Language::En, Language::Ja].map(|language| progress.describe(language));
        assert_eq!(
            described,
            [
                "Slack: what was missed has been read in 3 of 12 channels, and in 41 threads",
                "Slack: 不在中の発言を、12 チャンネル中 3 チャンネル、41 スレッドまで読みました",
            ]
        );
    }
}
