//! Compares the persona's delays with those of the users, and counts how often the persona interrupts.
//!
//! The pipeline learns a channel's timing from the messages before each post. Therefore only the second half of each
//! channel is measured.

use std::io;

use anyhow::Context as _;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use tracing::warn;

use crate::replay::column::Column;
use crate::replay::column::fixed::Fixed;
use crate::replay::delay_runs::DelayRuns;
use crate::replay::history::RecordedChannel;
use crate::replay::rows::IdHash;

/// A message later than this does not count as an answer.
const MAX_ANSWER_SECONDS: f64 = 3600.0;
/// A message this soon after another one was written without having seen it.
const UNSEEN_SECONDS: f64 = 5.0;

/// One unsolicited post.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct UnsolicitedPost {
    pub at: Timestamp,
    /// The thread, or the top level.
    pub thread: IdHash,
    /// The newest human message that was judged.
    pub newest_human: Option<IdHash>,
    pub decided_at: Timestamp,
}

/// The two times, the thread, and the newest message with a flag for its presence.
type UnsolicitedParts = ((Timestamp, Timestamp), (IdHash, (IdHash, u8)));

impl Fixed for UnsolicitedPost {
    const BYTES: usize = UnsolicitedParts::BYTES;

    fn write(self, bytes: &mut [u8]) {
        let Self { at, thread, newest_human, decided_at } = self;
        let newest = (newest_human.unwrap_or(IdHash(0)), u8::from(newest_human.is_some()));
        ((at, decided_at), (thread, newest)).write(bytes);
    }

    fn read(bytes: &[u8]) -> Self {
        let ((at, decided_at), (thread, (newest, has_newest))) = UnsolicitedParts::read(bytes);
        Self { at, thread, newest_human: (has_newest != 0).then_some(newest), decided_at }
    }
}

/// Sums over the second halves of all channels.
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
    /// The persona's delays, in seconds.
    #[serde(skip)]
    own_delays: DelayRuns,
    /// The users' delays in seconds, each with its weight.
    #[serde(skip)]
    human_delays: DelayRuns,
}

/// The delays of a [`TimingScore`], for a checkpoint. They are stored as bits, because decimal numbers would not
/// round-trip exactly.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SavedDelays {
    own: Vec<u64>,
    human: Vec<(u64, u64)>,
}

impl TimingScore {
    /// Returns the delays of one channel, for a checkpoint.
    pub fn delays(&self) -> anyhow::Result<SavedDelays> {
        let cannot_read = "cannot read a temporary file";
        let mut saved = SavedDelays::default();
        for own in self.own_delays.each() {
            saved.own.push(own.context(cannot_read)?.0.to_bits());
        }
        for human in self.human_delays.each() {
            let (delay, weight) = human.context(cannot_read)?;
            saved.human.push((delay.to_bits(), weight.to_bits()));
        }
        Ok(saved)
    }

    /// Restores the delays of one channel from a checkpoint.
    pub fn with_delays(mut self, saved: SavedDelays) -> Self {
        let human = saved.human.into_iter();
        let human = human.map(|(delay, weight)| (f64::from_bits(delay), f64::from_bits(weight)));
        self.human_delays.add_sorted(human);
        let mut own: Vec<f64> = saved.own.into_iter().map(f64::from_bits).collect();
        // Earlier builds of this version stored the delays in the order of the posts.
        own.sort_by(f64::total_cmp);
        self.own_delays.add_sorted(own.into_iter().map(|own| (own, 1.0)));
        self
    }

    /// Adds the sums of other channels, which come after these.
    pub fn merge(&mut self, other: Self) {
        self.posts += other.posts;
        self.preempting_posts += other.preempting_posts;
        self.human_messages += other.human_messages;
        self.preempting_messages += other.preempting_messages;
        self.own_delays.merge(other.own_delays);
        self.human_delays.merge(other.human_delays);
    }

