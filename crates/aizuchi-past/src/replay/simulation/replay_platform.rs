//! The chat platform of a replay.

use aizuchi_model::chat::{MessageId, UserId};
use aizuchi_model::clock::Clock;
use aizuchi_model::flow::outbox::{OutboxItem, PostedMessage};
use aizuchi_model::platform::{Platform, PlatformError};
use aizuchi_platform::local;
use async_trait::async_trait;
use jiff::SignedDuration;

/// The recorded channel accepts every post.
pub(super) struct ReplayPlatform {
    pub(super) clock: Clock,
}

#[async_trait]
impl Platform for ReplayPlatform {
    async fn post(&self, item: &OutboxItem) -> Result<PostedMessage, PlatformError> {
        let id = MessageId::new(format!("own-{}", item.id));
        let thread = item.conversation.thread.clone();
        Ok(PostedMessage { id, thread, at: self.clock.now(), author: UserId::new("persona") })
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
        Some(UserId::new("persona"))
    }

    fn max_post_length(&self) -> usize {
        local::limits::MAX_MESSAGE_LENGTH
    }
}
