//! What models would be asked now, for people who want to read it.

use std::sync::Arc;

use crate::agent::{Agent, StepError};
use crate::chat::ConversationId;
use crate::memory::{MemoryKey, MemoryScope, MemoryTerm};
use crate::prompt::{Prompt, PromptVerb};

impl Agent {
    /// What would be asked about a conversation now; in parts, where there is too much to remember at
    /// once, and not at all where there is nothing new. What is remembered is a thread, or a channel in
    /// the short term.
    pub async fn preview_prompts(
        &self,
        verb: PromptVerb,
        conversation: &ConversationId,
    ) -> anyhow::Result<Vec<Prompt>> {
        self.build_preview(verb, conversation).await.map_err(|trouble| match trouble {
            StepError::Superseded => anyhow::anyhow!("people moved on"),
            StepError::Retryable { error, .. } | StepError::Permanent { error } => {
                anyhow::anyhow!(error)
            }
        })
    }

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
                let (context, scene) = self.load_judge_context(conversation).await?;
                self.prompt_builder.judge(&minds.judgment.persona, &context, &scene)
            }
            PromptVerb::State => {
                let (context, _) = self.load_judge_context(conversation).await?;
                self.prompt_builder.state(
                    &minds.state.persona,
                    &context,
                    &self.prompt_options(&minds.state),
                )
            }
            PromptVerb::Reply | PromptVerb::Remember => {
                let mut context = self.load_context(conversation).await?;
                context.recalled_messages = self.recall(&context).await?;
                self.reply_prompt(&Arc::new(context)).await?.0
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
