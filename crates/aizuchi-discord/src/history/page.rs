//! Pages of a history. A page that fails is given up after a few attempts, so that one unreadable channel does not
//! delay the others. An unreadable message does not make its page fail.

use std::collections::HashSet;

use aizuchi_model::chat::MessageId;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tracing::warn;

use crate::DiscordPlatform;
use crate::api::{DiscordApiError, next_id};
use crate::from_discord::message::{ChannelRef, DiscordMessage, parse_history_message};
use crate::ingest::IngestError;
use crate::json::non_empty_str;
use crate::post::UNKNOWN_CODES;
use crate::snowflake::id_timestamp;

/// Discord's maximum for a page of messages.
pub(super) const PAGE_SIZE: usize = 100;
/// How many times a page is requested before its channel is postponed.
const MAX_ATTEMPTS: u32 = 2;

/// The messages of a page, oldest first.
pub(super) struct HistoryPage {
    pub messages: Vec<DiscordMessage>,
    /// The ids of all entries on the page, including notices and unreadable messages.
    pub shown: HashSet<MessageId>,
    /// Whether an entry is unreadable, including its id.
    pub has_unnamed: bool,
    /// The highest numeric id on the page.
    pub newest: Option<u64>,
    /// Whether there may be more messages after this page.
    pub is_full: bool,
}

impl HistoryPage {
    fn parse(channel_ref: &ChannelRef, items: Vec<Value>) -> Self {
        let mut page = Self {
            messages: Vec::new(),
            shown: HashSet::new(),
            has_unnamed: false,
            newest: None,
            is_full: items.len() >= PAGE_SIZE,
        };
        for item in items {
            let id = non_empty_str(&item["id"]).map(MessageId::new);
            page.newest = page.newest.max(id.as_ref().and_then(|id| id.as_str().parse().ok()));
            let is_named = id.as_ref().is_some_and(|id| id_timestamp(id.as_str()).is_some());
            let has_author = item["author"].is_object();
            match parse_history_message(channel_ref, item) {
                Some(message) => page.messages.push(message),
                // A notice, e.g. that a user has joined.
                None if is_named && has_author => {}
                None => {
                    page.has_unnamed |= id.is_none();
                    let (channel, message_id) =
                        (&channel_ref.channel, id.as_ref().map(MessageId::as_str));
                    warn!(platform = "discord", %channel, message_id, "skipped a message that cannot be read");
                }
            }
            page.shown.extend(id);
        }
        // Discord lists each page newest first.
        page.messages.sort_by_key(|message| message.id.as_str().parse::<u64>().ok());
        page
    }

    /// Returns the id after which the next page begins, if there may be one. It is an error if this page, which was
    /// requested with `after`, does not go beyond it.
    pub fn next_after(&self, after: u64) -> Result<Option<u64>, DiscordApiError> {
        match self.is_full {
            true => next_id(self.newest, after).map(Some),
            false => Ok(None),
        }
    }
}

impl DiscordPlatform {
    /// Reads one page. Returns `None` if the channel or thread no longer exists.
    pub(super) async fn read_page(
        &self,
        channel_ref: &ChannelRef,
        path: &str,
    ) -> Result<Option<HistoryPage>, IngestError> {
        match self.read_history_json(path).await {
            Err(error) if error.refusal().is_some_and(|it| UNKNOWN_CODES.contains(&it.code)) => {
                Ok(None)
            }
            // An error page of a proxy says nothing about the channel.
            Err(DiscordApiError::Refused(refusal)) if refusal.status == 404 => {
                Err(DiscordApiError::Unreachable(refusal.to_string()).into())
            }
            items => Ok(Some(HistoryPage::parse(channel_ref, items?))),
        }
    }

    /// Fetches part of a history.
    pub(super) async fn read_history_json<T: DeserializeOwned>(
        &self,
        path: &str,
    ) -> Result<T, DiscordApiError> {
        self.read_with_attempts(path, MAX_ATTEMPTS).await
    }
}

#[cfg(test)]
mod tests {
    use aizuchi_model::chat::ChannelId;
    use serde_json::json;

    use super::*;

    #[test]
    fn a_message_that_cannot_be_read_does_not_hide_its_page() {
        let author = json!({"id": "7", "username": "Mio"});
        let items = vec![
            json!({"id": "50", "type": 0, "content": "tea", "author": author}),
            json!({"id": "40", "type": 7, "content": "", "author": author}),
            json!({"id": "30", "type": 0, "content": "cake", "author": "Mio"}),
            json!({"id": "20", "type": 0, "content": "milk", "author": author}),
            Value::Null,
        ];
        let channel_ref = ChannelRef { guild: None, channel: ChannelId::new("9") };
        let page = HistoryPage::parse(&channel_ref, items);
        let messages: Vec<&str> = page.messages.iter().map(|message| message.id.as_str()).collect();
        assert_eq!(messages, ["20", "50"]);
        assert_eq!(page.shown, HashSet::from(["50", "40", "30", "20"].map(MessageId::new)));
        assert_eq!((page.newest, page.has_unnamed, page.is_full), (Some(50), true, false));
    }

    #[test]
    fn a_page_that_does_not_advance_is_an_error() {
        let next_after = |count: usize, after: u64| {
            let items = (0..count).map(|number| json!({"id": (number + 1).to_string()}));
            let channel_ref = ChannelRef { guild: None, channel: ChannelId::new("9") };
            HistoryPage::parse(&channel_ref, items.collect()).next_after(after)
        };
        assert_eq!(next_after(PAGE_SIZE, 99), Ok(Some(100)));
        let no_end = Err(DiscordApiError::Malformed("its list has no end"));
        assert_eq!(next_after(PAGE_SIZE, 100), no_end);
        assert_eq!(next_after(PAGE_SIZE, 200), no_end);
        // The last page may contain anything.
        assert_eq!((next_after(99, 0), next_after(99, 200)), (Ok(None), Ok(None)));
    }
}
