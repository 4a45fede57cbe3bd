//! Which rooms should be caught up on, which of them first, and which have been.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;
use tokio::sync::Notify;

use crate::chat::{ChannelId, MessageId};

/// A room's top level, or one of its threads.
pub type BackfillTarget = (ChannelId, Option<MessageId>);

#[derive(Default)]
pub struct BackfillQueue {
    state: Mutex<QueueState>,
    /// There is a room to read, or a place to hurry to.
    pub added: Notify,
    prioritized: Notify,
}

#[derive(Default)]
struct QueueState {
    channels: BTreeSet<ChannelId>,
    /// To be read a while later.
    deferred: BTreeSet<ChannelId>,
    /// Something is to be done here, and waits.
    prioritized: BTreeSet<BackfillTarget>,
    /// Nothing is missing here since the gap that ended then.
    complete_targets: HashMap<BackfillTarget, Timestamp>,
    /// The same of whole rooms.
    complete_channels: HashMap<ChannelId, Timestamp>,
    /// When we came into rooms that we were not in before.
    joined_at: HashMap<ChannelId, Timestamp>,
    /// Threads that were read since the gap.
    threads_read: HashSet<BackfillTarget>,
}

impl BackfillQueue {
    /// A gap has ended: what was missed is to be read in all these rooms.
    pub fn restart(&self, rooms: &[ChannelId]) {
        let mut known = self.lock();
        known.threads_read.clear();
        known.channels.extend(rooms.iter().cloned());
        self.added.notify_one();
    }

    /// This thread has been read, however often.
    pub fn record_thread(&self, room: ChannelId, thread: MessageId) {
        self.lock().threads_read.insert((room, Some(thread)));
    }

    /// How many of these rooms have been read since the gap that ended at `since`, and how many threads.
    pub fn progress(&self, rooms: &[ChannelId], since: Option<Timestamp>) -> (usize, usize) {
        let known = self.lock();
        let is_read = |room: &&ChannelId| {
            let until = known.complete_channels.get(*room);
            until.is_some_and(|until| since.is_some_and(|since| *until >= since))
        };
        (rooms.iter().filter(is_read).count(), known.threads_read.len())
    }

    pub fn enqueue(&self, room: &ChannelId) {
        self.lock().channels.insert(room.clone());
        self.added.notify_one();
    }

    pub fn enqueue_later(&self, room: &ChannelId) {
        self.lock().deferred.insert(room.clone());
        self.added.notify_one();
    }

    pub fn take_deferred(&self) -> BTreeSet<ChannelId> {
        std::mem::take(&mut self.lock().deferred)
    }

    /// We have come into this room: what was said there before is history.
    pub fn join_channel(&self, room: &ChannelId, now: Timestamp) {
        self.leave_channel(room);
        self.lock().joined_at.insert(room.clone(), now);
        self.enqueue(room);
    }

    /// What was known of the room holds no more.
    pub fn leave_channel(&self, room: &ChannelId) {
        let mut known = self.lock();
        known.channels.remove(room);
        known.complete_channels.remove(room);
        known.joined_at.remove(room);
        known.complete_targets.retain(|(other, _), _| other != room);
    }

    /// Since when lines of this room come by themselves.
    pub fn live_since(&self, room: &ChannelId, since: Timestamp) -> Timestamp {
        self.lock().joined_at.get(room).map_or(since, |met| since.max(*met))
    }

    /// What was said before and after the gap that ended at `since` has been read.
    pub fn is_complete(&self, place: &BackfillTarget, since: Timestamp) -> bool {
        let known = self.lock();
        let until = known.complete_channels.get(&place.0).max(known.complete_targets.get(place));
        until.is_some_and(|until| *until >= since)
    }

    pub fn mark_complete(&self, place: BackfillTarget, since: Timestamp) {
        self.lock().complete_targets.insert(place, since);
    }

    pub fn mark_channel_complete(&self, room: &ChannelId, since: Timestamp) {
        let mut known = self.lock();
        known.complete_channels.insert(room.clone(), since);
        known.complete_targets.retain(|(other, _), _| other != room);
    }

    /// Something is to be done in this place, and has to wait until it is read.
    pub fn prioritize(&self, place: BackfillTarget) {
        self.lock().prioritized.insert(place);
        self.prioritized.notify_one();
    }

    /// The next place where something waits.
    pub async fn pop_prioritized(&self) -> BackfillTarget {
        loop {
            let hurried = self.prioritized.notified();
            let place = self.lock().prioritized.pop_first();
            if let Some(place) = place {
                return place;
            }
            hurried.await;
        }
    }

    pub fn pop(&self) -> Option<ChannelId> {
        self.lock().channels.pop_first()
    }

    pub fn remaining(&self) -> usize {
        self.lock().channels.len()
    }

    fn lock(&self) -> MutexGuard<'_, QueueState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_is_read_twice_is_one() {
        let wanted = BackfillQueue::default();
        let (tea, attic) = (ChannelId::new("tea"), ChannelId::new("attic"));
        for (room, thread) in [(&tea, "1"), (&tea, "1"), (&tea, "2"), (&attic, "1")] {
            wanted.record_thread(room.clone(), MessageId::new(thread));
        }
        assert_eq!(wanted.progress(&[], None), (0, 3));
        wanted.restart(&[]);
        assert_eq!(wanted.progress(&[], None), (0, 0));
    }
}
