//! Learns each workspace's gate from its ledger: at the start, and when there are enough new verdicts.

use std::sync::Arc;

use jiff::SignedDuration;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use crate::chat::WorkspaceId;
use crate::clock::Clock;
use crate::decision::learned::{JudgedMoments, LearnedGate, LearnedGates, MAX_MOMENTS, learned_at};
use crate::store::{Archive, StoreError};

/// How often it looks for new verdicts.
const INTERVAL: SignedDuration = SignedDuration::from_mins(5);

pub struct Learner {
    pub archive: Arc<dyn Archive>,
    pub clock: Clock,
    /// The share of the judge's yes that may be missed. `None` learns nothing.
    pub miss: Option<f64>,
    /// Where the gates are read.
    pub gates: Arc<LearnedGates>,
}

impl Learner {
    pub async fn run(&self, shutdown: CancellationToken) -> anyhow::Result<()> {
        while !shutdown.is_cancelled() {
            if let Err(error) = self.step().await {
                warn!(error = %error, wait = ?INTERVAL, "learning from the ledger failed; retrying");
            }
            tokio::select! {
                () = shutdown.cancelled() => {}
                () = self.clock.sleep_until(self.clock.now() + INTERVAL) => {}
            }
        }
        Ok(())
    }

    /// Learns the gates of the workspaces that have new verdicts.
    pub async fn step(&self) -> Result<(), StoreError> {
        let Some(miss) = self.miss else { return Ok(()) };
        for workspace in self.archive.workspaces().await? {
            self.learn(&workspace, miss).await?;
        }
        Ok(())
    }

    async fn learn(&self, workspace: &WorkspaceId, miss: f64) -> Result<(), StoreError> {
        let total = self.archive.count_judged_moments(workspace).await?;
        let known = self.gates.read(workspace);
        if known.is_some_and(|gate| gate.training.total == learned_at(total)) {
            return Ok(());
        }
        let newest = self.archive.judged_moments(workspace, MAX_MOMENTS).await?;
        let moments = JudgedMoments { newest, total };
        let gate = LearnedGate::learn(&moments, miss);
        let (verdicts, yes) = (gate.training.verdicts, gate.training.yes);
        match &gate.skipping {
            Some(skipping) => info!(
                workspace = %workspace, verdicts, yes, skipped = skipping.skipped,
                missed_at_most = skipping.missed_at_most, "learned which moments the judge declines"
            ),
            None => {
                info!(workspace = %workspace, verdicts, yes, "the ledger shows no moment to skip yet")
            }
        }
        self.gates.replace(workspace.clone(), gate);
        Ok(())
    }
}
