//! One channel's talk, sorted into its top level and its threads (seed 003).

use std::sync::Arc;

use crate::chat::{ChannelId, Message, MessageId};

/// Lines of one channel. A thread's parent stands at the top level and at the head of its thread, as
/// far as it is known, and counts once.
#[derive(Clone, Debug, PartialEq)]
pub struct ChannelMessages {
    pub channel_id: ChannelId,
    pub channel_name: Arc<str>,
    /// Oldest first, parents of threads among them.
    pub top_level_messages: Vec<Arc<Message>>,
    /// By the time of each thread's first line.
    pub thread_messages: Vec<ThreadMessages>,
}

/// One thread, or the part of it that was read.
#[derive(Clone, Debug, PartialEq)]
pub struct ThreadMessages {
    /// The parent's id.
    pub id: MessageId,
    /// Oldest first; the parent before all others, whatever its time.
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

    /// Sorts lines of a channel, whatever their order: a line that belongs to no thread is at the top
    /// level, and at the head of the thread that it opened if a line of that is there, too.
    pub fn from_messages(
        channel_id: ChannelId,
        channel_name: Arc<str>,
        mut lines: Vec<Arc<Message>>,
    ) -> Self {
        lines.sort_by(|one, other| (one.at, &one.id).cmp(&(other.at, &other.id)));
        lines.dedup_by(|one, other| one.id == other.id);
        let mut sorted = Self::new(channel_id, channel_name);
        for line in &lines {
            match &line.conversation.thread {
                None => sorted.top_level_messages.push(line.clone()),
                Some(thread) => sorted.thread_mut(thread).messages.push(line.clone()),
            }
        }
        for thread in &mut sorted.thread_messages {
            let parent = sorted.top_level_messages.iter().find(|line| line.id == thread.id);
            if let Some(parent) = parent {
                thread.messages.insert(0, parent.clone());
            }
        }
        sorted.thread_messages.sort_by_cached_key(|thread| {
            thread.messages.first().map(|line| (line.at, line.id.clone()))
        });
        sorted
    }

    /// Every line once, oldest first.
    pub fn all_messages(&self) -> Vec<Arc<Message>> {
        let mut all: Vec<Arc<Message>> = self.iter().cloned().collect();
        all.sort_by(|one, other| (one.at, &one.id).cmp(&(other.at, &other.id)));
        all
    }

    /// A thread's lines, the parent first; none if nothing of it is known.
    pub fn thread(&self, id: &MessageId) -> &[Arc<Message>] {
        let thread = self.thread_messages.iter().find(|thread| thread.id == *id);
        thread.map_or(&[], |thread| &thread.messages)
    }

    pub fn thread_count(&self) -> usize {
        self.thread_messages.len()
    }

    /// How many lines there are; a parent counts once.
    pub fn total_message_count(&self) -> usize {
        self.iter().count()
    }

    /// Every line once, in no particular order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &Arc<Message>> {
        let replies = |thread: &'_ ThreadMessages| {
            let parent = thread.id.clone();
            move |line: &&Arc<Message>| line.id != parent
        };
        let threads = self.thread_messages.iter();
        let in_threads =
            threads.flat_map(move |thread| thread.messages.iter().filter(replies(thread)));
        // A parent stands at the top level, too.
        self.top_level_messages.iter().chain(in_threads)
    }

    fn thread_mut(&mut self, id: &MessageId) -> &mut ThreadMessages {
        let place = self.thread_messages.iter().position(|thread| thread.id == *id);
        let place = place.unwrap_or_else(|| {
            self.thread_messages.push(ThreadMessages { id: id.clone(), messages: Vec::new() });
            self.thread_messages.len() - 1
        });
        &mut self.thread_messages[place]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chat::{Author, AuthorKind, ConversationId, UserId, WorkspaceId};
    use jiff::Timestamp;

    fn line(id: &str, second: i64, thread: Option<&str>) -> Arc<Message> {
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
            edits: 0,
        })
    }

    fn ids(lines: &[Arc<Message>]) -> Vec<&str> {
        lines.iter().map(|line| line.id.as_str()).collect()
    }

    fn sorted(lines: Vec<Arc<Message>>) -> ChannelMessages {
        ChannelMessages::from_messages(ChannelId::new("c"), "general".into(), lines)
    }

    #[test]
    fn an_empty_channel_has_nothing() {
        let empty = ChannelMessages::new(ChannelId::new("c"), "general".into());
        assert_eq!((empty.thread_count(), empty.total_message_count()), (0, 0));
        assert!(empty.all_messages().is_empty() && empty.thread(&MessageId::new("x")).is_empty());
    }

    #[test]
    fn lines_are_sorted_into_top_level_and_threads_oldest_first() {
        let talk = sorted(vec![
            line("d", 4, Some("a")),
            line("c", 3, None),
            line("a", 1, None),
            line("b", 2, Some("a")),
            line("f", 6, Some("gone")),
        ]);
        assert_eq!(ids(&talk.top_level_messages), ["a", "c"]);
        assert_eq!(ids(talk.thread(&MessageId::new("a"))), ["a", "b", "d"]);
        assert_eq!(ids(talk.thread(&MessageId::new("gone"))), ["f"]);
        assert_eq!(ids(&talk.all_messages()), ["a", "b", "c", "d", "f"]);
        assert_eq!(talk.thread_count(), 2);
    }

    /// Of `reference/myao2.md`, defect 26.
    #[test]
    fn defect_26_a_parent_counts_once() {
        let talk = sorted(vec![line("a", 1, None), line("b", 2, Some("a"))]);
        assert_eq!(talk.total_message_count(), 2);
        assert_eq!(ids(&talk.all_messages()), ["a", "b"]);
    }

    /// Of `reference/myao2.md`, defect 1.
    #[test]
    fn defect_1_a_parent_stands_at_the_head_of_its_thread() {
        let talk = sorted(vec![line("b", 2, Some("a")), line("a", 9, None)]);
        assert_eq!(ids(talk.thread(&MessageId::new("a"))), ["a", "b"]);
    }
}
