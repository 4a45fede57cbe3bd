//! `aizuchi eval`: measures a mind against labeled cases.

use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use aizuchi_agent::agent::Mind;
use aizuchi_config::configured_models;
use aizuchi_config::minds::ResolvedMind;
use aizuchi_config::source::ConfigSource;
use aizuchi_config::{Config, LoadedConfig, ModelSelection};
use aizuchi_llm::prompt::Prompt;
use aizuchi_model::clock::Clock;
use aizuchi_model::rules::ChannelRules;
use aizuchi_past::eval::calls::{CallReport, EvalCall};
use aizuchi_past::eval::case::{self, Case, read_file};
use aizuchi_past::eval::decide::ItemAnswer;
use aizuchi_past::eval::decide::item;
use aizuchi_past::eval::decide::prompts::is_owed;
use aizuchi_past::eval::prompts::{CasePrompts, ask_all};
use aizuchi_past::eval::report::StateReport;
use aizuchi_past::eval::table::tables;
use aizuchi_past::eval::{StateAnswer, answers, baseline, decide};
use anyhow::Context as _;
use clap::{Args, ValueEnum};
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::json;

use crate::cli::{log, print, write_private};

#[derive(Debug, Args)]
pub struct EvalArgs {
    /// Files with labeled cases, one JSON object per line.
    #[arg(required = true, value_name = "CASES")]
    cases: Vec<PathBuf>,
    /// What to measure: whether the rules or the model join in where they should, or whether they name the right state
    /// of a conversation.
    #[arg(long, value_enum, default_value_t = EvalTask::Decide)]
    task: EvalTask,
    /// What answers: the built-in rules, or the model of `agents.judgment` or `agents.state` in the config.
    #[arg(long, value_enum, default_value_t = MindChoice::Builtin)]
    mind: MindChoice,
    /// Ask no model; write the prompt of each case to DIR/<id>.txt instead.
    #[arg(long, value_name = "DIR", conflicts_with_all = ["answers", "json"])]
    dump_prompts: Option<PathBuf>,
    /// Ask no model; read the answers from a file, one {"id", "answer"} per line.
    #[arg(long, value_name = "FILE")]
    answers: Option<PathBuf>,
    /// Print JSON instead of tables.
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum EvalTask {
    Decide,
    State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum MindChoice {
    Builtin,
    Model,
}

impl EvalArgs {
    pub fn run(
        self,
        source: &ConfigSource,
        selection: ModelSelection<'_>,
    ) -> anyhow::Result<ExitCode> {
        log::init_plain("warn");
        let asks_model =
            self.mind == MindChoice::Model && self.answers.is_none() && self.dump_prompts.is_none();
        anyhow::ensure!(
            asks_model
                || !matches!(selection, ModelSelection::Override(_) | ModelSelection::Found { .. }),
            "--model needs --mind model, without --answers and --dump-prompts"
        );
        let selection = if asks_model { selection } else { ModelSelection::NoModel };
        let config = self.config(source, selection)?;
        match self.task {
            EvalTask::Decide => self.decide(&config),
            EvalTask::State => self.evaluate_states(&config),
        }
    }

    fn decide(&self, config: &Config) -> anyhow::Result<ExitCode> {
        let items = item::open(&self.cases)?;
        let mind = configured_models::build_mind(
            &config.minds.judgment,
            &config.persona(),
            &Clock::system(),
        )?;
        let prompt_builder = decide::prompts::ItemPrompts::new(config, &mind.persona)?;
        let prompts: Vec<Prompt> = items.iter().map(|item| prompt_builder.prompt(item)).collect();
        let ids: Vec<&str> = items.iter().map(|item| &*item.id).collect();
        if let Some(folder) = &self.dump_prompts {
            return dump(folder, &ids, &prompts);
        }
        let rules = decide::eval_rules(config);
        let (name, answers, calls): (_, Vec<ItemAnswer>, _) = match self.collected_answers(&ids)? {
            Some((name, texts)) => {
                let answers = texts.iter().zip(&prompts).map(|(text, prompt)| {
                    match is_owed(&prompt.context) {
                        true => ItemAnswer::without_confidence(true),
                        false => ItemAnswer::from_answer(text, prompt, &rules),
                    }
                });
                (name, answers.collect(), None)
            }
            None => {
                let (answers, calls): (Vec<ItemAnswer>, Vec<Option<EvalCall>>) =
                    ask_decisions(&mind, &prompts, &rules, config)?.into_iter().unzip();
                let calls: Vec<EvalCall> = calls.into_iter().flatten().collect();
                let calls = call_report(&calls, config, &config.minds.judgment);
                (mind.models.name().to_owned(), answers, calls)
            }
        };
        let currency = &config.models.currency.0;
        let report = decide::report::DecisionReport::new(name, &items, &answers);
        let baselines = decide::baseline::all(&items, &mind.persona.name);
        let baselines = baselines.iter().map(|(name, answers)| {
            decide::report::DecisionReport::new((*name).to_owned(), &items, answers)
        });
        let baselines: Vec<decide::report::DecisionReport> = baselines.collect();
        if self.json {
            let rest: Vec<_> =
                baselines.iter().map(decide::report::DecisionReport::to_json).collect();
            let calls = calls.map(|calls| calls.to_json(currency));
            let printed = json!({
                "task": "decide", "mind": report.to_json(), "calls": calls, "baselines": rest,
            });
            print(&serde_json::to_string_pretty(&printed)?)?;
        } else {
            print(&decide::report::tables(&report, &baselines))?;
            print_calls(calls.as_ref(), currency)?;
        }
        Ok(exit_code(answers.iter().any(|answer| matches!(answer, ItemAnswer::Failed(_)))))
    }

    fn evaluate_states(&self, config: &Config) -> anyhow::Result<ExitCode> {
        let cases = case::open(&self.cases)?;
        let mind = configured_models::build_mind(
            &config.minds.state,
            &config.persona(),
            &Clock::system(),
        )?;
        let prompt_builder = CasePrompts::new(config, &mind.persona)?;
        let prompts: Vec<Prompt> = cases.iter().map(|case| prompt_builder.prompt(case)).collect();
        let ids: Vec<&str> = cases.iter().map(|case| &*case.id).collect();
        if let Some(folder) = &self.dump_prompts {
            return dump(folder, &ids, &prompts);
        }
        let (name, answers, calls) = match self.collected_answers(&ids)? {
            Some((name, texts)) => {
                (name, texts.iter().map(|text| StateAnswer::from_answer(text)).collect(), None)
            }
            None => {
                let (answers, calls): (Vec<StateAnswer>, Vec<EvalCall>) =
                    ask_states(&mind, &prompts, config)?.into_iter().unzip();
                let calls = call_report(&calls, config, &config.minds.state);
                (mind.models.name().to_owned(), answers, calls)
            }
        };
        self.print(&cases, name, &answers, calls.as_ref(), &config.models.currency.0)?;
        Ok(exit_code(answers.iter().any(|answer| matches!(answer, StateAnswer::Failed(_)))))
    }

    /// The answers of `--answers` with the name of the file, if the option is given.
    fn collected_answers(&self, ids: &[&str]) -> anyhow::Result<Option<(String, Vec<String>)>> {
        let Some(file) = &self.answers else { return Ok(None) };
        let file_name = file.display().to_string();
        let answers = answers::read(&file_name, &read_file(file)?, ids)?;
        Ok(Some((file_name, answers)))
    }

    /// Loads the config. The agent's own system prompt stays in place even if no model is asked, so that the prompts are
    /// the same for every mind.
    fn config(
        &self,
        source: &ConfigSource,
        selection: ModelSelection<'_>,
    ) -> anyhow::Result<Config> {
        let LoadedConfig { mut config, .. } = source.load_without_database(selection)?;
        let (agent, mind, name) = match self.task {
            EvalTask::Decide => (&config.agents.judgment, &mut config.minds.judgment, "judgment"),
            EvalTask::State => (&config.agents.state, &mut config.minds.state, "state"),
        };
        if selection == ModelSelection::NoModel {
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

    fn print(
        &self,
        cases: &[Case],
        name: String,
        answers: &[StateAnswer],
        calls: Option<&CallReport>,
        currency: &str,
    ) -> anyhow::Result<()> {
        let report = StateReport::new(name, cases, answers);
        let baselines = [
            StateReport::new("always ACTIVE".to_owned(), cases, &baseline::always_active(cases)),
            StateReport::new("keywords".to_owned(), cases, &baseline::keywords(cases)),
        ];
        if !self.json {
            print(&tables(&report, &baselines))?;
            return print_calls(calls, currency);
        }
        let baselines: Vec<_> = baselines.iter().map(StateReport::to_json).collect();
        let calls = calls.map(|calls| calls.to_json(currency));
        let printed = json!({
            "task": "state", "mind": report.to_json(), "calls": calls, "baselines": baselines,
        });
        print(&serde_json::to_string_pretty(&printed)?)
    }
}

/// The cost of the calls. `None` for the built-in rules, which cost nothing.
fn call_report(calls: &[EvalCall], config: &Config, mind: &ResolvedMind) -> Option<CallReport> {
    let model = &mind.model;
    model.id.provider()?;
    let id = model.id.to_string();
    // A list price only applies to calls at the provider itself.
    let elsewhere = model.address_elsewhere().map(|_| id.clone());
    let prices = config.models.prices(&elsewhere.into_iter().collect());
    Some(CallReport::new(calls, |usage| prices.cost(&id, usage)))
}

fn print_calls(calls: Option<&CallReport>, currency: &str) -> anyhow::Result<()> {
    calls.map_or(Ok(()), |calls| print(&format!("\n{}", calls.to_text(currency))))
}

fn exit_code(has_failed: bool) -> ExitCode {
    if has_failed { ExitCode::from(2) } else { ExitCode::SUCCESS }
}

fn ask_decisions(
    mind: &Mind,
    prompts: &[Prompt],
    rules: &ChannelRules,
    config: &Config,
) -> anyhow::Result<Vec<(ItemAnswer, Option<EvalCall>)>> {
    let runtime = tokio::runtime::Runtime::new().context("cannot start the runtime")?;
    let bar = progress_bar(prompts.len() as u64);
    let (timeout, clock) = (config.minds.longest_call(), Clock::system());
    let progress = || bar.inc(1);
    let calls = decide::prompts::ask_all(mind, prompts, rules, timeout, &clock, &progress);
    let answers = runtime.block_on(calls);
    bar.finish_and_clear();
    Ok(answers)
}

fn ask_states(
    mind: &Mind,
    prompts: &[Prompt],
    config: &Config,
) -> anyhow::Result<Vec<(StateAnswer, EvalCall)>> {
    let runtime = tokio::runtime::Runtime::new().context("cannot start the runtime")?;
    let bar = progress_bar(prompts.len() as u64);
    let (timeout, clock) = (config.minds.longest_call(), Clock::system());
    let answers = runtime.block_on(ask_all(mind, prompts, timeout, &clock, &|| bar.inc(1)));
    bar.finish_and_clear();
    Ok(answers)
}

/// Writes one file per case, with the exact prompt that a model would get.
fn dump(folder: &Path, ids: &[&str], prompts: &[Prompt]) -> anyhow::Result<ExitCode> {
    std::fs::create_dir_all(folder)
        .with_context(|| format!("cannot write {}", folder.display()))?;
    for (id, prompt) in ids.iter().zip(prompts) {
        let path = folder.join(format!("{id}.txt"));
        write_private(&path, &prompt.full_text())?;
    }
    print(&format!("{} prompts are in {}", prompts.len(), folder.display()))?;
    Ok(ExitCode::SUCCESS)
}

/// A progress bar, hidden unless stderr is a terminal.
fn progress_bar(cases: u64) -> ProgressBar {
    if !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template("{wide_bar} {human_pos} of {human_len} cases, {eta}");
    ProgressBar::new(cases).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}
