//! How messages addressed the persona, which answered them.

use std::collections::BTreeMap;

use serde::Serialize;

/// How a message addressed the persona.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Call {
    /// It contains this name of the persona behind an `@`.
    ByName(String),
    /// It was taken for an answer to a post of the persona.
    AnswersIt {
        /// Whether that post is made even without a model.
        is_posted: bool,
    },
    Unknown,
}

/// The numbers of answered messages, by how they addressed the persona.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct CalledFigures {
    /// By the name in the message.
    pub by_name: BTreeMap<String, usize>,
    pub after_post: usize,
    /// Answers to posts that exist only in a replay with the built-in mind. Without a model there is no such post to
    /// answer.
    pub after_moment: usize,
    pub unknown: usize,
}

impl Call {
    /// Whether the message would address the persona even without a model.
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

    /// Returns how many messages would address the persona even without a model.
    pub fn real(&self) -> usize {
        self.named() + self.after_post + self.unknown
    }

    /// Returns how many messages contain a name of the persona.
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
