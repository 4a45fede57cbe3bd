//! Which rooms should be caught up on, which of them first, and which have been.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;
use tokio::sync::Notify;

use crate::chat::{ChannelId, MessageId};

/// A room's top level, or one of its threads.
pub type Place = (ChannelId, Option<MessageId>);

#[derive(Default)]
pub struct Wanted {
    known: Mutex<Known>,
    /// There is a room to read, or a place to hurry to.
    pub added: Notify,
    hurried: Notify,
}

#[derive(Default)]
struct Known {
    rooms: BTreeSet<ChannelId>,
    /// To be read a while later.
    later: BTreeSet<ChannelId>,
    /// Something is to be done here, and waits.
    urgent: BTreeSet<Place>,
    /// Nothing is missing here since the gap that ended then.
    places: HashMap<Place, Timestamp>,
    /// The same of whole rooms.
    whole: HashMap<ChannelId, Timestamp>,
    /// When we came into rooms that we were not in before.
    met: HashMap<ChannelId, Timestamp>,
    /// Threads that were read since the gap.
    threads: HashSet<Place>,
}

impl Wanted {
    /// A gap has ended: what was missed is to be read in all these rooms.
    pub fn begin(&self, rooms: &[ChannelId]) {
        let mut known = self.lock();
        known.threads.clear();
        known.rooms.extend(rooms.iter().cloned());
        self.added.notify_one();
    }

    /// This thread has been read, however often.
    pub fn note_thread(&self, room: ChannelId, thread: MessageId) {
        self.lock().threads.insert((room, Some(thread)));
    }

    /// How many of these rooms have been read since the gap that ended at `since`, and how many threads.
    pub fn progress(&self, rooms: &[ChannelId], since: Option<Timestamp>) -> (usize, usize) {
        let known = self.lock();
        let is_read = |room: &&ChannelId| {
            let until = known.whole.get(*room);
            until.is_some_and(|until| since.is_some_and(|since| *until >= since))
        };
        (rooms.iter().filter(is_read).count(), known.threads.len())
    }

    pub fn add(&self, room: &ChannelId) {
        self.lock().rooms.insert(room.clone());
        self.added.notify_one();
    }

    pub fn add_later(&self, room: &ChannelId) {
        self.lock().later.insert(room.clone());
        self.added.notify_one();
    }

    pub fn take_later(&self) -> BTreeSet<ChannelId> {
        std::mem::take(&mut self.lock().later)
    }

    /// We have come into this room: what was said there before is history.
    pub fn meet(&self, room: &ChannelId, now: Timestamp) {
        self.leave(room);
        self.lock().met.insert(room.clone(), now);
        self.add(room);
    }

    /// What was known of the room holds no more.
    pub fn leave(&self, room: &ChannelId) {
        let mut known = self.lock();
        known.rooms.remove(room);
        known.whole.remove(room);
        known.met.remove(room);
        known.places.retain(|(other, _), _| other != room);
    }

    /// Since when lines of this room come by themselves.
    pub fn heard_since(&self, room: &ChannelId, since: Timestamp) -> Timestamp {
        self.lock().met.get(room).map_or(since, |met| since.max(*met))
    }

    /// What was said before and after the gap that ended at `since` has been read.
    pub fn is_caught_up(&self, place: &Place, since: Timestamp) -> bool {
        let known = self.lock();
        let until = known.whole.get(&place.0).max(known.places.get(place));
        until.is_some_and(|until| *until >= since)
    }

    pub fn note(&self, place: Place, since: Timestamp) {
        self.lock().places.insert(place, since);
    }

    pub fn note_whole(&self, room: &ChannelId, since: Timestamp) {
        let mut known = self.lock();
        known.whole.insert(room.clone(), since);
        known.places.retain(|(other, _), _| other != room);
    }

    /// Something is to be done in this place, and has to wait until it is read.
    pub fn hurry(&self, place: Place) {
        self.lock().urgent.insert(place);
        self.hurried.notify_one();
    }

    /// The next place where something waits.
    pub async fn hurried(&self) -> Place {
        loop {
            let hurried = self.hurried.notified();
            let place = self.lock().urgent.pop_first();
            if let Some(place) = place {
                return place;
            }
            hurried.await;
        }
    }

    pub fn next(&self) -> Option<ChannelId> {
        self.lock().rooms.pop_first()
    }

    pub fn count(&self) -> usize {
        self.lock().rooms.len()
    }

    fn lock(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_is_read_twice_is_one() {
        let wanted = Wanted::default();
        let (tea, attic) = (ChannelId::new("tea"), ChannelId::new("attic"));
        for (room, thread) in [(&tea, "1"), (&tea, "1"), (&tea, "2"), (&attic, "1")] {
            wanted.note_thread(room.clone(), MessageId::new(thread));
        }
        assert_eq!(wanted.progress(&[], None), (0, 3));
        wanted.begin(&[]);
        assert_eq!(wanted.progress(&[], None), (0, 0));
    }
}
