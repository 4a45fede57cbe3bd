//! Looks for a post with an unknown outcome: among the bot's own posts that events have reported, and in the channel's
//! history. That may take many rate-limited pages, so each attempt resumes where the previous one stopped.
//!
//! The post's key is in its metadata. Without the scope for that, Slack withholds it; then the author, the text and the
//! time identify the post, unless it is recorded as another one.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use aizuchi_model::flow::outbox::{OutboxItem, PostedMessage};
use aizuchi_model::platform::PlatformError;
use aizuchi_store::query::DecisionQuery;
use jiff::{SignedDuration, Timestamp};
use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::SlackPlatform;
use crate::api::{SlackApiError, next_cursor};
use crate::from_slack::{SlackMessage, format_ts, parse_history_message};

/// The maximum difference between our clock and Slack's.
const CLOCK_SKEW: SignedDuration = SignedDuration::from_mins(15);
/// The maximum number of pages read in one attempt.
const MAX_PAGES: usize = 10;
/// How long an attempt waits for a rate-limited page at most.
const MAX_PAGE_WAIT: SignedDuration = SignedDuration::from_secs(2);
/// An older lookup is never resumed, and an older post from an event is in the history.
const LOOKUP_EXPIRY: SignedDuration = SignedDuration::from_hours(6);
/// How many posts from events are kept.
const MAX_POSTS: usize = 1_000;

/// The unfinished lookups, by the keys of their posts.
#[derive(Default)]
pub struct PostLookups(Mutex<HashMap<Arc<str>, PostLookup>>);

/// The bot's own posts that live events have reported, by key, oldest first.
#[derive(Default)]
pub struct PostsInEvents(Mutex<VecDeque<(Arc<str>, PostedMessage)>>);

impl PostsInEvents {
    /// Records the live event of the bot's own post.
    pub fn record(&self, message: &SlackMessage, now: Timestamp) {
        let Some(key) = message.key.clone() else { return };
        let mut posts = self.0.lock();
        let is_old = |posted: &PostedMessage| now.duration_since(posted.at) > LOOKUP_EXPIRY;
        while posts.len() >= MAX_POSTS || posts.front().is_some_and(|(_, it)| is_old(it)) {
            posts.pop_front();
        }
        posts.push_back((key, to_posted(message)));
    }

