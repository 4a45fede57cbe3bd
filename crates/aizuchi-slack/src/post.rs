//! Posts to Slack. Slack has no idempotency keys, so each post carries its key in its metadata, and the history shows
//! whether a post whose response was lost exists.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::sync::atomic::Ordering;

use aizuchi_agent::metrics::labels::MalformedInput;
use aizuchi_model::chat::attachment::Attachment;
use aizuchi_model::chat::owed::Owed;
use aizuchi_model::chat::{ChannelId, ConversationId, Message, MessageId, UserId, Visibility};
use aizuchi_model::flow::outbox::{OutboxItem, PostedMessage};
use aizuchi_model::platform::backfill_progress::BackfillProgress;
use aizuchi_model::platform::{BackfillState, Platform, PlatformError};
use aizuchi_platform::emoji_names;
use aizuchi_platform::user_names::{RECENT_MESSAGES, UserNames};
use aizuchi_store::query::{MessageQuery, MessageRange};
use async_trait::async_trait;
use jiff::SignedDuration;
use serde_json::{Value, json};

use crate::SlackPlatform;
use crate::api::SlackApiError;
use crate::cache::Membership;
use crate::from_slack::{METADATA_EVENT_TYPE, non_empty_str, parse_id, parse_ts};
use crate::mrkdwn::blocks::to_blocks;
use crate::mrkdwn::write::to_mrkdwn;
use crate::settings::ReplyPlacement;

/// Slack's rate limit: one message per second in each channel.
const POST_INTERVAL: SignedDuration = SignedDuration::from_secs(1);
/// Slack recommends at most 4,000 characters; escaping adds some.
pub(super) const MAX_POST_LENGTH: usize = 3_000;

/// How many users one post notifies at most. Others are named in plain text.
const MAX_MENTIONED: usize = 5;

#[async_trait]
impl Platform for SlackPlatform {
    async fn post(&self, item: &OutboxItem) -> Result<PostedMessage, PlatformError> {
        let channel = &item.conversation.channel;
        if self
            .cache
            .channel(channel)
            .is_some_and(|cached| cached.membership == Membership::NotMember)
        {
            return Err(PlatformError::Refused("it is in this channel no more".to_owned()));
        }
        if let Some(message) = &item.reaction_to {
            return self.add_reaction(item, message).await;
        }
        self.post_message(item).await
    }

    fn post_interval(&self) -> SignedDuration {
        POST_INTERVAL
    }

    async fn find_posted(&self, item: &OutboxItem) -> Result<Option<PostedMessage>, PlatformError> {
        match &item.reaction_to {
            Some(message) => self.find_reaction(item, message).await,
            // An ephemeral answer cannot be looked up. It counts as posted: better lost than posted twice.
            None if item.metadata.only_reader().is_some() && !self.is_direct(item) => {
                Ok(Some(self.ephemeral_posted(item)))
            }
            None => self.look_up_post(item).await,
        }
    }

    fn in_flight_timeout(&self) -> SignedDuration {
        self.settings.in_flight_timeout
    }

    fn outage(&self) -> Option<String> {
        let is_disconnected = self.connection.state().open_connections == 0;
        let disconnected = is_disconnected.then(|| {
            format!("there is no connection to the Slack workspace {}", self.identity.name)
        });
        self.bot_access.outage().or(self.app_access.outage()).or(disconnected)
    }

    fn backfill_progress(&self) -> Option<BackfillProgress> {
        // A channel that the bot may have left counts only until the lists are fetched; otherwise it would stay
        // incomplete forever.
        let channels = match self.has_synced.load(Ordering::Relaxed) {
            true => self.cache.joined(),
            false => self.cache.possibly_joined(),
        };
        Some(self.backfill.backfill_progress(
            "Slack",
            &channels,
            self.connection.state().connected_since,
        ))
    }

    fn backfill_state(&self, conversation: &ConversationId) -> BackfillState {
        let since = self.connection.state().connected_since;
        // With a refused token nothing can be posted, so due steps wait as they do for a connection.
        let Some(since) = since.filter(|_| self.bot_access.outage().is_none()) else {
            return BackfillState::Disconnected;
        };
        let channel = &conversation.channel;
        let is_pending = match self.cache.channel(channel).map(|cached| cached.membership) {
            // With a rate-limited history a page takes a minute, which is too long for a step to wait.
            Some(Membership::Member) if self.history_limit.is_limited() && !self.is_restored() => {
                false
            }
            Some(Membership::Member) => {
                let target = (channel.clone(), conversation.thread.clone());
                !self.backfill.is_complete(&target, since)
            }
            // Until the lists are fetched, the bot may be a member.
            Some(Membership::Unknown) | None => !self.has_synced.load(Ordering::Relaxed),
            Some(Membership::NotMember) => false,
        };
        if is_pending {
            BackfillState::Pending { gap_ended: since }
        } else {
            BackfillState::Complete
        }
    }

