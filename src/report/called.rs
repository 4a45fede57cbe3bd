//! How it was called, where it answered a message that it took for a call.

use std::collections::BTreeMap;

use serde::Serialize;

/// What a call was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Call {
    /// One of its names, behind an `@`.
    ByName(String),
    /// A message was taken for an answer to what it had said.
    AnswersIt {
        /// Whether that is posted without a model, too.
        is_posted: bool,
    },
    Unknown,
}

/// The calls that it answered, by what they were.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct CalledFigures {
    /// By the name that the message holds.
    pub by_name: BTreeMap<String, usize>,
    pub after_post: usize,
    /// After words that stand in for a model. Without one they are not posted, and so nothing answers them.
    pub after_moment: usize,
    pub unknown: usize,
}

impl Call {
    /// Whether it is one without a model, too.
    pub fn is_real(&self) -> bool {
        match self {
            Call::AnswersIt { is_posted } => *is_posted,
            Call::ByName(_) | Call::Unknown => true,
        }
    }
}

impl CalledFigures {
    pub fn add(&mut self, call: &Call) {
        match call {
            Call::ByName(name) => *self.by_name.entry(name.clone()).or_default() += 1,
            Call::AnswersIt { is_posted: true } => self.after_post += 1,
            Call::AnswersIt { is_posted: false } => self.after_moment += 1,
            Call::Unknown => self.unknown += 1,
        }
    }

    pub fn merge(&mut self, other: Self) {
        for (name, count) in other.by_name {
            *self.by_name.entry(name).or_default() += count;
        }
        self.after_post += other.after_post;
        self.after_moment += other.after_moment;
        self.unknown += other.unknown;
    }

    /// How many there are without a model, too.
    pub fn real(&self) -> usize {
        self.named() + self.after_post + self.unknown
    }

    /// How many hold one of its names.
    pub fn named(&self) -> usize {
        self.by_name.values().sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_counted_by_what_they_were() {
        let mut one = CalledFigures::default();
        let mut other = CalledFigures::default();
        one.add(&Call::ByName("aizuchi".to_owned()));
        one.add(&Call::AnswersIt { is_posted: false });
        other.add(&Call::ByName("aizuchi".to_owned()));
        other.add(&Call::ByName("相槌".to_owned()));
        other.add(&Call::AnswersIt { is_posted: true });
        other.add(&Call::Unknown);
        one.merge(other);
        assert_eq!((one.named(), one.by_name["aizuchi"]), (3, 2));
        assert_eq!(one.real(), 5);
        assert_eq!((one.after_post, one.after_moment, one.unknown), (1, 1, 1));
    }
}
