//! The prompts that would be sent to models now, for an operator who wants to read them.

use std::sync::Arc;

use aizuchi_llm::prompt::{Prompt, PromptVerb};
use aizuchi_model::chat::ConversationId;
use aizuchi_model::memory::{MemoryKey, MemoryScope, MemoryTerm};

use crate::agent::select_agent::Words;
use crate::agent::{Agent, StepError, Worker};

impl Agent {
    /// Returns the prompts about a conversation: several if there is too much to remember at once, and none if there is
    /// nothing new. `remember` previews a thread's memory, or a channel's short-term memory.
    pub async fn preview_prompts(
        &self,
        verb: PromptVerb,
        conversation: &ConversationId,
    ) -> anyhow::Result<Vec<Prompt>> {
        let words = if verb == PromptVerb::Reply { Words::Owed } else { Words::Unasked };
        let worker = self.worker();
        let speaker = worker.speaker(conversation, words).await?;
        speaker.build_preview(verb, conversation).await.map_err(|error| match error {
            StepError::Superseded => anyhow::anyhow!("people moved on"),
            StepError::AwaitingBudget { .. } | StepError::OverBudget(_) => {
                anyhow::anyhow!("the budget is used up")
            }
            StepError::Retryable { error, .. } | StepError::Permanent { error, .. } => {
                anyhow::anyhow!(error)
            }
        })
    }
}

impl Worker<'_> {
    async fn build_preview(
        &self,
        verb: PromptVerb,
        conversation: &ConversationId,
    ) -> Result<Vec<Prompt>, StepError> {
        if verb == PromptVerb::Remember {
            return self.memory_prompts(&memory_key(conversation)).await;
        }
        let minds = &self.minds;
        Ok(vec![match verb {
            PromptVerb::Judge => {
                let (context, options) = self.load_judge_context(conversation).await?;
                let rules = self.gate_input(&context).rules;
                let persona = self.persona_in(&minds.judgment, rules);
                self.prompt_builder.read().judge(&persona, &context, &options)
            }
            PromptVerb::State => {
                let (context, _) = self.load_judge_context(conversation).await?;
                let rules = self.gate_input(&context).rules;
                let persona = self.persona_in(&minds.state, rules);
                let options = self.prompt_options(&self.state_mind(&context));
                self.prompt_builder.read().state(&persona, &context, &options)
            }
            PromptVerb::Reply
            | PromptVerb::Remember
            | PromptVerb::Describe
            | PromptVerb::Transcribe => {
                let mut context = self.load_context(conversation).await?;
                context.recalled_messages = self.recall(&context).await;
                self.reply_prompt(&Arc::new(context), None).await?.0
            }
        }])
    }
}

fn memory_key(conversation: &ConversationId) -> MemoryKey {
    let channel = conversation.channel.clone();
    let scope = match &conversation.thread {
        Some(thread) => MemoryScope::Thread(channel, thread.clone()),
        None => MemoryScope::Channel(channel),
    };
    MemoryKey { workspace: conversation.workspace.clone(), scope, term: MemoryTerm::ShortTerm }
}