    fn find(&self, key: &str) -> Option<PostedMessage> {
        let posts = self.0.lock();
        posts.iter().find(|(known, _)| **known == *key).map(|(_, posted)| posted.clone())
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct PostLookup {
    /// When the first page was requested. Its pages do not contain newer messages.
    began: Timestamp,
    /// Slack's cursor for the next page.
    cursor: Option<String>,
    /// When the next page may be read, once that is reserved, as a time of `SlackPlatform::steady_now`.
    page_due_at: Option<Timestamp>,
}

impl PostLookups {
    /// Returns the lookup to continue. After `settled_at`, a lookup that began before it starts over: the post may have
    /// appeared on a page that was already read.
    fn resume(&self, key: &Arc<str>, settled_at: Timestamp, now: Timestamp) -> PostLookup {
        let mut lookups = self.0.lock();
        lookups.retain(|_, lookup| now.duration_since(lookup.began) < LOOKUP_EXPIRY);
        let lookup = lookups.get(key).filter(|it| it.began >= settled_at || now < settled_at);
        lookup.cloned().unwrap_or(PostLookup { began: now, cursor: None, page_due_at: None })
    }

    fn save(&self, key: &Arc<str>, lookup: &PostLookup) {
        let mut lookups = self.0.lock();
        lookups.insert(key.clone(), lookup.clone());
    }

    fn remove(&self, key: &Arc<str>) {
        self.0.lock().remove(key);
    }
}

impl SlackPlatform {
    /// Looks for the post in all messages since its dispatch.
    pub(super) async fn look_up_post(
        &self,
        item: &OutboxItem,
    ) -> Result<Option<PostedMessage>, PlatformError> {
        let Some(dispatched_at) = item.dispatched_at else { return Ok(None) };
        if let Some(posted) = self.posts_in_events.find(&item.key) {
            return Ok(Some(posted));
        }
        let settled_at = dispatched_at + self.settings.in_flight_timeout;
        let mut lookup = self.post_lookups.resume(&item.key, settled_at, self.now());
        for _ in 0..MAX_PAGES {
            let mut page = self.fetch_lookup_page(item, dispatched_at, &mut lookup).await?;
            let next = next_cursor(&page);
            let posted = self.find_in_page(&mut page, item, dispatched_at).await?;
            // A cursor that repeats itself would return the same page forever.
            let is_last = next.is_none() || next == lookup.cursor;
            if posted.is_some() || is_last {
                self.post_lookups.remove(&item.key);
                return Ok(posted);
            }
            (lookup.cursor, lookup.page_due_at) = (next, None);
            self.post_lookups.save(&item.key, &lookup);
        }
        let why = "the history has more pages".to_owned();
        Err(PlatformError::Busy { why, retry_after: None })
    }

    /// Fetches the next page. Returns [`PlatformError::Queued`] if the history is rate-limited and the wait is long.
    async fn fetch_lookup_page(
        &self,
        item: &OutboxItem,
        dispatched_at: Timestamp,
        lookup: &mut PostLookup,
    ) -> Result<Value, PlatformError> {
        let page_at = *lookup
            .page_due_at
            .get_or_insert_with(|| self.history_limit.reserve_page(self.steady_now()));
        // The reservation must survive this attempt, which may end before the page is due.
        self.post_lookups.save(&item.key, lookup);
        let wait = page_at.duration_since(self.steady_now());
        if wait > MAX_PAGE_WAIT {
            return Err(PlatformError::Queued { wait });
        }
        self.sleep_until_steady(page_at).await;
        let thread = self.reply_thread(item);
        let settled_at = dispatched_at + self.settings.in_flight_timeout;
        // A post from a restored backup may have been posted at any time until the restore.
        let lost_span = self.archive.lost_span().filter(|span| dispatched_at < span.until);
        let latest = lost_span.map_or(settled_at, |span| settled_at.max(span.until));
        let mut arguments = vec![
            ("channel", item.conversation.channel.to_string()),
            ("oldest", format_ts(dispatched_at - CLOCK_SKEW)),
            ("latest", format_ts(latest + CLOCK_SKEW)),
            ("include_all_metadata", "true".to_owned()),
            ("limit", "200".to_owned()),
        ];
        arguments.extend(thread.as_ref().map(|thread| ("ts", thread.to_string())));
        arguments.extend(lookup.cursor.clone().map(|cursor| ("cursor", cursor)));
        let method = match thread {
            Some(_) => "conversations.replies",
            None => "conversations.history",
        };
        let page = self.call(method, &arguments).await;
        // The reservation is used up, whether or not the call succeeded.
        lookup.page_due_at = None;
        if matches!(&page, Err(SlackApiError::Refused(code)) if code == "invalid_cursor") {
            self.post_lookups.remove(&item.key);
            return Err(PlatformError::OutcomeUnknown("Slack has lost its place".to_owned()));
        }
        self.post_lookups.save(&item.key, lookup);
        let page = page.map_err(SlackApiError::of_read)?;
        let Some(found) = page["messages"].as_array().map(Vec::len) else {
            return Err(PlatformError::OutcomeUnknown("the history has no messages".to_owned()));
        };
        let recorded = self.record_limit(found, next_cursor(&page).is_some()).await;
        recorded.map_err(|error| PlatformError::OutcomeUnknown(error.to_string()))?;
        Ok(page)
    }

    /// Only the bot's own messages count: any app can write the key into its metadata.
    async fn find_in_page(
        &self,
        page: &mut Value,
        item: &OutboxItem,
        dispatched_at: Timestamp,
    ) -> Result<Option<PostedMessage>, PlatformError> {
        let Value::Array(messages) = page["messages"].take() else { return Ok(None) };
        let channel = &item.conversation.channel;
        let messages =
            messages.into_iter().filter_map(|message| parse_history_message(channel, message));
        let own: Vec<SlackMessage> =
            messages.filter(|message| message.author == self.identity.user).collect();
        if let Some(message) = own.iter().find(|message| message.key.as_deref() == Some(&*item.key))
        {
            return Ok(Some(to_posted(message)));
        }
        let (thread, since) = (self.reply_thread(item), dispatched_at - CLOCK_SKEW);
        let without_key = own.iter().filter(|message| {
            message.key.is_none() && message.thread == thread && message.at >= since
        });
        for message in without_key {
            if self.has_text_of(message, item).await && !self.is_recorded(message).await? {
                return Ok(Some(to_posted(message)));
            }
        }
        Ok(None)
    }

    /// Whether a message has the same text as the item. Slack rewrites some characters and links, so both texts are
    /// compared in the form that users see.
    async fn has_text_of(&self, message: &SlackMessage, item: &OutboxItem) -> bool {
        let visible = |text: &str| {
            let message = SlackMessage { raw: json!({ "text": text }), ..message.clone() };
            let text = self.to_message(&message).text;
            text.chars().filter(|character| !character.is_whitespace()).collect::<String>()
        };
        let expected = visible(&self.to_slack_text(item).await);
        !expected.is_empty() && visible(&message.text) == expected
    }

    /// Whether the message is recorded as the post of another decision.
    async fn is_recorded(&self, message: &SlackMessage) -> Result<bool, PlatformError> {
        let query = DecisionQuery::Messages {
            workspace: self.identity.workspace.clone(),
            channel: message.channel.clone(),
            messages: vec![message.id.clone()],
        };
        let decisions = self.archive.decisions(query).await;
        let decisions =
            decisions.map_err(|error| PlatformError::OutcomeUnknown(error.to_string()))?;
        Ok(!decisions.is_empty())
    }
}

fn to_posted(message: &SlackMessage) -> PostedMessage {
    let SlackMessage { id, thread, at, author, .. } = message;
    PostedMessage { id: id.clone(), thread: thread.clone(), at: *at, author: author.clone() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lookup_resumes_unless_it_began_before_the_post_settled() {
        let at = |second| Timestamp::from_second(second).unwrap();
        let (lookups, key) = (PostLookups::default(), Arc::from("key"));
        let began = |second| PostLookup { began: at(second), cursor: None, page_due_at: None };
        let second_page = |second| PostLookup { cursor: Some("2".to_owned()), ..began(second) };
        assert_eq!(lookups.resume(&key, at(60), at(2)), began(2));
        lookups.save(&key, &second_page(2));
        assert_eq!(lookups.resume(&key, at(60), at(10)), second_page(2));
        assert_eq!(lookups.resume(&key, at(60), at(60)), began(60));
        lookups.save(&key, &second_page(60));
        assert_eq!(lookups.resume(&key, at(60), at(600)), second_page(60));
        lookups.remove(&key);
        assert_eq!(lookups.resume(&key, at(60), at(600)), began(600));
    }
}
