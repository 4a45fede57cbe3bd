//! Checks whether Slack still has messages that a pass has not seen, by reading their part of the history again.

use std::collections::HashSet;
use std::sync::Arc;

use aizuchi_model::chat::{Message, MessageId};
use jiff::Timestamp;
use tracing::warn;

use crate::SlackPlatform;
use crate::api::SlackApiError;
use crate::from_slack::parse_ts;
use crate::ingest::IngestError;

/// If the history lacks all of at least this many messages, a second method is consulted, because an empty response may
/// be wrong. It is consulted about any number of messages of a thread that Slack does not find.
const MIN_SUSPICIOUS: usize = 3;

impl SlackPlatform {
    /// Returns those of these messages, all of one conversation, that Slack no longer shows. Waits until even the
    /// newest of them must have appeared in the history.
    pub(super) async fn find_deleted_messages(
        &self,
        messages: &[Arc<Message>],
    ) -> Result<Vec<Arc<Message>>, IngestError> {
        let messages: Vec<&Arc<Message>> =
            messages.iter().filter(|message| is_slack_ts(&message.id)).collect();
        let (Some(first), Some(last)) = (messages.first(), messages.last()) else {
            return Ok(Vec::new());
        };
        // The clocks may differ, so the wait is bounded.
        let settled_at = last.at.min(self.now()) + self.settings.timeouts.history_lag;
        self.clock.sleep_until(settled_at).await;
        let Some(shown) = self.read_shown(first, last).await? else { return Ok(Vec::new()) };
        let is_gone = |message: &&&Arc<Message>| {
            message.at >= shown.since && !shown.messages.contains(&message.id)
        };
        let gone: Vec<Arc<Message>> =
            messages.iter().filter(is_gone).map(|message| Arc::clone(message)).collect();
        let is_everything_gone = gone.len() == messages.len();
        let is_suspicious = shown.is_thread_lost || gone.len() >= MIN_SUSPICIOUS;
        if is_everything_gone && is_suspicious && self.is_any_still_there(&gone).await? {
            warn!(
                platform = "slack",
                channel = %first.conversation.channel,
                count = gone.len(),
                "the history says that all of its messages are gone, and has a link for them; kept them"
            );
            return Ok(Vec::new());
        }
        Ok(gone)
    }

    /// Whether Slack has a permalink for the first or the last of these messages. It gives permalinks only for existing
    /// messages.
    async fn is_any_still_there(&self, messages: &[Arc<Message>]) -> Result<bool, IngestError> {
        for message in messages.first().into_iter().chain(messages.last()) {
            let channel = message.conversation.channel.to_string();
            let arguments = [("channel", channel), ("message_ts", message.id.to_string())];
            match self.read_with_retries("chat.getPermalink", &arguments).await {
                Ok(_) => return Ok(true),
                // A refusal does not contradict the history.
                Err(SlackApiError::Refused(_)) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(false)
    }

    /// Returns the messages of a conversation that Slack shows in this range, or `None` if the response proves nothing.
    async fn read_shown(
        &self,
        first: &Message,
        last: &Message,
    ) -> Result<Option<ShownMessages>, IngestError> {
        let conversation = &first.conversation;
        let mut arguments = vec![("oldest", first.id.to_string()), ("latest", last.id.to_string())];
        let method = match &conversation.thread {
            Some(thread) => {
                arguments.push(("ts", thread.to_string()));
                "conversations.replies"
            }
            None => "conversations.history",
        };
        let mut shown = ShownMessages {
            since: Timestamp::MIN,
            messages: HashSet::new(),
            is_thread_lost: false,
        };
        let mut cursor = None;
        loop {
            let channel = &conversation.channel;
            let page = match self.read_page(method, channel, arguments.clone(), cursor).await {
                // The parent was deleted, and all replies with it.
                Err(IngestError::Slack(SlackApiError::Refused(code)))
                    if code == "thread_not_found" =>
                {
                    return Ok(Some(ShownMessages { is_thread_lost: true, ..shown }));
                }
                Err(IngestError::Slack(SlackApiError::Refused(_))) => return Ok(None),
                page => page?,
            };
            // The unreadable entry may be one of the messages in question.
            if page.has_unnamed {
                return Ok(None);
            }
            if page.is_limited {
                // Slack hides what is older, so the absence of older messages proves nothing.
                let oldest = page.shown.iter().filter_map(|id| parse_ts(&id.as_str().into())).min();
                shown.since = oldest.unwrap_or(Timestamp::MAX);
            }
            shown.messages.extend(page.shown);
            cursor = page.next;
            if cursor.is_none() {
                return Ok(Some(shown));
            }
        }
    }
}

struct ShownMessages {
    /// Slack may hide messages older than this.
    since: Timestamp,
    messages: HashSet<MessageId>,
    /// Whether Slack says that there is no such thread.
    is_thread_lost: bool,
}

/// Whether this is the id of a message in Slack's history. An ephemeral answer has an id that we generated.
pub(super) fn is_slack_ts(message: &MessageId) -> bool {
    parse_ts(&message.as_str().into()).is_some()
}
