//! For each item the very prompt that a room's conversation would get, and a mind's answers to them.

use std::sync::Arc;

use futures_util::{StreamExt, stream};
use jiff::SignedDuration;
use jiff::tz::TimeZone;

use crate::config::Config;
use crate::eval::decide::ItemAnswer;
use crate::eval::decide::item::DecisionItem;
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
use aizuchi_core::rules::ChannelRules;

/// So many calls run side by side.
const MAX_CONCURRENT_CALLS: usize = 4;

/// What items are turned into questions with.
pub struct ItemPrompts {
    persona: Arc<Persona>,
    en: PromptBuilder,
    ja: PromptBuilder,
    budget: PromptBudget,
    zone: TimeZone,
}

impl ItemPrompts {
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
            budget: config.context.budget(),
            // The same prompts on every machine.
            zone: config.time_zone_or(TimeZone::UTC),
        })
    }

    pub fn prompt(&self, item: &DecisionItem) -> Prompt {
        let persona = Arc::new(Persona { language: item.language, ..(*self.persona).clone() });
        let (budget, zone) = (self.budget, self.zone.clone());
        let scene = PromptOptions { budget, zone, ..PromptOptions::new(item.at()) };
        let prompts = match item.language {
            Language::En => &self.en,
            Language::Ja => &self.ja,
        };
        prompts.judge(&persona, &Arc::new(item_context(item)), &scene)
    }
}

/// What is known of an item: its lines, and nothing of its label.
pub fn item_context(item: &DecisionItem) -> Context {
    let conversation = ConversationId {
        workspace: WorkspaceId::new("eval"),
        channel: ChannelId::new("general"),
        thread: None,
    };
    let lines = item.context.iter().enumerate().map(|(number, line)| {
        let kind = if line.bot { AuthorKind::Bot } else { AuthorKind::Human };
        Arc::new(Message {
            conversation: conversation.clone(),
            // Lines of one moment stay in their order.
            id: MessageId::new(format!("{number:06}")),
            at: item.message_timestamp(line),
            author: Author { id: UserId::new(&*line.author), kind },
            text: line.text.as_str().into(),
            mentions: Vec::new(),
            edits: 0,
        })
    });
    let channel = conversation.channel.clone();
    let history = ChannelMessages::from_messages(channel, "general".into(), lines.collect());
    Context::new(conversation, history)
}

/// Asks a mind about each item, a few at a time. `progress` is told of each answer.
pub async fn ask_all(
    mind: &Mind,
    prompts: &[Prompt],
    rules: &ChannelRules,
    limit: SignedDuration,
    clock: &Clock,
    progress: &dyn Fn(),
) -> Vec<ItemAnswer> {
    let asked = prompts.iter().map(|prompt| async move {
        let found = match clock.timeout(limit, mind.llm.ask(prompt)).await {
            Ok(Ok(answer)) => ItemAnswer::from_answer(&answer.text, prompt, rules),
            Ok(Err(error)) => ItemAnswer::Failed(error.to_string()),
            Err(_timed_out) => ItemAnswer::Failed(format!("no answer within {limit:#}")),
        };
        progress();
        found
    });
    stream::iter(asked).buffered(MAX_CONCURRENT_CALLS).collect().await
}
