//! The port for backfilling channels: how a chat platform's adapter reads histories.

use std::sync::Arc;

use aizuchi_agent::inbox::Inbox;
use aizuchi_model::chat::{ChannelId, Message};
use aizuchi_store::Cursors;
use aizuchi_store::archive::Archive;
use async_trait::async_trait;
use jiff::Timestamp;

use crate::backfill_queue::{BackfillQueue, BackfillTarget};
use crate::connection_tracker::ConnectionTracker;
use crate::incidents::Incidents;

/// The parts that a backfill works with on every platform.
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

/// A platform's history. An error means that the caller should try again later.
#[async_trait]
pub trait ChannelHistory: Send + Sync {
    fn parts(&self) -> BackfillParts<'_>;

    /// Returns the maximum number of channels that may be read at once.
    fn max_concurrent(&self) -> usize;

    /// Queues the channels to be read after a gap has ended.
    fn enqueue_channels(&self);

    /// Hears the messages of a channel that were missed before `since`, when the gap ended, and returns the number of
    /// new ones.
    async fn read_channel(&self, channel: &ChannelId, since: Timestamp) -> anyhow::Result<usize>;

    /// Hears the missed messages among the newest ones of one conversation.
    async fn read_target(&self, target: &BackfillTarget, since: Timestamp) -> anyhow::Result<()>;

    /// Returns those messages that the platform certainly no longer has. All are of one conversation, oldest first.
    async fn find_deleted(&self, messages: &[Arc<Message>]) -> anyhow::Result<Vec<Arc<Message>>>;

    /// Records that the connection has been unbroken since then for some more time, so the next start has to read less.
    async fn advance_cursors(&self, since: Timestamp);
}
