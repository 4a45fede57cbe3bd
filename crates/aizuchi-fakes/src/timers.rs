//! Scheduled tasks of a fake, ordered by due time.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};

pub struct Timers<T> {
    /// By time, then by a sequence number in the order of scheduling.
    due: BTreeMap<(Timestamp, u64), T>,
    last_sequence: u64,
}

impl<T> Default for Timers<T> {
    fn default() -> Self {
        Self { due: BTreeMap::new(), last_sequence: 0 }
    }
}

impl<T> Timers<T> {
    pub fn schedule(&mut self, now: Timestamp, wait: SignedDuration, task: T) {
        self.last_sequence += 1;
        let due = now.checked_add(wait).unwrap_or(Timestamp::MAX);
        self.due.insert((due, self.last_sequence), task);
    }

    /// Returns when the next task is due.
    pub fn next_due_at(&self) -> Option<Timestamp> {
        self.due.keys().next().map(|(due, _)| *due)
    }

    /// Takes the next task if it is due.
    pub fn take_due(&mut self, now: Timestamp) -> Option<T> {
        let entry = self.due.first_entry()?;
        (entry.key().0 <= now).then(|| entry.remove())
    }

    /// Takes all matching tasks, whether due or not.
    pub fn take_matching(&mut self, matches: impl Fn(&T) -> bool) -> Vec<T> {
        self.due.extract_if(.., |_, task| matches(task)).map(|(_, task)| task).collect()
    }
}
