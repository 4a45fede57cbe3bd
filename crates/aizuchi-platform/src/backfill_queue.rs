//! Which channels to backfill, in which order, and which are complete. A channel that cannot be read is retried after
//! increasing delays, behind the others.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use aizuchi_model::chat::{ChannelId, MessageId};
use aizuchi_model::platform::backfill_progress::FailedReads;
use jiff::{SignedDuration, Timestamp};
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::Notify;

use crate::deletion_checks::DeletionChecks;

/// A channel's top level, or one of its threads.
pub type BackfillTarget = (ChannelId, Option<MessageId>);

/// The delay before a channel is retried after its first failure. Each further failure doubles it.
const FIRST_RETRY_DELAY: SignedDuration = SignedDuration::from_secs(5);
const MAX_RETRY_DELAY: SignedDuration = SignedDuration::from_mins(5);

#[derive(Default)]
pub struct BackfillQueue {
    state: Mutex<QueueState>,
    /// Notified when a channel was added to the queue.
    pub added: Notify,
    /// Notified when a target was prioritized.
    pub prioritized: Notify,
    /// The checks for missed deletions that are not finished.
    pub deletion_checks: DeletionChecks,
}

#[derive(Default)]
struct QueueState {
    /// The channels to read, and the earliest time to read each.
    channels: BTreeMap<ChannelId, Timestamp>,
    /// The channels that are being read.
    reading: BTreeSet<ChannelId>,
    /// Targets that a pending step waits for.
    prioritized: BTreeSet<BackfillTarget>,
    /// Targets that are complete since the gap that ended at this time.
    complete_targets: HashMap<BackfillTarget, Timestamp>,
    /// Channels that are complete since the gap that ended at this time.
    complete_channels: HashMap<ChannelId, Timestamp>,
    /// Channels that could not be read.
    failed_channels: BTreeMap<ChannelId, FailedReads>,
    /// Targets that could not be read.
    failed_targets: HashMap<BackfillTarget, FailedReads>,
    /// When the persona joined channels that it was not in before.
    joined_at: HashMap<ChannelId, Timestamp>,
    /// Threads that were read since the gap.
    threads_read: HashSet<BackfillTarget>,
}

/// Counts a failed read after those since the last successful one.
fn next_failure(failed: Option<&FailedReads>, now: Timestamp, error: &str) -> FailedReads {
    let count = failed.map_or(0, |failed| failed.count);
    let delay = FIRST_RETRY_DELAY * 2_i32.pow(count.min(10));
    FailedReads {
        count: count.saturating_add(1),
        since: failed.map_or(now, |failed| failed.since),
        last: now,
        retry_at: now + delay.min(MAX_RETRY_DELAY),
        error: error.into(),
    }
}

impl BackfillQueue {
    /// Starts over after a gap has ended.
    pub fn restart(&self) {
        self.lock().threads_read.clear();
    }

    /// Records that a thread was read. Idempotent.
    pub fn record_thread(&self, channel: ChannelId, thread: MessageId) {
        self.lock().threads_read.insert((channel, Some(thread)));
    }

    /// Returns the number of threads that have been read since the gap.
    pub fn threads_read(&self) -> usize {
        self.lock().threads_read.len()
    }

    /// Returns those channels that have not been read since the gap that ended at `since`.
    pub fn behind(&self, channels: &[ChannelId], since: Option<Timestamp>) -> Vec<ChannelId> {
        let state = self.lock();
        let is_read = |channel: &ChannelId| {
            let until = state.complete_channels.get(channel);
            until.is_some_and(|until| since.is_some_and(|since| *until >= since))
        };
        channels.iter().filter(|channel| !is_read(channel)).cloned().collect()
    }

    /// Returns the channels whose last read failed.
    pub fn failing(&self) -> BTreeMap<ChannelId, FailedReads> {
        self.lock().failed_channels.clone()
    }

    pub fn enqueue(&self, channel: &ChannelId) {
        self.enqueue_at(channel, Timestamp::MIN);
    }

