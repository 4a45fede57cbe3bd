//! Learns each workspace's gate from its ledger: at the start, and when there are enough new verdicts; and how welcome
//! its words were in each channel, where only a share of unwelcome ones is tolerated.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use crate::chat::WorkspaceId;
use crate::clock::Clock;
use crate::current::Current;
use crate::decision::learned::{JudgedMoments, LearnedGate, LearnedGates, MAX_MOMENTS, learned_at};
use crate::decision::tolerance::{self, ChannelLabels, LABEL_AGE};
use crate::decision::welcome::RatedChoice;
use crate::rules::Rulebook;
use crate::store::StoreError;
use crate::store::archive::Archive;
use crate::store::figures::{ANSWER_WINDOW, ChoiceAftermath, WorkspacePeriod};
use crate::store::order_journal::{OrderJournalQuery, OrderKind};

/// How often it looks for new verdicts.
const INTERVAL: SignedDuration = SignedDuration::from_mins(5);
/// Of the orders that were given, the newest so many are searched for one to learn anew.
const MAX_ORDERS: usize = 1000;

pub struct Learner {
    pub archive: Arc<dyn Archive>,
    pub clock: Clock,
    /// The share of the judge's yes that may be missed. `None` learns nothing.
    pub miss: Option<f64>,
    /// Which channels tolerate only a share of unwelcome words.
    pub rulebook: Current<Rulebook>,
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
        let has_tolerance = self.rulebook.read().has_tolerance();
        if self.miss.is_none() && !has_tolerance {
            return Ok(());
        }
        for workspace in self.archive.workspaces().await? {
            if let Some(miss) = self.miss {
                self.learn(&workspace, miss).await?;
            }
            if has_tolerance {
                self.read_labels(&workspace).await?;
            }
        }
        Ok(())
    }

    /// Reads how welcome a workspace's words were.
    async fn read_labels(&self, workspace: &WorkspaceId) -> Result<(), StoreError> {
        let labels = welcome_labels(&*self.archive, workspace, self.clock.now()).await?;
        self.gates.labels.replace(workspace.clone(), labels);
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

/// How welcome a workspace's words were, as far as that is known by now.
pub async fn welcome_labels(
    archive: &dyn Archive,
    workspace: &WorkspaceId,
    now: Timestamp,
) -> Result<ChannelLabels, StoreError> {
    let since = label_begin(archive, workspace, now).await?;
    let period = WorkspacePeriod {
        workspace: workspace.clone(),
        since,
        until: now,
        offset: SignedDuration::ZERO,
    };
    let found = archive.aftermaths(&period).await?;
    // Of newer ones nobody knows yet.
    let settled = found.iter().filter(|choice| choice.at <= now - ANSWER_WINDOW);
    let choices: Vec<RatedChoice> = settled.map(ChoiceAftermath::rate).collect();
    let marks = archive.marks_since(workspace, since).await?;
    Ok(tolerance::labels(&choices, &marks))
}

/// Since when it counts how welcome a workspace's words were: for [`LABEL_AGE`], or since somebody had it learn anew.
pub async fn label_begin(
    archive: &dyn Archive,
    workspace: &WorkspaceId,
    now: Timestamp,
) -> Result<Timestamp, StoreError> {
    let query =
        OrderJournalQuery { workspace: Some(workspace.clone()), before: None, limit: MAX_ORDERS };
    let orders = archive.order_journal(&query).await?;
    let anew = orders.iter().find(|given| given.record.kind == OrderKind::ForgetMoments);
    let oldest = now - LABEL_AGE;
    Ok(anew.map_or(oldest, |given| given.at.max(oldest)))
}
