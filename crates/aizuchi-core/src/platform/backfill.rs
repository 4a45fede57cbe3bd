//! What catching up takes on any platform: what is stored is compared with what is shown, places where
//! something waits are read first, and the log says how far it is.

use std::collections::HashMap;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use tracing::{debug, info, warn};

use crate::chat::{ChannelId, Deletion, Heard, Message, MessageId, WorkspaceId};
use crate::persona::Language;
use crate::platform::backfill_queue::{BackfillQueue, BackfillTarget};
use crate::platform::connection_status::ConnectionStatus;
use crate::store::{Archive, MessageQuery, MessageRange, StoreError};

/// After so many channels, the log says how many are left.
const LOG_EVERY_CHANNELS: usize = 20;
/// How many stored lines of a channel are compared with its history at most.
const MAX_COMPARED: usize = 20_000;
/// So many lines may be missing at once.
const MAX_MISSING: usize = 100;

/// Lines by their ids.
pub type StoredById = HashMap<MessageId, Arc<Message>>;

/// The lines of a channel that are stored since then, unless that is too much to compare.
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
            "a channel has so many lines that edits and deletions of the past are not looked for"
        );
        return Ok(None);
    }
    let stored = stored.into_iter().filter(|line| !line.is_deleted);
    Ok(Some(stored.map(|line| (line.message.id.clone(), line.message)).collect()))
}

/// The stored lines that a history misses; none where so many are missing that something else is wrong.
pub fn missing_messages<'a>(
    stored: Option<&'a StoredById>,
    misses: impl Fn(&Message) -> bool,
    platform: &str,
) -> Vec<&'a Message> {
    let missing = stored.into_iter().flat_map(HashMap::values).map(|line| &**line);
    let missing: Vec<&Message> = missing.filter(|line| misses(line)).collect();
    if missing.len() <= MAX_MISSING {
        return missing;
    }
    let count = missing.len();
    warn!("{count} lines of a channel are missing in {platform}'s history, which is not believed");
    Vec::new()
}

/// A stored line is not there any more.
pub fn to_deletion(message: &Message, at: Timestamp) -> Heard {
    let (conversation, message) = (message.conversation.clone(), message.id.clone());
    Heard::Deletion(Deletion { conversation, message, at })
}

/// How far what was missed has been read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackfillProgress {
    pub platform: &'static str,
    pub channels: usize,
    /// How many of them have been read.
    pub channels_read: usize,
    /// How many threads had to be read.
    pub threads_read: usize,
}

impl BackfillProgress {
    pub fn is_complete(&self) -> bool {
        self.channels_read == self.channels
    }

    /// For people.
    pub fn describe(&self, language: Language) -> String {
        let Self { platform, channels, channels_read: read, threads_read: threads } = self;
        match language {
            Language::En => format!(
                "{platform}: what was missed has been read in {read} of {channels} channels, and in \
                 {threads} threads"
            ),
            Language::Ja => format!(
                "{platform}: 不在中の発言を、{channels} チャンネル中 {read} チャンネル、{threads} スレッドまで読みました"
            ),
        }
    }
}

impl BackfillQueue {
    /// How far what was missed in these rooms has been read since the gap that ended at `since`.
    pub fn backfill_progress(
        &self,
        platform: &'static str,
        rooms: &[ChannelId],
        since: Option<Timestamp>,
    ) -> BackfillProgress {
        let (read, threads) = self.progress(rooms, since);
        BackfillProgress {
            platform,
            channels: rooms.len(),
            channels_read: read,
            threads_read: threads,
        }
    }

    /// The next place where something waits for what was missed, and since when nothing is.
    pub async fn next_prioritized(&self, air: &ConnectionStatus) -> (BackfillTarget, Timestamp) {
        loop {
            let place = self.pop_prioritized().await;
            match air.state().connected_since {
                Some(since) if !self.is_complete(&place, since) => return (place, since),
                Some(_) | None => {}
            }
        }
    }

    /// Says how far it is, now and then.
    pub fn log_progress(&self, platform: &str, room: &ChannelId, new: usize, failed: usize) {
        let left = self.remaining();
        debug!("caught up on {room}: {new} new lines; {left} channels are left");
        match left {
            0 if failed == 0 => info!("caught up on all {platform} channels"),
            0 => info!("caught up on all {platform} channels but {failed}, which are tried again"),
            left if left.is_multiple_of(LOG_EVERY_CHANNELS) => {
                info!("{left} {platform} channels are to be read yet")
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_is_told_in_both_languages() {
        let progress = BackfillProgress {
            platform: "Slack",
            channels: 12,
            channels_read: 3,
            threads_read: 41,
        };
        assert!(!progress.is_complete());
        let told = [Language::En, Language::Ja].map(|language| progress.describe(language));
        assert_eq!(
            told,
            [
                "Slack: what was missed has been read in 3 of 12 channels, and in 41 threads",
                "Slack: 不在中の発言を、12 チャンネル中 3 チャンネル、41 スレッドまで読みました",
            ]
        );
    }
}