    /// Schedules a channel to be read no earlier than this, unless it is queued for an earlier time.
    pub fn enqueue_at(&self, channel: &ChannelId, at: Timestamp) {
        {
            let mut state = self.lock();
            let queued = state.channels.entry(channel.clone()).or_insert(at);
            *queued = at.min(*queued);
        }
        self.added.notify_one();
    }

    /// Whether a channel is to be read, besides a pass that is reading it now.
    pub fn is_queued(&self, channel: &ChannelId) -> bool {
        self.lock().channels.contains_key(channel)
    }

    /// Takes the next channel to read; channels whose last read succeeded come first. It is not returned again until
    /// [`Self::finish`] or [`Self::fail`].
    pub fn pop(&self, now: Timestamp) -> Option<ChannelId> {
        let mut state = self.lock();
        let queued = state.channels.iter();
        // A channel that is queued again while it is being read must wait for that pass to end.
        let ready = queued.filter(|(channel, at)| **at <= now && !state.reading.contains(*channel));
        let failures = |channel: &ChannelId| state.failed_channels.get(channel).map(|it| it.count);
        let (channel, _) = ready.min_by_key(|(channel, _)| failures(channel))?;
        let channel = channel.clone();
        state.channels.remove(&channel);
        state.reading.insert(channel.clone());
        Some(channel)
    }

    /// Returns when the next channel that is not being read may be read, if there is one.
    pub fn next_at(&self) -> Option<Timestamp> {
        let state = self.lock();
        let queued = state.channels.iter().filter(|(channel, _)| !state.reading.contains(*channel));
        queued.map(|(_, at)| *at).min()
    }

    /// Records that a channel has been read.
    pub fn finish(&self, channel: &ChannelId) {
        let mut state = self.lock();
        state.reading.remove(channel);
        state.failed_channels.remove(channel);
    }

    /// Records that a channel could not be read. It is queued again, and the time of the next attempt is returned.
    pub fn fail(&self, channel: &ChannelId, now: Timestamp, error: &str) -> Timestamp {
        let retry_at = {
            let mut state = self.lock();
            state.reading.remove(channel);
            let failures = next_failure(state.failed_channels.get(channel), now, error);
            let retry_at = failures.retry_at;
            state.failed_channels.insert(channel.clone(), failures);
            retry_at
        };
        self.enqueue_at(channel, retry_at);
        retry_at
    }

    /// Records that the persona has joined this channel. Earlier messages are history.
    pub fn join_channel(&self, channel: &ChannelId, now: Timestamp) {
        // What was read before the persona left says nothing about what it has missed since.
        self.leave_channel(channel);
        self.lock().joined_at.insert(channel.clone(), now);
        self.enqueue(channel);
    }

    /// Drops what is known about the channel.
    pub fn leave_channel(&self, channel: &ChannelId) {
        let mut state = self.lock();
        state.channels.remove(channel);
        state.complete_channels.remove(channel);
        state.failed_channels.remove(channel);
        state.failed_targets.retain(|(other, _), _| other != channel);
        state.joined_at.remove(channel);
        state.complete_targets.retain(|(other, _), _| other != channel);
    }

    /// Returns since when messages of this channel arrive live.
    pub fn live_since(&self, channel: &ChannelId, since: Timestamp) -> Timestamp {
        self.lock().joined_at.get(channel).map_or(since, |joined_at| since.max(*joined_at))
    }

    /// Whether everything before and after the gap that ended at `since` has been read.
    pub fn is_complete(&self, target: &BackfillTarget, since: Timestamp) -> bool {
        let state = self.lock();
        let until = state.complete_channels.get(&target.0).max(state.complete_targets.get(target));
        until.is_some_and(|until| *until >= since)
    }

    pub fn mark_complete(&self, target: BackfillTarget, since: Timestamp) {
        let mut state = self.lock();
        state.failed_targets.remove(&target);
        state.complete_targets.insert(target, since);
    }

    pub fn mark_channel_complete(&self, channel: &ChannelId, since: Timestamp) {
        let mut state = self.lock();
        state.complete_channels.insert(channel.clone(), since);
        state.complete_targets.retain(|(other, _), _| other != channel);
        state.failed_targets.retain(|(other, _), _| other != channel);
    }

