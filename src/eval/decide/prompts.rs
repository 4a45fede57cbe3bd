//! Builds for each item the prompt that a real conversation would get, and asks a mind.

use std::sync::Arc;

use futures_util::{StreamExt, stream};
use jiff::SignedDuration;
use jiff::tz::TimeZone;

use crate::config::Config;
use crate::eval::decide::ItemAnswer;
use crate::eval::decide::item::DecisionItem;
use aizuchi_core::agent::Mind;
use aizuchi_core::chat::{
    Author, AuthorKind, ChannelId, ConversationId, Mention, Message, MessageId, UserId, WorkspaceId,
};
use aizuchi_core::clock::Clock;
use aizuchi_core::context::Context;
use aizuchi_core::context::channel_messages::ChannelMessages;
use aizuchi_core::context::links::MessageLinks;
use aizuchi_core::persona::{Language, Persona};
use aizuchi_core::prompt::Prompt;
use aizuchi_core::prompt::budget::PromptBudget;
use aizuchi_core::prompt::builder::{PromptBuilder, PromptOptions};
use aizuchi_core::rules::ChannelRules;

/// The number of model calls in flight.
const MAX_CONCURRENT_CALLS: usize = 4;

/// Builds the prompts of items.
pub struct ItemPrompts {
    persona: Arc<Persona>,
    en: PromptBuilder,
    ja: PromptBuilder,
    budget: PromptBudget,
    zone: TimeZone,
}

impl ItemPrompts {
    /// Loads the templates of both languages. The operator's own templates replace those of the configured language.
    pub fn new(config: &Config, persona: &Arc<Persona>) -> anyhow::Result<Self> {
        let prompts = |language: Language| {
            let folder = config.prompts_dir().filter(|_| language == config.language.own());
            PromptBuilder::load(language, folder.as_deref())
        };
        Ok(Self {
            persona: persona.clone(),
            en: prompts(Language::En)?,
            ja: prompts(Language::Ja)?,
            budget: config.context.budget(),
            // The prompts are the same on every machine, whatever its time zone.
            zone: config.time_zone_or(TimeZone::UTC),
        })
    }

    pub fn prompt(&self, item: &DecisionItem) -> Prompt {
        let persona = Arc::new(Persona { language: item.language, ..(*self.persona).clone() });
        let (budget, zone) = (self.budget, self.zone.clone());
        let options = PromptOptions { budget, zone, ..PromptOptions::new(item.at()) };
        let prompts = match item.language {
            Language::En => &self.en,
            Language::Ja => &self.ja,
        };
        prompts.judge(&persona, &Arc::new(item_context(item)), &options)
    }
}

/// The context that a mind sees: the item's messages without its label.
pub fn item_context(item: &DecisionItem) -> Context {
    // Ids in ascending order keep messages with the same time in their order.
    let id = |number: usize| MessageId::new(format!("{number:06}"));
    let conversation = |thread: Option<usize>| ConversationId {
        workspace: WorkspaceId::new("eval"),
        channel: ChannelId::new("general"),
        thread: thread.map(id),
    };
    let author = |number: usize| UserId::new(&*item.context[number].author);
    let messages = item.context.iter().enumerate().map(|(number, message)| {
        let kind = if message.bot { AuthorKind::Bot } else { AuthorKind::Human };
        Arc::new(Message {
            conversation: conversation(message.thread),
            id: id(number),
            at: item.message_timestamp(message),
            author: Author { id: UserId::new(&*message.author), kind },
            text: message.text.as_str().into(),
            mentions: message
                .reply_to
                .map(|replied| Mention::User(author(replied)))
                .into_iter()
                .collect(),
            edits: 0,
        })
    });
    let links = item.context.iter().enumerate().filter_map(|(number, message)| {
        Some((id(number), MessageLinks::reply_to(id(message.reply_to?))))
    });
    let target = conversation(item.thread);
    let channel = target.channel.clone();
    let history = ChannelMessages::from_messages(channel, "general".into(), messages.collect());
    Context { links: links.collect(), ..Context::new(target, history) }
}

/// Asks a mind about each item, several at a time. Calls `progress` after each answer.
pub async fn ask_all(
    mind: &Mind,
    prompts: &[Prompt],
    rules: &ChannelRules,
    timeout: SignedDuration,
    clock: &Clock,
    progress: &dyn Fn(),
) -> Vec<ItemAnswer> {
    let calls = prompts.iter().map(|prompt| async move {
        let result = match mind.models.ask(prompt, timeout, clock).await {
            Ok(answer) => ItemAnswer::from_answer(&answer.text, prompt, rules),
            Err(error) => ItemAnswer::Failed(error.to_string()),
        };
        progress();
        result
    });
    stream::iter(calls).buffered(MAX_CONCURRENT_CALLS).collect().await
}