    fn prioritize_backfill(&self, conversation: &ConversationId) {
        // Other channels cannot be read, and without a connection there is no gap to read yet.
        let membership = self.cache.channel(&conversation.channel).map(|cached| cached.membership);
        let is_connected = self.connection.state().connected_since.is_some();
        if is_connected && membership == Some(Membership::Member) {
            let target = (conversation.channel.clone(), conversation.thread.clone());
            self.backfill.prioritize(target);
        }
    }

    async fn fetch_file(
        &self,
        _message: &Message,
        attachment: &Attachment,
        max_bytes: usize,
    ) -> Result<Vec<u8>, PlatformError> {
        self.fetch_content(attachment, max_bytes).await
    }

    fn can_whisper(&self) -> bool {
        true
    }

    fn own_user(&self) -> Option<UserId> {
        Some(self.identity.user.clone())
    }

    fn message_url(&self, message: &Message) -> Option<String> {
        let ConversationId { channel, thread, .. } = &message.conversation;
        let url = self.identity.url.as_deref()?;
        let below = thread.as_ref().filter(|thread| **thread != message.id);
        let below =
            below.map_or(String::new(), |thread| format!("?thread_ts={thread}&cid={channel}"));
        Some(format!("{url}archives/{channel}/p{}{below}", message.id.as_str().replace('.', "")))
    }

    fn max_post_length(&self) -> usize {
        MAX_POST_LENGTH
    }
}

impl SlackPlatform {
    /// Whether a backup was restored recently, so that only the history knows which messages were answered.
    fn is_restored(&self) -> bool {
        self.archive.lost_span().is_some_and(|span| span.is_recent(self.now()))
    }

    async fn post_message(&self, item: &OutboxItem) -> Result<PostedMessage, PlatformError> {
        if let Some(user) = item.metadata.only_reader().filter(|_| !self.is_direct(item)) {
            return self.post_ephemeral(item, user).await;
        }
        let text = self.to_slack_text(item).await;
        let thread = self.reply_thread(item);
        let mut arguments = vec![
            ("channel", item.conversation.channel.to_string()),
            ("blocks", to_blocks(&text).to_string()),
            // Shown in notifications.
            ("text", text),
            // No previews, and no mentions beyond those that the text writes out.
            ("unfurl_links", "false".to_owned()),
            ("unfurl_media", "false".to_owned()),
            ("link_names", "false".to_owned()),
            ("parse", "none".to_owned()),
            ("mrkdwn", "true".to_owned()),
            ("metadata", metadata(item).to_string()),
        ];
        arguments.extend(thread.as_ref().map(|thread| ("thread_ts", thread.to_string())));
        let answer = self.call_with_blocks("chat.postMessage", arguments).await?;
        let (Some(id), Some(at)) = (parse_id(&answer["ts"]), parse_ts(&answer["ts"])) else {
            self.incidents.record_malformed(MalformedInput::Response, "chat.postMessage");
            return Err(PlatformError::OutcomeUnknown(
                "Slack does not say when it was said".to_owned(),
            ));
        };
        Ok(PostedMessage { id: MessageId::new(id), thread, at, author: self.identity.user.clone() })
    }

    /// Posts again as plain text if Slack rejects the blocks: nothing was posted in that case, and an answer is owed.
    async fn call_with_blocks(
        &self,
        method: &'static str,
        mut arguments: Vec<(&str, String)>,
    ) -> Result<Value, PlatformError> {
        let refuses_blocks = |error: &SlackApiError| matches!(error, SlackApiError::Refused(code) if code.contains("blocks"));
        let answer = match self.call(method, &arguments).await {
            Err(error) if refuses_blocks(&error) => {
                arguments.retain(|(name, _)| *name != "blocks");
                self.call(method, &arguments).await
            }
            answer => answer,
        };
        answer.map_err(SlackApiError::of_post)
    }

    /// Posts a message that only one user sees. The history does not contain it, so it cannot be looked up.
    async fn post_ephemeral(
        &self,
        item: &OutboxItem,
        user: &UserId,
    ) -> Result<PostedMessage, PlatformError> {
        let text = to_mrkdwn(&item.text, &|_| None);
        let mut arguments = vec![
            ("channel", item.conversation.channel.to_string()),
            ("user", user.to_string()),
            ("blocks", to_blocks(&text).to_string()),
            ("text", text),
            ("link_names", "false".to_owned()),
            ("parse", "none".to_owned()),
        ];
        let thread = &item.conversation.thread;
        arguments.extend(thread.as_ref().map(|thread| ("thread_ts", thread.to_string())));
        self.call_with_blocks("chat.postEphemeral", arguments).await?;
        Ok(self.ephemeral_posted(item))
    }

