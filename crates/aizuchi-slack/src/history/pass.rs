//! One reading of a channel's history: page by page, thread by thread, compared with what is stored.

use std::collections::{BTreeMap, HashMap, HashSet};

use futures_util::stream::{FuturesOrdered, TryStreamExt};
use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use crate::SlackPlatform;
use crate::api::{SlackApiError, next_cursor};
use crate::from_slack::{self, SlackMessage, format_ts, is_tombstone, parse_history_message};
use crate::history::{CURSOR_OVERLAP, REDELIVERY_WINDOW};
use crate::ingest::IngestError;
use aizuchi_core::chat::{Arrival, ChannelId, Message, MessageId};
use aizuchi_core::platform::backfill::{
    StoredById, missing_messages, stored_messages_since, to_deletion,
};

/// As many lines in a page as Slack gives.
const PAGE_SIZE: usize = 999;
/// How many lines wait for one commit.
const MAX_CONCURRENT: usize = 64;
/// The history may lag behind what is said by so much.
const HISTORY_LAG: SignedDuration = SignedDuration::from_secs(10);

/// One reading of a channel.
pub(super) struct BackfillPass {
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
    active_threads_since: Timestamp,
    /// All pages were read.
    has_read_pages: bool,
    /// Slack shows nothing that is older.
    oldest_visible: Timestamp,
    /// What is stored since `from`, unless that is too much to compare.
    stored: Option<StoredById>,
    /// How many lines of each thread are among them.
    reply_counts: HashMap<MessageId, u64>,
    /// What Slack shows.
    seen: HashSet<MessageId>,
    /// The threads that were read since `from`.
    threads_read: HashSet<MessageId>,
    /// The threads that need not be read.
    unchanged_threads: HashSet<MessageId>,
    /// When the persona spoke last at the top level, and in each thread.
    persona_spoke_at: BTreeMap<Option<MessageId>, Timestamp>,
    pub(super) new_messages: usize,
}

impl SlackPlatform {
    pub(super) async fn start_pass(
        &self,
        channel: &ChannelId,
        from: Timestamp,
        since: Timestamp,
        bookmark: Option<Timestamp>,
    ) -> Result<BackfillPass, IngestError> {
        let stored =
            stored_messages_since(&*self.archive, &self.identity.workspace, channel, from).await?;
        let mut replies = HashMap::new();
        let lines = stored.iter().flat_map(HashMap::values).filter(|line| is_slack_ts(&line.id));
        for thread in lines.filter_map(|line| line.conversation.thread.clone()) {
            *replies.entry(thread).or_default() += 1;
        }
        Ok(BackfillPass {
            channel: channel.clone(),
            from,
            since: self.backfill.live_since(channel, since),
            has_read_pages: false,
            began: self.now(),
            is_first: bookmark.is_none(),
            changed_since: bookmark.map_or(from, |bookmark| from.max(bookmark - CURSOR_OVERLAP)),
            active_threads_since: self.active_threads_since(from, bookmark),
            oldest_visible: from,
            stored,
            reply_counts: replies,
            seen: HashSet::new(),
            threads_read: HashSet::new(),
            unchanged_threads: HashSet::new(),
            persona_spoke_at: BTreeMap::new(),
            new_messages: 0,
        })
    }

    /// Whoever answers in an old thread while we are away answers to what was lively before that, so this
    /// looks back from what is missing, however late it is read.
    fn active_threads_since(&self, from: Timestamp, bookmark: Option<Timestamp>) -> Timestamp {
        let missing = bookmark.unwrap_or(from);
        if self.history_limit.is_limited() {
            missing - self.backfill_span()
        } else {
            from.min(missing) - self.backfill_span()
        }
    }

    /// All pages, then the threads.
    pub(super) async fn read_channel(&self, pass: &mut BackfillPass) -> Result<(), IngestError> {
        let parents = self.read_pages(pass).await?;
        self.read_threads(&parents, pass).await?;
        self.read_other_threads(pass).await?;
        self.hear_missing_deletions(pass).await
    }

    /// All pages, newest first. Returns the lines that have threads to be read; of a room that was never read
    /// those come first, since an answer to a line may be there.
    pub(super) async fn read_pages(
        &self,
        pass: &mut BackfillPass,
    ) -> Result<Vec<MessageId>, IngestError> {
        let mut parents = Vec::new();
        let mut cursor = None;
        loop {
            let arguments = vec![("channel", pass.channel.to_string())];
            let mut page =
                self.fetch_history_page("conversations.history", arguments, pass, cursor).await?;
            let lines = parse_page(&pass.channel, &mut page);
            pass.record_oldest_visible(&page, &lines);
            pass.record_own(&lines, |line| self.is_own(line));
            let news = pass.changed_threads(&lines);
            if pass.is_first {
                self.read_threads(&news, pass).await?;
            } else {
                parents.extend(news);
            }
            self.hear_history(lines.into_iter().rev().collect(), pass).await?;
            cursor = next_cursor(&page);
            if cursor.is_none() {
                pass.has_read_pages = true;
                return Ok(parents);
            }
        }
    }

