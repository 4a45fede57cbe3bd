//! Catching up: what was said while we could not hear, page by page, behind a bookmark that never passes a
//! hole. A pass begins after a connection is open, so that nothing falls in between.
//!
//! Slack shows no edits and deletions of the past, and no thread below a channel's lines: they are found by
//! comparing what it shows now with what is stored.

pub mod limit;
pub mod pass;

use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp};
use tracing::{info, warn};

use crate::SlackPlatform;
use crate::api::SlackApiError;
use crate::from_slack::{self, format_ts};
use crate::history::limit::{LIMITED_PAGE_SIZE, LimitChange};
use crate::ingest::IngestError;
use crate::settings::EventTransport;
use aizuchi_core::chat::{ChannelId, Cursor, Heard};
use aizuchi_core::platform::backfill_queue::BackfillTarget;
use aizuchi_core::store::{MessageQuery, MessageRange, StoreError, StoredMessage};

/// Slack delivers an event for so long; what is older has come or will not.
const REDELIVERY_WINDOW: SignedDuration = SignedDuration::from_mins(10);
/// How far back a new channel is read where each page takes a minute.
const LIMITED_SPAN: SignedDuration = SignedDuration::from_hours(24);
/// Where it is noted whether this app gets little history, and how.
pub(super) const LIMIT_KEY: &str = "history is capped";
pub(super) const LIMIT_ON: &str = "true";
const LIMIT_OFF: &str = "false";
/// What is waited for is read from so long before the bookmark: what waits is not older. Answers in threads
/// that are so young may be edited.
const CURSOR_OVERLAP: SignedDuration = SignedDuration::from_hours(1);
/// Among so many lines those of a channel's top level are counted.
const PROBE_MESSAGES: usize = 200;
/// After something could not be read.
const RETRY_DELAY: SignedDuration = SignedDuration::from_secs(60);

impl SlackPlatform {
    /// Catches up on whatever is wanted, and on everything after each gap. Never ends.
    pub(super) async fn run_backfill(&self) {
        let mut air = self.connection.subscribe();
        let mut unbroken = None;
        // What is to be read again, and what nothing is missing of.
        let (mut later, mut done) = (BTreeSet::new(), BTreeSet::new());
        let (mut again, mut bookmarks) = (self.now(), self.now() + self.settings.sync_interval);
        loop {
            let since = air.borrow_and_update().connected_since;
            if since.is_some() && since != unbroken {
                unbroken = since;
                done.clear();
                self.history_limit.mark_stale();
                self.backfill.restart(&self.cache.joined());
            }
            let put_off = self.backfill.take_deferred();
            if later.is_empty() {
                again = self.now() + RETRY_DELAY;
            }
            later.extend(put_off);
            if let Some(since) = since
                && let Some(room) = self.backfill.pop()
            {
                done.remove(&room);
                match self.backfill_channel(&room, since).await {
                    Ok(new) => {
                        done.insert(room.clone());
                        self.backfill.log_progress("Slack", &room, new, later.len());
                    }
                    Err(IngestError::Slack(SlackApiError::Refused(code))) => {
                        // Where nothing may be read, it goes on with what it hears.
                        self.backfill.mark_channel_complete(&room, since);
                        info!("a channel's history may not be read: Slack says {code}");
                    }
                    Err(error) => {
                        warn!("a channel's history could not be read and is tried again: {error}");
                        self.backfill.enqueue_later(&room);
                    }
                }
                continue;
            }
            let next = if later.is_empty() { bookmarks } else { again.min(bookmarks) };
            tokio::select! {
                () = self.backfill.added.notified() => {}
                _ = air.changed() => {}
                () = self.clock.sleep_until(next) => {}
            }
            if self.now() >= again {
                std::mem::take(&mut later).iter().for_each(|room| self.backfill.enqueue(room));
            }
            if self.now() >= bookmarks {
                bookmarks = self.now() + self.settings.sync_interval;
                if let EventTransport::Webhooks { .. } = self.settings.events {
                    // Nobody tells whether Slack has given up on something.
                    self.cache.joined().iter().for_each(|room| self.backfill.enqueue(room));
                }
                if unbroken.is_some() && self.connection.state().connected_since == unbroken {
                    self.advance_cursors(&done).await;
                }
            }
        }
    }

    /// Reads first where something is to be done. Never ends.
    pub(super) async fn run_prioritized_backfill(&self) {
        loop {
            let (place, since) = self.backfill.next_prioritized(&self.connection).await;
            match self.backfill_target(&place, since).await {
                Ok(()) | Err(IngestError::Slack(SlackApiError::Refused(_))) => {
                    self.backfill.mark_complete(place, since);
                }
                // Whoever waits asks again.
                Err(error) => warn!("what is waited for could not be read: {error}"),
            }
        }
    }

    /// Reads what was said in a place since the bookmark, and a little before it.
    async fn backfill_target(
        &self,
        place: &BackfillTarget,
        since: Timestamp,
    ) -> Result<(), IngestError> {
        let (room, thread) = place;
        let bookmark = self.cursor(room).await?;
        let from = bookmark.unwrap_or(self.now()) - CURSOR_OVERLAP;
        let mut pass = self.start_pass(room, from, since, bookmark).await?;
        match thread {
            Some(thread) => self.read_thread(thread, &mut pass).await?,
            None => drop(self.read_pages(&mut pass).await?),
        }
        self.hear_missing_deletions(&pass).await
    }

