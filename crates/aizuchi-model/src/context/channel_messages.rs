//! The messages of one channel, sorted into its top level and its threads.

use std::sync::Arc;

use crate::chat::{ChannelId, Message, MessageId};

/// The messages of one channel. A thread's parent, if known, is both at the top level and first in its thread, but
/// counts once.
#[derive(Clone, Debug, PartialEq)]
pub struct ChannelMessages {
    pub channel_id: ChannelId,
    pub channel_name: Arc<str>,
    /// Oldest first, including the parents of threads.
    pub top_level_messages: Vec<Arc<Message>>,
    /// Ordered by the time of each thread's first message.
    pub thread_messages: Vec<ThreadMessages>,
}

/// One thread, or the part of it that was read.
#[derive(Clone, Debug, PartialEq)]
pub struct ThreadMessages {
    /// The parent's id.
    pub id: MessageId,
    /// Oldest first, except that the parent always comes first.
    pub messages: Vec<Arc<Message>>,
}

impl ChannelMessages {
    pub fn new(channel_id: ChannelId, channel_name: Arc<str>) -> Self {
        Self {
            channel_id,
            channel_name,
            top_level_messages: Vec::new(),
            thread_messages: Vec::new(),
        }
    }

    /// Sorts messages of a channel, which may be in any order. A message outside threads goes to the top level, and
    /// also to the start of its thread if any reply is among the messages.
    pub fn from_messages(
        channel_id: ChannelId,
        channel_name: Arc<str>,
        mut messages: Vec<Arc<Message>>,
    ) -> Self {
        messages.sort_by(|one, other| (one.at, &one.id).cmp(&(other.at, &other.id)));
        messages.dedup_by(|one, other| one.id == other.id);
        let mut sorted = Self::new(channel_id, channel_name);
        for message in messages {
            match &message.conversation.thread {
                None => sorted.top_level_messages.push(message),
                Some(thread) => {
                    let thread = sorted.thread_index(thread);
                    sorted.thread_messages[thread].messages.push(message);
                }
            }
        }
        for thread in &mut sorted.thread_messages {
            let parent = sorted.top_level_messages.iter().find(|message| message.id == thread.id);
            if let Some(parent) = parent {
                thread.messages.insert(0, parent.clone());
            }
        }
        sorted.thread_messages.sort_by_cached_key(|thread| {
            thread.messages.first().map(|message| (message.at, message.id.clone()))
        });
        sorted
    }

    /// Returns every message once, oldest first.
    pub fn all_messages(&self) -> Vec<Arc<Message>> {
        let mut all: Vec<Arc<Message>> = self.iter().cloned().collect();
        all.sort_by(|one, other| (one.at, &one.id).cmp(&(other.at, &other.id)));
        all
    }

    /// Returns a thread's messages, parent first; empty if none is known.
    pub fn thread(&self, id: &MessageId) -> &[Arc<Message>] {
        let thread = self.thread_messages.iter().find(|thread| thread.id == *id);
        thread.map_or(&[], |thread| &thread.messages)
    }

    pub fn thread_count(&self) -> usize {
        self.thread_messages.len()
    }

    /// Returns the number of messages; a parent counts once.
    pub fn total_message_count(&self) -> usize {
        self.iter().count()
    }

    /// Returns every message once, in no particular order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &Arc<Message>> {
        let replies = |thread: &'_ ThreadMessages| {
            let parent = thread.id.clone();
            move |message: &&Arc<Message>| message.id != parent
        };
        let threads = self.thread_messages.iter();
        let in_threads =
            threads.flat_map(move |thread| thread.messages.iter().filter(replies(thread)));
        // Parents are already at the top level.
        self.top_level_messages.iter().chain(in_threads)
    }

    fn thread_index(&mut self, id: &MessageId) -> usize {
        let index = self.thread_messages.iter().position(|thread| thread.id == *id);
        index.unwrap_or_else(|| {
            self.thread_messages.push(ThreadMessages { id: id.clone(), messages: Vec::new() });
            self.thread_messages.len() - 1
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chat::{Author, AuthorKind, ConversationId, UserId, WorkspaceId};
    use jiff::Timestamp;

    fn message(id: &str, second: i64, thread: Option<&str>) -> Arc<Message> {
        Arc::new(Message {
            conversation: ConversationId {
                workspace: WorkspaceId::new("w"),
                channel: ChannelId::new("c"),
                thread: thread.map(MessageId::new),
            },
            id: MessageId::new(id),
            at: Timestamp::from_second(second).unwrap(),
            author: Author { id: UserId::new("u"), kind: AuthorKind::Human },
            text: id.into(),
            mentions: Vec::new(),
            attachments: Vec::new(),
            edits: 0,
        })
    }

    fn ids(messages: &[Arc<Message>]) -> Vec<&str> {
        messages.iter().map(|message| message.id.as_str()).collect()
    }

    fn sorted(messages: Vec<Arc<Message>>) -> ChannelMessages {
        ChannelMessages::from_messages(ChannelId::new("c"), "general".into(), messages)
    }

    #[test]
    fn an_empty_channel_has_nothing() {
        let empty = ChannelMessages::new(ChannelId::new("c"), "general".into());
        assert_eq!((empty.thread_count(), empty.total_message_count()), (0, 0));
        assert!(empty.all_messages().is_empty() && empty.thread(&MessageId::new("x")).is_empty());
    }

    #[test]
    fn messages_are_sorted_into_top_level_and_threads_oldest_first() {
        let sorted = sorted(vec![
            message("d", 4, Some("a")),
            message("c", 3, None),
            message("a", 1, None),
            message("b", 2, Some("a")),
            message("f", 6, Some("gone")),
        ]);
        assert_eq!(ids(&sorted.top_level_messages), ["a", "c"]);
        assert_eq!(ids(sorted.thread(&MessageId::new("a"))), ["a", "b", "d"]);
        assert_eq!(ids(sorted.thread(&MessageId::new("gone"))), ["f"]);
        assert_eq!(ids(&sorted.all_messages()), ["a", "b", "c", "d", "f"]);
        assert_eq!(sorted.thread_count(), 2);
    }

    /// myao2 counted a thread's parent twice.
    #[test]
    fn a_parent_counts_once() {
        let sorted = sorted(vec![message("a", 1, None), message("b", 2, Some("a"))]);
        assert_eq!(sorted.total_message_count(), 2);
        assert_eq!(ids(&sorted.all_messages()), ["a", "b"]);
    }

    /// myao2 lost a thread's parent.
    #[test]
    fn a_parent_comes_first_in_its_thread() {
        let sorted = sorted(vec![message("b", 2, Some("a")), message("a", 9, None)]);
        assert_eq!(ids(sorted.thread(&MessageId::new("a"))), ["a", "b"]);
    }
}
