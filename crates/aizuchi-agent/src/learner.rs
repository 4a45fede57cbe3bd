//! If only a share of unwelcome posts is tolerated, reads how welcome posts were in each channel, and moves the
//! thresholds of confidence.

use std::collections::BTreeMap;
use std::sync::Arc;

use aizuchi_model::chat::{ChannelId, Cursor, WorkspaceId};
use aizuchi_model::clock::Clock;
use aizuchi_model::decision::moved_threshold::{self, MovedThresholds, ThresholdAim, moved};
use aizuchi_model::decision::tolerance::{
    self, ChannelLabels, KnownWelcome, LABEL_AGE, WelcomeLabels,
};
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
use tracing::warn;

/// The interval between checks for new ratings.
const INTERVAL: SignedDuration = SignedDuration::from_mins(5);

pub struct Learner {
    pub archive: Arc<dyn Archive>,
    /// The store of the current thresholds.
    pub cursors: Arc<dyn Cursors>,
    pub clock: Clock,
    /// Determines which channels tolerate only a share of unwelcome posts.
    pub rulebook: Reloadable<Rulebook>,
    /// Where the labels and thresholds are published.
    pub welcome_labels: Arc<WelcomeLabels>,
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

    /// Moves the thresholds of all workspaces.
    pub async fn step(&self) -> Result<(), StoreError> {
        if !self.rulebook.read().has_tolerance() {
            return Ok(());
        }
        for workspace in self.archive.workspaces().await? {
            self.read_labels(&workspace).await?;
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
        self.welcome_labels.replace(workspace.clone(), known);
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
