//! The state of a conversation as a question of its own (seed 004): one word from a small model, asked
//! once for each state of the talk.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use tokio_util::sync::CancellationToken;
use tracing::error;

use crate::agent::{Agent, Attempts, StepError};
use crate::chat::ConversationId;
use crate::context::state::ConversationState;
use crate::context::{Context, StateHash};
use crate::decision::AttemptResult;

/// Of so many conversations it is known what they were named last.
const MAX_CACHED: usize = 1024;

/// What was named last, by the talk that it was named for (S21).
#[derive(Debug, Default)]
pub struct StateCache(Mutex<HashMap<ConversationId, (StateHash, ConversationState)>>);

impl StateCache {
    fn get(&self, context: &Context) -> Option<ConversationState> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (hash, state) = known.get(&context.conversation)?;
        (*hash == context.state_hash()).then_some(*state)
    }

    fn insert(&self, context: &Context, state: ConversationState) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= MAX_CACHED {
            known.clear();
        }
        known.insert(context.conversation.clone(), (context.state_hash(), state));
    }
}

impl Agent {
    /// `active` without a call where nothing was said (S12), and where none can be had (S17): the judge
    /// decides then.
    pub(super) async fn classify_state(
        &self,
        context: &Arc<Context>,
        overtaken: &CancellationToken,
        attempts: &mut Attempts,
    ) -> Result<ConversationState, StepError> {
        if context.target_messages().is_empty() {
            return Ok(ConversationState::Active);
        }
        if let Some(state) = self.state_cache.get(context) {
            return Ok(state);
        }
        let mind = &self.minds.state;
        let prompt = self.prompt_builder.state(&mind.persona, context, &self.prompt_options(mind));
        let answer = match self.call_model(mind, &prompt, overtaken, attempts).await {
            Ok(answer) => answer,
            Err(StepError::Superseded) => return Err(StepError::Superseded),
            Err(StepError::Retryable { error, .. } | StepError::Permanent { error }) => {
                error!("Error in conversation state analysis: {error}");
                return Ok(ConversationState::Active);
            }
        };
        let Some(state) = ConversationState::parse(&answer) else {
            if let Some(attempt) = attempts.last_mut() {
                attempt.result = AttemptResult::Failed;
                attempt.error = Some("the answer names no state".to_owned());
            }
            return Ok(ConversationState::Active);
        };
        self.state_cache.insert(context, state);
        Ok(state)
    }
}
