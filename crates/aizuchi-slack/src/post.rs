//! Speaking in Slack. A post carries its key in its metadata, so that the history can tell whether one whose
//! answer was lost was said (Slack has no idempotency key of its own).

use std::collections::HashMap;
use std::sync::atomic::Ordering;
use std::sync::{Mutex, PoisonError};

use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use crate::api::ApiError;
use crate::from_slack::{METADATA, text, time};
use crate::lookup::unread;
use crate::mrkdwn::write::write;
use crate::roster::Standing;
use crate::{ReplyIn, Slack, emoji};
use aizuchi_core::chat::{ChannelId, ConversationId, MessageId, UserId, Visibility};
use aizuchi_core::event::{Piece, Posted};
use aizuchi_core::platform::catching_up::Progress;
use aizuchi_core::platform::people::{PRESENT, People};
use aizuchi_core::platform::{Platform, PlatformError};
use aizuchi_core::store::{LineQuery, Span};

/// One message a second and channel (Slack, "Rate limits").
const PACE: SignedDuration = SignedDuration::from_secs(1);
/// A post waits for its turn so long; behind a longer queue it comes again later.
const LONGEST_TURN: SignedDuration = SignedDuration::from_secs(2);
/// Slack shows about so many characters well; escaping makes more of them.
const LONGEST_POST: usize = 3_000;

/// Turns: whose is when.
#[derive(Default)]
pub struct Pace {
    /// When each channel may be spoken to next.
    posts: Mutex<HashMap<ChannelId, Timestamp>>,
}

impl Pace {
    /// Takes the next turn in a channel, unless it is too far away.
    fn turn(
        &self,
        channel: &ChannelId,
        now: Timestamp,
        longest: SignedDuration,
    ) -> Result<Timestamp, SignedDuration> {
        let mut posts = self.posts.lock().unwrap_or_else(PoisonError::into_inner);
        posts.retain(|_, next| *next > now);
        let turn = posts.get(channel).copied().unwrap_or(now);
        let wait = turn.duration_since(now);
        if wait > longest {
            return Err(wait);
        }
        posts.insert(channel.clone(), turn + PACE);
        Ok(turn)
    }

    /// Slack wants nothing in this channel before then.
    fn hold(&self, channel: &ChannelId, until: Timestamp) {
        let mut posts = self.posts.lock().unwrap_or_else(PoisonError::into_inner);
        let next = posts.entry(channel.clone()).or_insert(until);
        *next = until.max(*next);
    }
}

#[async_trait]
impl Platform for Slack {
    async fn post(&self, piece: &Piece) -> Result<Posted, PlatformError> {
        let channel = &piece.conversation.channel;
        if self.roster.room(channel).is_some_and(|room| room.standing == Standing::Out) {
            return Err(PlatformError::Refused("it is in this channel no more".to_owned()));
        }
        if let Some(on) = &piece.on {
            return self.react(piece, on).await;
        }
        // Nobody waits for what is said unasked; while that waited, somebody might speak.
        let is_unasked = piece.draft.owed.is_empty() && piece.id == piece.first;
        let longest = if is_unasked { SignedDuration::ZERO } else { LONGEST_TURN };
        match self.pace.turn(channel, self.now(), longest) {
            Ok(turn) => self.clock.sleep_until(turn).await,
            Err(wait) => return Err(PlatformError::Queued { wait }),
        }
        let said = self.say(piece).await;
        if let Err(PlatformError::Busy { retry_after: Some(wait), .. }) = &said {
            self.pace.hold(channel, self.now() + *wait);
        }
        said
    }

    async fn find(&self, piece: &Piece) -> Result<Option<Posted>, PlatformError> {
        match &piece.on {
            Some(on) => self.find_reaction(piece, on).await,
            // Better unsaid than twice: whoever saw nothing asks again.
            None if piece.draft.only_for.is_some() && !self.is_direct(piece) => {
                Ok(Some(self.whispered(piece)))
            }
            None => self.find_post(piece).await,
        }
    }

