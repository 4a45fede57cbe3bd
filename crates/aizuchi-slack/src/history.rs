//! Catching up: what was said while we could not hear, page by page, behind a bookmark that never passes a
//! hole. A pass begins after a connection is open, so that nothing falls in between.
//!
//! Slack shows no edits and deletions of the past, and no thread below a channel's lines: they are found by
//! comparing what it shows now with what is stored.

pub mod cap;
pub mod pass;

use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp};
use tracing::{info, warn};

use crate::api::ApiError;
use crate::from_slack::{self, ts};
use crate::history::cap::{LITTLE, News};
use crate::take::TakeError;
use crate::{Events, Slack};
use aizuchi_core::chat::{Bookmark, ChannelId, Heard};
use aizuchi_core::platform::wanted::Place;
use aizuchi_core::store::{Line, LineQuery, Span, StoreError};

/// Slack delivers an event for so long; what is older has come or will not.
const DELIVERED: SignedDuration = SignedDuration::from_mins(10);
/// How far back a new channel is read where each page takes a minute.
const CAPPED_SPAN: SignedDuration = SignedDuration::from_hours(24);
/// Where it is noted whether this app gets little history, and how.
pub(super) const CAPPED: &str = "history is capped";
pub(super) const CAPPED_YES: &str = "true";
const CAPPED_NO: &str = "false";
/// What is waited for is read from so long before the bookmark: what waits is not older. Answers in threads
/// that are so young may be edited.
const BEFORE: SignedDuration = SignedDuration::from_hours(1);
/// Among so many lines those of a channel's top level are counted.
const COUNTED: usize = 200;
/// After something could not be read.
const PAUSE: SignedDuration = SignedDuration::from_secs(60);

impl Slack {
    /// Catches up on whatever is wanted, and on everything after each gap. Never ends.
    pub(super) async fn stay_caught_up(&self) {
        let mut air = self.air.changes();
        let mut unbroken = None;
        // What is to be read again, and what nothing is missing of.
        let (mut later, mut done) = (BTreeSet::new(), BTreeSet::new());
        let (mut again, mut bookmarks) = (self.now(), self.now() + self.settings.sync_every);
        loop {
            let since = air.borrow_and_update().since;
            if since.is_some() && since != unbroken {
                unbroken = since;
                done.clear();
                self.cap.doubt();
                self.wanted.begin(&self.roster.joined());
            }
            let put_off = self.wanted.take_later();
            if later.is_empty() {
                again = self.now() + PAUSE;
            }
            later.extend(put_off);
            if let Some(since) = since
                && let Some(room) = self.wanted.next()
            {
                done.remove(&room);
                match self.catch_up(&room, since).await {
                    Ok(new) => {
                        done.insert(room.clone());
                        self.wanted.tell_progress("Slack", &room, new, later.len());
                    }
                    Err(TakeError::Slack(ApiError::Refused(code))) => {
                        // Where nothing may be read, it goes on with what it hears.
                        self.wanted.note_whole(&room, since);
                        info!("a channel's history may not be read: Slack says {code}");
                    }
                    Err(error) => {
                        warn!("a channel's history could not be read and is tried again: {error}");
                        self.wanted.add_later(&room);
                    }
                }
                continue;
            }
            let next = if later.is_empty() { bookmarks } else { again.min(bookmarks) };
            tokio::select! {
                () = self.wanted.added.notified() => {}
                _ = air.changed() => {}
                () = self.clock.sleep_until(next) => {}
            }
            if self.now() >= again {
                std::mem::take(&mut later).iter().for_each(|room| self.wanted.add(room));
            }
            if self.now() >= bookmarks {
                bookmarks = self.now() + self.settings.sync_every;
                if let Events::Hooks { .. } = self.settings.events {
                    // Nobody tells whether Slack has given up on something.
                    self.roster.joined().iter().for_each(|room| self.wanted.add(room));
                }
                if unbroken.is_some() && self.air.state().since == unbroken {
                    self.move_bookmarks(&done).await;
                }
            }
        }
    }

    /// Reads first where something is to be done. Never ends.
    pub(super) async fn stay_ready(&self) {
        loop {
            let (place, since) = self.wanted.next_hurried(&self.air).await;
            match self.read_soon(&place, since).await {
                Ok(()) | Err(TakeError::Slack(ApiError::Refused(_))) => {
                    self.wanted.note(place, since);
                }
                // Whoever waits asks again.
                Err(error) => warn!("what is waited for could not be read: {error}"),
            }
        }
    }

