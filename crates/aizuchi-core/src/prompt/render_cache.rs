//! Lines as they were printed before. The talk of one prompt is in the next one, too, and little of it
//! changes from one to the other.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::chat::{Message, MessageId};
use crate::prompt::view::MessageView;

/// The talk of some fifty channels.
const MAX_CACHED_MESSAGES: usize = 2048;
/// Of the text alone. Longer lines are few.
const MAX_TEXT_BYTES: usize = 2048;

/// What was printed lately. A line is never taken for another one: all that it was printed from is
/// compared, and its id is only where to look.
#[derive(Debug, Default)]
pub struct RenderCache {
    messages: Mutex<HashMap<MessageId, CachedMessage>>,
}

#[derive(Debug)]
struct CachedMessage {
    text: Arc<str>,
    at: Timestamp,
    zone: TimeZone,
    /// The most tokens that it could have.
    max_tokens: u64,
    view: Arc<MessageView>,
}

impl RenderCache {
    /// A line with at most so many tokens of text, which is made if it was not printed before.
    pub fn get_or_render(
        &self,
        message: &Message,
        name: &Arc<str>,
        zone: &TimeZone,
        most: u64,
        make: impl FnOnce() -> Arc<MessageView>,
    ) -> Arc<MessageView> {
        let is_same = |kept: &&CachedMessage| {
            let text = &message.text;
            (Arc::ptr_eq(&kept.text, text) || kept.text == *text)
                && kept.max_tokens <= most
                && kept.at == message.at
                && kept.view.user.name == *name
                && kept.zone == *zone
        };
        let mut lines = self.messages.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(kept) = lines.get(&message.id).filter(is_same) {
            return kept.view.clone();
        }
        let line = make();
        if line.left_out_tokens.is_none() && message.text.len() <= MAX_TEXT_BYTES {
            if lines.len() >= MAX_CACHED_MESSAGES {
                lines.clear();
            }
            let (text, at, zone) = (message.text.clone(), message.at, zone.clone());
            let kept = CachedMessage { text, at, zone, max_tokens: most, view: line.clone() };
            lines.insert(message.id.clone(), kept);
        }
        line
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chat::{Author, AuthorKind, ChannelId, ConversationId, UserId, WorkspaceId};
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
            edits: 0,
        }
    }

    /// Printed anew?
    fn prints(
        printed: &RenderCache,
        message: &Message,
        name: &str,
        zone: &TimeZone,
        most: u64,
    ) -> bool {
        let name: Arc<str> = name.into();
        let mut is_made = false;
        printed.get_or_render(message, &name, zone, most, || {
            is_made = true;
            let user = Arc::new(UserView { name: name.clone() });
            let text = message.text.clone();
            Arc::new(MessageView { user, text, ..MessageView::omission(0) })
        });
        is_made
    }

    #[test]
    fn a_line_is_printed_once_until_anything_about_it_changes() {
        let (printed, utc) = (RenderCache::default(), TimeZone::UTC);
        let tokyo = TimeZone::fixed(jiff::tz::offset(9));
        let mut line = message("hello");
        assert!(prints(&printed, &line, "alice", &utc, 10));
        assert!(!prints(&printed, &message("hello"), "alice", &utc, 10));
        assert!(!prints(&printed, &line, "alice", &utc, 11), "there is more room");
        assert!(prints(&printed, &line, "alice", &utc, 9), "there is less room");
        assert!(prints(&printed, &line, "alice (u)", &utc, 9));
        assert!(prints(&printed, &line, "alice (u)", &tokyo, 9));
        line.text = "hello!".into();
        assert!(prints(&printed, &line, "alice (u)", &tokyo, 9));
        line.at = Timestamp::from_second(1).unwrap();
        assert!(prints(&printed, &line, "alice (u)", &tokyo, 9));
        assert!(!prints(&printed, &line, "alice (u)", &tokyo, 9));
    }

    #[test]
    fn only_so_much_is_kept() {
        let (printed, utc) = (RenderCache::default(), TimeZone::UTC);
        let long = message(&"x".repeat(MAX_TEXT_BYTES + 1));
        for _ in 0..2 {
            assert!(prints(&printed, &long, "alice", &utc, 10_000));
        }
        for number in 0..=MAX_CACHED_MESSAGES {
            let id = MessageId::new(number.to_string());
            assert!(prints(&printed, &Message { id, ..message("x") }, "alice", &utc, 10));
        }
        assert_eq!(printed.messages.lock().unwrap().len(), 1);
    }
}
