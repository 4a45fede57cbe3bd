//! Binary features of messages and of pairs of messages. Each is a row of a model's table.

use crate::cues::Cues;

/// The active features as row numbers. Features come in groups, which follow one another in a fixed order.
#[derive(Clone, Debug, Default)]
pub struct FeatureSet {
    active: Vec<u16>,
    next: u16,
    /// The name and size of each group, if they are recorded.
    layout: Option<Vec<(&'static str, u16)>>,
}

impl FeatureSet {
    /// Creates a set that records the groups, to name the rows of a table.
    pub fn recording() -> Self {
        Self { layout: Some(Vec::new()), ..Self::default() }
    }

    pub fn active(&self) -> &[u16] {
        &self.active
    }

    /// The names of the rows, if the set records them.
    pub fn row_names(&self) -> Vec<String> {
        let groups = self.layout.iter().flatten();
        groups.flat_map(|(name, size)| (0..*size).map(move |at| format!("{name} {at}"))).collect()
    }

    /// The number of features added so far, active or not.
    pub fn len(&self) -> u16 {
        self.next
    }

    pub fn is_empty(&self) -> bool {
        self.next == 0
    }

    /// Starts over after the first `len` features.
    pub fn restart(&mut self, len: u16) {
        self.active.clear();
        self.next = len;
    }

    /// Adds a group with exactly one active feature.
    pub fn one_of(&mut self, name: &'static str, size: usize, at: usize) {
        self.any_of(name, size, Some(at));
    }

    /// Adds a group with at most one active feature.
    pub fn any_of(&mut self, name: &'static str, size: usize, at: Option<usize>) {
        if let Some(at) = at {
            debug_assert!(at < size, "{name}: {at} of {size}");
            self.active.push(self.next + at as u16);
        }
        self.advance(name, size);
    }

    pub fn flag(&mut self, name: &'static str, is_on: bool) {
        self.any_of(name, 1, is_on.then_some(0));
    }

    /// Adds a group with one feature for each cue.
    pub fn cues(&mut self, name: &'static str, cues: Cues) {
        let mut bits = cues.bits() & ((1 << Cues::WEIGHED) - 1);
        while bits != 0 {
            self.active.push(self.next + bits.trailing_zeros() as u16);
            bits &= bits - 1;
        }
        self.advance(name, Cues::WEIGHED);
    }

    /// Adds a group in which the features `numbers` are active.
    pub fn all_of(&mut self, name: &'static str, size: usize, numbers: &[u16]) {
        self.active.extend(numbers.iter().map(|number| self.next + number));
        self.advance(name, size);
    }

    fn advance(&mut self, name: &'static str, size: usize) {
        self.next += size as u16;
        if let Some(layout) = &mut self.layout {
            layout.push((name, size as u16));
        }
    }
}

/// The number of buckets for the number of messages between two.
pub const DISTANCES: usize = 12;

pub fn distance_bucket(distance: usize) -> usize {
    match distance {
        0..=5 => distance,
        6..=7 => 6,
        8..=10 => 7,
        11..=15 => 8,
        16..=20 => 9,
        21..=30 => 10,
        _ => 11,
    }
}

pub const DURATIONS: usize = 13;

pub fn duration_bucket(seconds: f64) -> usize {
    const BOUNDS: [f64; DURATIONS - 1] =
        [2.0, 5.0, 10.0, 20.0, 40.0, 80.0, 160.0, 320.0, 640.0, 1800.0, 7200.0, 86400.0];
    BOUNDS.iter().position(|bound| seconds < *bound).unwrap_or(DURATIONS - 1)
}

/// One bucket for each doubling from an eighth on. Smaller values are in the first one.
pub fn doubling_bucket(value: f64, count: usize) -> usize {
    const MANTISSA_BITS: u32 = f64::MANTISSA_DIGITS - 1;
    const EIGHTH: u64 = 0.125_f64.to_bits() >> MANTISSA_BITS;
    // The exponent of a positive number is the integer part of its binary logarithm.
    let exponent = value.max(0.0).to_bits() >> MANTISSA_BITS;
    (exponent.saturating_sub(EIGHTH) as usize).min(count - 1)
}

pub const PROBABILITIES: usize = 12;

/// A bucket of the log odds, which is narrower near 0 and 1.
pub fn probability_bucket(probability: f32) -> usize {
    let odds = (probability / (1.0 - probability).max(1e-6)).max(1e-6);
    (odds.ln() + 6.0).clamp(0.0, PROBABILITIES as f32 - 1.0) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_begins_at_each_doubling() {
        let by_logarithm = |value: f64, count: usize| {
            (value.max(1e-3).log2() + 3.0).clamp(0.0, count as f64 - 1.0) as usize
        };
        for value in [0.0, 1e-9, 0.1, 0.125, 0.2, 0.25, 0.9, 1.0, 1.5, 2.0, 3.9, 4.0, 100.0, 1e12] {
            assert_eq!(doubling_bucket(value, 10), by_logarithm(value, 10), "{value}");
        }
        assert_eq!(doubling_bucket(f64::INFINITY, 8), 7);
        assert_eq!(doubling_bucket(-1.0, 8), 0);
    }
}
