//! The state of a conversation, named in one word by a separate call to a small model, once for each state of the
//! messages.

use std::collections::HashMap;
use std::sync::Arc;

use aizuchi_model::chat::ConversationId;
use aizuchi_model::context::state::ConversationState;
use aizuchi_model::context::{Context, StateHash};
use aizuchi_model::decision::AttemptResult;
use parking_lot::Mutex;
use tracing::error;

use crate::agent::reserve_budget::Calls;
use crate::agent::{StepError, Worker};

/// The maximum number of conversations whose state is cached.
const MAX_CACHED: usize = 1024;

/// The last state of each conversation, with a hash of the messages that it was named for.
#[derive(Debug, Default)]
pub struct StateCache(Mutex<HashMap<ConversationId, (StateHash, ConversationState)>>);

impl StateCache {
    fn get(&self, context: &Context) -> Option<ConversationState> {
        let states = self.0.lock();
        let (hash, state) = states.get(&context.conversation)?;
        (*hash == context.state_hash()).then_some(*state)
    }

    fn insert(&self, context: &Context, state: ConversationState) {
        let mut states = self.0.lock();
        // A lost entry costs one call, so nothing finer than this is needed.
        if states.len() >= MAX_CACHED {
            states.clear();
        }
        states.insert(context.conversation.clone(), (context.state_hash(), state));
    }
}

impl Worker<'_> {
    /// Names the state. An empty conversation is `active` without a call. If the call fails, the
    /// state is `active` too, and the judge decides.
    pub(super) async fn classify_state(
        &self,
        context: &Arc<Context>,
        calls: &mut Calls<'_>,
    ) -> Result<ConversationState, StepError> {
        if context.target_messages().is_empty() {
            return Ok(ConversationState::Active);
        }
        if let Some(state) = self.state_cache.get(context) {
            return Ok(state);
        }
        let mind = &self.state_mind(context);
        let persona = self.persona_in(mind, self.gate_input(context).rules);
        let options = self.prompt_options(mind);
        let prompt = self.prompt_builder.read().state(&persona, context, &options);
        let answer = match self.call_model(mind, &prompt, calls).await {
            Ok(answer) => answer,
            Err(
                error @ (StepError::Superseded
                | StepError::AwaitingBudget { .. }
                | StepError::OverBudget(_)),
            ) => return Err(error),
            Err(StepError::Retryable { error, .. } | StepError::Permanent { error, .. }) => {
                // The required log sentence, verbatim.
                error!(error = %error, "Error in conversation state analysis: {error}");
                return Ok(ConversationState::Active);
            }
        };
        let Some(state) = ConversationState::parse(&answer) else {
            if let Some(attempt) = calls.attempts.last_mut() {
                attempt.result = AttemptResult::Failed;
                attempt.error = Some("the answer names no state".to_owned());
            }
            return Ok(ConversationState::Active);
        };
        self.state_cache.insert(context, state);
        Ok(state)
    }
}
