//! The arguments that select the judge of a replay, and the model behind `--judge model`: its cost estimate, its limits
//! and the cache of its answers.

use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;

use aizuchi_config::models::in_use;
use aizuchi_config::source::ConfigSource;
use aizuchi_config::{Config, ModelSelection};
use aizuchi_import::history::RecordedChannel;
use aizuchi_model::chat::strip_control_characters;
use aizuchi_model::clock::Clock;
use aizuchi_model::texts::counted;
use aizuchi_past::replay::judge::answer_cache::AnswerCache;
use aizuchi_past::replay::judge::model::{
    AskMode, CallBudget, CallCounts, ModelJudge, ShadowModel,
};
use aizuchi_past::replay::judge::recorded::RecordedAnswers;
use aizuchi_past::replay::{Policy, Replay, ReplayJudge, ReplaySettings};
use aizuchi_past::report::cost::PricedModel;
use aizuchi_past::report::figures::JudgedBy;
use aizuchi_store::database::location::DatabaseLocation;
use anyhow::Context as _;
use clap::{Args, value_parser};
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use crate::cli::money;
use crate::cli::{number_of, tell};

#[derive(Debug, Args)]
pub struct JudgeArgs {
    /// How to judge: `silent` never joins in, `speak` always does, `builtin` decides by the built-in rules, `model` asks the
    /// model of agents.judgment or of --model. Or a file with recorded answers, one JSON object per line: `room`, `message`,
    /// `should_respond` and, if known, `confidence`, `delay_seconds`, `about`, `reason` and `model`; or `prompt_hash` and `answer`.
    #[arg(long, value_name = "JUDGE", default_value = "builtin")]
    judge: JudgeChoice,
    /// With --judge model: spend at most this much, in the currency of models.currency. Judgments after
    /// that are counted as unknown.
    #[arg(long, value_name = "AMOUNT", default_value_t = 1.0, value_parser = parse_amount)]
    max_cost: f64,
    /// With --judge model: call it at most N times.
    #[arg(long, value_name = "N")]
    max_calls: Option<u64>,
    /// With --judge model: keep its answers in this file, and do not ask again for those already in it. If
    /// omitted: replay-answers.jsonl beside the database.
    #[arg(long, value_name = "FILE")]
    cache: Option<PathBuf>,
    /// With --judge model: replay up to N channels at once.
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = value_parser!(u64).range(1..=64))]
    parallel: u64,
    /// With --judge model: do not ask to confirm the cost estimate.
    #[arg(long)]
    yes: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum JudgeChoice {
    Silent,
    Speak,
    Builtin,
    Model,
    Recorded(PathBuf),
}

impl FromStr for JudgeChoice {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "silent" => Ok(JudgeChoice::Silent),
            "speak" => Ok(JudgeChoice::Speak),
            "builtin" => Ok(JudgeChoice::Builtin),
            "model" => Ok(JudgeChoice::Model),
            file if file.contains(['.', '/']) => Ok(JudgeChoice::Recorded(file.into())),
            _ => Err("it must be silent, speak, builtin, model, or a file with answers"),
        }
    }
}

/// A judge that is ready for use.
pub enum Judge {
    Plain(ReplayJudge),
    Recorded(Arc<RecordedAnswers>),
    Model(Box<PreparedModel>),
}

/// A model with limits on its calls and their cost.
pub struct PreparedModel {
    model: ShadowModel,
    cache_file: PathBuf,
    currency: String,
    threads: usize,
    skips_question: bool,
    /// The runtime that makes the calls.
    runtime: Runtime,
    /// `None` until a user has confirmed the estimate.
    judge: Option<Arc<ModelJudge>>,
}

impl JudgeArgs {
    pub fn prepare(
        &self,
        source: &ConfigSource,
        selection: ModelSelection<'_>,
    ) -> anyhow::Result<Judge> {
        let names_model =
            matches!(selection, ModelSelection::Override(_) | ModelSelection::Found { .. });
        anyhow::ensure!(
            !names_model || self.judge == JudgeChoice::Model,
            "--model needs --judge model"
        );
        match &self.judge {
            JudgeChoice::Silent => Ok(Judge::Plain(ReplayJudge::Silent)),
            JudgeChoice::Speak => Ok(Judge::Plain(ReplayJudge::Speak)),
            JudgeChoice::Builtin => Ok(Judge::Plain(ReplayJudge::Builtin)),
            JudgeChoice::Recorded(file) => Ok(Judge::Recorded(open_answers(file)?)),
            JudgeChoice::Model => {
                let config = source.load_without_database(selection)?.config;
                Ok(Judge::Model(Box::new(self.prepare_model(&config, source)?)))
            }
        }
    }

