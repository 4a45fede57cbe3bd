//! Catching up: what was said while we could not hear, page by page, behind a bookmark that never passes a
//! hole. A pass begins after a connection is open, so that nothing falls in between.
//!
//! Slack shows no edits and deletions of the past, and no thread below a channel's lines: they are found by
//! comparing what it shows now with what is stored.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::stream::{FuturesOrdered, TryStreamExt};
use jiff::{SignedDuration, Timestamp};
use serde_json::Value;
use tokio::sync::Notify;
use tracing::{debug, info, warn};

use crate::chat::{Arrival, Bookmark, ChannelId, Deletion, Heard, Message, MessageId};
use crate::platform::slack::api::ApiError;
use crate::platform::slack::from_slack::{self, Line, is_tombstone, of_history, ts};
use crate::platform::slack::take::TakeError;
use crate::platform::slack::{Slack, next_cursor};
use crate::store::{LineQuery, Span};

/// As many lines in a page as Slack gives.
const PAGE: usize = 999;
/// What an app gets that was distributed outside of Slack's Marketplace since May 2025, and how often.
const CAPPED_PAGE: usize = 15;
const CAPPED_PACE: SignedDuration = SignedDuration::from_secs(60);
/// How many stored lines of a channel are compared with its history at most.
const MOST_COMPARED: usize = 20_000;
/// How many lines wait for one commit.
const AT_ONCE: usize = 64;
/// After so many channels, the log says how many are left.
const TOLD_EVERY: usize = 20;
/// Slack delivers an event for so long; what is older has come or will not.
const DELIVERED: SignedDuration = SignedDuration::from_mins(10);
/// The history may lag behind what is said by so much.
const LAG: SignedDuration = SignedDuration::from_secs(10);
/// How far back a new channel is read where each page takes a minute.
const CAPPED_SPAN: SignedDuration = SignedDuration::from_hours(24);
/// Where it is noted that this app gets little history.
pub(super) const CAP: &str = "history is capped";
/// After something could not be read.
const PAUSE: SignedDuration = SignedDuration::from_secs(60);

/// The rooms that should be caught up on.
#[derive(Default)]
pub struct Wanted {
    rooms: Mutex<BTreeSet<ChannelId>>,
    added: Notify,
    /// By room: nothing is missing since the gap that ended then, as far as we could read.
    caught_up: Mutex<HashMap<ChannelId, Timestamp>>,
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

    fn next(&self) -> Option<ChannelId> {
        self.rooms.lock().unwrap_or_else(PoisonError::into_inner).pop_first()
    }

    fn count(&self) -> usize {
        self.rooms.lock().unwrap_or_else(PoisonError::into_inner).len()
    }
}

