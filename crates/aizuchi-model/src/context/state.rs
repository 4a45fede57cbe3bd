//! The state that a conversation is in. A model names it; a list of words cannot.

named_enum! {
    /// The state of a conversation, in order of priority.
    #[derive(Default)]
    pub enum ConversationState {
        /// The conversation is about to end. A change of subject is not an end.
        Ending,
        /// The users misunderstand each other.
        Misunderstanding,
        /// Users disagree, or tension rises.
        Conflict,
        /// The conversation goes well, or none of the above.
        #[default]
        Active,
    }
}

impl ConversationState {
    pub const ALL: [Self; 4] = [Self::Ending, Self::Misunderstanding, Self::Conflict, Self::Active];

    /// Whether users are at odds with each other, so that calm words may help.
    pub fn is_tense(self) -> bool {
        match self {
            Self::Misunderstanding | Self::Conflict => true,
            Self::Ending | Self::Active => false,
        }
    }

    /// Returns the word that a model answers with.
    pub fn label(self) -> &'static str {
        match self {
            Self::Ending => "ENDING",
            Self::Misunderstanding => "MISUNDERSTANDING",
            Self::Conflict => "CONFLICT",
            Self::Active => "ACTIVE",
        }
    }

    /// Parses a model's one-word answer: a label as a prefix, in any case, after quotes, asterisks, or a field
    /// name with a colon. `None` if it names no state.
    pub fn parse(answer: &str) -> Option<Self> {
        let upper = answer.to_uppercase();
        let after_colon = upper.split_once([':', '：']).map(|(_, after)| after);
        let find_prefix = |text: &str| {
            let text = text.trim_start_matches(|character: char| !character.is_alphanumeric());
            Self::ALL.into_iter().find(|state| text.starts_with(state.label()))
        };
        find_prefix(&upper).or_else(|| find_prefix(after_colon?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_word_names_the_state() {
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
