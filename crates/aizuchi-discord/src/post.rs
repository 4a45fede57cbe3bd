//! Speaking on Discord. A post carries a nonce that is made from its key: for some minutes Discord takes
//! the same nonce for the same post, and after that the history tells whether it was said.

use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use twilight_model::channel::message::MessageFlags;

use crate::DiscordPlatform;
use crate::api::{ApiRequest, DiscordApiError};
use crate::identity::direct_workspace;
use crate::snowflake::{first_id_at, id_timestamp};
use crate::text::fuzzy_match::is_fuzzy_match;
use crate::text::write::{
    MAX_MESSAGE_LENGTH, MentionLookup, to_discord_markdown, to_markdown_without_names,
};
use aizuchi_core::chat::{ConversationId, MessageId};
use aizuchi_core::event::{OutboxItem, PostedMessage};
use aizuchi_core::platform::backfill::BackfillProgress;
use aizuchi_core::platform::user_names::{RECENT_MESSAGES, UserNames};
use aizuchi_core::platform::{Platform, PlatformError};
use aizuchi_core::rhythm::typing::typing_time;
use aizuchi_core::store::{MessageQuery, MessageRange, StoredMessage};

/// Discord takes a nonce that is no longer.
const NONCE_LENGTH: usize = 25;
/// Discord shows for so long that somebody types.
const TYPING_REFRESH: SignedDuration = SignedDuration::from_secs(8);
/// What was not asked for is not said out of nowhere.
const MAX_TYPING: SignedDuration = SignedDuration::from_secs(3);
/// Discord knows a nonce again for some minutes; it does not say how many.
const NONCE_LIFETIME: SignedDuration = SignedDuration::from_mins(2);
/// Clocks differ, so the history is read from before the dispatch.
const SEARCH_MARGIN: SignedDuration = SignedDuration::from_mins(15);
/// A post without its nonce is ours if it says the same and is not older than the dispatch by more.
const MATCH_MARGIN: SignedDuration = SignedDuration::from_secs(10);
const PAGE_SIZE: usize = 100;

/// Discord's numbers for what will be otherwise after a while.
const TEMPORARY_CODES: [u64; 4] = [20_016, 20_028, 40_062, 130_000];
/// Discord's number for a reply where what was said before may not be read.
const REPLY_NEEDS_HISTORY: u64 = 160_002;
/// Discord's numbers for a channel, a line or a thread that is not there.
const UNKNOWN_CODES: [u64; 2] = [10_003, 10_008];

#[async_trait]
impl Platform for DiscordPlatform {
    async fn post(&self, piece: &OutboxItem) -> Result<PostedMessage, PlatformError> {
        if let Some(on) = &piece.reaction_to {
            return self.add_reaction(piece, on).await;
        }
        let thread = match self.thread_starter(piece).await {
            Some(asked) => self.open_thread(piece, &asked).await?,
            None => None,
        };
        self.post_message(piece, thread.or_else(|| piece.conversation.thread.clone())).await
    }

    async fn find_posted(
        &self,
        piece: &OutboxItem,
    ) -> Result<Option<PostedMessage>, PlatformError> {
        if let Some(on) = &piece.reaction_to {
            return self.find_reaction(piece, on).await;
        }
        if let Some(asked) = self.thread_starter(piece).await
            && let Some(posted) = self.find_post(piece, Some(asked)).await?
        {
            return Ok(Some(posted));
        }
        self.find_post(piece, piece.conversation.thread.clone()).await
    }

    async fn show_thinking(&self, conversation: &ConversationId) {
        loop {
            self.send_typing(conversation).await;
            self.clock.sleep_until(self.now() + TYPING_REFRESH).await;
        }
    }

    async fn show_typing(&self, piece: &OutboxItem) -> SignedDuration {
        let is_asked = !piece.metadata.owed.is_empty();
        // Whoever waits has seen it think.
        if piece.reaction_to.is_some()
            || piece.is_sending()
            || (is_asked && piece.id == piece.first_in_draft)
        {
            return SignedDuration::ZERO;
        }
        self.send_typing(&piece.conversation).await;
        typing_time(&piece.text, self.persona.language).min(MAX_TYPING)
    }

    fn settle_time(&self) -> SignedDuration {
        self.settings.settle_time
    }

    fn outage(&self) -> Option<String> {
        let is_off = self.connection.state().connected_since.is_none();
        is_off.then(|| "there is no connection to Discord".to_owned())
    }

    fn backfill_progress(&self) -> Option<BackfillProgress> {
        let rooms = self.cache.joined();
        Some(self.backfill.backfill_progress(
            "Discord",
            &rooms,
            self.connection.state().connected_since,
        ))
    }

    fn is_behind(&self, conversation: &ConversationId) -> bool {
        self.is_backfill_pending(conversation)
    }

    fn max_post_length(&self) -> usize {
        MAX_MESSAGE_LENGTH
    }
}