    async fn read_threads(
        &self,
        threads: &[MessageId],
        pass: &mut BackfillPass,
    ) -> Result<(), IngestError> {
        for thread in threads {
            self.read_thread(thread, pass).await?;
        }
        Ok(())
    }

    /// Threads that no line has led to: below lines that are older than what was read, and those of which
    /// all answers are gone.
    async fn read_other_threads(&self, pass: &mut BackfillPass) -> Result<(), IngestError> {
        let workspace = &self.identity.workspace;
        let known =
            self.archive.threads_since(workspace, &pass.channel, pass.active_threads_since).await?;
        for (thread, _) in known {
            let is_old =
                from_slack::parse_ts(&thread.as_str().into()).is_some_and(|at| at < pass.from);
            let has_lines = pass.reply_counts.contains_key(&thread);
            let is_known =
                pass.threads_read.contains(&thread) || pass.unchanged_threads.contains(&thread);
            if (is_old || has_lines) && !is_known {
                self.read_thread(&thread, pass).await?;
            }
        }
        Ok(())
    }

    pub(super) async fn read_thread(
        &self,
        thread: &MessageId,
        pass: &mut BackfillPass,
    ) -> Result<(), IngestError> {
        let mut found = Vec::new();
        let mut cursor = None;
        loop {
            let arguments = vec![("channel", pass.channel.to_string()), ("ts", thread.to_string())];
            let page =
                self.fetch_history_page("conversations.replies", arguments, pass, cursor).await;
            let mut page = match page {
                // Its parent is gone, and everything with it.
                Err(IngestError::Slack(SlackApiError::Refused(code)))
                    if code == "thread_not_found" =>
                {
                    break;
                }
                page => page?,
            };
            found.extend(parse_page(&pass.channel, &mut page));
            cursor = next_cursor(&page);
            if cursor.is_none() {
                break;
            }
        }
        pass.threads_read.insert(thread.clone());
        self.backfill.record_thread(pass.channel.clone(), thread.clone());
        pass.record_own(&found, |line| self.is_own(line));
        // Oldest first; the parent comes with each page and is heard with its channel.
        let parent = |line: &SlackMessage| line.id == *thread && line.at < pass.from;
        let found: Vec<SlackMessage> = found.into_iter().filter(|line| !parent(line)).collect();
        self.hear_history(found, pass).await
    }

    /// One page, no faster than this app may.
    async fn fetch_history_page(
        &self,
        method: &str,
        mut arguments: Vec<(&str, String)>,
        pass: &BackfillPass,
        cursor: Option<String>,
    ) -> Result<Value, IngestError> {
        arguments.push(("oldest", format_ts(pass.from)));
        arguments.push(("inclusive", "true".to_owned()));
        arguments.push(("include_all_metadata", "true".to_owned()));
        // Who gets little gets it whatever is asked for, and shows so if that ends.
        arguments.push(("limit", PAGE_SIZE.to_string()));
        arguments.extend(cursor.map(|cursor| ("cursor", cursor)));
        self.clock.sleep_until(self.history_limit.reserve_page(self.now())).await;
        let page = self.read_with_retries(method, &arguments).await?;
        let has_more = page["has_more"] == true;
        let Some(found) = page["messages"].as_array().map(Vec::len) else {
            return Err(SlackApiError::OutcomeUnknown("a page has no lines".to_owned()).into());
        };
        if has_more && next_cursor(&page).is_none() {
            return Err(SlackApiError::OutcomeUnknown(
                "a page does not say where the next is".to_owned(),
            )
            .into());
        }
        self.record_limit(found, has_more).await?;
        Ok(page)
    }

    /// Hears lines in their order, those that are new or have changed.
    async fn hear_history(
        &self,
        lines: Vec<SlackMessage>,
        pass: &mut BackfillPass,
    ) -> Result<(), IngestError> {
        let mut new = 0;
        let mut hearing = FuturesOrdered::new();
        // The flow may be just about to keep it.
        let is_on_its_way = |line: &SlackMessage| {
            self.is_own(line) && line.key.is_some() && line.at > pass.began - REDELIVERY_WINDOW
        };
        for line in lines.iter().filter(|line| pass.is_new_or_changed(line) && !is_on_its_way(line))
        {
            if hearing.len() == MAX_CONCURRENT {
                new += hearing.try_next().await?.unwrap_or(0);
            }
            hearing.push_back(self.hear_history_message(line, pass));
        }
        while let Some(more) = hearing.try_next().await? {
            new += more;
        }
        drop(hearing);
        pass.new_messages += new;
        let shown = lines.into_iter().filter(|line| !is_tombstone(line)).map(|line| line.id);
        pass.seen.extend(shown);
        Ok(())
    }

    async fn hear_history_message(
        &self,
        line: &SlackMessage,
        pass: &BackfillPass,
    ) -> Result<usize, IngestError> {
        if is_tombstone(line) {
            self.hear_deletion(line, line.edited_at.unwrap_or(pass.began)).await?;
            return Ok(0);
        }
        let receipt = self.hear_message(line, pass.arrival(line)).await?;
        let is_new = receipt.is_some_and(|receipt| receipt.is_new);
        if is_new {
            self.hear_reactions(line).await?;
        } else if line.edited_at.is_some() {
            // Slack tells the time of an edit in whole seconds, but this is how it reads now.
            self.hear_edit(line, pass.began).await?;
        }
        Ok(usize::from(is_new))
    }

