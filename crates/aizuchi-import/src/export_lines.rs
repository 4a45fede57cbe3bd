//! The lines of an export, as `aizuchi export` writes them and `aizuchi import` reads them. A message line can be
//! replayed, too, and has more keys; every other line has a `kind`.

use std::sync::Arc;

use aizuchi_model::chat::attachment::Attachment;
use aizuchi_model::chat::{
    AuthorKind, ChannelId, ConversationId, Mention, MessageId, Role, UserId, Visibility,
    WorkspaceId,
};
use aizuchi_model::decision::Decision;
use aizuchi_model::decision::mark::DecisionMark;
use aizuchi_model::memo::Memo;
use aizuchi_model::memory::{Memory, MemoryEntry, MemoryKey, MemoryScope, MemoryTerm, MessageRef};
use aizuchi_model::rules::Mode;
use aizuchi_model::rules::setting_override::{SettingOverride, SettingRole};
use aizuchi_model::standing_order::StandingOrder;
use aizuchi_store::stored_message::StoredMessage;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::json_lines::holds;

/// A message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MessageLine {
    pub workspace: WorkspaceId,
    #[serde(rename = "room")]
    pub channel: ChannelId,
    #[serde(rename = "room_name")]
    pub channel_name: Option<Arc<str>>,
    /// Who may read the channel now.
    pub visibility: Option<Visibility>,
    /// Who could read the channel when the message was posted, if that differs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub said_in: Option<Visibility>,
    pub thread: Option<MessageId>,
    pub id: MessageId,
    /// Epoch seconds.
    pub ts: f64,
    pub author: UserId,
    pub name: Option<Arc<str>>,
    #[serde(default)]
    pub bot: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub persona: bool,
    pub text: Arc<str>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mentions: Vec<Mention>,
    /// The metadata of its attachments, without the files.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attachments: Vec<Attachment>,
    /// In the order of their first reaction.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reactions: Vec<ReactionLine>,
    /// Whether no prompt may contain it: it is a command, or its author opted out.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub withheld: bool,
}

/// The users who reacted with one emoji, in the order of their reactions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReactionLine {
    pub emoji: Arc<str>,
    pub users: Vec<ReactingUser>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReactingUser {
    pub id: UserId,
    pub is: AuthorKind,
}

/// A line that is not a message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum OtherLine {
    Channel {
        workspace: WorkspaceId,
        #[serde(rename = "room")]
        channel: ChannelId,
        #[serde(rename = "room_name")]
        channel_name: Arc<str>,
        visibility: Visibility,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        topic: Option<Arc<str>>,
    },
    User {
        workspace: WorkspaceId,
        id: UserId,
        name: Arc<str>,
        is: AuthorKind,
        role: Role,
    },
    Memory {
        workspace: WorkspaceId,
        /// `None` for the whole workspace.
        #[serde(rename = "room")]
        channel: Option<ChannelId>,
        thread: Option<MessageId>,
        term: MemoryTerm,
        newest: Timestamp,
        entries: Vec<MemoryEntry>,
    },
    Memo {
        workspace: WorkspaceId,
        memo: Memo,
        /// The messages that it was made from.
        #[serde(default, rename = "lines", skip_serializing_if = "Vec::is_empty")]
        messages: Vec<MessageRef>,
    },
    OptOut {
        workspace: WorkspaceId,
        user: UserId,
    },
    Mute {
        workspace: WorkspaceId,
        /// `None` for all channels.
        #[serde(rename = "room")]
        channel: Option<ChannelId>,
        until: Timestamp,
        by: Role,
    },
    Mode {
        workspace: WorkspaceId,
        #[serde(rename = "room")]
        channel: ChannelId,
        mode: Mode,
    },
    /// A setting that a user has ordered.
    Setting {
        workspace: WorkspaceId,
        /// `None` for the whole workspace.
        #[serde(rename = "room")]
        channel: Option<ChannelId>,
        thread: Option<MessageId>,
        setting: String,
        /// In the syntax of the config.
        value: String,
        role: SettingRole,
        by: Arc<str>,
        at: Timestamp,
    },
    /// A standing order that is in force, with its current text.
    StandingOrder {
        workspace: WorkspaceId,
        /// `None` for the whole workspace.
        #[serde(rename = "room")]
        channel: Option<ChannelId>,
        thread: Option<MessageId>,
        text: String,
        by: Arc<str>,
        given: Timestamp,
    },
    Decision {
        workspace: WorkspaceId,
        #[serde(flatten)]
        decision: DecisionLine,
    },
    Mark {
        workspace: WorkspaceId,
        decision: i64,
        mark: Value,
        by: Arc<str>,
        at: Timestamp,
    },
}

