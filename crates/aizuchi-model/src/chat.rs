//! Chat on any platform: who wrote what, where and when. Plain data. Ids are opaque strings created by the platform's
//! adapter, and nothing here depends on Slack or Discord.

pub mod attachment;
pub mod local;
pub mod owed;

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use crate::chat::attachment::{Attachment, after_edit, are_same, searched_names};

macro_rules! opaque_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(
            Clone,
            Debug,
            PartialEq,
            Eq,
            PartialOrd,
            Ord,
            Hash,
            Serialize,
            Deserialize,
            schemars::JsonSchema,
        )]
        #[serde(transparent)]
        pub struct $name(pub Arc<str>);

        impl $name {
            pub fn new(id: impl Into<Arc<str>>) -> Self {
                Self(id.into())
            }

            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

opaque_id!(
    /// A Slack team, a Discord guild, the local room, or one recorded room in a replay.
    WorkspaceId
);

impl WorkspaceId {
    /// Returns the name of its platform, which is the prefix of the id, as in `discord:123`. The local room and the teams
    /// of Slack have no prefix.
    pub fn platform(&self) -> &str {
        let id = self.as_str();
        match id.split_once(':') {
            Some((platform, _)) => platform,
            None if is_team_id(id) => "slack",
            None => id,
        }
    }

    pub fn kind(&self) -> WorkspaceKind {
        match (self.platform(), self.as_str().contains(':')) {
            ("discord", true) => WorkspaceKind::Server,
            ("discord", false) => WorkspaceKind::DirectMessages,
            (_, _) => WorkspaceKind::Workspace,
        }
    }
}

/// What a workspace is to its users.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkspaceKind {
    Workspace,
    Server,
    /// Direct messages that belong to no server.
    DirectMessages,
}

/// Whether this is the id that Slack gives to a team, such as `T0123`, or to an organization, such as `E0123`.
fn is_team_id(id: &str) -> bool {
    let is_code = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit();
    id.starts_with(['T', 'E']) && id.bytes().all(is_code)
}

opaque_id!(
    /// Unique within its workspace.
    ChannelId
);
opaque_id!(
    /// Unique within its channel. A thread is named by the id of its parent message.
    MessageId
);
opaque_id!(
    /// Unique within its workspace.
    UserId
);

impl UserId {
    /// Returns the author of a message whose author the platform does not provide.
    pub fn unknown() -> Self {
        Self::new("unknown")
    }
}

/// A channel's top level (`thread` is `None`) or one thread: the unit that is judged and answered.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ConversationId {
    pub workspace: WorkspaceId,
    pub channel: ChannelId,
    pub thread: Option<MessageId>,
}

impl fmt::Display for ConversationId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.workspace, self.channel)?;
        match &self.thread {
            Some(thread) => write!(f, "/{thread}"),
            None => Ok(()),
        }
    }
}

/// Who may read a channel. An unknown channel counts as private (invariant 9).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Visibility {
    Public,
    Private,
    Direct,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Channel {
    pub workspace: WorkspaceId,
    pub id: ChannelId,
    pub name: Arc<str>,
    pub visibility: Visibility,
    /// What its members say it is for: one line, empty if they say nothing. `None` if that is not known here, so that
    /// what is stored stays.
    #[serde(default)]
    pub topic: Option<Arc<str>>,
}

/// As long as a topic may be on Slack.
const MAX_TOPIC_CHARACTERS: usize = 250;

/// Returns a channel's topic on one line, and not longer than a prompt needs. Adapters leave out whom it mentions,
/// because a topic has no author with whom it is forgotten.
pub fn channel_topic(text: &str) -> Arc<str> {
    to_short_line(text, MAX_TOPIC_CHARACTERS).into()
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct User {
    pub workspace: WorkspaceId,
    pub id: UserId,
    pub name: Arc<str>,
    pub kind: AuthorKind,
    pub role: Role,
    /// The IANA name of the user's time zone, where the platform tells it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub zone: Option<Arc<str>>,
}

named_enum! {
    /// Whether a user administers the workspace or channel. The platform's own roles decide.
    #[derive(Default)]
    pub enum Role {
        /// A member who may not read every public channel. In all else a member: requests and orders know no guests.
        Guest,
        #[default]
        Member,
        Admin,
    }
}

/// What kind of member wrote a message. Only a human's message has consequences.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AuthorKind {
    Human,
    Bot,
    Persona,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Author {
    pub id: UserId,
    pub kind: AuthorKind,
}

/// Whom the text of a message concerns besides its author.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mention {
    /// The platform notifies the persona.
    Persona,
    /// The platform notifies this user.
    User(UserId),
    /// The text is that of another message, which was shared or forwarded.
    Quote(QuotedMessage),
}

/// A message whose words another one carries. They stay its author's: opting out and forgetting apply to both.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct QuotedMessage {
    /// `None` if neither the platform nor the store knows the author.
    pub author: Option<UserId>,
    /// The message and its channel, if the platform names them.
    pub message: Option<(ChannelId, MessageId)>,
    /// When it was written. `None` counts as before everything.
    pub at: Option<Timestamp>,
}