    fn settle(&self) -> SignedDuration {
        self.settings.settle
    }

    fn off_air(&self) -> Option<String> {
        let is_off = self.air.state().open == 0;
        is_off.then(|| format!("there is no connection to the Slack workspace {}", self.who.name))
    }

    fn catching_up(&self) -> Option<Progress> {
        // What no list names counts until the lists are read; a room that tells nothing of itself would
        // be left for ever.
        let rooms = match self.is_in_sync.load(Ordering::Relaxed) {
            true => self.roster.joined(),
            false => self.roster.not_left(),
        };
        Some(self.wanted.progress_of("Slack", &rooms, self.air.state().since))
    }

    fn is_behind(&self, conversation: &ConversationId) -> bool {
        let Some(since) = self.air.state().since else { return true };
        let channel = &conversation.channel;
        match self.roster.room(channel).map(|room| room.standing) {
            // Where a page takes a minute, nobody is kept waiting for it.
            Some(Standing::Member) if self.cap.is_on() => false,
            Some(Standing::Member) => {
                let place = (channel.clone(), conversation.thread.clone());
                let is_behind = !self.wanted.is_caught_up(&place, since);
                if is_behind {
                    self.wanted.hurry(place);
                }
                is_behind
            }
            // Before all lists are read, it may be in it.
            Some(Standing::Unknown) | None => !self.is_in_sync.load(Ordering::Relaxed),
            Some(Standing::Out) => false,
        }
    }

    fn longest_post(&self) -> usize {
        LONGEST_POST
    }
}

impl Slack {
    async fn say(&self, piece: &Piece) -> Result<Posted, PlatformError> {
        if let Some(user) = piece.draft.only_for.as_ref().filter(|_| !self.is_direct(piece)) {
            return self.whisper(piece, user).await;
        }
        let people = self.people(&piece.conversation.channel).await;
        let words = write(&piece.text, &|name| people.called(name));
        let thread = self.thread(piece);
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
        let answer = self.call("chat.postMessage", &arguments).await.map_err(unsaid)?;
        let (Some(id), Some(at)) = (text(&answer["ts"]), time(&answer["ts"])) else {
            return Err(PlatformError::Unknown("Slack does not say when it was said".to_owned()));
        };
        Ok(Posted { id: MessageId::new(id), thread, at, author: self.who.user.clone() })
    }

    /// Only one person sees it. No history has it, so nobody can look whether it was said.
    async fn whisper(&self, piece: &Piece, user: &UserId) -> Result<Posted, PlatformError> {
        let mut arguments = vec![
            ("channel", piece.conversation.channel.to_string()),
            ("user", user.to_string()),
            ("text", write(&piece.text, &|_| None)),
            ("link_names", "false".to_owned()),
            ("parse", "none".to_owned()),
        ];
        let thread = &piece.conversation.thread;
        arguments.extend(thread.as_ref().map(|thread| ("thread_ts", thread.to_string())));
        self.call("chat.postEphemeral", &arguments).await.map_err(unsaid)?;
        Ok(self.whispered(piece))
    }

    fn whispered(&self, piece: &Piece) -> Posted {
        Posted {
            id: MessageId::new(piece.key.clone()),
            thread: piece.conversation.thread.clone(),
            at: self.now(),
            author: self.who.user.clone(),
        }
    }

    fn is_direct(&self, piece: &Piece) -> bool {
        let room = self.roster.room(&piece.conversation.channel);
        room.is_some_and(|room| room.channel.visibility == Visibility::Direct)
    }

    /// The thread that an answer goes to: the one where it was asked, or a new one below the line.
    pub(super) fn thread(&self, piece: &Piece) -> Option<MessageId> {
        if piece.conversation.thread.is_some() {
            return piece.conversation.thread.clone();
        }
        match self.settings.reply_in {
            ReplyIn::Thread if !self.is_direct(piece) => {
                let notes = &piece.draft;
                notes.newest_owed().or(notes.about.as_ref()).cloned()
            }
            ReplyIn::Thread | ReplyIn::Same => None,
        }
    }

