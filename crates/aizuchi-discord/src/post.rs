//! Speaking on Discord. A post carries a nonce that is made from its key: for some minutes Discord takes
//! the same nonce for the same post, and after that the history tells whether it was said.

use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use twilight_model::channel::message::MessageFlags;

use crate::api::{ApiError, Call};
use crate::text::alike::is_alike;
use crate::text::write::{Known, LONGEST, unnamed, write};
use crate::{Discord, direct};
use aizuchi_core::chat::{ConversationId, MessageId};
use aizuchi_core::event::{Piece, Posted};
use aizuchi_core::platform::catching_up::Progress;
use aizuchi_core::platform::people::{PRESENT, People};
use aizuchi_core::platform::{Platform, PlatformError};
use aizuchi_core::rhythm::typing::typing_time;
use aizuchi_core::store::{Line, LineQuery, Span};

/// Discord takes a nonce that is no longer.
const NONCE_LENGTH: usize = 25;
/// Discord shows for so long that somebody types.
const SHOWN: SignedDuration = SignedDuration::from_secs(8);
/// What was not asked for is not said out of nowhere.
const TYPING: SignedDuration = SignedDuration::from_secs(3);
/// Discord knows a nonce again for some minutes; it does not say how many.
const KNOWN_AGAIN: SignedDuration = SignedDuration::from_mins(2);
/// Clocks differ, so the history is read from before the dispatch.
const BEFORE: SignedDuration = SignedDuration::from_mins(15);
/// A post without its nonce is ours if it says the same and is not older than the dispatch by more.
const JUST_BEFORE: SignedDuration = SignedDuration::from_secs(10);
/// The first millisecond that Discord counts.
const EPOCH_MS: i64 = 1_420_070_400_000;
const PAGE: usize = 100;

/// Discord's numbers for what will be otherwise after a while.
const LASTS_NOT: [u64; 4] = [20_016, 20_028, 40_062, 130_000];
/// Discord's number for a reply where what was said before may not be read.
const NO_REPLIES: u64 = 160_002;
/// Discord's numbers for a channel, a line or a thread that is not there.
const NOT_THERE: [u64; 2] = [10_003, 10_008];

#[async_trait]
impl Platform for Discord {
    async fn post(&self, piece: &Piece) -> Result<Posted, PlatformError> {
        if let Some(on) = &piece.on {
            return self.react(piece, on).await;
        }
        let thread = match self.opens(piece).await {
            Some(asked) => self.open_thread(piece, &asked).await?,
            None => None,
        };
        self.say(piece, thread.or_else(|| piece.conversation.thread.clone())).await
    }

    async fn find(&self, piece: &Piece) -> Result<Option<Posted>, PlatformError> {
        if let Some(on) = &piece.on {
            return self.find_reaction(piece, on).await;
        }
        if let Some(asked) = self.opens(piece).await
            && let Some(posted) = self.find_post(piece, Some(asked)).await?
        {
            return Ok(Some(posted));
        }
        self.find_post(piece, piece.conversation.thread.clone()).await
    }

    async fn show_thinking(&self, conversation: &ConversationId) {
        loop {
            self.type_in(conversation).await;
            self.clock.sleep_until(self.now() + SHOWN).await;
        }
    }

    async fn show_typing(&self, piece: &Piece) -> SignedDuration {
        let is_asked = !piece.draft.owed.is_empty();
        // Whoever waits has seen it think.
        if piece.on.is_some() || piece.is_sending() || (is_asked && piece.id == piece.first) {
            return SignedDuration::ZERO;
        }
        self.type_in(&piece.conversation).await;
        typing_time(&piece.text, self.persona.language).min(TYPING)
    }

    fn settle(&self) -> SignedDuration {
        self.settings.settle
    }

    fn off_air(&self) -> Option<String> {
        let is_off = self.air.state().since.is_none();
        is_off.then(|| "there is no connection to Discord".to_owned())
    }

    fn catching_up(&self) -> Option<Progress> {
        let rooms = self.roster.joined();
        Some(self.wanted.progress_of("Discord", &rooms, self.air.state().since))
    }

    fn is_behind(&self, conversation: &ConversationId) -> bool {
        self.is_behind_in(conversation)
    }

    fn longest_post(&self) -> usize {
        LONGEST
    }
}