    /// Adds a channel. If `posts` or the rows of the channel fail, the result means nothing.
    pub fn add(&mut self, channel: &RecordedChannel, posts: &Column<UnsolicitedPost>) {
        let rows = &channel.rows;
        let Some(half) = rows.get(rows.len() / 2).map(|row| row.at()) else { return };
        let late_posts = || posts.iter().filter(move |post| post.at >= half);
        let mut delays: Column<f64> = posts.derive([]);
        for thread in rows.threads() {
            let messages = rows.human_messages_in(thread);
            let messages = messages.from(messages.partition_point(|row| row.at() < half));
            self.human_messages += messages.len();
            for (one, next) in messages.pairs().filter(|(one, next)| one.author != next.author) {
                let delay = next.ts - one.ts;
                self.preempting_messages += usize::from(delay <= UNSEEN_SECONDS);
                delays.extend((delay <= MAX_ANSWER_SECONDS).then_some(delay));
            }
        }
        for post in late_posts() {
            let messages = rows.human_messages_at(post.thread);
            let next = messages.partition_point(|row| row.at() <= post.at);
            let next = messages.get(next).map(|next| next.at().duration_since(post.at));
            let is_soon = next.is_some_and(|next| next.as_secs_f64() <= UNSEEN_SECONDS);
            self.posts += 1;
            self.preempting_posts += usize::from(is_soon);
        }
        let timed = late_posts().filter_map(|post| {
            let behind = rows.find(post.newest_human?)?.ts;
            Some((epoch(post.decided_at) - behind, epoch(post.at) - behind))
        });
        self.compare(&posts.derive(timed), delays);
    }

    /// Compares each post with all user delays of its channel that are longer than its wait. Together, these delays
    /// weigh as much as the post. A post without such a delay is left out, because there is nothing to compare it with.
    fn compare(&mut self, posts: &Column<(f64, f64)>, delays: Column<f64>) {
        let delays = delays.sorted_by_key(|delay| total_order(*delay));
        let longer = |wait: f64| delays.len() - delays.partition_point(|delay| *delay <= wait);
        let mut waits: Column<(f64, f64)> = posts.derive([]);
        let mut own: Column<(f64, f64)> = posts.derive([]);
        for (wait, spoken) in posts.iter().filter(|(wait, _)| longer(*wait) > 0) {
            own.push((spoken, 1.0));
            waits.push((wait, 1.0 / longer(wait) as f64));
        }
        let own = own.sorted_by_key(|(spoken, _)| total_order(*spoken));
        self.own_delays.add_sorted(own.iter());
        let waits = waits.sorted_by_key(|(wait, _)| total_order(*wait));
        let (mut next_waits, mut weight) = (waits.iter().peekable(), 0.0);
        let weighted = delays.iter().filter_map(|delay| {
            while let Some((_, share)) = next_waits.next_if(|(wait, _)| *wait < delay) {
                weight += share;
            }
            (weight > 0.0).then_some((delay, weight))
        });
        self.human_delays.add_sorted(weighted);
    }

    /// Returns the Kolmogorov–Smirnov distance between the persona's delays and the users': the maximum difference of
    /// their cumulative distributions.
    ///
    /// The persona's delay is the time from the newest human message that was judged to the post. A user's delay is
    /// the time from one message to the next of the same conversation, if another user wrote that within an hour. Both
    /// are taken from the second half of each channel. Each post is compared only with user delays in its channel that
    /// are longer than the persona had waited when it decided to speak.
    pub fn distance(&self) -> Option<f64> {
        let found = known(self.maximum_difference());
        found.filter(|_| !self.own_delays.is_empty())
    }

    fn maximum_difference(&self) -> io::Result<f64> {
        let count = self.own_delays.len() as f64;
        let mut own = self.own_delays.sorted().peekable();
        let mut human = self.human_delays.sorted().peekable();
        let (mut difference, mut distance) = (0.0, 0.0_f64);
        let mut last: Option<f64> = None;
        loop {
            let is_own = match (own.peek(), human.peek()) {
                (Some(Ok(own)), Some(Ok(human))) => own.0.total_cmp(&human.0).is_le(),
                (Some(_), _) => true,
                (None, _) => false,
            };
            let step = match is_own {
                true => own.next().transpose()?.map(|(delay, _)| (delay, 1.0 / count)),
                false => human.next().transpose()?.map(|(delay, weight)| (delay, -weight / count)),
            };
            // Equal delays are one step of the distribution.
            if last.is_some_and(|last| step.is_none_or(|(delay, _)| delay > last)) {
                distance = distance.max(f64::abs(difference));
            }
            let Some((delay, step)) = step else { return Ok(distance) };
            difference += step;
            last = Some(delay);
        }
    }

