//! Looking in the history for a post whose answer was lost. It may take many pages, and Slack may give them
//! slowly, so that each try goes on where the one before had to stop.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use crate::api::ApiError;
use crate::from_slack::{of_history, ts};
use crate::manifest::KEYS;
use crate::{Slack, next_cursor};
use aizuchi_core::event::{Piece, Posted};
use aizuchi_core::platform::PlatformError;

/// Clocks differ, so the history is read from before the dispatch.
const BEFORE: SignedDuration = SignedDuration::from_mins(15);
/// So many pages are read in one try.
const PAGES: usize = 10;
/// A try waits for its turn so long.
const LONGEST_TURN: SignedDuration = SignedDuration::from_secs(2);
/// Nobody comes back for one that was begun so long ago.
const FORGOTTEN: SignedDuration = SignedDuration::from_hours(6);

/// How far posts have been looked for, by their keys.
#[derive(Default)]
pub struct Lookups(Mutex<HashMap<Arc<str>, Lookup>>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Lookup {
    /// When its first page was asked for. Newer lines are not in its pages.
    began: Timestamp,
    /// Where the next page is.
    cursor: Option<String>,
    /// When that may be read, once it has its turn.
    turn: Option<Timestamp>,
}

impl Lookups {
    /// Where to go on. One that was begun before the post was settled cannot tell that it is not there: it may
    /// have become visible on a page that was read before.
    fn resume(&self, key: &Arc<str>, settled: Timestamp, now: Timestamp) -> Lookup {
        let mut lookups = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        lookups.retain(|_, lookup| now.duration_since(lookup.began) < FORGOTTEN);
        let known = lookups.get(key).filter(|known| known.began >= settled || now < settled);
        known.cloned().unwrap_or(Lookup { began: now, cursor: None, turn: None })
    }

    fn keep(&self, key: &Arc<str>, lookup: &Lookup) {
        let mut lookups = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        lookups.insert(key.clone(), lookup.clone());
    }

    fn end(&self, key: &Arc<str>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(key);
    }
}

impl Slack {
    /// Looks for the key in all that was said since the dispatch.
    pub(super) async fn find_post(&self, piece: &Piece) -> Result<Option<Posted>, PlatformError> {
        let Some(dispatched) = piece.dispatched else { return Ok(None) };
        let settled = dispatched + self.settings.settle;
        let mut lookup = self.lookups.resume(&piece.key, settled, self.now());
        for _ in 0..PAGES {
            let mut page = self.page_of(piece, dispatched, &mut lookup).await?;
            let posted = self.posted_in(&mut page, piece);
            let next = next_cursor(&page);
            if posted.is_some() || next.is_none() {
                self.lookups.end(&piece.key);
                return if posted.is_some() { Ok(posted) } else { self.absent() };
            }
            (lookup.cursor, lookup.turn) = (next, None);
            self.lookups.keep(&piece.key, &lookup);
        }
        let why = "the history has more pages".to_owned();
        Err(PlatformError::Busy { why, retry_after: None })
    }

    /// The next page, no faster than this app may have it.
    async fn page_of(
        &self,
        piece: &Piece,
        dispatched: Timestamp,
        lookup: &mut Lookup,
    ) -> Result<Value, PlatformError> {
        let turn = *lookup.turn.get_or_insert_with(|| self.cap.next_page(self.now()));
        self.lookups.keep(&piece.key, lookup);
        let wait = turn.duration_since(self.now());
        if wait > LONGEST_TURN {
            // Slack gives this app little history.
            return Err(PlatformError::Queued { wait });
        }
        self.clock.sleep_until(turn).await;
        let thread = self.thread(piece);
        let mut arguments = vec![
            ("channel", piece.conversation.channel.to_string()),
            ("oldest", ts(dispatched - BEFORE)),
            ("latest", ts(dispatched + self.settings.settle + BEFORE)),
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
        lookup.turn = None;
        if matches!(&page, Err(ApiError::Refused(code)) if code == "invalid_cursor") {
            self.lookups.end(&piece.key);
            return Err(PlatformError::Unknown("Slack has lost its place".to_owned()));
        }
        self.lookups.keep(&piece.key, lookup);
        let page = page.map_err(unread)?;
        let Some(found) = page["messages"].as_array().map(Vec::len) else {
            return Err(PlatformError::Unknown("the history has no lines".to_owned()));
        };
        let noted = self.note_cap(found, next_cursor(&page).is_some()).await;
        noted.map_err(|error| PlatformError::Unknown(error.to_string()))?;
        Ok(page)
    }

    /// Anybody may write a key; only ours counts.
    fn posted_in(&self, page: &mut Value, piece: &Piece) -> Option<Posted> {
        let Value::Array(messages) = page["messages"].take() else { return None };
        let channel = &piece.conversation.channel;
        let lines = messages.into_iter().filter_map(|message| of_history(channel, message));
        let mut own = lines.filter(|line| line.author == self.who.user);
        let line = own.find(|line| line.key.as_deref() == Some(&*piece.key))?;
        let author = self.who.user.clone();
        Some(Posted { id: line.id, thread: line.thread, at: line.at, author })
    }

    fn absent(&self) -> Result<Option<Posted>, PlatformError> {
        if self.who.finds_keys {
            return Ok(None);
        }
        let why = format!("without the scope {KEYS} nobody knows whether it was said");
        Err(PlatformError::Refused(why))
    }
}

/// A history that could not be read says nothing about what is in it.
pub(super) fn unread(error: ApiError) -> PlatformError {
    match error {
        ApiError::Limited(wait) => {
            PlatformError::Busy { why: error.to_string(), retry_after: Some(wait) }
        }
        ApiError::Unreachable(_) | ApiError::Unknown(_) => {
            PlatformError::Unknown(error.to_string())
        }
        ApiError::Refused(code) => PlatformError::Refused(format!("Slack says {code}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lookup_goes_on_unless_it_began_too_early_to_tell() {
        let at = |second| Timestamp::from_second(second).unwrap();
        let (lookups, key) = (Lookups::default(), Arc::from("key"));
        let began = |second| Lookup { began: at(second), cursor: None, turn: None };
        let second_page = |second| Lookup { cursor: Some("2".to_owned()), ..began(second) };
        assert_eq!(lookups.resume(&key, at(60), at(2)), began(2));
        lookups.keep(&key, &second_page(2));
        assert_eq!(lookups.resume(&key, at(60), at(10)), second_page(2));
        assert_eq!(lookups.resume(&key, at(60), at(60)), began(60));
        lookups.keep(&key, &second_page(60));
        assert_eq!(lookups.resume(&key, at(60), at(600)), second_page(60));
        lookups.end(&key);
        assert_eq!(lookups.resume(&key, at(60), at(600)), began(600));
    }
}
