//! `aizuchi gate`: shows what was learned from the judge's verdicts, or resets it. It reads the database read-only, so
//! it also works while an Aizuchi is running; a reset needs exclusive access to the database.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::str::FromStr;
use std::sync::Arc;

use anyhow::Context as _;
use clap::Args;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::cli::{log, print, strip_control_characters};
use crate::config::source::ConfigSource;
use crate::config::{Config, ModelSelection};
use crate::replay::gate_trial::{GateSavings, GateTarget, GateTrial, NothingLearned, SavedCalls};
use crate::replay::history::ChannelSource;
use crate::replay::input::{InputOptions, PrivateChannels, Recording};
use crate::replay::judge::recorded::RecordedAnswers;
use crate::replay::{Policy, ReplayJudge, ReplaySettings};
use crate::tune::figures::hindsight;
use aizuchi_core::chat::WorkspaceId;
use aizuchi_core::clock::Clock;
use aizuchi_core::decision::learned::{
    JudgedMoments, LearnedGate, MAX_MOMENTS, MIN_VERDICTS, MIN_YES, features,
};
use aizuchi_core::store::Store;
use aizuchi_core::store::archive::Archive;
use aizuchi_core::store::database::location::DatabaseLocation;
use aizuchi_core::store::order::Order;
use aizuchi_core::store::read_only::ReadOnlyDatabase;

/// The default of the largest share of missed verdicts, where the config sets none.
const DEFAULT_MISS: f64 = 0.02;

/// Show which judge calls a learned gate saves.
///
/// With `response.learned_gate`, Aizuchi learns from the verdicts of its judge which moments the judge always declines,
/// and stops asking about those. Without that setting, the command shows what the gate would save.
#[derive(Debug, Args)]
pub struct GateArgs {
    /// Try a gate on recorded messages, which may be any input of `replay`: it learns from their first half, and what it
    /// saves and misses is counted on the second.
    #[arg(long, value_name = "INPUT")]
    r#try: Option<PathBuf>,
    /// With --try: who judges. `builtin` uses the built-in rules; `hindsight` says yes to each question that nobody answered;
    /// or a file with recorded answers, as for `replay --judge`.
    #[arg(long, value_name = "JUDGE", default_value = "builtin", requires = "try")]
    judge: TrialJudge,
    /// With --try: the largest share of yes verdicts that the gate may miss.
    #[arg(long, value_name = "SHARE", default_value_t = DEFAULT_MISS, value_parser = parse_share, requires = "try")]
    miss: f64,
    /// Forget what was learned from verdicts and from how welcome posts were, and start learning again from later ones.
    /// Stop Aizuchi first.
    #[arg(long, conflicts_with = "try")]
    reset: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// Who judges when a gate is tried.
#[derive(Clone, Debug, PartialEq, Eq)]
enum TrialJudge {
    Builtin,
    Hindsight,
    Recorded(PathBuf),
}

impl FromStr for TrialJudge {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "builtin" => Ok(TrialJudge::Builtin),
            "hindsight" => Ok(TrialJudge::Hindsight),
            file if file.contains(['.', '/']) => Ok(TrialJudge::Recorded(file.into())),
            _ => Err("it must be builtin, hindsight, or a file with answers"),
        }
    }
}

fn parse_share(text: &str) -> Result<f64, &'static str> {
    let share = text.parse::<f64>().ok().filter(|share| (0.0..=0.5).contains(share));
    share.ok_or("it must be a share from 0 to 0.5, such as 0.02")
}

impl GateArgs {
    pub fn run(self, source: &ConfigSource) -> anyhow::Result<ExitCode> {
        if let Some(input) = &self.r#try {
            return self.run_trial(input);
        }
        let config = source.load(ModelSelection::NoModel)?.config;
        let runtime = tokio::runtime::Runtime::new().context("cannot start the runtime")?;
        let address = config.database_address();
        let gates = runtime.block_on(read_gates(&config, &address))?;
        if self.reset {
            runtime.block_on(forget(&address, gates.iter().map(|(workspace, _)| workspace)))?;
            print("Everything that was learned has been forgotten.")?;
        } else if self.json {
            let gates: Vec<Value> =
                gates.iter().map(|(workspace, gate)| to_json(workspace, gate, &config)).collect();
            print(&serde_json::to_string_pretty(&json!({ "gates": gates }))?)?;
        } else if gates.is_empty() {
            print("There are no verdicts yet.")?;
        } else {
            let lines: Vec<String> =
                gates.iter().map(|(workspace, gate)| describe(workspace, gate, &config)).collect();
            print(&lines.join("\n\n"))?;
        }
        Ok(ExitCode::SUCCESS)
    }
}

