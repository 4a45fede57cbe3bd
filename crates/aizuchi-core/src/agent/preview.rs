//! What models would be asked now, for people who want to read it.

use std::sync::Arc;

use crate::agent::{Agent, Trouble};
use crate::chat::ConversationId;
use crate::memory::{MemoryKey, Scope, Term};
use crate::prompt::{Prompt, Verb};

impl Agent {
    /// What would be asked about a conversation now; in parts, where there is too much to remember at
    /// once, and not at all where there is nothing new. What is remembered is a thread, or a channel in
    /// the short term.
    pub async fn would_ask(
        &self,
        verb: Verb,
        conversation: &ConversationId,
    ) -> anyhow::Result<Vec<Prompt>> {
        self.preview(verb, conversation).await.map_err(|trouble| match trouble {
            Trouble::Overtaken => anyhow::anyhow!("people moved on"),
            Trouble::Passing { error, .. } | Trouble::Lasting { error } => anyhow::anyhow!(error),
        })
    }

    async fn preview(
        &self,
        verb: Verb,
        conversation: &ConversationId,
    ) -> Result<Vec<Prompt>, Trouble> {
        if verb == Verb::Remember {
            return self.memory_prompts(&key(conversation)).await;
        }
        let minds = &self.minds;
        Ok(vec![match verb {
            Verb::Judge => {
                let (context, scene) = self.look(conversation).await?;
                self.prompts.judge(&minds.judgment.persona, &context, &scene)
            }
            Verb::State => {
                let (context, _) = self.look(conversation).await?;
                self.prompts.state(&minds.state.persona, &context, &self.scene(&minds.state))
            }
            Verb::Reply | Verb::Remember => {
                let mut context = self.context(conversation).await?;
                context.recalled = self.recall(&context).await?;
                self.reply_prompt(&Arc::new(context)).await?.0
            }
        }])
    }
}

fn key(conversation: &ConversationId) -> MemoryKey {
    let channel = conversation.channel.clone();
    let scope = match &conversation.thread {
        Some(thread) => Scope::Thread(channel, thread.clone()),
        None => Scope::Channel(channel),
    };
    MemoryKey { workspace: conversation.workspace.clone(), scope, term: Term::ShortTerm }
}
