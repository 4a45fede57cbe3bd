//! Which channels to backfill, which of them first, and which are complete.

use std::collections::{BTreeSet, HashMap, HashSet};

use jiff::Timestamp;
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::Notify;

use crate::chat::{ChannelId, MessageId};

/// A channel's top level, or one of its threads.
pub type BackfillTarget = (ChannelId, Option<MessageId>);

#[derive(Default)]
pub struct BackfillQueue {
    state: Mutex<QueueState>,
    /// Notified when a channel was added to the queue.
    pub added: Notify,
    prioritized: Notify,
}

#[derive(Default)]
struct QueueState {
    channels: BTreeSet<ChannelId>,
    /// To be read at a later time.
    deferred: BTreeSet<ChannelId>,
    /// Targets that a pending step waits for.
    prioritized: BTreeSet<BackfillTarget>,
    /// Targets in which nothing is missing since the gap that ended at this time.
    complete_targets: HashMap<BackfillTarget, Timestamp>,
    /// The same for whole channels.
    complete_channels: HashMap<ChannelId, Timestamp>,
    /// When the persona joined channels that it was not in before.
    joined_at: HashMap<ChannelId, Timestamp>,
    /// Threads that were read since the gap.
    threads_read: HashSet<BackfillTarget>,
}

impl BackfillQueue {
    /// A gap has ended: queues all these channels.
    pub fn restart(&self, channels: &[ChannelId]) {
        let mut state = self.lock();
        state.threads_read.clear();
        state.channels.extend(channels.iter().cloned());
        self.added.notify_one();
    }

    /// Records that a thread was read. Idempotent.
    pub fn record_thread(&self, channel: ChannelId, thread: MessageId) {
        self.lock().threads_read.insert((channel, Some(thread)));
    }

    /// How many of these channels have been read since the gap that ended at `since`, and how many threads.
    pub fn progress(&self, channels: &[ChannelId], since: Option<Timestamp>) -> (usize, usize) {
        let state = self.lock();
        let is_read = |channel: &&ChannelId| {
            let until = state.complete_channels.get(*channel);
            until.is_some_and(|until| since.is_some_and(|since| *until >= since))
        };
        (channels.iter().filter(is_read).count(), state.threads_read.len())
    }

    pub fn enqueue(&self, channel: &ChannelId) {
        self.lock().channels.insert(channel.clone());
        self.added.notify_one();
    }

    pub fn enqueue_later(&self, channel: &ChannelId) {
        self.lock().deferred.insert(channel.clone());
        self.added.notify_one();
    }

    pub fn take_deferred(&self) -> BTreeSet<ChannelId> {
        std::mem::take(&mut self.lock().deferred)
    }

    /// The persona has joined this channel. Messages from before are history.
    pub fn join_channel(&self, channel: &ChannelId, now: Timestamp) {
        self.leave_channel(channel);
        self.lock().joined_at.insert(channel.clone(), now);
        self.enqueue(channel);
    }

    /// Drops what is known about the channel.
    pub fn leave_channel(&self, channel: &ChannelId) {
        let mut state = self.lock();
        state.channels.remove(channel);
        state.complete_channels.remove(channel);
        state.joined_at.remove(channel);
        state.complete_targets.retain(|(other, _), _| other != channel);
    }

    /// Since when messages of this channel arrive live.
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
        self.lock().complete_targets.insert(target, since);
    }

    pub fn mark_channel_complete(&self, channel: &ChannelId, since: Timestamp) {
        let mut state = self.lock();
        state.complete_channels.insert(channel.clone(), since);
        state.complete_targets.retain(|(other, _), _| other != channel);
    }

    /// Moves a target to the front, because a pending step waits for it.
    pub fn prioritize(&self, target: BackfillTarget) {
        self.lock().prioritized.insert(target);
        self.prioritized.notify_one();
    }

    /// The next prioritized target.
    pub async fn pop_prioritized(&self) -> BackfillTarget {
        loop {
            let notified = self.prioritized.notified();
            let target = self.lock().prioritized.pop_first();
            if let Some(target) = target {
                return target;
            }
            notified.await;
        }
    }

    pub fn pop(&self) -> Option<ChannelId> {
        self.lock().channels.pop_first()
    }

    pub fn remaining(&self) -> usize {
        self.lock().channels.len()
    }

    fn lock(&self) -> MutexGuard<'_, QueueState> {
        self.state.lock()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_is_read_twice_counts_once() {
        let queue = BackfillQueue::default();
        let (tea, attic) = (ChannelId::new("tea"), ChannelId::new("attic"));
        for (channel, thread) in [(&tea, "1"), (&tea, "1"), (&tea, "2"), (&attic, "1")] {
            queue.record_thread(channel.clone(), MessageId::new(thread));
        }
        assert_eq!(queue.progress(&[], None), (0, 3));
        queue.restart(&[]);
        assert_eq!(queue.progress(&[], None), (0, 0));
    }
}
