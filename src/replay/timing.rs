//! Whether it speaks when people do: its delays against theirs, and how often it is talked into.
//!
//! What is learned comes from before each post, so the first half of a room teaches, and the second is
//! measured.

use std::collections::HashMap;

use jiff::Timestamp;
use serde::Serialize;

use crate::replay::history::{RecordedChannel, RecordedMessage};
use aizuchi_core::chat::MessageId;

/// Whoever writes later than this does not answer any more (benchmark B5).
const MAX_ANSWER_SECONDS: f64 = 3600.0;
/// A line so soon after another was written without having seen it (benchmark B5).
const UNSEEN_SECONDS: f64 = 5.0;

/// One thing that it said unasked.
#[derive(Clone, Debug, PartialEq)]
pub struct UnsolicitedPost {
    pub at: Timestamp,
    pub thread: Option<MessageId>,
    /// The newest line by a person when it was judged, and when it was decided.
    pub newest_human: Option<MessageId>,
    pub decided_at: Timestamp,
}

/// Sums over the second halves of rooms.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct TimingScore {
    pub posts: usize,
    /// Posts that a person's line followed within 5 s.
    pub preempting_posts: usize,
    pub human_lines: usize,
    /// Lines by people that another person's followed within 5 s.
    pub preempting_lines: usize,
    /// What there is to compare, in seconds.
    #[serde(skip)]
    own_delays: Vec<f64>,
    /// By people, and what each weighs.
    #[serde(skip)]
    human_delays: Vec<(f64, f64)>,
}

impl TimingScore {
    pub fn add(&mut self, room: &RecordedChannel, posts: &[UnsolicitedPost]) {
        let Some(half) = room.messages.get(room.messages.len() / 2).map(RecordedMessage::at) else {
            return;
        };
        let mut conversations: HashMap<Option<&str>, Vec<&RecordedMessage>> = HashMap::new();
        for message in room.messages.iter().filter(|message| !message.bot) {
            conversations.entry(message.thread.as_deref()).or_default().push(message);
        }
        let said: HashMap<&str, f64> =
            room.messages.iter().map(|message| (&*message.id, message.ts)).collect();
        let posts: Vec<&UnsolicitedPost> = posts.iter().filter(|post| post.at >= half).collect();
        let mut delays = Vec::new();
        for lines in conversations.values() {
            let lines: Vec<&&RecordedMessage> =
                lines.iter().filter(|line| line.at() >= half).collect();
            self.human_lines += lines.len();
            for pair in lines.windows(2).filter(|pair| pair[0].author != pair[1].author) {
                let delay = pair[1].ts - pair[0].ts;
                self.preempting_lines += usize::from(delay <= UNSEEN_SECONDS);
                delays.extend((delay <= MAX_ANSWER_SECONDS).then_some(delay));
            }
        }
        self.posts += posts.len();
        for post in &posts {
            let thread = post.thread.as_ref().map(|id| id.as_str());
            let lines = conversations.get(&thread).map_or(&[][..], Vec::as_slice);
            let next = lines.partition_point(|line| line.at() <= post.at);
            let next = lines.get(next).map(|next| next.at().duration_since(post.at));
            let is_soon = next.is_some_and(|next| next.as_secs_f64() <= UNSEEN_SECONDS);
            self.preempting_posts += usize::from(is_soon);
        }
        let timed = posts.iter().filter_map(|post| {
            let behind = said.get(post.newest_human.as_ref()?.as_str())?;
            Some((epoch(post.decided_at) - behind, epoch(post.at) - behind))
        });
        self.compare(&timed.collect::<Vec<_>>(), delays);
    }

    /// Every post stands for all the delays of its room that are longer than its wait, together as heavy as
    /// the post. A post for which there is no such delay has nothing to be compared with.
    fn compare(&mut self, posts: &[(f64, f64)], mut delays: Vec<f64>) {
        delays.sort_by(f64::total_cmp);
        let longer = |wait: f64| delays.len() - delays.partition_point(|delay| *delay <= wait);
        let mut waits: Vec<(f64, f64)> = Vec::new();
        for (wait, spoken) in posts.iter().filter(|(wait, _)| longer(*wait) > 0) {
            self.own_delays.push(*spoken);
            waits.push((*wait, 1.0 / longer(*wait) as f64));
        }
        waits.sort_by(|one, other| one.0.total_cmp(&other.0));
        let (mut waits, mut weight) = (waits.into_iter().peekable(), 0.0);
        for delay in delays {
            while let Some((_, share)) = waits.next_if(|(wait, _)| *wait < delay) {
                weight += share;
            }
            self.human_delays.extend((weight > 0.0).then_some((delay, weight)));
        }
    }

