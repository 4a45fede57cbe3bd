//! Builds for each case the prompt that a real conversation would get, and asks a mind.

use std::sync::Arc;

use aizuchi_agent::agent::Mind;
use aizuchi_config::Config;
use aizuchi_llm::prompt::Prompt;
use aizuchi_llm::prompt::budget::PromptBudget;
use aizuchi_llm::prompt::builder::PromptOptions;
use aizuchi_model::chat::{
    Author, AuthorKind, ChannelId, ConversationId, Message, MessageId, UserId, WorkspaceId,
};
use aizuchi_model::clock::Clock;
use aizuchi_model::context::Context;
use aizuchi_model::context::channel_messages::ChannelMessages;
use aizuchi_model::persona::Persona;
use futures_util::{StreamExt, stream};
use jiff::SignedDuration;
use jiff::tz::TimeZone;

use crate::eval::StateAnswer;
use crate::eval::calls::{self, EvalCall};
use crate::eval::case::Case;
use crate::eval::language_prompts::LanguagePrompts;

/// The number of model calls in flight.
const MAX_CONCURRENT_CALLS: usize = 4;
/// The assumed wait between the newest message and the judgment.
const REST_BEFORE_JUDGING: SignedDuration = SignedDuration::from_secs(60);

/// Builds the prompts of cases.
pub struct CasePrompts {
    persona: Arc<Persona>,
    prompts: LanguagePrompts,
    /// The number of newest messages that a prompt holds.
    max_messages: usize,
    budget: PromptBudget,
    zone: TimeZone,
}

impl CasePrompts {
    pub fn new(config: &Config, persona: &Arc<Persona>) -> anyhow::Result<Self> {
        Ok(Self {
            persona: persona.clone(),
            prompts: LanguagePrompts::load(config)?,
            max_messages: config.limits().channel_messages,
            budget: config.context.budget(),
            // The prompts are the same on every machine, whatever its time zone.
            zone: config.time_zone_or(TimeZone::UTC),
        })
    }

    pub fn prompt(&self, case: &Case) -> Prompt {
        let persona = Arc::new(Persona { language: case.language, ..(*self.persona).clone() });
        let context = Arc::new(self.context(case));
        let newest = context.target_messages().last().map(|message| message.at).unwrap_or_default();
        let (budget, zone) = (self.budget, self.zone.clone());
        let options =
            PromptOptions { budget, zone, ..PromptOptions::new(newest + REST_BEFORE_JUDGING) };
        self.prompts.for_language(case.language).state(&persona, &context, &options)
    }

    fn context(&self, case: &Case) -> Context {
        let conversation = ConversationId {
            workspace: WorkspaceId::new("eval"),
            channel: ChannelId::new("general"),
            thread: None,
        };
        let unseen = case.messages.len().saturating_sub(self.max_messages);
        let messages = case.messages.iter().enumerate().skip(unseen).map(|(number, message)| {
            let is_own = message.own.unwrap_or(message.user == self.persona.name);
            let kind = match (is_own, message.bot) {
                (true, _) => AuthorKind::Persona,
                (false, true) => AuthorKind::Bot,
                (false, false) => AuthorKind::Human,
            };
            Arc::new(Message {
                conversation: conversation.clone(),
                // Ids in ascending order keep messages with the same time in their order.
                id: MessageId::new(format!("{number:06}")),
                at: message.at(),
                author: Author { id: UserId::new(&*message.user), kind },
                text: message.text.as_str().into(),
                mentions: Vec::new(),
                attachments: Vec::new(),
                edits: 0,
            })
        });
        let channel = conversation.channel.clone();
        let history = ChannelMessages::from_messages(channel, "general".into(), messages.collect());
        Context::new(conversation, history)
    }
}

/// Asks a mind about each case, several at a time. Calls `progress` after each answer.
pub async fn ask_all(
    mind: &Mind,
    prompts: &[Prompt],
    timeout: SignedDuration,
    clock: &Clock,
    progress: &dyn Fn(),
) -> Vec<(StateAnswer, EvalCall)> {
    let calls = prompts.iter().enumerate().map(|(index, prompt)| async move {
        let (answer, call) = calls::ask(&mind.models, prompt, timeout, clock).await;
        let answer = match answer {
            Ok(text) => StateAnswer::from_answer(&text),
            Err(why) => StateAnswer::Failed(why),
        };
        progress();
        (index, (answer, call))
    });
    let mut answers: Vec<(usize, (StateAnswer, EvalCall))> =
        stream::iter(calls).buffer_unordered(MAX_CONCURRENT_CALLS).collect().await;
    answers.sort_by_key(|(index, _)| *index);
    answers.into_iter().map(|(_, answer)| answer).collect()
}
