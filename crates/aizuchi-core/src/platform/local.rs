//! The local room: a platform of our own, in the same store as everything else. Its messages are
//! the store's rows, so what was not committed was not said, and nothing is ever in doubt.

pub mod mention;
pub mod orders;
pub mod reaction;
pub mod refusal;

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};
use tokio::sync::watch;
use uuid::Uuid;

use crate::chat::{
    Arrival, Author, AuthorKind, Channel, ChannelId, ConversationId, Deletion, Edit, Heard,
    Message, MessageId, Role, User, UserId, Visibility, WorkspaceId, one_line,
};
use crate::clock::Clock;
use crate::event::{Piece, Posted};
use crate::hear::Ears;
use crate::platform::local::mention::mentions;
use crate::platform::local::refusal::SayError;
use crate::platform::{Platform, PlatformError};
use crate::store::{Archive, Order, StoreError};

/// The longest line a person may write, in characters.
pub const LONGEST_LINE: usize = 16_000;
/// The longest name a person may choose, in characters.
pub const LONGEST_NAME: usize = 40;
const LONGEST_POST: usize = 4_000;
/// How long the page shows it typing. The built-in mind would be done before anyone looks.
const TYPING: SignedDuration = SignedDuration::from_millis(600);
const PERSONA: &str = "persona";
/// The channels that the room begins with.
const CHANNELS: [&str; 2] = ["general", "random"];

/// The workspace of the local room.
pub fn workspace() -> WorkspaceId {
    WorkspaceId::new("local")
}

pub struct LocalRoom {
    ears: Arc<Ears>,
    archive: Arc<dyn Archive>,
    clock: Clock,
    persona_name: String,
    /// Everyone who is known here.
    people: Mutex<BTreeSet<Arc<str>>>,
    /// Moves on whenever somebody or a channel is added.
    changes: watch::Sender<u64>,
}

/// What somebody wants to say.
#[derive(Clone, Debug)]
pub struct Saying {
    /// The writer's own id for the line, so that sending it again does not say it again.
    pub id: Option<String>,
    pub channel: ChannelId,
    pub thread: Option<MessageId>,
    pub user: String,
    pub text: String,
}

/// Which line somebody wants to change, and as whom.
#[derive(Clone, Debug)]
pub struct OwnLine {
    pub channel: ChannelId,
    pub id: MessageId,
    pub user: String,
}

impl LocalRoom {
    pub fn new(
        ears: Arc<Ears>,
        archive: Arc<dyn Archive>,
        clock: Clock,
        persona_name: String,
    ) -> Self {
        let (people, changes) = (Mutex::default(), watch::Sender::new(0));
        Self { ears, archive, clock, persona_name, people, changes }
    }

    /// Makes sure that the persona and the first channels are there, and remembers who has spoken.
    pub async fn open(&self) -> Result<(), StoreError> {
        for user in self.ears.rooms.rulebook().opted_out.clone() {
            // Who was put on the list since the last start may have said something before.
            self.ears.order(Order::Withhold { workspace: workspace(), user }).await?;
        }
        let users = self.archive.users(&workspace()).await?;
        let humans = users.into_iter().filter(|user| user.kind == AuthorKind::Human);
        self.people().extend(humans.map(|user| user.name));
        let name = self.persona_name.as_str().into();
        let (kind, role) = (AuthorKind::Persona, Role::Member);
        let persona = User { workspace: workspace(), id: UserId::new(PERSONA), name, kind, role };
        self.ears.hear(Heard::User(persona)).await?;
        for name in CHANNELS {
            self.put_channel(name).await?;
        }
        Ok(())
    }

    /// Everyone who is known here, in the order of their names.
    pub fn names(&self) -> Vec<Arc<str>> {
        self.people().iter().cloned().collect()
    }

    /// The channels by name; those that the room began with stand first.
    pub async fn channels(&self) -> Result<Vec<Channel>, StoreError> {
        let mut channels = self.archive.channels(&workspace()).await?;
        let place = |channel: &Channel| CHANNELS.iter().position(|name| **name == *channel.name);
        channels.sort_by_key(|channel| place(channel).unwrap_or(CHANNELS.len()));
        Ok(channels)
    }

    /// Moves on whenever somebody or a channel is added.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    /// Adds a person, and says whether they are new here.
    pub async fn add_person(&self, name: &str) -> Result<(Arc<str>, bool), SayError> {
        let name = self.name(name)?;
        let is_new = self.meet(&UserId::new(name.clone()), name.clone()).await?;
        Ok((name, is_new))
    }

