//! `aizuchi eval`: measures a mind against labeled cases.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use aizuchi_config::configured_models;
use aizuchi_config::minds::ResolvedMind;
use aizuchi_config::source::ConfigSource;
use aizuchi_config::{Config, LoadedConfig, ModelSelection};
use aizuchi_llm::prompt::Prompt;
use aizuchi_model::clock::Clock;
use aizuchi_past::answer::MindAnswer;
use aizuchi_past::eval::calls::{CallReport, EvalCall};
use aizuchi_past::eval::case::{self, read_file};
use aizuchi_past::eval::decide::context::is_owed;
use aizuchi_past::eval::decide::report::DecisionReport;
use aizuchi_past::eval::decide::{ItemAnswer, item};
use aizuchi_past::eval::prompts::{AnswerReading, EvalPrompts, ask_all};
use aizuchi_past::eval::report::StateReport;
use aizuchi_past::eval::table::tables;
use aizuchi_past::eval::{StateAnswer, answers, baseline, decide};
use anyhow::Context as _;
use clap::{Args, ValueEnum};
use serde_json::{Value, json};

use crate::cli::{block_on, log, print, print_json, progress_bar, write_private};

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

/// The answers of a mind.
struct Evaluated<T> {
    /// The name of the persona.
    persona: String,
    /// The name of the mind, or of the file with its answers.
    name: String,
    answers: Vec<MindAnswer<T>>,
    /// `None` where nothing is paid.
    calls: Option<CallReport>,
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
        let ids: Vec<&str> = items.iter().map(|item| &*item.id).collect();
        let rules = decide::eval_rules(config);
        let reading = AnswerReading {
            known: &|prompt| is_owed(&prompt.context).then(|| ItemAnswer::without_confidence(true)),
            read: &|answer, prompt| ItemAnswer::from_answer(answer, prompt, &rules),
        };
        let resolved = &config.minds.judgment;
        let prompts =
            |builder: &EvalPrompts| items.iter().map(|item| builder.decision(item)).collect();
        let evaluated = self.evaluate(config, resolved, &ids, &prompts, &reading)?;
        let Some(Evaluated { persona, name, answers, calls }) = evaluated else {
            return Ok(ExitCode::SUCCESS);
        };
        let report = DecisionReport::new(name, &items, &answers);
        let baselines = decide::baseline::all(&items, &persona);
        let baselines = baselines
            .iter()
            .map(|(name, answers)| DecisionReport::new((*name).to_owned(), &items, answers));
        let baselines: Vec<DecisionReport> = baselines.collect();
        let json: Vec<Value> = baselines.iter().map(DecisionReport::to_json).collect();
        let tables = decide::report::tables(&report, &baselines);
        self.print(("decide", report.to_json(), json), &tables, calls, config)?;
        Ok(exit_code(&answers))
    }

    fn evaluate_states(&self, config: &Config) -> anyhow::Result<ExitCode> {
        let cases = case::open(&self.cases)?;
        let ids: Vec<&str> = cases.iter().map(|case| &*case.id).collect();
        let reading =
            AnswerReading { known: &|_| None, read: &|answer, _| StateAnswer::from_answer(answer) };
        let resolved = &config.minds.state;
        let prompts =
            |builder: &EvalPrompts| cases.iter().map(|case| builder.state(case)).collect();
        let evaluated = self.evaluate(config, resolved, &ids, &prompts, &reading)?;
        let Some(Evaluated { name, answers, calls, .. }) = evaluated else {
            return Ok(ExitCode::SUCCESS);
        };
        let report = StateReport::new(name, &cases, &answers);
        let baselines = [
            ("always ACTIVE", baseline::always_active(&cases)),
            ("keywords", baseline::keywords(&cases)),
        ];
        let baselines =
            baselines.map(|(name, answers)| StateReport::new(name.to_owned(), &cases, &answers));
        let json: Vec<Value> = baselines.iter().map(StateReport::to_json).collect();
        self.print(("state", report.to_json(), json), &tables(&report, &baselines), calls, config)?;
        Ok(exit_code(&answers))
    }

    /// The answers of the mind, or those that were collected elsewhere. `None` if the prompts are only dumped.
    fn evaluate<T>(
        &self,
        config: &Config,
        resolved: &ResolvedMind,
        ids: &[&str],
        prompts: &dyn Fn(&EvalPrompts) -> Vec<Prompt>,
        reading: &AnswerReading<'_, T>,
    ) -> anyhow::Result<Option<Evaluated<T>>> {
        let mind = configured_models::build_mind(resolved, &config.persona(), &Clock::system())?;
        let prompts = prompts(&EvalPrompts::new(config, &mind.persona)?);
        let persona = mind.persona.name.clone();
        if let Some(folder) = &self.dump_prompts {
            dump(folder, ids, &prompts)?;
            return Ok(None);
        }
        if let Some((name, texts)) = self.collected_answers(ids)? {
            let answers = texts.iter().zip(&prompts);
            let answers = answers.map(|(text, prompt)| reading.answer(text, prompt)).collect();
            return Ok(Some(Evaluated { persona, name, answers, calls: None }));
        }
        let bar = progress_bar(
            "{wide_bar} {human_pos} of {human_len} cases, {eta}",
            Some(prompts.len() as u64),
        );
        let (timeout, clock) = (config.minds.longest_call(), Clock::system());
        let progress = || bar.inc(1);
        let asked = ask_all(&mind, &prompts, reading, (timeout, &clock), &progress);
        let (answers, calls) = block_on(async { anyhow::Ok(asked.await) })?;
        bar.finish_and_clear();
        let calls = call_report(&calls, config, resolved);
        let name = mind.models.name().to_owned();
        Ok(Some(Evaluated { persona, name, answers, calls }))
    }

    /// The answers of `--answers` with the name of the file, if the option is given.
    fn collected_answers(&self, ids: &[&str]) -> anyhow::Result<Option<(String, Vec<String>)>> {
        let Some(file) = &self.answers else { return Ok(None) };
        let file_name = file.display().to_string();
        let answers = answers::read(&file_name, read_file(file)?, ids)?;
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

    /// Prints the reports on the mind and on the baselines.
    fn print(
        &self,
        (task, mind, baselines): (&str, Value, Vec<Value>),
        tables: &str,
        calls: Option<CallReport>,
        config: &Config,
    ) -> anyhow::Result<()> {
        let currency = &config.models.currency.0;
        if !self.json {
            print(tables)?;
            return calls.map_or(Ok(()), |calls| print(&format!("\n{}", calls.to_text(currency))));
        }
        let calls = calls.map(|calls| calls.to_json(currency));
        let printed = json!({ "task": task, "mind": mind, "calls": calls, "baselines": baselines });
        print_json(&printed)
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

fn exit_code<T>(answers: &[MindAnswer<T>]) -> ExitCode {
    let has_failed = answers.iter().any(|answer| matches!(answer, MindAnswer::Unknown(_)));
    if has_failed { ExitCode::from(2) } else { ExitCode::SUCCESS }
}

/// Writes one file per case, with the exact prompt that a model would get.
fn dump(folder: &Path, ids: &[&str], prompts: &[Prompt]) -> anyhow::Result<()> {
    std::fs::create_dir_all(folder)
        .with_context(|| format!("cannot write {}", folder.display()))?;
    for (id, prompt) in ids.iter().zip(prompts) {
        let path = folder.join(format!("{id}.txt"));
        write_private(&path, &prompt.full_text())?;
    }
    print(&format!("{} prompts are in {}", prompts.len(), folder.display()))
}