impl DiscordPlatform {
    async fn post_message(
        &self,
        piece: &OutboxItem,
        thread: Option<MessageId>,
    ) -> Result<PostedMessage, PlatformError> {
        let lines = self.recent_messages(&piece.conversation).await;
        let people = UserNames::from_messages(&lines);
        let mut body = json!({
            "content": self.rendered(piece, &people),
            "nonce": nonce(&piece.key),
            "enforce_nonce": true,
            // Nobody is notified, whatever the words are.
            "allowed_mentions": { "parse": [], "replied_user": false },
            // A preview is a page that somebody else's words make Discord fetch, and larger than what is said.
            "flags": MessageFlags::SUPPRESS_EMBEDS.bits(),
        });
        if let Some(answered) = reply_target(piece, thread.as_ref(), &lines) {
            body["message_reference"] =
                json!({ "message_id": answered, "fail_if_not_exists": false });
        }
        let place = discord_channel(&piece.conversation, thread.as_ref());
        let call = ApiRequest::post(format!("/channels/{place}/messages"), body);
        // Nobody waits for what is said unasked; while that waited, somebody might speak.
        let is_unasked = piece.metadata.owed.is_empty() && piece.id == piece.first_in_draft;
        let call = if is_unasked { call.without_wait() } else { call };
        let said = match self.call(&call).await {
            Err(error) if error.code() == Some(REPLY_NEEDS_HISTORY) => {
                self.call(&without_reference(call)).await.map_err(post_error)?
            }
            said => said.map_err(post_error)?,
        };
        self.to_posted(&said["id"], thread).ok_or_else(|| {
            PlatformError::OutcomeUnknown("Discord does not say what became of it".to_owned())
        })
    }

    fn rendered(&self, piece: &OutboxItem, people: &UserNames) -> String {
        let people = |name: &str| people.find_user(name);
        let emoji = |name: &str| self.guild_emoji(piece, name);
        to_discord_markdown(&piece.text, &MentionLookup { find_user: &people, find_emoji: &emoji })
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

    async fn send_typing(&self, conversation: &ConversationId) {
        let place = discord_channel(conversation, conversation.thread.as_ref());
        let call = ApiRequest::post(format!("/channels/{place}/typing"), json!({})).without_wait();
        // It is only for show.
        let _ = self.call(&call).await;
    }

    /// The newest lines of a channel, from whose authors is known who is there.
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

    /// Looks for a post in all that was said since the dispatch.
    async fn find_post(
        &self,
        piece: &OutboxItem,
        thread: Option<MessageId>,
    ) -> Result<Option<PostedMessage>, PlatformError> {
        let Some(dispatched) = piece.dispatched_at else { return Ok(None) };
        let place = discord_channel(&piece.conversation, thread.as_ref());
        let wanted = PostFingerprint {
            nonce: nonce(&piece.key),
            author: self.identity.user.as_str(),
            texts: to_markdown_without_names(&piece.text),
            since: dispatched - MATCH_MARGIN,
        };
        let mut after = first_id_at(dispatched - SEARCH_MARGIN);
        loop {
            let path = format!("/channels/{place}/messages?limit={PAGE_SIZE}&after={after}");
            let page = match self.call(&ApiRequest::get(path)).await {
                Ok(page) => page,
                // A thread that was not opened holds nothing.
                Err(error) if error.code().is_some_and(|code| UNKNOWN_CODES.contains(&code)) => {
                    return Ok(None);
                }
                Err(error) => return Err(history_error(error)),
            };
            let Value::Array(page) = page else {
                return Err(PlatformError::OutcomeUnknown("the history has no lines".to_owned()));
            };
            if let Some(found) = page.iter().find(|line| wanted.matches(line)) {
                return Ok(self.to_posted(&found["id"], thread));
            }
            let newest = page.iter().filter_map(|line| line["id"].as_str()?.parse::<u64>().ok());
            after = newest.max().unwrap_or(after).max(after);
            if page.len() < PAGE_SIZE {
                return self.confirm_absent(dispatched, page.is_empty(), place).await;
            }
        }
    }

    /// Discord shows an empty history to whoever may not read it.
    async fn confirm_absent(
        &self,
        dispatched: Timestamp,
        is_empty: bool,
        place: &str,
    ) -> Result<Option<PostedMessage>, PlatformError> {
        if !is_empty || self.now() < dispatched + NONCE_LIFETIME {
            return Ok(None);
        }
        let any = ApiRequest::get(format!("/channels/{place}/messages?limit=1"));
        let any = self.call(&any).await.map_err(history_error)?;
        let can_read = any.as_array().is_some_and(|any| !any.is_empty());
        can_read.then_some(None).ok_or_else(|| {
            let why = "without Read Message History nobody knows whether it was said";
            PlatformError::Refused(why.to_owned())
        })
    }
}

/// The same, without pointing to what it answers.
fn without_reference(mut call: ApiRequest) -> ApiRequest {
    if let Some(Value::Object(body)) = &mut call.body {
        body.remove("message_reference");
    }
    call
}

/// What a post is known by.
struct PostFingerprint<'a> {
    nonce: String,
    author: &'a str,
    /// As they are where nothing has a name: what is known may have changed.
    texts: [String; 2],
    since: Timestamp,
}

