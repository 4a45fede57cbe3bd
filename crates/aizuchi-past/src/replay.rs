//! Runs the whole pipeline over a recorded history on a virtual clock. It measures how often the judge would have
//! been asked, which open questions it would have reached, and how often it would have interrupted a conversation.
//!
//! Several channels are replayed in parallel, each on one thread and in its own workspace. Their results are merged in
//! the order of the channels, so a replay is deterministic: equal input, policy and seed give the same events, byte for
//! byte, on any number of processors.

pub mod moments;
pub mod record;
pub mod score;
pub mod table;
mod simulation;
mod side_by_side;
pub mod judge;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use aizuchi_config::{Config, LoadedConfig, ModelSelection};
use aizuchi_import::history::RecordedChannel;
use aizuchi_import::input::database::LabelsByChannel;
use aizuchi_llm::Llm;
use aizuchi_llm::builtin::BuiltinStandIn;
use aizuchi_llm::prompt::builder::PromptBuilder;
use aizuchi_llm::scripted::{ScriptedJudgment, ScriptedMind};
use aizuchi_model::chat::{ChannelId, WorkspaceId};
use aizuchi_model::decision::tolerance::{ChannelLabels, WelcomeLabels};
use anyhow::Context as _;
use tokio_util::sync::CancellationToken;
use tracing::subscriber::{NoSubscriber, with_default};
use tracing::warn;

use crate::replay::moments::Moments;
use crate::replay::record::{Record, Recorder};
use crate::replay::score::ReplayScore;

/// The minimum number of a channel's newest messages that the store of a replay keeps: far more than any prompt holds
/// or search needs.
const KEPT_MESSAGES: usize = 50_000;

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
        Ok(Self {
            name: name.with_context(|| format!("{} names no file of settings", path.display()))?,
            config,
        })
    }

    /// Opens several policies. Policies whose files have the same name are named by their paths, so that they can be
    /// told apart.
    pub fn open_all(files: &[PathBuf]) -> anyhow::Result<Vec<Self>> {
        let mut policies: Vec<Self> =
            files.iter().map(|file| Self::open(file)).collect::<anyhow::Result<_>>()?;
        let names: Vec<String> = policies.iter().map(|policy| policy.name.clone()).collect();
        for (policy, file) in policies.iter_mut().zip(files) {
            if names.iter().filter(|name| **name == policy.name).count() > 1 {
                policy.name = file.display().to_string();
            }
        }
        Ok(policies)
    }

    /// Appends the system prompt of the judgment agent to the persona's, so that the judge reads it as a live model
    /// would.
    pub fn add_judgment_prompt(&mut self) {
        let judgment = self.config.agents.judgment.as_ref();
        if let Some(addition) = judgment.and_then(|agent| agent.system_prompt.clone()) {
            let prompt = &mut self.config.persona.system_prompt;
            *prompt = format!("{prompt}\n\n{addition}");
        }
    }

    /// Returns the defaults: what a workspace gets without a config file.
    pub fn default_settings() -> Self {
        Self { name: "default".to_owned(), config: Config::default() }
    }
}

/// The kind of mind that judges in a replay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReplayJudge {
    Silent,
    Speak,
    Builtin,
    /// A model, or its recorded answers.
    Model,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReplaySettings {
    pub judge: ReplayJudge,
    /// The median latency of a model call, in virtual milliseconds.
    pub latency_ms: u64,
    pub seed: u64,
}

/// Receives the result of each channel, in the order of the channels.
pub type ChannelVisitor<'a> =
    &'a mut dyn FnMut(&RecordedChannel, &mut Record) -> anyhow::Result<()>;

/// Replays recorded channels under one policy. Calls `progress` with the number of messages after each channel.
pub fn replay(
    channels: &[RecordedChannel],
    policy: &Policy,
    settings: &ReplaySettings,
    events: Option<&mut dyn Write>,
    progress: &dyn Fn(u64),
) -> anyhow::Result<ReplayScore> {
    let mut score = ReplayScore::new(policy);
    Replay::new(policy, *settings)?.run(channels, events, &mut |channel, record| {
        score.add(channel, record);
        progress(channel.rows.len() as u64);
        Ok(())
    })?;
    Ok(score)
}

