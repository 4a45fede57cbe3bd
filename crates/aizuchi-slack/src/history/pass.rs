//! One reading of a channel's history: page by page, thread by thread, compared with what is stored.

use std::collections::{BTreeMap, HashMap, HashSet};

use futures_util::stream::{FuturesOrdered, TryStreamExt};
use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use crate::api::ApiError;
use crate::from_slack::{self, Line, is_tombstone, of_history, ts};
use crate::history::{BEFORE, DELIVERED};
use crate::take::TakeError;
use crate::{Slack, next_cursor};
use aizuchi_core::chat::{Arrival, ChannelId, Message, MessageId};
use aizuchi_core::platform::catching_up::{Stored, deletion, gone, stored_since};

/// As many lines in a page as Slack gives.
const PAGE: usize = 999;
/// How many lines wait for one commit.
const AT_ONCE: usize = 64;
/// The history may lag behind what is said by so much.
const LAG: SignedDuration = SignedDuration::from_secs(10);

/// One reading of a channel.
pub(super) struct Pass {
    channel: ChannelId,
    /// From when on it is read.
    from: Timestamp,
    /// Since when we have heard without a gap.
    since: Timestamp,
    began: Timestamp,
    /// The room has not been read before.
    is_first: bool,
    /// A thread in which nothing was said since then, and nothing is missing, is as it was.
    changed_since: Timestamp,
    /// A thread below an older line is read if something was said in it since then.
    recent: Timestamp,
    /// All pages were read.
    has_pages: bool,
    /// Slack shows nothing that is older.
    floor: Timestamp,
    /// What is stored since `from`, unless that is too much to compare.
    stored: Option<Stored>,
    /// How many lines of each thread are among them.
    replies: HashMap<MessageId, u64>,
    /// What Slack shows.
    seen: HashSet<MessageId>,
    /// The threads that were read since `from`.
    threads: HashSet<MessageId>,
    /// The threads that need not be read.
    unchanged: HashSet<MessageId>,
    /// When the persona spoke last at the top level, and in each thread.
    spoke: BTreeMap<Option<MessageId>, Timestamp>,
    pub(super) new: usize,
}

impl Slack {
    pub(super) async fn pass(
        &self,
        channel: &ChannelId,
        from: Timestamp,
        since: Timestamp,
        bookmark: Option<Timestamp>,
    ) -> Result<Pass, TakeError> {
        let stored = stored_since(&*self.archive, &self.who.workspace, channel, from).await?;
        let mut replies = HashMap::new();
        let lines = stored.iter().flat_map(HashMap::values).filter(|line| is_slacks(&line.id));
        for thread in lines.filter_map(|line| line.conversation.thread.clone()) {
            *replies.entry(thread).or_default() += 1;
        }
        Ok(Pass {
            channel: channel.clone(),
            from,
            since: self.wanted.heard_since(channel, since),
            has_pages: false,
            began: self.now(),
            is_first: bookmark.is_none(),
            changed_since: bookmark.map_or(from, |bookmark| from.max(bookmark - BEFORE)),
            recent: self.recent(from, bookmark),
            floor: from,
            stored,
            replies,
            seen: HashSet::new(),
            threads: HashSet::new(),
            unchanged: HashSet::new(),
            spoke: BTreeMap::new(),
            new: 0,
        })
    }

    /// Whoever answers in an old thread while we are away answers to what was lively before that, so this
    /// looks back from what is missing, however late it is read.
    fn recent(&self, from: Timestamp, bookmark: Option<Timestamp>) -> Timestamp {
        let missing = bookmark.unwrap_or(from);
        if self.cap.is_on() { missing - self.span() } else { from.min(missing) - self.span() }
    }

    /// All pages, then the threads.
    pub(super) async fn read_room(&self, pass: &mut Pass) -> Result<(), TakeError> {
        let parents = self.read_pages(pass).await?;
        self.read_threads(&parents, pass).await?;
        self.read_other_threads(pass).await?;
        self.hear_what_is_gone(pass).await
    }

    /// All pages, newest first. Returns the lines that have threads to be read; of a room that was never read
    /// those come first, since an answer to a line may be there.
    pub(super) async fn read_pages(&self, pass: &mut Pass) -> Result<Vec<MessageId>, TakeError> {
        let mut parents = Vec::new();
        let mut cursor = None;
        loop {
            let arguments = vec![("channel", pass.channel.to_string())];
            let mut page = self.history("conversations.history", arguments, pass, cursor).await?;
            let lines = lines(&pass.channel, &mut page);
            pass.note_limit(&page, &lines);
            pass.note_own(&lines, |line| self.is_own(line));
            let news = pass.changed_threads(&lines);
            if pass.is_first {
                self.read_threads(&news, pass).await?;
            } else {
                parents.extend(news);
            }
            self.hear_lines(lines.into_iter().rev().collect(), pass).await?;
            cursor = next_cursor(&page);
            if cursor.is_none() {
                pass.has_pages = true;
                return Ok(parents);
            }
        }
    }

