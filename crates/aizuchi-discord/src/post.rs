//! Posts to Discord. A post carries a nonce derived from its key, so posting is idempotent while Discord remembers the
//! nonce (some minutes). After that, the history shows whether the post was sent.

use aizuchi_model::chat::attachment::Attachment;
use aizuchi_model::chat::{ConversationId, Message, MessageId, UserId};
use aizuchi_model::flow::outbox::{OutboxItem, PostedMessage};
use aizuchi_model::platform::backfill_progress::BackfillProgress;
use aizuchi_model::platform::{BackfillState, Platform, PlatformError};
use aizuchi_model::rhythm::answer_pace::typing_time;
use aizuchi_platform::user_names::{RECENT_MESSAGES, UserNames};
use aizuchi_store::query::{DecisionQuery, MessageQuery, MessageRange};
use aizuchi_store::stored_message::StoredMessage;
use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use twilight_model::channel::message::MessageFlags;

use crate::DiscordPlatform;
use crate::api::{ApiRequest, DiscordApiError, next_id};
use crate::identity::direct_workspace;
use crate::snowflake::{first_id_at, id_timestamp};
use crate::text::fuzzy_match::is_fuzzy_match;
use crate::text::write::{
    MAX_MESSAGE_LENGTH, MentionLookup, to_discord_markdown, to_markdown_without_names,
};

/// Discord's limit for a nonce.
const NONCE_LENGTH: usize = 25;
/// How often typing is sent again; Discord shows it for ten seconds.
const TYPING_REFRESH: SignedDuration = SignedDuration::from_secs(8);
/// The longest time that typing is shown before an unsolicited post.
const MAX_TYPING: SignedDuration = SignedDuration::from_secs(3);
/// How long Discord is certain to remember a nonce; it documents only “some minutes”.
const NONCE_LIFETIME: SignedDuration = SignedDuration::from_mins(2);
/// The history is read from this long before the dispatch, because clocks differ.
const SEARCH_MARGIN: SignedDuration = SignedDuration::from_mins(15);
/// A post without a nonce matches if its text does and it is at most this much older than the dispatch.
const MATCH_MARGIN: SignedDuration = SignedDuration::from_secs(10);
const PAGE_SIZE: usize = 100;

/// Discord's error codes for a reply without access to the history, and for a body that it does not accept, such as a
/// reply to a system message.
const REPLY_REFUSED: [u64; 2] = [160_002, 50_035];
/// Discord's error codes for an unknown channel and an unknown message.
pub(super) const UNKNOWN_CODES: [u64; 2] = [10_003, UNKNOWN_MESSAGE];
pub(super) const UNKNOWN_MESSAGE: u64 = 10_008;

#[async_trait]
impl Platform for DiscordPlatform {
    async fn post(&self, item: &OutboxItem) -> Result<PostedMessage, PlatformError> {
        if let Some(on) = &item.reaction_to {
            return self.add_reaction(item, on).await;
        }
        let thread = match self.thread_starter(item).await {
            Some(starter) => self.open_thread(item, &starter).await?,
            None => None,
        };
        self.post_message(item, thread.or_else(|| item.conversation.thread.clone())).await
    }

    async fn find_posted(&self, item: &OutboxItem) -> Result<Option<PostedMessage>, PlatformError> {
        if let Some(on) = &item.reaction_to {
            return self.find_reaction(item, on).await;
        }
        // The post is in the thread that was opened for it or, if that could not be opened, in the channel.
        if let Some(starter) = self.thread_starter(item).await
            && let Some(posted) = self.look_up_post(item, Some(starter)).await?
        {
            return Ok(Some(posted));
        }
        self.look_up_post(item, item.conversation.thread.clone()).await
    }

    async fn show_thinking(&self, conversation: &ConversationId) {
        loop {
            self.send_typing(conversation).await;
            self.clock.sleep_until(self.now() + TYPING_REFRESH).await;
        }
    }

    async fn show_typing(&self, item: &OutboxItem) -> SignedDuration {
        let is_owed = !item.metadata.owed.is_empty();
        // A user who waits for an answer saw the typing indicator while the model was called.
        if item.reaction_to.is_some()
            || item.is_sending()
            || (is_owed && item.id == item.first_in_draft)
        {
            return SignedDuration::ZERO;
        }
        self.send_typing(&item.conversation).await;
        typing_time(&item.text, self.persona.language).min(MAX_TYPING)
    }

    fn in_flight_timeout(&self) -> SignedDuration {
        self.settings.in_flight_timeout
    }

