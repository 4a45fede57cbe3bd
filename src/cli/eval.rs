//! `aizuchi eval`: labelled cases in, how often their labels were named out.

use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context as _;
use clap::{Args, ValueEnum};
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::json;

use crate::app;
use crate::cli::{log, print};
use crate::config::{Config, Loaded, Thinkers};
use crate::eval::case::{self, Case, text_of};
use crate::eval::decide::Found;
use crate::eval::decide::item;
use crate::eval::question::{Questions, ask};
use crate::eval::report::Report;
use crate::eval::table::tables;
use crate::eval::{Finding, answers, baseline, decide};
use aizuchi_core::agent::Mind;
use aizuchi_core::clock::Clock;
use aizuchi_core::prompt::Prompt;
use aizuchi_core::rules::Rules;

#[derive(Debug, Args)]
pub struct Eval {
    /// Labelled cases: JSON lines, in one or more files.
    #[arg(required = true, value_name = "CASES")]
    cases: Vec<PathBuf>,
    /// What the labels are of: whether to join in, or the state of a conversation.
    #[arg(long, value_enum, default_value_t = Task::Decide)]
    task: Task,
    /// Who answers: the built-in mind, or the model of `agents.judgment` or of `agents.state`.
    #[arg(long, value_enum, default_value_t = Asked::Builtin)]
    mind: Asked,
    /// Write what a model would be asked about each case to DIR/<id>.txt, and ask nobody.
    #[arg(long, value_name = "DIR", conflicts_with_all = ["answers", "json"])]
    dump_prompts: Option<PathBuf>,
    /// Take the answers from a file, one {"id", "answer"} a line, and ask nobody.
    #[arg(long, value_name = "FILE")]
    answers: Option<PathBuf>,
    /// Print JSON instead of tables.
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Task {
    Decide,
    State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Asked {
    Builtin,
    Model,
}

impl Eval {
    pub fn obey(self, file: Option<&Path>, thinkers: Thinkers<'_>) -> anyhow::Result<ExitCode> {
        log::begin_plain("warn");
        let asks_model =
            self.mind == Asked::Model && self.answers.is_none() && self.dump_prompts.is_none();
        anyhow::ensure!(
            asks_model || !matches!(thinkers, Thinkers::All(_)),
            "--model goes with --mind model, where no answers are given and no prompts are written"
        );
        let thinkers = if asks_model { thinkers } else { Thinkers::Nobody };
        let config = self.config(file, thinkers)?;
        match self.task {
            Task::Decide => self.decide(&config),
            Task::State => self.name_states(&config),
        }
    }

    fn decide(&self, config: &Config) -> anyhow::Result<ExitCode> {
        let items = item::open(&self.cases)?;
        let mind = app::mind(&config.minds.judgment, &config.persona(), &Clock::system())?;
        let questions = decide::question::Questions::new(config, &mind.persona)?;
        let prompts: Vec<Prompt> = items.iter().map(|item| questions.prompt(item)).collect();
        let ids: Vec<&str> = items.iter().map(|item| &*item.id).collect();
        if let Some(folder) = &self.dump_prompts {
            return dump(folder, &ids, &prompts);
        }
        let rules = decide::rules(config);
        let (name, found) = match self.given(&ids)? {
            Some((name, answers)) => {
                let answered = answers.iter().zip(&prompts);
                let found = answered.map(|(answer, prompt)| Found::of(answer, prompt, &rules));
                (name, found.collect())
            }
            None => (mind.llm.model().to_owned(), decided(&mind, &prompts, &rules, config)?),
        };
        let report = decide::report::Report::of(name, &items, &found);
        let baselines = decide::baseline::all(&items);
        let baselines = baselines
            .iter()
            .map(|(name, found)| decide::report::Report::of((*name).to_owned(), &items, found));
        let baselines: Vec<decide::report::Report> = baselines.collect();
        if self.json {
            let rest: Vec<_> = baselines.iter().map(decide::report::Report::json).collect();
            let printed = json!({ "task": "decide", "mind": report.json(), "baselines": rest });
            print(&serde_json::to_string_pretty(&printed)?)?;
        } else {
            print(&decide::report::tables(&report, &baselines))?;
        }
        Ok(exit_code(found.iter().any(|found| matches!(found, Found::Failed(_)))))
    }

    fn name_states(&self, config: &Config) -> anyhow::Result<ExitCode> {
        let cases = case::open(&self.cases)?;
        let mind = app::mind(&config.minds.state, &config.persona(), &Clock::system())?;
        let questions = Questions::new(config, &mind.persona)?;
        let prompts: Vec<Prompt> = cases.iter().map(|case| questions.prompt(case)).collect();
        let ids: Vec<&str> = cases.iter().map(|case| &*case.id).collect();
        if let Some(folder) = &self.dump_prompts {
            return dump(folder, &ids, &prompts);
        }
        let (name, findings) = match self.given(&ids)? {
            Some((name, answers)) => {
                (name, answers.iter().map(|answer| Finding::of(answer)).collect())
            }
            None => (mind.llm.model().to_owned(), answered(&mind, &prompts, config)?),
        };
        self.print(&cases, name, &findings)?;
        Ok(exit_code(findings.iter().any(|finding| matches!(finding, Finding::Failed(_)))))
    }

    /// Answers that were made elsewhere, with where.
    fn given(&self, ids: &[&str]) -> anyhow::Result<Option<(String, Vec<String>)>> {
        let Some(file) = &self.answers else { return Ok(None) };
        let shown = file.display().to_string();
        let answers = answers::read(&shown, &text_of(file)?, ids)?;
        Ok(Some((shown, answers)))
    }

    /// A prompt is the same whoever is asked.
    fn config(&self, file: Option<&Path>, thinkers: Thinkers<'_>) -> anyhow::Result<Config> {
        let Loaded { mut config, .. } = Config::load(file, thinkers)?;
        let (agent, mind, name) = match self.task {
            Task::Decide => (&config.agents.judgment, &mut config.minds.judgment, "judgment"),
            Task::State => (&config.agents.state, &mut config.minds.state, "state"),
        };
        if thinkers == Thinkers::Nobody {
            mind.system_prompt = agent.as_ref().and_then(|agent| agent.system_prompt.clone());
        } else {
            anyhow::ensure!(
                mind.model.id.provider().is_some(),
                "--mind model needs a model: name one in agents.{name} of the config, or with \
                 --model"
            );
        }
        Ok(config)
    }

    fn print(&self, cases: &[Case], name: String, findings: &[Finding]) -> anyhow::Result<()> {
        let report = Report::of(name, cases, findings);
        let baselines = [
            Report::of("always ACTIVE".to_owned(), cases, &baseline::always_active(cases)),
            Report::of("keywords".to_owned(), cases, &baseline::keywords(cases)),
        ];
        if !self.json {
            return print(&tables(&report, &baselines));
        }
        let baselines: Vec<_> = baselines.iter().map(Report::json).collect();
        let printed = json!({ "task": "state", "mind": report.json(), "baselines": baselines });
        print(&serde_json::to_string_pretty(&printed)?)
    }
}

fn exit_code(has_failed: bool) -> ExitCode {
    if has_failed { ExitCode::from(2) } else { ExitCode::SUCCESS }
}

fn decided(
    mind: &Mind,
    prompts: &[Prompt],
    rules: &Rules,
    config: &Config,
) -> anyhow::Result<Vec<Found>> {
    let runtime = tokio::runtime::Runtime::new().context("starting the runtime")?;
    let bar = progress_bar(prompts.len() as u64);
    let (limit, clock) = (config.minds.patience(), Clock::system());
    let progress = || bar.inc(1);
    let asking = decide::question::ask(mind, prompts, rules, limit, &clock, &progress);
    let found = runtime.block_on(asking);
    bar.finish_and_clear();
    Ok(found)
}

fn answered(mind: &Mind, prompts: &[Prompt], config: &Config) -> anyhow::Result<Vec<Finding>> {
    let runtime = tokio::runtime::Runtime::new().context("starting the runtime")?;
    let bar = progress_bar(prompts.len() as u64);
    let (limit, clock) = (config.minds.patience(), Clock::system());
    let findings = runtime.block_on(ask(mind, prompts, limit, &clock, &|| bar.inc(1)));
    bar.finish_and_clear();
    Ok(findings)
}

/// One file a case, with what a model would get and nothing else.
fn dump(folder: &Path, ids: &[&str], prompts: &[Prompt]) -> anyhow::Result<ExitCode> {
    let cannot = |path: &Path| format!("cannot write {}", path.display());
    std::fs::create_dir_all(folder).with_context(|| cannot(folder))?;
    for (id, prompt) in ids.iter().zip(prompts) {
        let path = folder.join(format!("{id}.txt"));
        std::fs::write(&path, prompt.shown().as_bytes()).with_context(|| cannot(&path))?;
    }
    print(&format!("{} prompts are in {}", prompts.len(), folder.display()))?;
    Ok(ExitCode::SUCCESS)
}

/// Shown on a terminal only.
fn progress_bar(cases: u64) -> ProgressBar {
    if !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template("{wide_bar} {human_pos} of {human_len} cases, {eta}");
    ProgressBar::new(cases).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}
