//! Builds for each case and item the prompt that a real conversation would get, and asks a mind.

use std::sync::Arc;

use aizuchi_agent::agent::Mind;
use aizuchi_config::Config;
use aizuchi_config::language::LanguageSetting;
use aizuchi_llm::prompt::Prompt;
use aizuchi_llm::prompt::budget::PromptBudget;
use aizuchi_llm::prompt::builder::{PromptBuilder, PromptOptions};
use aizuchi_llm::prompt::tokens::estimate;
use aizuchi_model::clock::Clock;
use aizuchi_model::context::Context;
use aizuchi_model::context::channel_messages::ChannelMessages;
use aizuchi_model::persona::{Language, Persona};
use futures_util::{StreamExt, stream};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

use crate::answer::MindAnswer;
use crate::eval::calls::{self, EvalCall};
use crate::eval::case::{Case, conversation, message};
use crate::eval::decide::context::item_context;
use crate::eval::decide::item::DecisionItem;

/// The number of model calls in flight.
const MAX_CONCURRENT_CALLS: usize = 4;
/// The assumed wait between the newest message of a case and the judgment.
const REST_BEFORE_JUDGING: SignedDuration = SignedDuration::from_secs(60);

/// Builds prompts, in both languages, since one run measures cases in both.
pub struct EvalPrompts {
    persona: Arc<Persona>,
    en: PromptBuilder,
    ja: PromptBuilder,
    /// The number of newest messages that a prompt about a state holds.
    max_messages: usize,
    budget: PromptBudget,
    zone: TimeZone,
    /// Whether the operator's own templates replace the prompts that were used, too.
    has_own_templates: bool,
}

impl EvalPrompts {
    /// Loads the templates. The operator's own replace those of the languages that may be spoken.
    pub fn new(config: &Config, persona: &Arc<Persona>) -> anyhow::Result<Self> {
        let load = |language: Language| {
            let is_spoken =
                config.language == LanguageSetting::Auto || language == config.language.own();
            let folder = config.prompts_dir().filter(|_| is_spoken);
            PromptBuilder::load(language, folder.as_deref())
        };
        Ok(Self {
            persona: persona.clone(),
            en: load(Language::En)?,
            ja: load(Language::Ja)?,
            max_messages: config.limits().channel_messages,
            budget: config.context.budget(),
            // The prompts are the same on every machine, whatever its time zone.
            zone: config.time_zone_or(TimeZone::UTC),
            has_own_templates: config.prompts_dir.is_some(),
        })
    }

    /// Builds the prompt that asks for the state of a case.
    pub fn state(&self, case: &Case) -> Prompt {
        let unseen = case.messages.len().saturating_sub(self.max_messages);
        let messages = case.messages.iter().enumerate().skip(unseen).map(|(number, said)| {
            Arc::new(message(conversation(None), number, said, &self.persona.name))
        });
        let channel = conversation(None).channel;
        let history = ChannelMessages::from_messages(channel, "general".into(), messages.collect());
        let context = Arc::new(Context::new(conversation(None), history));
        let newest = context.target_messages().last().map(|message| message.at).unwrap_or_default();
        let (builder, persona) = self.in_language(case.language);
        builder.state(&persona, &context, &self.options(newest + REST_BEFORE_JUDGING))
    }

    /// Builds the prompt that asks for the decision of an item.
    pub fn decision(&self, item: &DecisionItem) -> Prompt {
        let context = Arc::new(item_context(item, &self.persona.name));
        let (builder, persona) = self.in_language(item.language);
        let rebuilt = builder.judge(&persona, &context, &self.options(item.at()));
        match item.prompt.as_ref().filter(|_| !self.has_own_templates) {
            Some(used) => Prompt { tokens: estimate(used), text: used.clone(), ..rebuilt },
            None => rebuilt,
        }
    }

    fn in_language(&self, language: Language) -> (&PromptBuilder, Arc<Persona>) {
        let builder = match language {
            Language::En => &self.en,
            Language::Ja => &self.ja,
        };
        (builder, Arc::new(Persona { language, ..(*self.persona).clone() }))
    }

    fn options(&self, at: Timestamp) -> PromptOptions {
        let (budget, zone) = (self.budget, self.zone.clone());
        PromptOptions { budget, zone, ..PromptOptions::new(at) }
    }
}

/// How the answers to prompts are read.
pub struct AnswerReading<'a, T> {
    /// Returns what is known without asking.
    pub known: &'a dyn Fn(&Prompt) -> Option<MindAnswer<T>>,
    pub read: &'a dyn Fn(&str, &Prompt) -> MindAnswer<T>,
}

impl<T> AnswerReading<'_, T> {
    pub fn answer(&self, text: &str, prompt: &Prompt) -> MindAnswer<T> {
        (self.known)(prompt).unwrap_or_else(|| (self.read)(text, prompt))
    }
}

/// Asks a mind about each prompt whose answer is not known, several at a time. Calls `progress` after each answer.
pub async fn ask_all<T>(
    mind: &Mind,
    prompts: &[Prompt],
    reading: &AnswerReading<'_, T>,
    (timeout, clock): (SignedDuration, &Clock),
    progress: &dyn Fn(),
) -> (Vec<MindAnswer<T>>, Vec<EvalCall>) {
    let calls = prompts.iter().enumerate().map(|(index, prompt)| async move {
        let asked = match (reading.known)(prompt) {
            Some(known) => (known, None),
            None => {
                let (answer, call) = calls::ask(&mind.models, prompt, timeout, clock).await;
                let read = |text: String| (reading.read)(&text, prompt);
                (answer.map_or_else(MindAnswer::Unknown, read), Some(call))
            }
        };
        progress();
        (index, asked)
    });
    let mut asked: Vec<_> =
        stream::iter(calls).buffer_unordered(MAX_CONCURRENT_CALLS).collect().await;
    asked.sort_by_key(|(index, _)| *index);
    let (answers, calls): (Vec<_>, Vec<_>) = asked.into_iter().map(|(_, asked)| asked).unzip();
    (answers, calls.into_iter().flatten().collect())
}