    /// Returns the persona's median delay and the users'.
    pub fn medians(&self) -> Option<(f64, f64)> {
        let (own, human) = (median(&self.own_delays), median(&self.human_delays));
        Some((known(own)??, known(human)??))
    }
}

fn median(delays: &DelayRuns) -> io::Result<Option<f64>> {
    let mut whole = 0.0;
    for weighted in delays.sorted() {
        whole += weighted?.1;
    }
    let (half, mut sum) = (whole / 2.0, 0.0);
    for weighted in delays.sorted() {
        let (delay, weight) = weighted?;
        sum += weight;
        if sum >= half {
            return Ok(Some(delay));
        }
    }
    Ok(None)
}

/// Returns `None`, with a warning, for delays that cannot be read back.
fn known<T>(found: io::Result<T>) -> Option<T> {
    found.inspect_err(|error| warn!(%error, "cannot read delays back")).ok()
}

/// Maps a number to an integer that sorts as [`f64::total_cmp`] does.
fn total_order(number: f64) -> u64 {
    let bits = number.to_bits();
    // The larger a negative number's bits are, the smaller it is.
    if number.is_sign_negative() { !bits } else { bits | 1 << 63 }
}

fn epoch(at: Timestamp) -> f64 {
    at.as_millisecond() as f64 / 1000.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::replay::history::RecordedMessage;

    #[test]
    fn the_distance_is_the_maximum_difference_of_the_distributions() {
        let timing = |posts: &[(f64, f64)], delays: &[f64]| {
            let mut timing = TimingScore::default();
            let posts: Column<(f64, f64)> = posts.iter().copied().collect();
            timing.compare(&posts, delays.iter().copied().collect());
            timing.distance()
        };
        assert_eq!(timing(&[], &[1.0]), None);
        assert_eq!(timing(&[(0.0, 1.0), (0.0, 2.0)], &[1.0, 2.0]), Some(0.0));
        assert_eq!(timing(&[(0.0, 5.0), (0.0, 6.0)], &[1.0, 2.0]), Some(1.0));
        assert_eq!(timing(&[(0.0, 1.0), (0.0, 9.0)], &[1.0, 2.0]), Some(0.5));
        // Only delays longer than the wait count, and a post without any is left out.
        assert_eq!(timing(&[(3.0, 4.0), (3.0, 8.0)], &[1.0, 2.0, 4.0, 8.0]), Some(0.0));
        assert_eq!(timing(&[(3.0, 4.0), (9.0, 99.0)], &[1.0, 2.0, 4.0]), Some(0.0));
        // Each post has the same weight, however few delays are longer than its wait.
        let mixed = timing(&[(0.0, 1.0), (3.0, 4.0)], &[1.0, 1.0, 1.0, 4.0]).unwrap();
        assert!((mixed - 0.125).abs() < 1e-9, "{mixed}");
    }

    #[test]
    fn delays_of_a_checkpoint_are_compared_in_whatever_order_they_stand() {
        let bits = |delays: &[f64]| delays.iter().map(|delay| delay.to_bits()).collect::<Vec<_>>();
        let human = || bits(&[1.0, 2.0, 3.0]).into_iter().map(|delay| (delay, 1.0_f64.to_bits()));
        let resumed = |own: &[f64]| {
            let saved = SavedDelays { own: bits(own), human: human().collect() };
            let timing = TimingScore::default().with_delays(saved);
            (timing.distance(), timing.medians())
        };
        assert_eq!(resumed(&[1.0, 2.0, 3.0]), (Some(0.0), Some((2.0, 2.0))));
        assert_eq!(resumed(&[3.0, 1.0, 2.0]), resumed(&[1.0, 2.0, 3.0]));
    }

    #[test]
    fn only_the_second_half_and_other_users_count() {
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
        let post = |second, behind: &str| UnsolicitedPost {
            at: at(second),
            thread: IdHash::from_thread(None),
            newest_human: Some(IdHash::new(behind)),
            decided_at: at(second),
        };
        let mut timing = TimingScore::default();
        let posts: Column<UnsolicitedPost> = [post(50, "2"), post(103, "3")].into_iter().collect();
        timing.add(&RecordedChannel::from_messages("r".to_owned(), messages), &posts);
        assert_eq!((timing.posts, timing.preempting_posts), (1, 1));
        assert_eq!((timing.human_messages, timing.preempting_messages), (2, 0));
    }
}
