//! `aizuchi eval`: labelled cases in, how often their labels were named out.

use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context as _;
use clap::{Args, ValueEnum};
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::json;

use crate::agent::Mind;
use crate::app;
use crate::cli::{log, print};
use crate::clock::Clock;
use crate::config::{Config, Loaded, Thinkers};
use crate::eval::case::{self, Case, text_of};
use crate::eval::question::{Questions, ask};
use crate::eval::report::Report;
use crate::eval::table::tables;
use crate::eval::{Finding, answers, baseline};
use crate::prompt::Prompt;

#[derive(Debug, Args)]
pub struct Eval {
    /// Labelled cases: JSON lines, in one or more files.
    #[arg(required = true, value_name = "CASES")]
    cases: Vec<PathBuf>,
    /// What the labels are of: `state` (of a conversation).
    #[arg(long, value_name = "TASK", num_args = 0..=1, default_value = "decide", default_missing_value = "decide")]
    task: String,
    /// Who answers: the built-in mind, or the model of `agents.state`.
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
enum Asked {
    Builtin,
    Model,
}

impl Eval {
    pub fn obey(self, file: Option<&Path>, thinkers: Thinkers<'_>) -> anyhow::Result<ExitCode> {
        log::begin_plain("warn");
        anyhow::ensure!(
            self.task == "state",
            "labelled decisions cannot be measured yet; --task state measures how well the states of \
             conversations are named"
        );
        let asks_model =
            self.mind == Asked::Model && self.answers.is_none() && self.dump_prompts.is_none();
        anyhow::ensure!(
            asks_model || !matches!(thinkers, Thinkers::All(_)),
            "--model goes with --mind model, where no answers are given and no prompts are written"
        );
        let cases = case::open(&self.cases)?;
        let thinkers = if asks_model { thinkers } else { Thinkers::Nobody };
        let config = config(file, thinkers)?;
        let mind = app::mind(&config.minds.state, &config.persona(), &Clock::system())?;
        let questions = Questions::new(&config, &mind.persona)?;
        let prompts: Vec<Prompt> = cases.iter().map(|case| questions.prompt(case)).collect();
        if let Some(folder) = &self.dump_prompts {
            dump(folder, &cases, &prompts)?;
            print(&format!("{} prompts are in {}", prompts.len(), folder.display()))?;
            return Ok(ExitCode::SUCCESS);
        }
        let (name, findings) = match &self.answers {
            Some(file) => {
                let shown = file.display().to_string();
                let findings = answers::read(&shown, &text_of(file)?, &cases)?;
                (shown, findings)
            }
            None => (mind.llm.model().to_owned(), answered(&mind, &prompts, &config)?),
        };
        self.print(&cases, name, &findings)?;
        let has_failed = findings.iter().any(|finding| matches!(finding, Finding::Failed(_)));
        Ok(if has_failed { ExitCode::from(2) } else { ExitCode::SUCCESS })
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

/// A prompt is the same whoever is asked.
fn config(file: Option<&Path>, thinkers: Thinkers<'_>) -> anyhow::Result<Config> {
    let Loaded { mut config, .. } = Config::load(file, thinkers)?;
    if thinkers == Thinkers::Nobody {
        let own = config.agents.state.as_ref().and_then(|state| state.system_prompt.clone());
        config.minds.state.system_prompt = own;
    } else {
        anyhow::ensure!(
            config.minds.state.model.id.provider().is_some(),
            "--mind model needs a model: name one in agents.state of the config, or with --model"
        );
    }
    Ok(config)
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
fn dump(folder: &Path, cases: &[Case], prompts: &[Prompt]) -> anyhow::Result<()> {
    let cannot = |path: &Path| format!("cannot write {}", path.display());
    std::fs::create_dir_all(folder).with_context(|| cannot(folder))?;
    for (case, prompt) in cases.iter().zip(prompts) {
        let path = folder.join(format!("{}.txt", case.id));
        std::fs::write(&path, prompt.shown().as_bytes()).with_context(|| cannot(&path))?;
    }
    Ok(())
}

/// Shown on a terminal only.
fn progress_bar(cases: u64) -> ProgressBar {
    if !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template("{wide_bar} {human_pos} of {human_len} cases, {eta}");
    ProgressBar::new(cases).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}
