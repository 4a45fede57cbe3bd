//! Measures a mind against labeled cases: how often it names the conversation state that human annotators named, and
//! how often it joins in where it should. Nothing here is stored or posted.

pub mod case;
pub mod answers;
mod language_prompts;
pub mod calls;
pub mod prompts;
pub mod baseline;
pub mod score;
pub mod report;
pub mod table;
pub mod decide;

use aizuchi_model::context::state::ConversationState;

/// The result of one case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StateAnswer {
    /// The answer names this state.
    State(ConversationState),
    /// The answer names no state, or several. That counts as active, as it does in a channel.
    NoState,
    /// There is no answer. The string says why and contains no chat text.
    Failed(String),
}

impl StateAnswer {
    pub fn from_answer(answer: &str) -> Self {
        ConversationState::parse(answer).map_or(Self::NoState, Self::State)
    }

    /// Returns the state that the answer counts as. A failed call has none.
    pub fn state(&self) -> Option<ConversationState> {
        match self {
            Self::State(state) => Some(*state),
            Self::NoState => Some(ConversationState::Active),
            Self::Failed(_) => None,
        }
    }
}
