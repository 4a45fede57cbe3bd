//! One pass over a channel's history: page by page, thread by thread, compared with what is stored.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use aizuchi_model::chat::{Arrival, ChannelId, Message, MessageId};
use aizuchi_platform::backfill::{StoredById, posts_in_flight, stored_messages_since};
use aizuchi_platform::deletion_check::DeletionCheck;
use aizuchi_platform::missed_deletions::Suspects;
use aizuchi_store::StoreError;
use futures_util::stream::{FuturesOrdered, TryStreamExt};
use jiff::{SignedDuration, Timestamp};
use tracing::warn;

use crate::SlackPlatform;
use crate::api::SlackApiError;
use crate::from_slack::{self, SlackMessage, format_ts, is_tombstone};
use crate::history::CURSOR_OVERLAP;
use crate::history::deletions::is_slack_ts;
use crate::history::page::HistoryPage;
use crate::ingest::IngestError;

/// How many messages are heard concurrently, so that one commit stores many of them.
const MAX_CONCURRENT: usize = 64;
/// How far Slack's clock may be ahead of ours.
const MAX_CLOCK_LAG: SignedDuration = SignedDuration::from_hours(24);

pub(super) struct BackfillPass {
    channel: ChannelId,
    from: Timestamp,
    /// The start of the current connection: events have been received without a gap since then.
    since: Timestamp,
    began: Timestamp,
    /// Whether the channel has not been read before.
    is_first: bool,
    /// A thread without a newer reply than this, and with as many replies as are stored, is not read.
    changed_since: Timestamp,
    /// A thread below a message before `from` is read if it has a stored reply since this time.
    active_threads_since: Timestamp,
    has_read_pages: bool,
    /// Slack hides messages older than this, as in a free workspace.
    oldest_visible: Timestamp,
    /// The messages stored since `from`, or `None` if there are too many to compare.
    stored: Option<StoredById>,
    /// The number of stored replies in each thread.
    reply_counts: HashMap<MessageId, u64>,
    /// The messages that Slack still has.
    seen: HashSet<MessageId>,
    threads_read: HashSet<MessageId>,
    unchanged_threads: HashSet<MessageId>,
    /// The time of the persona's last post at the top level (`None`) and in each thread.
    persona_posted_at: BTreeMap<Option<MessageId>, Timestamp>,
    pub(super) new_messages: usize,
}

impl SlackPlatform {
    pub(super) async fn start_pass(
        &self,
        channel: &ChannelId,
        from: Timestamp,
        since: Timestamp,
        cursor: Option<Timestamp>,
    ) -> Result<BackfillPass, IngestError> {
        // Read before the pages: a message that arrives during the pass must not look deleted.
        let stored =
            stored_messages_since(&*self.archive, &self.identity.workspace, channel, from).await?;
        let mut replies = HashMap::new();
        let messages = stored.iter().flat_map(HashMap::values);
        // Slack's `reply_count` does not include ephemeral answers.
        for message in messages.filter(|message| is_slack_ts(&message.id)) {
            if let Some(thread) = message.conversation.thread.clone() {
                *replies.entry(thread).or_default() += 1;
            }
        }
        Ok(BackfillPass {
            channel: channel.clone(),
            from,
            since: self.backfill.live_since(channel, since),
            has_read_pages: false,
            began: self.now(),
            is_first: cursor.is_none(),
            changed_since: cursor.map_or(from, |cursor| from.max(cursor - CURSOR_OVERLAP)),
            active_threads_since: self.active_threads_since(from, cursor),
            oldest_visible: from,
            stored,
            reply_counts: replies,
            seen: HashSet::new(),
            threads_read: HashSet::new(),
            unchanged_threads: HashSet::new(),
            persona_posted_at: BTreeMap::new(),
            new_messages: 0,
        })
    }

    /// The start of the span in which a thread counts as active. A reply that was missed in an old thread is likely in
    /// one that was active before the gap, so the span extends back from the start of the gap, however late the
    /// backfill runs.
    fn active_threads_since(&self, from: Timestamp, cursor: Option<Timestamp>) -> Timestamp {
        let missing = cursor.unwrap_or(from);
        if self.history_limit.is_limited() {
            missing - self.max_backfill_age()
        } else {
            from.min(missing) - self.max_backfill_age()
        }
    }

    pub(super) async fn read_history(&self, pass: &mut BackfillPass) -> Result<(), IngestError> {
        let parents = self.read_pages(pass).await?;
        self.read_threads(&parents, pass).await?;
        self.read_other_threads(pass).await
    }

