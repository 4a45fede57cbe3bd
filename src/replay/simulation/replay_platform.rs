//! The chat platform of a replay.

use std::sync::Arc;

use async_trait::async_trait;
use jiff::SignedDuration;

use crate::replay::companions::Companions;
use aizuchi_core::chat::UserId;
use aizuchi_core::clock::Clock;
use aizuchi_core::event::{OutboxItem, PostedMessage};
use aizuchi_core::platform::{Platform, PlatformError, local};

/// The recorded channel accepts every post.
pub(super) struct ReplayPlatform {
    pub(super) clock: Clock,
    pub(super) companions: Arc<Companions>,
    /// The number of the companion.
    pub(super) number: usize,
}

#[async_trait]
impl Platform for ReplayPlatform {
    async fn post(&self, item: &OutboxItem) -> Result<PostedMessage, PlatformError> {
        let author = self.companions.user(self.number);
        let id = self.companions.post_id(self.number, item);
        let thread = item.conversation.thread.clone();
        let posted = PostedMessage { id, thread, at: self.clock.now(), author };
        self.companions.post(self.number, item, &posted);
        Ok(posted)
    }

    async fn find_posted(
        &self,
        _item: &OutboxItem,
    ) -> Result<Option<PostedMessage>, PlatformError> {
        Ok(None)
    }

    fn in_flight_timeout(&self) -> SignedDuration {
        SignedDuration::ZERO
    }

    fn own_user(&self) -> Option<UserId> {
        Some(self.companions.user(self.number))
    }

    fn max_post_length(&self) -> usize {
        local::limits::MAX_MESSAGE_LENGTH
    }
}
