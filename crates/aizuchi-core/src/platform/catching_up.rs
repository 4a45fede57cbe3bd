//! What catching up takes on any platform: what is stored is compared with what is shown, places where
//! something waits are read first, and the log says how far it is.

use std::collections::HashMap;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use tracing::{debug, info, warn};

use crate::chat::{ChannelId, Deletion, Heard, Message, MessageId, WorkspaceId};
use crate::persona::Language;
use crate::platform::air::Air;
use crate::platform::wanted::{Place, Wanted};
use crate::store::{Archive, LineQuery, Span, StoreError};

/// After so many channels, the log says how many are left.
const TOLD_EVERY: usize = 20;
/// How many stored lines of a channel are compared with its history at most.
const MOST_COMPARED: usize = 20_000;
/// So many lines may be missing at once.
const MOST_MISSING: usize = 100;

/// Lines by their ids.
pub type Stored = HashMap<MessageId, Arc<Message>>;

/// The lines of a channel that are stored since then, unless that is too much to compare.
pub async fn stored_since(
    archive: &dyn Archive,
    workspace: &WorkspaceId,
    channel: &ChannelId,
    from: Timestamp,
) -> Result<Option<Stored>, StoreError> {
    let query = LineQuery {
        workspace: workspace.clone(),
        channel: channel.clone(),
        thread: None,
        span: Span::AfterTime(from - SignedDuration::from_millis(1)),
        limit: MOST_COMPARED + 1,
    };
    let stored = archive.lines(query).await?;
    if stored.len() > MOST_COMPARED {
        info!(
            "a channel has so many lines that edits and deletions of the past are not looked for"
        );
        return Ok(None);
    }
    let stored = stored.into_iter().filter(|line| !line.is_deleted);
    Ok(Some(stored.map(|line| (line.message.id.clone(), line.message)).collect()))
}

/// The stored lines that a history misses; none where so many are missing that something else is wrong.
pub fn gone<'a>(
    stored: Option<&'a Stored>,
    misses: impl Fn(&Message) -> bool,
    platform: &str,
) -> Vec<&'a Message> {
    let missing = stored.into_iter().flat_map(HashMap::values).map(|line| &**line);
    let missing: Vec<&Message> = missing.filter(|line| misses(line)).collect();
    if missing.len() <= MOST_MISSING {
        return missing;
    }
    let count = missing.len();
    warn!("{count} lines of a channel are missing in {platform}'s history, which is not believed");
    Vec::new()
}

/// A stored line is not there any more.
pub fn deletion(message: &Message, at: Timestamp) -> Heard {
    let (conversation, message) = (message.conversation.clone(), message.id.clone());
    Heard::Deletion(Deletion { conversation, message, at })
}

/// How far what was missed has been read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Progress {
    pub platform: &'static str,
    pub channels: usize,
    /// How many of them have been read.
    pub read: usize,
    /// How many threads had to be read.
    pub threads: usize,
}

impl Progress {
    pub fn is_complete(&self) -> bool {
        self.read == self.channels
    }

    /// For people.
    pub fn told(&self, language: Language) -> String {
        let Self { platform, channels, read, threads } = self;
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

impl Wanted {
    /// How far what was missed in these rooms has been read since the gap that ended at `since`.
    pub fn progress_of(
        &self,
        platform: &'static str,
        rooms: &[ChannelId],
        since: Option<Timestamp>,
    ) -> Progress {
        let (read, threads) = self.progress(rooms, since);
        Progress { platform, channels: rooms.len(), read, threads }
    }

    /// The next place where something waits for what was missed, and since when nothing is.
    pub async fn next_hurried(&self, air: &Air) -> (Place, Timestamp) {
        loop {
            let place = self.hurried().await;
            match air.state().since {
                Some(since) if !self.is_caught_up(&place, since) => return (place, since),
                Some(_) | None => {}
            }
        }
    }

    /// Says how far it is, now and then.
    pub fn tell_progress(&self, platform: &str, room: &ChannelId, new: usize, failed: usize) {
        let left = self.count();
        debug!("caught up on {room}: {new} new lines; {left} channels are left");
        match left {
            0 if failed == 0 => info!("caught up on all {platform} channels"),
            0 => info!("caught up on all {platform} channels but {failed}, which are tried again"),
            left if left.is_multiple_of(TOLD_EVERY) => {
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
        let progress = Progress { platform: "Slack", channels: 12, read: 3, threads: 41 };
        assert!(!progress.is_complete());
        let told = [Language::En, Language::Ja].map(|language| progress.told(language));
        assert_eq!(
            told,
            [
                "Slack: what was missed has been read in 3 of 12 channels, and in 41 threads",
                "Slack: 不在中の発言を、12 チャンネル中 3 チャンネル、41 スレッドまで読みました",
            ]
        );
    }
}
