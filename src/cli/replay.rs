//! `aizuchi replay`: replays recorded messages under one or more policies and prints their scores.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use aizuchi_config::ModelSelection;
use aizuchi_config::source::ConfigSource;
use aizuchi_import::input::database::LabelsByChannel;
use aizuchi_import::input::{PrivateChannels, Recording};
use aizuchi_model::chat::{ChannelId, Visibility, WorkspaceId, strip_control_characters};
use aizuchi_model::decision::tolerance::{self, MIN_LABELS};
use aizuchi_model::rules::place::Place;
use aizuchi_past::replay::score::ReplayScore;
use aizuchi_past::replay::table::table;
use aizuchi_past::replay::{Policy, ReplayJudge, ReplaySettings};
use aizuchi_past::report::builder::ReportBuilder;
use aizuchi_past::report::figures::{LeftOut, LeftOutRecords, Privacy, Report};
use anyhow::Context as _;
use clap::{Args, value_parser};
use indicatif::ProgressBar;
use serde_json::{Value, json};

use crate::cli::judge::{Judge, JudgeArgs};
use crate::cli::recording::RecordingArgs;
use crate::cli::report_page::ReplayReportArgs;
use crate::cli::{log, print, print_json, progress_bar, tell};

/// The default median of a simulated model call, in milliseconds.
const LATENCY_MS: u64 = 4000;
const SEED: u64 = 1;

#[derive(Debug, Args)]
pub struct ReplayArgs {
    #[command(flatten)]
    recording: RecordingArgs,
    /// The settings to replay with: a config, or a part of one. Give several to compare them. If omitted: --config, or else the
    /// defaults.
    #[arg(long, value_name = "FILE")]
    policy: Vec<PathBuf>,
    #[command(flatten)]
    judge: JudgeArgs,
    /// The median duration of a simulated model call, in milliseconds of simulated time; at most one day.
    #[arg(long, value_name = "MS", default_value_t = LATENCY_MS, value_parser = value_parser!(u64).range(..=86_400_000))]
    latency: u64,
    /// The random seed; the same seed gives the same result.
    #[arg(long, value_name = "N", default_value_t = SEED)]
    seed: u64,
    /// Write everything that happened to a file, one JSON object per line.
    #[arg(long, value_name = "FILE")]
    events: Option<PathBuf>,
    #[command(flatten)]
    report: ReplayReportArgs,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    /// Exit with code 2 if a record of the input cannot be read.
    #[arg(long)]
    strict: bool,
}

impl ReplayArgs {
    /// Runs the command. `named` is the config that `--config` names. A config that happens to be in the folder only
    /// says where the database is, and is no policy.
    pub fn run(
        self,
        named: Option<PathBuf>,
        source: &ConfigSource,
        selection: ModelSelection<'_>,
    ) -> anyhow::Result<ExitCode> {
        // Count unknown judgments instead of warning about each of them.
        log::init_plain("warn,aizuchi_agent::runner=error");
        let files = match (&self.policy[..], named) {
            ([], None) => Vec::new(),
            ([], Some(config)) => vec![config],
            (files, None) => files.to_vec(),
            (_, Some(_)) => anyhow::bail!(
                "--config and --policy cannot be used together: each policy is a complete config"
            ),
        };
        let mut policies = Policy::open_all(&files)?;
        if policies.is_empty() {
            policies.push(self.report.default_policy());
        }
        let labels = self.welcome_labels(source, &policies)?;
        let mut judge = self.judge.prepare(source, selection)?;
        if judge.kind() == ReplayJudge::Model && policies.iter().any(has_own_judge) {
            tell(
                "one model judges all channels of a replay; a channel's own model judges on the console's page Try other \
                 settings",
            );
        }
        if judge.kind() == ReplayJudge::Model {
            policies.iter_mut().for_each(Policy::add_judgment_prompt);
        }
        let recording = self.recording.open(source, policies[0].config.language.own())?;
        let settings =
            ReplaySettings { judge: judge.kind(), latency_ms: self.latency, seed: self.seed };
        let messages = recording.messages() * policies.len() as u64;
        let shown = "{msg} {wide_bar} {human_pos} of {human_len} messages, {eta}";
        let bar = progress_bar(shown, Some(messages));
        bar.set_message("counting");
        judge.agree(&recording.channels, &policies, &settings, &|messages| bar.inc(messages))?;
        bar.reset();
        let run = PolicyRun {
            recording: &recording,
            judge: &judge,
            labels: &labels,
            settings,
            bar: &bar,
        };
        let end = recording.span.map(|(_, last)| last);
        let mut builder = self.report.builder(&policies, &judge, self.latency, end);
        let scores = self.replay(&run, &policies, builder.as_mut())?;
        bar.finish_and_clear();
        judge.report();
        let report = self.report.finish(builder, &policies, left_out(&recording))?;
        self.print(&recording, &judge, &scores, report)?;
        Ok(self.exit_code(&recording))
    }

    /// The labels of how welcome messages were, if a policy uses them and the input has them.
    fn welcome_labels(
        &self,
        source: &ConfigSource,
        policies: &[Policy],
    ) -> anyhow::Result<LabelsByChannel> {
        if !policies.iter().any(|policy| policy.config.rulebook().has_tolerance()) {
            return Ok(LabelsByChannel::new());
        }
        let labels = self.recording.welcome_labels(source)?;
        match &labels {
            Some(labels) => print_thresholds(policies, labels),
            None => tell(
                "response.tolerance has no part in this replay: it follows from how people took the words that were \
                 said, and nobody knows how they would have taken these. With --from-store the threshold of today holds \
                 for all of it; the console's page Try other settings applies it to the last days of a channel",
            ),
        }
        Ok(labels.unwrap_or_default())
    }

