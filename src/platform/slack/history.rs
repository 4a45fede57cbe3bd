//! Catching up: what was said while we could not hear, page by page, behind a bookmark that never passes a
//! hole. A pass begins after a connection is open, so that nothing falls in between.
//!
//! Slack shows no edits and deletions of the past, and no thread below a channel's lines: they are found by
//! comparing what it shows now with what is stored.

pub mod pass;

use std::collections::{BTreeSet, HashMap};
use std::sync::{Mutex, PoisonError};

use jiff::{SignedDuration, Timestamp};
use tokio::sync::Notify;
use tracing::{debug, info, warn};

use crate::chat::{Bookmark, ChannelId, Heard};
use crate::platform::slack::Slack;
use crate::platform::slack::api::ApiError;
use crate::platform::slack::from_slack::{self, ts};
use crate::platform::slack::take::TakeError;

/// After so many channels, the log says how many are left.
const TOLD_EVERY: usize = 20;
/// Slack delivers an event for so long; what is older has come or will not.
const DELIVERED: SignedDuration = SignedDuration::from_mins(10);
/// How far back a new channel is read where each page takes a minute.
const CAPPED_SPAN: SignedDuration = SignedDuration::from_hours(24);
/// Where it is noted that this app gets little history.
pub(super) const CAPPED: &str = "history is capped";
/// After something could not be read.
const PAUSE: SignedDuration = SignedDuration::from_secs(60);

/// The rooms that should be caught up on.
#[derive(Default)]
pub struct Wanted {
    rooms: Mutex<BTreeSet<ChannelId>>,
    added: Notify,
    /// By room: nothing is missing since the gap that ended then, as far as we could read.
    caught_up: Mutex<HashMap<ChannelId, Timestamp>>,
    /// Somebody waits for these.
    urgent: Mutex<BTreeSet<ChannelId>>,
}

impl Wanted {
    pub fn add(&self, room: &ChannelId) {
        self.rooms.lock().unwrap_or_else(PoisonError::into_inner).insert(room.clone());
        self.added.notify_one();
    }

    /// What was said before and after the gap that ended at `since` has been read.
    pub fn is_caught_up(&self, room: &ChannelId, since: Timestamp) -> bool {
        let caught_up = self.caught_up.lock().unwrap_or_else(PoisonError::into_inner);
        caught_up.get(room).is_some_and(|until| *until >= since)
    }

    fn note(&self, room: &ChannelId, since: Timestamp) {
        let mut caught_up = self.caught_up.lock().unwrap_or_else(PoisonError::into_inner);
        caught_up.insert(room.clone(), since);
    }

    /// Something is to be done in this room, and has to wait until it is read.
    pub fn hurry(&self, room: &ChannelId) {
        self.urgent.lock().unwrap_or_else(PoisonError::into_inner).insert(room.clone());
    }

    fn next(&self) -> Option<ChannelId> {
        let mut rooms = self.rooms.lock().unwrap_or_else(PoisonError::into_inner);
        let mut urgent = self.urgent.lock().unwrap_or_else(PoisonError::into_inner);
        while let Some(room) = urgent.pop_first() {
            if rooms.remove(&room) {
                return Some(room);
            }
        }
        rooms.pop_first()
    }

    fn count(&self) -> usize {
        self.rooms.lock().unwrap_or_else(PoisonError::into_inner).len()
    }
}

impl Slack {
    /// Catches up on whatever is wanted, and on everything after each gap. Never ends.
    pub(super) async fn stay_caught_up(&self) {
        let mut air = self.air.changes();
        let mut unbroken = None;
        let mut failed: BTreeSet<ChannelId> = BTreeSet::new();
        let (mut again, mut bookmarks) = (self.now(), self.now() + self.settings.sync_every);
        loop {
            let since = air.borrow_and_update().since;
            if since.is_some() && since != unbroken {
                unbroken = since;
                self.roster.joined().iter().for_each(|room| self.wanted.add(room));
            }
            if let Some(since) = since
                && let Some(room) = self.wanted.next()
            {
                match self.catch_up(&room, since).await {
                    Ok(new) => self.tell_progress(&room, new, failed.len()),
                    Err(error) => {
                        warn!("a channel's history could not be read and is tried again: {error}");
                        if failed.is_empty() {
                            again = self.now() + PAUSE;
                        }
                        failed.insert(room.clone());
                    }
                }
                // Where nothing can be read, it goes on with what it has.
                self.wanted.note(&room, since);
                continue;
            }
            let next = if failed.is_empty() { bookmarks } else { again.min(bookmarks) };
            tokio::select! {
                () = self.wanted.added.notified() => {}
                _ = air.changed() => {}
                () = self.clock.sleep_until(next) => {}
            }
            if self.now() >= again {
                std::mem::take(&mut failed).iter().for_each(|room| self.wanted.add(room));
            }
            if self.now() >= bookmarks {
                bookmarks = self.now() + self.settings.sync_every;
                self.move_bookmarks(unbroken).await;
            }
        }
    }

    fn tell_progress(&self, room: &ChannelId, new: usize, failed: usize) {
        let left = self.wanted.count();
        debug!("caught up on {room}: {new} new lines; {left} channels are left");
        match left {
            0 if failed == 0 => info!("caught up on all Slack channels"),
            0 => info!("caught up on all Slack channels but {failed}, which are tried again"),
            left if left.is_multiple_of(TOLD_EVERY) => {
                info!("{left} Slack channels are to be read yet")
            }
            _ => {}
        }
    }

    /// Reads what was said in a room since its bookmark, and says how much of it was new.
    async fn catch_up(&self, room: &ChannelId, since: Timestamp) -> Result<usize, TakeError> {
        let began = self.now();
        let bookmark = self.bookmark(room).await?;
        let is_capped = self.cap.is_on();
        let span =
            if is_capped { CAPPED_SPAN.min(self.settings.history) } else { self.settings.history };
        let horizon = began - span;
        // Further back than the bookmark, so that edits, deletions and threads of old lines are seen; but
        // not where each page takes a minute.
        let from = match bookmark {
            Some(bookmark) if is_capped => bookmark,
            Some(bookmark) => bookmark.min(horizon),
            None => horizon,
        };
        let mut pass = self.pass(room, from, since, bookmark.is_none()).await?;
        match self.read_room(&mut pass).await {
            Ok(()) => {}
            Err(TakeError::Slack(ApiError::Refused(code))) if is_absence(&code) => {
                debug!("a channel's history is not there for us ({code})");
                return Ok(pass.new);
            }
            Err(error) => return Err(error),
        }
        // Since then, everything has come by itself or comes again.
        if self.air.state().since == Some(since) {
            self.put_bookmark(room, began).await?;
        }
        Ok(pass.new)
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

    /// Nothing was missed since the last pass, so the next start need not read it again.
    async fn move_bookmarks(&self, unbroken: Option<Timestamp>) {
        let is_unbroken = unbroken.is_some() && self.air.state().since == unbroken;
        if !is_unbroken || self.wanted.count() > 0 {
            return;
        }
        let until = self.now() - DELIVERED;
        for room in self.roster.joined() {
            let moved = match self.bookmark(&room).await {
                Ok(Some(before)) if before < until => self.put_bookmark(&room, until).await,
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

/// Of these, no try would make a history.
fn is_absence(code: &str) -> bool {
    ["channel_not_found", "not_in_channel", "is_archived", "method_not_supported_for_channel_type"]
        .contains(&code)
}
