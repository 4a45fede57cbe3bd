//! Builds for each item the prompt that a real conversation would get, and asks a mind.

use std::sync::Arc;

use aizuchi_agent::agent::Mind;
use aizuchi_config::Config;
use aizuchi_config::language::LanguageSetting;
use aizuchi_llm::prompt::Prompt;
use aizuchi_llm::prompt::budget::PromptBudget;
use aizuchi_llm::prompt::builder::{PromptBuilder, PromptOptions};
use aizuchi_llm::prompt::tokens::estimate;
use aizuchi_model::clock::Clock;
use aizuchi_model::persona::{Language, Persona};
use aizuchi_model::rules::ChannelRules;
use futures_util::{StreamExt, stream};
use jiff::SignedDuration;
use jiff::tz::TimeZone;

use crate::eval::calls::{self, EvalCall};
use crate::eval::decide::ItemAnswer;
use crate::eval::decide::context::item_context;
use crate::eval::decide::item::DecisionItem;

/// The number of model calls in flight.
const MAX_CONCURRENT_CALLS: usize = 4;

/// Builds prompts, in both languages, since one run measures cases in both.
pub struct EvalPrompts {
    persona: Arc<Persona>,
    en: PromptBuilder,
    ja: PromptBuilder,
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
            budget: config.context.budget(),
            // The prompts are the same on every machine, whatever its time zone.
            zone: config.time_zone_or(TimeZone::UTC),
            has_own_templates: config.prompts_dir.is_some(),
        })
    }

    /// Builds the prompt that asks for the decision of an item.
    pub fn decision(&self, item: &DecisionItem) -> Prompt {
        let context = Arc::new(item_context(item, &self.persona.name));
        let builder = match item.language {
            Language::En => &self.en,
            Language::Ja => &self.ja,
        };
        let persona = Arc::new(Persona { language: item.language, ..(*self.persona).clone() });
        let (budget, zone) = (self.budget, self.zone.clone());
        let options = PromptOptions { budget, zone, ..PromptOptions::new(item.at()) };
        let rebuilt = builder.judge(&persona, &context, &options);
        match item.prompt.as_ref().filter(|_| !self.has_own_templates) {
            Some(used) => Prompt { tokens: estimate(used), text: used.clone(), ..rebuilt },
            None => rebuilt,
        }
    }
}

/// Asks a mind about each prompt whose answer is not known, several at a time. Calls `progress` after each answer.
pub async fn ask_all(
    mind: &Mind,
    prompts: &[Prompt],
    rules: &ChannelRules,
    (timeout, clock): (SignedDuration, &Clock),
    progress: &dyn Fn(),
) -> (Vec<ItemAnswer>, Vec<EvalCall>) {
    let calls = prompts.iter().enumerate().map(|(index, prompt)| async move {
        let asked = match ItemAnswer::known_before(prompt) {
            Some(known) => (known, None),
            None => {
                let (answer, call) = calls::ask(&mind.models, prompt, timeout, clock).await;
                let read = |text: String| ItemAnswer::from_answer(&text, prompt, rules);
                (answer.map_or_else(ItemAnswer::Unknown, read), Some(call))
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
