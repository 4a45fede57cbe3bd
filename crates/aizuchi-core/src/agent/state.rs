//! The state of a conversation as a question of its own (seed 004): one word from a small model, asked
//! once for each state of the talk.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use tokio_util::sync::CancellationToken;
use tracing::error;

use crate::agent::{Agent, Attempts, Trouble};
use crate::chat::ConversationId;
use crate::context::state::ConversationState;
use crate::context::{Context, StateHash};
use crate::decision::AttemptEnd;

/// Of so many conversations it is known what they were named last.
const MOST_KNOWN: usize = 1024;

/// What was named last, by the talk that it was named for (S21).
#[derive(Debug, Default)]
pub struct NamedStates(Mutex<HashMap<ConversationId, (StateHash, ConversationState)>>);

impl NamedStates {
    fn of(&self, context: &Context) -> Option<ConversationState> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (hash, state) = known.get(&context.conversation)?;
        (*hash == context.state()).then_some(*state)
    }

    fn learn(&self, context: &Context, state: ConversationState) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= MOST_KNOWN {
            known.clear();
        }
        known.insert(context.conversation.clone(), (context.state(), state));
    }
}

impl Agent {
    /// `active` without a call where nothing was said (S12), and where none can be had (S17): the judge
    /// decides then.
    pub(super) async fn name_state(
        &self,
        context: &Arc<Context>,
        overtaken: &CancellationToken,
        attempts: &mut Attempts,
    ) -> Result<ConversationState, Trouble> {
        if context.target().is_empty() {
            return Ok(ConversationState::Active);
        }
        if let Some(state) = self.named_states.of(context) {
            return Ok(state);
        }
        let mind = &self.minds.state;
        let prompt = self.prompts.state(&mind.persona, context, &self.scene(mind));
        let answer = match self.ask(mind, &prompt, overtaken, attempts).await {
            Ok(answer) => answer,
            Err(Trouble::Overtaken) => return Err(Trouble::Overtaken),
            Err(Trouble::Passing { error, .. } | Trouble::Lasting { error }) => {
                error!("Error in conversation state analysis: {error}");
                return Ok(ConversationState::Active);
            }
        };
        let Some(state) = ConversationState::parse(&answer) else {
            if let Some(attempt) = attempts.last_mut() {
                attempt.end = AttemptEnd::Failed;
                attempt.error = Some("the answer names no state".to_owned());
            }
            return Ok(ConversationState::Active);
        };
        self.named_states.learn(context, state);
        Ok(state)
    }
}
