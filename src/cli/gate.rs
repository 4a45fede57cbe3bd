//! `aizuchi gate`: what was learned from the judge's verdicts, and forgets it. It reads the database read-only, so it also
//! works while an Aizuchi is running; to forget it needs the database for itself.

use std::process::ExitCode;

use anyhow::Context as _;
use clap::Args;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::cli::{print, strip_control_characters};
use crate::config::source::ConfigSource;
use crate::config::{Config, ModelSelection};
use aizuchi_core::chat::WorkspaceId;
use aizuchi_core::clock::Clock;
use aizuchi_core::decision::learned::{
    JudgedMoments, LearnedGate, MAX_MOMENTS, MIN_VERDICTS, MIN_YES, features,
};
use aizuchi_core::store::database::location::DatabaseLocation;
use aizuchi_core::store::database::read_only::ReadOnlyDatabase;
use aizuchi_core::store::{Archive, Order, Store};

/// What `aizuchi gate` supposes where the config sets nothing.
const DEFAULT_MISS: f64 = 0.02;

/// Show which judge calls a learned gate saves.
///
/// With `response.learned_gate` Aizuchi learns from its judge's verdicts which moments the judge always declines, and asks no
/// more about those. Without that setting this shows what the gate would save.
#[derive(Debug, Args)]
pub struct GateArgs {
    /// Forget what was learned, and learn anew from later verdicts. Stop Aizuchi first.
    #[arg(long)]
    reset: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

impl GateArgs {
    pub fn run(self, source: &ConfigSource) -> anyhow::Result<ExitCode> {
        let config = source.load(ModelSelection::NoModel)?.config;
        let runtime = tokio::runtime::Runtime::new().context("starting the runtime")?;
        let address = config.database_address();
        let gates = runtime.block_on(read_gates(&config, &address))?;
        if self.reset {
            runtime.block_on(forget(&address, gates.iter().map(|(workspace, _)| workspace)))?;
            print("What was learned is forgotten.")?;
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

/// The gate of each workspace with verdicts.
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
            result = result.and(store.order(order, now).await);
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
            "{name}: learned from {verdicts} verdicts of {judge}, {} of them a yes (features {}, up to decision {})",
            training.yes,
            training.version,
            training.cutoff.map_or("–".to_owned(), |cutoff| cutoff.to_string()),
        ),
    };
    let percent = |share: f64| format!("{:.1} %", share * 100.0);
    let does = match &gate.skipping {
        Some(skipping) => format!(
            "It {} {} of the judge's calls, and misses {} of its yes, {} at most (allowed: {}).",
            if config.response.learned_gate.is_some() { "saves" } else { "would save" },
            percent(skipping.skipped),
            percent(skipping.missed),
            percent(skipping.missed_at_most),
            percent(training.miss),
        ),
        None if training.yes < MIN_YES => {
            format!(
                "Nothing is skipped: it takes {MIN_VERDICTS} verdicts with {MIN_YES} yes among them."
            )
        }
        None => format!(
            "Nothing is skipped: by these verdicts nothing can be without missing more than {} of the yes.",
            percent(training.miss)
        ),
    };
    let state = match config.response.learned_gate {
        Some(_) => "",
        None => "\nresponse.learned_gate is not set, so every moment is judged.",
    };
    format!("{head}\n{does}{state}")
}

fn to_json(workspace: &WorkspaceId, gate: &LearnedGate, config: &Config) -> Value {
    let (training, skipping) = (&gate.training, &gate.skipping);
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
        "skipped": skipping.as_ref().map(|skipping| skipping.skipped),
        "missed": skipping.as_ref().map(|skipping| skipping.missed),
        "missed_at_most": skipping.as_ref().map(|skipping| skipping.missed_at_most),
    })
}
