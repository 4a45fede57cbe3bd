//! Speaking in Slack. A post carries its key in its metadata, so that the history can tell whether one whose
//! answer was lost was said (Slack has no idempotency key of its own).

use std::collections::HashMap;
use std::sync::atomic::Ordering;
use std::sync::{Mutex, PoisonError};

use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use crate::api::SlackApiError;
use crate::cache::Membership;
use crate::from_slack::{METADATA_EVENT_TYPE, non_empty_str, parse_ts};
use crate::mrkdwn::write::to_mrkdwn;
use crate::post_lookup::read_error;
use crate::settings::ReplyPlacement;
use crate::{SlackPlatform, emoji};
use aizuchi_core::chat::{ChannelId, ConversationId, MessageId, UserId, Visibility};
use aizuchi_core::event::{OutboxItem, PostedMessage};
use aizuchi_core::platform::backfill::BackfillProgress;
use aizuchi_core::platform::user_names::{RECENT_MESSAGES, UserNames};
use aizuchi_core::platform::{Platform, PlatformError};
use aizuchi_core::store::{MessageQuery, MessageRange};

/// One message a second and channel (Slack, "Rate limits").
const POST_INTERVAL: SignedDuration = SignedDuration::from_secs(1);
/// A post waits for its turn so long; behind a longer queue it comes again later.
const MAX_POST_WAIT: SignedDuration = SignedDuration::from_secs(2);
/// Slack shows about so many characters well; escaping makes more of them.
const MAX_POST_LENGTH: usize = 3_000;

/// Turns: whose is when.
#[derive(Default)]
pub struct PostLimiter {
    /// When each channel may be spoken to next.
    next_post_at: Mutex<HashMap<ChannelId, Timestamp>>,
}

impl PostLimiter {
    /// Takes the next turn in a channel, unless it is too far away.
    fn reserve(
        &self,
        channel: &ChannelId,
        now: Timestamp,
        longest: SignedDuration,
    ) -> Result<Timestamp, SignedDuration> {
        let mut posts = self.next_post_at.lock().unwrap_or_else(PoisonError::into_inner);
        posts.retain(|_, next| *next > now);
        let turn = posts.get(channel).copied().unwrap_or(now);
        let wait = turn.duration_since(now);
        if wait > longest {
            return Err(wait);
        }
        posts.insert(channel.clone(), turn + POST_INTERVAL);
        Ok(turn)
    }

    /// Slack wants nothing in this channel before then.
    fn hold_until(&self, channel: &ChannelId, until: Timestamp) {
        let mut posts = self.next_post_at.lock().unwrap_or_else(PoisonError::into_inner);
        let next = posts.entry(channel.clone()).or_insert(until);
        *next = until.max(*next);
    }
}

#[async_trait]
impl Platform for SlackPlatform {
    async fn post(&self, piece: &OutboxItem) -> Result<PostedMessage, PlatformError> {
        let channel = &piece.conversation.channel;
        if self.cache.channel(channel).is_some_and(|room| room.membership == Membership::NotMember)
        {
            return Err(PlatformError::Refused("it is in this channel no more".to_owned()));
        }
        if let Some(on) = &piece.reaction_to {
            return self.add_reaction(piece, on).await;
        }
        // Nobody waits for what is said unasked; while that waited, somebody might speak.
        let is_unasked = piece.metadata.owed.is_empty() && piece.id == piece.first_in_draft;
        let longest = if is_unasked { SignedDuration::ZERO } else { MAX_POST_WAIT };
        match self.post_limiter.reserve(channel, self.now(), longest) {
            Ok(turn) => self.clock.sleep_until(turn).await,
            Err(wait) => return Err(PlatformError::Queued { wait }),
        }
        let said = self.post_message(piece).await;
        if let Err(PlatformError::Busy { retry_after: Some(wait), .. }) = &said {
            self.post_limiter.hold_until(channel, self.now() + *wait);
        }
        said
    }

    async fn find_posted(
        &self,
        piece: &OutboxItem,
    ) -> Result<Option<PostedMessage>, PlatformError> {
        match &piece.reaction_to {
            Some(on) => self.find_reaction(piece, on).await,
            // Better unsaid than twice: whoever saw nothing asks again.
            None if piece.metadata.only_for.is_some() && !self.is_direct(piece) => {
                Ok(Some(self.ephemeral_posted(piece)))
            }
            None => self.find_post(piece).await,
        }
    }

    fn settle_time(&self) -> SignedDuration {
        self.settings.settle_time
    }

