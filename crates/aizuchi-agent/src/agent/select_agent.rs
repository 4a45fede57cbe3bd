//! Selects the agent that handles a step: the one for the conversation's language, or the demo's agent, which uses the
//! built-in mind.

use std::sync::Arc;

use aizuchi_actions::command_replies::CommandReplies;
use aizuchi_llm::builtin::BuiltinMind;
use aizuchi_llm::prompt::builder::PromptBuilder;
use aizuchi_llm::prompt::tokens::TokenCorrections;
use aizuchi_model::chat::ConversationId;
use aizuchi_model::chat::local;
use aizuchi_model::decision::tolerance::WelcomeLabels;
use aizuchi_model::memory::{MemoryKey, MemoryScope};
use aizuchi_model::persona::{Language, Persona};
use aizuchi_store::StoreError;
use aizuchi_store::spoken_language::SpokenLanguage;

use crate::agent::conversation_state::StateCache;
use crate::agent::{Agent, Mind, Minds, Worker};

/// Whether words answer a message that addresses the persona.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Words {
    Owed,
    Unasked,
}

impl Worker<'_> {
    /// Returns the worker for the language of a conversation, or of the message that is owed an answer there.
    pub(super) async fn speaker(
        &self,
        conversation: &ConversationId,
        words: Words,
    ) -> Result<Worker<'_>, StoreError> {
        let is_demo = conversation.workspace == local::workspace_id()
            && conversation.channel == local::demo_channel_id();
        if let Some(demo) = self.demo.as_deref().filter(|_| is_demo) {
            return Ok(self.with_agent(demo));
        }
        let spoken = self.spoken_language();
        Ok(self.speaking(match words {
            Words::Owed => spoken.of_owed_answer(conversation).await?,
            Words::Unasked => spoken.of(conversation).await?,
        }))
    }

    /// Returns the worker for the language of what is remembered.
    pub(super) async fn memory_speaker(&self, key: &MemoryKey) -> Result<Worker<'_>, StoreError> {
        let (channel, thread) = match &key.scope {
            MemoryScope::Workspace => {
                let spoken = self.spoken_language();
                return Ok(self.speaking(spoken.of_workspace(&key.workspace).await?));
            }
            MemoryScope::Channel(channel) => (channel.clone(), None),
            MemoryScope::Thread(channel, thread) => (channel.clone(), Some(thread.clone())),
        };
        let conversation = ConversationId { workspace: key.workspace.clone(), channel, thread };
        self.speaker(&conversation, Words::Unasked).await
    }

    fn spoken_language(&self) -> SpokenLanguage<'_> {
        let archive = &*self.command_answers.archive;
        SpokenLanguage { archive, rulebook: &self.rulebook, own: self.persona.language }
    }

    fn speaking(&self, language: Language) -> Worker<'_> {
        let translation = self.translation.as_deref();
        let speaks = |agent: &&Agent| agent.persona.language == language;
        self.with_agent(translation.filter(speaks).unwrap_or(self.agent))
    }

    fn with_agent<'b>(&'b self, agent: &'b Agent) -> Worker<'b> {
        Worker { agent, rulebook: self.rulebook.clone() }
    }
}

impl Agent {
    /// Returns a copy of this agent for another language.
    pub fn in_language(&self, language: Language, prompts: PromptBuilder) -> Self {
        let translate = |persona: &Persona| Arc::new(Persona { language, ..persona.clone() });
        let mind =
            |mind: &Mind| Mind { models: mind.models.clone(), persona: translate(&mind.persona) };
        let minds = Minds {
            judgment: mind(&self.minds.judgment),
            response: mind(&self.minds.response),
            memory: mind(&self.minds.memory),
            state: mind(&self.minds.state),
            vision: self.minds.vision.as_ref().map(&mind),
            named: self.minds.named.clone(),
            transcription: self.minds.transcription.as_ref().map(&mind),
        };
        self.variant(minds, translate(&self.persona), prompts, self.welcome_labels.clone())
    }

    /// Returns a copy of this agent with the built-in mind, for the demo: the demo runs the same with any connected
    /// model, and costs nothing. No threshold of the
    /// connected judge applies to the built-in one.
    pub fn for_demo(&self, prompts: PromptBuilder) -> Self {
        let minds = Minds::from_llm(Arc::new(BuiltinMind), &self.persona);
        self.variant(minds, self.persona.clone(), prompts, Arc::default())
    }

    fn variant(
        &self,
        minds: Minds,
        persona: Arc<Persona>,
        prompts: PromptBuilder,
        welcome_labels: Arc<WelcomeLabels>,
    ) -> Self {
        let answers = &self.command_answers;
        Self {
            store: self.store.clone(),
            platforms: self.platforms.clone(),
            minds,
            clock: self.clock.clone(),
            metrics: self.metrics.clone(),
            prompt_builder: prompts.into(),
            welcome_labels,
            // Token corrections that were learned in one language say little about another.
            token_corrections: TokenCorrections::default(),
            state_cache: StateCache::default(),
            deferrals: self.deferrals.clone(),
            dispatches: self.dispatches.clone(),
            user_rate_limit: self.user_rate_limit.clone(),
            command_answers: Arc::new(CommandReplies {
                persona: persona.clone(),
                ..(**answers).clone()
            }),
            persona,
            tools: self.tools.clone(),
            settings: self.settings.clone(),
            seed: self.seed,
            documents: self.documents.clone(),
            translation: None,
            demo: None,
        }
    }
}