    /// The Kolmogorov–Smirnov distance between its delays and people's: the most by which the shares of
    /// delays up to some length differ.
    ///
    /// A delay of its own is the time from the newest line by a person that was judged to its post. People's
    /// are those from a line to the next of the same conversation, if that is by somebody else and within an
    /// hour. Both are of the second half of each room, and with each post people's delays in its room are
    /// compared that are longer than it had waited when it decided to speak.
    pub fn distance(&self) -> Option<f64> {
        let mut steps: Vec<(f64, f64)> = Vec::new();
        let all = self.own_delays.len() as f64;
        steps.extend(self.own_delays.iter().map(|delay| (*delay, 1.0 / all)));
        steps.extend(self.human_delays.iter().map(|(delay, weight)| (*delay, -weight / all)));
        steps.sort_by(|one, other| one.0.total_cmp(&other.0));
        let (mut difference, mut distance) = (0.0, 0.0_f64);
        for (place, (delay, step)) in steps.iter().enumerate() {
            difference += step;
            // Delays of the same length are one step.
            if steps.get(place + 1).is_none_or(|next| next.0 > *delay) {
                distance = distance.max(f64::abs(difference));
            }
        }
        (!self.own_delays.is_empty()).then_some(distance)
    }

    /// Its median delay, and people's.
    pub fn medians(&self) -> Option<(f64, f64)> {
        let spoken: Vec<(f64, f64)> = self.own_delays.iter().map(|delay| (*delay, 1.0)).collect();
        Some((median(spoken)?, median(self.human_delays.clone())?))
    }
}

fn median(mut delays: Vec<(f64, f64)>) -> Option<f64> {
    delays.sort_by(|one, other| one.0.total_cmp(&other.0));
    let half = delays.iter().map(|(_, weight)| weight).sum::<f64>() / 2.0;
    let mut sum = 0.0;
    let found = delays.iter().find(|(_, weight)| {
        sum += weight;
        sum >= half
    });
    found.map(|(delay, _)| *delay)
}

fn epoch(at: Timestamp) -> f64 {
    at.as_millisecond() as f64 / 1000.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_distance_is_the_widest_gap_between_the_shares() {
        let timing = |posts: &[(f64, f64)], delays: &[f64]| {
            let mut timing = TimingScore::default();
            timing.compare(posts, delays.to_vec());
            timing.distance()
        };
        assert_eq!(timing(&[], &[1.0]), None);
        assert_eq!(timing(&[(0.0, 1.0), (0.0, 2.0)], &[1.0, 2.0]), Some(0.0));
        assert_eq!(timing(&[(0.0, 5.0), (0.0, 6.0)], &[1.0, 2.0]), Some(1.0));
        assert_eq!(timing(&[(0.0, 1.0), (0.0, 9.0)], &[1.0, 2.0]), Some(0.5));
        // Only what is longer than the wait counts, and a post with no match is left out.
        assert_eq!(timing(&[(3.0, 4.0), (3.0, 8.0)], &[1.0, 2.0, 4.0, 8.0]), Some(0.0));
        assert_eq!(timing(&[(3.0, 4.0), (9.0, 99.0)], &[1.0, 2.0, 4.0]), Some(0.0));
        // Each wait has its own delays: the longer one weighs as much with the few that it has.
        let mixed = timing(&[(0.0, 1.0), (3.0, 4.0)], &[1.0, 1.0, 1.0, 4.0]).unwrap();
        assert!((mixed - 0.125).abs() < 1e-9, "{mixed}");
    }

    #[test]
    fn only_the_second_half_and_other_people_count() {
        let line = |id: &str, ts: f64, author: &str| RecordedMessage {
            room: "r".to_owned(),
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
            line("1", 0.0, "ann"),
            line("2", 1.0, "bob"),
            line("3", 100.0, "ann"),
            line("4", 102.0, "bot"),
            line("5", 104.0, "bob"),
            line("6", 105.0, "bob"),
        ];
        let at = |second| Timestamp::from_second(second).unwrap();
        let post = |second, behind: &str| UnsolicitedPost {
            at: at(second),
            thread: None,
            newest_human: Some(MessageId::new(behind)),
            decided_at: at(second),
        };
        let mut timing = TimingScore::default();
        timing.add(
            &RecordedChannel { name: "r".to_owned(), messages },
            &[post(50, "2"), post(103, "3")],
        );
        assert_eq!((timing.posts, timing.preempting_posts), (1, 1));
        assert_eq!((timing.human_lines, timing.preempting_lines), (2, 0));
    }
}