impl GateArgs {
    /// Tries a gate on recorded messages, with the defaults.
    fn run_trial(&self, input: &Path) -> anyhow::Result<ExitCode> {
        // Count unknown judgments instead of warning about each of them.
        log::init_plain("warn,aizuchi_core::runner=error");
        let policy = Policy::default_settings();
        let options = InputOptions {
            from: None,
            to: None,
            private: PrivateChannels::LeftOut,
            language: policy.config.language.own(),
        };
        let recording = Recording::open(input, &options, &|_| {})?;
        anyhow::ensure!(recording.channel_count() > 0, "{} holds no messages", input.display());
        let answers = match &self.judge {
            TrialJudge::Builtin => None,
            TrialJudge::Hindsight => Some(Arc::new(hindsight(&recording)?)),
            TrialJudge::Recorded(file) => Some(Arc::new(RecordedAnswers::open(file)?)),
        };
        let judge = if answers.is_none() { ReplayJudge::Builtin } else { ReplayJudge::Model };
        let settings = ReplaySettings { judge, latency_ms: 4000, seed: 1 };
        let trial = GateTrial::new(&recording, &policy, settings, answers, &|_| {})?;
        let savings =
            [GateTarget::Yes, GateTarget::Seen].map(|misses| trial.savings(misses, self.miss));
        if self.json {
            let savings = savings.map(|savings| savings_to_json(&savings));
            let trial = json!({ "savings": savings, "unknown": trial.unknown });
            print(&serde_json::to_string_pretty(&trial)?)?;
        } else {
            let savings = savings.iter().map(|savings| describe_savings(savings, self.miss));
            let paragraphs: Vec<String> = savings.chain(describe_unknown(trial.unknown)).collect();
            print(&paragraphs.join("\n\n"))?;
        }
        Ok(ExitCode::SUCCESS)
    }
}

fn describe_savings(savings: &GateSavings, miss: f64) -> String {
    let share = |part: usize, whole: usize| match whole {
        0 => "–".to_owned(),
        whole => percent(part as f64 / whole as f64),
    };
    let per_1000 = |calls: usize| match savings.messages {
        0 => "–".to_owned(),
        messages => format!("{:.1}", calls as f64 / messages as f64 * 1000.0),
    };
    let goal = match savings.misses {
        GateTarget::Yes => "It must not miss a yes:",
        GateTarget::Seen => "It must not miss a yes that had a visible effect:",
    };
    let &GateSavings { calls, yes, seen, .. } = savings;
    let ceiling = savings.ceiling.map_or("–".to_owned(), percent);
    let before = per_1000(calls);
    match savings.saved {
        Ok(SavedCalls { calls: saved, missed_yes, missed_seen }) => format!(
            "{goal}\n  judge calls per 1000 messages: {before} -> {} (saved: {}, at most {ceiling} if every verdict were \
             known)\n  missed: {missed_yes} of {yes} yes ({}), {missed_seen} of {seen} that were seen ({})",
            per_1000(calls - saved),
            share(saved, calls),
            share(missed_yes, yes),
            share(missed_seen, seen),
        ),
        Err(why) => format!(
            "{goal}\n  judge calls per 1000 messages: {before} (at most {ceiling} could be saved if every verdict were \
             known)\n  {}",
            describe_nothing_learned(why, savings.misses, miss),
        ),
    }
}

fn describe_unknown(moments: u64) -> Option<String> {
    let moments = match moments {
        0 => return None,
        1 => "1 moment".to_owned(),
        moments => format!("{moments} moments"),
    };
    Some(format!(
        "What the judge would have said is unknown at {moments}: it is neither learned from nor counted."
    ))
}

fn describe_nothing_learned(why: NothingLearned, misses: GateTarget, miss: f64) -> String {
    let what = match misses {
        GateTarget::Yes => "a yes",
        GateTarget::Seen => "a yes that had a visible effect",
    };
    match why {
        NothingLearned::TooFew { verdicts, kept } => format!(
            "Nothing was learned: there were {verdicts} verdicts, {kept} of them {what}. It takes {MIN_VERDICTS}, {MIN_YES} of \
             them {what}."
        ),
        NothingLearned::TooLate { verdicts, kept } => format!(
            "Nothing was learned in time: {verdicts} verdicts, {kept} of them {what}, were enough only at the very end."
        ),
        NothingLearned::NoThreshold { verdicts, kept } => format!(
            "Nothing was learned: with {verdicts} verdicts, {kept} of them {what}, nothing can be skipped without the risk \
             of missing more than {} of these.",
            percent(miss)
        ),
    }
}

