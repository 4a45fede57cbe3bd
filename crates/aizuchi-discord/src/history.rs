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

use crate::Discord;
use crate::api::ApiError;
use crate::roster::Standing;
use crate::session::Mark;
use crate::take::TakeError;
use aizuchi_core::chat::{Bookmark, ChannelId, ConversationId, Heard};
use aizuchi_core::platform::wanted::Place;
use aizuchi_core::store::StoreError;

/// Edits and deletions are looked for so far back.
const LOOKED_BACK: SignedDuration = SignedDuration::from_hours(24);
/// Clocks differ: what is read begins so long before what is missing.
const OVERLAP: SignedDuration = SignedDuration::from_mins(5);
/// After something could not be read.
const PAUSE: SignedDuration = SignedDuration::from_secs(60);

impl Discord {
    /// Catches up on whatever is wanted, and on everything after each gap. Never ends.
    pub(super) async fn stay_caught_up(&self) {
        let mut air = self.air.changes();
        let mut unbroken = None;
        let mut later = BTreeSet::new();
        let (mut again, mut marks) = (self.now(), self.now() + self.settings.sync_every);
        loop {
            let since = air.borrow_and_update().since;
            if since.is_some() && since != unbroken {
                unbroken = since;
                self.wanted.begin(&[]);
                self.roster.joined().iter().for_each(|room| self.want(room));
            }
            if let Some(since) = since
                && let Some(room) = self.wanted.next()
            {
                if let Err(error) = self.catch_up(&room, since, later.len()).await {
                    warn!("a channel's history could not be read and is tried again: {error}");
                    if later.is_empty() {
                        again = self.now() + PAUSE;
                    }
                    later.insert(room);
                }
                continue;
            }
            let next = if later.is_empty() { marks } else { again.min(marks) };
            tokio::select! {
                () = self.wanted.added.notified() => {}
                _ = air.changed() => {}
                () = self.clock.sleep_until(next) => {}
            }
            if self.now() >= again {
                std::mem::take(&mut later).iter().for_each(|room| self.wanted.add(room));
            }
            if self.now() >= marks {
                marks = self.now() + self.settings.sync_every;
                if let Some(since) = self.air.state().since
                    && let Err(error) = self.settle_marks(since, self.now() - OVERLAP).await
                {
                    warn!("how far channels are read could not be noted: {error}");
                }
            }
        }
    }

    /// Reads first where something is to be done. Never ends.
    pub(super) async fn stay_ready(&self) {
        loop {
            let (place, since) = self.wanted.next_hurried(&self.air).await;
            match self.read_soon(&place, since).await {
                Ok(()) | Err(TakeError::Discord(ApiError::Refused(_))) => {
                    self.wanted.note(place, since);
                }
                // Whoever waits asks again.
                Err(error) => warn!("what is waited for could not be read: {error}"),
            }
        }
    }

    /// What was said there lately may not have been heard yet.
    pub(super) fn is_behind_in(&self, conversation: &ConversationId) -> bool {
        let Some(since) = self.air.state().since else { return true };
        let channel = &conversation.channel;
        match self.roster.room(channel).map(|room| room.standing) {
            Some(Standing::Member) => {
                let place = (channel.clone(), conversation.thread.clone());
                let is_behind = !self.wanted.is_caught_up(&place, since);
                if is_behind {
                    self.wanted.hurry(place);
                }
                is_behind
            }
            // Its server has not been told of yet.
            Some(Standing::Unknown) => true,
            Some(Standing::Out) | None => false,
        }
    }

    /// A room is to be read, unless it was since nothing is missing.
    pub(super) fn want(&self, room: &ChannelId) {
        let mark = self.mark(room);
        match self.air.state().since {
            Some(since) if mark.is_some_and(|mark| mark.since == since) => {
                self.wanted.note_whole(room, since);
            }
            Some(_) | None => self.wanted.add(room),
        }
    }

    /// Reads what was said in a place since its mark, and a little before.
    async fn read_soon(&self, place: &Place, since: Timestamp) -> Result<(), TakeError> {
        let (room, thread) = place;
        let mark = self.mark(room);
        let from = mark.map_or(self.now(), |mark| mark.until) - OVERLAP;
        let mut pass = self.pass(room, from, since).await?;
        let place = thread.as_ref().map_or(room.clone(), |it| ChannelId::new(it.as_str()));
        self.read_place(&place, &mut pass).await?;
        self.hear_what_is_gone(&pass).await
    }

    /// Reads what was said in a room since its mark.
    async fn catch_up(
        &self,
        room: &ChannelId,
        since: Timestamp,
        failed: usize,
    ) -> Result<(), TakeError> {
        let began = self.now();
        let horizon = began - self.settings.history;
        let from = match self.mark(room) {
            Some(mark) => (mark.until - OVERLAP).min(horizon.max(began - LOOKED_BACK)),
            None => horizon,
        };
        let mut pass = self.pass(room, from, since).await?;
        match self.read_room(&mut pass).await {
            // Where nothing may be read, it goes on with what it hears.
            Err(TakeError::Discord(ApiError::Refused(refusal))) => {
                info!("a channel's history may not be read: Discord says {refusal}");
            }
            read => read?,
        }
        self.wanted.note_whole(room, since);
        self.wanted.tell_progress("Discord", room, pass.new, failed);
        // Since then, everything has come by itself.
        if self.air.state().since == Some(since) {
            self.put_mark(room, Mark { until: began, since }).await?;
        }
        Ok(())
    }

    fn mark(&self, room: &ChannelId) -> Option<Mark> {
        let marks = self.marks.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        marks.get(room).copied()
    }

    async fn put_mark(&self, room: &ChannelId, mark: Mark) -> Result<(), StoreError> {
        let Some(known) = self.roster.room(room) else { return Ok(()) };
        let bookmark = Bookmark {
            workspace: known.channel.workspace,
            place: room.as_str().into(),
            value: mark.written().into(),
        };
        self.ears.hear(Heard::Bookmark(bookmark)).await?;
        let mut marks = self.marks.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        marks.insert(room.clone(), mark);
        Ok(())
    }

    /// Nothing was missed in rooms that have been read since a gap, until then; so nothing before it need be
    /// read again.
    pub(super) async fn settle_marks(
        &self,
        since: Timestamp,
        until: Timestamp,
    ) -> Result<(), StoreError> {
        let marks = {
            let marks = self.marks.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            marks.clone()
        };
        let whole = marks.iter().filter(|(_, mark)| mark.since == since && mark.until < until);
        let moved = whole.map(|(room, mark)| self.put_mark(room, Mark { until, ..*mark }));
        try_join_all(moved).await.map(|_| ())
    }
}
