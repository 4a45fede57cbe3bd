//! Labelled cases: how often does a mind name the state that careful readers have named (seed 004), and
//! how often does it join in where it is wanted? Nothing here is stored, and no room hears of it.

pub mod case;
pub mod answers;
pub mod prompts;
pub mod baseline;
pub mod score;
pub mod report;
pub mod table;
pub mod decide;

use aizuchi_core::context::state::ConversationState;

/// What came of one case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StateAnswer {
    /// The answer names this state.
    State(ConversationState),
    /// It names none, or several; that counts as active, as it does in a room.
    NoState,
    /// There is no answer. The sentence says why, without any chat text.
    Failed(String),
}

impl StateAnswer {
    pub fn from_answer(answer: &str) -> Self {
        ConversationState::parse(answer).map_or(Self::NoState, Self::State)
    }

    /// What it counts as; a call that failed says nothing about a conversation.
    pub fn state(&self) -> Option<ConversationState> {
        match self {
            Self::State(state) => Some(*state),
            Self::NoState => Some(ConversationState::Active),
            Self::Failed(_) => None,
        }
    }
}