/// A decision, and the reason for it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DecisionLine {
    pub decision: i64,
    #[serde(rename = "room")]
    pub channel: ChannelId,
    pub thread: Option<MessageId>,
    pub opened: Timestamp,
    pub closed: Option<Timestamp>,
    /// The messages that the decision is about.
    pub messages: Vec<MessageId>,
    pub addressed: bool,
    pub ended: Option<String>,
    pub gate: Option<String>,
    pub why: Option<String>,
    /// The reason that the judge gave.
    pub reason: Option<String>,
    pub confidence: Option<f64>,
    pub posted: Vec<MessageId>,
    pub reaction: Option<(MessageId, Arc<str>)>,
}

impl MessageLine {
    pub fn conversation(&self) -> ConversationId {
        ConversationId {
            workspace: self.workspace.clone(),
            channel: self.channel.clone(),
            thread: self.thread.clone(),
        }
    }

    /// Creates the line of a message. `channel` is the name and visibility of its channel, if known.
    pub fn new(stored: &StoredMessage, channel: Option<(&Arc<str>, Visibility)>) -> Self {
        let message = &stored.message;
        let visibility = channel.map(|(_, visibility)| visibility);
        let reactions = stored.reactions.iter().map(|group| ReactionLine {
            emoji: group.emoji.clone(),
            users: group
                .users
                .iter()
                .map(|user| ReactingUser { id: user.id.clone(), is: user.kind })
                .collect(),
        });
        Self {
            workspace: message.conversation.workspace.clone(),
            channel: message.conversation.channel.clone(),
            channel_name: channel.map(|(name, _)| name.clone()),
            visibility,
            said_in: Some(stored.visibility).filter(|said_in| Some(*said_in) != visibility),
            thread: message.conversation.thread.clone(),
            id: message.id.clone(),
            ts: message.at.as_millisecond() as f64 / 1000.0,
            author: message.author.id.clone(),
            name: Some(stored.author_name.clone()),
            bot: message.author.kind != AuthorKind::Human,
            persona: message.author.kind == AuthorKind::Persona,
            text: message.text.clone(),
            mentions: message.mentions.clone(),
            attachments: message.attachments.iter().map(without_address).collect(),
            reactions: reactions.collect(),
            withheld: false,
        }
    }
}

/// Removes the URL of an attachment, which is only for the platform's adapter.
fn without_address(attachment: &Attachment) -> Attachment {
    Attachment { url: None, ..attachment.clone() }
}

impl OtherLine {
    pub fn from_memory(memory: &Memory) -> Self {
        let (channel, thread) = match &memory.key.scope {
            MemoryScope::Workspace => (None, None),
            MemoryScope::Channel(channel) => (Some(channel.clone()), None),
            MemoryScope::Thread(channel, thread) => (Some(channel.clone()), Some(thread.clone())),
        };
        Self::Memory {
            workspace: memory.key.workspace.clone(),
            channel,
            thread,
            term: memory.key.term,
            newest: memory.newest_message_at,
            entries: memory.entries.clone(),
        }
    }

    pub fn from_setting(workspace: &WorkspaceId, ordered: &SettingOverride) -> Self {
        let (channel, thread) = place(ordered.scope.columns());
        Self::Setting {
            workspace: workspace.clone(),
            channel,
            thread,
            setting: ordered.setting.kind().name().to_owned(),
            value: ordered.setting.to_string(),
            role: ordered.role,
            by: ordered.by.clone(),
            at: ordered.at,
        }
    }

    pub fn from_standing_order(workspace: &WorkspaceId, order: &StandingOrder) -> Self {
        let (channel, thread) = place(order.scope.columns());
        Self::StandingOrder {
            workspace: workspace.clone(),
            channel,
            thread,
            text: order.text.as_str().to_owned(),
            by: order.by.clone(),
            given: order.given,
        }
    }

