//! The questions: for each case the very prompt that a room's conversation would get, and a mind's
//! answers to them.

use std::sync::Arc;

use futures_util::{StreamExt, stream};
use jiff::SignedDuration;
use jiff::tz::TimeZone;

use crate::config::Config;
use crate::eval::StateAnswer;
use crate::eval::case::Case;
use aizuchi_core::agent::Mind;
use aizuchi_core::chat::{
    Author, AuthorKind, ChannelId, ConversationId, Message, MessageId, UserId, WorkspaceId,
};
use aizuchi_core::clock::Clock;
use aizuchi_core::context::Context;
use aizuchi_core::context::channel_messages::ChannelMessages;
use aizuchi_core::persona::{Language, Persona};
use aizuchi_core::prompt::Prompt;
use aizuchi_core::prompt::budget::PromptBudget;
use aizuchi_core::prompt::builder::{PromptBuilder, PromptOptions};

/// So many calls run side by side.
const MAX_CONCURRENT_CALLS: usize = 4;
/// A conversation is judged when it has rested for a while.
const REST_BEFORE_JUDGING: SignedDuration = SignedDuration::from_secs(60);

/// What cases are turned into questions with.
pub struct CasePrompts {
    persona: Arc<Persona>,
    en: PromptBuilder,
    ja: PromptBuilder,
    /// Of a longer conversation only so many of the newest lines are seen.
    max_messages: usize,
    budget: PromptBudget,
    zone: TimeZone,
}

impl CasePrompts {
    /// The prompts of both languages. Templates of the operator's are of the config's language.
    pub fn new(config: &Config, persona: &Arc<Persona>) -> anyhow::Result<Self> {
        let prompts = |language: Language| {
            let folder = config.prompts_dir().filter(|_| language == config.language);
            PromptBuilder::load(language, folder)
        };
        Ok(Self {
            persona: persona.clone(),
            en: prompts(Language::En)?,
            ja: prompts(Language::Ja)?,
            max_messages: config.limits().channel_messages,
            budget: config.context.budget(),
            // The same prompts on every machine.
            zone: config.time_zone_or(TimeZone::UTC),
        })
    }

    pub fn prompt(&self, case: &Case) -> Prompt {
        let persona = Arc::new(Persona { language: case.language, ..(*self.persona).clone() });
        let context = Arc::new(self.context(case));
        let newest = context.target_messages().last().map(|line| line.at).unwrap_or_default();
        let (budget, zone) = (self.budget, self.zone.clone());
        let scene =
            PromptOptions { budget, zone, ..PromptOptions::new(newest + REST_BEFORE_JUDGING) };
        let prompts = match case.language {
            Language::En => &self.en,
            Language::Ja => &self.ja,
        };
        prompts.state(&persona, &context, &scene)
    }

    fn context(&self, case: &Case) -> Context {
        let conversation = ConversationId {
            workspace: WorkspaceId::new("eval"),
            channel: ChannelId::new("general"),
            thread: None,
        };
        let unseen = case.messages.len().saturating_sub(self.max_messages);
        let lines = case.messages.iter().enumerate().skip(unseen).map(|(number, line)| {
            let kind = if line.bot { AuthorKind::Bot } else { AuthorKind::Human };
            Arc::new(Message {
                conversation: conversation.clone(),
                // Lines of one moment stay in their order.
                id: MessageId::new(format!("{number:06}")),
                at: line.at(),
                author: Author { id: UserId::new(&*line.user), kind },
                text: line.text.as_str().into(),
                mentions: Vec::new(),
                edits: 0,
            })
        });
        let channel = conversation.channel.clone();
        let history = ChannelMessages::from_messages(channel, "general".into(), lines.collect());
        Context::new(conversation, history)
    }
}

/// Asks a mind about each case, a few at a time. `progress` is told of each answer.
pub async fn ask_all(
    mind: &Mind,
    prompts: &[Prompt],
    limit: SignedDuration,
    clock: &Clock,
    progress: &dyn Fn(),
) -> Vec<StateAnswer> {
    let asked = prompts.iter().enumerate().map(|(place, prompt)| async move {
        let finding = match clock.timeout(limit, mind.llm.ask(prompt)).await {
            Ok(Ok(answer)) => StateAnswer::from_answer(&answer.text),
            Ok(Err(error)) => StateAnswer::Failed(error.to_string()),
            Err(_timed_out) => StateAnswer::Failed(format!("no answer within {limit:#}")),
        };
        progress();
        (place, finding)
    });
    let mut findings: Vec<(usize, StateAnswer)> =
        stream::iter(asked).buffer_unordered(MAX_CONCURRENT_CALLS).collect().await;
    findings.sort_by_key(|(place, _)| *place);
    findings.into_iter().map(|(_, finding)| finding).collect()
}
