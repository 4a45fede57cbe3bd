//! Pages of a history. A page that fails is given up after a few attempts, so that one unreadable channel does not
//! delay the others. An unreadable message does not make its page fail.

use std::collections::HashSet;

use aizuchi_model::chat::{ChannelId, MessageId};
use jiff::SignedDuration;
use serde_json::Value;
use tracing::{info, warn};

use crate::SlackPlatform;
use crate::api::{SlackApiError, next_cursor};
use crate::from_slack::{
    BECAME_PRIVATE, SlackMessage, is_tombstone, non_empty_str, parse_history_message, parse_ts,
};
use crate::ingest::IngestError;

/// The largest page that Slack allows.
pub(super) const PAGE_SIZE: usize = 999;
/// Used after a failure, because a large page may be more than Slack can return.
const SMALL_PAGE_SIZE: usize = 100;
/// How many times a page is requested before its channel is postponed.
const MAX_ATTEMPTS: usize = 2;
const RETRY_DELAY: SignedDuration = SignedDuration::from_secs(1);

/// The messages of a page.
pub(super) struct HistoryPage {
    pub messages: Vec<SlackMessage>,
    /// The ids of all entries on the page, including notices and unreadable messages.
    pub shown: HashSet<MessageId>,
    /// Whether an entry is unreadable, including its id.
    pub has_unnamed: bool,
    /// Whether a notice says that the channel became private.
    pub became_private: bool,
    /// Whether Slack hides older messages, as in a free workspace.
    pub is_limited: bool,
    pub next: Option<String>,
}

impl HistoryPage {
    fn parse(channel: &ChannelId, mut page: Value) -> Self {
        let (is_limited, next) = (page["is_limited"] == true, next_cursor(&page));
        let mut parsed = Self {
            messages: Vec::new(),
            shown: HashSet::new(),
            has_unnamed: false,
            became_private: false,
            is_limited,
            next,
        };
        let Value::Array(items) = page["messages"].take() else { return parsed };
        for item in items {
            let id = non_empty_str(&item["ts"]).map(MessageId::new);
            let has_time = parse_ts(&item["ts"]).is_some();
            parsed.became_private |= item["subtype"] == BECAME_PRIVATE;
            match parse_history_message(channel, item) {
                // Not shown: what it stands for has been deleted.
                Some(message) if is_tombstone(&message) => parsed.messages.push(message),
                Some(message) => {
                    parsed.shown.insert(message.id.clone());
                    parsed.messages.push(message);
                }
                // A notice, e.g. that a user has joined.
                None if has_time => parsed.shown.extend(id),
                None => {
                    parsed.has_unnamed |= id.is_none();
                    let message_id = id.as_ref().map(MessageId::as_str);
                    warn!(platform = "slack", %channel, message_id, "skipped a message that cannot be read");
                    parsed.shown.extend(id);
                }
            }
        }
        parsed
    }
}

impl SlackPlatform {
    /// Reads one page. Waits if the history is rate-limited.
    pub(super) async fn read_page(
        &self,
        method: &str,
        channel: &ChannelId,
        mut arguments: Vec<(&str, String)>,
        cursor: Option<String>,
    ) -> Result<HistoryPage, IngestError> {
        arguments.push(("channel", channel.to_string()));
        // By default, Slack leaves out the messages exactly at `oldest` and `latest`.
        arguments.push(("inclusive", "true".to_owned()));
        // Without this, the bot's own posts come without their keys.
        arguments.push(("include_all_metadata", "true".to_owned()));
        arguments.extend(cursor.map(|cursor| ("cursor", cursor)));
        // A rate-limited app gets short pages whatever size it requests; a long page shows that the limit was lifted.
        let page = self.read_history_page(method, &arguments, PAGE_SIZE).await;
        // Slack does not refuse the history itself: it can be read again from its first page.
        let page = page.map_err(|error| match error {
            SlackApiError::Refused(code) if code == "invalid_cursor" => {
                SlackApiError::OutcomeUnknown("it has lost its place".to_owned())
            }
            error => error,
        })?;
        let has_more = page["has_more"] == true;
        let Some(found) = page["messages"].as_array().map(Vec::len) else {
            return Err(SlackApiError::OutcomeUnknown("a page has no messages".to_owned()).into());
        };
        // Taken for the last page, it would make all older messages look deleted.
        if has_more && next_cursor(&page).is_none() {
            return Err(SlackApiError::OutcomeUnknown(
                "a page does not say where the next is".to_owned(),
            )
            .into());
        }
        self.record_limit(found, has_more).await?;
        Ok(HistoryPage::parse(channel, page))
    }

    /// Reads a page of at most this size. While Slack asks to wait, all channels wait.
    pub(super) async fn read_history_page(
        &self,
        method: &str,
        arguments: &[(&str, String)],
        size: usize,
    ) -> Result<Value, SlackApiError> {
        let mut failures = 0;
        loop {
            self.sleep_until_steady(self.history_limit.reserve_page(self.steady_now())).await;
            let size = if failures == 0 { size } else { size.min(SMALL_PAGE_SIZE) };
            let mut arguments = arguments.to_vec();
            arguments.push(("limit", size.to_string()));
            let answer = self.call(method, &arguments).await;
            match &answer {
                Ok(_) | Err(SlackApiError::Refused(_)) => return answer,
                Err(SlackApiError::RateLimited(wait)) => {
                    let wait = *wait;
                    info!(
                        platform = "slack",
                        workspace = %self.identity.workspace,
                        method,
                        wait = %format_args!("{wait:#}"),
                        "Slack asks to wait before the next page of history"
                    );
                    self.history_limit.hold_until(self.steady_now() + wait);
                }
                Err(
                    SlackApiError::Unreachable(_)
                    | SlackApiError::OutcomeUnknown(_)
                    | SlackApiError::Malformed(_),
                ) => {
                    failures += 1;
                    if failures == MAX_ATTEMPTS {
                        return answer;
                    }
                    self.clock.sleep_until(self.now() + RETRY_DELAY).await;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_message_that_cannot_be_read_does_not_hide_its_page() {
        let page = json!({"ok": true, "messages": [
            {"type": "message", "user": "U1", "ts": "5.000000", "text": "tea"},
            {"type": "message", "subtype": "tombstone", "user": "USLACKBOT", "ts": "4.000000"},
            {"type": "message", "subtype": "channel_join", "user": "U1", "ts": "3.000000"},
            {"type": "message", "user": "U1", "ts": "when?", "text": "cake"},
            null,
        ]});
        let page = HistoryPage::parse(&ChannelId::new("C1"), page);
        let messages: Vec<&str> = page.messages.iter().map(|message| message.id.as_str()).collect();
        assert_eq!(messages, ["5.000000", "4.000000"]);
        let shown = ["5.000000", "3.000000", "when?"].map(MessageId::new);
        assert_eq!(page.shown, HashSet::from(shown));
        assert!(page.has_unnamed && !page.is_limited && page.next.is_none());
    }
}
