//! Measures how long the persona takes from a message to the post that answers it, and counts how often it interrupts.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::replay::history::RecordedChannel;
use crate::replay::rows::IdHash;

/// Longer waits count as this long, so that their number is bounded.
const MAX_WAIT_SECONDS: f64 = 7200.0;
/// A message this soon after another one was written without having seen it.
const UNSEEN_SECONDS: f64 = 5.0;

/// One unsolicited post.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct UnsolicitedPost {
    pub at: Timestamp,
    /// The thread, or the top level.
    pub thread: IdHash,
    /// The message that it answers.
    pub about: Option<IdHash>,
}

/// Sums over all channels.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TimingScore {
    pub posts: usize,
    /// Posts that a human message followed within 5 s.
    pub preempting_posts: usize,
    #[serde(rename = "human_lines")]
    pub human_messages: usize,
    /// Human messages that another user's followed within 5 s.
    #[serde(rename = "preempting_lines")]
    pub preempting_messages: usize,
    /// How many posts came how many seconds after the message that they answer.
    waits: BTreeMap<u32, usize>,
}

/// The times from a message to the post that answers it, in seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Waits {
    pub median: u32,
    pub p90: u32,
    pub worst: u32,
}

impl TimingScore {
    /// Adds a channel.
    pub fn add(&mut self, channel: &RecordedChannel, posts: &[UnsolicitedPost]) {
        let rows = &channel.rows;
        for thread in rows.threads() {
            let messages = rows.human_messages_in(thread);
            self.human_messages += messages.len();
            let others = messages.pairs().filter(|(one, next)| one.author != next.author);
            let soon = others.filter(|(one, next)| next.ts - one.ts <= UNSEEN_SECONDS);
            self.preempting_messages += soon.count();
        }
        for post in posts {
            let messages = rows.human_messages_at(post.thread);
            let next = messages.partition_point(|row| row.at() <= post.at);
            let next = messages.get(next).map(|next| next.at().duration_since(post.at));
            let is_soon = next.is_some_and(|next| next.as_secs_f64() <= UNSEEN_SECONDS);
            self.posts += 1;
            self.preempting_posts += usize::from(is_soon);
            if let Some(about) = post.about.and_then(|about| rows.find(about)) {
                let wait = post.at.duration_since(about.at()).as_secs_f64();
                let wait = wait.clamp(0.0, MAX_WAIT_SECONDS).round() as u32;
                *self.waits.entry(wait).or_default() += 1;
            }
        }
    }

    /// Returns `None` if no post answers a known message.
    pub fn waits(&self) -> Option<Waits> {
        let all = self.waits.values().sum::<usize>() as f64;
        let at_share = |share: f64| {
            let mut seen = 0;
            let found = self.waits.iter().find(|(_, count)| {
                seen += **count;
                seen as f64 >= share * all
            });
            found.map(|(seconds, _)| *seconds)
        };
        Some(Waits { median: at_share(0.5)?, p90: at_share(0.9)?, worst: at_share(1.0)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::replay::history::RecordedMessage;

    #[test]
    fn waits_are_counted_from_the_answered_message() {
        let message = |id: &str, ts: f64, author: &str| RecordedMessage {
            channel: "r".to_owned(),
            thread: None,
            id: id.to_owned(),
            ts,
            author: author.to_owned(),
            name: None,
            text: "so it goes".to_owned(),
            reply_to: Vec::new(),
            bot: author == "bot",
            opener: false,
        };
        let messages = vec![
            message("1", 0.0, "ann"),
            message("2", 1.0, "bob"),
            message("3", 100.0, "ann"),
            message("4", 102.0, "bot"),
            message("5", 104.0, "bob"),
            message("6", 105.0, "bob"),
        ];
        let at = |second| Timestamp::from_second(second).unwrap();
        let post = |second, about: &str| UnsolicitedPost {
            at: at(second),
            thread: IdHash::from_thread(None),
            about: Some(IdHash::new(about)),
        };
        let mut timing = TimingScore::default();
        let posts: Vec<UnsolicitedPost> =
            [post(50, "2"), post(103, "3"), post(103, "7")].into_iter().collect();
        timing.add(&RecordedChannel::from_messages("r".to_owned(), messages), &posts);
        assert_eq!((timing.posts, timing.preempting_posts), (3, 2));
        assert_eq!((timing.human_messages, timing.preempting_messages), (5, 2));
        assert_eq!(timing.waits(), Some(Waits { median: 3, p90: 49, worst: 49 }));
        assert_eq!(TimingScore::default().waits(), None);
    }
}
