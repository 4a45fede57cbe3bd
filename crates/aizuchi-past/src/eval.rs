//! Measures a mind against labeled cases: how often it names the conversation state that human annotators named, and
//! how often it joins in where it should. Nothing here is stored or posted.

pub mod case;
pub mod answers;
pub mod calls;
pub mod baseline;
pub mod score;
pub mod report;
pub mod table;
pub mod decide;
pub mod prompts;

use aizuchi_model::context::state::ConversationState;

use crate::answer::MindAnswer;

/// The state that an answer names. One that names none, or several, is unreadable.
pub type StateAnswer = MindAnswer<ConversationState>;

impl StateAnswer {
    pub fn from_answer(answer: &str) -> Self {
        let unreadable = || Self::Unreadable("it names no state, or several".to_owned());
        ConversationState::parse(answer).map_or_else(unreadable, Self::Known)
    }

    /// Returns the state that the answer counts as: as in a channel, one that cannot be read counts as active. A failed
    /// call has none.
    pub fn state(&self) -> Option<ConversationState> {
        match self {
            Self::Known(state) => Some(*state),
            Self::Unreadable(_) => Some(ConversationState::Active),
            Self::Unknown(_) => None,
        }
    }
}
