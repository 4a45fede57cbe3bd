//! A cache of rendered messages for a replay, whose consecutive prompts share most of their messages.

use std::collections::HashMap;
use std::sync::Arc;

use aizuchi_model::chat::{ChannelId, Message, MessageId};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use parking_lot::Mutex;

use crate::prompt::speakers::NameCache;
use crate::prompt::tokens::KnownBeginning;
use crate::prompt::view::MessageView;

/// More than the number of messages that a channel's consecutive prompts share.
const MAX_CACHED_MESSAGES: usize = 512;
/// The maximum size of a cached text. Longer ones are rare.
const MAX_TEXT_BYTES: usize = 2048;

/// Caches for channels that are replayed in parallel. With a single one they would contend for its lock, and
/// messages of two channels may have the same id.
#[derive(Debug, Default)]
pub struct RenderCaches([RenderCache; 16]);

impl RenderCaches {
    /// The cache of a channel, which other channels may share.
    pub fn for_channel(&self, channel: &ChannelId) -> &RenderCache {
        let bytes = channel.as_str().bytes();
        let sum = bytes.fold(0_usize, |sum, byte| sum.wrapping_mul(31) + usize::from(byte));
        &self.0[sum % self.0.len()]
    }
}

/// Recently rendered messages. The id only selects the slot: a cached message is used only if
/// everything it was rendered from is equal.
#[derive(Debug, Default)]
pub struct RenderCache {
    messages: Mutex<HashMap<MessageId, CachedMessage>>,
    /// The names of the messages' authors.
    pub names: NameCache,
    /// The beginning that prompts share.
    pub beginning: KnownBeginning,
}

#[derive(Debug)]
struct CachedMessage {
    text: Arc<str>,
    at: Timestamp,
    zone: TimeZone,
    /// The limit that the text was shortened to.
    max_tokens: u64,
    view: Arc<MessageView>,
}

impl RenderCache {
    /// Returns a message with at most `max_tokens` of text, rendered with `render` if it is not
    /// cached.
    pub fn get_or_render(
        &self,
        message: &Message,
        name: &Arc<str>,
        zone: &TimeZone,
        max_tokens: u64,
        render: impl FnOnce() -> Arc<MessageView>,
    ) -> Arc<MessageView> {
        let is_same = |cached: &&CachedMessage| {
            let text = &message.text;
            (Arc::ptr_eq(&cached.text, text) || cached.text == *text)
                && cached.max_tokens <= max_tokens
                && cached.at == message.at
                && cached.view.user.name == *name
                && cached.zone == *zone
        };
        let mut messages = self.messages.lock();
        if let Some(cached) = messages.get(&message.id).filter(is_same) {
            return cached.view.clone();
        }
        let view = render();
        if view.left_out_tokens.is_none() && message.text.len() <= MAX_TEXT_BYTES {
            if messages.len() >= MAX_CACHED_MESSAGES {
                messages.clear();
            }
            let (text, at, zone) = (message.text.clone(), message.at, zone.clone());
            let cached = CachedMessage { text, at, zone, max_tokens, view: view.clone() };
            messages.insert(message.id.clone(), cached);
        }
        view
    }
}

#[cfg(test)]
mod tests {
    use aizuchi_model::chat::{Author, AuthorKind, ChannelId, ConversationId, UserId, WorkspaceId};

    use super::*;
    use crate::prompt::view::UserView;

    fn message(text: &str) -> Message {
        Message {
            conversation: ConversationId {
                workspace: WorkspaceId::new("w"),
                channel: ChannelId::new("c"),
                thread: None,
            },
            id: MessageId::new("1"),
            at: Timestamp::UNIX_EPOCH,
            author: Author { id: UserId::new("u"), kind: AuthorKind::Human },
            text: text.into(),
            mentions: Vec::new(),
            attachments: Vec::new(),
            edits: 0,
        }
    }

    /// Whether the message is rendered again.
    fn is_rendered_anew(
        cache: &RenderCache,
        message: &Message,
        name: &str,
        zone: &TimeZone,
        max_tokens: u64,
    ) -> bool {
        let name: Arc<str> = name.into();
        let mut was_rendered = false;
        cache.get_or_render(message, &name, zone, max_tokens, || {
            was_rendered = true;
            let user = Arc::new(UserView { name: name.clone() });
            let text = message.text.clone();
            Arc::new(MessageView { user, text, ..MessageView::omission(0) })
        });
        was_rendered
    }

    #[test]
    fn a_message_is_rendered_once_until_anything_about_it_changes() {
        let (cache, utc) = (RenderCache::default(), TimeZone::UTC);
        let tokyo = TimeZone::fixed(jiff::tz::offset(9));
        let mut changing = message("hello");
        assert!(is_rendered_anew(&cache, &changing, "alice", &utc, 10));
        assert!(!is_rendered_anew(&cache, &message("hello"), "alice", &utc, 10));
        assert!(!is_rendered_anew(&cache, &changing, "alice", &utc, 11), "there is more room");
        assert!(is_rendered_anew(&cache, &changing, "alice", &utc, 9), "there is less room");
        assert!(is_rendered_anew(&cache, &changing, "alice (u)", &utc, 9));
        assert!(is_rendered_anew(&cache, &changing, "alice (u)", &tokyo, 9));
        changing.text = "hello!".into();
        assert!(is_rendered_anew(&cache, &changing, "alice (u)", &tokyo, 9));
        changing.at = Timestamp::from_second(1).unwrap();
        assert!(is_rendered_anew(&cache, &changing, "alice (u)", &tokyo, 9));
        assert!(!is_rendered_anew(&cache, &changing, "alice (u)", &tokyo, 9));
    }

    #[test]
    fn the_size_of_the_cache_is_limited() {
        let (cache, utc) = (RenderCache::default(), TimeZone::UTC);
        let long = message(&"x".repeat(MAX_TEXT_BYTES + 1));
        for _ in 0..2 {
            assert!(is_rendered_anew(&cache, &long, "alice", &utc, 10_000));
        }
        for number in 0..=MAX_CACHED_MESSAGES {
            let id = MessageId::new(number.to_string());
            assert!(is_rendered_anew(&cache, &Message { id, ..message("x") }, "alice", &utc, 10));
        }
        assert_eq!(cache.messages.lock().len(), 1);
    }
}
