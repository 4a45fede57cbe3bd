//! Runs the whole pipeline over a recorded history on a virtual clock. It measures how often the judge would have
//! been asked, which open questions it would have reached, and how often it would have interrupted a conversation.
//!
//! A replay is single-threaded and takes one channel after the other, each in a workspace of its own. It is
//! deterministic: equal input, policy and seed give the same events, byte for byte.

pub mod history;
pub mod timing;
pub mod record;
pub mod score;
pub mod table;
pub mod learning;
mod simulation;
pub mod to_import;

use std::collections::HashMap;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use anyhow::Context as _;
use tracing::warn;

use crate::config::{Config, LoadedConfig, ModelSelection};
use crate::replay::history::{History, RecordedChannel};
use crate::replay::learning::ReplayLearning;
use crate::replay::record::{Record, Recorder};
use crate::replay::score::ReplayScore;
use aizuchi_core::llm::Llm;
use aizuchi_core::llm::builtin::BuiltinMind;
use aizuchi_core::llm::scripted::{ScriptedJudgment, ScriptedMind};
use aizuchi_core::prompt::builder::PromptBuilder;

/// A named configuration to replay under.
#[derive(Clone, Debug)]
pub struct Policy {
    pub name: String,
    pub config: Config,
}

impl Policy {
    pub fn open(path: &Path) -> anyhow::Result<Self> {
        let LoadedConfig { config, warnings, .. } =
            Config::load(Some(path), ModelSelection::NoModel)?;
        for warning in warnings {
            warn!("{warning}");
        }
        let name = path.file_stem().map(|name| name.to_string_lossy().into_owned());
        Ok(Self { name: name.context("a policy's file needs a name")?, config })
    }

    /// The defaults: what a workspace gets without a config file.
    pub fn default_settings() -> Self {
        Self { name: "default".to_owned(), config: Config::default() }
    }
}

/// The mind that judges in a replay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReplayJudge {
    Silent,
    Speak,
    Builtin,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReplaySettings {
    pub judge: ReplayJudge,
    /// The median latency of a model call, in virtual milliseconds.
    pub latency_ms: u64,
    pub seed: u64,
}

/// Replays a history under one policy. Calls `progress` with the number of messages after each channel.
pub fn replay(
    history: &History,
    policy: &Policy,
    settings: &ReplaySettings,
    events: Option<Box<dyn Write + Send>>,
    progress: &dyn Fn(u64),
) -> anyhow::Result<(ReplayScore, Option<Box<dyn Write + Send>>)> {
    let mind: Arc<dyn Llm> = match settings.judge {
        ReplayJudge::Silent => Arc::new(ScriptedMind::judging(ScriptedJudgment::Never)),
        ReplayJudge::Speak => Arc::new(ScriptedMind::judging(ScriptedJudgment::Always)),
        ReplayJudge::Builtin => Arc::new(BuiltinMind),
    };
    let learning = ReplayLearning::new(policy.config.response.learned_miss());
    replay_with(history, policy, settings, mind, &Arc::new(learning), events, progress)
}

/// The same with any mind. `learning` is what is learned of it.
pub fn replay_with(
    history: &History,
    policy: &Policy,
    settings: &ReplaySettings,
    mind: Arc<dyn Llm>,
    learning: &Arc<ReplayLearning>,
    mut events: Option<Box<dyn Write + Send>>,
    progress: &dyn Fn(u64),
) -> anyhow::Result<(ReplayScore, Option<Box<dyn Write + Send>>)> {
    let started = Instant::now();
    let mut score = ReplayScore { policy: policy.name.clone(), ..ReplayScore::default() };
    let prompts =
        PromptBuilder::load(policy.config.language.own(), policy.config.prompts_dir().as_deref())?;
    let prompts = Arc::new(prompts);
    for channel in &history.channels {
        let recorder = Arc::new(Recorder::new(empty_record(channel, policy, events.take())));
        simulation::run(channel, policy, settings, &prompts, mind.clone(), learning, &recorder)?;
        let mut record = into_record(recorder)?;
        if let Some(error) = record.first_error.take() {
            return Err(error);
        }
        score.add(channel, &record);
        events = record.output;
        progress(channel.messages.len() as u64);
    }
    score.elapsed_seconds = started.elapsed().as_secs_f64();
    Ok((score, events))
}

fn empty_record(
    channel: &RecordedChannel,
    policy: &Policy,
    output: Option<Box<dyn Write + Send>>,
) -> Record {
    Record {
        policy: policy.name.as_str().into(),
        channel: channel.name.as_str().into(),
        now: jiff::Timestamp::UNIX_EPOCH,
        heard_humans: HashMap::new(),
        calls: Vec::new(),
        gated: 0,
        all_posts: Vec::new(),
        unsolicited_posts: Vec::new(),
        reacted: 0,
        failed: 0,
        last_prompt: String::new(),
        considered: HashMap::new(),
        decisions: HashMap::new(),
        join_decisions: HashMap::new(),
        output,
        first_error: None,
    }
}

/// The simulation has ended, so this is the only reference to the recorder.
fn into_record(recorder: Arc<Recorder>) -> anyhow::Result<Record> {
    let recorder =
        Arc::try_unwrap(recorder).ok().context("a part of the replay is still running")?;
    Ok(recorder.into_inner())
}
