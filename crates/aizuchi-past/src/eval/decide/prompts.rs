//! Builds for each item the prompt that a real conversation would get, and asks a mind.

use std::sync::Arc;

use aizuchi_agent::agent::Mind;
use aizuchi_agent::inbox::calling::is_call;
use aizuchi_config::Config;
use aizuchi_llm::prompt::Prompt;
use aizuchi_llm::prompt::budget::PromptBudget;
use aizuchi_llm::prompt::builder::PromptOptions;
use aizuchi_llm::prompt::tokens::estimate;
use aizuchi_model::chat::{
    Author, AuthorKind, ChannelId, ConversationId, Mention, Message, MessageId, UserId, Visibility,
    WorkspaceId, to_single_line,
};
use aizuchi_model::clock::Clock;
use aizuchi_model::context::Context;
use aizuchi_model::context::channel_messages::ChannelMessages;
use aizuchi_model::context::links::MessageLinks;
use aizuchi_model::persona::Persona;
use aizuchi_model::persona::spelling::spellings;
use aizuchi_model::rules::ChannelRules;
use futures_util::{StreamExt, stream};
use jiff::SignedDuration;
use jiff::tz::TimeZone;

use crate::eval::calls::{self, EvalCall};
use crate::eval::decide::ItemAnswer;
use crate::eval::decide::item::DecisionItem;
use crate::eval::language_prompts::LanguagePrompts;

/// The number of model calls in flight.
const MAX_CONCURRENT_CALLS: usize = 4;

/// Builds the prompts of items.
pub struct ItemPrompts {
    persona: Arc<Persona>,
    prompts: LanguagePrompts,
    budget: PromptBudget,
    zone: TimeZone,
    /// Whether the operator's own templates replace the prompts that were used, too.
    has_own_templates: bool,
}

impl ItemPrompts {
    pub fn new(config: &Config, persona: &Arc<Persona>) -> anyhow::Result<Self> {
        Ok(Self {
            persona: persona.clone(),
            prompts: LanguagePrompts::load(config)?,
            budget: config.context.budget(),
            // The prompts are the same on every machine, whatever its time zone.
            zone: config.time_zone_or(TimeZone::UTC),
            has_own_templates: config.prompts_dir.is_some(),
        })
    }

    pub fn prompt(&self, item: &DecisionItem) -> Prompt {
        let persona = Arc::new(Persona { language: item.language, ..(*self.persona).clone() });
        let (budget, zone) = (self.budget, self.zone.clone());
        let options = PromptOptions { budget, zone, ..PromptOptions::new(item.at()) };
        let rebuilt = self.prompts.for_language(item.language).judge(
            &persona,
            &Arc::new(item_context(item, &self.persona.name)),
            &options,
        );
        match item.prompt.as_ref().filter(|_| !self.has_own_templates) {
            Some(used) => Prompt { tokens: estimate(used), text: used.clone(), ..rebuilt },
            None => rebuilt,
        }
    }
}

/// Whether an answer is owed: a message calls the persona, and the persona has not written since. No mind is asked then,
/// since it is answered anyway.
pub fn is_owed(context: &Context) -> bool {
    let messages = context.target_messages();
    let own = messages.iter().rposition(|message| message.author.kind == AuthorKind::Persona);
    messages[own.map_or(0, |own| own + 1)..].iter().any(|message| message.is_addressed())
}

/// Returns the context that a mind sees: the item's messages without its label. Calls by the persona's name address it,
/// as they do in a channel.
pub fn item_context(item: &DecisionItem, persona: &str) -> Context {
    // Ids in ascending order keep messages with the same time in their order.
    let id = |number: usize| MessageId::new(format!("{number:06}"));
    let conversation = |thread: Option<usize>| ConversationId {
        workspace: WorkspaceId::new("eval"),
        channel: ChannelId::new("general"),
        thread: thread.map(id),
    };
    let author = |number: usize| UserId::new(&*item.context[number].author);
    let messages = item.context.iter().enumerate().map(|(number, message)| {
        let kind = match (message.own.unwrap_or(message.author == persona), message.bot) {
            (true, _) => AuthorKind::Persona,
            (false, true) => AuthorKind::Bot,
            (false, false) => AuthorKind::Human,
        };
        let calls = || is_call(&message.text, &spellings(persona));
        let called = (kind == AuthorKind::Human && calls()).then_some(Mention::Persona);
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
                .chain(called)
                .collect(),
            attachments: Vec::new(),
            edits: 0,
        })
    });
    let links = item.context.iter().enumerate().filter_map(|(number, message)| {
        let links = MessageLinks::reply_to(id(message.reply_to?));
        Some((id(number), Arc::new(links)))
    });
    let target = conversation(item.thread);
    let channel = target.channel.clone();
    let name = to_single_line(item.channel.as_deref().unwrap_or("general"));
    let name = name.trim_start_matches('#').into();
    let history = ChannelMessages::from_messages(channel, name, messages.collect());
    let visibility = Visibility::Public;
    Context { visibility, links: links.collect(), ..Context::new(target, history) }
}

/// Asks a mind about each item to which no answer is owed, several at a time. Calls `progress` after each answer.
pub async fn ask_all(
    mind: &Mind,
    prompts: &[Prompt],
    rules: &ChannelRules,
    timeout: SignedDuration,
    clock: &Clock,
    progress: &dyn Fn(),
) -> Vec<(ItemAnswer, Option<EvalCall>)> {
    let calls = prompts.iter().map(|prompt| async move {
        let answered = if is_owed(&prompt.context) {
            (ItemAnswer::without_confidence(true), None)
        } else {
            let (answer, call) = calls::ask(&mind.models, prompt, timeout, clock).await;
            let answer = match answer {
                Ok(text) => ItemAnswer::from_answer(&text, prompt, rules),
                Err(why) => ItemAnswer::Failed(why),
            };
            (answer, Some(call))
        };
        progress();
        answered
    });
    stream::iter(calls).buffered(MAX_CONCURRENT_CALLS).collect().await
}