    /// Who has spoken in a channel lately.
    async fn people(&self, channel: &ChannelId) -> People {
        let query = LineQuery {
            workspace: self.who.workspace.clone(),
            channel: channel.clone(),
            thread: None,
            span: Span::Newest,
            limit: PRESENT,
        };
        People::of(&self.archive.lines(query).await.unwrap_or_default())
    }

    async fn react(&self, piece: &Piece, on: &MessageId) -> Result<Posted, PlatformError> {
        let Some(name) = emoji::name(&piece.text) else {
            return Err(PlatformError::Refused("Slack has no such emoji".to_owned()));
        };
        let arguments = [
            ("channel", piece.conversation.channel.to_string()),
            ("timestamp", on.to_string()),
            ("name", name),
        ];
        match self.call("reactions.add", &arguments).await {
            Ok(_) => Ok(self.reacted(piece, on)),
            Err(ApiError::Refused(code)) if code == "already_reacted" => {
                Ok(self.reacted(piece, on))
            }
            Err(error) => Err(unsaid(error)),
        }
    }

    fn reacted(&self, piece: &Piece, on: &MessageId) -> Posted {
        let thread = piece.conversation.thread.clone();
        Posted { id: on.clone(), thread, at: self.now(), author: self.who.user.clone() }
    }

    async fn find_reaction(
        &self,
        piece: &Piece,
        on: &MessageId,
    ) -> Result<Option<Posted>, PlatformError> {
        let arguments = [
            ("channel", piece.conversation.channel.to_string()),
            ("timestamp", on.to_string()),
            ("full", "true".to_owned()),
        ];
        let answer = self.call("reactions.get", &arguments).await.map_err(unread)?;
        let name = emoji::name(&piece.text);
        let own = |reaction: &&Value| {
            let users = reaction["users"].as_array().into_iter().flatten();
            text(&reaction["name"]) == name.as_deref()
                && users.into_iter().any(|user| text(user) == Some(self.who.user.as_str()))
        };
        let reactions = answer["message"]["reactions"].as_array();
        let is_there = reactions.is_some_and(|reactions| reactions.iter().find(own).is_some());
        Ok(is_there.then(|| self.reacted(piece, on)))
    }
}

fn metadata(piece: &Piece) -> Value {
    json!({ "event_type": METADATA, "event_payload": { "key": piece.key } })
}

fn unsaid(error: ApiError) -> PlatformError {
    match error {
        ApiError::Limited(wait) => {
            PlatformError::Busy { why: error.to_string(), retry_after: Some(wait) }
        }
        ApiError::Unreachable(_) => {
            PlatformError::Busy { why: error.to_string(), retry_after: None }
        }
        ApiError::Refused(code) => PlatformError::Refused(format!("Slack says {code}")),
        ApiError::Unknown(_) => PlatformError::Unknown(error.to_string()),
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
        let (pace, one, other) = (Pace::default(), ChannelId::new("C1"), ChannelId::new("C2"));
        let turn = |channel, second| pace.turn(channel, at(second), LONGEST_TURN);
        let turns: Vec<_> = (0..6).map(|_| turn(&one, 10)).collect();
        let expected = [10, 11, 12].map(|second| Ok(at(second)));
        assert_eq!(turns[..3], expected);
        assert_eq!(turns[3], Err(SignedDuration::from_secs(3)));
        assert_eq!(turn(&other, 10), Ok(at(10)));
        assert_eq!(turn(&one, 16), Ok(at(16)));
        assert_eq!(
            pace.turn(&one, at(16), SignedDuration::ZERO),
            Err(SignedDuration::from_secs(1))
        );
        pace.hold(&other, at(100));
        assert_eq!(turn(&other, 98), Ok(at(100)));
    }
}