    fn outage(&self) -> Option<String> {
        let is_disconnected = self.connection.state().connected_since.is_none();
        let disconnected = is_disconnected.then(|| "there is no connection to Discord".to_owned());
        self.access.outage().or(disconnected)
    }

    fn backfill_progress(&self) -> Option<BackfillProgress> {
        let channels = self.cache.joined();
        Some(self.backfill.backfill_progress(
            "Discord",
            &channels,
            self.connection.state().connected_since,
        ))
    }

    fn backfill_state(&self, conversation: &ConversationId) -> BackfillState {
        self.conversation_state(conversation)
    }

    fn prioritize_backfill(&self, conversation: &ConversationId) {
        self.prioritize_conversation(conversation);
    }

    async fn fetch_file(
        &self,
        message: &Message,
        attachment: &Attachment,
        max_bytes: usize,
    ) -> Result<Vec<u8>, PlatformError> {
        self.fetch_content(message, attachment, max_bytes).await
    }

    fn own_user(&self) -> Option<UserId> {
        Some(self.identity.user.clone())
    }

    fn message_url(&self, message: &Message) -> Option<String> {
        let ConversationId { workspace, channel, thread } = &message.conversation;
        let guild = self.guild_id(workspace).map_or("@me".to_owned(), |guild| guild.to_string());
        let place = thread.as_ref().map_or(channel.as_str(), MessageId::as_str);
        Some(format!("https://discord.com/channels/{guild}/{place}/{}", message.id))
    }

    fn max_post_length(&self) -> usize {
        MAX_MESSAGE_LENGTH
    }
}

impl DiscordPlatform {
    async fn post_message(
        &self,
        item: &OutboxItem,
        thread: Option<MessageId>,
    ) -> Result<PostedMessage, PlatformError> {
        let messages = self.recent_messages(&item.conversation).await;
        let users = UserNames::from_messages(&messages);
        let mut body = json!({
            "content": self.rendered(item, &users),
            "nonce": nonce(&item.key),
            // Without this, Discord would post a message again that has the same nonce.
            "enforce_nonce": true,
            // No user is notified, whatever the text contains.
            "allowed_mentions": { "parse": [], "replied_user": false },
            // A link preview would make Discord fetch a page that a user's text chose.
            "flags": MessageFlags::SUPPRESS_EMBEDS.bits(),
        });
        let answered = reply_target(item, thread.as_ref(), &messages);
        if let Some(answered) = answered {
            body["message_reference"] =
                // If the message has been deleted in the meantime, the answer is posted without the reference.
                json!({ "message_id": answered, "fail_if_not_exists": false });
        }
        let channel = discord_channel(&item.conversation, thread.as_ref());
        let call = ApiRequest::post(format!("/channels/{channel}/messages"), body);
        // No user waits for an unsolicited post, and new messages might arrive while it waits for its slot.
        let is_unsolicited = item.metadata.owed.is_empty() && item.id == item.first_in_draft;
        let call = if is_unsolicited { call.without_wait() } else { call };
        let posted = match self.call(&call).await {
            // Nothing was posted, and the answer is worth more than the reference.
            Err(error)
                if answered.is_some()
                    && error.refusal().is_some_and(|it| REPLY_REFUSED.contains(&it.code)) =>
            {
                self.call(&without_reference(call.clone())).await
            }
            posted => posted,
        };
        let posted = match posted {
            // Discord remembers the nonce but no longer has its message: it was posted, and a user has deleted it.
            Err(error) if error.refusal().is_some_and(|it| it.code == UNKNOWN_MESSAGE) => {
                return Ok(self.deleted_post(thread));
            }
            posted => posted.map_err(DiscordApiError::of_post)?,
        };
        self.to_posted(&posted["id"], thread).ok_or_else(|| {
            self.record_malformed_response(&call);
            PlatformError::OutcomeUnknown("Discord does not say what became of it".to_owned())
        })
    }

    fn rendered(&self, item: &OutboxItem, users: &UserNames) -> String {
        let users = |name: &str| users.find_user(name);
        let emoji = |name: &str| self.guild_emoji(item, name);
        to_discord_markdown(&item.text, &MentionLookup { find_user: &users, find_emoji: &emoji })
    }

    fn to_posted(&self, id: &Value, thread: Option<MessageId>) -> Option<PostedMessage> {
        let id = id.as_str()?;
        Some(PostedMessage {
            id: MessageId::new(id),
            thread,
            at: id_timestamp(id)?,
            author: self.identity.user.clone(),
        })
    }

