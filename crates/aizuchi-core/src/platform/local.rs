//! The local room: a platform of our own, in the same store as everything else. Its messages are
//! the store's rows, so what was not committed was not said, and nothing is ever in doubt.

pub mod mention;
pub mod controls;
pub mod reaction;
pub mod error;

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};
use tokio::sync::watch;
use uuid::Uuid;

use crate::chat::{
    Arrival, Author, AuthorKind, Channel, ChannelId, ConversationId, Deletion, Edit, Heard,
    Message, MessageId, Role, User, UserId, Visibility, WorkspaceId, to_single_line,
};
use crate::clock::Clock;
use crate::event::{OutboxItem, PostedMessage};
use crate::inbox::Inbox;
use crate::platform::local::error::LocalRoomError;
use crate::platform::local::mention::parse_mentions;
use crate::platform::{Platform, PlatformError};
use crate::store::{Archive, Order, StoreError};

/// The longest line a person may write, in characters.
pub const MAX_MESSAGE_LENGTH: usize = 16_000;
/// The longest name a person may choose, in characters.
pub const MAX_NAME_LENGTH: usize = 40;
const MAX_POST_LENGTH: usize = 4_000;
/// How long the page shows it typing. The built-in mind would be done before anyone looks.
const TYPING_TIME: SignedDuration = SignedDuration::from_millis(600);
const PERSONA_USER_ID: &str = "persona";
/// The channels that the room begins with.
const INITIAL_CHANNELS: [&str; 2] = ["general", "random"];

/// The workspace of the local room.
pub fn workspace_id() -> WorkspaceId {
    WorkspaceId::new("local")
}

pub struct LocalRoom {
    inbox: Arc<Inbox>,
    archive: Arc<dyn Archive>,
    clock: Clock,
    persona_name: String,
    /// Everyone who is known here.
    user_names: Mutex<BTreeSet<Arc<str>>>,
    /// Moves on whenever somebody or a channel is added.
    changes: watch::Sender<u64>,
}

/// What somebody wants to say.
#[derive(Clone, Debug)]
pub struct LocalMessage {
    /// The writer's own id for the line, so that sending it again does not say it again.
    pub id: Option<String>,
    pub channel: ChannelId,
    pub thread: Option<MessageId>,
    pub user: String,
    pub text: String,
}

/// Which line somebody wants to change, and as whom.
#[derive(Clone, Debug)]
pub struct OwnMessage {
    pub channel: ChannelId,
    pub id: MessageId,
    pub user: String,
}

impl LocalRoom {
    pub fn new(
        inbox: Arc<Inbox>,
        archive: Arc<dyn Archive>,
        clock: Clock,
        persona_name: String,
    ) -> Self {
        let (people, changes) = (Mutex::default(), watch::Sender::new(0));
        Self { inbox, archive, clock, persona_name, user_names: people, changes }
    }

    /// Makes sure that the persona and the first channels are there, and remembers who has spoken.
    pub async fn open(&self) -> Result<(), StoreError> {
        for user in self.inbox.channel_cache.rulebook().opted_out.clone() {
            // Who was put on the list since the last start may have said something before.
            self.inbox.apply_order(Order::Redact { workspace: workspace_id(), user }).await?;
        }
        let users = self.archive.users(&workspace_id()).await?;
        let humans = users.into_iter().filter(|user| user.kind == AuthorKind::Human);
        self.lock_user_names().extend(humans.map(|user| user.name));
        let name = self.persona_name.as_str().into();
        let (kind, role) = (AuthorKind::Persona, Role::Member);
        let persona =
            User { workspace: workspace_id(), id: UserId::new(PERSONA_USER_ID), name, kind, role };
        self.inbox.hear(Heard::User(persona)).await?;
        for name in INITIAL_CHANNELS {
            self.hear_channel(name).await?;
        }
        Ok(())
    }

    /// Everyone who is known here, in the order of their names.
    pub fn user_names(&self) -> Vec<Arc<str>> {
        self.lock_user_names().iter().cloned().collect()
    }

    /// The channels by name; those that the room began with stand first.
    pub async fn channels(&self) -> Result<Vec<Channel>, StoreError> {
        let mut channels = self.archive.channels(&workspace_id()).await?;
        let place =
            |channel: &Channel| INITIAL_CHANNELS.iter().position(|name| **name == *channel.name);
        channels.sort_by_key(|channel| place(channel).unwrap_or(INITIAL_CHANNELS.len()));
        Ok(channels)
    }

