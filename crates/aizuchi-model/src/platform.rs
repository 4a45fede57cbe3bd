//! The port of all chat platforms, through which the agent posts.

pub mod backfill_progress;

use std::collections::HashMap;
use std::sync::Arc;

use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};

use crate::chat::attachment::Attachment;
use crate::chat::{ConversationId, Message, UserId, WorkspaceId};
use crate::flow::outbox::{OutboxItem, PostedMessage};
use crate::platform::backfill_progress::BackfillProgress;
use crate::reloadable::Reloadable;

#[async_trait]
pub trait Platform: Send + Sync {
    /// Posts an item to its conversation, or adds its emoji to a message. The item's key is sent with the post.
    /// Reacting is idempotent.
    async fn post(&self, item: &OutboxItem) -> Result<PostedMessage, PlatformError>;

    /// Returns how long a channel, with all its threads, takes no other post after each one.
    fn post_interval(&self) -> SignedDuration {
        SignedDuration::ZERO
    }

    /// Shows that an answer is being prepared, for as long as the future is polled.
    async fn show_thinking(&self, _conversation: &ConversationId) {}

    /// Shows a typing indicator for an item that is about to be posted. Returns how long to show it before the post.
    /// Messages and orders during that time still count.
    async fn show_typing(&self, _item: &OutboxItem) -> SignedDuration {
        SignedDuration::ZERO
    }

    /// Looks for a dispatched item by its key in the conversation's history.
    async fn find_posted(&self, item: &OutboxItem) -> Result<Option<PostedMessage>, PlatformError>;

    /// Returns the time after which a dispatched request can no longer succeed, so that an absent post was not made.
    fn in_flight_timeout(&self) -> SignedDuration;

    /// Returns why the platform cannot be heard now, if so.
    fn outage(&self) -> Option<String> {
        None
    }

    /// Returns the progress of the backfill, on platforms that can miss messages.
    fn backfill_progress(&self) -> Option<BackfillProgress> {
        None
    }

    /// Whether recent messages of the conversation may be missing.
    fn backfill_state(&self, _conversation: &ConversationId) -> BackfillState {
        BackfillState::Complete
    }

    /// Backfills the conversation before others, because a step waits for it.
    fn prioritize_backfill(&self, _conversation: &ConversationId) {}

    /// Fetches the content of a message's file, if it has at most `max_bytes`. Only reads, so it may be repeated.
    async fn fetch_file(
        &self,
        _message: &Message,
        _attachment: &Attachment,
        _max_bytes: usize,
    ) -> Result<Vec<u8>, PlatformError> {
        Err(PlatformError::Refused("this platform has no files".to_owned()))
    }

    /// Returns the persona's own user on the platform, by which other users know it.
    fn own_user(&self) -> Option<UserId> {
        None
    }

    /// Whether it can show a post to a single user of a channel.
    fn can_whisper(&self) -> bool {
        false
    }

    /// Returns the address at which people find a message, on platforms that have one.
    fn message_url(&self, _message: &Message) -> Option<String> {
        None
    }

    /// Returns the maximum length of a post, as [`utf16_length`](crate::split::utf16_length) counts.
    fn max_post_length(&self) -> usize;
}

/// Whether recent messages of a conversation may be missing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BackfillState {
    #[default]
    Complete,
    /// Messages that were missed before the gap ended at this time have not been read yet.
    Pending { gap_ended: Timestamp },
    /// Missed messages cannot be read before the platform is connected again.
    Disconnected,
}

/// An error that tells the caller what to do next.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlatformError {
    /// Certainly not posted; retry later.
    #[error("the platform is busy: {why}")]
    Busy { why: String, retry_after: Option<SignedDuration> },
    /// Not tried, because other posts come first and take this long.
    #[error("others wait to be said there")]
    Queued { wait: SignedDuration },
    /// Certainly not posted, and never will be.
    #[error("the platform refuses: {0}")]
    Refused(String),
    /// It may have been posted; look for it before repeating it.
    #[error("the platform's answer is not known: {0}")]
    OutcomeUnknown(String),
}

/// The platform of each workspace id, or of all workspaces of a platform under that platform's name. Clones share them.
#[derive(Clone, Default)]
pub struct Platforms(pub Reloadable<HashMap<WorkspaceId, Arc<dyn Platform>>>);

impl Platforms {
    /// Returns the backfill progress of each platform that has any, ordered by name.
    pub fn backfill_progress(&self) -> Vec<BackfillProgress> {
        let mut progress: Vec<BackfillProgress> =
            self.0.read().values().filter_map(|platform| platform.backfill_progress()).collect();
        progress.sort_by_key(|progress| progress.platform);
        progress
    }

    pub fn for_workspace(
        &self,
        workspace: &WorkspaceId,
    ) -> Result<Arc<dyn Platform>, PlatformError> {
        let absent =
            || PlatformError::Refused(format!("the workspace {workspace} is not connected"));
        let platforms = self.0.read();
        let platform = || platforms.get(&WorkspaceId::new(workspace.platform()));
        platforms.get(workspace).or_else(platform).cloned().ok_or_else(absent)
    }
}
