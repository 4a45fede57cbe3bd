//! The local room: a built-in platform that keeps its messages in Aizuchi's own store. A post exists exactly if
//! it was committed, so its outcome is never unknown.

pub mod limits;
pub mod error;
pub mod mention;
pub mod controls;
pub mod reaction;
pub mod demo_channel;
pub mod upload;

use std::collections::BTreeSet;
use std::sync::Arc;

use aizuchi_agent::inbox::Inbox;
use aizuchi_model::chat::attachment::Attachment;
use aizuchi_model::chat::local::{is_demo_user, workspace_id};
use aizuchi_model::chat::{
    Arrival, Author, AuthorKind, Channel, ChannelId, ConversationId, Deletion, Edit, Heard,
    Message, MessageId, Role, User, UserId, Visibility, to_single_line,
};
use aizuchi_model::clock::Clock;
use aizuchi_model::flow::outbox::{OutboxItem, PostedMessage};
use aizuchi_model::platform::{Platform, PlatformError};
use aizuchi_store::StoreError;
use aizuchi_store::archive::Archive;
use aizuchi_store::order::Order;
use aizuchi_store::stored_message::StoredMessage;
use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::{Semaphore, watch};
use uuid::Uuid;

use crate::local::error::LocalRoomError;
use crate::local::limits::{MAX_MESSAGE_LENGTH, MAX_NAME_LENGTH, MAX_UPLOADS_AT_ONCE};
use crate::local::mention::parse_mentions;
use crate::local::upload::UploadSettings;

const MAX_POST_LENGTH: usize = 4_000;
/// How long the page shows the typing indicator. The built-in model alone would finish before a user looks.
const TYPING_TIME: SignedDuration = SignedDuration::from_millis(600);
const PERSONA_USER_ID: &str = "persona";
/// The channels that exist from the start.
pub const INITIAL_CHANNELS: [&str; 2] = ["general", "random"];

pub struct LocalRoom {
    inbox: Arc<Inbox>,
    archive: Arc<dyn Archive>,
    uploads: UploadSettings,
    upload_turns: Semaphore,
    clock: Clock,
    persona_name: String,
    /// The names of all known users.
    user_names: Mutex<BTreeSet<Arc<str>>>,
    /// Incremented whenever a user or channel is added, or an order is applied.
    changes: watch::Sender<u64>,
}

/// A message that a user wants to send.
#[derive(Clone, Debug)]
pub struct LocalMessage {
    /// An id chosen by the client, which makes a resend idempotent.
    pub id: Option<String>,
    pub channel: ChannelId,
    pub thread: Option<MessageId>,
    pub user: String,
    /// May be blank if there are files.
    pub text: String,
    /// The ids of files that were uploaded for it.
    pub files: Vec<String>,
}