    /// Moves on whenever somebody or a channel is added.
    pub fn subscribe(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    /// Adds a person, and says whether they are new here.
    pub async fn add_user(&self, name: &str) -> Result<(Arc<str>, bool), LocalRoomError> {
        let name = self.parse_name(name)?;
        let is_new = self.ensure_user(&UserId::new(name.clone()), name.clone()).await?;
        Ok((name, is_new))
    }

    /// Adds a channel that everyone here can read.
    pub async fn add_channel(&self, name: &str) -> Result<Channel, LocalRoomError> {
        let name = parse_channel_name(name)?;
        let known = self.archive.channels(&workspace_id()).await?;
        let is_taken = |channel: &Channel| channel.name.to_lowercase() == name.to_lowercase();
        if known.iter().any(is_taken) {
            return Err(LocalRoomError::ChannelTaken(name));
        }
        let channel = self.hear_channel(&name).await?;
        self.changes.send_modify(|changes| *changes += 1);
        Ok(channel)
    }

    async fn hear_channel(&self, name: &str) -> Result<Channel, StoreError> {
        let (id, name) = (ChannelId::new(name), Arc::from(name));
        let channel =
            Channel { workspace: workspace_id(), id, name, visibility: Visibility::Public };
        self.inbox.hear(Heard::Channel(channel.clone())).await?;
        Ok(channel)
    }

    /// Takes a person's line. It is kept when this returns.
    pub async fn send_message(
        &self,
        saying: LocalMessage,
    ) -> Result<(MessageId, Timestamp), LocalRoomError> {
        let name = self.parse_name(&saying.user)?;
        let text = parse_text(&saying.text)?;
        let id = saying.id.map_or_else(|| Ok(new_message_id()), parse_message_id)?;
        let conversation = self.conversation(saying.channel, saying.thread).await?;
        let user = UserId::new(name.clone());
        self.ensure_user(&user, name).await?;
        let message = Message {
            conversation,
            id,
            at: self.clock.now(),
            author: Author { id: user, kind: AuthorKind::Human },
            mentions: parse_mentions(&text, &self.persona_name, &self.user_names()),
            text: text.into(),
            edits: 0,
        };
        let receipt = self.inbox.hear(Heard::Message(message.clone(), Arrival::Live)).await?;
        if receipt.is_new {
            Ok((message.id, message.at))
        } else {
            self.find_duplicate(&message).await
        }
    }

    /// Replaces the text of somebody's own line, and returns the line's time.
    pub async fn edit_message(
        &self,
        own: OwnMessage,
        new: &str,
    ) -> Result<Timestamp, LocalRoomError> {
        let new = parse_text(new)?;
        let line = self.own_message(own).await?;
        let edit = Edit {
            conversation: line.conversation.clone(),
            message: line.id.clone(),
            at: self.clock.now(),
            mentions: parse_mentions(&new, &self.persona_name, &self.user_names()),
            text: new.into(),
        };
        self.inbox.hear(Heard::Edit(edit)).await?;
        Ok(line.at)
    }

    /// Deletes somebody's own line.
    pub async fn delete_message(&self, own: OwnMessage) -> Result<(), LocalRoomError> {
        let line = self.own_message(own).await?;
        let deletion = Deletion {
            conversation: line.conversation.clone(),
            message: line.id.clone(),
            at: self.clock.now(),
        };
        self.inbox.hear(Heard::Deletion(deletion)).await?;
        Ok(())
    }

    async fn own_message(&self, own: OwnMessage) -> Result<Arc<Message>, LocalRoomError> {
        let name = self.parse_name(&own.user)?;
        self.require_channel(&own.channel).await?;
        let line = self.archive.message(&workspace_id(), &own.channel, &own.id).await?;
        let line = line
            .filter(|line| !line.is_deleted)
            .ok_or_else(|| LocalRoomError::UnknownMessage(own.id.to_string()))?;
        if line.message.author.id.as_str() != &*name {
            return Err(LocalRoomError::NotAuthor);
        }
        Ok(line.message)
    }

    /// The line was sent again because its answer was lost: it stands as it was said first.
    async fn find_duplicate(
        &self,
        message: &Message,
    ) -> Result<(MessageId, Timestamp), LocalRoomError> {
        let line = self
            .archive
            .message(&workspace_id(), &message.conversation.channel, &message.id)
            .await?;
        let is_same = |before: &&Message| {
            before.author == message.author
                && before.text == message.text
                && before.conversation == message.conversation
        };
        let before = line.as_ref().map(|line| &*line.message).filter(is_same);
        before.map(|before| (before.id.clone(), before.at)).ok_or(LocalRoomError::IdTaken)
    }

    fn parse_name(&self, name: &str) -> Result<Arc<str>, LocalRoomError> {
        let name = name.trim();
        let is_bad = name.is_empty()
            || name.chars().count() > MAX_NAME_LENGTH
            || name.contains(char::is_control)
            || to_single_line(name) != name;
        if is_bad {
            return Err(LocalRoomError::InvalidName);
        }
        if name.to_lowercase() == self.persona_name.to_lowercase() || name == PERSONA_USER_ID {
            return Err(LocalRoomError::NameTaken(name.to_owned()));
        }
        Ok(name.into())
    }

    async fn conversation(
        &self,
        channel: ChannelId,
        thread: Option<MessageId>,
    ) -> Result<ConversationId, LocalRoomError> {
        self.require_channel(&channel).await?;
        if let Some(thread) = &thread {
            let parent = self.archive.message(&workspace_id(), &channel, thread).await?;
            if parent.is_none_or(|parent| parent.message.conversation.thread.is_some()) {
                return Err(LocalRoomError::UnknownThread(thread.to_string()));
            }
        }
        Ok(ConversationId { workspace: workspace_id(), channel, thread })
    }

    /// Fails if there is no such channel here.
    pub async fn require_channel(&self, channel: &ChannelId) -> Result<(), LocalRoomError> {
        let channels = self.archive.channels(&workspace_id()).await?;
        let is_known = channels.iter().any(|known| known.id == *channel);
        if is_known { Ok(()) } else { Err(LocalRoomError::UnknownChannel(channel.to_string())) }
    }

    /// Makes sure that the name is known to the store, and then to us. Says whether it is new.
    async fn ensure_user(&self, user: &UserId, name: Arc<str>) -> Result<bool, StoreError> {
        if self.lock_user_names().contains(&name) {
            return Ok(false);
        }
        // Whoever is in the room looks after it.
        let (kind, role) = (AuthorKind::Human, Role::Admin);
        let (id, known) = (user.clone(), name.clone());
        let user = User { workspace: workspace_id(), id, name: known, kind, role };
        self.inbox.hear(Heard::User(user)).await?;
        self.lock_user_names().insert(name);
        self.changes.send_modify(|changes| *changes += 1);
        Ok(true)
    }

    fn lock_user_names(&self) -> MutexGuard<'_, BTreeSet<Arc<str>>> {
        self.user_names.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl Platform for LocalRoom {
    /// Mints the line; it appears in the room when the store has committed it, as does a reaction.
    async fn post(&self, piece: &OutboxItem) -> Result<PostedMessage, PlatformError> {
        let (author, thread) = (UserId::new(PERSONA_USER_ID), piece.conversation.thread.clone());
        let id = piece.reaction_to.clone().unwrap_or_else(new_message_id);
        Ok(PostedMessage { id, thread, at: self.clock.now(), author })
    }

    /// A piece that the room had taken would be committed as said, and nobody would ask for it.
    async fn find_posted(
        &self,
        _piece: &OutboxItem,
    ) -> Result<Option<PostedMessage>, PlatformError> {
        Ok(None)
    }

    async fn show_typing(&self, piece: &OutboxItem) -> SignedDuration {
        if piece.reaction_to.is_some() { SignedDuration::ZERO } else { TYPING_TIME }
    }

    fn settle_time(&self) -> SignedDuration {
        SignedDuration::ZERO
    }

    fn max_post_length(&self) -> usize {
        MAX_POST_LENGTH
    }
}

fn parse_message_id(id: String) -> Result<MessageId, LocalRoomError> {
    let is_fine = |letter: char| letter.is_ascii_alphanumeric() || letter == '-';
    let is_id = (8..=64).contains(&id.len()) && id.chars().all(is_fine);
    if is_id { Ok(MessageId::new(id)) } else { Err(LocalRoomError::InvalidId) }
}

/// A channel's name without the sign that people write before it.
fn parse_channel_name(name: &str) -> Result<String, LocalRoomError> {
    let name = name.trim().trim_start_matches(['#', '＃']);
    let is_fine = !name.is_empty()
        && name.chars().count() <= MAX_NAME_LENGTH
        && name.chars().all(|letter| letter.is_alphanumeric() || matches!(letter, '-' | '_'));
    if is_fine { Ok(name.to_owned()) } else { Err(LocalRoomError::InvalidChannelName) }
}

/// Ids sort in the order they were minted.
fn new_message_id() -> MessageId {
    MessageId::new(Uuid::now_v7().to_string())
}

/// A line's text: not empty, not too long, and without characters that cannot be shown.
fn parse_text(text: &str) -> Result<String, LocalRoomError> {
    let is_kept = |letter: &char| !letter.is_control() || matches!(letter, '\n' | '\t');
    let text: String = text.trim().replace("\r\n", "\n").chars().filter(is_kept).collect();
    let length = text.chars().count();
    if to_single_line(&text).is_empty() {
        return Err(LocalRoomError::EmptyText);
    }
    if length > MAX_MESSAGE_LENGTH {
        return Err(LocalRoomError::TextTooLong(length));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn channels_have_plain_names() {
        for (name, expected) in [
            ("garden", Some("garden")),
            (" #お知らせ_2 ", Some("お知らせ_2")),
            ("", None),
            ("#", None),
            ("a b", None),
            ("a/b", None),
            (&"x".repeat(41), None),
        ] {
            assert_eq!(parse_channel_name(name).ok().as_deref(), expected, "{name:?}");
        }
    }

    #[test]
    fn texts_are_cleaned_and_bounded() {
        assert_eq!(parse_text(" a\r\nb\u{0}\u{7} ").unwrap(), "a\nb");
        assert!(matches!(parse_text(" \n\u{0} "), Err(LocalRoomError::EmptyText)));
        assert!(matches!(
            parse_text(&"x".repeat(16_001)),
            Err(LocalRoomError::TextTooLong(16_001))
        ));
    }
}