/// A policy, and everything that is needed to replay channels under it.
pub struct Replay<'a> {
    policy: &'a Policy,
    settings: ReplaySettings,
    mind: Arc<dyn Llm>,
    prompts: Arc<PromptBuilder>,
    /// How welcome posts were in the channels.
    welcome_labels: Arc<WelcomeLabels>,
    threads: usize,
    kept_messages: usize,
    is_observed: bool,
    is_logged: bool,
    stop: CancellationToken,
}

impl<'a> Replay<'a> {
    /// Creates a replay with the judge that the settings name, and one thread per processor. A model must be set with
    /// [`Self::judged_by`].
    pub fn new(policy: &'a Policy, settings: ReplaySettings) -> anyhow::Result<Self> {
        let mind: Arc<dyn Llm> = match settings.judge {
            ReplayJudge::Silent => Arc::new(ScriptedMind::judging(ScriptedJudgment::Never)),
            ReplayJudge::Speak => Arc::new(ScriptedMind::judging(ScriptedJudgment::Always)),
            ReplayJudge::Builtin | ReplayJudge::Model => Arc::new(BuiltinStandIn),
        };
        let prompts = PromptBuilder::load(
            policy.config.language.own(),
            policy.config.prompts_dir().as_deref(),
        )?;
        Ok(Self {
            policy,
            settings,
            mind,
            prompts: Arc::new(prompts.keeping_rendered_messages()),
            welcome_labels: Arc::default(),
            threads: std::thread::available_parallelism().map_or(1, usize::from),
            kept_messages: KEPT_MESSAGES,
            is_observed: false,
            is_logged: true,
            stop: CancellationToken::new(),
        })
    }

    /// Sets the judge.
    pub fn judged_by(self, mind: Arc<dyn Llm>) -> Self {
        Self { mind, ..self }
    }

    /// Sets the number of channels that are replayed in parallel, each with its own clock.
    pub fn on_threads(self, threads: usize) -> Self {
        Self { threads, ..self }
    }

    /// Sets the minimum number of a channel's newest messages that the store keeps.
    pub fn keeping(self, kept_messages: usize) -> Self {
        Self { kept_messages, ..self }
    }

    /// Sets the welcome labels of the channels, for `response.tolerance`. They apply from the beginning of the replay,
    /// as they would from now on.
    pub fn knowing(self, labels: &LabelsByChannel) -> Self {
        for (room, labels) in labels {
            let labels = ChannelLabels::from([(ChannelId::new(room.as_str()), labels.clone())]);
            // In a replay, each channel is its own workspace.
            self.welcome_labels.replace(WorkspaceId::new(room.as_str()), labels.into());
        }
        self
    }

    /// Records the decisions and their reasons, for a report.
    pub fn observed(self) -> Self {
        Self { is_observed: true, ..self }
    }

    /// Logs nothing, because the steps of the replay would look like steps of the running program.
    pub fn unlogged(self) -> Self {
        Self { is_logged: false, ..self }
    }

    /// Fails as soon as `stop` is cancelled.
    pub fn until(self, stop: CancellationToken) -> Self {
        Self { stop, ..self }
    }

    /// Replays the channels, and passes each result to `take`.
    pub fn run(
        &self,
        channels: &[RecordedChannel],
        events: Option<&mut dyn Write>,
        take: ChannelVisitor<'_>,
    ) -> anyhow::Result<()> {
        side_by_side::run(self, self.threads, channels, events, take)
    }

    fn channel(&self, channel: &RecordedChannel, mut record: Record) -> anyhow::Result<Record> {
        record.policy = self.policy.name.as_str().into();
        record.channel = channel.name.as_str().into();
        record.moments = self.is_observed.then(Moments::default);
        record.stop = self.stop.clone();
        let recorder = Arc::new(Recorder::new(record));
        let simulate = || simulation::run(channel, self, &recorder);
        match self.is_logged {
            true => simulate()?,
            false => with_default(NoSubscriber::new(), simulate)?,
        }
        let recorder =
            Arc::try_unwrap(recorder).ok().context("a part of the replay is still running")?;
        let mut record = recorder.into_inner();
        match record.first_error.take() {
            Some(error) => Err(error),
            None => Ok(record),
        }
    }
}