    async fn hear_reactions(&self, line: &SlackMessage) -> Result<(), IngestError> {
        for reaction in from_slack::message_reactions(line) {
            self.hear_reaction(reaction).await?;
        }
        Ok(())
    }

    /// What is stored and not in the history any more was deleted meanwhile. Each is looked for once more,
    /// since nothing brings it back; and where very much is missing, something else is wrong.
    pub(super) async fn hear_missing_deletions(
        &self,
        pass: &BackfillPass,
    ) -> Result<(), IngestError> {
        for message in missing_messages(pass.stored.as_ref(), |line| pass.is_missing(line), "Slack")
        {
            if !self.is_still_shown(message).await? {
                self.inbox.hear(to_deletion(message, pass.began)).await?;
            }
        }
        Ok(())
    }

    /// Asks for one line, no faster than this app may.
    async fn is_still_shown(&self, message: &Message) -> Result<bool, IngestError> {
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
        self.clock.sleep_until(self.history_limit.reserve_page(self.now())).await;
        let mut page = self.read_with_retries(method, &arguments).await?;
        let is_it = |line: &SlackMessage| line.id == message.id && !is_tombstone(line);
        Ok(parse_page(&place.channel, &mut page).iter().any(is_it))
    }
}

impl BackfillPass {
    fn record_own(&mut self, lines: &[SlackMessage], is_own: impl Fn(&SlackMessage) -> bool) {
        for line in lines.iter().filter(|line| is_own(line)) {
            let spoke = self.persona_spoke_at.entry(line.thread.clone()).or_insert(line.at);
            *spoke = line.at.max(*spoke);
        }
    }

    /// The threads below these lines in which something may have changed: something was said there lately, or
    /// there are not as many lines as are stored.
    fn changed_threads(&mut self, lines: &[SlackMessage]) -> Vec<MessageId> {
        let mut changed = Vec::new();
        for line in lines.iter().filter(|line| line.thread.is_none()) {
            let replies = line.raw["reply_count"].as_u64().unwrap_or(0);
            let latest = from_slack::parse_ts(&line.raw["latest_reply"]);
            let is_lively = latest.is_none_or(|latest| latest >= self.changed_since);
            let stored = self.reply_counts.get(&line.id).copied().unwrap_or(0);
            let is_whole = self.stored.is_none() || stored == replies;
            if replies > 0 && (is_lively || !is_whole) {
                changed.push(line.id.clone());
            } else if replies > 0 {
                self.unchanged_threads.insert(line.id.clone());
            }
        }
        changed
    }

    /// What Slack shows of a channel may end before the span that was asked for.
    fn record_oldest_visible(&mut self, page: &Value, lines: &[SlackMessage]) {
        if page["is_limited"] == true {
            let oldest = lines.iter().map(|line| line.at).min();
            self.oldest_visible = oldest.unwrap_or(self.began);
        }
    }

    /// What was said since we hear without a gap is live, though its event may come later. Of what was said
    /// before, a room that was never read shows itself what was answered; in others, what is owed is known.
    fn arrival(&self, line: &SlackMessage) -> Arrival {
        if line.at >= self.since {
            Arrival::Live
        } else if self.is_first && self.is_answered(line) {
            Arrival::BackfilledAnswered
        } else {
            Arrival::Backfilled
        }
    }

    /// The persona has spoken since, where the line stands or in a thread below it.
    fn is_answered(&self, line: &SlackMessage) -> bool {
        let since = |place: &Option<MessageId>| {
            self.persona_spoke_at.get(place).is_some_and(|spoke| *spoke > line.at)
        };
        since(&line.thread) || since(&Some(line.id.clone()))
    }

    fn is_new_or_changed(&self, line: &SlackMessage) -> bool {
        let stored = self.stored.as_ref().and_then(|stored| stored.get(&line.id));
        stored.is_none() || line.edited_at.is_some() || is_tombstone(line)
    }

    /// It should have been in what was read, and was not.
    fn is_missing(&self, message: &Message) -> bool {
        let was_read = match &message.conversation.thread {
            Some(thread) => self.threads_read.contains(thread),
            None => self.has_read_pages,
        };
        is_slack_ts(&message.id)
            && was_read
            && message.at >= self.oldest_visible
            && message.at < self.began - HISTORY_LAG
            && !self.seen.contains(&message.id)
    }
}

/// The lines of a page.
fn parse_page(channel: &ChannelId, page: &mut Value) -> Vec<SlackMessage> {
    let Value::Array(messages) = page["messages"].take() else { return Vec::new() };
    messages.into_iter().filter_map(|message| parse_history_message(channel, message)).collect()
}

/// It is a line of Slack's, and no answer that one person alone saw.
fn is_slack_ts(line: &MessageId) -> bool {
    from_slack::parse_ts(&line.as_str().into()).is_some()
}