impl Discord {
    async fn say(&self, piece: &Piece, thread: Option<MessageId>) -> Result<Posted, PlatformError> {
        let lines = self.lines(&piece.conversation).await;
        let people = People::of(&lines);
        let mut body = json!({
            "content": self.written(piece, &people),
            "nonce": nonce(&piece.key),
            "enforce_nonce": true,
            // Nobody is notified, whatever the words are.
            "allowed_mentions": { "parse": [], "replied_user": false },
            // A preview is a page that somebody else's words make Discord fetch, and larger than what is said.
            "flags": MessageFlags::SUPPRESS_EMBEDS.bits(),
        });
        if let Some(answered) = answered(piece, thread.as_ref(), &lines) {
            body["message_reference"] =
                json!({ "message_id": answered, "fail_if_not_exists": false });
        }
        let place = place(&piece.conversation, thread.as_ref());
        let call = Call::post(format!("/channels/{place}/messages"), body);
        // Nobody waits for what is said unasked; while that waited, somebody might speak.
        let is_unasked = piece.draft.owed.is_empty() && piece.id == piece.first;
        let call = if is_unasked { call.at_once() } else { call };
        let said = match self.call(&call).await {
            Err(error) if error.code() == Some(NO_REPLIES) => {
                self.call(&beside(call)).await.map_err(unsaid)?
            }
            said => said.map_err(unsaid)?,
        };
        self.posted(&said["id"], thread).ok_or_else(|| {
            PlatformError::Unknown("Discord does not say what became of it".to_owned())
        })
    }

    fn written(&self, piece: &Piece, people: &People) -> String {
        let people = |name: &str| people.called(name);
        let emoji = |name: &str| self.own_emoji(piece, name);
        write(&piece.text, &Known { people: &people, emoji: &emoji })
    }

    fn posted(&self, id: &Value, thread: Option<MessageId>) -> Option<Posted> {
        let id = id.as_str()?;
        Some(Posted {
            id: MessageId::new(id),
            thread,
            at: said_at(id)?,
            author: self.who.user.clone(),
        })
    }

    async fn type_in(&self, conversation: &ConversationId) {
        let place = place(conversation, conversation.thread.as_ref());
        let call = Call::post(format!("/channels/{place}/typing"), json!({})).at_once();
        // It is only for show.
        let _ = self.call(&call).await;
    }

    /// The newest lines of a channel, from whose authors is known who is there.
    async fn lines(&self, conversation: &ConversationId) -> Vec<Line> {
        let query = LineQuery {
            workspace: conversation.workspace.clone(),
            channel: conversation.channel.clone(),
            thread: None,
            span: Span::Newest,
            limit: PRESENT,
        };
        self.archive.lines(query).await.unwrap_or_default()
    }

    /// Looks for a post in all that was said since the dispatch.
    async fn find_post(
        &self,
        piece: &Piece,
        thread: Option<MessageId>,
    ) -> Result<Option<Posted>, PlatformError> {
        let Some(dispatched) = piece.dispatched else { return Ok(None) };
        let place = place(&piece.conversation, thread.as_ref());
        let wanted = Wanted {
            nonce: nonce(&piece.key),
            author: self.who.user.as_str(),
            texts: unnamed(&piece.text),
            since: dispatched - JUST_BEFORE,
        };
        let mut after = first_id(dispatched - BEFORE);
        loop {
            let path = format!("/channels/{place}/messages?limit={PAGE}&after={after}");
            let page = match self.call(&Call::get(path)).await {
                Ok(page) => page,
                // A thread that was not opened holds nothing.
                Err(error) if error.code().is_some_and(|code| NOT_THERE.contains(&code)) => {
                    return Ok(None);
                }
                Err(error) => return Err(unread(error)),
            };
            let Value::Array(page) = page else {
                return Err(PlatformError::Unknown("the history has no lines".to_owned()));
            };
            if let Some(found) = page.iter().find(|line| wanted.is_it(line)) {
                return Ok(self.posted(&found["id"], thread));
            }
            let newest = page.iter().filter_map(|line| line["id"].as_str()?.parse::<u64>().ok());
            after = newest.max().unwrap_or(after).max(after);
            if page.len() < PAGE {
                return self.surely_absent(dispatched, page.is_empty(), place).await;
            }
        }
    }

