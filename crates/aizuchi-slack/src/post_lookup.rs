//! Looking in the history for a post whose answer was lost. It may take many pages, and Slack may give them
//! slowly, so that each try goes on where the one before had to stop.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use crate::SlackPlatform;
use crate::api::{SlackApiError, next_cursor};
use crate::from_slack::{format_ts, parse_history_message};
use crate::manifest::METADATA_SCOPE;
use aizuchi_core::event::{OutboxItem, PostedMessage};
use aizuchi_core::platform::PlatformError;

/// Clocks differ, so the history is read from before the dispatch.
const CLOCK_SKEW: SignedDuration = SignedDuration::from_mins(15);
/// So many pages are read in one try.
const MAX_PAGES: usize = 10;
/// A try waits for its turn so long.
const MAX_PAGE_WAIT: SignedDuration = SignedDuration::from_secs(2);
/// Nobody comes back for one that was begun so long ago.
const LOOKUP_EXPIRY: SignedDuration = SignedDuration::from_hours(6);

/// How far posts have been looked for, by their keys.
#[derive(Default)]
pub struct PostLookups(Mutex<HashMap<Arc<str>, PostLookup>>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct PostLookup {
    /// When its first page was asked for. Newer lines are not in its pages.
    began: Timestamp,
    /// Where the next page is.
    cursor: Option<String>,
    /// When that may be read, once it has its turn.
    page_due_at: Option<Timestamp>,
}

impl PostLookups {
    /// Where to go on. One that was begun before the post was settled cannot tell that it is not there: it may
    /// have become visible on a page that was read before.
    fn resume(&self, key: &Arc<str>, settled: Timestamp, now: Timestamp) -> PostLookup {
        let mut lookups = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        lookups.retain(|_, lookup| now.duration_since(lookup.began) < LOOKUP_EXPIRY);
        let known = lookups.get(key).filter(|known| known.began >= settled || now < settled);
        known.cloned().unwrap_or(PostLookup { began: now, cursor: None, page_due_at: None })
    }

    fn save(&self, key: &Arc<str>, lookup: &PostLookup) {
        let mut lookups = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        lookups.insert(key.clone(), lookup.clone());
    }

    fn remove(&self, key: &Arc<str>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(key);
    }
}

impl SlackPlatform {
    /// Looks for the key in all that was said since the dispatch.
    pub(super) async fn find_post(
        &self,
        piece: &OutboxItem,
    ) -> Result<Option<PostedMessage>, PlatformError> {
        let Some(dispatched) = piece.dispatched_at else { return Ok(None) };
        let settled = dispatched + self.settings.settle_time;
        let mut lookup = self.post_lookups.resume(&piece.key, settled, self.now());
        for _ in 0..MAX_PAGES {
            let mut page = self.fetch_lookup_page(piece, dispatched, &mut lookup).await?;
            let posted = self.find_in_page(&mut page, piece);
            let next = next_cursor(&page);
            if posted.is_some() || next.is_none() {
                self.post_lookups.remove(&piece.key);
                return if posted.is_some() { Ok(posted) } else { self.not_found() };
            }
            (lookup.cursor, lookup.page_due_at) = (next, None);
            self.post_lookups.save(&piece.key, &lookup);
        }
        let why = "the history has more pages".to_owned();
        Err(PlatformError::Busy { why, retry_after: None })
    }

    /// The next page, no faster than this app may have it.
    async fn fetch_lookup_page(
        &self,
        piece: &OutboxItem,
        dispatched: Timestamp,
        lookup: &mut PostLookup,
    ) -> Result<Value, PlatformError> {
        let turn =
            *lookup.page_due_at.get_or_insert_with(|| self.history_limit.reserve_page(self.now()));
        self.post_lookups.save(&piece.key, lookup);
        let wait = turn.duration_since(self.now());
        if wait > MAX_PAGE_WAIT {
            // Slack gives this app little history.
            return Err(PlatformError::Queued { wait });
        }
        self.clock.sleep_until(turn).await;
        let thread = self.reply_thread(piece);
        let mut arguments = vec![
            ("channel", piece.conversation.channel.to_string()),
            ("oldest", format_ts(dispatched - CLOCK_SKEW)),
            ("latest", format_ts(dispatched + self.settings.settle_time + CLOCK_SKEW)),
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
        // Whatever came of it, this turn is over.
        lookup.page_due_at = None;
        if matches!(&page, Err(SlackApiError::Refused(code)) if code == "invalid_cursor") {
            self.post_lookups.remove(&piece.key);
            return Err(PlatformError::OutcomeUnknown("Slack has lost its place".to_owned()));
        }
        self.post_lookups.save(&piece.key, lookup);
        let page = page.map_err(read_error)?;
        let Some(found) = page["messages"].as_array().map(Vec::len) else {
            return Err(PlatformError::OutcomeUnknown("the history has no lines".to_owned()));
        };
        let noted = self.record_limit(found, next_cursor(&page).is_some()).await;
        noted.map_err(|error| PlatformError::OutcomeUnknown(error.to_string()))?;
        Ok(page)
    }

    /// Anybody may write a key; only ours counts.
    fn find_in_page(&self, page: &mut Value, piece: &OutboxItem) -> Option<PostedMessage> {
        let Value::Array(messages) = page["messages"].take() else { return None };
        let channel = &piece.conversation.channel;
        let lines =
            messages.into_iter().filter_map(|message| parse_history_message(channel, message));
        let mut own = lines.filter(|line| line.author == self.identity.user);
        let line = own.find(|line| line.key.as_deref() == Some(&*piece.key))?;
        let author = self.identity.user.clone();
        Some(PostedMessage { id: line.id, thread: line.thread, at: line.at, author })
    }

    fn not_found(&self) -> Result<Option<PostedMessage>, PlatformError> {
        if self.identity.can_find_posts {
            return Ok(None);
        }
        let why = format!("without the scope {METADATA_SCOPE} nobody knows whether it was said");
        Err(PlatformError::Refused(why))
    }
}

/// A history that could not be read says nothing about what is in it.
pub(super) fn read_error(error: SlackApiError) -> PlatformError {
    match error {
        SlackApiError::RateLimited(wait) => {
            PlatformError::Busy { why: error.to_string(), retry_after: Some(wait) }
        }
        SlackApiError::Unreachable(_) | SlackApiError::OutcomeUnknown(_) => {
            PlatformError::OutcomeUnknown(error.to_string())
        }
        SlackApiError::Refused(code) => PlatformError::Refused(format!("Slack says {code}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lookup_goes_on_unless_it_began_too_early_to_tell() {
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