    /// Reads all pages, newest first. Returns the messages whose threads remain to be read. In the first pass over a
    /// channel, threads are read immediately, because they may show that the persona has answered a message.
    pub(super) async fn read_pages(
        &self,
        pass: &mut BackfillPass,
    ) -> Result<Vec<MessageId>, IngestError> {
        let mut parents = Vec::new();
        let mut cursor = None;
        loop {
            // Without `latest`, Slack would start with the page that follows `oldest`.
            let latest = format_ts(pass.began + MAX_CLOCK_LAG);
            let arguments = vec![("oldest", format_ts(pass.from)), ("latest", latest)];
            let page =
                self.read_page("conversations.history", &pass.channel, arguments, cursor).await?;
            if page.became_private {
                self.confirm_private(&pass.channel).await?;
            }
            pass.record_oldest_visible(&page);
            pass.seen.extend(page.shown);
            let messages = page.messages;
            pass.record_own(&messages, |message| self.is_own(message));
            let changed = pass.changed_threads(&messages);
            if pass.is_first {
                self.read_threads(&changed, pass).await?;
            } else {
                parents.extend(changed);
            }
            // Slack lists the newest first; messages are heard in the order in which they were posted.
            self.hear_history(messages.into_iter().rev().collect(), pass).await?;
            cursor = page.next;
            if cursor.is_none() {
                pass.has_read_pages = true;
                return Ok(parents);
            }
        }
    }

    pub(super) async fn read_threads(
        &self,
        threads: &[MessageId],
        pass: &mut BackfillPass,
    ) -> Result<(), IngestError> {
        for thread in threads {
            self.read_thread(thread, pass).await?;
        }
        Ok(())
    }

    /// Reads the stored threads that the pages did not reveal: those below messages before `from`, and those whose
    /// replies have all been deleted.
    async fn read_other_threads(&self, pass: &mut BackfillPass) -> Result<(), IngestError> {
        let workspace = &self.identity.workspace;
        let known =
            self.archive.threads_since(workspace, &pass.channel, pass.active_threads_since).await?;
        for (thread, _) in known {
            let is_old =
                from_slack::parse_ts(&thread.as_str().into()).is_some_and(|at| at < pass.from);
            let has_replies = pass.reply_counts.contains_key(&thread);
            let is_known =
                pass.threads_read.contains(&thread) || pass.unchanged_threads.contains(&thread);
            if (is_old || has_replies) && !is_known {
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
            let arguments = vec![("oldest", format_ts(pass.from)), ("ts", thread.to_string())];
            let page =
                self.read_page("conversations.replies", &pass.channel, arguments, cursor).await;
            let page = match page {
                // The parent was deleted, and all replies with it.
                Err(IngestError::Slack(SlackApiError::Refused(code)))
                    if code == "thread_not_found" =>
                {
                    break;
                }
                page => page?,
            };
            // The pages of the channel show the parent, unless it is older than they are.
            pass.seen.extend(page.shown.into_iter().filter(|shown| shown != thread));
            found.extend(page.messages);
            cursor = page.next;
            if cursor.is_none() {
                break;
            }
        }
        // Even if the thread is gone: its stored replies then count as missing.
        pass.threads_read.insert(thread.clone());
        self.backfill.record_thread(pass.channel.clone(), thread.clone());
        pass.record_own(&found, |message| self.is_own(message));
        // Slack sends the parent with the replies. A parent that is on the pages of the channel is heard with them.
        let is_old_parent =
            |message: &SlackMessage| message.id == *thread && message.at < pass.from;
        let found: Vec<SlackMessage> =
            found.into_iter().filter(|message| !is_old_parent(message)).collect();
        self.hear_history(found, pass).await
    }

    /// Hears the messages that are new or have changed, in order.
    async fn hear_history(
        &self,
        messages: Vec<SlackMessage>,
        pass: &mut BackfillPass,
    ) -> Result<(), IngestError> {
        let mut new = 0;
        let mut in_flight = FuturesOrdered::new();
        let is_new_own =
            |message: &SlackMessage| self.is_own(message) && pass.is_new_or_changed(message);
        let posting = match messages.iter().any(is_new_own) {
            true => {
                let workspace = &self.identity.workspace;
                posts_in_flight(&*self.archive, workspace, &pass.channel).await?
            }
            false => Vec::new(),
        };
        let is_posting = |message: &SlackMessage| {
            self.is_own(message)
                && posting.iter().any(|item| message.key.as_ref() == Some(&item.key))
        };
        for message in messages
            .iter()
            .filter(|message| pass.is_new_or_changed(message) && !is_posting(message))
        {
            if in_flight.len() == MAX_CONCURRENT {
                new += in_flight.try_next().await?.unwrap_or(0);
            }
            in_flight.push_back(self.hear_history_message(message, pass));
        }
        while let Some(more) = in_flight.try_next().await? {
            new += more;
        }
        drop(in_flight);
        pass.new_messages += new;
        Ok(())
    }

    /// Hears a message and returns 1 if it is new, otherwise 0. A message that the store refuses is skipped, because it
    /// would be refused again and must not block the others.
    async fn hear_history_message(
        &self,
        message: &SlackMessage,
        pass: &BackfillPass,
    ) -> Result<usize, IngestError> {
        match self.hear_readable_message(message, pass).await {
            Err(IngestError::Store(StoreError::Refused(why))) => {
                warn!(message_id = %message.id, error = %why, "skipped a message that the store refuses");
                Ok(0)
            }
            heard => heard,
        }
    }

    async fn hear_readable_message(
        &self,
        message: &SlackMessage,
        pass: &BackfillPass,
    ) -> Result<usize, IngestError> {
        if is_tombstone(message) {
            self.hear_deletion(message, message.edited_at.unwrap_or(pass.began)).await?;
            return Ok(0);
        }
        let arrival = match self.is_own(message) {
            // No post of this process: it may be the answer to what is owed.
            true => Arrival::Backfilled,
            false => pass.arrival(message),
        };
        let receipt = self.hear_message(message, arrival).await?;
        let is_new = receipt.is_some_and(|receipt| receipt.is_new);
        if is_new {
            self.hear_reactions(message).await?;
        } else if let Some(made_at) = message.edited_at {
            // Slack gives edit times in whole seconds only, and its clock is not ours. So the edit replaces what was
            // stored before the pass, and a later one in the same second replaces it.
            self.hear_edit(message, pass.began.max(made_at), made_at).await?;
        }
        Ok(usize::from(is_new))
    }

    async fn hear_reactions(&self, message: &SlackMessage) -> Result<(), IngestError> {
        for reaction in from_slack::message_reactions(message) {
            self.hear_reaction(reaction).await?;
        }
        Ok(())
    }
}

impl BackfillPass {
    fn record_own(&mut self, messages: &[SlackMessage], is_own: impl Fn(&SlackMessage) -> bool) {
        // What a marked post answers is known.
        let own = messages.iter().filter(|message| message.answers.is_none() && is_own(message));
        for message in own {
            let newest = self.persona_posted_at.entry(message.thread.clone()).or_insert(message.at);
            *newest = message.at.max(*newest);
        }
    }