/// A message in its current version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    pub conversation: ConversationId,
    pub id: MessageId,
    /// The platform's timestamp, to the millisecond.
    pub at: Timestamp,
    pub author: Author,
    /// The text, without the names of its files.
    pub text: Arc<str>,
    pub mentions: Vec<Mention>,
    /// The files that were sent with it.
    pub attachments: Vec<Attachment>,
    /// The number of edits of the text.
    pub edits: u32,
}

impl Message {
    pub fn is_human(&self) -> bool {
        self.author.kind == AuthorKind::Human
    }

    /// Returns every user whose name a reader of this message may need.
    pub fn referenced_users(&self) -> impl Iterator<Item = &UserId> {
        let mentioned = self.mentions.iter().filter_map(|mention| match mention {
            Mention::User(user) => Some(user),
            Mention::Persona | Mention::Quote(_) => None,
        });
        std::iter::once(&self.author.id).chain(mentioned)
    }

    /// Returns the messages whose words it carries.
    pub fn quoted(&self) -> impl Iterator<Item = &QuotedMessage> {
        self.mentions.iter().filter_map(|mention| match mention {
            Mention::Quote(quoted) => Some(quoted),
            Mention::Persona | Mention::User(_) => None,
        })
    }

    /// Whether a human mentions the persona. Such a message is owed an answer (invariant 3).
    pub fn is_addressed(&self) -> bool {
        self.is_human() && self.mentions.contains(&Mention::Persona)
    }

    /// Returns the text that search looks at: the message's text, and the names of the files.
    pub fn searched_text(&self) -> Cow<'_, str> {
        match self.attachments.is_empty() {
            true => Cow::Borrowed(&self.text),
            false => format!("{} {}", self.text, searched_names(&self.attachments)).into(),
        }
    }

    /// Whether an edit changes anything about it.
    pub fn is_changed_by(&self, edit: &Edit) -> bool {
        let files = edit.attachments.as_deref();
        self.text != edit.text || files.is_some_and(|files| !are_same(&self.attachments, files))
    }

    /// Returns the message after an edit.
    pub fn edited(&self, edit: &Edit) -> Self {
        let files = edit.attachments.as_deref();
        Self {
            text: edit.text.clone(),
            mentions: edit.mentions.clone(),
            attachments: files.map_or_else(
                || self.attachments.clone(),
                |files| after_edit(&self.attachments, files),
            ),
            edits: self.edits + 1,
            ..self.clone()
        }
    }

    /// Whether everything that its author said or sent has been removed.
    pub fn is_erased(&self) -> bool {
        self.text.is_empty() && self.attachments.is_empty()
    }

    /// Returns the message without anything that its author said or sent.
    pub fn erased(&self) -> Self {
        let (text, mentions, attachments) = ("".into(), Vec::new(), Vec::new());
        Self { text, mentions, attachments, ..self.clone() }
    }
}

/// Whether a message arrived live or was read later from the platform's history. A backfilled message is stored
/// but does not restart a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrival {
    Live,
    Backfilled,
    /// Backfilled, and the history shows that the persona has posted there since.
    BackfilledAnswered,
}

/// The maximum delay of an edit that adds a mention which is owed an answer.
const EDITED_MENTION_WINDOW: SignedDuration = SignedDuration::from_mins(10);

impl Arrival {
    /// Returns the arrival of a message that first became known by an edit: live if it was edited soon after it was
    /// posted.
    pub fn of_edited(posted: Timestamp, edited: Timestamp) -> Self {
        let is_recent = edited.duration_since(posted) <= EDITED_MENTION_WINDOW;
        if is_recent { Arrival::Live } else { Arrival::Backfilled }
    }
}

/// What a platform delivers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Heard {
    Message(Message, Arrival),
    Edit(Edit),
    Deletion(Deletion),
    Channel(Channel),
    User(User),
    Reaction(Reaction),
}

/// The author replaced the text of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    pub conversation: ConversationId,
    pub message: MessageId,
    /// When it was made or, if only a history shows it, found there. It replaces the edits that were made before.
    pub at: Timestamp,
    /// When it was made, at the earliest: a history may tell this less exactly. Every edit after this replaces it.
    pub made_at: Timestamp,
    pub text: Arc<str>,
    pub mentions: Vec<Mention>,
    /// The current files. `None` if they are unchanged.
    pub attachments: Option<Vec<Attachment>>,
}

/// A message was deleted. Its text is dropped; a tombstone stays.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deletion {
    pub conversation: ConversationId,
    pub message: MessageId,
    pub at: Timestamp,
}

/// A user added or removed an emoji on a message. Platforms name the message without its thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reaction {
    pub workspace: WorkspaceId,
    pub channel: ChannelId,
    pub message: MessageId,
    pub user: UserId,
    pub kind: AuthorKind,
    /// The character, or a name, as the platform writes it.
    pub emoji: Arc<str>,
    pub at: Timestamp,
    pub change: ReactionChange,
}