    /// Moves a target to the front, because a pending step waits for it.
    pub fn prioritize(&self, target: BackfillTarget) {
        self.lock().prioritized.insert(target);
        self.prioritized.notify_one();
    }

    /// Takes the next prioritized target. One that has just failed is dropped: the step that waits for it asks again.
    pub fn pop_prioritized(&self, now: Timestamp) -> Option<BackfillTarget> {
        let mut state = self.lock();
        while let Some(target) = state.prioritized.pop_first() {
            if state.failed_targets.get(&target).is_none_or(|failed| failed.retry_at <= now) {
                return Some(target);
            }
        }
        None
    }

    pub fn fail_target(&self, target: &BackfillTarget, now: Timestamp) {
        let mut state = self.lock();
        let failures = next_failure(state.failed_targets.get(target), now, "");
        state.failed_targets.insert(target.clone(), failures);
    }

    /// Returns the number of channels that are queued or being read, apart from those that failed.
    pub fn remaining(&self) -> usize {
        let state = self.lock();
        let all = state.channels.keys().chain(&state.reading).collect::<BTreeSet<_>>();
        all.into_iter().filter(|channel| !state.failed_channels.contains_key(*channel)).count()
    }

    fn lock(&self) -> MutexGuard<'_, QueueState> {
        self.state.lock()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    #[test]
    fn a_thread_that_is_read_twice_counts_once() {
        let queue = BackfillQueue::default();
        let (tea, attic) = (ChannelId::new("tea"), ChannelId::new("attic"));
        for (channel, thread) in [(&tea, "1"), (&tea, "1"), (&tea, "2"), (&attic, "1")] {
            queue.record_thread(channel.clone(), MessageId::new(thread));
        }
        assert_eq!(queue.threads_read(), 3);
        queue.restart();
        assert_eq!(queue.threads_read(), 0);
    }

    #[test]
    fn a_channel_that_fails_comes_last_and_later_each_time() {
        let queue = BackfillQueue::default();
        let (attic, tea) = (ChannelId::new("attic"), ChannelId::new("tea"));
        [&attic, &tea].into_iter().for_each(|channel| queue.enqueue(channel));
        assert_eq!(queue.pop(at(0)), Some(attic.clone()));
        let delays = [5, 10, 20, 40, 80, 160, 300, 300];
        for delay in delays {
            assert_eq!(queue.fail(&attic, at(0), "no access"), at(delay));
        }
        assert_eq!((queue.next_at(), queue.remaining()), (Some(Timestamp::MIN), 1));
        queue.enqueue(&attic);
        assert_eq!(queue.pop(at(0)), Some(tea.clone()));
        assert_eq!(queue.pop(at(0)), Some(attic.clone()));
        assert!(!queue.is_queued(&attic));
        // While it is being read, it may be queued and is not read twice at once.
        queue.enqueue(&attic);
        assert!(queue.is_queued(&attic));
        assert_eq!((queue.pop(at(0)), queue.next_at()), (None, None));
        let failed = FailedReads {
            count: 8,
            since: at(0),
            last: at(0),
            retry_at: at(300),
            error: "no access".into(),
        };
        assert_eq!(queue.failing(), BTreeMap::from([(attic.clone(), failed)]));
        queue.finish(&attic);
        assert!(queue.failing().is_empty());
        assert_eq!(queue.pop(at(0)), Some(attic));
    }

    #[test]
    fn a_target_that_has_just_failed_is_not_tried_at_once() {
        let queue = BackfillQueue::default();
        let target = (ChannelId::new("tea"), None);
        queue.prioritize(target.clone());
        assert_eq!(queue.pop_prioritized(at(0)), Some(target.clone()));
        queue.fail_target(&target, at(0));
        for (second, expected) in [(4, None), (5, Some(target.clone()))] {
            queue.prioritize(target.clone());
            assert_eq!(queue.pop_prioritized(at(second)), expected, "{second}");
        }
    }
}