    fn prepare_model(
        &self,
        config: &Config,
        source: &ConfigSource,
    ) -> anyhow::Result<PreparedModel> {
        let mut resolved = config.minds.judgment.clone();
        // A fallback would give other answers at another price.
        resolved.fallback = None;
        anyhow::ensure!(
            resolved.model.id.provider().is_some(),
            "--judge model needs a model: name one in agents.judgment of the config, or with --model"
        );
        let mind = in_use::build_mind(&resolved, &config.persona(), &Clock::system())?;
        let llm = mind.models.all().into_iter().next().context("there is no model")?;
        let prices = config.prices();
        let is_priced = prices.cost(llm.model(), Default::default()).is_some();
        anyhow::ensure!(
            is_priced || self.max_calls.is_some(),
            "the price of {} is not known, so --max-cost cannot hold: name it in models.prices of the config (0 for a \
             model of your own), or limit the calls with --max-calls",
            llm.model()
        );
        let limits = CallBudget {
            prices,
            max_cost_micros: (self.max_cost * 1e6).round() as u64,
            max_calls: self.max_calls,
            timeout: config.minds.longest_call(),
        };
        let path = self.cache.clone().unwrap_or_else(|| default_cache(config, source));
        Ok(PreparedModel {
            model: ShadowModel {
                llm,
                parameters: format!("{:?}", resolved.model.params),
                cache: Arc::new(AnswerCache::open(&path)?),
                limits,
                runtime: None,
            },
            cache_file: path,
            currency: config.models.currency.0.clone(),
            threads: self.parallel as usize,
            skips_question: self.yes,
            runtime: Runtime::new().context("cannot start the runtime")?,
            judge: None,
        })
    }
}

/// Opens a file of recorded answers. Warns about lines that cannot be read.
pub fn open_answers(file: &Path) -> anyhow::Result<Arc<RecordedAnswers>> {
    const MAX_NAMED: usize = 10;
    let answers = RecordedAnswers::open(file)?;
    for (line, problem) in answers.bad_lines.iter().take(MAX_NAMED) {
        tell(&format!("{}, line {line}: {problem}; left out", file.display()));
    }
    if answers.bad_lines.len() > MAX_NAMED {
        tell(&format!("… and {} more", answers.bad_lines.len() - MAX_NAMED));
    }
    Ok(Arc::new(answers))
}

/// The default cache file: beside the database, or where a database file would be.
fn default_cache(config: &Config, source: &ConfigSource) -> PathBuf {
    const NAME: &str = "replay-answers.jsonl";
    let folder = match config.database_address() {
        DatabaseLocation::Sqlite(file) => file.parent().map(Path::to_owned),
        DatabaseLocation::Postgres(_) => {
            source.place().and_then(|file| file.parent().map(|folder| folder.join("data")))
        }
    };
    folder.unwrap_or_else(|| PathBuf::from("data")).join(NAME)
}

impl Judge {
    pub fn kind(&self) -> ReplayJudge {
        match self {
            Judge::Plain(judge) => *judge,
            Judge::Recorded(_) | Judge::Model(_) => ReplayJudge::Model,
        }
    }

    /// The model that judges, for computing the cost of its answers.
    pub fn model(&self) -> Option<PricedModel> {
        match self {
            Judge::Plain(_) | Judge::Recorded(_) => None,
            Judge::Model(model) => {
                let ShadowModel { llm, limits, .. } = &model.model;
                let (name, prices) = (llm.model().to_owned(), limits.prices.clone());
                Some(PricedModel { model: name, prices })
            }
        }
    }

    /// Who gives the verdicts, as a report says it.
    pub fn judged_by(&self) -> Option<JudgedBy> {
        match self {
            Judge::Plain(_) => None,
            Judge::Recorded(answers) => {
                Some(JudgedBy::Answers(answers.models.iter().cloned().collect()))
            }
            Judge::Model(model) => Some(JudgedBy::Model(model.model.llm.model().to_owned())),
        }
    }

    /// Counts the calls that a model would get for all policies, prints what they cost, and asks for confirmation.
    pub fn agree(
        &mut self,
        channels: &[RecordedChannel],
        policies: &[Policy],
        settings: &ReplaySettings,
        progress: &dyn Fn(u64),
    ) -> anyhow::Result<()> {
        match self {
            Judge::Plain(_) | Judge::Recorded(_) => Ok(()),
            Judge::Model(model) => model.agree(channels, policies, settings, progress),
        }
    }

