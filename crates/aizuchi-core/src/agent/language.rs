//! The agent in two languages: each step is handled in the language of its conversation.

use std::sync::Arc;

use crate::agent::state::StateCache;
use crate::agent::{Agent, Mind, Minds};
use crate::chat::ConversationId;
use crate::command::reply::CommandReplies;
use crate::persona::{Language, Persona};
use crate::prompt::builder::PromptBuilder;
use crate::prompt::tokens::TokenCorrections;
use crate::rules::LanguageRule;
use crate::spoken_language::{language_rule, written_language};
use crate::store::StoreError;

impl Agent {
    /// The agent that speaks the language of a conversation.
    pub(super) async fn speaker(
        &self,
        conversation: &ConversationId,
    ) -> Result<&Agent, StoreError> {
        let Some(translation) = &self.translation else { return Ok(self) };
        let archive = &*self.command_answers.archive;
        let language = match language_rule(archive, &self.rulebook(), conversation).await? {
            None => None,
            Some(LanguageRule::Fixed(language)) => Some(language),
            Some(LanguageRule::AsWritten) => written_language(archive, conversation).await?,
        };
        Ok(match language == Some(translation.persona.language) {
            true => &**translation,
            false => self,
        })
    }

    /// The same agent in another language.
    pub fn in_language(&self, language: Language, prompts: PromptBuilder) -> Self {
        let translate = |persona: &Persona| Arc::new(Persona { language, ..persona.clone() });
        let mind =
            |mind: &Mind| Mind { models: mind.models.clone(), persona: translate(&mind.persona) };
        let answers = &self.command_answers;
        let persona = translate(&self.persona);
        Self {
            store: self.store.clone(),
            platforms: self.platforms.clone(),
            minds: Minds {
                judgment: mind(&self.minds.judgment),
                response: mind(&self.minds.response),
                memory: mind(&self.minds.memory),
                state: mind(&self.minds.state),
            },
            clock: self.clock.clone(),
            metrics: self.metrics.clone(),
            prompt_builder: prompts.into(),
            // What is learned of a model's tokens in one language says little of another.
            learned_gates: self.learned_gates.clone(),
            token_corrections: TokenCorrections::default(),
            state_cache: StateCache::default(),
            deferrals: self.deferrals.clone(),
            dispatches: self.dispatches.clone(),
            command_answers: Arc::new(CommandReplies {
                store: answers.store.clone(),
                archive: answers.archive.clone(),
                rulebook: answers.rulebook.clone(),
                persona: persona.clone(),
                zone: answers.zone.clone(),
                admins_workspace: answers.admins_workspace.clone(),
            }),
            persona,
            tools: self.tools.clone(),
            settings: self.settings.clone(),
            seed: self.seed,
            translation: None,
        }
    }
}