    /// Adds a channel that everyone here can read.
    pub async fn add_channel(&self, name: &str) -> Result<Channel, SayError> {
        let name = channel_name(name)?;
        let known = self.archive.channels(&workspace()).await?;
        let is_taken = |channel: &Channel| channel.name.to_lowercase() == name.to_lowercase();
        if known.iter().any(is_taken) {
            return Err(SayError::ChannelTaken(name));
        }
        let channel = self.put_channel(&name).await?;
        self.changes.send_modify(|changes| *changes += 1);
        Ok(channel)
    }

    async fn put_channel(&self, name: &str) -> Result<Channel, StoreError> {
        let (id, name) = (ChannelId::new(name), Arc::from(name));
        let channel = Channel { workspace: workspace(), id, name, visibility: Visibility::Public };
        self.ears.hear(Heard::Channel(channel.clone())).await?;
        Ok(channel)
    }

    /// Takes a person's line. It is kept when this returns.
    pub async fn say(&self, saying: Saying) -> Result<(MessageId, Timestamp), SayError> {
        let name = self.name(&saying.user)?;
        let text = text(&saying.text)?;
        let id = saying.id.map_or_else(|| Ok(mint()), own_id)?;
        let conversation = self.conversation(saying.channel, saying.thread).await?;
        let user = UserId::new(name.clone());
        self.meet(&user, name).await?;
        let message = Message {
            conversation,
            id,
            at: self.clock.now(),
            author: Author { id: user, kind: AuthorKind::Human },
            mentions: mentions(&text, &self.persona_name, &self.names()),
            text: text.into(),
            edits: 0,
        };
        let receipt = self.ears.hear(Heard::Message(message.clone(), Arrival::Live)).await?;
        if receipt.is_new { Ok((message.id, message.at)) } else { self.said_before(&message).await }
    }

    /// Replaces the text of somebody's own line, and returns the line's time.
    pub async fn edit(&self, own: OwnLine, new: &str) -> Result<Timestamp, SayError> {
        let new = text(new)?;
        let line = self.own_line(own).await?;
        let edit = Edit {
            conversation: line.conversation.clone(),
            message: line.id.clone(),
            at: self.clock.now(),
            mentions: mentions(&new, &self.persona_name, &self.names()),
            text: new.into(),
        };
        self.ears.hear(Heard::Edit(edit)).await?;
        Ok(line.at)
    }

    /// Deletes somebody's own line.
    pub async fn delete(&self, own: OwnLine) -> Result<(), SayError> {
        let line = self.own_line(own).await?;
        let deletion = Deletion {
            conversation: line.conversation.clone(),
            message: line.id.clone(),
            at: self.clock.now(),
        };
        self.ears.hear(Heard::Deletion(deletion)).await?;
        Ok(())
    }

    async fn own_line(&self, own: OwnLine) -> Result<Arc<Message>, SayError> {
        let name = self.name(&own.user)?;
        self.known_channel(&own.channel).await?;
        let line = self.archive.line(&workspace(), &own.channel, &own.id).await?;
        let line = line
            .filter(|line| !line.is_deleted)
            .ok_or_else(|| SayError::UnknownLine(own.id.to_string()))?;
        if line.message.author.id.as_str() != &*name {
            return Err(SayError::NotOwn);
        }
        Ok(line.message)
    }

    /// The line was sent again because its answer was lost: it stands as it was said first.
    async fn said_before(&self, message: &Message) -> Result<(MessageId, Timestamp), SayError> {
        let line =
            self.archive.line(&workspace(), &message.conversation.channel, &message.id).await?;
        let is_same = |before: &&Message| {
            before.author == message.author
                && before.text == message.text
                && before.conversation == message.conversation
        };
        let before = line.as_ref().map(|line| &*line.message).filter(is_same);
        before.map(|before| (before.id.clone(), before.at)).ok_or(SayError::IdTaken)
    }

    fn name(&self, name: &str) -> Result<Arc<str>, SayError> {
        let name = name.trim();
        let is_bad = name.is_empty()
            || name.chars().count() > LONGEST_NAME
            || name.contains(char::is_control)
            || one_line(name) != name;
        if is_bad {
            return Err(SayError::BadName);
        }
        if name.to_lowercase() == self.persona_name.to_lowercase() || name == PERSONA {
            return Err(SayError::NameTaken(name.to_owned()));
        }
        Ok(name.into())
    }