    fn outage(&self) -> Option<String> {
        let is_off = self.connection.state().open_connections == 0;
        is_off.then(|| {
            format!("there is no connection to the Slack workspace {}", self.identity.name)
        })
    }

    fn backfill_progress(&self) -> Option<BackfillProgress> {
        // What no list names counts until the lists are read; a room that tells nothing of itself would
        // be left for ever.
        let rooms = match self.has_synced.load(Ordering::Relaxed) {
            true => self.cache.joined(),
            false => self.cache.possibly_joined(),
        };
        Some(self.backfill.backfill_progress(
            "Slack",
            &rooms,
            self.connection.state().connected_since,
        ))
    }

    fn is_behind(&self, conversation: &ConversationId) -> bool {
        let Some(since) = self.connection.state().connected_since else { return true };
        let channel = &conversation.channel;
        match self.cache.channel(channel).map(|room| room.membership) {
            // Where a page takes a minute, nobody is kept waiting for it.
            Some(Membership::Member) if self.history_limit.is_limited() => false,
            Some(Membership::Member) => {
                let place = (channel.clone(), conversation.thread.clone());
                let is_behind = !self.backfill.is_complete(&place, since);
                if is_behind {
                    self.backfill.prioritize(place);
                }
                is_behind
            }
            // Before all lists are read, it may be in it.
            Some(Membership::Unknown) | None => !self.has_synced.load(Ordering::Relaxed),
            Some(Membership::NotMember) => false,
        }
    }

    fn max_post_length(&self) -> usize {
        MAX_POST_LENGTH
    }
}

impl SlackPlatform {
    async fn post_message(&self, piece: &OutboxItem) -> Result<PostedMessage, PlatformError> {
        if let Some(user) = piece.metadata.only_for.as_ref().filter(|_| !self.is_direct(piece)) {
            return self.post_ephemeral(piece, user).await;
        }
        let people = self.user_names(&piece.conversation.channel).await;
        let words = to_mrkdwn(&piece.text, &|name| people.find_user(name));
        let thread = self.reply_thread(piece);
        let mut arguments = vec![
            ("channel", piece.conversation.channel.to_string()),
            ("text", words),
            // Nothing is fetched, named or notified that was not meant to be.
            ("unfurl_links", "false".to_owned()),
            ("unfurl_media", "false".to_owned()),
            ("link_names", "false".to_owned()),
            ("parse", "none".to_owned()),
            ("mrkdwn", "true".to_owned()),
            ("metadata", metadata(piece).to_string()),
        ];
        arguments.extend(thread.as_ref().map(|thread| ("thread_ts", thread.to_string())));
        let answer = self.call("chat.postMessage", &arguments).await.map_err(post_error)?;
        let (Some(id), Some(at)) = (non_empty_str(&answer["ts"]), parse_ts(&answer["ts"])) else {
            return Err(PlatformError::OutcomeUnknown(
                "Slack does not say when it was said".to_owned(),
            ));
        };
        Ok(PostedMessage { id: MessageId::new(id), thread, at, author: self.identity.user.clone() })
    }

    /// Only one person sees it. No history has it, so nobody can look whether it was said.
    async fn post_ephemeral(
        &self,
        piece: &OutboxItem,
        user: &UserId,
    ) -> Result<PostedMessage, PlatformError> {
        let mut arguments = vec![
            ("channel", piece.conversation.channel.to_string()),
            ("user", user.to_string()),
            ("text", to_mrkdwn(&piece.text, &|_| None)),
            ("link_names", "false".to_owned()),
            ("parse", "none".to_owned()),
        ];
        let thread = &piece.conversation.thread;
        arguments.extend(thread.as_ref().map(|thread| ("thread_ts", thread.to_string())));
        self.call("chat.postEphemeral", &arguments).await.map_err(post_error)?;
        Ok(self.ephemeral_posted(piece))
    }

    fn ephemeral_posted(&self, piece: &OutboxItem) -> PostedMessage {
        PostedMessage {
            id: MessageId::new(piece.key.clone()),
            thread: piece.conversation.thread.clone(),
            at: self.now(),
            author: self.identity.user.clone(),
        }
    }

    fn is_direct(&self, piece: &OutboxItem) -> bool {
        let room = self.cache.channel(&piece.conversation.channel);
        room.is_some_and(|room| room.channel.visibility == Visibility::Direct)
    }