    fn ephemeral_posted(&self, item: &OutboxItem) -> PostedMessage {
        PostedMessage {
            id: MessageId::new(item.key.clone()),
            thread: item.conversation.thread.clone(),
            at: self.now(),
            author: self.identity.user.clone(),
        }
    }

    fn is_direct(&self, item: &OutboxItem) -> bool {
        let cached = self.cache.channel(&item.conversation.channel);
        cached.is_some_and(|cached| cached.channel.visibility == Visibility::Direct)
    }

    /// Returns the thread of a post: the conversation's own or, with [`ReplyPlacement::Thread`], one below the message.
    pub(super) fn reply_thread(&self, item: &OutboxItem) -> Option<MessageId> {
        if item.conversation.thread.is_some() {
            return item.conversation.thread.clone();
        }
        match self.settings.reply_in {
            ReplyPlacement::Thread if !self.is_direct(item) => {
                let metadata = &item.metadata;
                metadata.newest_owed().or(metadata.about.as_ref()).cloned()
            }
            ReplyPlacement::Thread | ReplyPlacement::TopLevel => None,
        }
    }

    /// Returns the item's text in mrkdwn. Caps the mentions, so that a model that is talked into naming every user does
    /// not notify them all.
    pub(super) async fn to_slack_text(&self, item: &OutboxItem) -> String {
        let users = self.user_names(&item.conversation.channel).await;
        let mentioned = RefCell::new(BTreeSet::new());
        to_mrkdwn(&item.text, &|name| {
            let user = users.find_user(name)?;
            let mut mentioned = mentioned.borrow_mut();
            let may_be_mentioned = mentioned.contains(&user) || mentioned.len() < MAX_MENTIONED;
            may_be_mentioned.then(|| mentioned.insert(user.clone()));
            may_be_mentioned.then_some(user)
        })
    }

    /// Returns the users who have posted in a channel recently, the only ones that can be mentioned.
    async fn user_names(&self, channel: &ChannelId) -> UserNames {
        let query = MessageQuery {
            workspace: self.identity.workspace.clone(),
            channel: channel.clone(),
            thread: None,
            range: MessageRange::Newest,
            limit: RECENT_MESSAGES,
        };
        // Without the names, the post still goes out, only without live mentions.
        UserNames::from_messages(&self.archive.messages(query).await.unwrap_or_default())
    }

    async fn add_reaction(
        &self,
        item: &OutboxItem,
        message: &MessageId,
    ) -> Result<PostedMessage, PlatformError> {
        let Some(name) = emoji_names::to_name(&item.text) else {
            return Err(PlatformError::Refused("Slack has no such emoji".to_owned()));
        };
        let arguments = [
            ("channel", item.conversation.channel.to_string()),
            ("timestamp", message.to_string()),
            ("name", name),
        ];
        match self.call("reactions.add", &arguments).await {
            Ok(_) => Ok(self.reaction_posted(item, message)),
            // An earlier attempt succeeded, and its response was lost.
            Err(SlackApiError::Refused(code)) if code == "already_reacted" => {
                Ok(self.reaction_posted(item, message))
            }
            Err(error) => Err(error.of_post()),
        }
    }

    fn reaction_posted(&self, item: &OutboxItem, message: &MessageId) -> PostedMessage {
        let thread = item.conversation.thread.clone();
        PostedMessage {
            id: message.clone(),
            thread,
            at: self.now(),
            author: self.identity.user.clone(),
        }
    }

    async fn find_reaction(
        &self,
        item: &OutboxItem,
        message: &MessageId,
    ) -> Result<Option<PostedMessage>, PlatformError> {
        let arguments = [
            ("channel", item.conversation.channel.to_string()),
            ("timestamp", message.to_string()),
            // Otherwise Slack may leave out some of the users.
            ("full", "true".to_owned()),
        ];
        let answer =
            self.call("reactions.get", &arguments).await.map_err(SlackApiError::of_read)?;
        let name = emoji_names::to_name(&item.text);
        let own = |reaction: &&Value| {
            let users = reaction["users"].as_array().into_iter().flatten();
            non_empty_str(&reaction["name"]) == name.as_deref()
                && users
                    .into_iter()
                    .any(|user| non_empty_str(user) == Some(self.identity.user.as_str()))
        };
        let reactions = answer["message"]["reactions"].as_array();
        let is_there = reactions.is_some_and(|reactions| reactions.iter().find(own).is_some());
        Ok(is_there.then(|| self.reaction_posted(item, message)))
    }
}

/// The mark of a post: its key, and what it answers. A database that has lost its last seconds finds both in the history.
fn metadata(item: &OutboxItem) -> Value {
    let owed = item.metadata.owed.iter().map(Owed::as_str);
    let answers: Vec<&str> =
        owed.chain(item.metadata.about.iter().map(MessageId::as_str)).collect();
    let payload = json!({ "key": item.key, "answers": answers.join(" ") });
    json!({ "event_type": METADATA_EVENT_TYPE, "event_payload": payload })
}