/// The figures of a gate. Unknown ones are null.
fn savings_to_json(savings: &GateSavings) -> Value {
    let saved = savings.saved.ok();
    let nothing_learned = savings.saved.err().map(|why| match why {
        NothingLearned::TooFew { .. } => "too_few_verdicts",
        NothingLearned::TooLate { .. } => "too_late",
        NothingLearned::NoThreshold { .. } => "no_threshold",
    });
    json!({
        "misses": savings.misses,
        "messages": savings.messages,
        "calls": savings.calls,
        "yes": savings.yes,
        "seen": savings.seen,
        "saved": saved.map(|saved| saved.calls),
        "missed_yes": saved.map(|saved| saved.missed_yes),
        "missed_seen": saved.map(|saved| saved.missed_seen),
        "ceiling": savings.ceiling,
        "nothing_learned": nothing_learned,
    })
}

fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

/// Learns the gate of each workspace that has verdicts.
async fn read_gates(
    config: &Config,
    address: &DatabaseLocation,
) -> anyhow::Result<Vec<(WorkspaceId, LearnedGate)>> {
    let miss = config.response.learned_miss().unwrap_or(DEFAULT_MISS);
    let database = ReadOnlyDatabase::open(address).await?;
    let workspaces = database.workspaces().await?;
    let store = database.into_store();
    let mut gates = Vec::new();
    for workspace in workspaces {
        let total = store.count_judged_moments(&workspace).await?;
        if total > 0 {
            let newest = store.judged_moments(&workspace, MAX_MOMENTS).await?;
            let gate = LearnedGate::learn(&JudgedMoments { newest, total }, miss);
            gates.push((workspace, gate));
        }
    }
    Ok(gates)
}

async fn forget<'a>(
    address: &DatabaseLocation,
    workspaces: impl Iterator<Item = &'a WorkspaceId>,
) -> anyhow::Result<()> {
    let (store, writer) = address.open().await?;
    let stop = CancellationToken::new();
    let now = Clock::system().now();
    let forget = async {
        let mut result = Ok(());
        for workspace in workspaces {
            let order = Order::ForgetMoments { workspace: workspace.clone() };
            result = result.and(store.order(order.signed(""), now).await);
        }
        stop.cancel();
        result
    };
    let (writer_end, forgotten) = tokio::join!(writer.run(stop.clone()), forget);
    writer_end?;
    Ok(forgotten?)
}

fn describe(workspace: &WorkspaceId, gate: &LearnedGate, config: &Config) -> String {
    let training = &gate.training;
    let name = strip_control_characters(workspace.as_str());
    let judge = strip_control_characters(&training.judge);
    let head = match training.verdicts {
        0 => format!("{name}: fewer than {MIN_VERDICTS} verdicts, so nothing was learned"),
        verdicts => format!(
            "{name}: learned from {verdicts} verdicts of {judge}, {} of them yes (features {}, up to decision {})",
            training.yes,
            training.version,
            training.cutoff.map_or("–".to_owned(), |cutoff| cutoff.to_string()),
        ),
    };
    let does = match &gate.skipping {
        Some(skipping) => format!(
            "The gate {} {} of the judge's calls, and misses {} of its yes verdicts, {} at most (allowed: {}). To know that, it still asks about {} of what it could skip.",
            if config.response.learned_gate.is_some() { "saves" } else { "would save" },
            percent(skipping.threshold.saved()),
            percent(skipping.threshold.missed),
            percent(skipping.threshold.missed_at_most),
            percent(training.miss),
            percent(skipping.threshold.exploration),
        ),
        None if !training.has_enough() => {
            format!("Nothing is skipped: it takes {MIN_VERDICTS} verdicts, {MIN_YES} of them yes.")
        }
        None => format!(
            "Nothing is skipped: with these verdicts, nothing can be skipped without missing more than {} of the yes verdicts.",
            percent(training.miss)
        ),
    };
    let state = match config.response.learned_gate {
        Some(_) if gate.skipping.is_some() => {
            "\nNothing is skipped in channels that only observe, and none of another judge's calls."
        }
        Some(_) => "",
        None => "\nresponse.learned_gate is not set, so every moment is judged.",
    };
    format!("{head}\n{does}{state}")
}

fn to_json(workspace: &WorkspaceId, gate: &LearnedGate, config: &Config) -> Value {
    let (training, skipping) = (&gate.training, &gate.skipping);
    let threshold = skipping.as_ref().map(|skipping| skipping.threshold);
    json!({
        "workspace": workspace.as_str(),
        "is_on": config.response.learned_gate.is_some() && skipping.is_some(),
        "judge": &*training.judge,
        "features": { "version": training.version, "names": &features::NAMES[..] },
        "verdicts": training.verdicts,
        "yes": training.yes,
        "explored": training.explored,
        "cutoff": training.cutoff,
        "miss": training.miss,
        "skipped": threshold.map(|threshold| threshold.saved()),
        "exploration": threshold.map(|threshold| threshold.exploration),
        "missed": threshold.map(|threshold| threshold.missed),
        "missed_at_most": threshold.map(|threshold| threshold.missed_at_most),
    })
}
