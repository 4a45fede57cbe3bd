//! The port through which channels are backfilled: what a chat platform's adapter knows of reading histories.

use std::sync::Arc;

use async_trait::async_trait;
use jiff::Timestamp;

use crate::chat::{ChannelId, Message};
use crate::inbox::Inbox;
use crate::platform::backfill_queue::{BackfillQueue, BackfillTarget};
use crate::platform::connection_tracker::ConnectionTracker;
use crate::platform::incidents::Incidents;
use crate::store::Cursors;
use crate::store::archive::Archive;

/// What a backfill works with on every platform.
#[derive(Clone, Copy)]
pub struct BackfillParts<'a> {
    /// The platform's name for users.
    pub platform: &'static str,
    pub queue: &'a BackfillQueue,
    pub connection: &'a ConnectionTracker,
    pub inbox: &'a Inbox,
    pub archive: &'a dyn Archive,
    pub cursors: &'a dyn Cursors,
    pub incidents: &'a Incidents,
}

/// An error means: not now; try again later.
#[async_trait]
pub trait ChannelHistory: Send + Sync {
    fn parts(&self) -> BackfillParts<'_>;

    /// How many channels may be read at once.
    fn max_concurrent(&self) -> usize;

    /// A gap has ended: queues the channels that are to be read.
    fn enqueue_channels(&self);

    /// Hears what was missed in a channel before `since`, when the gap ended, and returns the number of new messages.
    async fn read_channel(&self, channel: &ChannelId, since: Timestamp) -> anyhow::Result<usize>;

    /// The same for the newest messages of one conversation.
    async fn read_target(&self, target: &BackfillTarget, since: Timestamp) -> anyhow::Result<()>;

    /// Which of these messages the platform surely no longer has. All are of one conversation, oldest first.
    async fn find_deleted(&self, messages: &[Arc<Message>]) -> anyhow::Result<Vec<Arc<Message>>>;

    /// The connection has been unbroken since then for another while, so the next start has to read less.
    async fn advance_cursors(&self, since: Timestamp);
}