    pub fn from_decision(decision: &Decision) -> Self {
        let conversation = &decision.conversation;
        let judgment = decision.judgment.as_ref();
        let reason = judgment.map(|judgment| judgment.reason.clone());
        Self::Decision {
            workspace: conversation.workspace.clone(),
            decision: DecisionLine {
                decision: decision.id.0,
                channel: conversation.channel.clone(),
                thread: conversation.thread.clone(),
                opened: decision.opened,
                closed: decision.closed,
                messages: decision.messages.clone(),
                addressed: decision.is_addressed,
                ended: decision.ended.map(|ended| ended.name().to_owned()),
                gate: decision.gate.map(|gate| gate.name().to_owned()),
                why: decision.why.clone(),
                reason: reason.filter(|reason| !reason.is_empty()),
                confidence: judgment.map(|judgment| judgment.confidence),
                posted: decision.posted_messages.clone(),
                reaction: decision.reaction.clone(),
            },
        }
    }

    pub fn from_mark(workspace: &WorkspaceId, mark: &DecisionMark) -> Self {
        Self::Mark {
            workspace: workspace.clone(),
            decision: mark.decision.0,
            mark: Value::from(mark.mark.name()),
            by: mark.by.clone(),
            at: mark.at,
        }
    }
}

/// Converts the columns of a scope to the fields of a line.
fn place((channel, thread): (&str, &str)) -> (Option<ChannelId>, Option<MessageId>) {
    let channel = (!channel.is_empty()).then(|| ChannelId::new(channel));
    (channel, (!thread.is_empty()).then(|| MessageId::new(thread)))
}

/// Converts the fields of a line to the columns of a scope. `None` for a thread without a channel.
pub fn scope_columns<'a>(
    channel: Option<&'a ChannelId>,
    thread: Option<&'a MessageId>,
) -> Option<(&'a str, &'a str)> {
    let columns = (channel.map_or("", ChannelId::as_str), thread.map_or("", MessageId::as_str));
    (channel.is_some() || thread.is_none()).then_some(columns)
}

/// Returns the key of a memory. `None` for a thread without a channel.
pub fn memory_key(
    workspace: WorkspaceId,
    channel: Option<ChannelId>,
    thread: Option<MessageId>,
    term: MemoryTerm,
) -> Option<MemoryKey> {
    let scope = match (channel, thread) {
        (None, None) => MemoryScope::Workspace,
        (Some(channel), None) => MemoryScope::Channel(channel),
        (Some(channel), Some(thread)) => MemoryScope::Thread(channel, thread),
        (None, Some(_)) => return None,
    };
    Some(MemoryKey { workspace, scope, term })
}

/// The kind of a line of JSON Lines, as far as an export is concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineKind {
    /// A message of an export, or of any other recording.
    Message,
    /// A message that no prompt may contain.
    Withheld,
    /// Any other line of an export.
    Other,
}

impl LineKind {
    /// Detects the kind of a line. Only messages have a `ts`.
    pub fn from_line(line: &[u8]) -> Self {
        #[derive(Deserialize)]
        struct Marks {
            kind: Option<Value>,
            ts: Option<Value>,
            withheld: Option<Value>,
        }
        if !holds(line, "\"kind\"") && !holds(line, "\"withheld\"") {
            return Self::Message;
        }
        match serde_json::from_slice::<Marks>(line) {
            Ok(Marks { kind: Some(Value::String(_)), ts: None, .. }) => Self::Other,
            Ok(Marks { withheld: Some(Value::Bool(true)), .. }) => Self::Withheld,
            Ok(_) | Err(_) => Self::Message,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_told_apart() {
        for (line, expected) in [
            (r#"{"room":"a","id":"1","ts":1,"author":"u","text":"\"kind\""}"#, LineKind::Message),
            (
                r#"{"room":"a","id":"1","ts":1,"author":"u","text":"","kind":"chat"}"#,
                LineKind::Message,
            ),
            (r#"{"room":"a","id":"1","ts":1,"text":"","withheld":true}"#, LineKind::Withheld),
            (r#"{"kind":"opt_out","workspace":"w","user":"u"}"#, LineKind::Other),
            (r#"{"kind":7}"#, LineKind::Message),
            (r#""kind""#, LineKind::Message),
        ] {
            assert_eq!(LineKind::from_line(line.as_bytes()), expected, "{line}");
        }
    }
}