/// How far a platform's history has been read, so that the next start can resume, or other state that one task has to
/// find again. The value is opaque to everything else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cursor {
    pub workspace: WorkspaceId,
    /// The stream that is read.
    pub stream: Arc<str>,
    /// The position in the stream.
    pub value: Arc<str>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReactionChange {
    Added,
    Removed,
}

/// Replaces every line break that any terminal or model recognizes with a space, and removes invisible characters and
/// characters that change the direction of the text. Joiners and variation selectors are kept, because scripts and
/// emoji need them.
pub fn to_single_line(text: &str) -> String {
    // Most names and ids are plain ASCII.
    if text.bytes().all(|byte| (b' '..=b'~').contains(&byte)) {
        return text.trim().to_owned();
    }
    without_hidden_characters(text, ' ').trim().to_owned()
}

/// Like [`to_single_line`], with an ellipsis in the place of what is longer than this many characters.
pub fn to_short_line(text: &str, max_characters: usize) -> String {
    let line = to_single_line(text);
    match line.char_indices().nth(max_characters) {
        Some((end, _)) => format!("{}…", line[..end].trim_end()),
        None => line,
    }
}

/// Removes escape sequences and other control characters, so that chat text cannot control the terminal.
pub fn strip_control_characters(text: &str) -> String {
    to_single_line(text)
        .chars()
        .map(|character| if character.is_control() { ' ' } else { character })
        .collect()
}

/// Returns the text without invisible characters and characters that change its direction, with `\n` for every line
/// break. Joiners and variation selectors are kept.
pub fn to_visible_text(text: &str) -> String {
    without_hidden_characters(&text.replace("\r\n", "\n"), '\n')
}

fn without_hidden_characters(text: &str, line_break: char) -> String {
    let characters =
        text.chars().filter(|character| is_line_break(*character) || !is_hidden(*character));
    characters
        .map(|character| if is_line_break(character) { line_break } else { character })
        .collect()
}

/// Whether this character is invisible and does not affect visible ones.
pub fn is_hidden(character: char) -> bool {
    is_invisible(character) && !is_shaping(character)
}

/// Whether this is a joiner or a variation selector, which scripts and emoji need.
pub fn is_shaping(character: char) -> bool {
    matches!(character, '\u{200c}' | '\u{200d}' | '\u{fe0e}' | '\u{fe0f}')
}

/// Whether nothing of this text is visible.
pub fn is_blank(text: &str) -> bool {
    text.chars().all(|character| character.is_whitespace() || is_invisible(character))
}

/// Whether a text begins by addressing a name: `bob: …`, `bob, …`, `@bob …`, `花子さん、…`.
pub fn starts_with_name(text: &str, name: &str) -> bool {
    starts_with_lowercase_name(&text.to_lowercase(), &name.to_lowercase())
}

/// Like [`starts_with_name`], for a text and a name that are already in lower case.
pub fn starts_with_lowercase_name(text: &str, name: &str) -> bool {
    let Some(rest) = text.trim_start_matches(['@', '＠', ' ']).strip_prefix(name) else {
        return false;
    };
    let rest = rest.strip_prefix("さん").unwrap_or(rest);
    !name.is_empty() && rest.starts_with([':', ',', '、', '：', '，', '。'])
}

/// Whether any reader may take this character for a line break.
pub fn is_line_break(character: char) -> bool {
    matches!(
        character,
        '\n' | '\r' | '\u{b}' | '\u{c}' | '\u{1c}'..='\u{1e}' | '\u{85}' | '\u{2028}' | '\u{2029}'
    )
}

/// Whether this character is invisible: one of Unicode's default ignorables, a blank character, or a control.
pub fn is_invisible(character: char) -> bool {
    let is_format = matches!(
        character,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
            | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{2800}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}'
            | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}'
            | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}'
    );
    is_format || (character.is_control() && !character.is_whitespace())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_workspace_is_of_a_platform() {
        for (id, platform) in [
            ("T0123", "slack"),
            ("E0123", "slack"),
            ("discord:123", "discord"),
            ("discord", "discord"),
            ("local", "local"),
            ("Tea", "Tea"),
        ] {
            assert_eq!(WorkspaceId::new(id).platform(), platform);
        }
    }

    #[test]
    fn a_topic_is_one_line_of_a_limited_length() {
        assert_eq!(&*channel_topic(" tea\nand cake "), "tea and cake");
        assert_eq!(channel_topic(&"茶".repeat(250)).chars().count(), 250);
        let long = channel_topic(&"茶".repeat(251));
        assert_eq!((long.chars().count(), long.chars().last()), (251, Some('…')));
    }

    #[test]
    fn a_single_line_keeps_only_visible_characters() {
        for (text, expected) in [
            (" a\nb\r\nc ", "a b  c"),
            ("a\u{1c}b\u{85}c\u{2028}d", "a b c d"),
            ("a\u{202e}b\u{ad}c\u{1d173}d\u{e0041}e\u{fe01}f", "abcdef"),
            ("é\u{1b}[31m", "é[31m"),
            ("❤\u{fe0f} 👩\u{200d}👧", "❤\u{fe0f} 👩\u{200d}👧"),
        ] {
            assert_eq!(to_single_line(text), expected, "{text:?}");
        }
    }
}