    /// Reads what was said in a place since the bookmark, and a little before it.
    async fn read_soon(&self, place: &Place, since: Timestamp) -> Result<(), TakeError> {
        let (room, thread) = place;
        let bookmark = self.bookmark(room).await?;
        let from = bookmark.unwrap_or(self.now()) - BEFORE;
        let mut pass = self.pass(room, from, since, bookmark).await?;
        match thread {
            Some(thread) => self.read_thread(thread, &mut pass).await?,
            None => drop(self.read_pages(&mut pass).await?),
        }
        self.hear_what_is_gone(&pass).await
    }

    /// Reads what was said in a room since its bookmark, and says how much of it was new.
    async fn catch_up(&self, room: &ChannelId, since: Timestamp) -> Result<usize, TakeError> {
        if self.cap.is_doubted() && self.tells_of_cap(room).await? {
            self.find_out_cap(room).await?;
        }
        let began = self.now();
        let bookmark = self.bookmark(room).await?;
        let horizon = began - self.span();
        // Further back than the bookmark, so that edits, deletions and threads of old lines are seen; but
        // not where each page takes a minute.
        let from = match bookmark {
            Some(bookmark) if self.cap.is_on() => bookmark,
            Some(bookmark) => bookmark.min(horizon),
            None => horizon,
        };
        let mut pass = self.pass(room, from, since, bookmark).await?;
        self.read_room(&mut pass).await?;
        self.wanted.note_whole(room, since);
        // Since then, everything has come by itself or comes again.
        if self.air.state().since == Some(since) {
            self.put_bookmark(room, began).await?;
        }
        Ok(pass.new)
    }

    /// How far back is read at most.
    fn span(&self) -> SignedDuration {
        let longest = self.settings.history;
        if self.cap.is_on() { CAPPED_SPAN.min(longest) } else { longest }
    }

    async fn bookmark(&self, room: &ChannelId) -> Result<Option<Timestamp>, TakeError> {
        let bookmarks = self.archive.bookmarks(&self.who.workspace).await?;
        let bookmark = bookmarks.iter().find(|bookmark| *bookmark.place == *room.as_str());
        Ok(bookmark.and_then(|bookmark| from_slack::time(&(&*bookmark.value).into())))
    }

    async fn put_bookmark(&self, room: &ChannelId, at: Timestamp) -> Result<(), TakeError> {
        let workspace = self.who.workspace.clone();
        let (place, value) = (room.as_str().into(), ts(at).into());
        self.ears.hear(Heard::Bookmark(Bookmark { workspace, place, value })).await?;
        Ok(())
    }

    /// A page of a room with few lines ends by itself and shows no cap, so its minute is not spent.
    async fn tells_of_cap(&self, room: &ChannelId) -> Result<bool, TakeError> {
        let query = LineQuery {
            workspace: self.who.workspace.clone(),
            channel: room.clone(),
            thread: None,
            span: Span::Newest,
            limit: COUNTED,
        };
        let lines = self.archive.lines(query).await?;
        let is_shown =
            |line: &&Line| !line.is_deleted && line.message.conversation.thread.is_none();
        Ok(lines.iter().filter(is_shown).count() > LITTLE)
    }

    /// Whether this app gets little history still. What it reads then is short and does not tell; a page of
    /// what it has read already does, where enough was said.
    async fn find_out_cap(&self, room: &ChannelId) -> Result<(), TakeError> {
        self.clock.sleep_until(self.cap.next_page(self.now())).await;
        let arguments = [("channel", room.to_string()), ("limit", (LITTLE + 1).to_string())];
        let page = self.read("conversations.history", &arguments).await?;
        let found = page["messages"].as_array().map_or(0, Vec::len);
        Ok(self.note_cap(found, page["has_more"] == true).await?)
    }

    /// What a page shows of how much this app gets. The next start need not find out again.
    pub(super) async fn note_cap(&self, found: usize, has_more: bool) -> Result<(), StoreError> {
        let value = match self.cap.learn(found, has_more, self.now()) {
            None => return Ok(()),
            Some(News::Capped) => {
                warn!(
                    "Slack gives this app {LITTLE} lines of history a minute, so catching up is slow; \
                     apps that a workspace has made for itself get more"
                );
                CAPPED_YES
            }
            Some(News::Free) => {
                info!("Slack gives this app as much history as others");
                CAPPED_NO
            }
        };
        let (workspace, place) = (self.who.workspace.clone(), CAPPED.into());
        let bookmark = Bookmark { workspace, place, value: value.into() };
        self.ears.hear(Heard::Bookmark(bookmark)).await.map(|_| ())
    }

    /// Nothing was missed since these rooms were read, so the next start need not read it again.
    async fn move_bookmarks(&self, rooms: &BTreeSet<ChannelId>) {
        let until = self.now() - DELIVERED;
        for room in rooms {
            let moved = match self.bookmark(room).await {
                Ok(Some(before)) if before < until => self.put_bookmark(room, until).await,
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