    /// Creates a replay with this judge.
    pub fn replay<'a>(
        &self,
        policy: &'a Policy,
        settings: ReplaySettings,
    ) -> anyhow::Result<Replay<'a>> {
        let replay = Replay::new(policy, settings)?;
        Ok(match self {
            Judge::Plain(_) => replay,
            Judge::Recorded(answers) => replay.judged_by(answers.clone()),
            Judge::Model(model) => {
                let judge = model
                    .judge
                    .clone()
                    .context("the cost estimate was not confirmed; --yes skips the question")?;
                replay.judged_by(judge).on_threads(model.threads)
            }
        })
    }

    /// Reports what was asked and what stayed unknown.
    pub fn report(&self) {
        match self {
            Judge::Plain(_) => {}
            Judge::Recorded(answers) => {
                report_unknown(answers.counts().unknown, "the file has no answer")
            }
            Judge::Model(model) => model.report(),
        }
    }

    pub fn to_json(&self) -> Value {
        match self {
            Judge::Plain(judge) => json!({ "kind": format!("{judge:?}").to_lowercase() }),
            Judge::Recorded(answers) => json!({ "kind": "recorded", "counts": answers.counts() }),
            Judge::Model(model) => json!({
                "kind": "model",
                "model": model.model.llm.model(),
                "currency": model.currency,
                "counts": model.judge.as_ref().map(|judge| judge.counts()),
            }),
        }
    }
}

impl PreparedModel {
    fn agree(
        &mut self,
        channels: &[RecordedChannel],
        policies: &[Policy],
        settings: &ReplaySettings,
        progress: &dyn Fn(u64),
    ) -> anyhow::Result<()> {
        let judge = |mode| Arc::new(ModelJudge::new(self.model.clone(), mode));
        let dry = judge(AskMode::Dry);
        for policy in policies {
            let replay = Replay::new(policy, *settings)?.judged_by(dry.clone()).on_threads(1);
            replay.run(channels, None, &mut |channel, _| {
                progress(channel.rows.len() as u64);
                Ok(())
            })?;
        }
        let estimate = dry.counts();
        tell(&self.describe_estimate(&estimate));
        let is_terminal = std::io::stdin().is_terminal() && std::io::stderr().is_terminal();
        if estimate.calls > 0 && is_terminal && !self.skips_question {
            anyhow::ensure!(is_agreed()?, "nothing was asked");
        }
        self.judge = Some(judge(AskMode::Live(self.runtime.handle().clone())));
        Ok(())
    }

    fn describe_estimate(&self, estimate: &CallCounts) -> String {
        let (model, file) = (self.model.llm.model(), self.cache_file.display());
        if estimate.calls == 0 {
            return match estimate.from_cache {
                1 => format!("{model}: its only answer is in {file}"),
                all => format!("{model}: all {all} answers are in {file}"),
            };
        }
        let is_priced = self.model.limits.prices.cost(model, Default::default()).is_some();
        let cost = match is_priced {
            true => format!(
                "{} (at most {}, --max-cost)",
                money::about(estimate.cost_micros, &self.currency),
                money::exact(self.model.limits.max_cost_micros, &self.currency)
            ),
            false => "at an unknown price".to_owned(),
        };
        let most =
            self.model.limits.max_calls.map_or(String::new(), |most| format!(" ({most} at most)"));
        let times = number_of(counted::times, estimate.calls);
        let kept = match estimate.from_cache {
            1 => "1 answer is".to_owned(),
            kept => format!("{kept} answers are"),
        };
        format!(
            "{model} would be asked about {times}{most}, with {} tokens in and {} out: {cost}; {kept} in {file}",
            estimate.input_tokens, estimate.output_tokens
        )
    }

    fn report(&self) {
        let Some(counts) = self.judge.as_ref().map(|judge| judge.counts()) else { return };
        let CallCounts { calls, from_cache, .. } = counts;
        let is_priced =
            self.model.limits.prices.cost(self.model.llm.model(), Default::default()).is_some();
        let cost = match is_priced {
            true => money::spent(counts.cost_micros, &self.currency),
            false => "an unknown price".to_owned(),
        };
        let calls = number_of(counted::calls, calls);
        let kept = number_of(counted::answers, from_cache);
        tell(&format!("{}: {calls} for {cost}, {kept} from the cache", self.model.llm.model()));
        if let Some(failure) = &counts.failure {
            tell(&format!("a call failed: {}", strip_control_characters(failure)));
        }
        let why = match counts.is_cap_reached {
            true => "the cap was reached",
            false => "the model gave no answer",
        };
        report_unknown(counts.unknown, why);
    }
}

fn report_unknown(unknown: u64, why: &str) {
    let (judgments, they_are) = match unknown {
        0 => return,
        1 => ("1 judgment is".to_owned(), "it is"),
        _ => (format!("{unknown} judgments are"), "they are"),
    };
    tell(&format!(
        "{judgments} unknown, because {why}: {they_are} among the decisions that failed, and what would have been \
         said there is unknown"
    ));
}

fn is_agreed() -> anyhow::Result<bool> {
    eprint!("Go on? [y/N] ");
    std::io::stderr().flush()?;
    let mut answer = String::new();
    std::io::stdin().read_line(&mut answer).context("cannot read the answer")?;
    Ok(["y", "yes"].contains(&answer.trim().to_lowercase().as_str()))
}

fn parse_amount(text: &str) -> Result<f64, &'static str> {
    let amount = text.parse::<f64>().ok();
    amount
        .filter(|amount| (0.0..=1e9).contains(amount))
        .ok_or("it must be an amount of money, such as 0.50")
}
