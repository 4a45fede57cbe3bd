//! Backfill: reads what was missed, channel by channel, behind a cursor that never passes a gap. Every new session
//! follows a gap; a resumed one does not.
//!
//! Discord does not replay the edits and deletions of a gap. They are found by comparing the history with the store.

mod pass;
mod reactions;

use std::collections::BTreeSet;

use futures_util::future::try_join_all;
use jiff::{SignedDuration, Timestamp};
use tracing::{info, warn};

use crate::DiscordPlatform;
use crate::api::DiscordApiError;
use crate::cache::Membership;
use crate::ingest::IngestError;
use crate::session::ReadCursor;
use aizuchi_core::chat::{ChannelId, ConversationId, Cursor};
use aizuchi_core::platform::backfill_queue::BackfillTarget;
use aizuchi_core::store::StoreError;

/// How far back edits and deletions are looked for.
const CHANGE_WINDOW: SignedDuration = SignedDuration::from_hours(24);
/// Reading starts this much before the cursor, because clocks differ.
const OVERLAP: SignedDuration = SignedDuration::from_mins(5);
/// The wait after a failed read.
const RETRY_DELAY: SignedDuration = SignedDuration::from_secs(60);

impl DiscordPlatform {
    /// Backfills the queued channels, and all channels after each gap. Never ends.
    pub(super) async fn run_backfill(&self) {
        let mut connection = self.connection.subscribe();
        let mut unbroken = None;
        let mut failed_channels = BTreeSet::new();
        let (mut retry_at, mut advance_at) = (self.now(), self.now() + self.settings.sync_interval);
        loop {
            let since = connection.borrow_and_update().connected_since;
            if since.is_some() && since != unbroken {
                unbroken = since;
                self.backfill.restart(&[]);
                self.cache.joined().iter().for_each(|channel| self.request_backfill(channel));
            }
            if let Some(since) = since
                && let Some(channel) = self.backfill.pop()
            {
                if let Err(error) =
                    self.backfill_channel(&channel, since, failed_channels.len()).await
                {
                    warn!(platform = "discord", %channel, %error, "backfill failed; retrying");
                    if failed_channels.is_empty() {
                        retry_at = self.now() + RETRY_DELAY;
                    }
                    failed_channels.insert(channel);
                }
                continue;
            }
            let next =
                if failed_channels.is_empty() { advance_at } else { retry_at.min(advance_at) };
            tokio::select! {
                () = self.backfill.added.notified() => {}
                _ = connection.changed() => {}
                () = self.clock.sleep_until(next) => {}
            }
            if self.now() >= retry_at {
                std::mem::take(&mut failed_channels)
                    .iter()
                    .for_each(|channel| self.backfill.enqueue(channel));
            }
            if self.now() >= advance_at {
                advance_at = self.now() + self.settings.sync_interval;
                if let Some(since) = self.connection.state().connected_since
                    && let Err(error) = self.advance_read_cursors(since, self.now() - OVERLAP).await
                {
                    warn!(platform = "discord", %error, "could not store the read cursors");
                }
            }
        }
    }

    /// Backfills the conversations that a due step waits for. Never ends.
    pub(super) async fn run_prioritized_backfill(&self) {
        loop {
            let (target, since) = self.backfill.next_prioritized(&self.connection).await;
            match self.backfill_target(&target, since).await {
                Ok(()) | Err(IngestError::Api(DiscordApiError::Refused(_))) => {
                    self.backfill.mark_complete(target, since);
                }
                // The waiting step asks again.
                Err(error) => {
                    warn!(
                        platform = "discord",
                        channel = %target.0,
                        %error,
                        "priority backfill failed"
                    );
                }
            }
        }
    }

    /// Whether a conversation may have messages that were not heard yet.
    pub(super) fn is_backfill_pending(&self, conversation: &ConversationId) -> bool {
        let Some(since) = self.connection.state().connected_since else { return true };
        let channel = &conversation.channel;
        match self.cache.channel(channel).map(|cached| cached.membership) {
            Some(Membership::Member) => {
                let target = (channel.clone(), conversation.thread.clone());
                !self.backfill.is_complete(&target, since)
            }
            // Discord has not described its server yet.
            Some(Membership::Unknown) => true,
            Some(Membership::NotMember) | None => false,
        }
    }

    /// Backfills a conversation before others. Channels that the bot cannot read are left alone, and without a
    /// connection there is no gap to read yet.
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
        self.hear_missing_deletions(&pass).await
    }

    /// Reads a channel and its threads since the cursor.
    async fn backfill_channel(
        &self,
        channel: &ChannelId,
        since: Timestamp,
        failed: usize,
    ) -> Result<(), IngestError> {
        let started_at = self.now();
        let horizon = started_at - self.settings.history_span;
        let from = match self.read_cursor(channel) {
            Some(cursor) => (cursor.until - OVERLAP).min(horizon.max(started_at - CHANGE_WINDOW)),
            None => horizon,
        };
        let mut pass = self.start_pass(channel, from, since).await?;
        match self.read_channel(&mut pass).await {
            // Without access to the history, only live messages are heard.
            Err(IngestError::Api(DiscordApiError::Refused(refusal))) => {
                info!(platform = "discord", %channel, error = %refusal, "no access to the history");
            }
            result => result?,
        }
        self.backfill.mark_channel_complete(channel, since);
        self.backfill.log_progress("Discord", channel, pass.new_messages, failed);
        // Everything since then arrived live.
        if self.connection.state().connected_since == Some(since) {
            self.store_read_cursor(channel, ReadCursor { until: started_at, since }).await?;
        }
        Ok(())
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

    /// Moves the cursors of all channels that were backfilled since the last gap: they missed nothing until then.
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
