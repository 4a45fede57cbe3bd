//! Backfill: reads missed messages, channel by channel, behind a cursor that never passes a gap. Every new session
//! follows a gap; a resumed one does not.
//!
//! Discord does not replay the edits and deletions of a gap. They are found by comparing the history with the store.

mod page;
mod pass;
mod deletions;
mod reactions;

use std::sync::Arc;

use aizuchi_model::chat::{ChannelId, ConversationId, Cursor, Message, WorkspaceId};
use aizuchi_model::platform::BackfillState;
use aizuchi_platform::backfill_queue::BackfillTarget;
use aizuchi_platform::channel_history::{BackfillParts, ChannelHistory};
use aizuchi_platform::missed_deletions::{check_suspects, hear_deletions};
use aizuchi_store::StoreError;
use async_trait::async_trait;
use futures_util::future::try_join_all;
use jiff::{SignedDuration, Timestamp};
use tracing::{info, warn};

use crate::DiscordPlatform;
use crate::api::DiscordApiError;
use crate::cache::Membership;
use crate::identity::direct_workspace;
use crate::ingest::IngestError;
use crate::session::ReadCursor;
use crate::settings::ThreadPolicy;

/// How far back the backfill looks for edits and deletions.
const CHANGE_WINDOW: SignedDuration = SignedDuration::from_hours(24);
/// Reading starts this long before the cursor, because clocks differ.
const OVERLAP: SignedDuration = SignedDuration::from_mins(5);
/// How many channels are read concurrently.
const MAX_CONCURRENT_CHANNELS: usize = 4;

