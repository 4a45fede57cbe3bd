//! What a fake does later, by when it is due.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};

pub struct Timers<T> {
    due: BTreeMap<(Timestamp, u64), T>,
    last_sequence: u64,
}

impl<T> Default for Timers<T> {
    fn default() -> Self {
        Self { due: BTreeMap::new(), last_sequence: 0 }
    }
}

impl<T> Timers<T> {
    pub fn schedule(&mut self, now: Timestamp, wait: SignedDuration, chore: T) {
        self.last_sequence += 1;
        let due = now.checked_add(wait).unwrap_or(Timestamp::MAX);
        self.due.insert((due, self.last_sequence), chore);
    }

    /// When the next one is due.
    pub fn next_due_at(&self) -> Option<Timestamp> {
        self.due.keys().next().map(|(due, _)| *due)
    }

    /// The next one, if it is due.
    pub fn take_due(&mut self, now: Timestamp) -> Option<T> {
        let entry = self.due.first_entry()?;
        (entry.key().0 <= now).then(|| entry.remove())
    }

    /// Those that are like this, due or not.
    pub fn take_matching(&mut self, is_wanted: impl Fn(&T) -> bool) -> Vec<T> {
        self.due.extract_if(.., |_, chore| is_wanted(chore)).map(|(_, chore)| chore).collect()
    }
}
