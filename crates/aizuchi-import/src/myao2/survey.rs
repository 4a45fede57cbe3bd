//! What has to be known about all messages of myao2 before the first of them is heard. It is collected in one pass over
//! the messages without their texts.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use aizuchi_model::chat::{ChannelId, MessageId, UserId};
use jiff::{SignedDuration, Timestamp};

use crate::message_ids::MessageIds;
use crate::myao2::database::Myao2MessageHead;

/// The maximum time from a memo to the reply that it was made for. myao2 makes memos while it writes a reply, one reply
/// at a time, so its next post is in the channel where the memo was made.
const MAX_REPLY_TIME: SignedDuration = SignedDuration::from_mins(10);

/// Which ids are Slack's. myao2 generates ids for its own posts only.
pub const IDS: MessageIds = MessageIds::SlackOrMade;

#[derive(Debug, Default)]
pub struct MessageSurvey {
    /// All authors by their ids.
    pub authors: BTreeMap<String, SurveyedAuthor>,
    /// The channels of the messages whose time is known.
    pub channels: BTreeSet<String>,
    /// The number of messages whose time is unknown.
    pub timeless: usize,
    /// The number of messages older than the retention period.
    pub expired: usize,
}

/// An author, as described by their newest message.
#[derive(Debug, Default)]
pub struct SurveyedAuthor {
    pub name: String,
    pub is_bot: bool,
    /// The number of their messages with ids that myao2 generated.
    made_ids: usize,
}

impl MessageSurvey {
    /// Adds the next message. Messages must come oldest first.
    pub fn take(&mut self, head: Myao2MessageHead, expired_before: Option<Timestamp>) {
        let sent_at = head.sent_at();
        let has_made_id = !IDS.is_platforms(&MessageId::new(head.id));
        let author = self.authors.entry(head.user).or_default();
        (author.name, author.is_bot) = (head.name, head.is_bot);
        author.made_ids += usize::from(has_made_id);
        let Some(at) = sent_at else {
            self.timeless += 1;
            return;
        };
        self.expired += usize::from(expired_before.is_some_and(|before| at < before));
        self.channels.insert(head.channel);
    }

    /// The user with the most messages under ids that myao2 generated, which it does only for its own posts.
    pub fn guess_persona(&self) -> Option<UserId> {
        let with_made = self.authors.iter().filter(|(_, author)| author.made_ids > 0);
        let (user, _) = with_made.max_by_key(|(_, author)| author.made_ids)?;
        Some(UserId::new(user.as_str()))
    }
}

/// Where memos were made: the channel of the persona's next post, if it came soon enough.
#[derive(Debug, Default)]
pub struct MemoOrigins {
    /// The times of memos that have not been followed by a post yet.
    waiting: BTreeSet<Timestamp>,
    found: HashMap<Timestamp, ChannelId>,
}

impl MemoOrigins {
    /// Creates the lookup for memos that were made at these times.
    pub fn new(created: impl Iterator<Item = Timestamp>) -> Self {
        Self { waiting: created.collect(), found: HashMap::new() }
    }

    /// Adds the persona's next post. Posts must come oldest first.
    pub fn take(&mut self, channel: &str, at: Timestamp) {
        while let Some(created) = self.waiting.first().copied().filter(|created| *created <= at) {
            self.waiting.remove(&created);
            if at.duration_since(created) <= MAX_REPLY_TIME {
                self.found.insert(created, ChannelId::new(channel));
            }
        }
    }

    pub fn channel(&self, created: Timestamp) -> Option<ChannelId> {
        self.found.get(&created).cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_memo_was_made_where_the_next_post_is() {
        let at = |minute: i64| Timestamp::from_second(minute * 60).unwrap();
        let mut origins = MemoOrigins::new([3, 5, 5, 20, 40].into_iter().map(at));
        for (channel, minute) in [("C1", 1), ("C2", 5), ("C3", 6), ("C4", 31), ("C5", 50)] {
            origins.take(channel, at(minute));
        }
        let found = [3, 5, 20, 40].map(|minute| origins.channel(at(minute)));
        let expected = [Some("C2"), Some("C2"), None, Some("C5")];
        assert_eq!(found, expected.map(|channel| channel.map(ChannelId::new)));
    }
}
