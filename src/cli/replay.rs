//! `aizuchi replay`: replays recorded messages under one or more policies and prints their scores.

use std::fs::File;
use std::io::{BufWriter, IsTerminal, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context as _;
use clap::{Args, ValueEnum, value_parser};
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::{Value, json};

use crate::cli::recording::RecordingArgs;
use crate::cli::{log, print};
use crate::config::source::ConfigSource;
use crate::replay::history::ChannelSource;
use crate::replay::input::Recording;
use crate::replay::score::ReplayScore;
use crate::replay::table::table;
use crate::replay::{self, Policy, ReplaySettings};

#[derive(Debug, Args)]
pub struct ReplayArgs {
    #[command(flatten)]
    recording: RecordingArgs,
    /// The settings to replay with: a config, or a part of one. Several are compared. Without any: --config, or else the
    /// defaults.
    #[arg(long, value_name = "FILE")]
    policy: Vec<PathBuf>,
    /// How to judge.
    #[arg(long, value_enum, default_value_t = JudgeArg::Builtin)]
    judge: JudgeArg,
    /// How long a model call takes, as a median in virtual milliseconds; a day at most.
    #[arg(long, value_name = "MS", default_value_t = 4000, value_parser = value_parser!(u64).range(..=86_400_000))]
    latency: u64,
    /// The number that chance is drawn from; the same number gives the same result.
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Write everything that happened to a file, one JSON object a line.
    #[arg(long, value_name = "FILE")]
    events: Option<PathBuf>,
    /// Print JSON instead of a table.
    #[arg(long)]
    json: bool,
    /// Exit with code 2 if a record of the input cannot be read.
    #[arg(long)]
    strict: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum JudgeArg {
    /// Never join in.
    Silent,
    /// Always join in.
    Speak,
    /// As the built-in mind decides.
    Builtin,
}

impl ReplayArgs {
    /// `named` is the config that `--config` names. One that happens to be in the folder says where the database is, and
    /// is no policy.
    pub fn run(self, named: Option<PathBuf>, source: &ConfigSource) -> anyhow::Result<ExitCode> {
        log::init_plain("warn");
        let policies = match (&self.policy[..], named) {
            ([], None) => vec![Policy::default_settings()],
            ([], Some(config)) => vec![Policy::open(&config)?],
            (files, None) => {
                files.iter().map(|file| Policy::open(file)).collect::<anyhow::Result<_>>()?
            }
            (_, Some(_)) => anyhow::bail!(
                "give either --config or --policy; each policy is a config of its own"
            ),
        };
        let recording = self.recording.open(source, policies[0].config.language.own())?;
        let scores = self.replay(&recording, &policies)?;
        self.print(&recording, &scores)?;
        let is_rejected = self.strict && recording.bad_records() > 0;
        Ok(if is_rejected { ExitCode::from(2) } else { ExitCode::SUCCESS })
    }

    fn replay(
        &self,
        recording: &Recording,
        policies: &[Policy],
    ) -> anyhow::Result<Vec<ReplayScore>> {
        let settings =
            ReplaySettings { judge: self.judge.into(), latency_ms: self.latency, seed: self.seed };
        let mut events: Option<Box<dyn Write + Send>> = None;
        if let Some(path) = &self.events {
            let file =
                File::create(path).with_context(|| format!("cannot write {}", path.display()))?;
            events = Some(Box::new(BufWriter::new(file)));
        }
        let bar = progress_bar(recording.messages() * policies.len() as u64);
        let mut scores = Vec::new();
        for policy in policies {
            bar.set_message(policy.name.clone());
            let (score, output) =
                replay::replay(recording, policy, &settings, events, &|messages| {
                    bar.inc(messages)
                })?;
            events = output;
            scores.push(score);
        }
        bar.finish_and_clear();
        if let Some(events) = &mut events {
            events.flush().context("writing the events")?;
        }
        Ok(scores)
    }

    fn print(&self, recording: &Recording, scores: &[ReplayScore]) -> anyhow::Result<()> {
        if !self.json {
            return print(&table(scores));
        }
        let policies: Vec<_> = scores
            .iter()
            .map(|score| {
                json!({
                    "score": score_to_json(score),
                    "calls_per_1000": score.calls_per_1000(),
                    "coverage": score.coverage(),
                    "spoken_coverage": score.spoken_coverage(),
                    "share_in_exchange": score.share_in_exchange(),
                    "delay_distance": score.timing.distance(),
                    "share_followed": score.share_followed(),
                    "share_of_posts_in_exchange": score.share_of_posts_in_exchange(),
                    "share_of_posts_colliding": score.share_of_posts_colliding(),
                    "share_of_lines_colliding": score.share_of_messages_colliding(),
                    "prefix_share": score.prefix_share(),
                    "messages_per_second": score.messages_per_second(),
                })
            })
            .collect();
        let printed = json!({
            "bad_lines": recording.bad_records(),
            "input": input_to_json(recording),
            "policies": policies,
        });
        print(&serde_json::to_string_pretty(&printed)?)
    }
}

fn input_to_json(recording: &Recording) -> Value {
    let (first, last) = recording.span.unzip();
    json!({
        "format": recording.format,
        "channels": recording.channel_count(),
        "messages": recording.messages(),
        "from": first,
        "to": last,
        "left_out": recording.left_out,
    })
}

/// The figures. Those that the recording says nothing about are null.
fn score_to_json(score: &ReplayScore) -> Value {
    let mut figures = json!(score);
    if !score.is_annotated {
        for unknown in ["open_questions", "reached_questions", "answered_questions"] {
            figures[unknown] = Value::Null;
        }
    }
    figures
}

impl From<JudgeArg> for replay::ReplayJudge {
    fn from(judge: JudgeArg) -> Self {
        match judge {
            JudgeArg::Silent => replay::ReplayJudge::Silent,
            JudgeArg::Speak => replay::ReplayJudge::Speak,
            JudgeArg::Builtin => replay::ReplayJudge::Builtin,
        }
    }
}

/// A progress bar, hidden unless stderr is a terminal.
fn progress_bar(messages: u64) -> ProgressBar {
    if !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let style =
        ProgressStyle::with_template("{msg} {wide_bar} {human_pos} of {human_len} messages, {eta}");
    ProgressBar::new(messages).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}
