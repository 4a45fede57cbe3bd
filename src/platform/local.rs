//! The local room: a platform of our own, in the same store as everything else. Its messages are
//! the store's rows, so what was not committed was not said, and nothing is ever in doubt.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};
use uuid::Uuid;

use crate::chat::{
    Arrival, Author, AuthorKind, Channel, ChannelId, ConversationId, Heard, Mention, Message,
    MessageId, User, UserId, Visibility, WorkspaceId, one_line,
};
use crate::clock::Clock;
use crate::event::{Piece, Posted};
use crate::hear::Ears;
use crate::persona::Language;
use crate::platform::{Platform, PlatformError};
use crate::store::{Archive, StoreError};

/// The longest line a person may write, in characters.
pub const LONGEST_LINE: usize = 16_000;
/// The longest name a person may choose, in characters.
pub const LONGEST_NAME: usize = 40;
const LONGEST_POST: usize = 4_000;
/// How long the page shows it typing. The built-in mind would be done before anyone looks.
const TYPING: SignedDuration = SignedDuration::from_millis(600);
const PERSONA: &str = "persona";

/// The workspace of the local room.
pub fn workspace() -> WorkspaceId {
    WorkspaceId::new("local")
}

pub struct LocalRoom {
    ears: Arc<Ears>,
    archive: Arc<dyn Archive>,
    clock: Clock,
    persona_name: String,
    /// Everyone who has spoken since the start.
    people: Mutex<BTreeSet<Arc<str>>>,
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

/// Why a line was not taken.
#[derive(Debug)]
pub enum SayError {
    UnknownChannel(String),
    UnknownThread(String),
    BadName,
    /// The companion's own name.
    NameTaken(String),
    BadId,
    /// Another line has this id.
    IdTaken,
    Empty,
    /// So many characters.
    TooLong(usize),
    Store(StoreError),
}

impl SayError {
    /// What the person who wrote the line is told.
    pub fn sentence(&self, language: Language) -> String {
        match (self, language) {
            (Self::UnknownChannel(name), Language::En) => {
                format!("there is no channel {name:?} here")
            }
            (Self::UnknownChannel(name), Language::Ja) => {
                format!("チャンネル「{name}」はありません")
            }
            (Self::UnknownThread(id), Language::En) => {
                format!("there is no message {id:?} in this channel to reply to")
            }
            (Self::UnknownThread(id), Language::Ja) => {
                format!("このチャンネルに、返信先の発言「{id}」がありません")
            }
            (Self::BadName, Language::En) => {
                format!("a name is needed, of at most {LONGEST_NAME} characters on one line")
            }
            (Self::BadName, Language::Ja) => {
                format!("名前は一行、{LONGEST_NAME} 文字以内で入力してください")
            }
            (Self::NameTaken(name), Language::En) => {
                format!("the name {name:?} belongs to the companion; please choose another")
            }
            (Self::NameTaken(name), Language::Ja) => {
                format!("「{name}」はこの部屋の相手の名前です。別の名前にしてください")
            }
            (Self::BadId, Language::En) => {
                "an id has 8 to 64 letters, digits or hyphens".to_owned()
            }
            (Self::BadId, Language::Ja) => "id は英数字とハイフンで 8〜64 文字です".to_owned(),
            (Self::IdTaken, Language::En) => "another line has this id already".to_owned(),
            (Self::IdTaken, Language::Ja) => "この id は別の発言で使われています".to_owned(),
            (Self::Empty, Language::En) => "the text is empty".to_owned(),
            (Self::Empty, Language::Ja) => "文章が空です".to_owned(),
            (Self::TooLong(length), Language::En) => {
                format!("the text has {length} characters; at most {LONGEST_LINE} are possible")
            }
            (Self::TooLong(length), Language::Ja) => {
                format!("文章が {length} 文字あります。{LONGEST_LINE} 文字までです")
            }
            (Self::Store(error), Language::En) => error.to_string(),
            (Self::Store(_), Language::Ja) => {
                "いまは保存できません。しばらくしてからもう一度お試しください".to_owned()
            }
        }
    }
}

impl From<StoreError> for SayError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl LocalRoom {
    pub fn new(
        ears: Arc<Ears>,
        archive: Arc<dyn Archive>,
        clock: Clock,
        persona_name: String,
    ) -> Self {
        Self { ears, archive, clock, persona_name, people: Mutex::default() }
    }

    /// Makes sure that the persona and these channels are there, and remembers who has spoken.
    pub async fn open(&self, channels: &[&str]) -> Result<(), StoreError> {
        let users = self.archive.users(&workspace()).await?;
        let humans = users.into_iter().filter(|user| user.kind == AuthorKind::Human);
        self.people().extend(humans.map(|user| user.name));
        let name = self.persona_name.as_str().into();
        let kind = AuthorKind::Persona;
        let persona = User { workspace: workspace(), id: UserId::new(PERSONA), name, kind };
        self.ears.hear(Heard::User(persona)).await?;
        for name in channels {
            let (id, name) = (ChannelId::new(*name), Arc::from(*name));
            let channel =
                Channel { workspace: workspace(), id, name, visibility: Visibility::Public };
            self.ears.hear(Heard::Channel(channel)).await?;
        }
        Ok(())
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
        let channels = self.archive.channels(&workspace()).await?;
        if !channels.iter().any(|known| known.id == channel) {
            return Err(SayError::UnknownChannel(channel.to_string()));
        }
        if let Some(thread) = &thread {
            let parent = self.archive.line(&workspace(), &channel, thread).await?;
            if parent.is_none_or(|parent| parent.message.conversation.thread.is_some()) {
                return Err(SayError::UnknownThread(thread.to_string()));
            }
        }
        Ok(ConversationId { workspace: workspace(), channel, thread })
    }