    async fn conversation(
        &self,
        channel: ChannelId,
        thread: Option<MessageId>,
    ) -> Result<ConversationId, SayError> {
        self.known_channel(&channel).await?;
        if let Some(thread) = &thread {
            let parent = self.archive.line(&workspace(), &channel, thread).await?;
            if parent.is_none_or(|parent| parent.message.conversation.thread.is_some()) {
                return Err(SayError::UnknownThread(thread.to_string()));
            }
        }
        Ok(ConversationId { workspace: workspace(), channel, thread })
    }

    /// Fails if there is no such channel here.
    pub async fn known_channel(&self, channel: &ChannelId) -> Result<(), SayError> {
        let channels = self.archive.channels(&workspace()).await?;
        let is_known = channels.iter().any(|known| known.id == *channel);
        if is_known { Ok(()) } else { Err(SayError::UnknownChannel(channel.to_string())) }
    }

    /// Makes sure that the name is known to the store, and then to us. Says whether it is new.
    async fn meet(&self, user: &UserId, name: Arc<str>) -> Result<bool, StoreError> {
        if self.people().contains(&name) {
            return Ok(false);
        }
        // Whoever is in the room looks after it.
        let (kind, role) = (AuthorKind::Human, Role::Admin);
        let (id, known) = (user.clone(), name.clone());
        let user = User { workspace: workspace(), id, name: known, kind, role };
        self.ears.hear(Heard::User(user)).await?;
        self.people().insert(name);
        self.changes.send_modify(|changes| *changes += 1);
        Ok(true)
    }

    fn people(&self) -> MutexGuard<'_, BTreeSet<Arc<str>>> {
        self.people.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl Platform for LocalRoom {
    /// Mints the line; it appears in the room when the store has committed it, as does a reaction.
    async fn post(&self, piece: &Piece) -> Result<Posted, PlatformError> {
        let (author, thread) = (UserId::new(PERSONA), piece.conversation.thread.clone());
        let id = piece.on.clone().unwrap_or_else(mint);
        Ok(Posted { id, thread, at: self.clock.now(), author })
    }

    /// A piece that the room had taken would be committed as said, and nobody would ask for it.
    async fn find(&self, _piece: &Piece) -> Result<Option<Posted>, PlatformError> {
        Ok(None)
    }

    async fn show_typing(&self, piece: &Piece) -> SignedDuration {
        if piece.on.is_some() { SignedDuration::ZERO } else { TYPING }
    }

    fn settle(&self) -> SignedDuration {
        SignedDuration::ZERO
    }

    fn longest_post(&self) -> usize {
        LONGEST_POST
    }
}

fn own_id(id: String) -> Result<MessageId, SayError> {
    let is_fine = |letter: char| letter.is_ascii_alphanumeric() || letter == '-';
    let is_id = (8..=64).contains(&id.len()) && id.chars().all(is_fine);
    if is_id { Ok(MessageId::new(id)) } else { Err(SayError::BadId) }
}

/// A channel's name without the sign that people write before it.
fn channel_name(name: &str) -> Result<String, SayError> {
    let name = name.trim().trim_start_matches(['#', '＃']);
    let is_fine = !name.is_empty()
        && name.chars().count() <= LONGEST_NAME
        && name.chars().all(|letter| letter.is_alphanumeric() || matches!(letter, '-' | '_'));
    if is_fine { Ok(name.to_owned()) } else { Err(SayError::BadChannelName) }
}

/// Ids sort in the order they were minted.
fn mint() -> MessageId {
    MessageId::new(Uuid::now_v7().to_string())
}

/// A line's text: not empty, not too long, and without characters that cannot be shown.
fn text(text: &str) -> Result<String, SayError> {
    let is_kept = |letter: &char| !letter.is_control() || matches!(letter, '\n' | '\t');
    let text: String = text.trim().replace("\r\n", "\n").chars().filter(is_kept).collect();
    let length = text.chars().count();
    if one_line(&text).is_empty() {
        return Err(SayError::Empty);
    }
    if length > LONGEST_LINE {
        return Err(SayError::TooLong(length));
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
            assert_eq!(channel_name(name).ok().as_deref(), expected, "{name:?}");
        }
    }

    #[test]
    fn texts_are_cleaned_and_bounded() {
        assert_eq!(text(" a\r\nb\u{0}\u{7} ").unwrap(), "a\nb");
        assert!(matches!(text(" \n\u{0} "), Err(SayError::Empty)));
        assert!(matches!(text(&"x".repeat(16_001)), Err(SayError::TooLong(16_001))));
    }
}
