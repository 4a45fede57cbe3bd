//! The list of all unasked posts of a policy, for a team that reads it before it enables the policy.

use jiff::Timestamp;
use serde::Serialize;

use crate::report::story::StoryMessage;

/// The maximum number of posts in a list. Further posts are only counted.
pub const MAX_LISTED: usize = 200;

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct PostList {
    /// The first posts, by time.
    pub listed: Vec<ListedPost>,
    /// How many posts are not listed: later ones, and those about unknown messages.
    pub more: usize,
    /// How many posts, listed or not, quote a message that an earlier post in the channel quoted within the day before.
    /// `None` if the quotes are unknown.
    pub same_quotes: Option<usize>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ListedPost {
    pub at: Timestamp,
    pub channel: String,
    /// The message that it is about.
    pub asked: StoryMessage,
    /// The text that it posted or would have posted, if known.
    pub said: Option<String>,
    /// Whether it would probably have interrupted.
    pub is_wrong: bool,
    /// Whether it repeats a quote of an earlier post in the channel within the day before.
    pub is_same_quote: bool,
    /// Whether it is the first post about a question that no other person followed up, and came within an hour of it.
    pub is_left_open: bool,
    /// The next messages after it, within an hour.
    pub after: Vec<StoryMessage>,
}

impl PostList {
    /// Adds the posts of another channel, and drops those beyond [`MAX_LISTED`], which bounds the memory of a list.
    pub fn merge(&mut self, other: Self) {
        self.more += other.more;
        self.same_quotes = match (self.same_quotes, other.same_quotes) {
            (Some(own), Some(others)) => Some(own + others),
            (known, None) | (None, known) => known,
        };
        self.listed.extend(other.listed);
        self.listed.sort_by(|one, other| (one.at, &one.channel).cmp(&(other.at, &other.channel)));
        self.more += self.listed.len().saturating_sub(MAX_LISTED);
        self.listed.truncate(MAX_LISTED);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::story::StoryAuthor;

    fn post(channel: &str, second: i64) -> ListedPost {
        let at = Timestamp::from_second(second).unwrap();
        ListedPost {
            at,
            channel: channel.to_owned(),
            asked: StoryMessage {
                at,
                author: StoryAuthor { id: "ann".to_owned(), name: "ann".to_owned() },
                is_bot: false,
                text: "who has a ladder?".to_owned(),
                is_about: true,
                left_out_after: 0,
                left_out: Vec::new(),
            },
            said: None,
            is_wrong: false,
            is_same_quote: false,
            is_left_open: false,
            after: Vec::new(),
        }
    }

    #[test]
    fn the_first_posts_of_all_channels_are_listed() {
        let list = |channel: &str, begin: i64, count: i64| PostList {
            listed: (begin..begin + count).map(|second| post(channel, second)).collect(),
            more: 1,
            same_quotes: (channel == "a").then_some(4),
        };
        let mut all = list("a", 100, 150);
        all.merge(list("b", 0, 150));
        assert_eq!((all.listed.len(), all.more), (MAX_LISTED, 102));
        assert_eq!(all.same_quotes, Some(4));
        let channels: Vec<&str> = all.listed.iter().map(|one| &*one.channel).collect();
        assert_eq!((channels[0], channels[99], channels[MAX_LISTED - 1]), ("b", "b", "b"));
        assert!(all.listed.is_sorted_by_key(|one| one.at));
    }
}
