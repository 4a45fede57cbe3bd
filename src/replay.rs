//! The whole pipeline over a recorded history on a virtual clock: how often would it have asked a
//! judge, whom would it have reached, on whom would it have trodden?
//!
//! Single-threaded, room by room, each its own workspace; with equal input, policy and seed the
//! events are equal to the byte.

pub mod history;
pub mod record;
pub mod score;
mod simulation;
pub mod table;
pub mod timing;
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
use crate::replay::record::{Record, Recorder};
use crate::replay::score::ReplayScore;
use aizuchi_core::llm::Llm;
use aizuchi_core::llm::builtin::BuiltinMind;
use aizuchi_core::llm::scripted::{ScriptedJudgment, ScriptedMind};
use aizuchi_core::prompt::builder::PromptBuilder;

/// A way to decide, by name.
#[derive(Clone, Debug)]
pub struct Policy {
    pub name: String,
    pub config: Config,
}

impl Policy {
    pub fn open(path: &Path) -> anyhow::Result<Self> {
        let LoadedConfig { config, warnings } = Config::load(Some(path), ModelSelection::NoModel)?;
        for warning in warnings {
            warn!("{warning}");
        }
        let name = path.file_stem().map(|name| name.to_string_lossy().into_owned());
        Ok(Self { name: name.context("a policy's file needs a name")?, config })
    }

    /// What a workspace gets that sets nothing.
    pub fn default_settings() -> Self {
        Self { name: "default".to_owned(), config: Config::default() }
    }
}

/// Who judges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReplayJudge {
    Silent,
    Speak,
    Builtin,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReplaySettings {
    pub judge: ReplayJudge,
    /// The median of what a model call takes, in virtual milliseconds.
    pub latency_ms: u64,
    pub seed: u64,
}

/// Replays a history under one policy. `progress` is told how many messages each room had.
pub fn replay(
    history: &History,
    policy: &Policy,
    rules: &ReplaySettings,
    mut events: Option<Box<dyn Write + Send>>,
    progress: &dyn Fn(u64),
) -> anyhow::Result<(ReplayScore, Option<Box<dyn Write + Send>>)> {
    let began = Instant::now();
    let mut score = ReplayScore { policy: policy.name.clone(), ..ReplayScore::default() };
    let mind: Arc<dyn Llm> = match rules.judge {
        ReplayJudge::Silent => Arc::new(ScriptedMind::judging(ScriptedJudgment::Never)),
        ReplayJudge::Speak => Arc::new(ScriptedMind::judging(ScriptedJudgment::Always)),
        ReplayJudge::Builtin => Arc::new(BuiltinMind),
    };
    let prompts = PromptBuilder::load(policy.config.language, policy.config.prompts_dir())?;
    let prompts = Arc::new(prompts);
    for room in &history.channels {
        let recorder = Arc::new(Recorder::new(empty_record(room, policy, events.take())));
        simulation::run(room, policy, rules, &prompts, mind.clone(), &recorder)?;
        let mut record = into_record(recorder)?;
        if let Some(error) = record.first_error.take() {
            return Err(error);
        }
        score.add(room, &record);
        events = record.output;
        progress(room.messages.len() as u64);
    }
    score.elapsed_seconds = began.elapsed().as_secs_f64();
    Ok((score, events))
}

fn empty_record(
    room: &RecordedChannel,
    policy: &Policy,
    output: Option<Box<dyn Write + Send>>,
) -> Record {
    Record {
        policy: policy.name.as_str().into(),
        room: room.name.as_str().into(),
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

/// The stage is over, so nobody else holds the recorder.
fn into_record(recorder: Arc<Recorder>) -> anyhow::Result<Record> {
    let recorder =
        Arc::try_unwrap(recorder).ok().context("a part of the replay is still running")?;
    Ok(recorder.into_inner())
}