    /// Returns a post that no longer exists. Its own id is unknown; no message has this id, so the next backfill marks
    /// it as deleted.
    fn deleted_post(&self, thread: Option<MessageId>) -> PostedMessage {
        let (id, author) = (first_id_at(self.now()).to_string(), self.identity.user.clone());
        PostedMessage { id: MessageId::new(id), thread, at: self.now(), author }
    }

    async fn send_typing(&self, conversation: &ConversationId) {
        let channel = discord_channel(conversation, conversation.thread.as_ref());
        let call =
            ApiRequest::post(format!("/channels/{channel}/typing"), json!({})).without_wait();
        // Typing is cosmetic, so errors are ignored.
        let _ = self.call(&call).await;
    }

    /// Returns the newest messages of a channel, whose authors may be mentioned.
    async fn recent_messages(&self, conversation: &ConversationId) -> Vec<StoredMessage> {
        let query = MessageQuery {
            workspace: conversation.workspace.clone(),
            channel: conversation.channel.clone(),
            thread: None,
            range: MessageRange::Newest,
            limit: RECENT_MESSAGES,
        };
        self.archive.messages(query).await.unwrap_or_default()
    }

    /// Looks for a post in the history since its dispatch.
    async fn look_up_post(
        &self,
        item: &OutboxItem,
        thread: Option<MessageId>,
    ) -> Result<Option<PostedMessage>, PlatformError> {
        let Some(dispatched) = item.dispatched_at else { return Ok(None) };
        let channel = discord_channel(&item.conversation, thread.as_ref());
        let fingerprint = self.fingerprint(item, dispatched);
        let mut after = first_id_at(dispatched - SEARCH_MARGIN);
        loop {
            let path = format!("/channels/{channel}/messages?limit={PAGE_SIZE}&after={after}");
            let page = match self.call(&ApiRequest::get(path)).await {
                Ok(page) => page,
                // A thread that was never opened contains no post.
                Err(error)
                    if error.refusal().is_some_and(|it| UNKNOWN_CODES.contains(&it.code)) =>
                {
                    return Ok(None);
                }
                Err(error) => return Err(error.of_read()),
            };
            let Value::Array(page) = page else {
                return Err(PlatformError::OutcomeUnknown(
                    "the history has no messages".to_owned(),
                ));
            };
            for message in &page {
                if fingerprint.matches(message) && !self.is_recorded(item, message).await? {
                    return Ok(self.to_posted(&message["id"], thread));
                }
            }
            let newest =
                page.iter().filter_map(|message| message["id"].as_str()?.parse::<u64>().ok());
            if page.len() < PAGE_SIZE {
                return self.confirm_absent(dispatched, page.is_empty(), channel).await;
            }
            after = next_id(newest.max(), after).map_err(DiscordApiError::of_read)?;
        }
    }

    fn fingerprint(&self, item: &OutboxItem, dispatched: Timestamp) -> PostFingerprint<'_> {
        PostFingerprint {
            nonce: nonce(&item.key),
            author: self.identity.user.as_str(),
            texts: to_markdown_without_names(&item.text),
            since: dispatched - MATCH_MARGIN,
        }
    }

    /// Whether a message may be the post of this item.
    pub(super) fn may_be_post_of(&self, item: &OutboxItem, message: &Value) -> bool {
        let dispatched = item.dispatched_at;
        dispatched.is_some_and(|dispatched| self.fingerprint(item, dispatched).matches(message))
    }

    /// Whether a message without a nonce is recorded as another post, which may have had the same text.
    async fn is_recorded(&self, item: &OutboxItem, message: &Value) -> Result<bool, PlatformError> {
        let Some(id) = message["id"].as_str().filter(|_| !message["nonce"].is_string()) else {
            return Ok(false);
        };
        let id = MessageId::new(id);
        let query = DecisionQuery::Messages {
            workspace: item.conversation.workspace.clone(),
            channel: item.conversation.channel.clone(),
            messages: vec![id.clone()],
        };
        let decisions = self.archive.decisions(query).await;
        let decisions =
            decisions.map_err(|error| PlatformError::OutcomeUnknown(error.to_string()))?;
        Ok(decisions.iter().any(|decision| decision.posted_messages.contains(&id)))
    }

    /// Checks that an empty page is conclusive. Without access to the history Discord returns an empty page as well.
    async fn confirm_absent(
        &self,
        dispatched: Timestamp,
        is_empty: bool,
        channel: &str,
    ) -> Result<Option<PostedMessage>, PlatformError> {
        if !is_empty || self.now() < dispatched + NONCE_LIFETIME {
            return Ok(None);
        }
        let any = ApiRequest::get(format!("/channels/{channel}/messages?limit=1"));
        let any = self.call(&any).await.map_err(DiscordApiError::of_read)?;
        let can_read = any.as_array().is_some_and(|any| !any.is_empty());
        can_read.then_some(None).ok_or_else(|| {
            let reason = "without Read Message History nobody knows whether it was said";
            PlatformError::Refused(reason.to_owned())
        })
    }
}