    /// Discord shows an empty history to whoever may not read it.
    async fn surely_absent(
        &self,
        dispatched: Timestamp,
        is_empty: bool,
        place: &str,
    ) -> Result<Option<Posted>, PlatformError> {
        if !is_empty || self.now() < dispatched + KNOWN_AGAIN {
            return Ok(None);
        }
        let any = Call::get(format!("/channels/{place}/messages?limit=1"));
        let any = self.call(&any).await.map_err(unread)?;
        let can_read = any.as_array().is_some_and(|any| !any.is_empty());
        can_read.then_some(None).ok_or_else(|| {
            let why = "without Read Message History nobody knows whether it was said";
            PlatformError::Refused(why.to_owned())
        })
    }
}

/// The same, without pointing to what it answers.
fn beside(mut call: Call) -> Call {
    if let Some(Value::Object(body)) = &mut call.body {
        body.remove("message_reference");
    }
    call
}

/// What a post is known by.
struct Wanted<'a> {
    nonce: String,
    author: &'a str,
    /// As they are where nothing has a name: what is known may have changed.
    texts: [String; 2],
    since: Timestamp,
}

impl Wanted<'_> {
    /// Anybody may send a nonce; only ours counts. Discord need not show it.
    fn is_it(&self, line: &Value) -> bool {
        if line["author"]["id"] != self.author {
            return false;
        }
        match line["nonce"].as_str() {
            Some(nonce) => nonce == self.nonce,
            None => {
                let is_new =
                    line["id"].as_str().and_then(said_at).is_some_and(|at| at >= self.since);
                let content = line["content"].as_str().unwrap_or_default();
                is_new && self.texts.iter().any(|text| is_alike(content, text))
            }
        }
    }
}

/// The channel that Discord has a conversation in: a thread is one of its own.
pub(super) fn place<'a>(
    conversation: &'a ConversationId,
    thread: Option<&'a MessageId>,
) -> &'a str {
    thread.map_or(conversation.channel.as_str(), MessageId::as_str)
}

/// The line that a post replies to, as people see it: the one it answers, unless a post of the same answer
/// has done so, or it stands right above. Of two people alone everybody knows who is meant.
fn answered<'a>(
    piece: &'a Piece,
    thread: Option<&MessageId>,
    lines: &[Line],
) -> Option<&'a MessageId> {
    let place = &piece.conversation;
    if piece.id != piece.first || place.workspace == direct() || thread != place.thread.as_ref() {
        return None;
    }
    let notes = &piece.draft;
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

/// Ids hold when they were made.
fn said_at(id: &str) -> Option<Timestamp> {
    let id: i64 = id.parse().ok()?;
    Timestamp::from_millisecond((id >> 22) + EPOCH_MS).ok()
}

/// The lowest id that could have been made then.
fn first_id(at: Timestamp) -> u64 {
    let milliseconds = u64::try_from(at.as_millisecond() - EPOCH_MS).unwrap_or(0);
    milliseconds << 22
}

pub(super) fn unsaid(error: ApiError) -> PlatformError {
    let why = error.to_string();
    match error {
        ApiError::Limited(wait) => PlatformError::Busy { why, retry_after: Some(wait) },
        ApiError::Unreachable(_) => PlatformError::Busy { why, retry_after: None },
        ApiError::Refused(refusal) if LASTS_NOT.contains(&refusal.code) => {
            PlatformError::Busy { why, retry_after: None }
        }
        ApiError::Refused(_) => PlatformError::Refused(why),
        ApiError::Unknown(_) => PlatformError::Unknown(why),
    }
}

/// A history that could not be read says nothing about what is in it.
pub(super) fn unread(error: ApiError) -> PlatformError {
    let why = error.to_string();
    match error {
        ApiError::Limited(wait) => PlatformError::Busy { why, retry_after: Some(wait) },
        ApiError::Unreachable(_) | ApiError::Unknown(_) => PlatformError::Unknown(why),
        ApiError::Refused(_) => PlatformError::Refused(why),
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
    fn ids_hold_their_time() {
        let at = said_at("175928847299117063").unwrap();
        assert_eq!(at.to_string(), "2016-04-30T11:18:25.796Z");
        assert!(first_id(at) <= 175_928_847_299_117_063);
        assert_eq!(said_at(&first_id(at).to_string()), Some(at));
        assert_eq!(said_at("x"), None);
    }

    #[test]
    fn a_post_is_known_by_its_nonce_or_by_what_it_says() {
        let since = said_at("1000000000000000000").unwrap();
        let texts = unnamed("hi @Mio");
        let wanted = Wanted { nonce: "abc".to_owned(), author: "9", texts, since };
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
            assert_eq!(wanted.is_it(&line), expected, "{line}");
        }
    }
}
