//! `aizuchi eval`: measures a mind against labeled cases.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use aizuchi_config::models::in_use;
use aizuchi_config::source::ConfigSource;
use aizuchi_config::{Config, LoadedConfig, ModelSelection};
use aizuchi_llm::prompt::Prompt;
use aizuchi_model::clock::Clock;
use aizuchi_past::eval::answers;
use aizuchi_past::eval::calls::{CallReport, EvalCall};
use aizuchi_past::eval::case::read_file;
use aizuchi_past::eval::decide::item::{self, DecisionItem};
use aizuchi_past::eval::decide::report::{DecisionReport, tables};
use aizuchi_past::eval::decide::{ItemAnswer, baseline, eval_rules};
use aizuchi_past::eval::prompts::{EvalPrompts, ask_all};
use anyhow::Context as _;
use clap::{Args, ValueEnum};
use serde_json::{Value, json};

use crate::cli::{block_on, log, print, print_json, progress_bar, write_private};

#[derive(Debug, Args)]
pub struct EvalArgs {
    /// Files with labeled cases, one JSON object per line.
    #[arg(required = true, value_name = "CASES")]
    cases: Vec<PathBuf>,
    /// What answers: the built-in rules, or the model of `agents.judgment` in the config.
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
enum MindChoice {
    Builtin,
    Model,
}

/// The answers of a mind.
struct Evaluated {
    /// The name of the persona.
    persona: String,
    /// The name of the mind, or of the file with its answers.
    name: String,
    answers: Vec<ItemAnswer>,
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
        let items = item::open(&self.cases)?;
        let Some(Evaluated { persona, name, answers, calls }) = self.evaluate(&config, &items)?
        else {
            return Ok(ExitCode::SUCCESS);
        };
        let report = DecisionReport::new(name, &items, &answers);
        let baselines: Vec<DecisionReport> = baseline::all(&items, &persona)
            .iter()
            .map(|(name, answers)| DecisionReport::new((*name).to_owned(), &items, answers))
            .collect();
        self.print(&report, &baselines, calls, &config)?;
        let has_failed = answers.iter().any(|answer| matches!(answer, ItemAnswer::Unknown(_)));
        Ok(if has_failed { ExitCode::from(2) } else { ExitCode::SUCCESS })
    }

    /// The answers of the mind, or those that were collected elsewhere. `None` if the prompts are only dumped.
    fn evaluate(
        &self,
        config: &Config,
        items: &[DecisionItem],
    ) -> anyhow::Result<Option<Evaluated>> {
        let ids: Vec<&str> = items.iter().map(|item| &*item.id).collect();
        let (resolved, rules) = (&config.minds.judgment, eval_rules(config));
        let mind = in_use::build_mind(resolved, &config.persona(), &Clock::system())?;
        let builder = EvalPrompts::new(config, &mind.persona)?;
        let prompts: Vec<Prompt> = items.iter().map(|item| builder.decision(item)).collect();
        let persona = mind.persona.name.clone();
        if let Some(folder) = &self.dump_prompts {
            dump(folder, &ids, &prompts)?;
            return Ok(None);
        }
        if let Some((name, texts)) = self.collected_answers(&ids)? {
            let answers = texts.iter().zip(&prompts);
            let answers = answers
                .map(|(text, prompt)| ItemAnswer::from_answer(text, prompt, &rules))
                .collect();
            return Ok(Some(Evaluated { persona, name, answers, calls: None }));
        }
        let bar = progress_bar(
            "{wide_bar} {human_pos} of {human_len} cases, {eta}",
            Some(prompts.len() as u64),
        );
        let (timeout, clock) = (config.minds.longest_call(), Clock::system());
        let progress = || bar.inc(1);
        let asked = ask_all(&mind, &prompts, &rules, (timeout, &clock), &progress);
        let (answers, calls) = block_on(async { anyhow::Ok(asked.await) })?;
        bar.finish_and_clear();
        let calls = call_report(&calls, config);
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
        let (agent, mind) = (&config.agents.judgment, &mut config.minds.judgment);
        if selection == ModelSelection::NoModel {
            mind.system_prompt = agent.as_ref().and_then(|agent| agent.system_prompt.clone());
        } else {
            anyhow::ensure!(
                mind.model.id.provider().is_some(),
                "--mind model needs a model: name one in agents.judgment of the config, or with \
                 --model"
            );
        }
        Ok(config)
    }

    /// Prints the reports on the mind and on the baselines.
    fn print(
        &self,
        report: &DecisionReport,
        baselines: &[DecisionReport],
        calls: Option<CallReport>,
        config: &Config,
    ) -> anyhow::Result<()> {
        let currency = &config.models.currency.0;
        if !self.json {
            print(&tables(report, baselines))?;
            return calls.map_or(Ok(()), |calls| print(&format!("\n{}", calls.to_text(currency))));
        }
        let calls = calls.map(|calls| calls.to_json(currency));
        let baselines: Vec<Value> = baselines.iter().map(DecisionReport::to_json).collect();
        print_json(&json!({
            "task": "decide", "mind": report.to_json(), "calls": calls, "baselines": baselines,
        }))
    }
}

/// The cost of the calls. `None` for the built-in rules, which cost nothing.
fn call_report(calls: &[EvalCall], config: &Config) -> Option<CallReport> {
    let model = &config.minds.judgment.model;
    model.id.provider()?;
    let id = model.id.to_string();
    // A list price only applies to calls at the provider itself.
    let elsewhere = model.address_elsewhere().map(|_| id.clone());
    let prices = config.models.prices(&elsewhere.into_iter().collect());
    Some(CallReport::new(calls, |usage| prices.cost(&id, usage)))
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
