//! Backfill: reads what was posted while no connection was open. Each channel has a cursor that never passes a gap,
//! and a pass starts only after a connection is open, so no message is missed in between.
//!
//! Slack's history contains no past edits and deletions, and no thread replies. Edits and deletions are found by
//! comparing the history with what is stored; threads are read one by one.

pub mod limit;
pub mod pass;
mod page;
mod deletions;

use std::sync::Arc;

use aizuchi_model::chat::{ChannelId, Cursor, Message};
use aizuchi_platform::backfill_queue::BackfillTarget;
use aizuchi_platform::channel_history::{BackfillParts, ChannelHistory};
use aizuchi_platform::missed_deletions::{check_suspects, hear_deletions};
use aizuchi_store::StoreError;
use aizuchi_store::query::{MessageQuery, MessageRange};
use aizuchi_store::stored_message::StoredMessage;
use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};
use tracing::{Instrument as _, Span, info, info_span, warn};

use crate::SlackPlatform;
use crate::api::SlackApiError;
use crate::from_slack::{self, format_ts};
use crate::history::limit::{LIMITED_PAGE_SIZE, LimitChange};
use crate::ingest::IngestError;
use crate::settings::{EventTransport, ReplyPlacement};

/// How long Slack keeps redelivering an event.
const REDELIVERY_WINDOW: SignedDuration = SignedDuration::from_mins(10);
/// How far back a new channel is read if the history is rate-limited, when each page takes a minute.
const LIMITED_SPAN: SignedDuration = SignedDuration::from_hours(24);
/// The key of the cursor that stores whether Slack rate-limits this app's history, and its values.
pub(super) const LIMIT_KEY: &str = "history is capped";
pub(super) const LIMIT_ON: &str = "true";
const LIMIT_OFF: &str = "false";
/// A prioritized backfill starts this long before the cursor, because a pending step is not older. Threads with replies
/// this young are read again, because the replies may have been edited.
const CURSOR_OVERLAP: SignedDuration = SignedDuration::from_hours(1);
/// How many stored messages are examined to estimate whether a channel has enough of them for a probe.
const PROBE_MESSAGES: usize = 200;
/// How many channels are read concurrently. Slack allows about one call per second.
const MAX_CONCURRENT_CHANNELS: usize = 4;
/// The delay before a backfill after Slack has dropped events.
const RETRY_DELAY: SignedDuration = SignedDuration::from_secs(60);

