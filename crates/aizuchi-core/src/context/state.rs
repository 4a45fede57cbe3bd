//! The state that a conversation is in (seed 004). A model names it; no list of words does.

use serde::{Deserialize, Serialize};

/// In the order of their priority (S02).
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum ConversationState {
    /// The talk is about to end; a change of subject is no end (S03).
    Ending,
    /// People misunderstand each other (S04).
    Misunderstanding,
    /// One stands against the other, or tension rises (S05).
    Conflict,
    /// The talk goes well, or none of the above (S07).
    #[default]
    Active,
}

impl ConversationState {
    pub const ALL: [Self; 4] = [Self::Ending, Self::Misunderstanding, Self::Conflict, Self::Active];

    pub fn name(self) -> &'static str {
        match self {
            Self::Ending => "ending",
            Self::Misunderstanding => "misunderstanding",
            Self::Conflict => "conflict",
            Self::Active => "active",
        }
    }

    /// The word that a model answers with (S01).
    pub fn label(self) -> &'static str {
        match self {
            Self::Ending => "ENDING",
            Self::Misunderstanding => "MISUNDERSTANDING",
            Self::Conflict => "CONFLICT",
            Self::Active => "ACTIVE",
        }
    }

    /// What a model's one word means: a prefix in the order of priority, whatever its case (S16), behind
    /// quotes, stars, or a label with a colon. `None` if it names no state.
    pub fn parse(answer: &str) -> Option<Self> {
        let upper = answer.to_uppercase();
        let behind_label = upper.split_once([':', '：']).map(|(_, behind)| behind);
        let begun = |words: &str| {
            let words = words.trim_start_matches(|letter: char| !letter.is_alphanumeric());
            Self::ALL.into_iter().find(|state| words.starts_with(state.label()))
        };
        begun(&upper).or_else(|| begun(behind_label?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_word_names_the_state() {
        use ConversationState::{Active, Conflict, Ending, Misunderstanding};
        for (answer, state) in [
            ("ENDING", Some(Ending)),
            ("  Ending.\n", Some(Ending)),
            ("misunderstanding", Some(Misunderstanding)),
            ("CONFLICT because they shout", Some(Conflict)),
            ("\"ACTIVE\"", Some(Active)),
            ("**CONFLICT**", Some(Conflict)),
            ("「ENDING」", Some(Ending)),
            ("`misunderstanding`", Some(Misunderstanding)),
            ("状態: CONFLICT", Some(Conflict)),
            ("State: **ENDING**", Some(Ending)),
            ("The talk is not ENDING", None),
            ("pending", None),
            ("ENDING, not ACTIVE", Some(Ending)),
            ("It may be CONFLICT or ACTIVE", None),
            ("対立", None),
            ("", None),
        ] {
            assert_eq!(ConversationState::parse(answer), state, "{answer:?}");
        }
    }
}