    /// Returns the messages whose threads may have changed: those with a recent reply, or with a different number of
    /// replies than is stored.
    fn changed_threads(&mut self, messages: &[SlackMessage]) -> Vec<MessageId> {
        let mut changed = Vec::new();
        for message in messages.iter().filter(|message| message.thread.is_none()) {
            let replies = message.raw["reply_count"].as_u64().unwrap_or(0);
            let latest = from_slack::parse_ts(&message.raw["latest_reply"]);
            let is_active = latest.is_none_or(|latest| latest >= self.changed_since);
            let stored = self.reply_counts.get(&message.id).copied().unwrap_or(0);
            // If there were too many messages to load, their replies were not counted.
            let is_complete = self.stored.is_none() || stored == replies;
            if replies > 0 && (is_active || !is_complete) {
                changed.push(message.id.clone());
            } else if replies > 0 {
                self.unchanged_threads.insert(message.id.clone());
            }
        }
        changed
    }

    /// Slack may hide the older part of the requested span.
    fn record_oldest_visible(&mut self, page: &HistoryPage) {
        if page.is_limited {
            let oldest = page.messages.iter().map(|message| message.at).min();
            self.oldest_visible = oldest.unwrap_or(self.began);
        }
    }

    /// Classifies a message. One since the connection was opened is live, even if its event arrives later. For an older
    /// one in a channel that was never read, the history shows whether it was answered; elsewhere the store knows what
    /// is owed.
    fn arrival(&self, message: &SlackMessage) -> Arrival {
        if message.at >= self.since {
            Arrival::Live
        } else if self.is_first && self.is_answered(message) {
            Arrival::BackfilledAnswered
        } else {
            Arrival::Backfilled
        }
    }

    /// Whether the persona has posted after the message, in the same conversation or in the thread below it.
    fn is_answered(&self, message: &SlackMessage) -> bool {
        let since = |thread: &Option<MessageId>| {
            self.persona_posted_at.get(thread).is_some_and(|posted| *posted > message.at)
        };
        since(&message.thread) || since(&Some(message.id.clone()))
    }

    fn is_new_or_changed(&self, message: &SlackMessage) -> bool {
        let stored = self.stored.as_ref().and_then(|stored| stored.get(&message.id));
        stored.is_none() || message.edited_at.is_some() || is_tombstone(message)
    }

    /// Returns the stored messages that may have been deleted.
    pub(super) fn suspects(&self) -> Suspects {
        match self.stored {
            Some(_) => Suspects::Known(self.missing_messages()),
            None => {
                let (from, until) = (self.oldest_visible, self.began);
                Suspects::Unknown(DeletionCheck { from, until })
            }
        }
    }

    /// Returns the messages that were stored when the pass started but that it has not seen.
    pub(super) fn missing_messages(&self) -> Vec<Arc<Message>> {
        let stored = self.stored.iter().flat_map(HashMap::values);
        stored.filter(|message| self.is_missing(message)).cloned().collect()
    }

    fn is_missing(&self, message: &Message) -> bool {
        let was_read = match &message.conversation.thread {
            Some(thread) => self.threads_read.contains(thread),
            None => self.has_read_pages,
        };
        is_slack_ts(&message.id)
            && was_read
            && message.at >= self.oldest_visible
            && !self.seen.contains(&message.id)
    }
}