    /// Makes sure that the name is known to the store, and then to us.
    async fn meet(&self, user: &UserId, name: Arc<str>) -> Result<(), StoreError> {
        if self.people().contains(&name) {
            return Ok(());
        }
        let kind = AuthorKind::Human;
        let user = User { workspace: workspace(), id: user.clone(), name: name.clone(), kind };
        self.ears.hear(Heard::User(user)).await?;
        self.people().insert(name);
        Ok(())
    }

    fn names(&self) -> Vec<Arc<str>> {
        self.people().iter().cloned().collect()
    }

    fn people(&self) -> MutexGuard<'_, BTreeSet<Arc<str>>> {
        self.people.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl Platform for LocalRoom {
    /// Mints the line; it appears in the room when the store has committed it.
    async fn post(&self, _piece: &Piece) -> Result<Posted, PlatformError> {
        self.clock.sleep_until(self.clock.now() + TYPING).await;
        Ok(Posted { id: mint(), at: self.clock.now(), author: UserId::new(PERSONA) })
    }

    /// A piece that the room had taken would be committed as said, and nobody would ask for it.
    async fn find(&self, _piece: &Piece) -> Result<Option<Posted>, PlatformError> {
        Ok(None)
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

/// Everyone named with an `@`: the persona, people who are known, or whoever the word names.
pub fn mentions(text: &str, persona: &str, people: &[Arc<str>]) -> Vec<Mention> {
    let mut mentions = Vec::new();
    for (at, _) in text.match_indices(['@', '＠']) {
        let is_address =
            text[..at].chars().next_back().is_some_and(|before| before.is_ascii_alphanumeric());
        let rest = text[at..].trim_start_matches(['@', '＠']);
        if is_address {
            continue;
        }
        let mention = if names(rest, persona) {
            Some(Mention::Persona)
        } else {
            let known =
                people.iter().filter(|name| names(rest, name)).max_by_key(|name| name.len());
            let word = || rest.split(|letter: char| !is_name_letter(letter)).next().map(Arc::from);
            let name = known.cloned().or_else(word).filter(|name| !name.is_empty());
            name.map(|name| Mention::User(UserId(name)))
        };
        mentions.extend(mention.filter(|mention| !mentions.contains(mention)));
    }
    mentions
}

/// Does `text` begin with `name`? A Latin name must end there; 相槌さん names 相槌.
fn names(text: &str, name: &str) -> bool {
    let mut letters = text.chars();
    let begins = name.chars().all(|letter| {
        letters.next().is_some_and(|found| found.to_lowercase().eq(letter.to_lowercase()))
    });
    let (next, then) = (letters.next(), letters.next());
    let goes_on = match next {
        Some('-') => then.is_some_and(|letter| letter.is_ascii_alphanumeric()),
        Some(letter) => letter.is_ascii_alphanumeric() || letter == '_',
        None => false,
    };
    begins && !goes_on
}

fn is_name_letter(letter: char) -> bool {
    letter.is_alphanumeric() || matches!(letter, '_' | '-' | '.')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mentions_are_read_from_the_text() {
        let bob = || Mention::User(UserId::new("bob"));
        let people = [Arc::from("bob"), Arc::from("bobby"), Arc::from("花子")];
        for (line, expected) in [
            ("hello", vec![]),
            ("@Aizuchi hello", vec![Mention::Persona]),
            ("hey @aizuchi, @AIZUCHI!", vec![Mention::Persona]),
            ("＠Aizuchiさん、どう？", vec![Mention::Persona]),
            ("@Aizuchi-bot", vec![Mention::User(UserId::new("Aizuchi-bot"))]),
            ("@Aizuchis", vec![Mention::User(UserId::new("Aizuchis"))]),
            ("@bob and @Aizuchi", vec![bob(), Mention::Persona]),
            ("@bobby", vec![Mention::User(UserId::new("bobby"))]),
            ("@花子さん", vec![Mention::User(UserId::new("花子"))]),
            ("mail me: carol@aizuchi.example", vec![]),
            ("@ nobody", vec![]),
        ] {
            assert_eq!(mentions(line, "Aizuchi", &people), expected, "{line}");
        }
    }

    #[test]
    fn texts_are_cleaned_and_bounded() {
        assert_eq!(text(" a\r\nb\u{0}\u{7} ").unwrap(), "a\nb");
        assert!(matches!(text(" \n\u{0} "), Err(SayError::Empty)));
        assert!(matches!(text(&"x".repeat(16_001)), Err(SayError::TooLong(16_001))));
    }
}
