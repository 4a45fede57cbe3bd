//! The companion of a replay: an inbox and a runner like those of the program, with its own store.

use std::collections::HashMap;
use std::sync::Arc;

use aizuchi_actions::command_replies::CommandReplies;
use aizuchi_agent::agent::backfill_deferral::Deferrals;
use aizuchi_agent::agent::conversation_state::StateCache;
use aizuchi_agent::agent::post_dispatches::Dispatches;
use aizuchi_agent::agent::user_rate_limit::UserRateLimit;
use aizuchi_agent::agent::{self, Agent, Minds};
use aizuchi_agent::inbox::channel_cache::ChannelCache;
use aizuchi_agent::inbox::in_flight::InFlight;
use aizuchi_agent::inbox::{Inbox, Redaction};
use aizuchi_agent::metrics::Metrics;
use aizuchi_agent::runner::Runner;
use aizuchi_config::budget::ModelCosts;
use aizuchi_llm::prompt::tokens::TokenCorrections;
use aizuchi_model::chat::WorkspaceId;
use aizuchi_model::chat::local;
use aizuchi_model::clock::Clock;
use aizuchi_model::context::message_structure::StructureCache;
use aizuchi_model::platform::{Platform, Platforms};
use aizuchi_model::reloadable::Reloadable;
use aizuchi_store::volatile::VolatileStore;
use jiff::tz::TimeZone;

use crate::replay::record::Recorder;
use crate::replay::simulation::recording_mind::RecordingMind;
use crate::replay::simulation::replay_platform::ReplayPlatform;
use crate::replay::simulation::store_recorder::StoreRecorder;
use crate::replay::{Replay, ReplayJudge};

/// Builds the inbox and the runner, with their own store.
pub(super) fn build_instance(
    replay: &Replay<'_>,
    workspace: &WorkspaceId,
    clock: &Clock,
    recorder: &Arc<Recorder>,
) -> anyhow::Result<(Inbox, Runner)> {
    let Replay { policy, prompts, welcome_labels, settings, .. } = replay;
    let settings = *settings;
    let talks = Arc::new(StructureCache::new());
    let observer =
        StoreRecorder { recorder: recorder.clone(), clock: clock.clone(), talks: talks.clone() };
    let mut store = VolatileStore::keeping_newest(replay.kept_messages);
    store.observer = Some(Box::new(move |observed| observer.observe(observed)));
    let store = Arc::new(store);
    let in_flight = Arc::new(InFlight::default());
    let metrics = Arc::new(Metrics::default());
    let costs = match settings.judge {
        // The scripted judge stands in for a model, so the limits on a model's usage apply to it.
        ReplayJudge::Silent | ReplayJudge::Speak | ReplayJudge::Model => ModelCosts::Tokens,
        ReplayJudge::Builtin => ModelCosts::Nothing,
    };
    let mut rulebook = policy.config.rulebook_with(costs);
    // Recorded bots do not hear its posts, so they are no companions.
    rulebook.change_all(|rules| {
        rules.companions.get_or_insert_default();
    });
    let rulebook = Reloadable::from(rulebook);
    let readings = talks.readings.clone();
    let channel_cache = Arc::new(ChannelCache::reading_with(readings, rulebook.clone()));
    let inbox = Inbox {
        store: store.clone(),
        archive: store.clone(),
        in_flight: in_flight.clone(),
        clock: clock.clone(),
        metrics: metrics.clone(),
        channel_cache: channel_cache.clone(),
        wait_settings: policy.config.wait_settings(),
        redaction: Redaction::Drop,
        persona_name: None,
        also_called: Vec::new(),
        zone: TimeZone::UTC,
        is_announcing: false,
        // A replay serves no page that shows memories, and its store keeps none.
        remember_delay: None,
        random_seed: settings.seed,
    };
    let mind = RecordingMind {
        inner: Arc::clone(&replay.mind),
        recorder: recorder.clone(),
        clock: clock.clone(),
        settings,
    };
    let platform: Arc<dyn Platform> = Arc::new(ReplayPlatform { clock: clock.clone() });
    let persona = policy.config.persona();
    let answers = CommandReplies {
        store: store.clone(),
        archive: store.clone(),
        rulebook: rulebook.clone(),
        persona: persona.clone(),
        zone: policy.config.time_zone_or(TimeZone::UTC),
        admins_workspace: local::workspace_id(),
        standing_order_trial: None,
        platforms: Platforms::default(),
    };
    let agent = Agent {
        command_answers: Arc::new(answers),
        store,
        platforms: Platforms(HashMap::from([(workspace.clone(), platform)]).into()),
        minds: Minds::from_llm(Arc::new(mind), &persona),
        clock: clock.clone(),
        metrics,
        persona,
        tools: None,
        prompt_builder: Arc::clone(prompts).into(),
        welcome_labels: Arc::clone(welcome_labels),
        token_corrections: TokenCorrections::default(),
        state_cache: StateCache::default(),
        deferrals: Deferrals::default(),
        dispatches: Dispatches::new(clock.clone()),
        user_rate_limit: UserRateLimit::new(clock.clone()),
        settings: agent::AgentSettings {
            rulebook,
            // No page shows these decisions.
            keeps_exchanges: false,
            // A replay gives the same result on every machine, whatever its time zone.
            zone: policy.config.time_zone_or(TimeZone::UTC),
            // A scripted mind ignores what is recalled, and recall is slow in a long channel.
            recall_limit: match settings.judge {
                ReplayJudge::Silent | ReplayJudge::Speak => 0,
                ReplayJudge::Builtin | ReplayJudge::Model => {
                    agent::AgentSettings::default().recall_limit
                }
            },
            ..policy.config.agent_settings()
        },
        seed: settings.seed,
        documents: None,
        translation: None,
        demo: None,
    };
    let runner = Runner::new(agent, in_flight, channel_cache, policy.config.runner_settings())?;
    Ok((inbox, runner))
}
