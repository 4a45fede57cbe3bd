//! Trains each workspace's gate on its ledger, at startup and when there are enough new verdicts. If only a share of
//! unwelcome posts is tolerated, it also learns how welcome posts were in each channel.

use std::collections::BTreeMap;
use std::sync::Arc;

use aizuchi_model::chat::{ChannelId, Cursor, WorkspaceId};
use aizuchi_model::clock::Clock;
use aizuchi_model::decision::learned::{
    JudgedMoments, LearnedGate, LearnedGates, MAX_MOMENTS, learned_at,
};
use aizuchi_model::decision::moved_threshold::{self, MovedThresholds, ThresholdAim, moved};
use aizuchi_model::decision::tolerance::{self, ChannelLabels, KnownWelcome, LABEL_AGE};
use aizuchi_model::decision::welcome::RatedChoice;
use aizuchi_model::reloadable::Reloadable;
use aizuchi_model::rules::Rulebook;
use aizuchi_model::rules::place::Place;
use aizuchi_store::archive::Archive;
use aizuchi_store::figures::{ANSWER_WINDOW, ChoiceAftermath, WorkspacePeriod};
use aizuchi_store::order_journal::{OrderJournalQuery, OrderKind};
use aizuchi_store::{Cursors, StoreError};
use futures_util::future::BoxFuture;
use jiff::{SignedDuration, Timestamp};
use serde_json::json;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

/// The interval between checks for new verdicts.
const INTERVAL: SignedDuration = SignedDuration::from_mins(5);

pub struct Learner {
    pub archive: Arc<dyn Archive>,
    /// The store of the current thresholds.
    pub cursors: Arc<dyn Cursors>,
    pub clock: Clock,
    /// The share of the judge's yes verdicts that may be missed. `None` disables the gates.
    pub miss: Option<f64>,
    /// Determines which channels tolerate only a share of unwelcome posts.
    pub rulebook: Reloadable<Rulebook>,
    /// Where the trained gates are published.
    pub gates: Arc<LearnedGates>,
}

impl Learner {
    pub fn run(&self, shutdown: CancellationToken) -> BoxFuture<'_, anyhow::Result<()>> {
        Box::pin(async move {
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
        })
    }

    /// Trains the gates of the workspaces that have new verdicts.
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

    /// Reads how welcome a workspace's posts were, and moves its thresholds.
    async fn read_labels(&self, workspace: &WorkspaceId) -> Result<(), StoreError> {
        let now = self.clock.now();
        let labels = welcome_labels(&*self.archive, workspace, now).await?;
        let begin = label_begin(&*self.archive, workspace, now).await?;
        let stored = self.stored_thresholds(workspace).await?;
        let aims = self.aims(workspace, &labels).await?;
        let thresholds = moved(&stored, &aims, (begin, now));
        if thresholds != stored {
            let (workspace, stream) = (workspace.clone(), moved_threshold::STREAM.into());
            let value = json!(thresholds).to_string().into();
            self.cursors.put_cursor(Cursor { workspace, stream, value }).await?;
        }
        let known = KnownWelcome { labels, moved: Some(thresholds) };
        self.gates.labels.replace(workspace.clone(), known);
        Ok(())
    }

    async fn stored_thresholds(
        &self,
        workspace: &WorkspaceId,
    ) -> Result<MovedThresholds, StoreError> {
        let stored = self.cursors.cursors(workspace).await?;
        let stored = stored.iter().find(|cursor| *cursor.stream == *moved_threshold::STREAM);
        // Unreadable thresholds were written by another version: they start over at the configured values.
        let stored = stored.and_then(|cursor| serde_json::from_str(&cursor.value).ok());
        Ok(stored.unwrap_or_default())
    }

    /// Returns the targets of the thresholds of the channels that tolerate only a share of unwelcome posts.
    async fn aims(
        &self,
        workspace: &WorkspaceId,
        labels: &ChannelLabels,
    ) -> Result<BTreeMap<ChannelId, ThresholdAim>, StoreError> {
        let channels = self.archive.channels(workspace).await?;
        let rulebook = self.rulebook.read();
        let aims = channels.into_iter().filter_map(|channel| {
            let rules = rulebook.rules_in(&Place::of_channel(&channel));
            let (tolerance, min_confidence) = (rules.tolerance?, rules.min_confidence);
            let labels = labels.get(&channel.id).map(Vec::as_slice).unwrap_or_default();
            let settles_at = tolerance::threshold(labels, min_confidence, tolerance);
            Some((channel.id, ThresholdAim { min_confidence, settles_at }))
        });
        Ok(aims.collect())
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
                workspace = %workspace, verdicts, yes, saved = skipping.threshold.saved(),
                missed_at_most = skipping.threshold.missed_at_most, "learned which moments the judge declines"
            ),
            None => {
                info!(workspace = %workspace, verdicts, yes, "the ledger shows no moment to skip yet")
            }
        }
        self.gates.replace(workspace.clone(), gate);
        Ok(())
    }
}

/// Returns how welcome a workspace's posts were, as far as that is known.
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
    // For newer choices, this is not known yet.
    let settled = found.iter().filter(|choice| choice.at <= now - ANSWER_WINDOW);
    let choices: Vec<RatedChoice> = settled.map(ChoiceAftermath::rate).collect();
    let marks = archive.marks_since(workspace, since).await?;
    Ok(tolerance::labels(&choices, &marks))
}

/// Returns the start of the period in which ratings of a workspace's posts count: [`LABEL_AGE`] ago, or when a user
/// restarted the learning.
pub async fn label_begin(
    archive: &dyn Archive,
    workspace: &WorkspaceId,
    now: Timestamp,
) -> Result<Timestamp, StoreError> {
    let oldest = now - LABEL_AGE;
    let workspace = Some(workspace.clone());
    let kind = Some(OrderKind::ForgetMoments);
    let query = OrderJournalQuery { workspace, kind, before: None, limit: 1 };
    let newest = archive.order_journal(&query).await?;
    Ok(newest.first().map_or(oldest, |anew| anew.at.max(oldest)))
}
