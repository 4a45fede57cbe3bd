//! `aizuchi gate`: shows what was learned from the judge's verdicts, or resets it. It reads the database read-only, so
//! it also works while an Aizuchi is running; a reset needs exclusive access to the database.

use aizuchi_config::source::ConfigSource;
use aizuchi_config::{Config, ModelSelection};
use aizuchi_model::chat::{WorkspaceId, strip_control_characters};
use aizuchi_model::clock::Clock;
use aizuchi_model::decision::learned::{
    JudgedMoments, LearnedGate, MAX_MOMENTS, MIN_VERDICTS, MIN_YES, features,
};
use aizuchi_store::Store;
use aizuchi_store::archive::Archive;
use aizuchi_store::database::DatabaseStore;
use aizuchi_store::database::location::DatabaseLocation;
use aizuchi_store::order::Order;
use aizuchi_store::read_only::ReadOnlyDatabase;
use clap::Args;
use serde_json::{Value, json};

use crate::cli::{block_on, print, print_json, with_store};

/// The default of the largest share of missed verdicts, where the config sets none.
const DEFAULT_MISS: f64 = 0.02;

/// Show which judge calls a learned gate saves.
///
/// With `response.learned_gate`, Aizuchi learns from the verdicts of its judge which moments the judge always declines,
/// and stops asking about those. Without that setting, the command shows what the gate would save.
#[derive(Debug, Args)]
pub struct GateArgs {
    /// Forget what was learned from verdicts and from how welcome posts were, and start learning again from later ones.
    /// Stop Aizuchi first.
    #[arg(long)]
    reset: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

impl GateArgs {
    pub fn run(self, source: &ConfigSource) -> anyhow::Result<()> {
        let config = source.load(ModelSelection::NoModel)?.config;
        let address = config.database_address();
        let gates = block_on(read_gates(&config, &address))?;
        if self.reset {
            block_on(forget(&address, gates))?;
            print("Everything that was learned has been forgotten.")
        } else if self.json {
            let gates: Vec<Value> =
                gates.iter().map(|(workspace, gate)| to_json(workspace, gate, &config)).collect();
            print_json(&json!({ "gates": gates }))
        } else if gates.is_empty() {
            print("There are no verdicts yet.")
        } else {
            let lines: Vec<String> =
                gates.iter().map(|(workspace, gate)| describe(workspace, gate, &config)).collect();
            print(&lines.join("\n\n"))
        }
    }
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

async fn forget(
    address: &DatabaseLocation,
    gates: Vec<(WorkspaceId, LearnedGate)>,
) -> anyhow::Result<()> {
    let now = Clock::system().now();
    let forget = async |store: DatabaseStore| {
        let mut result = Ok(());
        for (workspace, _) in gates {
            let forgotten = store.order(Order::ForgetMoments { workspace }.signed(""), now).await;
            result = result.and(forgotten.map(drop));
        }
        Ok(result?)
    };
    with_store(address, forget).await
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
