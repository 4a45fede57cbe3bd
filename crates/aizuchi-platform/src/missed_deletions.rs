//! Finds deletions during a gap. A platform does not report them later, so each stored message that is missing from a
//! history is looked up once more, however many there are, and is forgotten if the platform no longer has it.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use aizuchi_model::chat::{ChannelId, Deletion, Heard, Message, MessageId, WorkspaceId};
use aizuchi_model::platform::backfill_progress::CheckProgress;
use aizuchi_store::query::{MessageQuery, MessageRange};
use futures_util::stream::{FuturesUnordered, TryStreamExt};
use jiff::{SignedDuration, Timestamp};
use tracing::info;

use crate::channel_history::{BackfillParts, ChannelHistory};
use crate::deletion_check::DeletionCheck;
use crate::deletion_checks::CheckRunner;

/// The number of stored messages that are compared between two updates of the cursor.
const CHUNK_SIZE: usize = 500;
/// The maximum number of deletions that are heard at once, so that one commit stores many.
const MAX_CONCURRENT: usize = 64;
/// With more suspects than this, the channel counts as read before all of them have been looked up.
const MAX_URGENT_SUSPECTS: usize = 1_000;

/// The stored messages of a channel that may have been deleted.
pub enum Suspects {
    /// These messages, which were stored before the history was read, are missing from it.
    Known(Vec<Arc<Message>>),
    /// There were too many messages to compare them with the history.
    Unknown(DeletionCheck),
}

/// Looks for deletions among the suspects: now, or in the background if that takes long. Either way, it is resumed
/// after a restart.
pub async fn check_suspects(
    history: &dyn ChannelHistory,
    workspace: &WorkspaceId,
    channel: &ChannelId,
    suspects: Suspects,
) -> anyhow::Result<()> {
    let (check, runner, suspects) = match suspects {
        Suspects::Unknown(check) => (check, CheckRunner::Background, HashSet::new()),
        Suspects::Known(suspects) => {
            let times = || suspects.iter().map(|message| message.at);
            let (Some(from), Some(until)) = (times().min(), times().max()) else { return Ok(()) };
            let runner = match suspects.len() {
                ..=MAX_URGENT_SUSPECTS => CheckRunner::Caller,
                _ => CheckRunner::Background,
            };
            let ids = suspects.iter().map(|message| message.id.clone()).collect();
            (DeletionCheck { from, until }, runner, ids)
        }
    };
    let BackfillParts { queue, cursors, inbox, .. } = history.parts();
    let (whole, is_callers) = queue.deletion_checks.begin(workspace, channel, check, runner);
    // Stored before it runs, so that a crash does not lose it.
    let stored =
        cursors.put_cursor(DeletionCheck::to_cursor(Some(whole), workspace, channel)).await;
    if !is_callers {
        return Ok(stored?);
    }
    if let Err(error) = stored {
        queue.deletion_checks.release(channel, inbox.clock.now());
        return Err(error.into());
    }
    // The suspects of an earlier check that is not finished are no longer known.
    let suspects = Some(&suspects).filter(|_| whole == check);
    run_deletion_check(history, workspace, channel, suspects).await
}

/// Runs the claimed check of a channel. If `suspects` are given, only those are looked up. A check that fails is
/// released.
pub async fn run_deletion_check(
    history: &dyn ChannelHistory,
    workspace: &WorkspaceId,
    channel: &ChannelId,
    suspects: Option<&HashSet<MessageId>>,
) -> anyhow::Result<()> {
    let checked = run_chunks(history, workspace, channel, suspects).await;
    if checked.is_err() {
        let BackfillParts { queue, inbox, .. } = history.parts();
        queue.deletion_checks.release(channel, inbox.clock.now());
    }
    checked
}

async fn run_chunks(
    history: &dyn ChannelHistory,
    workspace: &WorkspaceId,
    channel: &ChannelId,
    suspects: Option<&HashSet<MessageId>>,
) -> anyhow::Result<()> {
    let BackfillParts { platform, queue, cursors, .. } = history.parts();
    let mut rest = queue.deletion_checks.rest(channel);
    while let Some(check) = rest {
        let (next, found) = check_chunk(history, workspace, channel, check, suspects).await?;
        rest = queue.deletion_checks.advance(channel, check, next, found);
        cursors.put_cursor(DeletionCheck::to_cursor(rest, workspace, channel)).await?;
        let CheckProgress { compared, deleted } = found;
        info!(platform, %channel, compared, deleted, "looked for missed deletions");
    }
    Ok(())
}

/// Checks the oldest messages of a check, and returns the rest of it.
async fn check_chunk(
    history: &dyn ChannelHistory,
    workspace: &WorkspaceId,
    channel: &ChannelId,
    check: DeletionCheck,
    suspects: Option<&HashSet<MessageId>>,
) -> anyhow::Result<(Option<DeletionCheck>, CheckProgress)> {
    let from = check.from - SignedDuration::from_millis(1);
    let mut query = MessageQuery {
        workspace: workspace.clone(),
        channel: channel.clone(),
        thread: None,
        range: MessageRange::AfterTime(from),
        limit: CHUNK_SIZE,
    };
    let archive = history.parts().archive;
    let mut stored = archive.messages(query.clone()).await?;
    // Messages with the same timestamp are kept together, because the check resumes from a timestamp.
    while let Some(last) = stored.last().filter(|_| stored.len() >= CHUNK_SIZE)
        && last.message.at == check.from
    {
        query.range = MessageRange::After(last.message.id.clone());
        let more = archive.messages(query.clone()).await?;
        if more.is_empty() {
            break;
        }
        stored.extend(more);
    }
    let last_at = stored.last().map(|last| last.message.at);
    let next = last_at.filter(|at| stored.len() >= CHUNK_SIZE && *at <= check.until);
    let next = next.filter(|at| *at > check.from);
    let is_compared = |message: &Message| {
        message.at <= check.until && suspects.is_none_or(|suspects| suspects.contains(&message.id))
    };
    let messages = stored.into_iter().filter(|stored| !stored.is_deleted);
    let messages = messages.map(|stored| stored.message).filter(|it| is_compared(it)).collect();
    let found = hear_deletions(history, messages).await?;
    Ok((next.map(|from| DeletionCheck { from, ..check }), found))
}

/// Looks these messages up, and hears the deletion of those that the platform no longer has.
pub async fn hear_deletions(
    history: &dyn ChannelHistory,
    messages: Vec<Arc<Message>>,
) -> anyhow::Result<CheckProgress> {
    let inbox = history.parts().inbox;
    let mut progress = CheckProgress { compared: messages.len(), deleted: 0 };
    let mut conversations: BTreeMap<Option<MessageId>, Vec<Arc<Message>>> = BTreeMap::new();
    for message in messages {
        conversations.entry(message.conversation.thread.clone()).or_default().push(message);
    }
    for mut messages in conversations.into_values() {
        messages.sort_by_key(|message| message.at);
        let deleted = history.find_deleted(&messages).await?;
        progress.deleted += deleted.len();
        let now = inbox.clock.now();
        let mut in_flight = FuturesUnordered::new();
        for message in &deleted {
            if in_flight.len() == MAX_CONCURRENT {
                in_flight.try_next().await?;
            }
            in_flight.push(inbox.hear(to_deletion(message, now)));
        }
        while in_flight.try_next().await?.is_some() {}
    }
    Ok(progress)
}

fn to_deletion(message: &Message, at: Timestamp) -> Heard {
    let (conversation, message) = (message.conversation.clone(), message.id.clone());
    Heard::Deletion(Deletion { conversation, message, at })
}
