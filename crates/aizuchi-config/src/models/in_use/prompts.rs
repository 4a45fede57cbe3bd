//! The prompt templates, which have to leave room for messages.

use aizuchi_agent::agent::tools::ToolSettings;
use aizuchi_llm::prompt::PromptVerb;
use aizuchi_llm::prompt::builder::PromptBuilder;
use aizuchi_model::persona::Language;

use crate::Config;
use crate::models::in_use::persona_of;

/// Loads the prompt templates. Fails if they are missing, or if they leave too few of the context's tokens for
/// messages.
pub fn load_prompts(config: &Config) -> anyhow::Result<PromptBuilder> {
    load_prompts_in(config, config.language.own())
}

/// Loads the prompt templates in one of the languages of a bilingual config.
pub fn load_prompts_in(config: &Config, language: Language) -> anyhow::Result<PromptBuilder> {
    let prompts = PromptBuilder::load(language, config.prompts_dir().as_deref())?;
    let rulebook = config.rulebook();
    let required = PromptVerb::ALL.map(|verb| {
        let minds = &config.minds;
        let (mind, tools) = match verb {
            PromptVerb::Judge => (&minds.judgment, Vec::new()),
            PromptVerb::Reply => {
                let tools = ToolSettings::specs_with(language, config.offered_web_tools());
                (&minds.response, tools)
            }
            PromptVerb::Remember => (&minds.memory, Vec::new()),
            PromptVerb::State => (&minds.state, Vec::new()),
            // These verbs have no template.
            PromptVerb::Describe | PromptVerb::Transcribe => (&minds.response, Vec::new()),
        };
        let everywhere = config.persona();
        let agent = persona_of(mind, &everywhere);
        let here = rulebook.all_rules().filter_map(|rules| rules.persona.as_ref());
        let here = here.map(|rule| rule.apply_to(&everywhere, &agent));
        let personas = here.chain([(*agent).clone()]);
        let required = personas.map(|it| prompts.min_budget_tokens(verb, &it, &tools));
        required.max().unwrap_or(0)
    });
    let required = required.into_iter().max().unwrap_or(0);
    let available = config.context.budget().max_tokens;
    anyhow::ensure!(
        available >= required,
        "context.max_tokens is {available}, but it must be at least {required}: the instructions, the persona's \
         prompt and the tools leave too little room for what was said"
    );
    Ok(prompts)
}
