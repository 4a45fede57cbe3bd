//! Builds the agent and the replies to commands from the config, for the program and for commands that preview a
//! prompt.

use std::sync::Arc;

use aizuchi_actions::command_replies::CommandReplies;
use aizuchi_actions::standing_order_trial::StandingOrderTrial;
use aizuchi_agent::agent::backfill_deferral::Deferrals;
use aizuchi_agent::agent::conversation_state::StateCache;
use aizuchi_agent::agent::post_dispatches::Dispatches;
use aizuchi_agent::agent::tools::ToolSettings;
use aizuchi_agent::agent::user_rate_limit::UserRateLimit;
use aizuchi_agent::agent::{self, Agent};
use aizuchi_agent::documents::DocumentReader;
use aizuchi_agent::external_tools::ExternalTools;
use aizuchi_agent::metrics::Metrics;
use aizuchi_config::Config;
use aizuchi_config::models::in_use::build_minds;
use aizuchi_config::models::in_use::prompts::load_prompts_in;
use aizuchi_llm::prompt::tokens::TokenCorrections;
use aizuchi_model::chat::local;
use aizuchi_model::clock::Clock;
use aizuchi_model::persona::Language;
use aizuchi_model::platform::Platforms;
use aizuchi_store::Store;
use aizuchi_store::archive::Archive;
use anyhow::Context as _;
use jiff::tz::TimeZone;
use tracing::warn;

use crate::pdf_text::PdfProcesses;

/// The agent with the minds, prompts and tools that the configuration names.
pub fn build_agent(
    config: &Config,
    (store, command_replies): (Arc<dyn Store>, Arc<CommandReplies>),
    platforms: Platforms,
    clock: Clock,
    metrics: Arc<Metrics>,
    seed: u64,
    external_tools: Option<Arc<dyn ExternalTools>>,
) -> anyhow::Result<Agent> {
    let persona = config.persona();
    let rulebook = command_replies.rulebook.clone();
    let documents = pdf_reader();
    let mut agent = Agent {
        command_answers: command_replies,
        store,
        platforms,
        minds: build_minds(config, &clock)?,
        dispatches: Dispatches::new(clock.clone()),
        user_rate_limit: UserRateLimit::new(clock.clone()),
        clock,
        metrics,
        persona: persona.clone(),
        prompt_builder: load_prompts_in(config, persona.language)?.into(),
        welcome_labels: Arc::default(),
        token_corrections: TokenCorrections::default(),
        state_cache: StateCache::default(),
        deferrals: Deferrals::default(),
        tools: Some(ToolSettings {
            zone: config.time_zone_or(TimeZone::system()),
            web: config.web_tools(documents.clone()).context("cannot prepare the web tools")?,
            external: external_tools,
            consent_lifetime: config.tools.mcp.consent_lifetime(),
        }),
        settings: agent::AgentSettings {
            rulebook,
            workspace_timings: [(local::workspace_id(), config.response.room_timing())].into(),
            ..config.agent_settings()
        },
        seed,
        documents,
        translation: None,
        demo: None,
    };
    // A channel may be switched to the other language while the program runs.
    let language = other_language(persona.language);
    match load_prompts_in(config, language) {
        Ok(prompts) => {
            agent.translation = Some(Box::new(agent.in_language(language, prompts)));
        }
        Err(error) if config.is_bilingual() => return Err(error),
        Err(error) => warn!(%error, "it speaks one language only, since the other has no prompts"),
    }
    agent.demo = Some(Box::new(agent.for_demo(load_prompts_in(config, persona.language)?)));
    Ok(agent)
}

/// The PDF reader, if the program can start itself again.
fn pdf_reader() -> Option<Arc<dyn DocumentReader>> {
    match PdfProcesses::of_this_program() {
        Ok(processes) => Some(Arc::new(processes)),
        Err(error) => {
            warn!(%error, "PDFs are known by their names only, since the program cannot start itself");
            None
        }
    }
}

fn other_language(language: Language) -> Language {
    match language {
        Language::En => Language::Ja,
        Language::Ja => Language::En,
    }
}

/// Builds the command replies, without trials for the drafts of orders.
pub fn build_command_answers(
    config: &Config,
    store: Arc<dyn Store>,
    archive: Arc<dyn Archive>,
) -> Arc<CommandReplies> {
    build_answers_with(config, store, archive, None)
}

/// Builds the command replies. `standing_order_trial`, if set, tries the drafts of orders.
pub fn build_answers_with(
    config: &Config,
    store: Arc<dyn Store>,
    archive: Arc<dyn Archive>,
    standing_order_trial: Option<Arc<dyn StandingOrderTrial>>,
) -> Arc<CommandReplies> {
    Arc::new(CommandReplies {
        store,
        archive,
        rulebook: config.app_rulebook().into(),
        persona: config.persona(),
        zone: config.time_zone_or(TimeZone::system()),
        admins_workspace: local::workspace_id(),
        standing_order_trial,
        platforms: Platforms::default(),
    })
}