#[async_trait]
impl ChannelHistory for DiscordPlatform {
    fn parts(&self) -> BackfillParts<'_> {
        BackfillParts {
            platform: "Discord",
            queue: &self.backfill,
            connection: &self.connection,
            inbox: &self.inbox,
            archive: &*self.archive,
            cursors: &*self.cursors,
            incidents: &self.incidents,
        }
    }

    fn max_concurrent(&self) -> usize {
        MAX_CONCURRENT_CHANNELS
    }

    fn enqueue_channels(&self) {
        self.cache.joined().iter().for_each(|channel| self.request_backfill(channel));
    }

    async fn read_channel(&self, channel: &ChannelId, since: Timestamp) -> anyhow::Result<usize> {
        Ok(self.backfill_channel(channel, since).await?)
    }

    async fn read_target(&self, target: &BackfillTarget, since: Timestamp) -> anyhow::Result<()> {
        match self.backfill_target(target, since).await {
            Ok(()) | Err(IngestError::Api(DiscordApiError::Refused(_))) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    async fn find_deleted(&self, messages: &[Arc<Message>]) -> anyhow::Result<Vec<Arc<Message>>> {
        Ok(self.find_deleted_messages(messages).await?)
    }

    async fn advance_cursors(&self, since: Timestamp) {
        if let Err(error) = self.advance_read_cursors(since, self.now() - OVERLAP).await {
            warn!(platform = "discord", %error, "could not store the read cursors");
        }
    }
}

impl DiscordPlatform {
    /// Returns whether a conversation may have messages that were not heard yet.
    pub(super) fn conversation_state(&self, conversation: &ConversationId) -> BackfillState {
        let since = self.connection.state().connected_since;
        // With a refused token nothing can be posted, so due steps wait as they do for a connection.
        let Some(since) = since.filter(|_| self.access.outage().is_none()) else {
            return BackfillState::Disconnected;
        };
        let channel = &conversation.channel;
        let is_pending = match self.cache.channel(channel).map(|cached| cached.membership) {
            Some(Membership::Member) => {
                let target = (channel.clone(), conversation.thread.clone());
                !self.backfill.is_complete(&target, since)
            }
            // Discord has not described its server yet.
            Some(Membership::Unknown) => true,
            Some(Membership::NotMember) | None => false,
        };
        if is_pending {
            BackfillState::Pending { gap_ended: since }
        } else {
            BackfillState::Complete
        }
    }

    /// Backfills a conversation before others. Skips channels that the bot cannot read; without a connection there is
    /// no gap to read yet.
    pub(super) fn prioritize_conversation(&self, conversation: &ConversationId) {
        let membership = self.cache.channel(&conversation.channel).map(|cached| cached.membership);
        let is_connected = self.connection.state().connected_since.is_some();
        if is_connected && membership == Some(Membership::Member) {
            let target = (conversation.channel.clone(), conversation.thread.clone());
            self.backfill.prioritize(target);
        }
    }

    /// Queues a channel for backfill, unless it was read since the last gap.
    pub(super) fn request_backfill(&self, channel: &ChannelId) {
        let cursor = self.read_cursor(channel);
        match self.connection.state().connected_since {
            Some(since) if cursor.is_some_and(|cursor| cursor.since == since) => {
                self.backfill.mark_channel_complete(channel, since);
            }
            Some(_) | None => self.backfill.enqueue(channel),
        }
    }

    /// Reads a channel's top level or one thread from shortly before the cursor.
    async fn backfill_target(
        &self,
        target: &BackfillTarget,
        since: Timestamp,
    ) -> Result<(), IngestError> {
        let (channel, thread) = target;
        let cursor = self.read_cursor(channel);
        let from = cursor.map_or(self.now(), |cursor| cursor.until) - OVERLAP;
        let mut pass = self.start_pass(channel, from, since).await?;
        let target = thread.as_ref().map_or(channel.clone(), |it| ChannelId::new(it.as_str()));
        self.read_messages(&target, &mut pass).await?;
        let name = self.cache.channel(channel).map(|cached| cached.channel.name);
        let policy = self.settings.threads.for_channel(channel.as_str(), name.as_deref());
        // The threads below may hold the answers to messages at the top level.
        if thread.is_none() && policy == ThreadPolicy::Auto {
            for below in self.cache.active_threads(channel) {
                self.read_messages(&below.id, &mut pass).await?;
            }
        }
        hear_deletions(self, pass.missing_messages()).await?;
        Ok(())
    }

    /// Reads a channel and its threads from the cursor on. Returns the number of new messages.
    async fn backfill_channel(
        &self,
        channel: &ChannelId,
        since: Timestamp,
    ) -> Result<usize, IngestError> {
        // Taken before the first page: the cursor must not pass what is posted while the pages are read.
        let started_at = self.now();
        let horizon = started_at - self.settings.history_span;
        let from = match self.read_cursor(channel) {
            Some(cursor) => (cursor.until - OVERLAP).min(horizon.max(started_at - CHANGE_WINDOW)),
            None => horizon,
        };
        let mut pass = self.start_pass(channel, from, since).await?;
        match self.read_history(&mut pass).await {
            // Without access to the history, only live messages are heard.
            Err(IngestError::Api(DiscordApiError::Refused(refusal))) => {
                info!(platform = "discord", %channel, error = %refusal, "no access to the history");
            }
            result => {
                result?;
                let workspace = self.workspace_of(channel);
                check_suspects(self, &workspace, channel, pass.suspects()).await?;
            }
        }
        self.backfill.mark_channel_complete(channel, since);
        // All messages since then arrived live.
        if self.connection.state().connected_since == Some(since) {
            self.store_read_cursor(channel, ReadCursor { until: started_at, since }).await?;
        }
        Ok(pass.new_messages)
    }

    /// Returns the workspace of a channel: its server's, or that of direct messages.
    fn workspace_of(&self, channel: &ChannelId) -> WorkspaceId {
        let cached = self.cache.channel(channel);
        cached.map_or_else(direct_workspace, |cached| cached.channel.workspace)
    }

    fn read_cursor(&self, channel: &ChannelId) -> Option<ReadCursor> {
        let read_cursors = self.read_cursors.lock();
        read_cursors.get(channel).copied()
    }

    async fn store_read_cursor(
        &self,
        channel: &ChannelId,
        cursor: ReadCursor,
    ) -> Result<(), StoreError> {
        let Some(cached) = self.cache.channel(channel) else { return Ok(()) };
        let stored = Cursor {
            workspace: cached.channel.workspace,
            stream: channel.as_str().into(),
            value: cursor.to_text().into(),
        };
        self.cursors.put_cursor(stored).await?;
        let mut read_cursors = self.read_cursors.lock();
        read_cursors.insert(channel.clone(), cursor);
        Ok(())
    }

    /// Advances the cursors of all channels that were backfilled since the last gap: they have missed nothing until
    /// then.
    pub(super) async fn advance_read_cursors(
        &self,
        since: Timestamp,
        until: Timestamp,
    ) -> Result<(), StoreError> {
        let read_cursors = {
            let read_cursors = self.read_cursors.lock();
            read_cursors.clone()
        };
        let unbroken =
            read_cursors.iter().filter(|(_, cursor)| cursor.since == since && cursor.until < until);
        let updates = unbroken.map(|(channel, cursor)| {
            self.store_read_cursor(channel, ReadCursor { until, ..*cursor })
        });
        try_join_all(updates).await.map(|_| ())
    }
}
