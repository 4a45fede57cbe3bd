//! Delays, counted in steps of growing size, so that millions of them need little memory.

use jiff::SignedDuration;
use serde::Serialize;

/// A step is a twentieth of a factor e, so a median is known to 5 %.
const STEPS_PER_E: f64 = 20.0;

/// The ends of the groups in the chart, in seconds. Longer delays are in the last group.
pub const GROUP_ENDS: [u32; 7] = [10, 30, 60, 120, 300, 900, 3600];
const GROUPS: usize = GROUP_ENDS.len() + 1;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Delays {
    counts: Vec<u64>,
    groups: [u64; GROUPS],
}

/// The delays of the persona, compared with those of people.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Timing {
    /// In seconds.
    pub own_median: f64,
    pub people_median: f64,
    /// Shares by group: up to 10 s, 30 s, 1, 2, 5, 15 and 60 minutes, and longer.
    pub own: [f64; GROUPS],
    pub people: [f64; GROUPS],
}

/// A post comes soon if it is at most this long after the message that it answers.
const SOON: SignedDuration = SignedDuration::from_mins(3);
/// A post is late if it is longer than this after the message that it answers.
pub const LATE: SignedDuration = SignedDuration::from_mins(30);

/// The delays between messages and the posts that answer them. [`Delays`] count from the newest message instead.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct AnswerDelays {
    /// Posts whose message is known.
    pub known: usize,
    pub within_3_minutes: usize,
    pub over_30_minutes: usize,
}

impl AnswerDelays {
    pub fn add(&mut self, delay: SignedDuration) {
        self.known += 1;
        self.within_3_minutes += usize::from(delay <= SOON);
        self.over_30_minutes += usize::from(delay > LATE);
    }

    pub fn merge(&mut self, other: Self) {
        self.known += other.known;
        self.within_3_minutes += other.within_3_minutes;
        self.over_30_minutes += other.over_30_minutes;
    }
}

impl Delays {
    pub fn add(&mut self, delay: SignedDuration) {
        let seconds = delay.as_secs_f64().max(0.0);
        let step = (seconds.max(1.0).ln() * STEPS_PER_E).round() as usize;
        if self.counts.len() <= step {
            self.counts.resize(step + 1, 0);
        }
        self.counts[step] += 1;
        let group = GROUP_ENDS.iter().position(|end| seconds <= f64::from(*end));
        self.groups[group.unwrap_or(GROUPS - 1)] += 1;
    }

    pub fn merge(&mut self, other: &Self) {
        if self.counts.len() < other.counts.len() {
            self.counts.resize(other.counts.len(), 0);
        }
        self.counts.iter_mut().zip(&other.counts).for_each(|(own, added)| *own += added);
        self.groups.iter_mut().zip(other.groups).for_each(|(own, added)| *own += added);
    }

    pub fn count(&self) -> u64 {
        self.groups.iter().sum()
    }

    /// The median in seconds.
    pub fn median(&self) -> Option<f64> {
        let half = self.count().div_ceil(2);
        let mut seen = 0;
        let step = self.counts.iter().position(|count| {
            seen += count;
            seen >= half && seen > 0
        });
        step.map(|step| (step as f64 / STEPS_PER_E).exp().round())
    }

    fn shares(&self) -> [f64; GROUPS] {
        let all = self.count().max(1) as f64;
        self.groups.map(|count| count as f64 / all)
    }
}

impl Timing {
    pub fn new(own: &Delays, people: &Delays) -> Option<Self> {
        Some(Self {
            own_median: own.median()?,
            people_median: people.median()?,
            own: own.shares(),
            people: people.shares(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_come_soon_or_late() {
        let mut delays = AnswerDelays::default();
        for seconds in [0, 180, 181, 1800, 1801, 38_000] {
            delays.add(SignedDuration::from_secs(seconds));
        }
        let all = AnswerDelays { known: 6, within_3_minutes: 2, over_30_minutes: 2 };
        assert_eq!(delays, all);
        delays.merge(all);
        assert_eq!((delays.known, delays.within_3_minutes, delays.over_30_minutes), (12, 4, 4));
    }

    #[test]
    fn medians_are_close_and_groups_exact() {
        let mut delays = Delays::default();
        assert_eq!(delays.median(), None);
        for seconds in [1, 9, 10, 60, 61, 300, 4000] {
            delays.add(SignedDuration::from_secs(seconds));
        }
        let median = delays.median().unwrap();
        assert!((57.0..=63.0).contains(&median), "{median}");
        assert_eq!(delays.groups, [3, 0, 1, 1, 1, 0, 0, 1]);
        let mut both = delays.clone();
        both.merge(&delays);
        assert_eq!((both.count(), both.median()), (14, delays.median()));
    }
}