/// A user's own message that they want to change.
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
        uploads: UploadSettings,
        clock: Clock,
        persona_name: String,
    ) -> Self {
        let (user_names, changes) = (Mutex::default(), watch::Sender::new(0));
        let upload_turns = Semaphore::new(MAX_UPLOADS_AT_ONCE);
        Self { inbox, archive, uploads, upload_turns, clock, persona_name, user_names, changes }
    }

    /// Ensures that the persona and the initial channels exist, and loads the known users.
    pub async fn open(&self) -> Result<(), StoreError> {
        for user in self.inbox.channel_cache.rulebook().opted_out.clone() {
            // Users who were added to the opt-out list since the last start may have written before.
            self.inbox.apply_order(Order::Redact { workspace: workspace_id(), user }).await?;
        }
        let users = self.archive.users(&workspace_id()).await?;
        let is_listed =
            |user: &User| user.kind == AuthorKind::Human && !is_demo_user(user.id.as_str());
        for user in users.into_iter().filter(is_listed) {
            self.inbox.channel_cache.update_user(&user);
            self.lock_user_names().insert(user.name);
        }
        let name = self.persona_name.as_str().into();
        let (kind, role) = (AuthorKind::Persona, Role::Member);
        let persona = User {
            workspace: workspace_id(),
            id: UserId::new(PERSONA_USER_ID),
            name,
            kind,
            role,
            zone: None,
        };
        self.inbox.hear(Heard::User(persona)).await?;
        for name in INITIAL_CHANNELS {
            self.hear_channel(name).await?;
        }
        Ok(())
    }

    /// Returns all known users, by name.
    pub fn user_names(&self) -> Vec<Arc<str>> {
        self.lock_user_names().iter().cloned().collect()
    }

    /// Returns the channels by name, the initial channels first.
    pub async fn channels(&self) -> Result<Vec<Channel>, StoreError> {
        let mut channels = self.archive.channels(&workspace_id()).await?;
        let position =
            |channel: &Channel| INITIAL_CHANNELS.iter().position(|name| **name == *channel.name);
        channels.sort_by_key(|channel| position(channel).unwrap_or(INITIAL_CHANNELS.len()));
        Ok(channels)
    }

    /// Notifies whenever a user or channel is added, or an order is applied, including one given in plain words.
    pub fn subscribe(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    /// Notifies subscribers that an order was given in plain words.
    pub fn notice_command(&self) {
        self.changes.send_modify(|changes| *changes += 1);
    }

    /// Adds a user. Returns the name and whether it is new.
    pub async fn add_user(&self, name: &str) -> Result<(Arc<str>, bool), LocalRoomError> {
        let name = self.parse_name(name)?;
        let is_new = self.ensure_user(&UserId::new(name.clone()), name.clone()).await?;
        Ok((name, is_new))
    }

    /// Adds a public channel.
    pub async fn add_channel(&self, name: &str) -> Result<Channel, LocalRoomError> {
        let name = parse_channel_name(name)?;
        let channels = self.archive.channels(&workspace_id()).await?;
        let is_taken = |channel: &Channel| channel.name.to_lowercase() == name.to_lowercase();
        if channels.iter().any(is_taken) {
            return Err(LocalRoomError::ChannelTaken(name));
        }
        let channel = self.hear_channel(&name).await?;
        self.changes.send_modify(|changes| *changes += 1);
        Ok(channel)
    }

    async fn hear_channel(&self, name: &str) -> Result<Channel, StoreError> {
        let (id, name) = (ChannelId::new(name), Arc::from(name));
        let channel = Channel {
            workspace: workspace_id(),
            id,
            name,
            visibility: Visibility::Public,
            topic: None,
        };
        self.inbox.hear(Heard::Channel(channel.clone())).await?;
        Ok(channel)
    }

    /// Hears a user's message. It is committed when this returns.
    pub async fn send_message(
        &self,
        request: LocalMessage,
    ) -> Result<(MessageId, Timestamp), LocalRoomError> {
        let name = self.parse_name(&request.user)?;
        let text = match parse_text(&request.text) {
            Err(LocalRoomError::EmptyText) if !request.files.is_empty() => String::new(),
            parsed => parsed?,
        };
        let files = self.unsent_files(&request.files).await?;
        let has_all_files = files.is_some();
        let id = request.id.map_or_else(|| Ok(new_message_id()), parse_message_id)?;
        let conversation = self.conversation(request.channel, request.thread).await?;
        let user = UserId::new(name.clone());
        self.ensure_user(&user, name).await?;
        let message = Message {
            conversation,
            id,
            at: self.clock.now(),
            author: Author { id: user, kind: AuthorKind::Human },
            mentions: parse_mentions(&text, &self.persona_name, &self.user_names()),
            text: text.into(),
            attachments: files.unwrap_or_default(),
            edits: 0,
        };
        // The first attempt may have sent them.
        if !has_all_files {
            return self.find_duplicate(&message).await.map_err(|error| match error {
                LocalRoomError::IdTaken => LocalRoomError::UnknownFile,
                other => other,
            });
        }
        let receipt = self.inbox.hear(Heard::Message(message.clone(), Arrival::Live)).await?;
        if receipt.is_new {
            Ok((message.id, message.at))
        } else {
            self.find_duplicate(&message).await
        }
    }

    /// Replaces the text of a user's own message. Returns the time of the message.
    pub async fn edit_message(
        &self,
        own: OwnMessage,
        text: &str,
    ) -> Result<Timestamp, LocalRoomError> {
        let text = parse_text(text)?;
        let message = self.own_message(own).await?;
        let now = self.clock.now();
        let edit = Edit {
            conversation: message.conversation.clone(),
            message: message.id.clone(),
            at: now,
            made_at: now,
            mentions: parse_mentions(&text, &self.persona_name, &self.user_names()),
            text: text.into(),
            attachments: None,
        };
        self.inbox.hear(Heard::Edit(edit)).await?;
        Ok(message.at)
    }

    /// Deletes a user's own message.
    pub async fn delete_message(&self, own: OwnMessage) -> Result<(), LocalRoomError> {
        let message = self.own_message(own).await?;
        let deletion = Deletion {
            conversation: message.conversation.clone(),
            message: message.id.clone(),
            at: self.clock.now(),
        };
        self.inbox.hear(Heard::Deletion(deletion)).await?;
        Ok(())
    }

    async fn own_message(&self, own: OwnMessage) -> Result<Arc<Message>, LocalRoomError> {
        let name = self.parse_name(&own.user)?;
        self.require_channel(&own.channel).await?;
        let message = self.archive.message(&workspace_id(), &own.channel, &own.id).await?;
        let message = message
            .filter(|message| !message.is_deleted)
            .ok_or_else(|| LocalRoomError::UnknownMessage(own.id.to_string()))?;
        if message.message.author.id.as_str() != &*name {
            return Err(LocalRoomError::NotAuthor);
        }
        Ok(message.message)
    }

    /// Returns the existing message if this one is a resend after a lost response. If it has been edited or deleted
    /// since, only its author and its conversation are compared.
    async fn find_duplicate(
        &self,
        message: &Message,
    ) -> Result<(MessageId, Timestamp), LocalRoomError> {
        let stored = self
            .archive
            .message(&workspace_id(), &message.conversation.channel, &message.id)
            .await?;
        let is_same = |stored: &StoredMessage| {
            let known = &stored.message;
            let has_changed = known.edits > 0 || stored.is_deleted;
            known.author == message.author
                && known.conversation == message.conversation
                && (has_changed || known.text == message.text)
        };
        let existing = stored.filter(is_same).ok_or(LocalRoomError::IdTaken)?;
        Ok((existing.message.id.clone(), existing.message.at))
    }

    /// Returns the id of the user with this name, who need not have written anything yet.
    pub fn parse_name(&self, name: &str) -> Result<Arc<str>, LocalRoomError> {
        let name = name.trim();
        let is_bad = name.is_empty()
            || name.chars().count() > MAX_NAME_LENGTH
            || name.contains(char::is_control)
            || to_single_line(name) != name;
        if is_bad {
            return Err(LocalRoomError::InvalidName);
        }
        let is_persona = name.to_lowercase() == self.persona_name.to_lowercase();
        // A user's id is the name here, so nobody may be named like the persona's id.
        if is_persona || name == PERSONA_USER_ID || is_demo_user(name) {
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

    /// Fails if the channel does not exist.
    pub async fn require_channel(&self, channel: &ChannelId) -> Result<(), LocalRoomError> {
        let channels = self.archive.channels(&workspace_id()).await?;
        let is_known = channels.iter().any(|other| other.id == *channel);
        if is_known { Ok(()) } else { Err(LocalRoomError::UnknownChannel(channel.to_string())) }
    }

    /// Ensures that the user is stored and known. Returns whether the user is new.
    async fn ensure_user(&self, user: &UserId, name: Arc<str>) -> Result<bool, StoreError> {
        if self.lock_user_names().contains(&name) {
            return Ok(false);
        }
        // Every user of the local room is an admin.
        let (kind, role) = (AuthorKind::Human, Role::Admin);
        let (id, user_name) = (user.clone(), name.clone());
        let user = User { workspace: workspace_id(), id, name: user_name, kind, role, zone: None };
        self.inbox.hear(Heard::User(user)).await?;
        self.lock_user_names().insert(name);
        self.changes.send_modify(|changes| *changes += 1);
        Ok(true)
    }

    /// Locks the known users, after removing those who have been forgotten.
    fn lock_user_names(&self) -> MutexGuard<'_, BTreeSet<Arc<str>>> {
        let mut user_names = self.user_names.lock();
        let cache = &self.inbox.channel_cache;
        user_names.retain(|name| cache.has_human_named(&workspace_id(), name));
        user_names
    }
}

#[async_trait]
impl Platform for LocalRoom {
    /// Only assigns an id. The post or reaction appears in the room when the store has committed it.
    async fn post(&self, item: &OutboxItem) -> Result<PostedMessage, PlatformError> {
        let (author, thread) = (UserId::new(PERSONA_USER_ID), item.conversation.thread.clone());
        let id = item.reaction_to.clone().unwrap_or_else(new_message_id);
        Ok(PostedMessage { id, thread, at: self.clock.now(), author })
    }

    /// Never finds anything: a dispatched item is committed with its post.
    async fn find_posted(
        &self,
        _item: &OutboxItem,
    ) -> Result<Option<PostedMessage>, PlatformError> {
        Ok(None)
    }

    async fn show_typing(&self, item: &OutboxItem) -> SignedDuration {
        if item.reaction_to.is_some() { SignedDuration::ZERO } else { TYPING_TIME }
    }

    fn in_flight_timeout(&self) -> SignedDuration {
        SignedDuration::ZERO
    }

    fn own_user(&self) -> Option<UserId> {
        Some(UserId::new(PERSONA_USER_ID))
    }

    async fn fetch_file(
        &self,
        message: &Message,
        attachment: &Attachment,
        max_bytes: usize,
    ) -> Result<Vec<u8>, PlatformError> {
        if attachment.size_bytes > max_bytes as u64 {
            return Err(PlatformError::Refused("the file is too large".to_owned()));
        }
        let channel = &message.conversation.channel;
        match self.file_content(channel, &message.id, &attachment.id).await {
            Ok(content) => content.ok_or_else(|| {
                PlatformError::Refused("the message has this file no more".to_owned())
            }),
            Err(error) => Err(PlatformError::Busy { why: error.to_string(), retry_after: None }),
        }
    }

    fn max_post_length(&self) -> usize {
        MAX_POST_LENGTH
    }
}

fn parse_message_id(id: String) -> Result<MessageId, LocalRoomError> {
    let is_fine = |character: char| character.is_ascii_alphanumeric() || character == '-';
    let is_id = (8..=64).contains(&id.len()) && id.chars().all(is_fine);
    if is_id { Ok(MessageId::new(id)) } else { Err(LocalRoomError::InvalidId) }
}

/// Parses a channel's name, without the `#` that users write before it.
fn parse_channel_name(name: &str) -> Result<String, LocalRoomError> {
    let name = name.trim().trim_start_matches(['#', '＃']);
    let is_fine = !name.is_empty()
        && name.chars().count() <= MAX_NAME_LENGTH
        && name
            .chars()
            .all(|character| character.is_alphanumeric() || matches!(character, '-' | '_'));
    if is_fine { Ok(name.to_owned()) } else { Err(LocalRoomError::InvalidChannelName) }
}

/// Returns a new id. Ids sort in the order in which they were created.
fn new_message_id() -> MessageId {
    MessageId::new(Uuid::now_v7().to_string())
}

/// Validates the text of a message, and removes characters that cannot be displayed.
pub fn parse_text(text: &str) -> Result<String, LocalRoomError> {
    let is_kept = |character: &char| !character.is_control() || matches!(character, '\n' | '\t');
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