/// Returns the same call, without the reply reference.
fn without_reference(mut call: ApiRequest) -> ApiRequest {
    if let Some(Value::Object(body)) = &mut call.body {
        body.remove("message_reference");
    }
    call
}

/// The features by which a post is recognized in the history.
struct PostFingerprint<'a> {
    nonce: String,
    author: &'a str,
    /// The text without resolved names, because the cache may have changed since.
    texts: [String; 2],
    since: Timestamp,
}

impl PostFingerprint<'_> {
    /// Any user can send a nonce, so the author must match, too. Discord does not always return the nonce.
    fn matches(&self, message: &Value) -> bool {
        if message["author"]["id"] != self.author {
            return false;
        }
        match message["nonce"].as_str() {
            Some(nonce) => nonce == self.nonce,
            None => {
                let is_new = message["id"]
                    .as_str()
                    .and_then(id_timestamp)
                    .is_some_and(|at| at >= self.since);
                let content = message["content"].as_str().unwrap_or_default();
                is_new && self.texts.iter().any(|text| is_fuzzy_match(content, text))
            }
        }
    }
}

/// Returns the Discord channel of a conversation; a thread is a channel of its own.
pub(super) fn discord_channel<'a>(
    conversation: &'a ConversationId,
    thread: Option<&'a MessageId>,
) -> &'a str {
    thread.map_or(conversation.channel.as_str(), MessageId::as_str)
}

/// Returns the message that a post visibly replies to: the one it answers, unless an earlier post of the same draft did
/// so, or it is the newest message (for unsolicited posts). Direct messages need no reply reference.
fn reply_target<'a>(
    item: &'a OutboxItem,
    thread: Option<&MessageId>,
    messages: &[StoredMessage],
) -> Option<&'a MessageId> {
    let conversation = &item.conversation;
    if item.id != item.first_in_draft
        || conversation.workspace == direct_workspace()
        || thread != conversation.thread.as_ref()
    {
        return None;
    }
    let metadata = &item.metadata;
    let newest =
        messages.iter().rev().find(|message| message.message.conversation == *conversation);
    let is_newest = |id: &MessageId| newest.is_some_and(|newest| newest.message.id == *id);
    let answered =
        metadata.newest_owed().or(metadata.about.as_ref().filter(|about| !is_newest(about)))?;
    // The message from which a thread was opened is not in the thread.
    (thread != Some(answered)).then_some(answered)
}

pub(super) fn nonce(key: &str) -> String {
    let digest = Sha256::digest(key.as_bytes());
    let hex: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    hex[..NONCE_LENGTH].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_nonce_is_short_and_unique_per_item() {
        let (one, other) = (nonce("0a1b-1"), nonce("0a1b-2"));
        assert_eq!(one.len(), NONCE_LENGTH);
        assert_eq!(one, nonce("0a1b-1"));
        assert_ne!(one, other);
    }

    #[test]
    fn a_post_is_recognized_by_its_nonce_or_its_text() {
        let since = id_timestamp("1000000000000000000").unwrap();
        let texts = to_markdown_without_names("hi @Mio");
        let fingerprint = PostFingerprint { nonce: "abc".to_owned(), author: "9", texts, since };
        let message = |id: &str, author: &str, nonce: Value, content: &str| json!({"id": id, "author": {"id": author}, "nonce": nonce, "content": content});
        let (new, old) = ("1000000000000000001", "900000000000000000");
        for (message, expected) in [
            (message(new, "9", json!("abc"), "other"), true),
            (message(new, "9", json!("abd"), "hi <@1>"), false),
            (message(new, "1", json!("abc"), "hi <@1>"), false),
            (message(new, "9", Value::Null, "hi <@1>"), true),
            (message(new, "9", Value::Null, "hi @Mio"), true),
            (message(new, "9", Value::Null, "hi"), false),
            (message(old, "9", Value::Null, "hi @Mio"), false),
        ] {
            assert_eq!(fingerprint.matches(&message), expected, "{message}");
        }
    }
}