    fn exit_code(&self, recording: &Recording) -> ExitCode {
        let is_rejected = self.strict && recording.bad_records.count > 0;
        if is_rejected { ExitCode::from(2) } else { ExitCode::SUCCESS }
    }

    fn replay(
        &self,
        run: &PolicyRun<'_>,
        policies: &[Policy],
        mut report: Option<&mut ReportBuilder>,
    ) -> anyhow::Result<Vec<ReplayScore>> {
        let mut events = match &self.events {
            Some(path) => {
                let shown = || format!("cannot write {}", path.display());
                Some(BufWriter::new(File::create(path).with_context(shown)?))
            }
            None => None,
        };
        let mut scores = Vec::new();
        for policy in policies {
            run.bar.set_message(policy.name.clone());
            if let Some(report) = &mut report {
                report.begin_policy(&policy.name);
            }
            let events = events.as_mut().map(|events| events as &mut dyn Write);
            scores.push(run.replay(policy, events, report.as_deref_mut())?);
        }
        if let Some(events) = &mut events {
            events.flush().context("cannot write the events")?;
        }
        Ok(scores)
    }

    fn print(
        &self,
        recording: &Recording,
        judge: &Judge,
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
                    "waits": score.waits(),
                    "share_of_posts_in_exchange": score.share_of_posts_in_exchange(),
                    "prefix_share": score.prefix_share(),
                    "messages_per_second": score.messages_per_second(),
                })
            })
            .collect();
        let mut printed = json!({
            "bad_lines": recording.bad_records.count,
            "input": input_to_json(recording),
            "judge": judge.to_json(),
            "policies": policies,
        });
        if let Some((report, _)) = report {
            printed["report"] = json!(report);
        }
        print_json(&printed)
    }
}

/// Whether a channel or a workspace has a judge of its own.
fn has_own_judge(policy: &Policy) -> bool {
    let book = policy.config.rulebook();
    let channels = book.all_rules().map(|rules| &rules.models);
    channels.chain(book.workspace_models.values()).any(|models| models.judgment.is_some())
}

/// The inputs shared by the replays of all policies.
struct PolicyRun<'a> {
    recording: &'a Recording,
    judge: &'a Judge,
    /// The labels of how welcome messages were, for `response.tolerance`.
    labels: &'a LabelsByChannel,
    settings: ReplaySettings,
    bar: &'a ProgressBar,
}

impl PolicyRun<'_> {
    fn replay(
        &self,
        policy: &Policy,
        events: Option<&mut dyn Write>,
        mut report: Option<&mut ReportBuilder>,
    ) -> anyhow::Result<ReplayScore> {
        let mut score = ReplayScore::new(policy);
        let mut replay = self.judge.replay(policy, self.settings)?.knowing(self.labels);
        if report.is_some() {
            replay = replay.observed();
        }
        replay.run(&self.recording.channels, events, &mut |channel, record| {
            score.add(channel, record);
            if let (Some(report), Some(moments)) = (&mut report, &record.moments) {
                report.add(channel, moments)?;
            }
            self.bar.inc(channel.rows.len() as u64);
            Ok(())
        })?;
        Ok(score)
    }
}

/// Prints the minimum confidence in each channel that has labels of how welcome messages were.
fn print_thresholds(policies: &[Policy], labels: &LabelsByChannel) {
    for policy in policies {
        let book = policy.config.rulebook();
        for (place, labels) in labels {
            // The simulation uses the same ids.
            let (workspace, channel) =
                (WorkspaceId::new(place.as_str()), ChannelId::new(place.as_str()));
            let rules = book.rules_in(&Place::new(&workspace, &channel, place, Visibility::Public));
            let Some(tolerance) = rules.tolerance else { continue };
            let least = tolerance::threshold(labels, rules.min_confidence, tolerance);
            tell(&format!(
                "{}: with response.tolerance, the judge must be at least {least:.2} sure in {} (known: {} posts, declined proposals and marks; at least {MIN_LABELS} are needed)",
                policy.name,
                strip_control_characters(place),
                labels.len(),
            ));
        }
    }
}

/// What was left out of the recording, for the report.
fn left_out(recording: &Recording) -> LeftOut {
    let left_out = recording.left_out;
    LeftOut {
        bad_records: recording.bad_records.count as usize,
        private_channels: recording.private_channels().map(|count| count as usize),
        privacy: match (recording.private, recording.tells_private) {
            (PrivateChannels::Taken, _) => Privacy::Included,
            (PrivateChannels::LeftOut, true) => Privacy::LeftOut,
            (PrivateChannels::LeftOut, false) => Privacy::LeftOutWhereTold,
        },
        records: Some(LeftOutRecords {
            private_messages: left_out.private_messages as usize,
            outside_range: left_out.outside_range as usize,
            notices: left_out.notices as usize,
            deleted: left_out.deleted as usize,
            expired: left_out.expired as usize,
            withheld: left_out.withheld as usize,
        }),
    }
}

fn input_to_json(recording: &Recording) -> Value {
    let (first, last) = recording.span.unzip();
    let mut left_out = json!(recording.left_out);
    left_out["private_channels"] = json!(recording.private_channels());
    json!({
        "format": recording.format,
        "channels": recording.channels.len(),
        "messages": recording.messages(),
        "from": first,
        "to": last,
        "left_out": left_out,
    })
}

/// The figures as JSON. Those that the recording does not tell are null.
fn score_to_json(score: &ReplayScore) -> Value {
    let mut figures = json!(score);
    if !score.is_annotated {
        for unknown in ["open_questions", "reached_questions", "answered_questions"] {
            figures[unknown] = Value::Null;
        }
    }
    figures
}
