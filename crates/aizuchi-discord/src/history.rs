//! Catching up: what was said while we could not hear, room by room, behind a mark that never passes a hole.
//! It is needed after each gap, and a gap is anything but a session that goes on.
//!
//! Discord tells neither edits nor deletions of a gap: they are found by comparing what it shows now with
//! what is stored.

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
use aizuchi_core::chat::{ChannelId, ConversationId, Cursor, Heard};
use aizuchi_core::platform::backfill_queue::BackfillTarget;
use aizuchi_core::store::StoreError;

/// Edits and deletions are looked for so far back.
const CHANGE_WINDOW: SignedDuration = SignedDuration::from_hours(24);
/// Clocks differ: what is read begins so long before what is missing.
const OVERLAP: SignedDuration = SignedDuration::from_mins(5);
/// After something could not be read.
const RETRY_DELAY: SignedDuration = SignedDuration::from_secs(60);

impl DiscordPlatform {
    /// Catches up on whatever is wanted, and on everything after each gap. Never ends.
    pub(super) async fn run_backfill(&self) {
        let mut air = self.connection.subscribe();
        let mut unbroken = None;
        let mut later = BTreeSet::new();
        let (mut again, mut marks) = (self.now(), self.now() + self.settings.sync_interval);
        loop {
            let since = air.borrow_and_update().connected_since;
            if since.is_some() && since != unbroken {
                unbroken = since;
                self.backfill.restart(&[]);
                self.cache.joined().iter().for_each(|room| self.request_backfill(room));
            }
            if let Some(since) = since
                && let Some(room) = self.backfill.pop()
            {
                if let Err(error) = self.backfill_channel(&room, since, later.len()).await {
                    warn!("a channel's history could not be read and is tried again: {error}");
                    if later.is_empty() {
                        again = self.now() + RETRY_DELAY;
                    }
                    later.insert(room);
                }
                continue;
            }
            let next = if later.is_empty() { marks } else { again.min(marks) };
            tokio::select! {
                () = self.backfill.added.notified() => {}
                _ = air.changed() => {}
                () = self.clock.sleep_until(next) => {}
            }
            if self.now() >= again {
                std::mem::take(&mut later).iter().for_each(|room| self.backfill.enqueue(room));
            }
            if self.now() >= marks {
                marks = self.now() + self.settings.sync_interval;
                if let Some(since) = self.connection.state().connected_since
                    && let Err(error) = self.advance_read_cursors(since, self.now() - OVERLAP).await
                {
                    warn!("how far channels are read could not be noted: {error}");
                }
            }
        }
    }

    /// Reads first where something is to be done. Never ends.
    pub(super) async fn run_prioritized_backfill(&self) {
        loop {
            let (place, since) = self.backfill.next_prioritized(&self.connection).await;
            match self.backfill_target(&place, since).await {
                Ok(()) | Err(IngestError::Api(DiscordApiError::Refused(_))) => {
                    self.backfill.mark_complete(place, since);
                }
                // Whoever waits asks again.
                Err(error) => warn!("what is waited for could not be read: {error}"),
            }
        }
    }

    /// What was said there lately may not have been heard yet.
    pub(super) fn is_backfill_pending(&self, conversation: &ConversationId) -> bool {
        let Some(since) = self.connection.state().connected_since else { return true };
        let channel = &conversation.channel;
        match self.cache.channel(channel).map(|room| room.membership) {
            Some(Membership::Member) => {
                let place = (channel.clone(), conversation.thread.clone());
                let is_behind = !self.backfill.is_complete(&place, since);
                if is_behind {
                    self.backfill.prioritize(place);
                }
                is_behind
            }
            // Its server has not been told of yet.
            Some(Membership::Unknown) => true,
            Some(Membership::NotMember) | None => false,
        }
    }

    /// A room is to be read, unless it was since nothing is missing.
    pub(super) fn request_backfill(&self, room: &ChannelId) {
        let mark = self.read_cursor(room);
        match self.connection.state().connected_since {
            Some(since) if mark.is_some_and(|mark| mark.since == since) => {
                self.backfill.mark_channel_complete(room, since);
            }
            Some(_) | None => self.backfill.enqueue(room),
        }
    }

    /// Reads what was said in a place since its mark, and a little before.
    async fn backfill_target(
        &self,
        place: &BackfillTarget,
        since: Timestamp,
    ) -> Result<(), IngestError> {
        let (room, thread) = place;
        let mark = self.read_cursor(room);
        let from = mark.map_or(self.now(), |mark| mark.until) - OVERLAP;
        let mut pass = self.start_pass(room, from, since).await?;
        let place = thread.as_ref().map_or(room.clone(), |it| ChannelId::new(it.as_str()));
        self.read_messages(&place, &mut pass).await?;
        self.hear_missing_deletions(&pass).await
    }

    /// Reads what was said in a room since its mark.
    async fn backfill_channel(
        &self,
        room: &ChannelId,
        since: Timestamp,
        failed: usize,
    ) -> Result<(), IngestError> {
        let began = self.now();
        let horizon = began - self.settings.history_span;
        let from = match self.read_cursor(room) {
            Some(mark) => (mark.until - OVERLAP).min(horizon.max(began - CHANGE_WINDOW)),
            None => horizon,
        };
        let mut pass = self.start_pass(room, from, since).await?;
        match self.read_channel(&mut pass).await {
            // Where nothing may be read, it goes on with what it hears.
            Err(IngestError::Api(DiscordApiError::Refused(refusal))) => {
                info!("a channel's history may not be read: Discord says {refusal}");
            }
            read => read?,
        }
        self.backfill.mark_channel_complete(room, since);
        self.backfill.log_progress("Discord", room, pass.new_messages, failed);
        // Since then, everything has come by itself.
        if self.connection.state().connected_since == Some(since) {
            self.store_read_cursor(room, ReadCursor { until: began, since }).await?;
        }
        Ok(())
    }

    fn read_cursor(&self, room: &ChannelId) -> Option<ReadCursor> {
        let marks = self.read_cursors.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        marks.get(room).copied()
    }

    async fn store_read_cursor(
        &self,
        room: &ChannelId,
        mark: ReadCursor,
    ) -> Result<(), StoreError> {
        let Some(known) = self.cache.channel(room) else { return Ok(()) };
        let bookmark = Cursor {
            workspace: known.channel.workspace,
            stream: room.as_str().into(),
            value: mark.to_text().into(),
        };
        self.inbox.hear(Heard::Cursor(bookmark)).await?;
        let mut marks = self.read_cursors.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        marks.insert(room.clone(), mark);
        Ok(())
    }

    /// Nothing was missed in rooms that have been read since a gap, until then; so nothing before it need be
    /// read again.
    pub(super) async fn advance_read_cursors(
        &self,
        since: Timestamp,
        until: Timestamp,
    ) -> Result<(), StoreError> {
        let marks = {
            let marks = self.read_cursors.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            marks.clone()
        };
        let whole = marks.iter().filter(|(_, mark)| mark.since == since && mark.until < until);
        let moved =
            whole.map(|(room, mark)| self.store_read_cursor(room, ReadCursor { until, ..*mark }));
        try_join_all(moved).await.map(|_| ())
    }
}