    /// Reads what was said in a room since its bookmark, and says how much of it was new.
    async fn backfill_channel(
        &self,
        room: &ChannelId,
        since: Timestamp,
    ) -> Result<usize, IngestError> {
        if self.history_limit.is_stale() && self.can_probe_limit(room).await? {
            self.probe_limit(room).await?;
        }
        let began = self.now();
        let bookmark = self.cursor(room).await?;
        let horizon = began - self.backfill_span();
        // Further back than the bookmark, so that edits, deletions and threads of old lines are seen; but
        // not where each page takes a minute.
        let from = match bookmark {
            Some(bookmark) if self.history_limit.is_limited() => bookmark,
            Some(bookmark) => bookmark.min(horizon),
            None => horizon,
        };
        let mut pass = self.start_pass(room, from, since, bookmark).await?;
        self.read_channel(&mut pass).await?;
        self.backfill.mark_channel_complete(room, since);
        // Since then, everything has come by itself or comes again.
        if self.connection.state().connected_since == Some(since) {
            self.store_cursor(room, began).await?;
        }
        Ok(pass.new_messages)
    }

    /// How far back is read at most.
    fn backfill_span(&self) -> SignedDuration {
        let longest = self.settings.history_span;
        if self.history_limit.is_limited() { LIMITED_SPAN.min(longest) } else { longest }
    }

    async fn cursor(&self, room: &ChannelId) -> Result<Option<Timestamp>, IngestError> {
        let bookmarks = self.archive.cursors(&self.identity.workspace).await?;
        let bookmark = bookmarks.iter().find(|bookmark| *bookmark.stream == *room.as_str());
        Ok(bookmark.and_then(|bookmark| from_slack::parse_ts(&(&*bookmark.value).into())))
    }

    async fn store_cursor(&self, room: &ChannelId, at: Timestamp) -> Result<(), IngestError> {
        let workspace = self.identity.workspace.clone();
        let (place, value) = (room.as_str().into(), format_ts(at).into());
        self.inbox.hear(Heard::Cursor(Cursor { workspace, stream: place, value })).await?;
        Ok(())
    }

    /// A page of a room with few lines ends by itself and shows no cap, so its minute is not spent.
    async fn can_probe_limit(&self, room: &ChannelId) -> Result<bool, IngestError> {
        let query = MessageQuery {
            workspace: self.identity.workspace.clone(),
            channel: room.clone(),
            thread: None,
            range: MessageRange::Newest,
            limit: PROBE_MESSAGES,
        };
        let lines = self.archive.messages(query).await?;
        let is_shown =
            |line: &&StoredMessage| !line.is_deleted && line.message.conversation.thread.is_none();
        Ok(lines.iter().filter(is_shown).count() > LIMITED_PAGE_SIZE)
    }

    /// Whether this app gets little history still. What it reads then is short and does not tell; a page of
    /// what it has read already does, where enough was said.
    async fn probe_limit(&self, room: &ChannelId) -> Result<(), IngestError> {
        self.clock.sleep_until(self.history_limit.reserve_page(self.now())).await;
        let arguments =
            [("channel", room.to_string()), ("limit", (LIMITED_PAGE_SIZE + 1).to_string())];
        let page = self.read_with_retries("conversations.history", &arguments).await?;
        let found = page["messages"].as_array().map_or(0, Vec::len);
        Ok(self.record_limit(found, page["has_more"] == true).await?)
    }

    /// What a page shows of how much this app gets. The next start need not find out again.
    pub(super) async fn record_limit(
        &self,
        found: usize,
        has_more: bool,
    ) -> Result<(), StoreError> {
        let value = match self.history_limit.observe_page(found, has_more, self.now()) {
            None => return Ok(()),
            Some(LimitChange::Limited) => {
                warn!(
                    "Slack gives this app {LIMITED_PAGE_SIZE} lines of history a minute, so catching up is slow; \
                     apps that a workspace has made for itself get more"
                );
                LIMIT_ON
            }
            Some(LimitChange::Lifted) => {
                info!("Slack gives this app as much history as others");
                LIMIT_OFF
            }
        };
        let (workspace, place) = (self.identity.workspace.clone(), LIMIT_KEY.into());
        let bookmark = Cursor { workspace, stream: place, value: value.into() };
        self.inbox.hear(Heard::Cursor(bookmark)).await.map(|_| ())
    }

    /// Nothing was missed since these rooms were read, so the next start need not read it again.
    async fn advance_cursors(&self, rooms: &BTreeSet<ChannelId>) {
        let until = self.now() - REDELIVERY_WINDOW;
        for room in rooms {
            let moved = match self.cursor(room).await {
                Ok(Some(before)) if before < until => self.store_cursor(room, until).await,
                Ok(_) => Ok(()),
                Err(error) => Err(error),
            };
            if let Err(error) = moved {
                warn!("a bookmark could not be moved: {error}");
                return;
            }
        }
    }
}
