//! Runs the backfill of all channels of a platform. Each channel is read on its own, so that a failing one does not
//! block others, and a conversation that a step waits for is read ahead of the queue.

use std::collections::BTreeSet;

use aizuchi_agent::metrics::labels::PlatformTask;
use aizuchi_model::chat::ChannelId;
use futures_util::stream::{FuturesUnordered, StreamExt};
use jiff::{SignedDuration, Timestamp};
use tracing::{debug, info, warn};

use crate::backfill_queue::BackfillTarget;
use crate::channel_history::{BackfillParts, ChannelHistory};
use crate::incidents::Panicked;
use crate::missed_deletions::run_deletion_check;

/// The maximum number of conversations that are read at once because a step waits for them.
const MAX_PRIORITIZED: usize = 32;
/// The number of channels between two log entries about the progress.
const LOG_EVERY_CHANNELS: usize = 20;

/// Backfills the queued channels, and all channels after each gap in the connection. Never ends.
pub async fn run_backfill(history: &dyn ChannelHistory, advance_interval: SignedDuration) {
    let BackfillParts { queue, connection, inbox, .. } = history.parts();
    let clock = &inbox.clock;
    let mut changes = connection.subscribe();
    let mut unbroken_since = None;
    let mut reading = FuturesUnordered::new();
    let mut advance_at = clock.now() + advance_interval;
    loop {
        let since = changes.borrow_and_update().connected_since;
        if since.is_some() && since != unbroken_since {
            unbroken_since = since;
            queue.restart();
            history.enqueue_channels();
        }
        while reading.len() < history.max_concurrent()
            && let Some(since) = since
            && let Some(channel) = queue.pop(clock.now())
        {
            reading.push(read_channel(history, channel, since));
        }
        let has_room = since.is_some() && reading.len() < history.max_concurrent();
        let read_at = queue.next_at().filter(|_| has_room);
        tokio::select! {
            biased;
            Some(()) = reading.next(), if !reading.is_empty() => {}
            () = queue.added.notified() => {}
            _ = changes.changed() => {}
            () = clock.sleep_until(read_at.map_or(advance_at, |at| at.min(advance_at))) => {}
        }
        if clock.now() >= advance_at {
            advance_at = clock.now() + advance_interval;
            // A gap may have begun that this loop has not seen yet; no cursor may pass it.
            if let Some(since) = unbroken_since
                && connection.state().connected_since == unbroken_since
            {
                history.advance_cursors(since).await;
            }
        }
    }
}

/// Backfills the conversations that a due step waits for, ahead of the queue. Never ends.
pub async fn run_prioritized_backfill(history: &dyn ChannelHistory) {
    let BackfillParts { queue, connection, inbox, .. } = history.parts();
    let mut reading = FuturesUnordered::new();
    let mut targets = BTreeSet::new();
    loop {
        while reading.len() < MAX_PRIORITIZED
            && let Some(since) = connection.state().connected_since
            && let Some(target) = queue.pop_prioritized(inbox.clock.now())
        {
            // A target may be prioritized again while it is being read.
            if !queue.is_complete(&target, since) && targets.insert(target.clone()) {
                reading.push(read_target(history, target, since));
            }
        }
        tokio::select! {
            biased;
            Some(target) = reading.next(), if !reading.is_empty() => {
                targets.remove(&target);
            }
            () = queue.prioritized.notified(), if reading.len() < MAX_PRIORITIZED => {}
        }
    }
}

/// Runs the deletion checks that no backfill runs itself, sequentially. Never ends.
pub async fn run_deletion_checks(history: &dyn ChannelHistory) {
    let BackfillParts { platform, queue, connection, inbox, .. } = history.parts();
    let (checks, clock) = (&queue.deletion_checks, &inbox.clock);
    let mut changes = connection.subscribe();
    loop {
        let is_connected = changes.borrow_and_update().connected_since.is_some();
        // A claim can only be released by running it.
        let claimed = if is_connected { checks.claim_next(clock.now()) } else { None };
        if let Some((workspace, channel)) = claimed {
            info!(platform, %channel, "looking for missed deletions");
            let check = run_deletion_check(history, &workspace, &channel, None);
            if let Err(error) = contain(history, &channel, check).await {
                let error = format!("{error:#}");
                warn!(platform, %channel, error, "cannot look for missed deletions; retrying later");
            }
            continue;
        }
        let next = checks.next_at().filter(|_| is_connected).unwrap_or(Timestamp::MAX);
        tokio::select! {
            biased;
            () = checks.added.notified() => {}
            _ = changes.changed() => {}
            () = clock.sleep_until(next) => {}
        }
    }
}

async fn read_channel(history: &dyn ChannelHistory, channel: ChannelId, since: Timestamp) {
    let BackfillParts { platform, queue, inbox, .. } = history.parts();
    match contain(history, &channel, history.read_channel(&channel, since)).await {
        Ok(new) => {
            queue.finish(&channel);
            debug!(platform, %channel, count = new, "backfilled a channel");
        }
        Err(error) => {
            let error = format!("{error:#}");
            let retry_at = queue.fail(&channel, inbox.clock.now(), &error);
            warn!(
                platform,
                %channel,
                error,
                %retry_at,
                "the backfill of a channel failed; the other channels go on"
            );
        }
    }
    match (queue.remaining(), queue.failing()) {
        (0, failing) if failing.is_empty() => info!(platform, "backfilled all channels"),
        (0, failing) => warn!(
            platform,
            count = failing.len(),
            channels = ?failing.into_keys().collect::<Vec<_>>(),
            "backfilled all channels but those that cannot be read"
        ),
        (left, _) if left.is_multiple_of(LOG_EVERY_CHANNELS) => {
            info!(platform, left, "backfilling channels");
        }
        (_, _) => {}
    }
}

async fn read_target(
    history: &dyn ChannelHistory,
    target: BackfillTarget,
    since: Timestamp,
) -> BackfillTarget {
    let BackfillParts { platform, queue, inbox, .. } = history.parts();
    match contain(history, &target.0, history.read_target(&target, since)).await {
        Ok(()) => queue.mark_complete(target.clone(), since),
        // The waiting step asks again.
        Err(error) => {
            queue.fail_target(&target, inbox.clock.now());
            warn!(
                platform,
                channel = %target.0,
                error = %format_args!("{error:#}"),
                "the priority backfill of a conversation failed"
            );
        }
    }
    target
}

/// Confines a panic while reading one channel: it counts as a failure of that channel alone.
async fn contain<T>(
    history: &dyn ChannelHistory,
    channel: &ChannelId,
    work: impl Future<Output = anyhow::Result<T>>,
) -> anyhow::Result<T> {
    let BackfillParts { queue, inbox, incidents, .. } = history.parts();
    incidents.contain(PlatformTask::Backfill, work).await.unwrap_or_else(|Panicked| {
        // The work may have been a deletion check.
        queue.deletion_checks.release(channel, inbox.clock.now());
        Err(anyhow::anyhow!("a defect in the program"))
    })
}