#[async_trait]
impl ChannelHistory for SlackPlatform {
    fn parts(&self) -> BackfillParts<'_> {
        BackfillParts {
            platform: "Slack",
            queue: &self.backfill,
            connection: &self.connection,
            inbox: &self.inbox,
            archive: &*self.archive,
            cursors: &*self.cursors,
            incidents: &self.incidents,
        }
    }

    fn max_concurrent(&self) -> usize {
        if self.history_limit.is_limited() { 1 } else { MAX_CONCURRENT_CHANNELS }
    }

    fn enqueue_channels(&self) {
        // No cursor may advance past this gap until its channel has been read.
        self.unbroken_channels.lock().clear();
        self.history_limit.mark_stale();
        self.cache.joined().iter().for_each(|channel| self.backfill.enqueue(channel));
    }

    async fn read_channel(&self, channel: &ChannelId, since: Timestamp) -> anyhow::Result<usize> {
        // If this pass fails, the channel's cursor must stay where it is.
        self.unbroken_channels.lock().remove(channel);
        let span = self.span_for(channel);
        match self.backfill_channel(channel, since).instrument(span.clone()).await {
            Ok(new) => {
                // If another gap has ended in the meantime, the messages of that gap have not been read yet. After one
                // in which Slack refused the token, the connection is the same, and the channel is queued again.
                if self.connection.state().connected_since == Some(since)
                    && !self.backfill.is_queued(channel)
                {
                    self.unbroken_channels.lock().insert(channel.clone());
                }
                Ok(new)
            }
            Err(IngestError::Slack(SlackApiError::Refused(code))) => {
                // Without access to the history, the bot continues with live events only.
                self.backfill.mark_channel_complete(channel, since);
                span.in_scope(|| info!(error = code, "Slack refuses the history of a channel"));
                Ok(0)
            }
            Err(error) => Err(error.into()),
        }
    }

    async fn read_target(&self, target: &BackfillTarget, since: Timestamp) -> anyhow::Result<()> {
        let span = self.span_for(&target.0);
        match self.backfill_target(target, since).instrument(span).await {
            Ok(()) | Err(IngestError::Slack(SlackApiError::Refused(_))) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    async fn find_deleted(&self, messages: &[Arc<Message>]) -> anyhow::Result<Vec<Arc<Message>>> {
        Ok(self.find_deleted_messages(messages).await?)
    }

    async fn advance_cursors(&self, _since: Timestamp) {
        if let EventTransport::Webhooks { .. } = self.settings.events {
            // Slack does not report when it gives up delivering an event.
            self.cache.joined().iter().for_each(|channel| self.backfill.enqueue(channel));
        }
        self.advance_unbroken_cursors().await;
    }
}

impl SlackPlatform {
    /// Reads a channel later, because Slack may have dropped events in it.
    pub(super) fn backfill_later(&self, channel: &ChannelId) {
        self.backfill.enqueue_at(channel, self.now() + RETRY_DELAY);
    }

    /// Reads a channel's top level or one thread, from a little before the cursor.
    async fn backfill_target(
        &self,
        target: &BackfillTarget,
        since: Timestamp,
    ) -> Result<(), IngestError> {
        let (channel, thread) = target;
        let cursor = self.cursor(channel).await?;
        let from = cursor.unwrap_or(self.now()) - CURSOR_OVERLAP;
        let mut pass = self.start_pass(channel, from, since, cursor).await?;
        match thread {
            Some(thread) => self.read_thread(thread, &mut pass).await?,
            None => {
                let parents = self.read_pages(&mut pass).await?;
                // The threads below may hold the answers to messages at the top level.
                if self.settings.reply_in == ReplyPlacement::Thread {
                    self.read_threads(&parents, &mut pass).await?;
                }
            }
        }
        hear_deletions(self, pass.missing_messages()).await?;
        Ok(())
    }

    /// Reads a channel from its cursor on, and returns the number of new messages.
    async fn backfill_channel(
        &self,
        channel: &ChannelId,
        since: Timestamp,
    ) -> Result<usize, IngestError> {
        if self.history_limit.is_stale() && self.can_probe_limit(channel).await? {
            self.probe_limit(channel).await?;
        }
        // Taken before the first page: a cursor must not pass what is posted while the pages are read.
        let began = self.now();
        let cursor = self.cursor(channel).await?;
        let horizon = began - self.max_backfill_age();
        // Starts before the cursor to see edits, deletions and threads of older messages, except if the history is
        // rate-limited.
        let from = match cursor {
            Some(cursor) if self.history_limit.is_limited() => cursor,
            Some(cursor) => cursor.min(horizon),
            None => horizon,
        };
        let mut pass = self.start_pass(channel, from, since, cursor).await?;
        self.read_history(&mut pass).await?;
        check_suspects(self, &self.identity.workspace, channel, pass.suspects()).await?;
        self.backfill.mark_channel_complete(channel, since);
        // If the connection is still the same, all events since then were delivered or will be redelivered.
        if self.connection.state().connected_since == Some(since) {
            self.store_cursor(channel, began).await?;
        }
        Ok(pass.new_messages)
    }

    fn span_for(&self, channel: &ChannelId) -> Span {
        let workspace = &self.identity.workspace;
        info_span!("slack backfill", platform = "slack", workspace = %workspace, channel = %channel)
    }

    /// How far back the history is read at most.
    fn max_backfill_age(&self) -> SignedDuration {
        let longest = self.settings.history_span;
        if self.history_limit.is_limited() { LIMITED_SPAN.min(longest) } else { longest }
    }

    async fn cursor(&self, channel: &ChannelId) -> Result<Option<Timestamp>, IngestError> {
        let cursors = self.cursors.cursors(&self.identity.workspace).await?;
        let cursor = cursors.iter().find(|cursor| *cursor.stream == *channel.as_str());
        Ok(cursor.and_then(|cursor| from_slack::parse_ts(&(&*cursor.value).into())))
    }

    async fn store_cursor(&self, channel: &ChannelId, at: Timestamp) -> Result<(), IngestError> {
        let workspace = self.identity.workspace.clone();
        let (stream, value) = (channel.as_str().into(), format_ts(at).into());
        self.cursors.put_cursor(Cursor { workspace, stream, value }).await?;
        Ok(())
    }

    /// Whether a channel has enough messages to reveal the limit. A page of fewer messages is short in any case.
    async fn can_probe_limit(&self, channel: &ChannelId) -> Result<bool, IngestError> {
        let query = MessageQuery {
            workspace: self.identity.workspace.clone(),
            channel: channel.clone(),
            thread: None,
            range: MessageRange::Newest,
            limit: PROBE_MESSAGES,
        };
        let messages = self.archive.messages(query).await?;
        let is_in_history = |stored: &&StoredMessage| {
            !stored.is_deleted && stored.message.conversation.thread.is_none()
        };
        Ok(messages.iter().filter(is_in_history).count() > LIMITED_PAGE_SIZE)
    }

    /// Checks whether the history is still rate-limited, by requesting a page that is longer than the limit. A
    /// rate-limited backfill reads too little to show it.
    async fn probe_limit(&self, channel: &ChannelId) -> Result<(), IngestError> {
        let arguments = [("channel", channel.to_string())];
        let size = LIMITED_PAGE_SIZE + 1;
        let page = self.read_history_page("conversations.history", &arguments, size).await?;
        let found = page["messages"].as_array().map_or(0, Vec::len);
        Ok(self.record_limit(found, page["has_more"] == true).await?)
    }

    /// Infers from a page whether the history is rate-limited, and stores a change for the next start.
    pub(super) async fn record_limit(
        &self,
        found: usize,
        has_more: bool,
    ) -> Result<(), StoreError> {
        let value = match self.history_limit.observe_page(found, has_more, self.steady_now()) {
            None => return Ok(()),
            Some(LimitChange::Limited) => {
                warn!(
                    platform = "slack",
                    workspace = %self.identity.workspace,
                    count = LIMITED_PAGE_SIZE,
                    "Slack rate-limits this app's history to a few messages a minute, so the backfill is slow; \
                     an app that the workspace has made for itself gets more"
                );
                LIMIT_ON
            }
            Some(LimitChange::Lifted) => {
                info!(
                    platform = "slack",
                    workspace = %self.identity.workspace,
                    "Slack no longer rate-limits this app's history"
                );
                LIMIT_OFF
            }
        };
        let (workspace, stream) = (self.identity.workspace.clone(), LIMIT_KEY.into());
        let cursor = Cursor { workspace, stream, value: value.into() };
        self.cursors.put_cursor(cursor).await
    }

    /// Advances the cursors of channels without a gap, so that the next start reads less.
    async fn advance_unbroken_cursors(&self) {
        // Slack may still redeliver events that are younger than this.
        let until = self.now() - REDELIVERY_WINDOW;
        // Events that Slack did not send because it refused the token will be read later.
        if self.bot_access.outage().is_some() {
            return;
        }
        let channels = self.unbroken_channels.lock().clone();
        for channel in &channels {
            let moved = match self.cursor(channel).await {
                Ok(Some(before)) if before < until => self.store_cursor(channel, until).await,
                Ok(_) => Ok(()),
                Err(error) => Err(error),
            };
            if let Err(error) = moved {
                warn!(
                    platform = "slack",
                    workspace = %self.identity.workspace,
                    channel = %channel,
                    error = %error,
                    "a cursor could not be advanced"
                );
                return;
            }
        }
    }
}