impl PostFingerprint<'_> {
    /// Anybody may send a nonce; only ours counts. Discord need not show it.
    fn matches(&self, line: &Value) -> bool {
        if line["author"]["id"] != self.author {
            return false;
        }
        match line["nonce"].as_str() {
            Some(nonce) => nonce == self.nonce,
            None => {
                let is_new =
                    line["id"].as_str().and_then(id_timestamp).is_some_and(|at| at >= self.since);
                let content = line["content"].as_str().unwrap_or_default();
                is_new && self.texts.iter().any(|text| is_fuzzy_match(content, text))
            }
        }
    }
}

/// The channel that Discord has a conversation in: a thread is one of its own.
pub(super) fn discord_channel<'a>(
    conversation: &'a ConversationId,
    thread: Option<&'a MessageId>,
) -> &'a str {
    thread.map_or(conversation.channel.as_str(), MessageId::as_str)
}

/// The line that a post replies to, as people see it: the one it answers, unless a post of the same answer
/// has done so, or it stands right above. Of two people alone everybody knows who is meant.
fn reply_target<'a>(
    piece: &'a OutboxItem,
    thread: Option<&MessageId>,
    lines: &[StoredMessage],
) -> Option<&'a MessageId> {
    let place = &piece.conversation;
    if piece.id != piece.first_in_draft
        || place.workspace == direct_workspace()
        || thread != place.thread.as_ref()
    {
        return None;
    }
    let notes = &piece.metadata;
    let newest = lines.iter().rev().find(|line| line.message.conversation == *place);
    let is_newest = |id: &MessageId| newest.is_some_and(|newest| newest.message.id == *id);
    let answered =
        notes.newest_owed().or(notes.about.as_ref().filter(|about| !is_newest(about)))?;
    // What a thread was opened below is not in it.
    (thread != Some(answered)).then_some(answered)
}

pub(super) fn nonce(key: &str) -> String {
    let digest = Sha256::digest(key.as_bytes());
    let hex: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    hex[..NONCE_LENGTH].to_owned()
}

pub(super) fn post_error(error: DiscordApiError) -> PlatformError {
    let why = error.to_string();
    match error {
        DiscordApiError::RateLimited(wait) => PlatformError::Busy { why, retry_after: Some(wait) },
        DiscordApiError::Unreachable(_) => PlatformError::Busy { why, retry_after: None },
        DiscordApiError::Refused(refusal) if TEMPORARY_CODES.contains(&refusal.code) => {
            PlatformError::Busy { why, retry_after: None }
        }
        DiscordApiError::Refused(_) => PlatformError::Refused(why),
        DiscordApiError::OutcomeUnknown(_) => PlatformError::OutcomeUnknown(why),
    }
}

/// A history that could not be read says nothing about what is in it.
pub(super) fn history_error(error: DiscordApiError) -> PlatformError {
    let why = error.to_string();
    match error {
        DiscordApiError::RateLimited(wait) => PlatformError::Busy { why, retry_after: Some(wait) },
        DiscordApiError::Unreachable(_) | DiscordApiError::OutcomeUnknown(_) => {
            PlatformError::OutcomeUnknown(why)
        }
        DiscordApiError::Refused(_) => PlatformError::Refused(why),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_nonce_is_short_and_each_piece_has_its_own() {
        let (one, other) = (nonce("0a1b-1"), nonce("0a1b-2"));
        assert_eq!(one.len(), NONCE_LENGTH);
        assert_eq!(one, nonce("0a1b-1"));
        assert_ne!(one, other);
    }

    #[test]
    fn a_post_is_known_by_its_nonce_or_by_what_it_says() {
        let since = id_timestamp("1000000000000000000").unwrap();
        let texts = to_markdown_without_names("hi @Mio");
        let wanted = PostFingerprint { nonce: "abc".to_owned(), author: "9", texts, since };
        let line = |id: &str, author: &str, nonce: Value, content: &str| json!({"id": id, "author": {"id": author}, "nonce": nonce, "content": content});
        let (new, old) = ("1000000000000000001", "900000000000000000");
        for (line, expected) in [
            (line(new, "9", json!("abc"), "other"), true),
            (line(new, "9", json!("abd"), "hi <@1>"), false),
            (line(new, "1", json!("abc"), "hi <@1>"), false),
            (line(new, "9", Value::Null, "hi <@1>"), true),
            (line(new, "9", Value::Null, "hi @Mio"), true),
            (line(new, "9", Value::Null, "hi"), false),
            (line(old, "9", Value::Null, "hi @Mio"), false),
        ] {
            assert_eq!(wanted.matches(&line), expected, "{line}");
        }
    }
}