    async fn read_threads(&self, threads: &[MessageId], pass: &mut Pass) -> Result<(), TakeError> {
        for thread in threads {
            self.read_thread(thread, pass).await?;
        }
        Ok(())
    }

    /// Threads that no line has led to: below lines that are older than what was read, and those of which
    /// all answers are gone.
    async fn read_other_threads(&self, pass: &mut Pass) -> Result<(), TakeError> {
        let workspace = &self.who.workspace;
        let known = self.archive.threads_since(workspace, &pass.channel, pass.recent).await?;
        for (thread, _) in known {
            let is_old = from_slack::time(&thread.as_str().into()).is_some_and(|at| at < pass.from);
            let has_lines = pass.replies.contains_key(&thread);
            let is_known = pass.threads.contains(&thread) || pass.unchanged.contains(&thread);
            if (is_old || has_lines) && !is_known {
                self.read_thread(&thread, pass).await?;
            }
        }
        Ok(())
    }

    pub(super) async fn read_thread(
        &self,
        thread: &MessageId,
        pass: &mut Pass,
    ) -> Result<(), TakeError> {
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
        self.wanted.note_thread(pass.channel.clone(), thread.clone());
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
        // Who gets little gets it whatever is asked for, and shows so if that ends.
        arguments.push(("limit", PAGE.to_string()));
        arguments.extend(cursor.map(|cursor| ("cursor", cursor)));
        self.clock.sleep_until(self.cap.next_page(self.now())).await;
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
        self.note_cap(found, has_more).await?;
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

    /// What is stored and not in the history any more was deleted meanwhile. Each is looked for once more,
    /// since nothing brings it back; and where very much is missing, something else is wrong.
    pub(super) async fn hear_what_is_gone(&self, pass: &Pass) -> Result<(), TakeError> {
        for message in gone(pass.stored.as_ref(), |line| pass.misses(line), "Slack") {
            if !self.is_there(message).await? {
                self.ears.hear(deletion(message, pass.began)).await?;
            }
        }
        Ok(())
    }

    /// Asks for one line, no faster than this app may.
    async fn is_there(&self, message: &Message) -> Result<bool, TakeError> {
        let place = &message.conversation;
        let mut arguments = vec![
            ("channel", place.channel.to_string()),
            ("oldest", message.id.to_string()),
            ("latest", message.id.to_string()),
            ("inclusive", "true".to_owned()),
            ("limit", "2".to_owned()),
        ];
        let method = match &place.thread {
            Some(thread) => {
                arguments.push(("ts", thread.to_string()));
                "conversations.replies"
            }
            None => "conversations.history",
        };
        self.clock.sleep_until(self.cap.next_page(self.now())).await;
        let mut page = self.read(method, &arguments).await?;
        let is_it = |line: &Line| line.id == message.id && !is_tombstone(line);
        Ok(lines(&place.channel, &mut page).iter().any(is_it))
    }
}

impl Pass {
    fn note_own(&mut self, lines: &[Line], is_own: impl Fn(&Line) -> bool) {
        for line in lines.iter().filter(|line| is_own(line)) {
            let spoke = self.spoke.entry(line.thread.clone()).or_insert(line.at);
            *spoke = line.at.max(*spoke);
        }
    }

    /// The threads below these lines in which something may have changed: something was said there lately, or
    /// there are not as many lines as are stored.
    fn changed_threads(&mut self, lines: &[Line]) -> Vec<MessageId> {
        let mut changed = Vec::new();
        for line in lines.iter().filter(|line| line.thread.is_none()) {
            let replies = line.whole["reply_count"].as_u64().unwrap_or(0);
            let latest = from_slack::time(&line.whole["latest_reply"]);
            let is_lively = latest.is_none_or(|latest| latest >= self.changed_since);
            let stored = self.replies.get(&line.id).copied().unwrap_or(0);
            let is_whole = self.stored.is_none() || stored == replies;
            if replies > 0 && (is_lively || !is_whole) {
                changed.push(line.id.clone());
            } else if replies > 0 {
                self.unchanged.insert(line.id.clone());
            }
        }
        changed
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
        let was_read = match &message.conversation.thread {
            Some(thread) => self.threads.contains(thread),
            None => self.has_pages,
        };
        is_slacks(&message.id)
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

/// It is a line of Slack's, and no answer that one person alone saw.
fn is_slacks(line: &MessageId) -> bool {
    from_slack::time(&line.as_str().into()).is_some()
}