    /// The thread that an answer goes to: the one where it was asked, or a new one below the line.
    pub(super) fn reply_thread(&self, piece: &OutboxItem) -> Option<MessageId> {
        if piece.conversation.thread.is_some() {
            return piece.conversation.thread.clone();
        }
        match self.settings.reply_in {
            ReplyPlacement::Thread if !self.is_direct(piece) => {
                let notes = &piece.metadata;
                notes.newest_owed().or(notes.about.as_ref()).cloned()
            }
            ReplyPlacement::Thread | ReplyPlacement::TopLevel => None,
        }
    }

    /// Who has spoken in a channel lately.
    async fn user_names(&self, channel: &ChannelId) -> UserNames {
        let query = MessageQuery {
            workspace: self.identity.workspace.clone(),
            channel: channel.clone(),
            thread: None,
            range: MessageRange::Newest,
            limit: RECENT_MESSAGES,
        };
        UserNames::from_messages(&self.archive.messages(query).await.unwrap_or_default())
    }

    async fn add_reaction(
        &self,
        piece: &OutboxItem,
        on: &MessageId,
    ) -> Result<PostedMessage, PlatformError> {
        let Some(name) = emoji::to_name(&piece.text) else {
            return Err(PlatformError::Refused("Slack has no such emoji".to_owned()));
        };
        let arguments = [
            ("channel", piece.conversation.channel.to_string()),
            ("timestamp", on.to_string()),
            ("name", name),
        ];
        match self.call("reactions.add", &arguments).await {
            Ok(_) => Ok(self.reaction_posted(piece, on)),
            Err(SlackApiError::Refused(code)) if code == "already_reacted" => {
                Ok(self.reaction_posted(piece, on))
            }
            Err(error) => Err(post_error(error)),
        }
    }

    fn reaction_posted(&self, piece: &OutboxItem, on: &MessageId) -> PostedMessage {
        let thread = piece.conversation.thread.clone();
        PostedMessage { id: on.clone(), thread, at: self.now(), author: self.identity.user.clone() }
    }

    async fn find_reaction(
        &self,
        piece: &OutboxItem,
        on: &MessageId,
    ) -> Result<Option<PostedMessage>, PlatformError> {
        let arguments = [
            ("channel", piece.conversation.channel.to_string()),
            ("timestamp", on.to_string()),
            ("full", "true".to_owned()),
        ];
        let answer = self.call("reactions.get", &arguments).await.map_err(read_error)?;
        let name = emoji::to_name(&piece.text);
        let own = |reaction: &&Value| {
            let users = reaction["users"].as_array().into_iter().flatten();
            non_empty_str(&reaction["name"]) == name.as_deref()
                && users
                    .into_iter()
                    .any(|user| non_empty_str(user) == Some(self.identity.user.as_str()))
        };
        let reactions = answer["message"]["reactions"].as_array();
        let is_there = reactions.is_some_and(|reactions| reactions.iter().find(own).is_some());
        Ok(is_there.then(|| self.reaction_posted(piece, on)))
    }
}

fn metadata(piece: &OutboxItem) -> Value {
    json!({ "event_type": METADATA_EVENT_TYPE, "event_payload": { "key": piece.key } })
}

fn post_error(error: SlackApiError) -> PlatformError {
    match error {
        SlackApiError::RateLimited(wait) => {
            PlatformError::Busy { why: error.to_string(), retry_after: Some(wait) }
        }
        SlackApiError::Unreachable(_) => {
            PlatformError::Busy { why: error.to_string(), retry_after: None }
        }
        SlackApiError::Refused(code) => PlatformError::Refused(format!("Slack says {code}")),
        SlackApiError::OutcomeUnknown(_) => PlatformError::OutcomeUnknown(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    #[test]
    fn each_channel_is_spoken_to_once_a_second() {
        let (pace, one, other) =
            (PostLimiter::default(), ChannelId::new("C1"), ChannelId::new("C2"));
        let turn = |channel, second| pace.reserve(channel, at(second), MAX_POST_WAIT);
        let turns: Vec<_> = (0..6).map(|_| turn(&one, 10)).collect();
        let expected = [10, 11, 12].map(|second| Ok(at(second)));
        assert_eq!(turns[..3], expected);
        assert_eq!(turns[3], Err(SignedDuration::from_secs(3)));
        assert_eq!(turn(&other, 10), Ok(at(10)));
        assert_eq!(turn(&one, 16), Ok(at(16)));
        assert_eq!(
            pace.reserve(&one, at(16), SignedDuration::ZERO),
            Err(SignedDuration::from_secs(1))
        );
        pace.hold_until(&other, at(100));
        assert_eq!(turn(&other, 98), Ok(at(100)));
    }
}