/// One reading of a channel.
struct Pass {
    channel: ChannelId,
    /// From when on it is read.
    from: Timestamp,
    /// Since when we have heard without a gap.
    since: Timestamp,
    began: Timestamp,
    /// The room has not been read before.
    is_first: bool,
    /// Slack shows nothing that is older.
    floor: Timestamp,
    /// What is stored since `from`, unless that is too much to compare.
    stored: Option<HashMap<MessageId, Arc<Message>>>,
    /// What Slack shows.
    seen: HashSet<MessageId>,
    /// The threads that were read since `from`.
    threads: HashSet<MessageId>,
    /// When the persona spoke last at the top level, and in each thread.
    spoke: BTreeMap<Option<MessageId>, Timestamp>,
    new: usize,
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
        let is_capped = self.pace.is_capped();
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
        self.hear_what_is_gone(&pass).await?;
        // Since then, everything has come by itself or comes again.
        if self.air.state().since == Some(since) {
            self.put_bookmark(room, began).await?;
        }
        Ok(pass.new)
    }

    async fn pass(
        &self,
        channel: &ChannelId,
        from: Timestamp,
        since: Timestamp,
        is_first: bool,
    ) -> Result<Pass, TakeError> {
        let query = LineQuery {
            workspace: self.who.workspace.clone(),
            channel: channel.clone(),
            thread: None,
            span: Span::AfterTime(from - SignedDuration::from_millis(1)),
            limit: MOST_COMPARED + 1,
        };
        let stored = self.archive.lines(query).await?;
        let is_too_much = stored.len() > MOST_COMPARED;
        if is_too_much {
            info!(
                "a channel has so many lines that edits and deletions of the past are not looked for"
            );
        }
        let stored = stored.into_iter().filter(|line| !line.is_deleted);
        let stored = stored.map(|line| (line.message.id.clone(), line.message)).collect();
        Ok(Pass {
            channel: channel.clone(),
            from,
            since,
            began: self.now(),
            is_first,
            floor: from,
            stored: (!is_too_much).then_some(stored),
            seen: HashSet::new(),
            threads: HashSet::new(),
            spoke: BTreeMap::new(),
            new: 0,
        })
    }

    /// All pages, newest first; within each, the threads before the lines, since an answer may be there.
    async fn read_room(&self, pass: &mut Pass) -> Result<(), TakeError> {
        let mut cursor = None;
        loop {
            let arguments = vec![("channel", pass.channel.to_string())];
            let mut page = self.history("conversations.history", arguments, pass, cursor).await?;
            let lines = lines(&pass.channel, &mut page);
            pass.note_limit(&page, &lines);
            pass.note_own(&lines, |line| self.is_own(line));
            for parent in &lines {
                if has_news(parent, pass) {
                    self.read_thread(&parent.id, pass).await?;
                }
            }
            self.hear_lines(lines.into_iter().rev().collect(), pass).await?;
            if self.pace.is_capped() {
                // The rest takes long; the newest is what matters for what is said next.
                self.wanted.note(&pass.channel, pass.since);
            }
            cursor = next_cursor(&page);
            if cursor.is_none() {
                break;
            }
        }
        self.read_other_threads(pass).await
    }

    /// Threads that no line has led to: below lines that are older than what was read, and those of which
    /// all answers are gone.
    async fn read_other_threads(&self, pass: &mut Pass) -> Result<(), TakeError> {
        let recent = pass.began - self.settings.history;
        let known = self.archive.threads_since(&self.who.workspace, &pass.channel, recent).await?;
        for (thread, newest) in known {
            let is_old = from_slack::time(&thread.as_str().into()).is_some_and(|at| at < pass.from);
            if (is_old || newest >= pass.from) && !pass.threads.contains(&thread) {
                self.read_thread(&thread, pass).await?;
            }
        }
        Ok(())
    }

    async fn read_thread(&self, thread: &MessageId, pass: &mut Pass) -> Result<(), TakeError> {
        let mut found = Vec::new();
        let mut cursor = None;
        loop {
            let arguments = vec![("channel", pass.channel.to_string()), ("ts", thread.to_string())];
            let page = self.history("conversations.replies", arguments, pass, cursor).await;
            let mut page = match page {
                // Its parent is gone, and everything with it.
                Err(TakeError::Slack(ApiError::Refused(code))) if code == "thread_not_found" => {
                    break;
                }
                page => page?,
            };
            found.extend(lines(&pass.channel, &mut page));
            cursor = next_cursor(&page);
            if cursor.is_none() {
                break;
            }
        }
        pass.threads.insert(thread.clone());
        pass.note_own(&found, |line| self.is_own(line));
        // Oldest first; the parent comes with each page and is heard with its channel.
        let parent = |line: &Line| line.id == *thread && line.at < pass.from;
        let found: Vec<Line> = found.into_iter().filter(|line| !parent(line)).collect();
        self.hear_lines(found, pass).await
    }

    /// One page, no faster than this app may.
    async fn history(
        &self,
        method: &str,
        mut arguments: Vec<(&str, String)>,
        pass: &Pass,
        cursor: Option<String>,
    ) -> Result<Value, TakeError> {
        arguments.push(("oldest", ts(pass.from)));
        arguments.push(("inclusive", "true".to_owned()));
        arguments.push(("include_all_metadata", "true".to_owned()));
        let limit = if self.pace.is_capped() { CAPPED_PAGE } else { PAGE };
        arguments.push(("limit", limit.to_string()));
        arguments.extend(cursor.map(|cursor| ("cursor", cursor)));
        if self.pace.is_capped() {
            let turn = self.pace.next_page(self.now(), CAPPED_PACE);
            self.clock.sleep_until(turn).await;
        }
        let page = self.read(method, &arguments).await?;
        let has_more = page["has_more"] == true;
        let Some(found) = page["messages"].as_array().map(Vec::len) else {
            return Err(ApiError::Unknown("a page has no lines".to_owned()).into());
        };
        if has_more && next_cursor(&page).is_none() {
            return Err(
                ApiError::Unknown("a page does not say where the next is".to_owned()).into()
            );
        }
        if found == CAPPED_PAGE && limit > CAPPED_PAGE && has_more && self.pace.cap(self.now()) {
            self.put_cap().await?;
            warn!(
                "Slack gives this app {CAPPED_PAGE} lines of history a minute, so catching up is slow; \
                 apps that a workspace has made for itself get more"
            );
        }
        Ok(page)
    }

    /// Hears lines in their order, those that are new or have changed.
    async fn hear_lines(&self, lines: Vec<Line>, pass: &mut Pass) -> Result<(), TakeError> {
        let mut new = 0;
        let mut hearing = FuturesOrdered::new();
        // The flow may be just about to keep it.
        let is_on_its_way = |line: &Line| {
            self.is_own(line) && line.key.is_some() && line.at > pass.began - DELIVERED
        };
        for line in lines.iter().filter(|line| pass.is_news(line) && !is_on_its_way(line)) {
            if hearing.len() == AT_ONCE {
                new += hearing.try_next().await?.unwrap_or(0);
            }
            hearing.push_back(self.hear_old(line, pass));
        }
        while let Some(more) = hearing.try_next().await? {
            new += more;
        }
        drop(hearing);
        pass.new += new;
        let shown = lines.into_iter().filter(|line| !is_tombstone(line)).map(|line| line.id);
        pass.seen.extend(shown);
        Ok(())
    }

    async fn hear_old(&self, line: &Line, pass: &Pass) -> Result<usize, TakeError> {
        if is_tombstone(line) {
            self.hear_deletion(line, line.edited.unwrap_or(pass.began)).await?;
            return Ok(0);
        }
        let receipt = self.hear_line(line, pass.arrival(line)).await?;
        let is_new = receipt.is_some_and(|receipt| receipt.is_new);
        if is_new {
            self.hear_reactions(line).await?;
        } else if line.edited.is_some() {
            // Slack tells the time of an edit in whole seconds, but this is how it reads now.
            self.hear_edit(line, pass.began).await?;
        }
        Ok(usize::from(is_new))
    }

    async fn hear_reactions(&self, line: &Line) -> Result<(), TakeError> {
        for reaction in from_slack::reactions(line) {
            self.hear_reaction(reaction).await?;
        }
        Ok(())
    }

    /// What is stored and not in the history any more was deleted meanwhile.
    async fn hear_what_is_gone(&self, pass: &Pass) -> Result<(), TakeError> {
        for message in pass.stored.iter().flat_map(HashMap::values).filter(|line| pass.misses(line))
        {
            let deletion = Deletion {
                conversation: message.conversation.clone(),
                message: message.id.clone(),
                at: pass.began,
            };
            self.ears.hear(Heard::Deletion(deletion)).await?;
        }
        Ok(())
    }

    /// The next start need not find out again.
    async fn put_cap(&self) -> Result<(), TakeError> {
        let workspace = self.who.workspace.clone();
        let (place, value) = (CAP.into(), "true".into());
        self.ears.hear(Heard::Bookmark(Bookmark { workspace, place, value })).await?;
        Ok(())
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

impl Pass {
    fn note_own(&mut self, lines: &[Line], is_own: impl Fn(&Line) -> bool) {
        for line in lines.iter().filter(|line| is_own(line)) {
            let spoke = self.spoke.entry(line.thread.clone()).or_insert(line.at);
            *spoke = line.at.max(*spoke);
        }
    }

    /// What Slack shows of a channel may end before the span that was asked for.
    fn note_limit(&mut self, page: &Value, lines: &[Line]) {
        if page["is_limited"] == true {
            let oldest = lines.iter().map(|line| line.at).min();
            self.floor = oldest.unwrap_or(self.began);
        }
    }

    /// What was said since we hear without a gap is live, though its event may come later. Of what was said
    /// before, a room that was never read shows itself what was answered; in others, what is owed is known.
    fn arrival(&self, line: &Line) -> Arrival {
        if line.at >= self.since {
            Arrival::Live
        } else if self.is_first && self.is_answered(line) {
            Arrival::Answered
        } else {
            Arrival::CaughtUp
        }
    }

    /// The persona has spoken since, where the line stands or in a thread below it.
    fn is_answered(&self, line: &Line) -> bool {
        let since =
            |place: &Option<MessageId>| self.spoke.get(place).is_some_and(|spoke| *spoke > line.at);
        since(&line.thread) || since(&Some(line.id.clone()))
    }

    fn is_news(&self, line: &Line) -> bool {
        let stored = self.stored.as_ref().and_then(|stored| stored.get(&line.id));
        stored.is_none() || line.edited.is_some() || is_tombstone(line)
    }

    /// It should have been in what was read, and was not.
    fn misses(&self, message: &Message) -> bool {
        let is_slacks = from_slack::time(&message.id.as_str().into()).is_some();
        let was_read = match &message.conversation.thread {
            Some(thread) => self.threads.contains(thread),
            None => true,
        };
        is_slacks
            && was_read
            && message.at >= self.floor
            && message.at < self.began - LAG
            && !self.seen.contains(&message.id)
    }
}

/// The lines of a page.
fn lines(channel: &ChannelId, page: &mut Value) -> Vec<Line> {
    let Value::Array(messages) = page["messages"].take() else { return Vec::new() };
    messages.into_iter().filter_map(|message| of_history(channel, message)).collect()
}

/// Of these, no try would make a history.
fn is_absence(code: &str) -> bool {
    ["channel_not_found", "not_in_channel", "is_archived", "method_not_supported_for_channel_type"]
        .contains(&code)
}

/// Something was said in the thread below a line since the pass begins.
fn has_news(line: &Line, pass: &Pass) -> bool {
    let is_parent = line.thread.is_none() && line.whole["reply_count"].as_u64().unwrap_or(0) > 0;
    let latest = from_slack::time(&line.whole["latest_reply"]);
    is_parent && latest.is_none_or(|latest| latest >= pass.from)
}
