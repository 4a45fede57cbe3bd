//! `aizuchi replay`: replays recorded messages under one or more policies and prints their scores.

use std::fs::File;
use std::io::{BufWriter, IsTerminal, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context as _;
use clap::{Args, ValueEnum, value_parser};
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::{Value, json};

use crate::cli::report_page::ReplayReportArgs;
use crate::cli::{log, print};
use crate::replay::history::{History, RecordedChannel};
use crate::replay::moments::Moments;
use crate::replay::score::ReplayScore;
use crate::replay::table::table;
use crate::replay::{self, Policy, ReplaySettings};
use crate::report::builder::ReportBuilder;
use crate::report::figures::{LeftOut, Report};

#[derive(Debug, Args)]
pub struct ReplayArgs {
    /// The recorded messages: one JSON object a line, plain or gzipped.
    input: PathBuf,
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
    #[command(flatten)]
    report: ReplayReportArgs,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    /// Exit with code 2 if a line of the input cannot be read.
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

/// The number of bad lines that are listed.
const MAX_REPORTED_LINES: usize = 10;

impl ReplayArgs {
    pub fn run(self, config: Option<PathBuf>) -> anyhow::Result<ExitCode> {
        log::init_plain("warn");
        let policies = match (&self.policy[..], config) {
            ([], None) => vec![self.report.default_policy()],
            ([], Some(config)) => vec![Policy::open(&config)?],
            (files, None) => {
                files.iter().map(|file| Policy::open(file)).collect::<anyhow::Result<_>>()?
            }
            (_, Some(_)) => anyhow::bail!(
                "give either --config or --policy; each policy is a config of its own"
            ),
        };
        let history = History::open(&self.input)?;
        for bad in history.bad_lines.iter().take(MAX_REPORTED_LINES) {
            eprintln!("line {}: {}; left out", bad.number, bad.problem);
        }
        if history.bad_lines.len() > MAX_REPORTED_LINES {
            eprintln!("… and {} more", history.bad_lines.len() - MAX_REPORTED_LINES);
        }
        anyhow::ensure!(!history.channels.is_empty(), "{} holds no messages", self.input.display());
        let mut builder = self.report.builder(&policies, self.judge.into(), self.latency);
        let scores = self.replay(&history, &policies, builder.as_mut())?;
        let left_out = LeftOut { bad_records: history.bad_lines.len(), private_channels: None };
        let report = self.report.finish(builder, &policies, left_out)?;
        self.print(&history, &scores, report)?;
        let is_rejected = self.strict && !history.bad_lines.is_empty();
        Ok(if is_rejected { ExitCode::from(2) } else { ExitCode::SUCCESS })
    }

    fn replay(
        &self,
        history: &History,
        policies: &[Policy],
        mut report: Option<&mut ReportBuilder>,
    ) -> anyhow::Result<Vec<ReplayScore>> {
        let settings =
            ReplaySettings { judge: self.judge.into(), latency_ms: self.latency, seed: self.seed };
        let mut events: Option<Box<dyn Write + Send>> = None;
        if let Some(path) = &self.events {
            let file =
                File::create(path).with_context(|| format!("cannot write {}", path.display()))?;
            events = Some(Box::new(BufWriter::new(file)));
        }
        let is_observed = report.is_some();
        let bar = progress_bar((history.messages() * policies.len()) as u64);
        let mut scores = Vec::new();
        for policy in policies {
            bar.set_message(policy.name.clone());
            if let Some(report) = &mut report {
                report.begin_policy(&policy.name);
            }
            let mut observe = |channel: &RecordedChannel, moments: Moments| {
                if let Some(report) = &mut report {
                    report.add(channel, &moments);
                }
            };
            let observer: Option<replay::Observer<'_>> = match is_observed {
                true => Some(&mut observe),
                false => None,
            };
            let progress = |messages| bar.inc(messages);
            let (score, output) =
                replay::replay_observed(history, policy, &settings, events, &progress, observer)?;
            events = output;
            scores.push(score);
        }
        bar.finish_and_clear();
        if let Some(events) = &mut events {
            events.flush().context("writing the events")?;
        }
        Ok(scores)
    }

    fn print(
        &self,
        history: &History,
        scores: &[ReplayScore],
        report: Option<(Report, String)>,
    ) -> anyhow::Result<()> {
        match &report {
            _ if self.json => {}
            Some((_, summary)) if !self.report.shows_internals() => return print(summary),
            Some(_) | None => return print(&table(scores)),
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
        let mut printed = json!({ "bad_lines": history.bad_lines.len(), "policies": policies });
        if let Some((report, _)) = report {
            printed["report"] = json!(report);
        }
        print(&serde_json::to_string_pretty(&printed)?)
    }
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
